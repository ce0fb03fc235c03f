//! The universal scalability law: why throughput stops growing with the number of clients.
//!
//! X(N) = γ N / (1 + α (N − 1) + β N (N − 1)). γ is the throughput of one client, α the share of
//! the work for which clients queue (contention), β what each pair of clients costs to be made to
//! agree (coherency). With β above zero throughput has a peak, at N* = √((1 − α) / β), beyond which
//! it falls.
//!
//! Source: N. J. Gunther, "Guerrilla Capacity Planning", Springer 2007, chapters 4 to 6. Fitted by
//! least squares of throughput, as the R package `usl` does (Levenberg–Marquardt from the solution
//! of the linear form N / X); a parameter that comes out below zero, which has no meaning, is held
//! at zero.

use crate::median::sorted;
use crate::student::student;

/// Three parameters need more than three numbers of clients to be distinguished from noise.
pub const POINTS_MIN: usize = 6;

/// A peak that lies further out than this many times the most clients was not measured.
const REACH: f64 = 2.0;

/// A law that explains less of the variance than this says nothing about where a peak is.
pub const EXPLAINED_MIN: f64 = 0.8;

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// How many parameters the law has.
const PARAMETERS: f64 = 3.0;

/// The least share of a residual that a run's own pull on the law leaves of it.
const LEFT_MIN: f64 = 0.05;

/// Rounds of the fit; it has come to rest long before.
const ROUNDS: usize = 200;

/// What was measured with one number of clients.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// How many clients there were.
    pub clients: f64,
    /// Operations per second of each run.
    pub runs: Vec<f64>,
}

/// The three parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Usl {
    /// Operations per second of one client (γ).
    pub gamma: f64,
    /// Contention (α).
    pub alpha: f64,
    /// Coherency (β).
    pub beta: f64,
}

/// A fit with what may be said of it.
#[derive(Clone, Debug, PartialEq)]
pub struct UslFit {
    /// The parameters.
    pub law: Usl,
    /// Where γ, α, β lie with 95 % confidence; none if the runs do not tell them apart, or speak
    /// against the law.
    pub intervals: Option<[(f64, f64); 3]>,
    /// Share of the variance between the points that the law explains (R²).
    pub explained: f64,
    /// The number of clients of the highest throughput, if it was measured or nearly so.
    pub peak: Peak,
    /// The most clients that were measured.
    pub measured_up_to: f64,
}

/// What is known of the number of clients beyond which throughput falls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Peak {
    /// It is there, and clients beyond it were measured.
    Measured(f64),
    /// By the law it is there, within twice the most clients that were measured; no fall was
    /// measured, for the most clients did most.
    Expected(f64),
    /// It is further out, or nowhere: β may as well be zero, or nothing measured speaks for either.
    Unseen,
    /// The law explains too little of what was measured to say where.
    Untold,
}

/// Why there is no fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Clients did not wait for their answers, so their number says nothing about the load.
    Open,
    /// All points have the same number of clients.
    SameClients,
    /// There are fewer different numbers of clients than three parameters need.
    TooFew {
        /// How many there are.
        found: usize,
    },
    /// Some runs did nothing.
    Nothing,
}

impl Usl {
    /// Throughput with so many clients.
    pub fn throughput(&self, clients: f64) -> f64 {
        let n = clients;
        self.gamma * n / (1.0 + self.alpha * (n - 1.0) + self.beta * n * (n - 1.0))
    }

    /// The number of clients of the highest throughput, if there is a highest.
    pub fn peak(&self) -> Option<f64> {
        // With more contention than there is work, one client is the best there is.
        (self.beta > 0.0).then(|| ((1.0 - self.alpha).max(0.0) / self.beta).sqrt().max(1.0))
    }
}

