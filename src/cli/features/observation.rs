//! Flags of the commands that observe gates, and how they are observed: from the cluster, or from files in its place.
//!
//! It must not compare what was observed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::analysis::gates::skew::{Request, Side};
use crate::analysis::gates::wants;
use crate::cli::arguments::{ConnectionArgs, InputArgs, offline_error};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::coverage::State;
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::audit::Focus;
use crate::source::gather::{gather, pour};
use crate::source::live::Live;
use crate::source::offline::Place;
use crate::source::{Origin, offline};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Observation options")]
pub(super) struct ObservationArgs {
    /// Only this kind (kubelet), or reach this component at its own address (kube-scheduler/POD=https://127.0.0.1:10259);
    /// may be repeated
    #[arg(long, value_name = "KIND|NAME=URL", value_parser = component)]
    component: Vec<Component>,
    /// Only nodes of this pool; may be repeated
    #[arg(long, value_name = "POOL")]
    pool: Vec<String>,
    /// Only this node; may be repeated
    #[arg(long, value_name = "NODE")]
    node: Vec<String>,
    /// Label of nodes that names their pool, instead of the known ones of providers
    #[arg(long, value_name = "LABEL")]
    pool_label: Option<String>,
    /// Read every kubelet's running gates, instead of one of each group that is configured alike
    #[arg(long)]
    exact: bool,
    /// Read so many nodes of each pool and version only, and say which were left out
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "exact")]
    sample: Option<u32>,
    /// Reach kubelets at their own addresses, not through the API server: needs nodes/metrics and nodes/configz, not nodes/proxy
    #[arg(long)]
    direct_kubelets: bool,
    /// Certificates that sign those of kubelets and of components reached at their own addresses
    #[arg(long, value_name = "FILE")]
    kubelet_ca: Option<String>,
}

/// What `--component` names.
#[derive(Debug, Clone)]
enum Component {
    Kind(ComponentKind),
    At(ComponentName, String),
}

fn component(text: &str) -> Result<Component, String> {
    if let Some((name, url)) = text.split_once('=') {
        let name: ComponentName = name.parse().map_err(|error| format!("{error}"))?;
        if !url.starts_with("https://") {
            return Err(format!(
                "{url:?} is no https:// address; credentials are sent to no other"
            ));
        }
        let identity = if name.identity.is_empty() {
            url.trim_start_matches("https://")
                .trim_end_matches('/')
                .to_owned()
        } else {
            name.identity
        };
        let name = ComponentName::new(name.kind, identity);
        return Ok(Component::At(name, url.trim_end_matches('/').to_owned()));
    }
    ComponentKind::of_word(text)
        .map(Component::Kind)
        .ok_or_else(|| {
            format!(
                "it is none of {}",
                ComponentKind::ALL.map(ComponentKind::word).join(", ")
            )
        })
}

impl ObservationArgs {
    pub(super) fn request(&self) -> Request {
        let set = |names: &[String]| names.iter().cloned().collect::<BTreeSet<_>>();
        let mut request = Request {
            pools: set(&self.pool),
            nodes: set(&self.node),
            pool_label: self.pool_label.clone(),
            exact: self.exact,
            sample: self.sample.map(|count| count as usize),
            direct_kubelets: self.direct_kubelets,
            ..Request::default()
        };
        for component in &self.component {
            match component {
                Component::Kind(kind) => {
                    request.kinds.insert(*kind);
                }
                Component::At(name, url) => {
                    request.components.insert((name.clone(), url.clone()));
                }
            }
        }
        request
    }

    pub(super) async fn connect(
        &self,
        connection: &ConnectionArgs,
        env: &Env,
    ) -> Result<Live, Error> {
        let live = connection.connect(env).await?;
        Ok(live.trusting(self.kubelet_ca.clone()))
    }
}

