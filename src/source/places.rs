//! Finds the lines of a text that set gates, once it has been read: what a person has to change.
//!
//! The text is read a second time, as a tree with places, by the same decoders. A place is taken only where both readings tell the
//! same. It must not add to what was read, or change it.

use super::component::flags;
use super::decode::{self, configuration};
use super::document;
use super::located::{self, Node, Position, Tree};
use crate::model::component::{Places, Settings, Statement, Told};
use crate::model::fact::Content;
use crate::model::pod::{ComponentPod, PodName};

/// What the second reading found of one object.
enum Placed {
    Statements(Vec<Statement>),
    /// A Pod, or what makes Pods, by the words of each container.
    Containers(String, PodName, Vec<Words>),
}

type Words = Vec<(String, Option<Position>)>;

/// Fills in where the settings stand of what was read from the text.
pub(super) fn fill(text: &str, contents: &mut [Content]) {
    let mut placed = of_text(text);
    for content in &mut *contents {
        match content {
            Content::Statements(told) => {
                let same = placed.iter().position(|it| match it {
                    Placed::Statements(found) => {
                        let pairs = || found.iter().zip(told.iter());
                        found.len() == told.len() && pairs().all(|(a, b)| is_same(a, b))
                    }
                    Placed::Containers(..) => false,
                });
                if let Some(Placed::Statements(found)) = same.map(|at| placed.swap_remove(at)) {
                    *told = found;
                }
            }
            Content::Pod(pod) => {
                let name = pod.name.clone();
                of_containers(&placed, "Pod", &name, pod.component.as_deref_mut());
            }
            Content::Workload(made) => {
                let (kind, name) = (made.kind.word(), made.name.clone());
                of_containers(&placed, kind, &name, made.component.as_deref_mut());
            }
            _ => {}
        }
    }
    for settings in settings(contents) {
        for (name, at) in &mut settings.places.at {
            let from = Position {
                line: at.0,
                column: at.1,
            };
            let Position { line, column } = located::of_word(text, from, name);
            *at = (line, column);
        }
    }
}

/// Fills in the places of what a component's container is started with.
fn of_containers(
    placed: &[Placed],
    kind: &str,
    name: &PodName,
    component: Option<&mut ComponentPod>,
) {
    let known = placed.iter().find_map(|it| match it {
        Placed::Containers(of_kind, known, containers) if of_kind == kind && known == name => {
            Some(containers)
        }
        _ => None,
    });
    let (Some(known), Some(component)) = (known, component) else {
        return;
    };
    for words in known {
        let (texts, at): (Vec<String>, Vec<_>) = words.iter().cloned().unzip();
        let at = |number: usize| at.get(number).copied().flatten();
        for found in flags::told_at(component.kind, &texts, &at) {
            place(&found, &mut component.told);
        }
    }
}

/// All settings in what was read.
pub(super) fn settings(contents: &mut [Content]) -> impl Iterator<Item = &mut Settings> {
    let of_told = |told| match told {
        &mut Told::Set(ref mut settings) => Some(settings),
        _ => None,
    };
    contents.iter_mut().flat_map(move |content| {
        let told: Vec<&mut Told> = match content {
            Content::Statements(told) => told.iter_mut().map(|it| &mut it.told).collect(),
            Content::Pod(pod) => of_component(pod.component.as_deref_mut()),
            Content::Workload(made) => of_component(made.component.as_deref_mut()),
            _ => Vec::new(),
        };
        told.into_iter().filter_map(of_told)
    })
}

fn of_component(component: Option<&mut ComponentPod>) -> Vec<&mut Told> {
    let component = component.into_iter();
    component.flat_map(|it| it.told.iter_mut()).collect()
}

/// Gives settings that are the same their places.
fn place(found: &Told, told: &mut [Told]) {
    let Told::Set(found) = found else { return };
    for known in told {
        if let Told::Set(settings) = known
            && without_places(settings) == without_places(found)
        {
            settings.places.clone_from(&found.places);
        }
    }
}

fn without_places(settings: &Settings) -> Settings {
    Settings {
        places: Places::default(),
        ..settings.clone()
    }
}

fn is_same(one: &Statement, other: &Statement) -> bool {
    one.clone().nowhere() == other.clone().nowhere()
}

fn of_text(text: &str) -> Vec<Placed> {
    let mut found = Vec::new();
    for document in located::documents(text) {
        of_object(text, &document, &mut found);
    }
    found
}

