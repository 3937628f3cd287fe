//! What components count, as a Prometheus has it (HTTP API, `/api/v1/query` and `/api/v1/metadata`, prometheus/docs 2.42).
//!
//! Counts are taken as they were scraped last, each with the start of its process. `increase` is not asked for: a series that is born
//! with the first refusal has no sample before it, so that `increase` says 0, and what it says of the others is extrapolated.
//! A series that is not there is nothing only where its process is scraped and does not show it either; what was dropped on the way is
//! lost. The cluster's credentials are not for it. It must not judge numbers.
#![expect(
    clippy::disallowed_methods,
    reason = "a token file is a part of the connection"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use futures_util::stream::{self, Stream, StreamExt};
use http::{Request, StatusCode, Uri};
use http_body_util::{BodyExt, Limited};
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Reply;
use super::component::{counts, foreign, metrics};
use super::connect::{self, ConnectError};
use super::failure::{Failure, Peer};
use super::live::encode;
use super::proxy::Environment;
use crate::model::component::{
    ComponentKind, ComponentName, Counts, Document, Number, Statement, Told,
};
use crate::model::coverage::{Source, State};
use crate::model::fact::{Content, Fact};
use crate::model::want::Want;

/// A server that hangs must not hold up a guard.
const PATIENCE: Duration = Duration::from_secs(10);

/// More than the series of any cluster's schedulers have.
const MAX_BYTES: usize = 16 << 20;

/// Samples that are older, in seconds, tell of another moment; targets are scraped every minute at the latest, by default.
const OLD: f64 = 120.0;

/// Who had a series in this time is a target, also if it is down now.
const LATELY: &str = "1h";

/// Where a Prometheus is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Address(Uri);

impl FromStr for Address {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // It may hold a password, so it is not told.
        let wrong = "it is no address of a Prometheus; give http://HOST:PORT or https://HOST:PORT";
        let uri: Uri = text.parse().map_err(|_| wrong)?;
        let authority = uri.authority().map_or("", |it| it.as_str());
        if authority.contains('@') {
            let other = "credentials in an address end up in logs; give --prometheus-token-file";
            return Err(other.to_owned());
        }
        let is_usable = matches!(uri.scheme_str(), Some("http" | "https"))
            && connect::has_port_or_none(&uri)
            && uri.query().is_none();
        if is_usable {
            Ok(Self(uri))
        } else {
            Err(wrong.to_owned())
        }
    }
}

