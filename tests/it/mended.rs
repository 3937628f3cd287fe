//! The smallest change that `features preflight` tells, made: with all of it every component starts, and with a part left out one does
//! not.
//!
//! Files of a control plane and of kubelets are made at random from a fixed seed, of what decides. What real components say of such
//! settings is tried by the live trials (`tests/live/starts.rs`); here it is the answer that has to keep its word.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use kube_placement::internals;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{Value, json};

use super::plugin::command;

/// How many are made of a minor.
const CASES: u32 = 60;

const BINARY: &str = env!("CARGO_BIN_EXE_kubectl-features");

const CONTROL_PLANE: [&str; 3] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];
const POOLS: [&str; 2] = ["kubelet/blue.yaml", "kubelet/green.yaml"];

/// Checks of what a component dies of.
const START_UP: &str = "broken-dependency,compatibility-version,locked-gate,runtime-config,served-api,syntax,unknown-gate";

/// In every minor, and not locked: to set it moves nothing else.
const HARMLESS: &str = "ContextualLogging";

#[derive(Debug, Clone, Default)]
struct Component {
    gates: BTreeMap<String, bool>,
    /// What nobody can read.
    odd: Option<&'static str>,
    emulated: Option<u32>,
    compatible: Option<u32>,
    /// Of an API server: entries of `--runtime-config`.
    apis: BTreeMap<String, &'static str>,
    /// Further flags.
    flags: Vec<String>,
}

#[derive(Debug, Clone)]
enum Intention {
    ToVersion(u32),
    Emulate(u32),
    Set(BTreeMap<String, bool>),
}

/// Files, the minor of what tells none, and what is meant.
#[derive(Debug, Clone)]
struct Repository {
    minor: u32,
    kubelets: u32,
    components: BTreeMap<&'static str, Component>,
    intention: Intention,
}

impl Repository {
    fn write(&self, folder: &Path) {
        let mut pods = String::new();
        for (name, component) in &self.components {
            if CONTROL_PLANE.contains(name) {
                writeln!(pods, "{}", self.pod(name, component)).expect("it is memory");
                continue;
            }
            let gates = component.gates.iter();
            let mut gates: BTreeMap<&str, Value> =
                gates.map(|(name, on)| (name.as_str(), json!(on))).collect();
            gates.extend(component.odd.map(|name| (name, json!("no truth"))));
            let configuration = json!({
                "apiVersion": "kubelet.config.k8s.io/v1beta1",
                "kind": "KubeletConfiguration",
                "featureGates": gates,
            });
            let file = name.trim_start_matches("kubelet/");
            fs::write(folder.join(file), configuration.to_string()).expect("it is written");
        }
        fs::write(folder.join("control-plane.yaml"), pods).expect("it is written");
    }