fn of_object(text: &str, object: &Node, found: &mut Vec<Placed>) {
    let list = object.get("items").or(Some(object));
    for item in list.map(Node::items).unwrap_or_default() {
        of_object(text, item, found);
    }
    match kind(object) {
        ("v1", "Pod") => found.extend(containers(object, &["spec", "containers"])),
        ("apps/v1", "DaemonSet" | "Deployment" | "StatefulSet") => {
            let of_template = ["spec", "template", "spec", "containers"];
            found.extend(containers(object, &of_template));
        }
        ("v1", "ConfigMap") => found.push(Placed::Statements(config_map(text, object))),
        _ => {
            let told = readers(object).into_iter().flat_map(|read| read(object));
            found.extend(told.map(Placed::Statements));
        }
    }
}

fn kind(object: &Node) -> (&str, &str) {
    let word = |key: &str| object.get(key).and_then(Node::text).unwrap_or_default();
    (word("apiVersion"), word("kind"))
}

/// What reads an object as configuration; one without a kind may be of several.
fn readers(object: &Node) -> Vec<decode::ReadTree> {
    let (version, kind) = kind(object);
    let kinds = match kind {
        "" => vec![decode::K3S, decode::TALOS],
        kind => vec![kind],
    };
    let found = kinds
        .into_iter()
        .filter_map(|kind| decode::find(version, kind));
    found.filter_map(decode::Decoder::of_tree).collect()
}

/// Where the first configuration begins that its decoder does not understand.
pub(super) fn of_fault(text: &str) -> Option<Position> {
    let objects = located::documents(text);
    let is_faulty = |object: &&Node| {
        let readers = readers(object);
        !readers.is_empty() && readers.iter().all(|read| read(object).is_err())
    };
    objects.iter().find(is_faulty)?.at
}

fn containers(object: &Node, at: &[&str]) -> Option<Placed> {
    let text = |keys: &[&str]| object.find(keys).and_then(Node::text);
    let name = PodName {
        namespace: text(&["metadata", "namespace"])
            .unwrap_or("default")
            .to_owned(),
        name: text(&["metadata", "name"])?.to_owned(),
    };
    let words = |container: &Node| {
        let lists = ["command", "args"];
        let lists = lists.into_iter().filter_map(|key| container.get(key));
        let items = lists.flat_map(Node::items);
        items
            .filter_map(|item| Some((item.text()?.to_owned(), item.at)))
            .collect()
    };
    let kind = text(&["kind"])?.to_owned();
    let containers = object.find(at)?.items().iter().map(words);
    Some(Placed::Containers(kind, name, containers.collect()))
}

