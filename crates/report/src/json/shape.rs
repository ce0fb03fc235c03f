//! The shape of the JSON result; a field's name ends in its unit.

use std::collections::BTreeMap;

use assay_analysis as analyzed;
use assay_analysis::effect::Level as EffectLevel;
use assay_analysis::scraped::{ScrapedSeries, ScrapedUse};
use assay_analysis::servers::{ServerTimeSeries, ServerUse};
use assay_analysis::{
    Distribution, Interval, IntervalSummary, LoadModel, NodeSummary, Percentile, Queried, Series,
    Summary, Transactions,
};
use assay_model::{Kind, Outcome, Phase, Reason, Setting};
use schemars::JsonSchema;
use serde::Serialize;

use crate::consistency::ConsistencyObject;
use crate::facts::{
    ActionEffect, AgentFacts, Facts, PhaseSpan, RuleFinding, State, StoreFacts, WorkloadFigure,
};
use crate::hallmark::{self, HallmarkObject};
use crate::object::objects;
use crate::recovery::RecoveryObject;
use crate::units::{Letters, percentile_name};
use crate::verdict::{self, Finding, Level};

objects! {
/// The result of one run: times in nanoseconds, rates in operations per second. Later versions of
/// the same schema may add fields.
#[schemars(title = "The result of one run")]
pub struct ResultObject(facts: &Facts, summary: &Summary, series: Option<SeriesObject>)
where
    let of_type = |types: &Transactions| (types.name.clone(), TransactionsObject::new(types));
    let of_query = |query: &Queried| (query.name.clone(), QueryObject::new(query));
    let of_server = |server: &ServerTimeSeries| Some(ServerObject::new(server, server.used?));
    let of_metric = |series: &ScrapedSeries| Some(ScrapedObject::new(series, series.used?));
{
    /// The version of this object.
    #[schemars(extend("const" = super::SCHEMA))]
    schema: &'static str = super::SCHEMA,
    /// What a reader must know before any figure.
    verdict: VerdictObject = VerdictObject::new(findings(facts, summary)),
    /// Whether the figures can be trusted; null if the run was not examined.
    hallmark: Option<HallmarkObject> =
        facts.hallmark.as_ref().map(|hallmark| HallmarkObject::new(facts, hallmark)),
    /// The run with all that repeats it.
    run: RunObject = RunObject::new(facts),
    /// The store.
    store: StoreObject = StoreObject::new(&facts.store),
    /// The load model.
    load: LoadObject = LoadObject::new(facts, summary),
    /// The stretch of time that the figures are about.
    window: WindowObject = WindowObject::new(summary),
    /// All kinds of operation together.
    overall: GroupObject = GroupObject::new(&summary.overall),
    /// Each kind of operation that was offered, by its name.
    kinds: BTreeMap<&'static str, GroupObject> =
        summary.kinds.iter().map(|(kind, group)| (kind.name(), GroupObject::new(group))).collect(),
    /// Each transaction type of more than one operation, by its name.
    transactions: BTreeMap<String, TransactionsObject> =
        summary.transactions.iter().map(of_type).collect(),
    /// Transactions of all types together; only if all queries ran in transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GroupObject")]
    all_transactions: Option<GroupObject> = summary.all_transactions.as_ref().map(GroupObject::new),
    /// Each query that was offered, by its name; only for workloads of queries.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    queries: BTreeMap<String, QueryObject> = summary.queries.iter().map(of_query).collect(),
    /// Whole processes; only if they are more than one transaction each.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TransactionsObject")]
    processes: Option<TransactionsObject> = summary.processes.as_ref().map(TransactionsObject::new),
    /// Started − intended of all issued operations, whatever their outcome.
    lag: DistributionObject = DistributionObject::new(&summary.lag),
    /// What checking the returned values found.
    value_checks: ValueChecksObject = ValueChecksObject::new(&summary.values),
    /// Concurrency by Little's law beside what was counted directly.
    in_flight: InFlightObject = InFlightObject::new(&summary.in_flight),
    /// Success ratios, outages and silences.
    availability: AvailabilityObject = AvailabilityObject::new(&summary.availability),
    /// Arrivals that waited, or were dropped, because as many as can be in flight were unanswered;
    /// null if nothing was held back.
    held_back: Option<HeldBackObject> = summary.held_back.as_ref().map(HeldBackObject::new),
    /// Verdicts on consistency; only if they were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConsistencyObject")]
    consistency: Option<ConsistencyObject> = facts.consistency.as_ref().map(ConsistencyObject::new),
    /// States over time and recoveries from faults; only if there is enough of the run to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecoveryObject")]
    recovery: Option<RecoveryObject> = facts.availability.as_ref().map(RecoveryObject::new),
    /// Rules about the store's rows, with what was found; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<RuleObject> = facts.findings.iter().map(RuleObject::new).collect(),
    /// Figures that the workload's own definition requires; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<WorkloadFigure>,
    /// What happened to the run as a whole, by time.
    events: Vec<EventObject> = facts.events.iter().map(EventObject::new).collect(),
    /// Actions on the store, with what was seen of them in its answers; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<EffectObject> = facts.effects.iter().map(EffectObject::new).collect(),
    /// Availability of each node of the store; only if at least two are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeObject> = summary.nodes.iter().map(NodeObject::new).collect(),
    /// The agents of a fleet; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<AgentFacts>,
    /// Means of the resources that servers of the store used over the measured window; only if they
    /// were observed. Memory is the largest value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ServerObject> = facts.servers.iter().filter_map(of_server).collect(),
    /// What servers counted about themselves over the measured window.
    scraped: Vec<ScrapedObject> = facts.scraped.iter().filter_map(of_metric).collect(),
    /// The figures over time; not in the last line of NDJSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SeriesObject")]
    series: Option<SeriesObject> = series,
}

/// One metric of one server over the measured window.
struct ScrapedObject(series: &ScrapedSeries, used: ScrapedUse) {
    /// The server.
    source: String,
    /// The name of the metric.
    metric: &'static str,
    /// The part of the server that it is about: labels of Prometheus.
    part: String,
    /// Whether the values are per second.
    per_second: bool = series.is_rate,
    /// The least value, in the metric's unit.
    least: f64 = used.least,
    /// The mean over the readings, in the metric's unit.
    mean: f64 = used.mean,
    /// The greatest value, in the metric's unit.
    most: f64 = used.most,
    /// When that was read first, in nanoseconds on the run's time axis.
    most_at_ns: u64 = used.most_at.0,
}

/// The last line of NDJSON, about the whole run.
pub struct SummaryLine(result: ResultObject) {
    #[serde(rename = "type")]
    line_type: &'static str = "summary",
    #[serde(flatten)]
    result: ResultObject = result,
}

/// The worst finding, with all of them.
struct VerdictObject(findings: Vec<Finding>)
where
    let worst = findings.first().expect("there is always a finding, if only that all is fine");
{
    #[serde(flatten)]
    worst: Finding = worst.clone(),
    /// All findings, the worst first.
    findings: Vec<Finding> = findings,
}

/// The run with all that repeats it.
struct RunObject(facts: &Facts) {
    /// The name of the run directory.
    id: String = facts.run_id.clone(),
    /// A headline of a few words.
    title: String,
    /// The command that repeats the run, as one line for a shell.
    command: String,
    /// The 64-bit seed in decimal digits; a text, because not every reader of JSON keeps 64 bits of
    /// a number.
    seed: String = facts.seed.to_string(),
    /// The name of the workload's spec.
    spec: String,
    /// The hash of the trace as planned, in hexadecimal; null if the plan has no end.
    trace_hash_planned: Option<String>,
    /// The hash of the operations that were executed, in hexadecimal; null if it is not known.
    trace_hash_executed: Option<String>,
    /// How the run came to its end.
    #[schemars(extend("enum" = State::NAMES))]
    state: &'static str = facts.state.name(),
    /// Why the run failed; null if it did not.
    state_reason: Option<String> = match &facts.state {
        State::Failed(reason) => Some(reason.clone()),
        State::Finished | State::Interrupted | State::Unfinished | State::Repaired => None,
    },
    /// When the run's time axis begins, as a person reads it, in UTC.
    started: String,
    /// When the run's time axis begins, in milliseconds since 1970-01-01 UTC.
    started_unix_ms: u64,
    /// The client machine.
    machine: String,
    /// The version of this program.
    assay_version: String = facts.version.clone(),
    /// When each phase began and ended, by time.
    phases: Vec<PhaseObject> = facts.phases.iter().map(PhaseObject::new).collect(),
}

/// One phase of the run.
struct PhaseObject(span: &PhaseSpan) {
    /// Which phase.
    #[schemars(extend("enum" = Phase::ALL.map(Phase::name)))]
    phase: &'static str = span.phase.name(),
    /// Its first moment, in nanoseconds on the run's time axis.
    began_ns: u64 = span.began.0,
    /// Its last moment, in nanoseconds on the run's time axis.
    ended_ns: u64 = span.ended.0,
}

/// The store.
struct StoreObject(store: &StoreFacts) {
    /// Its name in one word.
    name: String,
    /// Its URL without secrets.
    url: String,
    /// Whether it keeps nothing and finds nothing: its figures are a floor, no ranking.
    is_no_op: bool,
    /// Its effective settings, durability among them.
    settings: Vec<SettingObject> = store.settings.iter().map(SettingObject::new).collect(),
}

/// One setting of the store.
struct SettingObject(setting: &Setting) {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
    /// What that means for the figures.
    meaning: String,
}

/// The load model.
struct LoadObject(facts: &Facts, summary: &Summary) {
    /// Whether arrivals have times of their own, or follow responses.
    #[schemars(extend("enum" = ["open", "closed"]))]
    model: &'static str = verdict::model_name(summary.load),
    /// The load model in words.
    text: String = facts.load.clone(),
    /// The target rate in operations per second; null if no one rate describes it.
    rate_per_s: Option<f64> = summary.load.target(),
    /// How many operations may be in flight; null if there is no bound.
    in_flight_limit: Option<u64> = match summary.load {
        LoadModel::Open { limit, .. } => limit,
        LoadModel::Closed { .. } => None,
    },
    /// The number of sessions.
    sessions: u64,
    /// The number of worker threads.
    threads: u64 = facts.workers,
}

/// The stretch of time that the figures are about.
struct WindowObject(summary: &Summary) {
    /// Its begin, in nanoseconds on the run's time axis.
    from_ns: u64 = summary.window.from.0,
    /// Its end, in nanoseconds on the run's time axis.
    until_ns: u64 = summary.window.until.0,
    /// Its length in nanoseconds, which rates refer to.
    duration_ns: u64 = summary.duration.0,
    /// From the first intended to the last ended time, in nanoseconds.
    span_ns: u64 = summary.span.0,
    /// Whether every arrival is accounted for: offered = done + refused + unknown + dropped.
    is_balanced: bool,
    /// The number of records whose times run backwards.
    backward_times: u64,
    /// The number of records outside the figures, by phase.
    excluded: BTreeMap<&'static str, u64> =
        summary.excluded.iter().map(|(phase, n)| (phase.name(), *n)).collect(),
}

/// Whole transactions.
struct TransactionsObject(types: &Transactions) {
    /// The number of transactions whose last operation has no record; in none of the counts.
    unfinished: u64,
    #[serde(flatten)]
    group: GroupObject = GroupObject::new(&types.group),
}

/// One query.
struct QueryObject(query: &Queried) {
    /// Its number in the plan.
    number: u16,
    /// The mean number of requests to the store per call.
    requests_mean: f64,
    #[serde(flatten)]
    group: GroupObject = GroupObject::new(&query.group),
}

/// A rule about the store's rows, with what was found.
struct RuleObject(finding: &RuleFinding) {
    /// What it is called.
    name: String,
    /// What must hold.
    rule: String,
    /// Whether it holds.
    #[schemars(extend("enum" = ["held", "violated"]))]
    verdict: &'static str = if finding.is_held { "held" } else { "violated" },
    /// Where, with both sides if it does not hold.
    text: String,
}

/// Operations of one kind, or all of them.
struct GroupObject(group: &analyzed::Group) {
    /// How many there were.
    counts: CountsObject = CountsObject::new(&group.counts),
    /// How many there were per second.
    rates: RatesObject = RatesObject::new(&group.rates),
    /// Latencies of done operations that found something.
    hits: LatencyObject = LatencyObject::new(&group.hits),
    /// Latencies of done operations that found nothing.
    misses: LatencyObject = LatencyObject::new(&group.misses),
    /// Latencies of refused and unknown operations.
    failed: LatencyObject = LatencyObject::new(&group.failed),
}

/// How many operations there were; offered = done + refused + unknown + dropped.
struct CountsObject(counts: &analyzed::Counts) {
    /// The number offered by the load model.
    offered: u64,
    /// The number answered, hits and misses together.
    done: u64,
    /// The number that certainly did not happen.
    refused: u64,
    /// The number whose outcome is unknown.
    unknown: u64,
    /// The number that were never sent.
    dropped: u64,
    /// The number done that found something.
    hits: u64,
    /// The number done that found nothing.
    misses: u64,
    /// The number that a user got something from: hits of reads and scans, all done writes.
    good: u64,
    /// Bytes of values received by done reads and scans.
    bytes_in: u64,
    /// Bytes of values sent by done writes.
    bytes_out: u64,
    /// The number of records returned.
    rows: u64,
    /// The number of reads and scans that found something without a version.
    found_without_version: u64,
    /// Why operations were refused, unknown or dropped.
    reasons: Vec<ReasonObject> = counts.reasons.iter().map(ReasonObject::new).collect(),
}

/// One reason for operations that were not done.
struct ReasonObject(counted: &(Outcome, Reason, u64)) {
    /// The outcome.
    #[schemars(extend("enum" = ["refused", "unknown", "dropped"]))]
    outcome: &'static str = counted.0.name(),
    /// The reason in a word.
    reason: &'static str = counted.1.name(),
    /// The number of these operations.
    count: u64 = counted.2,
}

/// Operations per second of the window.
struct RatesObject(rates: &analyzed::Rates) {
    /// Operations per second of the load model; null if no one rate describes it, and of parts of
    /// the operations.
    target_per_s: Option<f64>,
    /// Arrivals per second.
    offered_per_s: f64,
    /// Requests sent per second.
    attempted_per_s: f64,
    /// Operations done per second, hits and misses.
    done_per_s: f64,
    /// Operations per second that a user got something from.
    goodput_per_s: f64,
    /// Done as a share of the target, or of what was offered if there is no target.
    reached: f64,
}

/// The three times of operations.
struct LatencyObject(latency: &analyzed::Latency) {
    /// Ended − intended: what a user waits.
    response: DistributionObject = DistributionObject::new(&latency.response),
    /// Ended − started: what the store needs.
    service: DistributionObject = DistributionObject::new(&latency.service),
    /// Started − intended: what the load generator added.
    lag: DistributionObject = DistributionObject::new(&latency.lag),
}

/// A distribution of times.
struct DistributionObject(distribution: &Distribution)
where
    let percentiles = distribution.percentiles.iter();
    let named = |p: &Percentile| (percentile_name(p.quantile), p.value.0);
    let judged = |p: &Percentile| Some((percentile_name(p.quantile), confidence(p.interval)?));
{
    /// The number of values.
    count: u64,
    /// The number of values above the histogram's range.
    saturated: u64,
    /// The exact mean in nanoseconds; 0 if there are no values.
    mean_ns: u64 = distribution.mean_ns.round() as u64,
    /// The standard deviation in nanoseconds; 0 if there are no values.
    stddev_ns: u64 = distribution.stddev_ns.round() as u64,
    /// The exact smallest value in nanoseconds; 0 if there are none.
    min_ns: u64 = distribution.min.0,
    /// The exact largest value in nanoseconds; 0 if there are none.
    max_ns: u64 = distribution.max.0,
    /// Percentiles in nanoseconds by their names, `p50` to `max`; empty if there are no values.
    percentiles_ns: BTreeMap<String, u64> = percentiles.clone().map(named).collect(),
    /// The 95 % interval of each percentile by its name, or why there is none.
    confidence: BTreeMap<String, ConfidenceObject> = percentiles.filter_map(judged).collect(),
}

/// What checking the returned values found.
struct ValueChecksObject(values: &analyzed::ValueChecks) {
    /// The number of answers in which every field held what it must.
    right: u64,
    /// The number of answers in which a field held something else.
    wrong: u64,
    /// The number of answers in which nothing came back.
    empty: u64,
    /// How long each check took.
    time: DistributionObject = DistributionObject::new(&values.time),
}

/// Concurrency by Little's law beside what was counted directly.
struct InFlightObject(in_flight: &analyzed::InFlight) {
    /// Throughput times mean service time, held against the sessions or the bound on operations in
    /// flight.
    by_service: PlausibilityObject = PlausibilityObject::new(&in_flight.by_service),
    /// Throughput times mean response time: how many users wait, at the store or before it.
    by_response: PlausibilityObject = PlausibilityObject::new(&in_flight.by_response),
    /// The mean number of requests that the store had, integrated over the window.
    mean_integrated: f64,
    /// The largest mean number of requests over one interval of the series.
    peak_interval_mean: f64,
    /// Whether throughput times mean service time agrees with the integral within 10 %.
    agrees: bool,
}

/// What follows from Little's law.
struct PlausibilityObject(claim: &analyzed::Plausibility) {
    /// The throughput λ in operations per second.
    lambda_per_s: f64,
    /// The mean time W of an operation in nanoseconds.
    mean_ns: u64 = (claim.mean_s * 1e9).round() as u64,
    /// The mean number of operations L = λ·W.
    little_l: f64,
    /// The most operations that could be there at once; null if there is no bound.
    limit: Option<f64>,
    /// Whether L is within the limit.
    #[schemars(extend("enum" = ["held", "violated", "unknown"]))]
    verdict: &'static str = claim.verdict.name(),
}

/// What the bound on operations in flight held back.
struct HeldBackObject(held: &analyzed::HeldBack) {
    /// The number of operations that were late, or dropped, for that reason.
    operations: u64,
    /// The lag of all operations without those waits.
    own_lag: DistributionObject = DistributionObject::new(&held.own_lag),
}

/// Success ratios, outages and silences.
struct AvailabilityObject(availability: &analyzed::Availability)
where
    let ratio = |(kind, ratio): &(Kind, f64)| (kind.name(), *ratio);
{
    /// The share of the operations with a response, however late.
    success_ratio: f64,
    /// The same by kind of operation.
    by_kind: BTreeMap<&'static str, f64> = availability.by_kind.iter().map(ratio).collect(),
    /// A response after this many nanoseconds is late.
    deadline_ns: u64 = availability.deadline.0,
    /// The share of arrivals answered by the deadline.
    in_time_ratio: f64,
    /// The number of operations answered after the deadline.
    late: u64,
    /// Outages shorter than this many nanoseconds are chance, or too short to see.
    threshold_ns: u64 = availability.threshold.0,
    /// The sum of the lengths of outages in nanoseconds.
    down_ns: u64 = availability.down.0,
    /// The mean length of an outage in nanoseconds; null if there was none.
    mean_outage_ns: Option<u64> = availability.mean_outage.map(|time| time.0),
    /// The share of the observed time outside outages.
    up_share: f64,
    /// Operations done per second in the median interval outside outages.
    baseline_per_s: f64,
    /// Stretches in which something failed and nothing was answered in time, by time.
    outages: Vec<OutageObject> = availability.outages.iter().map(OutageObject::new).collect(),
    /// Silences shorter than this many nanoseconds are chance, or too short to see.
    silence_threshold_ns: u64 = availability.silence_threshold.0,
    /// The longest silence, due to chance or not; null if none could be seen.
    longest_silence: Option<SilenceObject> =
        availability.longest_silence.as_ref().map(SilenceObject::new),
    /// Silences longer than the threshold, by time.
    silences: Vec<SilenceObject> = availability.silences.iter().map(SilenceObject::new).collect(),
}

/// A stretch in which no response came although an operation waited for one.
struct SilenceObject(silence: &analyzed::Silence) {
    /// When the last answer before it came, or the first that waited in it was intended, in
    /// nanoseconds on the run's time axis.
    from_ns: u64 = silence.from.0,
    /// When the first answer after it came, or the window's end, in nanoseconds on the run's time
    /// axis.
    until_ns: u64 = silence.until.0,
    /// Whether the window's start or end cuts it off, so that it may have been longer.
    is_cut_off: bool,
}

/// A stretch in which something failed and nothing was answered in time.
struct OutageObject(outage: &analyzed::Outage) {
    /// The intended time of the last success before it, in nanoseconds on the run's time axis.
    from_ns: u64 = outage.from.0,
    /// The intended time of the first success after it, in nanoseconds on the run's time axis.
    until_ns: u64 = outage.until.0,
    /// The number of operations intended in it that failed or were late.
    failures: u64,
    /// Whether the window's start or end cuts it off, so that it may have been longer.
    is_cut_off: bool,
    /// Nanoseconds from its end until throughput was back at 90 % of the baseline; null if that
    /// never came.
    recovered_after_ns: Option<u64> = outage.recovered_after.map(|time| time.0),
}

/// Something that happened to the run as a whole.
struct EventObject(event: &assay_model::Event) {
    /// When, in nanoseconds on the run's time axis.
    at_ns: u64 = event.at.0,
    /// What sort of event it is.
    #[schemars(extend("enum" = ["phase", "fault", "change", "warning"]))]
    kind: &'static str = event.kind.name(),
    /// What happened, in words.
    text: String,
}

/// An action on the store, with what was seen of it in the store's answers.
struct EffectObject(action: &ActionEffect)
where
    let effect = action.effect.as_ref();
{
    /// What was done.
    text: String,
    /// When, in nanoseconds on the run's time axis.
    at_ns: u64 = action.at.0,
    /// Whether enough of the run lies before and after it to assess it.
    // Another key would be another version of the object.
    #[serde(rename = "is_simulated")]
    is_assessable: bool = effect.is_some(),
    /// Where the first interval begins that differs from before, in nanoseconds on the run's time
    /// axis; null if none does.
    first_ns: Option<u64> = effect.and_then(|effect| effect.first).map(|at| at.0),
    /// Where the last interval ends that differs from how it is in the end, in nanoseconds on the
    /// run's time axis; null if none does.
    last_ns: Option<u64> = effect.and_then(|effect| effect.last).map(|at| at.0),
    /// The longest silence that it caused; null if it caused none.
    stop: Option<SilenceObject> = action.stop.as_ref().map(SilenceObject::new),
    /// Whether it came to rest before the next action, or before the end.
    is_at_rest: bool = effect.is_some_and(|effect| effect.is_at_rest),
    /// How it was before; null if it cannot be assessed.
    before: Option<LevelObject> = effect.map(|effect| LevelObject::new(&effect.before)),
    /// How it is in the end; null if it cannot be assessed.
    after: Option<LevelObject> = effect.map(|effect| LevelObject::new(&effect.after)),
}

/// Throughput, response times and failures of the intervals before or after an action.
struct LevelObject(level: &EffectLevel) {
    /// Operations done per second.
    done_per_s: f64,
    /// The median of the response times of an interval in nanoseconds; null if nothing was
    /// answered.
    p50_ns: Option<u64> = level.p50.map(|time| time.0),
    /// Their 99th percentile in nanoseconds; null if nothing was answered.
    p99_ns: Option<u64> = level.p99.map(|time| time.0),
    /// The share of operations that were refused, unknown or dropped.
    failed_share: f64 = level.failed,
}

/// One node of the store.
struct NodeObject(node: &NodeSummary) {
    /// Its name.
    name: String = crate::tables::node_name(node),
    /// The number of operations that it answered, or that were sent to it.
    operations: u64,
    /// The number of those that were not answered.
    failed: u64,
    /// Those as a share of its operations.
    failed_share: f64 = node.failed_share(),
    /// The longest time in which no answer of it came although an operation waited for one; null if
    /// it is too short to see.
    silence: Option<SilenceObject> = node.silence.as_ref().map(SilenceObject::new),
    /// The 99th percentile of its response times in nanoseconds; null for fewer than 100
    /// operations.
    p99_ns: Option<u64> = node.p99.map(|p99| p99.0),
}

/// The resources that one server of the store used over the measured window.
struct ServerObject(server: &ServerTimeSeries, used: ServerUse) {
    /// The node's name.
    name: String,
    /// The mean number of processors in use; null if it was not observed.
    processors: Option<f64> = used.mean.processors,
    /// The largest number of processors in use between two readings; null if it was not observed.
    processors_max: Option<f64> = used.processors_max,
    /// The largest memory in use in bytes; null if it was not observed.
    memory_bytes: Option<f64> = used.mean.memory,
    /// The mean number of bytes read from disk per second; null if it was not observed.
    disk_read_bytes_per_s: Option<f64> = used.mean.disk_read,
    /// The mean number of bytes written to disk per second; null if it was not observed.
    disk_written_bytes_per_s: Option<f64> = used.mean.disk_written,
    /// The mean number of bytes received per second; null if it was not observed.
    received_bytes_per_s: Option<f64> = used.mean.received,
    /// The mean number of bytes sent per second; null if it was not observed.
    sent_bytes_per_s: Option<f64> = used.mean.sent,
}

/// The figures over time.
pub struct SeriesObject(series: &Series) {
    /// Where the first interval begins, in nanoseconds on the run's time axis.
    from_ns: u64 = series.from.0,
    /// The length of every interval in nanoseconds.
    width_ns: u64 = series.width.0,
    /// The intervals without a gap.
    intervals: Vec<IntervalObject> = series.intervals.iter().map(IntervalObject::new).collect(),
}

/// One line of NDJSON, about one interval.
#[schemars(title = "One line of NDJSON")]
pub struct IntervalLine<'a>(run_id: &'a str, series: &Series, interval: &IntervalSummary) {
    /// What the line is.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "interval"))]
    line_type: &'static str = "interval",
    /// The version of this object.
    #[schemars(extend("const" = super::INTERVAL_SCHEMA))]
    schema: &'static str = super::INTERVAL_SCHEMA,
    /// The name of the run directory.
    run_id: &'a str = run_id,
    /// The length of the interval in nanoseconds.
    width_ns: u64 = series.width.0,
    #[serde(flatten)]
    interval: IntervalObject = IntervalObject::new(interval),
}