    fn pod(&self, name: &str, component: &Component) -> Value {
        let gates = component.gates.iter();
        let gates = gates.map(|(name, on)| format!("{name}={on}"));
        let gates: Vec<String> = gates.chain(component.odd.map(str::to_owned)).collect();
        let mut arguments = vec![name.to_owned()];
        if !gates.is_empty() {
            arguments.push(format!("--feature-gates={}", gates.join(",")));
        }
        let versions = [
            ("emulated-version", component.emulated),
            ("min-compatibility-version", component.compatible),
        ];
        arguments.extend(
            versions
                .into_iter()
                .filter_map(|(flag, minor)| Some(format!("--{flag}=1.{}", minor?))),
        );
        if !component.apis.is_empty() {
            let entries = component.apis.iter();
            let entries = entries.map(|(key, value)| format!("{key}={value}"));
            let entries: Vec<String> = entries.collect();
            arguments.push(format!("--runtime-config={}", entries.join(",")));
        }
        arguments.extend(component.flags.clone());
        let minor = self.minor;
        json!({
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "kube-system"},
            "spec": {"containers": [{"name": name, "image": format!("{name}:v1.{minor}.2"), "command": arguments}]},
        })
    }

    /// The answer of the start-up checks.
    fn judged(&self) -> Value {
        let folder = tempfile::tempdir().expect("a folder");
        self.write(folder.path());
        let assumed = format!("1.{}", self.kubelets);
        let always = ["preflight", "--from", ".", "-o", "json"];
        let rest = ["--select", START_UP, "--assume-version", &assumed];
        let intention = match &self.intention {
            Intention::ToVersion(minor) => vec![format!("--to-version=1.{minor}")],
            Intention::Emulate(minor) => vec![format!("--to-emulated-version=1.{minor}")],
            Intention::Set(gates) => {
                let is_lost = gates.is_empty();
                let flag = |on: &bool| if *on { "--enable" } else { "--disable" };
                let given = gates
                    .iter()
                    .map(|(name, on)| format!("{}={name}", flag(on)));
                let nothing = is_lost.then(|| format!("--enable={HARMLESS}"));
                given.chain(nothing).collect()
            }
        };
        let intention: Vec<&str> = intention.iter().map(String::as_str).collect();
        let mut run = command(BINARY, &[&always[..], &rest, &intention].concat());
        let output = run.current_dir(folder.path()).output().expect("it ends");
        serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|_| panic!("{self:#?}: {}", String::from_utf8_lossy(&output.stderr)))
    }

    /// With one change made, as whoever reads it would.
    fn change(&mut self, change: &str) {
        if let Some((gate, on)) = change.split_once('=')
            && !change.contains(' ')
        {
            let on = on.parse().expect("it is a value");
            for component in self.components.values_mut() {
                component.gates.insert(gate.to_owned(), on);
            }
            return;
        }
        if change.starts_with("move ") {
            // Of versions, not of a start.
            return;
        }
        let (what, whose) = change.split_once(": ").expect("it says whose");
        if whose.contains("what is to be set")
            && let Intention::Set(gates) = &mut self.intention
            && let Some((gate, on)) = gates.remove_entry(gate_of(what))
        {
            // Those that are not named still get it.
            for component in self.components.values_mut() {
                component.gates.insert(gate.clone(), on);
            }
        }
        let names: Vec<&str> = CONTROL_PLANE.into_iter().chain(POOLS).collect();
        let is_named = |name: &str| {
            let kind = name.split('/').next().unwrap_or(name);
            whose.contains(name) || whose.contains(&format!("every {kind}"))
        };
        let names = names.into_iter().filter(|name| is_named(name));
        let mut is_somebodys = false;
        for name in names {
            is_somebodys = true;
            let component = self.components.get_mut(name).expect("it is there");
            match what.split_once(' ') {
                Some(("take", "--emulated-version out")) => component.emulated = None,
                Some(("take", "--min-compatibility-version out")) => component.compatible = None,
                Some(("take", flag)) if flag.starts_with("--") => {
                    let flag = flag.trim_end_matches(" out");
                    component.flags.retain(|known| known != flag);
                }
                Some(("take", entry)) if entry.ends_with(" of --runtime-config") => {
                    let key = entry.trim_end_matches(" out of --runtime-config");
                    component.apis.remove(key).expect("it is there");
                }
                Some(("add", flags)) => {
                    for flag in flags.split(' ') {
                        match flag.strip_prefix("--runtime-config=") {
                            Some(entry) => {
                                let key = entry.trim_end_matches("=true");
                                component.apis.insert(key.to_owned(), "true");
                            }
                            None => component.flags.push(flag.to_owned()),
                        }
                    }
                }
                Some(("take", _)) => drop(component.gates.remove(gate_of(what))),
                Some(("correct", _)) => component.odd = None,
                Some(("set", gate)) => {
                    let (gate, on) = gate.split_once('=').expect("it has a value");
                    let on = on.parse().expect("it is a value");
                    component.gates.insert(gate.to_owned(), on);
                }
                Some(("emulate", range)) => {
                    let newest = range.rsplit('.').next().expect("there is one");
                    self.intention = Intention::Emulate(newest.parse().expect("it is a minor"));
                }
                _ => panic!("nobody can make this change: {change}"),
            }
        }
        assert!(is_somebodys, "whose is it: {change}");
    }
}

/// The gate that is taken out.
fn gate_of(change: &str) -> &str {
    change.trim_start_matches("take ").trim_end_matches(" out")
}

/// Whether nothing is left that a component would die of.
fn starts(answer: &Value) -> bool {
    let checks = answer["checks"].as_array().expect("there are checks");
    assert!(
        checks.iter().all(|check| check["status"] != "Unknown"),
        "{answer:#}"
    );
    checks
        .iter()
        .all(|check| check["status"] == "Pass" || check["status"] == "Skipped")
}

fn changes(answer: &Value) -> Vec<String> {
    let changes = answer["smallestChange"].as_array().expect("a list");
    let words = changes.iter().filter_map(Value::as_str);
    words.map(str::to_owned).collect()
}

