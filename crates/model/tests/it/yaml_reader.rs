//! The reader with types other than a plan: enums with content, bounds, positions of later problems.

use insta::assert_snapshot;
use kneepoint_model::yaml::{Part, Path, Problem, Problems, from_str};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Zoo {
    version: String,
    open: Option<bool>,
    #[schemars(range(min = 1, max = 9))]
    cages: u8,
    animals: Vec<Animal>,
    #[serde(default)]
    food: Option<Food>,
    #[serde(default)]
    extra: serde_json::Value,
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Animal {
    Cat { lives: u8 },
    SeaHorse { salt: f64 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Food {
    Hay,
    Fish { kilos: f64 },
}

const GOOD: &str = "
version: 1.10
open: true
cages: 0x9
animals:
  - {kind: cat, lives: 9}
  - kind: sea-horse
    salt: 3.5e0
food:
  fish: {kilos: 2}
extra: [1, 1.0, '1', 0o17, ~, yes, 2026-11-30]
";

#[track_caller]
fn refused(text: &str) -> String {
    match from_str::<Zoo>("zoo.yaml", text) {
        Ok(zoo) => panic!("{:?}", zoo.value),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn the_schema_decides_what_a_scalar_is() {
    let zoo = from_str::<Zoo>("zoo.yaml", GOOD).unwrap_or_else(|problems| panic!("{problems}")).value;
    assert_eq!(
        zoo,
        Zoo {
            version: "1.10".to_owned(),
            open: Some(true),
            cages: 9,
            animals: vec![Animal::Cat { lives: 9 }, Animal::SeaHorse { salt: 3.5 }],
            food: Some(Food::Fish { kilos: 2.0 }),
            extra: serde_json::json!([1, 1.0, "1", 15, null, "yes", "2026-11-30"]),
        }
    );
    let plain = GOOD.replace("food:\n  fish: {kilos: 2}", "food: hay");
    let zoo = from_str::<Zoo>("zoo.yaml", &plain).unwrap_or_else(|problems| panic!("{problems}")).value;
    assert_eq!(zoo.food, Some(Food::Hay));
}

#[test]
fn enums_with_content_are_judged_by_their_tag() {
    let text = GOOD
        .replace("kind: cat,", "kind: dog,")
        .replace("kind: sea-horse", "kind: sea-horse\n    lives: 1")
        .replace("{kilos: 2}", "{kilo: many}");
    assert_snapshot!(refused(&text), @r#"
    zoo.yaml:6:12: `kind` has no value `dog`
      6 |   - {kind: dog, lives: 9}
        |            ^^^
      expected: one of `cat`, `sea-horse`

    zoo.yaml:8:5: unknown key `lives` in `animals[1]`
      8 |     lives: 1
        |     ^^^^^
      expected: one of `kind`, `salt`

    zoo.yaml:11:10: unknown key `kilo` in `food.fish`
      11 |   fish: {kilo: many}
         |          ^^^^
      expected: `kilos`
      hint: did you mean `kilos`?

    3 problems in zoo.yaml
    "#);
}

#[test]
fn a_missing_tag_and_numbers_out_of_bounds() {
    let text =
        GOOD.replace("kind: cat, ", "").replace("0x9", "10").replace("open: true", "open:").replace("3.5e0", ".nan");
    assert_snapshot!(refused(&text), @r#"
    zoo.yaml:4:8: `cages` is out of range
      4 | cages: 10
        |        ^^
      found: 10
      expected: a whole number from 1 to 9

    zoo.yaml:6:5: `kind` is missing in `animals[0]`
      6 |   - {lives: 9}
        |     ^
      expected: one of `cat`, `sea-horse`

    zoo.yaml:8:11: `salt` does not fit
      8 |     salt: .nan
        |           ^^^^
      found: .nan
      expected: a number

    3 problems in zoo.yaml
    "#);
}

#[test]
fn an_empty_value_is_told_at_its_key() {
    assert_snapshot!(refused(&GOOD.replace("version: 1.10", "version:").replace("cages: 0x9", "cages: ~")), @r#"
    zoo.yaml:2:1: `version` is empty
      2 | version:
        | ^^^^^^^
      expected: text

    zoo.yaml:4:8: `cages` is empty
      4 | cages: ~
        |        ^
      found: ~
      expected: a whole number from 1 to 9

    2 problems in zoo.yaml
    "#);
}

#[test]
fn aliases_stand_for_their_anchors() {
    let text = GOOD.replace("- {kind: cat, lives: 9}", "- &tom {kind: cat, lives: 9}\n  - *tom");
    let zoo = from_str::<Zoo>("zoo.yaml", &text).unwrap_or_else(|problems| panic!("{problems}")).value;
    assert_eq!(zoo.animals[0], zoo.animals[1]);
    assert!(from_str::<Zoo>("zoo.yaml", &GOOD.replace("[1, 1.0,", "&x [1, *x,")).is_err(), "an alias inside itself");
}

#[test]
fn later_problems_are_located_by_path() {
    let parsed = from_str::<Zoo>("zoo.yaml", GOOD).unwrap_or_else(|problems| panic!("{problems}"));
    let at = |path: Path, part| {
        let problem = parsed.source.locate(Problem::new(path, "odd"), part);
        (problem.line, problem.column)
    };
    let animals = Path::ROOT.key("animals");
    assert_eq!(at(animals.index(1).key("salt"), Part::Value), (Some(8), Some(11)));
    assert_eq!(at(animals.index(1).key("salt"), Part::Key), (Some(8), Some(5)));
    assert_eq!(at(animals.clone(), Part::Key), (Some(5), Some(1)));
    // What is not there is shown by the key it is absent from.
    assert_eq!(at(Path::ROOT.key("food").key("fish").key("bones"), Part::Value), (Some(10), Some(3)));
    assert!(Problems::of("zoo.yaml", Vec::new()).is_none());
}

#[test]
fn paths_read_well() {
    let path = Path::ROOT.key("a b").key("headers").key("X-Y").index(3);
    assert_eq!(path.to_string(), "\"a b\".headers.X-Y[3]");
    assert_eq!(path.short(), "X-Y[3]");
    assert!(Path::ROOT.leads_to(&path) && !path.leads_to(&Path::ROOT));
}
