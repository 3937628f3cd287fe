//! When a request is sent again: a server that is busy (429) or not quite there (503) may answer a moment later.
//!
//! Short and few, since somebody waits: two more tries, and a server that wants to be left alone for long is obeyed by
//! giving up. It must not look at a clock; the caller keeps the limit.

use std::time::Duration;

use http::{HeaderMap, StatusCode};

/// How often a request is sent at most.
pub(super) const TRIES: u32 = 3;

/// The longest pause that a server may ask for.
const LONGEST: Duration = Duration::from_secs(3);

/// The pause where the server asks for none; the second is twice as long.
const FIRST: Duration = Duration::from_millis(250);

/// The pause before the next try; null where there is none.
pub(super) fn pause(tried: u32, status: StatusCode, headers: &HeaderMap) -> Option<Duration> {
    let is_passing = matches!(
        status,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE
    );
    if !is_passing || tried >= TRIES {
        return None;
    }
    match asked(headers) {
        Some(asked) => Some(asked).filter(|asked| *asked <= LONGEST),
        None => Some(FIRST * tried),
    }
}

/// The server's `Retry-After` in seconds; a date is read as none.
pub(super) fn asked(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(http::header::RETRY_AFTER)?.to_str().ok()?;
    seconds.trim().parse().ok().map(Duration::from_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tries_and_short_pauses() {
        let of = |tried, status: u16, after: Option<&str>| {
            let mut headers = HeaderMap::new();
            if let Some(after) = after {
                headers.insert("retry-after", after.parse().expect("a header"));
            }
            pause(
                tried,
                StatusCode::from_u16(status).expect("a status"),
                &headers,
            )
        };
        assert_eq!(of(1, 429, Some("1")), Some(Duration::from_secs(1)));
        assert_eq!(of(2, 429, Some("1")), Some(Duration::from_secs(1)));
        assert_eq!(of(3, 429, Some("1")), None);
        assert_eq!(of(1, 429, Some("60")), None, "longer than anybody waits");
        assert_eq!(of(1, 503, None), Some(Duration::from_millis(250)));
        assert_eq!(of(2, 503, None), Some(Duration::from_millis(500)));
        assert_eq!(of(1, 503, Some("soon")), Some(Duration::from_millis(250)));
        for status in [401, 403, 404, 500, 504] {
            assert_eq!(of(1, status, Some("0")), None, "{status}");
        }
    }
}
