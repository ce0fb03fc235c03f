//! Report of states and of recoveries from injected faults: tables, sentences, JSON.

mod json;

use assay_analysis::recovery::{
    BaselinePart, Consistability, InjectionOutcome, LEAST_GOODPUT, MOST_ERRORS, MOST_LATENCY,
    Pooled, Recovery, ServiceState, Shortfalls, Spread, TimeTo, WhatIf, WhatIfPart,
};
use assay_model::Nanos;

use crate::consistency::ViolationClass;
use crate::document::{Block, DocumentSection, Formats};
use crate::table::{Align, Table};
use crate::units::{Letters, count, duration, moment, percent, plural, rate, three_digits};

pub(crate) use json::RecoveryObject;

/// What is not known, or was not seen.
const NONE: &str = "-";

/// States and recoveries of a run, with what else is told about its availability.
#[derive(Clone, Debug, PartialEq)]
pub struct AvailabilityFacts {
    /// The states and the recoveries.
    pub recovery: Recovery,
    /// What they mean under rates of faults that the user gave.
    pub what_if: Option<WhatIf>,
    /// How much of the time there were violations, by state, with what the classes are called; if
    /// that was judged.
    pub consistability: Option<(Vec<ViolationClass>, Consistability)>,
}

impl AvailabilityFacts {
    /// Whether there is more to tell than the shares of the states.
    pub fn has_faults(&self) -> bool {
        !self.recovery.injections.is_empty()
    }
}

/// What the states are, for a page.
const LEAD: &str = "Up: at least 90 % of the goodput of the baseline, at most 1 % errors, p99 at \
     most three times as high. Down: less than 10 % of that goodput. By the time at which \
     operations were meant to be sent.";

/// The meanings of the columns of the table of injections.
const LEGEND: &str = "Times count from the fault. Error, success: when the first such operation \
     was meant to be sent; detected: when a client knew. TTR90: goodput is back at 90 % \
     of the baseline and stays for 5 s. Lost: operations that were expected in time and were not, \
     with the seconds of goodput that they are. Burst: the most done in an interval afterwards, \
     against the baseline. ≥: the end of what was observed came first.";

/// The meanings of the shares of the time with violations.
const SHARES: &str = "Shares of the time with at least one violation, by state; one interval can \
     have several classes of them.";

/// States, what each fault cost, what that means in a year.
pub fn section<'a>(facts: &AvailabilityFacts) -> DocumentSection<'a> {
    let letters = Letters::Unicode;
    let lines = [("states", states(facts, letters)), ("baseline", baseline(facts, letters))];
    let title = "Availability";
    let mut section = DocumentSection::new("availability", title, LEAD).listed(title);
    section.blocks.push(Block::facts(lines));
    let note = |text: &str| Block::Only(Formats::Page, vec![Block::Note(text.to_owned())]);
    if facts.has_faults() {
        let [narrow, wide] = [Room::Narrow, Room::Wide]
            .map(|room| vec![Block::Table(injections(facts, room, letters))]);
        section.blocks.push(Block::Only(Formats::Text, narrow));
        section.blocks.extend(Block::headed("Faults", Block::Only(Formats::Wide, wide)));
        section.blocks.push(note(LEGEND));
    }
    if let Some(pooled) = pooled(facts, letters) {
        section.blocks.extend(Block::headed("Faults of one sort together", pooled.into()));
    }
    let texts = what_if(facts, letters);
    if !texts.is_empty() {
        let lines = Block::facts(texts.into_iter().map(|text| ("what if", text)));
        section.blocks.extend(Block::headed("What if", lines));
    }
    if let Some(rows) = consistability_table(facts) {
        let formats = if facts.has_faults() { Formats::All } else { Formats::Page };
        let rows = Block::Only(formats, vec![rows.into()]);
        section.blocks.extend(Block::headed("Consistability", rows));
        section.blocks.push(note(SHARES));
    }
    section
}

/// The shares of the states in a line, with why intervals are not up.
fn states(facts: &AvailabilityFacts, letters: Letters) -> String {
    let states = &facts.recovery.states;
    let share = |state: ServiceState| format!("{} {}", state.name(), percent(states.share(state)));
    let shares = ServiceState::USED.map(share).join(", ");
    let width = duration(states.width, letters);
    let number = states.states.len() as u64;
    let reasons = reasons(&states.shortfalls);
    format!("{shares} of {} of {width}{reasons}", plural(number, "interval"))
}

