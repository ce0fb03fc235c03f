//! The parts of a check: what was measured, what that means for which figures.

use assay_model::named_enum;

named_enum! {
    /// What is checked. The order is that of the certificate: generation, client, steadiness.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub enum CheckId {
        /// A1: as many arrivals were sent as were promised, second by second.
        Rate => "rate",
        /// A2: requests were sent at their intended times.
        Lag => "lag",
        /// A3: no arrival was left out.
        Omission => "omission",
        /// A4: what was sent is distributed in time as was promised.
        ArrivalProcess => "arrival-process",
        /// A5: what was issued is what was planned.
        TraceIdentity => "trace-identity",
        /// A6: the next request does not wait for earlier answers.
        OpenLoop => "open-loop",
        /// B1: the workers got a processor whenever they needed one, with capacity to spare.
        WorkerCpu => "worker-cpu",
        /// B2: no pause of the client machine is in the percentiles.
        Hiccups => "hiccups",
        /// B3: every record was kept.
        LostRecords => "lost-records",
        /// B4: the network between lost nothing.
        Network => "network",
        /// B5: the figures are well above what the instrument itself needs.
        NoiseFloor => "noise-floor",
        /// B6: another agent would not have reached more.
        Saturation => "saturation",
        /// B7: reads found their records, in the expected size.
        Misses => "misses",
        /// B8: the records are those of this run.
        Identity => "identity",
        /// C1: the run had warmed up before the figures began.
        WarmUp => "warm-up",
        /// C2: nothing changed for good while it ran, other than on purpose.
        ChangePoints => "change-points",
        /// C3: figures do not drift.
        Trend => "trend",
        /// C4: what happens periodically happened often enough.
        Periodicity => "periodicity",
        /// C5: operations in flight do not pile up.
        Backlog => "backlog",
        /// C6: there are enough independent operations to tell a percentile from.
        SampleSize => "sample-size",
    }
}

/// The numbers of the checks in the certificate, in their order.
const CODES: [&str; CheckId::ALL.len()] = [
    "A1", "A2", "A3", "A4", "A5", "A6", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "B8", "C1", "C2",
    "C3", "C4", "C5", "C6",
];

impl CheckId {
    /// The number in the certificate, such as `A1`.
    pub const fn code(self) -> &'static str {
        CODES[self as usize]
    }

    /// Whether a run in which its outcome is unknown has no hallmark at all.
    ///
    /// These are what a figure stands on: that the load was what it says, that nothing was left
    /// out, that the client could issue in time. The others sharpen the picture: a run with one
    /// agent can never tell its saturation, and is believed nevertheless.
    pub const fn is_essential(self) -> bool {
        matches!(
            self,
            CheckId::Rate
                | CheckId::Lag
                | CheckId::Omission
                | CheckId::WorkerCpu
                | CheckId::Hiccups
                | CheckId::LostRecords
                | CheckId::WarmUp
        )
    }

    /// Whether its failure is that of the client, its machine, or the network to the store.
    pub(super) const fn is_of_client(self) -> bool {
        matches!(
            self,
            CheckId::TraceIdentity
                | CheckId::WorkerCpu
                | CheckId::Hiccups
                | CheckId::LostRecords
                | CheckId::Network
        )
    }

    /// Whether it says that the load was not the planned one, which is the client's fault unless
    /// the store held it back.
    pub(super) const fn is_of_load(self) -> bool {
        matches!(
            self,
            CheckId::Rate
                | CheckId::Lag
                | CheckId::Omission
                | CheckId::ArrivalProcess
                | CheckId::OpenLoop
        )
    }
}

/// One check with what came of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Check {
    /// Which.
    pub id: CheckId,
    /// What came of it.
    pub verdict: CheckVerdict,
    /// What was measured, with the thresholds it was held against.
    pub measures: Vec<Measure>,
    /// The part of it that was not observed, so that it is decided without.
    pub unobserved: Vec<Statistic>,
    /// Figures that must not be shown as results any more.
    pub withdraws: Vec<Figure>,
    /// The check of whose failure, or remark, this one is but a consequence.
    pub because_of: Option<CheckId>,
}

