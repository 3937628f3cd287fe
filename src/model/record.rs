//! Statements about components as snapshots and bundles write them: every key is always there, what was not told is null.
//!
//! The form is a contract: old snapshots stay readable, and what a newer version adds is passed over.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize};

use super::component::{
    ComponentName, ComponentVersion, Document, GateTable, Places, RuntimeConfig, Settings,
    Statement, Told,
};
use super::version::Minor;

/// All that was said of one component.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct ComponentRecord {
    /// `kubelet/n1`; without the slash it is said of all of a kind, as far as nothing closer is known.
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) pool: Option<String>,
    #[serde(default)]
    pub(crate) statements: Vec<StatementRecord>,
}

/// All that one document told of a component.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct StatementRecord {
    /// `metrics`, `flagz`, …
    pub(crate) document: String,
    /// Every gate that it runs with.
    pub(crate) runs: Option<GateTable>,
    /// The gates that somebody set.
    pub(crate) set: Option<BTreeMap<String, bool>>,
    /// What it would refuse to start with.
    pub(crate) refused: Vec<String>,
    pub(crate) cpu_manager_policy: Option<String>,
    /// Gates of kubeadm itself.
    pub(crate) kubeadm_gates: Option<BTreeMap<String, bool>>,
    pub(crate) runtime_config: Option<RuntimeConfig>,
    pub(crate) version: Option<String>,
    pub(crate) emulation_version: Option<String>,
    pub(crate) min_compatibility_version: Option<String>,
    /// A time that does not parse is no time, and no reason to lose the rest.
    #[serde(deserialize_with = "time")]
    pub(crate) started_at: Option<Timestamp>,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.and_then(|text| text.parse().ok()))
}

/// Groups statements by component and document; the order of what is told does not matter.
pub(crate) fn of<'s>(statements: impl IntoIterator<Item = &'s Statement>) -> Vec<ComponentRecord> {
    let mut components: BTreeMap<&ComponentName, ComponentRecord> = BTreeMap::new();
    for statement in statements {
        let component = components
            .entry(&statement.component)
            .or_insert_with(|| ComponentRecord {
                name: statement.component.to_string(),
                pool: None,
                statements: Vec::new(),
            });
        if let Told::Pool(pool) = &statement.told {
            component.pool = Some(pool.clone());
            continue;
        }
        let word = statement.document.word();
        let known = component
            .statements
            .iter()
            .position(|it| it.document == word);
        let at = known.unwrap_or(component.statements.len());
        if known.is_none() {
            component.statements.push(StatementRecord {
                document: word.to_owned(),
                ..StatementRecord::default()
            });
        }
        if let Some(record) = component.statements.get_mut(at) {
            record.take(&statement.told);
        }
    }
    components.into_values().collect()
}

impl StatementRecord {
    fn take(&mut self, told: &Told) {
        match told {
            Told::Runs(gates) => self.runs = Some(gates.clone()),
            Told::Set(settings) => {
                self.set = Some(settings.gates.clone());
                self.refused.clone_from(&settings.refused);
            }
            Told::Version(version) => {
                self.version.clone_from(&version.git);
                let minor = |minor: Option<Minor>| minor.map(|minor| minor.to_string());
                self.emulation_version = minor(version.emulation);
                self.min_compatibility_version = minor(version.min_compatibility);
            }
            Told::Started(at) => self.started_at = Some(*at),
            Told::CpuManagerPolicy(policy) => self.cpu_manager_policy = Some(policy.clone()),
            Told::RuntimeConfig(config) => self.runtime_config = Some(config.clone()),
            Told::OfKubeadm(gates) => self.kubeadm_gates = Some(gates.clone()),
            // Of one moment, and no setting.
            Told::Pool(_) | Told::Counts(_) => {}
        }
    }

    fn told(self) -> impl Iterator<Item = Told> {
        let minor = |text: Option<String>| Minor::parse(&text?);
        let version = ComponentVersion {
            git: self.version,
            emulation: minor(self.emulation_version),
            min_compatibility: minor(self.min_compatibility_version),
        };
        let refused = self.refused;
        let set = self.set.map(|gates| Settings {
            gates,
            refused,
            places: Places::default(),
        });
        [
            self.runs.map(Told::Runs),
            set.map(Told::Set),
            self.cpu_manager_policy.map(Told::CpuManagerPolicy),
            self.kubeadm_gates.map(Told::OfKubeadm),
            self.runtime_config.map(Told::RuntimeConfig),
            (version != ComponentVersion::default()).then_some(Told::Version(version)),
            self.started_at.map(Told::Started),
        ]
        .into_iter()
        .flatten()
    }
}

impl ComponentRecord {
    /// The statements of a record. A component or document that this version does not know tells nothing.
    pub(crate) fn statements(self) -> Vec<Statement> {
        let Ok(component) = self.name.parse::<ComponentName>() else {
            return Vec::new();
        };
        let pool = self.pool.map(|pool| (Document::Node, Told::Pool(pool)));
        let told = self.statements.into_iter().flat_map(|record| {
            let document = Document::of_word(&record.document);
            let told = document.map(|document| record.told().map(move |told| (document, told)));
            told.into_iter().flatten()
        });
        pool.into_iter()
            .chain(told)
            .map(|(document, told)| Statement {
                component: component.clone(),
                document,
                told,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::component::ComponentKind;

    #[test]
    fn what_is_written_is_read_again() {
        let component = ComponentName::new(ComponentKind::Kubelet, "n1");
        let gates = BTreeMap::from([("A".to_owned(), true)]);
        let told = [
            (
                Document::Configz,
                Told::Set(Settings {
                    gates: gates.clone(),
                    refused: vec!["b".to_owned()],
                    ..Settings::default()
                }),
            ),
            (Document::Metrics, Told::Runs(gates.into())),
            (Document::Metrics, Told::Started(Timestamp::UNIX_EPOCH)),
            (Document::Node, Told::Pool("blue".to_owned())),
            (
                Document::Node,
                Told::Version(ComponentVersion {
                    git: Some("v1.37.2".to_owned()),
                    emulation: Some(Minor(36)),
                    min_compatibility: None,
                }),
            ),
        ];
        let statements: Vec<Statement> = told
            .into_iter()
            .map(|(document, told)| Statement {
                component: component.clone(),
                document,
                told,
            })
            .collect();
        let text = serde_json::to_string(&of(&statements)).expect("its keys are texts");
        let records: Vec<ComponentRecord> = serde_json::from_str(&text).expect("it was written so");
        let mut again: Vec<Statement> = records
            .into_iter()
            .flat_map(ComponentRecord::statements)
            .collect();
        again.sort();
        let mut due = statements;
        due.sort();
        assert_eq!(again, due);
    }
}
