//! The answer as YAML, for YAML 1.1 and 1.2 readers alike. It must not change any value's type.

use std::io::{self, Write};

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;
use serde_saphyr::DoubleQuoted;

use super::{escape, json};

pub(crate) fn render(answer: &Value, out: &mut dyn Write) -> io::Result<()> {
    // Keys can't be asked into quotes; JSON is YAML too. Our own keys never need it.
    if has_hostile_key(answer) {
        return json::render(answer, out);
    }
    let document = serde_saphyr::to_string(&Guarded(answer)).map_err(io::Error::other)?;
    out.write_all(escape::quoted(&document).as_bytes())
}

fn has_hostile_key(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().any(has_hostile_key),
        Value::Object(entries) => entries
            .iter()
            .any(|(key, value)| key.contains(escape::steers) || has_hostile_key(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// serde-saphyr leaves bidi controls raw: strings that hold any are put in double quotes, where they can be escaped.
struct Guarded<'a>(&'a Value);

impl Serialize for Guarded<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::String(text)
                if text.contains(|character| character != '\n' && escape::steers(character)) =>
            {
                DoubleQuoted(text).serialize(serializer)
            }
            Value::Array(items) => {
                let mut sequence = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    sequence.serialize_element(&Self(item))?;
                }
                sequence.end()
            }
            Value::Object(entries) => {
                let mut map = serializer.serialize_map(Some(entries.len()))?;
                for (key, value) in entries {
                    map.serialize_entry(key, &Guarded(value))?;
                }
                map.end()
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
                self.0.serialize(serializer)
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Text that YAML readers are known to take for something else, and any other.
    fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            "[ \n\t\r\u{0}\u{1b}\u{7f}\u{85}\u{9b}\u{61c}\u{2028}\u{202e}\u{feff}:#'\"\\\\%&*!|>a1.-]{0,12}",
            "[0-9eE+._:xob-]{0,8}",
            "(yes|No|on|off|y|n|null|~|true|1\\.0|0x1f|0o7|\\.inf|\\.NaN|2026-11-30T08:00:00Z|---|\\.\\.\\.|<<|=|1_000|12:30:45)",
            "([a-z]{1,12} ){0,20}[a-z ]{0,5}",
            "( ?[a-z ]{0,9}\n){0,4}[ a-z]{0,4}",
        ]
    }

    pub(in super::super) fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any_text().prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 5, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::btree_map(any_text(), inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn draw(value: &Value) -> String {
        let mut out = Vec::new();
        render(value, &mut out).expect("a Vec takes everything");
        String::from_utf8(out).expect("YAML is UTF-8")
    }

    fn read(document: &str) -> Value {
        serde_saphyr::from_str(document).unwrap_or_else(|error| panic!("{error}\n{document:?}"))
    }

    #[test]
    fn looks_as_kubectl_writes_it() {
        let answer = json!({
            "kind": "A", "items": [], "none": null, "extra": {}, "count": 3, "text": "a: b",
            "pods": [{"name": "web-0", "nodes": ["n1"]}, {"name": "web-1", "nodes": []}],
        });
        let expected = "\
count: 3
extra: {}
items: []
kind: A
none: null
pods:
- name: web-0
  nodes:
  - n1
- name: web-1
  nodes: []
text: \"a: b\"
";
        assert_eq!(draw(&answer), expected);
    }

    #[test]
    fn strings_that_look_like_something_else_stay_strings() {
        for text in [
            "yes",
            "no",
            "on",
            "y",
            "n",
            "1.0",
            "1",
            "0x1f",
            "1e3",
            "null",
            "~",
            "",
            " ",
            "true",
            "2026-11-30T08:00:00Z",
            "2026-11-30",
            "12:30:45",
            "a\nb\n",
            "a\nb",
            "\na",
            " a\n b\n\n",
            "# x",
            "- x",
            "a: b",
            "a #b",
            "&x",
            "*x",
            "!x",
            "\u{1b}[31m",
            "\u{0}",
            "\u{85}",
            "\u{202e}",
            "\u{feff}a",
            "---",
            "...",
            "\t",
            "a\tb",
            "%x",
            "@x",
            "`x",
            "'",
            "\"",
        ] {
            let value = json!({"text": text, "list": [text], text: 1});
            assert_eq!(read(&draw(&value)), value, "{text:?}");
        }
    }

    #[test]
    fn controls_are_escaped_in_keys_and_values() {
        let drawn = draw(&json!({"a": "x\n\u{202e}\u{9b}\u{1b}", "b": ["\u{2066}"]}));
        assert_eq!(drawn, "a: \"x\\n\\u202e\\x9B\\e\"\nb:\n- \"\\u2066\"\n");
        let drawn = draw(&json!({"a\u{202e}": 1}));
        assert_eq!(drawn, "{\n    \"a\\u202e\": 1\n}\n");
    }

    proptest! {
        #[test]
        fn reads_back_equal_and_nothing_steers(value in any_value()) {
            let drawn = draw(&value);
            prop_assert!(!drawn.contains(|character| character != '\n' && escape::steers(character)), "{:?}", drawn);
            prop_assert_eq!(read(&drawn), value, "{:?}", drawn);
        }
    }
}
