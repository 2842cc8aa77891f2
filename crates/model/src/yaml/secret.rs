//! Which parts of a text may hold a secret, judged by name, for the places where no schema says so.

use super::tree::{Kind, Node, Span};

/// Parts of names under which secrets are kept.
const TELLING: [&str; 8] = ["key", "token", "secret", "passw", "auth", "bearer", "credential", "cookie"];
/// Names that hold such a part and no secret.
const HARMLESS: [&str; 3] = ["tokenizer", "tokens", "keep"];

/// `true` if a value of this name may be a secret.
pub(super) fn name_may_hold_one(name: &str) -> bool {
    let mut name = name.to_lowercase();
    for harmless in HARMLESS {
        name = name.replace(harmless, "");
    }
    TELLING.iter().any(|part| name.contains(part))
}

/// `true` if a line of a text that could not be read may show a secret.
pub(super) fn line_may_hold_one(line: &str) -> bool {
    name_may_hold_one(line)
}

/// `true` for `${NAME}`.
pub(super) fn is_reference(text: &str) -> bool {
    text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).is_some_and(|name| !name.contains(['$', '{', '}']))
}

/// Collects where secrets may stand below a node that the schema does not know.
pub(super) fn spans_within(node: &Node, spans: &mut Vec<Span>) {
    match &node.kind {
        Kind::Scalar { .. } => {}
        Kind::List(items) => items.iter().for_each(|item| spans_within(item, spans)),
        Kind::Map(entries) => {
            for (key, value) in entries {
                if name_may_hold_one(&key.text) && matches!(value.kind, Kind::Scalar { .. }) {
                    spans.push(value.span);
                }
                spans_within(value, spans);
            }
        }
    }
}
