//! Our rules of declared features beside upstream's library of each minor: thousands of Pods, updates and kubelets, no difference.
//!
//! Pods go through the product's own decoder. They are made at random from a fixed seed, of what decides: nothing and null, amounts
//! in several notations, sidecars, volumes that change places, several reasons at once, names that are nearly right. It must not
//! know a rule: what is due is what the library says.

use std::collections::BTreeMap;
use std::error::Error;

use kube_placement::internals;
use libtest_mimic::Failed;
use serde_json::{Map, Value, json};

pub(crate) const NAME: &str = "requirements_are_those_of_upstreams_library";

/// Questions of a kind for a minor.
const QUESTIONS: usize = 4000;

/// What may be asked for by a Pod or by an update, from some minor on. A new feature that asks for something belongs here.
const BY_SCHEDULING: [(u32, &str); 3] = [
    (35, "RestartAllContainersOnContainerExits"),
    (36, "UserNamespacesHostNetworkSupport"),
    (37, "VolumeBindMountOptions"),
];
const BY_UPDATE: [(u32, &str); 3] = [
    (35, "InPlacePodLevelResourcesVerticalScaling"),
    (36, "InPlacePodVerticalScalingInitContainers"),
    (37, "InPlacePodVerticalScalingMemoryBackedVolumes"),
];
/// Only 1.35 has it.
const ONLY_FIRST: &str = "GuaranteedQoSPodCPUResize";

/// Each group is worth the same.
const AMOUNTS: [&[&str]; 12] = [
    &["1", "1000m", "1.0", "1e0", "+1", "01", "1.000"],
    &["2", "2000m"],
    &["0", "0m", "00", "0.0", "0Gi"],
    &["500m", "0.5", ".5", "0.50", "500000u"],
    &["1Gi", "1024Mi", "1073741824", "1.0Gi", "01Gi"],
    &["8Gi", "8192Mi", "08Gi"],
    &["1.5Gi", "1.50Gi", "01.5Gi", "1536Mi"],
    &["0.5Ki", "512"],
    &["1k", "1000", "1e3", "1E3", "1.0k"],
    &["1n", "0.001u"],
    &["0.1n", "0.2n"],
    &["123456789012345678901", "123456789012345678901.0"],
];

/// Gates that a declaration depends on, and one that none does.
const GATES: [&str; 12] = [
    "ContainerRestartRules",
    "DRANodeAllocatableResources",
    "DRAOptionalNodeOperations",
    "ExtendWebSocketsToKubelet",
    "InPlacePodLevelResourcesVerticalScaling",
    "InPlacePodVerticalScaling",
    "InPlacePodVerticalScalingExclusiveCPUs",
    "InPlacePodVerticalScalingInitContainers",
    "InPlacePodVerticalScalingMemoryBackedVolumes",
    "RestartAllContainersOnContainerExits",
    "UserNamespacesHostNetworkSupport",
    "VolumeBindMountOptions",
];

/// The trial.
pub(crate) fn works(minor: &str) -> Result<(), Failed> {
    let release = testkit::Binaries::of(minor)?.version().to_owned();
    let number: u32 = minor.rsplit('.').next().unwrap_or_default().parse()?;
    let mut random = Random(0x5328);
    let known = |due: &[(u32, &'static str)]| -> Vec<&str> {
        let of_minor = due.iter().filter(|(since, _)| *since <= number);
        of_minor.map(|(_, name)| *name).collect()
    };

    let questions = (0..QUESTIONS).map(|_| json!({"pod": pod(&mut random)}));
    compare(minor, &release, questions, &known(&BY_SCHEDULING))?;

    let mut due = known(&BY_UPDATE);
    if number == 35 {
        due.push(ONLY_FIRST);
    }
    let questions = (0..QUESTIONS).map(|_| {
        let old = pod(&mut random);
        let new = updated(&mut random, &old);
        json!({"old": old, "new": new})
    });
    compare(minor, &release, questions, &due)?;

    due.extend(known(&BY_SCHEDULING));
    let questions = (0..QUESTIONS).map(|_| kubelet(&mut random));
    compare(minor, &release, questions, &due)?;
    Ok(())
}

/// Asks both. Each name that is due must be in some answers and missing in others.
fn compare(
    minor: &str,
    release: &str,
    questions: impl Iterator<Item = Value>,
    due: &[&str],
) -> Result<(), Box<dyn Error>> {
    let questions: Vec<Value> = questions.collect();
    let mut lines = questions.iter().map(Value::to_string).collect::<Vec<_>>();
    lines.push(String::new());
    let lines = lines.join("\n");
    let answers = testkit::requirements(minor, release, &lines)?;
    let answers: Vec<Vec<String>> = answers
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    if answers.len() != questions.len() {
        return Err(format!("{} answers to {}", answers.len(), questions.len()).into());
    }
    let mut hit: BTreeMap<&str, usize> = BTreeMap::new();
    for (question, library) in questions.iter().zip(&answers) {
        let (sure, open) = internals::requirements(question, release);
        let decided: Vec<&String> = library.iter().filter(|it| !open.contains(it)).collect();
        if sure.iter().collect::<Vec<_>>() != decided {
            return Err(format!(
                "{release}: the library says {library:?}, we say {sure:?} (open: {open:?}) to\n{question:#}"
            )
            .into());
        }
        for name in library {
            *hit.entry(name).or_default() += 1;
        }
    }
    for name in due {
        let hits = hit.get(name).copied().unwrap_or_default();
        if hits == 0 || hits == questions.len() {
            return Err(
                format!("{release}: {name} in {hits} of {} answers", questions.len()).into(),
            );
        }
    }
    Ok(())
}

/// Numbers that look random (`SplitMix64`); the same for the same seed.
struct Random(u64);

impl Random {
    fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX);
        usize::try_from(self.number() % bound).unwrap_or_default()
    }

    /// Once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn one<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    fn several(&mut self, most: usize, mut make: impl FnMut(&mut Self, usize) -> Value) -> Value {
        let count = self.below(most + 1);
        (0..count).map(|at| make(self, at)).collect()
    }
}

