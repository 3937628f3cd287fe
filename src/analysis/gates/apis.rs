//! What an API server serves, and what it refuses to be told: upstream's rules of `--runtime-config`, key by key.
//!
//! Rules: apiserver 0.35.4, 0.36.3, 0.37.2, `pkg/server/options/api_enablement.go`, `pkg/server/resourceconfig/helpers.go`,
//! `pkg/server/deleted_kinds.go`. A test starts real servers with generated entries and compares. It must not say what a gate that
//! is off keeps from being served; that is the consistency of gates.

use super::start::{Fault, Start};
use crate::catalogue::apis::{self, Life, NEEDS, Versions};
use crate::model::component::{ComponentKind, RuntimeConfig};
use crate::model::version::Minor;

const ALL: &str = "api/all";

/// Keys of many versions at once, those that count less first.
const STAGES: [&str; 4] = [ALL, "api/ga", "api/beta", "api/alpha"];

/// Why an API server does not start with a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// `api/all=false`, and nothing else.
    Nothing,
    /// What takes a version away without which requests cannot be ordered.
    Fairness,
    /// It has not the form `GROUP/VERSION` or `GROUP/VERSION/RESOURCE`.
    Key,
    Group,
    /// The versions of the group that its binary has.
    Version(Vec<&'static str>),
    /// The value of a stage is neither `true` nor `false`.
    Stage(String),
    /// No boolean.
    Value(String),
    /// Resources are written in small letters.
    Resource,
    /// All of it is newer than what it emulates.
    NotYet(Minor),
    /// It is a flag of servers that emulate an older minor, and this one does not.
    Native,
}

impl Refusal {
    /// What the server says of it, as far as all minors say the same.
    pub(super) fn words(&self, key: &str) -> String {
        match self {
            Self::Nothing => format!("with only {ALL}=false"),
            Self::Fairness => {
                format!(
                    "--runtime-config={key}=false conflicts with --enable-priority-and-fairness=true"
                )
            }
            Self::Key => format!("runtime-config invalid key {key}"),
            Self::Group => "unknown api groups".to_owned(),
            Self::Version(_) => {
                let version = version_of(key);
                format!("group version {version} that has not been registered")
            }
            Self::Stage(value) => format!("invalid value {key}={value}"),
            Self::Value(value) => format!("invalid value of {key}: {value}"),
            Self::Resource => {
                format!(
                    "invalid key {key}: group/version/resource and resource is always lowercase"
                )
            }
            Self::NotYet(_) if version_of(key) == key => {
                format!("cannot enable version {key} in runtime-config")
            }
            Self::NotYet(_) => "cannot enable resource".to_owned(),
            Self::Native => {
                "cannot be set to true if the emulation version is the same as the binary version"
                    .to_owned()
            }
        }
    }
}

/// `GROUP/VERSION` of a key that may name a resource as well.
fn version_of(key: &str) -> &str {
    let mut slashes = key.match_indices('/');
    let end = slashes.nth(1).map(|(at, _)| at);
    end.and_then(|at| key.get(..at)).unwrap_or(key)
}

fn group_of(version: &str) -> &str {
    version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// Why an API server would not start with what it is told to serve; nothing of a minor that is not known.
pub(super) fn faults(start: &Start, config: &RuntimeConfig) -> Vec<Fault> {
    let Some(served) = Served::new(start, config) else {
        return Vec::new();
    };
    let fault = |key: &str, why: Refusal| Fault::Api {
        key: key.to_owned(),
        why,
    };
    let entries = config.entries();
    let refused = entries.filter_map(|(key, value)| Some(fault(key, served.refusal(key, value)?)));
    let mut refused: Vec<Fault> = refused.collect();
    if config.entries().eq([(ALL, "false")]) {
        refused.push(fault(ALL, Refusal::Nothing));
    }
    refused.extend(unfair(config).map(|key| fault(key, Refusal::Fairness)));
    if start.behaviour.emulated == start.behaviour.binary {
        let forward = [RuntimeConfig::FORWARD, RuntimeConfig::FORWARD_BY_NAME];
        let set = forward
            .iter()
            .filter(|flag| config.value(flag) == Some(true));
        refused.extend(set.map(|flag| fault(flag, Refusal::Native)));
    }
    refused
}

/// The entry that takes away what priority and fairness need (kubernetes 1.35.4 to 1.37.2,
/// `pkg/controlplane/apiserver/options/validation.go`): texts are compared there, so that `=0` is no `=false`.
fn unfair(config: &RuntimeConfig) -> Option<&'static str> {
    let keys = ["flowcontrol.apiserver.k8s.io/v1", "api/ga", ALL].into_iter();
    let mut told = keys.filter_map(|key| {
        let value = config.0.get(key)?;
        matches!(value.as_str(), "true" | "false").then_some((key, value == "false"))
    });
    let (key, is_away) = told.next()?;
    let is_fair = config.value(RuntimeConfig::FAIRNESS) != Some(false);
    (is_away && is_fair).then_some(key)
}

