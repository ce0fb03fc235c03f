//! Table of the drivers that this program has: a feature brings a crate.

use std::sync::Arc;

use assay_driver_kit::Surroundings;
use assay_model::{Nanos, Seed, quantity};
use assay_store::memory::Memory;
use assay_store::null::{ClockFn, Null};
use assay_store::{OpenError, Store};

use crate::sim;

/// The longest service time of the null store: a slower one is not useful.
const SPIN_MAX: Nanos = Nanos::from_secs(60);

/// What a URL cannot say.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// A monotonic clock in nanoseconds, for stores that pretend to work for a while.
    pub clock: ClockFn,
    /// The run's seed, for stores that draw; a store's URL may name another.
    pub seed: Seed,
    /// What is around this process, for stores that need programs of others.
    pub surroundings: Surroundings,
}

/// Opens the store that a URL names.
pub(crate) type Open = fn(&str, &Options) -> Result<Arc<dyn Store>, OpenError>;

/// A store's driver.
pub(crate) struct Driver {
    /// The cargo feature that brings it; the scheme of one that is always there.
    pub(crate) name: &'static str,
    /// `None` if this program was built without it.
    pub(crate) open: Option<Open>,
}

/// The driver that a feature brings.
macro_rules! driver {
    ($feature:literal, $open:expr) => {
        Driver {
            name: $feature,
            #[cfg(feature = $feature)]
            open: Some($open),
            #[cfg(not(feature = $feature))]
            open: None,
        }
    };
}

/// All drivers.
pub(crate) const DRIVERS: &[Driver] = &[
    driver!("antidote", |url, _| Ok(Arc::new(assay_driver_antidote::Antidote::from_url(url)?))),
    driver!("cassandra", |url, _| Ok(Arc::new(assay_driver_cassandra::Cassandra::from_url(url)?))),
    driver!("dynamodb", |url, _| Ok(Arc::new(assay_driver_dynamodb::DynamoDb::from_url(url)?))),
    driver!("etcd", |url, _| Ok(Arc::new(assay_driver_etcd::Etcd::from_url(url)?))),
    driver!("exec", |url, options| {
        let opened = assay_driver_exec::Exec::open(url, &crate::known::REDACTION, options.clock);
        Ok(Arc::new(opened?))
    }),
    driver!("fjall", |url, _| Ok(assay_driver_fjall::open(url)?.into())),
    driver!("fmke", |url, _| Ok(Arc::new(assay_driver_fmke::Fmke::from_url(url)?))),
    driver!("ignite", |url, _| Ok(Arc::new(assay_driver_ignite::Ignite::from_url(url)?))),
    driver!("jvm", |url, options| {
        let (surroundings, redaction) = (&options.surroundings, &crate::known::REDACTION);
        Ok(assay_driver_jvm::open(url, surroundings, redaction)?.into())
    }),
    driver!("lmdb", |url, _| Ok(assay_driver_lmdb::open(url)?.into())),
    driver!("mariadb", |url, _| Ok(Arc::new(assay_driver_mariadb::MariaDb::from_url(url)?))),
    driver!("memcached", |url, _| Ok(Arc::new(assay_driver_memcached::Memcached::from_url(url)?))),
    driver!("mongodb", |url, _| Ok(Arc::new(assay_driver_mongodb::MongoDb::from_url(url)?))),
    driver!("nats", |url, _| Ok(Arc::new(assay_driver_nats::Nats::from_url(url)?))),
    driver!("postgres", |url, _| Ok(Arc::new(assay_driver_postgres::Postgres::from_url(url)?))),
    driver!("redb", |url, _| Ok(assay_driver_redb::open(url)?.into())),
    driver!("redis", |url, _| Ok(Arc::new(assay_driver_redis::Redis::from_url(url)?))),
    driver!("rocksdb", |url, _| Ok(assay_driver_rocksdb::open(url)?.into())),
    driver!("sqlite", |url, _| Ok(assay_driver_sqlite::open(url)?.into())),
    driver!("tikv", |url, _| Ok(Arc::new(assay_driver_tikv::TiKv::from_url(url)?))),
    Driver { name: "memory", open: Some(open_memory) },
    Driver { name: "null", open: Some(open_null) },
    Driver { name: "sim", open: Some(open_simulated) },
];

fn open_memory(url: &str, _options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    if url.trim_end_matches(':') != "memory" {
        let reason = "it has no path or options; write memory:".into();
        return Err(OpenError::Url { url: url.into(), reason });
    }
    Ok(Arc::new(Memory::new()))
}

fn open_simulated(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    Ok(Arc::new(sim::open(url, options.seed)?))
}

fn open_null(url: &str, options: &Options) -> Result<Arc<dyn Store>, OpenError> {
    let wrong = |reason: String| OpenError::Url { url: url.into(), reason };
    let rest = url.split_once(':').map_or("", |(_, rest)| rest);
    let query = rest.strip_prefix('?').unwrap_or(rest);
    if query.is_empty() {
        return Ok(Arc::new(Null::new()));
    }
    let spin = query.strip_prefix("spin=");
    let spin = spin.ok_or_else(|| wrong("its only option is spin; write null:?spin=5us".into()))?;
    let length = quantity::time(spin)
        .filter(|length| *length <= SPIN_MAX)
        .ok_or_else(|| wrong(format!("spin is {spin:?}; write it as 500ns, 5us or 2ms")))?;
    Ok(Arc::new(Null::spinning(length.into(), options.clock)))
}
