//! Label and field selectors, as text and as a question to a Pod.
//!
//! Grammar and meaning of labels: apimachinery `pkg/labels/selector.go` (1.37); of fields: `pkg/fields/selector.go`. The
//! server applies them to what it lists; they are applied again here, since a World knows of more Pods than were listed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use super::pod::Pod;

/// All of its requirements hold; without any it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LabelSelector(pub(crate) Vec<Requirement>);

/// What is required of the label of one key.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Requirement {
    pub(crate) key: String,
    pub(crate) test: LabelTest,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LabelTest {
    Exists,
    DoesNotExist,
    In(BTreeSet<String>),
    /// Holds without the label, too.
    NotIn(BTreeSet<String>),
    GreaterThan(i64),
    LessThan(i64),
}

/// All of its terms hold; without any it selects everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FieldSelector(Vec<Term>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Term {
    field: Field,
    equal: bool,
    value: String,
}

/// The Pod's fields that the server selects by, as far as they tell of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Name,
    Namespace,
    Node,
    Scheduler,
    Phase,
    NominatedNode,
}

/// Names of the fields, as in the API.
const FIELDS: &[(&str, Field)] = &[
    ("metadata.name", Field::Name),
    ("metadata.namespace", Field::Namespace),
    ("spec.nodeName", Field::Node),
    ("spec.schedulerName", Field::Scheduler),
    ("status.nominatedNodeName", Field::NominatedNode),
    ("status.phase", Field::Phase),
];

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SelectorError {
    #[error("unable to parse requirement: found {found:?}, expected: {expected}")]
    Unexpected {
        found: String,
        expected: &'static str,
    },
    #[error("unable to parse requirement: {0:?} is not a whole number")]
    NotANumber(String),
    #[error("invalid selector: {0:?}; can't understand it")]
    NotATerm(String),
    #[error("field label not supported: {0}; supported are {names}", names = field_names())]
    UnknownField(String),
}

fn field_names() -> String {
    let names: Vec<&str> = FIELDS.iter().map(|(name, _)| *name).collect();
    names.join(", ")
}

impl LabelSelector {
    pub(crate) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|requirement| {
            let value = labels.get(&requirement.key);
            let number = || value.and_then(|value| value.parse::<i64>().ok());
            match &requirement.test {
                LabelTest::Exists => value.is_some(),
                LabelTest::DoesNotExist => value.is_none(),
                LabelTest::In(values) => value.is_some_and(|value| values.contains(value)),
                LabelTest::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                LabelTest::GreaterThan(least) => number().is_some_and(|number| number > *least),
                LabelTest::LessThan(most) => number().is_some_and(|number| number < *most),
            }
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Symbols of a label selector; a word is anything between them and white space.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    // Whether the next letter goes on with the last token.
    let mut open = false;
    for letter in text.chars() {
        if letter.is_whitespace() {
            open = false;
            continue;
        }
        let symbol = "=!(),<>".contains(letter);
        let goes_on = |last: &str| {
            if symbol {
                letter == '=' && matches!(last, "=" | "!")
            } else {
                Tokens::is_word(last)
            }
        };
        match tokens.last_mut() {
            Some(last) if open && goes_on(last) => {
                last.push(letter);
                open = !symbol;
            }
            _ => {
                tokens.push(letter.to_string());
                open = true;
            }
        }
    }
    tokens
}

/// A cursor over the tokens.
struct Tokens {
    left: std::iter::Peekable<std::vec::IntoIter<String>>,
}

impl Tokens {
    fn takes(&mut self, symbol: &str) -> bool {
        self.left.next_if(|token| token == symbol).is_some()
    }

    fn is_word(token: &str) -> bool {
        !token.starts_with(['=', '!', '(', ')', ',', '<', '>'])
    }

    fn word(&mut self) -> Option<String> {
        self.left.next_if(|token| Self::is_word(token))
    }

    fn unexpected(&mut self, expected: &'static str) -> SelectorError {
        SelectorError::Unexpected {
            found: self.left.next().unwrap_or_default(),
            expected,
        }
    }

    fn requirement(&mut self) -> Result<Requirement, SelectorError> {
        let absent = self.takes("!");
        let Some(key) = self.word() else {
            return Err(self.unexpected("identifier"));
        };
        let ends = self.left.peek().is_none_or(|token| token == ",");
        let test = if absent {
            LabelTest::DoesNotExist
        } else if ends {
            LabelTest::Exists
        } else {
            self.test()?
        };
        Ok(Requirement { key, test })
    }

    fn test(&mut self) -> Result<LabelTest, SelectorError> {
        let operator = self.left.next().unwrap_or_default();
        match operator.as_str() {
            "=" | "==" => Ok(LabelTest::In(self.one())),
            "!=" => Ok(LabelTest::NotIn(self.one())),
            "in" => Ok(LabelTest::In(self.set()?)),
            "notin" => Ok(LabelTest::NotIn(self.set()?)),
            ">" => Ok(LabelTest::GreaterThan(self.number()?)),
            "<" => Ok(LabelTest::LessThan(self.number()?)),
            _ => Err(SelectorError::Unexpected {
                found: operator,
                expected: "in, notin, =, ==, !=, >, <",
            }),
        }
    }

