//! Watches: what is read is followed, so that it is read again when it changes.
//!
//! A watch only says *that* something changed; what is so now, the next round of reads tells. So one that breaks, begins
//! anew or has to be done without costs reads, and never an answer. The one thing that is kept of a watch is a Pod's
//! last state, which nobody can read any more once it is deleted.
//!
//! Behaviour of the server: apiserver `pkg/endpoints/handlers/watch.go`, and the API conventions on watches (1.37).

use std::collections::{BTreeMap, BTreeSet};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::future::{Either, select};
use futures_util::stream::{self, Stream, StreamExt};
use http::Request;
use http_body_util::BodyExt;
use kube::client::Body;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep, timeout};

use super::failure::Failure;
use super::live::{self, Live};
use super::{Origin, document};
use crate::model::access::Right;
use crate::model::coverage::{Coverage, State};
use crate::model::fact::{Content, Fact};
use crate::model::pod::Uid;
use crate::model::want::Want;

/// Changes that come within this time are read together.
const TOGETHER: Duration = Duration::from_millis(75);

/// The same where changes keep coming that bring nothing new, on a busy node say.
const BUSY: Duration = Duration::from_secs(2);

/// How often is read again what cannot be watched.
const POLL: Duration = Duration::from_secs(2);

/// Pauses before a connection is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// A connection that did not last longer is tried again ever later.
const SHORT: Duration = Duration::from_millis(500);

/// How long a watch goes on where requests have no time limit of their own.
const WATCH: Duration = Duration::from_mins(5);

/// How much later than the server the client ends a watch on which nothing comes.
const GRACE: Duration = Duration::from_secs(5);

/// After this time a watch that was refused is asked for once more: rights come and go.
const REFUSED: Duration = Duration::from_mins(1);

/// How often a watch that was granted is asked for again where it is refused: a server that has just started refuses all.
const PATIENCE: u32 = 7;

/// More watches than an answer for some Pods needs.
const MAX_WATCHES: usize = 48;

/// Longer than any object that a server stores (1.5 MiB) is as JSON.
const MAX_LINE: usize = 16 << 20;

/// A time by which something has to be done; null is none.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    pub(crate) fn after(time: Option<Duration>) -> Self {
        Self(time.and_then(|time| Instant::now().checked_add(time)))
    }

    /// The time that is left; null is without end.
    pub(crate) fn left(self) -> Option<Duration> {
        self.0
            .map(|at| at.saturating_duration_since(Instant::now()))
    }

    pub(crate) fn is_over(self) -> bool {
        self.left().is_some_and(|left| left.is_zero())
    }

    /// Does something unless the time is over before.
    pub(crate) async fn keep<T>(self, work: impl Future<Output = T>) -> Option<T> {
        match self.left() {
            Some(left) => timeout(left, work).await.ok(),
            None => Some(work.await),
        }
    }
}

/// A pause that grows with each time in a row that it was needed.
#[derive(Debug, Default)]
pub(crate) struct Pause(Option<Duration>);

impl Pause {
    pub(crate) fn reset(&mut self) {
        self.0 = None;
    }

    /// The next one.
    pub(crate) fn grow(&mut self) -> Duration {
        let next = self
            .0
            .map_or(FIRST_PAUSE, |last| (last * 2).min(LONGEST_PAUSE));
        self.0 = Some(next);
        next
    }

    pub(crate) async fn wait(&mut self) {
        sleep(self.grow()).await;
    }
}

/// What a watch tells.
enum News {
    /// Something changed, or may have since nobody looked; with what is known of it.
    Changed(Vec<Content>),
    /// It cannot be had.
    Refused(Failure),
}

/// What a line tells.
enum Told {
    Change(Vec<Content>),
    Nothing,
    End,
}

/// Follows what was read, each want by a watch of its own.
pub(crate) struct Watcher<'l> {
    live: &'l Live,
    watches: BTreeMap<Want, Pin<Box<dyn Stream<Item = News> + 'l>>>,
    refused: BTreeMap<Want, (Failure, Instant)>,
    /// The Pods whose last state it keeps, as far as a watch has shown them.
    states: BTreeMap<Uid, Option<Fact>>,
    /// Something came that nobody was told of.
    untold: bool,
    together: Duration,
}

impl<'l> Watcher<'l> {
    /// A watcher of a server; nothing else can be watched.
    pub(crate) fn of(origin: &'l Origin) -> Option<Self> {
        let Origin::Live(live) = origin else {
            return None;
        };
        Some(Self {
            live,
            watches: BTreeMap::new(),
            refused: BTreeMap::new(),
            states: BTreeMap::new(),
            untold: false,
            together: TOGETHER,
        })
    }

