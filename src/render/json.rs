//! The answer as JSON, indented by four as kubectl's. It must not reorder, add or drop anything.

use std::io::{self, BufWriter, Write};

use serde::Serialize as _;
use serde_json::Value;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::escape;

pub(crate) fn render(answer: &Value, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let formatter = Guarded(PrettyFormatter::with_indent(b"    "));
    answer.serialize(&mut Serializer::with_formatter(&mut out, formatter))?;
    out.write_all(b"\n")?;
    out.flush()
}

/// `serde_json` leaves DEL, C1 and bidi controls raw, which steer a terminal; `\u` escapes are the same value.
struct Guarded<'a>(PrettyFormatter<'a>);

impl Formatter for Guarded<'_> {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        out.write_all(escape::quoted(fragment).as_bytes())
    }

    fn begin_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_array(out)
    }

    fn end_array<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array(out)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(out, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_array_value(out)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object(out)
    }

    fn end_object<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object(out)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, out: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(out, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.begin_object_value(out)
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, out: &mut W) -> io::Result<()> {
        self.0.end_object_value(out)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::super::yaml::tests::any_value;
    use super::*;

    fn draw(value: &Value) -> String {
        let mut out = Vec::new();
        render(value, &mut out).expect("a Vec takes everything");
        String::from_utf8(out).expect("JSON is UTF-8")
    }

    #[test]
    fn looks_as_kubectl_writes_it() {
        let answer = json!({"kind": "A", "items": [], "none": null, "pod": {"name": "web-0", "extra": {}}, "times": [1, 2]});
        let expected = r#"{
    "items": [],
    "kind": "A",
    "none": null,
    "pod": {
        "extra": {},
        "name": "web-0"
    },
    "times": [
        1,
        2
    ]
}
"#;
        assert_eq!(draw(&answer), expected);
    }

    #[test]
    fn controls_are_escaped_in_keys_and_values() {
        let drawn = draw(&json!({"a\u{9b}": "\u{1b}[31m\u{7f}\u{202e}\n\u{85}"}));
        assert_eq!(
            drawn,
            "{\n    \"a\\u009b\": \"\\u001b[31m\\u007f\\u202e\\n\\u0085\"\n}\n"
        );
    }

    proptest! {
        #[test]
        fn reads_back_equal_and_nothing_steers(value in any_value()) {
            let drawn = draw(&value);
            prop_assert!(!drawn.contains(|character| character != '\n' && escape::steers(character)));
            prop_assert_eq!(serde_json::from_str::<Value>(&drawn).ok(), Some(value));
        }
    }
}
