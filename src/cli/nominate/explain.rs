//! `kubectl nominate explain`: nomination, binding and verdict of one Pod, or of each of several.

use std::collections::BTreeMap;
use std::io::Write;

use clap::ValueEnum;

use crate::analysis::select::{self, Chosen, Missing, Reason, Request, Selection, Target};
use crate::analysis::{access, explain};
use crate::answer::nomination_explanation::{Severity, Verdict};
use crate::answer::{access_report, nomination_explanation, nomination_explanation_list};
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs, offline_error};
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::access::{Permission, Right};
use crate::model::coverage::State;
use crate::model::pod::Uid;
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::workload::WorkloadKind;
use crate::model::world::World;
use crate::render::escape;
use crate::source::gather::gather;
use crate::source::live::Live;
use crate::source::{Origin, offline};

const EXAMPLES: &str = "
Examples:
  # Explain a Pod of the current namespace
  kubectl nominate explain web-0

  # Explain a Pod of another namespace, as data
  kubectl nominate explain pod/web-0 -n shop -o json

  # Explain the Pods of a Deployment, or all with a label, a row each
  kubectl nominate explain deploy/web -n shop
  kubectl nominate explain -l app=web -A

  # List what would be read, and whether you may
  kubectl nominate explain web-0 --show-access

  # Explain from what somebody else collected
  kubectl get pods,nodes,events -A -o json --show-managed-fields > all.json
  kubectl nominate explain web-0 -n shop --from all.json

";

/// Explain what became of a Pod's nomination, with evidence
///
/// Reads the Pod, its events, and what its nomination depends on, and says what became of the nomination, why,
/// and what can be done. A statement that could not be checked is said to be unknown.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// Names of Pods, or TYPE/NAME of Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets or Jobs
    #[arg(value_name = "POD|TYPE/NAME", value_parser = word, required_unless_present_any = ["selector", "field_selector", "all_namespaces", "uid"])]
    pods: Vec<Word>,
    /// Namespace of the Pods
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Explain the Pods of all namespaces
    #[arg(short = 'A', long)]
    all_namespaces: bool,
    /// Explain the Pods with these labels (=, ==, !=, in, notin, >, <, KEY, !KEY)
    #[arg(short = 'l', long, value_name = "LABELS")]
    selector: Option<LabelSelector>,
    /// Explain the Pods with these fields (=, ==, !=)
    #[arg(long, value_name = "FIELDS")]
    field_selector: Option<FieldSelector>,
    /// Explain the Pod with this UID
    #[arg(long, conflicts_with_all = ["pods", "selector", "field_selector"])]
    uid: Option<String>,
    /// Exit with 3 or 4 if the verdict is an error, or at least a warning
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "never")]
    fail_on: FailOn,
    /// Only list what would be read, why, and whether you may; asks the server, reads nothing
    #[arg(long, conflicts_with_all = ["from", "now"])]
    show_access: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Never,
    Error,
    Warning,
}

/// A word of the command line that names something.
#[derive(Debug, Clone)]
struct Word {
    /// The part before a slash.
    kind: Option<String>,
    name: String,
}

