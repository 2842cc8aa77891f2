//! Every threshold the summary judges by, in one place. `docs/metrics.md` gives the reasons to readers; a change here is
//! a change of the published definitions.

use kneepoint_model::Nanos;

/// A request dispatched later than this after its intended instant is counted as late.
pub const LATE: Nanos = Nanos::from_millis(10);

/// p99 of schedule lag, ms, from which a point is not valid …
pub const LAG_INVALID_MS: f64 = 10.0;
/// … and from which the reader is warned.
pub const LAG_WARNING_MS: f64 = 5.0;
/// A lag under this share of the median latency disturbs no figure, however long it is: the two limits above are
/// raised to it (the warning to half of it).
pub const LAG_SHARE_OF_MEDIAN: f64 = 0.01;

/// CPU share of the client's busiest thread from which a point is not valid.
pub const CLIENT_CPU_SHARE: f64 = 0.9;

/// Share of the window that the client's thread waited for a processor above which a point is not valid …
pub const CLIENT_WAITED_INVALID: f64 = 0.1;
/// … and above which the reader is warned.
pub const CLIENT_WAITED_WARNING: f64 = 0.03;

/// p99 of the longest wait of each answer to be read, ms, above which a point is not valid. Arrivals carry the kernel's
/// stamp, but packets that wait together share the last one's, so gaps inside such a wait are lost …
pub const READ_DELAY_INVALID_MS: f64 = 50.0;
/// … and above which the reader is warned.
pub const READ_DELAY_WARNING_MS: f64 = 5.0;

/// Share of failed requests above which a point is not valid; any failure at all is a warning.
pub const ERROR_SHARE: f64 = 0.05;

/// Share of scheduled requests missing from the journal above which a point is not valid; any is a warning.
pub const LOST_SHARE: f64 = 0.01;

/// Share of requests still open at the end above which a point is not valid, since the slowest are missing from its
/// percentiles; any is a warning.
pub const CUT_SHARE: f64 = 0.05;

/// Deviation from Little's law that is tolerated, beside what the window's edges explain.
pub const LITTLES_LAW: f64 = 0.1;

/// Share of the scheduled rate that must be answered.
pub const RATE_KEPT: f64 = 0.95;

/// A trend counts if the 95% margin of its slope is at most this share of the slope.
pub const TREND_MARGIN: f64 = 0.5;
/// Fewest parts of a window from which a trend is told.
pub const TREND_PARTS: usize = 10;
/// Growth of the backlog over a window counts if it is above so many times the square root of the number of arrivals,
/// the standard deviation of a Poisson count …
pub const BACKLOG_DEVIATIONS: f64 = 2.0;
/// … or so many where arrivals are equally spaced and only the service varies.
pub const BACKLOG_DEVIATIONS_CONSTANT: f64 = 1.0;

/// Relative deviation of a mean length from its target, or of two counts from each other, that is tolerated.
pub const LENGTH: f64 = 0.05;
/// Tokens by which two counts of one answer may differ without a word: engines count an end marker that has no text.
pub const COUNT_GRACE_TOKENS: f64 = 1.0;

/// Answers of fewer tokens than this say nothing about streaming.
pub const STREAM_FEWEST_TOKENS: u64 = 8;
/// An answer in at most so many events came in one piece.
pub const STREAM_PIECES: usize = 2;
/// So did one whose tokens followed each other faster than this on average: no engine decodes 10,000 tokens/s for one
/// user, so something held them back.
pub const STREAM_FASTEST_TOKEN: Nanos = Nanos(100_000);
/// Share of answers in one piece above which the reader is warned: from there on they move a 90th percentile.
pub const PSEUDO_STREAMING_SHARE: f64 = 0.1;
/// Share of answers of more than one token, however short, that came in a single event above which the reader is
/// warned: single short ones may have been held back for a character, most of them were not streamed.
pub const ONE_EVENT_SHARE: f64 = 0.5;

/// Share of prompt tokens served from a cache above which the reader is warned.
pub const CACHED_SHARE: f64 = 0.01;
/// The same above which a point is not valid: most of its prompts were not worked on, so its latencies are the cache's.
pub const CACHED_INVALID: f64 = 0.5;

/// Share of successful answers that cannot be judged (no token count) up to which an SLO is still evaluated; they then
/// count as not good.
pub const SLO_UNJUDGED_SHARE: f64 = 0.01;

/// Fewest batches of MSER-5 from which steadiness is told: of 8, chance alone makes one steady series in fifty look like one
/// that shifts; of 16, one in five hundred.
pub const STEADY_FEWEST_BATCHES: usize = 16;
/// A leading batch lies beside the steady level if it is farther from it than so many standard deviations of a batch …
pub const STEADY_DEVIATIONS: f64 = 3.0;
/// … and than this share of the level.
pub const STEADY_SHARE: f64 = 0.05;
/// Fewest leading batches that are cut: a single one can be chance.
pub const STEADY_FEWEST_CUT: usize = 2;
/// Share of the window after which latencies must have settled.
pub const SETTLING_SHARE: f64 = 0.5;

/// Share of the scheduled arrivals that waited for a place or were never sent above which a point is not valid; any is a
/// warning.
pub const NOT_OPEN_SHARE: f64 = 0.01;
/// Share of the scheduled arrivals that were never sent above which a point is not valid; any is a warning.
pub const DROPPED_SHARE: f64 = 0.01;

/// What the client adds at the 99th percentile, ms, as calibrated, from which a point is not valid …
pub const ADDED_INVALID_MS: f64 = 10.0;
/// … and from which the reader is warned. Both are raised as those of the schedule lag are.
pub const ADDED_WARNING_MS: f64 = 1.0;
/// How many times as large as the calibrated load a point's may be without a word.
pub const CALIBRATED_TIMES: f64 = 1.25;

/// The rule of a plan without an SLO: a request is in time if it ends within this …
pub const STABLE_E2E: Nanos = Nanos::from_secs(2);
/// … and so large a share must be.
pub const STABLE_SHARE: f64 = 0.99;

/// A level brings no more throughput if it brings less than this share more, where the plan does not say.
pub const PLATEAU_GAIN: f64 = 0.05;
/// Fewest levels from which a knee is told.
pub const KNEE_FEWEST_LEVELS: usize = 5;
/// Fewest levels from which three parameters are fitted without a word.
pub const FIT_FEWEST_LEVELS: usize = 6;
/// Share of the variance that a fit must explain.
pub const FIT_R2: f64 = 0.95;
/// A fit whose throughput at the highest level is still so large a share of a straight line has not seen the bend.
pub const FIT_STILL_STRAIGHT: f64 = 0.8;
/// Fewest round trips whose median stands for the round trip of a point.
pub const RTT_FEWEST: usize = 5;
