//! `kubectl features probe`: whether a declared feature can be used in each pool, tried with a tiny Pod.
//!
//! It makes what the analysis planned, looks, and takes everything back, whatever ends it.

use std::slice;
use std::time::Duration;

use clap::ValueEnum;
use futures_util::future::join;
use futures_util::stream::{self, StreamExt};
use jiff::Timestamp;
use tokio::time::Instant;

use super::fail_on::FailOn;
use super::observation::ObservationArgs;
use super::suppressions::SuppressionArgs;
use super::trying::{all_allowed, clear, look};
use crate::analysis::access;
use crate::analysis::conformance::Look;
use crate::analysis::probe::need::{self, NoNeed};
use crate::analysis::probe::{self, Fate, Limits, Part, Request};
use crate::answer::check_report::CheckReport;
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
use crate::model::pod::PodName;
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::gather::gather;
use crate::source::live::Live;
use crate::source::watch::Deadline;

const EXAMPLES: &str = "
Examples:
  # Try a feature on every pool, with Pods in the namespace of the context
  kubectl features probe --feature RestartAllContainersOnContainerExits

  # Try an update that needs a feature, on one pool
  kubectl features probe --feature InPlacePodLevelResourcesVerticalScaling --pool blue -n probes

  # See what would be made, or have the API server judge it
  kubectl features probe --feature RestartAllContainersOnContainerExits --dry-run=client
  kubectl features probe --feature RestartAllContainersOnContainerExits --dry-run=server

";

const WHY: &str = "the Pods of the probe: making, updating and removing them";

/// HTTP status of a namespace that is not there.
const NOT_FOUND: u16 = 404;

/// Pods that are looked at together.
const AT_ONCE: usize = 32;

/// Try in each pool whether a declared feature can be used, with a tiny Pod that needs it
///
/// Makes two Pods a pool in a namespace that is there, one that needs the feature and one that does not, bound to the pool's nodes
/// by affinity. It tells what the nodes declare, whether the scheduler places the Pod, the kubelet runs it and the API server
/// accepts an update that needs the feature, and the time of each. All that it made is removed, also on Ctrl-C; what a killed run
/// left is removed by the next one in that namespace.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES)]
pub(super) struct ProbeArgs {
    /// The declared feature to try
    #[arg(long, value_name = "FEATURE")]
    feature: String,
    /// Namespace to make the Pods in, instead of the context's; it has to be there
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Image of the Pods' containers; it must run as any user and not end
    #[arg(
        long,
        value_name = "IMAGE",
        default_value = "registry.k8s.io/pause:3.10"
    )]
    image: String,
    /// Time to give scheduler and kubelets for the Pods
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = some_time)]
    timeout: Duration,
    /// Time after which a Pod that nobody removed ends, and the next run removes it
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = some_time)]
    ttl: Duration,
    /// Make a Pod that only a privileged namespace takes, in the node's own network
    #[arg(long)]
    allow_privileged_namespace: bool,
    /// Make nothing: show what would be made (client), or have the API server judge it (server)
    #[arg(long, value_enum, value_name = "STRATEGY", default_value = "none")]
    dry_run: DryRun,
    /// Only list the rights that it needs, and whether you have them; makes nothing
    #[arg(long)]
    show_access: bool,
    /// Exit with 4 if there are only warnings
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "error")]
    fail_on: FailOn,
    #[command(flatten)]
    suppressions: SuppressionArgs,
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    output: ReportingArgs,
}

/// kubectl's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DryRun {
    None,
    Client,
    Server,
}

impl DryRun {
    fn limits(self) -> Limits {
        match self {
            Self::None => Limits::Whole,
            Self::Client => Limits::Planned,
            Self::Server => Limits::Judged,
        }
    }
}

