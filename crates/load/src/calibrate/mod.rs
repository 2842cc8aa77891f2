//! What the client itself adds: the load path that measures platforms, run against a server whose timing is known.
//!
//! The server is a thread of this process and shares the clock, so its instants and the client's can be subtracted. It
//! also shares the machine: where it cannot keep its own schedule, nothing is said of the client.

mod compare;
mod server;
mod trial;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use kneepoint_model::bundle::Calibration;
use kneepoint_model::plan::Point;
use kneepoint_model::{Nanos, Plan};

use crate::host;
use crate::journal::JournalError;
use crate::point::PointError;
use crate::preflight;
use crate::stop::{Stop, StopSignal};
use server::Pace;
use trial::Trial;

/// Token events per second of one stream, where nothing else is known: a common speed of a served model.
pub const EVENTS_PER_STREAM: f64 = 50.0;
/// Added ITL at the 99th percentile up to which a load counts as kept, ms.
pub const KEPT_ITL_MS: f64 = 1.0;
/// Lateness of the server at the 99th percentile up to which it counts as on time, ms.
pub const ON_TIME_MS: f64 = 1.0;
/// The calibration before a run goes no higher: a thousand streams at 50/s are 50,000 events a second.
const MOST_STREAMS_OF_A_PLAN: u32 = 1_000;
/// The ladder begins here.
const LEAST_STREAMS: u32 = 16;
/// The ladder ends here whatever the machine allows.
const MOST_STREAMS: u32 = 32_768;
/// How often the ladder tries a load that is not kept.
const TRIES: usize = 3;
/// Window of one step of the ladder, seconds.
const STEP_SECONDS: f64 = 2.0;
/// Window of the calibration before a run, seconds.
const PLAN_SECONDS: f64 = 1.5;
/// Longest window, seconds: the server keeps the instants of every event.
pub const MOST_SECONDS: f64 = 60.0;
/// Shortest window, seconds.
pub const LEAST_SECONDS: f64 = 0.1;
/// Most events per second of one stream.
const FASTEST_STREAM: f64 = 10_000.0;
/// Descriptors of the process beside those of the streams.
const OTHER_FILES: u64 = 64;
/// Answers wanted in a window: enough for a 99th percentile of TTFT.
const WANTED_ANSWERS: f64 = 200.0;
/// An answer lasts no longer, so that its stream begins another within the window; seconds.
const LONGEST_ANSWER: f64 = 0.4;
/// More failed or unmatched answers than this share leave nothing to believe.
const MOST_FAILED: f64 = 0.01;

/// The load of one calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CalibrationLoad {
    /// Streams at a time; at least 1.
    pub streams: u32,
    /// Token events per second asked of the server, all streams together; above 0, at most 10,000 a stream.
    pub token_events_s: f64,
    /// Length of the measured window, seconds; [`LEAST_SECONDS`] to [`MOST_SECONDS`].
    pub seconds: f64,
}