    /// Follows these wants from now on and no others, and keeps the states of these Pods.
    pub(crate) fn follow<'w>(
        &mut self,
        wants: impl Iterator<Item = &'w Want>,
        pods: impl Iterator<Item = &'w Uid>,
    ) {
        let wants: BTreeSet<&Want> = wants
            .filter(|want| !want.watch_rights().is_empty())
            .collect();
        self.watches.retain(|want, _| wants.contains(want));
        self.refused
            .retain(|want, (_, since)| wants.contains(want) && since.elapsed() < REFUSED);
        for want in wants {
            if self.watches.contains_key(want) || self.refused.contains_key(want) {
                continue;
            }
            if self.watches.len() < MAX_WATCHES {
                let watch = Watch::of(self.live, want);
                let news = stream::unfold(watch, |mut watch| async {
                    Some((watch.next().await, watch))
                });
                self.watches.insert(want.clone(), Box::pin(news));
            } else {
                let failure = Failure {
                    state: State::Partial,
                    detail: format!("more than {MAX_WATCHES} watches would be needed"),
                };
                self.refused.insert(want.clone(), (failure, Instant::now()));
            }
        }
        let mut states = std::mem::take(&mut self.states);
        self.states = pods
            .map(|uid| (uid.clone(), states.remove(uid).flatten()))
            .collect();
    }

    /// Waits until something may have changed, or until the limit.
    ///
    /// `fruitless` says that the last change brought nothing new: then it waits longer for what comes together.
    pub(crate) async fn changed(&mut self, limit: Option<Duration>, fruitless: bool) {
        let poll = (!self.refused.is_empty()).then_some(POLL);
        let deadline = Deadline::after(limit.into_iter().chain(poll).min());
        let began = Instant::now();
        if !self.untold && deadline.keep(self.news()).await.is_none() {
            return;
        }
        let busy = fruitless && began.elapsed() < BUSY;
        self.together = if busy {
            (self.together * 2).min(BUSY)
        } else {
            TOGETHER
        };
        let together = deadline
            .left()
            .map_or(self.together, |left| left.min(self.together));
        let more = async {
            loop {
                self.news().await;
            }
        };
        // It has no end of its own.
        let _: Option<()> = Deadline::after(Some(together)).keep(more).await;
        self.untold = false;
    }

    /// Does something, and takes in what comes meanwhile: with HTTP/2 all share a connection, and what lies there unread
    /// would hold up the rest.
    pub(crate) async fn meanwhile<T>(&mut self, work: impl Future<Output = T>) -> T {
        let news = async {
            loop {
                self.news().await;
                self.untold = true;
            }
        };
        match select(pin!(work), pin!(news)).await {
            Either::Left((done, _)) => done,
            Either::Right((never, _)) => never,
        }
    }

    /// The last states of Pods, as far as a watch showed them since they were taken the last time.
    pub(crate) fn take_states(&mut self) -> impl Iterator<Item = (Uid, Fact)> {
        let states = self.states.iter_mut();
        states.filter_map(|(uid, state)| Some((uid.clone(), state.take()?)))
    }

    /// What is looked for again and again, since it cannot be watched.
    pub(crate) fn coverage(&self) -> impl Iterator<Item = Coverage> {
        self.refused.iter().map(|(want, (failure, _))| Coverage {
            source: self.live.source().name,
            subject: format!("changes of {}", want.subject()),
            state: failure.state,
            detail: Some(format!(
                "{}; so it is read again every {}s",
                failure.detail,
                POLL.as_secs()
            )),
            location: None,
        })
    }

    async fn news(&mut self) {
        let (want, news) = poll_fn(|context| self.poll(context)).await;
        match news {
            News::Changed(contents) => {
                for content in contents {
                    let source = self.live.source().name.into();
                    let Content::Pod(pod) = &content else {
                        continue;
                    };
                    if let Some(state) = self.states.get_mut(&pod.uid) {
                        *state = Some(Fact { source, content });
                    }
                }
            }
            News::Refused(failure) => {
                self.watches.remove(&want);
                self.refused.insert(want, (failure, Instant::now()));
            }
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<(Want, News)> {
        for (want, watch) in &mut self.watches {
            // A watch never ends.
            if let Poll::Ready(Some(news)) = watch.poll_next_unpin(context) {
                return Poll::Ready((want.clone(), news));
            }
        }
        Poll::Pending
    }
}

/// One watch, through all its connections.
struct Watch<'l> {
    live: &'l Live,
    want: Want,
    /// The one that is used first, then those that are left.
    rights: Vec<Right>,
    /// Up to where changes were told; null where a connection has to begin with what is there.
    version: Option<String>,
    pause: Pause,
    /// Refusals since it was granted; null before.
    refusals: Option<u32>,
    connection: Option<Connection>,
}

#[derive(Deserialize)]
struct WatchEvent<'a> {
    #[serde(rename = "type")]
    kind: String,
    #[serde(borrow)]
    object: &'a RawValue,
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    resource_version: String,
}

