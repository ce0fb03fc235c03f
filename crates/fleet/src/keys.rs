//! Certificates of a fleet, for mutual TLS 1.3.
//!
//! Each run has an authority of its own, a certificate for the coordinator, one for all agents.
//!
//! The name in the coordinator's certificate is a constant, not its address: addresses, pods and
//! relays may change, the keys say who is who.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{ClientConfig, RootCertStore, ServerConfig};

use crate::offset;

/// The name in the coordinator's certificate.
pub const COORDINATOR: &str = "coordinator.assay.internal";
/// The name in the agents' certificate.
const AGENT: &str = "agent.assay.internal";

/// The protocol of control connections, for ALPN.
pub const ALPN_HTTP: &[u8] = b"http/1.1";
/// The protocol of clock probes, for ALPN.
pub const ALPN_PROBE: &[u8] = b"assay-fleet-probe/1";

/// How long before their making keys are valid: the clocks of two machines may differ.
const BEFORE: Duration = Duration::from_secs(3600);

/// A certificate with its key, and the authority that vouches for the other end.
#[derive(Debug)]
pub struct FleetKeys {
    authority: CertificateDer<'static>,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

/// The two files of a fleet, as PEM.
#[derive(Clone, Debug)]
pub struct KeyFiles {
    /// For the coordinator.
    pub coordinator: String,
    /// For all agents.
    pub agent: String,
}

/// FleetKeys could not be made or read.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// They cannot be made.
    #[error("cannot make keys: {0}")]
    Make(#[from] rcgen::Error),
    /// The file cannot be read.
    #[error("cannot read the keys in {path}: {source}; `assay fleet keys -o DIR` makes them")]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is something else.
    #[error(
        "{path} has no keys of a fleet ({reason}); it must hold two certificates, its own, then \
         the authority's, then a private key, as `assay fleet keys` writes them"
    )]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl KeyFiles {
    /// New keys that are valid for `valid` from now on.
    ///
    /// # Errors
    /// If the library refuses.
    pub fn generate(valid: Duration) -> Result<KeyFiles, KeysError> {
        let (from, until) = offset::validity(BEFORE, valid);
        let mut authority = CertificateParams::new(Vec::new())?;
        authority.distinguished_name.push(DnType::CommonName, "assay fleet");
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (authority.not_before, authority.not_after) = (from.into(), until.into());
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;
        let leaf = |name: &str, usage: ExtendedKeyUsagePurpose| -> Result<String, KeysError> {
            let mut params = CertificateParams::new(vec![name.to_owned()])?;
            params.distinguished_name.push(DnType::CommonName, name);
            params.extended_key_usages = vec![usage];
            (params.not_before, params.not_after) = (from.into(), until.into());
            let key = KeyPair::generate()?;
            let certificate = params.signed_by(&key, &authority)?;
            Ok(format!("{}{}{}", certificate.pem(), authority.pem(), key.serialize_pem()))
        };
        Ok(KeyFiles {
            coordinator: leaf(COORDINATOR, ExtendedKeyUsagePurpose::ServerAuth)?,
            agent: leaf(AGENT, ExtendedKeyUsagePurpose::ClientAuth)?,
        })
    }
}

impl FleetKeys {
    /// Reads a file of keys.
    ///
    /// # Errors
    /// If it cannot be read or is something else.
    pub fn read(path: &Path) -> Result<FleetKeys, KeysError> {
        let text = std::fs::read(path)
            .map_err(|source| KeysError::Read { path: path.to_owned(), source })?;
        FleetKeys::from_pem(&text)
            .map_err(|reason| KeysError::Invalid { path: path.to_owned(), reason })
    }

    /// FleetKeys from the text of such a file.
    ///
    /// # Errors
    /// In words, if it is something else.
    pub fn from_pem(text: &[u8]) -> Result<FleetKeys, String> {
        let certificates = CertificateDer::pem_slice_iter(text).collect::<Result<Vec<_>, _>>();
        let certificates = certificates.map_err(|error| error.to_string())?;
        let [certificate, authority] = <[_; 2]>::try_from(certificates)
            .map_err(|found| format!("{} certificates", found.len()))?;
        let key = PrivateKeyDer::from_pem_slice(text).map_err(|error| error.to_string())?;
        Ok(FleetKeys { authority, certificate, key })
    }

