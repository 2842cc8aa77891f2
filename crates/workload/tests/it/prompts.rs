//! Prompts: exactly as long as asked, never the same twice, the same again for the same seed.

use std::collections::HashSet;
use std::sync::LazyLock;

use kneepoint_model::units::Tokens;
use kneepoint_workload::Prompts;
use proptest::prelude::*;

use crate::tokenizer;

static PLAIN: LazyLock<Prompts> = LazyLock::new(|| Prompts::new(1, 4, None));
static BPE: LazyLock<Prompts> = LazyLock::new(|| Prompts::new(1, 4, Some(tokenizer("bpe.json"))));
static BYTES: LazyLock<Prompts> = LazyLock::new(|| Prompts::new(1, 4, Some(tokenizer("bytes.json"))));
static METASPACE: LazyLock<Prompts> = LazyLock::new(|| Prompts::new(1, 4, Some(tokenizer("metaspace.json"))));

fn text(prompts: &Prompts, point: usize, index: u64, target: u64) -> String {
    prompts.text(point, index, Tokens(target)).text.to_string()
}

/// Words and punctuation marks.
fn n_pieces(text: &str) -> usize {
    text.split(' ').count() + text.matches(['.', ',']).count()
}

#[test]
fn every_target_is_hit_exactly_with_every_kind_of_tokenizer() {
    for (name, shared) in [("bpe", &*BPE), ("bytes", &BYTES), ("metaspace", &METASPACE)] {
        for (target, n_seeds) in [(1, 24), (2, 24), (3, 24), (7, 24), (100, 16), (512, 12), (2_048, 4)] {
            for seed in 0..n_seeds {
                let made =
                    Prompts::new(seed, 3, Some(tokenizer(&format!("{name}.json")))).text(1, seed, Tokens(target));
                assert_eq!(made.tokens, Some(Tokens(target)), "{name}, seed {seed}: {}", made.text);
                let recount = shared.tokenizer().expect("has one").count(&made.text);
                assert_eq!(recount, made.tokens, "{name}, seed {seed}");
                assert!(!made.text.is_empty());
            }
        }
    }
}

#[test]
fn a_length_that_cannot_be_made_becomes_the_nearest_below() {
    let prompts = Prompts::new(1, 4, Some(tokenizer("pairs.json")));
    assert_eq!(prompts.shortest(), Tokens(2));
    for target in [2, 3, 4, 5, 7, 31, 100, 513] {
        for index in 0..20 {
            let made = prompts.text(0, index, Tokens(target));
            assert_eq!(made.tokens, Some(Tokens(target / 2 * 2)), "{target}: {}", made.text);
            assert_eq!(prompts.tokenizer().expect("has one").count(&made.text), made.tokens);
        }
    }
}

#[test]
fn without_a_tokenizer_a_piece_counts_as_a_token() {
    for target in [1, 2, 3, 7, 8, 9, 100, 512, 2_048] {
        for index in 0..50 {
            let made = PLAIN.text(2, index, Tokens(target));
            assert_eq!(made.tokens, None);
            assert_eq!(n_pieces(&made.text) as u64, target, "{}", made.text);
        }
    }
}

#[test]
fn no_two_of_200_000_prompts_are_equal() {
    for target in [3, 4, 7, 8, 60] {
        let texts: HashSet<String> =
            (0..200_000).map(|i| text(&PLAIN, usize::try_from(i % 4).expect("small"), i / 4, target)).collect();
        assert_eq!(texts.len(), 200_000, "{target} tokens");
    }
}

#[test]
fn no_two_prompts_measured_by_a_tokenizer_are_equal() {
    for (prompts, targets) in [(&*BPE, [8, 20]), (&METASPACE, [8, 20]), (&BYTES, [24, 60])] {
        for target in targets {
            let texts: HashSet<String> =
                (0..20_000).map(|i| text(prompts, usize::try_from(i % 4).expect("small"), i / 4, target)).collect();
            assert_eq!(texts.len(), 20_000, "{target} tokens with {:?}", prompts.tokenizer());
        }
    }
}

