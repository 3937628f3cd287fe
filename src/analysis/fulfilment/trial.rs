//! What is asked of the API server itself as a dry run (`--server-dry-run`), and what its answer adds to an explanation.
//!
//! A Pod is created, an update patches the subresource `resize`; admission runs, and nothing is stored. What the server says is
//! observed, and wins over what was predicted. It must not plan anything that would be stored.

use serde_json::{Map, Value, json};

use super::{Request, for_scheduling};
use crate::answer::feature_explanation::{
    Answered, FeatureExplanation, For, ServerWord, VerdictKind,
};
use crate::answer::nomination_explanation::Evidence;
use crate::model::change::Change;
use crate::model::needs::PodNeeds;

/// What of a Pod a resize may change (kubernetes 1.37 `pkg/registry/core/pod/strategy.go`).
const RESIZED: [&str; 4] = ["resources", "containers", "initContainers", "volumes"];

/// What of a Pod's metadata the server is told: the rest is its own.
const METADATA: [&str; 4] = ["name", "generateName", "labels", "annotations"];

/// FORBIDDEN by admission.
const FORBIDDEN: u16 = 403;

/// The trial of an explanation, which is the so-many-th; null where there is nothing to try.
pub(crate) fn plan(request: &Request, index: usize, item: &FeatureExplanation) -> Option<Change> {
    let namespace = Some(item.pod.namespace.as_str());
    if let Some(new) = &request.update {
        let spec: Map<String, Value> = RESIZED
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), new.written["spec"].get(key)?.clone())))
            .collect();
        let patch = json!({"spec": spec});
        return Some(Change::patch(
            "",
            "pods/resize",
            namespace,
            &item.pod.name,
            patch,
        ));
    }
    let written = &request.manifests.get(index)?.written;
    let metadata: Map<String, Value> = METADATA
        .iter()
        .filter_map(|key| Some(((*key).to_owned(), written["metadata"].get(key)?.clone())))
        .collect();
    let pod =
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": written["spec"]});
    Some(Change::create("", "pods", namespace, pod))
}

/// The server accepted it; what it would store requires this.
pub(crate) fn accepted(item: &mut FeatureExplanation, stored: Option<&PodNeeds>) {
    let required: Vec<&str> = stored
        .map(for_scheduling)
        .into_iter()
        .flatten()
        .map(|it| it.feature.name)
        .collect();
    let is_update = item.update.is_some();
    let dropped = item
        .requirements
        .iter()
        .filter(|it| it.r#for == For::Scheduling && stored.is_some() && !is_update)
        .map(|it| it.feature)
        .filter(|name| !required.contains(name));
    let word = ServerWord {
        dropped: dropped.collect(),
        ..said(is_update, Answered::Yes, None, None)
    };
    if !word.dropped.is_empty() {
        item.verdict.kind = VerdictKind::SilentlyIgnored;
        item.verdict.cause = "dropped-by-the-api-server";
        item.verdict.summary = format!(
            "The API server accepts it and drops the fields that require {}: their gates are off there.",
            word.dropped.join(", ")
        );
    } else if item.verdict.kind == VerdictKind::RefusedByAdmission {
        disagrees(item, "accepts the update");
    }
    item.server = Some(word);
}

/// The server refused it, or gave no answer.
pub(crate) fn refused(item: &mut FeatureExplanation, code: Option<u16>, message: String) {
    let is_update = item.update.is_some();
    let is_about_features = code == Some(FORBIDDEN) && message.contains("requires features");
    if is_about_features && item.verdict.kind != VerdictKind::RefusedByAdmission {
        item.verdict.kind = VerdictKind::RefusedByAdmission;
        item.verdict.cause = "not-declared";
        "The API server refuses the update (403 Forbidden).".clone_into(&mut item.verdict.summary);
    }
    if is_about_features && let Some(update) = &mut item.update {
        update.admitted = Answered::No;
    }
    let accepted = if code.is_some() {
        Answered::No
    } else {
        Answered::Unknown
    };
    item.server = Some(said(is_update, accepted, code, Some(message)));
}

fn said(
    is_update: bool,
    accepted: Answered,
    code: Option<u16>,
    message: Option<String>,
) -> ServerWord {
    ServerWord {
        asked: if is_update { "Resize" } else { "Create" },
        accepted,
        code,
        message,
        dropped: Vec::new(),
    }
}

/// What was predicted is not what the server says: something changed in between, or was not seen.
fn disagrees(item: &mut FeatureExplanation, does: &str) {
    item.verdict.kind = VerdictKind::Unknown;
    item.verdict.cause = "api-server-disagrees";
    let before = std::mem::take(&mut item.verdict.summary);
    item.verdict.summary = format!("The API server {does}, though a refusal is due: {before}");
    item.verdict.evidence.push(Evidence {
        source: String::new(),
        at: None,
        text: format!("a dry run: the API server {does}"),
    });
    if let Some(update) = &mut item.update {
        update.admitted = Answered::Yes;
        update.message = None;
    }
}