    /// The value after a sign; none is the empty one.
    fn one(&mut self) -> BTreeSet<String> {
        BTreeSet::from([self.word().unwrap_or_default()])
    }

    fn number(&mut self) -> Result<i64, SelectorError> {
        let word = self.word().unwrap_or_default();
        word.parse().map_err(|_| SelectorError::NotANumber(word))
    }

    /// Values in parentheses; one may be empty.
    fn set(&mut self) -> Result<BTreeSet<String>, SelectorError> {
        if !self.takes("(") {
            return Err(self.unexpected("'('"));
        }
        let mut values = BTreeSet::new();
        loop {
            values.insert(self.word().unwrap_or_default());
            if self.takes(")") {
                return Ok(values);
            }
            if !self.takes(",") {
                return Err(self.unexpected("',' or ')'"));
            }
        }
    }
}

impl FromStr for LabelSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let mut tokens = Tokens {
            left: tokens(text).into_iter().peekable(),
        };
        let mut requirements = Vec::new();
        if tokens.left.peek().is_none() {
            return Ok(Self(requirements));
        }
        loop {
            requirements.push(tokens.requirement()?);
            if tokens.left.peek().is_none() {
                return Ok(Self(requirements));
            }
            if !tokens.takes(",") {
                return Err(tokens.unexpected("',' or the end"));
            }
        }
    }
}

impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, Requirement { key, test }) in self.0.iter().enumerate() {
            if nth > 0 {
                f.write_str(",")?;
            }
            let list = |values: &BTreeSet<String>| {
                let values: Vec<&str> = values.iter().map(String::as_str).collect();
                values.join(",")
            };
            match test {
                LabelTest::Exists => f.write_str(key)?,
                LabelTest::DoesNotExist => write!(f, "!{key}")?,
                LabelTest::In(values) if values.len() == 1 => write!(f, "{key}={}", list(values))?,
                LabelTest::NotIn(values) if values.len() == 1 => {
                    write!(f, "{key}!={}", list(values))?;
                }
                LabelTest::In(values) => write!(f, "{key} in ({})", list(values))?,
                LabelTest::NotIn(values) => write!(f, "{key} notin ({})", list(values))?,
                LabelTest::GreaterThan(number) => write!(f, "{key}>{number}")?,
                LabelTest::LessThan(number) => write!(f, "{key}<{number}")?,
            }
        }
        Ok(())
    }
}

impl FieldSelector {
    pub(crate) fn matches(&self, pod: &Pod) -> bool {
        self.0.iter().all(|term| {
            let value = match term.field {
                Field::Name => Some(&pod.name.name),
                Field::Namespace => Some(&pod.name.namespace),
                Field::Node => pod.node.as_ref(),
                Field::Scheduler => Some(&pod.scheduler_name),
                Field::Phase => pod.phase.as_ref(),
                Field::NominatedNode => pod.nominated_node.as_ref(),
            };
            (value.map_or("", String::as_str) == term.value) == term.equal
        })
    }
}

/// Parts of a field selector at its commas; a backslash keeps the next letter from being one.
fn terms(text: &str) -> Vec<String> {
    let mut terms = vec![String::new()];
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, terms.last_mut()) {
            (',', _) => terms.push(String::new()),
            (_, Some(term)) => {
                term.push(letter);
                if letter == '\\' {
                    term.extend(letters.next());
                }
            }
            (_, None) => {}
        }
    }
    terms.retain(|term| !term.is_empty());
    terms
}

