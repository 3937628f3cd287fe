//! `kubectl features conformance`: whether a scheduler keeps what declared features and nominations promise.
//!
//! It makes what the trials planned, looks, and takes everything back, whatever ends it.

use std::collections::BTreeSet;
use std::slice;
use std::time::Duration;

use super::fail_on::FailOn;
use super::suppressions::{Accepted, SuppressionArgs};
use super::trying::{all_allowed, clear, look};
use crate::analysis::access;
use crate::analysis::conformance::{Act, FEATURE, NotNow, Priorities, Seen, Stage, TRIALS, Trial};
use crate::answer::check_report::{Check, CheckReport, Status};
use crate::answer::{Header, access_report};
use crate::apply::{Applier, Mode};
use crate::cli::arguments::{ConnectionArgs, some_time};
use crate::cli::keeping::{code_of_review, review};
use crate::cli::reporting::ReportingArgs;
use crate::cli::runtime::Runtime;
use crate::cli::say;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::model::change::Change;
use crate::model::coverage::State;
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::gather::gather;
use crate::source::live::Live;
use crate::source::watch::Deadline;

const EXAMPLES: &str = "
Examples:
  # Try a second scheduler on the nodes that there are
  kubectl features conformance --scheduler my-scheduler

  # Try it on Nodes that are made for it, so that every trial can be made
  kubectl features conformance --scheduler my-scheduler --allow-node-changes

  # List the rights that it needs, and whether you have them
  kubectl features conformance --scheduler my-scheduler --dry-run

";

const WHY: &str = "the trials: what they make, and take back";

/// HTTP status of an object that is there already.
const CONFLICT: u16 = 409;

/// Try whether a scheduler keeps what declared features and nominations promise
///
/// Makes a namespace with tiny Pods, lets the scheduler place them, and judges what it did: whether it minds what nodes
/// declare, binds by bindings, treats a nomination as a hint and keeps to priorities. The Pods' priority is below that of every
/// Pod there is, so that they displace nobody. All that it made is removed, also on Ctrl-C.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct ConformanceArgs {
    /// Name of the scheduler, as Pods have it in spec.schedulerName
    #[arg(long, value_name = "NAME")]
    scheduler: String,
    /// Make Nodes that no kubelet serves, with a taint that keeps others away, and let one of them begin to declare a feature;
    /// Pods of `DaemonSets` that tolerate every taint will wait there meanwhile
    #[arg(long)]
    allow_node_changes: bool,
    /// Image of the Pods' only container; it must run as any user
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = "registry.k8s.io/pause:3.10"
    )]
    image: String,
    /// Time to give the scheduler for each Pod
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time)]
    timeout: Duration,
    /// Only list the rights that it needs, and whether you have them; makes nothing
    #[arg(long)]
    dry_run: bool,
    /// Exit with 4 if there are only warnings
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "error")]
    fail_on: FailOn,
    #[command(flatten)]
    suppressions: SuppressionArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: ReportingArgs,
}

pub(super) fn run(args: &ConformanceArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let runtime = Runtime::start()?;
    let ids: Vec<&str> = TRIALS.iter().map(|trial| trial.id).collect();
    let accepted = args.suppressions.accepted(&ids, &runtime, env)?;
    let live = runtime.block_on(args.connection.connect(env))??;
    let origin = Origin::Live(Box::new(live));
    let Origin::Live(live) = &origin else {
        unreachable!("it is live");
    };

    // Gather.
    let wants = BTreeSet::from([Want::Nodes, Want::every_pod()]);
    let mut world = World::default();
    runtime.block_on(gather(&mut world, slice::from_ref(&origin), |_| {
        wants.clone()
    }))?;
    seen_whole(&world, &wants)?;

    // Plan.
    let name = &args.scheduler;
    let priorities = Priorities::below(&world);
    let Some(priorities) = priorities else {
        let reason = "some Pod has the lowest priority there can be, so that none is below";
        let skip = |trial: &Trial| trial.not_made(NotNow::Skipped(reason.to_owned()));
        let checks = TRIALS.iter().map(skip).collect();
        return show(args, &accepted, &world, checks, env);
    };
    let stage = Stage::new(
        &world,
        name,
        &args.image,
        priorities,
        args.allow_node_changes,
    );
    let plans: Vec<_> = TRIALS
        .iter()
        .map(|trial| (trial, trial.plan(&stage)))
        .collect();
    let acts = plans
        .iter()
        .filter_map(|(_, plan)| plan.as_ref().ok())
        .flatten();
    let changes = acts.filter_map(|act| match act {
        Act::Do(change) => Some(change),
        Act::Await(..) => None,
    });
    let foundation = stage.foundation();
    let mut questions = access::of_wants(&Vec::from_iter(wants), false);
    questions.extend(access::of_changes(foundation.iter().chain(changes), WHY));
    let rights = review(live, &questions, &runtime, env)?;
    if args.dry_run {
        args.output
            .of_others()?
            .show(&rights, access_report::view, env)?;
        return Ok(code_of_review(&rights));
    }
    for right in &rights.rights {
        say(&format!("needs: {}", access_report::words(right)), env);
    }
    all_allowed(&rights, "see why with --dry-run; nothing was made")?;

    // Try.
    let mut ground = Applier::new(live, Mode::Store);
    let laid = lay(&mut ground, &foundation, &runtime);
    let checks = laid.and_then(|()| tried(&plans, &stage, &origin, live, args, &runtime, env));
    clear(&mut ground, &runtime, env)?;
    show(args, &accepted, &world, checks?, env)
}

