//! The journal: records on disk while the run goes on, so that a killed run loses at most the last second.
//!
//! A thread of its own takes what the workers finished, counts tokens where a tokenizer must, and appends JSON lines
//! in independent zstd frames, one frame a flush. A reader can decode every whole frame whatever happened after it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use kneepoint_analysis::stats::slo::meets;
use kneepoint_analysis::stats::timeline::Timeline;
use kneepoint_model::bundle::{self, PointEvent, TelemetrySample};
use kneepoint_model::plan::Slo;
use kneepoint_model::record::{Outcome, Phase};
use kneepoint_model::{Record, RequestSource};
use serde::Serialize;

use crate::clock::Clock;

/// Records the workers may be ahead of the journal before they have to wait for it.
const QUEUE: usize = 1 << 14;
/// A frame is closed early once it holds this many bytes of text.
const FRAME_BYTES: usize = 4 << 20;
const LEVEL: i32 = 3;

/// Why the journal could not be written.
#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    /// A file could not be created or appended to.
    #[error("could not write `{path}`")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The journal's thread is gone after an earlier failure.
    #[error("the journal has stopped")]
    Stopped,
}

/// A finished request on its way to disk.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) record: Box<Record>,
    /// The generated text, kept only where a tokenizer will count it.
    pub(crate) text: String,
}

#[derive(Debug)]
enum Message {
    Record(Finished),
    Telemetry(TelemetrySample),
    Point(PointEvent, SyncSender<()>),
    Judge(Judge),
    Judged(SyncSender<(u64, u64)>),
}

/// What the records to come are judged by.
#[derive(Clone, Debug)]
pub(crate) struct Judge {
    pub(crate) slo: Slo,
    /// Whether the answers are streams.
    pub(crate) streamed: bool,
}

/// Where workers leave what they finished. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct JournalSender(SyncSender<Message>);

impl JournalSender {
    /// Hands a finished request over; waits if the journal is far behind. Lost only if the journal has failed, which
    /// [`Journal::close`] reports.
    pub(crate) fn record(&self, finished: Finished) {
        let _ = self.0.send(Message::Record(finished));
    }

    pub(crate) fn telemetry(&self, sample: TelemetrySample) {
        let _ = self.0.send(Message::Telemetry(sample));
    }

    /// Counts from now on how many records meet an SLO.
    pub(crate) fn judge(&self, judge: Judge) -> Result<(), JournalError> {
        self.0.send(Message::Judge(judge)).map_err(|_| JournalError::Stopped)
    }

    /// How many of the records handed over since [`JournalSender::judge`] met the SLO, and how many were judged.
    pub(crate) fn judged(&self) -> Result<(u64, u64), JournalError> {
        let (tell, wait) = sync_channel(1);
        self.0.send(Message::Judged(tell)).map_err(|_| JournalError::Stopped)?;
        wait.recv().map_err(|_| JournalError::Stopped)
    }

    /// Appends a point's event after everything handed over before it, and returns once it is on disk.
    pub(crate) fn point(&self, event: PointEvent) -> Result<(), JournalError> {
        let (done, wait) = sync_channel(1);
        self.0.send(Message::Point(event, done)).map_err(|_| JournalError::Stopped)?;
        wait.recv().map_err(|_| JournalError::Stopped)
    }
}

/// The running journal of one bundle.
#[derive(Debug)]
pub(crate) struct Journal {
    sender: Option<JournalSender>,
    thread: Option<JoinHandle<Result<(), JournalError>>>,
}

impl Journal {
    /// Creates the journal's files in `directory` and starts its thread.
    pub(crate) fn open(directory: &Path, source: Arc<dyn RequestSource>, clock: Clock) -> Result<Self, JournalError> {
        let mut writer = Writer {
            requests: Frames::create(directory.join(bundle::REQUESTS))?,
            telemetry: Frames::create(directory.join(bundle::TELEMETRY))?,
            points: Lines::create(directory.join(bundle::POINTS))?,
            source,
            verdict: None,
        };
        let (sender, receiver) = sync_channel(QUEUE);
        let thread = std::thread::Builder::new()
            .name("journal".into())
            .spawn(move || writer.run(&receiver, clock))
            .map_err(|source| JournalError::Write { path: directory.to_owned(), source })?;
        Ok(Self { sender: Some(JournalSender(sender)), thread: Some(thread) })
    }

    pub(crate) fn sender(&self) -> JournalSender {
        self.sender.clone().expect("invariant: the sender lives until close")
    }

