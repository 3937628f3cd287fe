//! One request that changes a cluster, as a value: an analysis plans it, and only `apply` sends it.
//!
//! As with reads, the right that it needs says where it goes. It must never be a binding, or a change of the spec of a Pod that somebody
//! else made, but for a trial that stores nothing.

use serde_json::{Value, json};

use super::access::Right;

/// A request that changes one object.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Change {
    /// Verb and place; the name is null where an object is made.
    pub(crate) right: Right,
    /// The object to make, the merge patch (RFC 7386), or how to delete; null where there is nothing to say.
    pub(crate) body: Option<Value>,
}

impl Change {
    /// Makes an object; its name is in it.
    pub(crate) fn create(
        group: &'static str,
        resource: &'static str,
        namespace: Option<&str>,
        object: Value,
    ) -> Self {
        Self::of("create", Right::get(group, resource, namespace, ""), object)
    }

    /// Patches an object, or a part of it (`pods/status`).
    pub(crate) fn patch(
        group: &'static str,
        resource: &'static str,
        namespace: Option<&str>,
        name: &str,
        patch: Value,
    ) -> Self {
        Self::of("patch", Right::get(group, resource, namespace, name), patch)
    }

    fn of(verb: &'static str, place: Right, body: Value) -> Self {
        Self {
            right: Right { verb, ..place },
            body: Some(body),
        }
    }

    /// Removes an object at once: it has nothing to finish, and nobody may be there to confirm its end.
    pub(crate) fn delete(
        group: &'static str,
        resource: &'static str,
        namespace: Option<&str>,
        name: &str,
    ) -> Self {
        let options = json!({"gracePeriodSeconds": 0, "propagationPolicy": "Background"});
        Self::of(
            "delete",
            Right::get(group, resource, namespace, name),
            options,
        )
    }

    /// What removes the object that this one makes; null where it makes none.
    pub(crate) fn removal(&self) -> Option<Self> {
        let name = self.body.as_ref()?.pointer("/metadata/name")?.as_str()?;
        let Right {
            verb,
            group,
            resource,
            namespace,
            ..
        } = &self.right;
        (*verb == "create").then(|| Self::delete(group, resource, namespace.as_deref(), name))
    }

    /// The object in kubectl's words: `pods/web -n shop`.
    pub(crate) fn subject(&self) -> String {
        let made = self
            .body
            .as_ref()
            .and_then(|body| body.pointer("/metadata/name")?.as_str());
        let name = self.right.name.as_deref().or(made).unwrap_or_default();
        let resource = self.right.resource;
        match &self.right.namespace {
            Some(namespace) => format!("{resource}/{name} -n {namespace}"),
            None => format!("{resource}/{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_made_is_removed() {
        let pod = json!({"metadata": {"name": "web"}});
        let made = Change::create("", "pods", Some("shop"), pod.clone());
        let removal = made.removal().expect("it makes an object");
        assert_eq!(removal.right.verb, "delete");
        assert_eq!(removal.subject(), "pods/web -n shop");
        assert_eq!(removal.removal(), None);
        let patched = Change::patch("", "pods/status", Some("shop"), "web", pod);
        assert_eq!(patched.removal(), None);
    }
}