/// `: 2 with p99 over 3 times the baseline's`; empty if every interval is up.
fn reasons(shortfalls: &[Shortfalls]) -> String {
    let number = |is_short: fn(&Shortfalls) -> bool| {
        shortfalls.iter().filter(|one| is_short(one)).count() as u64
    };
    let reasons = [
        (
            number(|one| one.goodput),
            format!("with less than {} of the expected goodput", percent(LEAST_GOODPUT)),
        ),
        (
            number(|one| one.errors),
            format!("with more than {} of the operations failed", percent(MOST_ERRORS)),
        ),
        (number(|one| one.latency), format!("with p99 over {} times the baseline's", MOST_LATENCY)),
    ];
    let there = reasons.iter().filter(|(number, _)| *number > 0);
    let texts: Vec<String> =
        there.map(|(number, what)| format!("{} {what}", count(*number))).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!(": {}", texts.join(", ")),
    }
}

/// What states and injections are held against.
fn baseline(facts: &AvailabilityFacts, letters: Letters) -> String {
    let baseline = &facts.recovery.baseline;
    let (from, until) = (moment(baseline.window.from), moment(baseline.window.until));
    let part = match baseline.part {
        BaselinePart::Whole => "the whole run".to_owned(),
        BaselinePart::BeforeFaults => format!("{from} to {until}, before the first fault"),
        BaselinePart::AfterFaults => format!("{from} to {until}, after the last fault"),
        BaselinePart::WithFaults => {
            "the median interval of the whole run: no 5 s of it are without faults".to_owned()
        }
    };
    let interval = baseline.interval.map_or_else(String::new, |(low, high)| {
        format!(" ({} to {}, 95 %)", rate(low), rate(high))
    });
    format!(
        "{} in time{interval}, {} of what was offered, p99 {}: {part}",
        rate(baseline.in_time_per_s),
        percent(baseline.in_time_share),
        duration(baseline.p99, letters),
    )
}

/// How much room a table has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    /// That of a terminal.
    Narrow,
    /// As much as it needs.
    Wide,
}

/// A row for each injection; how many writes were lost is in it if anybody looked.
fn injections(facts: &AvailabilityFacts, room: Room, letters: Letters) -> Table {
    let injections = &facts.recovery.injections;
    let (is_wide, has_writes) =
        (room == Room::Wide, injections.iter().any(|one| one.lost_writes.is_some()));
    let after = |time: Option<TimeTo>| time.map_or(NONE.to_owned(), |time| time_to(time, letters));
    let lost = |one: &InjectionOutcome| match one.lost.round() as u64 {
        0 => "0".to_owned(),
        _ => format!("{} s", three_digits(one.lost_s)),
    };
    let burst = |burst| format!("{} {}", three_digits(burst), letters.pick("×", "x"));
    Table::of(injections)
        .left("fault", |one| &one.fault.what)
        .right("at", |one| moment(one.fault.at))
        .right("mended", |one| one.fault.end().map_or(NONE.to_owned(), moment))
        .right_if(is_wide, "error", |one| after(one.first_error.map(TimeTo::After)))
        .right("detected", |one| after(one.detection.map(TimeTo::After)))
        .right("success", |one| after(one.first_success))
        .right("TTR90", |one| time_to(one.ttr90, letters))
        .right("p99 back", |one| time_to(one.tail, letters))
        .right("lost", |one| lost(one))
        .right_if(is_wide, "lost operations", |one| count(one.lost.round() as u64))
        .right_if(has_writes, "lost writes", |one| one.lost_writes.map_or(NONE.to_owned(), count))
        .right("burst", |one| one.burst.map_or(NONE.to_owned(), burst))
        .build()
}

/// A time, or that it was longer than observed.
fn time_to(time: TimeTo, letters: Letters) -> String {
    let text = duration(time.observed(), letters);
    match time {
        TimeTo::After(Nanos::ZERO) => "0".to_owned(),
        TimeTo::After(_) => text,
        TimeTo::NotWithin(_) => format!("{} {text}", letters.pick("≥", ">=")),
    }
}

