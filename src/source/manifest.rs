//! Manifests that are judged (`-f`): Pods, and what makes Pods by a template, which is read as the Pod that it makes.
//!
//! Other kinds are passed over: a file may hold a whole application. It must not write, and it keeps of a Pod no more than the
//! decoder does.
#![expect(clippy::disallowed_methods, reason = "manifests are files")]

use std::io::Read;
use std::path::Path;

use serde_json::{Value, json};

use super::{decode, document};
use crate::model::fact::Content;
use crate::model::pod::Pod;

/// A Pod that is or may come to be.
#[derive(Debug)]
pub(crate) struct Manifest {
    /// `Pod`, or the kind of what makes it.
    pub(crate) kind: &'static str,
    /// A template's Pod has the name of what makes it.
    pub(crate) pod: Pod,
    /// The Pod as it is written: it may hold anything, and is for the API server alone.
    pub(crate) written: Value,
    /// The file says so; else it is the caller's to say.
    pub(crate) has_namespace: bool,
}

/// Kinds by API group, and where the template is (apps/v1, batch/v1, core/v1 in 1.37).
const KINDS: &[(&str, &str, &str)] = &[
    ("", "Pod", ""),
    ("apps", "DaemonSet", "/spec/template"),
    ("apps", "Deployment", "/spec/template"),
    ("apps", "ReplicaSet", "/spec/template"),
    ("apps", "StatefulSet", "/spec/template"),
    ("batch", "CronJob", "/spec/jobTemplate/spec/template"),
    ("batch", "Job", "/spec/template"),
];

/// Reads the Pods of a file, or of standard input where it is `-`.
pub(crate) fn read(path: &Path, stdin: &mut dyn Read) -> Result<Vec<Manifest>, String> {
    let bytes = bytes(path, stdin)?;
    let of_file = |why: String| format!("{}: {why}", path.display());
    let found: Vec<Manifest> = document::values(&bytes)
        .map_err(of_file)?
        .iter()
        .filter_map(manifest)
        .collect::<Result<_, _>>()
        .map_err(of_file)?;
    if found.is_empty() {
        let kinds: Vec<&str> = KINDS.iter().map(|(_, kind, _)| *kind).collect();
        return Err(of_file(format!(
            "it holds no Pod and nothing that makes Pods ({})",
            kinds.join(", ")
        )));
    }
    Ok(found)
}

/// All of a file, or of standard input where it is `-`.
pub(super) fn bytes(path: &Path, stdin: &mut dyn Read) -> Result<Vec<u8>, String> {
    if path.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = stdin.read_to_end(&mut bytes);
        read.map_err(|error| format!("standard input cannot be read: {error}"))?;
        return Ok(bytes);
    }
    std::fs::read(path)
        .map_err(|error| format!("the path {:?} cannot be read: {error}", path.display()))
}

fn manifest(object: &Value) -> Option<Result<Manifest, String>> {
    let word = |key: &str| object[key].as_str().unwrap_or_default();
    let group = word("apiVersion").rsplit_once('/').map_or("", |it| it.0);
    let (_, kind, place) = KINDS
        .iter()
        .find(|(of, kind, _)| *of == group && *kind == word("kind"))?;
    let mut made = object.pointer(place).cloned().unwrap_or_default();
    let metadata = &object["metadata"];
    if !place.is_empty() {
        // A template that is missing makes a Pod without containers, which is told below.
        if !made.is_object() {
            made = json!({});
        }
        made["metadata"] = metadata.clone();
    }
    if !made.is_object() {
        made = serde_json::json!({"metadata": metadata});
    }
    let name = metadata["name"]
        .as_str()
        .or(metadata["generateName"].as_str());
    let Some(name) = name.filter(|name| !name.is_empty()) else {
        return Some(Err(format!("a {kind} has no name")));
    };
    if let Some(metadata) = made["metadata"].as_object_mut() {
        metadata.insert("name".to_owned(), name.into());
    }
    let pod = match pod(&made) {
        Ok(pod) => pod,
        Err(error) => return Some(Err(format!("{kind} {name} cannot be read: {error}"))),
    };
    if pod.needs.is_none() {
        return Some(Err(format!("{kind} {name} has no containers")));
    }
    Some(Ok(Manifest {
        kind,
        pod,
        written: made,
        has_namespace: metadata["namespace"].is_string(),
    }))
}

/// A Pod of a server's answer, or of a file.
pub(crate) fn pod(object: &Value) -> Result<Pod, serde_json::Error> {
    let decoder = decode::find("v1", "Pod").expect("Pods are read");
    match decoder.decode(&object.to_string())? {
        Content::Pod(pod) => Ok(*pod),
        other => unreachable!("a Pod is decoded to {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Result<Vec<(&'static str, String)>, String> {
        let read = read(Path::new("-"), &mut text.as_bytes())?;
        Ok(read
            .into_iter()
            .map(|it| (it.kind, it.pod.name.name))
            .collect())
    }

    #[test]
    fn every_kind_gives_the_pod_that_it_makes() {
        let spec =
            "{containers: [{name: c, restartPolicyRules: [{action: RestartAllContainers}]}]}";
        let template = format!("{{metadata: {{labels: {{a: b}}}}, spec: {spec}}}");
        let text = format!(
            "apiVersion: v1\nkind: Service\nmetadata: {{name: s}}\n---\n\
             apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {{name: a}}\n  spec: {spec}\n\
             - apiVersion: apps/v1\n  kind: Deployment\n  metadata: {{name: b}}\n  spec: {{template: {template}}}\n---\n\
             apiVersion: batch/v1\nkind: CronJob\nmetadata: {{generateName: c-}}\nspec: {{jobTemplate: {{spec: {{template: {template}}}}}}}\n"
        );
        let found = kinds(&text).expect("it is read");
        let due = [("Pod", "a"), ("Deployment", "b"), ("CronJob", "c-")];
        assert_eq!(found, due.map(|(kind, name)| (kind, name.to_owned())));
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(apiVersion|kind|items|spec|template|metadata|Pod|List|[-:{}\\[\\], \n&*\"]|.){0,60}") {
            drop(kinds(&text));
        }
    }

    #[test]
    fn what_cannot_be_judged_is_told() {
        for (text, why) in [
            (
                "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n",
                "no Pod",
            ),
            (
                "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: c}]}\n",
                "no name",
            ),
            (
                "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\n",
                "no containers",
            ),
            ("{\"kind\": ", "not valid JSON"),
            ("a: [", "not valid YAML"),
            (
                "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 7}\n",
                "cannot be read",
            ),
        ] {
            let told = kinds(text).expect_err(text);
            assert!(told.contains(why), "{text}: {told}");
        }
    }
}
