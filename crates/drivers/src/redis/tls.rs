//! What a TLS connection to a Redis trusts.

use std::path::Path;
use std::sync::Arc;

use assay_store::OpenError;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, InvalidMessage, RootCertStore, SignatureScheme,
};

use super::options::{Options, Tls, Trust};

/// Where operating systems keep the certificates that they trust.
const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The configuration of a client, and the name that the server's certificate must carry.
pub(super) fn configure(
    options: &Options,
    tls: &Tls,
) -> Result<(Arc<ClientConfig>, ServerName<'static>), OpenError> {
    let wrong = |reason| OpenError::Url { url: options.to_string(), reason };
    let name = ServerName::try_from(options.host.clone())
        .map_err(|error| wrong(format!("{:?} is no name for TLS: {error}", options.host)))?;
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| wrong(format!("TLS cannot be used: {error}")))?;
    let config = match tls.trust {
        Trust::Verified => builder.with_root_certificates(roots(tls.ca_file.as_deref(), wrong)?),
        Trust::Insecure => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody { provider }))
        }
    };
    Ok((Arc::new(config.with_no_client_auth()), name))
}

fn roots(
    ca_file: Option<&Path>,
    wrong: impl Fn(String) -> OpenError,
) -> Result<RootCertStore, OpenError> {
    let path = match ca_file {
        Some(path) => path,
        None => {
            SYSTEM_BUNDLES.iter().map(Path::new).find(|path| path.exists()).ok_or_else(|| {
                wrong("this system keeps no trusted certificates; name some with ca_file=".into())
            })?
        }
    };
    let shown = path.display();
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| wrong(format!("ca_file {shown} cannot be read: {error}")))?;
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(wrong(format!("ca_file {shown} has no certificate in PEM")));
    }
    Ok(roots)
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

/// Takes every certificate, but still checks that the server has its key.
#[derive(Debug)]
struct Anybody {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms().supported_schemes()
    }
}

impl Anybody {
    fn algorithms(&self) -> rustls::crypto::WebPkiSupportedAlgorithms {
        self.provider.signature_verification_algorithms
    }
}
