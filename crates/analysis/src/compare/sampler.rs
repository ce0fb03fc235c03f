//! Takes the records of one run, gives its figures with what chance may do to them.

use assay_model::{Kind, Nanos, Outcome, Record, Seed};

use crate::LONGEST;
use crate::buckets::Buckets;
use crate::compare::curve::{Curve, FINE};
use crate::compare::figure::{Figure, Measure, PLACES};
use crate::compare::run_figure::{Counted, FEWEST_BLOCKS, RunFigure, RunFigures};
use crate::confidence::batch_dependence;
use crate::latency_stats::{SLOTS, SlotClock};
use crate::options::{AnalysisOptions, Window};
use crate::summary::{Distribution, Group, Summary};

/// Blocks that a run's time is cut into, as many as the analyzer's batches.
const BLOCKS: usize = 30;
/// The stream of the draws of blocks.
const STREAM: u64 = 0xC0_02;

/// How blocks are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resampling {
    /// From which every draw follows.
    pub seed: Seed,
    /// A number that no other run of the comparison has.
    pub run: u64,
    /// How many times blocks are drawn.
    pub replicates: u64,
}

impl Resampling {
    /// For the run with this number, with replicates enough for any level in use.
    pub const fn of_run(run: u64) -> Resampling {
        Resampling { seed: Seed(0), run, replicates: 1_000 }
    }
}

/// Counts the operations of a run by stretch of intended time.
///
/// Records may come in any order. Memory does not grow with the run: at most 256 stretches of
/// rough histograms of the octaves and kinds that occur, and after [`Sampler::finish`] a
/// thousand numbers for each figure.
#[derive(Clone, Debug)]
pub struct Sampler {
    options: AnalysisOptions,
    clock: SlotClock,
    slots: Vec<Slot>,
}

type Slot = [Option<Box<Cell>>; Kind::ALL.len()];

/// The operations of one kind in one stretch of time.
#[derive(Clone, Debug, Default)]
struct Cell {
    counts: Counts,
    response: Buckets<FINE>,
    service: Buckets<FINE>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    offered: u64,
    done: u64,
    misses: u64,
}

impl Cell {
    fn add(&mut self, record: &Record) {
        let is_done = record.outcome == Outcome::Done;
        self.counts.offered += 1;
        self.counts.done += u64::from(is_done);
        self.counts.misses += u64::from(is_done && !record.found);
        if is_done && record.found {
            self.response.add(record.response().min(LONGEST).0);
            self.service.add(record.service().min(LONGEST).0);
        }
    }

    fn merge(&mut self, other: &Cell) {
        self.counts.offered += other.counts.offered;
        self.counts.done += other.counts.done;
        self.counts.misses += other.counts.misses;
        self.response.merge(&other.response);
        self.service.merge(&other.service);
    }
}

impl Sampler {
    /// A sampler without records; it counts those that `options` selects.
    pub fn new(options: AnalysisOptions) -> Sampler {
        let origin = options.window.map_or(Nanos::ZERO, |window| window.from);
        Sampler { options, clock: SlotClock::new(origin), slots: Vec::new() }
    }

    /// Takes the next records.
    pub fn push(&mut self, records: &[Record]) {
        for record in records {
            if self.options.phases.include(record.phase) {
                let slot = self.slot(record.intended);
                let cell = &mut self.slots[slot][record.kind as usize];
                cell.get_or_insert_default().add(record);
            }
        }
    }

    fn slot(&mut self, intended: Nanos) -> usize {
        if self.clock.slot(intended) >= SLOTS as u64 {
            let times = self.clock.doublings(intended);
            self.clock.double(times);
            let old = std::mem::take(&mut self.slots);
            for (place, slot) in old.into_iter().enumerate() {
                let place = place >> times;
                self.open(place);
                merge(&mut self.slots[place], &slot);
            }
        }
        let slot = self.clock.slot(intended) as usize;
        self.open(slot);
        slot
    }

    fn open(&mut self, slot: usize) {
        if slot >= self.slots.len() {
            self.slots.resize_with(slot + 1, Slot::default);
        }
    }

