//! YAML and JSON as a tree that knows where each part stands in its text.
//!
//! For configuration, which is small and is mended by people; objects of a cluster are read without it. Lines and columns begin
//! with 1 and count characters. It must not know what anything means.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_saphyr::Spanned;

use super::document::{whole_yaml, yaml_options};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) line: u64,
    pub(crate) column: u64,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    /// Null where the text is not known.
    pub(crate) at: Option<Position>,
    pub(crate) tree: Tree,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number,
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) key: String,
    /// Where the key stands.
    pub(crate) at: Option<Position>,
    pub(crate) value: Node,
}

impl Node {
    /// The value of a key; of two the last. Null of what has no keys, and where it is written as null.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        let found = self.entries().iter().rev().find(|entry| entry.key == key);
        found
            .map(|entry| &entry.value)
            .filter(|value| value.tree != Tree::Null)
    }

    /// The same through several keys.
    pub(crate) fn find(&self, keys: &[&str]) -> Option<&Self> {
        keys.iter().try_fold(self, |node, key| node.get(key))
    }

    pub(crate) fn text(&self) -> Option<&str> {
        match &self.tree {
            Tree::Text(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.tree {
            Tree::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn items(&self) -> &[Self] {
        match &self.tree {
            Tree::List(items) => items,
            _ => &[],
        }
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        let tree = match value {
            Value::Null => Tree::Null,
            Value::Bool(value) => Tree::Bool(value),
            Value::Number(_) => Tree::Number,
            Value::String(text) => Tree::Text(text),
            Value::Array(items) => Tree::List(items.into_iter().map(Self::from).collect()),
            Value::Object(map) => {
                let entries = map.into_iter().map(|(key, value)| Entry {
                    key,
                    at: None,
                    value: value.into(),
                });
                Tree::Map(entries.collect())
            }
        };
        Self { at: None, tree }
    }
}

/// The documents of a text, JSON too, which is YAML; those after a fault are left out.
pub(crate) fn documents(text: &str) -> Vec<Node> {
    if let Some(documents) = whole_yaml::<Spanned<Tree>>(text) {
        return documents.into_iter().map(node).collect();
    }
    let mut reader = text.as_bytes();
    let documents =
        serde_saphyr::read_with_options::<_, Spanned<Tree>>(&mut reader, yaml_options(text));
    documents.map_while(Result::ok).map(node).collect()
}

/// A place that the reader of YAML told; null where it knows none.
pub(super) fn of_yaml(at: serde_saphyr::Location) -> Option<Position> {
    let (line, column) = (at.line(), at.column());
    (line > 0).then_some(Position { line, column })
}

/// The place of a byte of a line, both from 1 on; byte 0 is before the first.
pub(super) fn of_byte(text: &str, line: usize, byte: usize) -> Position {
    let written = text.split('\n').nth(line.saturating_sub(1));
    let characters = written.unwrap_or_default().char_indices();
    let column = characters.take_while(|(at, _)| *at < byte).count();
    Position {
        line: line.max(1) as u64,
        column: column.max(1) as u64,
    }
}

fn node(spanned: Spanned<Tree>) -> Node {
    Node {
        at: of_yaml(spanned.referenced),
        tree: spanned.value,
    }
}

impl<'de> Deserialize<'de> for Tree {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(TreeVisitor)
    }
}

struct TreeVisitor;

impl<'de> Visitor<'de> for TreeVisitor {
    type Value = Tree;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("YAML or JSON")
    }

    fn visit_unit<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_none<E>(self) -> Result<Tree, E> {
        Ok(Tree::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Tree, E> {
        Ok(Tree::Bool(value))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Tree, E> {
        Ok(Tree::Number)
    }

    fn visit_str<E>(self, text: &str) -> Result<Tree, E> {
        Ok(Tree::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Tree, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(node(item));
        }
        Ok(Tree::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Tree, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Tree>>()? {
            entries.push(Entry {
                at: of_yaml(key.referenced),
                key: key.value,
                value: node(value),
            });
        }
        Ok(Tree::Map(entries))
    }
}

/// Where a line of a text that stands in another one stands there: exactly in a literal block, else where the text begins.
pub(crate) fn inside(outer: &str, begin: Position, text: &str, inner: Position) -> Position {
    let skipped = |count: u64| usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = begin.line + inner.line - 1;
    let indent = skipped(begin.column);
    let written = outer.lines().nth(skipped(line)).unwrap_or_default();
    let written: String = written.chars().skip(indent).collect();
    if text.lines().nth(skipped(inner.line)) == Some(written.trim_end()) {
        let column = begin.column + inner.column - 1;
        return Position { line, column };
    }
    begin
}

/// Where a word stands in the line of a text, from a place on; that place where it does not stand there.
pub(crate) fn of_word(text: &str, from: Position, word: &str) -> Position {
    let skipped = |count: u64| usize::try_from(count.saturating_sub(1)).unwrap_or(usize::MAX);
    let line = text.lines().nth(skipped(from.line)).unwrap_or_default();
    let rest: String = line.chars().skip(skipped(from.column)).collect();
    let is_of_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let is_whole = |at: &usize| {
        let before = rest.get(..*at).and_then(|text| text.chars().next_back());
        let after = rest
            .get(at + word.len()..)
            .and_then(|text| text.chars().next());
        !before.is_some_and(is_of_name) && !after.is_some_and(is_of_name)
    };
    let found = rest.match_indices(word).map(|(at, _)| at).find(is_whole);
    let before = found.and_then(|at| rest.get(..at));
    Position {
        column: from.column + before.map_or(0, |text| text.chars().count() as u64),
        ..from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(node: Option<&Node>) -> Option<(u64, u64)> {
        node?.at.map(|at| (at.line, at.column))
    }

    #[test]
    fn each_part_knows_its_place_in_yaml_and_in_json() {
        let yaml = "# text\r\n---\r\na:\r\n  é: x\r\n  b: [1, {c: d}]\r\n---\r\n- e\r\n";
        let read = documents(yaml);
        assert_eq!(at(read[0].find(&["a", "é"])), Some((4, 6)));
        let list = read[0].find(&["a", "b"]).expect("a list").items();
        assert_eq!(at(list[1].get("c")), Some((5, 14)));
        assert_eq!(at(read[1].items().first()), Some((7, 3)));
        let json = "{\n\t\"a\": [\"b\", {\"value\": null, \"c\": true}]\n}\n";
        let read = documents(json);
        let list = read[0].get("a").expect("a list").items();
        assert_eq!(at(list[1].get("c")), Some((2, 34)));
        assert_eq!(list[1].get("value"), None);
        assert_eq!(documents("a: [").len(), 0);
    }

    #[test]
    fn a_literal_block_is_exact_and_other_texts_are_where_they_begin() {
        let outer = "data:\n  k: |\n    a: 1\n\n    b:\n      c: 2\n  q: \"a: 1\\nb: 2\\n\"\n";
        let read = documents(outer);
        let of = |key: &str, line, column| {
            let node = read[0].find(&["data", key]).expect("a text");
            let (begin, text) = (node.at.expect("a place"), node.text().expect("a text"));
            let found = inside(outer, begin, text, Position { line, column });
            (found.line, found.column)
        };
        assert_eq!(of("k", 4, 3), (6, 7));
        assert_eq!(of("q", 2, 1), (7, 6));
    }

    #[test]
    fn a_byte_is_told_as_a_character() {
        let of = |byte| of_byte("{\n \"é\": x}\n", 2, byte).column;
        assert_eq!((of(0), of(1), of(7), of(8), of(90)), (1, 1, 6, 7, 8));
    }

    #[test]
    fn a_word_is_whole() {
        let from = Position { line: 1, column: 3 };
        let of = |text: &str| of_word(text, from, "A").column;
        assert_eq!(of("- --x=AB=true,A=false"), 15);
        assert_eq!(of("- none"), 3);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(a|kind|[-:{}\\[\\], \n&*\"|>]|.){0,60}", line in 0_u64..9, column in 0_u64..9) {
            drop(documents(&text));
            let begin = Position { line: line + 1, column: column + 1 };
            inside(&text, begin, &text, begin);
            of_byte(&text, usize::try_from(line).unwrap_or(0), usize::try_from(column).unwrap_or(0));
            of_word(&text, begin, "a");
        }
    }
}
