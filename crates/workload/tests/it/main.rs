//! Tests of `kneepoint-workload` through its public interface.

mod arrivals;
mod prompts;
mod source;
mod tokenizer;

/// A tokenizer of tests/fixtures.
fn tokenizer(name: &str) -> kneepoint_workload::Tokenizer {
    kneepoint_workload::Tokenizer::load(&fixture(name)).expect("a fixture loads")
}

fn fixture(name: &str) -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}
