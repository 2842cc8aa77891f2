//! The replicas of one platform, the queue before them, and who gets which request.

use std::collections::VecDeque;

use kneepoint_model::Nanos;
use thiserror::Error;

use super::scaling::Scaling;
use crate::engine::{Engine, EngineConfig, Refusal, SequenceId, TokenOut};

/// A request for the fleet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The caller's name for it; unique.
    pub id: SequenceId,
    /// Prompt tokens.
    pub prompt: u64,
    /// Output tokens.
    pub output: u64,
}

/// Why the fleet does not take a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Refused {
    /// Too many requests wait already.
    #[error("{waiting} requests are waiting, which is the limit")]
    QueueFull {
        /// How many wait.
        waiting: usize,
    },
    /// No engine could ever run it.
    #[error(transparent)]
    Engine(#[from] Refusal),
}

/// Something that happened, with the instant the model gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A request took part in a step for the first time; the step began at `at`.
    Admitted {
        /// Whose.
        id: SequenceId,
        /// Start of the step.
        at: Nanos,
    },
    /// A token came out.
    Token {
        /// The token.
        token: TokenOut,
        /// End of the step.
        at: Nanos,
    },
}

/// How full the fleet is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FleetLoad {
    /// Replicas ready.
    pub ready: usize,
    /// Replicas starting.
    pub starting: usize,
    /// Sequences in a batch.
    pub running: usize,
    /// Sequences waiting, in the platform's queue or in an engine's.
    pub waiting: usize,
    /// Fullest KV cache, 0 to 1.
    pub kv_usage: f64,
    /// Preemptions since the fleet was made.
    pub preemptions: u64,
    /// Cold starts since the fleet was made.
    pub cold_starts: u64,
}

/// The replicas and the queue before them.
#[derive(Debug)]
pub struct Fleet {
    engine: EngineConfig,
    scaling: Scaling,
    queue_limit: usize,
    seed: u64,
    now: Nanos,
    replicas: Vec<Replica>,
    queue: VecDeque<Request>,
    events: Vec<Event>,
    tokens: Vec<TokenOut>,
    cold_starts: u64,
    /// Preemptions of replicas that are gone.
    past_preemptions: u64,
}

#[derive(Debug)]
struct Replica {
    engine: Engine,
    /// Requests given to it and not done.
    holds: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Starting {
        ready_at: Nanos,
    },
    /// No step under way; without work since.
    Idle {
        since: Nanos,
    },
    Stepping {
        ends_at: Nanos,
    },
}

impl Fleet {
    /// A fleet at instant zero with the fewest replicas the scaling allows, all ready. At most `queue_limit` requests
    /// wait. `seed` fixes the duration of cold starts.
    pub fn new(engine: EngineConfig, scaling: Scaling, queue_limit: usize, seed: u64) -> Self {
        let replica = || Replica { engine: Engine::new(engine), holds: 0, state: State::Idle { since: Nanos::ZERO } };
        Self {
            engine,
            scaling,
            queue_limit,
            seed,
            now: Nanos::ZERO,
            replicas: std::iter::repeat_with(replica).take(scaling.min).collect(),
            queue: VecDeque::new(),
            events: Vec::new(),
            tokens: Vec::new(),
            cold_starts: 0,
            past_preemptions: 0,
        }
    }

    /// Takes a request that arrives at `at` (or, if that is past already, now). All that happens before `at` happens
    /// first; requests of the same instant share the step that begins then.
    pub fn submit(&mut self, at: Nanos, request: Request) -> Result<(), Refused> {
        self.run(at, false);
        let waiting = self.load().waiting;
        if waiting >= self.queue_limit {
            return Err(Refused::QueueFull { waiting });
        }
        self.engine.check(request.prompt, request.output)?;
        self.queue.push_back(request);
        self.scale_up();
        self.dispatch();
        Ok(())
    }

    /// Drops a request at `at`.
    pub fn cancel(&mut self, at: Nanos, id: SequenceId) {
        self.run(at, false);
        if let Some(place) = self.queue.iter().position(|r| r.id == id) {
            self.queue.remove(place);
        } else if let Some(replica) = self.replicas.iter_mut().find_map(|r| r.engine.cancel(id).then_some(r)) {
            replica.holds -= 1;
            if let State::Idle { since } = &mut replica.state {
                *since = self.now;
            }
            self.dispatch();
        }
    }

    /// Lets everything happen that happens until `to`, `to` included.
    pub fn advance(&mut self, to: Nanos) {
        self.run(to, true);
    }

