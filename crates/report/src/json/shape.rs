//! The shape of the JSON result; a field's name ends in its unit.

use std::collections::BTreeMap;

use assay_analysis as analyzed;
use assay_analysis::effect::Level as EffectLevel;
use assay_analysis::scraped::{ScrapedSeries, ScrapedUse};
use assay_analysis::servers::{ServerTimeSeries, ServerUse};
use assay_analysis::{Distribution, Interval, LoadModel, NodeSummary, Summary, Transactions};
use assay_model::{Kind, Nanos, Phase};
use schemars::JsonSchema;
use serde::Serialize;

use crate::consistency::ConsistencyObject;
use crate::facts::{ActionEffect, AgentFacts, Facts, RuleFinding, State, WorkloadFigure};
use crate::hallmark::{self, HallmarkObject};
use crate::recovery::RecoveryObject;
use crate::units::{Letters, percentile_name};
use crate::verdict::{self, Finding, Level};

/// The result of one run: times in nanoseconds, rates in operations per second. Later versions of
/// the same schema may add fields.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "The result of one run")]
pub struct ResultObject {
    /// The version of this object.
    #[schemars(extend("const" = super::SCHEMA))]
    schema: &'static str,
    /// What a reader must know before any figure.
    verdict: VerdictObject,
    /// Whether the figures can be trusted; null if the run was not examined.
    hallmark: Option<HallmarkObject>,
    /// The run with all that repeats it.
    run: RunObject,
    /// The store.
    store: StoreObject,
    /// The load model.
    load: LoadObject,
    /// The stretch of time that the figures are about.
    window: WindowObject,
    /// All kinds of operation together.
    overall: GroupObject,
    /// Each kind of operation that was offered, by its name.
    kinds: BTreeMap<&'static str, GroupObject>,
    /// Each transaction type of more than one operation, by its name.
    transactions: BTreeMap<String, TransactionsObject>,
    /// Transactions of all types together; only if all queries ran in transactions.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "GroupObject")]
    all_transactions: Option<GroupObject>,
    /// Each query that was offered, by its name; only for workloads of queries.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    queries: BTreeMap<String, QueryObject>,
    /// Whole processes; only if they are more than one transaction each.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "TransactionsObject")]
    processes: Option<TransactionsObject>,
    /// Started − intended of all issued operations, whatever their outcome.
    lag: DistributionObject,
    /// What checking the returned values found.
    value_checks: ValueChecksObject,
    /// Concurrency by Little's law beside what was counted directly.
    in_flight: InFlightObject,
    /// Success ratios, outages and silences.
    availability: AvailabilityObject,
    /// Arrivals that waited, or were dropped, because as many as can be in flight were unanswered;
    /// null if nothing was held back.
    held_back: Option<HeldBackObject>,
    /// Verdicts on consistency; only if they were judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "ConsistencyObject")]
    consistency: Option<ConsistencyObject>,
    /// States over time and recoveries from faults; only if there is enough of the run to tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecoveryObject")]
    recovery: Option<RecoveryObject>,
    /// Rules about the store's rows, with what was found; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<RuleObject>,
    /// Figures that the workload's own definition requires; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<WorkloadFigure>,
    /// What happened to the run as a whole, by time.
    events: Vec<EventObject>,
    /// Actions on the store, with what was seen of them in its answers; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<EffectObject>,
    /// Availability of each node of the store; only if at least two are known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeObject>,
    /// The agents of a fleet; only if there are some.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<AgentObject>,
    /// Means of the resources that servers of the store used over the measured window; only if they
    /// were observed. Memory is the largest value.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ServerObject>,
    /// What servers counted about themselves over the measured window.
    scraped: Vec<ScrapedObject>,
    /// The figures over time; not in the last line of NDJSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "SeriesObject")]
    series: Option<SeriesObject>,
}