/// One interval of the run.
struct IntervalObject(interval: &IntervalSummary)
where
    let counted = Kind::ALL.iter().zip(interval.done_by_kind).filter(|(_, count)| *count > 0);
{
    /// Where it begins, in nanoseconds on the run's time axis.
    from_ns: u64 = interval.from.0,
    /// The number of operations intended within it.
    offered: u64,
    /// The number of operations done within it, by ended time; hits and misses.
    done: u64,
    /// The number of those that missed.
    misses: u64,
    /// The number of operations refused within it.
    refused: u64,
    /// The number of operations given up as unknown within it.
    unknown: u64,
    /// The number of operations dropped within it.
    dropped: u64,
    /// The number of operations done within it, by kind.
    done_by_kind: BTreeMap<&'static str, u64> =
        counted.map(|(kind, count)| (kind.name(), count)).collect(),
    /// The mean number of requests that the store had.
    in_flight: f64,
    /// The mean number of operations that were intended and not ended.
    in_system: f64,
    /// Response times of the hits that were intended in it.
    response: QuickObject = QuickObject::new(&interval.response),
    /// Service times of the hits that were sent in it.
    service: QuickObject = QuickObject::new(&interval.service),
    /// Lag of all operations that were intended in it.
    lag: QuickObject = QuickObject::new(&interval.lag),
    /// Response times of the misses that were intended in it.
    miss_response: QuickObject = QuickObject::new(&interval.miss_response),
}

