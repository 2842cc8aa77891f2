//! A whole run: probe, point after point, and the bundle's frame around them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use kneepoint_model::bundle::{self, Calibration, Environment, GitState, Manifest, PointEnded, RunStatus};
use kneepoint_model::plan::Point;
use kneepoint_model::{Plan, RequestSource};

use crate::account::Account;
use crate::calibrate::{self, CalibrateError};
use crate::clock::{self, Clock};
use crate::host;
use crate::journal::{Journal, JournalError};
use crate::point::PointError;
use crate::preflight::{MachineLimits, preflight};
use crate::probe::{self, ProbeError, Probed};
use crate::progress::Progress;
use crate::session::{self, Session};
use crate::stop::{Stop, StopSignal};
use crate::world::Net;

/// What a run needs beside its plan.
#[derive(Debug)]
pub struct RunOptions {
    /// Where the bundle goes; must not exist.
    pub directory: PathBuf,
    /// The plan as resolved, secrets as references: the text of `plan.yaml`.
    pub plan_yaml: String,
    /// Version of the tool, for the manifest.
    pub tool: String,
    /// Git state of the plan's folder.
    pub git: Option<GitState>,
    /// Worker threads; at least 1. `None`: one less than the cores, at least 1.
    pub workers: Option<usize>,
    /// Whether what the client itself adds is measured before the run, which takes a few seconds.
    pub calibrate: bool,
}

/// Why a run ended without a bundle, or with an incomplete one.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A platform cannot be measured. Nothing was written.
    #[error(transparent)]
    Probe(#[from] ProbeError),
    /// A file of the bundle could not be written.
    #[error("could not write `{path}`")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The journal failed; what it holds is kept.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// A point failed for the client's own reasons; what was measured before is kept.
    #[error("point {point} could not be measured")]
    Point {
        /// Index of the point in the plan.
        point: u32,
        /// Why.
        #[source]
        source: PointError,
    },
}

/// A measured run: every record is on disk; the summary is still to be made and the manifest to be sealed.
#[derive(Debug)]
pub struct Measured {
    /// The bundle.
    pub directory: PathBuf,
    /// The manifest so far.
    pub manifest: Manifest,
    /// What was observed before the run.
    pub environment: Environment,
    /// The points measured.
    pub points: Vec<PointEnded>,
}

