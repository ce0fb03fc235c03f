//! YCSB's bindings by name: the store of each, with its status codes.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Result;
use assay_analysis::ycsb::{Status, Statuses};
use assay_model::percent_encoded;

use crate::exit::usage;
use crate::workload::read_properties;

/// A binding's short name with the prefix of its properties, and its store.
struct Known {
    name: &'static str,
    prefixes: &'static [&'static str],
    url: fn(&UsedProperties<'_>) -> Result<String>,
    statuses: Statuses,
}

/// The statuses of a binding that returns `ERROR` for every failure.
const fn answers(missing_read: Status, missing_write: Status, empty_scan: Status) -> Statuses {
    Statuses { missing_read, missing_write, empty_scan, failure: Some(Status::Error) }
}

/// For bindings that YCSB does not have.
const OURS: Statuses = Statuses {
    missing_read: Status::NotFound,
    missing_write: Status::NotFound,
    empty_scan: Status::Ok,
    failure: None,
};

// tidy: table: one binding on each line
#[rustfmt::skip]
const KNOWN: &[Known] = &[
    Known { name: "basic", prefixes: &[], url: |_| Ok("null:".to_owned()), statuses: OURS },
    Known { name: "memory", prefixes: &[], url: |_| Ok("memory:".to_owned()), statuses: OURS },
    Known { name: "redis", prefixes: &["redis."], url: redis, statuses: answers(Status::Error, Status::Ok, Status::Ok) },
    Known { name: "jdbc", prefixes: &["db.", "jdbc."], url: jdbc, statuses: answers(Status::NotFound, Status::UnexpectedState, Status::Ok) },
    Known { name: "cassandra-cql", prefixes: &["cassandra."], url: cassandra, statuses: answers(Status::NotFound, Status::Ok, Status::Ok) },
    Known { name: "cassandra2-cql", prefixes: &["cassandra."], url: cassandra, statuses: answers(Status::NotFound, Status::Ok, Status::Ok) },
    Known { name: "scylla", prefixes: &["scylla."], url: scylla, statuses: answers(Status::NotFound, Status::Ok, Status::Ok) },
    Known { name: "mongodb", prefixes: &["mongodb."], url: mongodb, statuses: answers(Status::NotFound, Status::NotFound, Status::Error) },
    Known { name: "mongodb-async", prefixes: &["mongodb."], url: mongodb, statuses: answers(Status::NotFound, Status::NotFound, Status::NotFound) },
    Known { name: "memcached", prefixes: &["memcached."], url: memcached, statuses: answers(Status::Ok, Status::Error, Status::Ok) },
    Known { name: "dynamodb", prefixes: &["dynamodb."], url: dynamodb, statuses: answers(Status::Ok, Status::Ok, Status::Ok) },
    Known { name: "rocksdb", prefixes: &["rocksdb."], url: rocksdb, statuses: answers(Status::NotFound, Status::NotFound, Status::Ok) },
    Known { name: "ignite", prefixes: &[], url: ignite, statuses: answers(Status::NotFound, Status::Error, Status::Ok) },
    // Names that go-ycsb has.
    Known { name: "tikv", prefixes: &["tikv."], url: tikv, statuses: OURS },
    Known { name: "etcd", prefixes: &["etcd."], url: etcd, statuses: OURS },
];

/// The names of all bindings.
pub fn names() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|known| known.name)
}

/// The statuses of the binding `name`; `names_fields` says whether its reads name fields.
pub fn statuses(name: &str, names_fields: bool) -> Statuses {
    let found = KNOWN.iter().find(|known| known.name == name);
    let mut statuses = found.map_or(OURS, |known| known.statuses);
    // Redis returns an empty map for a missing record, but a value for each named field.
    if name == "redis" && names_fields {
        statuses.missing_read = Status::Ok;
    }
    statuses
}

