//! Rights that a read needs, and whether a user has them. Words and shapes as in authorization.k8s.io/v1 (1.37).

use serde::Serialize;

/// A right, as narrow as the read that needs it. What is null is not limited.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Right {
    pub(crate) verb: &'static str,
    /// Empty for core.
    pub(crate) group: &'static str,
    /// Plural name; a path with its leading slash where it is no resource.
    pub(crate) resource: &'static str,
    /// Null for what has no namespace, and for all namespaces.
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
}

/// What the server says of a right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) enum Allowed {
    Yes,
    No,
    /// The server could not be asked, or could not decide.
    Unknown,
}

/// An answer of the server, with its cause where it gave one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Permission {
    pub(crate) allowed: Allowed,
    pub(crate) detail: Option<String>,
}

impl Right {
    /// GET of one object; an empty name or namespace stands for any, as in a review.
    pub(crate) fn get(
        group: &'static str,
        resource: &'static str,
        namespace: Option<&str>,
        name: &str,
    ) -> Self {
        Self {
            verb: "get",
            group,
            resource,
            namespace: namespace.filter(|name| !name.is_empty()).map(str::to_owned),
            name: Some(name)
                .filter(|name| !name.is_empty())
                .map(str::to_owned),
        }
    }

    /// GET of a list.
    pub(crate) fn list(
        group: &'static str,
        resource: &'static str,
        namespace: Option<&str>,
    ) -> Self {
        Self {
            verb: "list",
            name: None,
            ..Self::get(group, resource, namespace, "")
        }
    }

    /// The same, to be told of changes. A watch of one object is one of its name.
    pub(crate) fn watched(self) -> Self {
        Self {
            verb: "watch",
            ..self
        }
    }

    /// Whether it is a path of the server instead of a resource.
    pub(crate) fn is_path(&self) -> bool {
        self.resource.starts_with('/')
    }
}