impl ResultObject {
    pub fn new(facts: &Facts, summary: &Summary, series: Option<SeriesObject>) -> ResultObject {
        let transactions = summary
            .transactions
            .iter()
            .map(|types| (types.name.clone(), TransactionsObject::new(types)));
        let queries = summary.queries.iter().map(|query| {
            let (number, requests_mean) = (query.number, query.requests_mean);
            let group = GroupObject::new(&query.group);
            (query.name.clone(), QueryObject { number, requests_mean, group })
        });
        ResultObject {
            schema: super::SCHEMA,
            verdict: VerdictObject::new(facts, summary),
            hallmark: HallmarkObject::new(facts),
            run: RunObject::new(facts),
            store: StoreObject::new(facts),
            load: LoadObject::new(facts, summary),
            window: WindowObject::new(summary),
            overall: GroupObject::new(&summary.overall),
            kinds: summary
                .kinds
                .iter()
                .map(|(kind, group)| (kind.name(), GroupObject::new(group)))
                .collect(),
            transactions: transactions.collect(),
            all_transactions: summary.all_transactions.as_ref().map(GroupObject::new),
            queries: queries.collect(),
            processes: summary.processes.as_ref().map(TransactionsObject::new),
            lag: DistributionObject::new(&summary.lag),
            value_checks: ValueChecksObject::new(&summary.values),
            in_flight: InFlightObject::new(&summary.in_flight),
            availability: AvailabilityObject::new(&summary.availability),
            held_back: summary.held_back.as_ref().map(HeldBackObject::new),
            consistency: facts.consistency.as_ref().map(ConsistencyObject::new),
            recovery: facts.availability.as_ref().map(RecoveryObject::new),
            findings: facts.findings.iter().map(RuleObject::new).collect(),
            figures: facts.figures.clone(),
            events: facts.events.iter().map(EventObject::new).collect(),
            effects: facts.effects.iter().map(EffectObject::new).collect(),
            nodes: summary.nodes.iter().map(NodeObject::new).collect(),
            agents: facts.agents.iter().map(AgentObject::new).collect(),
            servers: facts.servers.iter().filter_map(ServerObject::new).collect(),
            scraped: facts
                .scraped
                .iter()
                .filter_map(|series| Some(ScrapedObject::new(series, series.used?)))
                .collect(),
            series,
        }
    }
}

/// One metric of one server over the measured window.
#[derive(JsonSchema, Serialize)]
struct ScrapedObject {
    /// The server.
    source: String,
    /// The name of the metric.
    metric: &'static str,
    /// The part of the server that it is about: labels of Prometheus.
    part: String,
    /// Whether the values are per second.
    per_second: bool,
    /// The least value, in the metric's unit.
    least: f64,
    /// The mean over the readings, in the metric's unit.
    mean: f64,
    /// The greatest value, in the metric's unit.
    most: f64,
    /// When that was read first, in nanoseconds on the run's time axis.
    most_at_ns: u64,
}

impl ScrapedObject {
    fn new(series: &ScrapedSeries, used: ScrapedUse) -> ScrapedObject {
        ScrapedObject {
            source: series.source.clone(),
            metric: series.metric,
            part: series.part.clone(),
            per_second: series.is_rate,
            least: used.least,
            mean: used.mean,
            most: used.most,
            most_at_ns: used.most_at.0,
        }
    }
}

/// One agent of a fleet.
#[derive(JsonSchema, Serialize)]
struct AgentObject {
    /// Its number.
    agent: u32,
    /// Its machine.
    host: String,
    /// The number of its worker threads.
    threads: u32,
    /// The number of its operations in the window.
    offered: u64,
    /// Those that were done, per second of the window.
    done_per_s: f64,
    /// The median of their response times in nanoseconds; null if there are none.
    p50_ns: Option<u64>,
    /// Their 99th percentile in nanoseconds; null if there are none.
    p99_ns: Option<u64>,
    /// The 99th percentile of its lag in nanoseconds; null if there is none.
    lag_p99_ns: Option<u64>,
    /// Its epoch was at least so many nanoseconds later than the run's, less than zero is earlier;
    /// null if that was not measured.
    start_least_ns: Option<i64>,
    /// Its epoch was at most so many nanoseconds later; null if that was not measured.
    start_most_ns: Option<i64>,
}

impl AgentObject {
    fn new(agent: &AgentFacts) -> AgentObject {
        AgentObject {
            agent: agent.agent,
            host: agent.host.clone(),
            threads: agent.workers,
            offered: agent.offered,
            done_per_s: agent.done_per_s,
            p50_ns: agent.p50.map(|value| value.0),
            p99_ns: agent.p99.map(|value| value.0),
            lag_p99_ns: agent.lag_p99.map(|value| value.0),
            start_least_ns: agent.start_least_ns,
            start_most_ns: agent.start_most_ns,
        }
    }
}

#[derive(Serialize)]
pub struct SummaryLine {
    #[serde(rename = "type")]
    line_type: &'static str,
    #[serde(flatten)]
    result: ResultObject,
}

impl SummaryLine {
    pub fn new(result: ResultObject) -> SummaryLine {
        SummaryLine { line_type: "summary", result }
    }
}

/// The worst finding, with all of them.
#[derive(JsonSchema, Serialize)]
struct VerdictObject {
    #[serde(flatten)]
    worst: Finding,
    /// All findings, the worst first.
    findings: Vec<Finding>,
}

impl VerdictObject {
    /// Findings about the figures, and whether the figures are valid at all.
    fn new(facts: &Facts, summary: &Summary) -> VerdictObject {
        let mut findings = verdict::findings(facts, summary, Letters::Ascii);
        if let Some(line) = hallmark::line(facts).filter(|line| line.level != Level::Fine) {
            findings.retain(|finding| finding.level != Level::Fine);
            findings.push(Finding { level: line.level, name: "hallmark", text: line.shout() });
            findings.sort_by_key(|finding| finding.level);
        }
        let worst = findings.first().expect("there is always a finding, if only that all is fine");
        VerdictObject { worst: worst.clone(), findings }
    }
}

