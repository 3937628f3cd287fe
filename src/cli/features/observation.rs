//! Flags of the commands that observe gates, and how they are observed: from the cluster, or from files in its place.
//!
//! It must not compare what was observed.

use std::collections::BTreeSet;

use jiff::Timestamp;

use crate::analysis::gates::skew::{Request, Side};
use crate::analysis::gates::wants;
use crate::cli::arguments::{ConnectionArgs, InputArgs, offline_error};
use crate::cli::progress::ProgressLine;
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::model::component::{ComponentKind, ComponentName};
use crate::model::coverage::{Coverage, State};
use crate::model::pod::PodName;
use crate::model::want::{Want, Way};
use crate::model::world::World;
use crate::source::audit::Focus;
use crate::source::gather::{gather_telling, leave, pour};
use crate::source::live::Live;
use crate::source::offline::{OfflineError, Place};
use crate::source::pin::Fingerprint;
use crate::source::{Origin, offline};

#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Observation options")]
pub(super) struct ObservationArgs {
    /// Only this kind (kubelet), or reach this component at its own address (kube-scheduler=https://127.0.0.1:10259) or through
    /// its Pod (kube-scheduler=pod:NAMESPACE/POD[:PORT]); may be repeated
    #[arg(long, value_name = "KIND|NAME=URL|NAME=pod:NAMESPACE/POD", value_parser = component)]
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
    /// Certificates that sign those of kubelets and of components reached at their own addresses or through their Pods
    #[arg(long, value_name = "FILE")]
    kubelet_ca: Option<String>,
    /// Trust a component that signs its own certificate by the SHA-256 fingerprint of that certificate, in hex; may be repeated
    #[arg(long, value_name = "NAME=FINGERPRINT", value_parser = pin)]
    pin: Vec<(ComponentName, Fingerprint)>,
}

/// What `--component` names.
#[derive(Debug, Clone)]
enum Component {
    Kind(ComponentKind),
    At(ComponentName, Way),
}

fn component(text: &str) -> Result<Component, String> {
    let Some((name, place)) = text.split_once('=') else {
        return ComponentKind::of_word(text)
            .map(Component::Kind)
            .ok_or_else(|| {
                let all = ComponentKind::ALL.map(ComponentKind::word).join(", ");
                format!("it is none of {all}")
            });
    };
    let name: ComponentName = name.parse().map_err(|error| format!("{error}"))?;
    let (identity, way) = match place.strip_prefix("pod:") {
        Some(pod) => through_pod(name.kind, pod)?,
        None => at_address(place)?,
    };
    let identity = if name.identity.is_empty() {
        identity
    } else {
        name.identity
    };
    Ok(Component::At(ComponentName::new(name.kind, identity), way))
}

/// What it is called unless the user says otherwise, and the way to it.
fn at_address(url: &str) -> Result<(String, Way), String> {
    let url = url.trim_end_matches('/');
    let host = url.strip_prefix("https://").ok_or_else(|| {
        format!("{url:?} is no https:// address and no pod:NAMESPACE/POD; credentials are sent to no other")
    })?;
    Ok((host.to_owned(), Way::Address(url.to_owned())))
}

fn through_pod(kind: ComponentKind, text: &str) -> Result<(String, Way), String> {
    let usual = wants::port_of(kind).ok_or_else(|| {
        let word = kind.word();
        format!("only schedulers and controller managers are reached through their Pods, no {word}")
    })?;
    let parts = text.split_once('/').map(|(namespace, rest)| {
        let (name, port) = rest.split_once(':').unwrap_or((rest, ""));
        let port = if port.is_empty() {
            Ok(usual)
        } else {
            port.parse()
        };
        (namespace, name, port.ok().filter(|port: &u16| *port > 0))
    });
    let is_name = |text: &str| {
        let is_of_one = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        !text.is_empty() && text.bytes().all(is_of_one)
    };
    match parts {
        Some((namespace, name, Some(port))) if is_name(namespace) && is_name(name) => {
            let pod = PodName {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            };
            Ok((name.to_owned(), Way::Forward { pod, port }))
        }
        _ => Err(format!(
            "{text:?} names no Pod; give pod:NAMESPACE/POD or pod:NAMESPACE/POD:PORT"
        )),
    }
}