/// What a check found; otherwise why it has no answer.
pub(super) type Found = Result<Findings, CheckVerdict>;

/// What was measured, and what follows from it.
pub(super) struct Findings {
    pub verdict: CheckVerdict,
    pub measures: Vec<Measure>,
    pub unobserved: Vec<Statistic>,
    pub withdraws: Vec<Figure>,
}

impl Findings {
    /// Measures that are as bad as the worst of them, and withdraw `figures` if that fails.
    pub fn new(measures: Vec<Measure>, figures: &[Figure]) -> Findings {
        let verdict = worst(measures.iter().map(Measure::verdict));
        let withdraws = if verdict == CheckVerdict::Fail { figures.to_vec() } else { Vec::new() };
        Findings { verdict, measures, unobserved: Vec::new(), withdraws }
    }
}

/// Refuses a check that does not apply if `is_so`.
pub(super) fn inapplicable_if(is_so: bool, why: Inapplicable) -> Result<(), CheckVerdict> {
    if is_so { Err(CheckVerdict::NotApplicable(why)) } else { Ok(()) }
}

/// Refuses a check whose outcome is unknown if `is_so`.
pub(super) fn unknown_if(is_so: bool, why: Inapplicable) -> Result<(), CheckVerdict> {
    if is_so { Err(CheckVerdict::NotAssessable(why)) } else { Ok(()) }
}

/// What was observed, without which the outcome of a check is unknown.
pub(super) fn known<T>(observed: Option<T>, why: Inapplicable) -> Result<T, CheckVerdict> {
    observed.ok_or(CheckVerdict::NotAssessable(why))
}

impl Check {
    /// The check `id`, which has come out so without anything measured.
    pub fn bare(id: CheckId, verdict: CheckVerdict) -> Check {
        let (measures, unobserved, withdraws) = (Vec::new(), Vec::new(), Vec::new());
        Check { id, verdict, measures, unobserved, withdraws, because_of: None }
    }

    /// The check `id` with what it found.
    pub(super) fn new(id: CheckId, found: Found) -> Check {
        match found {
            Err(verdict) => Check::bare(id, verdict),
            Ok(Findings { verdict, measures, unobserved, withdraws }) => {
                Check { id, verdict, measures, unobserved, withdraws, because_of: None }
            }
        }
    }

    /// Whether all that it found is about percentiles beyond p99.9, which stand or fall by
    /// themselves.
    pub(super) fn is_of_far_tail(&self) -> bool {
        let is_far = |figure| matches!(figure, Some(Figure::Percentile(_, of)) if of > TAIL);
        let found = self.measures.iter().filter(|one| one.verdict() != CheckVerdict::Pass);
        let mut figures = found.map(|measure| measure.figure).peekable();
        figures.peek().is_some() && figures.all(is_far)
    }

    /// The measure that made it come out as it did: the worst one.
    pub fn deciding(&self) -> Option<&Measure> {
        let badness = |measure: &Measure| {
            let Some(limits) = measure.limits else { return (0, 0.0) };
            let severity = match measure.verdict() {
                CheckVerdict::Fail => 3,
                CheckVerdict::Remark => 2,
                _ => 1,
            };
            let (value, pass) = (measure.value.max(1e-12), limits.pass.max(1e-12));
            let excess = match limits.bound {
                Bound::AtMost => value / pass,
                Bound::AtLeast => pass / value,
            };
            (severity, excess)
        };
        self.measures.iter().max_by(|one, other| {
            let (one, other) = (badness(one), badness(other));
            one.0.cmp(&other.0).then(one.1.total_cmp(&other.1))
        })
    }

    /// Whether figures are withdrawn without which the run has no result.
    pub fn fails_a_headline(&self) -> bool {
        self.verdict == CheckVerdict::Fail && self.withdraws.iter().any(|one| one.is_headline())
    }
}

/// The worst of the verdicts of measures.
fn worst(verdicts: impl Iterator<Item = CheckVerdict>) -> CheckVerdict {
    verdicts.fold(CheckVerdict::Pass, |worst, next| match (worst, next) {
        (CheckVerdict::Fail, _) | (_, CheckVerdict::Fail) => CheckVerdict::Fail,
        (CheckVerdict::Remark, _) | (_, CheckVerdict::Remark) => CheckVerdict::Remark,
        _ => CheckVerdict::Pass,
    })
}

