//! Tests that are rows: what is shown, with what one store expects.

/// Tests of what stores show alike.
///
/// Each row is a test of the function of its name in `crate::$room`, with the arguments of the row.
/// If there is a `$start`, it is evaluated for each, and what it gives is the first argument: a
/// server of its own, or its part of a shared one.
macro_rules! test_rows {
    ($room:ident; $($shown:ident($($argument:expr),* $(,)?);)+) => {
        $(
            #[test]
            fn $shown() {
                $crate::$room::$shown($($argument),*);
            }
        )+
    };
    ($room:ident, $start:expr; $($shown:ident($($argument:expr),* $(,)?);)+) => {
        $(
            #[test]
            fn $shown() {
                $crate::$room::$shown(&mut $start, $($argument),*);
            }
        )+
    };
}

pub(crate) use test_rows;
