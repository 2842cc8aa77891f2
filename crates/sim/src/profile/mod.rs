//! Profiles: a simulated platform as a file, resolved once.
//!
//! [`ProfileFile`] is the file as typed; [`Profile::parse`] resolves it and reports every problem at once, where it
//! stands. Nothing after that checks again.

mod file;
mod quantity;
mod resolve;

use kneepoint_model::yaml::Problems;
use kneepoint_model::{Nanos, Secret};

pub use file::{
    EngineFile, FaultsFile, NetworkFile, ObedienceFile, OutputFile, ProfileFile, QueueFile, ReplicasFile, ReserveFile,
    RoleFile, StreamFile, TailFile,
};

use crate::engine::EngineConfig;
use crate::platform::{Fleet, Scaling, route::Route};

/// The profiles that come with the program: name and text.
const EMBEDDED: [(&str, &str); 5] = [
    ("fast", include_str!("../../../../profiles/fast.yaml")),
    ("cheap", include_str!("../../../../profiles/cheap.yaml")),
    ("serverless", include_str!("../../../../profiles/serverless.yaml")),
    ("llama-70b-2xa100", include_str!("../../../../profiles/llama-70b-2xa100.yaml")),
    ("test", include_str!("../../../../profiles/test.yaml")),
];

/// A resolved profile.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    pub(crate) name: String,
    pub(crate) about: String,
    pub(crate) seed: u64,
    pub(crate) model: String,
    pub(crate) only_model: bool,
    pub(crate) context: u64,
    pub(crate) engine: EngineConfig,
    pub(crate) scaling: Scaling,
    pub(crate) queue_limit: usize,
    pub(crate) retry_after: Nanos,
    pub(crate) route: Route,
    pub(crate) role_at_once: bool,
    pub(crate) keep_alive: Option<Nanos>,
    pub(crate) natural_mean: u64,
    pub(crate) ignore_eos: ObedienceFile,
    pub(crate) min_tokens: ObedienceFile,
    pub(crate) prompt_overhead: u64,
    pub(crate) precise: bool,
    pub(crate) key: Option<Secret>,
}

impl Profile {
    /// Names of the profiles that come with the program.
    pub fn names() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    /// A profile that comes with the program.
    ///
    /// # Panics
    /// Never: a test reads them all.
    pub fn embedded(name: &str) -> Option<Self> {
        let text = Self::embedded_text(name)?;
        Some(Self::parse(name, text).expect("invariant: the embedded profiles are tested"))
    }

    /// The text of a profile that comes with the program, as an example to start from.
    pub fn embedded_text(name: &str) -> Option<&'static str> {
        EMBEDDED.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
    }

    /// Reads a profile from YAML. `source_name` is what messages call it.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with line and column.
    pub fn parse(source_name: &str, text: &str) -> Result<Self, Problems> {
        resolve::resolve(source_name, text)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is like, in a sentence; may be empty.
    pub fn about(&self) -> &str {
        &self.about
    }

    /// The model name it answers with.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The engine of each replica.
    pub fn engine(&self) -> &EngineConfig {
        &self.engine
    }

    /// The replicas.
    pub fn scaling(&self) -> &Scaling {
        &self.scaling
    }

    /// The highest rate (requests per second) all its replicas can serve, for requests of so many tokens.
    pub fn saturation_rate(&self, prompt: u64, output: u64) -> f64 {
        self.scaling.max as f64 * self.engine.saturation_rate_with_seats(prompt, output)
    }

    /// The same profile, asking for this bearer key.
    #[must_use]
    pub fn with_key(mut self, key: Secret) -> Self {
        self.key = Some(key);
        self
    }

    /// The same profile with another seed.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The same profile under another model name.
    #[must_use]
    pub fn with_model(mut self, model: impl Into<String>) -> Self {
        self.model = model.into();
        self
    }

    /// Its fleet at instant zero.
    pub(crate) fn fleet(&self) -> Fleet {
        Fleet::new(self.engine, self.scaling, self.queue_limit, self.seed)
    }
}

/// The JSON Schema of profile files, as published in `schemas/sim-profile.schema.json`.
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(ProfileFile).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn embedded_profiles_are_valid_and_named_as_they_say() {
        for name in Profile::names() {
            let text = Profile::embedded_text(name).expect("listed");
            let profile = Profile::parse(name, text).unwrap_or_else(|problems| panic!("{problems}"));
            assert_eq!(profile.name(), name);
            assert!(!profile.about().is_empty(), "{name} says what it is like");
        }
        assert!(Profile::embedded("no-such").is_none());
    }
}
