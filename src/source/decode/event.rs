//! Decodes Events of core/v1 and events.k8s.io/v1: one stored object, two sets of names.

use jiff::Timestamp;
use serde::Deserialize;

use super::{number, time};
use crate::model::event::{Event, Regarding, Related};
use crate::model::fact::Content;
use crate::model::pod::{PodName, ResourceVersion, Uid};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventObject {
    metadata: EventMetadata,
    #[serde(default, alias = "involvedObject")]
    regarding: Option<Reference>,
    #[serde(default)]
    related: Option<Reference>,
    #[serde(default)]
    reason: String,
    #[serde(default, alias = "message")]
    note: String,
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default, alias = "reportingComponent")]
    reporting_controller: String,
    #[serde(default, alias = "source")]
    deprecated_source: Option<Source>,
    #[serde(default, deserialize_with = "time")]
    event_time: Option<Timestamp>,
    #[serde(default, alias = "firstTimestamp", deserialize_with = "time")]
    deprecated_first_timestamp: Option<Timestamp>,
    #[serde(default, alias = "lastTimestamp", deserialize_with = "time")]
    deprecated_last_timestamp: Option<Timestamp>,
    #[serde(default, alias = "count")]
    deprecated_count: Option<i64>,
    #[serde(default)]
    series: Option<Series>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EventMetadata {
    #[serde(default)]
    name: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default, deserialize_with = "time")]
    creation_timestamp: Option<Timestamp>,
    #[serde(default)]
    managed_fields: Option<Vec<ManagedFieldsEntry>>,
}

#[derive(Deserialize)]
struct ManagedFieldsEntry {
    #[serde(default)]
    manager: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    kind: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    name: String,
    #[serde(default)]
    uid: Option<String>,
    #[serde(default, deserialize_with = "number")]
    resource_version: Option<u64>,
}

#[derive(Deserialize)]
struct Source {
    #[serde(default)]
    component: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Series {
    #[serde(default)]
    count: Option<i64>,
    #[serde(default, deserialize_with = "time")]
    last_observed_time: Option<Timestamp>,
}

pub(super) fn decode(json: &str) -> Result<Content, serde_json::Error> {
    let object: EventObject = serde_json::from_str(json)?;
    let metadata = object.metadata;
    let manager = metadata
        .managed_fields
        .into_iter()
        .flatten()
        .map(|entry| entry.manager)
        .next();
    let created = metadata.creation_timestamp;
    let namespace = metadata.namespace.unwrap_or_default();
    let (series_count, series_last) = object.series.map_or((None, None), |series| {
        (series.count, series.last_observed_time)
    });
    let reporter = if object.reporting_controller.is_empty() {
        object
            .deprecated_source
            .map(|source| source.component)
            .unwrap_or_default()
    } else {
        object.reporting_controller
    };
    // Legacy writers leave eventTime null, new ones leave the other times null: the first that is there counts.
    let last = series_last
        .or(object.deprecated_last_timestamp)
        .or(object.event_time)
        .or(object.deprecated_first_timestamp)
        .or(created);
    let first = object
        .event_time
        .or(object.deprecated_first_timestamp)
        .or(object.deprecated_last_timestamp)
        .or(created);
    Ok(Content::Event(Box::new(Event {
        uid: metadata.uid.map(|uid| Uid(uid.into())),
        name: format!("{namespace}/{}", metadata.name),
        regarding: object.regarding.map(|reference| Regarding {
            kind: reference.kind,
            name: PodName {
                namespace: reference.namespace.unwrap_or_default(),
                name: reference.name,
            },
            uid: reference
                .uid
                .filter(|uid| !uid.is_empty())
                .map(|uid| Uid(uid.into())),
            resource_version: reference.resource_version.map(ResourceVersion),
        }),
        related: object.related.map(|reference| Related {
            kind: reference.kind,
            name: PodName {
                namespace: reference.namespace.unwrap_or_default(),
                name: reference.name,
            },
        }),
        reason: object.reason,
        note: object.note,
        warning: object.kind == "Warning",
        reporter,
        manager,
        first,
        last,
        count: series_count
            .or(object.deprecated_count)
            .filter(|count| *count > 0)
            .unwrap_or(1),
    })))
}
