//! Arrival processes and their schedules; [`assay_run::text`] has their texts.

use anyhow::{Context, Result, bail};
use assay_model::{Nanos, SourceError};
use assay_run::text;
use assay_run::{ArrivalProcess, RateProfile, ScheduleTimes, Timetable};
use assay_trace::{Schedules, Trace};
use assay_workload::script;

use crate::exit::as_usage;

/// A rate as it runs over time: `20k/s`, stages, a spike or a sine.
pub fn rate_profile(text: &str) -> Result<RateProfile> {
    Ok(text::rate_profile(text)?)
}

/// Who may bring a schedule of its own.
#[derive(Clone, Copy, Default)]
pub enum Calendar<'a> {
    /// Nobody.
    #[default]
    None,
    /// A trace, if one is recorded into it.
    Trace(&'a Trace),
    /// A workload of queries, with how long it warms the store up at the beginning.
    Script(&'a script::Schedule, Nanos),
}

impl Calendar<'_> {
    /// Whether there is a schedule.
    pub fn has_schedule(self) -> bool {
        match self {
            Calendar::None => false,
            Calendar::Trace(trace) => trace.schedules() == Schedules::Recorded,
            Calendar::Script(..) => true,
        }
    }

    /// How long the schedule warms the store up before it measures.
    pub fn warm_up(self) -> Nanos {
        match self {
            Calendar::None | Calendar::Trace(_) => Nanos::ZERO,
            Calendar::Script(_, warm_up) => warm_up,
        }
    }

    /// The schedule as the executor reads it.
    fn timetable(self) -> Result<Timetable> {
        match self {
            Calendar::None => bail!("SPEC is no trace, so it has no schedule of its own"),
            Calendar::Trace(trace) => timetable(trace),
            Calendar::Script(schedule, _) => {
                let schedule = schedule.clone();
                let rate = schedule.rate();
                Ok(Timetable::new(rate, move || Box::new(Planned(schedule.clone()))))
            }
        }
    }
}

/// An arrival process; `calendar` says whose recorded schedule may be used.
pub fn process(text: &str, calendar: Calendar<'_>) -> Result<ArrivalProcess> {
    match text::arrival_process(text)? {
        Some(process) => Ok(process),
        None => calendar.timetable().map(ArrivalProcess::Recorded),
    }
}

/// The schedule that is recorded into `trace`.
fn timetable(trace: &Trace) -> Result<Timetable> {
    let absent = "the trace has no schedule; `assay trace gen --rate` writes one into a trace";
    let mut schedule = trace.schedule().map_err(as_usage)?.context(absent)?;
    let last = trace.end().saturating_sub(1);
    if last == 0 {
        bail!("a trace of one process has no gap between arrivals, so its schedule has no rate");
    }
    let span = schedule.intended(last).map_err(as_usage)?.unwrap_or_default();
    if span == Nanos::ZERO {
        bail!("all arrivals of the trace come at once: its schedule has no rate");
    }
    let rate = last as f64 / span.as_secs_f64();
    let trace = trace.clone();
    Ok(Timetable::new(rate, move || match trace.schedule() {
        Ok(Some(schedule)) => Box::new(Written(schedule)),
        Ok(None) => Box::new(Unreadable("it has no schedule any more".to_owned())),
        Err(error) => Box::new(Unreadable(error.to_string())),
    }))
}

/// The schedule of a trace as the executor reads it.
struct Written(assay_trace::Schedule);

impl ScheduleTimes for Written {
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        self.0.intended(process)
    }
}

/// The schedule of a workload of queries as the executor reads it.
struct Planned(script::Schedule);

impl ScheduleTimes for Planned {
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        Ok(self.0.intended(process))
    }
}

/// A schedule that was there but cannot be opened any more.
struct Unreadable(String);

impl ScheduleTimes for Unreadable {
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        Err(SourceError { process, reason: self.0.clone() })
    }
}

#[cfg(test)]
mod tests;
