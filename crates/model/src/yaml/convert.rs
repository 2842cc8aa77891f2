//! A YAML tree held against a JSON Schema: a JSON value, and everything that does not fit, in one pass.
//!
//! Where something does not fit, a stand-in that does is put in its place and the path is remembered as blamed: the
//! rest of the document can then still be read and judged, and nothing is reported twice.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::path::Path;
use super::problem::Problem;
use super::scalar;
use super::secret::{self, Suspect};
use super::shape::{Shape, bounds, did_you_mean, listed, one_of, property_names};
use super::tree::{Key, Kind, Node, Span};

/// Where the key and the value of each path stand.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) key: Option<Span>,
    pub(super) value: Span,
}

/// What a conversion leaves.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) value: Value,
    /// Problems with the span each is about.
    pub(super) problems: Vec<(Span, Problem)>,
    pub(super) places: BTreeMap<Path, Place>,
    /// Paths about which there is a problem.
    pub(super) blamed: Vec<Path>,
    /// What must not be shown.
    pub(super) secrets: Vec<Suspect>,
}

/// Converts the tree of a document.
pub(super) fn convert(root: &Node, schema: &Value) -> Outcome {
    let mut walker = Walker { schema, out: Outcome::default() };
    walker.out.places.insert(Path::ROOT, Place { key: None, value: root.span });
    walker.out.value = walker.value(root, schema, &Path::ROOT);
    // Whatever the schema thinks of it: indentation gone wrong puts a key where the schema does not expect one.
    secret::named_within(root, &mut walker.out.secrets);
    walker.out
}

struct Walker<'s> {
    schema: &'s Value,
    out: Outcome,
}

impl<'s> Walker<'s> {
    fn blame(&mut self, span: Span, problem: Problem) {
        /// Nobody reads more, and each is held against every other.
        const MOST: usize = 500;

        if self.out.problems.len() >= MOST {
            return;
        }
        self.out.blamed.push(problem.path.clone());
        self.out.problems.push((span, problem));
    }

    fn value(&mut self, node: &Node, schema: &'s Value, path: &Path) -> Value {
        let shape = Shape::of(schema, self.schema);
        if shape.secret {
            secret::all_within(node, &mut self.out.secrets);
            if let Some(name) = path.last_key().filter(|name| secret::is_opaque(name)) {
                // A lost colon or quote makes the value part of the key.
                let span = self.key_span(path).unwrap_or(node.span);
                self.out.secrets.push(Suspect { span, text: name.to_owned() });
            }
        }
        match &node.kind {
            Kind::Scalar { text, plain } => self.scalar(node, text, *plain, &shape, path),
            Kind::List(items) => match shape.list {
                Some(list) => self.list(node, items, Some(list), path),
                None if shape.any => self.list(node, items, None, path),
                None => self.misfit(node, "a list", &shape, path),
            },
            Kind::Map(entries) => match shape.maps.as_slice() {
                [] if shape.any => self.map(node, entries, None, path),
                [] => self.misfit(node, "a map", &shape, path),
                [map] => self.map(node, entries, Some(map), path),
                several => match self.choose(node, entries, several, path) {
                    Some(map) => self.map(node, entries, Some(map), path),
                    None => self.stand_in(&shape),
                },
            },
        }
    }

    /// Something of the wrong kind stands here.
    fn misfit(&mut self, node: &Node, found: &str, shape: &Shape<'s>, path: &Path) -> Value {
        let subject = subject(path);
        let message = match found {
            "a list" | "a map" => format!("{subject} is {found}"),
            _ => format!("{subject} does not fit"),
        };
        let mut problem = Problem::new(path.clone(), message).expected(shape.in_words());
        if !matches!(found, "a list" | "a map") {
            let shown = if shape.secret { "***" } else { found };
            problem = problem.found(shown);
        }
        self.blame(node.span, problem);
        self.stand_in(shape)
    }