/// The documents in a `ConfigMap`, as far as they are read at all.
fn config_map(text: &str, object: &Node) -> Vec<Statement> {
    let keys = configuration::KEYS.iter();
    let documents = keys.filter_map(|key| object.find(&["data", key]));
    let told = documents.flat_map(|value| {
        let (Tree::Text(inner), Some(begin)) = (&value.tree, value.at) else {
            return Vec::new();
        };
        let mut contents = document::read(inner.as_bytes()).contents;
        document::place(inner.as_bytes(), &mut contents);
        for settings in settings(&mut contents) {
            for at in settings.places.at.values_mut() {
                let inside = Position {
                    line: at.0,
                    column: at.1,
                };
                let Position { line, column } = located::inside(text, begin, inner, inside);
                *at = (line, column);
            }
        }
        let told = contents.into_iter().filter_map(|content| match content {
            Content::Statements(told) => Some(told),
            _ => None,
        });
        told.flatten().collect()
    });
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of each kind, in which one gate stands where it is set.
    const FILES: &[(&str, &str)] = &[
        (
            "KubeletConfiguration",
            "# Marked\r\napiVersion: kubelet.config.k8s.io/v1beta1\r\nkind: KubeletConfiguration\r\nfeatureGates:\r\n  Other: true\r\n  >Marked: false\r\n",
        ),
        (
            "KubeletConfiguration in JSON, with tabs",
            "{\n\t\"apiVersion\": \"kubelet.config.k8s.io/v1beta1\",\n\t\"kind\": \"KubeletConfiguration\",\n\t\"featureGates\": {\"MarkedToo\": true, \"Marked\": \"no\"}\n}\n",
        ),
        (
            "KubeProxyConfiguration after another document",
            "a: 1\nkind: X\n---\napiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\nfeatureGates: {>Marked: true}\n",
        ),
        (
            "ClusterConfiguration with lists",
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nscheduler:\n  extraArgs:\n  - name: v\n    value: \"2\"\n  - name: feature-gates\n    value: MarkedToo=true,kube:>Marked=false\n",
        ),
        (
            "ClusterConfiguration with maps",
            "apiVersion: kubeadm.k8s.io/v1beta3\nkind: ClusterConfiguration\napiServer:\n  extraArgs: {feature-gates: \">Marked=true\"}\n",
        ),
        (
            "JoinConfiguration",
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\nnodeRegistration:\n  kubeletExtraArgs:\n  - {name: feature-gates, value: '>Marked=true'}\n",
        ),
        (
            "a static Pod",
            "apiVersion: v1\nkind: Pod\nmetadata:\n  name: kube-scheduler\n  namespace: kube-system\nspec:\n  containers:\n  - name: kube-scheduler\n    image: registry.k8s.io/kube-scheduler:v1.36.3\n    command:\n    - kube-scheduler\n    - --bind-address=127.0.0.1\n    - --feature-gates=Other=true,>Marked=false\n",
        ),
        (
            "a static Pod whose value is a word of its own",
            "apiVersion: v1\nkind: Pod\nmetadata: {name: k}\nspec:\n  containers:\n  - name: a\n    command: [sh]\n  - name: kube-controller-manager\n    args:\n    - --feature-gates\n    - >Marked=true\n",
        ),
        (
            "a ConfigMap of kubeadm",
            "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: kubelet-config\n  namespace: kube-system\ndata:\n  other: |\n    x\n  kubelet: |\n    apiVersion: kubelet.config.k8s.io/v1beta1\n\n    kind: KubeletConfiguration\n    featureGates:\n      >Marked: true\n",
        ),
        (
            "a List of objects",
            "apiVersion: v1\nkind: List\nitems:\n- apiVersion: v1\n  kind: Service\n  metadata: {name: s}\n- apiVersion: kubelet.config.k8s.io/v1beta1\n  kind: KubeletConfiguration\n  featureGates:\n    >Marked: true\n",
        ),
        (
            "KubeadmControlPlane",
            "apiVersion: controlplane.cluster.x-k8s.io/v1beta1\nkind: KubeadmControlPlane\nmetadata: {name: cp}\nspec:\n  version: v1.36.3\n  kubeadmConfigSpec:\n    clusterConfiguration:\n      apiServer:\n        extraArgs:\n          feature-gates: >Marked=true\n",
        ),
        (
            "KubeadmConfigTemplate of v1beta2",
            "apiVersion: bootstrap.cluster.x-k8s.io/v1beta2\nkind: KubeadmConfigTemplate\nmetadata: {name: md}\nspec:\n  template:\n    spec:\n      joinConfiguration:\n        nodeRegistration:\n          kubeletExtraArgs:\n          - name: feature-gates\n            value: >Marked=true\n",
        ),
        (
            "kind",
            "kind: Cluster\napiVersion: kind.x-k8s.io/v1alpha4\nfeatureGates:\n  \">Marked\": true\nnodes:\n- role: control-plane\n  image: kindest/node:v1.37.2@sha256:0\n",
        ),
        (
            "k3s",
            "write-kubeconfig-mode: \"0644\"\nkube-apiserver-arg:\n- anonymous-auth=false\n- 'feature-gates=>Marked=true'\n",
        ),
        (
            "k3d",
            "apiVersion: k3d.io/v1alpha5\nkind: Simple\nimage: rancher/k3s:v1.37.2-k3s1\noptions:\n  k3s:\n    extraArgs:\n    - arg: --kubelet-arg=feature-gates=>Marked=true\n      nodeFilters: [\"agent:*\"]\n",
        ),
        (
            "Talos' flags",
            "version: v1alpha1\nmachine:\n  type: controlplane\ncluster:\n  apiServer:\n    image: registry.k8s.io/kube-apiserver:v1.37.2\n    extraArgs:\n      feature-gates: >Marked=true,Other=true\n",
        ),
        (
            "Talos' kubelet",
            "machine:\n  kubelet:\n    extraConfig:\n      featureGates:\n        >Marked: true\n",
        ),
    ];

    #[test]
    fn a_gate_is_found_where_it_stands_in_every_kind_of_file() {
        for (name, text) in FILES {
            // The mark is not a part of the file; where JSON cannot hold it, the last one is meant.
            let text = &text.replacen("\"Marked\": \"no\"", "\">Marked\": \"no\"", 1);
            let before = text.split('>').next().expect("a text");
            let line = before.matches('\n').count() as u64 + 1;
            let in_line = before.rsplit('\n').next().expect("a line");
            let column = in_line.chars().count() as u64 + 1;
            let text = text.replace('>', "");
            let mut contents = document::read(text.as_bytes()).contents;
            document::place(text.as_bytes(), &mut contents);
            let found = settings(&mut contents).flat_map(|it| it.places.at.clone());
            let found: Vec<(u64, u64)> = found
                .filter(|(name, _)| name == "Marked" || name.contains("(Marked)"))
                .map(|(_, at)| at)
                .collect();
            // What is refused is told by its key.
            let near = (line, column.saturating_sub(1));
            assert!(
                !found.is_empty() && found.iter().all(|at| *at == (line, column) || *at == near),
                "{name}: {found:?}, not {line}:{column}\n{text}"
            );
        }
    }
}
