//! Agreement with porcupine, with all orders of small histories, and with the definitions.

use assay_consistency::RegisterHistory;
use assay_model::Seed;

use crate::differential::{atomicity, definitions};
use crate::random::{Recipe, SMALL, history};

/// Enough for each kind of small history to occur many times; the example runs 10^6.
const HISTORIES: u64 = 10_000;

#[test]
fn zones_gamma_delta_and_two_atomicity_agree_with_the_search_of_all_orders() {
    let (mut linearizable, mut two_atomic) = (0, 0);
    for index in 0..HISTORIES {
        let history = history(&SMALL, Seed(1), index);
        let (wrong, verdicts) = atomicity(&history);
        assert!(wrong.is_empty(), "history {index}: {wrong:?}: {history:#?}");
        linearizable += u64::from(verdicts[0]);
        two_atomic += u64::from(verdicts[1]);
    }
    assert!(linearizable > HISTORIES / 10 && linearizable < two_atomic, "{linearizable}");
    assert!(two_atomic < HISTORIES * 9 / 10, "{two_atomic}");
}

const SESSIONS: Recipe = Recipe { operations: 20, keys: 2, wrong: 30, ..SMALL };

/// Judges many histories both ways; the sum of some of what was counted.
fn agree(recipe: &Recipe, change: impl Fn(&mut RegisterHistory)) -> [u64; 6] {
    let mut sum = [0; 6];
    for index in 0..HISTORIES / 5 {
        let mut history = history(recipe, Seed(2), index);
        change(&mut history);
        let [counts, expected] = definitions(&history);
        assert_eq!(counts, expected, "history {index}: {history:#?}");
        let counted = [
            counts.monotonic_reads,
            counts.read_your_writes,
            counts.monotonic_writes,
            counts.writes_follow_reads,
            counts.stale,
            counts.lost,
        ];
        sum.iter_mut().zip(counted).for_each(|(sum, counted)| *sum += counted);
    }
    sum
}

#[test]
fn sessions_staleness_and_lost_writes_agree_with_their_definitions() {
    let sum = agree(&SESSIONS, |history| history.has_final_reads = true);
    assert!(sum.iter().all(|&count| count > 0), "{sum:?}");
}

#[test]
fn single_writers_are_judged_by_the_order_of_their_writes() {
    let recipe = Recipe { has_single_writers: true, ..SESSIONS };
    let sum = agree(&recipe, |history| history.has_final_reads = true);
    assert!(sum.iter().all(|&count| count > 0), "{sum:?}");
}

#[test]
fn chains_of_read_then_write_are_judged_by_what_each_had_read() {
    let recipe = Recipe { read_then_write: 50, wrong: 5, unknown: 0, ..SESSIONS };
    let sum = agree(&recipe, |history| history.has_final_reads = true);
    assert!(sum.iter().all(|&count| count > 0), "{sum:?}");
}

#[test]
fn writes_of_single_fields_are_judged_by_their_numbers() {
    let sum = agree(&SESSIONS, |history| {
        history.has_final_reads = true;
        history.writes_whole_records = false;
    });
    assert!(sum.iter().all(|&count| count > 0), "{sum:?}");
}
