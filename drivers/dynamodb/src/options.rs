//! The URL of a DynamoDB endpoint, with what it says about us.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_driver_kit::address::Address;
use assay_driver_kit::url_options::{Count, Millis, Switch};
use assay_store::OpenError;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::retry::RetryConfig;
use aws_sdk_dynamodb::config::timeout::TimeoutConfig;
use aws_sdk_dynamodb::config::{
    BehaviorVersion, Config, Credentials, Region, SharedHttpClient, StalledStreamProtectionConfig,
};

use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext, TrustStore};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde::Deserialize;

use super::content::Content;

const EXAMPLE: &str = "dynamodb://127.0.0.1:8000/?consistent_read=on";
const DEFAULT_PORT: u16 = 8000;
/// The service itself takes nothing else.
const HTTPS: (&str, u16) = ("dynamodbs", 443);
const CONNECTIONS: usize = 16;
const MOST_CONNECTIONS: usize = 1024;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// What DynamoDB Local takes from anybody: letters and digits, whatever they are.
const ANYBODY: &str = "assay";

/// The key's attribute where the URL does not say it.
const KEY: &str = "y_id";

/// `dynamodb://[ACCESS_KEY:SECRET@]HOST[:PORT]/[TABLE_PREFIX]?region=us-east-1&key=y_id
/// &columns=text|bytes&consistent_read=on|off&connections=16&password_file=FILE
/// &connect_timeout=5000`; over TLS as `dynamodbs://…&ca_file=FILE`, by default at port 443.
///
/// Shown without the secret.
#[derive(Debug)]
pub struct Options {
    pub(super) address: Address,
    endpoint: String,
    /// Whom to trust, where the URL says TLS.
    tls: Option<TlsContext>,
    /// What stands before the name of each table.
    prefix: String,
    region: String,
    /// The name of the attribute that holds the key.
    pub(super) key: String,
    pub(super) content: Content,
    /// Whether a read sees every write that was answered before it.
    pub(super) is_consistent: bool,
    /// How many connections a worker has.
    pub(super) connections: usize,
    /// Timeout for a connection, and for each request that is no part of a run.
    pub(super) connect_timeout: Duration,
}

/// The options as the URL has them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    password_file: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    region: Option<String>,
    key: Option<String>,
    columns: Option<Content>,
    consistent_read: Option<Switch>,
    connections: Option<Count<MOST_CONNECTIONS>>,
    connect_timeout: Option<Millis>,
}

impl Options {
    /// Takes `url` apart.
    pub(super) fn parse(url: &str) -> Result<Options, OpenError> {
        let is_https = url.starts_with(&format!("{}://", HTTPS.0));
        let (protocol, port) = if is_https { ("https", HTTPS.1) } else { ("http", DEFAULT_PORT) };
        let mut address = Address::parse(url, &["dynamodb", HTTPS.0], port, EXAMPLE)?;
        if address.hosts.len() > 1 {
            return Err(address.wrong("there is one endpoint, not several".into()));
        }
        let declared: UrlOptions = address.declared()?;
        address.read_password(declared.password_file.as_deref())?;
        let prefix = address.path.clone();
        if let Some(odd) = prefix.chars().find(|&letter| !is_allowed(letter)) {
            let reason = format!(
                "the prefix of the tables has {odd:?} in it; there can be letters, digits, _ - ."
            );
            return Err(address.wrong(reason));
        }
        if declared.key.as_ref().is_some_and(String::is_empty) {
            return Err(address.wrong("option key is the name of an attribute".into()));
        }
        Ok(Options {
            endpoint: format!("{protocol}://{}", address.authorities()[0]),
            tls: tls(&address, declared.ca_file.as_deref(), is_https)?,
            prefix,
            region: declared.region.unwrap_or_else(|| "us-east-1".into()),
            key: declared.key.unwrap_or_else(|| KEY.into()),
            content: declared.columns.unwrap_or(Content::Text),
            is_consistent: declared.consistent_read.is_none_or(bool::from),
            connections: declared.connections.map_or(CONNECTIONS, usize::from),
            connect_timeout: declared.connect_timeout.map_or(CONNECT_TIMEOUT, Duration::from),
            address,
        })
    }

    /// The name of a table of ours.
    pub(super) fn table(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// A client of the library with one connection of its own, made with the first request.
    pub(super) fn client(&self) -> Client {
        let timeouts = TimeoutConfig::builder().connect_timeout(self.connect_timeout).build();
        let access_key = self.address.user.as_deref().unwrap_or(ANYBODY);
        let secret = self.address.password.as_deref().unwrap_or(ANYBODY);
        let credentials = Credentials::new(access_key, secret, None, None, "the store's URL");
        let config = Config::builder()
            .behavior_version(BehaviorVersion::latest())
            .endpoint_url(&*self.endpoint)
            .region(Region::new(self.region.clone()))
            .credentials_provider(credentials)
            .http_client(self.http())
            .timeout_config(timeouts)
            // Every failure is a completion; timeouts are the executor's.
            .retry_config(RetryConfig::disabled())
            .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
            .build();
        Client::from_conf(config)
    }

    /// Whether the endpoint is used over TLS.
    pub(super) fn is_https(&self) -> bool {
        self.tls.is_some()
    }

    fn http(&self) -> SharedHttpClient {
        let Some(trusted) = &self.tls else { return Builder::new().build_http() };
        let builder = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring));
        builder.tls_context(trusted.clone()).build_https()
    }
}