#[test]
fn shortest_prompts_use_every_code_before_one_comes_back() {
    let texts = |target, n: u64| (0..n).map(|i| text(&PLAIN, 0, i, target)).collect::<HashSet<_>>().len();
    let alone = Prompts::new(1, 1, None);
    let distinct = |target, n: u64| (0..n).map(|i| text(&alone, 0, i, target)).collect::<HashSet<_>>().len();
    assert_eq!(distinct(1, 256), 256);
    assert_eq!(distinct(1, 10_000), 256);
    assert_eq!(distinct(2, 131_072), 131_072);
    // Four points share the codes between them.
    assert_eq!(texts(1, 64), 64);
    let over_points: HashSet<_> = (0..4).flat_map(|point| (0..64).map(move |i| text(&PLAIN, point, i, 1))).collect();
    assert_eq!(over_points.len(), 256);
}

#[test]
fn prompts_part_within_their_first_words() {
    // A prefix cache works in blocks of tokens, 16 as a rule; no two prompts share even the seven of the code.
    let n = 20_000;
    let words = |i, n_words| {
        let text = text(&PLAIN, 0, i, 512);
        text.split(['.', ' ']).take(n_words).collect::<Vec<_>>().join(" ")
    };
    let codes: HashSet<_> = (0..n).map(|i| words(i, 7)).collect();
    assert_eq!(codes.len() as u64, n);
    // Opening words are used evenly: neighbours share one in 256 cases.
    let same_opening = (1..n).filter(|&i| words(i - 1, 1) == words(i, 1)).count();
    assert!(same_opening < 130, "{same_opening} of {n} neighbours open alike");
}

#[test]
fn the_prompts_of_a_seed_never_change() {
    // Golden values: a change here changes what every published seed means.
    assert_eq!(
        text(&PLAIN, 0, 0, 30),
        "cloud city garden received key young language. One leaf of the thick baby started the son. Today one next orange filled the kitchen while the dog pushed."
    );
    assert_eq!(text(&PLAIN, 3, 41, 12), "coal allowed vote busy cat ordered proud. This year described.");
    assert_eq!(text(&BPE, 0, 0, 30), "bed wall rough worker theory thin cold. One leaf of the thick baby started.");
}

#[test]
fn texts_neither_begin_nor_end_with_space() {
    // Chat templates trim, which would change the count.
    for prompts in [&*PLAIN, &BPE, &BYTES, &METASPACE] {
        for target in 1..60 {
            let text = text(prompts, 0, target, target);
            assert_eq!(text.trim(), text);
        }
    }
}

#[test]
fn prompts_may_be_asked_for_from_many_threads() {
    fn shareable<T: Send + Sync>(_: &T) {}
    shareable(&*BPE);
    let one_by_one: Vec<String> = (0..64).map(|i| text(&BPE, 0, i, 50)).collect();
    let from_threads: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..64).rev().map(|i| scope.spawn(move || text(&BPE, 0, i, 50))).collect();
        threads.into_iter().rev().map(|thread| thread.join().expect("no panic")).collect()
    });
    assert_eq!(one_by_one, from_threads);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_length_is_exact_and_pure(seed: u64, point in 0_usize..4, index in 0_u64..1_000_000, target in 1_u64..700) {
        for name in ["bpe.json", "bytes.json", "metaspace.json"] {
            let prompts = Prompts::new(seed, 4, Some(tokenizer(name)));
            let made = prompts.text(point, index, Tokens(target));
            prop_assert_eq!(made.tokens, Some(Tokens(target)), "{}: {}", name, &made.text);
            prop_assert_eq!(prompts.tokenizer().expect("has one").count(&made.text), made.tokens);
            prompts.text(point, index + 1, Tokens(target));
            prop_assert_eq!(prompts.text(point, index, Tokens(target)), made);
        }
        let plain = Prompts::new(seed, 4, None);
        prop_assert_eq!(n_pieces(&text(&plain, point, index, target)) as u64, target);
    }
}
