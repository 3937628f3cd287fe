//! `kubectl nominate explain`: one Pod's nomination, binding and verdict.

use std::collections::BTreeMap;

use clap::ValueEnum;

use crate::analysis::access;
use crate::analysis::explain::{self, NoPod, Request};
use crate::answer::access_report;
use crate::answer::nomination_explanation::{Severity, Verdict, view};
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs, offline_error};
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::access::{Permission, Right};
use crate::model::coverage::State;
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::gather::gather;
use crate::source::live::Live;
use crate::source::{Origin, offline};

const EXAMPLES: &str = "
Examples:
  # Explain a Pod of the current namespace
  kubectl nominate explain web-0

  # Explain a Pod of another namespace, as data
  kubectl nominate explain pod/web-0 -n shop -o json

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
    /// Name of the Pod, or pod/NAME
    #[arg(value_name = "POD", value_parser = pod_name)]
    pod: String,
    /// Namespace of the Pod
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
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

fn pod_name(text: &str) -> Result<String, String> {
    let name = match text.split_once('/') {
        None => text,
        Some(("pod" | "pods" | "po", name)) => name,
        Some((kind, _)) => {
            return Err(format!(
                "it explains Pods, and {kind:?} is another resource"
            ));
        }
    };
    if name.is_empty() || name.contains('/') {
        return Err("give the name of a Pod, or pod/NAME".to_owned());
    }
    Ok(name.to_owned())
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
    let pod =
        explain::choose(&world, &request).map_err(|reason| no_pod(&reason, &world, &request))?;
    let generated_at = (env.now)();
    let now = args.input.now.or(world.now()).unwrap_or(generated_at);
    let answer = explain::explain(&world, &request, pod, now, generated_at);

    // Show.
    args.output.show(&answer, view, env)?;
    Ok(exit_code(&answer.verdict, args.fail_on))
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
    let live = args.connection.connect(env).await?;
    let namespace = args
        .namespace
        .clone()
        .unwrap_or_else(|| live.namespace().to_owned());
    let request = Request {
        name: args.pod.clone(),
        namespace: Some(namespace),
        context: live.context().map(str::to_owned),
    };
    Ok((live, request))
}

async fn open(args: &ExplainArgs, env: &mut Env) -> Result<(Vec<Origin>, Request), Error> {
    if args.input.from.is_empty() {
        let (live, request) = connect(args, env).await?;
        return Ok((vec![Origin::Live(Box::new(live))], request));
    }
    let mut origins = Vec::new();
    for path in &args.input.from {
        let collected =
            offline::open(path, &mut env.stdin).map_err(|error| offline_error(&error))?;
        origins.push(Origin::Offline(collected));
    }
    Ok((
        origins,
        Request {
            name: args.pod.clone(),
            namespace: args.namespace.clone(),
            context: None,
        },
    ))
}

/// Why there is no Pod to explain: the server's own sentence where it gave one.
fn no_pod(reason: &NoPod, world: &World, request: &Request) -> Error {
    let name = &request.name;
    if let NoPod::Ambiguous(namespaces) = reason {
        return Error::new(
            Kind::Usage,
            format!(
                "pods named {name:?} are in the namespaces {}",
                namespaces.join(", ")
            ),
        )
        .hint("choose one with -n");
    }
    let want = request.namespace.clone().map(|namespace| {
        Want::Pod(PodName {
            namespace,
            name: name.clone(),
        })
    });
    let line = want
        .as_ref()
        .and_then(|want| world.coverage().find(|line| line.subject == want.subject()));
    let is_live = world.sources().any(|source| source.kind == "live");
    match line {
        Some(line) if is_live => {
            let kind = match line.state {
                State::Unreachable => Kind::Unreachable,
                State::Unreadable | State::Partial | State::Complete => Kind::BadData,
                State::Denied | State::Absent | State::Expired => Kind::Server,
            };
            Error::new(
                kind,
                line.detail
                    .clone()
                    .unwrap_or_else(|| format!("the server gave no Pod {name:?}")),
            )
        }
        _ => {
            let place = request
                .namespace
                .as_ref()
                .map(|namespace| format!(" in namespace {namespace:?}"))
                .unwrap_or_default();
            let error = Error::new(
                Kind::BadData,
                format!("pods {name:?} not found{place} in the input"),
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
