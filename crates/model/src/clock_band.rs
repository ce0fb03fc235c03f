//! Band in which the offset between two clocks certainly lies, from probes.
//!
//! A probe is a message there and back: the coordinator sends it at `sent`, the agent reads its
//! clock at `received` and again at `replied`, the coordinator has the reply at `returned`. With
//! θ(x) for the agent's clock minus the coordinator's at coordinator time x, a message takes no
//! negative time, so θ(sent) ≤ received − sent and θ(returned) ≥ replied − returned. No symmetry
//! of the two ways is assumed: an estimate from the midpoint is off by half of what they differ
//! by, the band is not.
//!
//! Between probes the offset changes by at most [`DRIFT_PPM`]: two clocks that are each scaled
//! from a time stamp counter ran apart by 12 ppm on one machine, and by 83 ppm in the reports of
//! users of the clock library.

/// The most by which two clocks run apart, in millionths.
pub const DRIFT_PPM: u64 = 200;

/// A message there and back; nanoseconds of the coordinator's clock outside, of the agent's inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probe {
    /// Coordinator: it was sent.
    pub sent: i64,
    /// Agent: it had come.
    pub received: i64,
    /// Agent: the reply was sent.
    pub replied: i64,
    /// Coordinator: the reply had come.
    pub returned: i64,
}

/// The agent's clock minus the coordinator's, between two bounds, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBand {
    /// It is at least this.
    pub low: i64,
    /// It is at most this.
    pub high: i64,
}

impl ClockBand {
    /// The middle of the two.
    pub fn center(self) -> i64 {
        self.low + (self.high - self.low) / 2
    }

    /// Half the distance of the two: the error of the middle.
    pub fn error(self) -> u64 {
        (self.high - self.low).unsigned_abs().div_ceil(2)
    }

    /// The most by which the clocks can differ.
    pub fn magnitude(self) -> u64 {
        self.low.unsigned_abs().max(self.high.unsigned_abs())
    }

    /// Whether some offset lies within: if none does, a clock has jumped.
    pub fn is_possible(self) -> bool {
        self.low <= self.high
    }
}

/// The band at coordinator time `at`; none without a probe.
pub fn band_at(probes: &[Probe], at: i64) -> Option<ClockBand> {
    let low = probes.iter().map(|probe| {
        (probe.replied - probe.returned).saturating_sub(drift(at.abs_diff(probe.returned)))
    });
    let high = probes
        .iter()
        .map(|probe| (probe.received - probe.sent).saturating_add(drift(at.abs_diff(probe.sent))));
    Some(ClockBand { low: low.max()?, high: high.min()? })
}

/// The bands at the moments of the probes that lie within `from..=until`, which must come in
/// order; each is as wide as the clocks can drift until the neighbours, so that together they
/// hold for the whole time.
pub fn bands(probes: &[Probe], from: i64, until: i64) -> Vec<ClockBand> {
    let high = envelope(probes, |probe| (probe.sent, probe.received - probe.sent));
    let low = envelope(probes, |probe| (probe.returned, probe.returned - probe.replied));
    let moment = |place: usize| probes[place].sent;
    let gap = |place: usize| {
        let before = place.checked_sub(1).map_or(0, |last| moment(place).abs_diff(moment(last)));
        let after = probes.get(place + 1).map_or(0, |next| next.sent.abs_diff(moment(place)));
        before.max(after)
    };
    let within = (0..probes.len()).filter(|place| (from..=until).contains(&moment(*place)));
    within
        .map(|place| {
            // The low bound is that of the reply's return, not of the moment of sending.
            let way = probes[place].returned.abs_diff(moment(place));
            let widening = drift(gap(place) / 2 + way);
            ClockBand { low: -low[place] - widening, high: high[place] + widening }
        })
        .collect()
}

