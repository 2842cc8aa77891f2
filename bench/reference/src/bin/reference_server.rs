//! `reference-server`: an OpenAI-compatible server whose timing is known.

use std::net::TcpListener;
use std::process::ExitCode;

use kneepoint_reference::args::Args;
use kneepoint_reference::engine::{Engine, Outcome, Settings};
use kneepoint_reference::sys::{self, Usage};
use kneepoint_reference::truth::Truth;

const HELP: &str = "reference-server: an OpenAI-compatible server whose timing is known, to measure clients with

  --listen ADDRESS      where to listen (127.0.0.1:0); the address is the first line it prints
  --ttft 50ms           from the kernel's receipt of a request to the first event
  --itl 10ms            from one event to the next
  --tokens N            tokens of an answer, where the request sets no max_tokens (128)
  --tokens-per-event N  tokens in one event (1)
  --unpaced             everything at once, in as few writes as fit
  --spread 500ms        lengthens TTFTs by up to this, so that streams that come together neither write nor end together
  --stall-at 5s         so long after the first request it freezes: reads nothing and writes nothing
  --stall-for 2s        for so long
  --spin 20us           below this time to the next event it polls instead of sleeping
  --normal-priority     does not ask for real-time scheduling
  --truth FILE          when SIGTERM ends it, writes what it knows of each request there (format: src/truth.rs)

When it ends it prints a line of JSON: what it did, and how late its own writes were.
";

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("reference-server: {message}");
            ExitCode::from(2)
        }
    }
}

fn serve() -> Result<(), String> {
    let mut args = Args::parse(std::env::args().skip(1), &["unpaced", "normal-priority"])?;
    let address = args.text("listen").unwrap_or_else(|| "127.0.0.1:0".into());
    let (stall_at, stall_for) = (args.duration("stall-at")?, args.duration("stall-for")?);
    let tokens = args.count("tokens", 0)?;
    let settings = Settings {
        ttft: args.duration("ttft")?.unwrap_or(50_000_000),
        gap: args.duration("itl")?.unwrap_or(10_000_000),
        tokens: (tokens > 0).then_some(tokens),
        tokens_per_event: args.count("tokens-per-event", 1)?.max(1),
        unpaced: args.flag("unpaced"),
        spread: args.duration("spread")?.unwrap_or(0),
        stall: stall_at.zip(stall_for),
        spin: args.duration("spin")?.unwrap_or(20_000),
    };
    let (normal, truth) = (args.flag("normal-priority"), args.text("truth").map(Truth::new));
    args.finish()?;
    sys::raise_open_files();
    let scheduling = if normal { "normal" } else { sys::raise_priority() };
    let listener = TcpListener::bind(&address).map_err(|error| format!("could not listen on {address}: {error}"))?;
    let bound = listener.local_addr().map_err(|error| error.to_string())?;
    println!("http://{bound}");
    let engine = Engine::new(settings, listener, truth).map_err(|error| error.to_string())?;
    let outcome = engine.run().map_err(|error| format!("could not go on: {error}"))?;
    println!("{}", describe(&outcome, scheduling));
    Ok(())
}

fn describe(outcome: &Outcome, scheduling: &str) -> String {
    let Outcome { connections, requests, events, cut_off, lateness, stall, busy } = outcome;
    let usage = Usage::now();
    let late = |permille| lateness.quantile_us(permille).map_or("null".to_owned(), |us| us.to_string());
    format!(
        "{{\"connections\":{connections},\"requests\":{requests},\"events\":{events},\"cut_off\":{cut_off},\
         \"late_us\":{{\"n\":{},\"p50\":{},\"p99\":{},\"p999\":{},\"max\":{}}},\"stall_ns\":[{},{}],\"busy_ns\":[{},{}],\
         \"scheduling\":\"{scheduling}\",\"cpu_s\":{:.6},\"peak_rss_kib\":{}}}",
        lateness.count(),
        late(500),
        late(990),
        late(999),
        lateness.max_us(),
        stall.0,
        stall.1,
        busy.0,
        busy.1,
        usage.cpu_s(),
        usage.peak_rss_kib,
    )
}
