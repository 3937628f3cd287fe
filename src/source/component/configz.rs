//! Reads `/configz` of a kubelet or kube-proxy: the gates that were set in files, drop-ins and flags together.
//!
//! A scheduler's and a controller manager's configuration has no gates, and an API server has no such page (observed on 1.35.4
//! to 1.37.2): nothing follows from theirs. Only the gates and a kubelet's CPU manager policy are kept.

use std::collections::BTreeMap;
use std::io::BufRead;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{DocumentError, foreign, whole};
use crate::model::component::{ComponentKind, Settings, Told};

#[derive(Deserialize)]
struct Configz {
    #[serde(default)]
    kubeletconfig: Option<Configuration>,
    #[serde(rename = "kubeproxy.config.k8s.io", default)]
    kubeproxy: Option<Configuration>,
    #[serde(default)]
    componentconfig: Option<IgnoredAny>,
    #[serde(rename = "kubecontrollermanager.config.k8s.io", default)]
    controller_manager: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Configuration {
    #[serde(default)]
    feature_gates: Option<BTreeMap<String, bool>>,
    /// A kubelet's.
    #[serde(default)]
    cpu_manager_policy: Option<String>,
}

pub(super) fn read(
    _kind: ComponentKind,
    reader: &mut dyn BufRead,
) -> Result<Vec<Told>, DocumentError> {
    let text = whole(reader)?;
    let configz: Configz = serde_json::from_str(&text).map_err(|_| foreign(&text, "configz"))?;
    if let Some(configuration) = configz.kubeletconfig.or(configz.kubeproxy) {
        let gates = Told::Set(Settings {
            gates: configuration.feature_gates.unwrap_or_default(),
            ..Settings::default()
        });
        let policy = configuration.cpu_manager_policy;
        let policy = policy.filter(|policy| !policy.is_empty());
        return Ok([gates]
            .into_iter()
            .chain(policy.map(Told::CpuManagerPolicy))
            .collect());
    }
    if configz.componentconfig.is_some() || configz.controller_manager.is_some() {
        return Ok(Vec::new());
    }
    Err(foreign(&text, "configz"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_set_is_there() {
        let read = |text: &str| read(ComponentKind::Kubelet, &mut text.as_bytes());
        let set = |gates: &[(&str, bool)]| {
            let gates = gates.iter().map(|(name, on)| ((*name).to_owned(), *on));
            vec![Told::Set(Settings {
                gates: gates.collect(),
                ..Settings::default()
            })]
        };
        let some = read(r#"{"kubeletconfig":{"featureGates":{"A":false},"staticPodPath":"/x"}}"#);
        assert_eq!(some.ok(), Some(set(&[("A", false)])));
        assert_eq!(read(r#"{"kubeletconfig":{}}"#).ok(), Some(set(&[])));
        let mut due = set(&[]);
        due.push(Told::CpuManagerPolicy("static".to_owned()));
        let policy = read(r#"{"kubeletconfig":{"cpuManagerPolicy":"static"}}"#);
        assert_eq!(policy.ok(), Some(due));
        assert_eq!(read(r#"{"componentconfig":{}}"#).ok(), Some(vec![]));
        assert!(read("{}").is_err());
        assert!(read("<html>").is_err_and(|error| error.to_string().contains("web page")));
    }
}
