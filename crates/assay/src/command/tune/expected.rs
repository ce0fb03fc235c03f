//! Options of a tune, from its settings.

use anyhow::Result;
use assay_analysis::slo::{Comparison, Measure, Objective, ObjectiveTerm, Scope};
use assay_analysis::sweep::Sweep;
use assay_analysis::tune::Plan;
use assay_model::Nanos;
use assay_store::StoreTime;

use crate::exit::usage;
use crate::options::{Options, SettingText};

/// Failures that are forgiven if the objective does not bound them.
const ERRORS: f64 = 0.01;

/// The share of a step that is its warm-up, by default.
const WARM_UP: u64 = 10;

/// The highest rate that is tried in simulated time, where no client becomes too slow: a simulated
/// store serves any rate unless it has a `max`, and a climb would have no end.
const SIMULATED_MAX: f64 = 1e6;

/// More confirmations than this only take time.
const CONFIRMATIONS_MAX: u64 = 100;

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
    pub fn from(options: &Options) -> Result<TuneOptions> {
        refuse_other_loads(options)?;
        let sought = sought(options)?;
        let objective = options.slo.value().cloned().map(bounding_errors);
        if objective.is_none() && matches!(sought, TuneGoal::Rate(_)) {
            return Err(usage("what must hold? give --slo, for example --slo 'p99<5ms'"));
        }
        let step = options.step.get().unwrap_or(Nanos::from_secs(10));
        if step == Nanos::ZERO {
            return Err(options.step.wrong("nothing would be issued; give more than 0s"));
        }
        let resumes = options.resume.is_on();
        if resumes && options.run_dir().is_none() {
            let reason = "which tune goes on? name its directory with --run-dir";
            return Err(options.resume.wrong(reason));
        }
        let warm_up = options.warm_up.given().copied().unwrap_or(Nanos(step.0 / WARM_UP));
        Ok(TuneOptions {
            objective,
            sought,
            step,
            warm_up,
            resumes,
            requires_hallmark: options.require_hallmark.is_on(),
        })
    }
}

impl TuneGoal {
    /// The same for a store of this time, by which a search always comes to an end.
    pub fn bounded(self, time: StoreTime) -> TuneGoal {
        match self {
            TuneGoal::Rate(plan) if time == StoreTime::Simulated => {
                let max = plan.max.unwrap_or(SIMULATED_MAX.max(plan.min));
                TuneGoal::Rate(Plan { max: Some(max), ..plan })
            }
            other => other,
        }
    }
}

/// A tune chooses rate and duration, and always runs in open loop.
fn refuse_other_loads(options: &Options) -> Result<()> {
    const CLOSED: &str = "a tune issues in open loop: sessions that wait for the store have no \
                          rate \
                          that could be sought";
    const STEP: &str = "--step says how long a step of a tune is";
    let others: [(&SettingText, &str); 7] = [
        (&options.closed, CLOSED),
        (&options.think, CLOSED),
        (&options.target_throughput, CLOSED),
        (&options.rate, "the rate is what a tune seeks; bound it with --min or --max"),
        (&options.duration, STEP),
        (&options.repeat, "--confirm says how often the rate that is found is run again"),
        (&options.operations, STEP),
    ];
    match others.into_iter().find(|(setting, _)| setting.is_given()) {
        Some((setting, reason)) => Err(setting.wrong(reason)),
        None => Ok(()),
    }
}

fn sought(options: &Options) -> Result<TuneGoal> {
    if let Some(sweep) = options.sweep.get() {
        let of_search: [&SettingText; 4] =
            [&options.min, &options.max, &options.within, &options.confirm];
        return match of_search.into_iter().find(|setting| setting.is_given()) {
            Some(setting) => Err(setting.wrong("--sweep names its own rates and searches nothing")),
            None => Ok(TuneGoal::Curve(sweep)),
        };
    }
    let usual = Plan::default();
    let min = options.min.get().map_or(usual.min, |min| min.0);
    let max = options.max.get().map(|max| max.0);
    if let Some(max) = max.filter(|max| *max < min) {
        let reason = format!("{max}/s is below --min, which is {min}/s: rates rise");
        return Err(options.max.wrong(reason));
    }
    let confirmations = match options.confirm.get() {
        Some(many) if many > CONFIRMATIONS_MAX => {
            return Err(options.confirm.wrong(format!("give at most {CONFIRMATIONS_MAX}")));
        }
        many => many.map_or(usual.confirmations, |many| many as u32),
    };
    let within = options.within.get().map_or(usual.within, |within| within.0);
    Ok(TuneGoal::Rate(Plan { min, max, within, confirmations, ..usual }))
}

/// The objective; failures are bounded in any case, for a store that refuses is not quick.
fn bounding_errors(mut objective: Objective) -> Objective {
    if !objective.bounds_errors() {
        let measure = Measure::Errors { limit: ERRORS };
        objective.terms.push(ObjectiveTerm {
            scope: Scope::All,
            measure,
            comparison: Comparison::Below,
        });
    }
    objective
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_simulated_time_a_climb_has_an_end() {
        let max = |min, max, time| match TuneGoal::Rate(Plan { min, max, ..Plan::default() })
            .bounded(time)
        {
            TuneGoal::Rate(plan) => plan.max,
            TuneGoal::Curve(_) => panic!("it was a search"),
        };
        assert_eq!(max(100.0, None, StoreTime::Simulated), Some(1e6));
        assert_eq!(max(2e6, None, StoreTime::Simulated), Some(2e6));
        assert_eq!(max(100.0, Some(3e6), StoreTime::Simulated), Some(3e6));
        assert_eq!(max(100.0, None, StoreTime::Wall), None);
    }
}