/// The URL that a binding's name and `properties` stand for, with warnings. Fails if there is no
/// such binding, or a property is missing or invalid.
pub fn url(name: &str, properties: &BTreeMap<String, String>) -> Result<(String, Vec<String>)> {
    let Some(known) = KNOWN.iter().find(|known| known.name == name) else {
        let hint = match assay_model::closest(name, names()) {
            Some(near) => format!("did you mean {near}?"),
            None => format!(
                "there are {}; a name with dots is a Java class; -p assay.url=URL names any store",
                names().collect::<Vec<_>>().join(", ")
            ),
        };
        // A URL was typed, perhaps with a password; what is behind the last `@` has none.
        let name =
            name.rsplit_once('@').map_or_else(|| name.to_owned(), |(_, at)| format!("…@{at}"));
        return Err(usage(format!("there is no binding {name}; {hint}")));
    };
    let given = UsedProperties { binding: known.name, properties, used: RefCell::default() };
    let url = (known.url)(&given)?;
    let used = given.used.into_inner();
    let is_unused = |name: &&String| {
        known.prefixes.iter().any(|prefix| name.starts_with(prefix)) && !used.contains(*name)
    };
    let unused = properties.keys().filter(is_unused);
    let warnings = unused.map(|name| format!("{name} changes nothing here")).collect();
    Ok((url, warnings))
}

/// The properties, with those that were used.
struct UsedProperties<'a> {
    binding: &'static str,
    properties: &'a BTreeMap<String, String>,
    used: RefCell<BTreeSet<String>>,
}

impl UsedProperties<'_> {
    fn get(&self, name: &str) -> Option<&str> {
        self.used.borrow_mut().insert(name.to_owned());
        self.properties.get(name).map(|value| value.trim()).filter(|value| !value.is_empty())
    }

    fn or<'b>(&'b self, name: &str, default: &'b str) -> &'b str {
        self.get(name).unwrap_or(default)
    }

    fn is(&self, name: &str) -> bool {
        self.get(name).is_some_and(|text| text.eq_ignore_ascii_case("true"))
    }

    fn need(&self, name: &str) -> Result<&str> {
        let wrong = || usage(format!("the {} binding needs -p {name}=…", self.binding));
        self.get(name).ok_or_else(wrong)
    }

    /// An error about `name`.
    fn wrong(&self, name: &str, reason: &str) -> anyhow::Error {
        usage(format!("{name}: {reason}; -p assay.url=URL names any store"))
    }

    /// Hosts between commas, each with `port` unless it has its own.
    fn hosts(&self, name: &str, port: &str) -> Result<String> {
        let hosts = self.need(name)?.split([',', ' ']).filter(|host| !host.is_empty());
        let with_port = |host: &str| match host.contains(':') {
            true => host.to_owned(),
            false => format!("{host}:{port}"),
        };
        Ok(hosts.map(with_port).collect::<Vec<_>>().join(","))
    }

    /// `user:password@` of two properties, or nothing.
    fn login(&self, user: &str, password: &str) -> String {
        login(self.get(user).unwrap_or_default(), self.get(password).unwrap_or_default())
    }

    /// `name=value` for each property that is given.
    fn options(&self, pairs: &[(&str, &str)]) -> Vec<String> {
        let pair = |(property, option): &(&str, &str)| {
            self.get(property).map(|value| format!("{option}={}", percent_encoded(value)))
        };
        pairs.iter().filter_map(pair).collect()
    }
}

fn login(user: &str, password: &str) -> String {
    match (user, password) {
        ("", "") => String::new(),
        (user, "") => format!("{}@", percent_encoded(user)),
        (user, password) => format!("{}:{}@", percent_encoded(user), percent_encoded(password)),
    }
}

fn with_options(url: String, options: &[String]) -> String {
    if options.is_empty() { url } else { format!("{url}?{}", options.join("&")) }
}

fn redis(given: &UsedProperties<'_>) -> Result<String> {
    let (host, port) = (given.need("redis.host")?, given.or("redis.port", "6379"));
    let scheme = if given.is("redis.cluster") { "redis+cluster" } else { "redis" };
    let login = login("", given.get("redis.password").unwrap_or_default());
    let options = given.options(&[("redis.timeout", "connect_timeout")]);
    Ok(with_options(format!("{scheme}://{login}{host}:{port}"), &options))
}

fn cassandra(given: &UsedProperties<'_>) -> Result<String> {
    cql(given, "hosts", "port", "cassandra")
}

fn scylla(given: &UsedProperties<'_>) -> Result<String> {
    cql(given, "scylla.hosts", "scylla.port", "scylla")
}

