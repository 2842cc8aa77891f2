//! One run of the load path against the server: a plan of one closed-loop level, its journal, and the journal read back.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use kneepoint_model::plan::{LengthControl, Point, ResolveContext};
use kneepoint_model::{Arrivals, Nanos, Plan, PointSchedule, Prompt, Record, RequestSource, Tokens, bundle};
use kneepoint_wire::request::RequestTemplate;
use kneepoint_wire::transport::Endpoint;

use super::CalibrateError;
use super::compare::{Comparison, Window};
use super::server::{KEY, Pace, Server};
use crate::account::Account;
use crate::clock::{self, Clock};
use crate::journal::Journal;
use crate::point::PointRun;
use crate::probe;
use crate::stop::{Stop, StopSignal};
use crate::task::Sending;
use crate::world::Net;

/// What one trial is made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trial {
    pub(super) streams: u32,
    pub(super) pace: Pace,
    pub(super) warm_up: Nanos,
    pub(super) window: Nanos,
    pub(super) workers: usize,
}

impl Trial {
    /// Runs it and compares every answer of its window; also returns the window as it was.
    pub(super) fn run(&self, stop: &Arc<StopSignal>) -> Result<(Comparison, Window), CalibrateError> {
        let clock = Clock::start();
        let folder = Folder::create()?;
        let server = Server::start(self.pace, clock).map_err(CalibrateError::Server)?;
        let window = self.send(&server, &folder.0, clock, stop)?;
        let truth = server.end().map_err(CalibrateError::Server)?;
        if stop.asked() != Stop::No {
            return Err(CalibrateError::Stopped);
        }
        let mut comparison = Comparison::default();
        for record in records(&folder.0.join(bundle::REQUESTS))? {
            comparison.add(&record?, &truth, window);
        }
        Ok((comparison, window))
    }

    /// Runs the level through the same path as any other run.
    fn send(
        &self,
        server: &Server,
        folder: &Path,
        clock: Clock,
        stop: &Arc<StopSignal>,
    ) -> Result<Window, CalibrateError> {
        let context = ResolveContext { base_dir: folder, env: &|_| None };
        let plan = kneepoint_model::plan::resolve("calibration", &self.plan(server), &context)
            .map_err(|problems| CalibrateError::Plan(problems.to_string()))?;
        let (platform, point) = (&plan.platforms[0], plan.points()[0]);
        let source: Arc<dyn RequestSource> = Arc::new(Keyed { events: self.pace.events });
        let template = probe::template(platform, &plan.workloads[0], &plan.model.id, LengthControl::Natural)
            .map_err(|error| CalibrateError::Plan(error.to_string()))?;
        let sending = sending(&plan, template, clock)?;
        let journal = Journal::open(folder, Arc::clone(&source), clock)?;
        let run = PointRun {
            index: 0,
            point: &point,
            source: &source,
            journal: &journal,
            clock,
            stop,
            workers: self.workers,
            search: None,
        };
        let ended = run.run(&|| Net::new(clock, self.workers), sending, &mut |_| {});
        let closed = journal.close();
        let ended = ended?.ended;
        closed?;
        Ok(Window { start: ended.window_start, end: ended.window_end })
    }

    fn plan(&self, server: &Server) -> String {
        let Self { streams, pace, warm_up, window, .. } = self;
        let address = server.address();
        // Twice an answer's length is enough for every answer that is not stuck.
        let drain =
            Nanos(pace.gap.0.saturating_mul(u64::from(pace.events)).saturating_mul(2)) + Nanos::from_millis(500);
        format!(
            "{{kneepoint: 1, name: calibration, model: {{id: calibration}}, platforms: {{server: {{url: 'http://{address}', \
             length_control: natural, request_timeout: 60s}}}}, workloads: {{stream: {{input: 8, output: {}}}}}, load: \
             [{{concurrency: {{sweep: [{streams}], for: {window}, at_most: {window}, warm_up: {warm_up}, min_samples: 1, \
             drain: {drain}}}}}]}}",
            pace.events
        )
    }
}

