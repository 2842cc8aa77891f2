//! The environment, read once and here only.

/// What the environment says about output.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings {
    /// `NO_COLOR` is set and not empty.
    pub(crate) no_color: bool,
    /// The user's language, from `LC_ALL`, `LC_MESSAGES` or `LANG`, the first that is set.
    pub(crate) locale: Option<String>,
}

impl Settings {
    pub(crate) fn from_environment() -> Self {
        Self {
            no_color: variable("NO_COLOR").is_some(),
            locale: ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(variable),
        }
    }
}

/// A variable's value; `None` if it is not set or empty.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub(crate) fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
