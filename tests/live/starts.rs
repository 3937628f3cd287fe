//! What preflight says of settings, and what the real component then does: it starts, or dies for the gates that were named.
//!
//! Settings are made at random from a fixed seed, of what decides: gates that were removed, are too new, locked, misspelt or needed
//! by others, meta-gates, prefixes, values that nobody can read, versions that are emulated or to be compatible with; and of an API
//! server what it is told to serve, for which it starts with a store of its own. It must not know a gate's fate.

#![expect(
    clippy::disallowed_methods,
    reason = "how many settings are tried is said by the environment"
)]

use std::collections::BTreeSet;
use std::error::Error;
use std::path::Path;
use std::process::Command;

use kube_placement::internals;
use libtest_mimic::Failed;
use serde_json::{Map, Value, json};

use crate::api_server::{Server, Store};

pub(crate) const NAME: &str = "components_start_or_die_as_preflight_says";

/// Settings a component and minor. `make sweep` takes more.
const SETTINGS: usize = 30;

/// Kubelets really start: with those that calibrate, less than a hundred of three minors.
const KUBELETS: usize = 28;
const SWEEP: &str = "KUBE_PLACEMENT_STARTS";

const KINDS: [&str; 4] = [
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
];

/// What a component did.
#[derive(Debug, PartialEq, Eq)]
struct Fate {
    /// It got past its gates, whatever came then.
    starts: bool,
    /// What it said.
    words: String,
    code: Option<i32>,
}

/// The trial.
pub(crate) fn works(minor: &str) -> Result<(), Failed> {
    let binaries = testkit::Binaries::of(minor)?;
    let folder = binaries.folder();
    calibrated(folder)?;
    let count = std::env::var(SWEEP).ok().and_then(|text| text.parse().ok());
    let mut random = Random(0x5329 + u64::from(number(minor)?));
    let (mut started, mut died) = (0, 0);
    for kind in KINDS {
        let usual = if kind == "kubelet" {
            KUBELETS
        } else {
            SETTINGS
        };
        for _ in 0..count.unwrap_or(usual) {
            let question = question(&mut random, kind, minor);
            let due = internals::start(&question);
            let fate = run(folder, &question)?;
            agrees(&question, &due, &fate)?;
            *(if fate.starts { &mut started } else { &mut died }) += 1;
        }
    }
    // A generator that only makes one kind would prove nothing.
    different(started, died, KINDS.len() * SETTINGS / 5)?;
    serves(folder, &mut random, minor, count.unwrap_or(SETTINGS))
}

fn different(started: usize, died: usize, least: usize) -> Result<(), String> {
    if started < least || died < least {
        return Err(format!(
            "{started} started and {died} died: the settings are too much alike"
        ));
    }
    Ok(())
}

/// The same of API servers and what they are told to serve.
fn serves(folder: &Path, random: &mut Random, minor: &str, count: usize) -> Result<(), Failed> {
    let store = Store::start(folder)?;
    let (mut started, mut died) = (0, 0);
    for _ in 0..count {
        let question = apis(random, minor)?;
        let due = internals::start(&question);
        let server = store.serve(&flags(&question))?;
        let fate = Fate {
            starts: server.serves(),
            words: unquoted(server.words()),
            code: server.code(),
        };
        agrees(&question, &due, &fate)?;
        if fate.starts {
            serves_as_said(&server, &question)?;
            started += 1;
        } else {
            died += 1;
        }
    }
    different(started, died, SETTINGS / 5)?;
    Ok(())
}

fn flags(question: &Value) -> Vec<String> {
    let word = |flag: &str, key: &str| Some(format!("--{flag}={}", question[key].as_str()?));
    let given = [
        word("feature-gates", "gates"),
        word("emulated-version", "emulated"),
    ];
    let further = question["flags"].as_array().into_iter().flatten();
    let further = further.filter_map(|flag| flag.as_str().map(str::to_owned));
    given.into_iter().flatten().chain(further).collect()
}

/// Resources that belong to gates are served exactly where that was said.
fn serves_as_said(server: &Server, question: &Value) -> Result<(), Box<dyn Error>> {
    for (version, resources) in internals::served(question) {
        let found = server.resources(version)?;
        for (resource, due) in resources {
            if found.contains(resource) != due {
                return Err(format!(
                    "{question}: {resource} in {version}: we say {due}, it has {found:?}"
                )
                .into());
            }
        }
    }
    Ok(())
}