fn sending(plan: &Plan, template: RequestTemplate, clock: Clock) -> Result<Sending, CalibrateError> {
    let endpoint = Endpoint::resolve(template.target(), None, || clock.now())
        .map_err(|source| CalibrateError::Server(io::Error::other(source)))?;
    Ok(Sending {
        endpoint,
        template: Arc::new(template),
        keep_alive: true,
        keep_text: false,
        time_limits: plan.platforms[0].time_limits,
        rtt_probe: false,
        account: Arc::new(Account::new(plan)),
    })
}

/// Prompts that carry their index, so that the server's instants can be joined to the client's.
#[derive(Debug)]
struct Keyed {
    events: u32,
}

impl RequestSource for Keyed {
    fn prompt(&self, _: usize, _: &Point, index: u64) -> Prompt {
        let text = format!("{KEY}{index}: say the same word again and again.");
        Prompt { text: text.into(), target_input: Tokens(8), local_input: None, output: Tokens(self.events.into()) }
    }

    fn count(&self, _: &str) -> Option<Tokens> {
        None
    }

    fn schedule(&self, _: usize, _: &Point) -> Option<PointSchedule> {
        None
    }

    fn arrivals(&self, _: usize, _: &Point) -> Arrivals {
        Box::new(std::iter::empty())
    }
}

/// The records of a closed journal.
fn records(path: &Path) -> Result<impl Iterator<Item = Result<Record, CalibrateError>> + use<>, CalibrateError> {
    let failed = {
        let path = path.to_owned();
        move |source| CalibrateError::Read { path: path.clone(), source }
    };
    let decoder = File::open(path).and_then(zstd::stream::read::Decoder::new).map_err(&failed)?;
    Ok(BufReader::new(decoder).lines().map(move |line| {
        let record = line.and_then(|line| serde_json::from_str(&line).map_err(io::Error::from));
        record.map_err(&failed)
    }))
}

/// A new folder for the journal, taken away with all it holds when dropped.
#[derive(Debug)]
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, CalibrateError> {
        static MADE: AtomicU64 = AtomicU64::new(0);
        let (process, moment) = (std::process::id(), clock::unix_seconds().to_bits());
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("kneepoint-calibration-{process}-{moment:x}-{number}"));
        // Must be new: in a folder that everybody can write to, a name that is there already may be somebody's link.
        match fs::create_dir(&path) {
            Ok(()) => Ok(Self(path)),
            Err(source) => Err(CalibrateError::Folder { path, source }),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What cannot be removed is left to whoever clears the temporary folder.
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_journal_of_a_calibration_does_not_stay() {
        let (one, other) = (Folder::create().unwrap(), Folder::create().unwrap());
        assert_ne!(one.0, other.0);
        fs::write(one.0.join(bundle::REQUESTS), "a record").unwrap();
        let path = one.0.clone();
        drop(one);
        assert!(!path.exists() && other.0.exists());
    }

    #[test]
    fn a_request_carries_its_index() {
        let context = ResolveContext { base_dir: Path::new("/"), env: &|_| None };
        let pace = Pace { gap: Nanos::from_millis(20), events: 4 };
        let window = Nanos::from_millis(500);
        let trial = Trial { streams: 3, pace, warm_up: Nanos::from_millis(100), window, workers: 1 };
        let server = Server::start(pace, Clock::start()).unwrap();
        let plan = kneepoint_model::plan::resolve("calibration", &trial.plan(&server), &context).unwrap();
        let point = plan.points()[0];
        assert_eq!(point.level, kneepoint_model::plan::Level::Concurrency(3));
        assert_eq!((point.hold.at_least, point.hold.at_most), (window, window));
        let prompt = Keyed { events: 4 }.prompt(0, &point, 12);
        assert!(prompt.text.contains(&format!("{KEY}12:")) && prompt.output == Tokens(4));
        assert!(server.end().unwrap().is_empty());
    }
}
