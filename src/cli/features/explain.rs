//! `kubectl features explain`: which declared features Pods or an update require, and what becomes of that.

use std::path::PathBuf;

use super::fail_on::FailOn;
use super::observation::ObservationArgs;
use crate::analysis::access;
use crate::analysis::fulfilment::{self, Manifest, Request, trial};
use crate::analysis::select::{self, Selection};
use crate::answer::feature_explanation::{FeatureExplanation, Verdict, VerdictKind};
use crate::answer::{access_report, feature_explanation, feature_explanation_list};
use crate::apply::{Applier, Mode};
use crate::cli::arguments::{ConnectionArgs, InputArgs, OutputArgs, offline_error};
use crate::cli::keeping::{code_of_review, review};
use crate::cli::runtime::Runtime;
use crate::cli::selection::{Word, not_there, targets, word};
use crate::cli::tell;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::pod::{Pod, Uid};
use crate::model::world::World;
use crate::source::audit::Focus;
use crate::source::gather::{gather, pour};
use crate::source::live::Live;
use crate::source::{Origin, manifest, offline};

const EXAMPLES: &str = "
Examples:
  # Say why a Pod is Pending, or whether its node has what it requires
  kubectl features explain web-0 -n shop

  # Judge a manifest before it is applied
  kubectl features explain -f deployment.yaml

  # Say whether an update would be refused, or accepted and ignored
  kubectl get pod web-0 -o yaml > new.yaml   # and change it
  kubectl features explain web-0 --update new.yaml

  # The same without the cluster
  kubectl get nodes -o json --show-managed-fields > nodes.json
  kubectl features explain -f deployment.yaml --from nodes.json

";

/// Explain which declared features a Pod requires, and which nodes have them
///
/// Names the features and the fields that require them, the nodes that declare them and what the others lack, and who sees to it:
/// scheduler, API server, kubelet, or nobody. Whether the rest of a Pod's needs fits a node is left to the scheduler.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct ExplainArgs {
    /// Names of Pods, or TYPE/NAME of Pods, Deployments, StatefulSets, DaemonSets, ReplicaSets or Jobs
    #[arg(value_name = "POD|TYPE/NAME", value_parser = word, required_unless_present = "filename")]
    pods: Vec<Word>,
    /// Judge the Pods of this manifest, and what makes Pods in it, instead (- is standard input); may be repeated
    #[arg(short, long, value_name = "FILE", conflicts_with = "pods")]
    filename: Vec<PathBuf>,
    /// Judge the change of the Pod to the one in this manifest, whole as kubectl get prints it (- is standard input)
    #[arg(long, value_name = "FILE")]
    update: Option<PathBuf>,
    /// Namespace of the Pods
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Exit with 3 if what is required is not there or refused, or with 4 if it is silently ignored
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "never")]
    fail_on: FailOn,
    /// Ask the API server, too: create the Pods of -f, or resize by --update, as a dry run that stores nothing
    #[arg(long, conflicts_with_all = ["from", "show_access"])]
    server_dry_run: bool,
    /// Only list what would be read, why, and whether you may; asks the server, reads nothing
    #[arg(long, conflicts_with_all = ["from", "now"])]
    show_access: bool,
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: OutputArgs,
}

pub(super) fn run(args: &ExplainArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    if args.server_dry_run && args.filename.is_empty() && args.update.is_none() {
        let sentence = "--server-dry-run tries what is not there yet: name a manifest with -f, or a change with --update";
        return Err(Error::new(Kind::Usage, sentence));
    }
    let runtime = Runtime::start()?;
    let (mut origins, request) = open(args, &runtime, env)?;
    if let (true, [Origin::Live(live)]) = (args.show_access, origins.as_slice()) {
        let questions = access::of_wants(&fulfilment::possible(&request), false);
        let answer = review(live, &questions, &runtime, env)?;
        args.output.show(&answer, access_report::view, env)?;
        return Ok(code_of_review(&answer));
    }

    // Gather.
    let mut world = World::default();
    pour(&mut world, &mut origins);
    runtime.block_on(gather(&mut world, &origins, |world| {
        fulfilment::wants(world, &request)
    }))?;

    // Analyse.
    let missing = request.selection.iter().flat_map(|selection| {
        let missing = select::choose(&world, selection).missing;
        missing
            .into_iter()
            .map(|missing| not_there(&missing, &world, selection))
            .collect::<Vec<_>>()
    });
    let errors: Vec<Error> = missing.collect();
    let generated_at = (env.now)();
    let now = args.input.now.or(world.now()).unwrap_or(generated_at);
    let mut items = fulfilment::explain(&world, &request, now, generated_at);
    if items.is_empty() && !errors.is_empty() {
        return Ok(tell(&errors, env));
    }
    if request.update.is_some() && items.len() != 1 {
        let sentence = format!("--update changes one Pod, and {} are meant", items.len());
        return Err(Error::new(Kind::Usage, sentence));
    }
    if let (Some(new), [item]) = (&request.update, items.as_slice())
        && new.pod.name.name != item.pod.name
    {
        let (new, old) = (&new.pod.name.name, &item.pod.name);
        let sentence = format!("--update is of the Pod {new:?}, and {old:?} is asked about");
        return Err(Error::new(Kind::Usage, sentence));
    }
    if let (true, [Origin::Live(live)]) = (args.server_dry_run, origins.as_slice()) {
        runtime.block_on(try_on(live, &request, &mut items))?;
    }
    let codes: Vec<u8> = items
        .iter()
        .map(|item| code(&item.verdict, args.fail_on))
        .collect();

    // Show.
    let is_single = match &request.selection {
        Some(selection) => selection.is_single(),
        None => items.len() == 1,
    };
    match (is_single, items.pop()) {
        (true, Some(answer)) => args.output.show(&answer, feature_explanation::view, env)?,
        (_, last) => {
            items.extend(last);
            let answer = fulfilment::list(&world, items, now, generated_at);
            args.output
                .show(&answer, feature_explanation_list::view, env)?;
        }
    }
    Ok(exit::first(codes.into_iter().chain([tell(&errors, env)])))
}

