//! Which process does what: blocks of operations with a fixed number of each, in a random order.
//!
//! So the number of a creation follows from its place, and an operation can name a prescription
//! that an earlier one creates, without a memory.

use assay_model::seed::mix;

use super::OPERATIONS;
use crate::script::program::locate;

/// Operations of a block.
pub(super) const BLOCK: u64 = 1_000;

/// A prescription is processed, or gets other drugs, so many blocks after its creation: at least
/// `BLOCK` operations lie between the two.
pub(super) const LATER: u64 = 2;

/// Places in [`OPERATIONS`].
pub(super) const CREATE: usize = 3;
/// As [`CREATE`].
pub(super) const PROCESS: usize = 6;

/// Half of the bits of a place in a block, as the rounds of [`shuffled`] take them.
const HALF: u32 = 5;

/// What each operation of a block is.
#[derive(Clone, Debug)]
pub(super) struct Deck {
    /// How many operations of each sort a block has.
    counts: [u64; OPERATIONS.len()],
}

/// What one process does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Card {
    /// Its place in [`OPERATIONS`].
    pub operation: usize,
    /// Its number among the operations of its sort in the block.
    pub number: u64,
    pub block: u64,
}

impl Deck {
    /// Weights that are no negative numbers, whose sum is above 0; by the largest remainders.
    pub(super) fn new(weights: &[f64; OPERATIONS.len()]) -> Deck {
        let sum: f64 = weights.iter().sum();
        let exact = weights.map(|weight| weight / sum * BLOCK as f64);
        let mut counts = exact.map(|share| share.floor() as u64);
        let mut places: Vec<usize> = (0..counts.len()).collect();
        let remainder = |place: &usize| exact[*place] - exact[*place].floor();
        places.sort_by(|one, other| remainder(other).total_cmp(&remainder(one)));
        let missing = BLOCK - counts.iter().sum::<u64>();
        places.iter().take(missing as usize).for_each(|place| counts[*place] += 1);
        Deck { counts }
    }

    /// Prescriptions that a block creates.
    pub(super) fn created(&self) -> u64 {
        self.counts[CREATE]
    }

    /// Prescriptions that a block processes.
    pub(super) fn processed(&self) -> u64 {
        self.counts[PROCESS]
    }

    /// So many prescriptions must be loaded: those which the first blocks process, and one.
    pub(super) fn least_prescriptions(&self) -> u64 {
        LATER * self.processed() + 1
    }

    /// What process number `process` does.
    pub(super) fn card(&self, process: u64, seed: u64) -> Card {
        let (block, place) = (process / BLOCK, process % BLOCK);
        let turn = shuffled(place, mix(seed ^ mix(block)));
        let (operation, number) = locate(turn, self.counts);
        Card { operation, number, block }
    }
}

/// The place that `place` of a block comes to: a permutation, by a Feistel network over the next
/// power of four, which is walked until it is within the block (Black, Rogaway 2002).
fn shuffled(place: u64, key: u64) -> u64 {
    let mask = (1 << HALF) - 1;
    let mut place = place;
    loop {
        let (mut left, mut right) = (place >> HALF, place & mask);
        for round in 0..4 {
            let next = left ^ (mix(key ^ (round << 32) ^ right) & mask);
            (left, right) = (right, next);
        }
        place = left << HALF | right;
        if place < BLOCK {
            return place;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEIGHTS: [f64; 9] = [0.27, 0.27, 0.14, 0.08, 0.07, 0.05, 0.04, 0.04, 0.04];

    #[test]
    fn every_block_has_each_operation_as_often_as_its_weight_says() {
        let deck = Deck::new(&WEIGHTS);
        for block in 0..20 {
            let mut seen = std::collections::BTreeSet::new();
            for place in 0..BLOCK {
                let card = deck.card(block * BLOCK + place, 7);
                assert_eq!(card.block, block);
                assert!(card.number < deck.counts[card.operation]);
                assert!(seen.insert((card.operation, card.number)));
            }
        }
        assert_eq!(deck.counts, [270, 270, 140, 80, 70, 50, 40, 40, 40]);
    }

    #[test]
    fn blocks_are_in_different_orders() {
        let deck = Deck::new(&WEIGHTS);
        let order = |block: u64, seed| -> Vec<usize> {
            (0..BLOCK).map(|place| deck.card(block * BLOCK + place, seed).operation).collect()
        };
        assert_ne!(order(0, 7), order(1, 7));
        assert_ne!(order(0, 7), order(0, 8));
        let runs = order(0, 7).windows(2).filter(|pair| pair[0] == pair[1]).count();
        // Two neighbours are alike with the sum of the squared shares, 19 %.
        assert!((130..250).contains(&runs), "{runs}");
    }

    #[test]
    fn remainders_fill_the_block() {
        let thirds = Deck::new(&[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(thirds.counts.iter().sum::<u64>(), BLOCK);
        assert_eq!(thirds.created(), 0);
    }
}