    /// The figures that `summary`, which must be about the same records, has values of.
    ///
    /// `cpu_ns` is the processor time of our workers per operation, if it is known.
    pub fn finish(
        self,
        summary: &Summary,
        cpu_ns: Option<f64>,
        resampling: Resampling,
    ) -> RunFigures {
        let window = self.options.window.unwrap_or(summary.window);
        let blocks = self.blocks(window);
        let mut figures = Vec::new();
        let mut all: Vec<Cell> = vec![Cell::default(); blocks.len()];
        for (place, block) in blocks.iter().enumerate() {
            block.slot.iter().flatten().for_each(|cell| all[place].merge(cell));
        }
        let seconds: Vec<f64> = blocks.iter().map(|block| block.seconds).collect();
        let draw = Draw { seconds: &seconds, resampling };
        figures.extend(draw.figures(None, &summary.overall, &all));
        if let Some(value) = cpu_ns.filter(|value| *value > 0.0) {
            figures.push(by_run(Figure::overall(Measure::Cpu), value));
        }
        for (kind, group) in &summary.kinds {
            let cell = |block: &Block| block.slot[*kind as usize].as_deref().cloned();
            let cells: Vec<Cell> = blocks.iter().map(|b| cell(b).unwrap_or_default()).collect();
            figures.extend(draw.figures(Some(*kind), group, &cells));
        }
        RunFigures { figures, withdrawn: Vec::new() }
    }

    /// Cuts the stretches, in order of time, into blocks of nearly equal counts.
    fn blocks(&self, window: Window) -> Vec<Block> {
        let offered =
            |slot: &Slot| -> u64 { slot.iter().flatten().map(|cell| cell.counts.offered).sum() };
        let total: u64 = self.slots.iter().map(offered).sum();
        let mut blocks: Vec<Block> = (0..BLOCKS).map(|_| Block::default()).collect();
        let mut before = 0;
        for (place, slot) in self.slots.iter().enumerate() {
            let size = offered(slot);
            let middle = u128::from(before) * 2 + u128::from(size);
            let block = (middle * BLOCKS as u128 / (2 * u128::from(total.max(1)))) as usize;
            let block = &mut blocks[block.min(BLOCKS - 1)];
            merge(&mut block.slot, slot);
            let stretch = self.clock.stretch(place);
            let (from, until) = (stretch.from.max(window.from), stretch.until.min(window.until));
            block.seconds += until.since(from).as_secs_f64();
            before += size;
        }
        blocks.retain(|block| offered(&block.slot) > 0);
        blocks
    }
}

fn merge(into: &mut Slot, from: &Slot) {
    for (mine, theirs) in into.iter_mut().zip(from) {
        if let Some(theirs) = theirs {
            mine.get_or_insert_default().merge(theirs);
        }
    }
}

/// A part of the run.
#[derive(Clone, Debug, Default)]
struct Block {
    slot: Slot,
    seconds: f64,
}

/// A figure that only the run as a whole tells.
fn by_run(figure: Figure, value: f64) -> RunFigure {
    let beyond = f64::INFINITY;
    RunFigure {
        figure,
        value,
        replicates: Vec::new(),
        beyond,
        effective_beyond: beyond,
        blocks: 0,
        counted: None,
    }
}

/// Draws blocks of one run.
struct Draw<'a> {
    seconds: &'a [f64],
    resampling: Resampling,
}

/// What blocks can be drawn from.
struct Drawn<'a> {
    seconds: &'a [f64],
    cells: &'a [Cell],
    response: Curve,
    service: Curve,
}

impl Draw<'_> {
    /// The figures of the operations in `cells`, one cell per block, whose values `group` has.
    fn figures(&self, of: Option<Kind>, group: &Group, cells: &[Cell]) -> Vec<RunFigure> {
        let blocks = |of: fn(&Cell) -> &Buckets<FINE>| -> Vec<Buckets<FINE>> {
            cells.iter().map(|cell| of(cell).clone()).collect()
        };
        let drawn = Drawn {
            seconds: self.seconds,
            cells,
            response: Curve::new(&blocks(|cell| &cell.response)),
            service: Curve::new(&blocks(|cell| &cell.service)),
        };
        let mut figures: Vec<RunFigure> = Figure::all()
            .filter(|figure| figure.of == of)
            .filter_map(|figure| Some((figure, value(figure.measure, group)?)))
            .map(|(figure, value)| drawn.figure(figure, value))
            .collect();
        self.replicate(&drawn, &mut figures);
        figures
    }

    fn replicate(&self, drawn: &Drawn, figures: &mut [RunFigure]) {
        let blocks = drawn.cells.len();
        if blocks < FEWEST_BLOCKS {
            return;
        }
        let Resampling { seed, run, replicates } = self.resampling;
        let mut found: Vec<Vec<f64>> = vec![Vec::new(); figures.len()];
        for number in 0..replicates {
            let mut draws = seed.draws(STREAM, (run << 32) | number);
            let mut weights = vec![0_u32; blocks];
            (0..blocks).for_each(|_| weights[draws.below(blocks as u64) as usize] += 1);
            for (figure, found) in figures.iter().zip(&mut found) {
                let measure = figure.figure.measure;
                found.extend(measure.forth(drawn.value(measure, &weights)));
            }
        }
        for (figure, mut found) in figures.iter_mut().zip(found) {
            // One that has no logarithm leaves the others biased: then blocks cannot tell.
            if found.len() as u64 == replicates {
                let mean = found.iter().sum::<f64>() / found.len().max(1) as f64;
                found.iter_mut().for_each(|replicate| *replicate -= mean);
                figure.replicates = found;
            }
        }
    }
}

