//! Random small histories of single records, right and wrong ones.

use assay_consistency::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use assay_model::{Nanos, Outcome, Seed};

/// Times begin here, so that they can be widened to both sides, and are even.
const EPOCH: u64 = 10_000;

/// A kind of histories.
#[derive(Clone, Copy, Debug)]
pub struct Recipe {
    pub operations: u64,
    pub keys: u64,
    pub sessions: u32,
    pub agents: u16,
    /// Only this session writes each record, if set.
    pub has_single_writers: bool,
    /// Chance in percent that a write is read-then-write, that its outcome is not known, that a
    /// read returns something other than the store's state.
    pub read_then_write: u64,
    pub unknown: u64,
    pub wrong: u64,
}

/// A few operations on one record by three sessions: the oracles search all their orders.
pub const SMALL: Recipe = Recipe {
    operations: 8,
    keys: 1,
    sessions: 3,
    agents: 1,
    has_single_writers: false,
    read_then_write: 10,
    unknown: 10,
    wrong: 20,
};

/// History number `index` of a recipe: each operation takes effect at a moment within its
/// interval, and reads return the state at theirs, but for the wrong ones.
pub fn history(recipe: &Recipe, seed: Seed, index: u64) -> RegisterHistory {
    let mut draws = seed.draws(1, index);
    let mut sessions = recipe.sessions;
    let mut active: Vec<(u32, u64)> = (0..sessions).map(|session| (session, EPOCH)).collect();
    let mut moments = Vec::new();
    let mut operations = Vec::new();
    for number in 0..recipe.operations {
        let slot = draws.below(u64::from(recipe.sessions)) as usize;
        let (session, free) = active[slot];
        let started = free + 2 * draws.below(6);
        // Some take no time, and may have the moment of the one before.
        let length = if draws.below(8) == 0 { 0 } else { 2 + 2 * draws.below(12) };
        let ended = started + length;
        let key = draws.below(recipe.keys);
        let may_write =
            !recipe.has_single_writers || key % u64::from(recipe.sessions) == slot as u64;
        let value = WrittenValue(number + 1);
        let access = match draws.below(100) {
            0..50 => Access::Read(WrittenValue::ABSENT),
            _ if !may_write => Access::Read(WrittenValue::ABSENT),
            draw if draw < 50 + recipe.read_then_write => {
                Access::ReadThenWrite { read: WrittenValue::ABSENT, written: value }
            }
            _ => Access::Write(value),
        };
        let is_unknown = draws.below(100) < recipe.unknown;
        let outcome = match draws.below(100) {
            0..4 if recipe.wrong > 0 => Outcome::Refused,
            _ if is_unknown => Outcome::Unknown,
            _ => Outcome::Done,
        };
        active[slot] = (session, ended);
        // Sessions should end with what nobody knows; half of them do not.
        if outcome == Outcome::Unknown && draws.below(2) == 0 {
            active[slot].0 = sessions;
            sessions += 1;
        }
        let agent = (slot % usize::from(recipe.agents)) as u16;
        let (started, ended) = (Nanos(started), Nanos(ended));
        operations.push(RegisterOperation {
            node: 0,
            index: number,
            key,
            session,
            agent,
            started,
            ended,
            outcome,
            access,
        });
        let length = ended.since(started).0 + if outcome == Outcome::Unknown { 40 } else { 0 };
        let moment = started.0 + draws.below(length + 1);
        let second = moment + draws.below(length + started.0 - moment + 1);
        // A session's operations keep their order also where one begins as another ends.
        moments.push((moment, number as usize, 0));
        moments.push((second, number as usize, 1));
    }
    moments.sort_unstable();
    execute(recipe, &moments, &mut operations, &mut draws);
    // Every second one in any order, the others in that of each session.
    let shuffled = if index.is_multiple_of(2) { operations.len() } else { 0 };
    for place in (1..shuffled).rev() {
        operations.swap(place, draws.below(place as u64 + 1) as usize);
    }
    RegisterHistory { operations, writes_whole_records: true, ..RegisterHistory::default() }
}

fn execute(
    recipe: &Recipe,
    moments: &[(u64, usize, u32)],
    operations: &mut [RegisterOperation],
    draws: &mut assay_model::Draws,
) {
    let values = operations.len() as u64;
    let mut state = vec![WrittenValue::ABSENT; recipe.keys as usize];
    for &(_, number, half) in moments {
        let operation = &mut operations[number];
        let is_lost = operation.outcome == Outcome::Unknown && draws.below(2) == 0;
        let is_wrong = draws.below(100) < recipe.wrong;
        let wrong = WrittenValue(draws.below(values + 1));
        let state = &mut state[operation.key as usize];
        match &mut operation.access {
            Access::Read(read) | Access::ReadThenWrite { read, .. } if half == 0 => {
                *read = if is_wrong { wrong } else { *state };
            }
            Access::Write(written) | Access::ReadThenWrite { written, .. }
                if half == 1 && operation.outcome != Outcome::Refused && !is_lost =>
            {
                *state = *written;
            }
            _ => {}
        }
    }
}

/// Correct operations of six agents.
pub const AGENTS: Recipe =
    Recipe { operations: 60, keys: 2, sessions: 6, agents: 6, wrong: 0, unknown: 5, ..SMALL };

/// The history as agents with clocks that are off by up to `error` see it.
pub fn seen_by_agents(history: &RegisterHistory, seed: Seed, error: u64) -> RegisterHistory {
    let mut draws = seed.draws(2, error);
    let offsets: Vec<u64> = (0..6).map(|_| draws.below(2 * error + 1)).collect();
    let mut seen = history.clone();
    for operation in &mut seen.operations {
        let offset = offsets[usize::from(operation.agent)];
        operation.started.0 = operation.started.0 + offset - error;
        operation.ended.0 = operation.ended.0 + offset - error;
    }
    seen
}
