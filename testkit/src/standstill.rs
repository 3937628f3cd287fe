//! Plays a scenario up to one of its moments and keeps it there, for whoever wants to look for longer than a test does.
//!
//! It must not take anything away: what was made stands until the cluster ends.

use std::cell::RefCell;
use std::error::Error;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use crate::cluster::Cluster;
use crate::scenario::{Moment, Observer, Scenario, ScenarioError, Step};

/// A scenario that stands still. It goes no further, and what it holds is held until this is dropped.
pub struct Standstill<'a> {
    /// The namespace that the moment is in.
    pub namespace: String,
    /// The Pod that the moment is about.
    pub pod: String,
    _play: Step<'a, Result<(), ScenarioError>>,
}

/// Plays a scenario until the moment of a name.
pub async fn stand_still<'a>(
    cluster: &'a Cluster,
    scenario: &'a Scenario,
    moment: &'a str,
) -> Result<Standstill<'a>, ScenarioError> {
    let reached = Rc::new(RefCell::new(None));
    let mut observer = StopAt {
        moment,
        reached: Rc::clone(&reached),
    };
    let mut play: Step<'a, Result<(), ScenarioError>> =
        Box::pin(async move { scenario.play(cluster, &mut observer).await });
    poll_fn(|context| match play.as_mut().poll(context) {
        Poll::Ready(Ok(())) => Poll::Ready(Err(ScenarioError::Unexpected(format!(
            "{} has no moment {moment}",
            scenario.name
        )))),
        Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
        Poll::Pending if reached.borrow().is_some() => Poll::Ready(Ok(())),
        Poll::Pending => Poll::Pending,
    })
    .await?;
    let (namespace, pod) = reached.take().unwrap_or_default();
    Ok(Standstill {
        namespace,
        pod,
        _play: play,
    })
}

/// Lets a scenario pass by all moments but one.
struct StopAt<'a> {
    moment: &'a str,
    /// Namespace and Pod.
    reached: Rc<RefCell<Option<(String, String)>>>,
}

impl Observer for StopAt<'_> {
    fn at<'a>(
        &'a mut self,
        _: &'a Cluster,
        moment: Moment<'a>,
    ) -> Step<'a, Result<(), Box<dyn Error>>> {
        if moment.name != self.moment {
            return Box::pin(std::future::ready(Ok(())));
        }
        let place = (moment.namespace.to_owned(), moment.pod.to_owned());
        self.reached.replace(Some(place));
        Box::pin(std::future::pending())
    }
}
