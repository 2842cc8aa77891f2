//! YAML text → a tree whose every node knows where it stands.
//!
//! Built from the parser's events, so that duplicate keys, positions and limits are in our hands.

use std::collections::HashMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span as RawSpan};

use super::secret::{self, Suspect};

/// Longest text accepted, in bytes.
pub(super) const MAX_BYTES: usize = 4 << 20;
/// Deepest nesting accepted.
pub(super) const MAX_DEPTH: usize = 64;
/// Most nodes accepted, aliases counted as what they stand for.
pub(super) const MAX_NODES: usize = 200_000;

/// A place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// From 1.
    pub(super) line: usize,
    /// From 1, in characters.
    pub(super) column: usize,
    /// Characters marked in a report; at least 1, and on one line.
    pub(super) length: usize,
    /// The line it ends on.
    pub(super) last_line: usize,
}

impl Span {
    /// The first character of the text.
    pub(super) const START: Self = Self { line: 1, column: 1, length: 1, last_line: 1 };

    fn at(marker: Marker) -> Self {
        let line = marker.line().max(1);
        Self { line, column: marker.col() + 1, length: 1, last_line: line }
    }

    fn of(span: RawSpan) -> Self {
        let mut place = Self { last_line: span.end.line().max(span.start.line()).max(1), ..Self::at(span.start) };
        if span.end.line() == span.start.line() {
            place.length = span.end.col().saturating_sub(span.start.col()).max(1);
        }
        place
    }
}

#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) span: Span,
    pub(super) kind: Kind,
    /// Nodes in this subtree.
    weight: usize,
    /// Levels in this subtree.
    height: usize,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    /// The text as written, quotes and escapes undone; `plain` if it stood without quotes.
    Scalar {
        text: String,
        plain: bool,
    },
    List(Vec<Node>),
    /// In the order of the text; keys are unique.
    Map(Vec<(Key, Node)>),
}

#[derive(Clone, Debug)]
pub(super) struct Key {
    pub(super) text: String,
    pub(super) span: Span,
}

/// Something wrong with the text itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextProblem {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) hint: Option<String>,
    /// What must not be shown.
    pub(super) secrets: Vec<Suspect>,
}

/// The tree of a text, and what is wrong with it that does not keep it from being read (duplicate keys). `None` and
/// one problem if it cannot be read; `None` and no problem if there is nothing in it.
pub(super) fn parse(text: &str) -> (Option<Node>, Vec<TextProblem>) {
    let mut builder = Builder::default();
    match builder.run(text) {
        Ok(root) => (root, builder.duplicates),
        Err(problem) => {
            // Duplicates seen before the text broke are as true as the break.
            let mut problems = builder.duplicates;
            problems.push(*problem);
            (None, problems)
        }
    }
}

/// An open collection.
enum Frame {
    List { items: Vec<Node>, span: Span, anchor: usize },
    Map { entries: Vec<(Key, Node)>, seen: HashMap<String, Span>, key: Option<Key>, span: Span, anchor: usize },
}

#[derive(Default)]
struct Builder {
    stack: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    documents: usize,
    duplicates: Vec<TextProblem>,
}

type Step<T> = Result<T, Box<TextProblem>>;

fn refuse<T>(span: Span, message: impl Into<String>, hint: Option<&str>) -> Step<T> {
    Err(Box::new(TextProblem { span, message: message.into(), hint: hint.map(str::to_owned), secrets: Vec::new() }))
}

