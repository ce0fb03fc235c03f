//! Agreement with porcupine, with all orders of small histories, and with the definitions.

use assay_model::Seed;

use crate::differential::{KINDS, atomicity, definitions};
use crate::random::{SMALL, history};

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

#[test]
fn sessions_staleness_and_lost_writes_agree_with_their_definitions() {
    for (name, recipe, is_whole) in KINDS {
        let differ = |difference| panic!("{name}: {difference}");
        let sum = definitions((&recipe, is_whole), Seed(2), HISTORIES / 5, differ);
        assert!(sum.iter().all(|&count| count > 0), "{name}: {sum:?}");
    }
}
