//! The engine in virtual time: a list of arrivals in, the instant of every token out, as fast as the CPU allows.
//!
//! For tests, oracles and planning. Nothing here sleeps or reads a clock.

use kneepoint_model::Nanos;

use crate::engine::{Engine, EngineConfig, Refusal, SequenceId, Step};

/// A request on its way in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// When it reaches the engine.
    pub at: Nanos,
    /// Prompt tokens.
    pub prompt: u64,
    /// Output tokens.
    pub output: u64,
}

/// What became of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The request.
    pub arrival: Arrival,
    /// Start of the first step it took part in.
    pub admitted: Option<Nanos>,
    /// The instant of each output token.
    pub tokens: Vec<Nanos>,
    /// Why it was not taken, if it was not.
    pub refusal: Option<Refusal>,
}

impl Completion {
    /// Arrival to first token.
    pub fn ttft(&self) -> Option<Nanos> {
        self.tokens.first().and_then(|first| first.since(self.arrival.at))
    }

    /// Arrival to last token.
    pub fn e2e(&self) -> Option<Nanos> {
        self.tokens.last().and_then(|last| last.since(self.arrival.at))
    }

    /// Mean seconds from token to token after the first; `None` for a single token.
    pub fn tpot_secs(&self) -> Option<f64> {
        let (first, last) = (self.tokens.first()?, self.tokens.last()?);
        let gaps = self.tokens.len() - 1;
        (gaps > 0).then(|| (last.0 - first.0) as f64 / 1e9 / gaps as f64)
    }

    /// Arrival to admission.
    pub fn wait(&self) -> Option<Nanos> {
        self.admitted.and_then(|at| at.since(self.arrival.at))
    }
}

/// Runs `arrivals` through an empty engine until all are done. The result has the order of `arrivals`, which need not
/// be sorted; of equal instants the one earlier in the list comes first.
pub fn simulate(config: &EngineConfig, arrivals: &[Arrival]) -> Vec<Completion> {
    simulate_observed(config, arrivals, &mut |_, _| {})
}

/// [`simulate`], showing every step as it ends, with the instant.
pub fn simulate_observed(
    config: &EngineConfig,
    arrivals: &[Arrival],
    observe: &mut dyn FnMut(Nanos, &Step),
) -> Vec<Completion> {
    let mut order: Vec<usize> = (0..arrivals.len()).collect();
    order.sort_by_key(|&i| arrivals[i].at);
    let mut completions: Vec<Completion> = arrivals
        .iter()
        .map(|&arrival| Completion { arrival, admitted: None, tokens: Vec::new(), refusal: None })
        .collect();
    let mut engine = Engine::new(*config);
    let mut now = Nanos::ZERO;
    let mut upcoming = order.into_iter().peekable();
    let mut tokens = Vec::new();
    loop {
        if engine.is_idle() {
            let Some(&next) = upcoming.peek() else { return completions };
            now = now.max(arrivals[next].at);
        }
        while let Some(place) = upcoming.next_if(|&i| arrivals[i].at <= now) {
            let id = SequenceId(place as u64);
            completions[place].refusal = engine.submit(id, arrivals[place].prompt, arrivals[place].output).err();
        }
        let Some(step) = engine.begin_step() else { continue };
        for id in &step.admitted {
            completions[place_of(*id)].admitted = Some(now);
        }
        now = now + step.duration;
        engine.end_step(&mut tokens);
        for token in tokens.drain(..) {
            completions[place_of(token.id)].tokens.push(now);
        }
        observe(now, &step);
    }
}

/// A sequence is named by its place in the list.
fn place_of(id: SequenceId) -> usize {
    usize::try_from(id.0).expect("invariant: the id was made from a place")
}