/// A label that all series have that are looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Selector {
    label: String,
    value: String,
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (label, value) = text.split_once('=').ok_or("give LABEL=VALUE")?;
        let is_first = |letter: char| letter.is_ascii_alphabetic() || letter == '_';
        let is_label = label.starts_with(is_first)
            && label.chars().all(|it| is_first(it) || it.is_ascii_digit());
        if !is_label {
            return Err(format!("{label:?} is no name of a label"));
        }
        Ok(Self {
            label: label.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// Why it cannot be asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PrometheusError {
    #[error("a token is not sent over plain HTTP; give an https:// address")]
    TokenInTheClear,
    #[error("the token file cannot be read: {0}")]
    Token(std::io::Error),
    #[error("the token file holds no token")]
    NoToken,
    #[error(transparent)]
    Connect(#[from] ConnectError),
}

/// How a Prometheus is reached.
#[derive(Debug)]
pub(crate) struct Reach<'a> {
    pub(crate) address: &'a Address,
    /// Who signs its certificate; null is the system's authorities.
    pub(crate) authority_file: Option<&'a str>,
    pub(crate) token_file: Option<&'a Path>,
    pub(crate) selectors: &'a [Selector],
    /// Limit of each request; null is none but our own.
    pub(crate) limit: Option<Duration>,
}

pub(crate) struct Prometheus {
    client: Client,
    peer: Peer,
    name: String,
    limit: Duration,
    /// Label matchers, as they stand between braces.
    matchers: Vec<String>,
}

/// What stands for a number.
struct Series {
    /// The family.
    name: &'static str,
    /// Without what a histogram adds to its name.
    base: &'static str,
    /// What is counted of it.
    matchers: Vec<String>,
    /// Its own labels that are added up.
    own: &'static str,
    /// A family that every process of the kind has from its start, and its own labels.
    anchor: (&'static str, &'static str),
}

const REFUSALS: &str = "apiserver_admission_controller_admission_duration_seconds_count";
const LABELS_OF_REFUSALS: &str = "name, operation, rejected, type";

fn series(number: Number) -> Series {
    let scheduler = ("scheduler_pending_pods", "queue");
    match number {
        Number::Attempts => Series {
            name: "scheduler_scheduling_attempt_duration_seconds_bucket",
            base: "scheduler_scheduling_attempt_duration_seconds",
            matchers: Vec::new(),
            own: "profile, result",
            anchor: scheduler,
        },
        Number::RefusedUpdates => Series {
            name: REFUSALS,
            base: "apiserver_admission_controller_admission_duration_seconds",
            matchers: vec![
                matcher("name", counts::VALIDATOR),
                matcher("rejected", "true"),
            ],
            own: LABELS_OF_REFUSALS,
            // Every API server admits something.
            anchor: (REFUSALS, LABELS_OF_REFUSALS),
        },
        Number::UnschedulablePods => Series {
            name: "scheduler_unschedulable_pods",
            base: "scheduler_unschedulable_pods",
            matchers: vec![matcher("plugin", counts::PLUGIN)],
            own: "plugin, profile",
            anchor: scheduler,
        },
    }
}

/// A label and its value, as a query has them.
fn matcher(label: &str, value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("{label}=\"{}\"", value.replace('\n', "\\n"))
}

/// Labels of a target.
type Labels = BTreeMap<String, String>;

/// A result, and the time that it is of.
#[derive(Debug, Deserialize)]
struct Sample {
    metric: Labels,
    value: (f64, String),
}

impl Sample {
    /// Its target, and the bound of its bucket.
    fn target(&self) -> (Labels, Option<&str>) {
        let mut labels = self.metric.clone();
        labels.remove("__name__");
        labels.remove("le");
        (labels, self.metric.get("le").map(String::as_str))
    }

    fn number(&self) -> Option<f64> {
        self.value.1.parse().ok()
    }
}

/// Others speak JSON with a `status` as well: an API server says `Failure`.
#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Outcome {
    Success,
    Error,
}

#[derive(Deserialize)]
struct Answer<T> {
    status: Outcome,
    #[serde(default = "Option::default")]
    data: Option<T>,
    #[serde(rename = "errorType", default)]
    error_type: String,
    #[serde(default)]
    error: String,
    #[serde(default)]
    warnings: Vec<String>,
}

#[derive(Deserialize)]
struct Vector {
    result: Vec<Sample>,
}

/// A process, as one job scrapes it.
#[derive(Debug, Default)]
struct Target {
    is_up: bool,
    /// Age of its samples, in seconds.
    age: Option<f64>,
    started: Option<String>,
    /// Its job drops the series.
    is_dropped: bool,
    values: Vec<(Option<String>, f64)>,
}

impl Prometheus {
    /// Makes a client; sends nothing yet.
    pub(crate) fn connect(
        reach: &Reach<'_>,
        proxies: &Environment,
    ) -> Result<Self, PrometheusError> {
        let url = &reach.address.0;
        let token = match reach.token_file {
            Some(_) if url.scheme_str() != Some("https") => {
                return Err(PrometheusError::TokenInTheClear);
            }
            Some(path) => {
                let text = std::fs::read_to_string(path).map_err(PrometheusError::Token)?;
                let text = text.trim().to_owned();
                if text.is_empty() {
                    return Err(PrometheusError::NoToken);
                }
                Some(text)
            }
            None => None,
        };
        let (client, peer) =
            connect::stranger(url, reach.authority_file, token.as_deref(), proxies)?;
        let selectors = reach.selectors.iter();
        Ok(Self {
            client,
            peer,
            limit: reach.limit.map_or(PATIENCE, |limit| limit.min(PATIENCE)),
            name: url.to_string().trim_end_matches('/').to_owned(),
            matchers: selectors.map(|it| matcher(&it.label, &it.value)).collect(),
        })
    }

