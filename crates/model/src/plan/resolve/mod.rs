//! The one step from the plan as typed to the plan as meant: every check, every default, all problems at once.
//!
//! What it needs of the outside (the plan's folder, the environment) is handed in.

mod limits;
mod load;
mod platform;
mod search;
mod url;

use std::collections::BTreeMap;
use std::path::{Path as FilePath, PathBuf};

use super::file::{ModelFile, PlanFile, VERSION};
use super::named::Named;
use super::quantity::{self, NotAQuantity};
use super::{Model, Plan};
use crate::units::Nanos;
use crate::yaml::{self, Part, Path, Problem, Problems, Source};

/// Seed of a plan that gives none.
pub const DEFAULT_SEED: u64 = 1;
/// Longest name of a plan, platform, workload or SLO, in characters.
const LONGEST_NAME: usize = 64;
/// Most points a plan may have.
const MOST_POINTS: usize = 10_000;

/// Most problems looked for: nobody reads more, and each holds a line of the text.
const MOST_PROBLEMS: usize = 500;

/// What resolution needs of the outside.
#[derive(Clone, Copy)]
pub struct ResolveContext<'a> {
    /// The folder that relative paths start at; make it absolute, so that a saved plan can be read from elsewhere.
    pub base_dir: &'a FilePath,
    /// The environment.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

impl std::fmt::Debug for ResolveContext<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResolveContext").field("base_dir", &self.base_dir).finish_non_exhaustive()
    }
}

/// Reads and resolves a plan. `source_name` is what the problems call the file.
///
/// # Errors
/// Everything that is wrong with it: text, structure and meaning.
pub fn resolve(source_name: &str, text: &str, context: &ResolveContext<'_>) -> Result<Plan, Problems> {
    let (file, source, problems) = yaml::read::<PlanFile>(source_name, text);
    match file {
        Some(file) => Resolver { source, problems, context }.run(&file),
        None => Err(some(source_name, problems)),
    }
}

/// Resolves a plan that did not come from a text, such as one made of flags; problems are named by their paths.
///
/// # Errors
/// Everything that is wrong with it.
pub fn resolve_file(file: &PlanFile, source_name: &str, context: &ResolveContext<'_>) -> Result<Plan, Problems> {
    let source = Source::without_text(source_name);
    Resolver { source, problems: Vec::new(), context }.run(file)
}

fn some(source_name: &str, problems: Vec<Problem>) -> Problems {
    let unknown = || vec![Problem::new(Path::ROOT, "the plan could not be read")];
    Problems::of(source_name, problems)
        .or_else(|| Problems::of(source_name, unknown()))
        .expect("invariant: a list of one is not empty")
}

/// Resolution under way.
struct Resolver<'a> {
    source: Source,
    problems: Vec<Problem>,
    context: &'a ResolveContext<'a>,
}

