//! From a file or flags to a resolved plan.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use kneepoint_model::Plan;
use kneepoint_model::plan::ResolveContext;

use crate::exit::{Failed, Result};
use crate::settings;

/// A plan larger than this is a mistake.
const LARGEST_PLAN: u64 = 4 << 20;

/// Reads and resolves the plan in a file.
pub(crate) fn from_file(path: &Path) -> Result<Plan> {
    let text = read(path)
        .map_err(|error| Failed::usage(error).hint("`kneepoint init plan.yaml` writes a plan to start from"))?;
    let folder = folder_of(path);
    let context = ResolveContext { base_dir: &folder, env: &settings::variable };
    kneepoint_model::plan::resolve(&path.display().to_string(), &text, &context).map_err(Failed::usage)
}

fn read(path: &Path) -> anyhow::Result<String> {
    let shown = path.display();
    let size = fs::metadata(path).with_context(|| format!("could not read `{shown}`"))?.len();
    anyhow::ensure!(size <= LARGEST_PLAN, "`{shown}` has {size} bytes; a plan has at most {LARGEST_PLAN}");
    let bytes = fs::read(path).with_context(|| format!("could not read `{shown}`"))?;
    String::from_utf8(bytes).map_err(|error| {
        anyhow::anyhow!("`{shown}` is not UTF-8 text: byte {} cannot be read", error.utf8_error().valid_up_to() + 1)
    })
}

/// The folder a plan's relative paths count from.
pub(crate) fn folder_of(path: &Path) -> PathBuf {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    absolute(parent)
}

/// As an absolute path where the system can tell: a plan is kept in bundles, and read from elsewhere later.
pub(crate) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
