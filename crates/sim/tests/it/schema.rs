//! The published JSON Schema of profile files.

#[test]
fn the_published_schema_is_the_one_of_the_types() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/sim-profile.schema.json");
    let mut fresh = serde_json::to_string_pretty(&kneepoint_sim::profile::schema()).expect("a schema is JSON");
    fresh.push('\n');
    let published = std::fs::read_to_string(path).unwrap_or_default();
    if published != fresh {
        let draft = concat!(env!("CARGO_TARGET_TMPDIR"), "/sim-profile.schema.json");
        std::fs::write(draft, &fresh).expect("the target folder can be written");
        panic!("schemas/sim-profile.schema.json is stale: copy {draft} over it");
    }
}
