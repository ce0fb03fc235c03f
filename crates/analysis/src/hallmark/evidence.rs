//! Evidence about a run that is not in its history.

use assay_model::Nanos;

use super::plan::Plan;

/// Facts about a run other than its records. An unknown fact is `None`, and the checks that need
/// it are then not assessable.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// Whether time was simulated, so that no machine, network or thread could disturb.
    pub is_simulated_time: bool,
    /// What the load model promised about arrivals.
    pub arrivals: Option<ExpectedArrivals>,
    /// Hash of the planned trace, with the hash of the issued operations.
    pub trace: Option<TraceHashes>,
    /// Arrivals that waited because no more could be in flight.
    pub queued: Option<u64>,
    /// The processor time of each worker; empty if it was not measured.
    pub workers: Vec<WorkerTime>,
    /// Whether workers burn processor time while they wait, so that it says nothing about work.
    pub spins: bool,
    /// Whether the store works inside the workers' threads, so that their time is also the store's.
    pub store_in_workers: bool,
    /// Share of all processors' time that the hypervisor gave to others.
    pub steal: Option<f64>,
    /// Share of the window for which a quota held the process back.
    pub throttled: Option<f64>,
    /// What a thread that only sleeps saw of the machine's pauses.
    pub hiccups: Option<Hiccups>,
    /// Records that were made and are not in the history.
    pub lost_records: Option<u64>,
    /// Facts about the run in which its files contradict each other.
    pub contradictions: Option<u64>,
    /// What happened to what was sent over the network.
    pub network: Option<NetworkLoss>,
    /// What the instrument itself needs, against a store that does nothing.
    pub floor: Option<Floor>,
    /// How much more another agent reached at saturation, as a share.
    pub gain_by_agent: Option<f64>,
    /// Share of reads that are expected to miss.
    pub expected_miss_share: Option<f64>,
    /// Value bytes that each record that is found is expected to bring; a scan finds many.
    pub expected_bytes_per_record: Option<f64>,
    /// Moments at which something was done on purpose: faults, changes of rate or settings.
    pub events: Vec<Nanos>,
}

/// What the load model promised about arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedArrivals {
    /// How the gaps are distributed.
    pub process: Gaps,
    /// Arrivals over the window, where the rate is not the same all the time. `None`: the rate of
    /// the question holds throughout.
    pub plan: Option<Plan>,
    /// The index of dispersion of the number of arrivals in the window (variance by mean, 1 for
    /// Poisson arrivals), where the process tells it.
    pub dispersion: Option<f64>,
}

impl ExpectedArrivals {
    /// Arrivals of `process` at the rate of the question.
    pub const fn steady(process: Gaps) -> ExpectedArrivals {
        ExpectedArrivals { process, plan: None, dispersion: None }
    }
}

/// How gaps between arrivals are distributed, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// All equal.
    Constant,
    /// Independent exponential.
    Poisson,
    /// Independent in some other way, such as gamma or lognormal.
    Independent,
    /// Equally spaced places, each moved at random.
    Jittered,
    /// They depend on each other: bursts, or times from a file.
    Dependent,
}

/// The planned hash and the executed hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceHashes {
    /// The hash that the plan has.
    pub planned: u128,
    /// The hash of what was issued.
    pub executed: u128,
}

/// One worker's time, as shares of its whole time in the window.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorkerTime {
    /// On a processor.
    pub busy: f64,
    /// Ready to go on without being let.
    pub waited: Option<f64>,
    /// On a processor for useful work, other than waiting; if that was measured.
    pub useful: Option<f64>,
}

/// What a thread that only sleeps saw of the machine's pauses: each is a client's hiccup.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hiccups {
    /// How many there were in the window, by the length that they do not exceed; lengths rise.
    pub counts: Vec<(Nanos, u64)>,
    /// When the longest ones began, with their lengths, in order of time.
    pub longest: Vec<(Nanos, Nanos)>,
}

/// What happened to what was sent over the network.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NetworkLoss {
    /// Segments sent; 0 if the store is in this process.
    pub segments: u64,
    /// Segments that had to be sent again.
    pub retransmits: u64,
}

