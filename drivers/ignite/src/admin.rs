//! Admin connection to a cluster: prepares it, reads its settings.

use assay_driver_kit::StoreErrors;
use assay_driver_kit::address::authority;
use assay_driver_kit::java_hash::java_hash;
use assay_driver_kit::unavailable::Unavailable;
use assay_store::OpenError;

use super::cache::{Cache, configuration, type_name};
use super::cluster::put_type;
use super::options::Options;
use super::plan::Table;
use super::socket::{Socket, Trouble};
use super::wire::{Reader, Value, code, operation, put_i32, put_i64, put_text};

/// The most rows that are fetched at once; no query here has as many.
const ROWS: i32 = 10_000;
/// The status of a question about a cache that is not there.
const NO_SUCH_CACHE: i32 = 1000;
/// The key of the note in its cache.
const NOTE: &[u8] = b"note";

/// A connection to one node.
pub(super) struct AdminConnection<'a> {
    socket: Socket,
    options: &'a Options,
}

impl AdminConnection<'_> {
    /// Connects to the first node that answers.
    pub(super) async fn open(options: &Options) -> Result<AdminConnection<'_>, OpenError> {
        let mut refusal = None;
        for host in &options.address.hosts {
            match Socket::dial(host, options, options.connect_timeout).await {
                Ok(socket) => return Ok(AdminConnection { socket, options }),
                Err(reason) => drop(refusal.get_or_insert((host, reason))),
            }
        }
        let ((host, port), unavailable) = refusal.expect("a URL without a host is refused");
        let reason = format!("{}: {}", authority(host, *port), unavailable.reason);
        Err(Unavailable { reason, ..unavailable }.explain(options))
    }

    async fn send(
        &mut self,
        what: &str,
        operation: i16,
        fill: impl FnOnce(&mut Vec<u8>),
    ) -> Result<&[u8], OpenError> {
        let requested = self.socket.send(operation, fill).await.map(|_| ());
        requested.map_err(|trouble| self.failed(what, &trouble))?;
        Ok(self.socket.answer())
    }

    /// What went wrong as `what` was tried.
    fn failed(&self, what: &str, trouble: &Trouble) -> OpenError {
        let store = &self.options;
        let (status, reported) = match trouble {
            Trouble::Said(status, reported) => (*status, reported),
            Trouble::Garbled => return self.garbled(what),
            Trouble::Lost | Trouble::Unreachable => {
                let reason = format!("the connection broke while it was to {what}; try again");
                return store.unreachable(reason);
            }
        };
        let reason = format!("to {what} it says: {reported} ({status})");
        match status {
            1012 | 2000 => store.not_permitted(reason),
            2 | 100 => store.unsupported(reason),
            _ => store.failed(reason),
        }
    }

    fn garbled(&self, what: &str) -> OpenError {
        self.options.failed(format!(
            "its answer, as it was to {what}, is invalid; is it Ignite 2.9 to 2.17?"
        ))
    }

    /// Refuses to go on with a cluster that is not active.
    pub(super) async fn expect_active(&mut self) -> Result<(), OpenError> {
        let what = "say whether it is active";
        let reported = self.send(what, operation::CLUSTER_STATE, |_| ()).await?;
        if Reader::new(reported).truth().map_err(|_| self.garbled(what))? {
            return Ok(());
        }
        Err(self.options.failed(
            "the cluster is inactive, as one with persistence is before its first use; \
             say control.sh --set-state ACTIVE",
        ))
    }

    /// Makes the cache of a table, or checks the one that is there.
    pub(super) async fn make(&mut self, table: &Table) -> Result<(), OpenError> {
        let options = self.options;
        let (of_type, content) = (table.of_type, options.content);
        self.send("tell it a type", operation::PUT_TYPE, |out| {
            put_type(of_type, type_name(content), &table.fields, &table.numbers, content, out);
        })
        .await?;
        let fields = options.has_index.then_some(&*table.fields);
        self.make_cache(&table.cache, fields).await?;
        let cache = self.cache(&table.cache).await?;
        let differs = cache.and_then(|cache| cache.differs(options));
        differs.map_or(Ok(()), |reason| Err(options.contents(reason)))
    }

    async fn make_cache(&mut self, name: &str, fields: Option<&[String]>) -> Result<(), OpenError> {
        let options = self.options;
        let what = format!("make cache {name}");
        let fill = |out: &mut Vec<u8>| configuration(name, fields, options, out);
        self.send(&what, operation::GET_OR_CREATE_CACHE, fill).await.map(|_| ())
    }

    /// What the cache of this name is, if there is one.
    pub(super) async fn cache(&mut self, name: &str) -> Result<Option<Cache>, OpenError> {
        let what = format!("describe cache {name}");
        let requested = self.socket.send(operation::CACHE_CONFIGURATION, |out| {
            put_i32(java_hash(name.as_bytes()), out);
            out.push(0);
        });
        match requested.await.map(Cache::parse) {
            Ok(Ok(cache)) => Ok(Some(cache)),
            Ok(Err(_)) => Err(self.garbled(&what)),
            Err(Trouble::Said(NO_SUCH_CACHE, _)) => Ok(None),
            Err(trouble) => Err(self.failed(&what, &trouble)),
        }
    }

    /// Removes the cache of this name, if there is one.
    pub(super) async fn remove(&mut self, name: &str) -> Result<(), OpenError> {
        let number = java_hash(name.as_bytes());
        let requested =
            self.socket.send(operation::DESTROY_CACHE, |out| put_i32(number, out)).await;
        match requested.map(|_| ()) {
            Ok(()) | Err(Trouble::Said(NO_SUCH_CACHE, _)) => Ok(()),
            Err(trouble) => Err(self.failed(&format!("remove cache {name}"), &trouble)),
        }
    }

    /// The names of all caches.
    pub(super) async fn caches(&mut self) -> Result<Vec<String>, OpenError> {
        let what = "name its caches";
        let reported = self.send(what, operation::CACHE_NAMES, |_| ()).await?;
        let mut reader = Reader::new(reported);
        let names = (|| {
            let mut names = Vec::new();
            for _ in 0..reader.length()? {
                names.push(reader.text()?.unwrap_or_default().to_owned());
            }
            Ok(names)
        })();
        names.map_err(|super::wire::Garbled| self.garbled(what))
    }

    /// The note in the cache of this name.
    pub(super) async fn note(&mut self, cache: &str) -> Result<Option<String>, OpenError> {
        if !self.caches().await?.iter().any(|name| name == cache) {
            return Ok(None);
        }
        let what = "read the note";
        let fill = |out: &mut Vec<u8>| put_note_key(cache, out);
        let reported = self.send(what, operation::GET, fill).await?;
        let note = Reader::new(reported).text().map(|note| note.map(str::to_owned));
        note.map_err(|_| self.garbled(what))
    }

    /// Keeps a note in the cache of this name, which is made if it is not there.
    pub(super) async fn keep_note(&mut self, cache: &str, note: &str) -> Result<(), OpenError> {
        self.make_cache(cache, None).await?;
        let fill = |out: &mut Vec<u8>| {
            put_note_key(cache, out);
            put_text(note.as_bytes(), out);
        };
        self.send("keep a note", operation::PUT, fill).await.map(|_| ())
    }

    /// The rows of a query on system views, as texts; none if the cluster has no SQL.
    pub(super) async fn rows(&mut self, text: &str) -> Result<Vec<Vec<String>>, OpenError> {
        let fill = |out: &mut Vec<u8>| {
            put_i32(0, out);
            out.push(0);
            put_text(b"SYS", out);
            put_i32(ROWS, out);
            put_i32(-1, out);
            put_text(text.as_bytes(), out);
            put_i32(0, out);
            // Any kind of statement, in no way special, without a limit of time or names.
            out.extend([0; 7]);
            put_i64(0, out);
            out.push(0);
        };
        match self.socket.send(operation::SQL, fill).await.map(read_rows) {
            Ok(Ok(rows)) => Ok(rows),
            Ok(Err(_)) => Err(self.garbled("describe itself")),
            Err(Trouble::Said(..)) => Ok(Vec::new()),
            Err(trouble) => Err(self.failed("describe itself", &trouble)),
        }
    }
}

fn put_note_key(cache: &str, out: &mut Vec<u8>) {
    put_i32(java_hash(cache.as_bytes()), out);
    out.push(0);
    put_text(NOTE, out);
}

fn read_rows(reported: &[u8]) -> Result<Vec<Vec<String>>, super::wire::Garbled> {
    let mut reported = Reader::new(reported);
    let _cursor = reported.i64()?;
    let columns = reported.length()?;
    let mut rows = Vec::new();
    for _ in 0..reported.length()? {
        let mut row = Vec::with_capacity(columns);
        for _ in 0..columns {
            row.push(match reported.value()? {
                Value::Null => String::new(),
                Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
                Value::Number(number) => number.to_string(),
                Value::Truth(truth) => truth.to_string(),
                Value::Uuid(id) => format!("{id:032x}"),
                Value::Bytes(_) | Value::Object(_) => code::NULL.to_string(),
            });
        }
        rows.push(row);
    }
    Ok(rows)
}
