//! From the engine to the client: the network, chunking, slow tails and faults, for one request at a time.
//!
//! Tokens go in with the instant they left the engine; what goes on the wire comes out, with the instant it may. The
//! order never changes, and nothing leaves before its token exists.

use kneepoint_model::Nanos;
use kneepoint_model::random::SplitMix64;

use super::route::{Faults, Route};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// Status 500 instead of an answer.
    Http500,
    /// Status 503 instead of an answer.
    Http503,
    /// The connection is reset (TCP RST) in the middle of the answer.
    Reset,
    /// The connection is closed in the middle of the answer, without the end of the body.
    Close,
    /// The body ends properly, but without finish reason, usage or end marker.
    Truncate,
    /// Nothing more comes, and the connection stays open.
    Stall,
    /// An error object comes as an event of the stream, then the stream ends.
    ErrorEvent,
}

/// What goes wrong with one request, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Output tokens that are delivered before.
    pub after: u64,
}

/// Something to put on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Out {
    /// Tokens `first..first + count`, counted from 1, in one event.
    Tokens {
        /// The earliest instant.
        at: Nanos,
        /// Index of the first.
        first: u64,
        /// How many.
        count: u64,
        /// `true` if no more come.
        last: bool,
    },
    /// The answer goes wrong here.
    Fault {
        /// The earliest instant.
        at: Nanos,
        /// How.
        kind: FaultKind,
    },
}

/// The way of one answer.
#[derive(Clone, Debug)]
pub struct Delivery {
    route: Route,
    random: SplitMix64,
    fault: Option<Fault>,
    pause: Option<(u64, Nanos)>,
    /// Nothing leaves before this.
    floor: Nanos,
    held: u64,
    held_since: Nanos,
}

impl Delivery {
    /// The way of the answer to request number `number`, of `output` tokens: all that chance decides about it is a
    /// function of `seed` and `number`.
    pub(crate) fn new(route: Route, seed: u64, number: u64, output: u64) -> Self {
        let fault = draw_fault(&route.faults, seed, number, output);
        let mut random = SplitMix64::for_purpose(seed, "sim tail", &[number]);
        let pause = (random.unit() < route.pause_share).then(|| {
            let before = 1 + random.below(output.max(1));
            (before, Nanos::from_secs_f64(random.exponential() * route.pause_mean.as_secs_f64()))
        });
        let random = SplitMix64::for_purpose(seed, "sim jitter", &[number]);
        Self { route, random, fault, pause, floor: Nanos::ZERO, held: 0, held_since: Nanos::ZERO }
    }

    /// What will go wrong, if anything.
    pub fn fault(&self) -> Option<Fault> {
        self.fault
    }

    /// When the head of an answer accepted at `at` reaches the client.
    pub fn head(&mut self, at: Nanos) -> Nanos {
        self.on_the_wire(at)
    }

    /// Takes token `index` (from 1), which left the engine at `at`; gives what to send, if this completes an event.
    /// Nothing may follow a fault.
    pub fn push(&mut self, at: Nanos, index: u64, last: bool) -> Option<Out> {
        let mut at = at;
        if let Some((before, length)) = self.pause
            && index >= before
        {
            // The tokens behind the pause are generated meanwhile and come in one burst after it.
            self.pause = None;
            self.floor = self.floor.max(at + length);
        }
        if let Some(fault) = self.fault
            && index > fault.after
        {
            return Some(Out::Fault { at: self.on_the_wire(at), kind: fault.kind });
        }
        if self.held == 0 {
            self.held_since = at;
        }
        self.held += 1;
        let complete = self.held >= self.route.tokens_per_event && at >= self.held_since + self.route.hold;
        let before_fault = self.fault.is_some_and(|fault| index == fault.after);
        if !(complete || last || before_fault) {
            return None;
        }
        let count = std::mem::take(&mut self.held);
        at = self.on_the_wire(at);
        Some(Out::Tokens { at, first: index + 1 - count, count, last })
    }

    fn on_the_wire(&mut self, at: Nanos) -> Nanos {
        let jitter = Nanos::from_secs_f64(self.random.unit() * self.route.jitter.as_secs_f64());
        self.floor = self.floor.max(at + self.route.rtt + jitter);
        self.floor
    }
}