/// All that was observed, and the time to judge by.
pub(super) struct Observed {
    pub(super) world: World,
    pub(super) now: Timestamp,
    /// It is a cluster, or a bundle of one.
    pub(super) is_whole: bool,
}

impl Observed {
    pub(super) fn side(&self, label: &str) -> Side<'_> {
        Side {
            label: label.to_owned(),
            world: &self.world,
            now: self.now,
            is_whole: self.is_whole,
        }
    }
}

/// Observes a cluster, or takes files in its place.
pub(super) fn observe(
    args: &ObservationArgs,
    connection: &ConnectionArgs,
    input: &InputArgs,
    request: &Request,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<Observed, Error> {
    if !input.from.is_empty() {
        return take(&input.from, input.now, env);
    }
    let live = runtime.block_on(args.connect(connection, env))??;
    let origins = [Origin::Live(Box::new(live))];
    observed(
        &origins,
        |world| wants::wants(world, request),
        input.now,
        runtime,
        env,
    )
}

/// Observes a cluster of some context.
pub(super) fn observe_context(
    args: &ObservationArgs,
    connection: &ConnectionArgs,
    context: &str,
    request: &Request,
    runtime: &Runtime,
    env: &Env,
) -> Result<Observed, Error> {
    let live = runtime.block_on(connection.connect_to(context, env))??;
    let live = live.trusting(args.kubelet_ca.clone());
    let origins = [Origin::Live(Box::new(live))];
    observed(
        &origins,
        |world| wants::wants(world, request),
        None,
        runtime,
        env,
    )
}

/// Observes what is wanted of a cluster.
pub(super) fn observed(
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
    now: Option<Timestamp>,
    runtime: &Runtime,
    env: &Env,
) -> Result<Observed, Error> {
    let mut world = World::default();
    read(&mut world, origins, wants, runtime)?;
    Ok(Observed {
        now: now.or(world.now()).unwrap_or_else(|| (env.now)()),
        is_whole: true,
        world,
    })
}

/// Reads a cluster. That it cannot be reached at all is an error, and no answer.
pub(super) fn read(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
    runtime: &Runtime,
) -> Result<(), Error> {
    // What is read whatever there is; a component may have an address of its own.
    let mut base = wants(world);
    base.retain(|want| !matches!(want, Want::Document { .. }));
    runtime.block_on(gather(world, origins, wants))?;
    let is_dead = base
        .iter()
        .all(|want| world.state_of(want) == Some(State::Unreachable));
    if !is_dead {
        return Ok(());
    }
    let why = world.coverage().find_map(|line| line.detail.clone());
    let why = why.unwrap_or_else(|| "the server cannot be reached".to_owned());
    Err(Error::new(Kind::Unreachable, why))
}

/// Takes what files hold.
pub(super) fn take(
    from: &[Place],
    now: Option<Timestamp>,
    env: &mut Env,
) -> Result<Observed, Error> {
    let mut world = World::default();
    let mut origins = Vec::new();
    let mut is_whole = false;
    for place in from {
        let mut collected = offline::open(place, &mut env.stdin, &Focus::default())
            .map_err(|error| offline_error(&error))?;
        is_whole |= collected.recall(&mut world);
        origins.push(Origin::Offline(Box::new(collected)));
    }
    for origin in &origins {
        world.add_source(origin.source());
    }
    pour(&mut world, &mut origins);
    let is_told = world.statements().next().is_some()
        || world.nodes().next().is_some()
        || world.cluster_roles().next().is_some()
        || world.pods().any(|pod| pod.value.component.is_some());
    if !is_told {
        let sentence =
            "the input tells of no component: no Node, no document, no Pod of the control plane";
        return Err(Error::new(Kind::BadData, sentence)
            .hint("name a document's component: --from metrics@kubelet/NODE:PATH"));
    }
    Ok(Observed {
        now: now.or(world.now()).unwrap_or_else(|| (env.now)()),
        is_whole,
        world,
    })
}
