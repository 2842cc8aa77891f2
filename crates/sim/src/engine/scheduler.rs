//! Iteration-level scheduling.

use std::collections::VecDeque;

use kneepoint_model::Nanos;

use super::config::{EngineConfig, Refusal, Reservation};
use super::kv::KvPool;

/// A caller's name for a sequence; the engine never compares two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SequenceId(pub u64);

/// What a step holds and how long it lasts. Returned when the step begins; its tokens come out when it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Length.
    pub duration: Nanos,
    /// Prompt tokens computed (after a preemption: prompt and output tokens computed again).
    pub prefill_tokens: u64,
    /// Sequences that decode one token.
    pub decodes: u64,
    /// KV tokens read.
    pub kv_tokens: u64,
    /// Sequences admitted for the first time, in order.
    pub admitted: Vec<SequenceId>,
    /// Sequences that lost their blocks in this step, in the order in which they lost them.
    pub preempted: Vec<SequenceId>,
}

/// A token that came out at the end of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenOut {
    /// Whose.
    pub id: SequenceId,
    /// Which of its output tokens; the first is 1.
    pub index: u64,
    /// `true` if the sequence is complete and gone.
    pub last: bool,
}

/// How full an engine is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Load {
    /// Sequences in the batch.
    pub running: usize,
    /// Sequences in the queue.
    pub waiting: usize,
    /// KV blocks taken.
    pub kv_blocks: u64,
    /// KV blocks taken ÷ all; 0 if the cache is unbounded.
    pub kv_usage: f64,
    /// Preemptions since the engine was made.
    pub preemptions: u64,
}

/// The engine. See the module's description for the rules.
///
/// Use: [`submit`](Self::submit) at any time; [`begin_step`](Self::begin_step) when no step is under way;
/// [`end_step`](Self::end_step) when its duration has passed.
#[derive(Clone, Debug)]
pub struct Engine {
    config: EngineConfig,
    kv: KvPool,
    /// In order of arrival; everything in here arrived before everything in `waiting`.
    running: Vec<Sequence>,
    waiting: VecDeque<Sequence>,
    in_step: bool,
    preemptions: u64,
}

#[derive(Clone, Debug)]
struct Sequence {
    id: SequenceId,
    prompt: u64,
    output: u64,
    /// Output tokens that have come out.
    generated: u64,
    /// Tokens whose KV entries are in the cache.
    computed: u64,
    /// Tokens to compute before the next one comes out: the prompt, and after a preemption the output so far too.
    prefill_until: u64,
    /// Blocks held.
    blocks: u64,
    /// Tokens computed in the step under way.
    scheduled: u64,
    admitted_before: bool,
    cancelled: bool,
}

impl Sequence {
    fn prefilling(&self) -> bool {
        self.computed < self.prefill_until
    }

    /// Tokens it would compute next with an unlimited budget.
    fn wanted(&self) -> u64 {
        if self.prefilling() { self.prefill_until - self.computed } else { 1 }
    }
}

impl Engine {
    /// An empty engine.
    pub fn new(config: EngineConfig) -> Self {
        Self {
            kv: KvPool::new(config.kv),
            config,
            running: Vec::new(),
            waiting: VecDeque::new(),
            in_step: false,
            preemptions: 0,
        }
    }

    /// Puts a sequence at the end of the queue.
    pub fn submit(&mut self, id: SequenceId, prompt: u64, output: u64) -> Result<(), Refusal> {
        self.config.check(prompt, output)?;
        self.waiting.push_back(Sequence {
            id,
            prompt,
            output,
            generated: 0,
            computed: 0,
            prefill_until: prompt,
            blocks: 0,
            scheduled: 0,
            admitted_before: false,
            cancelled: false,
        });
        Ok(())
    }

    /// Drops a sequence: at once if it waits, else at the end of the step under way (no token of it comes out any
    /// more). Says whether it was there.
    pub fn cancel(&mut self, id: SequenceId) -> bool {
        if let Some(place) = self.waiting.iter().position(|s| s.id == id) {
            self.waiting.remove(place);
            return true;
        }
        let Some(place) = self.running.iter().position(|s| s.id == id && !s.cancelled) else { return false };
        if self.in_step {
            self.running[place].cancelled = true;
        } else {
            let gone = self.running.remove(place);
            self.kv.release(gone.blocks);
        }
        true
    }

    /// `true` if nothing runs or waits.
    pub fn is_idle(&self) -> bool {
        self.running.is_empty() && self.waiting.is_empty()
    }

