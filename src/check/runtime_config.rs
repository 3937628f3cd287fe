//! Rule: what an API server is told to serve is something that it can serve.

use super::start::{self, Broken, Words};
use super::{Docs, Facts, Rule, Ruling};
use crate::analysis::gates::apis::Refusal;
use crate::analysis::gates::intention::Target;
use crate::analysis::gates::start::Fault;
use crate::answer::gate_skew::Severity;
use crate::answer::parts::some;
use crate::model::component::ComponentKind;

pub(super) const RULE: Rule = Rule {
    id: "runtime-config",
    title: "every API server has what --runtime-config names",
    severity: Severity::Error,
    docs: Docs {
        what: "Holds each entry of --runtime-config of the API servers against the groups and versions that the binary registers, and \
               against the version that it emulates: its form, its value, groups and versions that it does not have (any more, or yet).",
        why: "A binary that does not register a version refuses to start with it, and alpha versions come and go with a minor: the entry \
              that a gate needs in 1.36 ends the API server of 1.37.",
        cannot_see: "The command line of an API server that nobody shows.",
        example: "kube-apiserver 1.37 would not start: --runtime-config names scheduling.k8s.io/v1alpha2, and it has scheduling.k8s.io/v1, \
                  scheduling.k8s.io/v1alpha3 and scheduling.k8s.io/v1beta1",
    },
    judge,
};

fn judge(facts: &Facts<'_>) -> Ruling {
    let is_server = |it: &&Target| it.name.kind == ComponentKind::KubeApiserver;
    let servers: Vec<&Target> = facts.meant().filter(is_server).collect();
    if servers.is_empty() {
        let is_other = facts.meant().next().is_some();
        return Ruling {
            skipped: is_other.then(|| "no API server is meant".to_owned()),
            unknown: start::unknown(facts).filter(|_| !is_other),
            ..Ruling::default()
        };
    }
    let unseen = servers
        .iter()
        .filter(|it| it.setting.runtime_config.is_none());
    let unseen: Vec<String> = unseen.map(|it| it.name.to_string()).collect();
    let unseen = (!unseen.is_empty())
        .then(|| format!("what {} is told to serve was not seen", some(&unseen)));
    let unknown: Vec<String> = unseen
        .into_iter()
        .chain(start::unseen(servers.into_iter()))
        .collect();
    Ruling {
        unknown: (!unknown.is_empty()).then(|| unknown.join("; ")),
        ..start::rule(facts, words)
    }
}

fn words(broken: &Broken<'_>) -> Option<Words> {
    let Fault::Api { key, why } = broken.fault else {
        return None;
    };
    let out = || format!("take {key} out");
    let (message, advice) = match why {
        Refusal::Nothing => (
            "--runtime-config has nothing but api/all=false".to_owned(),
            "name what is to be served beside, e.g. /v1=true for the core".to_owned(),
        ),
        Refusal::Fairness => (
            format!("--runtime-config has {key}=false, and priority and fairness needs flowcontrol.apiserver.k8s.io/v1"),
            "name flowcontrol.apiserver.k8s.io/v1=true beside, or set --enable-priority-and-fairness=false".to_owned(),
        ),
        Refusal::Key => (
            format!(
                "--runtime-config has {key:?}, which is neither GROUP/VERSION nor GROUP/VERSION/RESOURCE"
            ),
            "write apps/v1=true, or /v1=true for the core".to_owned(),
        ),
        Refusal::Group => (
            format!("--runtime-config names {key}, and it has no such group"),
            out(),
        ),
        Refusal::Version(known) => {
            let known: Vec<String> = known.iter().map(|it| (*it).to_owned()).collect();
            (
                format!("--runtime-config names {key}, and it has {}", some(&known)),
                format!(
                    "{} together with the binary, and name the version that the new one has where a gate needs it",
                    out()
                ),
            )
        }
        Refusal::Stage(value) => (
            format!("--runtime-config has {key}={value}"),
            format!("write {key}=true or {key}=false"),
        ),
        Refusal::Value(value) => (
            format!("--runtime-config has {key}={value}, which is no boolean"),
            format!("write {key}=true or {key}=false"),
        ),
        Refusal::Resource => (
            format!("--runtime-config names {key}, and resources are written in small letters"),
            format!("write {}", key.to_lowercase()),
        ),
        Refusal::NotYet(emulated) => (
            format!(
                "--runtime-config names {key}, which is newer than {emulated}, which it emulates"
            ),
            format!(
                "{}, or set --runtime-config-emulation-forward-compatible=true",
                out()
            ),
        ),
        Refusal::Native => (
            format!("{key} is set, and it emulates no older version"),
            out(),
        ),
    };
    Some(Words {
        message,
        advice: vec![advice],
    })
}
