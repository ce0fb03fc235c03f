//! AWDIT's text, which it calls plume: `r(key,value,session,transaction)` and `w(…)`.
//!
//! As AWDIT reads it: a transaction's steps are in the order of lines, a session's transactions in
//! the order of their first lines; transaction −1 is aborted, of which writes alone matter; value
//! 0 is the initial one, unless it is written.

use std::collections::HashMap;

use assay_model::Outcome;

use super::builder::Builder;
use super::error::{ForeignError, ForeignProblem};
use super::form::Form;
use super::text::Text;
use super::{ForeignHistory, ForeignTimes};

/// The transaction of whatever was aborted.
const ABORTED: i64 = -1;

/// More than a 64-bit integer has, so that the message shows that it has too many.
const MAX_DIGITS: usize = 24;

/// One line.
struct Line {
    is_write: bool,
    key: Form,
    value: Form,
    session: i64,
    transaction: i64,
}

#[derive(Default)]
struct Reader {
    builder: Builder,
    sessions: HashMap<i64, u32>,
    transactions: HashMap<i64, usize>,
}

pub(super) fn read(mut text: Text<'_>) -> Result<ForeignHistory, ForeignError> {
    let mut reader = Reader::default();
    while skip_blanks(&mut text)? {
        let position = text.position();
        let parsed = parse(&mut text)?;
        reader.line(&parsed).map_err(|problem| ForeignError { position, problem })?;
    }
    reader.builder.name_initial_values();
    Ok(reader.builder.finish(ForeignTimes::SessionOrder))
}

/// Goes to the next line; false at the end of the text.
fn skip_blanks(text: &mut Text<'_>) -> Result<bool, ForeignError> {
    while let Some(byte) = text.peek()? {
        if !byte.is_ascii_whitespace() {
            return Ok(true);
        }
        text.advance();
    }
    Ok(false)
}

fn parse(text: &mut Text<'_>) -> Result<Line, ForeignError> {
    let is_write = match text.peek()? {
        Some(b'w') => true,
        Some(b'r') => false,
        Some(byte) => return Err(text.error(ForeignProblem::Unexpected(char::from(byte)))),
        None => return Err(text.error(ForeignProblem::Truncated)),
    };
    text.advance();
    expect(text, b'(')?;
    let key = name(text, b',')?;
    let value = name(text, b',')?;
    let session = number(text, b',')?;
    let transaction = number(text, b')')?;
    Ok(Line { is_write, key, value, session, transaction })
}

fn expect(text: &mut Text<'_>, byte: u8) -> Result<(), ForeignError> {
    match text.peek()? {
        Some(found) if found == byte => {
            text.advance();
            Ok(())
        }
        Some(found) => Err(text.error(ForeignProblem::Unexpected(char::from(found)))),
        None => Err(text.error(ForeignProblem::Truncated)),
    }
}

/// A session or transaction.
fn number(text: &mut Text<'_>, end: u8) -> Result<i64, ForeignError> {
    let position = text.position();
    let name = name(text, end)?;
    name.integer().ok_or_else(|| ForeignError { position, problem: not_an_integer(name.shown()) })
}

fn not_an_integer(found: String) -> ForeignProblem {
    ForeignProblem::Expected { expected: "a 64-bit integer", found }
}

/// A number up to `end`; AWDIT writes neither blanks nor plus signs. Keys and values may be hashes
/// of 64 bits, without a sign.
fn name(text: &mut Text<'_>, end: u8) -> Result<Form, ForeignError> {
    let position = text.position();
    let mut digits = [0; MAX_DIGITS];
    let mut length = 0;
    while length < MAX_DIGITS
        && let Some(byte) = text.peek()?
        && (byte.is_ascii_digit() || byte == b'-')
    {
        digits[length] = byte;
        length += 1;
        text.advance();
    }
    if text.peek()?.is_none() {
        return Err(text.error(ForeignProblem::Truncated));
    }
    let found = str::from_utf8(&digits[..length]).unwrap_or_default();
    let name = match (found.parse(), found.parse::<u64>()) {
        (Ok(integer), _) => Form::Integer(integer),
        (Err(_), Ok(_)) => Form::Number(found.into()),
        (Err(_), Err(_)) => {
            let found = if length == 0 { "none" } else { found }.to_owned();
            return Err(ForeignError { position, problem: not_an_integer(found) });
        }
    };
    expect(text, end)?;
    Ok(name)
}

impl Reader {
    fn line(&mut self, line: &Line) -> Result<(), ForeignProblem> {
        let step = if line.is_write {
            self.builder.write(&line.key, &line.value)?
        } else if line.transaction == ABORTED {
            return Ok(());
        } else {
            self.builder.register_read(&line.key, Some(&line.value))?
        };
        let session = match self.sessions.get(&line.session) {
            Some(session) => *session,
            None => {
                let session = self.builder.session(line.session)?;
                self.sessions.insert(line.session, session);
                session
            }
        };
        if line.transaction == ABORTED {
            self.builder.begin(session, Outcome::Refused, vec![step]);
            return Ok(());
        }
        if let Some(transaction) = self.transactions.get(&line.transaction) {
            let transaction = &mut self.builder.transactions[*transaction];
            if transaction.session != session {
                let transaction = line.transaction;
                return Err(ForeignProblem::TransactionOfTwoSessions { transaction });
            }
            transaction.steps.push(step);
            return Ok(());
        }
        self.transactions.insert(line.transaction, self.builder.transactions.len());
        self.builder.begin(session, Outcome::Done, vec![step]);
        Ok(())
    }
}
