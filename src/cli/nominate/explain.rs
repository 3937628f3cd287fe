//! `kubectl nominate explain`: nomination, binding and verdict of one Pod, or of each of several.

use std::collections::BTreeSet;
use std::io::Write;

use clap::ValueEnum;
use serde_json::Value;

use super::watch::{self, Task, WatchArgs};
use crate::analysis::select::{self, Chosen, Request};
use crate::analysis::{access, explain};
use crate::answer::access_report;
use crate::answer::nomination_explanation::{Severity, Verdict};
use crate::answer::{nomination_explanation, nomination_explanation_list};
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs, offline_error};
use crate::cli::keeping::{code_of_review, review};
use crate::cli::runtime::Runtime;
use crate::cli::selection::{SelectionArgs, is_of_a_server, not_there, nothing};
use crate::cli::{say, tell};
use crate::env::Env;
use crate::error::{Error, exit};
use crate::model::pod::Pod;
use crate::model::world::{Sourced, World};
use crate::source::audit::Focus;
use crate::source::gather::{gather, pour};
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

  # Tell of each change, until the kubelet has taken the Pod up or refused it
  kubectl nominate explain web-0 --watch

  # Wait until it is bound to the nominated node and taken up there; 3 if something else is final, 7 if it takes longer
  kubectl nominate explain web-0 --for=verdict=Honoured --timeout=5m

  # The same from the audit log that the API server writes, across its rotations
  kubectl nominate explain web-0 -n shop --watch --from /var/log/kubernetes/audit.log

  # List what would be read, and whether you may
  kubectl nominate explain web-0 --show-access

  # Explain from a bundle, or from what kubectl printed
  kubectl nominate collect web-0 -n shop -o web-0.tar.zst
  kubectl nominate explain web-0 -n shop --from web-0.tar.zst
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
    #[command(flatten)]
    selection: SelectionArgs,
    /// Exit with 3 or 4 if the verdict is an error, or at least a warning
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "never")]
    fail_on: FailOn,
    /// Only list what would be read, why, and whether you may; asks the server, reads nothing
    #[arg(long, conflicts_with_all = ["from", "now"])]
    show_access: bool,
    /// Show below the answer what the server said of the Pod: of each object only the fields that are read
    #[arg(long, conflicts_with_all = ["from", "show_access", "watch", "awaited"])]
    show_raw: bool,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    Never,
    Error,
    Warning,
}

impl ExplainArgs {
    /// What a watch is to do.
    fn task<'a>(&'a self, request: &'a Request) -> Task<'a> {
        Task {
            args: &self.watch,
            output: &self.output,
            fail_on: self.fail_on,
            request,
        }
    }
}

pub(super) fn run(args: &ExplainArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    args.watch
        .check(&args.input.from, args.input.now.is_some())?;
    let runtime = Runtime::start()?;
    if args.show_access {
        return show_access(args, &runtime, env);
    }
    if let (true, [place]) = (args.watch.follows(), args.input.from.as_slice()) {
        let selection = args.selection.selection()?;
        let request = args.selection.request(selection, None, None);
        let task = args.task(&request);
        return watch::growing::run(&task, &place.path, &runtime, env);
    }
    if args.watch.follows() {
        let (live, request) = connect(&args.selection, &args.connection, &runtime, env)?;
        let origin = Origin::Live(Box::new(live));
        return watch::run(&args.task(&request), &origin, &runtime, env);
    }
    let (mut origins, request) = open(args, &runtime, env)?;

    // Gather.
    let mut world = World::default();
    pour(&mut world, &mut origins);
    runtime.block_on(gather(&mut world, &origins, |world| {
        explain::wants(world, &request)
    }))?;

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
    let raw = args.show_raw.then(|| raw(&origins, &pods));
    if let (true, [pod]) = (request.is_single(), pods.as_slice()) {
        let answer = explain::explain(&world, &request, pod, now, generated_at);
        args.output
            .show_with(&answer, nomination_explanation::view, raw, env)?;
        return Ok(exit_code(&answer.verdict, args.fail_on));
    }
    let answer = explain::explain_all(&world, &request, &pods, now, generated_at);
    args.output
        .show_with(&answer, nomination_explanation_list::view, raw, env)?;
    env.stdout.flush()?;
    if answer.items.is_empty() && args.output.is_for_people() {
        say(&nothing(&request), env);
    }
    let judged = answer
        .items
        .iter()
        .map(|item| exit_code(&item.verdict, args.fail_on));
    // Files hold what they hold; a server's list that broke off leaves the question open.
    let open = (uncertain && is_of_a_server(&world)).then_some(exit::INCOMPLETE);
    let codes: Vec<u8> = judged.chain(open).chain([tell(&errors, env)]).collect();
    Ok(exit::first(codes))
}

