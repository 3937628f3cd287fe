//! `kubectl features preflight`: may a gate be turned on or off, or a version be moved to.
//!
//! Live, or from files in place of a cluster. It must not change anything.

use std::collections::BTreeMap;

use super::fail_on::FailOn;
use super::observation::{ObservationArgs, Observed, observed, take, take_readable};
use super::suppressions::SuppressionArgs;
use crate::analysis::gates::intention::{Earlier, Intention, targets};
use crate::analysis::gates::skew::Request;
use crate::answer::Header;
use crate::answer::check_report::{CheckReport, Outcome};
use crate::catalogue::Catalogue;
use crate::check::reduced::Reducer;
use crate::check::{Facts, RULES, describe, plan, preflight};
use crate::cli::arguments::{ConnectionArgs, InputArgs, LookArgs};
use crate::cli::reporting::{ReportingArgs, rules};
use crate::cli::runtime::Runtime;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::version::Minor;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::document::Reduce;
use crate::source::offline::Place;

const EXAMPLES: &str = "
Examples:
  # May the cluster move to 1.37?
  kubectl features preflight --to-version 1.37

  # What does it take to turn a gate off?
  kubectl features preflight --disable NodeDeclaredFeatures

  # In a pull request: judge configuration files alone
  kubectl features preflight --to-version 1.37 --from kubeadm.yaml --from kubelet.yaml

  # May everything go back to what was saved before?
  kubectl features preflight --rollback-from before.json

";

/// Judge whether a gate may be turned on or off, or a version be moved to
///
/// Works out what each component would be started with then, and checks it: whether it would start, and what its start would do to
/// the cluster. Ends with 3 if a check of severity error fails, and with 5 if one could not be made.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct PreflightArgs {
    #[command(subcommand)]
    about: Option<About>,
    #[command(flatten)]
    intention: IntentionArgs,
    /// Only these checks; may be repeated
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check)]
    select: Vec<String>,
    /// Not these checks; may be repeated
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check)]
    ignore: Vec<String>,
    /// Accept that this check could not be made; may be repeated
    #[arg(long, value_name = "CHECK", value_delimiter = ',', value_parser = check)]
    allow_unknown: Vec<String>,
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
    input: InputArgs,
    #[command(flatten)]
    output: ReportingArgs,
}

/// What is told of the checks themselves.
#[derive(Debug, clap::Subcommand)]
enum About {
    /// List the checks
    List {
        #[command(flatten)]
        look: LookArgs,
    },
    /// Say what a check does, why it matters, and what it cannot see
    Describe {
        #[arg(value_name = "CHECK", value_parser = check)]
        check: String,
        #[command(flatten)]
        look: LookArgs,
    },
}

/// Exactly one of them, except that gates are turned on and off together.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Intentions")]
struct IntentionArgs {
    /// Other binaries: this minor, up or down
    #[arg(long, value_name = "MINOR", value_parser = minor)]
    to_version: Option<Minor>,
    /// Control plane components that behave as this minor
    #[arg(long, value_name = "MINOR", value_parser = any_minor, conflicts_with = "to_version")]
    to_emulated_version: Option<Minor>,
    /// Turn this gate on; may be repeated
    #[arg(long, value_name = "GATE", value_delimiter = ',', conflicts_with_all = ["to_version", "to_emulated_version"])]
    enable: Vec<String>,
    /// Turn this gate off; may be repeated
    #[arg(long, value_name = "GATE", value_delimiter = ',', conflicts_with_all = ["to_version", "to_emulated_version"])]
    disable: Vec<String>,
    /// Set gates as --feature-gates has them, A=true,B=false
    #[arg(long, value_name = "GATES", conflicts_with_all = ["to_version", "to_emulated_version"])]
    set: Vec<String>,
    /// Go back to what this snapshot, bundle or file tells of
    #[arg(long, value_name = "PATH", conflicts_with_all = ["to_version", "to_emulated_version", "enable", "disable", "set"])]
    rollback_from: Vec<Place>,
    /// Take components for this minor of which nothing tells the version, as of a kubelet's configuration file
    #[arg(long, value_name = "MINOR", value_parser = minor)]
    assume_version: Option<Minor>,
}

/// What a binary can emulate is its own to say.
fn any_minor(text: &str) -> Result<Minor, String> {
    let newest = Catalogue::known().newest();
    let text = text.strip_prefix('v').unwrap_or(text);
    Minor::parse(text).ok_or_else(|| format!("give a minor, e.g. {newest}"))
}

fn minor(text: &str) -> Result<Minor, String> {
    let known = Catalogue::known();
    let (oldest, newest) = (known.oldest(), known.newest());
    let minor = any_minor(text)?;
    if known.gates(minor).is_none() {
        return Err(format!(
            "gates of {oldest} to {newest} are known, not of {minor}"
        ));
    }
    Ok(minor)
}

fn check(text: &str) -> Result<String, String> {
    if RULES.iter().any(|rule| rule.id == text) {
        return Ok(text.to_owned());
    }
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    Err(format!(
        "there is no check {text:?}; there are {}",
        ids.join(", ")
    ))
}

