//! Thresholds: how far a number may go, by itself or held against what it was before.
//!
//! It must not know what is measured.

use std::fmt;
use std::str::FromStr;

/// A number past it is a breach.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Limit {
    Most(f64),
    /// So much above the baseline.
    Above(f64),
    /// So many times the baseline.
    Times(f64),
}

impl Limit {
    /// The number itself; null where it hangs on a baseline that there is not.
    pub(super) fn given(self, before: Option<f64>) -> Option<f64> {
        match self {
            Self::Most(most) => Some(most),
            Self::Above(more) => Some(before? + more),
            Self::Times(factor) => Some(before? * factor),
        }
    }
}

impl FromStr for Limit {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str| {
            let (text, unit) = text.strip_suffix('%').map_or((text, 1.0), |it| (it, 100.0));
            let number: f64 = text.parse().ok()?;
            (number.is_finite() && number >= 0.0 && !text.starts_with(['+', '-']))
                .then_some(number / unit)
        };
        let limit = if let Some(more) = text.strip_prefix('+') {
            number(more).map(Self::Above)
        } else if let Some(factor) = text.strip_suffix('x') {
            number(factor).map(Self::Times)
        } else {
            number(text).map(Self::Most)
        };
        limit.ok_or_else(|| {
            format!("{text:?} is no threshold: give 0.2 or 20%, +0.1 above the baseline, or 2x the baseline")
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Most(most) => write!(formatter, "{most}"),
            Self::Above(more) => write!(formatter, "+{more}"),
            Self::Times(factor) => write!(formatter, "{factor}x"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_read_and_given() {
        for (text, due, given) in [
            ("0.2", Limit::Most(0.2), Some(0.2)),
            ("20%", Limit::Most(0.2), Some(0.2)),
            ("+10%", Limit::Above(0.1), None),
            ("2x", Limit::Times(2.0), None),
        ] {
            assert_eq!(text.parse(), Ok(due), "{text}");
            assert_eq!(due.given(None), given, "{text}");
        }
        assert_eq!(Limit::Above(0.5).given(Some(1.0)), Some(1.5));
        assert_eq!(Limit::Times(2.0).given(Some(3.0)), Some(6.0));
        for wrong in ["", "+", "x", "-1", "+-1", "++1", "NaN", "inf", "1y", "%"] {
            assert!(wrong.parse::<Limit>().is_err(), "{wrong}");
        }
    }
}