/// Probes every platform, measures every point, and leaves the bundle's journals.
///
/// Stopping is not an error: the result then says `interrupted` and holds what was measured until then.
pub fn run(
    plan: &Plan,
    source: &Arc<dyn RequestSource>,
    options: RunOptions,
    stop: &Arc<StopSignal>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Measured, RunError> {
    host::raise_file_limit();
    // Read together: instants in the bundle count from this moment.
    let (clock, started) = (Clock::start(), clock::unix_seconds());
    let points = plan.points();
    let probed = probe_all(plan, source, &session::first_points(plan), (clock, stop), progress)?;
    let environment = Environment {
        platforms: plan
            .platforms
            .iter()
            .zip(&probed)
            .map(|(p, seen)| (p.name.clone(), seen.environment.clone()))
            .collect(),
    };

    let workers = options.workers.unwrap_or_else(default_workers).max(1);
    for found in preflight(plan, &points, &MachineLimits::here()) {
        progress(Progress::Preflight(&found));
    }
    let calibration = if options.calibrate { calibration(plan, &points, workers, stop, progress)? } else { None };

    let mut manifest = Manifest {
        format: bundle::FORMAT.into(),
        tool: options.tool,
        name: plan.name.clone(),
        seed: plan.seed,
        started: clock::rfc3339(started),
        started_unix_s: started,
        ended: None,
        status: RunStatus::Running,
        host: host::describe(),
        git: options.git,
        clock: if probed.iter().all(|seen| seen.kernel_stamps) { "kernel" } else { "read" }.into(),
        points: points.len(),
        skipped: Vec::new(),
        limit: None,
        calibration,
        sha256: BTreeMap::new(),
    };
    let directory = options.directory;
    fs::create_dir_all(&directory).map_err(|source| RunError::Write { path: directory.clone(), source })?;
    write(&directory, bundle::PLAN, options.plan_yaml.as_bytes())?;
    write_json(&directory, bundle::ENVIRONMENT, &environment)?;
    write_json(&directory, bundle::MANIFEST, &manifest)?;

    let journal = Journal::open(&directory, Arc::clone(source), clock)?;
    let mut session = Session {
        plan,
        source,
        journal: &journal,
        clock,
        stop,
        workers,
        world: || Net::new(clock, workers),
        account: Arc::new(Account::new(plan)),
        probed: &probed,
        ended: Vec::with_capacity(points.len()),
        skipped: BTreeSet::new(),
    };
    let failure = session.run(progress).err();
    let (limit, ended, skipped) = (session.limit(), session.ended, session.skipped);
    let closed = journal.close();
    manifest.limit = limit;
    manifest.skipped = skipped.into_iter().collect();
    manifest.status = match (&failure, &closed) {
        (None, Ok(())) if limit.is_some() => RunStatus::LimitReached,
        (None, Ok(())) if stop.asked() == Stop::No => RunStatus::Complete,
        (None, Ok(())) if is_whole(plan, &manifest, &ended) => RunStatus::Complete,
        (None, Ok(())) => RunStatus::Interrupted,
        _ => RunStatus::Failed,
    };
    manifest.ended = Some(clock::rfc3339(clock::unix_seconds()));
    write_json(&directory, bundle::MANIFEST, &manifest)?;
    // The first failure is the cause; a journal that stopped shows up in both places.
    match (failure, closed) {
        (_, Err(error)) => Err(error.into()),
        (Some(error), Ok(())) => Err(error),
        (None, Ok(())) => Ok(Measured { directory, manifest, environment, points: ended }),
    }
}

/// As many worker threads as there are cores but one, which the server or the rest of this process may need.
pub fn default_workers() -> usize {
    host::cores().saturating_sub(1).max(1)
}

/// What the client adds at the plan's largest load; `None` where it could not be measured, which ends no run.
fn calibration(
    plan: &Plan,
    points: &[Point],
    workers: usize,
    stop: &Arc<StopSignal>,
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Option<Calibration>, RunError> {
    progress(Progress::Calibrating);
    match calibrate::for_plan(plan, points, workers, stop) {
        Ok(calibration) => Ok(calibration),
        Err(CalibrateError::Stopped) => Err(RunError::Probe(ProbeError::Stopped)),
        Err(error) => {
            progress(Progress::NotCalibrated(&error));
            Ok(None)
        }
    }
}

fn probe_all(
    plan: &Plan,
    source: &Arc<dyn RequestSource>,
    points: &[Point],
    (clock, stop): (Clock, &StopSignal),
    progress: &mut dyn FnMut(Progress<'_>),
) -> Result<Vec<Probed>, RunError> {
    let mut probed = Vec::with_capacity(plan.platforms.len());
    for (index, platform) in plan.platforms.iter().enumerate() {
        progress(Progress::Probing { platform: &platform.name });
        let prompt = probe::prompt(source.as_ref(), points, index);
        probed.push(probe::probe(plan, platform, &prompt, clock, stop)?);
    }
    Ok(probed)
}

/// `true` if every point of the plan was measured to its end or left out on purpose; of a plan with a search nobody knows
/// how many there would have been.
fn is_whole(plan: &Plan, manifest: &Manifest, ended: &[PointEnded]) -> bool {
    let has_search = plan.loads.iter().any(|load| load.search.is_some());
    let done = ended.len() + manifest.skipped.len();
    !has_search && done == manifest.points && ended.iter().all(|point| !point.interrupted)
}

fn write_json(directory: &Path, name: &str, value: &impl serde::Serialize) -> Result<(), RunError> {
    let mut text = serde_json::to_vec_pretty(value).expect("invariant: bundle types serialise");
    text.push(b'\n');
    write(directory, name, &text)
}

/// Writes a whole file or none of it: a reader never sees half a manifest.
fn write(directory: &Path, name: &str, bytes: &[u8]) -> Result<(), RunError> {
    let path = directory.join(name);
    let temporary = directory.join(format!(".{name}.part"));
    fs::write(&temporary, bytes)
        .and_then(|()| fs::rename(&temporary, &path))
        .map_err(|source| RunError::Write { path, source })
}