/// An object without the keys whose value is [`absent`].
fn object(keys: Vec<(&str, Value)>) -> Value {
    let there = keys.into_iter().filter(|(_, value)| *value != absent());
    let there: Map<String, Value> = there.map(|(key, value)| (key.to_owned(), value)).collect();
    there.into()
}

fn absent() -> Value {
    "(absent)".into()
}

/// Absent, null, or the value that is made.
fn maybe(random: &mut Random, make: impl FnOnce(&mut Random) -> Value) -> Value {
    match random.below(6) {
        0 | 1 => absent(),
        2 => Value::Null,
        _ => make(random),
    }
}

fn pod(random: &mut Random) -> Value {
    let mut containers = random.several(2, container);
    if let Some(list) = containers.as_array_mut() {
        list.push(container(random, 9));
    }
    let host_network = *random.one(&[Some(true), Some(true), Some(false), None]);
    let host_users = *random.one(&[Some(true), Some(false), Some(false), None]);
    let qos = *random.one(&["Guaranteed", "Guaranteed", "Burstable", "BestEffort", ""]);
    json!({
        "metadata": {"name": "p"},
        "spec": object(vec![
            ("containers", containers),
            ("initContainers", maybe(random, |it| it.several(3, container))),
            ("ephemeralContainers", maybe(random, |it| it.several(2, container))),
            ("hostNetwork", host_network.map_or_else(absent, Into::into)),
            ("hostUsers", host_users.map_or_else(absent, Into::into)),
            ("resources", maybe(random, resources)),
            ("volumes", maybe(random, |it| it.several(4, volume))),
        ]),
        "status": object(vec![("qosClass", if qos.is_empty() { absent() } else { qos.into() })]),
    })
}

fn container(random: &mut Random, at: usize) -> Value {
    let actions = [
        "Restart",
        "RestartAllContainers",
        "restartAllContainers",
        "RestartAllContainer",
        "",
    ];
    let policy = *random.one(&["", "", "Always", "always", "Never", "OnFailure"]);
    let rules = match random.below(6) {
        0 => random.several(3, |it, _| json!({"action": it.one(&actions)})),
        1 => Value::Null,
        _ => absent(),
    };
    let mounts = match random.below(5) {
        0 => random.several(3, |it, _| {
            let options = match it.below(5) {
                0 => json!(["noexec", "nosuid"]),
                1 => json!([]),
                2 => Value::Null,
                _ => absent(),
            };
            object(vec![("name", "v".into()), ("bindMountOptions", options)])
        }),
        _ => absent(),
    };
    object(vec![
        ("name", format!("c{at}").into()),
        (
            "restartPolicy",
            if policy.is_empty() {
                absent()
            } else {
                policy.into()
            },
        ),
        ("restartPolicyRules", rules),
        ("volumeMounts", mounts),
        ("resources", maybe(random, resources)),
    ])
}

