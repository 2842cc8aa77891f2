//! TLS by rustls: which authorities are trusted, and how a handshake's failure reads.
//!
//! Of HTTP it knows the name of the one version that is offered by ALPN, so that a server never switches by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kneepoint_model::plan::HttpVersion;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, InvalidDnsNameError, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Why TLS could not be set up, before any connection.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The CA file cannot be read or holds no certificate.
    #[error("could not read certificate authorities from `{path}`")]
    CaFile {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rustls::pki_types::pem::Error,
    },
    /// The CA file holds no certificate that can be used.
    #[error("`{path}` holds no usable PEM certificate")]
    NoCertificate {
        /// The file.
        path: PathBuf,
    },
    /// The system has no certificate authorities.
    #[error("this system has no certificate authorities to trust; install `ca-certificates` or name a file with `ca:`")]
    NoSystemRoots,
    /// The host is neither a DNS name nor an IP address.
    #[error("`{host}` cannot be the name of a TLS server")]
    BadName {
        /// The host.
        host: String,
        /// Why.
        #[source]
        source: InvalidDnsNameError,
    },
    /// rustls refused the configuration.
    #[error("could not set up TLS")]
    Config(#[source] rustls::Error),
}

/// What is needed to open TLS sessions with one server. Cheap to clone.
#[derive(Clone, Debug)]
pub struct TlsSetup {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
}

impl TlsSetup {
    /// Trusts `ca` (a PEM file) if given, else the system's authorities; expects a certificate for `host`. HTTP/1.1 is
    /// offered.
    pub fn new(host: &str, ca: Option<&Path>) -> Result<Self, TlsError> {
        let name = ServerName::try_from(host.to_owned())
            .map_err(|source| TlsError::BadName { host: host.to_owned(), source })?;
        let roots = match ca {
            Some(path) => roots_from_file(path)?,
            None => system_roots()?,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsError::Config)?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol_name(HttpVersion::Http1)];
        // A resumed session would make the handshakes of one run differ from each other by chance.
        config.resumption = rustls::client::Resumption::disabled();
        Ok(Self { config: Arc::new(config), name })
    }

    /// The same, offering this version of HTTP and no other.
    #[must_use]
    pub fn offering(mut self, http: HttpVersion) -> Self {
        Arc::make_mut(&mut self.config).alpn_protocols = vec![protocol_name(http)];
        self
    }

    /// Begins a session; nothing is sent yet.
    pub(crate) fn session(&self) -> Result<ClientConnection, rustls::Error> {
        ClientConnection::new(Arc::clone(&self.config), self.name.clone())
    }
}

/// The name under which a version of HTTP is offered (RFC 7301).
fn protocol_name(http: HttpVersion) -> Vec<u8> {
    match http {
        HttpVersion::Http1 => b"http/1.1".to_vec(),
        HttpVersion::Http2 => b"h2".to_vec(),
    }
}

fn roots_from_file(path: &Path) -> Result<RootCertStore, TlsError> {
    let ca_file = |source| TlsError::CaFile { path: path.to_owned(), source };
    let certificates = CertificateDer::pem_file_iter(path).map_err(ca_file)?;
    let certificates = certificates.collect::<Result<Vec<_>, _>>().map_err(ca_file)?;
    let mut roots = RootCertStore::empty();
    let (added, _) = roots.add_parsable_certificates(certificates);
    if added == 0 { Err(TlsError::NoCertificate { path: path.to_owned() }) } else { Ok(roots) }
}

fn system_roots() -> Result<RootCertStore, TlsError> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() { Err(TlsError::NoSystemRoots) } else { Ok(roots) }
}
