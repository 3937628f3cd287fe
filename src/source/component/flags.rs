//! Reads the gates of a command line: words parted by blanks, lines or NULs, a JSON list, or the `FLAG:` lines of a start-up log.
//!
//! There is no shell here: quotes are a part of the value, as they are for the component. It keeps gates and emulation, no
//! other flag: those may hold what is secret.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{BufRead, Read};

use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use super::{DocumentError, flagz, foreign, settings, whole};
use crate::model::component::{ComponentKind, RuntimeConfig, Told};
use crate::source::located::Position;

/// How klog writes a flag at start (`component-base/cli/flag/flags.go`, `PrintFlags`), from verbosity 1 on.
const LOGGED: &str = "FLAG: ";

/// Flags stand in the first lines of a log; this is more than all of them.
const MAX_START: u64 = 1 << 20;

const RUNTIME_CONFIG: &str = "runtime-config";

/// Flags that are read, each with a value.
const READ: [&str; 6] = [
    "--advertise-address",
    "--secure-port",
    "--feature-gates",
    "--emulated-version",
    "--min-compatibility-version",
    "--runtime-config",
];

/// A flag of which only is read that it is there: a file has gates, too.
const FILE: &str = "--config";

/// Of a command line the program, if it is a component, and the flags of gates, emulation and its own address: other words never become
/// values. That there is a file is kept, and not which.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct GateWords(pub(crate) Vec<String>);

impl GateWords {
    /// The component that is started, where the first word names one.
    pub(crate) fn program(&self) -> Option<ComponentKind> {
        let first = self.0.first()?;
        ComponentKind::of_word(first.rsplit_once('/').map_or(first, |(_, name)| name))
    }
}

/// An entry of a command; what is no text is no word.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word<'w> {
    Text(#[serde(borrow)] Cow<'w, str>),
    Other(IgnoredAny),
}

impl<'de> Deserialize<'de> for GateWords {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GateWordsVisitor)
    }
}

struct GateWordsVisitor;

impl<'de> Visitor<'de> for GateWordsVisitor {
    type Value = GateWords;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a command")
    }

    fn visit_unit<E>(self) -> Result<GateWords, E> {
        Ok(GateWords::default())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<GateWords, A::Error> {
        let mut kept = GateWords::default();
        let mut is_value = false;
        let mut is_first = true;
        while let Some(word) = words.next_element::<Word<'_>>()? {
            let Word::Text(word) = word else { continue };
            let flag = word.split_once('=').map_or(&*word, |(flag, _)| flag);
            let is_program = is_first
                && GateWords(vec![word.clone().into_owned()])
                    .program()
                    .is_some();
            let is_read = READ.contains(&flag);
            // What follows a switch is another word.
            if is_program || is_value || is_read || RuntimeConfig::SWITCHES.contains(&flag) {
                kept.0.push(word.clone().into_owned());
            } else if names_a_file(&word) {
                kept.0.push(FILE.to_owned());
            }
            is_value = is_read && !word.contains('=');
            is_first = false;
        }
        Ok(kept)
    }
}

pub(super) fn read(
    kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    // A log tells its flags at its beginning, and goes on for as long as it will.
    let mut start = Vec::new();
    Read::take(&mut *reader, MAX_START).read_to_end(&mut start)?;
    let start = String::from_utf8_lossy(&start);
    if start.contains(LOGGED) {
        return Ok(told(kind, &logged(&start)));
    }
    let text = format!("{start}{}", whole(reader)?);
    let words: Vec<String> = match serde_json::from_str(&text) {
        Ok(words) => words,
        Err(_) => text
            .split(|letter: char| letter.is_whitespace() || letter == '\0')
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect(),
    };
    if !words.iter().any(|word| word.starts_with("--")) {
        return Err(foreign(&text, "command line"));
    }
    Ok(told(kind, &words))
}

/// A line of a log in JSON.
#[derive(Deserialize)]
struct LogLine {
    msg: String,
}

/// The flags of a log's `FLAG: --name="value"`, where the value is quoted as Go quotes.
fn logged(text: &str) -> Vec<String> {
    text.lines()
        .filter_map(|line| {
            // The same as JSON (`--logging-format=json`), where it is a text in a text.
            if line.starts_with('{') {
                let line: LogLine = serde_json::from_str(line).ok()?;
                return line.msg.strip_prefix(LOGGED).map(str::to_owned);
            }
            line.split_once(LOGGED).map(|(_, flag)| flag.to_owned())
        })
        .map(|flag| match flag.trim_end().split_once("=\"") {
            Some((name, value)) => {
                let value = value.strip_suffix('"').unwrap_or(value);
                format!(
                    "{name}={}",
                    value.replace("\\\"", "\"").replace("\\\\", "\\")
                )
            }
            None => flag.trim_end().to_owned(),
        })
        .collect()
}