/// Why nothing could be measured.
#[derive(Debug, thiserror::Error)]
pub enum CalibrateError {
    /// The load is not one that can be asked for.
    #[error("a calibration cannot have {0}")]
    Load(&'static str),
    /// Too few descriptors: each stream takes two, one at either end.
    #[error("{streams} streams need {needed} open files, and this process may have {allowed}")]
    Descriptors {
        /// Streams asked for.
        streams: u32,
        /// Descriptors they need.
        needed: u64,
        /// The limit in force.
        allowed: u64,
    },
    /// The server could not be run on the loopback interface.
    #[error("could not serve on the loopback interface")]
    Server(#[source] io::Error),
    /// The journal's folder could not be made.
    #[error("could not create `{path}`")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The plan of the calibration is wrong.
    #[error("the calibration's own plan is wrong: {0}")]
    Plan(String),
    /// The client failed.
    #[error(transparent)]
    Point(#[from] PointError),
    /// The journal could not be written.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The journal could not be read back.
    #[error("could not read `{path}`")]
    Read {
        /// The journal.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Too many requests failed.
    #[error("{failed} of {requests} requests failed{}", detail.as_ref().map_or_else(String::new, |said| format!(", the first with {said}")))]
    Failed {
        /// Failed, or answered with other events than the server wrote.
        failed: u64,
        /// All.
        requests: u64,
        /// What the first one said.
        detail: Option<String>,
    },
    /// Not one answer came within the window.
    #[error("not one answer was complete in time")]
    NoAnswer,
    /// The user stopped it.
    #[error("stopped")]
    Stopped,
}

/// What a calibration says of its load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Server on time, and the client adds at most [`KEPT_ITL_MS`].
    Kept,
    /// Server on time, and the client adds more.
    ClientLate,
    /// The server itself was late: nothing can be told of the client.
    CannotTell,
}

/// Judges a calibration.
pub fn verdict(calibration: &Calibration) -> Verdict {
    if calibration.server_late_p99_ms > ON_TIME_MS {
        Verdict::CannotTell
    } else if calibration.itl_added_ms.p99 > KEPT_ITL_MS {
        Verdict::ClientLate
    } else {
        Verdict::Kept
    }
}

/// Measures what the client adds at one load.
///
/// *Added to TTFT* is the instant at which the client places the first event − the instant right before the server wrote
/// it: the way through loopback and the client's stamping, and nothing of how the request came to the server. *Added to
/// ITL* is how far a gap between two events is off, longer or shorter. Takes about a second longer than the window.
pub fn measure(load: &CalibrationLoad, workers: usize, stop: &Arc<StopSignal>) -> Result<Calibration, CalibrateError> {
    let trial = trial(load, workers)?;
    affordable(load.streams, host::raise_file_limit())?;
    let (comparison, window) = trial.run(stop)?;
    let (failed, requests) = (comparison.failed + comparison.mismatched, comparison.requests());
    if failed as f64 > requests as f64 * MOST_FAILED {
        return Err(CalibrateError::Failed { failed, requests, detail: comparison.first_failure });
    }
    comparison.result(load.streams, window).ok_or(CalibrateError::NoAnswer)
}

/// Measures, in about three seconds, what the client adds at the largest load of a plan; `None` if the plan has none.
///
/// Needs no platform and sends nothing to any. See [`planned_load`] for what it takes the plan's load to be.
pub fn for_plan(
    plan: &Plan,
    points: &[Point],
    workers: usize,
    stop: &Arc<StopSignal>,
) -> Result<Option<Calibration>, CalibrateError> {
    let Some(mut load) = planned_load(plan, points) else { return Ok(None) };
    let affordable = host::raise_file_limit().map_or(u64::MAX, |files| files.saturating_sub(OTHER_FILES) / 2);
    let streams = load.streams.min(u32::try_from(affordable).unwrap_or(u32::MAX)).max(1);
    load.token_events_s *= f64::from(streams) / f64::from(load.streams);
    load.streams = streams;
    measure(&load, workers, stop).map(Some)
}

/// The largest load of a plan as a calibration: the most requests its points have in flight, each a stream of
/// [`EVENTS_PER_STREAM`].
///
/// A concurrency says how many; a rate does not, and is taken for what [`preflight`] assumes of a platform that is well.
/// A search counts with its highest rate. Held to 1,000 streams, which is more than most machines keep, so that the
/// calibration says something of what is common rather than of what is extreme.
pub fn planned_load(plan: &Plan, points: &[Point]) -> Option<CalibrationLoad> {
    let searched = preflight::searched(plan);
    let in_flight = points.iter().chain(&searched).map(|point| preflight::likely_in_flight(plan, point)).max()?;
    let streams = u32::try_from(in_flight).unwrap_or(u32::MAX).clamp(1, MOST_STREAMS_OF_A_PLAN);
    Some(CalibrationLoad { streams, token_events_s: f64::from(streams) * EVENTS_PER_STREAM, seconds: PLAN_SECONDS })
}

/// What the ladder tells while it goes on.
#[derive(Clone, Copy, Debug)]
pub enum LadderProgress<'a> {
    /// A load is about to be measured.
    Measuring(&'a CalibrationLoad),
    /// A load was measured.
    Measured(&'a Calibration),
}

/// What the ladder found.
#[derive(Debug)]
pub struct Ladder {
    /// The loads measured, ascending.
    pub steps: Vec<Calibration>,
    /// Why it went no higher.
    pub end: LadderEnd,
}

/// Why the ladder went no higher.
#[derive(Debug)]
pub enum LadderEnd {
    /// The last load was not kept, however often it was tried.
    NotKept,
    /// The machine allows no more descriptors, or the ladder has no higher step.
    NoHigherStep,
    /// The last load could not be measured at all.
    Failed(CalibrateError),
    /// The user stopped it.
    Stopped,
}

/// Doubles the streams, each of [`EVENTS_PER_STREAM`], until a load is not kept. A load that is not kept is tried again,
/// so that a hiccup of the machine does not end the ladder.
pub fn limit(workers: usize, stop: &Arc<StopSignal>, progress: &mut dyn FnMut(LadderProgress<'_>)) -> Ladder {
    let mut steps = Vec::new();
    let mut streams = LEAST_STREAMS;
    let end = loop {
        if streams > MOST_STREAMS || affordable(streams, host::raise_file_limit()).is_err() {
            break LadderEnd::NoHigherStep;
        }
        let token_events_s = f64::from(streams) * EVENTS_PER_STREAM;
        let load = CalibrationLoad { streams, token_events_s, seconds: STEP_SECONDS };
        match best_of(TRIES, &load, workers, stop, progress) {
            Ok(measured) => {
                steps.push(measured);
                if verdict(&measured) != Verdict::Kept {
                    break LadderEnd::NotKept;
                }
            }
            Err(CalibrateError::Stopped) => break LadderEnd::Stopped,
            Err(error) => break LadderEnd::Failed(error),
        }
        if stop.asked() != Stop::No {
            break LadderEnd::Stopped;
        }
        streams *= 2;
    };
    Ladder { steps, end }
}

/// Measures a load until it is kept, at most so many times; gives the try that says most for the client.
fn best_of(
    tries: usize,
    load: &CalibrationLoad,
    workers: usize,
    stop: &Arc<StopSignal>,
    progress: &mut dyn FnMut(LadderProgress<'_>),
) -> Result<Calibration, CalibrateError> {
    let mut best: Option<Calibration> = None;
    for _ in 0..tries {
        progress(LadderProgress::Measuring(load));
        let measured = measure(load, workers, stop)?;
        progress(LadderProgress::Measured(&measured));
        best = Some(best.map_or(measured, |best| better(best, measured)));
        if verdict(&measured) == Verdict::Kept {
            break;
        }
    }
    best.ok_or(CalibrateError::NoAnswer)
}

/// The largest load that was kept.
pub fn largest_kept(steps: &[Calibration]) -> Option<&Calibration> {
    steps.iter().filter(|step| verdict(step) == Verdict::Kept).max_by_key(|step| step.streams)
}

/// Of two tries at one load, the one that says more for the client.
fn better(first: Calibration, second: Calibration) -> Calibration {
    let rank = |calibration: &Calibration| match verdict(calibration) {
        Verdict::Kept => 0,
        Verdict::CannotTell => 1,
        Verdict::ClientLate => 2,
    };
    if rank(&second) < rank(&first) { second } else { first }
}

fn affordable(streams: u32, allowed: Option<u64>) -> Result<(), CalibrateError> {
    let needed = u64::from(streams) * 2 + OTHER_FILES;
    match allowed {
        Some(allowed) if allowed < needed => Err(CalibrateError::Descriptors { streams, needed, allowed }),
        _ => Ok(()),
    }
}

fn trial(load: &CalibrationLoad, workers: usize) -> Result<Trial, CalibrateError> {
    let CalibrationLoad { streams, token_events_s, seconds } = *load;
    if streams == 0 {
        return Err(CalibrateError::Load("no stream"));
    }
    if !(LEAST_SECONDS..=MOST_SECONDS).contains(&seconds) {
        return Err(CalibrateError::Load("a window shorter than 0.1 s or longer than 60 s"));
    }
    let per_stream = token_events_s / f64::from(streams);
    if !(per_stream > 0.0 && per_stream <= FASTEST_STREAM) {
        return Err(CalibrateError::Load("no event, or more than 10,000 a second in one stream"));
    }
    let gap = Nanos::from_secs_f64(1.0 / per_stream);
    let longest = (per_stream * LONGEST_ANSWER).max(2.0);
    let wanted = token_events_s * seconds / WANTED_ANSWERS;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 2 and 4,000")]
    let events = wanted.clamp(2.0, longest) as u32;
    // Time for all connections and, where a gap is long, for the first answers.
    let first_answers = Nanos::from_secs_f64((f64::from(events) / per_stream).min(1.0));
    let warm_up = Nanos::from_millis(300 + u64::from(streams) / 10) + first_answers;
    Ok(Trial {
        streams,
        pace: Pace { gap, events },
        warm_up: whole_millis(warm_up),
        window: whole_millis(Nanos::from_secs_f64(seconds)),
        workers: workers.max(1),
    })
}

/// Rounded, so that it reads the same in a plan.
fn whole_millis(span: Nanos) -> Nanos {
    Nanos::from_millis(span.0 / 1_000_000)
}

#[cfg(test)]
mod tests {
    use kneepoint_model::bundle::AddedDelay;

    use super::*;

    fn calibration(itl_p99: f64, late_p99: f64) -> Calibration {
        let added = |p99| AddedDelay { p50: 0.01, p99 };
        Calibration {
            streams: 16,
            token_events_s: 800.0,
            samples: 200,
            ttft_added_ms: added(0.05),
            itl_added_ms: added(itl_p99),
            server_late_p99_ms: late_p99,
        }
    }

    #[test]
    fn a_late_server_says_nothing_of_the_client() {
        assert_eq!(verdict(&calibration(0.2, 0.3)), Verdict::Kept);
        assert_eq!(verdict(&calibration(1.2, 0.3)), Verdict::ClientLate);
        assert_eq!(verdict(&calibration(1.2, 1.3)), Verdict::CannotTell);
        assert_eq!(verdict(&calibration(0.2, 1.3)), Verdict::CannotTell);
    }

    #[test]
    fn a_hiccup_is_forgiven_once() {
        let (kept, unkept) = (calibration(0.2, 0.3), calibration(1.2, 0.3));
        assert_eq!(better(unkept, kept), kept);
        assert_eq!(better(unkept, unkept), unkept);
    }

    #[test]
    fn nonsense_is_refused_before_anything_starts() {
        let good = CalibrationLoad { streams: 16, token_events_s: 800.0, seconds: 1.0 };
        assert!(trial(&good, 1).is_ok());
        for bad in [
            CalibrationLoad { streams: 0, ..good },
            CalibrationLoad { token_events_s: 0.0, ..good },
            CalibrationLoad { token_events_s: f64::NAN, ..good },
            CalibrationLoad { token_events_s: 1e9, ..good },
            CalibrationLoad { seconds: 0.0, ..good },
            CalibrationLoad { seconds: 61.0, ..good },
        ] {
            assert!(matches!(trial(&bad, 1), Err(CalibrateError::Load(_))), "{bad:?}");
        }
        assert!(affordable(100, Some(264)).is_ok() && affordable(100, None).is_ok());
        assert!(matches!(affordable(100, Some(263)), Err(CalibrateError::Descriptors { needed: 264, .. })));
    }

    #[test]
    fn answers_are_short_enough_to_have_many() {
        let events = |streams: u32, seconds| {
            let token_events_s = f64::from(streams) * EVENTS_PER_STREAM;
            trial(&CalibrationLoad { streams, token_events_s, seconds }, 1).expect("a load").pace.events
        };
        assert_eq!(events(1, 2.0), 2);
        assert_eq!(events(16, 2.0), 8);
        assert_eq!(events(1000, 2.0), 20);
    }
}
