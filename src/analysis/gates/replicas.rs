//! The replicas of the API server: how many there are, how each is read, and whether all were.
//!
//! Their addresses and leases tell of them, and neither tells a gate. Replicas on hosts of one name share a lease, and a lease
//! holds for an hour after its holder has gone. It must not take one replica for all of them.

use jiff::{SignedDuration, Timestamp};

use super::process::Process;
use crate::model::component::{ComponentKind, ComponentName, Document};
use crate::model::coverage::{Coverage, State};
use crate::model::replica::Replica;
use crate::model::want::{SERVER_SAMPLES, Want, Way};
use crate::model::world::World;

/// What an API server tells.
pub(super) const OF_SERVER: [Document; 4] = [
    Document::Flagz,
    Document::Metrics,
    Document::Statusz,
    Document::Version,
];

/// Each at its own address, where there are several; the connection reaches a single one. Where addresses are hidden or lead to
/// nobody, the connection is made anew until everybody has answered.
pub(super) fn wants(world: &World) -> Vec<Want> {
    let addresses = addresses(world);
    let expected = expected(world);
    let samples = Want::ServerSamples { expected };
    match addresses.as_slice() {
        [] | [_] => {
            let one = addresses.first().copied().unwrap_or_default();
            let whole = documents(one, &Way::Server);
            match world.state_of(&samples) {
                _ if expected == Some(1) => whole.into(),
                // What needs no right is read all the same.
                Some(State::Denied) => whole.into_iter().chain([samples]).collect(),
                _ => vec![samples],
            }
        }
        several => {
            let mut wants: Vec<Want> = several
                .iter()
                .flat_map(|address| documents(address, &Way::Address(format!("https://{address}"))))
                .collect();
            let is_told = |want: &Want| world.state_of(want).is_some();
            let is_reached = |want: &Want| world.is_complete(want);
            if wants.iter().all(is_told) && !wants.iter().any(is_reached) {
                wants.push(samples);
            }
            wants
        }
    }
}

fn documents(identity: &str, way: &Way) -> [Want; OF_SERVER.len()] {
    let component = ComponentName::new(ComponentKind::KubeApiserver, identity);
    OF_SERVER.map(|document| Want::Document {
        component: component.clone(),
        document,
        way: way.clone(),
    })
}

fn addresses(world: &World) -> Vec<&str> {
    let addresses = world.replicas().filter_map(|replica| match replica {
        Replica::Address(address) => Some(address.as_str()),
        Replica::Lease { .. } => None,
    });
    addresses.collect()
}

/// How many replicas leave a trace; null where none was to be seen.
fn expected(world: &World) -> Option<usize> {
    let now = world.now();
    let leases = world.replicas().filter(|replica| match replica {
        Replica::Lease {
            renewed, seconds, ..
        } => holds(*renewed, *seconds, now),
        Replica::Address(_) => false,
    });
    let count = leases.count().max(addresses(world).len());
    (count > 0).then_some(count)
}

fn holds(renewed: Option<Timestamp>, seconds: i64, now: Option<Timestamp>) -> bool {
    let (Some(renewed), Some(now)) = (renewed, now) else {
        return true;
    };
    let end = renewed.checked_add(SignedDuration::from_secs(seconds));
    end.map_or(true, |end| now <= end)
}

/// What is known of replicas that nobody saw.
pub(super) fn missing(world: &World, processes: &[Process<'_>]) -> Option<Coverage> {
    let seen = processes
        .iter()
        .filter(|it| it.name.kind == ComponentKind::KubeApiserver && it.runs.is_some())
        .count();
    // Where none was read, that is said of each.
    let expected = expected(world).filter(|expected| seen > 0 && seen < *expected)?;
    Some(Coverage {
        source: String::new(),
        subject: ComponentKind::KubeApiserver.word().to_owned(),
        state: State::Partial,
        detail: Some(format!(
            "leases and addresses tell of {expected} API servers, and {seen} told their gates"
        )),
        location: None,
    })
}

/// Whether replicas were looked for and nobody knows if all of them were found.
pub(super) fn is_unsure(world: &World) -> bool {
    world
        .coverage()
        .any(|line| line.subject == SERVER_SAMPLES && line.state != State::Complete)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::fact::{Content, Fact};

    fn world(replicas: &[Replica]) -> World {
        let mut world = World::default();
        world.fold(Fact {
            source: "test".into(),
            content: Content::Replicas(replicas.to_vec()),
        });
        world
    }

    fn address(text: &str) -> Replica {
        Replica::Address(text.to_owned())
    }

    /// It holds for an hour, as leases of API servers do.
    fn lease(name: &str, renewed: &str) -> Replica {
        Replica::Lease {
            name: name.to_owned(),
            host: None,
            address: None,
            renewed: Some(renewed.parse().expect("a time")),
            seconds: 3600,
        }
    }

    fn is_sampled(world: &World) -> bool {
        let mut wants = wants(world).into_iter();
        wants.any(|want| matches!(want, Want::ServerSamples { .. }))
    }

    /// A world in which all that is wanted of several addresses came to this.
    fn with_answers(state: impl Fn(&str) -> State) -> World {
        let mut world = world(&[address("10.0.0.1:6443"), address("10.0.0.2:6443")]);
        for want in wants(&world) {
            if let Want::Document { component, .. } = &want {
                let state = state(&component.identity);
                world.answer(want, state);
            }
        }
        world
    }

    #[test]
    fn the_connection_is_sampled_where_no_address_leads_to_anybody() {
        assert!(is_sampled(&with_answers(|_| State::Unreachable)));
        assert!(is_sampled(&with_answers(|_| State::Denied)));
        let one = |identity: &str| match identity {
            "10.0.0.1:6443" => State::Complete,
            _ => State::Unreachable,
        };
        assert!(!is_sampled(&with_answers(one)));
        let unasked = world(&[address("10.0.0.1:6443"), address("10.0.0.2:6443")]);
        assert!(!is_sampled(&unasked));
    }

    #[test]
    fn a_single_one_is_read_once_and_an_unknown_number_is_sampled() {
        assert!(is_sampled(&world(&[])));
        assert!(!is_sampled(&world(&[address("10.0.0.1:6443")])));
        let (fresh, stale) = ("2026-01-01T10:00:00Z", "2026-01-01T08:59:59Z");
        let leases = |second: &str| {
            let mut world = world(&[lease("a", fresh), lease("b", second)]);
            world.set_clock(fresh.parse().expect("a time"));
            world
        };
        assert!(is_sampled(&leases(fresh)));
        assert!(!is_sampled(&leases(stale)));
    }
}
