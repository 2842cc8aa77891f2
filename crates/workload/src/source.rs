//! A plan's requests: the [`RequestSource`] that `load` is given.
//!
//! Reads the tokenizer file and checks that every point has a schedule and every length can be made, so that nothing
//! can go wrong once requests are sent.

use kneepoint_model::plan::{Level, Plan, Point, Workload};
use kneepoint_model::request::{Arrivals, PointSchedule, Prompt, RequestSource};
use kneepoint_model::units::{Nanos, Tokens};

use crate::arrivals::{self, ScheduleError};
use crate::prompts::Prompts;
use crate::tokenizer::{Tokenizer, TokenizerError};

/// Why a plan has no requests.
#[derive(Debug, thiserror::Error)]
pub enum WorkloadError {
    /// The tokenizer file cannot be used.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
    /// The tokenizer splits even a single letter into more tokens than a workload's input may have.
    #[error(
        "workload '{workload}' asks for {wanted} input tokens, but the tokenizer makes at least {fewest} of any text"
    )]
    InputTooShort {
        /// The workload's name.
        workload: String,
        /// What it asks for.
        wanted: Tokens,
        /// What there is.
        fewest: Tokens,
    },
    /// A point has too many arrivals, or none to measure.
    #[error("laying out the arrivals at {rate}/s for {hold}")]
    Schedule {
        /// Arrivals per second.
        rate: f64,
        /// The least length of the measured window.
        hold: Nanos,
        /// What is wrong.
        source: ScheduleError,
    },
}

/// Every request of a plan, made on demand.
#[derive(Debug)]
pub struct Source {
    seed: u64,
    workloads: Vec<Workload>,
    prompts: Prompts,
}

/// The requests of a plan. Loads its tokenizer, which takes up to a second for a large one.
pub fn source(plan: &Plan) -> Result<Source, WorkloadError> {
    let tokenizer = plan.model.tokenizer.as_deref().map(Tokenizer::load).transpose()?;
    let points = plan.points();
    let prompts = Prompts::new(plan.seed, plan.most_points(), tokenizer);
    let fewest = prompts.shortest();
    if let Some(workload) = plan.workloads.iter().find(|workload| workload.input < fewest) {
        return Err(WorkloadError::InputTooShort { workload: workload.name.clone(), wanted: workload.input, fewest });
    }
    let ends = plan.loads.iter().filter_map(|load| Some((load, load.search?))).flat_map(|(load, search)| {
        [search.from, search.at_most].map(|rate| load.point(0, 0, 0, Level::Rate { rate, arrival: search.arrival }))
    });
    for (index, point) in points.iter().copied().chain(ends).enumerate() {
        if let Level::Rate { rate, arrival } = point.level {
            arrivals::open_loop(&point.hold, rate, arrival, plan.seed, index as u64)
                .map_err(|source| WorkloadError::Schedule { rate: rate.get(), hold: point.hold.at_least, source })?;
        }
    }
    Ok(Source { seed: plan.seed, workloads: plan.workloads.clone(), prompts })
}

impl RequestSource for Source {
    /// # Panics
    ///
    /// If the point is not one of this plan's.
    fn prompt(&self, number: usize, point: &Point, index: u64) -> Prompt {
        let workload = &self.workloads[point.workload];
        let text = self.prompts.text(number, index, workload.input);
        Prompt { text: text.text, target_input: workload.input, local_input: text.tokens, output: workload.output }
    }

    /// `None` also for a text that the tokenizer cannot encode.
    fn count(&self, text: &str) -> Option<Tokens> {
        self.prompts.tokenizer()?.count(text)
    }

    /// # Panics
    ///
    /// If the point is not one of this plan's.
    fn schedule(&self, number: usize, point: &Point) -> Option<PointSchedule> {
        let Level::Rate { rate, arrival } = point.level else { return None };
        // `source` has laid out every schedule of the plan once; a search's step without an arrival has nothing to send.
        arrivals::open_loop(&point.hold, rate, arrival, self.seed, number as u64).ok()
    }

    fn arrivals(&self, number: usize, point: &Point) -> Arrivals {
        let Level::Rate { rate, arrival } = point.level else { return Box::new(std::iter::empty()) };
        Box::new(arrivals::schedule(rate, arrival, self.seed, number as u64))
    }
}
