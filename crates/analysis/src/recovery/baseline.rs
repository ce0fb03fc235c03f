//! Baseline of a run: how it is without faults.

use assay_model::{Nanos, named_enum};

use super::faults::FaultSpan;
use crate::median::{median, sorted};
use crate::options::{LoadModel, Window};
use crate::summary::{GoodputBin, IntervalSummary, Summary};

/// A fault-free part shorter than this tells little.
const SHORTEST: Nanos = Nanos::from_secs(5);
/// So long after a fault is over a store may still be recovering.
const AFTERMATH: Nanos = Nanos::from_secs(30);
/// The part of the interval of a median on either side, in standard deviations: 95 %.
const SIDE: f64 = 1.96 / 2.0;

named_enum! {
    /// The part of a run that its baseline is of.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum BaselinePart {
        /// There were no faults, nor any before it whose effect may reach into it.
        Whole => "whole",
        /// What lies before the first fault.
        BeforeFaults => "before-faults",
        /// What begins 30 s after the last fault was over.
        AfterFaults => "after-faults",
        /// There are faults, but no part of 5 s without them: all of it, by its median interval.
        WithFaults => "with-faults",
    }
}

/// How a run is without faults.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GoodputBaseline {
    /// Which part of the run it is of.
    pub part: BaselinePart,
    /// Where that begins and ends.
    pub window: Window,
    /// Operations answered in time per second: the median interval.
    pub in_time_per_s: f64,
    /// The interval of that median, at 95 %; `None` of fewer than six intervals.
    pub interval: Option<(f64, f64)>,
    /// Of the operations offered, the share that is answered in time.
    pub in_time_share: f64,
    /// Operations done per second, by the time of their answers: the median interval.
    pub done_per_s: f64,
    /// The 99th percentile of the response times of the median interval.
    pub p99: Nanos,
    /// Whether what is expected follows the arrivals.
    pub is_open: bool,
}

impl GoodputBaseline {
    /// The operations that ought to be answered in time of a stretch of time in which so many were
    /// offered.
    pub fn expected(&self, offered: u64, length: Nanos) -> f64 {
        match self.is_open {
            true => self.in_time_share * offered as f64,
            false => self.in_time_per_s * length.as_secs_f64(),
        }
    }
}

/// The baseline of the part of `window` that none of the `faults` reaches; nothing if it has no
/// interval, or if its median interval answered nothing in time.
pub fn baseline(
    summary: &Summary,
    window: Window,
    faults: &[FaultSpan],
) -> Option<GoodputBaseline> {
    let reaches = |fault: &&FaultSpan| {
        let is_over_before = |end: Nanos| end.saturating_add(AFTERMATH) <= window.from;
        fault.at < window.until && !fault.end().is_some_and(is_over_before)
    };
    let (part, stretch) = fault_free(window, &faults.iter().filter(reaches).collect::<Vec<_>>());
    let series = &summary.series;
    let intervals = series.whole_in(stretch);
    let width = series.width.as_secs_f64();
    let rates = sorted(intervals.iter().map(|one| one.in_time as f64 / width));
    let in_time_per_s = median(&rates).filter(|rate| *rate > 0.0)?;
    let shares = sorted(intervals.iter().filter(|one| one.offered > 0).map(share));
    let in_time_share = match part {
        BaselinePart::WithFaults => median(&shares)?,
        _ => share_of(summary, stretch).or_else(|| median(&shares))?,
    };
    let answered = intervals.iter().filter(|one| one.response.count > 0);
    let tails = sorted(answered.map(|one| one.response.p99.0 as f64));
    let done = sorted(intervals.iter().map(|one| one.done as f64 / width));
    Some(GoodputBaseline {
        part,
        window: stretch,
        in_time_per_s,
        interval: interval(&rates),
        in_time_share,
        done_per_s: median(&done)?,
        p99: Nanos(median(&tails).unwrap_or(0.0) as u64),
        is_open: matches!(summary.load, LoadModel::Open { .. }),
    })
}

/// The longest part without faults that is told by a rule, not chosen by its figures.
fn fault_free(window: Window, faults: &[&FaultSpan]) -> (BaselinePart, Window) {
    let Some(first) = faults.iter().map(|fault| fault.at).min() else {
        return (BaselinePart::Whole, window);
    };
    let before = Window { from: window.from, until: first };
    if before.duration() >= SHORTEST {
        return (BaselinePart::BeforeFaults, before);
    }
    let ends: Option<Vec<Nanos>> = faults.iter().map(|fault| fault.end()).collect();
    let last = ends.and_then(|ends| ends.into_iter().max());
    let after =
        last.map(|last| Window { from: last.saturating_add(AFTERMATH), until: window.until });
    match after.filter(|after| after.duration() >= SHORTEST) {
        Some(after) => (BaselinePart::AfterFaults, after),
        None => (BaselinePart::WithFaults, window),
    }
}

fn share(interval: &IntervalSummary) -> f64 {
    interval.in_time as f64 / interval.offered.max(1) as f64
}

/// The share of the operations offered in whole fine bins of `stretch` that was answered in time.
fn share_of(summary: &Summary, stretch: Window) -> Option<f64> {
    let goodput = &summary.availability.goodput;
    let inside = |place: usize| {
        let from = goodput.from.0 + place as u64 * goodput.width.0;
        stretch.from.0 <= from && from + goodput.width.0 <= stretch.until.0
    };
    let bins = goodput.bins.iter().enumerate().filter(|(place, _)| inside(*place));
    let sum = |(offered, in_time): (u64, u64), (_, bin): (usize, &GoodputBin)| {
        (offered + bin.offered, in_time + bin.in_time)
    };
    let (offered, in_time) = bins.fold((0, 0), sum);
    (offered > 0).then(|| in_time as f64 / offered as f64)
}

/// The interval of the median of rising values at 95 %, by their order alone: the ranks are those
/// of the normal approximation of the binomial (W. J. Conover, "Practical Nonparametric
/// Statistics", 1999, section 3.2).
fn interval(values: &[f64]) -> Option<(f64, f64)> {
    let count = values.len() as f64;
    let low = (count / 2.0 - SIDE * count.sqrt()).floor();
    let high = (count / 2.0 + SIDE * count.sqrt()).ceil();
    (low >= 0.0 && values.len() >= 6).then(|| {
        let high = (high as usize).min(values.len() - 1);
        (values[low as usize], values[high])
    })
}
