//! Whether a node's list of declared features can be believed.
//!
//! A kubelet computes its list once, when it starts, and writes it with each status that it sends if it is another one; it never
//! writes an empty list, and with the gate off it writes none (observed on 1.35.4, 1.36.3, 1.37.2; `pkg/kubelet/kubelet_node_status.go`).
//! So a list outlives the gate, the version and the kubelet that wrote it. Stale is proven by what that minor can declare at all, or
//! by the kubelet's own gates; Fresh is inferred from a living kubelet that rewrites its list. Neither managedFields nor a
//! heartbeat dates a list. It must not call fresh what could not be seen.

use jiff::{SignedDuration, Timestamp};

use super::life::Life;
use crate::analysis::gates::kubelet::KubeletGates;
use crate::analysis::requirement::{
    self, Declaration, Feature, KubeletSettings, MECHANISM, NEWEST, OLDEST, Runtime,
};
use crate::answer::declared_features::{Completeness, Freshness};
use crate::answer::gate_skew::Known;
use crate::answer::nomination_explanation::Certainty;
use crate::answer::parts::some;
use crate::catalogue::{Behaviour, Catalogue};
use crate::model::node::{Declared, Node};
use crate::model::version::Release;

/// A living kubelet looks at its status every 10 s by default; a foreign write that is older than this was answered, or agreed with.
const ANSWERED: SignedDuration = SignedDuration::from_mins(1);

/// The cause where gates decide and were not seen.
pub(super) const GATES_NOT_OBSERVED: &str = "gates-not-observed";

/// What a list is worth.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub(crate) freshness: Freshness,
    /// A stable word in kebab case; docs/declared-features.md lists them.
    pub(crate) cause: &'static str,
    /// Null where it is Unknown.
    pub(crate) certainty: Option<Certainty>,
    pub(crate) evidence: Vec<String>,
    pub(crate) completeness: Completeness,
    /// What the kubelet should declare and the list lacks.
    pub(crate) missing: Vec<String>,
    /// What the list has and the kubelet cannot have declared.
    pub(crate) unexpected: Vec<String>,
}

impl Judgement {
    /// Whether the node has a feature, as far as its list is worth anything: declared, and not known to be impossible.
    pub(crate) fn has(&self, features: &[String], feature: &str) -> bool {
        let listed = |names: &[String]| names.iter().any(|name| name == feature);
        listed(features) && !listed(&self.unexpected)
    }
}

/// A gate's value, and whether anything but a default makes it sure.
#[derive(Clone, Copy)]
struct Value {
    on: bool,
    is_sure: bool,
    known: &'static str,
}

/// A kubelet's gates: what was seen of them, and else what its version does not let anybody set.
struct Gates<'a> {
    release: Release,
    seen: Option<&'a KubeletGates>,
    /// A vendor's build may have other features and gates than upstream's.
    is_vendors: bool,
}

impl Gates<'_> {
    fn value(&self, gate: &str) -> Option<Value> {
        if let Some((on, known)) = self.seen.and_then(|seen| seen.value(gate)) {
            return Some(Value {
                on,
                is_sure: known == Known::Observed,
                known: match known {
                    Known::Observed => "observed",
                    Known::Configured => "configured",
                    Known::Derived | Known::Unknown => {
                        "by its version's default, for nothing sets it"
                    }
                },
            });
        }
        let minor = self.release.minor;
        let spec = Catalogue::known().at(gate, Behaviour::native(minor))?;
        spec.locked.then_some(Value {
            on: spec.default,
            is_sure: !self.is_vendors,
            known: "locked in its version",
        })
    }

    /// What makes sure that a feature is not declared.
    fn off(&self, feature: &Feature) -> Certainty {
        let gates = [MECHANISM].into_iter().chain(feature.gates.iter().copied());
        let mut off = gates
            .filter_map(|gate| self.value(gate))
            .filter(|it| !it.on);
        if off.any(|it| it.is_sure) {
            Certainty::Proven
        } else {
            Certainty::Inferred
        }
    }
}

