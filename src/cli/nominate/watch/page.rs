//! What a watch shows: the first answer, what changed, and the last answer.
//!
//! It must not decide when to end.

use std::io::Write;

use crate::answer::nomination_change::{self, Layout};
use crate::answer::nomination_explanation::{self, NominationExplanation};
use crate::answer::nomination_explanation_list::{self, NominationExplanationList};
use crate::cli::arguments::OutputArgs;
use crate::env::Env;
use crate::error::Error;

pub(super) enum Answer {
    One(Box<NominationExplanation>),
    Many(NominationExplanationList),
}

impl Answer {
    pub(super) fn items(&self) -> &[NominationExplanation] {
        match self {
            Self::One(item) => std::slice::from_ref(item),
            Self::Many(list) => &list.items,
        }
    }
}

/// What was shown already.
#[derive(Default)]
pub(super) struct Page {
    /// The last round's explanations.
    before: Vec<NominationExplanation>,
    /// Those that were last shown as a whole; null before the first.
    whole: Option<Vec<NominationExplanation>>,
    rows: bool,
}

impl Page {
    /// Of which Pods something else is to be told than in the round before.
    pub(super) fn changes(
        &mut self,
        items: &[NominationExplanation],
    ) -> Vec<NominationExplanation> {
        let known = |item: &&NominationExplanation| {
            self.before.iter().any(|before| item.tells_the_same(before))
        };
        let changed = items.iter().filter(|item| !known(item)).cloned().collect();
        self.before = items.to_vec();
        changed
    }

    /// Shows the first answer, and then what changed: rows for people, the whole for programs.
    pub(super) fn show(
        &mut self,
        answer: &Answer,
        changed: &[NominationExplanation],
        is_last: bool,
        output: &OutputArgs,
        env: &mut Env,
    ) -> Result<(), Error> {
        let people = output.is_for_people();
        // The last one is shown as a whole.
        if self.whole.is_none() || (!changed.is_empty() && !people && !is_last) {
            return self.show_whole(answer, output, env);
        }
        if changed.is_empty() || !people {
            return Ok(());
        }
        if !self.rows {
            writeln!(env.stdout)?;
        }
        let (namespace, name) = match answer {
            Answer::One(_) => (false, false),
            Answer::Many(list) => (list.many_namespaces, true),
        };
        let layout = Layout {
            titles: !self.rows,
            namespace,
            name,
        };
        self.rows = true;
        let changed: Vec<&NominationExplanation> = changed.iter().collect();
        output.draw(&nomination_change::view(&changed, layout), env)?;
        Ok(env.stdout.flush()?)
    }

    /// Shows an answer as a whole, unless that is what stands there already.
    pub(super) fn show_whole(
        &mut self,
        answer: &Answer,
        output: &OutputArgs,
        env: &mut Env,
    ) -> Result<(), Error> {
        let items = answer.items();
        let same = |one: &NominationExplanation, other: &NominationExplanation| {
            one.tells_the_same(other) && one.pod.phase == other.pod.phase
        };
        if let Some(whole) = &self.whole {
            let told = whole.len() == items.len()
                && whole.iter().zip(items).all(|(one, other)| same(one, other));
            if told {
                return Ok(());
            }
            output.divide(env)?;
        }
        self.whole = Some(items.to_vec());
        match answer {
            Answer::One(answer) => {
                output.show(answer.as_ref(), nomination_explanation::view, env)?;
            }
            Answer::Many(answer) => {
                output.show(answer, nomination_explanation_list::view, env)?;
            }
        }
        Ok(env.stdout.flush()?)
    }
}
