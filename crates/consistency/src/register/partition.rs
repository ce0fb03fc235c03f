//! Operations by record, brought together without jumping through the history.
//!
//! Following a sorted list of places would miss the cache and the table of pages once for each
//! operation. So the history is read in its order and its operations are dealt out to as many
//! parts as a processor can write to at once; each part, with all operations of its records, is
//! then sorted within the cache (a partitioned sort, as in Manegold, Boncz, Kersten, Optimizing
//! Main-Memory Join on Modern Hardware, 2002).

use std::ops::RangeInclusive;

use assay_model::Outcome;
use memmap2::MmapMut;
use zerocopy::FromBytes;

use crate::register::keyed::KeyedOperation;
use crate::register::prepared::NONE;
use crate::register::successors::{SEQUENTIAL, Successors};
use crate::register::{Access, RegisterOperation};

/// Operations of a part: with the order of their records, what fits into the processor's level-2
/// cache, for as long as there are not too many parts.
const PART: usize = 4096;
/// Parts: for each the processor keeps the line that is being written.
const PARTS_MAX: usize = 1024;

/// Operations by part, in one piece of memory, for the kernel gives large pages to large pieces
/// only: 48 bytes each.
pub(super) struct DealtOperations {
    memory: MmapMut,
    /// Where each part ends.
    ends: Vec<usize>,
}

impl DealtOperations {
    /// With room for parts of these sizes.
    ///
    /// # Panics
    ///
    /// If there is not that much memory.
    fn new(sizes: &[usize]) -> DealtOperations {
        let mut end = 0;
        let until = |size: &usize| {
            end += size;
            end
        };
        let ends: Vec<usize> = sizes.iter().map(until).collect();
        let bytes = end * size_of::<KeyedOperation>();
        let memory = MmapMut::map_anon(bytes).unwrap_or_else(|error| {
            panic!("no memory to judge so many operations, {bytes} bytes: {error}")
        });
        // A kernel that has no large pages hands out small ones.
        #[cfg(target_os = "linux")]
        memory.advise(memmap2::Advice::HugePage).ok();
        DealtOperations { memory, ends }
    }

    fn bytes(&self) -> usize {
        self.ends.last().map_or(0, |end| end * size_of::<KeyedOperation>())
    }

    fn all_mut(&mut self) -> &mut [KeyedOperation] {
        let bytes = self.bytes();
        FromBytes::mut_from_bytes(&mut self.memory[..bytes]).expect("pages are aligned")
    }

    /// The parts, which share no record.
    pub(super) fn parts(&self) -> impl Iterator<Item = &[KeyedOperation]> {
        let bytes = &self.memory[..self.bytes()];
        let all = <[KeyedOperation]>::ref_from_bytes(bytes).expect("pages are aligned");
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &all[begin..*end])
    }
}

/// What one pass over a history tells before its operations are dealt out.
#[derive(Debug)]
pub(super) struct Survey {
    /// Operations of each part.
    counts: Vec<usize>,
    pub(super) has_known: bool,
    greatest_session: u32,
    least_agent: u16,
    greatest_agent: u16,
}

impl Survey {
    pub(super) fn new(history: &[RegisterOperation]) -> Survey {
        let parts = (history.len() / PART).clamp(1, PARTS_MAX);
        let mut survey = Survey {
            counts: vec![0; 1 << parts.ilog2()],
            has_known: false,
            greatest_session: 0,
            least_agent: u16::MAX,
            greatest_agent: 0,
        };
        for operation in history {
            survey.has_known |= operation.outcome == Outcome::Done;
            survey.greatest_session = survey.greatest_session.max(operation.session);
            survey.least_agent = survey.least_agent.min(operation.agent);
            survey.greatest_agent = survey.greatest_agent.max(operation.agent);
            let part = part(operation.key, survey.counts.len());
            survey.counts[part] += usize::from(says_something(operation));
        }
        survey
    }

    /// From the first agent to the last.
    pub(super) fn agents(&self) -> RangeInclusive<u16> {
        self.least_agent..=self.greatest_agent
    }

    /// The operations that say something, in parts that share no record.
    pub(super) fn deal_out(
        &self,
        history: &[RegisterOperation],
        sessions: &mut Sessions,
    ) -> DealtOperations {
        let mut dealt = DealtOperations::new(&self.counts);
        let mut next: Vec<usize> =
            dealt.ends.iter().zip(&self.counts).map(|(end, count)| end - count).collect();
        let all = dealt.all_mut();
        let sayers = history.iter().zip(0..).filter(|(operation, _)| says_something(operation));
        for (operation, place) in sayers {
            let session = sessions.number(operation.session);
            let next = &mut next[part(operation.key, self.counts.len())];
            let mut operation = KeyedOperation::new(operation, place, session);
            sessions.dealt[session as usize].add(&mut operation);
            all[*next] = operation;
            *next += 1;
        }
        dealt
    }
}