/// What the instrument itself needs: percentiles against a store that does nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Floor {
    /// Quantiles with response times, rising.
    pub response: Vec<(f64, Nanos)>,
}

impl Floor {
    /// The response time of `quantile`, if the floor has it.
    pub fn response(&self, quantile: f64) -> Option<Nanos> {
        let near = |(at, _): &&(f64, Nanos)| (at - quantile).abs() < 1e-9;
        self.response.iter().find(near).map(|(_, value)| *value)
    }
}

impl Hiccups {
    /// The length that a share of `quantile` does not exceed; `None` if there are none.
    pub fn quantile(&self, quantile: f64) -> Option<Nanos> {
        let total: u64 = self.counts.iter().map(|(_, count)| count).sum();
        let rank = crate::distribution::rank(total, quantile);
        let mut observed = 0;
        let reached = |(_, count): &&(Nanos, u64)| {
            observed += count;
            observed >= rank
        };
        self.counts.iter().find(reached).map(|(length, _)| *length)
    }

    /// For how long pauses held back what was under way between the two moments.
    ///
    /// A thread always wakes somewhat late, so what lies beyond `usual`, the median, is a pause
    /// (jHiccup takes off the shortest). A pause of the machine lets nothing end before it ends
    /// itself: only what was under way for at least half of what was left of it was held. Example
    /// that breaks the wrong reading: 20 operations that begin and end one after another within a
    /// pause of 5 ms show that their worker ran, and only the thread that noted the pause did not.
    pub fn held(&self, usual: Nanos, from: Nanos, until: Nanos) -> Nanos {
        let end = self.longest.partition_point(|(at, _)| *at < until);
        // Hiccups of one thread follow each other, so their ends rise as well.
        let before = self.longest[..end].iter().rev();
        let reaching = before.take_while(|(at, own)| at.saturating_add(*own) > from);
        let held = |&(at, own): &(Nanos, Nanos)| {
            // A damaged file may have any number.
            let ended = at.saturating_add(own);
            let left_from = from.max(at.saturating_add(usual.min(own)));
            let shared = until.min(ended).since(left_from);
            if shared.0 >= ended.since(left_from).0.div_ceil(2) { shared } else { Nanos::ZERO }
        };
        reaching.map(held).fold(Nanos::ZERO, Nanos::saturating_add)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_of_hiccups_is_the_length_it_does_not_exceed() {
        let counts = vec![(Nanos(60), 990), (Nanos(100), 9), (Nanos(3000), 1)];
        let hiccups = Hiccups { counts, longest: Vec::new() };
        assert_eq!(hiccups.quantile(0.5), Some(Nanos(60)));
        assert_eq!(hiccups.quantile(0.999), Some(Nanos(100)));
        assert_eq!(hiccups.quantile(1.0), Some(Nanos(3000)));
        assert_eq!(Hiccups::default().quantile(0.5), None);
    }

    #[test]
    fn an_operation_is_held_by_a_pause_that_it_sees_to_its_end() {
        let longest = vec![(Nanos(100), Nanos(50)), (Nanos(400), Nanos(10))];
        let hiccups = Hiccups { counts: Vec::new(), longest };
        let held = |from, until| hiccups.held(Nanos::ZERO, Nanos(from), Nanos(until)).0;
        assert_eq!(held(149, 300), 1);
        assert_eq!(held(150, 400), 0);
        assert_eq!(held(0, 500), 60);
        assert_eq!(held(0, 125), 25);
        assert_eq!(held(130, 160), 20);
        // Begun and ended within it, or ended soon after it began: the worker ran.
        assert_eq!(held(110, 115), 0);
        assert_eq!(held(90, 105), 0);
    }

    #[test]
    fn what_every_thread_oversleeps_is_no_pause() {
        let longest = vec![(Nanos(100), Nanos(50)), (Nanos(200), Nanos(8))];
        let hiccups = Hiccups { counts: Vec::new(), longest };
        assert_eq!(hiccups.held(Nanos(8), Nanos(0), Nanos(300)), Nanos(42));
    }
}
