//! Consistability: how much of the time a service was in each state, with and without violations.
//!
//! After Aiyer, Anderson, Li, Shah, Wylie, "Consistability: describing usually consistent systems"
//! (HotDep 2008), who ask in which share of time a store offers which consistency.

use assay_model::Nanos;

use super::states::{ServiceState, StateSeries};

const SECOND: u64 = 1_000_000_000;

/// Time by state and violation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Consistability {
    /// The shares of the time in use in which there was no violation, by state, as in
    /// [`ServiceState::USED`].
    pub clean: [f64; 3],
    /// The shares with at least one violation of each class, in the order of the classes. They
    /// overlap.
    pub violated: Vec<[f64; 3]>,
    /// How many violations of each class there were.
    pub counts: Vec<[u64; 3]>,
}

/// The table of `classes`: seconds of the run with their numbers of violations.
pub fn consistability(states: &StateSeries, classes: &[&[(u64, u64)]]) -> Consistability {
    let used = states.states.iter().filter(|state| **state != ServiceState::Idle).count();
    let one = 1.0 / used.max(1) as f64;
    let in_state = |state: ServiceState| ServiceState::USED.iter().position(|used| *used == state);
    let counts: Vec<Vec<u64>> = classes.iter().map(|class| counts(states, class)).collect();
    let mut table = Consistability {
        clean: [0.0; 3],
        violated: vec![[0.0; 3]; classes.len()],
        counts: vec![[0; 3]; classes.len()],
    };
    for (place, state) in states.states.iter().enumerate() {
        let Some(column) = in_state(*state) else { continue };
        if counts.iter().all(|counts| counts[place] == 0) {
            table.clean[column] += one;
        }
        for (class, counts) in counts.iter().enumerate() {
            table.counts[class][column] += counts[place];
            table.violated[class][column] += if counts[place] > 0 { one } else { 0.0 };
        }
    }
    table
}

/// The violations during each state.
fn counts(states: &StateSeries, per_second: &[(u64, u64)]) -> Vec<u64> {
    let mut counts = vec![0; states.states.len()];
    for (second, number) in per_second {
        // A second belongs where its middle is.
        let at = Nanos(second * SECOND + SECOND / 2);
        if at < states.from {
            continue;
        }
        let place = (at.since(states.from).0 / states.width.0.max(1)) as usize;
        if let Some(count) = counts.get_mut(place) {
            *count += number;
        }
    }
    counts
}
