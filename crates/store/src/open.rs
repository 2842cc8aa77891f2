//! Opening a bundle: its small files read, its points put in order, whatever became of the run.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kneepoint_model::Nanos;
use kneepoint_model::Record;
use kneepoint_model::bundle::{
    self, Environment, Loss, Manifest, PointEnd, PointEnded, PointEvent, PointStarted, RunStatus, SearchPoint,
    TelemetrySample,
};

use crate::frames::{Lines, ReadJournalError};

/// Why a folder cannot be read as a bundle.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file cannot be read.
    #[error("could not read `{path}`: is this the folder of a run?")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("`{path}` is not a file this version understands")]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// The bundle was written by a version with another format.
    #[error("`{path}` has the format `{format}`; this version reads `{}`", bundle::FORMAT)]
    Format {
        /// The manifest.
        path: PathBuf,
        /// What it says.
        format: String,
    },
    /// The journal cannot be read.
    #[error(transparent)]
    Journal(#[from] ReadJournalError),
}

/// An opened bundle. Records stay on disk until asked for.
#[derive(Debug)]
pub struct Bundle {
    /// The folder.
    pub directory: PathBuf,
    /// The manifest as it stands; `running` means that the run was killed.
    pub manifest: Manifest,
    /// What was declared and observed before the run.
    pub environment: Environment,
    /// The plan as resolved, secrets as references.
    pub plan_yaml: String,
    /// The points measured. The last one of a killed run is put together from its records and marked interrupted.
    pub points: Vec<PointEnded>,
    /// What each point past those of the plan measures, by its index.
    pub searches: BTreeMap<u32, SearchPoint>,
    /// What was lost; known without reading the records.
    pub loss: Option<Loss>,
}

impl Bundle {
    /// Opens the bundle in `directory`.
    pub fn open(directory: &Path) -> Result<Self, OpenError> {
        let manifest_path = directory.join(bundle::MANIFEST);
        let manifest: Manifest = json(&manifest_path)?;
        if manifest.format != bundle::FORMAT {
            return Err(OpenError::Format { path: manifest_path, format: manifest.format });
        }
        let environment = json(&directory.join(bundle::ENVIRONMENT))?;
        let plan_yaml = text(&directory.join(bundle::PLAN))?;
        let Points { ended: mut points, unfinished, searches } = points(&directory.join(bundle::POINTS))?;
        let mut loss = None;
        if manifest.status == RunStatus::Running || unfinished.is_some() {
            let (point, lost_bytes) = recover(directory, unfinished)?;
            points.extend(point);
            loss = Some(Loss { bytes: lost_bytes, unflushed: true });
        } else {
            // A journal can be cut or spoilt long after its run ended well.
            let bytes = Lines::<Record>::open(&directory.join(bundle::REQUESTS))?.count_lost()?;
            if bytes > 0 {
                loss = Some(Loss { bytes, unflushed: false });
            }
        }
        Ok(Self { directory: directory.to_owned(), manifest, environment, plan_yaml, points, searches, loss })
    }

    /// The records, in the order in which they ended.
    pub fn records(&self) -> Result<Lines<Record>, ReadJournalError> {
        Lines::open(&self.directory.join(bundle::REQUESTS))
    }

    /// The client once a second, in the order written. Nothing where there is no such journal: no latency rests on it.
    pub fn telemetry(&self) -> Result<Vec<TelemetrySample>, ReadJournalError> {
        let path = self.directory.join(bundle::TELEMETRY);
        if path.exists() { Lines::open(&path)?.collect() } else { Ok(Vec::new()) }
    }
}

fn text(path: &Path) -> Result<String, OpenError> {
    fs::read_to_string(path).map_err(|source| OpenError::Read { path: path.to_owned(), source })
}

fn json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, OpenError> {
    serde_json::from_str(&text(path)?).map_err(|source| OpenError::Parse { path: path.to_owned(), source })
}

/// What `points.jsonl` tells.
struct Points {
    ended: Vec<PointEnded>,
    /// The one that began and did not end.
    unfinished: Option<PointStarted>,
    searches: BTreeMap<u32, SearchPoint>,
}

fn points(path: &Path) -> Result<Points, OpenError> {
    let text = text(path)?;
    let (mut ended, mut searches) = (Vec::new(), BTreeMap::new());
    let mut open: BTreeMap<u32, PointStarted> = BTreeMap::new();
    for line in text.split_inclusive('\n') {
        // A line without its end was being written when the run was killed.
        let Some(line) = line.strip_suffix('\n') else { break };
        let event = serde_json::from_str(line).map_err(|source| OpenError::Parse { path: path.to_owned(), source })?;
        match event {
            PointEvent::Started(started) => {
                searches.extend(started.search.map(|search| (started.point, search)));
                open.insert(started.point, started);
            }
            PointEvent::Ended(facts) => {
                open.remove(&facts.point);
                ended.push(facts);
            }
        }
    }
    Ok(Points { ended, unfinished: open.pop_last().map(|(_, started)| started), searches })
}

/// Puts the point that never ended together from its records, and counts the bytes that cannot be read.
fn recover(directory: &Path, unfinished: Option<PointStarted>) -> Result<(Option<PointEnded>, u64), OpenError> {
    let mut lines: Lines<Record> = Lines::open(&directory.join(bundle::REQUESTS))?;
    let mut last = Nanos::ZERO;
    let mut scheduled = 0;
    for record in &mut lines {
        let record = record?;
        let Some(started) = unfinished.filter(|started| started.point == record.point) else { continue };
        last = last.max(record.closed.unwrap_or(record.dispatched));
        scheduled += u64::from(record.intended >= started.window_start);
    }
    let point = unfinished.map(|started| {
        let window_end = last.min(started.window_end).max(started.window_start);
        PointEnded {
            point: started.point,
            started: started.started,
            window_start: started.window_start,
            window_end,
            ended: last.max(window_end),
            scheduled,
            unsent: 0,
            interrupted: true,
            end: PointEnd::Stopped,
            held_back: 0,
            clock_mapping_error: None,
            search: None,
            dropped: 0,
            worker_cpu_share: None,
            worker_wait_share: None,
            process_cpu_share: None,
        }
    });
    Ok((point, lines.lost_bytes()))
}
