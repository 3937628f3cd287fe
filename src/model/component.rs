//! Components of a cluster, and what documents say of the feature gates that they run with.
//!
//! A statement is kept as it was made: what runs, what was set, which version. Nothing here decides which of them is right.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::version::Minor;

/// Components that have feature gates and are told apart by upstream's version skew policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ComponentKind {
    KubeApiserver,
    KubeControllerManager,
    KubeProxy,
    KubeScheduler,
    Kubelet,
}

impl ComponentKind {
    pub(crate) const ALL: [Self; 5] = [
        Self::KubeApiserver,
        Self::KubeControllerManager,
        Self::KubeProxy,
        Self::KubeScheduler,
        Self::Kubelet,
    ];

    /// Its binary's name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllerManager => "kube-controller-manager",
            Self::KubeProxy => "kube-proxy",
            Self::KubeScheduler => "kube-scheduler",
            Self::Kubelet => "kubelet",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }

    /// Whether its flag takes `kube:Name=true` and is read as one text (component-base `compatibility/registry.go`); the others'
    /// flag is a map of plain names (component-base `cli/flag/map_string_bool.go`).
    pub(crate) fn has_prefixed_gates(self) -> bool {
        !matches!(self, Self::KubeProxy | Self::Kubelet)
    }
}

/// One process: `kubelet/n1`, `kube-apiserver/10.0.0.1:6443`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ComponentName {
    pub(crate) kind: ComponentKind,
    /// Node, Pod or address; empty where only one of the kind is meant and nobody named it.
    pub(crate) identity: String,
}

impl ComponentName {
    pub(crate) fn new(kind: ComponentKind, identity: impl Into<String>) -> Self {
        Self {
            kind,
            identity: identity.into(),
        }
    }
}

impl fmt::Display for ComponentName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.kind.word())?;
        if self.identity.is_empty() {
            return Ok(());
        }
        write!(formatter, "/{}", self.identity)
    }
}

/// A word that names no component with gates.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error(
    "{0:?} is no component with feature gates; name one as kubelet/NODE, kube-scheduler/POD or kube-apiserver/ADDRESS"
)]
pub(crate) struct NoComponent(String);

impl FromStr for ComponentName {
    type Err = NoComponent;

    fn from_str(text: &str) -> Result<Self, NoComponent> {
        let (word, identity) = text.split_once('/').unwrap_or((text, ""));
        let kind = ComponentKind::of_word(word).ok_or_else(|| NoComponent(text.to_owned()))?;
        Ok(Self::new(kind, identity))
    }
}

/// What a component serves or is started with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Document {
    /// `/configz`: a kubelet's or kube-proxy's configuration as it runs, with the gates that were set.
    Configz,
    /// A configuration file or `ConfigMap`: what the component reads when it starts.
    Configuration,
    /// A command line or the flags of a start-up log.
    Flags,
    /// `/flagz`: the flags of the running process (KEP-4828).
    Flagz,
    /// `/metrics`.
    Metrics,
    /// The Node object that a kubelet writes.
    Node,
    /// The Pod that a component runs in.
    Pod,
    /// `/statusz` (KEP-4827).
    Statusz,
    /// `/version` of an API server.
    Version,
}

impl Document {
    const ALL: [Self; 9] = [
        Self::Configz,
        Self::Configuration,
        Self::Flags,
        Self::Flagz,
        Self::Metrics,
        Self::Node,
        Self::Pod,
        Self::Statusz,
        Self::Version,
    ];

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Configz => "configz",
            Self::Configuration => "configuration",
            Self::Flags => "flags",
            Self::Flagz => "flagz",
            Self::Metrics => "metrics",
            Self::Node => "node",
            Self::Pod => "pod",
            Self::Statusz => "statusz",
            Self::Version => "version",
        }
    }

    pub(crate) fn of_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|document| document.word() == word)
    }

    /// Whether a running process tells it; the others say what it is started with next.
    pub(crate) fn is_running(self) -> bool {
        !matches!(self, Self::Configuration | Self::Flags | Self::Pod)
    }
}

/// One statement about one component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Statement {
    pub(crate) component: ComponentName,
    pub(crate) document: Document,
    pub(crate) told: Told,
}

impl Statement {
    /// The same without where it stands.
    pub(crate) fn nowhere(mut self) -> Self {
        if let Told::Set(settings) = &mut self.told {
            settings.places = Places::default();
        }
        self
    }
}

/// What a document tells of a component.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Told {
    /// Every gate that it knows with its effective value (metric `kubernetes_feature_enabled`, KEP-3466).
    Runs(GateTable),
    /// What somebody set; what is not among it has its default.
    Set(Settings),
    Version(ComponentVersion),
    /// When its process started.
    Started(Timestamp),
    /// The group of nodes that it is one of.
    Pool(String),
    /// Gates of kubeadm itself, of the cluster that it set up: told beside the API server, which it does not concern.
    OfKubeadm(BTreeMap<String, bool>),
    /// What an API server is told to serve; nothing where nobody says.
    RuntimeConfig(RuntimeConfig),
    /// A kubelet's `cpuManagerPolicy`, as it runs: in 1.35 what it declares depends on it.
    CpuManagerPolicy(String),
    /// What it counted since it started.
    Counts(Counts),
}

