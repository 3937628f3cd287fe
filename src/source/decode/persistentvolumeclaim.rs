//! Decodes core/v1 `PersistentVolumeClaim`.

use serde::Deserialize;

use crate::model::claim::Claim;
use crate::model::fact::Content;
use crate::model::pod::PodName;

#[derive(Deserialize)]
struct ClaimObject {
    metadata: Metadata,
    #[serde(default)]
    status: Status,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    annotations: Option<Annotations>,
}

#[derive(Default, Deserialize)]
struct Annotations {
    #[serde(rename = "volume.kubernetes.io/selected-node", default)]
    selected_node: Option<String>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(default)]
    phase: Option<String>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let object: ClaimObject = serde_json::from_str(json)?;
    let metadata = object.metadata;
    Ok(Content::Claim(Box::new(Claim {
        name: PodName {
            namespace: metadata.namespace.unwrap_or_else(|| "default".to_owned()),
            name: metadata.name,
        },
        selected_node: metadata
            .annotations
            .and_then(|annotations| annotations.selected_node)
            .filter(|node| !node.is_empty()),
        phase: object.status.phase,
    })))
}
