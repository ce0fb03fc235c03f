//! Rates, arrival processes and lengths of time as people write them.

use std::time::Duration;

use assay_model::{Nanos, closest, quantity};

use super::{ArrivalProcess, Mmpp2, ProfileForm, RateProfile, Sine, Spike, Stage};

/// A text means no rate, arrival process or length of time.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct TextError {
    message: String,
    source: Option<humantime::DurationError>,
}

/// The error with this message.
macro_rules! wrong {
    ($($text:tt)*) => { TextError { message: format!($($text)*), source: None } };
}

/// Returns with the error that has this message.
macro_rules! bail {
    ($($text:tt)*) => { return Err(wrong!($($text)*)) };
}

/// A length of time such as `250us`, `30s`, `2h30m`. A bare number is not one.
///
/// # Errors
/// If the text is none; says what a right one looks like.
pub fn duration(text: &str) -> Result<Nanos, TextError> {
    let parsed: Duration = humantime::parse_duration(text.trim()).map_err(|source| TextError {
        message: format!("{text:?} is no length of time; write 250us, 30s or 2h30m"),
        source: Some(source),
    })?;
    Ok(Nanos::from(parsed))
}

/// Operations per second, above zero: `20k/s`, `1M`, `1250/s`, `0.5/s`.
///
/// # Errors
/// If the text is none; says what a right one looks like.
pub fn rate(text: &str) -> Result<f64, TextError> {
    let Some(rate) = quantity::rate(text) else {
        bail!("{text:?} is no rate; write 20k/s, 1M/s or 0.5/s");
    };
    if rate <= 0.0 {
        bail!("a rate of {text}: the rate must be above 0; give one, for example 20k/s");
    }
    // One arrival per nanosecond is the finest that the time axis can tell apart.
    if rate > 1e9 {
        bail!("a rate of {text} is beyond one operation per nanosecond; give at most 1000M/s");
    }
    Ok(rate)
}

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
pub fn rate_profile(text: &str) -> Result<RateProfile, TextError> {
    let text = text.trim();
    match text.split_once(':') {
        Some(("spike", rest)) => spike(rest).map(ProfileForm::Spike),
        Some(("sine", rest)) => sine(rest).map(ProfileForm::Sine),
        Some((word, _)) => {
            let hint = match closest(word, ["spike", "sine"]) {
                Some("spike") => format!("did you mean {SPIKE}?"),
                Some(_) => format!("did you mean {SINE}?"),
                None => format!("write {SPIKE} or {SINE}"),
            };
            Err(wrong!("there is no shape {word:?}; {hint}"))
        }
        None if text.contains('@') => stages(text).map(ProfileForm::Stages),
        None => rate(text).map(ProfileForm::Constant).map_err(|error| match text {
            "spike" => wrong!("a spike needs its numbers: {SPIKE}"),
            "sine" => wrong!("a sine needs its numbers: {SINE}"),
            _ if text.contains("..") => wrong!("a ramp needs its time: 2m@{text}"),
            _ => error,
        }),
    }
    .map(RateProfile::new)
}

fn stages(text: &str) -> Result<Vec<Stage>, TextError> {
    let stages: Vec<Stage> = text.split(',').map(stage).collect::<Result<_, _>>()?;
    if stages.len() > STAGES_MAX {
        bail!("{} stages are more than the {STAGES_MAX} that are possible", stages.len());
    }
    if stages.iter().all(|stage| stage.from == 0.0 && stage.to == 0.0) {
        bail!("stages at 0: the rate must be above 0; give one of them a rate, as in {STAGES}");
    }
    Ok(stages)
}

fn stage(text: &str) -> Result<Stage, TextError> {
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

fn spike(text: &str) -> Result<Spike, TextError> {
    let (rates, [at, length]) = named(text, "spike", ["at", "for"], SPIKE)?;
    let Some((usual, peak)) = rates.split_once("..") else {
        bail!("{rates:?} does not say from which rate to which; write {SPIKE}");
    };
    let (usual, peak) = (level(usual)?, level(peak)?);
    if usual == 0.0 && peak == 0.0 {
        bail!("a spike from 0 to 0: the rate must be above 0; write {SPIKE}");
    }
    Ok(Spike { usual, peak, at: duration(at)?, length: lasting(length, "a spike")? })
}

fn sine(text: &str) -> Result<Sine, TextError> {
    let (mean, [amplitude, period]) = named(text, "sine", ["amplitude", "period"], SINE)?;
    let (mean, amplitude) = (rate(mean)?, level(amplitude)?);
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
) -> Result<(&'a str, [&'a str; N]), TextError> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let mut values = [None; N];
    for part in parts {
        let (name, value) =
            part.split_once('=').ok_or_else(|| wrong!("{part:?} has no name; write {example}"))?;
        let place = names
            .iter()
            .position(|known| *known == name.trim())
            .ok_or_else(|| wrong!("a {what} has no {name:?}; write {example}"))?;
        if values[place].replace(value).is_some() {
            bail!("{name} is there twice; write {example}");
        }
    }
    let mut found = [""; N];
    for (place, value) in values.into_iter().enumerate() {
        let name = names[place];
        found[place] = value.ok_or_else(|| wrong!("{name}= is missing; write {example}"))?;
    }
    Ok((first, found))
}

/// A rate that may be 0.
fn level(text: &str) -> Result<f64, TextError> {
    match text.trim().strip_suffix("/s").unwrap_or(text.trim()) {
        "0" | "0.0" => Ok(0.0),
        "" => bail!("a rate is missing; write 1k for a level, 1k..20k for a ramp"),
        _ => rate(text),
    }
}

fn lasting(text: &str, what: &str) -> Result<Nanos, TextError> {
    let length = duration(text)?;
    if length == Nanos::ZERO {
        bail!("{what} lasts longer than {text}");
    }
    Ok(length)
}

/// An arrival process; none if it is the schedule that a trace or a workload brings.
///
/// # Errors
/// If the text is none; says what a right one looks like.
pub fn arrival_process(text: &str) -> Result<Option<ArrivalProcess>, TextError> {
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
        "poisson" => Ok(Some(ArrivalProcess::Poisson)),
        "constant" => Ok(Some(ArrivalProcess::Constant)),
        "jitter" => match quantity::share(numbers) {
            Some(share) if (0.0..=1.0).contains(&share) => Ok(Some(ArrivalProcess::Jitter(share))),
            _ => bail!("{numbers:?} is no share of a gap from 0 to 1; write {example}"),
        },
        "mmpp2" => mmpp2(numbers, example).map(Some),
        "gamma" => cv(numbers, example).map(|cv| Some(ArrivalProcess::Gamma(cv))),
        "lognormal" => cv(numbers, example).map(|cv| Some(ArrivalProcess::Lognormal(cv))),
        _ => Ok(None),
    }
}

fn cv(text: &str, example: &str) -> Result<f64, TextError> {
    match quantity::share(text) {
        Some(cv) if cv > 0.0 && cv <= CV_MAX => Ok(cv),
        _ => bail!(
            "{text:?} is no coefficient of variation above 0, at most {CV_MAX}; write {example}"
        ),
    }
}

fn mmpp2(text: &str, example: &str) -> Result<ArrivalProcess, TextError> {
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
        let time = duration(text)?;
        if time < SOJOURN_MIN {
            bail!("bursts or calms of {time} are too short; give at least {SOJOURN_MIN}");
        }
        Ok(time)
    };
    Ok(ArrivalProcess::Mmpp2(Mmpp2 { ratio, burst: sojourn(burst)?, calm: sojourn(calm)? }))
}