/// The run with all that repeats it.
#[derive(JsonSchema, Serialize)]
struct RunObject {
    /// The name of the run directory.
    id: String,
    /// A headline of a few words.
    title: String,
    /// The command that repeats the run, as one line for a shell.
    command: String,
    /// The 64-bit seed in decimal digits; a text, because not every reader of JSON keeps 64 bits of
    /// a number.
    seed: String,
    /// The name of the workload's spec.
    spec: String,
    /// The hash of the trace as planned, in hexadecimal; null if the plan has no end.
    trace_hash_planned: Option<String>,
    /// The hash of the operations that were executed, in hexadecimal; null if it is not known.
    trace_hash_executed: Option<String>,
    /// How the run came to its end.
    #[schemars(extend("enum" = State::NAMES))]
    state: &'static str,
    /// Why the run failed; null if it did not.
    state_reason: Option<String>,
    /// When the run's time axis begins, as a person reads it, in UTC.
    started: String,
    /// When the run's time axis begins, in milliseconds since 1970-01-01 UTC.
    started_unix_ms: u64,
    /// The client machine.
    machine: String,
    /// The version of this program.
    assay_version: String,
    /// When each phase began and ended, by time.
    phases: Vec<PhaseObject>,
}

/// One phase of the run.
#[derive(JsonSchema, Serialize)]
struct PhaseObject {
    /// Which phase.
    #[schemars(extend("enum" = Phase::ALL.map(Phase::name)))]
    phase: &'static str,
    /// Its first moment, in nanoseconds on the run's time axis.
    began_ns: u64,
    /// Its last moment, in nanoseconds on the run's time axis.
    ended_ns: u64,
}

impl RunObject {
    fn new(facts: &Facts) -> RunObject {
        let phase = |span: &crate::facts::PhaseSpan| PhaseObject {
            phase: span.phase.name(),
            began_ns: span.began.0,
            ended_ns: span.ended.0,
        };
        RunObject {
            id: facts.run_id.clone(),
            title: facts.title.clone(),
            command: facts.command.clone(),
            seed: facts.seed.to_string(),
            spec: facts.spec.clone(),
            trace_hash_planned: facts.trace_hash_planned.clone(),
            trace_hash_executed: facts.trace_hash_executed.clone(),
            state: facts.state.name(),
            state_reason: match &facts.state {
                State::Failed(reason) => Some(reason.clone()),
                State::Finished | State::Interrupted | State::Unfinished | State::Repaired => None,
            },
            started: facts.started.clone(),
            started_unix_ms: facts.started_unix_ms,
            machine: facts.machine.clone(),
            assay_version: facts.version.clone(),
            phases: facts.phases.iter().map(phase).collect(),
        }
    }
}

/// The store.
#[derive(JsonSchema, Serialize)]
struct StoreObject {
    /// Its name in one word.
    name: String,
    /// Its URL without secrets.
    url: String,
    /// Whether it keeps nothing and finds nothing: its figures are a floor, no ranking.
    is_no_op: bool,
    /// Its effective settings, durability among them.
    settings: Vec<SettingObject>,
}

/// One setting of the store.
#[derive(JsonSchema, Serialize)]
struct SettingObject {
    /// Its name.
    name: String,
    /// Its value.
    value: String,
    /// What that means for the figures.
    meaning: String,
}

impl StoreObject {
    fn new(facts: &Facts) -> StoreObject {
        let setting = |setting: &assay_model::Setting| SettingObject {
            name: setting.name.clone(),
            value: setting.value.clone(),
            meaning: setting.meaning.clone(),
        };
        StoreObject {
            name: facts.store.name.clone(),
            url: facts.store.url.clone(),
            is_no_op: facts.store.is_no_op,
            settings: facts.store.settings.iter().map(setting).collect(),
        }
    }
}

/// The load model.
#[derive(JsonSchema, Serialize)]
struct LoadObject {
    /// Whether arrivals have times of their own, or follow responses.
    #[schemars(extend("enum" = ["open", "closed"]))]
    model: &'static str,
    /// The load model in words.
    text: String,
    /// The target rate in operations per second; null if no one rate describes it.
    rate_per_s: Option<f64>,
    /// How many operations may be in flight; null if there is no bound.
    in_flight_limit: Option<u64>,
    /// The number of sessions.
    sessions: u64,
    /// The number of worker threads.
    threads: u64,
}

impl LoadObject {
    fn new(facts: &Facts, summary: &Summary) -> LoadObject {
        LoadObject {
            model: verdict::model_name(summary.load),
            text: facts.load.clone(),
            rate_per_s: summary.load.target(),
            in_flight_limit: match summary.load {
                LoadModel::Open { limit, .. } => limit,
                LoadModel::Closed { .. } => None,
            },
            sessions: facts.sessions,
            threads: facts.workers,
        }
    }
}

