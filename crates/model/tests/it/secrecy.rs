//! However a plan is broken, its messages never repeat a key that was written into it.

use std::path::Path;

use kneepoint_model::plan::{ResolveContext, resolve};
use proptest::prelude::*;

use crate::good_plans::env;

const SECRET: &str = "sk-hunter2hunter2";

/// Plans with a literal key, in every form in which one can be written.
fn plan() -> impl Strategy<Value = String> {
    let field = prop::sample::select(vec![
        "key: @",
        "key: '@'",
        "key: \"@\"",
        "key: |\n      @",
        "key: >-\n      @",
        "key:\n      @",
        "kye: @",
        "Key: @",
        "api_key: @",
        "token: @",
        "headers: {Authorization: Bearer @}",
        "headers: {authorization: @}",
        "headers:\n      X-Api-Key: @",
        "headers: {X-Other: @}",
        "key: {value: @}",
        "key: [@]",
        "key: a\n    key: @",
        "url: http://me:@@h",
        "password: @",
    ]);
    let before = "kneepoint: 1\nmodel: {id: m}\nplatforms:\n  a:\n    url: http://h\n    ";
    let after = "\n    request_timeout: 1m\nworkloads:\n  w: {input: 1, output: 1}\nload:\n  - rate: {sweep: [1]}\n";
    (field, any::<bool>()).prop_map(move |(field, flow)| {
        let field = field.replacen('@', SECRET, 1);
        if flow && !field.contains('\n') {
            let before = "kneepoint: 1\nmodel: {id: m}\nplatforms: {a: {url: http://h, request_timeout: 1, ";
            return format!("{before}{field}, connection: x}}}}\nworkloads: {{w: {{input: 0}}}}\nload: []\n");
        }
        format!("{before}{field}{after}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]
    #[test]
    fn no_message_repeats_a_literal_key(
        text in plan(),
        piece in prop::sample::select(vec!["", "x", ": ", "\n", "\t", "{", "}", "[", "\"", "'", "- ", "&a ", "*b", "#", "!t ", "%"]),
        place in any::<prop::sample::Index>(),
    ) {
        // A misspelt name is one slip; a second one that also takes its place away is more than is promised.
        let piece = if text.contains("kye") { "" } else { piece };
        // Break the text anywhere but inside the secret.
        let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
        let at = places[place.index(places.len())];
        let secret_at = text.find(SECRET).unwrap_or(0);
        let at = if (secret_at..secret_at + SECRET.len()).contains(&at) { secret_at } else { at };
        let broken = format!("{}{piece}{}", &text[..at], &text[at..]);
        let context = ResolveContext { base_dir: Path::new("/plans"), env: &env };
        if let Err(problems) = resolve("plan.yaml", &broken, &context) {
            let shown = problems.to_string();
            prop_assert!(!shown.contains("hunter2"), "{shown}");
        }
    }
}