/// Percentiles of one interval: upper edges of buckets of 1/32 octave, at most 3.2 % too high and
/// never above `max_ns`, which is exact.
struct QuickObject(quick: &analyzed::Quick) {
    /// The number of values.
    count: u64,
    /// The median in nanoseconds.
    p50_ns: u64 = quick.p50.0,
    /// The 90th percentile in nanoseconds.
    p90_ns: u64 = quick.p90.0,
    /// The 99th percentile in nanoseconds.
    p99_ns: u64 = quick.p99.0,
    /// The 99.9th percentile in nanoseconds.
    p999_ns: u64 = quick.p999.0,
    /// The largest value in nanoseconds, exactly.
    max_ns: u64 = quick.max.0,
}
}

/// The 95 % interval of a percentile, or why there is none.
#[derive(JsonSchema, Serialize)]
#[serde(untagged)]
enum ConfidenceObject {
    /// The ends of the interval.
    Known {
        /// The lower end in nanoseconds.
        low_ns: u64,
        /// The upper end in nanoseconds.
        high_ns: u64,
        /// The number of successive operations that tell as much as one independent one.
        dependence: f64,
    },
    /// Why there is no interval.
    None {
        /// The reason: no value lies beyond the percentile, few do, those that do came together,
        /// or they came in too few stretches of time.
        #[schemars(extend("enum" = ["none-beyond", "few-beyond", "dependent", "few-batches"]))]
        no_interval: &'static str,
        /// How many seconds longer a run without other events would have to be for one.
        further_seconds: f64,
    },
}

fn confidence(interval: Interval) -> Option<ConfidenceObject> {
    match interval {
        Interval::Known { low, high, dependence } => {
            Some(ConfidenceObject::Known { low_ns: low.0, high_ns: high.0, dependence })
        }
        Interval::TooFew { further_seconds, shortage } => {
            Some(ConfidenceObject::None { no_interval: shortage.name(), further_seconds })
        }
        Interval::Undefined => None,
    }
}

/// Findings about the figures, and whether the figures are valid at all.
fn findings(facts: &Facts, summary: &Summary) -> Vec<Finding> {
    let mut findings = verdict::findings(facts, summary, Letters::Ascii);
    if let Some(line) = hallmark::line(facts).filter(|line| line.level != Level::Fine) {
        findings.retain(|finding| finding.level != Level::Fine);
        findings.push(Finding { level: line.level, name: "hallmark", text: line.shout() });
        findings.sort_by_key(|finding| finding.level);
    }
    findings
}
