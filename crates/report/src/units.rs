//! Numbers as people read them.

use assay_model::Nanos;

/// Which characters may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Letters {
    /// Only ASCII: `us`, `...`, `-`.
    Ascii,
    /// All of Unicode: `µs`, `…`, `–`.
    Unicode,
}

impl Letters {
    /// `unicode` if it may be used, else `ascii`.
    pub fn pick<'a>(self, unicode: &'a str, ascii: &'a str) -> &'a str {
        match self {
            Letters::Unicode => unicode,
            Letters::Ascii => ascii,
        }
    }
}

/// A length of time in three significant digits: `850 ns`, `12.3 µs`, `2.09 s`, `12 min 05 s`.
pub fn duration(time: Nanos, letters: Letters) -> String {
    let ns = time.0;
    let micro = letters.pick("µs", "us");
    if ns < 1_000 {
        return format!("{ns} ns");
    }
    for (unit, name) in [(1e3, micro), (1e6, "ms"), (1e9, "s")] {
        let number = ns as f64 / unit;
        if number < 999.5 && !(unit >= 1e9 && number >= 599.5) {
            return format!("{} {name}", three_digits(number));
        }
    }
    clock(ns)
}

/// Ten minutes or more: `12 min 05 s`, `3 h 20 min`.
fn clock(ns: u64) -> String {
    let seconds = (ns + 500_000_000) / 1_000_000_000;
    if seconds < 3_600 {
        return format!("{} min {:02} s", seconds / 60, seconds % 60);
    }
    let minutes = (seconds + 30) / 60;
    format!("{} h {:02} min", minutes / 60, minutes % 60)
}

/// A moment of the run's time axis in seconds: `0 s`, `42.5 s`, `1 234.005 s`.
pub fn moment(at: Nanos) -> String {
    let milliseconds = (at.0 + 500_000) / 1_000_000;
    let fraction = format!("{:03}", milliseconds % 1_000);
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{}{point}{fraction} s", count(milliseconds / 1_000))
}

/// Three significant digits of a number from 0 to 1000, without a trailing point.
pub(crate) fn three_digits(number: f64) -> String {
    if number < 9.995 {
        format!("{number:.2}")
    } else if number < 99.95 {
        format!("{number:.1}")
    } else {
        format!("{number:.0}")
    }
}

/// A whole number in groups of three: `1 234 567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// That many of something: `1 run`, `1 234 runs`.
pub fn plural(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", count(number))
}

/// Operations per second: `14 200/s`, `12.5/s`, `0/s`.
pub fn rate(per_second: f64) -> String {
    if !per_second.is_finite() {
        return "-".to_owned();
    }
    if per_second < 99.95 && per_second.fract() != 0.0 {
        return format!("{}/s", three_digits(per_second));
    }
    format!("{}/s", count(per_second.round() as u64))
}

/// A share of one as a percentage: `71 %`, `99.98 %`; never rounded up to 100 or down to 0.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "-".to_owned();
    }
    let value = share * 100.0;
    let text = match value {
        v if v <= 0.0 => "0".to_owned(),
        v if v < 0.01 => "< 0.01".to_owned(),
        v if v < 10.0 => trimmed(v, 2),
        v if v < 99.0 => trimmed(v, 1),
        v if v < 99.99 => format!("{v:.2}"),
        v if v < 100.0 => "> 99.99".to_owned(),
        v => format!("{v:.0}"),
    };
    format!("{text} %")
}

/// A number with at most so many decimals, one or more, without zeros at their end.
pub(crate) fn trimmed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A length of time that is a round number: `5 ms` and not `5.00 ms`.
pub(crate) fn round_duration(time: Nanos, letters: Letters) -> String {
    let text = duration(time, letters);
    match text.split_once(' ') {
        Some((number, unit)) if number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A percentile's short name: `p50`, `p99.9`, `max`.
pub fn percentile_name(quantile: f64) -> String {
    if quantile >= 1.0 {
        return "max".to_owned();
    }
    // Three decimals of a percent are finer than any named quantile.
    format!("p{}", trimmed(quantile * 100.0, 3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_three_digits_in_a_unit_that_fits() {
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (12_345, "12.3 µs"),
            (999_499, "999 µs"),
            (999_500, "1.00 ms"),
            (2_090_000_000, "2.09 s"),
            (90_000_000_000, "90.0 s"),
            (725_000_000_000, "12 min 05 s"),
            (12_000_000_000_000, "3 h 20 min"),
        ] {
            assert_eq!(duration(Nanos(ns), Letters::Unicode), text);
        }
        assert_eq!(duration(Nanos(12_345), Letters::Ascii), "12.3 us");
    }

    #[test]
    fn counts_are_grouped_by_thousands() {
        assert_eq!(count(0), "0");
        assert_eq!(count(999), "999");
        assert_eq!(count(1_000), "1 000");
        assert_eq!(count(12_345_678), "12 345 678");
    }

    #[test]
    fn rates_below_a_hundred_keep_decimals() {
        assert_eq!(rate(14_200.4), "14 200/s");
        assert_eq!(rate(12.345), "12.3/s");
        assert_eq!(rate(5.0), "5/s");
        assert_eq!(rate(f64::NAN), "-");
    }

    #[test]
    fn percentages_never_claim_more_than_is_so() {
        assert_eq!(percent(0.71), "71 %");
        assert_eq!(percent(0.999_95), "> 99.99 %");
        assert_eq!(percent(0.999_8), "99.98 %");
        assert_eq!(percent(0.000_01), "< 0.01 %");
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn percentiles_are_named_without_trailing_zeros() {
        assert_eq!(percentile_name(0.5), "p50");
        assert_eq!(percentile_name(0.999), "p99.9");
        assert_eq!(percentile_name(0.99999), "p99.999");
        assert_eq!(percentile_name(1.0), "max");
    }

    #[test]
    fn moments_are_seconds_without_needless_decimals() {
        assert_eq!(moment(Nanos::ZERO), "0 s");
        assert_eq!(moment(Nanos::from_millis(42_500)), "42.5 s");
        assert_eq!(moment(Nanos(1_234_005_000_000)), "1 234.005 s");
    }
}
