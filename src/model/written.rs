//! A quantity as somebody wrote it. Upstream compares the value in some places and the whole struct, notation and all, in
//! others; which of the two decides what an update needs.
//!
//! It must not round what it compares. Source: apimachinery `pkg/api/resource/quantity.go`, `ParseQuantity` (0.35.4 to 0.37.2).

use super::quantity;

/// A quantity's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Written(pub(crate) String);

/// What Go holds of it; two that are equal are equal by `reflect.DeepEqual`.
#[derive(Debug, PartialEq, Eq)]
enum Held<'a> {
    /// `int64Amount`, and the text where that is canonical.
    Short {
        value: i128,
        scale: i32,
        notation: Notation,
        text: Option<&'a str>,
    },
    /// `infDecAmount`, which is always rounded to a billionth.
    Long {
        billionths: i128,
        notation: Notation,
    },
    /// It is no quantity, or a larger one than any node has.
    Other(&'a str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Notation {
    Binary,
    Decimal,
    Exponent,
}

/// Digits that Go holds in an integer.
const SHORT_DECIMAL: usize = 18;

impl Written {
    /// Whether both are worth the same: `1000m` and `1`.
    pub(crate) fn is_worth(&self, other: &Self) -> bool {
        let of = |written: &Self| quantity::scaled(written.0.trim(), 1_000_000_000);
        match (of(self), of(other)) {
            (Some(one), Some(two)) => one == two,
            _ => self.0.trim() == other.0.trim(),
        }
    }

    /// Whether Go holds both alike: `1000m` and `1` are not, `1.5Gi` and `1.50Gi` are.
    pub(crate) fn is_held_like(&self, other: &Self) -> bool {
        held(self.0.trim()) == held(other.0.trim())
    }
}

fn held(text: &str) -> Held<'_> {
    read(text).unwrap_or(Held::Other(text))
}

fn read(text: &str) -> Option<Held<'_>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let end = unsigned
        .find(|letter: char| !(letter.is_ascii_digit() || letter == '.'))
        .unwrap_or(unsigned.len());
    let (number, suffix) = unsigned.split_at(end);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let (notation, exponent) = suffix_of(suffix)?;
    let digits = format!("{whole}{fraction}");
    let shifted: Option<i128> = digits.parse().ok();
    let negative = text.starts_with('-');
    let short = match notation {
        Notation::Binary => short_binary(whole, fraction, exponent),
        Notation::Decimal | Notation::Exponent => {
            let scale = exponent - i32::try_from(fraction.len()).ok()?;
            (digits.len() <= SHORT_DECIMAL && scale >= -9)
                .then_some(shifted?)
                .map(|value| (value, scale))
        }
    };
    let Some((value, scale)) = short else {
        let billionths = quantity::scaled(text, 1_000_000_000)?;
        let is_fraction = billionths > 0 && billionths < 1_000_000_000;
        let notation = match notation {
            Notation::Binary if is_fraction => Notation::Decimal,
            other => other,
        };
        return Some(Held::Long {
            billionths,
            notation,
        });
    };
    let is_canonical = text == "0"
        || match notation {
            Notation::Binary => shifted? % 8 != 0,
            Notation::Decimal | Notation::Exponent => {
                scale % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0')
            }
        };
    Some(Held::Short {
        value: if negative { -value } else { value },
        scale,
        notation,
        text: is_canonical.then_some(text),
    })
}

/// A binary amount that Go holds in an integer: one without a fraction, and not too long.
fn short_binary(whole: &str, fraction: &str, exponent: i32) -> Option<(i128, i32)> {
    let room = 15 - i32::try_from(whole.len()).ok()? - exponent * 3 / 10 - 1;
    if !fraction.is_empty() || room < 0 {
        return None;
    }
    let value: i128 = whole.parse().ok()?;
    let value = value.checked_mul(1_i128.checked_shl(exponent.unsigned_abs())?)?;
    i64::try_from(value).ok().map(|_| (value, 0))
}

fn suffix_of(suffix: &str) -> Option<(Notation, i32)> {
    if let Some(exponent) = suffix.strip_prefix(['e', 'E'])
        && !exponent.is_empty()
    {
        let is_binary = exponent == "i";
        return if is_binary {
            Some((Notation::Binary, 60))
        } else {
            exponent.parse().ok().map(|it| (Notation::Exponent, it))
        };
    }
    let (notation, exponent) = match suffix {
        "Ki" => (Notation::Binary, 10),
        "Mi" => (Notation::Binary, 20),
        "Gi" => (Notation::Binary, 30),
        "Ti" => (Notation::Binary, 40),
        "Pi" => (Notation::Binary, 50),
        "n" => (Notation::Decimal, -9),
        "u" => (Notation::Decimal, -6),
        "m" => (Notation::Decimal, -3),
        "" => (Notation::Decimal, 0),
        "k" => (Notation::Decimal, 3),
        "M" => (Notation::Decimal, 6),
        "G" => (Notation::Decimal, 9),
        "T" => (Notation::Decimal, 12),
        "P" => (Notation::Decimal, 15),
        "E" => (Notation::Decimal, 18),
        _ => return None,
    };
    Some((notation, exponent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pair(one: &str, two: &str) -> (bool, bool) {
        let (one, two) = (Written(one.to_owned()), Written(two.to_owned()));
        (one.is_worth(&two), one.is_held_like(&two))
    }

    #[test]
    fn one_worth_in_several_notations() {
        assert_eq!(pair("1", "1"), (true, true));
        assert_eq!(pair("1000m", "1"), (true, false));
        assert_eq!(pair("1024Mi", "1Gi"), (true, false));
        assert_eq!(pair("1.5Gi", "1.50Gi"), (true, true));
        assert_eq!(pair("1e3", "1k"), (true, false));
        assert_eq!(pair("1n", "2n"), (false, false));
        assert_eq!(pair("8Gi", "08Gi"), (true, true));
        assert_eq!(pair("7Gi", "07Gi"), (true, false));
    }

    proptest! {
        #[test]
        fn a_text_is_like_itself(text in "[+-]?[0-9.]{0,20}[eEinumkKMGTP]{0,2}[0-9]{0,3}") {
            prop_assert_eq!(pair(&text, &text), (true, true));
        }
    }
}
