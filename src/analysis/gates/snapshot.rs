//! What is known of all processes, as it was told and before anything is compared.

use jiff::Timestamp;

use super::pool;
use crate::answer::Header;
use crate::answer::gate_snapshot::GateSnapshot;
use crate::model::component::{
    ComponentKind, ComponentName, ComponentVersion, Document, Statement, Told,
};
use crate::model::record;
use crate::model::world::World;

/// All that was told, by component.
pub(crate) fn snapshot(
    world: &World,
    pool_label: Option<&str>,
    now: Timestamp,
    generated_at: Timestamp,
) -> GateSnapshot {
    let statements = statements(world, pool_label);
    GateSnapshot {
        header: Header::of("GateSnapshot", world, now, generated_at),
        components: record::of(&statements),
    }
}

/// Nodes and Pods tell of components as documents do.
fn statements(world: &World, pool_label: Option<&str>) -> Vec<Statement> {
    let mut all = Vec::new();
    for node in world.nodes() {
        let node = &node.value;
        let component = ComponentName::new(ComponentKind::Kubelet, node.name.as_str());
        let version = node.kubelet_version.clone().map(|git| {
            Told::Version(ComponentVersion {
                git: Some(git),
                ..ComponentVersion::default()
            })
        });
        let pool = pool::of(&node.labels, pool_label).map(Told::Pool);
        all.extend(version.into_iter().chain(pool).map(|told| Statement {
            component: component.clone(),
            document: Document::Node,
            told,
        }));
    }
    for pod in world.pods() {
        let pod = &pod.value;
        if let Some(component) = &pod.component {
            let name = super::process::name_of_pod(component, pod);
            all.extend(component.told.iter().map(|told| Statement {
                component: name.clone(),
                document: Document::Pod,
                told: told.clone(),
            }));
        }
    }
    for (name, told) in world.statements() {
        all.extend(told.iter().map(|told| {
            let (document, told) = &told.value;
            Statement {
                component: name.clone(),
                document: *document,
                told: told.clone(),
            }
        }));
    }
    all
}