    pub(crate) fn source(&self) -> Source {
        Source {
            name: self.name.clone(),
            kind: "prometheus".to_owned(),
        }
    }

    pub(super) fn ask<'a>(&'a self, wants: &'a [Want]) -> impl Stream<Item = Reply> + 'a {
        stream::iter(wants).then(|want| self.ask_one(want))
    }

    async fn ask_one(&self, want: &Want) -> Reply {
        let mut reply = Reply::new(want);
        let Want::Count(number) = want else {
            unreachable!("it is asked for nothing else");
        };
        match self.count(*number).await {
            Ok((statements, lost)) => {
                if !lost.is_empty() {
                    reply.state = State::Partial;
                    reply.detail = Some(lost.join("; "));
                }
                reply.facts.push(Fact {
                    source: self.name.as_str().into(),
                    content: Content::Statements(statements),
                });
            }
            Err(failure) => {
                reply.state = failure.state;
                reply.detail = Some(format!("Prometheus: {}", failure.detail));
            }
        }
        reply
    }

    /// What each process counted, and whose count is lost and why.
    async fn count(&self, number: Number) -> Result<(Vec<Statement>, Vec<String>), Failure> {
        let series = series(number);
        let (anchor, own) = series.anchor;
        let lately = |name: &str| format!("last_over_time({}[{LATELY}])", self.select(name, &[]));
        let anchored = lately(anchor);
        let found = format!("group without ({own}) ({anchored})");
        let found = self.query(&found, None).await?;
        let Some(moment) = found.first().map(|sample| sample.value.0) else {
            let kind = number.kind().word();
            return Err(Failure {
                state: State::Absent,
                detail: format!(
                    "it has no series {anchor}: it scrapes no {kind}, or drops its series"
                ),
            });
        };
        let of_targets = |query: String| format!("{query} and on (job, instance) {anchored}");
        // One that is scraped no more has gone, as Pods do in a roll-out; it has no `up`.
        let mut targets: BTreeMap<Labels, Target> = BTreeMap::new();
        let up = self.select("up", &[]);
        for sample in self.query(&of_targets(up.clone()), Some(moment)).await? {
            let target = targets.entry(sample.target().0).or_default();
            target.is_up = sample.number() == Some(1.0);
        }
        let scraped = of_targets(format!("timestamp({up})"));
        for sample in self.query(&scraped, Some(moment)).await? {
            if let Some(target) = targets.get_mut(&sample.target().0) {
                target.age = sample.number().map(|at| moment - at);
            }
        }
        let started = of_targets(self.select("process_start_time_seconds", &[]));
        for sample in self.query(&started, Some(moment)).await? {
            if let Some(target) = targets.get_mut(&sample.target().0) {
                target.started = Some(sample.value.1);
            }
        }
        let counted = self.select(series.name, &series.matchers);
        let counted = format!("sum without ({}) ({counted})", series.own);
        for sample in self.query(&counted, Some(moment)).await? {
            let (labels, bound) = sample.target();
            let value = sample.number();
            if let (Some(target), Some(value)) = (targets.get_mut(&labels), value) {
                target.values.push((bound.map(str::to_owned), value));
            }
        }
        if series.name != anchor {
            let kept = format!("group by (job) ({})", lately(series.name));
            let kept = self.query(&kept, Some(moment)).await?;
            let kept: BTreeSet<Option<&String>> =
                kept.iter().map(|it| it.metric.get("job")).collect();
            let is_lacking = targets.keys().any(|it| !kept.contains(&it.get("job")));
            let is_shown = is_lacking && self.is_shown(series.base).await?;
            for (labels, target) in &mut targets {
                target.is_dropped = is_shown && !kept.contains(&labels.get("job"));
            }
        }
        if targets.is_empty() {
            let lost = found.iter().map(|sample| {
                let component = ComponentName::new(number.kind(), instance(&sample.target().0));
                format!("{component}: Prometheus scrapes it no more")
            });
            return Ok((Vec::new(), lost.collect()));
        }
        Ok(told(number, &series, targets))
    }

