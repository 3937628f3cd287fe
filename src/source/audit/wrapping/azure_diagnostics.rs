//! AKS: diagnostic logs of category `kube-audit` and `kube-audit-admin`, where the event is a text in `properties.log`.
//!
//! Shape: learn.microsoft.com, "Monitor AKS reference", and the sample records that log shippers publish. Event hubs and storage
//! accounts hold `records`, or a record a line; the table `AzureDiagnostics` has the column `log_s`. A container's own log has the text
//! in `log`. It must not read other categories.

use std::borrow::Cow;

use serde::Deserialize;

use super::{Found, open_text};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    properties: Option<Properties<'a>>,
    #[serde(borrow)]
    log_s: Option<Cow<'a, str>>,
    #[serde(borrow)]
    log: Option<Cow<'a, str>>,
}

/// Some exports have the properties as a text too.
#[derive(Deserialize)]
#[serde(untagged)]
enum Properties<'a> {
    Object {
        #[serde(default)]
        log: Option<Cow<'a, str>>,
    },
    Text(Cow<'a, str>),
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Nested {
    log: Option<String>,
}

pub(super) fn open(entry: &[u8], found: Found<'_>) -> serde_json::Result<bool> {
    let Ok(record) = serde_json::from_slice::<Record<'_>>(entry) else {
        return Ok(false);
    };
    let log = match record.properties {
        Some(Properties::Object { log }) => log,
        Some(Properties::Text(text)) => serde_json::from_str::<Nested>(&text)
            .ok()
            .and_then(|nested| nested.log)
            .map(Cow::Owned),
        None => None,
    };
    match log.or(record.log_s).or(record.log) {
        Some(text) => open_text(&text, found),
        None => Ok(false),
    }
}