/// The stretch of time that the figures are about.
#[derive(JsonSchema, Serialize)]
struct WindowObject {
    /// Its begin, in nanoseconds on the run's time axis.
    from_ns: u64,
    /// Its end, in nanoseconds on the run's time axis.
    until_ns: u64,
    /// Its length in nanoseconds, which rates refer to.
    duration_ns: u64,
    /// From the first intended to the last ended time, in nanoseconds.
    span_ns: u64,
    /// Whether every arrival is accounted for: offered = done + refused + unknown + dropped.
    is_balanced: bool,
    /// The number of records whose times run backwards.
    backward_times: u64,
    /// The number of records outside the figures, by phase.
    excluded: BTreeMap<&'static str, u64>,
}

impl WindowObject {
    fn new(summary: &Summary) -> WindowObject {
        WindowObject {
            from_ns: summary.window.from.0,
            until_ns: summary.window.until.0,
            duration_ns: summary.duration.0,
            span_ns: summary.span.0,
            is_balanced: summary.is_balanced,
            backward_times: summary.backward_times,
            excluded: summary.excluded.iter().map(|(phase, n)| (phase.name(), *n)).collect(),
        }
    }
}

/// Whole transactions.
#[derive(JsonSchema, Serialize)]
struct TransactionsObject {
    /// The number of transactions whose last operation has no record; in none of the counts.
    unfinished: u64,
    #[serde(flatten)]
    group: GroupObject,
}

impl TransactionsObject {
    fn new(types: &Transactions) -> TransactionsObject {
        let group = GroupObject::new(&types.group);
        TransactionsObject { unfinished: types.unfinished, group }
    }
}

/// One query.
#[derive(JsonSchema, Serialize)]
struct QueryObject {
    /// Its number in the plan.
    number: u16,
    /// The mean number of requests to the store per call.
    requests_mean: f64,
    #[serde(flatten)]
    group: GroupObject,
}

/// A rule about the store's rows, with what was found.
#[derive(JsonSchema, Serialize)]
struct RuleObject {
    /// What it is called.
    name: String,
    /// What must hold.
    rule: String,
    /// Whether it holds.
    #[schemars(extend("enum" = ["held", "violated"]))]
    verdict: &'static str,
    /// Where, with both sides if it does not hold.
    text: String,
}

impl RuleObject {
    fn new(finding: &RuleFinding) -> RuleObject {
        RuleObject {
            name: finding.name.clone(),
            rule: finding.rule.clone(),
            verdict: if finding.is_held { "held" } else { "violated" },
            text: finding.text.clone(),
        }
    }
}

/// Operations of one kind, or all of them.
#[derive(JsonSchema, Serialize)]
struct GroupObject {
    /// How many there were.
    counts: CountsObject,
    /// How many there were per second.
    rates: RatesObject,
    /// Latencies of done operations that found something.
    hits: LatencyObject,
    /// Latencies of done operations that found nothing.
    misses: LatencyObject,
    /// Latencies of refused and unknown operations.
    failed: LatencyObject,
}

impl GroupObject {
    fn new(group: &analyzed::Group) -> GroupObject {
        GroupObject {
            counts: CountsObject::new(&group.counts),
            rates: RatesObject::new(&group.rates),
            hits: LatencyObject::new(&group.hits),
            misses: LatencyObject::new(&group.misses),
            failed: LatencyObject::new(&group.failed),
        }
    }
}

/// How many operations there were; offered = done + refused + unknown + dropped.
#[derive(JsonSchema, Serialize)]
struct CountsObject {
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
    reasons: Vec<ReasonObject>,
}

/// One reason for operations that were not done.
#[derive(JsonSchema, Serialize)]
struct ReasonObject {
    /// The outcome.
    #[schemars(extend("enum" = ["refused", "unknown", "dropped"]))]
    outcome: &'static str,
    /// The reason in a word.
    reason: &'static str,
    /// The number of these operations.
    count: u64,
}

impl CountsObject {
    fn new(counts: &analyzed::Counts) -> CountsObject {
        CountsObject {
            offered: counts.offered,
            done: counts.done,
            refused: counts.refused,
            unknown: counts.unknown,
            dropped: counts.dropped,
            hits: counts.hits,
            misses: counts.misses,
            good: counts.good,
            bytes_in: counts.bytes_in,
            bytes_out: counts.bytes_out,
            rows: counts.rows,
            found_without_version: counts.found_without_version,
            reasons: counts
                .reasons
                .iter()
                .map(|(outcome, reason, count)| ReasonObject {
                    outcome: outcome.name(),
                    reason: reason.name(),
                    count: *count,
                })
                .collect(),
        }
    }
}