    fn scalar(&mut self, node: &Node, text: &str, plain: bool, shape: &Shape<'s>, path: &Path) -> Value {
        if plain && scalar::is_null(text) && (shape.null || !shape.any) {
            if shape.null {
                return Value::Null;
            }
            let message = format!("{} is empty", subject(path));
            let mut problem = Problem::new(path.clone(), message).expected(shape.in_words());
            if !text.is_empty() {
                problem = problem.found(text);
                if shape.text {
                    problem = problem.hint(format!("if the word itself is meant, quote it: \"{text}\""));
                }
            }
            let span = if text.is_empty() { self.key_span(path).unwrap_or(node.span) } else { node.span };
            self.blame(span, problem);
            return self.stand_in(shape);
        }
        if shape.text || shape.words.contains(&text) {
            return Value::String(text.to_owned());
        }
        if shape.any {
            return self.untyped(node, text, plain, path);
        }
        if plain && let Some(value) = self.typed(node, text, shape, path) {
            return value;
        }
        self.unfit_scalar(node, text, plain, shape, path)
    }

    /// A scalar where anything may stand: as YAML's core schema reads it.
    fn untyped(&mut self, node: &Node, text: &str, plain: bool, path: &Path) -> Value {
        if !plain {
            return Value::String(text.to_owned());
        }
        scalar::resolve(text).unwrap_or_else(|| {
            let problem = if scalar::number(text).is_some() {
                let message = format!("{} is a number that would be changed by being sent", subject(path));
                let expected = "a whole number of at most 64 bits, or at most 15 digits";
                Problem::new(path.clone(), message).expected(expected).hint("if its text is meant, quote it")
            } else {
                let message = format!("{} is not a number JSON can hold", subject(path));
                Problem::new(path.clone(), message).expected("a finite number")
            };
            self.blame(node.span, problem.found(text));
            Value::Null
        })
    }

    /// A plain scalar as a number or a truth value, if it is of that form. Numbers out of bounds are reported.
    fn typed(&mut self, node: &Node, text: &str, shape: &Shape<'s>, path: &Path) -> Option<Value> {
        if shape.boolean
            && let Some(boolean) = scalar::boolean(text)
        {
            return Some(Value::Bool(boolean));
        }
        let (number, object) = match (shape.integer, shape.number) {
            (Some(object), None) => (scalar::integer(text)?, object),
            (_, Some(object)) => (scalar::number(text)?, object),
            (None, None) => return None,
        };
        let size = number.as_f64()?;
        let (least, most) = bounds(object);
        if least.is_some_and(|least| size < least) || most.is_some_and(|most| size > most) {
            let problem = Problem::new(path.clone(), format!("{} is out of range", subject(path)));
            self.blame(node.span, problem.found(text).expected(shape.in_words()));
            return Some(self.stand_in(shape));
        }
        Some(Value::Number(number))
    }

    fn unfit_scalar(&mut self, node: &Node, text: &str, plain: bool, shape: &Shape<'s>, path: &Path) -> Value {
        if secret::is_opaque(text) {
            self.out.secrets.push(Suspect { span: node.span, text: text.to_owned() });
        }
        if !shape.takes_scalar() || shape.words.is_empty() {
            let mut shown = Problem::new(path.clone(), format!("{} does not fit", subject(path)))
                .found(if shape.secret { "***" } else { text })
                .expected(shape.in_words());
            if shape.boolean && matches!(text, "yes" | "no" | "on" | "off") {
                shown = shown.hint("YAML's truth values are `true` and `false`");
            } else if !plain && (shape.boolean || shape.number.is_some() || shape.integer.is_some()) {
                shown = shown.hint("remove the quotes");
            }
            self.blame(node.span, shown);
            return self.stand_in(shape);
        }
        let mut problem = Problem::new(path.clone(), format!("{} has no value `{text}`", subject(path)))
            .expected(one_of(&shape.words));
        if let Some(meant) = did_you_mean(text, shape.words.iter().copied()) {
            problem = problem.hint(format!("did you mean `{meant}`?"));
        }
        self.blame(node.span, problem);
        self.stand_in(shape)
    }

    fn list(&mut self, node: &Node, items: &[Node], list: Option<&'s Map<String, Value>>, path: &Path) -> Value {
        let keyword = |key: &str| list.and_then(|list| list.get(key));
        let schema = keyword("items").unwrap_or(&ANYTHING);
        let count = |key: &str| keyword(key).and_then(Value::as_u64).and_then(|n| usize::try_from(n).ok());
        if count("minItems").is_some_and(|least| items.len() < least) {
            let problem = Problem::new(path.clone(), format!("{} has too few entries", subject(path)));
            let expected = format!("at least {}", count("minItems").unwrap_or(1));
            self.blame(node.span, problem.found(format!("{} entries", items.len())).expected(expected));
        } else if count("maxItems").is_some_and(|most| items.len() > most) {
            let problem = Problem::new(path.clone(), format!("{} has too many entries", subject(path)));
            let expected = format!("at most {}", count("maxItems").unwrap_or(0));
            self.blame(node.span, problem.found(format!("{} entries", items.len())).expected(expected));
        }
        let convert = |(index, item): (usize, &Node)| {
            let path = path.index(index);
            self.out.places.insert(path.clone(), Place { key: None, value: item.span });
            self.value(item, schema, &path)
        };
        Value::Array(items.iter().enumerate().map(convert).collect())
    }

