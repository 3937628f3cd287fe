//! What commands share that try something on a live cluster: the rights before it begins, a look at a Pod until it is so, and the end, which takes all back.
//!
//! It must not know what is tried.

use std::collections::BTreeSet;
use std::slice;

use tokio::time::Instant;

use crate::analysis::conformance::Look;
use crate::answer::access_report::{self, AccessReport};
use crate::apply::Applier;
use crate::cli::runtime::Runtime;
use crate::cli::say;
use crate::env::Env;
use crate::error::{Error, Kind};
use crate::model::access::Allowed;
use crate::model::coverage::State;
use crate::model::pod::{Pod, PodName};
use crate::model::want::Want;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::gather::gather;
use crate::source::watch::{Deadline, Pause, Watcher};

/// That no right is denied: else nothing is begun.
pub(super) fn all_allowed(rights: &AccessReport, hint: &str) -> Result<(), Error> {
    let denied = rights.rights.iter().filter(|it| it.allowed == Allowed::No);
    let denied: Vec<String> = denied.map(access_report::words).collect();
    if denied.is_empty() {
        return Ok(());
    }
    let sentence = format!("you may not: {}", denied.join("; "));
    Err(Error::new(Kind::Server, sentence).hint(hint))
}

/// Looks at a Pod until it is so, or the time is over.
pub(super) async fn look(
    name: &PodName,
    is_so: impl Fn(Option<&Pod>) -> bool,
    origin: &Origin,
    deadline: Deadline,
) -> Result<Look, String> {
    let begun = Instant::now();
    let want = Want::Pod(name.clone());
    let mut watcher = Watcher::of(origin).ok_or("only a cluster can be watched")?;
    loop {
        let mut world = World::default();
        let wants = BTreeSet::from([want.clone()]);
        let read = gather(&mut world, slice::from_ref(origin), |_| wants.clone());
        watcher.meanwhile(read).await;
        if !matches!(world.state_of(&want), Some(State::Complete | State::Absent)) {
            let lost = world.coverage().find_map(|line| line.detail.clone());
            return Err(lost.unwrap_or_else(|| format!("{} could not be read", want.subject())));
        }
        let pod = world.pods_named(name).pop().map(|pod| (*pod.value).clone());
        let is_met = is_so(pod.as_ref());
        if is_met || deadline.is_over() {
            return Ok(Look {
                pod,
                took: begun.elapsed(),
                is_met,
            });
        }
        watcher.follow(wants.iter(), std::iter::empty());
        watcher.changed(deadline.left(), false).await;
    }
}

/// How often a server that does not answer is asked to remove what was made.
const TRIES: usize = 4;

/// Removes what was made, also where the connection is lost for a while, and says what is left and how to remove it.
pub(super) fn clear(
    applier: &mut Applier<'_>,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<(), Error> {
    let mut pause = Pause::default();
    let mut left = runtime.block_on(applier.undo())?;
    for _ in 1..TRIES {
        let Some((_, lost)) = left.iter().find(|(_, why)| why.code.is_none()) else {
            break;
        };
        say(&format!("warning: {}", lost.detail), env);
        say("what was made is not removed yet; trying again", env);
        runtime.block_on(pause.wait())?;
        left = runtime.block_on(applier.undo())?;
    }
    for (change, why) in left {
        let subject = change.subject().replacen('/', " ", 1);
        say(&format!("warning: {}", why.detail), env);
        say(
            &format!("hint: it is left behind; remove it with: kubectl delete {subject}"),
            env,
        );
    }
    Ok(())
}
