//! Numbers for the keys and values of a foreign history, and their names back from the numbers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::form::Form;
use crate::register::WrittenValue;

/// A key or value as the foreign history names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ForeignName {
    /// An integer.
    Integer(i64),
    /// Anything else, in EDN's notation: strings have quotes, keywords a colon.
    Other(Arc<str>),
}

impl From<&Form> for ForeignName {
    fn from(form: &Form) -> ForeignName {
        match form {
            Form::Integer(number) => ForeignName::Integer(*number),
            other => ForeignName::Other(other.to_string().into()),
        }
    }
}

impl fmt::Display for ForeignName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ForeignName::Integer(number) => write!(out, "{number}"),
            ForeignName::Other(text) => out.write_str(text),
        }
    }
}

/// The names of a history's keys, values and sessions, by their numbers.
///
/// Values are numbered per key: equal values of two keys have two numbers, equal values of one key
/// have one, whoever wrote them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignNames {
    /// The name of each key.
    pub keys: Vec<ForeignName>,
    /// The name of each value, from [`WrittenValue`] one on, with its key.
    pub values: Vec<(u64, ForeignName)>,
    /// The process, client or session that each session was there.
    pub sessions: Vec<i64>,
}

impl ForeignNames {
    /// The name of a key.
    pub fn key(&self, key: u64) -> Option<&ForeignName> {
        self.keys.get(usize::try_from(key).ok()?)
    }

    /// The name of a value; [`WrittenValue::ABSENT`] has none.
    pub fn value(&self, value: WrittenValue) -> Option<&ForeignName> {
        let position = usize::try_from(value.0.checked_sub(1)?).ok()?;
        self.values.get(position).map(|(_, name)| name)
    }
}

/// Gives numbers to names.
#[derive(Default)]
pub(super) struct Interner {
    keys: HashMap<ForeignName, u64>,
    /// Most values are integers, and lists are full of them: they are found without a copy.
    integers: HashMap<(u64, i64), WrittenValue>,
    others: HashMap<(u64, ForeignName), WrittenValue>,
    pub(super) names: ForeignNames,
}

impl Interner {
    pub(super) fn key(&mut self, form: &Form) -> u64 {
        let name = ForeignName::from(form);
        let next = self.names.keys.len() as u64;
        *self.keys.entry(name).or_insert_with_key(|name| {
            self.names.keys.push(name.clone());
            next
        })
    }

    /// The number of a value of this key; nil is no record.
    pub(super) fn value(&mut self, key: u64, form: &Form) -> WrittenValue {
        let next = WrittenValue(self.names.values.len() as u64 + 1);
        let values = &mut self.names.values;
        match form {
            Form::Nil => WrittenValue::ABSENT,
            Form::Integer(number) => *self.integers.entry((key, *number)).or_insert_with(|| {
                values.push((key, ForeignName::Integer(*number)));
                next
            }),
            other => {
                let name = ForeignName::from(other);
                *self.others.entry((key, name)).or_insert_with_key(|(_, name)| {
                    values.push((key, name.clone()));
                    next
                })
            }
        }
    }
}
