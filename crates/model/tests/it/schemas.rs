//! The JSON Schemas in `schemas/` say what the types say. `KNEEPOINT_BLESS=1 cargo test` rewrites them.

use std::path::Path;

use kneepoint_model::summary::Summary;

#[test]
fn plan() {
    check("plan.schema.json", &kneepoint_model::plan::plan_schema());
}

#[test]
fn summary() {
    check("summary.schema.json", &schemars::schema_for!(Summary).to_value());
}

#[track_caller]
fn check(name: &str, schema: &serde_json::Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas").join(name);
    let wanted = serde_json::to_string_pretty(schema).expect("a value is JSON") + "\n";
    #[expect(clippy::disallowed_methods, reason = "a switch of this test, nothing the program reads")]
    if std::env::var("KNEEPOINT_BLESS").is_ok() {
        std::fs::write(&path, &wanted).expect("schemas/ is writable");
    }
    let stored = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(stored == wanted, "schemas/{name} is stale: run KNEEPOINT_BLESS=1 cargo test -p kneepoint-model");
}
