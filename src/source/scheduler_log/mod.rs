//! A scheduler's log: klog's text or JSON (`--logging-format=json`), as the process wrote it or as a container's log has it.
//!
//! One pass; a line that cannot matter is passed over before it is decoded. Logs of other components look the same and hold none of these
//! lines. Only what schedulers of 1.35.4, 1.36.3 and 1.37.2 were seen to print is read. It must not judge.

mod line;

use std::collections::{BTreeMap, VecDeque};
use std::io::BufRead;

use crate::model::fact::Content;
use crate::model::pod::PodName;
use crate::model::scheduler_line::{LogTime, Said, SchedulerLine};
use crate::source::audit::Focus;
use crate::source::lines::{self, Line};

/// A longer line is none of those that are read: they have a message of the scheduler's, which is some kilobytes.
const MAX_LINE: usize = 1 << 20;

/// Lines about one Pod that are kept, the newest: a Pod that fits nowhere is tried for days.
const MAX_OF_A_POD: usize = 500;

/// Lines that are kept in all.
const MAX_KEPT: usize = 200_000;

/// What a log told.
#[derive(Debug, Default)]
pub(crate) struct Log {
    kept: BTreeMap<PodName, VecDeque<SchedulerLine>>,
    count: usize,
    /// Lines about these Pods that were not kept.
    pub(crate) dropped: usize,
    /// Lines read, whatever they were about.
    pub(crate) lines: usize,
    /// Those that begin as one that is read, and are cut off or damaged.
    pub(crate) broken: usize,
    /// The first of them, or where the log broke off.
    pub(crate) first_fault: Option<String>,
}

/// Whether bytes begin as a component's log does. Other text may stand before: what tools write above a log, a stack trace.
pub(crate) fn recognises(start: &[u8]) -> bool {
    start
        .split(|byte| *byte == b'\n')
        .take(20)
        .any(line::is_of_a_component)
}

/// Reads a log to its end. What stands before and after a fault is used.
pub(crate) fn read(reader: &mut dyn BufRead, focus: &Focus) -> Log {
    let mut log = Log::default();
    let end = lines::each(reader, MAX_LINE, &mut |line| {
        log.lines += 1;
        // A line that is too long is somebody else's: a request's body at a high verbosity.
        if let Line::Whole(line) = line {
            log.line(line, focus);
        }
    });
    if let Err(error) = end {
        log.fault(format!("after line {}: {error}", log.lines));
    }
    log
}

impl Log {
    /// What it told.
    pub(crate) fn into_contents(self) -> impl Iterator<Item = Content> {
        self.kept
            .into_values()
            .flatten()
            .map(Box::new)
            .map(Content::Line)
    }

    /// The lines that are kept.
    pub(crate) fn kept(&self) -> impl Iterator<Item = &SchedulerLine> {
        self.kept.values().flatten()
    }

    /// Whether some times are without year and zone.
    pub(crate) fn is_yearless(&self) -> bool {
        self.kept()
            .any(|line| matches!(line.at, LogTime::Yearless(_)))
    }

    fn fault(&mut self, fault: String) {
        self.broken += 1;
        self.first_fault.get_or_insert(fault);
    }

    fn line(&mut self, line: &[u8], focus: &Focus) {
        // The cheapest question first: most lines are about something else.
        let Some(found) = line::find(line) else {
            return;
        };
        if !focus.names_one(line) {
            return;
        }
        match found.decode() {
            // With each report the scheduler says which node it writes, also where it writes none.
            Some(SchedulerLine {
                said: Said::Nominating { node },
                ..
            }) if node.is_empty() => {}
            Some(line) => self.keep(line),
            None => self.fault(format!("line {} is cut off or damaged", self.lines)),
        }
    }

    fn keep(&mut self, line: SchedulerLine) {
        if self.count >= MAX_KEPT {
            self.dropped += 1;
            return;
        }
        let of_pod = self.kept.entry(line.pod.clone()).or_default();
        of_pod.push_back(line);
        self.count += 1;
        if of_pod.len() > MAX_OF_A_POD {
            of_pod.pop_front();
            self.count -= 1;
            self.dropped += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufReader, Read};

    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "I1130 16:09:17.111191      35 schedule_one.go:99] \"Attempting to schedule pod\" pod=\"shop/web\"\n";
    const FAILED: &str = "E1130 16:09:17.111297      35 schedule_one.go:524] \"Evaluation failed on nominated node\" err=\"nodeinfo not found for node name \\\"no-such-node\\\"\" logger=\"UnhandledError\" pod=\"shop/web\" node=\"no-such-node\"\n";

    fn of(text: &[u8]) -> Log {
        read(&mut BufReader::new(text), &Focus::default())
    }

    #[test]
    fn only_the_pods_that_are_asked_for_are_read() {
        let text = format!("{TEXT}{FAILED}{}", TEXT.replace("shop/web", "shop/other"));
        let focus = Focus::on(Some(vec!["web".to_owned()]));
        let log = read(&mut BufReader::new(text.as_bytes()), &focus);
        assert_eq!((log.lines, log.kept().count(), log.broken), (3, 2, 0));
        assert!(log.is_yearless());
    }

    #[test]
    fn a_log_is_known_by_any_of_its_first_lines() {
        assert!(recognises(TEXT.as_bytes()));
        assert!(recognises(
            format!("==== START logs for container kube-scheduler of pod a/b ====\n{TEXT}")
                .as_bytes()
        ));
        for other in [
            "",
            "apiVersion: v1\nkind: Pod\n",
            "{\"kind\":\"Pod\"}",
            "I am no log\n",
            "{\"ts\":1,\"kind\":\"Pod\"}",
        ] {
            assert!(!recognises(other.as_bytes()), "{other}");
        }
    }

    #[test]
    fn a_line_of_100_mib_and_a_pod_that_is_tried_for_ever_cost_little() {
        let filling = std::io::repeat(b'x').take(100 << 20);
        let mut reader =
            BufReader::with_capacity(1 << 16, TEXT.as_bytes().chain(filling).chain(&b"\n"[..]));
        let log = read(&mut reader, &Focus::default());
        assert_eq!((log.lines, log.kept().count(), log.broken), (2, 1, 0));
        let log = of(TEXT.repeat(MAX_OF_A_POD + 7).as_bytes());
        assert_eq!((log.kept().count(), log.dropped), (MAX_OF_A_POD, 7));
    }

    #[test]
    fn what_is_cut_off_is_counted_and_the_rest_is_used() {
        let (cut, _) = FAILED.split_at(150);
        let log = of(format!("{cut}\n{TEXT}\0\n").as_bytes());
        assert_eq!((log.kept().count(), log.broken), (1, 1));
        assert_eq!(
            log.first_fault.as_deref(),
            Some("line 1 is cut off or damaged")
        );
        assert!(matches!(
            log.kept().next().map(|line| &line.said),
            Some(Said::Attempt)
        ));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300), at in any::<prop::sample::Index>()) {
            drop(of(&bytes));
            let mut line = FAILED.as_bytes().to_vec();
            let at = at.index(line.len());
            line.splice(at..at, bytes);
            drop(of(&line));
        }
    }
}