pub(super) fn run(args: &ProbeArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    args.output.start_logging();
    let need = need::find(&args.feature).map_err(|error| no_need(&error))?;
    if need.is_privileged && !args.allow_privileged_namespace {
        let sentence = format!(
            "a Pod that needs {} is in the node's network, which only a privileged namespace allows",
            need.feature
        );
        return Err(Error::new(Kind::Usage, sentence)
            .hint("if the namespace is one, add --allow-privileged-namespace"));
    }
    if args.ttl < args.timeout {
        let sentence = "--ttl is shorter than --timeout: the Pods would end while they are tried";
        return Err(Error::new(Kind::Usage, sentence));
    }
    let runtime = Runtime::start()?;
    let accepted = args.suppressions.accepted(probe::CHECKS, &runtime, env)?;
    let live = runtime.block_on(args.observation.connect(&args.connection, env))??;
    let start = (env.now)();
    let request = Request {
        need,
        observation: args.observation.request(),
        namespace: args
            .namespace
            .clone()
            .unwrap_or_else(|| live.namespace().to_owned()),
        image: args.image.clone(),
        id: format!("{:x}", start.as_millisecond()),
        ttl: args.ttl,
    };
    let origin = Origin::Live(Box::new(live));
    let Origin::Live(live) = &origin else {
        unreachable!("it is live");
    };
    let mut questions = access::of_wants(&probe::possible(&request), false);
    questions.extend(access::of_changes(&probe::possible_changes(&request), WHY));
    if args.show_access {
        let rights = review(live, &questions, &runtime, env)?;
        args.output
            .of_others()?
            .show(&rights, access_report::view, env)?;
        return Ok(code_of_review(&rights));
    }

    // Gather.
    let mut world = World::default();
    runtime.block_on(gather(&mut world, slice::from_ref(&origin), |world| {
        probe::wants(world, &request, world.now().unwrap_or(start))
    }))?;
    let now = world.now().unwrap_or(start);

    // Plan.
    let parts = probe::plan(&world, &request, now);
    let limits = args.dry_run.limits();
    if limits == Limits::Whole {
        let of_changes = access::of_changes(&probe::possible_changes(&request), WHY);
        let rights = review(live, &of_changes, &runtime, env)?;
        all_allowed(
            &rights,
            "see all that it needs with --show-access; nothing was made",
        )?;
        sweep(&world, &request, now, live, &runtime, env)?;
    }

    // Try.
    let mode = if limits == Limits::Whole {
        Mode::Store
    } else {
        Mode::DryRun
    };
    let mut applier = Applier::new(live, mode);
    let tried = runtime.block_on(tried(&parts, &request, limits, &mut applier, &origin, args));
    clear(&mut applier, &runtime, env)?;
    let fates = tried??;

    // Analyse.
    let checks = parts
        .iter()
        .zip(&fates)
        .flat_map(|(part, [control, needy])| probe::checks(part, &request, limits, control, needy));
    let header = Header::of("CheckReport", &world, now, (env.now)());
    let mut checks = if parts.is_empty() {
        vec![probe::nobody(world.is_complete(&Want::Nodes))]
    } else {
        checks.collect()
    };
    accepted.apply(&mut checks, None, env);
    let intention = format!("whether {} can be used in each pool", need.feature);
    let mut answer = CheckReport::new(header, intention, checks);
    if limits != Limits::Whole {
        answer.plan = planned(&parts);
    }

    // Show.
    args.output.show(&answer, Vec::new(), env)?;
    Ok(args.fail_on.code_of(&answer))
}

fn no_need(why: &NoNeed) -> Error {
    let known: Vec<&str> = need::features().collect();
    Error::new(Kind::Usage, why.to_string()).hint(format!("probe knows {}", known.join(", ")))
}

