//! The processors that workers are pinned to.
//!
//! Left to the system, a worker that never rests is moved when another thread is woken on its
//! processor, or waits behind that one for milliseconds. Held to a processor that the store under
//! test does not use, it has only short work of the system beside it.

use std::collections::BTreeSet;
use std::io;

use thiserror::Error;

/// The highest number of a processor that can be named, as in the system's own sets.
const MOST: usize = 1023;

/// What is wrong with a list of processors.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum ListError {
    /// Neither a number nor a range of them.
    #[error("{0:?} is no processor; write their numbers, as in 0 or 2,4-7")]
    Number(String),
    /// Named before.
    #[error("processor {0} is named twice")]
    Twice(usize),
    /// Not there, or kept from this process.
    #[error("this process may not use processor {missing}, only {allowed}")]
    Missing {
        /// The processor.
        missing: usize,
        /// What could be used instead.
        allowed: String,
    },
}

/// Reads a list like `0`, `2,4-7`, in the order in which it is written.
///
/// # Errors
/// If it is no such list, names a processor twice, or one that this process may not use.
pub fn parse(text: &str) -> Result<Vec<usize>, ListError> {
    let allowed = allowed();
    let mut list = Vec::new();
    for piece in text.split(',') {
        for processor in range(piece).ok_or_else(|| ListError::Number(piece.to_owned()))? {
            if list.contains(&processor) {
                return Err(ListError::Twice(processor));
            }
            if !allowed.contains(&processor) {
                let allowed = show(&allowed.iter().copied().collect::<Vec<usize>>());
                return Err(ListError::Missing { missing: processor, allowed });
            }
            list.push(processor);
        }
    }
    Ok(list)
}

/// The list as text, its neighbours as ranges: what [`parse`] reads.
pub fn show(list: &[usize]) -> String {
    let runs = list.chunk_by(|before, next| before + 1 == *next);
    let runs = runs.map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        _ => run[0].to_string(),
    });
    runs.collect::<Vec<String>>().join(",")
}

fn range(piece: &str) -> Option<std::ops::RangeInclusive<usize>> {
    let number = |text: &str| {
        let text = text.trim();
        // `usize` would take a sign too.
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|&number| is_plain && number <= MOST)
    };
    let (first, last) = match piece.split_once('-') {
        Some((first, last)) => (number(first)?, number(last)?),
        None => (number(piece)?, number(piece)?),
    };
    (first <= last).then_some(first..=last)
}

/// The processors that this process may use.
#[cfg(target_os = "linux")]
fn allowed() -> BTreeSet<usize> {
    match rustix::thread::sched_getaffinity(None) {
        Ok(set) => (0..=MOST).filter(|&processor| set.is_set(processor)).collect(),
        // The system gives no error here; it will when a worker is pinned.
        Err(_) => (0..=MOST).collect(),
    }
}

/// Only Linux can pin threads.
#[cfg(not(target_os = "linux"))]
fn allowed() -> BTreeSet<usize> {
    BTreeSet::new()
}

/// Has the system run the calling thread on `processor` only. Threads that it starts afterwards
/// inherit that.
///
/// # Errors
/// If the system refuses.
#[cfg(target_os = "linux")]
pub(crate) fn hold_to(processor: usize) -> io::Result<()> {
    let mut set = rustix::thread::CpuSet::new();
    set.set(processor);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Only Linux can pin threads.
///
/// # Errors
/// Always.
#[cfg(not(target_os = "linux"))]
pub(crate) fn hold_to(_processor: usize) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_numbers_and_ranges() {
        let read = |text: &str| -> Option<Vec<usize>> {
            text.split(',')
                .map(range)
                .collect::<Option<Vec<_>>>()
                .map(|r| r.into_iter().flatten().collect())
        };
        assert_eq!(read("0"), Some(vec![0]));
        assert_eq!(read("2, 4-7,0"), Some(vec![2, 4, 5, 6, 7, 0]));
        for wrong in ["", "x", "-1", "+1", "1-", "3-2", "1024", "0,", "0-0x3"] {
            assert_eq!(read(wrong), None, "{wrong}");
            let reported = parse(wrong).expect_err(wrong);
            assert!(matches!(reported, ListError::Number(_)), "{wrong}: {reported}");
        }
    }

    #[test]
    fn what_is_shown_can_be_read() {
        assert_eq!(show(&[3]), "3");
        assert_eq!(show(&[0, 1, 2, 5, 4]), "0-2,5,4");
        let allowed: Vec<usize> = allowed().into_iter().collect();
        assert_eq!(parse(&show(&allowed)), Ok(allowed));
    }

    #[test]
    fn processors_that_are_not_there_or_named_twice_are_refused() {
        let first = *allowed().first().expect("we run on a processor");
        assert_eq!(parse(&format!("{first},{first}")), Err(ListError::Twice(first)));
        let reported = parse("1023").expect_err("nobody has so many").to_string();
        assert!(
            reported.starts_with("this process may not use processor 1023, only "),
            "{reported}"
        );
    }

    #[test]
    fn a_pinned_thread_runs_on_no_other_processor() {
        let last = *allowed().last().expect("we run on a processor");
        let held = std::thread::spawn(move || hold_to(last).map(|()| allowed()));
        let may_use = held.join().expect("the thread ends").expect("we may use it");
        assert_eq!(may_use, BTreeSet::from([last]));
    }
}