/// What came of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckVerdict {
    /// It is as it should be.
    Pass,
    /// Figures stand, but the reader must know of it.
    Remark,
    /// Figures are withdrawn.
    Fail,
    /// There is nothing of the kind in such a run.
    NotApplicable(Inapplicable),
    /// It is not known.
    NotAssessable(Inapplicable),
}

named_enum! {
    /// Why a check does not apply, or its outcome is unknown.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Inapplicable {
        /// Sessions wait for answers; there are no arrivals of the open kind.
        ClosedLoop => "closed-loop",
        /// It was a load, whose latencies are no result.
        IsLoad => "is-load",
        /// Time was simulated, so no machine could be late.
        SimulatedTime => "simulated-time",
        /// No rate was promised.
        NoRate => "no-rate",
        /// The needed observations are missing.
        NotObserved => "not-observed",
        /// There is no record that is needed.
        NoRecords => "no-records",
        /// The run was too short.
        TooShort => "too-short",
        /// The run never settled, so there is no steady part to look at.
        NeverSettled => "never-settled",
        /// The arrival process is not known.
        UnknownProcess => "unknown-process",
        /// Gaps between arrivals depend on each other by plan.
        DependentArrivals => "dependent-arrivals",
        /// There was one agent, and no run with more to compare it with.
        OneAgent => "one-agent",
        /// Nothing left this process.
        NoNetwork => "no-network",
        /// What was expected is not known.
        NoExpectation => "no-expectation",
        /// The rate changes by plan, so that nothing is promised to be steady.
        VaryingLoad => "varying-load",
        /// The store did not keep up, so the bound on operations in flight decided what was sent.
        HeldBack => "held-back",
    }
}

/// One number that a check looks at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// What it is.
    pub statistic: Statistic,
    /// The figure it is about, where it is about a single one.
    pub figure: Option<Figure>,
    /// The number, in the unit of the statistic; always finite.
    pub value: f64,
    /// What it is held against; `None` where it is only shown.
    pub limits: Option<Limits>,
}

impl Measure {
    /// A number that is only shown.
    pub(super) fn display(statistic: Statistic, value: f64) -> Measure {
        Measure { statistic, figure: None, value: finite(value), limits: None }
    }

    /// A number that is held against `limits`.
    pub(super) fn held(statistic: Statistic, value: f64, limits: Limits) -> Measure {
        Measure { limits: Some(limits), ..Measure::display(statistic, value) }
    }

    /// The same, about one figure.
    pub(super) fn of(self, figure: Figure) -> Measure {
        Measure { figure: Some(figure), ..self }
    }

    /// What it comes to by itself.
    pub fn verdict(&self) -> CheckVerdict {
        self.limits.map_or(CheckVerdict::Pass, |limits| limits.analyze(self.value))
    }
}

/// Numbers that are none, or that have no end, cannot be written everywhere.
fn finite(value: f64) -> f64 {
    if value.is_nan() { 0.0 } else { value.clamp(f64::MIN, f64::MAX) }
}

/// The thresholds of one measure, allowance for chance included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// On which side of them is good.
    pub bound: Bound,
    /// Up to here it passes.
    pub pass: f64,
    /// Beyond this it fails; between the two there is a remark. `None` if it never fails.
    pub fail: Option<f64>,
}

impl Limits {
    /// Good up to `pass`, failing beyond `fail`.
    pub const fn at_most(pass: f64, fail: f64) -> Limits {
        Limits { bound: Bound::AtMost, pass, fail: Some(fail) }
    }

    /// Good up to `pass`, otherwise remarkable.
    pub const fn remark_above(pass: f64) -> Limits {
        Limits { bound: Bound::AtMost, pass, fail: None }
    }

    /// What `value` comes to.
    pub fn analyze(&self, value: f64) -> CheckVerdict {
        let beyond = |limit: f64| match self.bound {
            Bound::AtMost => value > limit,
            Bound::AtLeast => value < limit,
        };
        match self.fail {
            Some(fail) if beyond(fail) => CheckVerdict::Fail,
            _ if beyond(self.pass) => CheckVerdict::Remark,
            _ => CheckVerdict::Pass,
        }
    }
}