impl FromStr for FieldSelector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        let parse = |text: String| {
            let (left, value) = text
                .split_once('=')
                .ok_or_else(|| SelectorError::NotATerm(text.clone()))?;
            let value = value.strip_prefix('=').unwrap_or(value);
            let (name, equal) = left
                .strip_suffix('!')
                .map_or((left, true), |name| (name, false));
            let field = FIELDS.iter().find(|(known, _)| *known == name);
            let mut plain = String::new();
            let mut letters = value.chars();
            while let Some(letter) = letters.next() {
                match letter {
                    '\\' => plain.extend(letters.next()),
                    '=' => return Err(SelectorError::NotATerm(text.clone())),
                    _ => plain.push(letter),
                }
            }
            Ok(Term {
                field: field
                    .ok_or_else(|| SelectorError::UnknownField(name.to_owned()))?
                    .1,
                equal,
                value: plain,
            })
        };
        let terms: Result<Vec<Term>, SelectorError> = terms(text).into_iter().map(parse).collect();
        terms.map(Self)
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, term) in self.0.iter().enumerate() {
            let name = FIELDS
                .iter()
                .find(|(_, field)| *field == term.field)
                .map_or("", |(name, _)| name);
            let comma = if nth > 0 { "," } else { "" };
            let sign = if term.equal { "=" } else { "!=" };
            write!(f, "{comma}{name}{sign}")?;
            for letter in term.value.chars() {
                if matches!(letter, '\\' | ',' | '=') {
                    f.write_str("\\")?;
                }
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let selector: LabelSelector = selector.parse().expect("it is a selector");
        let labels = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        selector.matches(&labels)
    }

    /// Rows of apimachinery's `selector_test.go`.
    #[test]
    fn labels_mean_what_they_mean_to_kubectl() {
        let web = [("x", "a"), ("n", "5"), ("e", "")];
        for yes in [
            "",
            " ",
            "x",
            "!y",
            "x=a",
            "x==a",
            "x = a , n=5",
            "x!=b",
            "y!=b",
            "x in (a,b)",
            "x in(a)",
            "x notin (b, c)",
            "y notin (a)",
            "n>4",
            "n < 6",
            "e=",
            "e in (,z)",
            "x in (a),!y",
        ] {
            assert!(selects(yes, &web), "{yes:?}");
        }
        for no in [
            "y",
            "!x",
            "x=b",
            "x=",
            "x!=a",
            "x in (b)",
            "y in (a)",
            "x notin (a)",
            "n>5",
            "x>1",
            "y<1",
            "x,y",
        ] {
            assert!(!selects(no, &web), "{no:?}");
        }
        for fault in [
            ",",
            "x,",
            "x,,y",
            "x a",
            "x in",
            "x in a",
            "x in (a",
            "x in (a b)",
            "!",
            "!x=a",
            "x>a",
            "=a",
            "x=a b",
            "x===a",
            "(x)",
            "x notin ()z",
        ] {
            assert!(fault.parse::<LabelSelector>().is_err(), "{fault:?}");
        }
    }

    #[test]
    fn fields_mean_what_they_mean_to_kubectl() {
        let printed = |text: &str| {
            text.parse::<FieldSelector>()
                .map(|fields| fields.to_string())
        };
        assert_eq!(
            printed("status.phase!=Running,spec.nodeName==").as_deref(),
            Ok("status.phase!=Running,spec.nodeName=")
        );
        assert_eq!(
            printed(r"metadata.name=a\,b\=c\\").as_deref(),
            Ok(r"metadata.name=a\,b\=c\\")
        );
        assert_eq!(printed("").as_deref(), Ok(""));
        assert!(matches!(
            printed("spec.image=x"),
            Err(SelectorError::UnknownField(_))
        ));
        for fault in ["status.phase", "status.phase=a=b", "!status.phase"] {
            assert!(
                matches!(printed(fault), Err(SelectorError::NotATerm(_))),
                "{fault:?}"
            );
        }
    }

    fn word() -> impl Strategy<Value = String> {
        "[a-z0-9]([a-z0-9./_-]{0,6}[a-z0-9])?".prop_filter("an operator", |word| {
            !matches!(word.as_str(), "in" | "notin")
        })
    }

    fn label_selector() -> impl Strategy<Value = LabelSelector> {
        let set = || prop::collection::btree_set(prop_oneof![word(), Just(String::new())], 1..4);
        let test = prop_oneof![
            Just(LabelTest::Exists),
            Just(LabelTest::DoesNotExist),
            set().prop_map(LabelTest::In),
            set().prop_map(LabelTest::NotIn),
            any::<i64>().prop_map(LabelTest::GreaterThan),
            any::<i64>().prop_map(LabelTest::LessThan),
        ];
        prop::collection::vec(
            (word(), test).prop_map(|(key, test)| Requirement { key, test }),
            0..4,
        )
        .prop_map(LabelSelector)
    }

    proptest! {
        #[test]
        fn what_is_printed_reads_back_equal(selector in label_selector()) {
            prop_assert_eq!(selector.to_string().parse(), Ok(selector));
        }

        #[test]
        fn any_text_is_a_selector_or_a_fault(text in "[-a-z=!(),<> \\\\.]{0,24}|.{0,24}") {
            if let Ok(labels) = text.parse::<LabelSelector>() {
                prop_assert_eq!(labels.to_string().parse(), Ok(labels));
            }
            if let Ok(fields) = text.parse::<FieldSelector>() {
                prop_assert_eq!(fields.to_string().parse(), Ok(fields));
            }
        }

        #[test]
        fn what_is_not_in_is_the_rest_of_what_is_in(values in prop::collection::btree_set(word(), 1..4), label in prop::option::of(word())) {
            let labels: BTreeMap<String, String> = label.into_iter().map(|value| ("k".to_owned(), value)).collect();
            let selects = |test| LabelSelector(vec![Requirement { key: "k".to_owned(), test }]).matches(&labels);
            prop_assert_ne!(selects(LabelTest::In(values.clone())), selects(LabelTest::NotIn(values)));
        }
    }
}
