//! Java's ways to print numbers or to walk a map, which YCSB's lines inherit.

/// A number as `Double.toString` prints it.
///
/// Shortest digits that read back as the same number, always with a decimal point, scientific
/// below 10^-3 and from 10^7. Source: the Javadoc of `java.lang.Double.toString`; JDKs before 19
/// sometimes print one digit more than needed, which we do not repeat.
pub fn double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let magnitude = number.abs();
    if magnitude == 0.0 || (1e-3..1e7).contains(&magnitude) {
        return with_point(&format!("{number}"));
    }
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').expect("{:e} always writes an e");
    format!("{}E{exponent}", with_point(digits))
}

fn with_point(digits: &str) -> String {
    if digits.contains('.') { digits.to_owned() } else { format!("{digits}.0") }
}

/// A number as `new DecimalFormat("#.##")` prints it: at most two decimals, none that are zero.
pub fn two_decimals(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "∞" } else { "-∞" }.to_owned();
    }
    crate::units::trimmed(number, 2)
}

/// `String.hashCode` of an ASCII text.
pub fn string_hash(text: &str) -> u32 {
    text.bytes().fold(0u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)))
}

/// Sorts `entries`, given in the order in which they were put, into the order in which a
/// `ConcurrentHashMap` walks them.
///
/// The table has 16 slots and doubles when three quarters are taken; an entry's slot is its hash,
/// folded by `h ^ h >>> 16`, modulo the slots; entries of one slot stay in the order of arrival.
/// (When the real table doubles it may turn the order within a slot around; YCSB's own lines
/// depend on the race of its threads there, so they are not reliable.)
pub fn map_order<T>(entries: &mut [T], hash: impl Fn(&T) -> u32) {
    let mut slots: u32 = 16;
    while entries.len() as u32 * 4 >= slots * 3 {
        slots *= 2;
    }
    entries.sort_by_key(|entry| {
        let hash = hash(entry);
        (hash ^ (hash >> 16)) & (slots - 1)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_look_as_java_prints_them() {
        for (number, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (100.0, "100.0"),
            (0.001, "0.001"),
            (9.9999e-4, "9.9999E-4"),
            (1e7, "1.0E7"),
            (9_999_999.999, "9999999.999"),
            (1.2345678e7, "1.2345678E7"),
            (7.510022022470114E-4, "7.510022022470114E-4"),
            (1e21, "1.0E21"),
            (5e-324, "5.0E-324"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1.0 / 3.0, "0.3333333333333333"),
            (f64::MAX, "1.7976931348623157E308"),
            (126_582.278_481_012_66, "126582.27848101266"),
            (-2.5, "-2.5"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
        ] {
            assert_eq!(double(number), text);
        }
    }

    #[test]
    fn two_decimals_are_rounded_half_to_even_and_trimmed() {
        for (number, text) in [
            (0.0, "0"),
            (0.005, "0.01"),
            (0.015, "0.01"),
            (0.125, "0.12"),
            (0.375, "0.38"),
            (0.5, "0.5"),
            (12.345, "12.35"),
            (1_234_567.891, "1234567.89"),
            (1e10, "10000000000"),
            (1.005, "1"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "∞"),
        ] {
            assert_eq!(two_decimals(number), text);
        }
    }

    #[test]
    fn names_come_in_the_order_of_a_concurrent_hash_map() {
        // Printed by a JDK 17 for the same names put in the same order.
        let mut names = [
            "READ",
            "UPDATE",
            "INSERT",
            "SCAN",
            "READ-MODIFY-WRITE",
            "CLEANUP",
            "VERIFY",
            "READ-FAILED",
        ];
        map_order(&mut names, |name| string_hash(name));
        assert_eq!(
            names.join(" "),
            "READ READ-MODIFY-WRITE CLEANUP UPDATE INSERT VERIFY READ-FAILED SCAN"
        );
    }

    #[test]
    fn twelve_names_double_the_table() {
        let mut names: Vec<String> = ["READ", "UPDATE", "INSERT", "SCAN", "DELETE", "CLEANUP"]
            .iter()
            .flat_map(|name| [(*name).to_owned(), format!("{name}-FAILED")])
            .collect();
        map_order(&mut names, |name| string_hash(name));
        assert_eq!(names[0], "READ-FAILED");
        assert_eq!(names[2], "READ");
    }
}