impl IntentionArgs {
    /// The intention; a rollback's files are read here.
    fn intention(&self, env: &mut Env) -> Result<Intention, Error> {
        let usage = |sentence: &str| Error::new(Kind::Usage, sentence);
        if let Some(minor) = self.to_version {
            return Ok(Intention::ToVersion(minor));
        }
        if let Some(minor) = self.to_emulated_version {
            return Ok(Intention::ToEmulatedVersion(minor));
        }
        if !self.rollback_from.is_empty() {
            let earlier = take(&self.rollback_from, None, env)?;
            let earlier = Earlier::of(&earlier.world);
            return Ok(Intention::RollbackTo(earlier));
        }
        let mut gates = BTreeMap::new();
        let all = [(&self.enable, true), (&self.disable, false)];
        let named = all
            .into_iter()
            .flat_map(|(names, on)| names.iter().map(move |name| (name.clone(), on)));
        let mut wanted: Vec<(String, bool)> = named.collect();
        for text in self
            .set
            .iter()
            .flat_map(|text| text.split(','))
            .filter(|text| !text.is_empty())
        {
            let pair = text.split_once('=');
            let pair = pair.and_then(|(name, value)| {
                Some((name.trim().to_owned(), value.trim().parse().ok()?))
            });
            wanted.push(
                pair.ok_or_else(|| usage(&format!("{text:?} is not NAME=true or NAME=false")))?,
            );
        }
        for (name, on) in wanted {
            preflight::known_name(&name).map_err(|sentence| {
                Error::new(Kind::Usage, sentence).hint("list them with: kubectl features lookup")
            })?;
            if gates.insert(name.clone(), on) == Some(!on) {
                return Err(usage(&format!("{name} is to be turned on and off")));
            }
        }
        if gates.is_empty() {
            return Err(usage(
                "say what is meant: --to-version, --to-emulated-version, --enable, --disable, --set or --rollback-from",
            ));
        }
        Ok(Intention::Set(gates))
    }
}

pub(super) fn run(args: &PreflightArgs, env: &mut Env) -> Result<u8, Error> {
    match &args.about {
        Some(About::List { look }) => {
            look.draw(&describe::list(), env)?;
            return Ok(exit::DONE);
        }
        Some(About::Describe { check, look }) => {
            let rule = RULES.iter().find(|rule| rule.id == check);
            look.draw(&rule.map(describe::one).unwrap_or_default(), env)?;
            return Ok(exit::DONE);
        }
        None => {}
    }

    // Parse.
    args.output.start_logging();
    let runtime = Runtime::start()?;
    let intention = args.intention.intention(env)?;
    let ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
    let accepted = args.suppressions.accepted(&ids, &runtime, env)?;
    let request = Request {
        assumed: args.intention.assume_version,
        ..args.observation.request()
    };

    // Gather.
    let observed = observe(args, &intention, &request, &runtime, env)?;

    // Analyse.
    let world = &observed.world;
    let facts = Facts {
        targets: targets(world, &intention, &request),
        intention: &intention,
        request: &request,
        now: observed.now,
        world,
    };
    let is_chosen = |id: &str| {
        let is_in = |list: &[String]| list.iter().any(|known| known == id);
        (args.select.is_empty() || is_in(&args.select)) && !is_in(&args.ignore)
    };
    let mut checks: Vec<_> = RULES
        .iter()
        .filter(|rule| is_chosen(rule.id))
        .map(|rule| rule.check(&facts))
        .collect();
    accepted.apply(&mut checks, args.input.now, env);
    preflight::allow(&mut checks, &args.allow_unknown);
    let header = Header::of("CheckReport", world, observed.now, (env.now)());
    let mut answer = CheckReport::new(header, preflight::sentence(&facts), checks);
    answer.smallest_change = preflight::smallest_change(&facts);
    if matches!(answer.result, Outcome::Pass | Outcome::Warn) {
        answer.plan = if answer.checks.len() == RULES.len() {
            plan::plan(&facts)
        } else {
            vec![plan::NONE.to_owned()]
        };
    }

    // Show.
    args.output.show(&answer, rules(), env)?;
    Ok(observed.code(args.fail_on.code_of(&answer)))
}

