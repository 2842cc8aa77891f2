//! Reading the worked numbers of `tests/fixtures/` and comparing with them.

use serde_json::Value;

/// A fixture by its file name without ending.
pub(crate) fn fixture(name: &str) -> Value {
    let path = format!("{}/tests/fixtures/{name}.json", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The cases under a key, at least one.
pub(crate) fn cases<'a>(fixture: &'a Value, key: &str) -> &'a [Value] {
    let cases = fixture[key].as_array().unwrap_or_else(|| panic!("no list `{key}`"));
    assert!(!cases.is_empty(), "`{key}` is empty");
    cases
}

/// A list of numbers.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|v| v.as_f64().expect("a number")).collect()
}

/// Equal to 1e-9, relative; `null` is `None`.
#[track_caller]
pub(crate) fn agrees(got: Option<f64>, want: &Value, what: &str) {
    match (got, want.as_f64()) {
        (None, None) => assert!(want.is_null(), "{what}: {want} is no number"),
        (Some(got), Some(want)) => {
            assert!((got - want).abs() <= 1e-9 * want.abs().max(1e-9), "{what}: got {got}, want {want}");
        }
        (got, _) => panic!("{what}: got {got:?}, want {want}"),
    }
}
