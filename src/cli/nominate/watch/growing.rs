//! `--watch` and `--for` with an audit log that grows: the explanation again with each write that the log tells of.
//!
//! The log is the clock: time passes with its lines, and with them alone. It must not know how a file is rotated.

use std::collections::BTreeSet;
use std::path::Path;

use super::Task;
use super::memory::Memory;
use super::page::{Answer, Page};
use crate::analysis::explain;
use crate::analysis::select;
use crate::cli::arguments::offline_error;
use crate::cli::runtime::Runtime;
use crate::cli::say;
use crate::env::Env;
use crate::error::{Error, Kind, exit};
use crate::model::pod::Uid;
use crate::model::world::World;
use crate::source::Origin;
use crate::source::audit::Focus;
use crate::source::gather::{gather, pour};
use crate::source::offline::{Growing, OfflineError};

pub(in crate::cli::nominate) fn run(
    task: &Task<'_>,
    path: &Path,
    runtime: &Runtime,
    env: &mut Env,
) -> Result<u8, Error> {
    let deadline = task.args.deadline();
    let mut log = Growing::new(path, Focus::on(task.request.pod_names()));
    let mut memory = Memory::new(task.request);
    let mut page = Page::default();
    // Those that were told of first; others may come.
    let mut counted: Option<BTreeSet<Uid>> = None;
    let mut last: Option<Answer> = None;
    let mut told = false;
    loop {
        // Gather.
        if log.read().map_err(|error| refused(&error))? {
            let world = look(task, &log, runtime)?;
            let chosen = select::choose(&world, task.request);
            let is_whole = chosen.missing.is_empty() && !chosen.pods.is_empty();
            memory.learn(&world);

            // Analyse.
            let now = (env.now)();
            let mut answer = memory.answer(&world, now);
            if answer.items().is_empty() && is_whole {
                // Who was known by a name alone is known by a UID now.
                memory = Memory::new(task.request);
                memory.learn(&world);
                answer = memory.answer(&world, now);
            }
            let items = answer.items();
            if !items.is_empty() {
                let first = || memory.found.keys().cloned().collect();
                let counted = counted.get_or_insert_with(first);
                let end = task.end(items, counted).filter(|_| is_whole);

                // Show.
                let changed = page.changes(items);
                if task.args.watch {
                    page.show(&answer, &changed, end.is_some(), task.output, env)?;
                }
                if let Some(code) = end {
                    page.show_whole(&answer, task.output, env)?;
                    task.say_why(items, counted, env);
                    return Ok(code);
                }
                last = Some(answer);
            }
        }

        // Wait.
        if deadline.is_over() {
            return timed_out(task, path, last.as_ref(), counted, &mut page, env);
        }
        if last.is_none() && !told {
            told = true;
            say(
                &format!("waiting for a write to these Pods in {}", path.display()),
                env,
            );
        }
        runtime.block_on(log.grown(deadline.left()))?;
    }
}

/// The World as the log tells it by now.
fn look(task: &Task<'_>, log: &Growing, runtime: &Runtime) -> Result<World, Error> {
    let mut origins = [Origin::Offline(Box::new(log.collected()))];
    let mut world = World::default();
    pour(&mut world, &mut origins);
    runtime.block_on(gather(&mut world, &origins, |world| {
        explain::wants(world, task.request)
    }))?;
    Ok(world)
}

fn timed_out(
    task: &Task<'_>,
    path: &Path,
    last: Option<&Answer>,
    counted: Option<BTreeSet<Uid>>,
    page: &mut Page,
    env: &mut Env,
) -> Result<u8, Error> {
    let Some(answer) = last else {
        let line = format!(
            "error: timed out waiting for a write to these Pods in {}",
            path.display()
        );
        say(&line, env);
        return Ok(exit::TIMED_OUT);
    };
    page.show_whole(answer, task.output, env)?;
    task.say_timed_out(answer.items(), &counted.unwrap_or_default(), env);
    Ok(exit::TIMED_OUT)
}

/// Only a log grows: what else was named is a mistake of who asks.
fn refused(error: &OfflineError) -> Error {
    match error {
        OfflineError::Foreign { path, fault, .. } => {
            let path = path.display().to_string();
            let sentence = format!(
                "only an audit log that grows can be followed, and {path:?} is none: {fault}"
            );
            Error::new(Kind::Usage, sentence)
                .hint("bundles, dumps and objects do not change once they are collected; leave out --watch and --for")
        }
        other => offline_error(other),
    }
}