    /// How full it is.
    pub fn load(&self) -> Load {
        Load {
            running: self.running.len(),
            waiting: self.waiting.len(),
            kv_blocks: self.kv.used(),
            kv_usage: self.kv.usage(),
            preemptions: self.preemptions,
        }
    }

    /// Forms the next batch; `None` if there is nothing to do.
    ///
    /// # Panics
    /// If the step before has not been ended.
    pub fn begin_step(&mut self) -> Option<Step> {
        assert!(!self.in_step, "a step is under way");
        if self.is_idle() {
            return None;
        }
        let mut step = Step::default();
        let mut budget = self.config.token_budget.get();
        self.schedule_running(&mut step, &mut budget);
        // Blocks were just taken from a running sequence: nobody new comes in on top of that (as in vLLM).
        if step.preempted.is_empty() {
            self.admit(&mut step, &mut budget);
        }
        step.duration = self.config.cost.step(step.decodes, step.prefill_tokens, step.kv_tokens);
        self.in_step = true;
        Some(step)
    }

    /// Ends the step under way; appends the tokens that came out, in order of arrival of their sequences.
    ///
    /// # Panics
    /// If no step is under way.
    pub fn end_step(&mut self, tokens: &mut Vec<TokenOut>) {
        assert!(self.in_step, "no step is under way");
        self.in_step = false;
        let kv = &mut self.kv;
        self.running.retain_mut(|sequence| {
            let scheduled = std::mem::take(&mut sequence.scheduled);
            sequence.computed += scheduled;
            if sequence.cancelled {
                kv.release(sequence.blocks);
                return false;
            }
            if scheduled == 0 || sequence.prefilling() {
                return true;
            }
            sequence.generated += 1;
            let last = sequence.generated == sequence.output;
            tokens.push(TokenOut { id: sequence.id, index: sequence.generated, last });
            if last {
                kv.release(sequence.blocks);
            }
            !last
        });
    }

    fn schedule_running(&mut self, step: &mut Step, budget: &mut u64) {
        let mut place = 0;
        while place < self.running.len() && *budget > 0 {
            let count = self.running[place].wanted().min(*budget);
            if !self.make_room(place, count, step) {
                break; // it was itself the last arrival, and is back in the queue
            }
            note(&mut self.running[place], count, step);
            *budget -= count;
            place += 1;
        }
    }

    /// Takes the blocks that `count` more tokens of the sequence at `place` need, preempting from the end. Says
    /// `false` if the sequence itself had to go.
    fn make_room(&mut self, place: usize, count: u64, step: &mut Step) -> bool {
        if self.config.kv.reservation == Reservation::Full {
            return true;
        }
        loop {
            let sequence = &self.running[place];
            let missing = self.kv.blocks_for(sequence.computed + count).saturating_sub(sequence.blocks);
            if self.kv.take(missing) {
                self.running[place].blocks += missing;
                return true;
            }
            let itself = place + 1 == self.running.len();
            self.preempt_last(step);
            if itself {
                return false;
            }
        }
    }

    fn preempt_last(&mut self, step: &mut Step) {
        let mut victim = self.running.pop().expect("invariant: called for a running sequence");
        self.kv.release(victim.blocks);
        victim.blocks = 0;
        victim.computed = 0;
        victim.prefill_until = victim.prompt + victim.generated;
        step.preempted.push(victim.id);
        self.preemptions += 1;
        self.waiting.push_front(victim);
    }

    fn admit(&mut self, step: &mut Step, budget: &mut u64) {
        let seats = usize::try_from(self.config.max_sequences.get()).unwrap_or(usize::MAX);
        while *budget > 0 && self.running.len() < seats {
            let Some(head) = self.waiting.front() else { break };
            let count = head.wanted().min(*budget);
            let needed = match self.config.kv.reservation {
                Reservation::Full => self.kv.blocks_for(head.prompt + head.output),
                Reservation::OnDemand => self.kv.blocks_for(count),
            };
            if !self.kv.take(needed) {
                break;
            }
            let mut sequence = self.waiting.pop_front().expect("invariant: the head was just seen");
            sequence.blocks = needed;
            if !sequence.admitted_before {
                sequence.admitted_before = true;
                step.admitted.push(sequence.id);
            }
            note(&mut sequence, count, step);
            *budget -= count;
            self.running.push(sequence);
        }
    }
}

