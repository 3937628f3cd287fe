//! One line: what stands before it, its message, and the keys that belong to it.
//!
//! klog's text is `I1130 16:09:17.111191 35 schedule_one.go:99] "message" key="value" …` with Go's quotes; its JSON is an object with `ts` (ms),
//! `msg` and the keys, of which `pod` may stand twice (observed on 1.35.4 to 1.37.2). A container runtime puts `TIME stream F ` before it
//! (CRI), `kubectl logs --timestamps` and `oc adm inspect` only `TIME `.

use jiff::Timestamp;
use jiff::civil::DateTime;
use serde_json::{Map, Value};

use crate::model::pod::PodName;
use crate::model::scheduler_line::{LogTime, Said, SchedulerLine};

/// Reads what a message's keys say.
type Read = fn(&Keys<'_>) -> Option<Said>;

/// Each message that is read.
const MESSAGES: &[(&[u8], Read)] = &[
    (b"Update event for unscheduled pod", |_| Some(Said::Update)),
    (b"Attempting to schedule pod", |_| Some(Said::Attempt)),
    (b"Evaluation failed on nominated node", |keys| {
        Some(Said::NominatedNodeFailed {
            node: keys.text("node")?,
            why: keys.text("err")?,
        })
    }),
    (b"Unable to schedule pod; no fit; waiting", |keys| {
        let why = keys.text("err")?;
        Some(Said::NoFit { why })
    }),
    (b"Error scheduling pod; retrying", |keys| {
        let why = keys.text("err")?;
        Some(Said::Error { why })
    }),
    (b"Updating pod condition and nominated node name", |keys| {
        let node = keys.text("nominatedNodeName").unwrap_or_default();
        Some(Said::Nominating { node })
    }),
    (b"Successfully bound pod to node", |keys| {
        Some(Said::Bound {
            node: keys.text("node")?,
            evaluated: keys.number("evaluatedNodes")?,
        })
    }),
];

/// A line with a message that is read; its keys are not decoded yet.
pub(super) struct Found<'l> {
    at: Option<Timestamp>,
    body: &'l [u8],
    read: Read,
}

/// Whether a line has the form of a component's log.
pub(super) fn is_of_a_component(line: &[u8]) -> bool {
    let (_, body) = after_time(line);
    header(body).is_some() || (body.starts_with(b"{\"ts\":") && json_message(body).is_some())
}

/// Finds the message, if it is one that is read.
pub(super) fn find(line: &[u8]) -> Option<Found<'_>> {
    // A fast no: text has its message behind a bracket, JSON in `msg`.
    let (at, body) = match line.first()? {
        b'0'..=b'9' => after_time(line),
        _ => (None, line),
    };
    let message = match body.first()? {
        b'{' => json_message(body)?,
        b'I' | b'E' | b'W' => {
            let end = memchr::memchr(b']', body.get(..128).unwrap_or(body))?;
            body.get(end + 1..)?.strip_prefix(b" \"")?
        }
        _ => return None,
    };
    let (_, read) = MESSAGES.iter().find(|(known, _)| {
        let rest = message.strip_prefix(*known);
        // Another message may begin the same.
        rest.is_some_and(|rest| rest.first().is_none_or(|byte| *byte == b'"'))
    })?;
    Some(Found {
        at,
        body,
        read: *read,
    })
}

impl Found<'_> {
    /// Reads the line whole; none where it is cut off or damaged.
    pub(super) fn decode(&self) -> Option<SchedulerLine> {
        let text = std::str::from_utf8(self.body).ok()?.trim_end();
        let (at, keys) = if text.starts_with('{') {
            // The last of two keys of one name counts; both are the same.
            let object: Map<String, Value> = serde_json::from_str(text).ok()?;
            (milliseconds(object.get("ts")?)?, Keys::Json(object))
        } else {
            let (time, rest) = header(text.as_bytes())?;
            let rest = text.get(text.len() - rest.len()..)?;
            let (_, keys) = quoted(rest)?;
            (LogTime::Yearless(time), Keys::Text(keys))
        };
        Some(SchedulerLine {
            pod: keys.pod()?,
            at: self.at.map_or(at, LogTime::Exact),
            said: (self.read)(&keys)?,
        })
    }
}

