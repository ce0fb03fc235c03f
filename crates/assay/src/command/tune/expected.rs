//! Options of a tune, from its settings.

use anyhow::Result;
use assay_analysis::slo::{Comparison, Measure, Objective, Scope, Term};
use assay_analysis::sweep::Sweep;
use assay_analysis::tune::Plan;
use assay_model::Nanos;

use crate::exit::usage;
use crate::options::Options;
use crate::slo;

/// Failures that are forgiven if the objective does not bound them.
const ERRORS: f64 = 0.01;

/// The share of a step that is its warm-up, by default.
const WARM_UP: u64 = 10;

/// More confirmations than this only take time.
const CONFIRMATIONS_MAX: u64 = 100;

/// How near the rate found may be to one that fails.
const WITHIN: std::ops::RangeInclusive<f64> = 0.001..=0.5;

/// What a tune is to do.
#[derive(Clone, Debug)]
pub struct TuneOptions {
    /// What must hold.
    pub objective: Option<Objective>,
    /// What is sought.
    pub sought: TuneGoal,
    /// How long a step is measured.
    pub step: Nanos,
    /// The warm-up.
    pub warm_up: Nanos,
    /// Whether it goes on with the steps that are there.
    pub resumes: bool,
    /// Whether a step without a hallmark does not hold.
    pub requires_hallmark: bool,
}

/// What is sought.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TuneGoal {
    /// The highest rate.
    Rate(Plan),
    /// The whole curve.
    Curve(Sweep),
}

impl TuneOptions {
    /// Reads the settings.
    ///
    /// # Errors
    /// If one is invalid, or two contradict each other.
    pub fn from(options: &Options) -> Result<TuneOptions> {
        refuse_other_loads(options)?;
        let sought = sought(options)?;
        let objective = options.text("slo").map(|text| objective(options, text)).transpose()?;
        if objective.is_none() && matches!(sought, TuneGoal::Rate(_)) {
            return Err(usage("what must hold? give --slo, for example --slo 'p99<5ms'"));
        }
        let step = options.duration("step")?.unwrap_or(Nanos::from_secs(10));
        if step == Nanos::ZERO {
            return Err(options.wrong("step", "nothing would be issued; give more than 0s"));
        }
        let resumes = options.resumes()?;
        if resumes && options.run_dir().is_none() {
            let reason = "which tune goes on? name its directory with --run-dir";
            return Err(options.wrong("resume", reason));
        }
        let warm_up = match options.given("warm-up") {
            Some(_) => options.duration("warm-up")?.unwrap_or(Nanos::ZERO),
            None => Nanos(step.0 / WARM_UP),
        };
        Ok(TuneOptions {
            objective,
            sought,
            step,
            warm_up,
            resumes,
            requires_hallmark: options.switch("require-hallmark")?,
        })
    }
}

/// A tune chooses rate and duration, and always runs in open loop.
fn refuse_other_loads(options: &Options) -> Result<()> {
    const CLOSED: &str = "a tune issues in open loop: sessions that wait for the store have no \
                          rate \
                          that could be sought";
    for (name, reason) in [
        ("closed", CLOSED),
        ("think", CLOSED),
        ("target-throughput", CLOSED),
        ("rate", "the rate is what a tune seeks; bound it with --min or --max"),
        ("duration", "--step says how long a step of a tune is"),
        ("repeat", "--confirm says how often the rate that is found is run again"),
        ("operations", "--step says how long a step of a tune is"),
    ] {
        if options.given(name).is_some() {
            return Err(options.wrong(name, reason));
        }
    }
    Ok(())
}

fn sought(options: &Options) -> Result<TuneGoal> {
    if let Some(text) = options.text("sweep") {
        for name in ["min", "max", "within", "confirm"] {
            if options.given(name).is_some() {
                return Err(options.wrong(name, "--sweep names its own rates and searches nothing"));
            }
        }
        let sweep = slo::sweep(text).map_err(|error| options.wrong("sweep", &error.to_string()))?;
        return Ok(TuneGoal::Curve(sweep));
    }
    let usual = Plan::default();
    let min = options.rate("min")?.unwrap_or(usual.min);
    let max = options.rate("max")?;
    if let Some(max) = max.filter(|max| *max < min) {
        let reason = format!("{max}/s is below --min, which is {min}/s: rates rise");
        return Err(options.wrong("max", &reason));
    }
    let confirmations = match options.count("confirm")? {
        Some(many) if many > CONFIRMATIONS_MAX => {
            return Err(options.wrong("confirm", &format!("give at most {CONFIRMATIONS_MAX}")));
        }
        many => many.map_or(usual.confirmations, |many| many as u32),
    };
    let within = within(options)?.unwrap_or(usual.within);
    Ok(TuneGoal::Rate(Plan { min, max, within, confirmations, ..usual }))
}

fn within(options: &Options) -> Result<Option<f64>> {
    let Some(text) = options.text("within") else { return Ok(None) };
    let share = text.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    match share.map(|percent| percent / 100.0) {
        Some(share) if WITHIN.contains(&share) => Ok(Some(share)),
        _ => Err(options.wrong("within", "give a percentage from 0.1% to 50%, such as 2%")),
    }
}

/// The objective; failures are bounded in any case, for a store that refuses is not quick.
fn objective(options: &Options, text: &str) -> Result<Objective> {
    let mut objective =
        slo::objective(text).map_err(|error| options.wrong("slo", &error.to_string()))?;
    if !objective.bounds_errors() {
        let measure = Measure::Errors { limit: ERRORS };
        objective.terms.push(Term { scope: Scope::All, measure, comparison: Comparison::Below });
    }
    Ok(objective)
}
