//! The shape of the JSON result; a field's name ends in its unit.

use std::collections::BTreeMap;

use assay_analysis as analyzed;
use assay_analysis::effect::Level as EffectLevel;
use assay_analysis::scraped::{ScrapedSeries, ScrapedUse};
use assay_analysis::servers::{ServerUse, summed_up};
use assay_analysis::{Distribution, Interval, LoadModel, NodeSummary, Summary, Transactions};
use assay_model::{Kind, Nanos};
use serde::Serialize;

use crate::facts::{ActionEffect, AgentFacts, Facts, RuleFinding, State, WorkloadFigure};
use crate::hallmark::{self, HallmarkObject};
use crate::units::{Letters, percentile_name};
use crate::verdict::{self, Finding, Level};

#[derive(Serialize)]
pub struct ResultObject {
    schema: &'static str,
    verdict: VerdictObject,
    hallmark: Option<HallmarkObject>,
    run: RunObject,
    store: StoreObject,
    load: LoadObject,
    window: WindowObject,
    overall: GroupObject,
    kinds: BTreeMap<&'static str, GroupObject>,
    transactions: BTreeMap<String, TransactionsObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    all_transactions: Option<GroupObject>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    queries: BTreeMap<String, QueryObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<TransactionsObject>,
    lag: DistributionObject,
    value_checks: ValueChecksObject,
    in_flight: InFlightObject,
    availability: AvailabilityObject,
    held_back: Option<HeldBackObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    consistency: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    recovery: Option<serde_json::Value>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    findings: Vec<RuleObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    figures: Vec<FigureObject>,
    events: Vec<EventObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    effects: Vec<EffectObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    nodes: Vec<NodeObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<AgentObject>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    servers: Vec<ServerObject>,
    scraped: Vec<ScrapedObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
            consistency: facts.consistency.as_ref().map(crate::consistency::object),
            recovery: facts.availability.as_ref().map(crate::recovery::object),
            findings: facts.findings.iter().map(RuleObject::new).collect(),
            figures: facts.figures.iter().map(FigureObject::new).collect(),
            events: facts.events.iter().map(EventObject::new).collect(),
            effects: facts.effects.iter().map(EffectObject::new).collect(),
            nodes: summary.nodes.iter().map(NodeObject::new).collect(),
            agents: facts.agents.iter().map(AgentObject::new).collect(),
            servers: facts
                .servers
                .iter()
                .filter_map(|time_course| summed_up(time_course, summary.window))
                .map(ServerObject::new)
                .collect(),
            scraped: facts
                .scraped
                .iter()
                .filter_map(|series| Some(ScrapedObject::new(series, series.used?)))
                .collect(),
            series,
        }
    }
}