fn draw_fault(faults: &Faults, seed: u64, number: u64, output: u64) -> Option<Fault> {
    let mut random = SplitMix64::for_purpose(seed, "sim fault", &[number]);
    let mut draw = random.unit();
    let shares = [
        (faults.http_500, FaultKind::Http500),
        (faults.http_503, FaultKind::Http503),
        (faults.reset, FaultKind::Reset),
        (faults.close, FaultKind::Close),
        (faults.truncate, FaultKind::Truncate),
        (faults.stall, FaultKind::Stall),
        (faults.error_event, FaultKind::ErrorEvent),
    ];
    for (share, kind) in shares {
        if draw < share {
            return Some(Fault { kind, after: random.below(output.max(1)) });
        }
        draw -= share;
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn plain() -> Route {
        Route { tokens_per_event: 1, ..Route::default() }
    }

    fn deliver(route: Route, number: u64, tokens: u64, gap: u64) -> Vec<Out> {
        let mut delivery = Delivery::new(route, 1, number, tokens);
        let mut out = Vec::new();
        for index in 1..=tokens {
            out.extend(delivery.push(Nanos(index * gap), index, index == tokens));
            if matches!(out.last(), Some(Out::Fault { .. })) {
                break;
            }
        }
        out
    }

    #[test]
    fn a_plain_route_changes_nothing() {
        let expected: Vec<Out> =
            (1..=3).map(|i| Out::Tokens { at: Nanos(i * 10), first: i, count: 1, last: i == 3 }).collect();
        assert_eq!(deliver(plain(), 0, 3, 10), expected);
    }

    #[test]
    fn events_of_several_tokens_leave_with_their_last() {
        let out = deliver(Route { tokens_per_event: 4, ..plain() }, 0, 10, 10);
        let shape: Vec<(u64, u64, u64)> = out
            .iter()
            .map(|o| match o {
                Out::Tokens { at, first, count, .. } => (at.0, *first, *count),
                Out::Fault { .. } => panic!("no fault is configured"),
            })
            .collect();
        assert_eq!(shape, [(40, 1, 4), (80, 5, 4), (100, 9, 2)]);
    }

    #[test]
    fn holding_back_makes_bursts() {
        let out = deliver(Route { hold: Nanos(35), ..plain() }, 0, 10, 10);
        assert_eq!(out.len(), 2, "{out:?}");
        assert_eq!(out[0], Out::Tokens { at: Nanos(50), first: 1, count: 5, last: false });
    }

    #[test]
    fn faults_come_with_their_share_and_after_whole_tokens() {
        let route = Route { faults: Faults { reset: 0.25, stall: 0.25, ..Faults::default() }, ..plain() };
        let mut seen = [0_u32; 3];
        for number in 0..4000 {
            let out = deliver(route, number, 5, 10);
            match out.last() {
                Some(Out::Fault { kind: FaultKind::Reset, .. }) => seen[0] += 1,
                Some(Out::Fault { kind: FaultKind::Stall, .. }) => seen[1] += 1,
                Some(Out::Tokens { last: true, .. }) => seen[2] += 1,
                other => panic!("{other:?}"),
            }
        }
        assert!((900..1100).contains(&seen[0]) && (900..1100).contains(&seen[1]), "{seen:?}");
    }

    #[test]
    fn pauses_hit_their_share_of_answers() {
        let route = Route { pause_share: 0.1, pause_mean: Nanos(1_000_000), ..plain() };
        let paused = (0..4000)
            .filter(|&number| {
                let out = deliver(route, number, 5, 10);
                !matches!(out.last(), Some(Out::Tokens { at: Nanos(50), .. }))
            })
            .count();
        assert!((330..470).contains(&paused), "{paused}");
    }

    proptest! {
        #[test]
        fn order_is_kept_and_nothing_is_early(
            rtt in 0_u64..100, jitter in 0_u64..100, hold in 0_u64..100, per_event in 1_u64..6,
            share in 0.0_f64..1.0, tokens in 1_u64..40, number in 0_u64..1000,
        ) {
            let route = Route {
                rtt: Nanos(rtt), jitter: Nanos(jitter), hold: Nanos(hold), tokens_per_event: per_event,
                pause_share: share, pause_mean: Nanos(50), faults: Faults::default(),
            };
            let out = deliver(route, number, tokens, 7);
            let (mut next, mut before) = (1, Nanos::ZERO);
            for event in &out {
                let Out::Tokens { at, first, count, last } = *event else { panic!("no faults") };
                prop_assert_eq!(first, next);
                next += count;
                prop_assert!(at >= before && at.0 >= (next - 1) * 7 + rtt);
                prop_assert_eq!(last, next == tokens + 1);
                before = at;
            }
            prop_assert_eq!(next, tokens + 1);
            prop_assert_eq!(out, deliver(route, number, tokens, 7));
        }
    }
}