    fn select(&self, name: &str, matchers: &[String]) -> String {
        let matchers = [&self.matchers[..], matchers].concat();
        format!("{name}{{{}}}", matchers.join(", "))
    }

    async fn query(&self, query: &str, time: Option<f64>) -> Result<Vec<Sample>, Failure> {
        let time = time.map_or_else(String::new, |time| format!("&time={time:.3}"));
        let path = format!("/api/v1/query?query={}{time}", encode(query));
        let vector: Vector = self.get(&path).await?;
        Ok(vector.result)
    }

    /// Whether a process that is scraped shows the family, kept or not.
    async fn is_shown(&self, family: &str) -> Result<bool, Failure> {
        let path = format!("/api/v1/metadata?metric={family}&limit=1");
        let known: BTreeMap<String, serde_json::Value> = self.get(&path).await?;
        Ok(!known.is_empty())
    }

    /// One answer, in time and within bounds.
    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        let answer = tokio::time::timeout(self.limit, self.exchange(path)).await;
        let (status, bytes) = answer.unwrap_or_else(|_| Err(self.peer.late(self.limit, false)))?;
        read(status, &bytes)
    }

    async fn exchange(&self, path: &str) -> Result<(StatusCode, Vec<u8>), Failure> {
        let unreadable = |detail: String| Failure {
            state: State::Unreadable,
            detail,
        };
        let request = Request::get(path).header("Accept", "application/json");
        let request = request.body(Body::empty());
        let request = request.map_err(|error| unreadable(error.to_string()))?;
        let response = self.client.send(request).await;
        let response = response.map_err(|error| {
            // It is verified as an API server is, by another authority.
            let failure = self.peer.of_component(ComponentKind::KubeApiserver, &error);
            let detail = failure
                .detail
                .replace("--certificate-authority", "--prometheus-ca")
                .replace(
                    "if that is the same server, name one of them with --tls-server-name",
                    "if that is the same server, name it so in its address",
                );
            Failure { detail, ..failure }
        })?;
        let (parts, body) = response.into_parts();
        let bytes = Limited::new(body, MAX_BYTES).collect().await;
        let bytes = bytes.map_err(|error| unreadable(format!("its answer broke off: {error}")))?;
        Ok((parts.status, bytes.to_bytes().to_vec()))
    }
}

/// What an answer holds; one that is only of a part is none.
fn read<T: DeserializeOwned>(status: StatusCode, bytes: &[u8]) -> Result<T, Failure> {
    let failure = |state, detail: String| Failure { state, detail };
    let text = String::from_utf8_lossy(bytes);
    let Ok(answer) = serde_json::from_str::<Answer<T>>(&text) else {
        let (state, what) = match status.as_u16() {
            401 | 403 => (
                State::Denied,
                format!("it answered {status}; give a token with --prometheus-token-file"),
            ),
            200 => (
                State::Unreadable,
                foreign(&text, "answer of Prometheus' HTTP API").to_string(),
            ),
            _ if status.is_redirection() => (
                State::Unreadable,
                format!("it answered {status}, which leads elsewhere, as to a login page"),
            ),
            _ => (State::Unreadable, format!("it answered {status}")),
        };
        return Err(failure(state, what));
    };
    if answer.status == Outcome::Error {
        let Answer {
            error_type, error, ..
        } = answer;
        return Err(failure(
            State::Unreadable,
            format!("it says {error_type}: {error}"),
        ));
    }
    if let Some(warning) = answer.warnings.first() {
        let detail = format!("its answer may be of a part only, it warns: {warning}");
        return Err(failure(State::Partial, detail));
    }
    let nothing = || failure(State::Unreadable, "its answer holds no data".to_owned());
    answer.data.ok_or_else(nothing)
}

