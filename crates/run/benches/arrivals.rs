//! Cost of one arrival of a schedule, on one core.
//!
//! Prints `bench <name> <size> <value> <unit>`; the size is the number of workers, of which one is
//! measured: it walks along the arrivals of the others too. No operation is issued or waited for.

use std::hint::black_box;
use std::time::Instant;

use assay_model::{Nanos, Seed};
use assay_run::{ArrivalProcess, Arrivals, Mmpp2, ProfileForm, RateProfile, Schedule, Sine, Stage};

const WORKERS: [usize; 3] = [1, 2, 7];
const ARRIVALS: u64 = 1_000_000;
const REPETITIONS: usize = 7;
const RATE: f64 = 1e6;

fn main() {
    let chain = Mmpp2 { ratio: 10.0, burst: Nanos::from_millis(10), calm: Nanos::from_millis(90) };
    let processes = [
        ArrivalProcess::Constant,
        ArrivalProcess::Poisson,
        ArrivalProcess::Jitter(0.5),
        ArrivalProcess::Mmpp2(chain),
        ArrivalProcess::Gamma(2.0),
        ArrivalProcess::Gamma(0.5),
        ArrivalProcess::Lognormal(2.0),
    ];
    for process in processes {
        let name = process.to_string().replace([':', ','], "-");
        report(&name, &Arrivals::constant_rate(RATE, process));
    }
    let ramp = Stage { length: Nanos::from_secs(3600), from: 0.0, to: 2.0 * RATE };
    let sine = Sine { mean: RATE, amplitude: RATE, period: Nanos::from_secs(60) };
    for (name, form) in
        [("ramp", ProfileForm::Stages(vec![ramp])), ("sine", ProfileForm::Sine(sine))]
    {
        let process = ArrivalProcess::Constant;
        report(
            &format!("constant-{name}"),
            &Arrivals { rate_profile: RateProfile::new(form), process },
        );
    }
}

/// Prints the median time that a worker needs for one of its arrivals.
fn report(name: &str, arrivals: &Arrivals) {
    for workers in WORKERS {
        let mut costs: Vec<f64> = (0..REPETITIONS).map(|_| cost(arrivals, workers)).collect();
        costs.sort_by(f64::total_cmp);
        println!("bench arrivals-{name} {workers} {:.1} ns", costs[REPETITIONS / 2]);
    }
}

fn cost(arrivals: &Arrivals, workers: usize) -> f64 {
    let mut schedule = Schedule::new(arrivals, Seed(1), 0, workers);
    let own = ARRIVALS / workers as u64;
    let started = Instant::now();
    for _ in 0..own {
        black_box(schedule.time());
        schedule.advance();
    }
    started.elapsed().as_nanos() as f64 / own as f64
}
