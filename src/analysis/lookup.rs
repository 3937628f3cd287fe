//! What the catalogue says of gates: the named ones, or those that a question selects.
//!
//! It must not say what a cluster runs.

use jiff::Timestamp;

use crate::answer::gate_history::{GateHistory, GateRecord, GateStand, GateVersion, Known, Link};
use crate::answer::{API_VERSION, Header};
use crate::catalogue::dependencies::Dependency;
use crate::catalogue::{Behaviour, Catalogue, META_GATES, Spec};
use crate::model::coverage::{Coverage, Source, State};
use crate::model::version::Minor;

/// What is asked for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// These gates; empty are all that the rest selects.
    pub(crate) names: Vec<String>,
    /// As the binaries of this minor have them; null is the newest that has the gate.
    pub(crate) version: Option<Minor>,
    /// Only gates that changed in this minor or later.
    pub(crate) since: Option<Minor>,
    /// Only gates that changed in this minor or earlier.
    pub(crate) until: Option<Minor>,
    /// Only gates that need this one, over any number of steps.
    pub(crate) depends_on: Option<String>,
    /// Only gates that the binaries of this minor do not know any more.
    pub(crate) removed_in: Option<Minor>,
    /// Only gates whose KEP names this component.
    pub(crate) component: Option<String>,
}

/// Why a question cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error(
        "feature gates of Kubernetes {asked} are not known, only those of {} to {}",
        known.oldest, known.newest
    )]
    Minor { asked: Minor, known: Known },
    #[error("what Kubernetes {asked} removed is not known, since it is the oldest whose gates are")]
    RemovedInOldest { asked: Minor },
    #[error("there is no feature gate {name:?} in Kubernetes {} to {}", known.oldest, known.newest)]
    Gate {
        name: String,
        nearest: Option<&'static str>,
        known: Known,
    },
    #[error(
        "no component of Kubernetes {} to {} has the feature gate {name:?}, which KEP-{kep} names",
        known.oldest, known.newest
    )]
    OnlyProposed {
        name: String,
        kep: u32,
        known: Known,
    },
}

/// Looks gates up; names that are not known are told beside the rest.
pub(crate) fn lookup(
    catalogue: &Catalogue,
    request: &Request,
    generated_at: Timestamp,
) -> Result<(GateHistory, Vec<NoAnswer>), NoAnswer> {
    check(catalogue, request)?;
    let mut missing = Vec::new();
    let mut coverage = Vec::new();
    let mut gates = Vec::new();
    if request.names.is_empty() {
        let selected = select(catalogue, request, &mut coverage)?;
        gates.extend(
            selected
                .into_iter()
                .map(|name| record(catalogue, name, request)),
        );
    }
    for name in &request.names {
        if let Some(meta) = META_GATES.into_iter().find(|meta| meta == name) {
            gates.push(record_of_meta(meta));
            continue;
        }
        match find(catalogue, name) {
            Ok(name) => gates.push(record(catalogue, name, request)),
            Err(unknown) => missing.push(unknown),
        }
    }
    let known = known(catalogue);
    let answer = GateHistory {
        header: Header {
            api_version: API_VERSION,
            kind: "GateHistory",
            generated_at,
            now: generated_at,
            sources: vec![Source {
                name: format!("Kubernetes {} to {}", known.oldest, known.newest),
                kind: "catalogue".to_owned(),
            }],
            coverage,
        },
        known,
        gates,
        named: !request.names.is_empty(),
    };
    Ok((answer, missing))
}

fn known(catalogue: &Catalogue) -> Known {
    Known {
        oldest: catalogue.oldest(),
        newest: catalogue.newest(),
    }
}

/// Refuses minors that nothing is known of, instead of answering with the nearest.
fn check(catalogue: &Catalogue, request: &Request) -> Result<(), NoAnswer> {
    let known = known(catalogue);
    let unknown = |asked| NoAnswer::Minor { asked, known };
    for asked in [request.version, request.removed_in].into_iter().flatten() {
        if catalogue.gates(asked).is_none() {
            return Err(unknown(asked));
        }
    }
    // Histories reach further back than the oldest minor.
    for asked in [request.since, request.until].into_iter().flatten() {
        if asked > known.newest {
            return Err(unknown(asked));
        }
    }
    match request.removed_in {
        Some(asked) if asked == known.oldest => Err(NoAnswer::RemovedInOldest { asked }),
        _ => Ok(()),
    }
}

/// The catalogue's own name of a gate.
fn find(catalogue: &Catalogue, name: &str) -> Result<&'static str, NoAnswer> {
    if let Some(found) = catalogue.names().find(|known| *known == name) {
        return Ok(found);
    }
    let known = known(catalogue);
    let name = name.to_owned();
    let kep = catalogue
        .proposal(&name)
        .and_then(|proposal| proposal.keps.first().copied());
    Err(match kep {
        Some(kep) => NoAnswer::OnlyProposed { name, kep, known },
        None => NoAnswer::Gate {
            nearest: nearest(catalogue, &name),
            name,
            known,
        },
    })
}