/// What is listed against what should be.
#[derive(Default)]
struct Comparison {
    missing: Vec<String>,
    /// With the reason why it cannot be.
    impossible: Vec<(&'static Feature, String)>,
    /// Whether the kubelet has anything to declare at all: else it writes nothing.
    has_own: bool,
    /// What may or may not be declared, with what would have to be known.
    open: Vec<String>,
}

pub(crate) fn judge(
    node: &Node,
    gates: Option<&KubeletGates>,
    life: &Life,
    now: Timestamp,
) -> Judgement {
    let mut judgement = by_evidence(node, gates, life, now);
    let features = node.declared.features.as_deref().unwrap_or_default();
    if let (false, Some(owner)) = (features.is_empty(), foreign(&node.declared)) {
        judgement.evidence.push(owner.0);
    }
    judgement
}

fn by_evidence(
    node: &Node,
    gates: Option<&KubeletGates>,
    life: &Life,
    now: Timestamp,
) -> Judgement {
    let features = node.declared.features.as_deref().unwrap_or_default();
    let Some(version) = node.kubelet_version.as_deref() else {
        let text = "its status names no kubelet version";
        return unknown("no-status", text.to_owned());
    };
    let Some(release) = Release::parse(version) else {
        return unknown(
            "version-not-known",
            format!("kubelet {version} is no release of Kubernetes"),
        );
    };
    let is_vendors = version.contains(['-', '+', '_']);
    let by_version = if is_vendors {
        Certainty::Inferred
    } else {
        Certainty::Proven
    };
    if let Some(judgement) = impossible_in(release, version, features, by_version) {
        return judgement;
    }
    if let Some(fault) = malformed(features) {
        return unknown(
            "malformed-list",
            format!("{fault}: no API server stores such a list"),
        );
    }
    if let Some((cause, text)) = &life.silence {
        return unknown(cause, text.clone());
    }
    if release.minor < OLDEST {
        return Judgement {
            completeness: Completeness::Complete,
            ..fresh(
                "nothing-declared",
                by_version,
                vec![format!("kubelet {version} does not know declared features")],
            )
        };
    }
    if release.minor > NEWEST {
        let text = format!(
            "what kubelet {version} can declare is not known here; {NEWEST} is the newest that is"
        );
        return unknown("version-not-known", text);
    }
    let gates = Gates {
        release,
        seen: gates,
        is_vendors,
    };
    let mut judgement = by_gates(&gates, version, features, node, now);
    judgement.evidence.extend(
        life.seen
            .map(|seen| format!("its kubelet's last sign of life is of {seen:.0}")),
    );
    judgement
}

/// What no kubelet of that minor can have declared, whatever its gates are.
fn impossible_in(
    release: Release,
    version: &str,
    features: &[String],
    certainty: Certainty,
) -> Option<Judgement> {
    if features.is_empty() || release.minor > NEWEST {
        return None;
    }
    if release.minor < OLDEST {
        let text = format!(
            "kubelet {version} does not know declared features, which came with {OLDEST}; listed: {}",
            some(features)
        );
        return Some(Judgement {
            unexpected: features.to_vec(),
            completeness: Completeness::Complete,
            ..stale("kubelet-too-old", certainty, vec![text])
        });
    }
    let is_registered =
        |name: &String| requirement::find(name).is_some_and(|it| it.is_registered(release.minor));
    let unexpected: Vec<String> = features
        .iter()
        .filter(|it| !is_registered(it))
        .cloned()
        .collect();
    if unexpected.is_empty() {
        return None;
    }
    let (known, strange): (Vec<String>, Vec<String>) = unexpected
        .iter()
        .cloned()
        .partition(|name| requirement::find(name).is_some());
    let mut evidence = Vec::new();
    if !known.is_empty() {
        evidence.push(format!(
            "kubelet {version} cannot declare {}: another minor's can",
            some(&known)
        ));
    }
    if !strange.is_empty() {
        evidence.push(format!(
            "no kubelet of {OLDEST} to {NEWEST} declares {}",
            some(&strange)
        ));
    }
    Some(Judgement {
        unexpected,
        ..stale("not-of-this-version", certainty, evidence)
    })
}

fn by_gates(
    gates: &Gates<'_>,
    version: &str,
    features: &[String],
    node: &Node,
    now: Timestamp,
) -> Judgement {
    let compared = compare(gates, features);
    let completeness = match (compared.missing.is_empty(), compared.open.is_empty()) {
        (false, _) => Completeness::Incomplete,
        (true, true) => Completeness::Complete,
        (true, false) => Completeness::Unknown,
    };
    let judgement = by_comparison(gates, version, features, &compared, node, now);
    let unexpected = compared
        .impossible
        .iter()
        .map(|(feature, _)| feature.name.to_owned());
    Judgement {
        completeness,
        unexpected: unexpected.collect(),
        missing: compared.missing,
        ..judgement
    }
}

fn compare(gates: &Gates<'_>, features: &[String]) -> Comparison {
    let value = |gate: &str| gates.value(gate).map(|it| it.on);
    let settings = KubeletSettings {
        release: gates.release,
        gates: &value,
        cpu_manager_policy: gates
            .seen
            .and_then(|seen| seen.cpu_manager_policy.as_deref()),
        runtime: Runtime::default(),
    };
    let mut compared = Comparison::default();
    for feature in requirement::registered(gates.release.minor) {
        let is_listed = features.iter().any(|name| name == feature.name);
        match feature.declared_by(&settings) {
            Declaration::Yes => {
                compared.has_own = true;
                if !is_listed {
                    compared.missing.push(feature.name.to_owned());
                }
            }
            Declaration::No(why) if is_listed => compared.impossible.push((feature, why)),
            Declaration::No(_) => {}
            Declaration::Unknown(why) => compared.open.push(format!("{}: {why}", feature.name)),
        }
    }
    compared
}

fn by_comparison(
    gates: &Gates<'_>,
    version: &str,
    features: &[String],
    compared: &Comparison,
    node: &Node,
    now: Timestamp,
) -> Judgement {
    let mechanism = gates.value(MECHANISM);
    let of_mechanism = mechanism.map(|it| {
        let word = if it.on { "on" } else { "off" };
        format!("{MECHANISM} is {word} in kubelet {version} ({})", it.known)
    });
    let sure = |is_sure: bool| {
        if is_sure {
            Certainty::Proven
        } else {
            Certainty::Inferred
        }
    };
    if let Some(off) = mechanism.filter(|it| !it.on) {
        let evidence = of_mechanism.into_iter().collect();
        return if features.is_empty() {
            fresh("nothing-declared", sure(off.is_sure), evidence)
        } else {
            stale("mechanism-off", sure(off.is_sure), evidence)
        };
    }
    if !compared.impossible.is_empty() {
        let of_features = compared
            .impossible
            .iter()
            .map(|(feature, why)| format!("{}: {why}", feature.name));
        let mut evidence: Vec<String> = of_features.collect();
        let is_empty = !compared.has_own && compared.open.is_empty();
        evidence.extend(is_empty.then(|| {
            "nothing is left to declare, and a kubelet never writes an empty list".to_owned()
        }));
        let cause = if is_empty {
            "nothing-to-declare"
        } else {
            "gate-off"
        };
        let proven = compared
            .impossible
            .iter()
            .any(|(feature, _)| gates.off(feature) == Certainty::Proven);
        return stale(cause, sure(proven), evidence);
    }
    let Some(mechanism) = mechanism else {
        if features.is_empty() {
            let text = "there is no list, so nothing in it can be false".to_owned();
            return fresh("nothing-declared", Certainty::Inferred, vec![text]);
        }
        let text = format!(
            "whether {MECHANISM} is on in kubelet {version} was not seen, and a list outlives it"
        );
        return unknown(GATES_NOT_OBSERVED, text);
    };
    let mut evidence: Vec<String> = of_mechanism.into_iter().collect();
    if !compared.missing.is_empty() {
        evidence.push(format!(
            "its kubelet would declare {}, too",
            some(&compared.missing)
        ));
        return stale("not-its-own", sure(mechanism.is_sure), evidence);
    }
    if features.is_empty() {
        evidence.push("it has nothing to declare".to_owned());
        return fresh("nothing-declared", Certainty::Inferred, evidence);
    }
    if !compared.has_own {
        evidence.push(format!(
            "it may have nothing to declare, and a kubelet never writes an empty list: {}",
            compared.open.join("; ")
        ));
        return unknown(GATES_NOT_OBSERVED, evidence.join("; "));
    }
    if let Some((text, Some(at))) = foreign(&node.declared)
        && now.duration_since(at) < ANSWERED
    {
        return unknown(
            "foreign-writer",
            format!("{text}, and the kubelet may not have answered yet"),
        );
    }
    evidence.push(
        "it lives, has something to declare, and writes its list again whenever another one stands"
            .to_owned(),
    );
    fresh("rewritten", Certainty::Inferred, evidence)
}

/// Who but the kubelet wrote last, by managedFields: a sentence, and when.
fn foreign(declared: &Declared) -> Option<(String, Option<Timestamp>)> {
    let owners = declared.owners.as_deref()?;
    if owners.is_empty() || owners.iter().any(|owner| owner.is_of_kubelet) {
        return None;
    }
    let last = owners.iter().max_by_key(|owner| owner.time)?;
    let at = last
        .time
        .map_or_else(String::new, |at| format!(" at {at:.0}"));
    let text = format!(
        "by managedFields the list was last written by {}{at}, not by the kubelet",
        last.manager
    );
    Some((text, last.time))
}

/// What an API server would have refused (kubernetes 1.36 `pkg/apis/core/validation/validation.go`, `validateNodeDeclaredFeatures`).
fn malformed(features: &[String]) -> Option<String> {
    let is_name = |name: &String| {
        let mut parts = name.split('/');
        let is_part = |part: &str| {
            part.starts_with(|first: char| first.is_ascii_alphabetic())
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric())
        };
        name.starts_with(|first: char| first.is_ascii_uppercase())
            && name.len() <= 253
            && parts.all(is_part)
    };
    if let Some(name) = features.iter().find(|name| !is_name(name)) {
        return Some(format!("{name:?} is no name of a feature"));
    }
    features.windows(2).find_map(|pair| match pair {
        [one, two] if one == two => Some(format!("{one} is listed twice")),
        [one, two] if one > two => Some(format!("{two} stands behind {one}")),
        _ => None,
    })
}

fn fresh(cause: &'static str, certainty: Certainty, evidence: Vec<String>) -> Judgement {
    Judgement {
        freshness: Freshness::Fresh,
        cause,
        certainty: Some(certainty),
        evidence,
        completeness: Completeness::Unknown,
        missing: Vec::new(),
        unexpected: Vec::new(),
    }
}

fn stale(cause: &'static str, certainty: Certainty, evidence: Vec<String>) -> Judgement {
    Judgement {
        freshness: Freshness::Stale,
        ..fresh(cause, certainty, evidence)
    }
}

fn unknown(cause: &'static str, text: String) -> Judgement {
    Judgement {
        freshness: Freshness::Unknown,
        certainty: None,
        ..fresh(cause, Certainty::Inferred, vec![text])
    }
}
