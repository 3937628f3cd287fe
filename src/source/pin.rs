//! Trust in one certificate, by its fingerprint: a component that signs its own shows another to nobody.
//!
//! Neither who signed it nor its names and times count. That whoever shows it has its key is verified as for any other.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, SignatureScheme};
use sha2::{Digest, Sha256};

/// SHA-256 of a certificate (DER).
pub(crate) type Fingerprint = [u8; 32];

#[derive(Debug)]
struct Pinned {
    fingerprint: Fingerprint,
    provider: Arc<CryptoProvider>,
}

/// Has the configuration trust this certificate and no other.
pub(super) fn pin(config: &mut ClientConfig, fingerprint: Fingerprint) {
    let provider = Arc::clone(config.crypto_provider());
    let verifier = Arc::new(Pinned {
        fingerprint,
        provider,
    });
    config.dangerous().set_certificate_verifier(verifier);
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if Sha256::digest(certificate).as_slice() == self.fingerprint {
            return Ok(ServerCertVerified::assertion());
        }
        let other = CertificateError::ApplicationVerificationFailure;
        Err(Error::InvalidCertificate(other))
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