/// Whether a word says that there is a configuration file. An empty name, as logs have it, is none.
fn names_a_file(word: &str) -> bool {
    let rest = word.strip_prefix(FILE);
    rest.is_some_and(|rest| rest.is_empty() || (rest.starts_with('=') && rest.len() > 1))
}

/// What a command line tells of gates. Without any flag of them the component was told nothing, which is a statement too; but a
/// kube-proxy with a file takes all from there, and no gates from flags (kubernetes 1.35 to 1.37, `cmd/kube-proxy/app/options.go`, `Complete`).
pub(crate) fn told(kind: ComponentKind, words: &[String]) -> Vec<Told> {
    told_at(kind, words, &|_| None)
}

/// The same, with where the gates stand, given where each word does.
pub(crate) fn told_at(
    kind: ComponentKind,
    words: &[String],
    at: &dyn Fn(usize) -> Option<Position>,
) -> Vec<Told> {
    let flags = values_at(words, "feature-gates");
    let mut set = settings::of_flags(kind, flags.iter().map(|(_, value)| *value));
    for (number, value) in flags {
        let Some(Position { line, column }) = at(number) else {
            continue;
        };
        // Of a gate the last place counts, as its last value does; of a refusal the first.
        for name in settings::names(value).filter(|name| set.gates.contains_key(*name)) {
            set.places.at.insert(name.to_owned(), (line, column));
        }
        for words in &set.refused {
            let known = set.places.at.entry(words.clone());
            if settings::of_flags(kind, [value]).refused.contains(words) {
                known.or_insert((line, column));
            }
        }
    }
    for name in ["emulated-version", "min-compatibility-version"] {
        let given = values_at(words, name);
        let values: Vec<&str> = given.iter().map(|(_, value)| *value).collect();
        let fault = settings::refused_version(kind, name, &values);
        let place = given.first().and_then(|(number, _)| at(*number));
        if let Some(Position { line, column }) = place {
            let names = [name.to_owned()].into_iter().chain(fault.clone());
            set.places.at.extend(names.map(|it| (it, (line, column))));
        }
        set.refused.extend(fault);
    }
    if kind == ComponentKind::KubeApiserver {
        for (number, value) in values_at(words, RUNTIME_CONFIG) {
            if let Some(Position { line, column }) = at(number) {
                let keys = keys(value).map(|(key, _)| (key.to_owned(), (line, column)));
                set.places.at.extend(keys);
            }
        }
    }
    let is_in_file = kind == ComponentKind::KubeProxy && words.iter().any(|it| names_a_file(it));
    let mut told = Vec::new();
    if !is_in_file {
        told.push(Told::Set(set));
    }
    if kind.has_prefixed_gates() {
        told.extend(flagz::versions(|name| {
            values(words, name).into_iter().next_back()
        }));
    }
    if kind == ComponentKind::KubeApiserver {
        told.push(Told::RuntimeConfig(runtime_config(words)));
    }
    told
}

fn runtime_config(words: &[String]) -> RuntimeConfig {
    let switch = |name: &str| {
        let mut last = words.iter().rev().filter_map(|word| {
            let rest = word.strip_prefix(name)?;
            rest.strip_prefix('=').or(rest.is_empty().then_some("true"))
        });
        last.next()
    };
    api_config(values(words, RUNTIME_CONFIG), switch)
}

/// What an API server is told to serve, of the values of `--runtime-config` and of switches by their names.
pub(super) fn api_config<'v>(
    values: impl IntoIterator<Item = &'v str>,
    switch: impl Fn(&str) -> Option<&'v str>,
) -> RuntimeConfig {
    let switches = RuntimeConfig::SWITCHES.iter();
    let given = switches.filter_map(|name| Some(((*name).to_owned(), switch(name)?.to_owned())));
    let mut config = RuntimeConfig(entries(values));
    config.0.extend(given);
    config
}

/// Keys with their values, the last of each (component-base 1.37, `cli/flag/configuration_map.go`). The core's version has many names,
/// and one name is of nothing any more (kubernetes 1.37.2, `pkg/controlplane/apiserver/options/options.go`, `Complete`).
fn entries<'v>(values: impl IntoIterator<Item = &'v str>) -> BTreeMap<String, String> {
    let is_core = |key: &str| {
        let names = ["v1", "api/v1"].into_iter();
        let mut rests = names.filter_map(|name| key.strip_prefix(name));
        rests.any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let pairs = values.into_iter().flat_map(keys);
    let named = pairs.filter(|(key, _)| *key != "api/legacy");
    named
        .map(|(key, value)| {
            let key = if is_core(key) { "/v1" } else { key };
            (key.to_owned(), value.to_owned())
        })
        .collect()
}

fn keys(value: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = value.split(',').filter(|pair| !pair.is_empty());
    pairs.map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key.trim(), value.trim())
    })
}

