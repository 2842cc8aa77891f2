//! Ctrl-C, termination, a terminal that goes away: the first lets open requests finish, the second stops at once.

use std::io;
use std::sync::Arc;

use kneepoint_load::StopSignal;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Listens from now on, on a thread of its own; `say` is called at each signal with how many came so far.
pub(crate) fn listen(stop: &Arc<StopSignal>, say: impl Fn(usize) + Send + 'static) -> io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let stop = Arc::clone(stop);
    std::thread::Builder::new().name("signals".into()).spawn(move || {
        for (count, _) in signals.forever().enumerate() {
            stop.request();
            say(count + 1);
        }
    })?;
    Ok(())
}