/// An API server's binary with what it is told.
pub(crate) struct Served<'s> {
    start: &'s Start,
    config: &'s RuntimeConfig,
    versions: &'static Versions,
}

impl<'s> Served<'s> {
    /// Null for what is no API server, or where its minor is not known.
    pub(crate) fn new(start: &'s Start, config: &'s RuntimeConfig) -> Option<Self> {
        let versions = apis::of(start.behaviour.binary)?;
        (start.kind == ComponentKind::KubeApiserver).then_some(Self {
            start,
            config,
            versions,
        })
    }

    fn refusal(&self, key: &str, value: &str) -> Option<Refusal> {
        if STAGES.contains(&key) {
            let is_read = matches!(value, "true" | "false");
            return (!is_read).then(|| Refusal::Stage(value.to_owned()));
        }
        let parts: Vec<&str> = key.split('/').collect();
        let ([group, _] | [group, _, _]) = parts[..] else {
            return Some(Refusal::Key);
        };
        let of_group = |name: &&&str| group_of(name) == group;
        let known: Vec<&str> = self.versions.keys().filter(of_group).copied().collect();
        if known.is_empty() {
            return Some(Refusal::Group);
        }
        let version = version_of(key).trim_start_matches('/');
        if !known.contains(&version) {
            return Some(Refusal::Version(known));
        }
        let Some(on) = self.config.value(key) else {
            return Some(Refusal::Value(value.to_owned()));
        };
        let resource = parts.get(2).copied();
        if resource.is_some_and(|it| it.to_lowercase() != it) {
            return Some(Refusal::Resource);
        }
        let is_late = on && self.is_late(version, resource);
        is_late.then_some(Refusal::NotYet(self.start.behaviour.emulated))
    }

    /// Whether all that would be there of it is newer than what is emulated.
    fn is_late(&self, version: &str, resource: Option<&str>) -> bool {
        let stored = self.stored(version);
        let mut stored = stored.filter(|(name, _)| self.is_enabled(version, name));
        if let Some(resource) = resource {
            return stored
                .any(|(name, life)| name == resource && !self.is_there(version, name, life));
        }
        let mut stored = stored.peekable();
        stored.peek().is_some() && stored.all(|(name, life)| !self.is_there(version, name, life))
    }

