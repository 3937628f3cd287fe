//! Amounts of a resource, exact, in thousandths of the unit: what `1500m` cpu or `2Gi` memory mean.
//!
//! Grammar: apimachinery `pkg/api/resource/quantity.go` (1.37). Finer than a thousandth is rounded up, as the API does.

use std::collections::BTreeMap;
use std::fmt;

/// An amount in thousandths of the resource's unit (cores, bytes, pieces).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quantity {
    thousandths: i128,
}

/// Amounts by resource name, e.g. `cpu`, `memory`, `pods`.
pub(crate) type Resources = BTreeMap<String, Quantity>;

impl Quantity {
    pub(crate) const ONE: Self = Self { thousandths: 1000 };

    /// Reads a quantity; null if it is none.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        scaled(text, 1000).map(|thousandths| Self { thousandths })
    }

    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            thousandths: self.thousandths.saturating_add(other.thousandths),
        }
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        Self {
            thousandths: self.thousandths.saturating_sub(other.thousandths),
        }
    }
}

/// Reads a quantity as a number of parts, so many to the unit, rounded up; null if it is none.
pub(super) fn scaled(text: &str, parts: i128) -> Option<i128> {
    let text = text.trim();
    let split = text
        .char_indices()
        .find(|(at, letter)| {
            !(letter.is_ascii_digit()
                || *letter == '.'
                || (*at == 0 && matches!(letter, '+' | '-')))
        })
        .map_or(text.len(), |(at, _)| at);
    let (number, suffix) = text.split_at(split);
    let (numerator, denominator) = scale(suffix)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let digits = format!("{whole}{fraction}");
    if !digits.bytes().any(|byte| byte.is_ascii_digit()) || fraction.len() > 18 {
        return None;
    }
    let value: i128 = digits.parse().ok()?;
    let tens = 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    // The table is in thousandths.
    let numerator = numerator.checked_mul(parts / 1000)?;
    let divisor = denominator.checked_mul(tens)?;
    let scaled = value.checked_mul(numerator)?;
    Some(scaled.div_euclid(divisor) + i128::from(scaled.rem_euclid(divisor) != 0))
}

/// Thousandths that a suffix stands for, as a fraction.
fn scale(suffix: &str) -> Option<(i128, i128)> {
    if let Some(exponent) = suffix
        .strip_prefix(['e', 'E'])
        .filter(|rest| !rest.is_empty())
    {
        let exponent: i32 = exponent.parse().ok()?;
        let power = 10_i128.checked_pow(exponent.unsigned_abs())?;
        return if exponent < 0 {
            Some((1000, power))
        } else {
            Some((power.checked_mul(1000)?, 1))
        };
    }
    Some(match suffix {
        "n" => (1, 1_000_000),
        "u" => (1, 1_000),
        "m" => (1, 1),
        "" => (1_000, 1),
        "k" => (1_000_000, 1),
        "M" => (1_000_000_000, 1),
        "G" => (1_000_000_000_000, 1),
        "T" => (1_000_000_000_000_000, 1),
        "P" => (1_000_000_000_000_000_000, 1),
        "E" => (1_000_000_000_000_000_000_000, 1),
        "Ki" => (1_000 << 10, 1),
        "Mi" => (1_000 << 20, 1),
        "Gi" => (1_000 << 30, 1),
        "Ti" => (1_000 << 40, 1),
        "Pi" => (1_000 << 50, 1),
        "Ei" => (1_000 << 60, 1),
        _ => return None,
    })
}

impl fmt::Display for Quantity {
    /// As the API would print it: binary units where they come out even, else thousandths, else the plain number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.thousandths % 1000 != 0 {
            return write!(f, "{}m", self.thousandths);
        }
        let whole = self.thousandths / 1000;
        for (unit, shift) in [("Gi", 30_u32), ("Mi", 20), ("Ki", 10)] {
            if whole != 0 && whole % (1 << shift) == 0 {
                return write!(f, "{}{unit}", whole >> shift);
            }
        }
        write!(f, "{whole}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_amounts() {
        let of = |text: &str| Quantity::parse(text).map(|quantity| quantity.thousandths);
        assert_eq!(of("1500m"), Some(1500));
        assert_eq!(of("2"), Some(2000));
        assert_eq!(of("0.1"), Some(100));
        assert_eq!(of("1e3"), Some(1_000_000));
        assert_eq!(of("2Gi"), Some(2 * 1000 * (1 << 30)));
        assert_eq!(of("1u"), Some(1), "rounded up");
        assert_eq!(of("-1"), Some(-1000));
        for bad in [
            "",
            "m",
            "1.2.3",
            "1x",
            "--1",
            "1e",
            "1Kib",
            "99999999999999999999999999999999999999999Ei",
        ] {
            assert_eq!(of(bad), None, "{bad}");
        }
        for text in ["1500m", "2", "2Gi", "3Mi", "7Ki", "1001"] {
            assert_eq!(Quantity::parse(text).expect("it is one").to_string(), text);
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(text in ".{0,30}") {
            prop_assert!(Quantity::parse(&text).is_none_or(|quantity| quantity.minus(quantity) == Quantity::default()));
        }

        #[test]
        fn what_is_printed_is_read_back(thousandths in any::<i64>()) {
            let quantity = Quantity { thousandths: i128::from(thousandths) };
            prop_assert_eq!(Quantity::parse(&quantity.to_string()), Some(quantity));
        }
    }
}
