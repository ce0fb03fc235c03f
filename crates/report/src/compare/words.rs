//! Figures of a comparison in words, with their numbers as text.

use assay_analysis::compare::{Comparison, Figure, Finding, Measure, Row, Spread};
use assay_model::{Kind, Nanos};

use crate::table::Table;
use crate::units::{Letters, count, duration, percent, percentile_name, rate, trimmed};

/// The name of a figure: `response p99`, `read service p50`, `throughput`.
pub fn figure_name(figure: Figure) -> String {
    let of = figure.of.map_or(String::new(), |kind| format!("{} ", kind.name()));
    of + &match figure.measure {
        Measure::Throughput => "throughput".to_owned(),
        Measure::Response(quantile) => format!("response {}", percentile_name(quantile)),
        Measure::Service(quantile) => format!("service {}", percentile_name(quantile)),
        Measure::Errors => "errors".to_owned(),
        Measure::Misses => "misses".to_owned(),
        Measure::Cpu => "client cpu/op".to_owned(),
    }
}

/// A value of `measure` in its unit.
pub fn value(measure: Measure, value: f64, letters: Letters) -> String {
    match measure {
        Measure::Throughput => rate(value),
        _ if measure.is_share() => percent(value),
        _ => duration(Nanos(value.round().max(0.0) as u64), letters),
    }
}

/// The median of the runs of a side; `n/a` if not all of them have the figure.
pub fn median(measure: Measure, spread: Option<&Spread>, letters: Letters) -> String {
    spread.map_or_else(|| "n/a".to_owned(), |spread| value(measure, spread.median, letters))
}

/// An effect as a change: `+12.1 %`, from tenfold on `×23.4`, for shares `+0.30 pp` (percentage
/// points); `from 0` where the first side had nothing, `n/a` where a side lacks the figure.
pub fn change(measure: Measure, effect: f64) -> String {
    if effect.is_nan() {
        return "n/a".to_owned();
    }
    if effect.is_infinite() {
        return "from 0".to_owned();
    }
    if !measure.is_share() && effect >= 10.0 {
        return format!("×{}", ratio(effect));
    }
    let (number, unit) = match measure.is_share() {
        true => (effect * 100.0, "pp"),
        false => ((effect - 1.0) * 100.0, "%"),
    };
    let digits = match number.abs() {
        large if large >= 1.0 => 1,
        _ => 2,
    };
    let text = format!("{number:+.digits$}");
    // −0.00 is +0.00.
    let text = if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        text.replace('-', "+")
    } else {
        text
    };
    format!("{text} {unit}")
}

/// The interval of a row as a change: `+8.0 to +16.2 %`.
pub fn change_between(row: &Row) -> Option<String> {
    let (low, high) = row.interval?;
    if low == high && row.finding.is_different() {
        return Some("in all runs".to_owned());
    }
    let (low, high) = (change(row.figure.measure, low), change(row.figure.measure, high));
    // The unit once, if it is the same.
    let unit = |text: &str| text.split_once(' ').map(|(_, unit)| unit.to_owned());
    let low = match unit(&low) == unit(&high) {
        true => low.split(' ').next().unwrap_or_default(),
        false => low.as_str(),
    };
    Some(format!("{low} to {high}"))
}

/// A row in a line: `response p99 +12.1 % (+8.0 to +16.2 %)`.
pub fn describe(row: &Row) -> String {
    let name = figure_name(row.figure);
    match row.finding {
        Finding::Absent | Finding::Withdrawn => format!("{name} ({})", uncertain(row)),
        _ => {
            let interval = change_between(row).unwrap_or_else(|| uncertain(row).to_owned());
            format!("{name} {} ({interval})", change(row.figure.measure, row.effect))
        }
    }
}

/// Why a row has no interval.
pub fn uncertain(row: &Row) -> &'static str {
    match (row.finding, &row.old, &row.new) {
        (Finding::Absent, None, None) => "no values on either side",
        (Finding::Absent, None, _) => "no values in BASE",
        (Finding::Absent, _, None) => "no values in NEW",
        (Finding::Withdrawn, ..) => "withdrawn by a hallmark",
        _ => "too few values for an interval",
    }
}

/// An effect as the table has it: a ratio `1.121`, for shares a difference.
pub fn effect(measure: Measure, effect: f64) -> String {
    match measure.is_share() || !effect.is_finite() {
        true => change(measure, effect),
        false => ratio(effect),
    }
}

fn ratio(ratio: f64) -> String {
    match ratio {
        large if large >= 100.0 => count(large.round() as u64),
        middle if middle >= 10.0 => format!("{middle:.1}"),
        small => format!("{small:.3}"),
    }
}

fn interval(row: &Row, letters: Letters) -> String {
    let Some((low, high)) = row.interval else { return "-".to_owned() };
    let dash = letters.pick("–", " to ");
    match row.figure.measure.is_share() || low == high {
        true => change_between(row).unwrap_or_default(),
        false => format!("{}{dash}{}", ratio(low), ratio(high)),
    }
}