/// What an API server is told to serve, beside what it serves anyway: the keys of `--runtime-config`, which are groups with versions,
/// resources of these, and stages, and flags beside it by their whole names; each with its last value as it is written.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct RuntimeConfig(pub(crate) BTreeMap<String, String>);

impl RuntimeConfig {
    /// Newer versions of what is served are served, too.
    pub(crate) const FORWARD: &str = "--emulation-forward-compatible";
    /// What is asked for by name is served, though it be newer than what is emulated.
    pub(crate) const FORWARD_BY_NAME: &str = "--runtime-config-emulation-forward-compatible";
    /// It needs an API, and is on unless it is said to be off.
    pub(crate) const FAIRNESS: &str = "--enable-priority-and-fairness";
    /// Flags beside `--runtime-config`.
    pub(crate) const SWITCHES: [&str; 3] = [Self::FAIRNESS, Self::FORWARD, Self::FORWARD_BY_NAME];

    /// Whether a key is on; one without a value is. Null where it is not there, or is no boolean (apiserver 1.37,
    /// `pkg/server/resourceconfig/helpers.go`, `getRuntimeConfigValue`).
    pub(crate) fn value(&self, key: &str) -> Option<bool> {
        let value = self.0.get(key)?;
        if value.is_empty() {
            return Some(true);
        }
        boolean(value)
    }

    /// The keys of `--runtime-config` alone.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self
            .0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()));
        all.filter(|(key, _)| !Self::SWITCHES.contains(key))
    }
}

/// Go's `strconv.ParseBool`.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

/// What a guard looks at of what components count; null where no line told, which is as if nothing was counted.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Counts {
    /// Pods that a scheduler has no node for because of declared features, as they are now.
    pub(crate) unschedulable: Option<u64>,
    /// Updates that an API server refused because of declared features.
    pub(crate) refused_updates: Option<u64>,
    /// A scheduler's attempts that took no longer than so many microseconds.
    pub(crate) attempts: BTreeMap<u64, u64>,
}

impl Counts {
    /// Whether a number was told, also if it is nothing.
    pub(crate) fn has(&self, number: Number) -> bool {
        match number {
            Number::Attempts => !self.attempts.is_empty(),
            Number::RefusedUpdates => self.refused_updates.is_some(),
            Number::UnschedulablePods => self.unschedulable.is_some(),
        }
    }

    /// Takes what another document of the same process tells.
    pub(crate) fn take(&mut self, other: &Self) {
        self.unschedulable = other.unschedulable.or(self.unschedulable);
        self.refused_updates = other.refused_updates.or(self.refused_updates);
        self.attempts.extend(&other.attempts);
    }
}

/// One of [`Counts`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Number {
    Attempts,
    RefusedUpdates,
    UnschedulablePods,
}

impl Number {
    /// Who counts it.
    pub(crate) fn kind(self) -> ComponentKind {
        match self {
            Self::RefusedUpdates => ComponentKind::KubeApiserver,
            Self::Attempts | Self::UnschedulablePods => ComponentKind::KubeScheduler,
        }
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Attempts => "attempts",
            Self::RefusedUpdates => "refused updates",
            Self::UnschedulablePods => "unschedulable Pods",
        }
    }
}

/// Gates of a process by name. Of thousands that run alike there is one table, which they share.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GateTable(Arc<BTreeMap<String, bool>>);

impl From<BTreeMap<String, bool>> for GateTable {
    fn from(gates: BTreeMap<String, bool>) -> Self {
        Self(Arc::new(gates))
    }
}

impl Deref for GateTable {
    type Target = BTreeMap<String, bool>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Ord for GateTable {
    /// One that is shared need not be looked through.
    fn cmp(&self, other: &Self) -> Ordering {
        if Arc::ptr_eq(&self.0, &other.0) {
            Ordering::Equal
        } else {
            self.0.cmp(&other.0)
        }
    }
}

impl PartialOrd for GateTable {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Serialize for GateTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for GateTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Self::from)
    }
}

/// Gates as somebody set them.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Settings {
    pub(crate) gates: BTreeMap<String, bool>,
    /// What the component itself would refuse to start with, in its own words.
    pub(crate) refused: Vec<String>,
    pub(crate) places: Places,
}

/// Where settings stand in a file; empty of what no file says.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Places {
    /// The file that sets them, as it was named.
    pub(crate) file: Option<Arc<str>>,
    /// Line and column, by the name of a gate or the words of a refusal.
    pub(crate) at: BTreeMap<String, (u64, u64)>,
}

/// Versions of a process. What it did not tell is null.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ComponentVersion {
    /// As it was told, e.g. `v1.33.5-eks-1a2b3c`.
    pub(crate) git: Option<String>,
    pub(crate) emulation: Option<Minor>,
    pub(crate) min_compatibility: Option<Minor>,
}

impl ComponentVersion {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for text in ["kubelet/n1", "kube-apiserver/[::1]:6443", "kube-scheduler"] {
            let name: ComponentName = text.parse().expect("it is a component");
            assert_eq!(name.to_string(), text);
        }
        assert!("etcd/a".parse::<ComponentName>().is_err());
        assert!("".parse::<ComponentName>().is_err());
    }
}