/// Removes what runs before left behind, as nobody may have been there to do it.
fn sweep(
    world: &World,
    request: &Request,
    now: Timestamp,
    live: &Live,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<(), Error> {
    let mut applier = Applier::new(live, Mode::Store);
    for change in probe::sweep(world, request, now) {
        let subject = change.subject();
        match runtime.block_on(applier.apply(&change))? {
            Ok(_) => say(
                &format!("removed {subject}, which a run before left behind"),
                env,
            ),
            Err(error) => say(
                &format!("warning: {subject} is left behind: {}", error.detail),
                env,
            ),
        }
    }
    Ok(())
}

/// The objects that would be made, as they would be sent.
fn planned(parts: &[Part<'_>]) -> Vec<String> {
    let pairs = parts.iter().filter_map(|part| part.pair.as_ref());
    let changes = pairs.flat_map(|pair| [&pair.control, &pair.needy]);
    let line = |change: &Change| {
        let body = change.body.as_ref().map(ToString::to_string);
        format!("create {}: {}", change.subject(), body.unwrap_or_default())
    };
    changes.map(line).collect()
}

/// Makes all Pods, looks at all of them, and updates those that are to be: what became of the Pods of each part.
async fn tried(
    parts: &[Part<'_>],
    request: &Request,
    limits: Limits,
    applier: &mut Applier<'_>,
    origin: &Origin,
    args: &ProbeArgs,
) -> Result<Vec<[Fate; 2]>, Error> {
    let mut fates = Vec::new();
    for part in parts {
        let mut pair = [Fate::default(), Fate::default()];
        if let (Some(planned), true) = (&part.pair, limits != Limits::Planned) {
            for (fate, change) in pair.iter_mut().zip([&planned.control, &planned.needy]) {
                match applier.apply(change).await {
                    Ok(object) => fate.made = Some(object),
                    Err(error) if error.code == Some(NOT_FOUND) => {
                        return Err(Error::new(Kind::Server, error.detail)
                            .hint("name a namespace that is there with -n"));
                    }
                    Err(error) => fate.refused = Some(error.detail),
                }
            }
        }
        fates.push(pair);
    }
    if limits != Limits::Whole {
        return Ok(fates);
    }
    let deadline = Deadline::after(Some(args.timeout));
    let watched = stream::iter(fates).map(async |[control, needy]| {
        let of_control = watched(control, request, false, origin, deadline);
        let of_needy = watched(needy, request, true, origin, deadline);
        let (control, needy) = join(of_control, of_needy).await;
        [control, needy]
    });
    let mut fates: Vec<[Fate; 2]> = watched.buffered(AT_ONCE).collect().await;
    for [_, needy] in &mut fates {
        let is_up = needy.started.as_ref().is_some_and(|look| {
            look.is_met && look.pod.as_ref().is_some_and(|pod| !pod.finished())
        });
        let pod = needy.made.as_ref().filter(|_| is_up);
        if let Some(change) = pod.and_then(|pod| probe::update(request, pod)) {
            let begun = Instant::now();
            let answer = applier.apply(&change).await;
            let answer = answer.map(|_| ()).map_err(|error| error.detail);
            needy.update = Some((answer, begun.elapsed()));
        }
    }
    Ok(fates)
}

/// Looks at a Pod until a scheduler has placed or refused it, and then until a kubelet has started or refused it.
async fn watched(
    mut fate: Fate,
    request: &Request,
    with_need: bool,
    origin: &Origin,
    deadline: Deadline,
) -> Fate {
    let made = fate
        .made
        .as_ref()
        .and_then(|pod| pod.pointer("/metadata/name"));
    let Some(name) = made.and_then(|name| name.as_str()) else {
        return fate;
    };
    let name = PodName {
        namespace: request.namespace.clone(),
        name: name.to_owned(),
    };
    let placed = match look(&name, probe::is_decided, origin, deadline).await {
        Ok(placed) => placed,
        Err(why) => {
            fate.lost = Some(why);
            return fate;
        }
    };
    let is_placed = placed.pod.as_ref().is_some_and(|pod| pod.node.is_some());
    let until_then = placed.took;
    fate.placed = Some(placed);
    if is_placed {
        let is_started = |pod: Option<&_>| probe::is_started(request, with_need, pod);
        match look(&name, is_started, origin, deadline).await {
            Ok(started) => {
                let took = until_then + started.took;
                fate.started = Some(Look { took, ..started });
            }
            Err(why) => fate.lost = Some(why),
        }
    }
    fate
}
