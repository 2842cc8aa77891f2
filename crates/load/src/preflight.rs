//! Before a run: whether this machine can carry the load of the plan, and what to do where it cannot.
//!
//! Judges figures that are handed in, and so can be tried with any machine. How long a request stays in flight is not
//! known before a run: what is said rests either on what the plan itself fixes (a concurrency, `max_in_flight`, the time
//! limits) or on one stated assumption about a platform that is well, and each finding says which.

use std::fmt;

use kneepoint_model::plan::{ConnectionPolicy, Level, Point};
use kneepoint_model::{Nanos, Plan};

use crate::host;

/// Time to the first token that is assumed of a platform that is well.
const ASSUMED_TTFT: Nanos = Nanos::from_millis(500);
/// Output tokens a second that are assumed of each stream of such a platform.
const ASSUMED_TOKENS_PER_S: f64 = 50.0;
/// Descriptors of the process that are not requests: journal, polls, timers, standard streams, the tokenizer's file.
const OTHER_FILES: u64 = 64;
/// How long Linux keeps the port of a connection that this side closed.
const TIME_WAIT: Nanos = Nanos::from_secs(60);
/// What a request in flight takes of this machine's memory, the kernel's buffers included.
const BYTES_IN_FLIGHT: u64 = 64 * 1024;
const MIB: u64 = 1 << 20;
/// Share of the memory that requests in flight may take.
const MEMORY_SHARE: f64 = 0.5;
/// Token events a second that one core is expected to keep up with; `kneepoint calibrate` measures it.
const EVENTS_PER_CORE: f64 = 50_000.0;
/// A limit that only a platform slower than this many times the assumption would reach is not worth a word.
const SLOWER: f64 = 20.0;

/// What a machine allows this process. `None`: no limit, or the system does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MachineLimits {
    /// Open files.
    pub files: Option<u64>,
    /// Ephemeral ports: connections at a time to one address.
    pub ports: Option<u64>,
    /// Logical cores.
    pub cores: usize,
    /// Main memory, bytes.
    pub memory_bytes: Option<u64>,
}

impl MachineLimits {
    /// Those of this machine, after the limit on open files was raised as far as it goes.
    pub fn here() -> Self {
        let memory = host::describe().memory_bytes;
        let container = read("/sys/fs/cgroup/memory.max").and_then(|text| text.trim().parse().ok());
        Self {
            files: host::raise_file_limit(),
            ports: read("/proc/sys/net/ipv4/ip_local_port_range").and_then(|text| ports(&text)),
            cores: host::cores(),
            memory_bytes: memory.into_iter().chain(container).min(),
        }
    }
}

fn read(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// How many ports a range such as `32768  60999` holds.
fn ports(range: &str) -> Option<u64> {
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
    last.checked_sub(first).map(|more| more + 1)
}

/// Something a machine has only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// Open files: every connection holds one.
    Descriptors,
    /// Ephemeral ports: every connection holds one, and after its end for another minute.
    Ports,
    /// Processors.
    Cores,
    /// Main memory.
    Memory,
}

/// How sure it is that a limit is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// It can be met, or it makes figures less exact.
    Warning,
    /// The plan as written meets it: requests will be late or dropped.
    Problem,
}

/// Something to know before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preflight {
    /// Of what there is too little.
    pub resource: Resource,
    /// How sure that is.
    pub severity: Severity,
    /// What is needed and what there is, one sentence without its full stop.
    pub finding: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for Preflight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.finding, self.fix)
    }
}

