//! The engine in virtual time: a list of arrivals in, the instant of every token out, as fast as the CPU allows.
//!
//! For tests, oracles and planning. Nothing here sleeps or reads a clock.

use kneepoint_model::Nanos;

use crate::engine::{Engine, EngineConfig, Refusal, SequenceId, Step};
use crate::platform::{FaultKind, Item, Pipeline, Refused, Request};
use crate::profile::Profile;

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

/// What a client of a whole platform would see of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The request.
    pub arrival: Arrival,
    /// Start of the first step it took part in.
    pub admitted: Option<Nanos>,
    /// When each token arrives. Tokens of one event arrive together.
    pub tokens: Vec<Nanos>,
    /// How it ended.
    pub ending: Ending,
}

/// How a request to a platform ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With its last token.
    Complete,
    /// It was not taken.
    Refused(Refused),
    /// It went wrong, as the profile wanted.
    Fault(FaultKind),
}

impl Delivered {
    /// Arrival to first token.
    pub fn ttft(&self) -> Option<Nanos> {
        self.tokens.first().and_then(|first| first.since(self.arrival.at))
    }

    /// Arrival to last token.
    pub fn e2e(&self) -> Option<Nanos> {
        self.tokens.last().and_then(|last| last.since(self.arrival.at))
    }
}

/// Runs `arrivals`, which must be sorted by time, through a whole platform: replicas, queue, cold starts, network,
/// tails and faults. The result has the order of `arrivals`.
pub fn simulate_platform(profile: &Profile, arrivals: &[Arrival]) -> Vec<Delivered> {
    let fresh =
        |&arrival: &Arrival| Delivered { arrival, admitted: None, tokens: Vec::new(), ending: Ending::Complete };
    let mut delivered: Vec<Delivered> = arrivals.iter().map(fresh).collect();
    let mut platform = Pipeline::new(profile);
    let mut upcoming = arrivals.iter().enumerate().peekable();
    loop {
        let arrival = upcoming.peek().map(|(_, arrival)| arrival.at);
        let Some(now) = [arrival, platform.next()].into_iter().flatten().min() else { return delivered };
        while let Some((place, arrival)) = upcoming.next_if(|(_, arrival)| arrival.at <= now) {
            let request = Request { id: SequenceId(place as u64), prompt: arrival.prompt, output: arrival.output };
            if let Err(refused) = platform.submit(arrival.at, request) {
                delivered[place].ending = Ending::Refused(refused);
            }
        }
        platform.advance(now);
        while let Some((at, id, item)) = platform.pop_due(now) {
            let entry = &mut delivered[place_of(id)];
            match item {
                Item::Head => {}
                Item::Admitted => entry.admitted = Some(at),
                Item::Tokens { count, .. } => entry.tokens.extend((0..count).map(|_| at)),
                Item::Fault(kind) => entry.ending = Ending::Fault(kind),
            }
        }
    }
}

/// A sequence is named by its place in the list.
fn place_of(id: SequenceId) -> usize {
    usize::try_from(id.0).expect("invariant: the id was made from a place")
}
