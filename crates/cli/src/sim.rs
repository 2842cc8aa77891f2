//! `kneepoint sim`: the simulated platform by itself.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use kneepoint_load::{Stop, StopSignal};
use kneepoint_report::Console;
use kneepoint_sim::{Profile, Running};

use crate::exit::{Ended, Failed, Result};
use crate::output::Output;
use crate::signals;

/// Serve a simulated platform.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  kneepoint sim                                  # profile `fast` on 127.0.0.1:8700
  kneepoint sim --profile serverless --port 0    # any free port; the address is printed
  kneepoint sim --profile my-profile.yaml
  kneepoint sim --list")]
pub(crate) struct SimArgs {
    /// An embedded profile's name, or a profile file
    #[arg(long, default_value = "fast")]
    profile: String,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    host: std::net::IpAddr,
    /// Port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8700)]
    port: u16,
    /// List the embedded profiles
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &SimArgs, output: Output) -> Result<Ended> {
    if args.list {
        Output::data(&names("\n"))?;
        return Ok(Ended::Fine);
    }
    let profile = load(&args.profile)?;
    let address = SocketAddr::new(args.host, args.port);
    let running = kneepoint_sim::start(profile, address)
        .map_err(|error| Failed::usage(error).hint("`--port 0` takes any free port"))?;
    let stop = Arc::new(StopSignal::default());
    signals::listen(&stop, |_| {}).map_err(Failed::measurement)?;
    Output::data(&format!("http://{}", running.address()))?;
    output.tell(Console::SimServing, &[]);
    while stop.asked() == Stop::No {
        std::thread::sleep(Duration::from_millis(50));
    }
    warn_if_late(&args.profile, &running, output);
    running.stop();
    Ok(Ended::Fine)
}

/// A simulator that could not keep its own schedule did not deliver what its profile says.
pub(crate) fn warn_if_late(name: &str, running: &Running, output: Output) {
    let punctuality = running.punctuality();
    if punctuality.late > 0 {
        let lag = format!("{:.1}", punctuality.lag_max.as_millis_f64());
        output.tell(Console::SimLate, &[("name", name), ("lag", &lag)]);
    }
}

fn names(separator: &str) -> String {
    Profile::names().collect::<Vec<_>>().join(separator)
}

/// An embedded profile, or else a file.
fn load(name: &str) -> Result<Profile> {
    if let Some(profile) = Profile::embedded(name) {
        return Ok(profile);
    }
    let path = PathBuf::from(name);
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("`{name}` is neither an embedded profile nor a file that can be read"))
        .map_err(|error| Failed::usage(error).hint(format!("embedded profiles: {}", names(", "))))?;
    Profile::parse(name, &text).map_err(Failed::usage)
}