/// Without all Pods nobody knows whom a priority would be above.
fn seen_whole(world: &World, wants: &BTreeSet<Want>) -> Result<(), Error> {
    if wants.iter().all(|want| world.is_complete(want)) {
        return Ok(());
    }
    let lost = world.coverage().find(|line| line.state != State::Complete);
    let detail = lost.and_then(|line| line.detail.clone());
    let sentence = detail.unwrap_or_else(|| "nodes and Pods could not all be read".to_owned());
    Err(Error::new(Kind::Server, sentence)
        .hint("nodes and the priorities of all Pods have to be known before anything is made"))
}

/// Makes what all trials stand on.
fn lay(ground: &mut Applier<'_>, foundation: &[Change], runtime: &Runtime) -> Result<(), Error> {
    for change in foundation {
        let done = runtime.block_on(ground.apply(change))?;
        done.map_err(|error| {
            let name = change.subject();
            let base = Error::new(Kind::Server, error.detail);
            match error.code {
                Some(CONFLICT) => base.hint(format!(
                    "another run may be going on; if none is, one was cut off: kubectl delete {}",
                    name.replacen('/', " ", 1)
                )),
                _ => base,
            }
        })?;
    }
    Ok(())
}

type Plan<'t> = (&'t Trial, Result<Vec<Act>, NotNow>);

/// Makes the trials one after the other: each sees a scheduler that nothing else keeps busy.
fn tried(
    plans: &[Plan<'_>],
    stage: &Stage,
    origin: &Origin,
    live: &Live,
    args: &ConformanceArgs,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<Vec<Check>, Error> {
    let mut checks: Vec<Check> = Vec::new();
    for (trial, plan) in plans {
        let is_idle = checks
            .first()
            .is_some_and(|first| first.status != Status::Pass);
        let check = match plan {
            _ if is_idle => trial.not_made(NotNow::Unknown(
                "the scheduler did not place an ordinary Pod".to_owned(),
            )),
            Err(why) => trial.not_made(why.clone()),
            Ok(acts) => {
                let mut applier = Applier::new(live, Mode::Store);
                let seen = runtime.block_on(perform(acts, &mut applier, origin, args.timeout));
                clear(&mut applier, runtime, env)?;
                match seen? {
                    Ok(seen) => trial.judged(stage, &seen),
                    Err(reason) => trial.not_made(NotNow::Unknown(reason)),
                }
            }
        };
        checks.push(check);
    }
    Ok(checks)
}

/// Carries out a trial. Why not, where a step was refused or could not be seen.
async fn perform(
    acts: &[Act],
    applier: &mut Applier<'_>,
    origin: &Origin,
    limit: Duration,
) -> Result<Seen, String> {
    let mut seen = Seen::default();
    let mut namespace = String::new();
    for act in acts {
        match act {
            Act::Do(change) => {
                let done = applier.apply(change).await;
                let object = done.map_err(|error| {
                    format!(
                        "{} of {}: {}",
                        change.right.verb,
                        change.subject(),
                        error.detail
                    )
                })?;
                seen.note(change, &object)?;
                if let Some(within) = &change.right.namespace {
                    namespace.clone_from(within);
                }
            }
            Act::Await(pod, until) => {
                let name = PodName {
                    namespace: namespace.clone(),
                    name: pod.clone(),
                };
                let deadline = Deadline::after(Some(limit));
                let look = look(&name, |pod| until.is_met(pod), origin, deadline).await?;
                seen.looks.insert(pod.clone(), look);
            }
        }
    }
    Ok(seen)
}

fn show(
    args: &ConformanceArgs,
    accepted: &Accepted,
    world: &World,
    mut checks: Vec<Check>,
    env: &mut Env,
) -> Result<u8, Error> {
    accepted.apply(&mut checks, None, env);
    let generated_at = (env.now)();
    let now = world.now().unwrap_or(generated_at);
    let header = Header::of("CheckReport", world, now, generated_at);
    let intention = format!(
        "whether {} keeps what nominations and {FEATURE} promise",
        args.scheduler
    );
    let answer = CheckReport::new(header, intention, checks);
    args.output.show(&answer, Vec::new(), env)?;
    Ok(args.fail_on.code_of(&answer))
}
