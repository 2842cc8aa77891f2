//! How much of a processor the calling thread had in the measured window, and how long it waited for one.

use kneepoint_model::Nanos;

use crate::host::{thread_cpu, thread_waited};

/// What the thread had used and waited for at the edges of the measured window.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProcessorWindow {
    start: Option<Sample>,
    end: Option<Sample>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Nanos,
    used: Nanos,
    waited: Option<Nanos>,
}

impl Sample {
    fn take(at: Nanos) -> Self {
        Self { at, used: thread_cpu(), waited: thread_waited() }
    }
}

impl ProcessorWindow {
    /// To be told the time again and again; takes a sample at each edge.
    pub(crate) fn tell(&mut self, now: Nanos, window_start: Nanos, window_end: Nanos) {
        if self.start.is_none() && now >= window_start {
            self.start = Some(Sample::take(now));
        }
        if self.end.is_none() && now >= window_end && self.start.is_some() {
            self.end = Some(Sample::take(now));
        }
    }

    /// CPU time and time spent waiting for a processor, each ÷ wall time.
    pub(crate) fn shares(&self, now: Nanos) -> (Option<f64>, Option<f64>) {
        let Some(from) = self.start else { return (None, None) };
        let to = self.end.unwrap_or_else(|| Sample::take(now));
        let Some(wall) = to.at.since(from.at).filter(|wall| *wall > Nanos::ZERO) else { return (None, None) };
        let share = |span: Nanos| span.as_secs_f64() / wall.as_secs_f64();
        let waited = from.waited.zip(to.waited).map(|(from, to)| share(to.saturating_sub(from)));
        (Some(share(to.used.saturating_sub(from.used))), waited)
    }
}
