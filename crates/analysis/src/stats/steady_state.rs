//! Where a series becomes steady: MSER-5.
//!
//! Source: White, "An effective truncation heuristic", Simulation 69, 1997; White, Cobb, Spratt, WSC 2000.

/// Samples per batch.
pub const BATCH: usize = 5;
/// Fewest batches the rule says anything about.
pub const FEWEST_BATCHES: usize = 4;

/// What MSER-5 finds.
#[derive(Clone, Debug, PartialEq)]
pub enum Truncation {
    /// Fewer than [`FEWEST_BATCHES`] batches.
    TooShort,
    /// Steady after so many batches were dropped.
    Steady(Cut),
    /// The best cut lies in the second half: the series never settled.
    NoSteadyState(Cut),
}

/// The cut that makes the mean of the rest most certain.
#[derive(Clone, Debug, PartialEq)]
pub struct Cut {
    /// Batches to drop from the start.
    pub batches: usize,
    /// The statistic at that cut.
    pub statistic: f64,
    /// Mean of the batches kept.
    pub mean_after: f64,
}

impl Cut {
    /// Samples to drop from the start.
    pub fn samples(&self) -> usize {
        self.batches * BATCH
    }
}

/// Finds the cut `d` that minimises `Σ_{i≥d} (Z_i − Z̄_d)² / (k − d)²` over batch means `Z`; the first minimum wins,
/// samples that do not fill a batch are left out.
pub fn mser5(values: &[f64]) -> Truncation {
    let batches: Vec<f64> = values.chunks_exact(BATCH).map(|batch| batch.iter().sum::<f64>() / BATCH as f64).collect();
    let count = batches.len();
    if count < FEWEST_BATCHES {
        return Truncation::TooShort;
    }
    let mut best: Option<Cut> = None;
    for cut in 0..=count - 2 {
        let (statistic, mean_after) = statistic(&batches[cut..]);
        if best.as_ref().is_none_or(|best| statistic < best.statistic) {
            best = Some(Cut { batches: cut, statistic, mean_after });
        }
    }
    match best {
        None => Truncation::TooShort,
        Some(cut) if cut.batches > count / 2 => Truncation::NoSteadyState(cut),
        Some(cut) => Truncation::Steady(cut),
    }
}

fn statistic(rest: &[f64]) -> (f64, f64) {
    let size = rest.len() as f64;
    let mean = rest.iter().sum::<f64>() / size;
    (rest.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / (size * size), mean)
}