/// Fits the law to the points, which are of a closed loop.
///
/// # Errors
/// If there are too few points, or nothing was done.
pub fn fit(points: &[Point]) -> Result<UslFit, Refusal> {
    let mut clients = sorted(points.iter().map(|point| point.clients));
    clients.dedup();
    match clients.len() {
        0 | 1 => return Err(Refusal::SameClients),
        found if found < POINTS_MIN => return Err(Refusal::TooFew { found }),
        _ => {}
    }
    let is_nothing = |point: &Point| point.runs.iter().all(|run| *run <= 0.0);
    if points.iter().any(is_nothing) {
        return Err(Refusal::Nothing);
    }
    let means: Vec<(f64, f64)> =
        points.iter().map(|point| (point.clients, mean(&point.runs))).collect();
    let runs = points.iter().flat_map(|point| point.runs.iter().map(|run| (point.clients, *run)));
    let runs: Vec<(f64, f64)> = runs.collect();
    let law = solve(&runs);
    let most = clients[clients.len() - 1];
    let highest = means.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(most, |(n, _)| *n);
    let explained = explained(&means, &law);
    let reach = intervals(&runs).filter(|reach| agrees(&law, reach));
    // A β that may as well be zero has no peak, wherever its best guess would put one.
    let falls = reach.is_some_and(|[.., (low, _)]| low > 0.0);
    let peak = match law.peak().filter(|_| falls) {
        _ if explained < EXPLAINED_MIN => Peak::Untold,
        Some(peak) if peak < most && highest < most => Peak::Measured(peak),
        Some(peak) if peak <= REACH * most => Peak::Expected(peak),
        _ => Peak::Unseen,
    };
    Ok(UslFit { law, intervals: reach, explained, peak, measured_up_to: most })
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn explained(points: &[(f64, f64)], law: &Usl) -> f64 {
    let middle = points.iter().map(|(_, x)| x).sum::<f64>() / points.len() as f64;
    let total: f64 = points.iter().map(|(_, x)| (x - middle).powi(2)).sum();
    if total > 0.0 { 1.0 - squares(points, law) / total } else { 0.0 }
}

fn squares(points: &[(f64, f64)], law: &Usl) -> f64 {
    points.iter().map(|(n, x)| (x - law.throughput(*n)).powi(2)).sum()
}

/// Student's t intervals of the parameters over all runs; none below zero, which has no meaning.
fn intervals(runs: &[(f64, f64)]) -> Option<[(f64, f64); 3]> {
    let free = [true, true];
    let law = descend(runs, begin(runs, free), free);
    let mut squares = [[0.0; 3]; 3];
    for (n, _) in runs {
        add(&mut squares, &mut [0.0; 3], &slopes(&law, *n), 0.0);
    }
    let inverse = inverse(squares)?;
    // How far each parameter moves with a run, times that run's residual.
    let mut variances = [0.0; 3];
    for (n, x) in runs {
        let slopes = slopes(&law, *n);
        let pull = inverse.map(|row| row.iter().zip(slopes).map(|(a, b)| a * b).sum::<f64>());
        let leverage: f64 = pull.iter().zip(slopes).map(|(a, b)| a * b).sum();
        let residual = (x - law.throughput(*n)) / (1.0 - leverage).max(LEFT_MIN);
        for (variance, pull) in variances.iter_mut().zip(pull) {
            *variance += (pull * residual).powi(2);
        }
    }
    let t = student(CONFIDENCE, (runs.len() as f64 - PARAMETERS).max(1.0));
    let around = |middle: f64, variance: f64| {
        let reach = t * variance.sqrt();
        ((middle - reach).max(0.0), (middle + reach).max(0.0))
    };
    let [gamma, alpha, beta] = variances;
    let found = [around(law.gamma, gamma), around(law.alpha, alpha), around(law.beta, beta)];
    found.iter().all(|(low, high)| low.is_finite() && high.is_finite()).then_some(found)
}

/// Whether the law lies in its intervals. A parameter that is held at zero because the runs want it
/// well below, as throughput that grows faster than the clients does, leaves the others elsewhere.
fn agrees(law: &Usl, reach: &[(f64, f64); 3]) -> bool {
    let parameters = [law.gamma, law.alpha, law.beta];
    let mut pairs = parameters.into_iter().zip(reach);
    pairs.all(|(parameter, (low, high))| (*low..=*high).contains(&parameter))
}

/// How throughput moves with γ, α, β.
fn slopes(law: &Usl, n: f64) -> [f64; 3] {
    let found = law.throughput(n);
    let slope = found * found / (law.gamma * n);
    [found / law.gamma, -slope * (n - 1.0), -slope * n * (n - 1.0)]
}

/// The inverse of a symmetric matrix, if it has one; columns are scaled alike first.
fn inverse(matrix: [[f64; 3]; 3]) -> Option<[[f64; 3]; 3]> {
    let scale = [0, 1, 2].map(|place| matrix[place][place].sqrt());
    if scale.iter().any(|scale| !scale.is_finite() || *scale <= 0.0) {
        return None;
    }
    let mut scaled = matrix;
    for (row, cells) in scaled.iter_mut().enumerate() {
        for (column, cell) in cells.iter_mut().enumerate() {
            *cell /= scale[row] * scale[column];
        }
    }
    let unit = |place: usize| {
        let mut right = [0.0; 3];
        right[place] = 1.0;
        let solved = eliminate(scaled, right);
        [0, 1, 2].map(|row| solved[row] / (scale[row] * scale[place]))
    };
    Some([unit(0), unit(1), unit(2)])
}

/// The best law without a negative parameter.
fn solve(points: &[(f64, f64)]) -> Usl {
    let shapes = [[true, true], [true, false], [false, true], [false, false]];
    let fits = shapes.map(|free| descend(points, begin(points, free), free));
    let is_meant = |law: &&Usl| law.alpha >= 0.0 && law.beta >= 0.0 && law.gamma > 0.0;
    let best = fits
        .iter()
        .filter(is_meant)
        .min_by(|a, b| squares(points, a).total_cmp(&squares(points, b)));
    best.copied().unwrap_or(fits[3])
}

/// The linear form N / X = (1 + α (N − 1) + β N (N − 1)) / γ, relative errors counting alike.
fn begin(points: &[(f64, f64)], free: [bool; 2]) -> Usl {
    let mut sums = [[0.0; 3]; 3];
    let mut right = [0.0; 3];
    for (n, x) in points.iter().filter(|(_, x)| *x > 0.0) {
        let y = n / x;
        let terms = terms([1.0, n - 1.0, n * (n - 1.0)], free).map(|term| term / y);
        add(&mut sums, &mut right, &terms, 1.0);
    }
    let [first, second, third] = eliminate(sums, right);
    let gamma = if first > 0.0 { 1.0 / first } else { 1.0 };
    Usl { gamma, alpha: second * gamma, beta: third * gamma }
}

/// Terms of parameters that are held at zero vanish.
fn terms([first, second, third]: [f64; 3], free: [bool; 2]) -> [f64; 3] {
    let kept = |term: f64, is_free: bool| if is_free { term } else { 0.0 };
    [first, kept(second, free[0]), kept(third, free[1])]
}

fn add(sums: &mut [[f64; 3]; 3], right: &mut [f64; 3], terms: &[f64; 3], value: f64) {
    for (row, left) in terms.iter().enumerate() {
        right[row] += left * value;
        for (column, other) in terms.iter().enumerate() {
            sums[row][column] += left * other;
        }
    }
}

/// Levenberg–Marquardt on the squares of throughput.
fn descend(points: &[(f64, f64)], mut law: Usl, free: [bool; 2]) -> Usl {
    let mut damping = 1e-3;
    for _ in 0..ROUNDS {
        let mut sums = [[0.0; 3]; 3];
        let mut right = [0.0; 3];
        for (n, x) in points {
            let residual = x - law.throughput(*n);
            add(&mut sums, &mut right, &terms(slopes(&law, *n), free), residual);
        }
        for (place, row) in sums.iter_mut().enumerate() {
            row[place] *= 1.0 + damping;
        }
        let [gamma, alpha, beta] = eliminate(sums, right);
        let next =
            Usl { gamma: law.gamma + gamma, alpha: law.alpha + alpha, beta: law.beta + beta };
        let (before, after) = (squares(points, &law), squares(points, &next));
        if after.is_finite() && after < before && next.gamma > 0.0 {
            law = next;
            damping = (damping / 10.0).max(1e-12);
            if before - after < 1e-12 * before {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    law
}

/// Solves three equations by Gauss's elimination; a parameter without an equation is zero.
fn eliminate(mut rows: [[f64; 3]; 3], mut right: [f64; 3]) -> [f64; 3] {
    for pivot in 0..3 {
        let best =
            (pivot..3).max_by(|a, b| rows[*a][pivot].abs().total_cmp(&rows[*b][pivot].abs()));
        let best = best.unwrap_or(pivot);
        rows.swap(pivot, best);
        right.swap(pivot, best);
        if rows[pivot][pivot].abs() < f64::MIN_POSITIVE {
            continue;
        }
        for row in 0..3 {
            if row == pivot {
                continue;
            }
            let share = rows[row][pivot] / rows[pivot][pivot];
            let above = rows[pivot];
            for (cell, other) in rows[row].iter_mut().zip(above) {
                *cell -= share * other;
            }
            right[row] -= share * right[pivot];
        }
    }
    let solved = |place: usize| {
        let pivot = rows[place][place];
        if pivot.abs() < f64::MIN_POSITIVE { 0.0 } else { right[place] / pivot }
    };
    [solved(0), solved(1), solved(2)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(pairs: &[(f64, f64)]) -> Vec<Point> {
        pairs.iter().map(|(clients, x)| Point { clients: *clients, runs: vec![*x] }).collect()
    }

    fn constructed(law: Usl, clients: &[f64]) -> Vec<Point> {
        points(&clients.iter().map(|n| (*n, law.throughput(*n))).collect::<Vec<_>>())
    }

    #[test]
    fn what_the_law_made_is_found_again() {
        let law = Usl { gamma: 1_000.0, alpha: 0.05, beta: 0.002 };
        let found = fit(&constructed(law, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]));
        let found = found.unwrap();
        assert!((found.law.gamma / law.gamma - 1.0).abs() < 1e-6, "{found:?}");
        assert!((found.law.alpha - law.alpha).abs() < 1e-6, "{found:?}");
        assert!((found.law.beta - law.beta).abs() < 1e-8, "{found:?}");
        assert!(found.explained > 0.999_999);
        // √(0.95 / 0.002) = 21.8, beyond which 32 and 64 were measured.
        assert!(matches!(found.peak, Peak::Measured(peak) if (peak - 21.794).abs() < 0.01));
    }

    #[test]
    fn a_peak_before_which_nothing_fell_is_expected() {
        // √(0.95 / β) = 28, and 32 clients still did more than 16.
        let law = Usl { gamma: 1_000.0, alpha: 0.05, beta: 0.95 / (28.0 * 28.0) };
        let found = fit(&constructed(law, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0])).unwrap();
        assert!(law.throughput(32.0) > law.throughput(16.0));
        assert!(matches!(found.peak, Peak::Expected(peak) if (peak - 28.0).abs() < 0.01));
        assert!(found.measured_up_to > 28.0);
    }

    #[test]
    fn a_published_fit_is_repeated() {
        // SPEC SDM91 as in Gunther's book; the R package `usl` gives γ 89.995, α 0.0277295,
        // β 0.0001044 and a peak at 96.5.
        let measured = [
            (1.0, 64.9),
            (18.0, 995.9),
            (36.0, 1652.4),
            (72.0, 1853.2),
            (108.0, 1828.9),
            (144.0, 1775.0),
            (216.0, 1702.2),
        ];
        let found = fit(&points(&measured)).unwrap();
        assert!((found.law.gamma - 89.995).abs() < 0.05, "{found:?}");
        assert!((found.law.alpha - 0.027_729_5).abs() < 2e-5, "{found:?}");
        assert!((found.law.beta - 0.000_104_4).abs() < 1e-6, "{found:?}");
        assert!(found.law.peak().is_some_and(|peak| (peak - 96.5).abs() < 0.5));
        // Seven single runs leave room for a β of zero, so the peak is not reported as one.
        assert!(found.intervals.is_some_and(|[.., (low, _)]| low == 0.0), "{found:?}");
        assert_eq!(found.peak, Peak::Unseen);
    }

    #[test]
    fn throughput_that_grows_evenly_has_neither_contention_nor_peak() {
        let law = Usl { gamma: 10.0, alpha: 0.0, beta: 0.0 };
        let found = fit(&constructed(law, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])).unwrap();
        assert!(found.law.alpha < 1e-6 && found.law.beta < 1e-6, "{found:?}");
        assert_eq!(found.peak, Peak::Unseen);
    }

    #[test]
    fn a_law_that_explains_little_has_no_peak() {
        let noise = [(1.0, 50.0), (2.0, 20.0), (4.0, 60.0), (8.0, 10.0), (16.0, 70.0), (32.0, 9.0)];
        let found = fit(&points(&noise)).unwrap();
        assert!(found.explained < EXPLAINED_MIN, "{found:?}");
        assert_eq!(found.peak, Peak::Untold);
    }

    #[test]
    fn a_superlinear_fit_has_no_intervals() {
        let clients: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        let run = |n: f64, share: f64| n.powf(1.2) * 100.0 * share;
        let point = |clients: f64| Point {
            clients,
            runs: [0.99, 1.0, 1.01].map(|share| run(clients, share)).into(),
        };
        let found = fit(&clients.map(point)).unwrap();
        assert!(found.law.alpha == 0.0 && found.intervals.is_none(), "{found:?}");
        assert!(matches!(found.peak, Peak::Unseen | Peak::Untold));
    }

    #[test]
    fn too_few_numbers_of_clients_are_refused() {
        let law = Usl { gamma: 10.0, alpha: 0.1, beta: 0.0 };
        let few = constructed(law, &[1.0, 3.0, 5.0, 7.0]);
        assert_eq!(fit(&few), Err(Refusal::TooFew { found: 4 }));
        assert_eq!(fit(&constructed(law, &[4.0, 4.0])), Err(Refusal::SameClients));
        let mut nothing = constructed(law, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        nothing[2].runs = vec![0.0];
        assert_eq!(fit(&nothing), Err(Refusal::Nothing));
    }

    #[test]
    fn runs_that_differ_give_intervals_around_the_parameters() {
        let law = Usl { gamma: 100.0, alpha: 0.1, beta: 0.001 };
        let mut all = constructed(law, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0]);
        for point in &mut all {
            let x = point.runs[0];
            point.runs = vec![x * 0.98, x, x * 1.02];
        }
        let found = fit(&all).unwrap();
        let [gamma, alpha, beta] = found.intervals.unwrap();
        assert!(gamma.0 < 100.0 && gamma.1 > 100.0 && gamma.1 - gamma.0 < 6.0, "{gamma:?}");
        assert!(alpha.0 < 0.1 && alpha.1 > 0.1, "{alpha:?}");
        assert!(beta.0 < 0.001 && beta.1 > 0.001, "{beta:?}");
    }

    /// How throughput of one run moves away from the law.
    #[derive(Clone, Copy, Debug)]
    enum Noise {
        /// By a share of itself.
        Relative(f64),
        /// By operations per second, whatever it is.
        Absolute(f64),
    }

    /// Fits of the law to simulated runs, each with a seed of its own.
    fn simulated(law: Usl, noise: Noise, runs: usize) -> impl Iterator<Item = UslFit> {
        let clients = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];
        (0..SIMULATIONS).map(move |number| {
            let mut draws = assay_model::Seed(7).draws(0, number);
            let mut run = |clients: f64| {
                // By Box with Muller; one minus what may be zero.
                let radius = (-2.0 * (1.0 - draws.unit()).ln()).sqrt();
                let normal = radius * (std::f64::consts::TAU * draws.unit()).cos();
                let exact = law.throughput(clients);
                match noise {
                    Noise::Relative(share) => exact * (1.0 + share * normal),
                    Noise::Absolute(size) => exact + size * normal,
                }
            };
            let point =
                |clients: f64| Point { clients, runs: (0..runs).map(|_| run(clients)).collect() };
            fit(&clients.map(point)).expect("there are points enough")
        })
    }

    const SIMULATIONS: u64 = 400;

    /// The share of simulations whose intervals hold the true γ, α, β.
    fn coverage(law: Usl, noise: Noise, runs: usize) -> [f64; 3] {
        let mut held = [0_u32; 3];
        let reported: Vec<[(f64, f64); 3]> =
            simulated(law, noise, runs).filter_map(|fit| fit.intervals).collect();
        // A few of them speak against the law by chance.
        assert!(reported.len() as f64 >= 0.97 * SIMULATIONS as f64, "{law:?}: {}", reported.len());
        for intervals in &reported {
            for (place, truth) in [law.gamma, law.alpha, law.beta].into_iter().enumerate() {
                let (low, high) = intervals[place];
                held[place] += u32::from(low <= truth && truth <= high);
            }
        }
        held.map(|held| f64::from(held) / reported.len() as f64)
    }

    #[test]
    fn intervals_hold_the_truth_as_often_as_they_say() {
        let bent = Usl { gamma: 1_000.0, alpha: 0.05, beta: 0.002 };
        let flat = Usl { gamma: 1_000.0, alpha: 0.2, beta: 0.0 };
        for law in [bent, flat] {
            for noise in [Noise::Relative(0.03), Noise::Absolute(100.0)] {
                for runs in 1..=3 {
                    let shares = coverage(law, noise, runs);
                    let is_right = |share: &f64| (0.90..=0.998).contains(share);
                    assert!(shares.iter().all(is_right), "{law:?} {noise:?} {runs}: {shares:?}");
                }
            }
        }
    }

    #[test]
    fn a_peak_is_reported_only_if_throughput_certainly_falls() {
        let flat = Usl { gamma: 1_000.0, alpha: 0.2, beta: 0.0 };
        let noise = Noise::Relative(0.03);
        let is_simulated = |fit: &UslFit| fit.peak != Peak::Unseen;
        let wrong = simulated(flat, noise, 3).filter(is_simulated).count() as f64;
        // A β without effect lies below its interval in one of 40.
        assert!(wrong / SIMULATIONS as f64 <= 0.05, "{wrong}");
        let bent = Usl { gamma: 1_000.0, alpha: 0.05, beta: 0.002 };
        let is_measured = |fit: &UslFit| matches!(fit.peak, Peak::Measured(_));
        assert_eq!(simulated(bent, noise, 3).filter(is_measured).count(), SIMULATIONS as usize);
        let nearly = Point { clients: 64.0, runs: vec![3_000.0, 5_000.0] };
        let rising = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(|clients| Point {
            clients,
            runs: vec![flat.throughput(clients) * 0.97, flat.throughput(clients) * 1.03],
        });
        let found = fit(&[&rising[..], &[nearly]].concat()).unwrap();
        assert!(found.law.beta > 0.0 && found.intervals.unwrap()[2].0 == 0.0, "{found:?}");
        assert_eq!(found.peak, Peak::Unseen);
    }
}