/// The address that an API server tells others of itself; null where it finds out by itself.
pub(crate) fn address(words: &[String]) -> Option<String> {
    let last = |name: &str| values(words, name).into_iter().next_back();
    let host = last("advertise-address")?;
    let port = last("secure-port").unwrap_or("6443");
    Some(if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    })
}

/// The port that it serves by TLS, where a flag sets it.
pub(crate) fn port(words: &[String]) -> Option<u16> {
    let last = values(words, "secure-port").into_iter().next_back()?;
    last.parse().ok()
}

/// The values of a flag, in order: `--name=value` and `--name value`, with one dash or two as pflag's users write them.
pub(crate) fn values<'w>(words: &'w [String], name: &str) -> Vec<&'w str> {
    let found = values_at(words, name).into_iter();
    found.map(|(_, value)| value).collect()
}

/// Each with the number of the word that it stands in.
fn values_at<'w>(words: &'w [String], name: &str) -> Vec<(usize, &'w str)> {
    let mut found = Vec::new();
    for (number, word) in words.iter().enumerate() {
        let Some(rest) = word
            .strip_prefix("--")
            .and_then(|word| word.strip_prefix(name))
        else {
            continue;
        };
        if let Some(value) = rest.strip_prefix('=') {
            found.push((number, value));
        } else if rest.is_empty()
            && let Some(value) = words.get(number + 1)
        {
            found.push((number + 1, value));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::component::Settings;
    use crate::model::version::Minor;

    fn set(text: &str) -> Settings {
        let told = read(ComponentKind::KubeApiserver, &mut text.as_bytes());
        match told.expect("it is a command line").into_iter().next() {
            Some(Told::Set(settings)) => settings,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn words_come_in_many_ways() {
        let due = [("A".to_owned(), false), ("B".to_owned(), true)];
        for text in [
            "kube-apiserver --feature-gates=A=true --feature-gates=B=true,A=false --token-auth-file=/x",
            "kube-apiserver\0--feature-gates\0A=false,B=true\0",
            r#"["kube-apiserver", "--feature-gates=A=false,B=true"]"#,
            "I1130 08:00:00.1 1 flags.go:64] FLAG: --feature-gates=\":A=false,:B=true\"\nI1130 08:00:00.1 1 flags.go:64] FLAG: --v=\"2\"\n",
        ] {
            let settings = set(text);
            assert_eq!(
                settings.gates.into_iter().collect::<Vec<_>>(),
                due,
                "{text:?}"
            );
            assert_eq!(settings.refused, Vec::<String>::new());
        }
        assert_eq!(set("kube-apiserver --v=2"), Settings::default());
        // Quotes are not taken off.
        assert_eq!(set("k --feature-gates=\"A=true\"").refused.len(), 1);
        assert!(read(ComponentKind::Kubelet, &mut &b"hello"[..]).is_err());
    }

    #[test]
    fn a_proxys_file_is_all_that_sets_its_gates() {
        let told = |words: &str| {
            let words: Vec<&str> = words.split(' ').collect();
            let words = serde_json::to_string(&words).expect("it is data");
            let GateWords(kept) = serde_json::from_str(&words).expect("it is a command");
            told(ComponentKind::KubeProxy, &kept)
        };
        for none in [
            "kube-proxy --config=/etc/secret.conf --feature-gates=A=true",
            "kube-proxy --config /etc/secret.conf",
        ] {
            assert_eq!(told(none), [], "{none}");
        }
        for set in [
            "kube-proxy --feature-gates=A=true",
            "kube-proxy --config-sync-period=1s",
            "kube-proxy --config=",
        ] {
            assert!(matches!(told(set).as_slice(), [Told::Set(_)]), "{set}");
        }
        let words = r#"["kube-proxy", "--config", "/etc/secret.conf", "--config=/etc/other.conf"]"#;
        let kept: GateWords = serde_json::from_str(words).expect("it is a command");
        assert_eq!(kept.0, ["kube-proxy", "--config", "--config"]);
    }

    #[test]
    fn emulation_is_a_flag() {
        let words = ["--emulated-version=1.36".to_owned()];
        let told = told(ComponentKind::KubeScheduler, &words);
        let emulation = told.iter().find_map(|told| match told {
            Told::Version(version) => version.emulation,
            _ => None,
        });
        assert_eq!(emulation, Some(Minor(36)));
    }
}
