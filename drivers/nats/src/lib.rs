//! NATS JetStream, whose key-value buckets hold a record per key.
//!
//! A table is a bucket `PREFIX_TABLE`, which is a stream `KV_PREFIX_TABLE`; a record is one value
//! in the encoding of [`assay_store::row`]. A worker has one TCP connection with many requests in
//! flight.
//!
//! What an answer means:
//! * An insert puts a value, whatever was there. An update looks the record up, then puts it if no
//!   other write came in between; after eight conflicts it is refused. A delete looks too, so that
//!   it can tell whether there was something. Missing is what the leader calls missing.
//! * There are no scans: a bucket knows no order of its keys, so one would read them all.
//! * A write is Unknown from when it was given to the connection until its acknowledgement comes.
//! * The library's own reconnecting, which keeps requests for later, is switched off.

mod connector;
mod failure;
mod greeting;
mod key;
mod link;
mod options;
mod settings;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, RecordsClient};
use assay_model::{Kind, Layout, Setting};
use assay_store::{Capabilities, Client, OpenError, Store};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};

use connector::{AdminConnection, Connector};
use link::{Bucket, Nats as Links};
pub use options::{Options, Source};

/// What the bucket of the note is called behind the prefix; a layout does not use this name.
const NOTES: &str = "_assay";

/// The key of the note.
const NOTE: &str = "note";

/// How long a new bucket may take until it answers.
const BUCKET_TIMEOUT: Duration = Duration::from_secs(10);

/// How often it is checked whether it does.
const BUCKET_PAUSE: Duration = Duration::from_millis(20);

/// The oldest server whose replicas answer reads.
const OLDEST: (u32, u32) = (2, 9);

/// A NATS server with JetStream, or a cluster of them.
pub struct Nats {
    connector: Arc<Connector>,
    /// The buckets that were prepared last.
    buckets: Latest<Arc<[Bucket]>>,
}

impl Nats {
    /// A store with these options; nothing is connected yet.
    pub fn new(options: Options) -> Nats {
        Nats { connector: Arc::new(Connector { options }), buckets: Latest::default() }
    }

    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid, or a file that it names cannot be read.
    pub fn from_url(url: &str) -> Result<Nats, OpenError> {
        Ok(Nats::new(url.parse()?))
    }

    /// The options; shown without secrets.
    pub fn options(&self) -> &Options {
        &self.connector.options
    }

    fn bucket_of(&self, table: &str) -> String {
        format!("{}_{table}", self.options().prefix)
    }

    /// Runs a request over the admin connection, which no worker uses.
    fn admin_task<T>(
        &self,
        act: impl AsyncFnOnce(&AdminConnection<'_>) -> Result<T, OpenError>,
    ) -> Result<T, OpenError> {
        task::admin_task(self.options(), async {
            let admin = self.connector.admin().await?;
            act(&admin).await
        })
    }

    /// Makes the bucket, or checks the one that is there.
    async fn prepare_bucket(
        &self,
        admin: &AdminConnection<'_>,
        bucket: &str,
    ) -> Result<(), OpenError> {
        let Some(stream) = admin.stream(bucket).await? else {
            admin.create(bucket).await?;
            return answers(admin, bucket).await;
        };
        let config = &stream.cached_info().config;
        let options = self.options();
        if let Some(expected) = options.replicas.filter(|&expected| expected != config.num_replicas)
        {
            let there = config.num_replicas;
            return Err(admin.refused(format!(
                "its bucket {bucket} has replicas={there}, not {expected}; leave the option out, \
                 remove the bucket, or choose another prefix"
            )));
        }
        if let Some(expected) = options.storage.filter(|&expected| expected != config.storage) {
            let there = config.storage;
            return Err(admin.refused(format!(
                "its bucket {bucket} is kept in {there:?}, not {expected:?}; leave the option \
                 storage out, remove the bucket, or choose another prefix"
            )));
        }
        if !config.allow_direct && options.read == Source::Direct {
            return Err(admin.refused(format!(
                "replicas of its bucket {bucket} do not answer reads (allow_direct is off); say \
                 read=leader"
            )));
        }
        Ok(())
    }
}

/// Waits until a new bucket has a leader that answers, and empties it.
///
/// Where the disk is slow, nats-server 2.15.2 gives a new bucket the records of one of the same
/// name that was removed just before: its folder is still there.
async fn answers(admin: &AdminConnection<'_>, bucket: &str) -> Result<(), OpenError> {
    let waiting = async {
        loop {
            let stream: Option<Stream> = admin.stream(bucket).await?;
            let led = stream.filter(|stream| {
                let cluster = stream.cached_info().cluster.as_ref();
                cluster.is_none_or(|cluster| cluster.leader.is_some())
            });
            if let Some(stream) = led {
                return match stream.cached_info().state.messages {
                    0 => Ok(()),
                    _ => admin.empty(&stream, bucket).await,
                };
            }
            tokio::time::sleep(BUCKET_PAUSE).await;
        }
    };
    let late = |_| Err(admin.failed(format!("its new bucket {bucket} got no leader in time")));
    tokio::time::timeout(BUCKET_TIMEOUT, waiting).await.unwrap_or_else(late)
}

/// The first two numbers of a version such as `2.9.10`; `None` if it has none.
fn version(text: &str) -> Option<(u32, u32)> {
    let mut numbers = text.split('.').map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

impl Store for Nats {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            kinds: vec![Kind::Read, Kind::Update, Kind::Insert, Kind::Delete],
            hidden_retries: Some(
                "an update or delete that meets another write of its record looks again, at most \
                 8 times in all; each request counts",
            ),
            ..Capabilities::of("nats")
        }
    }