impl Drawn<'_> {
    fn figure(&self, figure: Figure, value: f64) -> RunFigure {
        let curve = match figure.measure {
            Measure::Response(_) => Some(&self.response),
            Measure::Service(_) => Some(&self.service),
            _ => None,
        };
        let blocks = self.cells.len();
        let counted = self.counted(figure.measure);
        let found = RunFigure { blocks, counted, ..by_run(figure, value) };
        let (Some(curve), Some(quantile)) = (curve, figure.measure.quantile()) else {
            return found;
        };
        let count = curve.count(&vec![1; blocks]) as f64;
        // The tolerance keeps 1000 · (1 − 0.99) from being just below 10.
        let beyond = count * (1.0 - quantile) * (1.0 + 1e-9);
        RunFigure { beyond, effective_beyond: beyond / curve.dependence(value), ..found }
    }

    /// What of the operations `measure` counts, if it counts any.
    fn counted(&self, measure: Measure) -> Option<Counted> {
        let of: fn(&Counts) -> (u64, u64) = match measure {
            Measure::Errors => |counts| (counts.offered - counts.done, counts.offered),
            Measure::Misses => |counts| (counts.misses, counts.done),
            Measure::Throughput => |counts| (counts.done, counts.offered),
            _ => return None,
        };
        let pairs = self.cells.iter().map(|cell| of(&cell.counts));
        let pairs = pairs.map(|(part, whole)| (part as f64, whole as f64));
        let dependence = batch_dependence(pairs.clone()).max(1.0);
        let sum = pairs.fold((0.0, 0.0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1));
        Some(Counted { part: sum.0 / dependence, whole: sum.1 / dependence })
    }

    /// The measure of the blocks, each as often as `weights` says.
    fn value(&self, measure: Measure, weights: &[u32]) -> f64 {
        let sum = |of: fn(&Counts) -> u64| -> f64 {
            let pairs = self.cells.iter().zip(weights);
            pairs.map(|(cell, &weight)| of(&cell.counts) as f64 * f64::from(weight)).sum()
        };
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        match measure {
            Measure::Response(quantile) => self.response.quantile(quantile, weights),
            Measure::Service(quantile) => self.service.quantile(quantile, weights),
            Measure::Errors => ratio(sum(|c| c.offered - c.done), sum(|c| c.offered)),
            Measure::Misses => ratio(sum(|c| c.misses), sum(|c| c.done)),
            Measure::Throughput => {
                let pairs = self.seconds.iter().zip(weights);
                ratio(sum(|c| c.done), pairs.map(|(s, &w)| s * f64::from(w)).sum())
            }
            Measure::Cpu => 0.0,
        }
    }
}

/// The analyzer's figure, if there are operations for it.
fn value(measure: Measure, group: &Group) -> Option<f64> {
    let counts = &group.counts;
    let share = |part: u64, whole: u64| (whole > 0).then(|| part as f64 / whole as f64);
    match measure {
        Measure::Throughput => (counts.offered > 0).then_some(group.rates.done_per_s),
        Measure::Response(quantile) => percentile(&group.hits.response, quantile),
        Measure::Service(quantile) => percentile(&group.hits.service, quantile),
        Measure::Errors => share(counts.refused + counts.unknown + counts.dropped, counts.offered),
        Measure::Misses => share(counts.misses, counts.done),
        Measure::Cpu => None,
    }
}

fn percentile(distribution: &Distribution, quantile: f64) -> Option<f64> {
    debug_assert!(PLACES.contains(&quantile), "{quantile} is none of the compared quantiles");
    distribution.value(quantile).map(|value| value.0 as f64)
}