fn word(text: &str) -> Result<Word, String> {
    let (kind, name) = match text.split_once('/') {
        None => (None, text),
        Some((kind, name)) => (Some(kind.to_owned()), name),
    };
    if name.is_empty() || name.contains('/') {
        return Err("give the name of a Pod, or TYPE/NAME".to_owned());
    }
    match &kind {
        Some(kind) if !is_pod(kind) && WorkloadKind::named(kind).is_none() => Err(format!(
            "it explains Pods, and {kind:?} is another resource"
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
fn targets(words: &[Word]) -> Vec<Target> {
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

/// What is asked for, with kubectl's own sentences for what does not go together.
fn selection(args: &ExplainArgs) -> Result<Selection, Error> {
    if let Some(uid) = &args.uid {
        return Ok(Selection::Uid(Uid(uid.clone())));
    }
    let selects = args.selector.is_some() || args.field_selector.is_some();
    // `explain pods -l …`, as `kubectl get pods -l …`.
    let all_pods =
        matches!(args.pods.as_slice(), [word] if word.kind.is_none() && is_pod(&word.name));
    if args.pods.is_empty() || (all_pods && (selects || args.all_namespaces)) {
        return Ok(Selection::Matching {
            labels: args.selector.clone().unwrap_or_default(),
            fields: args.field_selector.clone().unwrap_or_default(),
        });
    }
    let usage = |sentence: &str| Err(Error::new(Kind::Usage, sentence));
    if selects {
        return usage("name cannot be provided when a selector is specified");
    }
    if args.all_namespaces {
        return usage("a resource cannot be retrieved by name across all namespaces");
    }
    Ok(Selection::Named(targets(&args.pods)))
}

pub(super) fn run(args: &ExplainArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Error::new(Kind::Internal, "the runtime cannot be started").because(&error)
        })?;
    if args.show_access {
        return runtime.block_on(show_access(args, env));
    }
    let (origins, request) = runtime.block_on(open(args, env))?;

    // Gather.
    let mut world = World::default();
    runtime.block_on(gather(&mut world, &origins, |world| {
        explain::wants(world, &request)
    }));

    // Analyse.
    let Chosen {
        pods,
        missing,
        uncertain,
    } = select::choose(&world, &request);
    let errors: Vec<Error> = missing
        .iter()
        .map(|missing| not_there(missing, &world, &request))
        .collect();
    if pods.is_empty() && !errors.is_empty() {
        return Ok(tell(&errors, env));
    }
    let generated_at = (env.now)();
    let now = args.input.now.or(world.now()).unwrap_or(generated_at);

    // Show.
    if let (true, [pod]) = (request.is_single(), pods.as_slice()) {
        let answer = explain::explain(&world, &request, pod, now, generated_at);
        args.output
            .show(&answer, nomination_explanation::view, env)?;
        return Ok(exit_code(&answer.verdict, args.fail_on));
    }
    let answer = explain::explain_all(&world, &request, &pods, now, generated_at);
    args.output
        .show(&answer, nomination_explanation_list::view, env)?;
    env.stdout.flush()?;
    if answer.items.is_empty() && args.output.is_for_people() {
        say(&nothing(&request), env);
    }
    let judged = answer
        .items
        .iter()
        .map(|item| exit_code(&item.verdict, args.fail_on));
    // Files hold what they hold; a server's list that broke off leaves the question open.
    let open = (uncertain && is_live(&world)).then_some(exit::INCOMPLETE);
    let codes: Vec<u8> = judged.chain(open).chain([tell(&errors, env)]).collect();
    Ok(exit::first(codes))
}

/// Tells of all that was not there, as kubectl does: a line each, after what was.
fn tell(errors: &[Error], env: &mut Env) -> u8 {
    for line in errors.iter().flat_map(Error::lines) {
        say(&line, env);
    }
    exit::first(errors.iter().map(Error::exit_code))
}

fn say(line: &str, env: &mut Env) {
    // If stderr is closed there is nobody left to tell.
    drop(writeln!(env.stderr, "{}", escape::terminal(line)));
}

fn is_live(world: &World) -> bool {
    world.sources().any(|source| source.kind == "live")
}

/// kubectl's sentence for an empty list.
fn nothing(request: &Request) -> String {
    match &request.namespace {
        Some(namespace) => format!("No resources found in {namespace} namespace."),
        None => "No resources found".to_owned(),
    }
}

/// Asks for each right by a review of its own; nothing else is sent.
async fn show_access(args: &ExplainArgs, env: &mut Env) -> Result<u8, Error> {
    let (live, request) = connect(args, env).await?;
    let questions = access::questions(&request);
    let rights: Vec<Right> = questions
        .iter()
        .flat_map(|question| question.rights.clone())
        .collect();
    let permissions: BTreeMap<Right, Permission> = live.review(&rights).await;

    let generated_at = (env.now)();
    let answer = access::report(&questions, &permissions, live.source(), generated_at);
    args.output.show(&answer, access_report::view, env)?;
    Ok(if answer.is_unanswered() {
        exit::INCOMPLETE
    } else {
        exit::DONE
    })
}

async fn connect(args: &ExplainArgs, env: &mut Env) -> Result<(Live, Request), Error> {
    let selection = selection(args)?;
    let live = args.connection.connect(env).await?;
    let namespace = args
        .namespace
        .clone()
        .unwrap_or_else(|| live.namespace().to_owned());
    let request = Request {
        selection,
        namespace: (!args.all_namespaces).then_some(namespace),
        context: live.context().map(str::to_owned),
    };
    Ok((live, request))
}

async fn open(args: &ExplainArgs, env: &mut Env) -> Result<(Vec<Origin>, Request), Error> {
    if args.input.from.is_empty() {
        let (live, request) = connect(args, env).await?;
        return Ok((vec![Origin::Live(Box::new(live))], request));
    }
    let request = Request {
        selection: selection(args)?,
        namespace: args.namespace.clone().filter(|_| !args.all_namespaces),
        context: None,
    };
    let mut origins = Vec::new();
    for path in &args.input.from {
        let collected =
            offline::open(path, &mut env.stdin).map_err(|error| offline_error(&error))?;
        origins.push(Origin::Offline(collected));
    }
    Ok((origins, request))
}

/// Why something that was named is not explained: the server's own sentence where it gave one.
fn not_there(missing: &Missing, world: &World, request: &Request) -> Error {
    let (kind, name) = match &missing.target {
        Some(target) => (
            target.workload.map_or("pods", WorkloadKind::resource),
            target.name.as_str(),
        ),
        None => ("pods", ""),
    };
    let want = match &missing.reason {
        Reason::NotFound(want) => want,
        Reason::Ambiguous(namespaces) => {
            return Error::new(
                Kind::Usage,
                format!(
                    "{kind} named {name:?} are in the namespaces {}",
                    namespaces.join(", ")
                ),
            )
            .hint("choose one with -n");
        }
        Reason::Replaced(name) => {
            return Error::new(
                Kind::BadData,
                format!(
                    "the Pod of this UID is gone; another Pod is now named {:?}",
                    name.name
                ),
            )
            .hint(format!(
                "explain that one with: kubectl nominate explain {} -n {}",
                name.name, name.namespace
            ));
        }
    };
    let line = want
        .as_ref()
        .and_then(|want| world.coverage().find(|line| line.subject == want.subject()));
    let is_live = is_live(world);
    if let Some(line) = line.filter(|_| is_live) {
        let failure = match line.state {
            State::Unreachable => Kind::Unreachable,
            State::Unreadable | State::Partial | State::Complete => Kind::BadData,
            State::Denied | State::Absent | State::Expired => Kind::Server,
        };
        let sentence = line
            .detail
            .clone()
            .unwrap_or_else(|| format!("the server gave no {kind} {name:?}"));
        return Error::new(failure, sentence);
    }
    if is_live {
        return Error::new(Kind::BadData, format!("the server gave no {kind} {name:?}"));
    }
    not_in_the_input(kind, name, world, request)
}

fn not_in_the_input(kind: &str, name: &str, world: &World, request: &Request) -> Error {
    let place = request
        .namespace
        .as_ref()
        .map(|namespace| format!(" in namespace {namespace:?}"))
        .unwrap_or_default();
    let named = if name.is_empty() {
        String::new()
    } else {
        format!(" {name:?}")
    };
    let error = Error::new(
        Kind::BadData,
        format!("{kind}{named} not found{place} in the input"),
    );
    let held: Vec<String> = world
        .pods()
        .take(5)
        .map(|pod| format!("{}/{}", pod.value.name.namespace, pod.value.name.name))
        .collect();
    match (held.is_empty(), world.pods().count()) {
        (true, _) => error.hint("the input holds no Pods"),
        (false, count) => error.hint(format!(
            "the input holds {count} Pods, e.g. {}",
            held.join(", ")
        )),
    }
}

fn exit_code(verdict: &Verdict, fail_on: FailOn) -> u8 {
    match (verdict.severity(), fail_on) {
        (Severity::Error, FailOn::Error | FailOn::Warning) => exit::FINDING,
        _ if verdict.is_unanswered() => exit::INCOMPLETE,
        (Severity::Warning, FailOn::Warning) => exit::WARNING,
        _ => exit::DONE,
    }
}
