//! Trust of a TLS connection: certificates that it accepts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// Whether the server's certificate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// The certificate must be vouched for and name the host.
    Verified,
    /// Any certificate is accepted: encrypted, but not authenticated.
    Insecure,
}

/// How a TLS server proves who it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tls {
    /// Option `ca_file`: certificates in PEM that may vouch for the server; none means the
    /// operating system's.
    pub ca_file: Option<PathBuf>,
    /// Option `tls_insecure`.
    pub trust: Trust,
}

impl Tls {
    /// What these options say of a URL with TLS or without.
    ///
    /// # Errors
    /// If there are some although it is without: what they need is `scheme`.
    pub fn of(
        is_encrypted: bool,
        (ca_file, is_insecure): (Option<PathBuf>, Option<bool>),
        scheme: &str,
    ) -> Result<Option<Tls>, String> {
        if !is_encrypted && (ca_file.is_some() || is_insecure.is_some()) {
            return Err(format!("ca_file and tls_insecure need {scheme}"));
        }
        let trust = if is_insecure == Some(true) { Trust::Insecure } else { Trust::Verified };
        Ok(is_encrypted.then_some(Tls { ca_file, trust }))
    }
}

/// Where operating systems keep the certificates that they trust.
const SYSTEM_BUNDLES: &[&str] = &[
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// The configuration of a client that trusts the authorities in `ca_file`, or the system's. An
/// error is a reason for the author of the URL.
pub fn configure(ca_file: Option<&Path>, trust: Trust) -> Result<ClientConfig, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS cannot be used: {error}"))?;
    let config = match trust {
        Trust::Verified => builder.with_root_certificates(roots(ca_file)?),
        Trust::Insecure => {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody { provider }))
        }
    };
    Ok(config.with_no_client_auth())
}

fn roots(ca_file: Option<&Path>) -> Result<RootCertStore, String> {
    let path = match ca_file {
        Some(path) => path,
        None => {
            let there = SYSTEM_BUNDLES.iter().map(Path::new).find(|path| path.exists());
            there.ok_or("this system keeps no trusted certificates; name some with ca_file=")?
        }
    };
    let displayed = path.display();
    let certificates = CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| format!("ca_file {displayed} cannot be read: {error}"))?;
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 {
        return Err(format!("ca_file {displayed} has no certificate in PEM"));
    }
    Ok(roots)
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
