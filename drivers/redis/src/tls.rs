//! TLS of a connection to Redis, with the meaning of its failures.

use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::trust;
use assay_store::OpenError;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, Error, InvalidMessage};

use super::options::{Options, Tls};

/// The configuration of a client.
pub(super) fn configure(options: &Options, tls: &Tls) -> Result<Arc<ClientConfig>, OpenError> {
    let wrong = |reason| options.invalid(reason);
    trust::configure(tls.ca_file.as_deref(), tls.trust).map(Arc::new).map_err(wrong)
}

/// The name that the certificate of `host` must carry.
pub(super) fn name(options: &Options, host: &str) -> Result<ServerName<'static>, OpenError> {
    ServerName::try_from(host.to_owned()).map_err(|error| {
        let reason = format!("{host:?} is no name for TLS: {error}");
        options.invalid(reason)
    })
}

/// What a failed handshake means to the one who started us.
pub(super) fn explain(error: &Error) -> String {
    match error {
        Error::InvalidCertificate(why) => format!(
            "its certificate is not trusted ({why:?}); name the authority that signed it with \
             ca_file=, or give up knowing the server with tls_insecure=true"
        ),
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "the server speaks no TLS on this port; use redis://".into()
        }
        Error::AlertReceived(alert) => format!(
            "the server broke off the TLS handshake ({alert:?}); if it wants client \
             certificates (tls-auth-clients), turn that off"
        ),
        other => format!("no TLS with this server: {other}; if it speaks none, use redis://"),
    }
}