#[derive(Serialize)]
struct ScrapedObject {
    source: String,
    metric: &'static str,
    part: String,
    per_second: bool,
    least: f64,
    mean: f64,
    most: f64,
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

#[derive(Serialize)]
struct AgentObject {
    agent: u32,
    host: String,
    threads: u32,
    offered: u64,
    done_per_s: f64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
    lag_p99_ns: Option<u64>,
    start_least_ns: Option<i64>,
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

#[derive(Serialize)]
struct VerdictObject {
    level: &'static str,
    name: &'static str,
    text: String,
    findings: Vec<FindingObject>,
}

#[derive(Serialize)]
struct FindingObject {
    level: &'static str,
    name: &'static str,
    text: String,
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
        VerdictObject {
            level: worst.level.name(),
            name: worst.name,
            text: worst.text.clone(),
            findings: findings
                .iter()
                .map(|finding| FindingObject {
                    level: finding.level.name(),
                    name: finding.name,
                    text: finding.text.clone(),
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
struct RunObject {
    id: String,
    title: String,
    command: String,
    /// A text, because not every reader of JSON keeps 64 bits of a number.
    seed: String,
    spec: String,
    trace_hash_planned: Option<String>,
    trace_hash_executed: Option<String>,
    state: &'static str,
    state_reason: Option<String>,
    started: String,
    started_unix_ms: u64,
    machine: String,
    assay_version: String,
    phases: Vec<PhaseObject>,
}

#[derive(Serialize)]
struct PhaseObject {
    phase: &'static str,
    began_ns: u64,
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

#[derive(Serialize)]
struct StoreObject {
    name: String,
    url: String,
    is_no_op: bool,
    settings: Vec<SettingObject>,
}

#[derive(Serialize)]
struct SettingObject {
    name: String,
    value: String,
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

#[derive(Serialize)]
struct LoadObject {
    model: &'static str,
    text: String,
    rate_per_s: Option<f64>,
    in_flight_limit: Option<u64>,
    sessions: u64,
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

#[derive(Serialize)]
struct WindowObject {
    from_ns: u64,
    until_ns: u64,
    duration_ns: u64,
    span_ns: u64,
    is_balanced: bool,
    backward_times: u64,
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

#[derive(Serialize)]
struct TransactionsObject {
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

#[derive(Serialize)]
struct QueryObject {
    number: u16,
    requests_mean: f64,
    #[serde(flatten)]
    group: GroupObject,
}

#[derive(Serialize)]
struct RuleObject {
    name: String,
    rule: String,
    verdict: &'static str,
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

#[derive(Serialize)]
struct FigureObject {
    name: String,
    value: f64,
    note: String,
}

impl FigureObject {
    fn new(figure: &WorkloadFigure) -> FigureObject {
        let (name, note) = (figure.name.clone(), figure.note.clone());
        FigureObject { name, value: figure.value, note }
    }
}

#[derive(Serialize)]
struct GroupObject {
    counts: CountsObject,
    rates: RatesObject,
    hits: LatencyObject,
    misses: LatencyObject,
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

#[derive(Serialize)]
struct CountsObject {
    offered: u64,
    done: u64,
    refused: u64,
    unknown: u64,
    dropped: u64,
    hits: u64,
    misses: u64,
    good: u64,
    bytes_in: u64,
    bytes_out: u64,
    rows: u64,
    found_without_version: u64,
    reasons: Vec<ReasonObject>,
}

#[derive(Serialize)]
struct ReasonObject {
    outcome: &'static str,
    reason: &'static str,
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

#[derive(Serialize)]
struct RatesObject {
    target_per_s: Option<f64>,
    offered_per_s: f64,
    attempted_per_s: f64,
    done_per_s: f64,
    goodput_per_s: f64,
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

#[derive(Serialize)]
struct LatencyObject {
    response: DistributionObject,
    service: DistributionObject,
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

#[derive(Serialize)]
struct DistributionObject {
    count: u64,
    saturated: u64,
    mean_ns: u64,
    stddev_ns: u64,
    min_ns: u64,
    max_ns: u64,
    percentiles_ns: BTreeMap<String, u64>,
    confidence: BTreeMap<String, ConfidenceObject>,
}

/// Either the ends of a 95 % interval, or why there is none, with how much longer a run without
/// other events would have to be for one.
#[derive(Serialize)]
#[serde(untagged)]
enum ConfidenceObject {
    Known { low_ns: u64, high_ns: u64, dependence: f64 },
    None { no_interval: &'static str, further_seconds: f64 },
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

#[derive(Serialize)]
struct ValueChecksObject {
    right: u64,
    wrong: u64,
    empty: u64,
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

#[derive(Serialize)]
struct InFlightObject {
    by_service: PlausibilityObject,
    by_response: PlausibilityObject,
    mean_integrated: f64,
    peak_interval_mean: f64,
    agrees: bool,
}

#[derive(Serialize)]
struct PlausibilityObject {
    lambda_per_s: f64,
    mean_ns: u64,
    little_l: f64,
    limit: Option<f64>,
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

#[derive(Serialize)]
struct HeldBackObject {
    operations: u64,
    own_lag: DistributionObject,
}

impl HeldBackObject {
    fn new(held: &analyzed::HeldBack) -> HeldBackObject {
        let own_lag = DistributionObject::new(&held.own_lag);
        HeldBackObject { operations: held.operations, own_lag }
    }
}

#[derive(Serialize)]
struct AvailabilityObject {
    success_ratio: f64,
    by_kind: BTreeMap<&'static str, f64>,
    deadline_ns: u64,
    in_time_ratio: f64,
    late: u64,
    threshold_ns: u64,
    down_ns: u64,
    mean_outage_ns: Option<u64>,
    up_share: f64,
    baseline_per_s: f64,
    outages: Vec<OutageObject>,
    silence_threshold_ns: u64,
    longest_silence: Option<SilenceObject>,
    silences: Vec<SilenceObject>,
}

#[derive(Serialize)]
struct SilenceObject {
    from_ns: u64,
    until_ns: u64,
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

#[derive(Serialize)]
struct OutageObject {
    from_ns: u64,
    until_ns: u64,
    failures: u64,
    is_cut_off: bool,
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

#[derive(Serialize)]
struct EventObject {
    at_ns: u64,
    kind: &'static str,
    text: String,
}

impl EventObject {
    fn new(event: &assay_model::Event) -> EventObject {
        EventObject { at_ns: event.at.0, kind: event.kind.name(), text: event.text.clone() }
    }
}

/// What was done to the store; times without a value were not seen.
#[derive(Serialize)]
struct EffectObject {
    text: String,
    at_ns: u64,
    is_simulated: bool,
    first_ns: Option<u64>,
    last_ns: Option<u64>,
    stop: Option<SilenceObject>,
    is_at_rest: bool,
    before: Option<LevelObject>,
    after: Option<LevelObject>,
}

#[derive(Serialize)]
struct LevelObject {
    done_per_s: f64,
    p50_ns: Option<u64>,
    p99_ns: Option<u64>,
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
            is_simulated: effect.is_some(),
            first_ns: effect.and_then(|effect| effect.first).map(|at| at.0),
            last_ns: effect.and_then(|effect| effect.last).map(|at| at.0),
            stop: action.stop.as_ref().map(SilenceObject::new),
            is_at_rest: effect.is_some_and(|effect| effect.is_at_rest),
            before: effect.map(|effect| level(&effect.before)),
            after: effect.map(|effect| level(&effect.after)),
        }
    }
}

/// Means over the measured window; memory is the most that there was.
#[derive(Serialize)]
struct NodeObject {
    name: String,
    operations: u64,
    failed: u64,
    failed_share: f64,
    silence: Option<SilenceObject>,
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

#[derive(Serialize)]
struct ServerObject {
    name: String,
    processors: Option<f64>,
    processors_max: Option<f64>,
    memory_bytes: Option<f64>,
    disk_read_bytes_per_s: Option<f64>,
    disk_written_bytes_per_s: Option<f64>,
    received_bytes_per_s: Option<f64>,
    sent_bytes_per_s: Option<f64>,
}

impl ServerObject {
    fn new(row: ServerUse) -> ServerObject {
        let ServerUse { name, mean, processors_max } = row;
        ServerObject {
            name,
            processors: mean.processors,
            processors_max,
            memory_bytes: mean.memory,
            disk_read_bytes_per_s: mean.disk_read,
            disk_written_bytes_per_s: mean.disk_written,
            received_bytes_per_s: mean.received,
            sent_bytes_per_s: mean.sent,
        }
    }
}

#[derive(Serialize)]
pub struct SeriesObject {
    from_ns: u64,
    width_ns: u64,
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

#[derive(Serialize)]
pub struct IntervalLine<'a> {
    #[serde(rename = "type")]
    line_type: &'static str,
    schema: &'static str,
    run_id: &'a str,
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

#[derive(Serialize)]
struct IntervalObject {
    from_ns: u64,
    offered: u64,
    done: u64,
    misses: u64,
    refused: u64,
    unknown: u64,
    dropped: u64,
    done_by_kind: BTreeMap<&'static str, u64>,
    in_flight: f64,
    in_system: f64,
    response: QuickObject,
    service: QuickObject,
    lag: QuickObject,
    miss_response: QuickObject,
}

#[derive(Serialize)]
struct QuickObject {
    count: u64,
    p50_ns: u64,
    p90_ns: u64,
    p99_ns: u64,
    p999_ns: u64,
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