/// Reads `NAME=AB:CD:…`, as openssl writes a fingerprint, or without colons.
fn pin(text: &str) -> Result<(ComponentName, Fingerprint), String> {
    let (name, hex) = text.rsplit_once('=').ok_or("give NAME=FINGERPRINT")?;
    let name: ComponentName = name.parse().map_err(|error| format!("{error}"))?;
    let digits: Option<Vec<u8>> = hex
        .chars()
        .filter(|letter| *letter != ':')
        .map(|letter| u8::try_from(letter.to_digit(16)?).ok())
        .collect();
    let bytes = digits.filter(|digits| digits.len() == 2 * size_of::<Fingerprint>());
    let bytes: Option<Vec<u8>> = bytes.map(|digits| {
        let pairs = digits.chunks(2);
        pairs
            .map(|pair| pair.iter().fold(0, |byte, digit| byte << 4 | digit))
            .collect()
    });
    let fingerprint = bytes.and_then(|bytes| bytes.try_into().ok());
    let fingerprint = fingerprint.ok_or("a SHA-256 fingerprint has 64 hexadecimal digits")?;
    Ok((name, fingerprint))
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
                Component::At(name, way) => {
                    request.components.insert((name.clone(), way.clone()));
                }
            }
        }
        request
    }

    /// Whom the origin trusts.
    fn trusted(&self, live: Live) -> Live {
        live.trusting(self.kubelet_ca.clone(), self.pin.iter().cloned().collect())
    }

    pub(super) async fn connect(
        &self,
        connection: &ConnectionArgs,
        env: &Env,
    ) -> Result<Live, Error> {
        let live = connection.connect(env).await?;
        Ok(self.trusted(live))
    }
}

/// All that was observed, and the time to judge by.
pub(super) struct Observed {
    pub(super) world: World,
    pub(super) now: Timestamp,
    /// It is a cluster, or a bundle of one.
    pub(super) is_whole: bool,
    /// The exit code of the signal that ended the observation before its end.
    pub(super) interrupted: Option<u8>,
}

impl Observed {
    /// The exit code of an answer that rests on it: a signal counts before all else.
    pub(super) fn code(&self, code: u8) -> u8 {
        self.interrupted.unwrap_or(code)
    }

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
    env: &mut Env,
) -> Result<Observed, Error> {
    let live = runtime.block_on(connection.connect_to(context, env))??;
    let live = args.trusted(live);
    let origins = [Origin::Live(Box::new(live))];
    observed(
        &origins,
        |world| wants::wants(world, request),
        None,
        runtime,
        env,
    )
}