    /// Resources of a version that its gates and what is emulated leave there.
    fn stored<'v>(&'v self, version: &'v str) -> impl Iterator<Item = (&'static str, Life)> + 'v {
        let known = self.versions.get(version).into_iter();
        let resources = known.flat_map(|it| it.resources.iter());
        resources
            .filter(move |(name, life)| {
                let mut needs = NEEDS.iter().filter(|it| it.is_stored_by_gate);
                let gate = needs.find(|it| it.is_of(version, name));
                let is_on = gate.is_none_or(|it| self.start.value(it.gate) == Some(true));
                is_on && self.is_left(**life)
            })
            .map(|(name, life)| (*name, *life))
    }

    fn is_left(&self, life: Life) -> bool {
        let emulated = self.start.behaviour.emulated;
        life.removed.is_none_or(|removed| removed > emulated)
    }

    /// Whether those of these resources that a version has are served in it, their gate being on; not where it has none.
    pub(crate) fn has(&self, version: &str, resources: &[&str]) -> bool {
        let mut known = self.lives(version, resources).peekable();
        known.peek().is_some() && known.all(|(name, _)| self.is_served(version, name))
    }

    /// Whether one of them is newer in a version than what is emulated: it needs a flag beside.
    pub(crate) fn is_too_new(&self, version: &str, resources: &[&str]) -> bool {
        let mut known = self.lives(version, resources);
        known.any(|(_, life)| life.introduced > Some(self.start.behaviour.emulated))
    }

    fn lives<'r>(
        &self,
        version: &str,
        resources: &'r [&'r str],
    ) -> impl Iterator<Item = (&'r str, Life)> {
        let known = self.versions.get(version);
        let life = move |name: &str| known?.resources.get(name).copied();
        resources
            .iter()
            .filter_map(move |name| Some((*name, life(name)?)))
    }

    /// What is closer counts: the resource, then its version, then the version's stage, then all.
    fn is_served(&self, version: &str, resource: &str) -> bool {
        self.lives(version, &[resource]).any(|(_, life)| {
            self.is_left(life)
                && self.is_enabled(version, resource)
                && self.is_there(version, resource, life)
        })
    }

    fn is_enabled(&self, version: &str, resource: &str) -> bool {
        let told = self.config.value(&format!("{version}/{resource}"));
        let told = told.or_else(|| self.config.value(version));
        told.unwrap_or_else(|| {
            let mut stages = [stage(version), ALL].into_iter();
            let told = stages.find_map(|key| self.config.value(key));
            let default = self.versions.get(version).is_some_and(|it| it.served);
            let forward = self.config.value(RuntimeConfig::FORWARD) == Some(true);
            told.unwrap_or(default) || forward && self.has_older(version, resource)
        })
    }

    /// Whether a resource is not too new, or is served all the same.
    fn is_there(&self, version: &str, resource: &str, life: Life) -> bool {
        if life.introduced <= Some(self.start.behaviour.emulated) {
            return true;
        }
        let names = [format!("{version}/{resource}"), version.to_owned()];
        let is_asked = names.iter().any(|it| self.config.value(it) == Some(true));
        let is_set = |flag: &str| self.config.value(flag) == Some(true);
        is_set(RuntimeConfig::FORWARD_BY_NAME) && is_asked
            || is_set(RuntimeConfig::FORWARD) && self.has_older(version, resource)
    }

    /// Whether an older version of the resource is served that is not alpha.
    fn has_older(&self, version: &str, resource: &str) -> bool {
        let group = group_of(version);
        let mut older = self
            .versions
            .keys()
            .filter(|it| group_of(it) == group && age(it) < age(version) && stage(it) != STAGES[3]);
        older.any(|it| self.is_served(it, resource))
    }
}

/// The key that speaks of all versions like this one.
fn stage(version: &str) -> &'static str {
    match age(version).0 {
        2 => STAGES[1],
        1 => STAGES[2],
        _ => STAGES[3],
    }
}

