//! The server's certificate.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::ServeError;

/// A certificate with its key.
#[derive(Clone)]
pub struct ServerTls(TlsAcceptor);

impl ServerTls {
    /// Reads both, in PEM; the certificate may come with those that vouch for it.
    ///
    /// # Errors
    /// If a file cannot be read, or the two do not belong together.
    pub fn from_files(certificate: &Path, key: &Path) -> Result<ServerTls, ServeError> {
        let unreadable = |path: &Path, error: &dyn fmt::Display| ServeError::Tls {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|error| unreadable(certificate, &error))?;
        if chain.is_empty() {
            return Err(unreadable(certificate, &"it has no certificate in PEM"));
        }
        let secret = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable(key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map(|builder| builder.with_no_client_auth())
            .and_then(|builder| builder.with_single_cert(chain, secret))
            .map_err(|error| unreadable(certificate, &error))?;
        Ok(ServerTls(TlsAcceptor::from(Arc::new(config))))
    }

    pub(crate) fn acceptor(&self) -> &TlsAcceptor {
        &self.0
    }
}

impl fmt::Debug for ServerTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}