/// An API server of a minor, and what it is told to serve.
fn apis(random: &mut Random, minor: &str) -> Result<Value, Box<dyn Error>> {
    let number = number(minor)?;
    let versions = internals::api_versions();
    let needs: Vec<_> = (35..=37).flat_map(internals::apis_of_gates).collect();
    let of_needs: Vec<&str> = needs
        .iter()
        .flat_map(|(_, versions, _)| *versions)
        .copied()
        .collect();
    let mut entries = Vec::new();
    for _ in 0..=random.below(3) {
        let key = match random.below(12) {
            0 => (*random.one(&["api/all", "api/beta", "api/alpha", "api/ga", "api/legacy"]))
                .to_owned(),
            1 => (*random.one(&[
                "v1",
                "/v1",
                "api/v1/pods",
                "x",
                "no.such.group/v1",
                "apps/v1/Deployments",
                "batch/v9",
                "a/b/c/d",
            ]))
            .to_owned(),
            2 | 3 => (*random.one(&versions)).to_owned(),
            4 => {
                let (_, versions, resources) = random.one(&needs);
                format!("{}/{}", random.one(versions), random.one(resources))
            }
            _ => (*random.one(&of_needs)).to_owned(),
        };
        let value = match random.below(16) {
            0 => "",
            1 => "=",
            2 => "=maybe",
            3 => "=F",
            4..=6 => "=false",
            _ => "=true",
        };
        // Without the core nothing is left that could start.
        let value = if key.contains("v1/pods") || key.ends_with("/v1") || key == "v1" {
            "=true"
        } else {
            value
        };
        entries.push(format!("{key}{value}"));
    }
    let mut flags = vec![format!("--runtime-config={}", entries.join(","))];
    let forward = [
        "--emulation-forward-compatible",
        "--runtime-config-emulation-forward-compatible=true",
    ];
    flags.extend(
        forward
            .iter()
            .filter(|_| random.below(5) == 0)
            .map(|flag| (*flag).to_owned()),
    );
    let emulated = (random.below(2) == 0).then(|| format!("1.{}", number - random.below(3)));
    let mut gates = BTreeSet::new();
    for _ in 0..random.below(3) {
        // Those of the minor, which it knows.
        let known = internals::apis_of_gates(number);
        gates.insert(format!("{}=true", random.one(&known).0));
    }
    let gates: Vec<String> = gates.into_iter().collect();
    Ok(
        json!({"kind": "kube-apiserver", "minor": minor, "emulated": emulated, "gates": gates.join(","), "flags": flags}),
    )
}

fn number(minor: &str) -> Result<u32, std::num::ParseIntError> {
    minor.rsplit('.').next().unwrap_or_default().parse()
}

/// That the way by which a component is asked tells the difference at all: `--help` would not.
fn calibrated(folder: &Path) -> Result<(), Box<dyn Error>> {
    for kind in KINDS {
        for file in [false, true] {
            let known = json!({"kind": kind, "gates": "ContextualLogging=true", "file": file});
            let unknown = json!({"kind": kind, "gates": "NoSuchGate=true", "file": file});
            let (known, unknown) = (run(folder, &known)?, run(folder, &unknown)?);
            if !known.starts || unknown.starts {
                return Err(format!("{kind} tells no difference: {known:?}, {unknown:?}").into());
            }
            // A kubelet that has the gate in its file panics.
            let is_panic = kind == "kubelet" && file;
            let code = if is_panic { 2 } else { 1 };
            if unknown.code != Some(code) {
                return Err(format!("{kind} ends with {:?}, due {code}", unknown.code).into());
            }
        }
    }
    Ok(())
}

/// The component says one of the faults that were named, or starts where none was.
fn agrees(question: &Value, due: &[String], fate: &Fate) -> Result<(), Box<dyn Error>> {
    // With and without a prefix are two maps in no order: the one that comes first may die of its own gates before the mix is noticed.
    let is_mixed = due.iter().any(|words| words.contains("do not mix use"));
    let is_named = due.iter().any(|words| fate.words.contains(words.as_str())) || is_mixed;
    if fate.starts == due.is_empty() && (fate.starts || is_named) {
        return Ok(());
    }
    Err(format!("{question}: we say {due:?}, it did {fate:?}").into())
}

