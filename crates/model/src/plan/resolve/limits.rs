//! Resolution of what ends things: the time limits of a request.

use super::super::TimeLimits;
use super::super::file::{PlanFile, PlatformFile, TimeLimitsFile};
use super::Resolver;
use crate::units::Nanos;
use crate::yaml::{Path, Problem};

const SHORTEST_TIMEOUT: Nanos = Nanos::from_millis(1);
const LONGEST_TIMEOUT: Nanos = Nanos::from_secs(24 * 3600);

impl Resolver<'_> {
    /// The time limits of the platform at a path.
    pub(super) fn time_limits(&mut self, platform: &Path, file: &PlatformFile) -> TimeLimits {
        let none = TimeLimitsFile::default();
        let limits = file.time_limits.as_ref().unwrap_or(&none);
        let path = platform.key("time_limits");
        let total = match (&limits.total, &file.request_timeout) {
            (Some(_), Some(_)) => {
                let problem = Problem::new(
                    platform.key("request_timeout"),
                    "both `request_timeout` and `total` in `time_limits` are given",
                );
                self.add_key(problem.hint("they mean the same: keep `total`"));
                self.time_limit(&path.key("total"), limits.total.as_deref())
            }
            (None, Some(older)) => self.time_limit(&platform.key("request_timeout"), Some(older)),
            (total, None) => self.time_limit(&path.key("total"), total.as_deref()),
        };
        let connect = self.time_limit(&path.key("connect"), limits.connect.as_deref());
        let first_token = self.time_limit(&path.key("first_token"), limits.first_token.as_deref());
        let between_chunks = self.time_limit(&path.key("between_chunks"), limits.between_chunks.as_deref());

        let given = total.is_some();
        let total = total.unwrap_or(TimeLimits::default().total);
        // A total that was refused is no measure for the others.
        let is_known = given || limits.total.is_none() && file.request_timeout.is_none();
        for (field, limit) in [("connect", connect), ("first_token", first_token), ("between_chunks", between_chunks)] {
            if let Some(limit) = limit
                && is_known
                && limit > total
            {
                let by_default = if given { "" } else { " where the plan gives none" };
                let message = format!("`{field}` is longer than `total`, which is {total}{by_default}");
                let problem = Problem::new(path.key(field), message).found(limit.to_string());
                self.add(problem.hint("set it shorter, or `total` longer"));
            }
        }
        let connect = connect.unwrap_or(TimeLimits::default().connect.min(total));
        TimeLimits { connect, first_token, between_chunks, total }
    }

    fn time_limit(&mut self, path: &Path, text: Option<&str>) -> Option<Nanos> {
        self.duration(path, text, (SHORTEST_TIMEOUT, LONGEST_TIMEOUT))
    }

    /// Limits on the times of tokens can be reached only where tokens are seen to come.
    pub(super) fn time_limits_need_a_stream(&mut self, file: &PlanFile) {
        let streams = file.workloads.iter().any(|(_, workload)| workload.stream.unwrap_or(true));
        if streams || file.workloads.0.is_empty() {
            return;
        }
        for (name, platform) in file.platforms.iter() {
            let path = Path::ROOT.key("platforms").key(name).key("time_limits");
            let Some(limits) = &platform.time_limits else { continue };
            for (field, limit) in [("first_token", &limits.first_token), ("between_chunks", &limits.between_chunks)] {
                if let Some(limit) = limit {
                    let message = format!("`{field}` can never be reached: no workload streams its answers");
                    let problem = Problem::new(path.key(field), message).found(limit);
                    self.add(problem.hint("limit `total` instead, or take `stream: false` out of a workload"));
                }
            }
        }
    }
}
