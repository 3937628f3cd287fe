//! `kubectl features guard`: whether a staged roll-out has to stop, by numbers held against those of before.
//!
//! It looks once, or again and again until a number is past its threshold. It must not change anything.

use std::path::PathBuf;
use std::time::Duration;

use super::fail_on::FailOn;
use super::observation::{ObservationArgs, Observed, observed, take};
use super::prometheus::PrometheusArgs;
use super::suppressions::{Accepted, SuppressionArgs, unread};
use crate::analysis::declared::Request;
use crate::analysis::guard::thresholds::{self, Thresholds};
use crate::analysis::guard::{CONDITIONS, Facts, Limit, Rules, readings, wants};
use crate::answer::Header;
use crate::answer::check_report::CheckReport;
use crate::answer::guard_baseline::{self, GuardBaseline};
use crate::cli::arguments::{ConnectionArgs, InputArgs, some_time};
use crate::cli::reporting::ReportingArgs;
use crate::cli::runtime::Runtime;
use crate::cli::tell;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::baseline::Baseline;
use crate::source::watch::Deadline;
use crate::source::{Origin, baseline, revision};

const EXAMPLES: &str = "
Examples:
  # Measure before the roll-out
  kubectl features guard baseline -o json > before.json

  # Watch a step of it; end with 3 at the first number that is past its threshold
  kubectl features guard --baseline before.json --for 10m --every 30s

  # The same where a Prometheus scrapes the control plane, and nobody else may
  kubectl features guard baseline --prometheus http://127.0.0.1:9090 -o json > before.json
  kubectl features guard --baseline before.json --prometheus http://127.0.0.1:9090 --for 10m

  # Look once, with other thresholds
  kubectl features guard --baseline before.json --threshold missing-declarations=+5% --threshold pending-pods=10

";

/// Say whether a staged roll-out has to stop
///
/// Measures what nodes declare, what kubelets run with and which Pods wait for a declared feature, and holds it against thresholds
/// and a baseline. Ends with 3 if a number is past its threshold, and with 5 if one could not be measured.
#[derive(Debug, clap::Args)]
#[command(before_help = EXAMPLES, args_conflicts_with_subcommands = true)]
pub(super) struct GuardArgs {
    #[command(subcommand)]
    measure: Option<Measure>,
    /// Hold it against the numbers of this file, which guard baseline has written; - is standard input
    #[arg(long, value_name = "FILE", required = true)]
    baseline: Option<PathBuf>,
    /// Threshold of a condition: 0.2 or 20%, +0.1 above the baseline, 2x the baseline; may be repeated, and each counts
    #[arg(long, value_name = "CONDITION=VALUE", value_parser = threshold)]
    threshold: Vec<(&'static str, Limit)>,
    /// Thresholds in YAML: of each the condition, the limit and, if need be, its minSample; --threshold and --min-sample count before it
    #[arg(long, value_name = "FILE")]
    thresholds: Option<PathBuf>,
    /// Take a number past its threshold for unknown if it is of fewer nodes or Pods (5)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    min_sample: Option<u64>,
    /// Only these conditions; may be repeated
    #[arg(long, value_name = "CONDITION", value_delimiter = ',', value_parser = thresholds::id)]
    select: Vec<&'static str>,
    /// Look again and again for so long, with a unit (10m)
    #[arg(long = "for", value_name = "DURATION", value_parser = some_time)]
    lasting: Option<Duration>,
    /// Time between two looks, with a unit (30s)
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = some_time, requires = "lasting")]
    every: Duration,
    /// Stop at warnings, too, with 4
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "error")]
    fail_on: FailOn,
    #[command(flatten)]
    suppressions: SuppressionArgs,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, clap::Subcommand)]
enum Measure {
    /// Measure now, for later
    Baseline(CommonArgs),
}

#[derive(Debug, clap::Args)]
struct CommonArgs {
    #[command(flatten)]
    observation: ObservationArgs,
    #[command(flatten)]
    connection: ConnectionArgs,
    #[command(flatten)]
    prometheus: PrometheusArgs,
    #[command(flatten)]
    input: InputArgs,
    #[command(flatten)]
    output: ReportingArgs,
}

fn threshold(text: &str) -> Result<(&'static str, Limit), String> {
    let (name, value) = text.split_once('=').ok_or("give CONDITION=VALUE")?;
    Ok((thresholds::id(name)?, value.parse()?))
}