/// Whom to trust: the authorities of option `ca_file`, or those of the system.
fn tls(
    address: &Address,
    ca_file: Option<&Path>,
    is_https: bool,
) -> Result<Option<TlsContext>, OpenError> {
    if !is_https {
        return match ca_file {
            Some(_) => Err(address.wrong("ca_file needs dynamodbs://".into())),
            None => Ok(None),
        };
    }
    let trusted = match ca_file {
        Some(path) => {
            let authorities = authorities(path).map_err(|why| address.wrong(why))?;
            TrustStore::empty().with_pem_certificate(authorities)
        }
        None => TrustStore::default(),
    };
    let context = TlsContext::builder().with_trust_store(trusted).build();
    let unusable = |error| address.wrong(format!("TLS cannot be used: {error}"));
    context.map(Some).map_err(unusable)
}

/// The bytes of a file of certificates in PEM.
fn authorities(path: &Path) -> Result<Vec<u8>, String> {
    let displayed = path.display();
    let bytes =
        fs::read(path).map_err(|why| format!("ca_file {displayed} cannot be read: {why}"))?;
    match CertificateDer::pem_slice_iter(&bytes).next() {
        Some(Ok(_)) => Ok(bytes),
        _ => Err(format!("ca_file {displayed} has no certificate in PEM")),
    }
}

/// What the name of a table can consist of.
pub(super) fn is_allowed(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '.')
}

assay_driver_kit::display_address!(Options);

#[cfg(test)]
mod tests {
    use super::*;

    fn right(url: &str) -> Options {
        Options::parse(url).unwrap()
    }

    #[test]
    fn a_host_is_enough() {
        let options = right("dynamodb://localhost");
        assert_eq!(options.endpoint, "http://localhost:8000");
        assert_eq!((&*options.key, &*options.region), ("y_id", "us-east-1"));
        assert_eq!((options.content, options.is_consistent), (Content::Text, true));
        assert_eq!((options.connections, &*options.table("usertable")), (16, "usertable"));
    }

    #[test]
    fn every_part_has_its_place() {
        let options = right(
            "dynamodb://ann:p%40ss@[::1]:7000/mine-?region=eu-west-1&key=id&columns=bytes\
             &consistent_read=off&connections=4&connect_timeout=200",
        );
        assert_eq!(options.endpoint, "http://[::1]:7000");
        assert_eq!(
            (options.address.user.as_deref(), options.address.password.as_deref()),
            (Some("ann"), Some("p@ss"))
        );
        assert_eq!((&*options.table("t"), &*options.region), ("mine-t", "eu-west-1"));
        assert_eq!((&*options.key, options.content), ("id", Content::Bytes));
        assert_eq!((options.is_consistent, options.connections), (false, 4));
        assert_eq!(options.connect_timeout, Duration::from_millis(200));
    }

    #[test]
    fn the_service_itself_is_used_over_tls() {
        let options = right("dynamodbs://dynamodb.eu-west-1.amazonaws.com/");
        assert_eq!(options.endpoint, "https://dynamodb.eu-west-1.amazonaws.com:443");
        assert!(options.tls.is_some() && right("dynamodb://h").tls.is_none());
    }

    assay_driver_kit::url_tests! {
        Options::parse,
        EXAMPLE,
        hidden: [("dynamodb://ann:secret@host/", "?columns=x")],
        wrong: [
            ("dynamodb:localhost", "there is no ://"),
            ("dynamo://h", "scheme \"dynamo\""),
            ("dynamodb://a,b", "one endpoint"),
            ("dynamodb://h/a b", "has ' ' in it"),
            ("dynamodb://h?columns=json", "text or bytes"),
            ("dynamodb://h?consistent_read=yes", "on or off"),
            ("dynamodb://h?connections=0", "from 1 to 1024"),
            ("dynamodb://h?key=", "the name of an attribute"),
            ("dynamodb://h?ca_file=/ca", "ca_file needs dynamodbs://"),
            ("dynamodbs://h?ca_file=/nowhere", "/nowhere cannot be read"),
            ("dynamodbs://h?ca_file=/dev/null", "/dev/null has no certificate"),
            ("dynamodb://h?colums=text", "did you mean \"columns\""),
        ],
    }
}
