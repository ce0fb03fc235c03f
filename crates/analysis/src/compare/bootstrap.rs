//! Bootstrap interval of a figure's effect, by drawing runs with their blocks.

use assay_model::{Draws, Seed};

use crate::compare::figure::Measure;
use crate::compare::run_figure::RunFigure;
use crate::student::{normal, student};

/// The stream of the draws of runs.
const RUNS: u64 = 0xC0_01;

/// The runs of one set-up on the scale on which they are averaged.
#[derive(Clone, Debug)]
pub struct ScaledRuns<'a> {
    values: Vec<f64>,
    replicates: Vec<&'a [f64]>,
    /// Variance of the centre.
    variance: f64,
    /// Variance of its draws, before they are scaled.
    drawn: f64,
    degrees: f64,
}

impl<'a> ScaledRuns<'a> {
    /// Of the figure's values in the runs; nothing if one of them has no logarithm where it needs
    /// one, or there are no runs.
    pub fn new(measure: Measure, runs: &'a [RunFigure]) -> Option<ScaledRuns<'a>> {
        let values: Vec<f64> =
            runs.iter().map(|run| measure.forth(run.value)).collect::<Option<_>>()?;
        let count = values.len() as f64;
        let within = runs.iter().map(|run| variance_around(&run.replicates, 0.0)).sum::<f64>()
            / count.max(1.0);
        let (variance, drawn, degrees) = match values.len() {
            0 => return None,
            1 => {
                let blocks = runs[0].blocks.max(2) as f64;
                (within * blocks / (blocks - 1.0), within, blocks - 1.0)
            }
            _ => {
                let mean = values.iter().sum::<f64>() / count;
                let between = variance_around(&values, mean);
                let unbiased = between * count / (count - 1.0);
                (unbiased.max(within) / count, (between + within) / count, count - 1.0)
            }
        };
        let replicates = runs.iter().map(|run| &run.replicates[..]).collect();
        Some(ScaledRuns { values, replicates, variance, drawn, degrees })
    }

    /// The mean of the runs.
    pub fn centre(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }

    /// How far the mean moves when runs are drawn anew, each with blocks drawn anew.
    fn draw(&self, draws: &mut Draws) -> f64 {
        let runs = self.values.len();
        let mut sum = 0.0;
        for _ in 0..runs {
            let run = draws.below(runs as u64) as usize;
            let replicates = self.replicates[run];
            sum += self.values[run];
            if !replicates.is_empty() {
                sum += replicates[draws.below(replicates.len() as u64) as usize];
            }
        }
        let scale = if self.drawn > 0.0 { (self.variance / self.drawn).sqrt() } else { 1.0 };
        (sum / runs as f64 - self.centre()) * scale
    }
}

/// Mean square of the distance from `centre`; 0 without values.
fn variance_around(values: &[f64], centre: f64) -> f64 {
    let squares: f64 = values.iter().map(|value| (value - centre).powi(2)).sum();
    squares / (values.len() as f64).max(1.0)
}

/// How far below and above the difference of the two centres the true one may be, at `level`;
/// nothing if that is no finite number, or nothing is drawn.
pub fn reach(
    first: &ScaledRuns,
    second: &ScaledRuns,
    level: f64,
    (seed, row, count): (Seed, u64, u64),
) -> Option<(f64, f64)> {
    let last = usize::try_from(count).ok()?.checked_sub(1)?;
    let mut moves: Vec<f64> = (0..count)
        .map(|number| {
            let mut draws = seed.draws(RUNS, (row << 32) | number);
            second.draw(&mut draws) - first.draw(&mut draws)
        })
        .collect();
    moves.sort_by(f64::total_cmp);
    let at = |share: f64| moves[((count as f64 * share) as usize).min(last)];
    let tail = (1.0 - level) / 2.0;
    let stretch = student(level, degrees(first, second)) / normal(level);
    let (low, high) = (at(tail) * stretch, at(1.0 - tail) * stretch);
    (low.is_finite() && high.is_finite()).then_some((low.min(0.0), high.max(0.0)))
}

/// Degrees of freedom of the difference (B. L. Welch, Biometrika 34, 1947; F. E. Satterthwaite).
fn degrees(first: &ScaledRuns, second: &ScaledRuns) -> f64 {
    let sum = first.variance + second.variance;
    let squares = first.variance.powi(2) / first.degrees + second.variance.powi(2) / second.degrees;
    if squares > 0.0 { sum * sum / squares } else { first.degrees.min(second.degrees) }
}
