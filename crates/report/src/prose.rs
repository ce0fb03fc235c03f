//! Facts of a run as short sentences, the same in every format that people read.

use assay_analysis::{LoadModel, Plausibility, Summary, Verdict};
use assay_model::Phase;

use crate::facts::{Facts, RuleFinding, State, WorkloadFigure};
use crate::units::{Letters, count, duration, moment, percent, plural};
use crate::verdict::{Tried, Unit, model_meaning, model_name};

/// What must be known of transactions where the store has none.
const BEST_EFFORT: &str = "transactions are best effort: the store has none, so what one had \
                           written stays when it fails (counted as unknown) or is rolled back";

/// What was run against what, as pairs of a title and a text.
pub fn circumstances(
    facts: &Facts,
    summary: &Summary,
    letters: Letters,
) -> Vec<(&'static str, String)> {
    let workers = plural(facts.workers, "worker");
    // In an open system every process is a session: their number says nothing more.
    let sessions = match summary.load {
        LoadModel::Open { .. } => workers,
        LoadModel::Closed { sessions, .. } => format!("{}, {workers}", plural(sessions, "session")),
    };
    let load = match facts.load.as_str() {
        "" => sessions,
        text => format!("{text}; {sessions}"),
    };
    let mut texts = vec![("store", format!("{}  {}", facts.store.name, facts.store.url))];
    if facts.store.is_best_effort {
        texts.push(("atomicity", BEST_EFFORT.to_owned()));
    }
    texts.extend([
        ("model", format!("{}: {}", model_name(summary.load), model_meaning(summary.load))),
        ("load", load),
        ("plan", format!("{}, seed {}{}", facts.spec, facts.seed, trace_hashes(facts))),
        ("measured", measured(facts, summary, letters)),
        ("machine", format!("{}; assay {}", facts.machine, facts.version)),
    ]);
    texts
}

fn trace_hashes(facts: &Facts) -> String {
    match (&facts.trace_hash_planned, &facts.trace_hash_executed) {
        (Some(planned), Some(executed)) if planned == executed => {
            format!(", trace {planned}, executed as planned")
        }
        (Some(planned), Some(executed)) => {
            format!(", trace planned {planned}, executed {executed}")
        }
        (Some(planned), None) => format!(", trace {planned}"),
        (None, Some(executed)) => format!(", trace executed {executed}"),
        (None, None) => String::new(),
    }
}

fn measured(facts: &Facts, summary: &Summary, letters: Letters) -> String {
    let mut text = duration(summary.duration, letters);
    let warm_up = facts.phases.iter().find(|span| span.phase == Phase::WarmUp);
    if let Some(span) = warm_up {
        text += &format!(" after {} of warm-up", duration(span.ended.since(span.began), letters));
    }
    // Final reads come after the run, and are said where they are judged.
    let of_run = summary.excluded.iter().filter(|(phase, _)| *phase != Phase::Final);
    let excluded: u64 = of_run.map(|(_, count)| count).sum();
    if excluded > 0 {
        text += &format!(" ({} operations left out)", count(excluded));
    }
    if !matches!(facts.state, State::Finished) {
        text += &format!(", {}", facts.state.name());
    }
    format!("{text}, started {}", facts.started)
}

/// Concurrency by Little's law beside what was counted.
pub fn concurrency(summary: &Summary) -> String {
    let claim = &summary.in_flight.by_service;
    let agreement = if summary.in_flight.agrees { "they agree" } else { "they do not agree" };
    format!(
        "{} operations by Little's law, {} counted ({agreement}){}",
        small(claim.little_l),
        small(summary.in_flight.mean_integrated),
        plausible(claim)
    )
}

fn plausible(claim: &Plausibility) -> String {
    let possible = small(claim.limit.unwrap_or(0.0));
    match claim.verdict {
        Verdict::Held => format!("; plausible, {possible} are possible"),
        Verdict::Violated => format!("; IMPLAUSIBLE, only {possible} are possible"),
        Verdict::Unknown => String::new(),
    }
}

/// A mean number of operations: two decimals below ten.
fn small(number: f64) -> String {
    if number < 10.0 && number.fract() != 0.0 {
        return format!("{number:.2}");
    }
    count(number.round() as u64)
}

