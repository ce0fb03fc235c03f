//! Histories as Jepsen would have noted them, for adya.

use adya::History;
use adya::history::{Interner, Mop, Op, OpType, ReadValue, Scalar};
use assay_consistency::{TransactionHistory, TransactionStep, WrittenValue};
use assay_model::Outcome;

/// The same history as Jepsen would have noted it.
pub fn converted(history: &TransactionHistory) -> History {
    let mut interner = Interner::default();
    let mut events: Vec<(u64, u8, Op)> = Vec::new();
    for one in &history.transactions {
        let mut op = |kind, with_reads| Op {
            index: one.index,
            kind,
            process: Some(i64::from(one.session)),
            value: one.steps.iter().map(|step| mop(step, with_reads, &mut interner)).collect(),
            time: None,
        };
        // Of equal times, beginnings come first: such transactions are concurrent.
        events.push((one.started.0, 0, op(OpType::Invoke, false)));
        events.push(match one.outcome {
            Outcome::Done => (one.ended.0, 1, op(OpType::Ok, true)),
            Outcome::Refused | Outcome::Dropped => (one.ended.0, 1, op(OpType::Fail, false)),
            Outcome::Unknown => (u64::MAX, 1, op(OpType::Info, false)),
        });
    }
    events.sort_by_key(|(time, order, _)| (*time, *order));
    let mut ops: Vec<Op> = events.into_iter().map(|(_, _, op)| op).collect();
    ops.iter_mut().zip(0..).for_each(|(op, index)| op.index = index);
    History::from_ops(ops, interner)
}

fn mop(step: &TransactionStep, with_reads: bool, interner: &mut Interner) -> Mop {
    let mut name = |number: u64| interner.intern(Scalar::Int(number as i64));
    // Keys and values share the table of numbers, which does no harm.
    match step {
        TransactionStep::Append { key, element } => {
            Mop::Append { key: name(*key), value: name(element.0) }
        }
        TransactionStep::Write { key, value, .. } => {
            Mop::Write { key: name(*key), value: name(value.0) }
        }
        TransactionStep::ReadList { key, elements } => {
            let list = elements.as_ref().filter(|_| with_reads);
            let value = list.map_or(ReadValue::Nil, |list| {
                ReadValue::List(list.iter().map(|element| name(element.0)).collect())
            });
            Mop::Read { key: name(*key), value }
        }
        TransactionStep::Read { key, value } => {
            let known = value.filter(|value| with_reads && *value != WrittenValue::ABSENT);
            let value = known.map_or(ReadValue::Nil, |value| ReadValue::Scalar(name(value.0)));
            Mop::Read { key: name(*key), value }
        }
    }
}