/// Asks the API server itself, by dry runs.
async fn try_on(live: &Live, request: &Request, items: &mut [FeatureExplanation]) {
    let mut applier = Applier::new(live, Mode::DryRun);
    for (index, item) in items.iter_mut().enumerate() {
        let Some(change) = trial::plan(request, index, item) else {
            continue;
        };
        match applier.apply(&change).await {
            Ok(stored) => {
                let stored = manifest::pod(&stored).ok();
                trial::accepted(item, stored.as_ref().and_then(|pod| pod.needs.as_deref()));
            }
            Err(refusal) => trial::refused(item, refusal.code, refusal.detail),
        }
    }
}

/// Where facts come from, and what is asked of them.
fn open(
    args: &ExplainArgs,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<(Vec<Origin>, Request), Error> {
    if args.input.from.is_empty() {
        let live: Live = runtime.block_on(args.observation.connect(&args.connection, env))??;
        let (namespace, context) = (
            live.namespace().to_owned(),
            live.context().map(str::to_owned),
        );
        let request = request(args, Some(&namespace), context, env)?;
        return Ok((vec![Origin::Live(Box::new(live))], request));
    }
    let request = request(args, None, None, env)?;
    let focus = Focus::on(
        request
            .selection
            .as_ref()
            .and_then(select::Request::pod_names),
    );
    let mut origins = Vec::new();
    for place in &args.input.from {
        let mut collected =
            offline::open(place, &mut env.stdin, &focus).map_err(|error| offline_error(&error))?;
        // A bundle was made for another question: it answers from all that it holds.
        collected.spread();
        origins.push(Origin::Offline(Box::new(collected)));
    }
    Ok((origins, request))
}

fn request(
    args: &ExplainArgs,
    namespace: Option<&str>,
    context: Option<String>,
    env: &mut Env,
) -> Result<Request, Error> {
    let mut manifests = Vec::new();
    for path in &args.filename {
        let source = path.display().to_string();
        for manifest in read(path, env)? {
            let mut pod = manifest.pod;
            place(&mut pod, manifest.has_namespace, args, namespace)?;
            manifests.push(Manifest {
                kind: manifest.kind,
                source: source.clone(),
                pod,
                written: manifest.written,
            });
        }
    }
    let update = match &args.update {
        None => None,
        Some(path) => {
            let mut found = read(path, env)?;
            match (found.pop(), found.is_empty()) {
                (Some(manifest), true) if manifest.kind == "Pod" => Some(Box::new(Manifest {
                    kind: manifest.kind,
                    source: path.display().to_string(),
                    pod: manifest.pod,
                    written: manifest.written,
                })),
                _ => {
                    let sentence = format!(
                        "{} must hold one Pod and nothing that makes Pods",
                        path.display()
                    );
                    return Err(Error::new(Kind::BadData, sentence));
                }
            }
        }
    };
    let selection = args.filename.is_empty().then(|| select::Request {
        selection: Selection::Named(targets(&args.pods)),
        namespace: args.namespace.clone().or(namespace.map(str::to_owned)),
        context,
    });
    Ok(Request {
        selection,
        manifests,
        update,
        observation: args.observation.request(),
    })
}

fn read(path: &std::path::Path, env: &mut Env) -> Result<Vec<manifest::Manifest>, Error> {
    manifest::read(path, &mut env.stdin).map_err(|why| Error::new(Kind::BadData, why))
}

/// The namespace of a manifest by kubectl's rule: its own, else the flag's, else the context's.
fn place(
    pod: &mut Pod,
    is_told: bool,
    args: &ExplainArgs,
    current: Option<&str>,
) -> Result<(), Error> {
    let is_unidentified = pod.is_unidentified();
    let namespace = &mut pod.name.namespace;
    match (&args.namespace, is_told) {
        (Some(flag), true) if flag != namespace => {
            // kubectl's own sentence.
            let sentence = format!(
                "the namespace from the provided object {namespace:?} does not match the namespace {flag:?}. You must pass '--namespace={namespace}' to perform this operation."
            );
            return Err(Error::new(Kind::Usage, sentence));
        }
        (_, true) => {}
        (flag, false) => {
            if let Some(chosen) = flag.as_deref().or(current) {
                chosen.clone_into(namespace);
            }
        }
    }
    if is_unidentified {
        pod.uid = Uid(format!("{namespace}/{}", pod.name.name).into());
    }
    Ok(())
}

fn code(verdict: &Verdict, fail_on: FailOn) -> u8 {
    fail_on.code(verdict.severity(), verdict.kind == VerdictKind::Unknown)
}