impl Resolver<'_> {
    fn run(mut self, file: &PlanFile) -> Result<Plan, Problems> {
        self.version(file.kneepoint);
        self.references(file);
        let model = self.model(&file.model);
        let name = self.plan_name(file);
        let platforms = self.platforms(&file.platforms);
        self.time_limits_need_a_stream(file);
        let workloads = self.workloads(&file.workloads);
        let longest_timeout = platforms.iter().map(|platform| platform.time_limits.total).max().unwrap_or_default();
        let slos = self.slos(file);
        let loads = self.loads(&file.load, &slos, longest_timeout);
        let limits = self.limits(file, &platforms);
        let seed = file.seed.unwrap_or(DEFAULT_SEED);
        let plan = Plan { name, seed, model, platforms, workloads, loads, slos, limits };
        let points = plan.most_points();
        if points > MOST_POINTS {
            let problem = Problem::new(Path::ROOT.key("load"), "the plan has too many points to measure");
            self.add(problem.found(points.to_string()).expected(format!("at most {MOST_POINTS}")));
        }
        match Problems::of(self.source.name(), self.problems) {
            None => Ok(plan),
            Some(problems) => Err(problems),
        }
    }

    /// Adds a problem with the value at its path, unless reading has found one there already.
    fn add(&mut self, problem: Problem) {
        self.add_at(problem, Part::Value);
    }

    /// The same for a problem with the key at its path.
    fn add_key(&mut self, problem: Problem) {
        self.add_at(problem, Part::Key);
    }

    /// Adds a problem about what the map or list at its path holds in all, unless something in it was found wrong: the
    /// one may follow from the other.
    fn add_about_whole(&mut self, problem: Problem, part: Part) {
        if !self.source.is_blamed_within(&problem.path) && !self.problems.iter().any(|p| problem.path.leads_to(&p.path))
        {
            self.add_at(problem, part);
        }
    }

    fn add_at(&mut self, problem: Problem, part: Part) {
        if self.problems.len() < MOST_PROBLEMS && !self.source.is_blamed(&problem.path) {
            let problem = self.source.locate(problem, part);
            self.problems.push(problem);
        }
    }

    fn version(&mut self, version: u32) {
        if version != VERSION {
            let path = Path::ROOT.key("kneepoint");
            let problem = Problem::new(path, format!("plan version {version} is not known"));
            let problem = problem.found(version.to_string()).expected(VERSION.to_string());
            self.add(if version > VERSION {
                problem.hint("the plan was written for a later kneepoint, or the number is not meant as its version")
            } else {
                problem
            });
        }
    }

    /// Refuses `${…}` wherever it would not be replaced.
    fn references(&mut self, file: &PlanFile) {
        let Ok(value) = serde_json::to_value(file) else { return };
        let mut found = Vec::new();
        collect_references(&value, &Path::ROOT, &mut found);
        for (path, text) in found {
            let problem = Problem::new(path, "`${…}` is replaced in `key` and `headers` only");
            self.add(problem.found(text).hint("write the value itself"));
        }
    }

    fn model(&mut self, model: &ModelFile) -> Model {
        let path = Path::ROOT.key("model");
        self.not_blank(&path.key("id"), &model.id);
        if let Some(precision) = &model.precision {
            self.not_blank(&path.key("precision"), precision);
        }
        Model {
            id: model.id.clone(),
            precision: model.precision.clone(),
            tokenizer: model.tokenizer.as_ref().map(|file| self.file_path(&path.key("tokenizer"), file)),
        }
    }

    fn plan_name(&mut self, file: &PlanFile) -> String {
        match &file.name {
            Some(name) => {
                self.name(&Path::ROOT.key("name"), name, Part::Value);
                name.clone()
            }
            None => name_from(without_publisher(&file.model.id)),
        }
    }

    /// Checks a name: it becomes part of file names, tables and JSON keys.
    fn name(&mut self, path: &Path, name: &str, part: Part) {
        let fits = name.starts_with(char::is_alphanumeric)
            && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
            && name.chars().count() <= LONGEST_NAME;
        if !fits {
            let shown = yaml::shortened(name);
            let problem = Problem::new(path.clone(), format!("`{shown}` cannot be a name")).expected(format!(
                "letters, digits, `.`, `_` and `-`, a letter or digit first, at most {LONGEST_NAME} in all"
            ));
            self.add_at(problem.hint(format!("`{}` would do", name_from(name))), part);
        }
    }

    /// Checks the names of a map that must not be empty.
    fn names<T>(&mut self, path: &Path, entries: &Named<T>, one: &str) {
        if entries.0.is_empty() {
            self.add_key(
                Problem::new(path.clone(), format!("`{}` is empty", path.short()))
                    .expected(format!("at least one {one}")),
            );
        }
        let mut seen = BTreeMap::new();
        for (name, _) in entries.iter() {
            self.name(&path.key(name), name, Part::Key);
            // Where names become files or shell words, case may not tell them apart.
            if let Some(other) = seen.insert(name.to_lowercase(), name) {
                let message =
                    format!("`{}` differs from `{}` by case alone", yaml::shortened(name), yaml::shortened(other));
                self.add_key(Problem::new(path.key(name), message).expected("names that differ"));
            }
        }
    }

    fn not_blank(&mut self, path: &Path, text: &str) {
        if text.trim().is_empty() {
            self.add(Problem::new(path.clone(), format!("`{}` is empty", path.short())));
        } else if text.chars().any(char::is_control) {
            self.add(
                Problem::new(path.clone(), format!("`{}` holds a line break or control character", path.short()))
                    .found(text),
            );
        }
    }

    fn file_path(&mut self, path: &Path, file: &str) -> PathBuf {
        self.not_blank(path, file);
        if file.starts_with("~/") {
            let problem = Problem::new(path.clone(), "`~` is not replaced by the home folder");
            self.add(problem.found(file).expected("an absolute path, or one that starts at the plan's folder"));
        }
        self.context.base_dir.join(file)
    }

    /// A duration within `range`; `None` where none is given or what is given is refused.
    fn duration(&mut self, path: &Path, text: Option<&str>, range: (Nanos, Nanos)) -> Option<Nanos> {
        let text = text?;
        match quantity::duration(text) {
            Ok(duration) if duration < range.0 || duration > range.1 => {
                let problem = Problem::new(path.clone(), format!("`{}` is out of range", path.short()));
                self.add(problem.found(text).expected(format!("from {} to {}", range.0, range.1)));
                None
            }
            Ok(duration) => Some(duration),
            Err(refused) => {
                self.not_a_quantity(path, text, refused);
                None
            }
        }
    }

    fn not_a_quantity(&mut self, path: &Path, text: &str, refused: NotAQuantity) {
        let mut problem = Problem::new(path.clone(), format!("`{}` does not fit", path.short()));
        problem = problem.found(if text.is_empty() { "\"\"" } else { text }).expected(refused.expected);
        problem.hint = refused.hint;
        self.add(problem);
    }
}

/// Where `${` stands in a plan, except where it may.
fn collect_references(value: &serde_json::Value, path: &Path, found: &mut Vec<(Path, String)>) {
    use serde_json::Value;
    match value {
        Value::String(text) if text.contains("${") => found.push((path.clone(), text.clone())),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| collect_references(item, &path.index(i), found));
        }
        Value::Object(map) => {
            // `key` and `headers` of a platform, the third step of the way.
            let in_platform = path.steps().len() == 2 && path.steps()[0] == yaml::Step::Key("platforms".to_owned());
            for (key, value) in map {
                if !(in_platform && matches!(key.as_str(), "key" | "headers")) {
                    collect_references(value, &path.key(key), found);
                }
            }
        }
        _ => {}
    }
}

/// A valid name as like `text` as can be.
fn name_from(text: &str) -> String {
    let safe = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '-' };
    let safe: String = text.trim().chars().map(safe).collect();
    let safe: String = safe.trim_start_matches(|c: char| !c.is_alphanumeric()).chars().take(LONGEST_NAME).collect();
    if safe.is_empty() { "plan".to_owned() } else { safe }
}

/// The part of a model's id after its publisher: `Llama-3.1-70B` of `meta-llama/Llama-3.1-70B`.
fn without_publisher(id: &str) -> &str {
    id.rsplit('/').find(|part| !part.trim().is_empty()).unwrap_or(id)
}
