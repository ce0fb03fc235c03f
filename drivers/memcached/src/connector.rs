//! Makes connections to memcached servers, with the greeting that finds out whom we talk to.

use std::net::SocketAddr;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::address::Address;
use assay_driver_kit::wire::connect;
use assay_store::OpenError;

use super::admin::{AdminConnection, RequestError};
use super::options::Options;

/// The first version whose meta commands have their present form, as far as this driver uses it.
const OLDEST: [u32; 2] = [1, 6];

/// Everything that making a connection needs.
#[derive(Clone)]
pub(super) struct Connector {
    pub(super) options: Options,
}

impl Connector {
    /// The addresses of a server, resolved now.
    pub(super) fn resolve(&self, server: usize) -> Result<Vec<SocketAddr>, OpenError> {
        let (host, port) = &self.options.address.hosts[server];
        connect::resolve(host, *port).map_err(|reason| self.options.unreachable(reason))
    }

    /// A connection with a server that has been greeted, in blocking mode.
    pub(super) fn dial(&self, server: usize) -> Result<AdminConnection, OpenError> {
        let socket = connect::to_any(&self.resolve(server)?, self.options.connect_timeout);
        let socket = socket.map_err(|reason| self.options.unreachable(reason))?;
        let mut admin = AdminConnection::new(socket);
        if let Some(login) = self.login() {
            let reported = admin.line(&login).map_err(|error| self.explain(server, &error))?;
            self.check_login(server, &reported)?;
        }
        let reported = admin.line(b"version\r\n").map_err(|error| self.explain(server, &error))?;
        self.check_version(server, &reported)?;
        Ok(admin)
    }

    /// What a connection says before all else; each is answered with a line.
    pub(super) fn greetings(&self) -> impl Iterator<Item = Vec<u8>> {
        self.login().into_iter().chain([b"mn\r\n".to_vec()])
    }

    /// The command that names user and password: a write to any key.
    fn login(&self) -> Option<Vec<u8>> {
        let Address { user, password, .. } = &self.options.address;
        let (user, password) = (user.as_ref()?, password.as_ref()?);
        let words = format!("{user} {password}");
        Some(format!("set login 0 0 {}\r\n{words}\r\n", words.len()).into_bytes())
    }

    fn check_login(&self, server: usize, reported: &str) -> Result<(), OpenError> {
        if reported == "STORED" {
            return Ok(());
        }
        let at = self.options.address.authority(server);
        let reason = match reported.starts_with("CLIENT_ERROR auth") {
            true => format!("{at} says: {reported}; check user and password"),
            false => return Err(self.no_memcached(server, reported)),
        };
        Err(self.options.not_permitted(reason))
    }

    fn check_version(&self, server: usize, reported: &str) -> Result<(), OpenError> {
        let (at, store) = (self.options.address.authority(server), self.options.to_string());
        if reported.starts_with("CLIENT_ERROR unauthenticated") {
            return Err(store.not_permitted(format!(
                "{at} wants a user with a password (-Y); put them into the URL \
                 (memcached://user:password@host)"
            )));
        }
        if reported.starts_with("ERROR Too many open connections") {
            let reason = format!("{at} says: {reported}; raise -c, or use fewer connections");
            return Err(store.failed(reason));
        }
        let Some(version) = reported.strip_prefix("VERSION ") else {
            return Err(self.no_memcached(server, reported));
        };
        let mut numbers = version.split('.').map_while(|part| part.parse::<u32>().ok());
        let version_of = [numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)];
        if version_of >= OLDEST {
            return Ok(());
        }
        Err(store.unsupported(format!(
            "{at} is memcached {version}, whose protocol has no meta commands; use 1.6 or later"
        )))
    }

    fn no_memcached(&self, server: usize, reported: &str) -> OpenError {
        let at = self.options.address.authority(server);
        self.options.unreachable(format!(
            "something answers at {at} but it is no memcached (it says {reported:?}); check the \
             port"
        ))
    }

    /// What a failed conversation means to the one who started us.
    pub(super) fn explain(&self, server: usize, error: &RequestError) -> OpenError {
        let (at, timeout) = (self.options.address.authority(server), self.options.connect_timeout);
        self.options.unreachable(match error {
            RequestError::Silent => format!(
                "a connection to {at} was made but nothing came back within {timeout:?}; the \
                 server is frozen, or it is no memcached"
            ),
            RequestError::Closed => format!(
                "{at} closed the connection; it is no memcached, or one that speaks TLS or the \
                 binary protocol only"
            ),
            RequestError::Garbled(reported) => return self.no_memcached(server, reported),
            RequestError::Broken(error) => format!("the connection to {at} broke: {error}"),
        })
    }
}
