//! Independent judges of small histories: porcupine, and the definitions taken literally.

use assay_consistency::{Access, RegisterHistory, RegisterOperation, WrittenValue};
use assay_model::Outcome;
use porcupine_rs::{Model, Operation};

/// A read or a write of one record, with the time at which it had certainly ended.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub is_write: bool,
    pub value: u64,
    pub started: u64,
    pub ended: u64,
    /// Whether it certainly took place.
    pub is_done: bool,
    pub key: u64,
    pub session: u32,
    /// The operation's number in the history, the first half of a read-then-write before the other.
    pub index: u64,
}

/// The reads and writes of a history that say something, in its order.
pub fn events(history: &RegisterHistory) -> Vec<Event> {
    let mut events = Vec::new();
    for operation in &history.operations {
        let is_done = operation.outcome == Outcome::Done;
        let mut add = |is_write, value: WrittenValue| {
            events.push(Event {
                is_write,
                value: value.0,
                started: operation.started.0,
                ended: if is_done { operation.ended.0 } else { i64::MAX as u64 },
                is_done,
                key: operation.key,
                session: operation.session,
                index: operation.index,
            });
        };
        if let (Some(read), true) = (read(operation), is_done) {
            // It had read before it wrote, so its own value was nobody's.
            let is_own = written(operation) == Some(read);
            add(false, if is_own { WrittenValue::GARBAGE } else { read });
        }
        if let (Some(written), true) = (written(operation), operation.outcome != Outcome::Refused) {
            add(true, written);
        }
    }
    events
}

fn read(operation: &RegisterOperation) -> Option<WrittenValue> {
    match operation.access {
        Access::Read(read) | Access::ReadThenWrite { read, .. } => Some(read),
        Access::Write(_) => None,
    }
}

fn written(operation: &RegisterOperation) -> Option<WrittenValue> {
    match operation.access {
        Access::Write(written) | Access::ReadThenWrite { written, .. } => Some(written),
        Access::Read(_) => None,
    }
}

/// A register for porcupine.
#[derive(Clone)]
struct Register;

impl Model for Register {
    type State = u64;
    type Op = (bool, u64);
    type Metadata = ();

    fn init() -> u64 {
        WrittenValue::ABSENT.0
    }

    fn step(state: &u64, &(is_write, value): &(bool, u64)) -> (bool, u64) {
        if is_write { (true, value) } else { (*state == value, *state) }
    }
}

/// Whether porcupine calls a history of one record linearizable. A read-then-write is a read and a
/// write.
pub fn porcupine(events: &[Event]) -> bool {
    let operation = |event: &Event| Operation::<Register> {
        client_id: None,
        call_time: event.started as i64,
        return_time: event.ended as i64,
        op: (event.is_write, event.value),
        metadata: None,
    };
    porcupine_rs::check_operations(&events.iter().map(operation).collect::<Vec<_>>())
}

/// Whether some order of a record's operations within their intervals has each read among the `k`
/// newest versions: all orders are tried.
pub fn is_k_atomic(events: &[Event], k: usize) -> bool {
    extend(events, 0, &mut vec![WrittenValue::ABSENT.0], k)
}

fn extend(events: &[Event], placed: u64, written: &mut Vec<u64>, k: usize) -> bool {
    let is_placed = |place: usize| placed & (1 << place) != 0;
    let rest = || (0..events.len()).filter(|&place| !is_placed(place));
    if rest().all(|place| !events[place].is_done) {
        return true;
    }
    let first_end = rest().map(|place| events[place].ended).min().unwrap_or(u64::MAX);
    for place in rest() {
        let event = &events[place];
        if event.started > first_end {
            continue;
        }
        if event.is_write {
            written.push(event.value);
            let is_possible = extend(events, placed | 1 << place, written, k);
            written.pop();
            if is_possible {
                return true;
            }
        } else if written.iter().rev().take(k).any(|value| *value == event.value) {
            // Nothing is gained by placing a read later that can be placed now.
            return extend(events, placed | 1 << place, written, k);
        }
    }
    false
}

/// The events with intervals that are longer by this on both sides.
pub fn widened(events: &[Event], by: u64) -> Vec<Event> {
    let widen = |event: &Event| Event {
        started: event.started - by,
        ended: event.ended.saturating_add(by).min(i64::MAX as u64),
        ..*event
    };
    events.iter().map(widen).collect()
}

/// The events with reads that begin earlier by this.
pub fn with_earlier_reads(events: &[Event], by: u64) -> Vec<Event> {
    let move_start = |event: &Event| Event {
        started: event.started - if event.is_write { 0 } else { by },
        ..*event
    };
    events.iter().map(move_start).collect()
}
