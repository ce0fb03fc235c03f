//! Numbers in the cells of foreign lines.

use assay_model::Nanos;

use super::parse::Fault;
use super::request::VALUE_MAX;

/// A cell's text for a message: at most so many bytes of it.
const SHOWN: usize = 40;

/// The whole number in a cell.
pub(crate) fn whole(name: &str, cell: &[u8]) -> Result<u64, Fault> {
    let is_decimal = !cell.is_empty() && cell.len() <= 19 && cell.iter().all(u8::is_ascii_digit);
    if !is_decimal {
        return Err(Fault::Bad(format!("{name} {} is no whole number", display(cell))));
    }
    Ok(cell.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

/// The size of a value.
pub(crate) fn size(name: &str, cell: &[u8]) -> Result<u32, Fault> {
    match whole(name, cell)? {
        size if size <= VALUE_MAX => Ok(size as u32),
        size => {
            Err(Fault::Bad(format!("{name} {size} is above {VALUE_MAX}, the most for a value")))
        }
    }
}

/// A time in units of `unit` with up to nine decimal places.
pub(crate) fn time(name: &str, cell: &[u8], unit: Nanos) -> Result<Nanos, Fault> {
    let wrong = || Fault::Bad(format!("{name} {} is no time", display(cell)));
    let mut parts = cell.splitn(2, |&byte| byte == b'.');
    let (seconds, places) = (parts.next().unwrap_or_default(), parts.next());
    let seconds = whole(name, seconds).map_err(|_| wrong())?;
    let mut nanos = seconds.checked_mul(unit.0).ok_or_else(wrong)?;
    if let Some(places) = places {
        if places.is_empty() || places.len() > 9 {
            return Err(wrong());
        }
        let number = whole(name, places).map_err(|_| wrong())?;
        let part = u128::from(number) * u128::from(unit.0) / 10u128.pow(places.len() as u32);
        nanos = nanos.checked_add(part as u64).ok_or_else(wrong)?;
    }
    Ok(Nanos(nanos))
}

/// The beginning of a cell, quoted.
pub(crate) fn display(cell: &[u8]) -> String {
    let end = cell.len().min(SHOWN);
    let more = if cell.len() > SHOWN { "…" } else { "" };
    format!("{:?}{more}", String::from_utf8_lossy(&cell[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        let seconds = |text: &str| time("time", text.as_bytes(), Nanos::from_secs(1)).unwrap();
        assert_eq!(seconds("1460100081.165665"), Nanos(1_460_100_081_165_665_000));
        assert_eq!(seconds("7"), Nanos::from_secs(7));
        let millis = time("time", b"1500.25", Nanos::from_millis(1)).unwrap();
        assert_eq!(millis, Nanos(1_500_250_000));
    }

    #[test]
    fn what_is_no_number_is_shown() {
        let why = |found: Result<u64, Fault>| match found {
            Err(Fault::Bad(reason)) => reason,
            other => panic!("{other:?}"),
        };
        assert_eq!(why(whole("size", b"-1")), "size \"-1\" is no whole number");
        assert_eq!(why(whole("size", b"")), "size \"\" is no whole number");
        assert!(why(whole("size", &[b'x'; 200])).len() < 80);
        assert!(matches!(size("size", b"536870913"), Err(Fault::Bad(_))));
        for text in ["1.", ".5", "1.2.3", "99999999999999", "1e3"] {
            assert!(time("time", text.as_bytes(), Nanos::from_secs(1)).is_err(), "{text}");
        }
    }
}
