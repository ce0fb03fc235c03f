//! Makes connections, or says in words why one cannot be made.

use assay_driver_kit::StoreErrors;
use assay_driver_kit::address::authority;
use assay_driver_kit::unavailable::unconnected;
use assay_store::{OpenError, number_of};
use mysql_async::{Conn, Error, IoError, Opts};

use super::options::Options;

/// What is needed to connect.
pub(super) struct Connector {
    pub(super) options: Options,
    hosts: Vec<Opts>,
    /// The number of the only host, if it was chosen of several.
    only: Option<u8>,
}

impl Connector {
    pub(super) fn new(options: Options) -> Connector {
        Connector { hosts: options.hosts.clone(), options, only: None }
    }

    /// The same for the host of this number alone; `None` if there is none, or only one.
    pub(super) fn only(&self, node: u8) -> Option<Connector> {
        let host = self.hosts.get(usize::from(node).checked_sub(1)?)?.clone();
        let options = self.options.clone();
        let only = Some(node);
        (self.hosts.len() > 1).then(|| Connector { options, hosts: vec![host], only })
    }

    /// The number of host `host`; 0 if there is only one.
    pub(super) fn node(&self, host: usize) -> u8 {
        let several = if self.hosts.len() > 1 { number_of(host) } else { 0 };
        self.only.unwrap_or(several)
    }

    /// Each host as `host:port`, if there are several.
    pub(super) fn authorities(&self) -> Vec<String> {
        let text = |host: &Opts| authority(host.ip_or_hostname(), host.tcp_port());
        match &self.hosts[..] {
            [_] => Vec::new(),
            hosts => hosts.iter().map(text).collect(),
        }
    }

    /// How many hosts there are.
    pub(super) fn count(&self) -> usize {
        self.hosts.len()
    }

    /// A connection with the first host that can be reached, greeted, let in, and set up.
    pub(super) async fn dial(&self) -> Result<Conn, OpenError> {
        let mut dialled = self.dial_host(0).await;
        for host in 1..self.hosts.len() {
            if !matches!(dialled, Err(OpenError::Unreachable { .. })) {
                break;
            }
            dialled = self.dial_host(host).await;
        }
        dialled
    }

    /// The same with host `host`, from 0.
    pub(super) async fn dial_host(&self, host: usize) -> Result<Conn, OpenError> {
        let timeout = self.options.connect_timeout;
        match tokio::time::timeout(timeout, Conn::new(self.hosts[host].clone())).await {
            Ok(Ok(connection)) => Ok(connection),
            Ok(Err(error)) => Err(self.explain(&error)),
            Err(_) => Err(self.options.unreachable(format!(
                "no greeting came within {} ms: either nobody listens there or it is no MariaDB, \
                 for PostgreSQL and Redis wait for their clients to speak first; check host and \
                 port",
                timeout.as_millis()
            ))),
        }
    }

    /// Why there is no connection.
    fn explain(&self, error: &Error) -> OpenError {
        let store = &self.options;
        match error {
            Error::Server(error) => {
                let reported = format!("it says: {} ({})", error.message, error.code);
                match error.code {
                    1044 | 1045 | 1129 | 1130 | 1142 | 1227 | 1698 => {
                        let reason = format!("{reported}; check user, password and their rights");
                        store.not_permitted(reason)
                    }
                    1049 => {
                        store.failed(format!("{reported}; create the database or name another"))
                    }
                    1040 | 1203 | 1226 => {
                        store.failed(format!(
                            "{reported}; raise max_connections or say connections=N with less"
                        ))
                    }
                    _ => store.failed(reported),
                }
            }
            Error::Io(IoError::Io(error)) => self.options.unreachable(of_io(error)),
            Error::Driver(_) | Error::Other(_) | Error::Url(_) => self.options.unreachable(format!(
                "what answers is no MariaDB or MySQL that we understand ({error}); check host and \
                 port"
            )),
        }
    }

    /// The error of `text`, which was to set the store up or to inspect it.
    pub(super) fn failed(&self, text: &str, error: &Error) -> OpenError {
        let store = &self.options;
        let Error::Server(error) = error else { return self.explain(error) };
        let reason = format!("to {text} it says: {} ({})", error.message, error.code);
        match error.code {
            1044 | 1142 | 1143 | 1227 => store.not_permitted(reason),
            _ => store.failed(reason),
        }
    }
}

fn of_io(error: &std::io::Error) -> String {
    use std::io::ErrorKind::{NotFound, UnexpectedEof};
    match error.kind() {
        NotFound => format!("{error}; is the server running?"),
        UnexpectedEof => {
            format!("it hung up before its greeting was over ({error}); check host and port")
        }
        _ => unconnected(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_named_by_host_and_port() {
        let options = "mariadb://one,[::1]:7000/shop".parse().expect("the URL is right");
        let connector = Connector::new(options);
        assert_eq!(connector.authorities(), ["one:3306", "[::1]:7000"]);
    }
}