    /// `true` if the journal has ended before it was closed: nothing more can be kept.
    pub(crate) fn has_failed(&self) -> bool {
        self.thread.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Flushes everything to disk and ends the thread. Every other sender must be gone.
    pub(crate) fn close(mut self) -> Result<(), JournalError> {
        self.sender = None;
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            _ => Err(JournalError::Stopped),
        }
    }
}

struct Writer {
    requests: Frames,
    telemetry: Frames,
    points: Lines,
    source: Arc<dyn RequestSource>,
    verdict: Option<Verdict>,
}

impl Writer {
    fn run(&mut self, receiver: &Receiver<Message>, clock: Clock) -> Result<(), JournalError> {
        let mut flush_at = clock.now() + bundle::FLUSH_EVERY;
        loop {
            let wait = Duration::from(flush_at.saturating_sub(clock.now()));
            match receiver.recv_timeout(wait) {
                Ok(Message::Record(finished)) => self.record(finished)?,
                Ok(Message::Telemetry(sample)) => self.telemetry.push(&sample)?,
                Ok(Message::Point(event, done)) => {
                    self.flush()?;
                    self.points.append(&event)?;
                    let _ = done.send(());
                }
                Ok(Message::Judge(judge)) => self.verdict = Some(Verdict { judge, good: 0, offered: 0 }),
                Ok(Message::Judged(tell)) => {
                    let verdict = self.verdict.take();
                    let _ = tell.send(verdict.map_or((0, 0), |verdict| (verdict.good, verdict.offered)));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    self.flush()?;
                    return self.sync();
                }
            }
            let now = clock.now();
            if now >= flush_at {
                self.flush()?;
                flush_at = now + bundle::FLUSH_EVERY;
            }
        }
    }

    fn record(&mut self, finished: Finished) -> Result<(), JournalError> {
        let Finished { mut record, text } = finished;
        if !text.is_empty() {
            record.output_tokens.local = self.source.count(&text);
        }
        if let Some(verdict) = &mut self.verdict {
            verdict.add(&record);
        }
        self.requests.push(&record)
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        self.requests.flush()?;
        self.telemetry.flush()
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.requests.sync()?;
        self.telemetry.sync()?;
        self.points.sync()
    }
}

/// The count of one point's records that meet an SLO.
#[derive(Debug)]
struct Verdict {
    judge: Judge,
    good: u64,
    offered: u64,
}

impl Verdict {
    /// As in the summary: failures are judged and bad, requests that were cut and those of the warm-up are not judged. An
    /// answer whose TPOT cannot be known is not good.
    fn add(&mut self, record: &Record) {
        if record.phase != Phase::Measured || record.outcome == Outcome::Cut {
            return;
        }
        self.offered += 1;
        let good =
            record.outcome.is_ok() && meets(&self.judge.slo, &Timeline::of(record), self.judge.streamed) == Some(true);
        self.good += u64::from(good);
    }
}

/// JSON lines, appended and handed to the system one by one.
struct Lines {
    path: PathBuf,
    file: File,
}

impl Lines {
    fn create(path: PathBuf) -> Result<Self, JournalError> {
        match OpenOptions::new().create_new(true).append(true).open(&path) {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(JournalError::Write { path, source }),
        }
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        let mut text = serde_json::to_vec(line).expect("invariant: bundle types serialise");
        text.push(b'\n');
        self.write(&text)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), JournalError> {
        self.file.write_all(bytes).map_err(|source| JournalError::Write { path: self.path.clone(), source })
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.file.sync_data().map_err(|source| JournalError::Write { path: self.path.clone(), source })
    }
}

/// JSON lines gathered into zstd frames.
struct Frames {
    lines: Lines,
    pending: Vec<u8>,
}

impl Frames {
    fn create(path: PathBuf) -> Result<Self, JournalError> {
        Ok(Self { lines: Lines::create(path)?, pending: Vec::new() })
    }

    fn push(&mut self, line: &impl Serialize) -> Result<(), JournalError> {
        serde_json::to_writer(&mut self.pending, line).expect("invariant: bundle types serialise");
        self.pending.push(b'\n');
        if self.pending.len() >= FRAME_BYTES { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), JournalError> {
        if self.pending.is_empty() {
            return Ok(());
        }
        let frame = zstd::bulk::compress(&self.pending, LEVEL)
            .map_err(|source| JournalError::Write { path: self.lines.path.clone(), source })?;
        self.pending.clear();
        self.lines.write(&frame)
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        self.flush()?;
        self.lines.sync()
    }
}
