//! Where in a document a value stands.

use std::fmt;

/// The way from the root of a document to a value: `platforms.vllm.headers`, `load[0].rate.sweep[2]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

/// One step of a [`Path`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// Into a map, by its key.
    Key(String),
    /// Into a list, by its index.
    Index(usize),
}

impl Path {
    /// The document itself.
    pub const ROOT: Self = Self(Vec::new());

    /// The path of `key` in the map at this path.
    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.then(Step::Key(key.into()))
    }

    /// The path of the element `index` of the list at this path.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.then(Step::Index(index))
    }

    /// The path without its last step; `None` at the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, rest) = self.0.split_last()?;
        Some(Self(rest.to_vec()))
    }

    /// The steps from the root.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// The last key on the way, skipping indices.
    pub fn last_key(&self) -> Option<&str> {
        self.0.iter().rev().find_map(|step| match step {
            Step::Key(key) => Some(key.as_str()),
            Step::Index(_) => None,
        })
    }

    /// The last key and the indices after it, which is enough where the place itself is shown: `sweep[2]`.
    pub fn short(&self) -> String {
        let from = self.0.iter().rposition(|step| matches!(step, Step::Key(_))).unwrap_or(0);
        Self(self.0[from..].to_vec()).to_string()
    }

    /// `true` if `self` is `other` or leads to it.
    pub fn leads_to(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    fn then(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, step) in self.0.iter().enumerate() {
            match step {
                Step::Index(index) => write!(f, "[{index}]")?,
                Step::Key(key) => {
                    if i > 0 {
                        f.write_str(".")?;
                    }
                    if !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || "_-".contains(c)) {
                        f.write_str(key)?;
                    } else {
                        write!(f, "{key:?}")?;
                    }
                }
            }
        }
        Ok(())
    }
}