impl<'l> Watch<'l> {
    fn of(live: &'l Live, want: &Want) -> Self {
        Self {
            live,
            want: want.clone(),
            rights: want.watch_rights(),
            version: None,
            pause: Pause::default(),
            refusals: None,
            connection: None,
        }
    }

    async fn next(&mut self) -> News {
        loop {
            let Some(connection) = &mut self.connection else {
                match self.connect().await {
                    Some(news) => return news,
                    None => continue,
                }
            };
            let told = match connection.line().await {
                Some(line) => self.read(&line),
                // Closed in order, broken or silent: what came since the version comes again.
                None => Told::End,
            };
            match told {
                Told::Change(contents) => return News::Changed(contents),
                Told::Nothing => {}
                Told::End => {
                    let connection = self.connection.take();
                    if connection.is_some_and(|connection| connection.opened.elapsed() > SHORT) {
                        self.pause.reset();
                    }
                    self.pause.wait().await;
                }
            }
        }
    }

    /// Connects, or says why not.
    async fn connect(&mut self) -> Option<News> {
        let Some(right) = self.rights.first() else {
            // It was refused before, and nobody asks again.
            return std::future::pending().await;
        };
        let limit = self.live.timeout().unwrap_or(WATCH);
        // The server knows whole seconds, and takes nought for its own default.
        let seconds = limit.as_secs().max(1);
        let path = live::watch_path(&self.want, right, self.version.as_deref(), seconds);
        let request = Request::get(path)
            .header("Accept", "application/json")
            .body(Vec::new());
        let opened = match request {
            Ok(request) => self.live.open(request).await,
            Err(error) => Err(Failure {
                state: State::Unreadable,
                detail: error.to_string(),
            }),
        };
        match opened {
            Ok(body) => {
                let silence = limit + GRACE.min(limit);
                self.refusals = Some(0);
                self.connection = Some(Connection::new(body, silence));
                // Nobody knows what happened before a first connection, or one that had to begin anew.
                self.version.is_none().then(|| News::Changed(Vec::new()))
            }
            Err(failure) => match failure.state {
                State::Expired => {
                    tracing::debug!(why = failure.detail, "a watch begins anew");
                    self.version = None;
                    self.pause.wait().await;
                    None
                }
                State::Unreachable => {
                    self.pause.wait().await;
                    Some(News::Changed(Vec::new()))
                }
                _ if self.refusals.is_some_and(|refusals| refusals < PATIENCE) => {
                    self.refusals = self.refusals.map(|refusals| refusals + 1);
                    self.pause.wait().await;
                    Some(News::Changed(Vec::new()))
                }
                _ => {
                    self.rights.remove(0);
                    self.rights.is_empty().then_some(News::Refused(failure))
                }
            },
        }
    }

    fn read(&mut self, line: &[u8]) -> Told {
        let event: WatchEvent<'_> = match serde_json::from_slice(line) {
            Ok(event) => event,
            Err(error) => {
                tracing::debug!(%error, "a line of a watch cannot be read");
                self.version = None;
                return Told::End;
            }
        };
        if event.kind == "ERROR" {
            // Mostly 410: the version is too old. Whatever it is, the next connection begins anew.
            tracing::debug!(status = event.object.get(), "the server ended a watch");
            self.version = None;
            return Told::End;
        }
        if let Ok(object) = serde_json::from_str::<Object>(event.object.get()) {
            self.version = Some(object.metadata.resource_version);
        }
        if event.kind == "BOOKMARK" {
            return Told::Nothing;
        }
        let reading = document::read(event.object.get().as_bytes());
        Told::Change(reading.contents)
    }
}

/// The lines of one answer.
struct Connection {
    body: Body,
    buffer: Vec<u8>,
    opened: Instant,
    /// The longest time without a word.
    silence: Duration,
}

impl Connection {
    fn new(body: Body, silence: Duration) -> Self {
        Self {
            body,
            buffer: Vec::new(),
            opened: Instant::now(),
            silence,
        }
    }

    /// The next whole line; none where it has ended, broke, or nothing comes. What is left of a line then is no line.
    async fn line(&mut self) -> Option<Vec<u8>> {
        let mut looked_at = 0;
        loop {
            let new = self.buffer.iter().skip(looked_at);
            if let Some(end) = new.copied().position(|byte| byte == b'\n') {
                let rest = self.buffer.split_off(looked_at + end + 1);
                return Some(std::mem::replace(&mut self.buffer, rest));
            }
            looked_at = self.buffer.len();
            if looked_at > MAX_LINE {
                return None;
            }
            let frame = timeout(self.silence, self.body.frame()).await.ok()??.ok()?;
            if let Ok(data) = frame.into_data() {
                self.buffer.extend_from_slice(&data);
            }
        }
    }
}