pub(super) fn run(args: &GuardArgs, env: &mut Env) -> Result<u8, Error> {
    // Parse.
    let common = match &args.measure {
        Some(Measure::Baseline(common)) => common,
        None => &args.common,
    };
    common.output.start_logging();
    common.prometheus.address()?;
    let runtime = Runtime::start()?;
    let request = Request {
        observation: common.observation.request(),
        ..Request::default()
    };
    let Some(path) = args.baseline.as_deref().filter(|_| args.measure.is_none()) else {
        return measure(common, &request, &runtime, env);
    };
    if args.lasting.is_some() && !common.input.from.is_empty() {
        return Err(Error::new(
            Kind::Usage,
            "files do not change: --for and --from exclude each other",
        ));
    }
    let baseline = baseline::read(path, &mut env.stdin).map_err(|why| {
        Error::new(Kind::BadData, why)
            .hint("write one with: kubectl features guard baseline -o json > FILE")
    })?;
    let rules = rules(args, &baseline)?;
    let ids: Vec<&str> = CONDITIONS.iter().map(|it| it.id).collect();
    let accepted = args.suppressions.accepted(&ids, &runtime, env)?;

    // Gather and analyse, until there is a reason to stop.
    let end = Deadline::after(args.lasting.or(Some(Duration::ZERO)));
    let (answer, observed) = loop {
        let next = Deadline::after(Some(args.every));
        match look(common, &request, &runtime, env) {
            Ok(observed) => {
                let answer = report(args, &rules, &accepted, &request, &observed, env);
                let is_breach = args.fail_on.code_of(&answer);
                let is_breach = [exit::FINDING, exit::WARNING].contains(&is_breach);
                if is_breach || end.is_over() || observed.interrupted.is_some() {
                    break (answer, observed);
                }
            }
            // A server that is being replaced is no breach; at the end it is a failure.
            Err(error) if error.kind == Kind::Unreachable && !end.is_over() => {
                tell(&[error], env);
            }
            Err(error) => return Err(error),
        }
        let pause = next.left().min(end.left());
        let pause = Deadline::after(pause).keep(std::future::pending::<()>());
        let _: Option<()> = runtime.block_on(pause)?;
    };

    // Show.
    common.output.show(&answer, Vec::new(), env)?;
    Ok(observed.code(args.fail_on.code_of(&answer)))
}

/// Thresholds of the file, unless a flag has others.
fn rules<'b>(args: &GuardArgs, baseline: &'b Baseline) -> Result<Rules<'b>, Error> {
    let mut agreed = match &args.thresholds {
        None => Thresholds::default(),
        Some(path) => {
            let text = revision::read(path).map_err(|error| unread(&error))?;
            thresholds::parse(&text).map_err(|what| {
                let name = path.display();
                Error::new(
                    Kind::Usage,
                    format!("{name} is no list of thresholds: {what}"),
                )
                .hint("each has condition and limit, and may have minSample, below thresholds:")
            })?
        }
    };
    for (id, _) in &args.threshold {
        agreed.limits.remove(id);
    }
    for (id, limit) in &args.threshold {
        agreed.limits.entry(id).or_default().push(*limit);
    }
    if let Some(least) = args.min_sample {
        agreed.least = CONDITIONS.iter().map(|it| (it.id, least)).collect();
    }
    Ok(Rules {
        baseline,
        limits: agreed.limits,
        least: agreed.least,
    })
}

/// Writes down what is.
fn measure(
    common: &CommonArgs,
    request: &Request,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<u8, Error> {
    let output = common.output.of_others()?;
    let observed = look(common, request, runtime, env)?;
    let facts = Facts::new(&observed.world, request, observed.now, observed.now);
    let (readings, unknown) = readings(&facts);
    let is_incomplete = !unknown.is_empty();
    let answer = GuardBaseline {
        header: header("GuardBaseline", &observed, env),
        readings,
        unknown,
    };
    output.show(&answer, guard_baseline::view, env)?;
    let code = FailOn::Never.code(None, is_incomplete);
    Ok(observed.code(code))
}

fn look(
    common: &CommonArgs,
    request: &Request,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<Observed, Error> {
    let input = &common.input;
    if !input.from.is_empty() {
        return take(&input.from, input.now, env);
    }
    let connected = common.observation.connect(&common.connection, env);
    let live = Origin::Live(Box::new(runtime.block_on(connected)??));
    let prometheus =
        runtime.block_on(async { common.prometheus.connect(&common.connection, env) })??;
    let prometheus = prometheus.map(|it| Origin::Prometheus(Box::new(it)));
    let origins: Vec<Origin> = [live].into_iter().chain(prometheus).collect();
    let with_prometheus = common.prometheus.is_given();
    let wants = |world: &_| wants::wants(world, &request.observation, with_prometheus);
    observed(&origins, wants, input.now, runtime, env)
}

fn report(
    args: &GuardArgs,
    rules: &Rules<'_>,
    accepted: &Accepted,
    request: &Request,
    observed: &Observed,
    env: &Env,
) -> CheckReport {
    let facts = Facts::new(&observed.world, request, observed.now, rules.baseline.now);
    let is_chosen = |id: &'static str| args.select.is_empty() || args.select.contains(&id);
    let checks = CONDITIONS.iter().filter(|it| is_chosen(it.id));
    let mut checks = checks.map(|it| it.check(&facts, rules)).collect();
    accepted.apply(&mut checks, args.common.input.now, env);
    let intention = format!("go on, held against {:.0}", rules.baseline.now);
    CheckReport::new(header("CheckReport", observed, env), intention, checks)
}

fn header(kind: &'static str, observed: &Observed, env: &Env) -> Header {
    Header::of(kind, &observed.world, observed.now, (env.now)())
}
