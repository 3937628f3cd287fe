//! Trials on real control planes, one cluster a minor and one more where a gate is on, one trial after the other.
//!
//! Where no cluster can run, every trial is ignored with the reason. A trial must not sleep, must not try again, and
//! must take away what it made: the next one needs the room.

#![expect(
    clippy::print_stdout,
    reason = "the main of a test target says why it did nothing"
)]

#[path = "live/api_server.rs"]
mod api_server;
#[path = "live/audited.rs"]
mod audited;
#[path = "live/both.rs"]
mod both;
#[path = "live/clusters.rs"]
mod clusters;
#[path = "live/collected.rs"]
mod collected;
#[path = "live/conformance.rs"]
mod conformance;
#[path = "live/connections.rs"]
mod connections;
#[path = "live/credentials.rs"]
mod credentials;
#[path = "live/declared.rs"]
mod declared;
#[path = "live/dumped.rs"]
mod dumped;
#[path = "live/emulated.rs"]
mod emulated;
#[path = "live/expected.rs"]
mod expected;
#[path = "live/explained.rs"]
mod explained;
#[path = "live/features.rs"]
mod features;
#[path = "live/forgotten.rs"]
mod forgotten;
#[path = "live/forwarded.rs"]
mod forwarded;
#[path = "live/gates.rs"]
mod gates;
#[path = "live/guard.rs"]
mod guard;
#[path = "live/guard_prometheus.rs"]
mod guard_prometheus;
#[path = "live/hostile.rs"]
mod hostile;
#[path = "live/killed.rs"]
mod killed;
#[path = "live/lacking.rs"]
mod lacking;
#[path = "live/logged.rs"]
mod logged;
#[path = "live/machinery.rs"]
mod machinery;
#[path = "live/matrix.rs"]
mod matrix;
#[path = "live/mixed.rs"]
mod mixed;
#[path = "live/moments.rs"]
mod moments;
#[path = "live/plugin.rs"]
mod plugin;
#[path = "live/preflighted.rs"]
mod preflighted;
#[path = "live/probe.rs"]
mod probe;
#[path = "live/proxies.rs"]
mod proxies;
#[path = "live/rbac.rs"]
mod rbac;
#[path = "live/replicas.rs"]
mod replicas;
#[path = "live/requirements.rs"]
mod requirements;
#[path = "live/rows.rs"]
mod rows;
#[path = "live/served.rs"]
mod served;
#[path = "live/skew.rs"]
mod skew;
#[path = "live/starts.rs"]
mod starts;
#[path = "live/watch.rs"]
mod watch;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use testkit::Unavailable;
use testkit::scenario::{GATE_SCENARIOS, SCENARIOS};

use clusters::{Clusters, Kind};

