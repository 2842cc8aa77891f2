//! The point second by second, from the start of its warm-up.

use kneepoint_model::Nanos;
use kneepoint_model::bundle::PointEnded;
use kneepoint_model::record::{Outcome, Record};
use kneepoint_model::summary::SeriesPoint;

use super::accumulate::end_of;
use crate::stats::percentile::{Ppm, nearest};
use crate::stats::timeline::{Timeline, output_count, spread};

const SECOND: u64 = 1_000_000_000;
/// Longest series, seconds; what happens later is counted in the last one. Eleven days.
const LONGEST: u64 = 1_000_000;

/// Tallies by second.
#[derive(Debug)]
pub(super) struct Seconds {
    started: Nanos,
    window: (Nanos, Nanos),
    points: Vec<SeriesPoint>,
    steps: Vec<i64>,
    tokens: Vec<f64>,
    any_counted: bool,
    /// Second of the intended instant, TTFT and end-to-end latency, nanoseconds.
    latencies: Vec<(u32, Option<u64>, Option<u64>)>,
}

impl Seconds {
    pub(super) fn new(ended: &PointEnded) -> Self {
        let span = ended.ended.max(ended.window_end).saturating_sub(ended.started).0;
        let count = usize::try_from(span.div_ceil(SECOND).clamp(1, LONGEST)).expect("invariant: at most a million");
        Self {
            started: ended.started,
            window: (ended.window_start, ended.window_end),
            points: vec![SeriesPoint::default(); count],
            steps: vec![0; count],
            tokens: vec![0.0; count],
            any_counted: false,
            latencies: Vec::new(),
        }
    }

    pub(super) fn add(&mut self, record: &Record, line: &Timeline, streamed: bool, point_end: Nanos) {
        let (begin, end) = (self.second(record.dispatched), self.second(end_of(record, point_end)));
        let intended = self.second(record.intended);
        self.points[intended].scheduled += 1;
        if let Some(sent) = record.sent {
            let second = self.second(sent);
            self.points[second].sent += 1;
        }
        self.steps[begin] += 1;
        self.steps[end] -= 1;
        match record.outcome {
            Outcome::Ok => {
                self.points[end].ok += 1;
                let ttft = line.ttft.filter(|_| streamed);
                self.latencies.push((u32::try_from(intended).unwrap_or(u32::MAX), ttft, line.e2e));
                self.add_tokens(record);
            }
            Outcome::Failed(_) => self.points[end].failed += 1,
            Outcome::Cut => {}
        }
    }

    fn add_tokens(&mut self, record: &Record) {
        let Some(n) = output_count(record) else { return };
        self.any_counted = true;
        for (at, tokens) in record.events.instants().zip(spread(&record.events, n.0)) {
            let second = self.second(at);
            self.tokens[second] += tokens;
        }
    }

    /// The series.
    pub(super) fn finish(mut self) -> Vec<SeriesPoint> {
        self.latencies.sort_unstable();
        let (mut in_flight, mut at) = (0_i64, 0_usize);
        for (i, second) in self.points.iter_mut().enumerate() {
            in_flight += self.steps[i];
            second.in_flight = u64::try_from(in_flight).unwrap_or(0);
            second.t_s = i as f64;
            let begin = Nanos(self.started.0.saturating_add(i as u64 * SECOND));
            second.measured = begin >= self.window.0 && begin < self.window.1;
            second.output_tok = self.any_counted.then_some(self.tokens[i]);
            let rest = &self.latencies[at..];
            let count = rest.partition_point(|(second, ..)| *second as usize <= i);
            let (mut ttft, mut e2e): (Vec<u64>, Vec<u64>) = (Vec::new(), Vec::new());
            for (_, first, whole) in &rest[..count] {
                ttft.extend(first);
                e2e.extend(whole);
            }
            ttft.sort_unstable();
            e2e.sort_unstable();
            let ms = |ns: u64| ns as f64 / 1e6;
            second.ttft_p50_ms = nearest(&ttft, Ppm::P50).map(ms);
            second.ttft_max_ms = ttft.last().copied().map(ms);
            second.e2e_p50_ms = nearest(&e2e, Ppm::P50).map(ms);
            at += count;
        }
        self.points
    }

    fn second(&self, at: Nanos) -> usize {
        let second = usize::try_from(at.saturating_sub(self.started).0 / SECOND).unwrap_or(usize::MAX);
        second.min(self.points.len() - 1)
    }
}