named_enum! {
    /// On which side of a threshold is good.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Bound {
        /// Small values are good.
        AtMost => "at-most",
        /// Large values are good.
        AtLeast => "at-least",
    }
}

named_enum! {
    /// The unit of a measure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Unit {
        /// A part of a whole: 0.01 is one percent.
        Share => "share",
        /// One number as a multiple of another, or a coefficient.
        Ratio => "ratio",
        /// A number of things.
        Count => "count",
        /// Seconds.
        Seconds => "seconds",
    }
}

macro_rules! statistics {
    ($($(#[$doc:meta])* $variant:ident => $name:literal $unit:ident,)*) => {
        named_enum! {
            /// What a measure is.
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub enum Statistic { $($(#[$doc])* $variant => $name,)* }
        }

        impl Statistic {
            /// The unit of its values.
            pub const fn unit(self) -> Unit {
                match self { $(Statistic::$variant => Unit::$unit,)* }
            }
        }
    };
}

statistics! {
    /// |sent / promised − 1| over the window.
    RateError => "rate-error" Share,
    /// |intended / promised − 1| over the window.
    IntendedError => "intended-error" Share,
    /// Intervals of a second in which the number sent is off by more than chance allows.
    SecondsOff => "seconds-off" Count,
    /// A percentile of lag by the same percentile of response time.
    LagByResponse => "lag-by-response" Share,
    /// By what part a percentile of response time is above the same percentile of service time.
    LagEffect => "lag-effect" Share,
    /// The 99.9th percentile of lag by the median of service time.
    LagTailByService => "lag-tail-by-service" Share,
    /// Arrivals that were dropped.
    Dropped => "dropped" Share,
    /// Arrivals that waited because no more could be in flight.
    Queued => "queued" Share,
    /// Arrivals that were late, or dropped, only because the bound on operations in flight was
    /// reached.
    HeldBack => "held-back" Share,
    /// Kolmogorov–Smirnov distance of the gaps between requests from the planned ones.
    GapDistance => "gap-distance" Share,
    /// Distance of the index of dispersion of counts in 10 ms from the promised one.
    Dispersion10Ms => "dispersion-10ms" Ratio,
    /// The same in 100 ms.
    Dispersion100Ms => "dispersion-100ms" Ratio,
    /// The same in 1 s.
    Dispersion1S => "dispersion-1s" Ratio,
    /// Traces that differ: 0 or 1.
    TraceDiffers => "trace-differs" Count,
    /// |correlation| of the operations in flight with the gap to the next request.
    FlightGapCorrelation => "flight-gap-correlation" Ratio,
    /// The mean number of operations in flight in the fullest interval.
    InFlightPeak => "in-flight-peak" Count,
    /// The useful part of the busiest worker's time.
    WorkerBusy => "worker-busy" Share,
    /// The part of a worker's time in which it was runnable but waited for a processor.
    WorkerWaited => "worker-waited" Share,
    /// The part of the processors' time that the hypervisor gave to others.
    Steal => "steal" Share,
    /// The part of the time for which a quota held the process back.
    Throttled => "throttled" Share,
    /// The 99.9th percentile of hiccups by that of response time.
    HiccupByResponse => "hiccup-by-response" Share,
    /// By what part a percentile of response time is above the one without the operations that a
    /// hiccup held.
    HiccupEffect => "hiccup-effect" Share,
    /// Operations beyond the 99.9th percentile that a hiccup held.
    OutliersInHiccups => "outliers-in-hiccups" Share,
    /// Records that were lost.
    LostRecords => "lost-records" Count,
    /// Facts about the run in which its files contradict each other.
    Contradictions => "contradictions" Count,
    /// Segments that were sent again.
    Retransmits => "retransmits" Share,
    /// A percentile of response time by the same percentile of the noise floor.
    ResponseByFloor => "response-by-floor" Ratio,
    /// How much more another agent reached.
    GainByAgent => "gain-by-agent" Share,
    /// Distance of the share of reads that missed from the expected share.
    MissShareOff => "miss-share-off" Share,
    /// |bytes per record that was found / expected − 1|.
    BytesOff => "bytes-off" Share,
    /// The part of the window that the mean-square-error rule cuts off as warm-up.
    WarmUpShare => "warm-up-share" Share,
    /// How far a figure moves when that part is left out.
    WarmUpEffect => "warm-up-effect" Share,
    /// Changes for good of at least the wanted size that no event explains.
    UnexplainedChanges => "unexplained-changes" Count,
    /// |slope · duration / level|, as far as chance does not explain it.
    Drift => "drift" Share,
    /// Periods of the strongest oscillation that the window holds.
    Periods => "periods" Count,
    /// The growth of operations in flight over the window, by their mean.
    BacklogGrowth => "backlog-growth" Ratio,
    /// Length of the window.
    Length => "length" Seconds,
    /// Independent values beyond a percentile.
    EffectiveBeyond => "effective-beyond" Count,
}

/// A figure that can be withdrawn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Figure {
    /// All of them.
    All,
    /// How much was done per second.
    Throughput,
    /// All percentiles of one latency.
    Latency(Time),
    /// One percentile of one latency.
    Percentile(Time, f64),
}

named_enum! {
    /// Which latency.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Time {
        /// Ended − intended.
        Response => "response",
        /// Ended − started.
        Service => "service",
    }
}

impl Figure {
    /// Whether withdrawing `self` withdraws `other`.
    pub fn covers(self, other: Figure) -> bool {
        match (self, other) {
            (Figure::All, _) => true,
            (Figure::Latency(mine), Figure::Percentile(theirs, _)) => mine == theirs,
            _ => self == other,
        }
    }

    /// Whether a run that cannot show it has no result: everything but the far tail.
    pub fn is_headline(self) -> bool {
        !matches!(self, Figure::Percentile(_, quantile) if quantile > HEADLINE)
    }
}

/// The highest quantile without which a run has no result.
const HEADLINE: f64 = 0.99;

/// The highest quantile that says something about the run as a whole.
const TAIL: f64 = 0.999;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique() {
        let names: HashSet<&str> = CheckId::ALL.iter().map(|id| id.name()).collect();
        assert_eq!(names.len(), CheckId::ALL.len());
        let code_of = |name: &str| CheckId::ALL.iter().find(|id| id.name() == name).unwrap().code();
        for (name, code) in [
            ("rate", "A1"),
            ("omission", "A3"),
            ("worker-cpu", "B1"),
            ("change-points", "C2"),
            ("backlog", "C5"),
            ("sample-size", "C6"),
        ] {
            assert_eq!(code_of(name), code);
        }
        let names: HashSet<&str> = Statistic::ALL.iter().map(|one| one.name()).collect();
        assert_eq!(names.len(), Statistic::ALL.len());
    }

    #[test]
    fn between_the_thresholds_lies_a_remark() {
        let most = Limits::at_most(0.01, 0.05);
        assert_eq!(most.analyze(0.01), CheckVerdict::Pass);
        assert_eq!(most.analyze(0.05), CheckVerdict::Remark);
        assert_eq!(most.analyze(0.051), CheckVerdict::Fail);
        let least = Limits { bound: Bound::AtLeast, pass: 30.0, fail: Some(10.0) };
        assert_eq!(least.analyze(30.0), CheckVerdict::Pass);
        assert_eq!(least.analyze(29.0), CheckVerdict::Remark);
        assert_eq!(least.analyze(9.0), CheckVerdict::Fail);
        assert_eq!(Limits::remark_above(1.0).analyze(100.0), CheckVerdict::Remark);
    }

    #[test]
    fn a_far_percentile_is_no_headline() {
        assert!(Figure::Percentile(Time::Response, 0.99).is_headline());
        assert!(!Figure::Percentile(Time::Response, 0.999).is_headline());
        assert!(Figure::Throughput.is_headline());
        assert!(Figure::All.covers(Figure::Throughput));
        let tail = Figure::Percentile(Time::Response, 0.999);
        assert!(Figure::Latency(Time::Response).covers(tail));
        assert!(!Figure::Latency(Time::Service).covers(tail));
        assert!(!tail.covers(Figure::All));
    }
}