/// Starts the component with these settings, as far as it takes to know.
fn run(folder: &Path, question: &Value) -> Result<Fate, Box<dyn Error>> {
    let kind = question["kind"].as_str().unwrap_or_default();
    let gates = question["gates"].as_str().unwrap_or_default();
    let home = tempfile::tempdir()?;
    let mut command = Command::new(folder.join(kind));
    command.env_clear().current_dir(home.path());
    let mut is_tried = false;
    if kind == "kubelet" && question["file"] == true {
        let file = home.path().join("kubelet.json");
        let pairs = gates.split(',').filter_map(|pair| pair.split_once('='));
        let gates: Map<String, Value> = pairs
            .map(|(name, value)| (name.to_owned(), json!(value == "true")))
            .collect();
        let configuration = json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "featureGates": gates,
        });
        std::fs::write(&file, configuration.to_string())?;
        command.arg(format!("--config={}", file.display()));
    } else {
        command.arg(format!("--feature-gates={gates}"));
    }
    if kind == "kubelet" {
        // It must end by itself: there is no such API server.
        command.arg("--kubeconfig=nowhere/kubeconfig");
        command.args(["--root-dir=root", "--cert-dir=certificates"]);
    } else {
        // It looks at its flags first, gates among them; at whether it can behave as a version only when it really starts.
        let versions = [
            ("emulated", "--emulated-version"),
            ("compatible", "--min-compatibility-version"),
        ];
        let given = versions.map(|(key, flag)| Some(format!("{flag}={}", question[key].as_str()?)));
        let given: Vec<String> = given.into_iter().flatten().collect();
        if given.is_empty() {
            command.arg("--version");
        }
        is_tried = !given.is_empty();
        command.args(given);
    }
    let output = command.output()?;
    let words = String::from_utf8_lossy(&output.stderr).into_owned();
    let words = unquoted(&words);
    let starts = if is_tried {
        // What it lacks to run is all that it complains of.
        let lacks = if kind == "kube-apiserver" {
            "err=\"[--etcd-servers must be specified"
        } else {
            "no configuration has been provided"
        };
        words.contains(lacks)
    } else if kind == "kubelet" {
        // Its next complaint is about something else.
        !(words.contains("failed to set feature gates")
            || words.contains("invalid argument")
            || words.contains("panic:"))
    } else {
        output.status.success()
    };
    Ok(Fate {
        starts,
        words,
        code: output.status.code(),
    })
}

/// A line of a log without what Go put before quotes.
fn unquoted(text: &str) -> String {
    let mut letters = text.chars();
    std::iter::from_fn(|| match letters.next()? {
        '\\' => letters.next(),
        letter => Some(letter),
    })
    .collect()
}

/// A component of a minor, and what it is started with.
fn question(random: &mut Random, kind: &str, minor: &str) -> Value {
    let file = kind == "kubelet" && random.below(2) == 0;
    let is_versioned = |random: &mut Random| kind != "kubelet" && random.below(4) == 0;
    let emulated = is_versioned(random).then(|| version(random, minor));
    let compatible = is_versioned(random).then(|| version(random, minor));
    let names = internals::gate_names();
    let dependent = internals::gates_with_dependencies(minor);
    let mut pairs = Vec::new();
    for _ in 0..=random.below(3) {
        let value = if random.below(2) == 0 {
            "true"
        } else {
            "false"
        };
        let name = match random.below(10) {
            0 => "AllAlpha".to_owned(),
            1 => "AllBeta".to_owned(),
            2 => format!("{}s", random.one(&names)),
            3..=5 => random.one(&dependent).clone(),
            _ => random.one(&names).clone(),
        };
        pairs.push((name, value));
    }
    // As a map of a file has it.
    let mut seen = BTreeSet::new();
    pairs.retain(|(name, _)| seen.insert(name.clone()) || !file);
    let prefix = if kind != "kubelet" && random.below(6) == 0 {
        "kube:"
    } else {
        ""
    };
    let mut gates: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{prefix}{name}={value}"))
        .collect();
    if !file && random.below(12) == 0 {
        let odd = ["X", "X=yes", "\"X=true\"", "kube:X=true", " ", ""];
        gates.push((*random.one(&odd)).to_owned());
    }
    json!({"kind": kind, "minor": minor, "emulated": emulated, "compatible": compatible, "gates": gates.join(","), "file": file})
}

/// A version to behave as: most that a binary can, some too old or too new, some that nobody can read.
fn version(random: &mut Random, minor: &str) -> String {
    let number = number(minor).unwrap_or_default();
    match random.below(12) {
        0 => (*random.one(&["1.36.2", "x", "wardle=1.2", "1.35,1.35", "1", "01.35"])).to_owned(),
        1 => format!("kube=v1.{}", number - 1),
        _ => format!("1.{}", number + 1 - random.below(6)),
    }
}

/// A number that looks like chance and is the same each time (xorshift64*).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33;
        u32::try_from(high).unwrap_or_default() % limit
    }

    fn one<'t, T>(&mut self, of: &'t [T]) -> &'t T {
        let count = u32::try_from(of.len()).unwrap_or(u32::MAX);
        &of[self.below(count) as usize]
    }
}