fn repositories(minor: u32) -> impl Strategy<Value = Repository> {
    let all = internals::gate_names();
    let dependent = internals::gates_with_dependencies(&format!("1.{minor}"));
    let gate = prop_oneof![
        3 => select(all.clone()),
        5 => select(dependent.clone()),
        1 => select(all).prop_map(|name| format!("{name}s")),
        1 => select(vec!["AllAlpha".to_owned(), "AllBeta".to_owned()]),
    ];
    let gates = proptest::collection::btree_map(gate, any::<bool>(), 1..3);
    // Most are left as they come.
    let gates = prop_oneof![3 => Just(BTreeMap::new()), 2 => gates];
    let odd = |odd: &'static [&'static str]| weighted(0.05, select(odd));
    let version = weighted(0.08, minor - 4..=minor + 1);
    let control_plane = (
        gates.clone(),
        odd(&["X=yes", "X", "\"X=true\""]),
        version.clone(),
        version,
    )
        .prop_map(|(gates, odd, emulated, compatible)| Component {
            gates,
            odd,
            emulated,
            compatible,
            ..Component::default()
        });
    let needs = (35..=37).flat_map(internals::apis_of_gates);
    let versions: Vec<&str> = needs
        .flat_map(|(_, versions, _)| versions)
        .copied()
        .collect();
    let versions = select(versions).prop_map(str::to_owned);
    let others = select(vec![
        "api/all",
        "api/beta",
        "a/v1",
        "x",
        "apps/v1/Deployments",
    ]);
    let entry = prop_oneof![4 => versions, 1 => others.prop_map(str::to_owned)];
    let value = select(vec!["true", "true", "true", "false", "maybe"]);
    let apis = proptest::collection::btree_map(entry, value, 0..3);
    let forward = weighted(0.1, Just("--emulation-forward-compatible".to_owned()));
    let server =
        (control_plane.clone(), apis, forward).prop_map(|(component, apis, flag)| Component {
            apis,
            flags: flag.into_iter().collect(),
            ..component
        });
    let kubelet = (gates, odd(&["X"])).prop_map(|(gates, odd)| Component {
        gates,
        odd,
        ..Component::default()
    });
    let meant = proptest::collection::btree_map(select(dependent), any::<bool>(), 1..3);
    let intention = prop_oneof![
        2 => (35..=37_u32).prop_map(Intention::ToVersion),
        1 => (minor - 4..=minor + 1).prop_map(Intention::Emulate),
        4 => meant.prop_map(Intention::Set),
    ];
    let components = (
        server,
        vec(control_plane, CONTROL_PLANE.len() - 1),
        vec(kubelet, POOLS.len()),
    );
    (components, 0..2_u32, intention).prop_map(
        move |((server, others, kubelets), older, intention)| {
            let names = CONTROL_PLANE.into_iter().chain(POOLS);
            Repository {
                minor,
                kubelets: minor - older,
                components: names
                    .zip([server].into_iter().chain(others).chain(kubelets))
                    .collect(),
                intention,
            }
        },
    )
}

/// How often it starts anyhow, is mended, and cannot be.
fn all_of_it_mends_and_nothing_less(minor: u32) {
    let (fine, mended, hopeless) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let count = |what: &Cell<u32>| what.set(what.get() + 1);
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    let random = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let made = (repositories(minor), any::<prop::sample::Index>());
    let judged = TestRunner::new_with_rng(config, random).run(&made, |(repository, left_out)| {
        let answer = repository.judged();
        let changes = changes(&answer);
        if starts(&answer) {
            count(&fine);
            prop_assert!(
                changes.iter().all(|it| it.starts_with("move ")),
                "{changes:?}"
            );
            return Ok(());
        }
        if changes.is_empty() {
            count(&hopeless);
            // What is meant contradicts itself: nobody else's settings may.
            let is_meant = matches!(repository.intention, Intention::Set(_));
            prop_assert!(is_meant, "nothing mends: {answer:#}");
            return Ok(());
        }
        count(&mended);
        let with = |changes: &mut dyn Iterator<Item = &String>| {
            let mut repository = repository.clone();
            changes.for_each(|change| repository.change(change));
            repository.judged()
        };
        let after = with(&mut changes.iter());
        prop_assert!(starts(&after), "with {changes:#?} there is {after:#}");
        let left_out = left_out.get(&changes);
        if !left_out.starts_with("move ") {
            let after = with(&mut changes.iter().filter(|it| *it != left_out));
            prop_assert!(!starts(&after), "{left_out} is not needed, of {changes:#?}");
        }
        Ok(())
    });
    if let Err(error) = judged {
        panic!("{error}");
    }
    // A generator that only makes one kind would prove nothing.
    let counts = (fine.get(), mended.get(), hopeless.get());
    assert!(counts.0 > 3 && counts.1 > CASES / 2, "{counts:?}");
}

#[test]
fn the_smallest_change_mends_1_35() {
    all_of_it_mends_and_nothing_less(35);
}

#[test]
fn the_smallest_change_mends_1_36() {
    all_of_it_mends_and_nothing_less(36);
}

#[test]
fn the_smallest_change_mends_1_37() {
    all_of_it_mends_and_nothing_less(37);
}