fn observe(
    args: &PreflightArgs,
    intention: &Intention,
    request: &Request,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<Observed, Error> {
    if !args.input.from.is_empty() {
        return take_readable(&args.input.from, args.input.now, env);
    }
    let live = runtime.block_on(args.observation.connect(&args.connection, env))??;
    let reducer = Reducer::default();
    let live = live.reducing(Reduce::by(move |pod| reducer.reduce(pod)));
    let origins = [Origin::Live(Box::new(live))];
    let (now, start) = (args.input.now, (env.now)());
    let wants = |world: &World| {
        let now = now.or(world.now()).unwrap_or(start);
        preflight::wants(world, intention, request, now)
    };
    observed(&origins, wants, now, runtime, env)
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test reads files")]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::model::fact::{Content, Fact};
    use crate::model::pod::Pod;
    use crate::source::document;

    const GATES: [(&str, bool); 7] = [
        ("AllAlpha", true),
        ("AllBeta", false),
        ("InPlacePodLevelResourcesVerticalScaling", false),
        ("InPlacePodVerticalScaling", false),
        ("InPlacePodVerticalScaling", true),
        ("NominatedNodeNameForExpectation", false),
        ("RestartAllContainersOnContainerExits", false),
    ];

    /// A field that is kept, and what leaves it out.
    type Kept = (&'static str, fn(&mut Pod));

    /// The files of each case, as one World, with its Pods changed so.
    fn worlds(change: impl Fn(&mut Pod)) -> Vec<World> {
        let cases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/features-preflight");
        let mut folders: Vec<_> = std::fs::read_dir(cases)
            .expect("cases are there")
            .map(|case| case.expect("it can be read").path().join("in"))
            .collect();
        // Those of what matters to Pods first: most fields are read there.
        folders.sort();
        folders.reverse();
        let world = |folder: &Path| {
            let mut world = World::default();
            for file in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let bytes = std::fs::read(file.path()).unwrap_or_default();
                for mut content in document::read(&bytes).contents {
                    if let Content::Pod(pod) = &mut content {
                        change(pod);
                    }
                    let source = "a".into();
                    world.fold(Fact { source, content });
                }
            }
            world.settle();
            world
        };
        let worlds = folders.iter().map(|folder| world(folder));
        // Without Pods there is nothing to leave out.
        worlds.filter(|it| it.pods().next().is_some()).collect()
    }

    /// What rules say of each, as it is asked for.
    fn answers(worlds: &[World]) -> impl Iterator<Item = String> {
        let set = |(gate, on): (&str, bool)| Intention::Set(BTreeMap::from([(gate.into(), on)]));
        let mut intentions = vec![Intention::ToVersion(Minor(37))];
        intentions.extend(GATES.map(set));
        worlds.iter().flat_map(move |world| {
            let judged = |intention| judged(world, intention);
            intentions.iter().map(judged).collect::<Vec<_>>()
        })
    }

    fn judged(world: &World, intention: &Intention) -> String {
        let request = Request::default();
        let facts = Facts {
            targets: targets(world, intention, &request),
            intention,
            request: &request,
            now: "2026-11-30T10:00:00Z".parse().expect("a time"),
            world,
        };
        let checks: Vec<_> = RULES.iter().map(|rule| rule.check(&facts)).collect();
        serde_json::to_string(&checks).expect("it is data")
    }

    #[test]
    fn pods_that_are_alike_share_what_is_left_of_them_until_one_changes() {
        let pod = |name: &str, node: &str| {
            let text = format!(
                r#"{{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{name}","labels":{{"pod":"{name}"}}}},"spec":{{{node}"containers":[{{}}],"volumes":[{{"persistentVolumeClaim":{{"claimName":"{name}"}}}}]}}}}"#
            );
            match document::read(text.as_bytes()).contents.pop() {
                Some(Content::Pod(pod)) => *pod,
                other => panic!("{other:?}"),
            }
        };
        let reducer = Reducer::default();
        let [mut one, mut two] = ["one", "two"].map(|name| pod(name, r#""nodeName":"a","#));
        reducer.reduce(&mut one);
        reducer.reduce(&mut two);
        assert!(std::sync::Arc::ptr_eq(&one.traits, &two.traits));
        assert_eq!(one.claims.len(), 1);
        two.phase = Some("Failed".to_owned());
        assert_eq!(one.phase, None);
        let mut waiting = pod("three", "");
        reducer.reduce(&mut waiting);
        assert_eq!(waiting.labels.len(), 1);
    }

    #[test]
    fn rules_read_nothing_that_is_left_out_of_pods_that_run() {
        let whole: Vec<String> = answers(&worlds(|_| ())).collect();
        let reducer = Reducer::default();
        let less = worlds(|pod| reducer.reduce(pod));
        assert_eq!(answers(&less).collect::<Vec<_>>(), whole);
        let kept: [Kept; 9] = [
            ("claims", |pod| pod.claims = Vec::new()),
            ("component", |pod| pod.component = None),
            ("conditions", |pod| pod.conditions = Vec::new()),
            ("controller", |pod| pod.controller = None),
            ("deletion", |pod| pod.deletion = None),
            ("group", |pod| pod.group = None),
            ("needs", |pod| pod.needs = None),
            ("phase", |pod| pod.phase = None),
            ("requests", |pod| pod.requests = BTreeMap::new()),
        ];
        for (field, leave_out) in kept {
            let of_running = |pod: &mut Pod| {
                if pod.node.is_some() {
                    leave_out(pod);
                }
            };
            let is_read = answers(&worlds(of_running)).ne(whole.iter().cloned());
            assert!(is_read, "no rule reads {field} of any case");
        }
    }
}
