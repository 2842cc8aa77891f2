//! Whole runs in virtual time: the schedule, the driver, the journal and the rules that end things, as they are, over hours
//! that pass in seconds. Only sockets and the clock are stood in for.

mod capacity;
mod soak;
mod time;
mod world;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use kneepoint_model::bundle::{self, LimitReached, PlatformEnvironment, PointEnded};
use kneepoint_model::plan::{LengthControl, Level, Plan, Point, ResolveContext};
use kneepoint_model::{Arrivals, Nanos, PointSchedule, Prompt, Record, RequestSource, Tokens};
use kneepoint_wire::transport::Endpoint;

use crate::account::Account;
use crate::clock::{Clock, Time};
use crate::journal::Journal;
use crate::probe::{self, ProbeAnswer, Probed};
use crate::session::Session;
use crate::stop::StopSignal;
use time::VirtualTime;
use world::{Service, VirtualWorld};

/// What a run left.
struct Left {
    ended: Vec<PointEnded>,
    skipped: BTreeSet<u32>,
    limit: Option<LimitReached>,
    directory: tempfile::TempDir,
}

impl Left {
    /// Every record, one at a time.
    fn records(&self) -> impl Iterator<Item = Record> + use<> {
        let file = std::fs::File::open(self.directory.path().join(bundle::REQUESTS)).expect("records");
        let text = std::io::BufReader::new(zstd::Decoder::new(file).expect("zstd"));
        std::io::BufRead::lines(text).map(|line| serde_json::from_str(&line.expect("text")).expect("a record"))
    }
}

/// A plan for one platform, with the lines given for `load` and what follows it.
fn plan(rest: &str) -> Plan {
    let text = format!(
        "kneepoint: 1\nname: test\nmodel: {{id: m}}\nplatforms:\n  p: {{url: 'http://127.0.0.1:9/v1', length_control: natural, \
         price: {{currency: USD, per_million_output: 10}}}}\nworkloads:\n  w: {{input: 4, output: 4}}\n{rest}"
    );
    let context = ResolveContext { base_dir: Path::new("."), env: &|_| None };
    kneepoint_model::plan::resolve("test", &text, &context).expect("a good plan")
}

/// Runs a plan against a server that serves as `service` says. `look` is called at every sign of progress.
fn run(plan: &Plan, service: Service, look: &mut dyn FnMut(Nanos)) -> Left {
    let time = VirtualTime::start();
    let clock = Clock::of(time);
    let directory = tempfile::tempdir().expect("a temporary folder");
    let source: Arc<dyn RequestSource> = Arc::new(Constant);
    let journal = Journal::open(directory.path(), Arc::clone(&source), clock).expect("a journal");
    let template =
        probe::template(&plan.platforms[0], &plan.workloads[0], "m", LengthControl::Natural).expect("a target");
    let probed = [Probed {
        endpoint: Endpoint::resolve(template.target(), None, || Nanos::ZERO).expect("an address"),
        environment: PlatformEnvironment {
            observed: bundle::Observed { length_control: LengthControl::Natural, ..bundle::Observed::default() },
            ..PlatformEnvironment::default()
        },
        kernel_stamps: false,
        answer: ProbeAnswer::default(),
    }];
    let mut session = Session {
        plan,
        source: &source,
        journal: &journal,
        clock,
        stop: &Arc::new(StopSignal::default()),
        workers: 1,
        world: || Ok(VirtualWorld::new(time, service)),
        account: Arc::new(Account::new(plan)),
        probed: &probed,
        ended: Vec::new(),
        skipped: BTreeSet::new(),
    };
    session.run(&mut |_| look(time.now())).expect("runs");
    let (limit, ended, skipped) = (session.limit(), session.ended, session.skipped);
    journal.close().expect("closes");
    Left { ended, skipped, limit, directory }
}

/// Short prompts at equal gaps.
#[derive(Debug)]
struct Constant;

impl RequestSource for Constant {
    fn prompt(&self, point: usize, _: &Point, index: u64) -> Prompt {
        let text = format!("request {point} {index}").into();
        Prompt { text, target_input: Tokens(4), local_input: None, output: Tokens(4) }
    }

    fn count(&self, _: &str) -> Option<Tokens> {
        None
    }

    fn schedule(&self, number: usize, point: &Point) -> Option<PointSchedule> {
        let Level::Rate { rate, .. } = point.level else { return None };
        let hold = point.hold;
        let enough = Nanos::from_secs_f64(hold.min_samples as f64 / rate.get()).min(hold.at_most);
        let window_start = hold.warm_up;
        let window_end = window_start + hold.at_least.max(enough);
        let before = |end: Nanos| self.arrivals(number, point).take_while(|at| *at < end).count() as u64;
        let (arrivals, warm_up) = (before(window_end), before(window_start));
        Some(PointSchedule { arrivals, measured: arrivals - warm_up, window_start, window_end })
    }

    fn arrivals(&self, _: usize, point: &Point) -> Arrivals {
        let Level::Rate { rate, .. } = point.level else { return Box::new(std::iter::empty()) };
        Box::new((0_u64..).map(move |i| Nanos::from_secs_f64(i as f64 / rate.get())))
    }
}
