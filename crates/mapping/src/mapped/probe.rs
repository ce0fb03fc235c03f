//! A few questions to a store before the run, each waited for.

use std::time::Duration;

use assay_model::{Fields, Kind, Nanos};
use assay_store::{Answer, Answers, Client, OpenError, Request, Store, Ticket, Values};

/// How long to wait for one response, in rounds of [`TIMEOUT`]: about ten seconds.
const ROUNDS: u32 = 2_000;
const TIMEOUT: Duration = Duration::from_millis(5);

/// A client that sends one request at a time.
pub(super) struct Probe {
    client: Box<dyn Client>,
    tickets: u64,
}

/// What came back: how many rows, and the first field of the first.
#[derive(Default)]
struct Inbox(Option<Result<(u32, Vec<u8>), String>>);

impl Answers for Inbox {
    fn answer(&mut self, _ticket: Ticket, answer: Answer<'_>) {
        self.0 = Some(match answer {
            Answer::Refused(reason) | Answer::Unknown(reason) => {
                Err(format!("it did not tell what it holds: {}", reason.name()))
            }
            Answer::Done(reply) => {
                let mut first = Vec::new();
                reply.rows.each(|field| {
                    if field.row == 0 && first.is_empty() {
                        first.extend_from_slice(field.value);
                    }
                });
                Ok((reply.rows.count(), first))
            }
        });
    }
}

impl Probe {
    pub(super) fn open(store: &dyn Store) -> Result<Probe, OpenError> {
        Ok(Probe { client: store.open(0)?, tickets: 0 })
    }

    /// Whether a table has any rows.
    pub(super) fn has_rows(&mut self, table: u16) -> Result<bool, String> {
        let (rows, _) = self.send(Kind::Scan, table, &[0], None)?;
        Ok(rows > 0)
    }

    /// The text that [`Probe::remember`] has kept.
    pub(super) fn recall(&mut self, table: u16, key: &[u8]) -> Result<Option<String>, String> {
        let (rows, text) = self.send(Kind::Read, table, key, None)?;
        Ok((rows > 0).then(|| String::from_utf8_lossy(&text).into_owned()))
    }

    pub(super) fn remember(&mut self, table: u16, key: &[u8], text: &[u8]) -> Result<(), String> {
        self.send(Kind::Insert, table, key, Some(text)).map(drop)
    }

    fn send(
        &mut self,
        kind: Kind,
        table: u16,
        key: &[u8],
        value: Option<&[u8]>,
    ) -> Result<(u32, Vec<u8>), String> {
        let bytes = value.unwrap_or_default();
        let spans = [(0, 0..bytes.len() as u32)];
        let values = if value.is_some() { Values::new(&spans, bytes) } else { Values::NONE };
        let fields = Fields::All;
        let request = Request { table, fields, values, ..Request::new(kind, key) };
        let mut inbox = Inbox::default();
        self.tickets += 1;
        self.client.start(Nanos::ZERO, Ticket(self.tickets), &request, &mut inbox);
        for _ in 0..ROUNDS {
            if let Some(answer) = inbox.0.take() {
                return answer;
            }
            self.client.wait(TIMEOUT);
            self.client.poll(Nanos::ZERO, &mut inbox);
        }
        Err("it does not answer".into())
    }
}