impl Builder {
    fn run(&mut self, text: &str) -> Step<Option<Node>> {
        if text.len() > MAX_BYTES {
            return refuse(Span::START, format!("the text is larger than {} MiB", MAX_BYTES >> 20), None);
        }
        if let Some((line, column)) = first_forbidden(text) {
            return refuse(
                Span { line, column, length: 1, last_line: line },
                "a control character, which YAML does not allow",
                Some("is this a text file? Inside double quotes such a character is written as `\\u0000`"),
            );
        }
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|e| Box::new(syntax(text, &e)))?;
            self.event(event, Span::of(span))?;
        }
        Ok(self.root.take())
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Step<()> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return refuse(span, "a second YAML document begins here", Some("keep one document in a file"));
                }
                Ok(())
            }
            Event::Scalar(text, style, anchor, tag) => {
                no_tag(span, tag.is_some())?;
                let kind = Kind::Scalar { text: text.into_owned(), plain: style == ScalarStyle::Plain };
                self.finish(Node { span, kind, weight: 1, height: 1 }, anchor)
            }
            Event::SequenceStart(anchor, tag) => {
                no_tag(span, tag.is_some())?;
                self.open(span, Frame::List { items: Vec::new(), span, anchor })
            }
            Event::MappingStart(anchor, tag) => {
                no_tag(span, tag.is_some())?;
                let (entries, seen) = (Vec::new(), HashMap::new());
                self.open(span, Frame::Map { entries, seen, key: None, span, anchor })
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(id) => match self.anchors.get(&id) {
                Some(node) => {
                    let node = node.clone();
                    self.attach(span, node)
                }
                None => refuse(span, "an alias inside what it stands for", None),
            },
        }
    }

    fn open(&mut self, span: Span, frame: Frame) -> Step<()> {
        if let Some(Frame::Map { key: None, .. }) = self.stack.last() {
            return refuse(span, "a key that is a list or a map", Some("keys are plain words"));
        }
        if self.stack.len() >= MAX_DEPTH {
            return refuse(span, format!("nested more than {MAX_DEPTH} levels deep"), None);
        }
        self.stack.push(frame);
        Ok(())
    }

    fn close(&mut self) -> Step<()> {
        let (kind, span, anchor) = match self.stack.pop() {
            Some(Frame::List { items, span, anchor }) => (Kind::List(items), span, anchor),
            Some(Frame::Map { entries, span, anchor, .. }) => (Kind::Map(entries), span, anchor),
            None => return refuse(Span::START, "the YAML parser closed what it had not opened", None),
        };
        let (weight, height) = match &kind {
            Kind::Scalar { .. } => (0, 0),
            Kind::List(items) => measure(items.iter()),
            Kind::Map(entries) => measure(entries.iter().map(|(_, node)| node)),
        };
        self.finish(Node { span, kind, weight: weight + 1, height: height + 1 }, anchor)
    }

    fn finish(&mut self, node: Node, anchor: usize) -> Step<()> {
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        // One, not `weight`: a collection's children were counted when they were placed.
        self.place(node, 1)
    }

    fn attach(&mut self, span: Span, node: Node) -> Step<()> {
        if self.stack.len() + node.height > MAX_DEPTH {
            return refuse(span, format!("nested more than {MAX_DEPTH} levels deep"), None);
        }
        let weight = node.weight;
        self.place(node, weight)
    }

    fn place(&mut self, node: Node, weight: usize) -> Step<()> {
        self.nodes += weight;
        if self.nodes > MAX_NODES {
            return refuse(node.span, format!("more than {MAX_NODES} values"), None);
        }
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame::List { items, .. }) => items.push(node),
            Some(Frame::Map { entries, seen, key, .. }) => match key.take() {
                None => match node.kind {
                    Kind::Scalar { text, .. } => *key = Some(Key { text, span: node.span }),
                    Kind::List(_) | Kind::Map(_) => {
                        return refuse(node.span, "a key that is a list or a map", Some("keys are plain words"));
                    }
                },
                Some(key) => match seen.get(&key.text) {
                    None => {
                        seen.insert(key.text.clone(), key.span);
                        entries.push((key, node));
                    }
                    Some(first) => self.duplicates.push(TextProblem {
                        span: key.span,
                        message: format!(
                            "`{}` is given twice, first at line {}, column {}",
                            key.text, first.line, first.column
                        ),
                        hint: Some("keep one of the two".to_owned()),
                        secrets: secret::of_dropped(&key.text, &node),
                    }),
                },
            },
        }
        Ok(())
    }
}

fn no_tag(span: Span, tagged: bool) -> Step<()> {
    if tagged { refuse(span, "a YAML tag (`!…`), which has no meaning here", Some("remove the tag")) } else { Ok(()) }
}

fn measure<'a>(children: impl Iterator<Item = &'a Node>) -> (usize, usize) {
    children.fold((0, 0), |(weight, height), child| (weight + child.weight, height.max(child.height)))
}

/// Line and column of the first character YAML 1.2 does not allow in a text (§5.1).
fn first_forbidden(text: &str) -> Option<(usize, usize)> {
    text.lines().enumerate().find_map(|(line, content)| {
        content
            .chars()
            .position(|c| (c.is_control() && c != '\t' && c != '\u{85}' && c != '\r') || c == '\u{fffe}')
            .map(|column| (line + 1, column + 1))
    })
}

fn syntax(text: &str, error: &ScanError) -> TextProblem {
    let span = Span::at(*error.marker());
    let line = text.lines().nth(span.line - 1).unwrap_or("");
    let indent: &str = &line[..line.len() - line.trim_start().len()];
    if let Some(tab) = indent.chars().position(|c| c == '\t') {
        return TextProblem {
            span: Span { column: tab + 1, ..span },
            message: "a tab in the indentation, which YAML does not allow".to_owned(),
            hint: Some("indent with spaces".to_owned()),
            secrets: Vec::new(),
        };
    }
    // The most likely slip: inside a map in braces, the brace of a reference begins another map.
    let is_bare_reference = line.contains('{') && line.contains(": ${");
    let hint = is_bare_reference.then(|| "inside braces, write the reference in quotes: '${NAME}'".to_owned());
    TextProblem { span, message: format!("not YAML: {}", error.info()), hint, secrets: Vec::new() }
}
