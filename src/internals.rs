//! Entry functions for tests: decoders for the fuzz targets and the corpora test, bytes in and nothing out; and the rules of
//! declared features, for the comparison with upstream's library. Not public, not stable.
//!
//! It must not do more than call what it is an entry to.

use std::io::Cursor;

use serde_json::Value;

use crate::model::fact::Content;
use crate::model::needs::PodNeeds;
use crate::model::version::Release;
use crate::source::offline::{self, Place};

/// Reads some bytes as one decoder does.
pub type Entry = fn(&[u8]);

/// Each entry by the name of its fuzz target and of its folder in `fuzz/corpus`.
pub const ENTRIES: &[(&str, Entry)] = &[
    ("audit_file", audit_file),
    ("audit_line", audit_line),
    ("document", document),
    ("event_note", event_note),
    ("metrics", metrics),
    ("scheduler_log", scheduler_log),
    ("scheduler_message", scheduler_message),
];

/// A file of any kind: compressed, wrapped, or objects.
pub fn audit_file(bytes: &[u8]) {
    let focus = crate::source::audit::Focus::default();
    let place = Place {
        path: "-".into(),
        document: None,
    };
    let read = offline::open(&place, &mut Cursor::new(bytes), &focus);
    if let Ok(mut collected) = read {
        let mut world = crate::model::world::World::default();
        collected.pour_into(&mut world);
        world.settle();
    }
}

/// One line of an audit log.
pub fn audit_line(bytes: &[u8]) {
    use crate::source::audit::{Focus, Layout, read};
    let log = read(&mut Cursor::new(bytes), Layout::Lines, &Focus::default());
    log.into_contents().for_each(drop);
}

/// Objects in JSON or YAML.
pub fn document(bytes: &[u8]) {
    let mut reading = crate::source::document::read(bytes);
    crate::source::document::place(bytes, &mut reading.contents);
}

/// The note of a `Preempted` event.
pub fn event_note(bytes: &[u8]) {
    drop(crate::analysis::preempted_note::parse(
        &String::from_utf8_lossy(bytes),
    ));
}

/// The text of a component's metrics, to its end.
pub fn metrics(bytes: &[u8]) {
    use crate::model::component::ComponentKind;
    let kind = ComponentKind::KubeScheduler;
    drop(crate::source::component::metrics::read(kind, &mut {
        bytes
    }));
}

/// A scheduler's log.
pub fn scheduler_log(bytes: &[u8]) {
    use crate::source::audit::Focus;
    let log = crate::source::scheduler_log::read(&mut Cursor::new(bytes), &Focus::default());
    log.into_contents().for_each(drop);
}

/// A scheduler's message.
pub fn scheduler_message(bytes: &[u8]) {
    drop(crate::analysis::message::parse(&String::from_utf8_lossy(
        bytes,
    )));
}

/// What the rules of declared features answer to a question as upstream's library is asked (`testkit/go/<minor>/requirements`):
/// the names of what is required or declared, and of what is open because `unknown` names the settings that are hidden.
///
/// # Panics
///
/// Where the question is none.
pub fn requirements(question: &Value, release: &str) -> (Vec<String>, Vec<String>) {
    use crate::analysis::requirement::{
        self, Declaration, FEATURES, KubeletSettings, MECHANISM, Required, Runtime,
    };
    let release = Release::parse(release).expect("it is a release");
    let names = |required: Vec<Required>| {
        let names = required.iter().map(|it| it.feature.name.to_owned());
        (names.collect(), Vec::new())
    };
    if !question["pod"].is_null() {
        return names(requirement::for_scheduling(
            &needs(&question["pod"]),
            release,
        ));
    }
    if !question["old"].is_null() {
        let (old, new) = (needs(&question["old"]), needs(&question["new"]));
        return names(requirement::for_update(&old, &new, release));
    }
    let is_known = |name: &str| {
        let hidden = question["unknown"].as_array().into_iter().flatten();
        hidden
            .filter_map(Value::as_str)
            .all(|hidden| hidden != name)
    };
    let told = |name: &str| is_known(name).then(|| question[name] == true);
    let gates = |name: &str| {
        let on = name == MECHANISM || question["gates"][name] == true;
        is_known(name).then_some(on)
    };
    let policy = question["cpuManagerPolicy"].as_str();
    let settings = KubeletSettings {
        release,
        gates: &gates,
        cpu_manager_policy: policy.filter(|_| is_known("cpuManagerPolicy")),
        runtime: Runtime {
            user_namespaces_host_network: told("userNamespacesHostNetwork"),
            mount_options: told("mountOptions"),
        },
    };
    let meant = |is_meant: fn(&Declaration) -> bool| {
        let found = FEATURES
            .iter()
            .filter(|feature| is_meant(&feature.declared_by(&settings)));
        found.map(|feature| feature.name.to_owned()).collect()
    };
    (
        meant(|it| *it == Declaration::Yes),
        meant(|it| matches!(it, Declaration::Unknown(_))),
    )
}

/// As the product reads it, from its bytes.
fn needs(pod: &Value) -> PodNeeds {
    let decoder = crate::source::decode::find("v1", "Pod").expect("Pods are read");
    match decoder.decode(&pod.to_string()) {
        Ok(Content::Pod(pod)) => pod.needs.as_deref().expect("it has containers").clone(),
        other => panic!("it is no Pod: {other:?}"),
    }
}

/// Gates of a minor with an API of their own, each with the versions of which one has to be served, and its resources.
pub fn apis_of_gates(
    minor: u32,
) -> Vec<(
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
)> {
    let needs = crate::catalogue::apis::NEEDS.iter();
    let minor = crate::model::version::Minor(minor);
    let of_minor =
        needs.filter_map(|need| Some((need.gate, need.versions(minor)?, need.resources)));
    of_minor.collect()
}