fn main() -> ExitCode {
    testkit::supervise_if_asked();
    if let Some(code) = killed::victim_if_asked() {
        return code;
    }
    let mut arguments = Arguments::from_args();
    // A second cluster at the same time would only make both slow; scenarios share one cluster's room.
    arguments.test_threads = Some(1);
    let unavailable = testkit::available().err();
    let clusters = Arc::new(Clusters::default());
    let mut trials = Vec::new();
    let mut add = |name: String, run: Run| trials.push(trial(name, unavailable.clone(), run));
    // The trials of a cluster stand together, so that one cluster at a time is enough.
    for minor in testkit::minors() {
        // How kubectl finds a server hardly changes; one minor is enough.
        let ways: &[_] = if testkit::minors().last() == Some(&minor) {
            &[connections::CHECKS, credentials::CHECKS, proxies::CHECKS]
        } else {
            &[]
        };
        let checks = machinery::CHECKS
            .iter()
            .chain(hostile::CHECKS)
            .chain(plugin::CHECKS)
            .chain(features::CHECKS)
            .chain(forwarded::CHECKS)
            .chain(ways.iter().copied().flatten())
            .chain(watch::CHECKS);
        for (name, check) in checks {
            let (clusters, kind) = (Arc::clone(&clusters), Kind::Plain(minor.clone()));
            let run = move || clusters.with(&kind, check);
            add(format!("{minor}::{name}"), Box::new(run));
        }
        let played = [
            ("scenario", SCENARIOS, Kind::Plain(minor.clone())),
            ("gates", GATE_SCENARIOS, Kind::OtherGates(minor.clone())),
        ];
        for (group, scenarios, kind) in played {
            for scenario in scenarios.iter().filter(|scenario| scenario.is_for(&minor)) {
                let (clusters, kind) = (Arc::clone(&clusters), kind.clone());
                let run = move || clusters.with(&kind, |cluster| moments::play(cluster, scenario));
                add(
                    format!("{minor}::{group}::{}", scenario.name),
                    Box::new(run),
                );
            }
        }
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", requirements::NAME);
        add(name, Box::new(move || requirements::works(&minor)));
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", starts::NAME);
        add(name, Box::new(move || starts::works(&minor)));
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", logged::NAME);
        let clusters = Arc::clone(&clusters);
        add(name, Box::new(move || logged::works(&clusters, &minor)));
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", served::NAME);
        add(name, Box::new(move || served::works(&minor)));
    }
    if let [.., before, newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", mixed::NAME);
        let (clusters, before, newest) = (Arc::clone(&clusters), before.clone(), newest.clone());
        let run = move || mixed::works(&clusters, &newest, &before);
        add(name, Box::new(run));
    }
    if let [.., before, newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", features::EMULATED);
        let (clusters, before, newest) = (Arc::clone(&clusters), before.clone(), newest.clone());
        let run = move || features::emulates(&clusters, &newest, &before);
        add(name, Box::new(run));
    }
    if let [.., before, newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", emulated::NAME);
        let (clusters, before, newest) = (Arc::clone(&clusters), before.clone(), newest.clone());
        let run = move || emulated::works(&clusters, &newest, &before);
        add(name, Box::new(run));
    }
    if let Some(oldest) = testkit::minors().into_iter().next() {
        let name = format!("{oldest}::{}", conformance::OLD);
        let clusters = Arc::clone(&clusters);
        let run = move || conformance::on_an_old_server(&clusters, &oldest);
        add(name, Box::new(run));
    }
    // Before 1.36 schedulers do not mind declared features unless a gate is turned on.
    for minor in testkit::minors().into_iter().skip(1) {
        let name = format!("{minor}::{}", conformance::NAME);
        let clusters = Arc::clone(&clusters);
        add(
            name,
            Box::new(move || conformance::works(&clusters, &minor)),
        );
    }
    if let Some(newest) = testkit::minors().pop() {
        let name = format!("{newest}::{}", replicas::NAME);
        let clusters = Arc::clone(&clusters);
        add(name, Box::new(move || replicas::works(&clusters, &newest)));
    }
    if let [.., newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", probe::NAME);
        let clusters = Arc::clone(&clusters);
        let run = move || probe::works(&clusters, &testkit::minors());
        add(name, Box::new(run));
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", guard::NAME);
        let clusters = Arc::clone(&clusters);
        add(name, Box::new(move || guard::works(&clusters, &minor)));
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", guard_prometheus::NAME);
        let clusters = Arc::clone(&clusters);
        let run = move || guard_prometheus::works(&clusters, &minor);
        add(name, Box::new(run));
    }
    if let [.., newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", skew::NAME);
        let clusters = Arc::clone(&clusters);
        let run = move || skew::works(&clusters, &testkit::minors());
        add(name, Box::new(run));
    }
    if let [.., newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", explained::NAME);
        let clusters = Arc::clone(&clusters);
        let run = move || explained::works(&clusters, &testkit::minors());
        add(name, Box::new(run));
    }
    if let [.., newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", preflighted::NAME);
        let clusters = Arc::clone(&clusters);
        let run = move || preflighted::works(&clusters, &testkit::minors());
        add(name, Box::new(run));
    }
    for minor in testkit::minors() {
        let name = format!("{minor}::{}", rbac::NAME);
        let clusters = Arc::clone(&clusters);
        add(name, Box::new(move || rbac::works(&clusters, &minor)));
    }
    if let [.., newest] = testkit::minors().as_slice() {
        let name = format!("{newest}::{}", declared::NAME);
        let clusters = Arc::clone(&clusters);
        let run = move || declared::works(&clusters, &testkit::minors());
        add(name, Box::new(run));
    }
    if let Some(newest) = testkit::minors().pop() {
        let (name, minor) = (format!("{newest}::{}", gates::NAME), newest.clone());
        let clusters = Arc::clone(&clusters);
        add(name, Box::new(move || gates::works(&clusters, &minor)));
        let name = format!("{newest}::a_cluster_that_does_not_start_leaves_its_logs");
        let minor = newest.clone();
        add(name, Box::new(move || clusters::leave_their_logs(&minor)));
        let name = format!("{newest}::a_killed_test_leaves_nothing");
        add(name, Box::new(move || killed::leaves_nothing(&newest)));
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    if let (Some(reason), false) = (unavailable, arguments.list) {
        println!("{} live trials ignored: {reason}", conclusion.num_ignored);
    }
    // Ends the last cluster before this process does.
    drop(clusters);
    conclusion.exit_code()
}

type Run = Box<dyn FnOnce() -> Result<(), Failed> + Send>;

/// Makes a trial that is ignored where no cluster can run.
fn trial(name: String, unavailable: Option<Unavailable>, run: Run) -> Trial {
    Trial::ignorable_test(name, move || match unavailable {
        None => run().map(|()| Completion::Completed),
        Some(reason) => Ok(Completion::ignored_with(reason)),
    })
}
