//! Which Pods a command is asked about: flags in kubectl's words, and what is told of those that are not there.

use crate::analysis::select::{Missing, Reason, Request, Selection, Target};
use crate::error::{Error, Kind};
use crate::model::coverage::{Coverage, State};
use crate::model::pod::Uid;
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::workload::WorkloadKind;
use crate::model::world::World;

/// Reasons that an error names; the rest is coverage of an answer.
const MAX_UNREAD: usize = 3;

#[derive(Debug, clap::Args)]
pub(super) struct SelectionArgs {
    /// Names of Pods, or TYPE/NAME of Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets or Jobs
    #[arg(value_name = "POD|TYPE/NAME", value_parser = word, required_unless_present_any = ["selector", "field_selector", "all_namespaces", "uid"])]
    pods: Vec<Word>,
    /// Namespace of the Pods
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// The Pods of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// The Pods with these labels (=, ==, !=, in, notin, >, <, KEY, !KEY)
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<LabelSelector>,
    /// The Pods with these fields (=, ==, !=)
    #[arg(long, value_name = "FIELDS")]
    field_selector: Option<FieldSelector>,
    /// The Pod with this UID
    #[arg(long, conflicts_with_all = ["pods", "selector", "field_selector"])]
    uid: Option<String>,
}

/// A word of the command line that names something.
#[derive(Debug, Clone)]
pub(super) struct Word {
    /// The part before a slash.
    kind: Option<String>,
    name: String,
}

pub(super) fn word(text: &str) -> Result<Word, String> {
    let (kind, name) = match text.split_once('/') {
        None => (None, text),
        Some((kind, name)) => (Some(kind.to_owned()), name),
    };
    if name.is_empty() || name.contains('/') {
        return Err("give the name of a Pod, or TYPE/NAME".to_owned());
    }
    match &kind {
        Some(kind) if !is_pod(kind) && WorkloadKind::named(kind).is_none() => Err(format!(
            "it is about Pods, and {kind:?} is another resource"
        )),
        _ => Ok(Word {
            kind,
            name: name.to_owned(),
        }),
    }
}

fn is_pod(kind: &str) -> bool {
    matches!(
        kind.to_ascii_lowercase().as_str(),
        "pod" | "pods" | "po" | "pod.v1." | "pods.v1."
    )
}

/// What the words mean: `TYPE/NAME…`, `NAME…`, or as `kubectl get` has it `TYPE NAME…`.
pub(super) fn targets(words: &[Word]) -> Vec<Target> {
    let bare = words.iter().all(|word| word.kind.is_none());
    let (kind, named) = match words {
        [first, named @ ..] if bare && !named.is_empty() => {
            if is_pod(&first.name) || WorkloadKind::named(&first.name).is_some() {
                (Some(&first.name), named)
            } else {
                (None, words)
            }
        }
        _ => (None, words),
    };
    named
        .iter()
        .map(|word| Target {
            workload: word
                .kind
                .as_ref()
                .or(kind)
                .and_then(|kind| WorkloadKind::named(kind)),
            name: word.name.clone(),
        })
        .collect()
}

impl SelectionArgs {
    /// The selection of a cluster, where a context names a namespace, or of files, where none is.
    pub(super) fn request(
        &self,
        selection: Selection,
        namespace: Option<&str>,
        context: Option<&str>,
    ) -> Request {
        let namespace = self.namespace.as_deref().or(namespace);
        Request {
            selection,
            namespace: namespace
                .filter(|_| !self.all_namespaces)
                .map(str::to_owned),
            context: context.map(str::to_owned),
        }
    }

    /// What the words mean together, with kubectl's own sentences for what does not go together.
    pub(super) fn selection(&self) -> Result<Selection, Error> {
        if let Some(uid) = &self.uid {
            return Ok(Selection::Uid(Uid(uid.as_str().into())));
        }
        // As `kubectl get pods`; a Pod of that name is pod/pods.
        let all_pods =
            matches!(self.pods.as_slice(), [word] if word.kind.is_none() && is_pod(&word.name));
        if self.pods.is_empty() || all_pods {
            return Ok(Selection::Matching {
                labels: self.selector.clone().unwrap_or_default(),
                fields: self.field_selector.clone().unwrap_or_default(),
            });
        }
        let usage = |sentence: &str| Err(Error::new(Kind::Usage, sentence));
        if self.selector.is_some() || self.field_selector.is_some() {
            return usage("name cannot be provided when a selector is specified");
        }
        if self.all_namespaces {
            return usage("a resource cannot be retrieved by name across all namespaces");
        }
        Ok(Selection::Named(targets(&self.pods)))
    }
}

