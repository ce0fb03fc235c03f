//! Numbers as people write them: `100k`, `1.5M`, `4KiB`, `50%`, `250us`.

use crate::nanos::Nanos;

/// Powers of ten for letters, powers of two for letters with an i.
const UNITS: [(&str, u64); 15] = [
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("Ki", 1 << 10),
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("k", 1_000),
    ("K", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("B", 1),
];

/// Nanoseconds in each unit of time, the shorter names after those that end with them.
const TIMES: [(&str, u64); 7] = [
    ("ns", 1),
    ("µs", 1_000),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// A whole number with an optional unit; a fraction is allowed if the product is whole.
pub fn whole(text: &str) -> Option<u64> {
    let text = text.trim().replace('_', "");
    let unit = UNITS.iter().find(|(unit, _)| text.ends_with(unit));
    match unit {
        Some((unit, factor)) => product(text[..text.len() - unit.len()].trim_end(), *factor),
        None => product(&text, 1),
    }
}

/// A length of time with its unit, such as `10ms` or `1.5s`, of whole nanoseconds.
pub fn time(text: &str) -> Option<Nanos> {
    let text = text.trim();
    let (unit, factor) = TIMES.iter().find(|(unit, _)| text.ends_with(unit))?;
    product(text.strip_suffix(unit)?.trim_end(), *factor).map(Nanos)
}

/// So many per second, such as `20k/s`, `1.25k` or `0.5/s`; any finite number.
pub fn rate(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = text.strip_suffix("/s").unwrap_or(text);
    let rate = match whole(number) {
        Some(whole) => whole as f64,
        None => number.parse().ok()?,
    };
    rate.is_finite().then_some(rate)
}

/// A length of time in the greatest unit that divides it, as [`time`] reads it.
pub fn write_time(time: Nanos) -> String {
    let fits = |(_, factor): &&(&str, u64)| time.0 > 0 && time.0.is_multiple_of(*factor);
    match TIMES.iter().rev().find(fits) {
        Some((unit, factor)) => format!("{}{unit}", time.0 / factor),
        None => "0s".to_owned(),
    }
}

/// A decimal number times `factor`, if that is whole.
fn product(number: &str, factor: u64) -> Option<u64> {
    let (integer, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if integer.is_empty() || !digits(integer) || !digits(fraction) || number.ends_with('.') {
        return None;
    }
    let scale = 10u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let mantissa: u128 = format!("{integer}{fraction}").parse().ok()?;
    let product = mantissa.checked_mul(u128::from(factor))?;
    if product % scale == 0 { u64::try_from(product / scale).ok() } else { None }
}

/// A finite number, or a percentage as a fraction of one.
pub fn share(text: &str) -> Option<f64> {
    let text = text.trim();
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim_end().parse::<f64>().ok()? / 100.0,
        None => text.parse().ok()?,
    };
    number.is_finite().then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_with_units_are_read() {
        let cases = [
            ("0", 0),
            ("100k", 100_000),
            ("1.5M", 1_500_000),
            ("4KiB", 4096),
            ("0.5KiB", 512),
            ("100B", 100),
            ("10 M", 10_000_000),
            ("1_000", 1000),
            ("9223372036854775808", 1 << 63),
        ];
        for (text, number) in cases {
            assert_eq!(whole(text), Some(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_whole_number_is_not_read() {
        for text in ["", "k", "-1", "1.", ".5M", "1.5", "1e6", "0.3KiB", "1x", "20000000T", "1.2.3"]
        {
            assert_eq!(whole(text), None, "{text}");
        }
    }

    #[test]
    fn times_are_read_with_their_units() {
        let cases = [
            ("10ms", 10_000_000),
            ("1.5s", 1_500_000_000),
            ("250us", 250_000),
            ("250 µs", 250_000),
            ("2m", 120_000_000_000),
            ("1h", 3_600_000_000_000),
            ("7ns", 7),
            ("0s", 0),
        ];
        for (text, nanos) in cases {
            assert_eq!(time(text), Some(Nanos(nanos)), "{text}");
            assert_eq!(time(&write_time(Nanos(nanos))), Some(Nanos(nanos)), "{text}");
        }
        for text in ["", "10", "ms", "-1s", "0.5ns", "10 days", "1e3s", "9999999999h"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn shares_are_read_with_or_without_per_cent() {
        assert_eq!(share("50%"), Some(0.5));
        assert_eq!(share("0.95"), Some(0.95));
        assert_eq!(share("-1"), Some(-1.0));
        assert_eq!(share("NaN"), None);
        assert_eq!(share("half"), None);
    }
}
