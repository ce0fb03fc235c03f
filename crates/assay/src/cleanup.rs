//! Deletes what a run has inserted, so that its store holds again what was loaded.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use assay_history::{Column, Columns, History, read_events, write_events};
use assay_model::{Event, EventKind, Fields, Kind, Nanos, OperationEncoder, Outcome, Reason};
use assay_results::run_dirs::UNDONE;
use assay_run::clock;
use assay_store::{Answer, Answers, Client, Request, Store, Ticket, Values};

use crate::exit::from_open;

/// How many deletions are under way at the same time.
const SESSIONS: u32 = 64;
/// How long nothing may be answered.
const TIMEOUT: Nanos = Nanos::from_secs(30);
/// How long is waited for an answer at once.
const WAIT: Duration = Duration::from_millis(20);

/// Deletes every record that the run in `dir` inserted, or may have inserted, and notes that as the
/// last phase of the run. Records numbered below `loaded` are left alone. An insert of which nobody
/// knows may still come after its record was deleted: then nothing counts as undone. If a deletion
/// is not answered with Done, what was inserted is there in part.
pub fn cleanup_inserts(
    store: &dyn Store,
    encoder: &dyn OperationEncoder,
    loaded: u64,
    dir: &Path,
) -> Result<()> {
    let begun = clock::monotonic();
    let Inserted { keys, unknown } = inserted(dir, loaded)?;
    let count = keys.len();
    delete(store, encoder, keys)?;
    store.flush().map_err(from_open)?;
    let mut events = read_events(dir)?;
    let at = events.iter().map(|event| event.at).max().unwrap_or_default();
    let took = clock::monotonic().since(begun);
    let text = match unknown {
        0 => format!("{UNDONE}, {count} records, {took}"),
        _ => format!("{count} inserts deleted, {unknown} of which may still come, {took}"),
    };
    events.push(Event { at, kind: EventKind::Phase, text });
    write_events(dir, &events).context("cannot note that the inserts are undone")
}

/// What may be there because of a run.
struct Inserted {
    /// The records' numbers.
    keys: Vec<u64>,
    /// How many inserts have an unknown outcome.
    unknown: u64,
}

fn inserted(dir: &Path, loaded: u64) -> Result<Inserted> {
    let (mut keys, mut unknown) = (Vec::new(), 0);
    let columns = Columns::of(&[Column::Kind, Column::Key, Column::Outcome]);
    History::open(dir)?.each_batch(columns, |batch| {
        let inserts = batch.records.iter().filter(|record| record.kind == Kind::Insert);
        for record in inserts.filter(|record| record.key >= loaded) {
            if matches!(record.outcome, Outcome::Done | Outcome::Unknown) {
                keys.push(record.key);
            }
            unknown += u64::from(record.outcome == Outcome::Unknown);
        }
    })?;
    keys.sort_unstable();
    keys.dedup();
    Ok(Inserted { keys, unknown })
}

/// Deletes the records with these numbers, as many at a time as the store's client takes.
fn delete(store: &dyn Store, encoder: &dyn OperationEncoder, keys: Vec<u64>) -> Result<()> {
    let mut client = store.open(0).map_err(from_open)?;
    let mut received = DeleteCounts { free: (0..SESSIONS).collect(), ..DeleteCounts::default() };
    let mut keys = keys.into_iter().enumerate().peekable();
    let (mut key, mut answered_at) = (Vec::new(), clock::monotonic());
    while keys.peek().is_some() || received.free.len() < SESSIONS as usize {
        let now = clock::monotonic();
        let before = received.answered;
        while client.is_ready()
            && keys.peek().is_some()
            && let Some(session) = received.free.pop()
            && let Some((number, record)) = keys.next()
        {
            key.clear();
            encoder.key(record, &mut key);
            let ticket = Ticket(number as u64);
            received.under_way.push((ticket, session));
            client.start(now, ticket, &deletion(session, &key), &mut received);
        }
        client.poll(now, &mut received);
        if let Some(failed) = received.failed {
            bail!("a deletion {failed}");
        }
        if received.answered > before {
            answered_at = now;
        } else if now.since(answered_at) > TIMEOUT {
            give_up(client.as_mut(), &received);
            bail!("no response to a deletion for {TIMEOUT}");
        } else {
            client.wait(WAIT);
        }
    }
    Ok(())
}

fn give_up(client: &mut dyn Client, received: &DeleteCounts) {
    received.under_way.iter().for_each(|(ticket, _)| client.abandon(*ticket));
}

fn deletion(session: u32, key: &[u8]) -> Request<'_> {
    let (kind, fields, values) = (Kind::Delete, Fields::All, Values::NONE);
    Request { session, kind, table: 0, key, fields, limit: 1, end: &[], wants_keys: false, values }
}

/// What became of the deletions so far.
#[derive(Debug, Default)]
struct DeleteCounts {
    free: Vec<u32>,
    under_way: Vec<(Ticket, u32)>,
    answered: u64,
    failed: Option<Failed>,
}

/// A deletion that did not happen, or whose outcome is unknown.
#[derive(Clone, Copy, Debug)]
struct Failed {
    how: &'static str,
    reason: Reason,
}

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "is {} ({})", self.how, self.reason.name())
    }
}

impl Answers for DeleteCounts {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let Some(place) = self.under_way.iter().position(|(requested, _)| *requested == ticket)
        else {
            return;
        };
        let (_, session) = self.under_way.swap_remove(place);
        self.free.push(session);
        self.answered += 1;
        let failed = match answer {
            // What may have been inserted need not be there.
            Answer::Done(_) => return,
            Answer::Refused(reason) => Failed { how: "refused", reason },
            Answer::Unknown(reason) => Failed { how: "unknown", reason },
        };
        self.failed.get_or_insert(failed);
    }
}
