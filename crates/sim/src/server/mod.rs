//! A real HTTP/1.1 server around a simulated platform.
//!
//! Two threads: the *pacer* holds the platform's state and decides, against absolute deadlines, when each token may
//! leave; the *writer* (a single-threaded tokio runtime with hyper) reads requests and puts each event on the wire.
//! They share channels, counters and the request log, and nothing else.
//!
//! Written from the published API reference and the vLLM documentation, on purpose without the client's `wire` crate.

mod answer;
mod clock;
mod connection;
mod error;
mod events;
mod generation;
mod http;
mod lag;
mod log;
mod metrics;
mod pacer;
mod text;

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::JoinHandle;

use kneepoint_model::Nanos;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket};
use tokio::sync::oneshot;

pub use log::{LogEntry, LogOutcome};

use crate::platform::FleetLoad;
use crate::profile::Profile;
use clock::Clock;
use lag::LagMeter;
use log::RequestLog;
use pacer::Command;

/// Connections the kernel may hold ready for us: a load test opens thousands at once.
const BACKLOG: u32 = 4096;

/// Why a simulated platform could not be started.
#[derive(Debug, Error)]
pub enum SimError {
    /// The address is taken, or not ours.
    #[error("cannot listen on {address}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The system gives no thread or no event queue.
    #[error("cannot start the simulator's threads")]
    Threads(#[source] std::io::Error),
}

/// A running simulated platform. Stops when dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    shared: Arc<Shared>,
    shutdown: Option<oneshot::Sender<()>>,
    writer: Option<JoinHandle<()>>,
    pacer: Option<JoinHandle<()>>,
}

/// How well the simulator kept to its own deadlines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Punctuality {
    /// Events that left more than 5 ms late.
    pub late: u64,
    /// Most an event was late in the last ten seconds.
    pub lag_recent: Nanos,
    /// Most an event was late since the start.
    pub lag_max: Nanos,
}

/// What all parts of the server see.
#[derive(Debug)]
struct Shared {
    profile: Profile,
    clock: Clock,
    next_id: AtomicU64,
    commands: mpsc::Sender<Command>,
    load: Mutex<FleetLoad>,
    lag: LagMeter,
    log: RequestLog,
    counters: metrics::Counters,
}

/// Starts a simulated platform. Port 0 takes a free one, see [`Running::address`].
pub fn start(profile: Profile, address: SocketAddr) -> Result<Running, SimError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(SimError::Threads)?;
    let listener = {
        let _context = runtime.enter();
        listen(address).map_err(|source| SimError::Listen { address, source })?
    };
    let bound = listener.local_addr().map_err(|source| SimError::Listen { address, source })?;
    let (commands, inbox) = mpsc::channel();
    let clock = Clock::start();
    let shared = Arc::new(Shared {
        lag: LagMeter::default(),
        log: RequestLog::default(),
        counters: metrics::Counters::default(),
        load: Mutex::default(),
        next_id: AtomicU64::new(0),
        profile,
        clock,
        commands,
    });
    let (batches, from_pacer) = tokio::sync::mpsc::unbounded_channel();
    let pacer = spawn("kneepoint-sim-pacer", {
        let shared = Arc::clone(&shared);
        move || pacer::run(&shared, &inbox, batches)
    })?;
    let (shutdown, stopped) = oneshot::channel();
    let writer = spawn("kneepoint-sim-writer", {
        let shared = Arc::clone(&shared);
        move || {
            drop(runtime.spawn(pacer::distribute(from_pacer)));
            runtime.block_on(connection::serve(&shared, listener, stopped));
        }
    });
    // From here on dropping `Running` ends the pacer, also if there is no writer.
    let mut running = Running { address: bound, shared, shutdown: Some(shutdown), writer: None, pacer: Some(pacer) };
    running.writer = Some(writer?);
    Ok(running)
}

impl Running {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Base URL of its API, without `/v1`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How well it keeps to its own deadlines. Measurements of a simulator that is late measure the machine it runs
    /// on: whoever shows them has to say so.
    pub fn punctuality(&self) -> Punctuality {
        self.shared.lag.read(self.shared.clock.now())
    }

    /// The server's own account of the requests that have ended, oldest first; of the last 100,000 at most.
    pub fn requests(&self) -> Vec<LogEntry> {
        self.shared.log.entries()
    }

    /// Stops it: open connections are dropped, both threads end.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.shutdown.take());
        if let Some(writer) = self.writer.take() {
            // A panic of the writer has been reported on its own thread; there is nothing to add here.
            let _ = writer.join();
        }
        let _ = self.shared.commands.send(Command::Stop);
        if let Some(pacer) = self.pacer.take() {
            let _ = pacer.join();
        }
    }
}

impl Shared {
    /// A number for the next request; they count up from zero.
    fn next_id(&self) -> u64 {
        self.next_id.fetch_add(1, Ordering::Relaxed)
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, SimError> {
    std::thread::Builder::new().name(name.to_owned()).spawn(body).map_err(SimError::Threads)
}

fn listen(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}
