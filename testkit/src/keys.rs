//! Private keys in every form that a kubeconfig may hold: EC and RSA, each in PKCS#8 and in its own older form.
//!
//! ring makes no RSA keys, so one comes from a Kubernetes component, which makes itself a serving certificate when it has
//! none. It must not sign anything.

#![expect(
    clippy::disallowed_methods,
    reason = "it reads the key that a component wrote"
)]

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use rcgen::KeyPair;
use rustls::pki_types::PrivatePkcs1KeyDer;
use rustls::pki_types::pem::PemObject;

use crate::certificates::pem;

/// `AlgorithmIdentifier`: rsaEncryption, NULL.
const RSA_ALGORITHM: [u8; 15] = [
    0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00,
];

/// `[0]`: prime256v1.
const P256: [u8; 12] = [
    0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07,
];

/// A key pair, and the forms of its private key by their names.
pub(crate) struct Key {
    pub(crate) pair: KeyPair,
    pub(crate) forms: [(&'static str, String); 2],
}

/// A new EC key.
pub(crate) fn ec() -> Result<Key, rcgen::Error> {
    let pair = KeyPair::generate()?;
    let unread = rcgen::Error::CouldNotParseKeyPair;
    let inner = inside(pair.serialized_der()).ok_or(unread.clone())?;
    let forms = [
        ("EC, PKCS#8", pair.serialize_pem()),
        (
            "EC, SEC1",
            pem("EC PRIVATE KEY", &with_curve(inner).ok_or(unread)?),
        ),
    ];
    Ok(Key { pair, forms })
}

/// An RSA key, in the form that the component writes: PKCS#1.
pub(crate) fn rsa_of_a_component(binary: &Path, folder: &Path) -> io::Result<String> {
    // It fails at the kubeconfig that is not there, after it has written the key.
    Command::new(binary)
        .arg(format!("--cert-dir={}", folder.display()))
        .arg(format!("--kubeconfig={}", folder.join("none").display()))
        .args(["--bind-address=127.0.0.1", "--secure-port=1"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    fs::read_to_string(folder.join("kube-controller-manager.key"))
}

/// The forms of an RSA key in PKCS#1.
pub(crate) fn rsa(pkcs1: &str) -> Result<Key, rcgen::Error> {
    let unread = |_| rcgen::Error::CouldNotParseKeyPair;
    let inner = PrivatePkcs1KeyDer::from_pem_slice(pkcs1.as_bytes()).map_err(unread)?;
    let octets = element(0x04, inner.secret_pkcs1_der());
    let parts = [&[0x02, 0x01, 0x00], &RSA_ALGORITHM[..], &octets].concat();
    let pkcs8 = pem("PRIVATE KEY", &element(0x30, &parts));
    let pair = KeyPair::from_pem(&pkcs8)?;
    let forms = [("RSA, PKCS#1", pkcs1.to_owned()), ("RSA, PKCS#8", pkcs8)];
    Ok(Key { pair, forms })
}

/// A DER element of less than 64 kB.
fn element(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let [.., high, low] = length.to_be_bytes();
    let head = match length {
        0..128 => vec![tag, low],
        128..256 => vec![tag, 0x81, low],
        _ => vec![tag, 0x82, high, low],
    };
    [head.as_slice(), content].concat()
}

/// Adds the curve to a SEC1 key of PKCS#8, where it stands beside the key; alone, it has to stand inside.
fn with_curve(sec1: &[u8]) -> Option<Vec<u8>> {
    let (tag, body, _) = split(sec1)?;
    let (_, _, after_version) = split(body)?;
    let (_, _, public) = split(after_version)?;
    let (private, _) = body.split_at_checked(body.len() - public.len())?;
    Some(element(tag, &[private, &P256[..], public].concat()))
}

/// What the octet string of a PKCS#8 key holds.
fn inside(pkcs8: &[u8]) -> Option<&[u8]> {
    let (_, body, _) = split(pkcs8)?;
    let (_, _, rest) = split(body)?;
    let (_, _, rest) = split(rest)?;
    let (tag, inner, _) = split(rest)?;
    (tag == 0x04).then_some(inner)
}

/// The first element: its tag, its content, and what follows it.
fn split(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = der.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0x81 => (usize::from(*rest.first()?), rest.get(1..)?),
        0x82 => {
            let (bytes, rest) = rest.split_first_chunk::<2>()?;
            (usize::from(u16::from_be_bytes(*bytes)), rest)
        }
        short => (usize::from(short), rest),
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}
