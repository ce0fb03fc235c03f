//! An etcd, over one HTTP/2 connection per worker to each member that is named.
//!
//! A record is one value under `PREFIX/table/key`, in the encoding that answers have: bytes stay
//! bytes, and a read hands out what was kept. go-ycsb keeps `table:key` with JSON, in which values
//! grow by a third as base64 and which every read has to parse; its updates overwrite the record
//! with the changed field alone. So neither reads what the other has loaded.
//!
//! What a request becomes:
//! * A read is a Range of one key, an insert a Put, which overwrites what is there.
//! * A delete is a DeleteRange of one key; `found` is reported by the number of keys that it
//!   removed.
//! * A scan is a Range up to the end of its table with a limit, in the order of the keys' bytes.
//! * An update reads, changes, and writes in a transaction if the key's revision is still the same;
//!   if not, the same transaction has read what is there now. After eight such attempts it is
//!   refused (conflict). One that names every field of the layout is a single transaction: write if
//!   the key is there.
//! * A transaction of requests reads at one revision, keeps its writes to itself, and commits them
//!   in one request if nobody has changed what it read, see `transaction`.
//! * With `batch=N`, inserts that wait at the same time are one transaction of Puts, reads one of
//!   Ranges.
//!
//! gRPC's messages are written by hand, see `messages`, so that nobody needs `protoc`.

mod connector;
mod failure;
mod key_prefix;
mod link;
mod messages;
mod options;
mod settings;
mod transaction;
mod turn;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, Gathering, RecordsClient};
use assay_model::{Layout, Setting, Table};
use assay_store::{Capabilities, Client, Isolation, OpenError, ScanOrder, Store};
use bytes::Bytes;

use connector::{Connector, Endpoints};
use key_prefix::{KeyPrefix, Plan};
use link::Etcd as Links;
use messages::{
    DeleteRangeRequest, DeleteRangeResponse, MemberListRequest, MemberListResponse, PutRequest,
    PutResponse, RangeRequest, RangeResponse, method,
};
pub use options::{Options, Read, Tls};
use settings::Facts;
use wire::{CallError, Wire};

/// The name of the note; it is no table, for those are followed by a slash.
const NOTE: &str = "_assay";
/// How long what is no part of a run may wait for an answer: longer than a member waits for others.
const ADMIN_TASK_TIMEOUT: Duration = Duration::from_secs(30);
/// How many keys are removed at once: enough for a short request, too few for a long pause.
const CLEAR_BATCH: i64 = 10_000;

/// An etcd cluster.
pub struct Etcd {
    connector: Arc<Connector>,
    /// What was prepared last.
    plan: Latest<Arc<Plan>>,
}

impl Etcd {
    /// A store with these options; nothing is connected yet.
    ///
    /// # Errors
    /// If a file that the options name cannot be read.
    pub fn new(options: Options) -> Result<Etcd, OpenError> {
        Ok(Etcd { connector: Arc::new(Connector::new(options)?), plan: Latest::default() })
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Etcd, OpenError> {
        Etcd::new(url.parse()?)
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    fn note_key(&self) -> Bytes {
        format!("{}/{NOTE}", self.options().prefix).into()
    }

    /// Runs a request over the admin connection, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&mut Wire) -> Result<T, CallError>,
    ) -> Result<T, OpenError> {
        self.run(async {
            let (mut wire, _) = Endpoints::new(Arc::clone(&self.connector), 0).connect().await?;
            act(&mut wire).await.map_err(|error| self.connector.failed(&error))
        })
    }

    fn run<T>(&self, act: impl Future<Output = Result<T, OpenError>>) -> Result<T, OpenError> {
        let advice = "; does a majority of its members run?";
        task::admin_task_within(self.options(), ADMIN_TASK_TIMEOUT, advice, act)
    }
}

impl Store for Etcd {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            hidden_retries: Some(
                "an update whose record was changed meanwhile is tried again, at most 8 times in \
                 all; the requests are counted",
            ),
            scan_order: ScanOrder::Key,
            isolation: Some(Isolation::Serializable),
            ..Capabilities::of("etcd")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        if let Some(table) = layout.tables.iter().find(|table| table.name.contains('/')) {
            return Err(self.options().unsupported(format!(
                "table {:?} has a slash, which ends names here",
                table.name
            )));
        }
        // Keys need nothing made for them; this shows that the cluster answers, and lets us in.
        self.note()?;
        let prefix = &self.options().prefix;
        let key_prefix = |table: &Table| KeyPrefix::new(format!("{prefix}/{}/", table.name), table);
        let plan = layout.tables.iter().map(key_prefix).collect();
        self.plan.set(Arc::new(plan));
        Ok(())
    }

