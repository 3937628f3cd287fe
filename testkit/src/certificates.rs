//! Makes certificates: those of a cluster (two authorities, serving and client certificates), and faulty ones.
//!
//! They are made anew every time and live in memory only; nothing here may be written outside of the test.

use std::sync::Arc;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::{CertifiedKey, SingleCertAndKey};

/// A certificate and its key, both PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    pub certificate: String,
    pub key: String,
}

/// A certificate authority.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes an authority.
    pub fn new(name: &str) -> Result<Self, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(name, None);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![
            KeyUsagePurpose::KeyCertSign,
            KeyUsagePurpose::DigitalSignature,
        ];
        Ok(Self {
            issuer: CertifiedIssuer::self_signed(params, KeyPair::generate()?)?,
        })
    }

    /// The authority's own certificate.
    pub fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a client certificate: the name is the user, the organisation the group.
    pub(crate) fn client(&self, user: &str, group: Option<&str>) -> Result<Identity, rcgen::Error> {
        self.sign(user, group, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Signs a serving certificate for addresses and names.
    pub fn server(&self, name: &str, addresses: &[&str]) -> Result<Identity, rcgen::Error> {
        let addresses = addresses
            .iter()
            .map(|address| (*address).to_owned())
            .collect();
        self.sign(name, None, addresses, ExtendedKeyUsagePurpose::ServerAuth)
    }

    /// Signs a client certificate for a key that is there already, and returns the certificate alone.
    pub(crate) fn client_for(
        &self,
        user: &str,
        group: Option<&str>,
        key: &KeyPair,
    ) -> Result<String, rcgen::Error> {
        let mut params = CertificateParams::default();
        params.distinguished_name = subject(user, group);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        Ok(params.signed_by(key, &self.issuer)?.pem())
    }

    /// Signs a serving certificate for 127.0.0.1 that has a fault.
    pub fn faulty_server(&self, fault: Fault) -> Result<Identity, rcgen::Error> {
        let names: &[&str] = match fault {
            Fault::NoName => &[],
            Fault::OtherNames => &["kubernetes", "10.96.0.1"],
            _ => &["127.0.0.1"],
        };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name = subject("127.0.0.1", None);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        match fault {
            Fault::Expired => params.not_after = rcgen::date_time_ymd(2020, 2, 3),
            Fault::NotYetValid => params.not_before = rcgen::date_time_ymd(2096, 2, 3),
            Fault::AuthorityItself => params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained),
            Fault::NoName | Fault::OtherNames | Fault::Version1 => {}
        }
        let certificate = params.signed_by(&key, &self.issuer)?;
        let certificate = if fault == Fault::Version1 {
            pem("CERTIFICATE", &version_1(certificate.der()))
        } else {
            certificate.pem()
        };
        Ok(Identity {
            certificate,
            key: key.serialize_pem(),
        })
    }

    fn sign(
        &self,
        name: &str,
        group: Option<&str>,
        addresses: Vec<String>,
        usage: ExtendedKeyUsagePurpose,
    ) -> Result<Identity, rcgen::Error> {
        let key = KeyPair::generate()?;
        let mut params = CertificateParams::new(addresses)?;
        params.distinguished_name = subject(name, group);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![usage];
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Identity {
            certificate,
            key: key.serialize_pem(),
        })
    }
}

/// What is wrong with a serving certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Only a common name, no subject alternative name.
    NoName,
    /// The names of another server.
    OtherNames,
    Expired,
    NotYetValid,
    /// X.509 version 1.
    Version1,
    /// It may sign others.
    AuthorityItself,
}

/// Says version 1 where version 3 stood; the signature is then wrong, which nobody gets to see.
fn version_1(certificate: &[u8]) -> Vec<u8> {
    const VERSION_3: [u8; 5] = [0xa0, 0x03, 0x02, 0x01, 0x02];
    let mut der = certificate.to_vec();
    let at = der.windows(5).position(|window| window == VERSION_3);
    if let Some(version) = at.and_then(|at| der.get_mut(at + 4)) {
        *version = 0;
    }
    der
}

/// PEM of DER.
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    format!(
        "-----BEGIN {label}-----\n{}\n-----END {label}-----\n",
        BASE64_STANDARD.encode(der)
    )
}

/// Makes a TLS server's configuration that shows the identity, whatever is wrong with it.
///
/// # Panics
/// If the identity is not PEM.
pub(crate) fn serving(identity: &Identity) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes())
        .expect("the certificate is PEM");
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).expect("the key is PEM");
    let provider = ring::default_provider();
    let key = provider
        .key_provider
        .load_private_key(key)
        .expect("the key is of a kind that ring knows");
    let shown = SingleCertAndKey::from(CertifiedKey::new(vec![certificate], key));
    let config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .expect("the provider speaks TLS")
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(shown));
    Arc::new(config)
}

/// Makes a key pair for signing service account tokens: the private key, then the public one.
pub(crate) fn signing_keys() -> Result<[String; 2], rcgen::Error> {
    let key = KeyPair::generate()?;
    Ok([key.serialize_pem(), key.public_key_pem()])
}

fn subject(name: &str, group: Option<&str>) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    if let Some(group) = group {
        subject.push(DnType::OrganizationName, group);
    }
    subject.push(DnType::CommonName, name);
    subject
}
