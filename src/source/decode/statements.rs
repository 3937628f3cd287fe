//! Decodes what we write ourselves: `GateSnapshot`, and the `ComponentStatements` of a bundle.

use serde::Deserialize;

use super::list;
use crate::model::component::Statement;
use crate::model::fact::Content;
use crate::model::record::{self, ComponentRecord};

/// Kind of what a bundle holds of a document that is no object of the API.
const KIND: &str = "ComponentStatements";

#[derive(Deserialize)]
struct Statements {
    #[serde(default, deserialize_with = "list")]
    components: Vec<ComponentRecord>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let statements: Statements = serde_json::from_str(json)?;
    let told = statements.components.into_iter();
    Ok(Content::Statements(
        told.flat_map(ComponentRecord::statements).collect(),
    ))
}

/// Statements as an object that [`decode`] reads: nothing but what was understood can be in it.
pub(in crate::source) fn object(statements: &[Statement]) -> serde_json::Value {
    serde_json::json!({
        "apiVersion": "kube-placement.dev/v1alpha1",
        "kind": KIND,
        "components": record::of(statements),
    })
}