/// The gate that was probably meant: a letter in four may be wrong, and case does not count.
pub(crate) fn nearest(catalogue: &Catalogue, name: &str) -> Option<&'static str> {
    nearest_of(catalogue.names().chain(META_GATES), name)
}

/// The same of other names.
pub(crate) fn nearest_of(
    names: impl Iterator<Item = &'static str>,
    name: &str,
) -> Option<&'static str> {
    let lower = name.to_lowercase();
    let length = lower.chars().count();
    let allowed = 1 + length / 4;
    names
        // No distance is less than that of the lengths; a name of any length costs nothing so.
        .filter(|known| known.chars().count().abs_diff(length) <= allowed)
        .map(|known| {
            (
                strsim::damerau_levenshtein(&known.to_lowercase(), &lower),
                known,
            )
        })
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, known)| known)
}

fn select(
    catalogue: &Catalogue,
    request: &Request,
    coverage: &mut Vec<Coverage>,
) -> Result<Vec<&'static str>, NoAnswer> {
    let needing = match &request.depends_on {
        None => None,
        // Nothing can need what is no gate.
        Some(name) if META_GATES.contains(&name.as_str()) => Some(Vec::new()),
        Some(name) => {
            let needed = find(catalogue, name)?;
            let binary = request.version.or(catalogue.last_with(needed));
            let needing =
                binary.map_or_else(Vec::new, |binary| catalogue.needed_by(needed, binary));
            Some(needing)
        }
    };
    let has_range = request.since.is_some() || request.until.is_some();
    let of_minor = match (request.version, request.removed_in) {
        (Some(version), _) => Some(version),
        (None, None) if !has_range && needing.is_none() => Some(catalogue.newest()),
        _ => None,
    };
    let is_selected = |name: &&'static str| {
        of_minor.is_none_or(|minor| catalogue.gate(name, minor).is_some())
            && request
                .removed_in
                .is_none_or(|minor| catalogue.removed_in(name) == Some(minor))
            && (!has_range || changed(catalogue, name, request))
            && needing
                .as_ref()
                .is_none_or(|needing| needing.iter().any(|needs| needs.name == *name))
    };
    let selected: Vec<_> = catalogue.names().filter(is_selected).collect();
    let Some(component) = &request.component else {
        return Ok(selected);
    };
    let unsaid = selected
        .iter()
        .filter(|name| catalogue.components(name).is_none())
        .count();
    if unsaid > 0 {
        coverage.push(Coverage {
            source: "catalogue".to_owned(),
            subject: match unsaid {
                1 => "components of 1 gate".to_owned(),
                _ => format!("components of {unsaid} gates"),
            },
            state: State::Absent,
            detail: Some(
                "neither a KEP nor upstream's sources say which components use them; they are left out"
                    .to_owned(),
            ),
            location: None,
        });
    }
    let uses = |name: &&'static str| {
        let named = catalogue.components(name);
        named.is_some_and(|named| named.contains(&component.as_str()))
    };
    Ok(selected.into_iter().filter(uses).collect())
}

/// Whether anything about the gate changed within the range, its removal included.
fn changed(catalogue: &Catalogue, name: &str, request: &Request) -> bool {
    let history = catalogue.history(name);
    let mut changes = history
        .iter()
        .map(|spec| spec.since)
        .chain(catalogue.removed_in(name).map(Some));
    changes.any(|at| {
        request.since.is_none_or(|since| at >= Some(since))
            && request.until.is_none_or(|until| at <= Some(until))
    })
}

fn record(catalogue: &Catalogue, name: &'static str, request: &Request) -> GateRecord {
    let version = request.version;
    // Of a range its end is told, where the gate was there by then.
    let before = catalogue
        .minors_with(name)
        .rfind(|minor| request.until.is_none_or(|until| *minor <= until));
    let binary = version.or(before).or(catalogue.last_with(name));
    let link = |dependency: Dependency| Link {
        name: dependency.name,
        through: dependency.through,
    };
    let links = |of: &dyn Fn(Minor) -> Vec<Dependency>| -> Vec<Link> {
        let found = binary.map_or_else(Vec::new, of);
        found.into_iter().map(link).collect()
    };
    let history = catalogue.history(name);
    let stand = binary.and_then(|binary| {
        let spec = catalogue.at(name, Behaviour::native(binary))?;
        let told = history
            .iter()
            .rev()
            .find(|told| told.min_compatibility.is_none() && told.since <= Some(binary));
        Some(GateStand {
            version: binary,
            since: told.and_then(|told| told.since),
            default: spec.default,
            stage: spec.stage.word(),
            locked: spec.locked,
        })
    });
    GateRecord {
        name,
        notes: notes(catalogue, name, version, &history, stand.as_ref()),
        versions: history.iter().map(gate_version).collect(),
        at: stand,
        depends_on: links(&|binary| catalogue.depends_on(name, binary)),
        needed_by: links(&|binary| catalogue.needed_by(name, binary)),
        components: catalogue.components(name).map(<[_]>::to_vec),
        keps: catalogue
            .proposal(name)
            .map_or_else(Vec::new, |proposal| proposal.keps.clone()),
        removed_in: catalogue.removed_in(name),
    }
}