/// kubectl's sentence for an empty list.
pub(super) fn nothing(request: &Request) -> String {
    match &request.namespace {
        Some(namespace) => format!("No resources found in {namespace} namespace."),
        None => "No resources found".to_owned(),
    }
}

/// Why something that was asked for is not explained: the server's own sentence where it gave one.
pub(super) fn not_there(missing: &Missing, world: &World, request: &Request) -> Error {
    let kind = missing
        .target
        .as_ref()
        .and_then(|target| target.workload)
        .map_or("pods", WorkloadKind::resource);
    let want = match &missing.reason {
        Reason::NotFound(want) => want,
        Reason::Ambiguous(namespaces) => {
            let name = missing.target.as_ref().map_or("", |target| &target.name);
            let namespaces = namespaces.join(", ");
            return Error::new(
                Kind::Usage,
                format!("{kind} named {name:?} are in the namespaces {namespaces}"),
            )
            .hint("choose one with -n");
        }
        Reason::Replaced(name) => {
            let sentence = format!(
                "the Pod of this UID is gone; another Pod is now named {:?}",
                name.name
            );
            return Error::new(Kind::BadData, sentence).hint("ask for that one by its name");
        }
    };
    let named = match (&missing.target, &request.selection) {
        (Some(target), _) => format!("{kind} {:?}", target.name),
        (None, Selection::Uid(uid)) => format!("{kind} with UID {:?}", uid.0),
        (None, _) => kind.to_owned(),
    };
    let place = request
        .namespace
        .as_ref()
        .map_or_else(String::new, |name| format!(" in namespace {name:?}"));
    let sentence = format!("{named} not found{place}");
    if is_of_a_server(world) {
        let line = want
            .as_ref()
            .and_then(|want| world.coverage().find(|line| line.subject == want.subject()));
        let failure = match line.map(|line| line.state) {
            Some(State::Unreachable) => Kind::Unreachable,
            Some(State::Denied | State::Absent | State::Expired) => Kind::Server,
            Some(State::Unreadable | State::Partial | State::Complete) | None => Kind::BadData,
        };
        let told = line.and_then(|line| line.detail.clone());
        let is_refusal = told
            .as_ref()
            .is_some_and(|told| told.starts_with("Error from server"));
        let failure = if is_refusal { Kind::Server } else { failure };
        // An answer to a name that holds no object of it is no "not found".
        let silent = match missing.target {
            Some(_) => format!("the server gave no {named}"),
            None => sentence,
        };
        return Error::new(failure, told.unwrap_or(silent));
    }
    let error = Error::new(Kind::BadData, format!("{sentence} in the input"));
    let held: Vec<String> = world
        .pods()
        .take(5)
        .map(|pod| format!("{}/{}", pod.value.name.namespace, pod.value.name.name))
        .collect();
    let error = match (held.is_empty(), world.pods().count()) {
        (true, _) => error.hint("the input holds no Pods"),
        (false, count) => error.hint(format!(
            "the input holds {count} Pods, e.g. {}",
            held.join(", ")
        )),
    };
    unread(world).fold(error, Error::hint)
}

/// What of the input was not read: the Pod may be there.
fn unread(world: &World) -> impl Iterator<Item = String> {
    let faulty = |line: &&Coverage| matches!(line.state, State::Unreadable | State::Partial);
    let told = |line: &Coverage| Some(format!("{}: {}", line.subject, line.detail.as_ref()?));
    let lines = world.coverage().filter(faulty).filter_map(told);
    lines.take(MAX_UNREAD)
}

/// Whether a server answered, now or when a bundle was made.
pub(super) fn is_of_a_server(world: &World) -> bool {
    let mut kinds = world.sources().map(|source| source.kind.as_str());
    kinds.any(|kind| matches!(kind, "live" | "bundle"))
}