/// Operations per second of the window.
#[derive(JsonSchema, Serialize)]
struct RatesObject {
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

impl RatesObject {
    fn new(rates: &analyzed::Rates) -> RatesObject {
        RatesObject {
            target_per_s: rates.target_per_s,
            offered_per_s: rates.offered_per_s,
            attempted_per_s: rates.attempted_per_s,
            done_per_s: rates.done_per_s,
            goodput_per_s: rates.goodput_per_s,
            reached: rates.reached,
        }
    }
}

/// The three times of operations.
#[derive(JsonSchema, Serialize)]
struct LatencyObject {
    /// Ended − intended: what a user waits.
    response: DistributionObject,
    /// Ended − started: what the store needs.
    service: DistributionObject,
    /// Started − intended: what the load generator added.
    lag: DistributionObject,
}

impl LatencyObject {
    fn new(latency: &analyzed::Latency) -> LatencyObject {
        LatencyObject {
            response: DistributionObject::new(&latency.response),
            service: DistributionObject::new(&latency.service),
            lag: DistributionObject::new(&latency.lag),
        }
    }
}

/// A distribution of times.
#[derive(JsonSchema, Serialize)]
struct DistributionObject {
    /// The number of values.
    count: u64,
    /// The number of values above the histogram's range.
    saturated: u64,
    /// The exact mean in nanoseconds; 0 if there are no values.
    mean_ns: u64,
    /// The standard deviation in nanoseconds; 0 if there are no values.
    stddev_ns: u64,
    /// The exact smallest value in nanoseconds; 0 if there are none.
    min_ns: u64,
    /// The exact largest value in nanoseconds; 0 if there are none.
    max_ns: u64,
    /// Percentiles in nanoseconds by their names, `p50` to `max`; empty if there are no values.
    percentiles_ns: BTreeMap<String, u64>,
    /// The 95 % interval of each percentile by its name, or why there is none.
    confidence: BTreeMap<String, ConfidenceObject>,
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

impl DistributionObject {
    fn new(distribution: &Distribution) -> DistributionObject {
        let percentiles = &distribution.percentiles;
        DistributionObject {
            count: distribution.count,
            saturated: distribution.saturated,
            mean_ns: distribution.mean_ns.round() as u64,
            stddev_ns: distribution.stddev_ns.round() as u64,
            min_ns: distribution.min.0,
            max_ns: distribution.max.0,
            percentiles_ns: percentiles
                .iter()
                .map(|p| (percentile_name(p.quantile), p.value.0))
                .collect(),
            confidence: percentiles
                .iter()
                .filter_map(|p| Some((percentile_name(p.quantile), confidence(p.interval)?)))
                .collect(),
        }
    }
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

/// What checking the returned values found.
#[derive(JsonSchema, Serialize)]
struct ValueChecksObject {
    /// The number of answers in which every field held what it must.
    right: u64,
    /// The number of answers in which a field held something else.
    wrong: u64,
    /// The number of answers in which nothing came back.
    empty: u64,
    /// How long each check took.
    time: DistributionObject,
}

impl ValueChecksObject {
    fn new(values: &analyzed::ValueChecks) -> ValueChecksObject {
        ValueChecksObject {
            right: values.right,
            wrong: values.wrong,
            empty: values.empty,
            time: DistributionObject::new(&values.time),
        }
    }
}

/// Concurrency by Little's law beside what was counted directly.
#[derive(JsonSchema, Serialize)]
struct InFlightObject {
    /// Throughput times mean service time, held against the sessions or the bound on operations in
    /// flight.
    by_service: PlausibilityObject,
    /// Throughput times mean response time: how many users wait, at the store or before it.
    by_response: PlausibilityObject,
    /// The mean number of requests that the store had, integrated over the window.
    mean_integrated: f64,
    /// The largest mean number of requests over one interval of the series.
    peak_interval_mean: f64,
    /// Whether throughput times mean service time agrees with the integral within 10 %.
    agrees: bool,
}

/// What follows from Little's law.
#[derive(JsonSchema, Serialize)]
struct PlausibilityObject {
    /// The throughput λ in operations per second.
    lambda_per_s: f64,
    /// The mean time W of an operation in nanoseconds.
    mean_ns: u64,
    /// The mean number of operations L = λ·W.
    little_l: f64,
    /// The most operations that could be there at once; null if there is no bound.
    limit: Option<f64>,
    /// Whether L is within the limit.
    #[schemars(extend("enum" = ["held", "violated", "unknown"]))]
    verdict: &'static str,
}

impl InFlightObject {
    fn new(in_flight: &analyzed::InFlight) -> InFlightObject {
        InFlightObject {
            by_service: PlausibilityObject::new(&in_flight.by_service),
            by_response: PlausibilityObject::new(&in_flight.by_response),
            mean_integrated: in_flight.mean_integrated,
            peak_interval_mean: in_flight.peak_interval_mean,
            agrees: in_flight.agrees,
        }
    }
}

impl PlausibilityObject {
    fn new(claim: &analyzed::Plausibility) -> PlausibilityObject {
        PlausibilityObject {
            lambda_per_s: claim.lambda_per_s,
            mean_ns: (claim.mean_s * 1e9).round() as u64,
            little_l: claim.little_l,
            limit: claim.limit,
            verdict: match claim.verdict {
                analyzed::Verdict::Held => "held",
                analyzed::Verdict::Violated => "violated",
                analyzed::Verdict::Unknown => "unknown",
            },
        }
    }
}

/// What the bound on operations in flight held back.
#[derive(JsonSchema, Serialize)]
struct HeldBackObject {
    /// The number of operations that were late, or dropped, for that reason.
    operations: u64,
    /// The lag of all operations without those waits.
    own_lag: DistributionObject,
}

impl HeldBackObject {
    fn new(held: &analyzed::HeldBack) -> HeldBackObject {
        let own_lag = DistributionObject::new(&held.own_lag);
        HeldBackObject { operations: held.operations, own_lag }
    }
}

/// Success ratios, outages and silences.
#[derive(JsonSchema, Serialize)]
struct AvailabilityObject {
    /// The share of the operations with a response, however late.
    success_ratio: f64,
    /// The same by kind of operation.
    by_kind: BTreeMap<&'static str, f64>,
    /// A response after this many nanoseconds is late.
    deadline_ns: u64,
    /// The share of arrivals answered by the deadline.
    in_time_ratio: f64,
    /// The number of operations answered after the deadline.
    late: u64,
    /// Outages shorter than this many nanoseconds are chance, or too short to see.
    threshold_ns: u64,
    /// The sum of the lengths of outages in nanoseconds.
    down_ns: u64,
    /// The mean length of an outage in nanoseconds; null if there was none.
    mean_outage_ns: Option<u64>,
    /// The share of the observed time outside outages.
    up_share: f64,
    /// Operations done per second in the median interval outside outages.
    baseline_per_s: f64,
    /// Stretches in which something failed and nothing was answered in time, by time.
    outages: Vec<OutageObject>,
    /// Silences shorter than this many nanoseconds are chance, or too short to see.
    silence_threshold_ns: u64,
    /// The longest silence, due to chance or not; null if none could be seen.
    longest_silence: Option<SilenceObject>,
    /// Silences longer than the threshold, by time.
    silences: Vec<SilenceObject>,
}

/// A stretch in which no response came although an operation waited for one.
#[derive(JsonSchema, Serialize)]
struct SilenceObject {
    /// When the last answer before it came, or the first that waited in it was intended, in
    /// nanoseconds on the run's time axis.
    from_ns: u64,
    /// When the first answer after it came, or the window's end, in nanoseconds on the run's time
    /// axis.
    until_ns: u64,
    /// Whether the window's start or end cuts it off, so that it may have been longer.
    is_cut_off: bool,
}

impl SilenceObject {
    fn new(silence: &analyzed::Silence) -> SilenceObject {
        SilenceObject {
            from_ns: silence.from.0,
            until_ns: silence.until.0,
            is_cut_off: silence.is_cut_off,
        }
    }
}

/// A stretch in which something failed and nothing was answered in time.
#[derive(JsonSchema, Serialize)]
struct OutageObject {
    /// The intended time of the last success before it, in nanoseconds on the run's time axis.
    from_ns: u64,
    /// The intended time of the first success after it, in nanoseconds on the run's time axis.
    until_ns: u64,
    /// The number of operations intended in it that failed or were late.
    failures: u64,
    /// Whether the window's start or end cuts it off, so that it may have been longer.
    is_cut_off: bool,
    /// Nanoseconds from its end until throughput was back at 90 % of the baseline; null if that
    /// never came.
    recovered_after_ns: Option<u64>,
}

impl AvailabilityObject {
    fn new(availability: &analyzed::Availability) -> AvailabilityObject {
        let ratio = |(kind, ratio): &(Kind, f64)| (kind.name(), *ratio);
        let outage = |outage: &analyzed::Outage| OutageObject {
            from_ns: outage.from.0,
            until_ns: outage.until.0,
            failures: outage.failures,
            is_cut_off: outage.is_cut_off,
            recovered_after_ns: outage.recovered_after.map(|time| time.0),
        };
        AvailabilityObject {
            success_ratio: availability.success_ratio,
            by_kind: availability.by_kind.iter().map(ratio).collect(),
            deadline_ns: availability.deadline.0,
            in_time_ratio: availability.in_time_ratio,
            late: availability.late,
            threshold_ns: availability.threshold.0,
            down_ns: availability.down.0,
            mean_outage_ns: availability.mean_outage.map(|time| time.0),
            up_share: availability.up_share,
            baseline_per_s: availability.baseline_per_s,
            outages: availability.outages.iter().map(outage).collect(),
            silence_threshold_ns: availability.silence_threshold.0,
            longest_silence: availability.longest_silence.as_ref().map(SilenceObject::new),
            silences: availability.silences.iter().map(SilenceObject::new).collect(),
        }
    }
}

/// Something that happened to the run as a whole.
#[derive(JsonSchema, Serialize)]
struct EventObject {
    /// When, in nanoseconds on the run's time axis.
    at_ns: u64,
    /// What sort of event it is.
    #[schemars(extend("enum" = ["phase", "fault", "change", "warning"]))]
    kind: &'static str,
    /// What happened, in words.
    text: String,
}

impl EventObject {
    fn new(event: &assay_model::Event) -> EventObject {
        EventObject { at_ns: event.at.0, kind: event.kind.name(), text: event.text.clone() }
    }
}

/// An action on the store, with what was seen of it in the store's answers.
#[derive(JsonSchema, Serialize)]
struct EffectObject {
    /// What was done.
    text: String,
    /// When, in nanoseconds on the run's time axis.
    at_ns: u64,
    /// Whether enough of the run lies before and after it to assess it.
    // Another key would be another version of the object.
    #[serde(rename = "is_simulated")]
    is_assessable: bool,
    /// Where the first interval begins that differs from before, in nanoseconds on the run's time
    /// axis; null if none does.
    first_ns: Option<u64>,
    /// Where the last interval ends that differs from how it is in the end, in nanoseconds on the
    /// run's time axis; null if none does.
    last_ns: Option<u64>,
    /// The longest silence that it caused; null if it caused none.
    stop: Option<SilenceObject>,
    /// Whether it came to rest before the next action, or before the end.
    is_at_rest: bool,
    /// How it was before; null if it cannot be assessed.
    before: Option<LevelObject>,
    /// How it is in the end; null if it cannot be assessed.
    after: Option<LevelObject>,
}

/// Throughput, response times and failures of the intervals before or after an action.
#[derive(JsonSchema, Serialize)]
struct LevelObject {
    /// Operations done per second.
    done_per_s: f64,
    /// The median of the response times of an interval in nanoseconds; null if nothing was
    /// answered.
    p50_ns: Option<u64>,
    /// Their 99th percentile in nanoseconds; null if nothing was answered.
    p99_ns: Option<u64>,
    /// The share of operations that were refused, unknown or dropped.
    failed_share: f64,
}

impl EffectObject {
    fn new(action: &ActionEffect) -> EffectObject {
        let effect = action.effect.as_ref();
        let level = |level: &EffectLevel| LevelObject {
            done_per_s: level.done_per_s,
            p50_ns: level.p50.map(|time| time.0),
            p99_ns: level.p99.map(|time| time.0),
            failed_share: level.failed,
        };
        EffectObject {
            text: action.text.clone(),
            at_ns: action.at.0,
            is_assessable: effect.is_some(),
            first_ns: effect.and_then(|effect| effect.first).map(|at| at.0),
            last_ns: effect.and_then(|effect| effect.last).map(|at| at.0),
            stop: action.stop.as_ref().map(SilenceObject::new),
            is_at_rest: effect.is_some_and(|effect| effect.is_at_rest),
            before: effect.map(|effect| level(&effect.before)),
            after: effect.map(|effect| level(&effect.after)),
        }
    }
}

/// One node of the store.
#[derive(JsonSchema, Serialize)]
struct NodeObject {
    /// Its name.
    name: String,
    /// The number of operations that it answered, or that were sent to it.
    operations: u64,
    /// The number of those that were not answered.
    failed: u64,
    /// Those as a share of its operations.
    failed_share: f64,
    /// The longest time in which no answer of it came although an operation waited for one; null if
    /// it is too short to see.
    silence: Option<SilenceObject>,
    /// The 99th percentile of its response times in nanoseconds; null for fewer than 100
    /// operations.
    p99_ns: Option<u64>,
}

impl NodeObject {
    fn new(node: &NodeSummary) -> NodeObject {
        NodeObject {
            name: crate::tables::node_name(node),
            operations: node.operations,
            failed: node.failed,
            failed_share: node.failed_share(),
            silence: node.silence.as_ref().map(SilenceObject::new),
            p99_ns: node.p99.map(|p99| p99.0),
        }
    }
}

/// The resources that one server of the store used over the measured window.
#[derive(JsonSchema, Serialize)]
struct ServerObject {
    /// The node's name.
    name: String,
    /// The mean number of processors in use; null if it was not observed.
    processors: Option<f64>,
    /// The largest number of processors in use between two readings; null if it was not observed.
    processors_max: Option<f64>,
    /// The largest memory in use in bytes; null if it was not observed.
    memory_bytes: Option<f64>,
    /// The mean number of bytes read from disk per second; null if it was not observed.
    disk_read_bytes_per_s: Option<f64>,
    /// The mean number of bytes written to disk per second; null if it was not observed.
    disk_written_bytes_per_s: Option<f64>,
    /// The mean number of bytes received per second; null if it was not observed.
    received_bytes_per_s: Option<f64>,
    /// The mean number of bytes sent per second; null if it was not observed.
    sent_bytes_per_s: Option<f64>,
}

impl ServerObject {
    fn new(server: &ServerTimeSeries) -> Option<ServerObject> {
        let ServerUse { mean, processors_max } = server.used?;
        Some(ServerObject {
            name: server.name.clone(),
            processors: mean.processors,
            processors_max,
            memory_bytes: mean.memory,
            disk_read_bytes_per_s: mean.disk_read,
            disk_written_bytes_per_s: mean.disk_written,
            received_bytes_per_s: mean.received,
            sent_bytes_per_s: mean.sent,
        })
    }
}

/// The figures over time.
#[derive(JsonSchema, Serialize)]
pub struct SeriesObject {
    /// Where the first interval begins, in nanoseconds on the run's time axis.
    from_ns: u64,
    /// The length of every interval in nanoseconds.
    width_ns: u64,
    /// The intervals without a gap.
    intervals: Vec<IntervalObject>,
}

impl SeriesObject {
    pub fn new(series: &analyzed::Series) -> SeriesObject {
        SeriesObject {
            from_ns: series.from.0,
            width_ns: series.width.0,
            intervals: series.intervals.iter().map(IntervalObject::new).collect(),
        }
    }
}

/// One line of NDJSON, about one interval.
#[derive(JsonSchema, Serialize)]
#[schemars(title = "One line of NDJSON")]
pub struct IntervalLine<'a> {
    /// What the line is.
    #[serde(rename = "type")]
    #[schemars(extend("const" = "interval"))]
    line_type: &'static str,
    /// The version of this object.
    #[schemars(extend("const" = super::INTERVAL_SCHEMA))]
    schema: &'static str,
    /// The name of the run directory.
    run_id: &'a str,
    /// The length of the interval in nanoseconds.
    width_ns: u64,
    #[serde(flatten)]
    interval: IntervalObject,
}

impl<'a> IntervalLine<'a> {
    pub fn new(
        run_id: &'a str,
        series: &analyzed::Series,
        interval: &analyzed::IntervalSummary,
    ) -> IntervalLine<'a> {
        IntervalLine {
            line_type: "interval",
            schema: super::INTERVAL_SCHEMA,
            run_id,
            width_ns: series.width.0,
            interval: IntervalObject::new(interval),
        }
    }
}

/// One interval of the run.
#[derive(JsonSchema, Serialize)]
struct IntervalObject {
    /// Where it begins, in nanoseconds on the run's time axis.
    from_ns: u64,
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
    done_by_kind: BTreeMap<&'static str, u64>,
    /// The mean number of requests that the store had.
    in_flight: f64,
    /// The mean number of operations that were intended and not ended.
    in_system: f64,
    /// Response times of the hits that were intended in it.
    response: QuickObject,
    /// Service times of the hits that were sent in it.
    service: QuickObject,
    /// Lag of all operations that were intended in it.
    lag: QuickObject,
    /// Response times of the misses that were intended in it.
    miss_response: QuickObject,
}

/// Percentiles of one interval: upper edges of buckets of 1/32 octave, at most 3.2 % too high and
/// never above `max_ns`, which is exact.
#[derive(JsonSchema, Serialize)]
struct QuickObject {
    /// The number of values.
    count: u64,
    /// The median in nanoseconds.
    p50_ns: u64,
    /// The 90th percentile in nanoseconds.
    p90_ns: u64,
    /// The 99th percentile in nanoseconds.
    p99_ns: u64,
    /// The 99.9th percentile in nanoseconds.
    p999_ns: u64,
    /// The largest value in nanoseconds, exactly.
    max_ns: u64,
}

impl IntervalObject {
    fn new(interval: &analyzed::IntervalSummary) -> IntervalObject {
        let done_by_kind = Kind::ALL
            .iter()
            .zip(interval.done_by_kind)
            .filter(|(_, count)| *count > 0)
            .map(|(kind, count)| (kind.name(), count));
        IntervalObject {
            from_ns: interval.from.0,
            offered: interval.offered,
            done: interval.done,
            misses: interval.misses,
            refused: interval.refused,
            unknown: interval.unknown,
            dropped: interval.dropped,
            done_by_kind: done_by_kind.collect(),
            in_flight: interval.in_flight,
            in_system: interval.in_system,
            response: QuickObject::new(&interval.response),
            service: QuickObject::new(&interval.service),
            lag: QuickObject::new(&interval.lag),
            miss_response: QuickObject::new(&interval.miss_response),
        }
    }
}

impl QuickObject {
    fn new(quick: &analyzed::Quick) -> QuickObject {
        let ns = |time: Nanos| time.0;
        QuickObject {
            count: quick.count,
            p50_ns: ns(quick.p50),
            p90_ns: ns(quick.p90),
            p99_ns: ns(quick.p99),
            p999_ns: ns(quick.p999),
            max_ns: ns(quick.max),
        }
    }
}
