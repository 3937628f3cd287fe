//! Properties of every explanation, over random worlds: one verdict, any order of facts, no certainty out of less.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

use super::access::questions;
use super::explain::{explain, explain_all, wants};
use super::select::{Request, Selection, Target, choose};
use crate::answer::nomination_explanation::{NominationExplanation, VerdictKind};
use crate::model::access::Right;
use crate::model::coverage::State;
use crate::model::event::{Event, Regarding};
use crate::model::fact::{Content, Fact};
use crate::model::node::{Declared, Node, Ready};
use crate::model::pod::{Condition, FieldOwner, OwnedField, Pod, PodName, ResourceVersion, Uid};
use crate::model::selector::{FieldSelector, LabelSelector};
use crate::model::want::Want;
use crate::model::workload::{Workload, WorkloadKind};
use crate::model::world::World;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_780_000_000 + second).expect("it is in range")
}

fn name(name: &str) -> PodName {
    PodName {
        namespace: "shop".to_owned(),
        name: name.to_owned(),
    }
}

fn node_name() -> impl Strategy<Value = Option<String>> {
    prop::option::of(prop::sample::select(vec!["n1".to_owned(), "n2".to_owned()]))
}

fn condition() -> impl Strategy<Value = Option<Condition>> {
    let reason = prop::sample::select(vec![
        "Unschedulable",
        "SchedulerError",
        "SchedulingGated",
        "PreemptionByScheduler",
    ]);
    let kind = prop::sample::select(vec!["PodScheduled", "DisruptionTarget"]);
    let message = prop::sample::select(vec![
        "0/2 nodes are available: 2 Insufficient cpu. preemption: not eligible due to a terminating pod on the nominated node.",
        "running PreBind plugin \"VolumeBinding\": binding volumes: context deadline exceeded",
        "nobody knows this text",
    ]);
    prop::option::of((kind, any::<bool>(), reason, message).prop_map(
        |(kind, status, reason, message)| Condition {
            kind: kind.to_owned(),
            status: if status { "True" } else { "False" }.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_transition: Some(at(3)),
        },
    ))
}

fn owners() -> impl Strategy<Value = Option<Vec<FieldOwner>>> {
    let fields = prop::collection::btree_set(
        prop::sample::select(vec![
            OwnedField::NominatedNode,
            OwnedField::ScheduledMessage,
            OwnedField::NodeName,
            OwnedField::Decision,
        ]),
        0..3,
    );
    let manager = prop::sample::select(vec!["kube-scheduler", "packer", "observer"]);
    let owner = (manager, fields).prop_map(|(manager, owns)| FieldOwner {
        manager: manager.to_owned(),
        subresource: Some("status".to_owned()),
        time: Some(at(2)),
        owns,
    });
    prop::option::of(prop::collection::vec(owner, 0..3))
}