    /// What happened since this was last called, in order of time.
    pub fn take_events(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    /// When the next thing happens if nothing arrives; `None`: never.
    pub fn next_event(&self) -> Option<Nanos> {
        if self.has_step_to_begin() { Some(self.now) } else { self.next_timer() }
    }

    /// How full it is.
    pub fn load(&self) -> FleetLoad {
        let mut load = FleetLoad {
            waiting: self.queue.len(),
            cold_starts: self.cold_starts,
            preemptions: self.past_preemptions,
            ..FleetLoad::default()
        };
        for replica in &self.replicas {
            let engine = replica.engine.load();
            match replica.state {
                State::Starting { .. } => load.starting += 1,
                State::Idle { .. } | State::Stepping { .. } => load.ready += 1,
            }
            load.running += engine.running;
            load.waiting += engine.waiting;
            load.kv_usage = load.kv_usage.max(engine.kv_usage);
            load.preemptions += engine.preemptions;
        }
        load
    }

    /// Goes through time up to `limit`; what happens at `limit` itself only if `inclusive`.
    fn run(&mut self, limit: Nanos, inclusive: bool) {
        let reached = |at: Nanos| at < limit || (inclusive && at == limit);
        loop {
            // All that is due now comes before the steps that begin now: a step takes in all that is there.
            match self.next_timer() {
                Some(at) if at <= self.now && reached(at) => self.fire(),
                _ if self.has_step_to_begin() && reached(self.now) => self.begin_steps(),
                Some(at) if reached(at) => self.now = at,
                _ => break,
            }
        }
        // Looking ahead changes nothing: a request that arrived before `limit`, and is told of after, still counts from
        // its arrival, as long as nothing happened in between.
        if !inclusive {
            self.now = self.now.max(limit);
        }
    }

    fn next_timer(&self) -> Option<Nanos> {
        (0..self.replicas.len()).filter_map(|i| self.timer_of(i)).min()
    }

    fn timer_of(&self, place: usize) -> Option<Nanos> {
        let replica = &self.replicas[place];
        match replica.state {
            State::Starting { ready_at } => Some(ready_at),
            State::Stepping { ends_at } => Some(ends_at),
            State::Idle { since } => (replica.engine.is_idle() && self.replicas.len() > self.scaling.min)
                .then(|| since + self.scaling.idle_after),
        }
    }

    /// Handles one timer that is due.
    fn fire(&mut self) {
        let due = (0..self.replicas.len()).find(|&i| self.timer_of(i).is_some_and(|at| at <= self.now));
        let place = due.expect("invariant: called when a timer is due");
        match self.replicas[place].state {
            State::Starting { ready_at } => {
                self.replicas[place].state = State::Idle { since: ready_at };
                self.dispatch();
            }
            State::Idle { .. } => {
                let gone = self.replicas.swap_remove(place);
                self.past_preemptions += gone.engine.load().preemptions;
            }
            State::Stepping { ends_at } => {
                let replica = &mut self.replicas[place];
                replica.engine.end_step(&mut self.tokens);
                replica.state = State::Idle { since: ends_at };
                replica.holds -= self.tokens.iter().filter(|t| t.last).count();
                self.events.extend(self.tokens.drain(..).map(|token| Event::Token { token, at: ends_at }));
                self.dispatch();
            }
        }
    }

    fn has_step_to_begin(&self) -> bool {
        self.replicas.iter().any(|r| matches!(r.state, State::Idle { .. }) && !r.engine.is_idle())
    }

    fn begin_steps(&mut self) {
        for replica in &mut self.replicas {
            if !matches!(replica.state, State::Idle { .. }) {
                continue;
            }
            if let Some(step) = replica.engine.begin_step() {
                replica.state = State::Stepping { ends_at: self.now + step.duration };
                self.events.extend(step.admitted.into_iter().map(|id| Event::Admitted { id, at: self.now }));
            }
        }
    }

    /// Hands the queue to the ready replicas, each request to the one that holds fewest.
    fn dispatch(&mut self) {
        while let Some(&request) = self.queue.front() {
            let ready = self.replicas.iter_mut().filter(|r| !matches!(r.state, State::Starting { .. }));
            let Some(replica) = ready.min_by_key(|r| r.holds).filter(|r| r.holds < self.scaling.concurrency) else {
                break;
            };
            replica
                .engine
                .submit(request.id, request.prompt, request.output)
                .expect("invariant: an equal engine took it when the request came in");
            replica.holds += 1;
            self.queue.pop_front();
        }
    }

    fn scale_up(&mut self) {
        let requests = self.queue.len() + self.replicas.iter().map(|r| r.holds).sum::<usize>();
        while self.replicas.len() < self.scaling.wanted(requests) {
            let ready_at = self.now + self.scaling.start.draw(self.seed, self.cold_starts);
            self.cold_starts += 1;
            let engine = Engine::new(self.engine);
            self.replicas.push(Replica { engine, holds: 0, state: State::Starting { ready_at } });
        }
    }
}
