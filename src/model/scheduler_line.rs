//! A line of a scheduler's log about one Pod: what the scheduler says that it did.
//!
//! It is the only direct witness of an attempt, and of what was tried in it; objects keep outcomes alone. What it means is for the
//! analysis to say.

use jiff::civil::DateTime;
use jiff::{Timestamp, tz::TimeZone};

use super::pod::PodName;

/// One line. Its order is that of causes and effects within a microsecond.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SchedulerLine {
    pub(crate) pod: PodName,
    pub(crate) at: LogTime,
    pub(crate) said: Said,
}

/// When a line was written, by the clock of the scheduler's machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogTime {
    /// JSON logs, and lines to which a container runtime put its own time.
    Exact(Timestamp),
    /// klog's text has no year and no zone: this is that of the year 2000, taken as UTC.
    Yearless(DateTime),
}

/// What the scheduler said, in its own order. Texts and keys are those of 1.35.4, 1.36.3 and 1.37.2, which do not differ; the number is the
/// least verbosity (`-v`) at which it is printed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Said {
    /// It learned of a new version of the Pod, which is not bound; 4.
    Update,
    /// An attempt began; 3.
    Attempt,
    /// The nominated node could not be evaluated, for that reason, and all others were; always printed.
    NominatedNodeFailed { node: String, why: String },
    /// No node fits; 2.
    NoFit { why: String },
    /// The attempt ended by an error; always printed.
    Error { why: String },
    /// It is about to write this node into `status.nominatedNodeName`; 3.
    Nominating { node: String },
    /// The server took the binding; 2.
    Bound {
        node: String,
        /// Nodes that passed or failed the filters in this attempt. One alone where the nominated node fits: then no other is looked at.
        evaluated: u32,
    },
}

impl LogTime {
    /// The moment. A time without a year is that of the year which brings it nearest to `now`.
    pub(crate) fn near(self, now: Timestamp) -> Option<Timestamp> {
        match self {
            Self::Exact(at) => Some(at),
            Self::Yearless(time) => {
                let this = TimeZone::UTC.to_datetime(now).year();
                let of_year = |year: i16| {
                    let dated = time.with().year(year).build().ok()?;
                    TimeZone::UTC.to_timestamp(dated).ok()
                };
                (this.saturating_sub(1)..=this.saturating_add(1))
                    .filter_map(of_year)
                    .min_by_key(|at| at.duration_since(now).abs())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_year_is_the_nearest() {
        let near = |time: &str, now: &str| {
            let time = LogTime::Yearless(time.parse().expect("a time"));
            let at = time.near(now.parse().expect("a time"));
            at.map(|at| at.to_string())
        };
        let due = |text: &str| Some(text.to_owned());
        assert_eq!(
            near("2000-12-31T23:59:59.5", "2027-01-01T00:00:10Z"),
            due("2026-12-31T23:59:59.5Z")
        );
        assert_eq!(
            near("2000-01-01T00:00:01", "2026-12-31T23:59:00Z"),
            due("2027-01-01T00:00:01Z")
        );
        // A day that the year does not have.
        assert_eq!(
            near("2000-02-29T00:00:00", "2028-03-01T00:00:00Z"),
            due("2028-02-29T00:00:00Z")
        );
        assert_eq!(near("2000-02-29T00:00:00", "2026-03-01T00:00:00Z"), None);
    }
}