    fn map(&mut self, node: &Node, entries: &[(Key, Node)], map: Option<&'s Map<String, Value>>, path: &Path) -> Value {
        let properties = map.and_then(|map| map.get("properties")).and_then(Value::as_object);
        // A map schema that names its keys is closed unless it says what the others are: nothing is ignored.
        let others = match map.and_then(|map| map.get("additionalProperties")) {
            Some(Value::Bool(false)) => None,
            Some(schema) => Some(schema),
            None if properties.is_some() => None,
            None => Some(&ANYTHING),
        };
        let mut object = Map::new();
        let mut misspelt = Vec::new();
        for (key, node) in entries {
            let path = path.key(&key.text);
            self.out.places.insert(path.clone(), Place { key: Some(key.span), value: node.span });
            match properties.and_then(|properties| properties.get(&key.text)).or(others) {
                Some(schema) => {
                    let value = self.value(node, schema, &path);
                    object.insert(key.text.clone(), value);
                }
                None => misspelt.extend(self.unknown_key(key, node, properties, entries, path)),
            }
        }
        let required = map.and_then(|map| map.get("required")).and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if misspelt.contains(&name) {
                // Told as an unknown key already.
                let shape = Shape::of(properties.and_then(|p| p.get(name)).unwrap_or(&ANYTHING), self.schema);
                self.out.blamed.push(path.key(name));
                object.insert(name.to_owned(), self.stand_in(&shape));
            } else if !object.contains_key(name) {
                let schema = properties.and_then(|properties| properties.get(name)).unwrap_or(&ANYTHING);
                let shape = Shape::of(schema, self.schema);
                let message = match path.last_key() {
                    None => format!("`{name}` is missing"),
                    Some(_) => format!("`{name}` is missing in `{path}`"),
                };
                let span = self.key_span(path).unwrap_or(node.span);
                self.blame(span, Problem::new(path.key(name), message).expected(shape.in_words()));
                object.insert(name.to_owned(), self.stand_in(&shape));
            }
        }
        Value::Object(object)
    }

    /// Reports a key that the schema does not know; gives back the one it was probably meant to be.
    fn unknown_key(
        &mut self,
        key: &Key,
        value: &Node,
        properties: Option<&'s Map<String, Value>>,
        entries: &[(Key, Node)],
        path: Path,
    ) -> Option<&'s str> {
        let known: Vec<&str> = properties.into_iter().flatten().map(|(name, _)| name.as_str()).collect();
        let place = match path.parent() {
            Some(parent) if parent != Path::ROOT => format!(" in `{parent}`"),
            _ => String::new(),
        };
        let mut problem = Problem::new(path, format!("unknown key `{}`{place}", key.text)).expected(one_of(&known));
        let meant = did_you_mean(&key.text, known.iter().copied());
        // A misspelt `key` still holds a key. In a map that knows a secret, only what is surely meant otherwise is shown.
        let is_secret = |name: &str| {
            let schema = properties.and_then(|properties| properties.get(name));
            schema.is_some_and(|schema| Shape::of(schema, self.schema).secret)
        };
        let may_be_secret = meant.map_or_else(|| known.iter().any(|name| is_secret(name)), is_secret);
        if secret::is_opaque(&key.text) {
            self.out.secrets.push(Suspect { span: key.span, text: key.text.clone() });
        }
        if may_be_secret || secret::name_may_hold_one(&key.text) {
            secret::all_within(value, &mut self.out.secrets);
        } else {
            // Two slips at once may put a misspelt `key` below a misspelt `platforms`.
            let mut below = Vec::new();
            secret::all_within(value, &mut below);
            self.out.secrets.extend(below.into_iter().filter(|suspect| secret::is_opaque(&suspect.text)));
        }
        let free = known.iter().copied().filter(|name| entries.iter().all(|(given, _)| given.text != **name));
        let meant = did_you_mean(&key.text, free);
        if key.text == "<<" {
            problem = problem.hint("merge keys are not part of YAML 1.2: repeat the entries");
        } else if let Some(meant) = meant {
            problem = problem.hint(format!("did you mean `{meant}`?"));
        }
        self.blame(key.span, problem);
        meant
    }

    /// Which of several forms of a map is meant: by the value of the property that tells them apart, or else by the
    /// keys that are given.
    fn choose(
        &mut self,
        node: &Node,
        entries: &[(Key, Node)],
        maps: &[&'s Map<String, Value>],
        path: &Path,
    ) -> Option<&'s Map<String, Value>> {
        let Some(tag) = property_names(maps[0]).find(|name| maps.iter().all(|map| tag_value(map, name).is_some()))
        else {
            let known = |map: &Map<String, Value>| {
                property_names(map).filter(|name| entries.iter().any(|(key, _)| key.text == **name)).count()
            };
            // The last of equals would be as good; the first is the one a reader of the schema sees first.
            return maps.iter().rev().max_by_key(|map| known(map)).copied();
        };
        let words: Vec<&str> = maps.iter().filter_map(|map| tag_value(map, tag)).collect();
        let Some((_, value)) = entries.iter().find(|(key, _)| key.text == tag) else {
            let span = self.key_span(path).unwrap_or(node.span);
            let problem = Problem::new(path.key(tag), format!("`{tag}` is missing in `{path}`"));
            self.blame(span, problem.expected(one_of(&words)));
            return None;
        };
        let given = match &value.kind {
            Kind::Scalar { text, .. } => text.as_str(),
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        };
        let chosen = maps.iter().find(|map| tag_value(map, tag) == Some(given)).copied();
        if chosen.is_none() {
            let mut problem = Problem::new(path.key(tag), format!("`{tag}` has no value `{given}`"));
            problem = problem.expected(one_of(&words));
            if let Some(meant) = did_you_mean(given, words.iter().copied()) {
                problem = problem.hint(format!("did you mean `{meant}`?"));
            }
            self.blame(value.span, problem);
        }
        chosen
    }

    fn key_span(&self, path: &Path) -> Option<Span> {
        self.out.places.get(path).and_then(|place| place.key)
    }

    fn stand_in(&self, shape: &Shape<'s>) -> Value {
        stand_in(shape, self.schema, 16)
    }
}

