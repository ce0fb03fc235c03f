//! Draws of transactions before they are issued.

use assay_model::Draws;

/// How many transactions draw together.
///
/// What one draws is a long chain of steps that wait for each other, so several side by side take
/// less time than one after the other, with the rest of an operation in between. Workers that share
/// their processes claim eight at once.
const GROUP: usize = 8;

/// The part of a transaction that follows from its number alone.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    /// The place of the action among the weights.
    pub(crate) action: usize,
    /// The record it is about; `u64::MAX` if that depends on the transactions before.
    pub(crate) key: u64,
    /// The draws that are left.
    pub(crate) draws: Draws,
}

/// The draws of the transactions that are likely to come next.
///
/// It is not known which part of the stream a worker will request, so this extrapolates: from
/// one transaction to the next by the same step. Where that was wrong one of them draws, where it
/// was right a group. Each part of them lies in words of its own, to be read as it was written: a
/// wider reading would wait until the processor has put all of them away.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    actions: [usize; GROUP],
    keys: [u64; GROUP],
    draws: [Draws; GROUP],
    /// How many of the group have been taken.
    taken: usize,
    /// The transaction that is likely to be next.
    next: u64,
    /// The distance from one to the next.
    step: u64,
    /// The last distance, if it was another.
    other: u64,
}

impl Ahead {
    /// Has nothing yet; `draws` may be any.
    pub(crate) fn new(draws: &Draws) -> Ahead {
        Ahead {
            actions: [0; GROUP],
            keys: [0; GROUP],
            draws: std::array::from_fn(|_| draws.clone()),
            taken: GROUP,
            next: 0,
            step: 1,
            other: 1,
        }
    }

    /// What `draw` gives for `number`.
    #[inline]
    pub(crate) fn take(&mut self, number: u64, draw: impl Fn(u64) -> Drawn) -> Drawn {
        if number != self.next || self.taken >= GROUP {
            self.draw(number, draw);
        }
        let place = self.taken % GROUP;
        self.taken = place + 1;
        self.next = number.wrapping_add(self.step);
        Drawn {
            action: self.actions[place],
            key: self.keys[place],
            draws: self.draws[place].clone(),
        }
    }

    /// Lets `number` draw and, if it was to be expected, those after it.
    #[inline(never)]
    fn draw(&mut self, number: u64, draw: impl Fn(u64) -> Drawn) {
        self.taken = match number == self.next {
            true => 0,
            false => GROUP - 1,
        };
        self.learn(number);
        let mut number = number;
        for place in self.taken..GROUP {
            let drawn = draw(number);
            self.actions[place] = drawn.action;
            self.keys[place] = drawn.key;
            self.draws[place] = drawn.draws;
            number = number.wrapping_add(self.step);
        }
    }

    /// Takes up a step that was taken twice.
    fn learn(&mut self, number: u64) {
        let step = number.wrapping_sub(self.next.wrapping_sub(self.step));
        if step == self.other {
            self.step = step;
        }
        self.other = step;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use assay_model::Seed;

    use super::*;

    fn draw(number: u64) -> Drawn {
        Drawn { action: number as usize % 5, key: number * 3, draws: Seed(1).draws(1, number) }
    }

    /// Takes `numbers`, and says how many were drawn for them.
    fn take(numbers: impl IntoIterator<Item = u64>) -> u64 {
        let count = Cell::new(0);
        let mut ahead = Ahead::new(&Seed(0).draws(0, 0));
        for number in numbers {
            let counted = |number| {
                count.set(count.get() + 1);
                draw(number)
            };
            let mut taken = ahead.take(number, counted);
            let mut alone = draw(number);
            assert_eq!((taken.action, taken.key), (alone.action, alone.key), "{number}");
            assert_eq!(taken.draws.bits(), alone.draws.bits(), "{number}");
        }
        count.get()
    }

    #[test]
    fn steps_of_any_length_are_drawn_in_groups() {
        assert_eq!(take(0..80), 80);
        // The first two processes of a worker tell its step.
        assert_eq!(take((3..).step_by(7).take(83)), 3 + 80);
    }

    #[test]
    fn a_worker_that_claims_eight_processes_at_once_wastes_few_draws() {
        let claimed = (0..100).flat_map(|claim| claim * 24..claim * 24 + 8);
        assert!(take(claimed) <= 900);
    }

    #[test]
    fn numbers_without_order_are_drawn_one_by_one() {
        assert_eq!(take([9, 2, 2, 40, 7, 1000, 3, 0, 500]), 9);
        let draws = &mut Seed(2).draws(3, 0);
        assert_eq!(take((0..1000).map(|_| draws.below(1 << 40))), 1000);
    }
}
