//! Arrival processes, rates that run over time, as people write them.

use anyhow::{Context, Result, anyhow, bail};
use assay_model::{Nanos, SourceError};
use assay_model::{closest, quantity};
use assay_run::{ArrivalProcess, Form, Mmpp2, RateProfile, Sine, Spike, Stage, Times, Timetable};
use assay_trace::{Schedules, Trace};
use assay_workload::script;

use crate::exit::as_usage;
use crate::units;

/// The processes with an example of each.
const PROCESSES: [(&str, &str); 7] = [
    ("poisson", "poisson"),
    ("constant", "constant"),
    ("jitter", "jitter:0.5"),
    ("mmpp2", "mmpp2:10,1s,9s"),
    ("gamma", "gamma:2"),
    ("lognormal", "lognormal:2"),
    ("trace", "trace"),
];

const STAGES: &str = "30s@1k,2m@1k..20k,5m@20k";
const SPIKE: &str = "spike:1k..10k,at=30s,for=5s";
const SINE: &str = "sine:5k,amplitude=4k,period=60s";

/// More stages than this are not written by hand.
const STAGES_MAX: usize = 1000;

/// Gaps that vary more than this have no mean that a run could show.
const CV_MAX: f64 = 100.0;

/// A burst with more arrivals than this for one in a calm leaves nothing of the calm.
const RATIO_MAX: f64 = 1e6;

/// Shorter bursts or calms than this are not bursts to any store.
const SOJOURN_MIN: Nanos = Nanos::from_micros(100);

/// A rate as it runs over time: `20k/s`, stages, a spike or a sine.
///
/// # Errors
/// If the text is none; says what a right one looks like.
pub fn rate_profile(text: &str) -> Result<RateProfile> {
    let text = text.trim();
    match text.split_once(':') {
        Some(("spike", rest)) => spike(rest).map(Form::Spike),
        Some(("sine", rest)) => sine(rest).map(Form::Sine),
        Some((word, _)) => {
            let hint = match closest(word, ["spike", "sine"]) {
                Some("spike") => format!("did you mean {SPIKE}?"),
                Some(_) => format!("did you mean {SINE}?"),
                None => format!("write {SPIKE} or {SINE}"),
            };
            Err(anyhow!("there is no shape {word:?}; {hint}"))
        }
        None if text.contains('@') => stages(text).map(Form::Stages),
        None => units::rate(text).map(Form::Constant).map_err(|error| match text {
            "spike" => anyhow!("a spike needs its numbers: {SPIKE}"),
            "sine" => anyhow!("a sine needs its numbers: {SINE}"),
            _ if text.contains("..") => anyhow!("a ramp needs its time: 2m@{text}"),
            _ => error,
        }),
    }
    .map(RateProfile::new)
}

fn stages(text: &str) -> Result<Vec<Stage>> {
    let stages: Vec<Stage> = text.split(',').map(stage).collect::<Result<_>>()?;
    if stages.len() > STAGES_MAX {
        bail!("{} stages are more than the {STAGES_MAX} that are possible", stages.len());
    }
    if stages.iter().all(|stage| stage.from == 0.0 && stage.to == 0.0) {
        bail!("stages at 0: the rate must be above 0; give one of them a rate, as in {STAGES}");
    }
    Ok(stages)
}

fn stage(text: &str) -> Result<Stage> {
    let Some((length, rates)) = text.split_once('@') else {
        bail!(
            "{text:?} is no stage; write 30s@1k for a level or 2m@1k..20k for a ramp, \
             with commas between"
        );
    };
    let length = lasting(length, "a stage")?;
    let (from, to) = rates.split_once("..").unwrap_or((rates, rates));
    Ok(Stage { length, from: level(from)?, to: level(to)? })
}

fn spike(text: &str) -> Result<Spike> {
    let (rates, [at, length]) = named(text, "spike", ["at", "for"], SPIKE)?;
    let Some((usual, peak)) = rates.split_once("..") else {
        bail!("{rates:?} does not say from which rate to which; write {SPIKE}");
    };
    let (usual, peak) = (level(usual)?, level(peak)?);
    if usual == 0.0 && peak == 0.0 {
        bail!("a spike from 0 to 0: the rate must be above 0; write {SPIKE}");
    }
    Ok(Spike { usual, peak, at: units::duration(at)?, length: lasting(length, "a spike")? })
}

fn sine(text: &str) -> Result<Sine> {
    let (mean, [amplitude, period]) = named(text, "sine", ["amplitude", "period"], SINE)?;
    let (mean, amplitude) = (units::rate(mean)?, level(amplitude)?);
    if amplitude > mean {
        bail!("an amplitude of {amplitude} takes a mean of {mean} below 0; give at most {mean}");
    }
    Ok(Sine { mean, amplitude, period: lasting(period, "a period")? })
}