/// What the server said of these Pods, as far as it is read.
fn raw(origins: &[Origin], pods: &[&Sourced<Box<Pod>>]) -> Value {
    let uids: BTreeSet<&str> = pods.iter().map(|pod| &*pod.value.uid.0).collect();
    let tapes = origins.iter().filter_map(|origin| match origin {
        Origin::Live(live) => live.tape(),
        Origin::Offline(_) | Origin::Prometheus(_) => None,
    });
    tapes.flat_map(|tape| tape.pods(&uids)).collect()
}

fn show_access(args: &ExplainArgs, runtime: &Runtime, env: &mut Env) -> Result<u8, Error> {
    let (live, request) = connect(&args.selection, &args.connection, runtime, env)?;
    let questions = access::questions(&request, args.watch.follows());
    let answer = review(&live, &questions, runtime, env)?;
    args.output.show(&answer, access_report::view, env)?;
    Ok(code_of_review(&answer))
}

pub(super) fn connect(
    selection: &SelectionArgs,
    connection: &ConnectionArgs,
    runtime: &Runtime,
    env: &Env,
) -> Result<(Live, Request), Error> {
    let selected = selection.selection()?;
    let live = runtime.block_on(connection.connect(env))??;
    let request = selection.request(selected, Some(live.namespace()), live.context());
    Ok((live, request))
}

fn open(
    args: &ExplainArgs,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<(Vec<Origin>, Request), Error> {
    if args.input.from.is_empty() {
        let (live, request) = connect(&args.selection, &args.connection, runtime, env)?;
        let live = if args.show_raw { live.taped() } else { live };
        return Ok((vec![Origin::Live(Box::new(live))], request));
    }
    let selection = args.selection.selection()?;
    let mut request = args.selection.request(selection.clone(), None, None);
    let focus = Focus::on(request.pod_names());
    let mut origins = Vec::new();
    for place in &args.input.from {
        let mut collected =
            offline::open(place, &mut env.stdin, &focus).map_err(|error| offline_error(&error))?;
        // A bundle answers its own question read by read, and any other from all that it holds.
        if let Some((question, context)) = collected.asked() {
            let alone = args.input.from.len() == 1;
            if alone {
                let namespace = question.namespace.as_deref();
                request = args
                    .selection
                    .request(selection.clone(), namespace, context);
            }
            let is_its_own =
                question.selection == request.words() && question.namespace == request.namespace;
            if !(alone && is_its_own) {
                collected.spread();
            }
        }
        origins.push(Origin::Offline(Box::new(collected)));
    }
    Ok((origins, request))
}

pub(super) fn exit_code(verdict: &Verdict, fail_on: FailOn) -> u8 {
    match (verdict.severity(), fail_on) {
        (Severity::Error, FailOn::Error | FailOn::Warning) => exit::FINDING,
        _ if verdict.is_unanswered() => exit::INCOMPLETE,
        (Severity::Warning, FailOn::Warning) => exit::WARNING,
        _ => exit::DONE,
    }
}
