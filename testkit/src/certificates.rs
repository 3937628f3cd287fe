//! Makes the certificates of one cluster: two authorities, serving certificates and client certificates.
//!
//! They are made anew for every cluster and live in its memory only; nothing here may be written outside of it.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// A certificate and its key, both PEM.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

/// A certificate authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    /// Makes an authority.
    pub(crate) fn new(name: &str) -> Result<Self, rcgen::Error> {
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
    pub(crate) fn certificate(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a client certificate: the name is the user, the organisation the group.
    pub(crate) fn client(&self, user: &str, group: Option<&str>) -> Result<Identity, rcgen::Error> {
        self.sign(user, group, Vec::new(), ExtendedKeyUsagePurpose::ClientAuth)
    }

    /// Signs a serving certificate for addresses and names.
    pub(crate) fn server(&self, name: &str, addresses: &[&str]) -> Result<Identity, rcgen::Error> {
        let addresses = addresses
            .iter()
            .map(|address| (*address).to_owned())
            .collect();
        self.sign(name, None, addresses, ExtendedKeyUsagePurpose::ServerAuth)
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
