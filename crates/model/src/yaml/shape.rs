//! What a JSON Schema allows at one place, brought into the form in which a YAML node is held against it.

use serde_json::{Map, Value};

/// What may stand at one place.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "a set of JSON types, each allowed or not")]
pub(super) struct Shape<'s> {
    /// Anything goes.
    pub(super) any: bool,
    pub(super) null: bool,
    pub(super) boolean: bool,
    /// Any text.
    pub(super) text: bool,
    /// These words.
    pub(super) words: Vec<&'s str>,
    pub(super) integer: Option<&'s Map<String, Value>>,
    pub(super) number: Option<&'s Map<String, Value>>,
    pub(super) list: Option<&'s Map<String, Value>>,
    pub(super) maps: Vec<&'s Map<String, Value>>,
    /// What is written here must never be shown (`writeOnly`).
    pub(super) secret: bool,
    /// An example of the right form, where the schema gives one.
    pub(super) example: Option<&'s str>,
}

impl<'s> Shape<'s> {
    /// The shape of a schema; `root` holds the definitions that its references name.
    pub(super) fn of(schema: &'s Value, root: &'s Value) -> Self {
        let mut shape = Self::default();
        // A chain of references longer than this is a loop.
        shape.add(schema, root, 32);
        shape
    }

    fn add(&mut self, schema: &'s Value, root: &'s Value, fuel: u32) {
        let object = match schema {
            Value::Object(object) if fuel > 0 => object,
            Value::Bool(false) => return,
            _ => {
                self.any = true;
                return;
            }
        };
        self.secret |= object.get("writeOnly").and_then(Value::as_bool).unwrap_or(false);
        if let Some(example) = object.get("examples").and_then(|e| e.get(0)).and_then(Value::as_str) {
            self.example = Some(example);
        }
        let mut described = false;
        for key in ["anyOf", "oneOf", "allOf"] {
            if let Some(Value::Array(alternatives)) = object.get(key) {
                described = true;
                for alternative in alternatives {
                    self.add(alternative, root, fuel - 1);
                }
            }
        }
        if let Some(Value::String(reference)) = object.get("$ref") {
            described = true;
            let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
            self.add(target.unwrap_or(&Value::Bool(true)), root, fuel - 1);
        }
        if let Some(constant) = object.get("const") {
            self.add_constant(constant);
            return;
        }
        if let Some(Value::Array(constants)) = object.get("enum") {
            for constant in constants {
                self.add_constant(constant);
            }
            return;
        }
        match object.get("type") {
            Some(Value::String(name)) => self.add_type(name, object),
            Some(Value::Array(names)) => {
                names.iter().filter_map(Value::as_str).for_each(|name| self.add_type(name, object));
            }
            _ if object.contains_key("properties") => self.maps.push(object),
            _ if !described => self.any = true,
            _ => {}
        }
    }

    fn add_constant(&mut self, constant: &'s Value) {
        match constant {
            Value::String(word) => self.words.push(word),
            Value::Null => self.null = true,
            Value::Bool(_) => self.boolean = true,
            Value::Number(_) => self.number = constant.as_object().or(self.number),
            Value::Array(_) | Value::Object(_) => self.any = true,
        }
    }

    fn add_type(&mut self, name: &str, object: &'s Map<String, Value>) {
        match name {
            "null" => self.null = true,
            "boolean" => self.boolean = true,
            "string" => self.text = true,
            "integer" => self.integer = Some(object),
            "number" => self.number = Some(object),
            "array" => self.list = Some(object),
            "object" => self.maps.push(object),
            _ => self.any = true,
        }
    }

    /// `true` if some scalar other than null may stand here.
    pub(super) fn takes_scalar(&self) -> bool {
        self.any
            || self.boolean
            || self.text
            || !self.words.is_empty()
            || self.integer.is_some()
            || self.number.is_some()
    }

    /// What is expected here, in words.
    pub(super) fn in_words(&self) -> String {
        let mut parts: Vec<String> = Vec::new();
        if !self.words.is_empty() && !self.text {
            parts.push(one_of(&self.words));
        }
        if let Some(example) = self.example {
            parts.push(format!("a value such as `{example}`"));
        } else {
            if self.text {
                parts.push("text".to_owned());
            }
            if let Some(object) = self.integer {
                parts.push(format!("a whole number{}", bounds_in_words(object)));
            }
            if let Some(object) = self.number
                && !self.text
            {
                parts.push(format!("a number{}", bounds_in_words(object)));
            }
        }
        if self.boolean {
            parts.push("true or false".to_owned());
        }
        if let Some(object) = self.list {
            parts.push(if object.get("minItems").is_some() { "a list with entries" } else { "a list" }.to_owned());
        }
        if !self.maps.is_empty() {
            let mut keys: Vec<&str> = self.maps.iter().flat_map(|map| property_names(map)).collect();
            keys.dedup();
            parts.push(if keys.is_empty() { "a map".to_owned() } else { format!("a map with {}", listed(&keys)) });
        }
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", or ") }
    }
}

/// The names of the properties that a map schema knows.
pub(super) fn property_names(map: &Map<String, Value>) -> impl Iterator<Item = &str> {
    map.get("properties").and_then(Value::as_object).into_iter().flatten().map(|(name, _)| name.as_str())
}

/// Smallest and largest value allowed, inclusive.
pub(super) fn bounds(object: &Map<String, Value>) -> (Option<f64>, Option<f64>) {
    let number = |key: &str| object.get(key).and_then(Value::as_f64);
    let by_format = match object.get("format").and_then(Value::as_str) {
        Some("uint8") => (Some(0.0), Some(f64::from(u8::MAX))),
        Some("uint16") => (Some(0.0), Some(f64::from(u16::MAX))),
        Some("uint32") => (Some(0.0), Some(f64::from(u32::MAX))),
        Some("int32") => (Some(f64::from(i32::MIN)), Some(f64::from(i32::MAX))),
        _ => (None, None),
    };
    (number("minimum").or(by_format.0), number("maximum").or(by_format.1))
}

fn bounds_in_words(object: &Map<String, Value>) -> String {
    match bounds(object) {
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
        (Some(least), None) => format!(", {least} or more"),
        (None, Some(most)) => format!(", {most} at most"),
        (None, None) => String::new(),
    }
}

/// The words as a choice, or the only one there is.
pub(super) fn one_of(words: &[&str]) -> String {
    match words {
        [word] => format!("`{word}`"),
        _ => format!("one of {}", listed(words)),
    }
}

/// The words in backticks, separated by commas.
pub(super) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

/// The known word that an unknown one was probably meant to be.
pub(super) fn did_you_mean<'w>(word: &str, known: impl IntoIterator<Item = &'w str>) -> Option<&'w str> {
    /// Below this, a suggestion is more often wrong than right.
    const ALIKE: f64 = 0.72;

    let lower = word.to_lowercase().replace('_', "-");
    // A letter lost, doubled, mistaken or swapped is a misspelling in any word of three letters or more.
    let likeness = |candidate: &str| {
        let candidate = candidate.to_lowercase().replace('_', "-");
        let one_slip = lower.chars().count() >= 3 && strsim::osa_distance(&lower, &candidate) <= 1;
        if one_slip { 0.99 } else { strsim::jaro_winkler(&lower, &candidate) }
    };
    known
        .into_iter()
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|&(likeness, _)| likeness >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