fn cql(given: &UsedProperties<'_>, hosts: &str, port: &str, prefix: &str) -> Result<String> {
    let own = |name: &str| format!("{prefix}.{name}");
    if given.is(&own("useSSL")) {
        return Err(given.wrong(&own("useSSL"), "connections over TLS are not there"));
    }
    let hosts = given.hosts(hosts, given.or(port, "9042"))?;
    let login = given.login(&own("username"), &own("password"));
    let keyspace = own("keyspace");
    let keyspace = given.or(&keyspace, "ycsb");
    let options = given.options(&[
        (&own("readconsistencylevel"), "read_consistency"),
        (&own("writeconsistencylevel"), "write_consistency"),
        (&own("connecttimeoutmillis"), "connect_timeout"),
        (&own("local_dc"), "datacenter"),
    ]);
    Ok(with_options(format!("cassandra://{login}{hosts}/{keyspace}"), &options))
}

/// The supported options of a MongoDB URL, with our names for them.
const MONGODB: [(&str, &str); 8] = [
    ("w", "w"),
    ("journal", "journal"),
    ("readConcernLevel", "read_concern"),
    ("readPreference", "read_preference"),
    ("replicaSet", "replica_set"),
    ("authSource", "auth_source"),
    ("connectTimeoutMS", "connect_timeout"),
    ("maxPoolSize", "connections"),
];

fn mongodb(given: &UsedProperties<'_>) -> Result<String> {
    let url = given.or("mongodb.url", "mongodb://localhost:27017/ycsb?w=1");
    if !url.starts_with("mongodb://") {
        return Err(given.wrong("mongodb.url", "it must begin with mongodb://"));
    }
    if given.is("mongodb.upsert") {
        return Err(given.wrong("mongodb.upsert", "an insert of a record that is there fails"));
    }
    let (address, query) = url.split_once('?').unwrap_or((url, ""));
    let has_database =
        address["mongodb://".len()..].split_once('/').is_some_and(|(_, name)| !name.is_empty());
    let address = match has_database {
        true => address.to_owned(),
        // The driver's own default.
        false => format!("{}/test", address.trim_end_matches('/')),
    };
    let mut options = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match MONGODB.iter().find(|(theirs, _)| *theirs == name) {
            Some((_, ours)) => options.push(format!("{ours}={value}")),
            None => eprintln!("warning: mongodb.url: {name} changes nothing here"),
        }
    }
    Ok(with_options(address, &options))
}

fn memcached(given: &UsedProperties<'_>) -> Result<String> {
    Ok(format!("memcached://{}", given.hosts("memcached.hosts", "11211")?))
}

fn rocksdb(given: &UsedProperties<'_>) -> Result<String> {
    if given.get("rocksdb.optionsfile").is_some() {
        return Err(given.wrong("rocksdb.optionsfile", "files of options are not read"));
    }
    Ok(format!("rocksdb:{}", given.need("rocksdb.dir")?))
}

/// YCSB's binding is a node of the cluster, which looks for others at `ports`; ours is a thin
/// client, at the port of those. Its caches have no index, so it has no scans either.
fn ignite(given: &UsedProperties<'_>) -> Result<String> {
    Ok(format!("ignite://{}?index=off", given.hosts("hosts", "10800")?))
}

fn dynamodb(given: &UsedProperties<'_>) -> Result<String> {
    let key = given.need("dynamodb.primaryKey")?;
    if given.get("dynamodb.primaryKeyType").is_some_and(|kind| !kind.eq_ignore_ascii_case("hash")) {
        return Err(given.wrong("dynamodb.primaryKeyType", "keys are of one attribute (HASH)"));
    }
    let region = given.or("dynamodb.region", "us-east-1");
    let usual = format!("https://dynamodb.{region}.amazonaws.com");
    let endpoint = given.or("dynamodb.endpoint", &usual).trim_end_matches('/');
    let (scheme, host) = match endpoint.split_once("://") {
        Some(("http", host)) => ("dynamodb", host),
        Some(("https", host)) => ("dynamodbs", host),
        _ => return Err(given.wrong("dynamodb.endpoint", "it must begin with http:// or https://")),
    };
    let login = match given.get("dynamodb.awsCredentialsFile") {
        Some(file) => credentials(given, file)?,
        None => String::new(),
    };
    let reads = if given.is("dynamodb.consistentReads") { "on" } else { "off" };
    let options = format!("region={region}&key={}&consistent_read={reads}", percent_encoded(key));
    Ok(format!("{scheme}://{login}{host}/?{options}"))
}