/// Enters `count` tokens of `sequence` into the step.
fn note(sequence: &mut Sequence, count: u64, step: &mut Step) {
    sequence.scheduled = count;
    step.kv_tokens += sequence.computed;
    if sequence.prefilling() {
        step.prefill_tokens += count;
    } else {
        step.decodes += 1;
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;
    use crate::engine::{KvConfig, StepCost};

    fn config(blocks: u64, reservation: Reservation) -> EngineConfig {
        let count = |n| NonZeroU64::new(n).expect("above zero");
        EngineConfig {
            cost: StepCost { base: Nanos(1), ..StepCost::default() },
            token_budget: count(1000),
            max_sequences: count(10),
            kv: KvConfig { blocks: NonZeroU64::new(blocks), block_tokens: count(4), reservation },
        }
    }

    fn run(engine: &mut Engine) -> (Vec<TokenOut>, Vec<SequenceId>) {
        let (mut tokens, mut preempted) = (Vec::new(), Vec::new());
        while let Some(step) = engine.begin_step() {
            preempted.extend(step.preempted);
            engine.end_step(&mut tokens);
        }
        (tokens, preempted)
    }

    #[test]
    fn the_last_arrival_is_preempted_and_still_finishes() {
        // Two sequences of 4 + 8 tokens hold 3 blocks each at the end; 4 blocks are there.
        let mut engine = Engine::new(config(4, Reservation::OnDemand));
        engine.submit(SequenceId(1), 4, 8).expect("fits");
        engine.submit(SequenceId(2), 4, 8).expect("fits");
        let (tokens, preempted) = run(&mut engine);
        assert_eq!(preempted, [SequenceId(2)]);
        for id in [1, 2] {
            let indices: Vec<u64> = tokens.iter().filter(|t| t.id.0 == id).map(|t| t.index).collect();
            assert_eq!(indices, (1..=8).collect::<Vec<_>>(), "no token of {id} is lost or repeated");
        }
        assert_eq!(engine.load().kv_blocks, 0);
        assert_eq!(engine.load().preemptions, 1);
    }

    #[test]
    fn recomputation_covers_prompt_and_output_so_far() {
        let mut engine = Engine::new(config(4, Reservation::OnDemand));
        engine.submit(SequenceId(1), 4, 8).expect("fits");
        engine.submit(SequenceId(2), 4, 8).expect("fits");
        let mut recomputed = 0;
        let mut tokens = Vec::new();
        while let Some(step) = engine.begin_step() {
            if !tokens.is_empty() {
                recomputed += step.prefill_tokens;
            }
            engine.end_step(&mut tokens);
        }
        // Both had 5 tokens out when their third block was due; the victim computes 4 + 5 again.
        assert_eq!(recomputed, 9);
    }

    #[test]
    fn full_reservation_never_preempts_but_waits() {
        let mut engine = Engine::new(config(4, Reservation::Full));
        engine.submit(SequenceId(1), 4, 8).expect("fits");
        engine.submit(SequenceId(2), 4, 8).expect("fits");
        let (tokens, preempted) = run(&mut engine);
        assert!(preempted.is_empty());
        let firsts: Vec<usize> = [1, 2].map(|id| tokens.iter().position(|t| t.id.0 == id).expect("came out")).into();
        assert_eq!(firsts, [0, 8], "the second starts when the first is done");
    }

    #[test]
    fn what_can_never_fit_is_refused() {
        let mut engine = Engine::new(config(4, Reservation::OnDemand));
        assert_eq!(engine.submit(SequenceId(1), 9, 8), Err(Refusal::NeverFits { tokens: 17 }));
        assert_eq!(engine.submit(SequenceId(1), 0, 8), Err(Refusal::Empty));
        assert_eq!(engine.submit(SequenceId(1), 8, 0), Err(Refusal::Empty));
        assert!(engine.is_idle());
    }

    #[test]
    fn a_cancelled_sequence_gives_its_blocks_back() {
        let mut engine = Engine::new(config(8, Reservation::Full));
        for id in 1..=3 {
            engine.submit(SequenceId(id), 4, 8).expect("fits");
        }
        engine.begin_step().expect("work");
        assert!(engine.cancel(SequenceId(1)), "in the step");
        assert!(!engine.cancel(SequenceId(1)), "twice");
        assert!(engine.cancel(SequenceId(3)), "waiting");
        let mut tokens = Vec::new();
        engine.end_step(&mut tokens);
        assert_eq!(tokens.iter().map(|t| t.id.0).collect::<Vec<_>>(), [2]);
        assert!(engine.cancel(SequenceId(2)), "between steps");
        assert!(engine.is_idle());
        assert_eq!(engine.load().kv_blocks, 0);
    }
}