/// What stands before the first comma, with the values of `names` in their order.
fn named<'a, const N: usize>(
    text: &'a str,
    what: &str,
    names: [&str; N],
    example: &str,
) -> Result<(&'a str, [&'a str; N])> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let mut values = [None; N];
    for part in parts {
        let (name, value) = part
            .split_once('=')
            .with_context(|| format!("{part:?} has no name; write {example}"))?;
        let place = names
            .iter()
            .position(|known| *known == name.trim())
            .with_context(|| format!("a {what} has no {name:?}; write {example}"))?;
        if values[place].replace(value).is_some() {
            bail!("{name} is there twice; write {example}");
        }
    }
    let mut found = [""; N];
    for (place, value) in values.into_iter().enumerate() {
        let name = names[place];
        found[place] = value.with_context(|| format!("{name}= is missing; write {example}"))?;
    }
    Ok((first, found))
}

/// A rate that may be 0.
fn level(text: &str) -> Result<f64> {
    match text.trim().strip_suffix("/s").unwrap_or(text.trim()) {
        "0" | "0.0" => Ok(0.0),
        "" => bail!("a rate is missing; write 1k for a level, 1k..20k for a ramp"),
        _ => units::rate(text),
    }
}

fn lasting(text: &str, what: &str) -> Result<Nanos> {
    let length = units::duration(text)?;
    if length == Nanos::ZERO {
        bail!("{what} lasts longer than {text}");
    }
    Ok(length)
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
///
/// # Errors
/// If the text is none, or there is no schedule; says what a right one looks like.
pub fn process(text: &str, calendar: Calendar<'_>) -> Result<ArrivalProcess> {
    let (name, numbers) = match text.trim().split_once(':') {
        Some((name, numbers)) => (name, Some(numbers)),
        None => (text.trim(), None),
    };
    let Some((_, example)) = PROCESSES.iter().find(|(known, _)| *known == name) else {
        let known = PROCESSES.map(|(_, example)| example).join(", ");
        bail!("{text:?} is none of {known}");
    };
    let takes_numbers = example.contains(':');
    let numbers = match numbers {
        Some(_) if !takes_numbers => bail!("{name} takes no number; write {example}"),
        None if takes_numbers => bail!("{name} needs numbers; write {example}"),
        numbers => numbers.unwrap_or_default(),
    };
    match name {
        "poisson" => Ok(ArrivalProcess::Poisson),
        "constant" => Ok(ArrivalProcess::Constant),
        "jitter" => match quantity::share(numbers) {
            Some(share) if (0.0..=1.0).contains(&share) => Ok(ArrivalProcess::Jitter(share)),
            _ => bail!("{numbers:?} is no share of a gap from 0 to 1; write {example}"),
        },
        "mmpp2" => mmpp2(numbers, example),
        "gamma" => cv(numbers, example).map(ArrivalProcess::Gamma),
        "lognormal" => cv(numbers, example).map(ArrivalProcess::Lognormal),
        _ => calendar.timetable().map(ArrivalProcess::Recorded),
    }
}

fn cv(text: &str, example: &str) -> Result<f64> {
    match quantity::share(text) {
        Some(cv) if cv > 0.0 && cv <= CV_MAX => Ok(cv),
        _ => bail!(
            "{text:?} is no coefficient of variation above 0, at most {CV_MAX}; write {example}"
        ),
    }
}

fn mmpp2(text: &str, example: &str) -> Result<ArrivalProcess> {
    let parts: Vec<&str> = text.split(',').collect();
    let [ratio, burst, calm] = parts[..] else {
        bail!("{text:?} is not ratio of rates, length of bursts, length of calms; write {example}");
    };
    let ratio = match quantity::share(ratio) {
        Some(ratio) if (1.0..=RATIO_MAX).contains(&ratio) => ratio,
        _ => bail!(
            "{ratio:?} is no ratio of the rate in a burst to that in a calm, from 1 to 1000000; \
             write {example}"
        ),
    };
    let sojourn = |text: &str| {
        let time = units::duration(text)?;
        if time < SOJOURN_MIN {
            bail!("bursts or calms of {time} are too short; give at least {SOJOURN_MIN}");
        }
        Ok(time)
    };
    Ok(ArrivalProcess::Mmpp2(Mmpp2 { ratio, burst: sojourn(burst)?, calm: sojourn(calm)? }))
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

impl Times for Written {
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        self.0.intended(process)
    }
}

/// The schedule of a workload of queries as the executor reads it.
struct Planned(script::Schedule);

impl Times for Planned {
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        Ok(self.0.intended(process))
    }
}

/// A schedule that was there but cannot be opened any more.
struct Unreadable(String);

impl Times for Unreadable {
    fn intended(&mut self, process: u64) -> Result<Option<Nanos>, SourceError> {
        Err(SourceError { process, reason: self.0.clone() })
    }
}

#[cfg(test)]
mod tests;