/// `accessKey` and `secretKey` of a properties file.
fn credentials(given: &UsedProperties<'_>, file: &str) -> Result<String> {
    let name = "dynamodb.awsCredentialsFile";
    let properties = read_properties(file)?;
    let get = |key: &str| {
        let found = properties.get(key).map(|property| property.value.trim().to_owned());
        let reason = format!("{} has no {key}", Path::new(file).display());
        found.ok_or_else(|| given.wrong(name, &reason))
    };
    Ok(login(&get("accessKey")?, &get("secretKey")?))
}

/// The databases of JDBC URLs that we have.
const DATABASES: [(&str, &str, &str); 3] = [
    ("postgresql:", "postgres", "5432"),
    ("mysql:", "mariadb", "3306"),
    ("mariadb:", "mariadb", "3306"),
];

fn jdbc(given: &UsedProperties<'_>) -> Result<String> {
    let url = given.need("db.url")?;
    let (_, _) = (given.get("db.driver"), given.get("jdbc.autocommit"));
    let wrong = |reason: &str| given.wrong("db.url", reason);
    if url.contains(';') {
        return Err(wrong("records are not spread over several databases"));
    }
    if given.is("jdbc.batchupdateapi") {
        return Err(given.wrong("jdbc.batchupdateapi", "each insert is a request of its own"));
    }
    if let Some(path) = url.strip_prefix("jdbc:sqlite:") {
        return Ok(format!("sqlite:{path}"));
    }
    let rest = url.strip_prefix("jdbc:").unwrap_or_default();
    let found = DATABASES.iter().find(|(prefix, _, _)| rest.starts_with(prefix));
    let Some((prefix, scheme, port)) = found else {
        return Err(wrong("it must begin with jdbc:postgresql:, mysql:, mariadb: or sqlite:"));
    };
    let rest = &rest[prefix.len()..];
    let (address, query) = rest.split_once('?').unwrap_or((rest, ""));
    // A database name alone means one on this machine.
    let local = format!("//localhost:{port}/{address}");
    let address = if address.starts_with("//") { address } else { &local };
    let mut login = given.login("db.user", "db.passwd");
    let mut options = Vec::new();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let of = |name: &str| pairs.clone().find(|(other, _)| *other == name).map(|(_, value)| value);
    if let (true, Some(user)) = (login.is_empty(), of("user")) {
        login = match of("password") {
            Some(password) => format!("{user}:{password}@"),
            None => format!("{user}@"),
        };
    }
    for (name, value) in pairs.clone() {
        match (name, value) {
            ("user" | "password", _) => {}
            ("sslmode", "disable" | "require" | "verify-full") if *scheme == "postgres" => {
                options.push(format!("sslmode={value}"));
            }
            _ => eprintln!("warning: db.url: {name} changes nothing here"),
        }
    }
    let address = address.trim_start_matches('/');
    Ok(with_options(format!("{scheme}://{login}{address}"), &options))
}

/// As go-ycsb has it.
fn tikv(given: &UsedProperties<'_>) -> Result<String> {
    let mode = match given.or("tikv.type", "raw") {
        "raw" => "raw",
        "txn" => "optimistic",
        _ => return Err(given.wrong("tikv.type", "it must be raw or txn")),
    };
    Ok(format!("tikv://{}/?mode={mode}", given.hosts("tikv.pd", "2379")?))
}

