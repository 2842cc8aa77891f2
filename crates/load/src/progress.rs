//! What a run tells while it goes on.

use kneepoint_model::Nanos;
use kneepoint_model::plan::Point;

use crate::calibrate::CalibrateError;
use crate::preflight::Preflight;

/// The part of a point that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Prompts are being made.
    Preparing,
    /// Before the measured window.
    WarmUp,
    /// In the measured window.
    Measuring,
    /// After it, waiting for open requests.
    Draining,
}

/// A point's state, told a few times a second.
#[derive(Clone, Copy, Debug)]
pub struct PointProgress {
    /// Index of the point in the plan.
    pub point: u32,
    /// The part that is under way.
    pub phase: Phase,
    /// Since the start of the point.
    pub elapsed: Nanos,
    /// From the start of the point to the planned end of its window; in a closed loop it may still grow.
    pub expected: Nanos,
    /// Requests taken up; while preparing, prompts made.
    pub dispatched: u64,
    /// Requests that ended; while preparing, prompts wanted before the start.
    pub ended: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Requests in flight.
    pub in_flight: u64,
}

impl PointProgress {
    pub(crate) fn preparing(point: u32, made: u64, wanted: u64) -> Self {
        Self {
            point,
            phase: Phase::Preparing,
            elapsed: Nanos::ZERO,
            expected: Nanos::ZERO,
            dispatched: made,
            ended: wanted,
            failed: 0,
            in_flight: 0,
        }
    }
}

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Progress<'a> {
    /// A platform is being looked at before the run.
    Probing {
        /// Its name.
        platform: &'a str,
    },
    /// This machine may not carry the plan.
    Preflight(&'a Preflight),
    /// What the client itself adds is about to be measured, which takes a few seconds.
    Calibrating,
    /// It could not be measured; the run goes on without.
    NotCalibrated(&'a CalibrateError),
    /// A search is about to measure a point that is not one of the plan's.
    Searching {
        /// Its index, past those of the plan's points.
        point: u32,
        /// The point.
        at: &'a Point,
        /// How many the search has measured, this one included.
        step: usize,
    },
    /// A point is under way.
    Point(PointProgress),
    /// A point is done.
    PointDone {
        /// Its facts.
        ended: &'a kneepoint_model::bundle::PointEnded,
    },
}