/// The name that a process has for people.
fn instance(labels: &Labels) -> String {
    labels.get("instance").cloned().unwrap_or_default()
}

/// What the targets say of each process, which several jobs may scrape.
fn told(
    number: Number,
    series: &Series,
    targets: BTreeMap<Labels, Target>,
) -> (Vec<Statement>, Vec<String>) {
    let mut processes: BTreeMap<String, Vec<Target>> = BTreeMap::new();
    for (labels, target) in targets {
        processes.entry(instance(&labels)).or_default().push(target);
    }
    let mut statements = Vec::new();
    let mut lost = Vec::new();
    for (identity, targets) in &processes {
        let component = ComponentName::new(number.kind(), identity);
        match judge(number, series, targets) {
            Ok((started, counts)) => {
                let told = [Told::Counts(counts)].into_iter().chain(started);
                statements.extend(told.map(|told| Statement {
                    component: component.clone(),
                    document: Document::Metrics,
                    told,
                }));
            }
            Err(why) => lost.push(format!("{component}: {why}")),
        }
    }
    (statements, lost)
}

/// The newest of what jobs say of one process, or why there is nothing to believe.
fn judge(
    number: Number,
    series: &Series,
    targets: &[Target],
) -> Result<(Option<Told>, Counts), String> {
    let up: Vec<&Target> = targets.iter().filter(|it| it.is_up).collect();
    if up.is_empty() {
        return Err("Prometheus does not reach it (up is 0)".to_owned());
    }
    let age = |target: &Target| target.age.unwrap_or(f64::INFINITY);
    let young: Vec<&Target> = up.into_iter().filter(|it| age(it) <= OLD).collect();
    if young.is_empty() {
        let youngest = targets.iter().map(age).fold(f64::INFINITY, f64::min);
        return Err(format!("its last sample is {youngest:.0}s old"));
    }
    let kept = young.into_iter().filter(|it| !it.is_dropped);
    let kept: Vec<&Target> = kept.collect();
    let newest = kept.iter().min_by(|a, b| age(a).total_cmp(&age(b)));
    let newest = newest.ok_or_else(|| {
        format!(
            "it shows {}, and Prometheus has no series {}",
            series.base, series.name
        )
    })?;
    if kept.iter().any(|it| it.started != newest.started) {
        let why = "two processes have this name; choose one with --prometheus-selector LABEL=VALUE";
        return Err(why.to_owned());
    }
    let started = newest.started.as_deref().and_then(metrics::time);
    if started.is_none() && number != Number::UnschedulablePods {
        let why = "Prometheus has no series process_start_time_seconds of it, so that a start again would not show";
        return Err(why.to_owned());
    }
    Ok((started.map(Told::Started), counts_of(number, newest)))
}

