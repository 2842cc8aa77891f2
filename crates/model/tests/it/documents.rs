//! What the documentation shows is what the reader takes.

use std::path::Path;

use kneepoint_model::plan::{Plan, ResolveContext, plan_schema, resolve};
use kneepoint_model::units::Nanos;

const REFERENCE: &str = include_str!("../../../../docs/plan.md");
const EXAMPLE: &str = include_str!("../../../../examples/plan.yaml");

fn resolved(name: &str, text: &str) -> Plan {
    let env = |name: &str| Some(format!("value-of-{name}"));
    let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
    resolve(name, text, &context).unwrap_or_else(|problems| panic!("{problems}"))
}

fn example_of_the_reference() -> &'static str {
    let (_, rest) = REFERENCE.split_once("```yaml\n").expect("docs/plan.md has an example");
    rest.split_once("```").expect("the example ends").0
}

#[test]
fn the_reference_s_example_resolves_to_what_the_text_says() {
    let plan = resolved("docs/plan.md", example_of_the_reference());
    assert_eq!(plan.points().len(), 44);
    assert_eq!(plan.loads[1].hold.drain, Nanos::from_secs(120), "the longest request timeout, a default");
}

#[test]
fn the_example_file_resolves_and_so_does_what_it_has_commented_out() {
    assert_eq!(resolved("examples/plan.yaml", EXAMPLE).points().len(), 4);
    let mut offered = 0;
    let uncommented: String = EXAMPLE
        .lines()
        .map(|line| {
            let is_field = line.trim_start().strip_prefix("# ").is_some_and(|rest| {
                let word = rest.split([':', ' ']).next().unwrap_or("");
                rest.starts_with("- ") || rest.starts_with(&format!("{word}:"))
            });
            offered += usize::from(is_field);
            if is_field { line.replacen("# ", "", 1) } else { line.to_owned() }
        })
        .collect::<Vec<_>>()
        .join("\n");
    assert!(offered >= 10, "{offered} commented fields");
    let plan = resolved("examples/plan.yaml, uncommented", &uncommented);
    assert_eq!((plan.workloads.len(), plan.loads.len(), plan.slos.len()), (2, 3, 2));
    assert!(!plan.limits.is_empty() && plan.loads[2].search.is_some());
}

#[test]
fn the_reference_describes_every_field() {
    let schema = plan_schema();
    let mut fields: Vec<String> = Vec::new();
    let maps = schema["$defs"].as_object().expect("definitions").values().chain([&schema]);
    for map in maps.filter_map(|map| map["properties"].as_object()) {
        fields.extend(map.keys().cloned());
    }
    assert!(fields.len() > 25);
    let missing: Vec<&String> = fields.iter().filter(|field| !REFERENCE.contains(&format!("`{field}`"))).collect();
    assert!(missing.is_empty(), "docs/plan.md does not describe {missing:?}");
}

#[test]
fn the_schema_describes_every_field() {
    fn check(value: &serde_json::Value, at: &str) {
        if let Some(properties) = value["properties"].as_object() {
            for (name, property) in properties {
                assert!(property["description"].is_string(), "{at}.{name} is not described");
            }
        }
    }
    let schema = plan_schema();
    check(&schema, "plan");
    for (name, definition) in schema["$defs"].as_object().expect("definitions") {
        check(definition, name);
    }
}