    fn open(&self, worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let options = self.options();
        let endpoints = Endpoints::new(Arc::clone(&self.connector), worker);
        let links = Links { endpoints, plan: self.plan.get(), read: options.read };
        let gathering = Gathering { most: options.batch, kinds: turn::batch::KINDS };
        let (count, name) = (options.connections, options.to_string());
        Ok(RecordsClient::open_gathering(links, count, &name, gathering)?)
    }

    fn room(&self) -> Option<usize> {
        // A batch is one request of many operations.
        (self.options().batch <= 1).then_some(self.options().connections)
    }

    /// Of requests that go out alone.
    fn tells_versions(&self) -> bool {
        self.options().batch == 1
    }

    fn nodes(&self) -> Vec<String> {
        let options = self.options();
        match options.address.hosts.len() {
            1 => Vec::new(),
            _ => options.address.authorities(),
        }
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let facts = self.run(async {
            // One member must respond; others that do not are reported.
            let (mut wire, _) = Endpoints::new(Arc::clone(&self.connector), 0).connect().await?;
            let mut reported = Vec::new();
            for place in 0..self.options().address.hosts.len() {
                if let Ok((_, status)) = self.connector.dial(place).await {
                    reported.push((place, status));
                }
            }
            // Newer servers tell it to few.
            let listed: Result<MemberListResponse, CallError> =
                wire.send(method::MEMBER_LIST, MemberListRequest {}).await;
            let members = listed.map(|listed| listed.members).unwrap_or_default();
            Ok(Facts { reported, members })
        })?;
        Ok(facts.settings(self.options()))
    }

    fn clear(&self) -> Result<(), OpenError> {
        for key_prefix in self.plan.get().iter() {
            let mut begin = key_prefix.key(b"");
            // A request of its own for each batch: a table may take longer than any timeout.
            while let Some(next) =
                self.admin_task(async |wire| remove(wire, &begin, key_prefix).await)?
            {
                begin = next;
            }
        }
        let question = DeleteRangeRequest { key: self.note_key(), range_end: Bytes::new() };
        self.admin_task(async |wire| {
            let _: DeleteRangeResponse = wire.send(method::DELETE_RANGE, question).await?;
            Ok(())
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let question = RangeRequest { key: self.note_key(), ..RangeRequest::default() };
        let found: RangeResponse =
            self.admin_task(async |wire| wire.send(method::RANGE, question).await)?;
        let note = found.kvs.first();
        Ok(note.map(|found| String::from_utf8_lossy(&found.value).into_owned()))
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        let value = Bytes::copy_from_slice(note.as_bytes());
        let question = PutRequest { key: self.note_key(), value };
        self.admin_task(async |wire| {
            let _: PutResponse = wire.send(method::PUT, question).await?;
            Ok(())
        })
    }
}

/// Removes the first keys of a table from `begin` on; the key that is next, if there may be one.
async fn remove(
    wire: &mut Wire,
    begin: &Bytes,
    key_prefix: &KeyPrefix,
) -> Result<Option<Bytes>, CallError> {
    let question = RangeRequest {
        key: begin.clone(),
        range_end: key_prefix.end.clone(),
        limit: CLEAR_BATCH,
        keys_only: true,
        ..RangeRequest::default()
    };
    let found: RangeResponse = wire.send(method::RANGE, question).await?;
    let Some(last) = found.kvs.last() else { return Ok(None) };
    // The first key behind the last one.
    let next: Bytes = [&last.key[..], &[0]].concat().into();
    let question = DeleteRangeRequest { key: begin.clone(), range_end: next.clone() };
    let _: DeleteRangeResponse = wire.send(method::DELETE_RANGE, question).await?;
    Ok(Some(next).filter(|_| found.kvs.len() as i64 == CLEAR_BATCH))
}
