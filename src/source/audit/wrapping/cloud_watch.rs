//! EKS: `CloudWatch` Logs, where the event is the text of a message.
//!
//! Shape: docs.aws.amazon.com, Amazon `CloudWatch` Logs API, `FilterLogEvents` (`events[].message`), subscription filters
//! (`logEvents[].message`) and Logs Insights (`@message`). An export to S3 has the time and the bare event on each line. Other streams
//! of the same log group hold components' logs, which are no events.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::event::AuditEvent;
use super::{Found, open_text};

#[derive(Default, Deserialize)]
#[serde(default)]
struct Record<'a> {
    #[serde(borrow)]
    message: Option<&'a RawValue>,
    #[serde(rename = "@message", borrow)]
    queried: Option<&'a RawValue>,
}

pub(super) fn open(entry: &[u8], found: Found<'_>) -> serde_json::Result<bool> {
    let record: Record<'_> = serde_json::from_slice(entry)?;
    let Some(message) = record.message.or(record.queried) else {
        return Ok(false);
    };
    // Logs Insights may give the event as an object.
    if message.get().starts_with('{') {
        let event: AuditEvent<'_> = serde_json::from_str(message.get())?;
        if event.is_event() {
            found(&event);
        }
        return Ok(true);
    }
    let text: Cow<'_, str> = serde_json::from_str(message.get())?;
    open_text(&text, found)
}
