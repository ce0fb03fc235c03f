//! Number of inserts before a process, counted along the stream.

use assay_model::seed::Stream;

/// Draws have this many bits when a kind is chosen.
const SHIFT: u32 = 64 - 53;

/// Counts the inserts of the stream up to a process, those that reads may meet apart.
///
/// YCSB reads a record once its insert was acknowledged, which depends on the store. Here an
/// insert is visible when `visible_after` further processes have been numbered: a function of the
/// stream alone. A process that is skipped costs one draw.
#[derive(Clone, Debug)]
pub(crate) struct Inserts {
    stream: Stream,
    /// The choosing draws of inserts: the first, the first beyond.
    interval: (u64, u64),
    /// Whether each of the last processes was an insert, in turn.
    recent: Vec<bool>,
    place: usize,
    /// The process that all counts are about.
    process: u64,
    before: u64,
    visible: u64,
}

/// The inserts before a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counted {
    /// All of them.
    pub(crate) before: u64,
    /// Those that are older than the distance.
    pub(crate) visible: u64,
}

impl Inserts {
    pub(crate) fn new(stream: Stream, interval: (u64, u64), visible_after: u64) -> Inserts {
        let recent = vec![
            false;
            usize::try_from(visible_after)
                .expect("the distance is checked to be small")
        ];
        Inserts { stream, interval, recent, place: 0, process: 0, before: 0, visible: 0 }
    }

    /// The inserts before `process`, which must not fall from call to call.
    #[inline]
    pub(crate) fn before(&mut self, process: u64) -> Counted {
        assert!(process >= self.process, "processes are drawn in rising order");
        if self.interval.0 < self.interval.1 {
            self.count_up_to(process);
        }
        Counted { before: self.before, visible: self.visible }
    }

    #[inline(never)]
    fn count_up_to(&mut self, process: u64) {
        while self.process < process {
            self.step();
        }
    }

    #[inline]
    fn step(&mut self) {
        let draw = self.stream.draws(self.process).bits() >> SHIFT;
        let is_insert = draw >= self.interval.0 && draw < self.interval.1;
        self.process += 1;
        self.before += u64::from(is_insert);
        let Some(oldest) = self.recent.get_mut(self.place) else {
            self.visible = self.before;
            return;
        };
        self.visible += u64::from(std::mem::replace(oldest, is_insert));
        self.place = if self.place + 1 == self.recent.len() { 0 } else { self.place + 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_model::Seed;

    const HALF: (u64, u64) = (0, 1 << 52);

    fn is_insert(process: u64) -> bool {
        Seed(1).stream(1).draws(process).bits() >> 63 == 0
    }

    #[test]
    fn counts_equal_those_of_the_definition() {
        for visible_after in [0, 1, 7, 100] {
            let mut inserts = Inserts::new(Seed(1).stream(1), HALF, visible_after);
            for process in [0, 0, 1, 5, 90, 101, 350] {
                let before = (0..process).filter(|&older| is_insert(older)).count() as u64;
                let old = process.saturating_sub(visible_after);
                let visible = (0..old).filter(|&older| is_insert(older)).count() as u64;
                assert_eq!(
                    inserts.before(process),
                    Counted { before, visible },
                    "process {process}, visible_after {visible_after}"
                );
            }
        }
    }

    #[test]
    #[should_panic(expected = "rising order")]
    fn going_back_is_refused() {
        let mut inserts = Inserts::new(Seed(1).stream(1), HALF, 0);
        inserts.before(5);
        inserts.before(4);
    }
}