/// Greater is newer, as upstream orders versions: stable ones above beta above alpha, then by number (apimachinery 0.37.2,
/// `pkg/version/helpers.go`).
fn age(version: &str) -> (u8, u64, u64) {
    let name = version.rsplit('/').next().unwrap_or_default();
    let name = name.trim_start_matches('v');
    let number = |text: &str| text.parse().unwrap_or_default();
    let staged = [("alpha", 0), ("beta", 1)];
    let split = staged
        .iter()
        .find_map(|(word, stage)| Some((*stage, name.split_once(word)?)));
    match split {
        Some((stage, (major, minor))) => (stage, number(major), number(minor)),
        None => (2, number(name), 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::Behaviour;

    /// Of entries, with flags that are set.
    fn config(entries: &str, flags: &[&str]) -> RuntimeConfig {
        let entries = entries.split(',').filter(|entry| !entry.is_empty());
        let entries = entries.map(|entry| entry.split_once('=').unwrap_or((entry, "")));
        let flags = flags.iter().map(|flag| (*flag, "true"));
        let all = entries.chain(flags);
        RuntimeConfig(
            all.map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        )
    }

    fn server(emulated: u32) -> Start {
        Start {
            kind: ComponentKind::KubeApiserver,
            behaviour: Behaviour::emulating(Minor(37), Minor(emulated)),
            gates: [("GenericWorkload".to_owned(), true)].into(),
        }
    }

    #[test]
    fn what_is_closer_counts() {
        let version = "scheduling.k8s.io/v1beta1";
        for (entries, due) in [
            ("", [false, false]),
            ("api/all=true", [true, true]),
            ("api/beta=true", [true, true]),
            ("api/alpha=true", [false, false]),
            ("api/all=true,api/beta=false", [false, false]),
            (
                "api/beta=false,scheduling.k8s.io/v1beta1=true",
                [true, true],
            ),
            (
                "api/beta=true,scheduling.k8s.io/v1beta1=false",
                [false, false],
            ),
            ("scheduling.k8s.io/v1beta1/workloads=true", [true, false]),
            (
                "scheduling.k8s.io/v1beta1,scheduling.k8s.io/v1beta1/podgroups=false",
                [true, false],
            ),
            ("scheduling.k8s.io/v1beta1=", [true, true]),
            ("scheduling.k8s.io/v1beta1=T", [true, true]),
            ("scheduling.k8s.io/v1alpha3=true", [false, false]),
        ] {
            let (start, config) = (server(37), config(entries, &[]));
            let served = Served::new(&start, &config).expect("1.37 is known");
            let has = ["workloads", "podgroups"].map(|it| served.has(version, &[it]));
            assert_eq!(has, due, "{entries}");
            assert_eq!(
                served.has(version, &["workloads", "podgroups"]),
                due == [true; 2]
            );
            assert!(served.has("certificates.k8s.io/v1", &["podcertificaterequests"]));
        }
    }

    /// What is new in 1.37 is not there where 1.36 is emulated, unless flags say so; what 1.37 took away is.
    #[test]
    fn what_is_emulated_counts() {
        let (new, old) = ("scheduling.k8s.io/v1beta1", "certificates.k8s.io/v1alpha1");
        let asked = format!("{new},{old}");
        for (emulated, entries, flags, due) in [
            (37, asked.as_str(), &[][..], [true, false]),
            (36, &asked, &[], [false, true]),
            (36, &asked, &[RuntimeConfig::FORWARD_BY_NAME], [true, true]),
            (36, "", &[RuntimeConfig::FORWARD_BY_NAME], [false, false]),
        ] {
            let (start, config) = (server(emulated), config(entries, flags));
            let served = Served::new(&start, &config).expect("1.37 is known");
            let has = [
                served.has(new, &["workloads"]),
                served.has(old, &["clustertrustbundles"]),
            ];
            assert_eq!(has, due, "{emulated} {entries} {flags:?}");
        }
        let (start, config) = (
            server(36),
            config("certificates.k8s.io/v1beta1", &[RuntimeConfig::FORWARD]),
        );
        let served = Served::new(&start, &config).expect("1.37 is known");
        assert!(served.has("certificates.k8s.io/v1", &["podcertificaterequests"]));
    }

    #[test]
    fn what_is_refused_is_mended() {
        let entries = "api/all=false,a/v1,batch/v9,x,api/beta=1,apps/v1=maybe,apps/v1/Deployments";
        let (start, mut config) = (server(37), config(entries, &[RuntimeConfig::FORWARD]));
        let unfair = (RuntimeConfig::FAIRNESS.to_owned(), "false".to_owned());
        config.0.extend([unfair]);
        let faults = faults(&start, &config);
        assert_eq!(faults.len(), 7, "{faults:?}");
        let keys = faults.into_iter().filter_map(|fault| match fault {
            Fault::Api { key, .. } => Some(key),
            _ => None,
        });
        for key in keys {
            config.0.remove(&key);
        }
        let left = super::faults(&start, &config);
        assert_eq!(left.len(), 1, "api/all=false is alone: {left:?}");
    }
}