    fn roots(&self) -> Result<RootCertStore, rustls::Error> {
        let mut roots = RootCertStore::empty();
        roots.add(self.authority.clone())?;
        Ok(roots)
    }

    /// The coordinator's end: only agents with a certificate of the same authority may speak.
    ///
    /// # Errors
    /// In words, if certificate and key do not belong together.
    pub fn server(&self) -> Result<Arc<ServerConfig>, String> {
        let provider = Arc::new(ring::default_provider());
        let roots = Arc::new(self.roots().map_err(|error| error.to_string())?);
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
            .build()
            .map_err(|error| error.to_string())?;
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map(|builder| builder.with_client_cert_verifier(verifier))
            .and_then(|builder| {
                builder.with_single_cert(vec![self.certificate.clone()], self.key.clone_key())
            })
            .map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![ALPN_HTTP.to_vec(), ALPN_PROBE.to_vec()];
        Ok(Arc::new(config))
    }

    /// An agent's end of a connection that speaks `alpn`.
    ///
    /// # Errors
    /// In words, if certificate and key do not belong together.
    pub fn client(&self, alpn: &[u8]) -> Result<Arc<ClientConfig>, String> {
        let roots = self.roots().map_err(|error| error.to_string())?;
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&[&rustls::version::TLS13])
            .map(|builder| builder.with_root_certificates(roots))
            .and_then(|builder| {
                let chain = vec![self.certificate.clone()];
                builder.with_client_auth_cert(chain, self.key.clone_key())
            })
            .map_err(|error| error.to_string())?;
        config.alpn_protocols = vec![alpn.to_vec()];
        Ok(Arc::new(config))
    }
}

/// What a failed connection means, in words that say what to do.
///
/// In TLS 1.3 an agent learns that the coordinator does not know it at its first read, not at the
/// handshake; so every error of a connection comes here.
pub fn explain(error: &str) -> String {
    let text = error.to_lowercase();
    if text.contains("expired") || text.contains("notvalidyet") || text.contains("not valid yet") {
        return format!(
            "the keys have expired or are not valid yet ({error}): make new ones with `assay \
             fleet keys`, or set the clocks of both machines"
        );
    }
    let is_unknown = ["unknownca", "unknownissuer", "unknown issuer", "certificaterequired"]
        .into_iter()
        .chain(["badcertificate", "badsignature", "decrypterror", "unsupportedcertificate"])
        .any(|name| text.contains(name));
    if is_unknown {
        return format!(
            "coordinator and agent do not know each other ({error}): keys of another run? Give \
             coordinator.pem to the coordinator and agent.pem, of the same `assay fleet keys`, to \
             every agent"
        );
    }
    error.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_as_they_were_made() {
        let files = KeyFiles::generate(Duration::from_secs(60)).unwrap();
        for text in [&files.coordinator, &files.agent] {
            let keys = FleetKeys::from_pem(text.as_bytes()).unwrap();
            assert!(keys.server().is_ok() && keys.client(ALPN_HTTP).is_ok());
        }
        assert!(FleetKeys::from_pem(b"").unwrap_err().contains("0 certificates"));
        let half = files.agent.split_once("-----BEGIN PRIVATE").unwrap().0;
        assert!(FleetKeys::from_pem(half.as_bytes()).is_err());
    }

    #[test]
    fn a_refusal_says_what_to_do() {
        let expired = explain("invalid peer certificate: certificate expired: verification time");
        assert!(expired.contains("expired") && expired.contains("assay fleet keys"), "{expired}");
        let unknown = explain("received fatal alert: CertificateRequired");
        assert!(unknown.contains("keys of another run?"), "{unknown}");
        assert_eq!(explain("connection refused"), "connection refused");
    }
}