fn resources(random: &mut Random) -> Value {
    let amounts = |random: &mut Random| {
        let keys = ["cpu", "memory", "example.com/x"];
        let mut made = Map::new();
        for key in keys {
            if random.once_in(2) {
                made.insert(key.to_owned(), amount(random));
            }
        }
        made.into()
    };
    let claims = match random.below(8) {
        0 => random.several(2, |it, _| {
            let request = if it.once_in(2) { absent() } else { "r".into() };
            object(vec![("name", "gpu".into()), ("request", request)])
        }),
        1 => Value::Null,
        _ => absent(),
    };
    object(vec![
        ("requests", maybe(random, amounts)),
        ("limits", maybe(random, amounts)),
        ("claims", claims),
    ])
}

fn amount(random: &mut Random) -> Value {
    if random.once_in(20) {
        return random.below(3).into();
    }
    let group = *random.one(&AMOUNTS);
    (*random.one(group)).into()
}

fn volume(random: &mut Random, at: usize) -> Value {
    let name = json!(format!("v{at}"));
    let folder = match random.below(4) {
        0 => absent(),
        1 => json!({}),
        2 => json!({"medium": "Memory"}),
        _ => {
            let medium = *random.one(&["Memory", "Memory", "memory", ""]);
            json!({"medium": medium, "sizeLimit": amount(random)})
        }
    };
    object(vec![("name", name), ("emptyDir", folder)])
}

/// Another version of a Pod. Containers stay as many as they were, and a volume of one name stays of one kind: validation, which
/// comes before, lets nothing else through, and the library counts on it.
fn updated(random: &mut Random, old: &Value) -> Value {
    let mut new = old.clone();
    if random.once_in(10) {
        return new;
    }
    let spec = &mut new["spec"];
    for list in ["containers", "initContainers"] {
        for container in spec[list].as_array_mut().into_iter().flatten() {
            alter(random, container, "resources");
            if random.once_in(10) {
                container["restartPolicy"] = "Always".into();
            }
        }
    }
    alter(random, spec, "resources");
    if let Some(volumes) = spec.get_mut("volumes").and_then(Value::as_array_mut) {
        for volume in volumes.iter_mut() {
            if volume["emptyDir"].is_object() && random.once_in(2) {
                volume["emptyDir"]["sizeLimit"] = amount(random);
            }
            if random.once_in(10) {
                volume["name"] = json!(format!("w{}", volume["name"]));
            }
        }
        match random.below(8) {
            0 => volumes.reverse(),
            1 => drop(volumes.pop()),
            _ => {}
        }
    }
    new
}

/// Leaves resources alone, writes them in another notation, takes them away, empties them, or makes others.
fn alter(random: &mut Random, of: &mut Value, key: &str) {
    match random.below(10) {
        0 => of[key] = resources(random),
        1 => of[key] = json!({}),
        2 => drop(of.as_object_mut().map(|it| it.remove(key))),
        3 | 4 => {
            for kind in ["requests", "limits"] {
                let amounts = of.get_mut(key).and_then(|it| it.get_mut(kind));
                for (_, value) in amounts.and_then(Value::as_object_mut).into_iter().flatten() {
                    let text = value.as_str().unwrap_or_default();
                    let group = AMOUNTS.iter().find(|group| group.contains(&text));
                    if let Some(group) = group {
                        *value = (*random.one(group)).into();
                    }
                }
            }
        }
        5 => {
            if let Some(resources) = of.get_mut(key).and_then(Value::as_object_mut) {
                let kind = *random.one(&["requests", "limits", "claims"]);
                let nothing = if kind == "claims" {
                    json!([])
                } else {
                    json!({})
                };
                match resources.get(kind) {
                    Some(_) if random.once_in(2) => drop(resources.remove(kind)),
                    _ => drop(resources.insert(kind.to_owned(), nothing)),
                }
            }
        }
        _ => {}
    }
}

/// Settings of a kubelet, some of which our rules are not told.
fn kubelet(random: &mut Random) -> Value {
    let gates: Map<String, Value> = GATES
        .iter()
        .filter_map(|gate| {
            let value = *random.one(&[Some(true), Some(true), Some(false), None]);
            Some(((*gate).to_owned(), value?.into()))
        })
        .collect();
    let others = [
        "cpuManagerPolicy",
        "userNamespacesHostNetwork",
        "mountOptions",
    ];
    let unknown: Vec<&str> = GATES
        .iter()
        .chain(&others)
        .copied()
        .filter(|_| random.once_in(6))
        .collect();
    json!({
        "gates": gates,
        "cpuManagerPolicy": random.one(&["none", "static", "other", ""]),
        "userNamespacesHostNetwork": random.once_in(2),
        "mountOptions": random.once_in(2),
        "unknown": unknown,
    })
}