    fn prepare(&self, layout: &Layout) -> Result<(), OpenError> {
        if layout.tables.iter().any(|table| table.needs_key_order) {
            return Err(self.options().unsupported(
                "a bucket knows no order of its keys, so it cannot scan; queries by way of a \
                 mapping look for their rows by ranges of keys: take another store for them",
            ));
        }
        let wrong = layout.tables.iter().find(|table| !options::is_name(&table.name));
        if let Some(table) = wrong {
            return Err(self.options().unsupported(format!(
                "a bucket's name has letters, digits, - and _ only, table {:?} has others",
                table.name
            )));
        }
        let buckets = layout.tables.iter().map(|table| Bucket {
            name: self.bucket_of(&table.name),
            fields: table.fields.clone(),
        });
        let buckets: Arc<[Bucket]> = buckets.collect();
        self.admin_task(async |admin| {
            let reported = admin.line.client.server_info().version;
            if version(&reported).is_some_and(|version| version < OLDEST) {
                return Err(self.options().unsupported(format!(
                    "nats-server {reported} is too old; take 2.9 or a later one"
                )));
            }
            for bucket in buckets.iter() {
                self.prepare_bucket(admin, &bucket.name).await?;
            }
            Ok(())
        })?;
        self.buckets.set(buckets);
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let links = Links::new(Arc::clone(&self.connector), self.buckets.get());
        Ok(RecordsClient::open(links, self.options().connections, &self.options().to_string())?)
    }

    fn room(&self) -> Option<usize> {
        Some(self.options().connections)
    }

    fn tells_versions(&self) -> bool {
        true
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let buckets = self.buckets.get();
        self.admin_task(async |admin| {
            let reported = admin.line.client.server_info();
            let mut settings = settings::of_server(&reported, self.options());
            for bucket in buckets.iter() {
                if let Some(stream) = admin.stream(&bucket.name).await? {
                    settings.extend(settings::of_bucket(&bucket.name, stream.cached_info()));
                }
            }
            Ok(settings)
        })
    }

    fn clear(&self) -> Result<(), OpenError> {
        let buckets = self.buckets.get();
        self.admin_task(async |admin| {
            for bucket in buckets.iter() {
                admin.remove(&bucket.name).await?;
            }
            admin.remove(&self.bucket_of(NOTES)).await
        })
    }

    fn note(&self) -> Result<Option<String>, OpenError> {
        let bucket = self.bucket_of(NOTES);
        self.admin_task(async |admin| {
            let Some(stream) = admin.stream(&bucket).await? else { return Ok(None) };
            let subject = format!("$KV.{bucket}.{NOTE}");
            let failed = |what: &dyn fmt::Display| admin.failed(format!("its note: {what}"));
            match stream.get_last_raw_message_by_subject(&subject).await {
                Ok(message) => {
                    let text = String::from_utf8(message.payload.to_vec());
                    text.map(Some).map_err(|error| failed(&error))
                }
                Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
                Err(error) => Err(failed(&error)),
            }
        })
    }

    fn keep_note(&self, note: &str) -> Result<(), OpenError> {
        let bucket = self.bucket_of(NOTES);
        self.admin_task(async |admin| {
            if admin.stream(&bucket).await?.is_none() {
                admin.create(&bucket).await?;
                answers(admin, &bucket).await?;
            }
            let failed = |what: &dyn fmt::Display| admin.failed(format!("its note: {what}"));
            let subject = format!("$KV.{bucket}.{NOTE}");
            let sent = admin.context.publish(subject, note.to_owned().into()).await;
            let kept = sent.map_err(|error| failed(&error))?.await;
            kept.map(|_| ()).map_err(|error| failed(&error))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_in_the_order_of_their_keys_are_refused_before_any_request() {
        let store = Nats::from_url("nats://127.0.0.1:1").unwrap();
        let table = assay_model::Table { name: "t".into(), fields: vec![], needs_key_order: true };
        let reported = store.prepare(&Layout { tables: vec![table], records: 0 }).unwrap_err();
        assert!(matches!(reported, OpenError::Unsupported { .. }), "{reported}");
        assert!(reported.to_string().contains("by way of a mapping"), "{reported}");
    }

    #[test]
    fn versions_are_compared_by_their_numbers() {
        assert_eq!(version("2.9.10"), Some((2, 9)));
        assert!(version("2.15.2-RC.1") > version("2.9.10"));
        assert!(version("1.4.1").is_some_and(|version| version < OLDEST));
        assert_eq!(version("unknown"), None);
    }
}
