//! Takes the machine out of recorded answers: addresses, ids, kernel and system names get neutral values.
//!
//! It works on the text, so the server's bytes stay as they were everywhere else. It must not touch names, times,
//! versions or anything that a verdict could rest on. Pure: same text, same result.

use std::collections::BTreeMap;

use serde_json::Value;

/// Stands in for the host's name.
const HOST_NAME: &str = "control-plane";
/// Stands in for the host's addresses; reserved for documentation (RFC 5737).
const ADDRESS: &str = "192.0.2.10";
/// Stands in for the cluster's loopback address, which depends on the slot.
const LOOPBACK: &str = "127.0.0.1";
/// How the addresses of all slots begin.
const SLOTS: &str = "127.77.";

/// Fields of a node's `nodeInfo` and what stands in for them.
const NODE_INFO: &[(&str, &str)] = &[
    ("bootID", "00000000-0000-0000-0000-000000000000"),
    ("kernelVersion", "6.1.0"),
    ("machineID", "00000000000000000000000000000000"),
    ("osImage", "Linux"),
    ("systemUUID", "00000000-0000-0000-0000-000000000000"),
];

/// What is known about the machine that a recording was made on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Machine {
    /// What was found, and what stands in for it.
    neutral: BTreeMap<String, &'static str>,
}

impl Machine {
    /// Learns from a list of nodes as the API server wrote it.
    pub fn from_nodes(nodes: &str) -> Result<Self, serde_json::Error> {
        let nodes: Value = serde_json::from_str(nodes)?;
        let mut machine = Self::default();
        for node in nodes["items"].as_array().into_iter().flatten() {
            for (field, neutral) in NODE_INFO {
                if let Some(found) = node["status"]["nodeInfo"][*field].as_str() {
                    machine.add(found, neutral);
                }
            }
            for address in node["status"]["addresses"].as_array().into_iter().flatten() {
                if let (Some("InternalIP" | "ExternalIP"), Some(found)) =
                    (address["type"].as_str(), address["address"].as_str())
                {
                    machine.add(found, ADDRESS);
                }
            }
        }
        Ok(machine)
    }

    /// Adds the name of the host.
    #[must_use]
    pub fn with_host_name(mut self, name: &str) -> Self {
        self.add(name, HOST_NAME);
        self
    }

    fn add(&mut self, found: &str, neutral: &'static str) {
        if !found.is_empty() && found != neutral {
            self.neutral.insert(found.to_owned(), neutral);
        }
    }

    /// Returns the text with the machine taken out.
    pub fn normalise(&self, text: &str) -> String {
        let mut text = without_slots(text);
        for (found, neutral) in &self.neutral {
            text = replace_word(&text, found, neutral);
        }
        text
    }
}

/// Replaces a word where it stands alone: in quotes, or as the last part of a name such as `default-scheduler-HOST`.
fn replace_word(text: &str, word: &str, by: &str) -> String {
    let mut result = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(word) {
        let begins = !before
            .chars()
            .next_back()
            .is_some_and(|before| before.is_alphanumeric() || before == '.');
        let ends = !after
            .chars()
            .next()
            .is_some_and(|after| after.is_alphanumeric() || ".-".contains(after));
        result.push_str(before);
        result.push_str(if begins && ends { by } else { word });
        rest = after;
    }
    result.push_str(rest);
    result
}

/// Replaces every address of every slot.
fn without_slots(text: &str) -> String {
    let mut parts = text.split(SLOTS);
    let mut result = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let tail = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        result.push_str(LOOPBACK);
        result.push_str(tail);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: &str = r#"{"items":[{"metadata":{"name":"n1"},"status":{
        "addresses":[{"type":"InternalIP","address":"10.1.2.3"},{"type":"Hostname","address":"n1"}],
        "nodeInfo":{"machineID":"abc","systemUUID":"","bootID":"d-e","kernelVersion":"6.18.4-x","osImage":"Debian 12 (x)",
        "kubeletVersion":"v1.37.2"}}}]}"#;

    fn machine() -> Machine {
        Machine::from_nodes(NODES)
            .expect("the list is JSON")
            .with_host_name("vm")
    }

    #[test]
    fn the_machine_is_taken_out_and_the_rest_stays() {
        let normal = machine().normalise(NODES);
        assert_eq!(
            normal,
            NODES
                .replace("10.1.2.3", "192.0.2.10")
                .replace("\"abc\"", "\"00000000000000000000000000000000\"")
                .replace("d-e", "00000000-0000-0000-0000-000000000000")
                .replace("6.18.4-x", "6.1.0")
                .replace("Debian 12 (x)", "Linux")
        );
    }

    #[test]
    fn a_word_inside_another_word_stays() {
        let machine = machine();
        assert_eq!(
            machine.normalise(r#""default-scheduler-vm""#),
            r#""default-scheduler-control-plane""#
        );
        assert_eq!(machine.normalise("vm_4f9"), "control-plane_4f9");
        for kept in [
            "vm.overcommit",
            "vmx",
            "my.vm",
            "vm-1",
            "10.1.2.34",
            "110.1.2.3",
            "10.1.2.3.4",
        ] {
            assert_eq!(machine.normalise(kept), kept);
        }
    }

    #[test]
    fn slots_have_no_number() {
        assert_eq!(
            machine()
                .normalise(r#"{"sourceIPs":["127.77.12.1"],"url":"https://127.77.3.1:6443/x"}"#),
            r#"{"sourceIPs":["127.0.0.1"],"url":"https://127.0.0.1:6443/x"}"#
        );
    }

    #[test]
    fn twice_is_as_once() {
        let once = machine().normalise(NODES);
        assert_eq!(machine().normalise(&once), once);
        let neutral = Machine::from_nodes(&once).expect("still JSON");
        assert_eq!(neutral, Machine::default());
    }
}