/// Schema of what may be anything.
static ANYTHING: Value = Value::Bool(true);

/// The one value that property `name` may have in this form of a map.
fn tag_value<'s>(map: &'s Map<String, Value>, name: &str) -> Option<&'s str> {
    let property = map.get("properties")?.get(name)?;
    property.get("const").or_else(|| property.get("enum").and_then(|values| values.get(0)))?.as_str()
}

/// Some value that fits the shape.
fn stand_in(shape: &Shape<'_>, root: &Value, fuel: u32) -> Value {
    if shape.any || shape.null || fuel == 0 {
        return Value::Null;
    }
    if let Some(word) = shape.words.first() {
        return Value::String((*word).to_owned());
    }
    if let Some(map) = shape.maps.first() {
        let required = map.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        let entry = |name: &str| {
            let schema = map.get("properties").and_then(|properties| properties.get(name)).unwrap_or(&ANYTHING);
            (name.to_owned(), stand_in(&Shape::of(schema, root), root, fuel - 1))
        };
        return Value::Object(required.map(entry).collect());
    }
    if shape.text {
        return Value::String(String::new());
    }
    if shape.list.is_some() {
        return Value::Array(Vec::new());
    }
    if let Some(object) = shape.integer.or(shape.number) {
        let least = object.get("minimum").and_then(Value::as_u64).unwrap_or(0);
        return Value::from(least);
    }
    Value::Bool(false)
}

/// What the problem at a path is about.
fn subject(path: &Path) -> String {
    if *path == Path::ROOT { "the document".to_owned() } else { format!("`{}`", path.short()) }
}

/// The keys of a map schema, for a document that has none.
pub(super) fn expected_of(schema: &Value) -> String {
    let shape = Shape::of(schema, schema);
    match shape.maps.as_slice() {
        [map] => format!("a map with {}", listed(&property_names(map).collect::<Vec<_>>())),
        _ => shape.in_words(),
    }
}
