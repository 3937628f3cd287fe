//! The answer of `nominate explain --show-access`: what would be read, why, and whether this user may.

use serde::Serialize;

use super::Header;
use crate::block::{Block, CoverageLine, Role, Text};
use crate::model::access::Allowed;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccessReport {
    #[serde(flatten)]
    pub(crate) header: Header,
    pub(crate) rights: Vec<AccessRight>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct AccessRight {
    pub(crate) verb: &'static str,
    /// Plural name; a path with its leading slash where it is no resource.
    pub(crate) resource: &'static str,
    /// Empty for core.
    pub(crate) group: &'static str,
    /// Null for what has no namespace, and for all namespaces.
    pub(crate) namespace: Option<String>,
    /// Null for any.
    pub(crate) name: Option<String>,
    pub(crate) why: String,
    pub(crate) allowed: Allowed,
    /// Why not, in the server's words; null where it gave none.
    pub(crate) detail: Option<String>,
}

impl AccessReport {
    /// Whether the question stayed open for some right (exit 5).
    pub(crate) fn is_unanswered(&self) -> bool {
        self.rights
            .iter()
            .any(|right| right.allowed == Allowed::Unknown)
    }
}

/// A right in the words of `kubectl auth can-i`.
pub(crate) fn words(right: &AccessRight) -> String {
    let of = |mark: &str, value: Option<&str>| {
        value.map_or_else(String::new, |value| format!("{mark}{value}"))
    };
    let of_the_cluster = right.resource == "nodes" || right.resource.starts_with('/');
    let everywhere = match right.namespace {
        None if !of_the_cluster => " -A",
        _ => "",
    };
    [
        format!("{} {}", right.verb, right.resource),
        of(".", Some(right.group).filter(|group| !group.is_empty())),
        of("/", right.name.as_deref()),
        of(" -n ", right.namespace.as_deref()),
        everywhere.to_owned(),
    ]
    .concat()
}

/// A line a right.
pub(crate) fn view(answer: &AccessReport) -> Vec<Block> {
    let line = |right: &AccessRight| {
        let role = match right.allowed {
            Allowed::Yes => Role::Good,
            Allowed::No => Role::Bad,
            Allowed::Unknown => Role::Warning,
        };
        let detail = match &right.detail {
            Some(detail) => format!("{} ({detail})", right.why),
            None => right.why.clone(),
        };
        CoverageLine {
            subject: words(right),
            state: Text::new(role, format!("{:?}", right.allowed)),
            detail,
        }
    };
    vec![
        Block::Heading(Text::plain("What would be read")),
        Block::Coverage(answer.rights.iter().map(line).collect()),
    ]
}