/// Gates with which an API server of a minor never becomes ready where their API is not served, each with what `/readyz` lacks.
pub fn apis_waited_for(minor: u32) -> std::collections::BTreeMap<&'static str, String> {
    let needs = crate::catalogue::apis::NEEDS.iter();
    let minor = crate::model::version::Minor(minor);
    let waiting = needs.filter_map(|need| Some((need.gate, need.waited_for(minor)?.to_owned())));
    waiting.collect()
}

/// Groups and versions of all minors that are known.
pub fn api_versions() -> Vec<&'static str> {
    let minors = crate::catalogue::Catalogue::known().minors();
    let known = minors.filter_map(crate::catalogue::apis::of);
    let known: std::collections::BTreeSet<&str> = known.flat_map(|it| it.keys().copied()).collect();
    known.into_iter().collect()
}

/// Why a component would not start: what the component says of each fault. `question` has `kind`, `minor`, `emulated` or null,
/// `gates` as flags have them, further `flags`, and whether gates stand in a kubelet's `file`.
///
/// # Panics
///
/// Where the question is none.
pub fn start(question: &Value) -> Vec<String> {
    let (start, setting) = asked(question);
    let faults = crate::analysis::gates::start::faults(&start, &setting);
    faults.iter().map(|fault| fault.words(&start)).collect()
}

/// Whether an API server serves each resource that belongs to a gate, by the version.
///
/// # Panics
///
/// Where the question is none, or is about none.
pub fn served(
    question: &Value,
) -> std::collections::BTreeMap<&'static str, Vec<(&'static str, bool)>> {
    use crate::analysis::gates::apis::Served;
    use crate::catalogue::apis::{NEEDS, of};
    let (start, setting) = asked(question);
    let config = setting.runtime_config.unwrap_or_default();
    let served = Served::new(&start, &config).expect("an API server of a known minor");
    let mut found = std::collections::BTreeMap::<_, Vec<_>>::new();
    for (version, registered) in of(start.behaviour.binary).into_iter().flatten() {
        for resource in registered.resources.keys() {
            let Some(need) = NEEDS.iter().find(|it| it.is_of(version, resource)) else {
                continue;
            };
            let is_stored = !need.is_stored_by_gate || start.value(need.gate) == Some(true);
            let is_served = is_stored && served.has(version, &[resource]);
            found
                .entry(*version)
                .or_default()
                .push((*resource, is_served));
        }
    }
    found
}

fn asked(
    question: &Value,
) -> (
    crate::analysis::gates::start::Start,
    crate::analysis::gates::intention::Setting,
) {
    use crate::analysis::gates::intention::Setting;
    use crate::analysis::gates::start::{Source, Start};
    use crate::catalogue::Behaviour;
    use crate::model::component::{ComponentKind, ComponentVersion, Settings, Told};
    use crate::model::version::Minor;
    let word = |key: &str| question[key].as_str();
    let kind = word("kind")
        .and_then(ComponentKind::of_word)
        .expect("a component");
    let minor = word("minor").and_then(Minor::parse).expect("a minor");
    let flags = [
        "feature-gates",
        "emulated-version",
        "min-compatibility-version",
    ];
    let keys = ["gates", "emulated", "compatible"];
    let given = flags.iter().zip(keys);
    let given = given.filter_map(|(flag, key)| Some(format!("--{flag}={}", word(key)?)));
    let further = question["flags"].as_array().into_iter().flatten();
    let further = further.filter_map(|flag| flag.as_str().map(str::to_owned));
    let given = given.chain(further);
    let mut settings = Settings::default();
    let mut version = ComponentVersion::default();
    let mut config = None;
    for told in crate::source::component::flags::told(kind, &given.collect::<Vec<_>>()) {
        match told {
            Told::Set(set) => settings = set,
            Told::Version(told) => version = told,
            Told::RuntimeConfig(told) => config = Some(told),
            _ => {}
        }
    }
    let usual = Behaviour::emulating(minor, version.emulation.unwrap_or(minor));
    let start = Start {
        kind,
        behaviour: Behaviour {
            min_compatibility: version.min_compatibility.unwrap_or(usual.min_compatibility),
            ..usual
        },
        gates: settings.gates,
    };
    let refused = settings.refused.into_iter();
    let setting = Setting {
        refused: refused.map(|words| (Source::Flag, words)).collect(),
        runtime_config: config,
        ..Setting::default()
    };
    (start, setting)
}

/// Names of gates of all minors that are known.
pub fn gate_names() -> Vec<String> {
    let names = crate::catalogue::Catalogue::known().names();
    names.map(str::to_owned).collect()
}

/// Gates of a minor that depend on others, and those.
///
/// # Panics
///
/// Where the minor is none.
pub fn gates_with_dependencies(minor: &str) -> Vec<String> {
    let minor = crate::model::version::Minor::parse(minor).expect("a minor");
    let gates = crate::catalogue::Catalogue::known().gates(minor);
    let gates = gates.into_iter().flatten().map(|(_, gate)| gate);
    let gates = gates.filter(|gate| !gate.depends_on.is_empty());
    let names =
        gates.flat_map(|gate| std::iter::once(gate.name).chain(gate.depends_on.iter().copied()));
    let names: std::collections::BTreeSet<&str> = names.collect();
    names.into_iter().map(str::to_owned).collect()
}

/// What `docs/checks.md` is to hold.
pub fn checks_markdown() -> String {
    crate::check::describe::markdown()
}