/// Checks a plan's load against a machine; `points` are [`Plan::points`]. At most one finding a resource, the gravest, in
/// a fixed order. The rates that a search may reach are looked at as well, and never make more than a warning.
pub fn preflight(plan: &Plan, points: &[Point], limits: &MachineLimits) -> Vec<Preflight> {
    let searched = searched(plan);
    let all = || points.iter().map(|point| (point, false)).chain(searched.iter().map(|point| (point, true)));
    let gravest = |check: &dyn Fn(&Point) -> Option<Preflight>| {
        let found = all().filter_map(|(point, is_searched)| {
            let found = check(point)?;
            Some(if is_searched { of_search(found) } else { found })
        });
        // The first of the gravest: `max_by_key` would give the last.
        found.reduce(|best, next| if next.severity > best.severity { next } else { best })
    };
    [
        gravest(&|point| descriptors(plan, point, limits)),
        gravest(&|point| ports_in_use(plan, point, points, limits)),
        one_core(limits).or_else(|| gravest(&|point| cores(plan, point, limits))),
        gravest(&|point| memory(plan, point, limits)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn of_search(found: Preflight) -> Preflight {
    Preflight {
        severity: Severity::Warning,
        finding: format!("should the search go that far: {}", found.finding),
        ..found
    }
}

/// The highest rate of every search, as points.
pub(crate) fn searched(plan: &Plan) -> Vec<Point> {
    let mut points = Vec::new();
    for platform in 0..plan.platforms.len() {
        for workload in 0..plan.workloads.len() {
            for (index, load) in plan.loads.iter().enumerate() {
                points.extend(load.search.map(|search| {
                    let level = Level::Rate { rate: search.at_most, arrival: search.arrival };
                    load.point(platform, workload, index, level)
                }));
            }
        }
    }
    points
}

/// Requests in flight at a point of a platform that is well: what the plan says, else rate × the assumed time in flight,
/// which is half a second to the first token and 50 tokens a second after it, within the platform's time limit.
pub(crate) fn likely_in_flight(plan: &Plan, point: &Point) -> u64 {
    match point.level {
        Level::Concurrency(n) => u64::from(n),
        Level::Rate { rate, .. } => {
            let held_to = point.max_in_flight.map_or(u64::MAX, u64::from);
            whole(rate.get() * assumed_in_flight(plan, point).as_secs_f64()).clamp(1, held_to)
        }
    }
}

fn assumed_in_flight(plan: &Plan, point: &Point) -> Nanos {
    let tokens = plan.workloads[point.workload].output.0;
    let generation = Nanos::from_secs_f64(tokens as f64 / ASSUMED_TOKENS_PER_S);
    (ASSUMED_TTFT + generation).min(plan.platforms[point.platform].time_limits.total)
}

/// What fixes the number of requests in flight, and how many they can be.
struct InFlight {
    likely: u64,
    /// The most there can be.
    most: u64,
    /// Whether that is fixed by the plan, and not by how fast the platform is.
    is_fixed: bool,
    /// Why there can be so many, in words.
    why: String,
}

fn in_flight(plan: &Plan, point: &Point) -> InFlight {
    let likely = likely_in_flight(plan, point);
    match (point.level, point.max_in_flight) {
        (Level::Concurrency(n), _) => InFlight {
            likely,
            most: likely,
            is_fixed: true,
            why: format!("concurrency {n} keeps {n} requests in flight"),
        },
        (Level::Rate { rate, .. }, held_to) => {
            let total = plan.platforms[point.platform].time_limits.total;
            let unheld = whole(rate.get() * total.as_secs_f64()).max(1);
            let most = held_to.map_or(unheld, |held_to| unheld.min(u64::from(held_to)));
            let why = if most < unheld {
                format!("at {rate} req/s `max_in_flight` lets {most} requests be in flight")
            } else {
                format!(
                    "at {rate} req/s a platform that answers none lets {most} requests be in flight until they pass the time limit of {total}"
                )
            };
            InFlight { likely, most, is_fixed: false, why }
        }
    }
}

fn descriptors(plan: &Plan, point: &Point, limits: &MachineLimits) -> Option<Preflight> {
    let files = limits.files?;
    let allowed = files.saturating_sub(OTHER_FILES);
    let found = short_of(plan, point, allowed, "open files", &format!("this process may have {files}"))?;
    let wanted = (in_flight(plan, point).most + OTHER_FILES).next_power_of_two().max(65_536);
    let fix =
        format!("raise the limit before the run: `ulimit -n {wanted}` (as root, or in /etc/security/limits.conf)");
    Some(Preflight { resource: Resource::Descriptors, fix, ..found })
}

/// The finding that there are more requests in flight than connections allowed; resource and fix are the caller's.
fn short_of(plan: &Plan, point: &Point, allowed: u64, what: &str, limit: &str) -> Option<Preflight> {
    let InFlight { likely, most, is_fixed, why } = in_flight(plan, point);
    if most <= allowed {
        return None;
    }
    let finding =
        |severity, finding| Some(Preflight { resource: Resource::Descriptors, severity, finding, fix: String::new() });
    if is_fixed {
        return finding(Severity::Problem, format!("{why}, which is more than the {what} allow: {limit}"));
    }
    let assumed = assumed_in_flight(plan, point);
    if likely > allowed {
        let finding_text = format!(
            "{likely} requests would be in flight even if each took only {assumed}, which is more than the {what} allow: {limit}"
        );
        return finding(Severity::Problem, finding_text);
    }
    // Only a platform far slower than assumed gets there, and its point is overloaded by then.
    if allowed as f64 > likely as f64 * SLOWER {
        return None;
    }
    finding(Severity::Warning, format!("{why}, which is more than the {what} allow: {limit}"))
}

fn ports_in_use(plan: &Plan, point: &Point, points: &[Point], limits: &MachineLimits) -> Option<Preflight> {
    let ports = limits.ports?;
    let widen = "`sysctl -w net.ipv4.ip_local_port_range=\"1024 65535\"`";
    if plan.platforms[point.platform].connection == ConnectionPolicy::KeepAlive {
        let found = short_of(plan, point, ports, "ports", &format!("there are {ports} ephemeral ones"))?;
        return Some(Preflight { resource: Resource::Ports, fix: format!("widen their range: {widen}"), ..found });
    }
    let in_flight = likely_in_flight(plan, point);
    let per_second = new_connections(plan, point);
    // What went before waits too, but no more connections can wait than the whole run makes in so short a time.
    let made: f64 = points.iter().map(|point| new_connections(plan, point) * length(point).as_secs_f64()).sum();
    let own = per_second * length(point).as_secs_f64();
    let waiting = whole((per_second * TIME_WAIT.as_secs_f64()).min(made.max(own)));
    let needed = waiting.saturating_add(in_flight);
    if needed <= ports {
        return None;
    }
    // A rate opens so many whatever the platform does; a closed loop opens as many as the platform answers.
    let severity = match point.level {
        Level::Rate { .. } => Severity::Problem,
        Level::Concurrency(_) => Severity::Warning,
    };
    let finding = format!(
        "a new connection for every request, about {per_second:.0} a second, holds {needed} ports, as each stays taken for \
         {TIME_WAIT} after its end, and there are {ports} ephemeral ones"
    );
    let fix = format!(
        "keep connections (`connection: keep-alive`), or widen the range: {widen}, and let ports be taken again: `sysctl -w net.ipv4.tcp_tw_reuse=1`"
    );
    Some(Preflight { resource: Resource::Ports, severity, finding, fix })
}

/// New connections a second where each request has its own: the rate, or what a closed loop makes of the assumption.
fn new_connections(plan: &Plan, point: &Point) -> f64 {
    if plan.platforms[point.platform].connection == ConnectionPolicy::KeepAlive {
        return 0.0;
    }
    requests_per_second(plan, point)
}

fn requests_per_second(plan: &Plan, point: &Point) -> f64 {
    match point.level {
        Level::Rate { rate, .. } => rate.get(),
        Level::Concurrency(n) => f64::from(n) / assumed_in_flight(plan, point).as_secs_f64().max(1e-3),
    }
}

/// How long a point sends at least; the worst case of a closed loop is longer and is not assumed.
fn length(point: &Point) -> Nanos {
    let hold = &point.hold;
    let samples = match point.level {
        Level::Rate { rate, .. } => Nanos::from_secs_f64(hold.min_samples as f64 / rate.get()),
        Level::Concurrency(_) => Nanos::ZERO,
    };
    hold.warm_up + hold.at_least.max(samples.min(hold.at_most))
}

fn one_core(limits: &MachineLimits) -> Option<Preflight> {
    (limits.cores <= 1).then(|| Preflight {
        resource: Resource::Cores,
        severity: Severity::Warning,
        finding: "there is one core, which sending and receiving share with the journal and everything else here"
            .into(),
        fix: "measure from a machine with two or more, and see with `kneepoint calibrate` what this one keeps".into(),
    })
}

/// Whether the cores left to the workers are expected to keep up with the token events.
fn cores(plan: &Plan, point: &Point, limits: &MachineLimits) -> Option<Preflight> {
    let workload = &plan.workloads[point.workload];
    if !workload.stream {
        return None;
    }
    let events = requests_per_second(plan, point) * workload.output.0 as f64;
    let workers = limits.cores.saturating_sub(1).max(1);
    if events <= workers as f64 * EVENTS_PER_CORE {
        return None;
    }
    Some(Preflight {
        resource: Resource::Cores,
        severity: Severity::Warning,
        finding: format!(
            "about {events:.0} token events a second are planned, if the platform keeps up, and {EVENTS_PER_CORE:.0} are \
             expected of each of the {workers} cores that send and receive"
        ),
        fix: "see with `kneepoint calibrate` what this machine keeps, or measure from one with more cores".into(),
    })
}

fn memory(plan: &Plan, point: &Point, limits: &MachineLimits) -> Option<Preflight> {
    let memory = limits.memory_bytes?;
    let in_flight = likely_in_flight(plan, point);
    let needed = in_flight.saturating_mul(BYTES_IN_FLIGHT);
    if needed as f64 <= memory as f64 * MEMORY_SHARE {
        return None;
    }
    Some(Preflight {
        resource: Resource::Memory,
        severity: Severity::Warning,
        finding: format!(
            "{in_flight} requests in flight take about {} MiB with the kernel's buffers, and there are {} MiB",
            needed / MIB,
            memory / MIB
        ),
        fix:
            "plan fewer requests in flight (`max_in_flight`, a lower level), or measure from a machine with more memory"
                .into(),
    })
}

/// Rounded up; counts past the range saturate.
fn whole(count: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates, as the doc says")]
    let whole = count.ceil() as u64;
    whole
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kneepoint_model::plan::ResolveContext;

    use super::*;

    const AMPLE: MachineLimits =
        MachineLimits { files: Some(1 << 20), ports: Some(28_232), cores: 8, memory_bytes: Some(16 << 30) };

    fn plan(platform: &str, output: u64, load: &str) -> Plan {
        let text = format!(
            "{{kneepoint: 1, model: {{id: m}}, platforms: {{p: {{url: 'http://127.0.0.1:1'{platform}}}}}, \
             workloads: {{w: {{input: 4, output: {output}}}}}, slo: {{fast: {{ttft: 1s}}}}, load: [{load}]}}"
        );
        let context = ResolveContext { base_dir: Path::new("/"), env: &|_| None };
        kneepoint_model::plan::resolve("test", &text, &context).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn found(plan: &Plan, limits: &MachineLimits) -> Vec<Preflight> {
        preflight(plan, &plan.points(), limits)
    }

    /// The one finding there is.
    #[track_caller]
    fn only(plan: &Plan, limits: &MachineLimits, resource: Resource, severity: Severity) -> Preflight {
        let all = found(plan, limits);
        assert_eq!(all.len(), 1, "{all:?}");
        assert_eq!((all[0].resource, all[0].severity), (resource, severity), "{all:?}");
        all[0].clone()
    }

    #[test]
    fn an_ordinary_plan_on_an_ordinary_machine_is_fine() {
        assert_eq!(found(&plan("", 256, "{rate: {sweep: [1, 100]}}, {concurrency: {sweep: [1000]}}"), &AMPLE), []);
        let unknown = MachineLimits { files: None, ports: None, cores: 2, memory_bytes: None };
        assert_eq!(found(&plan("", 256, "{rate: {sweep: [1, 100]}}"), &unknown), []);
    }

    #[test]
    fn a_concurrency_above_the_descriptors_is_certain() {
        let limits = MachineLimits { files: Some(1024), ..AMPLE };
        assert_eq!(found(&plan("", 16, "{concurrency: {sweep: [960]}}"), &limits), []);
        let said =
            only(&plan("", 16, "{concurrency: {sweep: [961]}}"), &limits, Resource::Descriptors, Severity::Problem);
        assert!(said.finding.contains("concurrency 961") && said.finding.contains("1024"), "{said}");
        assert!(said.fix.contains("ulimit -n 65536"), "{said}");
    }

    #[test]
    fn a_rate_above_the_descriptors_is_certain_even_if_the_platform_is_well() {
        let limits = MachineLimits { files: Some(1024), ..AMPLE };
        // 500 req/s, each half a second and 100 tokens at 50/s: 1,250 in flight.
        let said = only(&plan("", 100, "{rate: {sweep: [500]}}"), &limits, Resource::Descriptors, Severity::Problem);
        assert!(said.finding.contains("1250 requests") && said.finding.contains("2500ms"), "{said}");
    }

    #[test]
    fn the_limit_that_binds_is_named() {
        let limits = MachineLimits { files: Some(1024), ..AMPLE };
        // 100 req/s are 250 in flight; a platform that answers none gets to 12,000 within its two minutes.
        let said = only(&plan("", 100, "{rate: {sweep: [100]}}"), &limits, Resource::Descriptors, Severity::Warning);
        assert!(said.finding.contains("12000 requests") && said.finding.contains("2m"), "{said}");
        let short = plan(", request_timeout: 5s", 100, "{rate: {sweep: [100]}}");
        assert_eq!(found(&short, &limits), []);
    }

    #[test]
    fn a_cap_on_what_is_in_flight_binds_before_the_time_limit() {
        let limits = MachineLimits { files: Some(1024), ..AMPLE };
        // 1,250 in flight if the platform is well, and the plan lets no more than 900 be.
        assert_eq!(found(&plan("", 100, "{rate: {sweep: [500], max_in_flight: 900}}"), &limits), []);
        let capped = plan("", 100, "{rate: {sweep: [100], max_in_flight: 2000}}");
        let said = only(&capped, &limits, Resource::Descriptors, Severity::Warning);
        assert!(said.finding.contains("`max_in_flight` lets 2000 requests"), "{said}");
    }

    #[test]
    fn what_a_search_may_reach_is_a_warning_at_most() {
        let limits = MachineLimits { files: Some(1024), ..AMPLE };
        let search = plan("", 100, "{search: {slo: fast, from: 1/s, up_to: 1000/s}}");
        assert_eq!(search.points(), []);
        let said = only(&search, &MachineLimits { ports: None, ..limits }, Resource::Descriptors, Severity::Warning);
        assert!(said.finding.contains("the search") && said.finding.contains("2500 requests"), "{said}");
    }

    #[test]
    fn a_new_connection_each_uses_ports_up() {
        let fresh = ", connection: per-request";
        let said =
            only(&plan(fresh, 16, "{rate: {sweep: [1000], for: 2m}}"), &AMPLE, Resource::Ports, Severity::Problem);
        assert!(said.finding.contains("1000 a second") && said.fix.contains("ip_local_port_range"), "{said}");
        // So short a run does not fill them: 7,500 connections in all.
        let brief = plan(fresh, 16, "{rate: {sweep: [1000], for: 5s, warm_up: 2500ms, min_samples: 100}}");
        assert_eq!(found(&brief, &AMPLE), []);
        assert_eq!(found(&plan("", 16, "{rate: {sweep: [1000], for: 2m}}"), &AMPLE), []);
        // How many a closed loop makes depends on the platform.
        let closed = plan(fresh, 10, "{concurrency: {sweep: [1000], for: 2m}}");
        let _ = only(&closed, &AMPLE, Resource::Ports, Severity::Warning);
    }

    #[test]
    fn more_kept_connections_than_ports_is_certain() {
        let limits = MachineLimits { ports: Some(1000), ..AMPLE };
        let said = only(&plan("", 16, "{concurrency: {sweep: [2000]}}"), &limits, Resource::Ports, Severity::Problem);
        assert!(said.finding.contains("1000 ephemeral"), "{said}");
    }

    #[test]
    fn one_core_is_worth_a_word() {
        let limits = MachineLimits { cores: 1, ..AMPLE };
        let _ = only(&plan("", 16, "{rate: {sweep: [1]}}"), &limits, Resource::Cores, Severity::Warning);
        let busy = plan("", 1000, "{rate: {sweep: [400], for: 1s}}");
        let said = only(&busy, &MachineLimits { ports: None, ..AMPLE }, Resource::Cores, Severity::Warning);
        assert!(said.finding.contains("400000 token events") && said.finding.contains("7 cores"), "{said}");
    }

    #[test]
    fn streams_take_memory() {
        let limits = MachineLimits { memory_bytes: Some(512 << 20), ..AMPLE };
        let said = only(&plan("", 16, "{concurrency: {sweep: [8000]}}"), &limits, Resource::Memory, Severity::Warning);
        assert!(said.finding.contains("500 MiB") && said.finding.contains("512 MiB"), "{said}");
    }

    #[test]
    fn a_range_of_ports_is_counted_with_both_ends() {
        assert_eq!(ports("32768\t60999\n"), Some(28_232));
        assert_eq!(ports("60999 32768"), None);
        assert_eq!(ports("none"), None);
    }

    #[test]
    fn this_machine_has_limits() {
        let here = MachineLimits::here();
        assert!(here.cores >= 1);
        assert!(!cfg!(target_os = "linux") || here.ports.is_some_and(|ports| ports > 0));
    }
}
