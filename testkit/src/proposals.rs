//! Which components a feature gate's KEP names: `feature-gates` of `kep.yaml` files (kubernetes/enhancements).
//!
//! The files are written by hand: names of libraries and sentences stand among the components. Only Kubernetes' own
//! binaries are kept; nothing is guessed of the rest.

#![expect(clippy::disallowed_methods, reason = "it reads a checkout")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};

const BINARIES: [&str; 6] = [
    "cloud-controller-manager",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-proxy",
    "kube-scheduler",
    "kubelet",
];

/// Why a checkout could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ProposalError {
    /// A file or folder.
    #[error("could not read {}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A file that is no KEP's.
    #[error("{} is not a kep.yaml", path.display())]
    NotAProposal {
        path: PathBuf,
        source: Box<serde_saphyr::Error>,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Proposal {
    #[serde(default)]
    kep_number: Value,
    #[serde(default)]
    feature_gates: Option<Vec<Gate>>,
}

#[derive(Deserialize)]
struct Gate {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    components: Option<Vec<Option<String>>>,
}

#[derive(Default)]
struct Named {
    components: BTreeSet<String>,
    keps: BTreeSet<u32>,
}

/// Reads every `kep.yaml` below `keps/` of a checkout; returns a line a gate, by name.
pub fn read(checkout: &Path) -> Result<String, ProposalError> {
    let mut gates = BTreeMap::new();
    for path in files(&checkout.join("keps"))? {
        let text = fs::read_to_string(&path).map_err(|source| ProposalError::Read {
            path: path.clone(),
            source,
        })?;
        add(&text, &mut gates).map_err(|source| ProposalError::NotAProposal {
            path,
            source: Box::new(source),
        })?;
    }
    Ok(lines(&gates))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, ProposalError> {
    let failed = |source| ProposalError::Read {
        path: folder.to_owned(),
        source,
    };
    let mut found = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() {
            found.extend(files(&path)?);
        } else if path.file_name().is_some_and(|name| name == "kep.yaml") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn add(text: &str, gates: &mut BTreeMap<String, Named>) -> Result<(), serde_saphyr::Error> {
    let proposal: Proposal = serde_saphyr::from_str(text)?;
    let number = match &proposal.kep_number {
        Value::Number(number) => number.as_u64().and_then(|number| number.try_into().ok()),
        Value::String(digits) => digits.parse().ok(),
        // The template has letters.
        _ => None,
    };
    for gate in proposal.feature_gates.into_iter().flatten() {
        let (Some(number), Some(name)) = (number, gate.name.filter(|name| is_name(name))) else {
            continue;
        };
        let named = gates.entry(name).or_default();
        named.keps.insert(number);
        let written = gate.components.into_iter().flatten().flatten();
        let words: Vec<String> = written
            .flat_map(|text| text.split(',').map(str::to_owned).collect::<Vec<_>>())
            .collect();
        let first = words
            .iter()
            .filter_map(|word| word.split_whitespace().next());
        let binaries = first.filter(|word| BINARIES.contains(word));
        named.components.extend(binaries.map(str::to_owned));
    }
    Ok(())
}

/// Whether it is a gate's name, and not a word for having none or a pattern.
fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes().all(plain) && !["", "NA", "None"].contains(&text)
}

fn lines(gates: &BTreeMap<String, Named>) -> String {
    let line = |(name, named): (&String, &Named)| {
        let (name, components, keps) = (json!(name), json!(named.components), json!(named.keps));
        format!("{{\"name\":{name},\"components\":{components},\"keps\":{keps}}}\n")
    };
    gates.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_binaries_are_components() {
        let mut gates = BTreeMap::new();
        for text in [
            "kep-number: 3857\nfeature-gates:\n- name: A\n  components: ['kubelet,kube-apiserver']\n",
            "kep-number: \"3157\"\nfeature-gates:\n- name: A\n  components: [kube-proxy via client-go library, a tool]\n- name: n/a\n",
            "kep-number: NNNN\nfeature-gates:\n- name: MyFeature\n",
            "kep-number: 1\nfeature-gates:\n- name: B\n  components:\n",
            "title: none\nkep-number: 2\n",
        ] {
            add(text, &mut gates).expect("it is a KEP's");
        }
        assert_eq!(
            lines(&gates),
            "{\"name\":\"A\",\"components\":[\"kube-apiserver\",\"kube-proxy\",\"kubelet\"],\"keps\":[3157,3857]}\n\
             {\"name\":\"B\",\"components\":[],\"keps\":[1]}\n"
        );
    }
}