/// What stands before the line: the time that a container runtime or a tool put there.
fn after_time(line: &[u8]) -> (Option<Timestamp>, &[u8]) {
    let Some(end) = memchr::memchr(b' ', line.get(..40).unwrap_or(line)) else {
        return (None, line);
    };
    let (time, rest) = line.split_at(end);
    let time = std::str::from_utf8(time).ok();
    let Some(at) = time.and_then(|time| time.parse::<Timestamp>().ok()) else {
        return (None, line);
    };
    let rest = rest.get(1..).unwrap_or_default();
    let prefixes: [&[u8]; 4] = [b"stderr F ", b"stdout F ", b"stderr P ", b"stdout P "];
    let stream = prefixes
        .iter()
        .find_map(|prefix| rest.strip_prefix(*prefix));
    (Some(at), stream.unwrap_or(rest))
}

/// klog's header: severity, month and day, time, process, file and line, and what follows the bracket and a space.
fn header(body: &[u8]) -> Option<(DateTime, &[u8])> {
    let (head, rest) = body.split_at(memchr::memchr(b']', body.get(..128).unwrap_or(body))?);
    let rest = rest.strip_prefix(b"] ")?;
    let head = std::str::from_utf8(head).ok()?;
    let mut words = head.split_ascii_whitespace();
    let (date, time) = (words.next()?, words.next()?);
    let process = words.next()?;
    let place = words.next()?;
    if process.parse::<u64>().is_err() || !place.contains(".go:") || words.next().is_some() {
        return None;
    }
    let date = date.strip_prefix(['I', 'W', 'E', 'F'])?;
    if date.len() != 4 || !date.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let (month, day) = date.split_at(2);
    let time = format!("2000-{month}-{day}T{time}").parse().ok()?;
    Some((time, rest))
}

/// What follows `"msg":"`; klog writes it behind `ts`, `logger` and `caller`, before any key.
fn json_message(body: &[u8]) -> Option<&[u8]> {
    const KEY: &[u8] = b"\"msg\":\"";
    let head = body.get(..300).unwrap_or(body);
    let start = memchr::memmem::find(head, KEY)? + KEY.len();
    body.get(start..)
}

/// `ts` is in milliseconds, with a fraction.
fn milliseconds(ts: &Value) -> Option<LogTime> {
    // Times of this century have 13 digits before the point: a double is exact to a microsecond.
    let micros = (ts.as_f64()? * 1_000.0).round();
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a number out of range is saturated, and then no time"
    )]
    let micros = micros as i64;
    Timestamp::from_microsecond(micros).ok().map(LogTime::Exact)
}

/// A line's keys.
enum Keys<'l> {
    /// What follows the message.
    Text(&'l str),
    Json(Map<String, Value>),
}

impl Keys<'_> {
    fn text(&self, key: &str) -> Option<String> {
        match self {
            Self::Text(rest) => value_of(rest, key),
            Self::Json(object) => object.get(key)?.as_str().map(str::to_owned),
        }
    }

    fn number(&self, key: &str) -> Option<u32> {
        match self {
            Self::Text(rest) => value_of(rest, key)?.parse().ok(),
            Self::Json(object) => u32::try_from(object.get(key)?.as_u64()?).ok(),
        }
    }

    fn pod(&self) -> Option<PodName> {
        let (namespace, name) = match self {
            Self::Text(rest) => {
                let pod = value_of(rest, "pod")?;
                let (namespace, name) = pod.split_once('/')?;
                (namespace.to_owned(), name.to_owned())
            }
            Self::Json(object) => {
                let member = |key| object.get("pod")?.get(key)?.as_str().map(str::to_owned);
                (member("namespace")?, member("name")?)
            }
        };
        Some(PodName { namespace, name })
    }
}

