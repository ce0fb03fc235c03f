//! Counts by interval of time, in memory that does not grow with the run.

mod concurrency;
mod heat;

use assay_model::{Kind, Nanos, Outcome, Record};

use crate::availability::Timeliness;
use crate::buckets::{Buckets, ROUGH, highest};
use crate::latency_stats::Times;
use crate::summary::{IntervalSummary, Quick, Series};
pub use concurrency::Concurrency;

/// The most intervals; when a run needs more, all intervals become twice as long.
const MOST_INTERVALS: u64 = 1200;

/// What is counted in one interval.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    offered: u64,
    in_time: u64,
    errors: u64,
    misses: u64,
    refused: u64,
    unknown: u64,
    dropped: u64,
    done: [u64; Kind::ALL.len()],
    response: Values,
    service: Values,
    lag: Values,
    miss_response: Values,
}

/// The values of one latency in one interval.
#[derive(Clone, Debug, Default)]
struct Values {
    buckets: Buckets<ROUGH>,
    max: u64,
}

impl Values {
    #[inline]
    fn add(&mut self, value: u64) {
        self.buckets.add(value);
        if self.max < value {
            self.raise_max(value);
        }
    }

    /// Not inlined, as the maximum changes seldom: memory is not written for each value.
    #[cold]
    fn raise_max(&mut self, value: u64) {
        self.max = value;
    }

    fn merge(&mut self, other: &Values) {
        self.buckets.merge(&other.buckets);
        self.max = self.max.max(other.max);
    }
}

impl Cell {
    /// Counts `record` where it was intended. Slow operations are shown at their start: while a
    /// store stalls, nothing ends.
    #[inline]
    fn begin(&mut self, record: &Record, times: Times, answered: Timeliness) {
        self.offered += 1;
        self.in_time += u64::from(answered == Timeliness::InTime);
        self.errors += u64::from(answered == Timeliness::Never);
        if record.outcome == Outcome::Dropped {
            return;
        }
        self.lag.add(times.lag.0);
        if record.outcome == Outcome::Done {
            let values = if record.found { &mut self.response } else { &mut self.miss_response };
            values.add(times.response.0);
        }
    }

    /// Counts `record` where its request left.
    #[inline]
    fn send(&mut self, record: &Record, times: Times) {
        if record.outcome == Outcome::Done && record.found {
            self.service.add(times.service.0);
        }
    }

    /// Counts `record` where it ended.
    #[inline]
    fn end(&mut self, record: &Record) {
        match record.outcome {
            Outcome::Done => {
                self.done[record.kind as usize] += 1;
                self.misses += u64::from(!record.found);
            }
            Outcome::Refused => self.refused += 1,
            Outcome::Unknown => self.unknown += 1,
            Outcome::Dropped => self.dropped += 1,
        }
    }

    fn merge(&mut self, other: &Cell) {
        self.offered += other.offered;
        self.in_time += other.in_time;
        self.errors += other.errors;
        self.misses += other.misses;
        self.refused += other.refused;
        self.unknown += other.unknown;
        self.dropped += other.dropped;
        for (mine, theirs) in self.done.iter_mut().zip(other.done) {
            *mine += theirs;
        }
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.lag.merge(&other.lag);
        self.miss_response.merge(&other.miss_response);
    }

    fn done(&self) -> u64 {
        self.done.iter().sum()
    }

    fn ended(&self) -> u64 {
        self.done() + self.refused + self.unknown + self.dropped
    }
}

/// The intervals while they are being counted.
#[derive(Clone, Debug)]
pub struct Intervals {
    origin: Nanos,
    width: u64,
    cells: Vec<Cell>,
    served: Concurrency,
    waited: Concurrency,
    near: Near,
}

/// The interval that was looked up last; records come mostly in order of time.
#[derive(Clone, Copy, Debug)]
struct Near {
    place: usize,
    from: u64,
    until: u64,
}

impl Near {
    const NOWHERE: Near = Near { place: 0, from: 1, until: 0 };

    #[inline]
    fn holds(&self, moment: Nanos) -> bool {
        self.from <= moment.0 && moment.0 < self.until
    }
}

impl Intervals {
    /// Intervals of `width` (at least 1 ns) from `origin` on.
    pub fn new(origin: Nanos, width: Nanos) -> Intervals {
        Intervals {
            origin,
            width: width.0.max(1),
            cells: Vec::new(),
            served: Concurrency::default(),
            waited: Concurrency::default(),
            near: Near::NOWHERE,
        }
    }

    /// Counts one record, with how it was answered.
    #[inline]
    pub fn add(&mut self, record: &Record, times: Times, answered: Timeliness) {
        let end = self.place(record.ended);
        if !self.near.holds(record.intended) || !self.near.holds(record.started) {
            return self.add_across(record, times, answered, end);
        }
        let cell = &mut self.cells[end];
        cell.begin(record, times, answered);
        cell.send(record, times);
        cell.end(record);
        if record.outcome != Outcome::Dropped {
            self.served.add_within(end, times.service.0);
            self.waited.add_within(end, times.response.0);
        }
    }