fn pod(name_of: &'static str, uid: &'static str) -> impl Strategy<Value = Pod> {
    let decision = prop::option::of(Just(
        r#"{"id":"d","node":"n1","recommender":"r","expiresAt":"2026-05-28T20:26:50Z"}"#.to_owned(),
    ));
    let phase = prop::sample::select(vec!["Pending", "Running", "Failed"]);
    let parts = (
        node_name(),
        node_name(),
        condition(),
        owners(),
        decision,
        phase,
        prop::option::of(0_i64..60),
        any::<bool>(),
        0_u64..9,
    );
    parts.prop_map(
        move |(
            node,
            nominated_node,
            condition,
            managed_fields,
            decision,
            phase,
            deletion,
            gated,
            version,
        )| Pod {
            name: name(name_of),
            uid: Uid(uid.to_owned()),
            resource_version: Some(ResourceVersion(version)),
            created: Some(at(0)),
            deletion: deletion.map(at),
            deletion_grace_seconds: deletion,
            finalizers: Vec::new(),
            controller: None,
            controller_uid: None,
            labels: std::collections::BTreeMap::new(),
            from_kubelet: false,
            decision,
            managed_fields,
            scheduler_name: "default-scheduler".to_owned(),
            priority: Some(0),
            preemption_policy: None,
            node,
            gates: if gated {
                vec!["g".to_owned()]
            } else {
                Vec::new()
            },
            group: None,
            needs: None,
            component: None,
            requests: crate::model::quantity::Resources::new().into(),
            tolerations: Vec::new(),
            choice: None,
            claims: Vec::new(),
            phase: Some(phase.to_owned()),
            reason: (phase == "Failed").then(|| "OutOfcpu".to_owned()),
            message: None,
            start: None,
            nominated_node,
            conditions: condition.into_iter().collect(),
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let about = prop::sample::select(vec![
        ("web", "u-web"),
        ("web", "u-old"),
        ("other", "u-other"),
    ]);
    let what = prop::sample::select(vec![
        ("Preempted", "Preempted by pod u-web on node n1"),
        ("Preempted", "Preempted by pod u-web on node n2"),
        ("Preempted", "Preempted by pod u-other on node n1"),
        (
            "FailedScheduling",
            "0/2 nodes are available: 2 Insufficient cpu.",
        ),
        ("Scheduled", "Successfully assigned shop/web to n1"),
        ("Nominated", "Pod should schedule on: nodeclaim/x"),
    ]);
    let reporter = prop::sample::select(vec!["default-scheduler", "karpenter"]);
    (about, what, reporter, 0_i64..60).prop_map(|((pod, uid), (reason, note), reporter, second)| {
        Event {
            // What is told otherwise is another event.
            uid: Some(Uid(format!("e-{uid}-{reporter}-{note}-{second}"))),
            name: format!("shop/e-{second}"),
            regarding: Some(Regarding {
                kind: "Pod".to_owned(),
                name: name(pod),
                uid: Some(Uid(uid.to_owned())),
                resource_version: None,
            }),
            related: None,
            reason: reason.to_owned(),
            note: note.to_owned(),
            warning: false,
            reporter: reporter.to_owned(),
            manager: Some("kube-scheduler".to_owned()),
            first: Some(at(second)),
            last: Some(at(second)),
            count: 1,
        }
    })
}

fn node() -> impl Strategy<Value = Node> {
    (
        prop::sample::select(vec!["n1", "n2"]),
        any::<bool>(),
        prop::option::of(prop::sample::select(vec![
            Ready::True,
            Ready::False,
            Ready::Unknown,
        ])),
    )
        .prop_map(|(name, unschedulable, ready)| Node {
            name: name.to_owned(),
            created: Some(at(0)),
            labels: std::collections::BTreeMap::new(),
            kubelet_version: None,
            container_runtime: None,
            heartbeat: None,
            declared: Declared::default(),
            kubelet_endpoint: None,
            unschedulable,
            taints: Vec::new(),
            allocatable: crate::model::quantity::Resources::new(),
            ready,
            ready_since: Some(at(1)),
            newest_observation: Some(at(1)),
        })
}

/// Facts, each as if a source of its own had told it; events of one UID are told alike.
fn facts() -> impl Strategy<Value = Vec<Fact>> {
    let others = prop::collection::vec(
        prop_oneof![
            pod("other", "u-other").prop_map(|pod| Content::Pod(Box::new(pod))),
            event().prop_map(|event| Content::Event(Box::new(event))),
            node().prop_map(|node| Content::Node(Box::new(node))),
        ],
        0..8,
    );
    (pod("web", "u-web"), others).prop_map(|(web, others)| {
        std::iter::once(Content::Pod(Box::new(web)))
            .chain(others)
            .enumerate()
            .map(|(index, content)| Fact {
                source: format!("s{index}"),
                content,
            })
            .collect()
    })
}

const READS: [fn() -> Want; 5] = [
    || Want::EventsAbout {
        namespace: Some("shop".to_owned()),
        uid: Uid("u-web".to_owned()),
    },
    || Want::Node("n1".to_owned()),
    || Want::Node("n2".to_owned()),
    || Want::PodsOnNode("n1".to_owned()),
    || Want::PreemptedEvents,
];

/// A world in which all reads were complete but those that are denied; a denied read told nothing.
fn world(facts: &[Fact], denied: &BTreeSet<usize>) -> World {
    let mut world = World::default();
    let is_denied = |want: &Want| {
        READS
            .iter()
            .enumerate()
            .any(|(index, read)| denied.contains(&index) && read() == *want)
    };
    for fact in facts {
        let by_a_denied_read = match &fact.content {
            Content::Pod(pod) | Content::Draft(pod) => {
                pod.uid.0 != "u-web"
                    && pod
                        .node
                        .clone()
                        .is_some_and(|node| is_denied(&Want::PodsOnNode(node)))
            }
            Content::Node(node) => is_denied(&Want::Node(node.name.clone())),
            Content::Event(event)
                if event.reason == "Preempted" && !event.is_about(&Uid("u-web".to_owned())) =>
            {
                is_denied(&Want::PreemptedEvents)
            }
            Content::Event(_) => is_denied(&READS[0]()),
            Content::Claim(_)
            | Content::Version(_)
            | Content::Workload(_)
            | Content::Write(_)
            | Content::Line(_)
            | Content::Statements(_)
            | Content::NodeLease(_)
            | Content::Grant(_)
            | Content::Replicas(_) => false,
        };
        if !by_a_denied_read {
            world.fold(fact.clone());
        }
    }
    for (index, read) in READS.iter().enumerate() {
        world.answer(
            read(),
            if denied.contains(&index) {
                State::Denied
            } else {
                State::Complete
            },
        );
    }
    for read in [
        Want::PodsOnNode("n2".to_owned()),
        Want::NominatedPods,
        Want::ServerVersion,
        Want::AnyEventBy("default-scheduler".to_owned()),
        Want::EventsAbout {
            namespace: Some("shop".to_owned()),
            uid: Uid("u-other".to_owned()),
        },
    ] {
        world.answer(read, State::Complete);
    }
    world
}

fn request() -> Request {
    Request {
        selection: Selection::Named(vec![Target {
            workload: None,
            name: "web".to_owned(),
        }]),
        namespace: Some("shop".to_owned()),
        context: None,
    }
}

fn everything() -> Selection {
    Selection::Matching {
        labels: LabelSelector::default(),
        fields: FieldSelector::default(),
    }
}

fn selection() -> impl Strategy<Value = Selection> {
    let target = |workload, name: &str| {
        Selection::Named(vec![Target {
            workload,
            name: name.to_owned(),
        }])
    };
    prop::sample::select(vec![
        everything(),
        target(None, "web"),
        target(Some(WorkloadKind::Deployment), "web"),
        Selection::Uid(Uid("u-web".to_owned())),
        Selection::Uid(Uid("u-old".to_owned())),
    ])
}

fn deployment() -> Workload {
    Workload {
        kind: WorkloadKind::Deployment,
        name: name("web"),
        uid: Uid("u-deployment".to_owned()),
        selector: "app=web".parse().ok(),
        controller: None,
        template: None,
    }
}

fn judged(world: &World, now: i64) -> NominationExplanation {
    let request = request();
    let chosen = choose(world, &request).pods;
    let pod = chosen.first().expect("the Pod is always told of");
    explain(world, &request, pod, at(now), at(now))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_verdict_rests_on_evidence(facts in facts(), now in 0_i64..200) {
        let answer = judged(&world(&facts, &BTreeSet::new()), now);
        prop_assert!(!answer.verdict.evidence.is_empty(), "{:?}", answer.verdict);
        prop_assert!(answer.verdict.summary.ends_with('.'), "{:?}", answer.verdict.summary);
        prop_assert!(!answer.verdict.overdue || answer.victims.iter().any(|victim| victim.overdue));
        // The field alone never counts as an outcome.
        let bound = matches!(answer.verdict.kind, VerdictKind::Honoured | VerdictKind::Moved | VerdictKind::Bypassed | VerdictKind::RefusedByKubelet);
        prop_assert!(!bound || answer.binding.is_some(), "{:?}", answer.verdict);
    }

    #[test]
    fn the_order_of_facts_does_not_matter(facts in facts(), order in any::<prop::sample::Index>(), now in 0_i64..200) {
        let mut turned = facts.clone();
        turned.rotate_left(order.index(facts.len()));
        turned.reverse();
        let none = BTreeSet::new();
        prop_assert_eq!(judged(&world(&facts, &none), now), judged(&world(&turned, &none), now));
    }

    #[test]
    fn less_to_see_is_never_more_certain(facts in facts(), denied in prop::collection::btree_set(0_usize..READS.len(), 1..4), now in 0_i64..200) {
        let whole = judged(&world(&facts, &BTreeSet::new()), now).verdict;
        let part = judged(&world(&facts, &denied), now).verdict;
        prop_assert!(whole.kind != VerdictKind::Unknown || part.kind == VerdictKind::Unknown, "{whole:#?} became {part:#?}");
    }

    #[test]
    fn what_is_wanted_settles(facts in facts()) {
        let request = request();
        let mut world = world(&facts, &BTreeSet::new());
        world.answer(Want::Pod(name("web")), State::Complete);
        let open: Vec<Want> = wants(&world, &request).into_iter().filter(|want| !world.is_answered(want)).collect();
        prop_assert_eq!(open, Vec::<Want>::new(), "a World that was read whole wants nothing more");
    }

    #[test]
    fn nothing_is_wanted_that_show_access_does_not_list(facts in facts(), claims in 0_usize..3, selection in selection(), scope in prop::option::of(Just("shop".to_owned()))) {
        let request = Request { selection, namespace: scope, context: None };
        let mut world = World::default();
        let listed: Vec<Right> = questions(&request, false).into_iter().flat_map(|question| question.rights).collect();
        for mut fact in facts {
            if let Content::Pod(pod) = &mut fact.content {
                pod.claims = vec!["data".to_owned(); claims];
                pod.controller = Some("ReplicaSet/web-1".to_owned());
                pod.labels.insert("app".to_owned(), "web".to_owned());
            }
            world.fold(fact);
        }
        world.fold(Fact { source: "s".to_owned(), content: Content::Workload(deployment()) });
        for right in wants(&world, &request).iter().flat_map(Want::rights) {
            let any = Right { name: None, ..right.clone() };
            // A Pod of all namespaces has its own.
            let everywhere = Right { namespace: None, ..any.clone() };
            prop_assert!([&right, &any, &everywhere].into_iter().any(|right| listed.contains(right)), "{right:?}");
        }
    }

    #[test]
    fn an_answer_holds_until_it_says(facts in facts(), now in prop_oneof![2 => 0_i64..75, 3 => 0_i64..15, 1 => 3_560_i64..3_640], part in 0_i64..=4) {
        let world = world(&facts, &BTreeSet::new());
        let answer = judged(&world, now);
        prop_assert!(answer.holds_until.is_none_or(|until| until > at(now)), "{:?}", answer.holds_until);
        // What changes mostly stays so: the last second tells of those before.
        let nanosecond = SignedDuration::from_nanos(1);
        let last = answer.holds_until.map_or(now + 100, |until| (until - nanosecond).as_second() - at(0).as_second());
        let then = now + (last - now) * part / 4;
        let later = judged(&world, then);
        prop_assert!(answer.tells_the_same(&later), "{now}, {then}, {:?}: {:#?} became {:#?}", answer.holds_until, answer.verdict, later.verdict);
        prop_assert_eq!(answer.settled, later.settled);
    }

    #[test]
    fn of_several_each_is_explained_as_if_alone(facts in facts(), now in 0_i64..200) {
        let world = world(&facts, &BTreeSet::new());
        let request = Request { selection: everything(), namespace: Some("shop".to_owned()), context: None };
        let chosen = choose(&world, &request).pods;
        let list = explain_all(&world, &request, &chosen, at(now), at(now));
        prop_assert_eq!(list.items.len(), chosen.len());
        for item in &list.items {
            let pod = world.pod(&Uid(item.pod.uid.clone())).expect("it was chosen");
            let alone = explain(&world, &request, pod, at(now), at(now));
            prop_assert_eq!((&item.verdict, &item.timeline), (&alone.verdict, &alone.timeline));
        }
        // Stuck ones first.
        let bound: Vec<bool> = list.items.iter().map(|item| item.binding.is_some()).collect();
        prop_assert!(bound.is_sorted(), "{bound:?}");
    }
}