/// The part of a record among so many, a power of two.
///
/// Multiplied, so that neighbours, which may be popular together, are dealt out evenly.
fn part(key: u64, parts: usize) -> usize {
    let product = (key ^ (key >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (product >> 32) as usize & (parts - 1)
}

fn says_something(operation: &RegisterOperation) -> bool {
    match operation.outcome {
        Outcome::Done => true,
        Outcome::Dropped => false,
        Outcome::Refused | Outcome::Unknown => !matches!(operation.access, Access::Read(_)),
    }
}

/// What was dealt out of one session.
#[derive(Clone, Debug, Default)]
pub(super) struct DealtSession {
    operations: u32,
    pub(super) reads: u32,
    /// When the last of them began, and all that have ended were over.
    started: u64,
    over: u64,
    /// Whether one began before another that the history has before it.
    is_shuffled: bool,
    /// Whether one began when another was not over.
    overlaps: bool,
}

impl DealtSession {
    fn add(&mut self, operation: &mut KeyedOperation) {
        operation.number = self.operations;
        self.operations += 1;
        self.reads += u32::from(operation.has_read());
        self.is_shuffled |= operation.started < self.started;
        self.overlaps |= self.is_shuffled || operation.started < self.over;
        self.started = self.started.max(operation.started);
        if operation.is_done() {
            self.over = self.over.max(operation.over());
        }
    }
}

/// Numbers of sessions without gaps, and what was dealt out of each.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    /// The number of each session that has one, or the sessions in their order if those are far
    /// apart.
    direct: Vec<u32>,
    sorted: Vec<u32>,
    /// By number.
    pub(super) dealt: Vec<DealtSession>,
}

impl Sessions {
    pub(super) fn new(operations: &[RegisterOperation], survey: &Survey) -> Sessions {
        let greatest = survey.greatest_session as usize;
        if greatest <= operations.len().max(1024) {
            let direct = vec![NONE; greatest + 1];
            return Sessions { direct, ..Sessions::default() };
        }
        let mut sorted: Vec<u32> = operations.iter().map(|operation| operation.session).collect();
        sorted.sort_unstable();
        sorted.dedup();
        let dealt = vec![DealtSession::default(); sorted.len()];
        Sessions { direct: Vec::new(), sorted, dealt }
    }

    /// The order of each session's operations. Those that the history does not have in the order of
    /// their start get their numbers anew.
    pub(super) fn successors(&self, dealt: &mut DealtOperations) -> Successors {
        if !self.dealt.iter().any(|session| session.overlaps) {
            return Successors::default();
        }
        let all = dealt.all_mut();
        self.number_shuffled(all);
        let mut count = 0;
        let begin = |session: &DealtSession| {
            let begin = if session.overlaps { count } else { SEQUENTIAL };
            count += if session.overlaps { session.operations } else { 0 };
            begin
        };
        let begins: Vec<u32> = self.dealt.iter().map(begin).collect();
        let mut operations = vec![(0, 0); count as usize];
        for one in all.iter() {
            let begin = begins[one.session as usize];
            if begin != SEQUENTIAL {
                operations[(begin + one.number) as usize] = (one.started, one.over());
            }
        }
        Successors::new(begins, &operations)
    }

    fn number_shuffled(&self, all: &mut [KeyedOperation]) {
        if !self.dealt.iter().any(|session| session.is_shuffled) {
            return;
        }
        let is_shuffled = |one: &&mut KeyedOperation| self.dealt[one.session as usize].is_shuffled;
        let mut operations: Vec<_> = all.iter_mut().filter(is_shuffled).collect();
        operations.sort_unstable_by_key(|one| (one.session, one.started, one.place));
        for session in operations.chunk_by_mut(|one, other| one.session == other.session) {
            session.iter_mut().zip(0..).for_each(|(one, number)| one.number = number);
        }
    }

    /// The number of a session, a new one if it has none.
    fn number(&mut self, session: u32) -> u32 {
        let Some(number) = self.direct.get_mut(session as usize) else {
            return self.sorted.partition_point(|other| *other < session) as u32;
        };
        if *number == NONE {
            *number = self.dealt.len() as u32;
            self.dealt.push(DealtSession::default());
        }
        *number
    }
}