/// Success ratios, outages and silences: lines with their titles.
pub fn availability(summary: &Summary, letters: Letters) -> [(&'static str, String); 3] {
    [
        ("available", answered(summary, letters)),
        ("outages", outages(summary, letters)),
        ("silence", silences(summary, letters)),
    ]
}

/// The promises of the store of which its answers broke none; violated ones stand at the top.
pub fn consistency(facts: &Facts) -> Option<String> {
    let result = facts.consistency.as_ref()?;
    let silent = crate::consistency::silent(result)?;
    Some(format!("no violation found of {silent}: `assay check` says how rare one must be"))
}

/// The success ratio, and that within the deadline.
fn answered(summary: &Summary, letters: Letters) -> String {
    let availability = &summary.availability;
    let tried = Tried::of(summary);
    let success = match tried.unit {
        Unit::Operations => String::new(),
        Unit::Transactions => {
            format!("{} of the transactions succeeded, ", percent(1.0 - tried.failed_share()))
        }
    };
    let late = match availability.late {
        0 => String::new(),
        late => format!(", {} later", count(late)),
    };
    format!(
        "{success}{} of the operations answered, {} within {} (--deadline){late}",
        percent(availability.success_ratio),
        percent(availability.in_time_ratio),
        duration(availability.deadline, letters)
    )
}

/// The outages: no response came in time.
fn outages(summary: &Summary, letters: Letters) -> String {
    let availability = &summary.availability;
    let deadline = duration(availability.deadline, letters);
    let Some(longest) = availability.longest else {
        let least = duration(availability.threshold, letters);
        return format!(
            "none: no {least} without an operation that was answered within {deadline}"
        );
    };
    let sum = match availability.outages.len() as u64 {
        1 => String::new(),
        more => format!("{more}, {} in sum; ", duration(availability.down, letters)),
    };
    format!(
        "{sum}{}{} from {} to {}: of what came then, nothing was answered within {deadline}",
        duration(longest.length(), letters),
        if longest.is_cut_off { " or longer" } else { "" },
        moment(longest.from),
        moment(longest.until),
    )
}

/// The silences: no response came at all although an operation waited for one.
fn silences(summary: &Summary, letters: Letters) -> String {
    let availability = &summary.availability;
    let chance = duration(availability.silence_threshold, letters);
    let longest = availability.silences.iter().max_by_key(|silence| silence.length());
    let Some(longest) = longest else {
        return format!("none longer than {chance}, which may be chance");
    };
    let number = match availability.silences.len() as u64 {
        1 => String::new(),
        more => format!(", the longest of {more} beyond chance ({chance})"),
    };
    format!(
        "{}{} from {} to {} without any response while operations waited{number}",
        duration(longest.length(), letters),
        if longest.is_cut_off { " or longer" } else { "" },
        moment(longest.from),
        moment(longest.until),
    )
}

/// The figures of the workload's own definition, and its rules about the store's rows.
pub fn workload(facts: &Facts) -> Vec<String> {
    let figure =
        |figure: &WorkloadFigure| format!("{} {:.1} ({})", figure.name, figure.value, figure.note);
    let finding =
        |finding: &RuleFinding| format!("{}, {}: {}", finding.name, finding.rule, finding.text);
    let figures = facts.figures.iter().map(figure);
    figures.chain(facts.findings.iter().map(finding)).collect()
}

/// What checking returned values found, if any was checked.
pub fn value_checks(summary: &Summary) -> Option<String> {
    let values = &summary.values;
    if values.right + values.wrong + values.empty == 0 {
        return None;
    }
    Some(format!(
        "{} right, {} wrong, {} empty",
        count(values.right),
        count(values.wrong),
        count(values.empty)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn best_effort_transactions_are_reported_once() {
        let mut facts = sample::facts();
        let said = |facts: &Facts| {
            let all = circumstances(facts, &sample::summary(), Letters::Ascii);
            all.into_iter().filter(|(_, text)| text.contains("best effort")).count()
        };
        assert_eq!(said(&facts), 0);
        facts.store.is_best_effort = true;
        assert_eq!(said(&facts), 1);
    }
}