/// The lowest bound at each probe that all probes together give, where a bound grows with the
/// distance in time: one sweep from either side.
fn envelope(probes: &[Probe], bound: impl Fn(&Probe) -> (i64, i64)) -> Vec<i64> {
    let mut lowest: Vec<i64> = probes.iter().map(|probe| bound(probe).1).collect();
    let moment = |place: usize| bound(&probes[place]).0;
    let mut carry = |place: usize, neighbour: usize| {
        let carried = lowest[neighbour] + drift(moment(place).abs_diff(moment(neighbour)));
        lowest[place] = lowest[place].min(carried);
    };
    (1..probes.len()).for_each(|place| carry(place, place - 1));
    (1..probes.len()).rev().for_each(|place| carry(place - 1, place));
    lowest
}

/// How far two clocks can run apart in `distance` nanoseconds.
fn drift(distance: u64) -> i64 {
    (distance / 1_000_000 * DRIFT_PPM + distance % 1_000_000 * DRIFT_PPM / 1_000_000 + 1) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    /// The offset that is planted: a second, and 40 ppm of drift.
    fn offset(at: i64) -> i64 {
        1_000_000_000 + at / 25_000
    }

    /// A probe that was sent at `at`, and took so long on each way.
    fn probe(at: i64, there: i64, back: i64) -> Probe {
        let (arrived, left) = (at + there, at + there + 3_000);
        Probe {
            sent: at,
            received: arrived + offset(arrived),
            replied: left + offset(left),
            returned: left + back,
        }
    }

    /// A minute of probes with heavy tails on both ways and `more` on the way there.
    fn drawn(seed: u64, more: i64) -> Vec<Probe> {
        (0..600)
            .map(|n| {
                let mut draws = Seed(seed).draws(7, n);
                let mut way = || (20_000.0 / (1.001 - draws.unit()).powf(1.2)) as i64;
                probe(n as i64 * 100_000_000, way() + more, way())
            })
            .collect()
    }

    #[test]
    fn the_band_contains_the_truth_whatever_the_ways_take() {
        for (seed, more) in (0..200).zip([0, 2_000_000].into_iter().cycle()) {
            let probes = drawn(seed, more);
            for (place, band) in bands(&probes, 0, i64::MAX).into_iter().enumerate() {
                let truth = offset(probes[place].sent);
                assert!(band.low <= truth && truth <= band.high, "{seed} {place} {band:?} {truth}");
            }
            for at in (0..600).map(|n| n * 100_000_000 + 50_000_000) {
                let band = band_at(&probes, at).unwrap();
                assert!(band.low <= offset(at) && offset(at) <= band.high, "{seed} {at}");
            }
        }
    }

    #[test]
    fn an_asymmetric_way_widens_the_band_by_what_nobody_can_know() {
        let (fair, biased) = (drawn(3, 0), drawn(3, 2_000_000));
        let widest = |probes: &[Probe]| bands(probes, 0, i64::MAX).iter().map(|b| b.error()).max();
        let (fair, biased) = (widest(&fair).unwrap(), widest(&biased).unwrap());
        assert!(fair < 100_000, "{fair}");
        assert!((1_000_000..1_100_000).contains(&biased), "{biased}");
    }

    #[test]
    fn the_envelope_is_what_all_probes_give() {
        let probes = drawn(9, 0);
        for (place, band) in bands(&probes, 0, i64::MAX).into_iter().enumerate().step_by(37) {
            let direct = band_at(&probes, probes[place].sent).unwrap();
            assert!(band.low <= direct.low && direct.high <= band.high);
            assert!(direct.low - band.low < 100_000 && band.high - direct.high < 100_000);
        }
    }

    #[test]
    fn a_clock_that_jumped_leaves_no_offset_possible() {
        let mut probes = drawn(4, 0);
        let jumped = &mut probes[300..];
        jumped.iter_mut().for_each(|probe| {
            probe.received += 1_000_000_000;
            probe.replied += 1_000_000_000;
        });
        assert!(bands(&probes, 0, i64::MAX).iter().any(|band| !band.is_possible()));
        assert!(bands(&drawn(4, 0), 0, i64::MAX).iter().all(|band| band.is_possible()));
    }

    #[test]
    fn without_a_probe_nothing_is_known() {
        assert_eq!(band_at(&[], 5), None);
        assert!(bands(&[], 0, 5).is_empty());
    }
}