    /// Counts a record whose times are not all in the interval at `end`, where it ended.
    fn add_across(&mut self, record: &Record, times: Times, answered: Timeliness, end: usize) {
        // No time should be after the ended time; where one is, `backward_times` tells.
        let begin = self.place_of(record.intended).min(end);
        let sent = self.place_of(record.started).min(end);
        self.cells[begin].begin(record, times, answered);
        self.cells[sent].send(record, times);
        self.cells[end].end(record);
        if record.outcome != Outcome::Dropped {
            let (origin, width) = (self.origin.0, self.width);
            self.served.add_across(origin, width, record.started.0, record.ended.0);
            self.waited.add_across(origin, width, record.intended.0, record.ended.0);
        }
    }

    /// The place of the interval that `moment` is in, which is remembered; makes room for it.
    #[inline]
    fn place(&mut self, moment: Nanos) -> usize {
        if !self.near.holds(moment) {
            self.look_up(moment);
        }
        self.near.place
    }

    fn look_up(&mut self, moment: Nanos) {
        let past = moment.since(self.origin).0;
        while past / self.width >= MOST_INTERVALS {
            self.double();
        }
        let place = (past / self.width) as usize;
        if place >= self.cells.len() {
            self.cells.resize_with(place + 1, Cell::default);
        }
        let from = self.origin.0 + place as u64 * self.width;
        self.near = Near { place, from, until: from.saturating_add(self.width) };
    }

    /// The place of `moment`, without forgetting the interval that was looked up last.
    fn place_of(&self, moment: Nanos) -> usize {
        (moment.since(self.origin).0 / self.width) as usize
    }

    fn double(&mut self) {
        let old = std::mem::take(&mut self.cells);
        for (place, cell) in old.into_iter().enumerate() {
            if place % 2 == 0 {
                self.cells.push(cell);
            } else {
                self.cells[place / 2].merge(&cell);
            }
        }
        self.served.double(self.width);
        self.waited.double(self.width);
        self.width *= 2;
        self.near = Near::NOWHERE;
    }

    /// Makes the series go on until `end` even where nothing happened any more.
    pub fn reach(&mut self, end: Nanos) {
        if self.origin < end {
            self.look_up(Nanos(end.0 - 1));
        }
    }

    /// Adds what `other`, begun with the same origin and width, counted.
    pub fn merge(&mut self, mut other: Intervals) {
        while self.width < other.width {
            self.double();
        }
        while other.width < self.width {
            other.double();
        }
        if other.cells.len() > self.cells.len() {
            self.cells.resize_with(other.cells.len(), Cell::default);
        }
        for (mine, theirs) in self.cells.iter_mut().zip(&other.cells) {
            mine.merge(theirs);
        }
        self.served.merge(&other.served);
        self.waited.merge(&other.waited);
    }

    /// How many operations were intended and how many ended, over all intervals.
    pub fn totals(&self) -> (u64, u64) {
        let cells = self.cells.iter();
        cells.fold((0, 0), |(begun, ended), cell| (begun + cell.offered, ended + cell.ended()))
    }

    /// The finished series, from the first interval on in which something happened or, where
    /// `keeps_start`, from the origin.
    pub fn finish(&self, keeps_start: bool) -> Series {
        let served = self.served.means(self.width, self.cells.len());
        let waited = self.waited.means(self.width, self.cells.len());
        let is_empty = |cell: &Cell| cell.offered + cell.ended() == 0;
        let lead = self.cells.iter().take_while(|cell| !keeps_start && is_empty(cell)).count();
        let begin = |place: usize| Nanos(self.origin.0 + place as u64 * self.width);
        let summary = |place: usize| IntervalSummary {
            in_flight: served[place],
            in_system: waited[place],
            ..interval(&self.cells[place], begin(place))
        };
        let (from, width) = (begin(lead), Nanos(self.width));
        let cells = &self.cells[lead..];
        Series {
            from,
            width,
            intervals: (lead..self.cells.len()).map(summary).collect(),
            response: heat::map(cells, from, width, |cell| &cell.response.buckets),
            service: heat::map(cells, from, width, |cell| &cell.service.buckets),
            lag: heat::map(cells, from, width, |cell| &cell.lag.buckets),
            misses: heat::map(cells, from, width, |cell| &cell.miss_response.buckets),
        }
    }
}

fn interval(cell: &Cell, from: Nanos) -> IntervalSummary {
    IntervalSummary {
        from,
        offered: cell.offered,
        in_time: cell.in_time,
        errors: cell.errors,
        done: cell.done(),
        misses: cell.misses,
        refused: cell.refused,
        unknown: cell.unknown,
        dropped: cell.dropped,
        done_by_kind: cell.done,
        in_flight: 0.0,
        in_system: 0.0,
        response: quick(&cell.response),
        service: quick(&cell.service),
        lag: quick(&cell.lag),
        miss_response: quick(&cell.miss_response),
    }
}

/// Percentiles by the upper edges of their buckets, but never above the exact maximum.
fn quick(values: &Values) -> Quick {
    let count = values.buckets.total();
    let at = |quantile| {
        let bucket = values.buckets.at_rank(crate::distribution::rank(count, quantile));
        Nanos(bucket.map_or(0, |bucket| highest::<ROUGH>(bucket).min(values.max)))
    };
    let max = Nanos(values.max);
    Quick { count, p50: at(0.5), p90: at(0.9), p99: at(0.99), p999: at(0.999), max }
}