/// What a row says, in a word or two.
pub const fn finding_name(finding: Finding) -> &'static str {
    match finding {
        Finding::Higher => "higher",
        Finding::Lower => "lower",
        Finding::Same => "same",
        Finding::Open => "not shown",
        Finding::TooFew => "too few",
        Finding::Absent => "no values",
        Finding::Withdrawn => "withdrawn",
    }
}

/// Whether a different row is for the worse: only more throughput is better.
pub fn is_worse(row: &Row) -> bool {
    match row.figure.measure {
        Measure::Throughput => row.finding == Finding::Lower,
        _ => row.finding == Finding::Higher,
    }
}

/// The confidence of each interval in percent: `99.75`.
pub fn level(comparison: &Comparison) -> String {
    trimmed(comparison.demands.level() * 100.0, 2)
}

/// The rows that a reader needs: those of a single kind repeat those of all operations.
pub fn display(comparison: &Comparison) -> Vec<&Row> {
    let has = |kind: Kind| comparison.rows.iter().any(|row| row.figure.of == Some(kind));
    let kinds = Kind::ALL.into_iter().filter(|kind| has(*kind)).count();
    let is_shown = |row: &&Row| {
        let mut sides = [&row.old, &row.new].into_iter().flatten();
        let is_always_nothing = row.figure.measure.is_share() && sides.all(|side| side.max == 0.0);
        let is_repeated = kinds < 2 && row.figure.of.is_some();
        row.is_requested || !(is_repeated || is_always_nothing)
    };
    comparison.rows.iter().filter(is_shown).collect()
}

/// Every figure with both values, the ratio of them, its interval, what follows.
pub fn table(comparison: &Comparison, letters: Letters) -> Table {
    let title = format!("{} % interval", level(comparison));
    let name = |row: &Row| figure_name(row.figure) + if row.is_requested { " *" } else { "" };
    Table::of(display(comparison))
        .left("", |row| name(row))
        .right("BASE", |row| median(row.figure.measure, row.old.as_ref(), letters))
        .right("NEW", |row| median(row.figure.measure, row.new.as_ref(), letters))
        .right("NEW/BASE", |row| effect(row.figure.measure, row.effect))
        .right(&title, |row| interval(row, letters))
        .left("", |row| finding_name(row.finding))
        .build()
}

/// Every figure's spread from run to run, of both sides.
pub fn spreads(comparison: &Comparison) -> Table {
    let spread = |side: &Option<Spread>| side.as_ref().map_or("-".to_owned(), variation);
    let displayed = display(comparison).into_iter();
    Table::of(displayed.filter(|row| !row.figure.measure.is_share()))
        .left("", |row| figure_name(row.figure))
        .right("BASE runs", |row| runs(row.old.as_ref()))
        .right("spread", |row| spread(&row.old))
        .right("NEW runs", |row| runs(row.new.as_ref()))
        .right("spread", |row| spread(&row.new))
        .build()
}

/// How many runs of a side have the figure, if all have it; 0 else.
pub fn runs(spread: Option<&Spread>) -> usize {
    spread.map_or(0, |spread| spread.values.len())
}

/// The standard deviation between runs as a share of their mean.
pub fn variation(spread: &Spread) -> String {
    spread.variation.map_or_else(|| "-".to_owned(), percent)
}

/// What the columns of [`table`] are.
pub fn meaning(comparison: &Comparison) -> String {
    let sides = comparison.rows.iter().flat_map(|row| [&row.old, &row.new]);
    let values = match sides.map(|side| runs(side.as_ref())).max() {
        None | Some(0 | 1) => String::new(),
        _ => "BASE and NEW are medians of the runs' own figures, no percentiles of all operations \
              together; NEW/BASE is the ratio of their geometric means. "
            .to_owned(),
    };
    let is_withdrawn = comparison.rows.iter().any(|row| row.finding == Finding::Withdrawn);
    let withdrawn = match is_withdrawn {
        true => " Withdrawn: not compared, for the hallmark of a run withdraws it.",
        false => "",
    };
    let demands = &comparison.demands;
    format!(
        "{values}* the verdict is about these: together they are called different by mistake in \
         at most {} of equal set-ups. Higher or lower: the interval excludes 1 (for shares 0) and \
         the effect is at least {} (for shares {}). Same: the whole interval is within that. \
         Not shown: neither.{withdrawn}",
        percent(1.0 - demands.confidence),
        percent(demands.minimum),
        change(Measure::Errors, demands.minimum_share).trim_start_matches('+'),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_percentages_points_or_factors() {
        let p99 = Measure::Response(0.99);
        for (measure, effect, text) in [
            (p99, 1.1214, "+12.1 %"),
            (p99, 0.417, "-58.3 %"),
            (p99, 1.0031, "+0.31 %"),
            (p99, 0.999_999_9, "+0.00 %"),
            (p99, 23.44, "×23.4"),
            (p99, 501_040.2, "×501 040"),
            (Measure::Errors, 0.003, "+0.30 pp"),
            (Measure::Errors, 0.25, "+25.0 pp"),
        ] {
            assert_eq!(change(measure, effect), text);
        }
    }
}