/// Observes what is wanted of a cluster. Interrupted, it gives what was read until then, if there are nodes to speak of.
pub(super) fn observed(
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
    now: Option<Timestamp>,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<Observed, Error> {
    let mut world = World::default();
    let interrupted = match read(&mut world, origins, &wants, runtime, env) {
        Ok(()) => None,
        Err(error) => match error.kind {
            Kind::Interrupted(code) if world.is_complete(&Want::Nodes) => Some(code),
            _ => return Err(error),
        },
    };
    if interrupted.is_some() {
        leave(&mut world, origins, wants, "not read: interrupted");
    }
    Ok(Observed {
        now: now.or(world.now()).unwrap_or_else(|| (env.now)()),
        is_whole: true,
        interrupted,
        world,
    })
}

/// Reads a cluster. That it cannot be reached at all is an error, and no answer.
pub(super) fn read(
    world: &mut World,
    origins: &[Origin],
    wants: impl Fn(&World) -> BTreeSet<Want>,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<(), Error> {
    // What is read whatever there is; a component may have an address of its own.
    let mut base = wants(world);
    base.retain(|want| !matches!(want, Want::Document { .. } | Want::Count(_)));
    let mut line = ProgressLine::new(env);
    runtime.block_on(gather_telling(world, origins, wants, |progress| {
        line.tell(progress);
    }))?;
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
    taken(from, now, env, |_, error| Err(offline_error(&error)))
}

/// The same of files that can be read. Of the others coverage tells; that none can be read is an error.
pub(super) fn take_readable(
    from: &[Place],
    now: Option<Timestamp>,
    env: &mut Env,
) -> Result<Observed, Error> {
    taken(from, now, env, |place, error| {
        let detail = error.to_string();
        let location = match error {
            OfflineError::Foreign { location, .. } if from.len() > 1 => location,
            other => return Err(offline_error(&other)),
        };
        let path = place.path.display().to_string();
        Ok(Coverage {
            source: path.clone(),
            subject: path,
            state: State::Unreadable,
            detail: Some(detail),
            location,
        })
    })
}

fn taken(
    from: &[Place],
    now: Option<Timestamp>,
    env: &mut Env,
    unread: impl Fn(&Place, OfflineError) -> Result<Coverage, Error>,
) -> Result<Observed, Error> {
    let mut world = World::default();
    let mut origins = Vec::new();
    let mut is_whole = false;
    for place in from {
        let opened = offline::open(place, &mut env.stdin, &Focus::default());
        let mut collected = match opened {
            Ok(collected) => collected,
            Err(error) => {
                world.add_coverage(unread(place, error)?);
                continue;
            }
        };
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
        interrupted: None,
        world,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_component_is_named_by_its_address_or_its_pod() {
        let of = |text: &str| match component(text) {
            Ok(Component::At(name, way)) => Ok((name.to_string(), way)),
            Ok(Component::Kind(kind)) => Err(kind.word().to_owned()),
            Err(why) => Err(why),
        };
        let forward = |name: &str, port| Way::Forward {
            pod: PodName {
                namespace: "batch".to_owned(),
                name: name.to_owned(),
            },
            port,
        };
        let due = ("kube-scheduler/b-0".to_owned(), forward("b-0", 10259));
        assert_eq!(of("kube-scheduler=pod:batch/b-0"), Ok(due));
        let due = ("kube-controller-manager/x".to_owned(), forward("b.c", 9));
        assert_eq!(of("kube-controller-manager/x=pod:batch/b.c:9"), Ok(due));
        let due = Way::Address("https://[::1]:10259".to_owned());
        let due = ("kube-scheduler/[::1]:10259".to_owned(), due);
        assert_eq!(of("kube-scheduler=https://[::1]:10259/"), Ok(due));
        for wrong in [
            "kubelet=pod:batch/b-0",
            "kube-scheduler=pod:b-0",
            "kube-scheduler=pod:batch/b-0:0",
            "kube-scheduler=pod:batch/b-0:http",
            "kube-scheduler=pod:batch/../b",
            "kube-scheduler=pod:batch/",
            "kube-scheduler=http://127.0.0.1:10259",
            "etcd=pod:kube-system/etcd-n1",
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_fingerprint_is_read_as_openssl_writes_it() {
        let colons = ["0f"; 32].join(":").to_uppercase();
        let due = (
            ComponentName::new(ComponentKind::KubeScheduler, "a"),
            [15; 32],
        );
        assert_eq!(pin(&format!("kube-scheduler/a={colons}")), Ok(due.clone()));
        assert_eq!(
            pin(&format!("kube-scheduler/a={}", "0f".repeat(32))),
            Ok(due)
        );
        for wrong in ["kube-scheduler/a=0f", "kube-scheduler/a", "x=0f"] {
            assert!(pin(wrong).is_err(), "{wrong}");
        }
        assert!(pin(&format!("kube-scheduler/a={}0", "0f".repeat(31))).is_err());
    }
}