/// As go-ycsb has it.
fn etcd(given: &UsedProperties<'_>) -> Result<String> {
    let hosts = given.hosts("etcd.endpoints", "2379")?.replace("http://", "");
    Ok(format!("etcd://{hosts}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, properties: &str) -> Result<(String, Vec<String>)> {
        let pairs = properties.split_whitespace().map(|pair| {
            let (name, value) = pair.split_once('=').unwrap();
            (name.to_owned(), value.to_owned())
        });
        url(name, &pairs.collect())
    }

    // tidy: table: one binding on each line
    #[rustfmt::skip]
    #[test]
    fn properties_of_each_binding_become_a_url() {
        for (name, properties, expected) in [
            ("redis", "redis.host=h", "redis://h:6379"),
            ("redis", "redis.host=h redis.port=7 redis.password=a@b redis.timeout=300", "redis://:a%40b@h:7?connect_timeout=300"),
            ("redis", "redis.host=h redis.cluster=true", "redis+cluster://h:6379"),
            ("jdbc", "db.url=jdbc:postgresql://h:5/d db.user=u db.passwd=p db.driver=x", "postgres://u:p@h:5/d"),
            ("jdbc", "db.url=jdbc:mysql://h/d?user=u&password=p", "mariadb://u:p@h/d"),
            ("jdbc", "db.url=jdbc:mariadb://h/d", "mariadb://h/d"),
            ("jdbc", "db.url=jdbc:postgresql:d", "postgres://localhost:5432/d"),
            ("jdbc", "db.url=jdbc:sqlite:a/b.db", "sqlite:a/b.db"),
            ("cassandra-cql", "hosts=a,b:1", "cassandra://a:9042,b:1/ycsb"),
            ("cassandra-cql", "hosts=a port=2 cassandra.username=u cassandra.password=p \
                               cassandra.keyspace=k cassandra.readconsistencylevel=ONE", "cassandra://u:p@a:2/k?read_consistency=ONE"),
            ("scylla", "scylla.hosts=a scylla.writeconsistencylevel=ALL", "cassandra://a:9042/ycsb?write_consistency=ALL"),
            ("mongodb", "", "mongodb://localhost:27017/ycsb?w=1"),
            ("mongodb", "mongodb.url=mongodb://u:p@a,b/x?w=majority&readPreference=nearest", "mongodb://u:p@a,b/x?w=majority&read_preference=nearest"),
            ("memcached", "memcached.hosts=a,b:2", "memcached://a:11211,b:2"),
            ("dynamodb", "dynamodb.endpoint=http://h:8000 dynamodb.primaryKey=k", "dynamodb://h:8000/?region=us-east-1&key=k&consistent_read=off"),
            ("rocksdb", "rocksdb.dir=/d", "rocksdb:/d"),
            ("ignite", "hosts=a ports=47500..47509", "ignite://a:10800?index=off"),
            ("tikv", "tikv.pd=a:1 tikv.type=txn", "tikv://a:1/?mode=optimistic"),
            ("etcd", "etcd.endpoints=http://a:1", "etcd://a:1"),
            ("basic", "basicdb.verbose=false", "null:"),
        ] {
            let (url, warnings) = found(name, properties).unwrap();
            assert_eq!((url.as_str(), warnings), (expected, Vec::new()), "{name} {properties}");
            // The scheme of the URL is known, whether the store is compiled in or not.
            assert!(assay_drivers::registry::require_scheme(&url).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_a_binding_cannot_do_is_reported() {
        for (name, properties, expected) in [
            ("redis", "", "the redis binding needs -p redis.host="),
            ("jdbc", "db.url=jdbc:oracle:thin", "it must begin with jdbc:postgresql:"),
            ("jdbc", "db.url=jdbc:mysql://a/d;jdbc:mysql://b/d", "over several databases"),
            ("rocksdb", "rocksdb.dir=d rocksdb.optionsfile=f", "files of options are not read"),
            ("dynamodb", "dynamodb.primaryKey=k dynamodb.primaryKeyType=HASH_AND_RANGE", "(HASH)"),
            ("mongod", "", "did you mean mongodb?"),
            ("voldemort", "", "there are basic, memory, redis, jdbc"),
        ] {
            let error = found(name, properties).unwrap_err().to_string();
            assert!(error.contains(expected), "{name} {properties}: {error}");
        }
    }

    #[test]
    fn properties_without_an_effect_are_reported() {
        let (_, warnings) = found("redis", "redis.host=h redis.prot=1 jdbc.x=1").unwrap();
        assert_eq!(warnings, ["redis.prot changes nothing here"]);
    }

    #[test]
    fn a_missing_record_has_the_status_of_its_binding() {
        let read = |name, names_fields| statuses(name, names_fields).missing_read;
        assert_eq!(read("redis", false), Status::Error);
        assert_eq!(read("redis", true), Status::Ok);
        assert_eq!(read("jdbc", false), Status::NotFound);
        assert_eq!(read("memcached", false), Status::Ok);
        assert_eq!(read("fjall", false), Status::NotFound);
        assert_eq!(statuses("jdbc", false).missing_write, Status::UnexpectedState);
    }
}