fn gate_version(spec: &Spec) -> GateVersion {
    GateVersion {
        since: spec.since,
        default: spec.default,
        stage: spec.stage.word(),
        locked: spec.locked,
        min_compatibility_version: spec.min_compatibility,
    }
}

/// What follows for someone who sets the gate. Start-up refusals: observed of 1.36.3 and 1.37.2.
fn notes(
    catalogue: &Catalogue,
    name: &str,
    version: Option<Minor>,
    history: &[Spec],
    stand: Option<&GateStand>,
) -> Vec<String> {
    const REFUSED: &str = "does not start where it is set: \"unrecognized feature gate\"";
    let mut notes = Vec::new();
    match (version, stand) {
        (Some(version), None) => {
            let why = match (catalogue.removed_in(name), catalogue.introduced_in(name)) {
                (Some(removed), _) if removed <= version => format!("was removed in {removed}"),
                (_, Some(introduced)) if introduced > version => {
                    format!("came with {introduced}")
                }
                _ => "is of other versions".to_owned(),
            };
            notes.push(format!(
                "{version} does not know it, as it {why}; a component of {version} {REFUSED}"
            ));
        }
        (_, Some(stand)) if stand.locked => notes.push(format!(
            "locked: a component of {} does not start where it is set to {}",
            stand.version, !stand.default
        )),
        _ => {}
    }
    if let (None, Some(removed)) = (version, catalogue.removed_in(name)) {
        notes.push(format!("a component of {removed} {REFUSED}"));
    }
    if catalogue.is_told_by_sources(name) {
        notes.push(
            "its KEP names no components; these are the ones whose sources read it".to_owned(),
        );
    }
    for spec in history {
        if let Some(least) = spec.min_compatibility {
            notes.push(format!(
                "{} by default where --min-compatibility-version is at least {least}",
                spec.default
            ));
        }
    }
    notes
}

/// A meta-gate is no gate: it has no history of its own.
fn record_of_meta(name: &'static str) -> GateRecord {
    let stage = if name == "AllAlpha" { "alpha" } else { "beta" };
    GateRecord {
        name,
        notes: vec![
            format!(
                "no gate of its own: it sets every gate that is {stage} at the component's (emulated) version \
                 and that is not set by name, whatever the order"
            ),
            "listed like a gate by every component, false unless it is set".to_owned(),
        ],
        versions: Vec::new(),
        at: None,
        depends_on: Vec::new(),
        needed_by: Vec::new(),
        components: None,
        keps: Vec::new(),
        removed_in: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(name: &str) -> Vec<NoAnswer> {
        let request = Request {
            names: vec![name.to_owned()],
            ..Request::default()
        };
        let answer = lookup(Catalogue::known(), &request, Timestamp::UNIX_EPOCH);
        answer.expect("no minor was asked for").1
    }

    fn suggested(name: &str) -> Option<&'static str> {
        match look(name).as_slice() {
            [NoAnswer::Gate { nearest, .. }] => *nearest,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_misspelt_name_gets_the_nearest() {
        assert_eq!(suggested("SideCarContainers"), Some("SidecarContainers"));
        assert_eq!(
            suggested("NodeDeclardFeatuers"),
            Some("NodeDeclaredFeatures")
        );
        assert_eq!(suggested("allalpha"), Some("AllAlpha"));
    }

    #[test]
    fn a_name_like_no_other_gets_none() {
        for name in [
            "",
            "x",
            "\u{1b}[31m",
            "ünïcode",
            "kube:NodeDeclaredFeatures=true,A=b",
        ] {
            assert_eq!(suggested(name), None, "{name:?}");
        }
        // Its distance to each gate would fill gigabytes.
        assert_eq!(suggested(&"A".repeat(1_000_000)), None);
    }

    /// Whoever lists gates by a question gets those, and no other, that a look at each by its name shows so.
    #[test]
    fn lists_select_what_each_gate_tells_of_itself() {
        let known = Catalogue::known();
        let list = |request: &Request| -> Vec<&'static str> {
            let answer = lookup(known, request, Timestamp::UNIX_EPOCH);
            let (answer, missing) = answer.expect("it is known");
            assert_eq!(missing, []);
            answer.gates.iter().map(|gate| gate.name).collect()
        };
        let newest = known.newest();
        let all = list(&Request::default());
        let registered = known.gates(newest).expect("it is known");
        assert_eq!(all.len(), registered.len());
        let removed = list(&Request {
            removed_in: Some(newest),
            ..Request::default()
        });
        let new = list(&Request {
            since: Some(newest),
            ..Request::default()
        });
        let before = known.gates(Minor(newest.0 - 1)).expect("it is known");
        for name in known.names() {
            let (was, is) = (before.contains_key(name), all.contains(&name));
            assert_eq!(removed.contains(&name), was && !is, "{name}");
            if was != is {
                assert!(new.contains(&name), "{name} changed");
            }
        }
    }
}