/// A row for each sort of fault; `None` where no sort came twice.
fn pooled(facts: &AvailabilityFacts, letters: Letters) -> Option<Table> {
    let sorts = &facts.recovery.pooled;
    if sorts.iter().all(|sort| sort.injections < 2) {
        return None;
    }
    let detected = |detection: Spread| duration(Nanos((detection.median * 1e9) as u64), letters);
    let table = Table::of(sorts)
        .left("median of", |sort| &sort.sort)
        .right("faults", |sort| count(sort.injections))
        .right("detected", |sort| sort.detection.map_or(NONE.to_owned(), detected))
        .right("p99 back", |sort| median(&sort.tail, letters))
        .right("TTR90", |sort| median(&sort.ttr90, letters))
        .right("its mean (95 %)", |sort| mean(&sort.ttr90, letters))
        .right("its max", |sort| time_to(sort.ttr90.max, letters))
        .right("cut", |sort| count(sort.ttr90.censored))
        .right("lost", |sort| format!("{} s", three_digits(sort.lost_s.mean)));
    Some(table.build())
}

fn median(pooled: &Pooled, letters: Letters) -> String {
    let longest = || TimeTo::NotWithin(pooled.max.observed());
    time_to(pooled.median.map_or_else(longest, TimeTo::After), letters)
}

fn mean(pooled: &Pooled, letters: Letters) -> String {
    let mean = match pooled.is_lower_bound {
        true => TimeTo::NotWithin(pooled.mean),
        false => TimeTo::After(pooled.mean),
    };
    let interval = pooled.interval.map_or_else(String::new, |(low, high)| {
        let dash = letters.pick("–", "-");
        format!(" ({}{dash}{})", duration(low, letters), duration(high, letters))
    });
    time_to(mean, letters) + &interval
}

/// What the recoveries mean under the rates of faults that the user gave, a sentence each.
fn what_if(facts: &AvailabilityFacts, letters: Letters) -> Vec<String> {
    let Some(what_if) = &facts.what_if else { return Vec::new() };
    let seconds = |seconds: f64| duration(Nanos((seconds * 1e9) as u64), letters);
    let least = if what_if.is_lower_bound() { "at least " } else { "" };
    let part = |part: &WhatIfPart| {
        let number = match part.rate.per_year {
            whole if whole.fract() == 0.0 => count(whole as u64),
            number => three_digits(number),
        };
        let rate = format!("{} {number} a year", part.rate.fault);
        match part.mean_s {
            None => format!("{rate}: this run had no such fault, so nothing is known"),
            Some(mean) => {
                let injections = plural(part.injections, "injection");
                let least = if part.is_lower_bound { "at least " } else { "" };
                format!("{rate}: TTR90 {least}{} in the mean of {injections}", seconds(mean))
            }
        }
    };
    let mut texts: Vec<String> = what_if.parts.iter().map(part).collect();
    if let Some(total) = what_if.unavailable_s {
        let interval = match what_if.interval_s {
            Some((low, high)) => format!(" ({} to {}, 95 %)", seconds(low), seconds(high)),
            None => " (no interval: a fault had fewer than 5 injections)".to_owned(),
        };
        let most = if what_if.is_lower_bound() { "at most " } else { "" };
        let lost = what_if.lost_s.unwrap_or(0.0);
        texts.push(format!(
            "together {least}{} a year without full goodput{interval}: available {most}{}; the \
             goodput of {} is lost",
            seconds(total),
            nines(WhatIf::availability(total)),
            seconds(lost),
        ));
    }
    texts
}

/// A share close to one, with as many digits as tell it from one.
fn nines(share: f64) -> String {
    let digits = (-(1.0 - share).max(1e-9).log10()).ceil().clamp(2.0, 9.0) as usize;
    format!("{:.*} %", digits.saturating_sub(1).max(2), share * 100.0)
}

/// The share of the time with and without violations in each state; `None` if nothing was judged.
fn consistability_table(facts: &AvailabilityFacts) -> Option<Table> {
    let (classes, table) = facts.consistability.as_ref()?;
    let number = |counts: &[u64; 3]| count(counts.iter().sum());
    let classes = classes.iter().zip(table.violated.iter().zip(&table.counts));
    let classes = classes.map(|(class, (shares, counts))| (class.name, shares, number(counts)));
    let rows = [("no violation", &table.clean, String::new())].into_iter().chain(classes);
    let table = Table::of(rows)
        .left("of the time", |(title, ..)| *title)
        .columns(Align::Right, ["up", "degraded", "down"], |(_, shares, _)| shares.map(percent))
        .right("violations", |(.., violations)| violations.clone());
    Some(table.build())
}

#[cfg(test)]
pub(crate) mod tests;