/// A series that is not there has counted nothing.
fn counts_of(number: Number, target: &Target) -> Counts {
    let values = target.values.iter();
    let sum = values
        .clone()
        .filter_map(|(_, value)| counts::whole(*value));
    let sum = Some(sum.sum());
    match number {
        Number::UnschedulablePods => Counts {
            unschedulable: sum,
            ..Counts::default()
        },
        Number::RefusedUpdates => Counts {
            refused_updates: sum,
            ..Counts::default()
        },
        Number::Attempts => {
            let bucket = |(bound, value): &(Option<String>, f64)| {
                Some((counts::micros(bound.as_deref()?)?, counts::whole(*value)?))
            };
            let mut attempts: BTreeMap<u64, u64> = values.filter_map(bucket).collect();
            attempts.entry(u64::MAX).or_default();
            Counts {
                attempts,
                ..Counts::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_no_secret() {
        for (text, is_one) in [
            ("http://127.0.0.1:9090", true),
            ("https://m.example/prometheus/", true),
            ("http://[::1]:9090", true),
            ("127.0.0.1:9090", false),
            ("prometheus", false),
            ("ftp://h", false),
            ("http://h:1x", false),
            ("http://h/?a=b", false),
            ("https://u:secret@h", false),
        ] {
            let read = text.parse::<Address>();
            assert_eq!(read.is_ok(), is_one, "{text}");
            assert!(!format!("{read:?}").contains("secret"), "{read:?}");
        }
        for (text, is_one) in [
            ("cluster=a", true),
            ("a b=c", false),
            ("=x", false),
            ("a", false),
        ] {
            assert_eq!(text.parse::<Selector>().is_ok(), is_one, "{text}");
        }
        assert_eq!(
            matcher("a", "b\"} or up{c=\"\\"),
            r#"a="b\"} or up{c=\"\\""#
        );
    }

    #[test]
    fn an_answer_of_a_part_or_of_somebody_else_is_none() {
        let of = |status, text: &str| {
            let read = read::<Vector>(status, text.as_bytes());
            read.map(|it| it.result.len())
                .map_err(|it| (it.state, it.detail))
        };
        let one = r#"{"status":"success","data":{"resultType":"vector","result":[{"metric":{"job":"a"},"value":[1.5,"2"]}]}}"#;
        assert_eq!(of(StatusCode::OK, one), Ok(1));
        let part = one.replace("}}", r#"},"warnings":["store b is gone"]}"#);
        let (state, detail) = of(StatusCode::OK, &part).expect_err("a part");
        assert_eq!(state, State::Partial);
        assert!(detail.contains("store b is gone"), "{detail}");
        let error = r#"{"status":"error","errorType":"timeout","error":"query timed out"}"#;
        let (_, detail) = of(StatusCode::SERVICE_UNAVAILABLE, error).expect_err("an error");
        assert_eq!(detail, "it says timeout: query timed out");
        let (state, detail) = of(StatusCode::OK, "<html>log in").expect_err("a page");
        assert_eq!(state, State::Unreadable);
        assert!(detail.contains("web page"), "{detail}");
        let (state, _) = of(StatusCode::UNAUTHORIZED, "no").expect_err("a refusal");
        assert_eq!(state, State::Denied);
    }

    fn target(age: f64, started: &str, count: f64) -> Target {
        Target {
            is_up: true,
            age: Some(age),
            started: Some(started.to_owned()),
            is_dropped: false,
            values: vec![(None, count)],
        }
    }

    fn judged(targets: &[Target]) -> Result<Option<u64>, String> {
        let number = Number::RefusedUpdates;
        let judged = judge(number, &series(number), targets);
        judged.map(|(_, counts)| counts.refused_updates)
    }

    #[test]
    fn two_jobs_that_scrape_one_process_count_once() {
        let both = [target(20.0, "1.5e9", 3.0), target(5.0, "1.5e9", 4.0)];
        assert_eq!(judged(&both), Ok(Some(4)));
        let other = [target(20.0, "1.5e9", 3.0), target(5.0, "1.6e9", 4.0)];
        assert!(
            judged(&other)
                .expect_err("two")
                .contains("--prometheus-selector")
        );
    }

    #[test]
    fn what_is_down_old_or_dropped_is_not_nothing() {
        let nothing = Target {
            values: Vec::new(),
            ..target(1.0, "1.5e9", 0.0)
        };
        assert_eq!(judged(&[nothing]), Ok(Some(0)));
        let down = Target {
            is_up: false,
            ..target(1.0, "1.5e9", 0.0)
        };
        assert!(judged(&[down]).expect_err("down").contains("up is 0"));
        let old = target(300.0, "1.5e9", 0.0);
        assert!(judged(&[old]).expect_err("old").contains("300s old"));
        let dropped = || Target {
            is_dropped: true,
            ..target(1.0, "1.5e9", 0.0)
        };
        assert!(
            judged(&[dropped()])
                .expect_err("dropped")
                .contains("no series")
        );
        // Another job keeps it.
        assert_eq!(
            judged(&[dropped(), target(30.0, "1.5e9", 2.0)]),
            Ok(Some(2))
        );
        let unknown = Target {
            started: None,
            ..target(1.0, "", 2.0)
        };
        assert!(judged(&[unknown]).is_err());
    }
}