/// The value of a key in klog's text, which is quoted or a bare word. Values before it are passed over whole, so that none is taken for a key.
fn value_of(keys: &str, wanted: &str) -> Option<String> {
    let mut rest = keys;
    loop {
        let (key, after) = rest.trim_start().split_once('=')?;
        let value;
        (value, rest) = if after.starts_with('"') {
            quoted(after)?
        } else {
            let end = after.find(' ').unwrap_or(after.len());
            let (bare, rest) = after.split_at(end);
            (bare.to_owned(), rest)
        };
        if key == wanted {
            return Some(value);
        }
    }
}

/// A string in Go's quotes, and what follows. Escapes that are not text stay as they were written.
fn quoted(text: &str) -> Option<(String, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut value = String::new();
    let mut letters = inside.char_indices();
    loop {
        let (at, letter) = letters.next()?;
        match letter {
            '"' => return Some((value, inside.get(at + 1..)?)),
            '\\' => match letters.next()?.1 {
                same @ ('"' | '\\') => value.push(same),
                'n' => value.push('\n'),
                't' => value.push('\t'),
                other => value.extend(['\\', other]),
            },
            other => value.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Option<SchedulerLine> {
        find(line.as_bytes())?.decode()
    }

    fn bound(node: &str, evaluated: u32) -> Said {
        let node = node.to_owned();
        Said::Bound { node, evaluated }
    }

    #[test]
    fn one_line_in_all_its_wrappings() {
        let text = "I1130 16:12:34.548650      34 schedule_one.go:483] \"Successfully bound pod to node\" pod=\"shop/web\" node=\"n2\" evaluatedNodes=1 feasibleNodes=1";
        let json = r#"{"ts":1796055005118.665,"caller":"scheduler/schedule_one.go:337","msg":"Successfully bound pod to node","pod":{"name":"web","namespace":"shop"},"v":2,"pod":{"name":"web","namespace":"shop"},"node":"n2","evaluatedNodes":1,"feasibleNodes":1}"#;
        let line = |at| {
            Some(SchedulerLine {
                pod: PodName {
                    namespace: "shop".to_owned(),
                    name: "web".to_owned(),
                },
                at,
                said: bound("n2", 1),
            })
        };
        let exact = |text: &str| LogTime::Exact(text.parse().expect("a time"));
        let yearless = LogTime::Yearless("2000-11-30T16:12:34.54865".parse().expect("a time"));
        assert_eq!(of(text), line(yearless));
        assert_eq!(of(json), line(exact("2026-11-30T16:10:05.118665Z")));
        for (prefix, at) in [
            (
                "2026-11-30T16:12:34.5490Z stderr F ",
                "2026-11-30T16:12:34.549Z",
            ),
            (
                "2026-11-30T17:12:34.549+01:00 stderr F ",
                "2026-11-30T16:12:34.549Z",
            ),
            ("2026-11-30T16:12:34.549Z ", "2026-11-30T16:12:34.549Z"),
        ] {
            assert_eq!(of(&format!("{prefix}{text}")), line(exact(at)));
            assert_eq!(of(&format!("{prefix}{json}")), line(exact(at)));
            assert!(is_of_a_component(format!("{prefix}{text}").as_bytes()));
        }
    }

    #[test]
    fn a_value_that_looks_like_a_key_is_none() {
        let line = r#"E1130 16:09:17.111297      35 schedule_one.go:1068] "Error scheduling pod; retrying" err="it said pod=\"evil/pod\" node=\"x\"\n" logger="UnhandledError" pod="shop/web""#;
        let found = of(line).expect("it is whole");
        assert_eq!(found.pod.name, "web");
        let why = "it said pod=\"evil/pod\" node=\"x\"\n".to_owned();
        assert_eq!(found.said, Said::Error { why });
    }

    #[test]
    fn other_messages_and_other_lines_are_passed_over() {
        for line in [
            r#"I1130 16:09:17.111191      35 schedule_one_podgroup.go:126] "Attempting to schedule pod group" podGroup="shop/web""#,
            r#"I1130 16:09:17.111191      35 eventhandlers.go:424] "Update event for scheduled pod" pod="shop/web""#,
            "I1130 16:09:17.111191      35 flags.go:64] FLAG: --feature-gates=\"\"",
            "\tcurl -v -XPOST",
            "",
            "{",
        ] {
            assert!(find(line.as_bytes()).is_none(), "{line}");
        }
    }
}
