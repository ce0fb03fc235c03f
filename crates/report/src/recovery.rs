//! Report of states and of recoveries from injected faults: tables, sentences, JSON.

mod json;

use assay_analysis::recovery::{
    BaselinePart, Consistability, InjectionOutcome, LEAST_GOODPUT, MOST_ERRORS, MOST_LATENCY,
    Pooled, PooledFaults, Recovery, ServiceState, Shortfalls, TimeTo, WhatIf, WhatIfPart,
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

/// The column of acknowledged writes that were lost, which is there if anybody looked.
const LOST_WRITES: &str = "lost writes";

/// The columns of the table of injections, with whether a narrow one has them.
const COLUMNS: [(&str, Align, bool); 12] = [
    ("fault", Align::Left, true),
    ("at", Align::Right, true),
    ("mended", Align::Right, true),
    ("error", Align::Right, false),
    ("detected", Align::Right, true),
    ("success", Align::Right, true),
    ("TTR90", Align::Right, true),
    ("p99 back", Align::Right, true),
    ("lost", Align::Right, true),
    ("lost operations", Align::Right, false),
    (LOST_WRITES, Align::Right, true),
    ("burst", Align::Right, true),
];

/// A row for each injection.
fn injections(facts: &AvailabilityFacts, room: Room, letters: Letters) -> Table {
    let injections = &facts.recovery.injections;
    let is_known = injections.iter().any(|one| one.lost_writes.is_some());
    let is_kept = |place: usize| {
        (room == Room::Wide || COLUMNS[place].2) && (is_known || COLUMNS[place].0 != LOST_WRITES)
    };
    let columns = COLUMNS.iter().enumerate().filter(|(place, _)| is_kept(*place));
    let columns: Vec<_> = columns.map(|(_, (title, side, _))| (*title, *side)).collect();
    let mut table = Table::new(&columns);
    for one in injections {
        let cells = row(one, letters).into_iter().enumerate();
        table.row(cells.filter(|(place, _)| is_kept(*place)).map(|(_, cell)| cell).collect());
    }
    table
}

fn row(one: &InjectionOutcome, letters: Letters) -> [String; COLUMNS.len()] {
    let time = |time: Option<Nanos>| {
        time.map_or(NONE.to_owned(), |time| time_to(TimeTo::After(time), letters))
    };
    let burst = |burst| format!("{} {}", three_digits(burst), letters.pick("×", "x"));
    [
        one.fault.what.clone(),
        moment(one.fault.at),
        one.fault.end().map_or(NONE.to_owned(), moment),
        time(one.first_error),
        time(one.detection),
        one.first_success.map_or(NONE.to_owned(), |success| time_to(success, letters)),
        time_to(one.ttr90, letters),
        time_to(one.tail, letters),
        match one.lost.round() as u64 {
            0 => "0".to_owned(),
            _ => format!("{} s", three_digits(one.lost_s)),
        },
        count(one.lost.round() as u64),
        one.lost_writes.map_or(NONE.to_owned(), count),
        one.burst.map_or(NONE.to_owned(), burst),
    ]
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
    let mut table = Table::new(&[
        ("median of", Align::Left),
        ("faults", Align::Right),
        ("detected", Align::Right),
        ("p99 back", Align::Right),
        ("TTR90", Align::Right),
        ("its mean (95 %)", Align::Right),
        ("its max", Align::Right),
        ("cut", Align::Right),
        ("lost", Align::Right),
    ]);
    for sort in sorts {
        table.row(pooled_row(sort, letters));
    }
    Some(table)
}

fn pooled_row(sort: &PooledFaults, letters: Letters) -> Vec<String> {
    let ttr90 = &sort.ttr90;
    let detection = sort.detection.map(|spread| Nanos((spread.median * 1e9) as u64));
    vec![
        sort.sort.clone(),
        count(sort.injections),
        detection.map_or(NONE.to_owned(), |median| duration(median, letters)),
        median(&sort.tail, letters),
        median(ttr90, letters),
        mean(ttr90, letters),
        time_to(ttr90.max, letters),
        count(ttr90.censored),
        format!("{} s", three_digits(sort.lost_s.mean)),
    ]
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
    let mut rows = Table::new(&[
        ("of the time", Align::Left),
        ("up", Align::Right),
        ("degraded", Align::Right),
        ("down", Align::Right),
        ("violations", Align::Right),
    ]);
    let share = |shares: &[f64; 3]| shares.map(percent);
    let row = |title: &str, shares: &[f64; 3], violations: String| {
        let [up, degraded, down] = share(shares);
        vec![title.to_owned(), up, degraded, down, violations]
    };
    rows.row(row("no violation", &table.clean, String::new()));
    let classes = classes.iter().zip(table.violated.iter().zip(&table.counts));
    for (class, (shares, counts)) in classes {
        rows.row(row(class.name, shares, count(counts.iter().sum())));
    }
    Some(rows)
}

#[cfg(test)]
pub(crate) mod tests;
