//! `floor-client`: the least that a client must do. It reads, counts bytes and discards.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::ExitCode;

use kneepoint_reference::args::Args;
use kneepoint_reference::sys::{self, Epoll, Events, Usage};

const HELP: &str = "floor-client: the least that a client must do: read, count bytes, discard

  --connect ADDRESS     the server, such as 127.0.0.1:8000
  --streams N           requests in flight (1)
  --requests N          how many requests in all (one per stream)
  --tokens N            max_tokens of each request (128)
  --tokens-per-event N  as the server was told (1)
  --no-stream           asks for whole answers
  --no-usage            does not ask for the usage chunk

The first answer of all tells how long an answer is, and is not measured; from then on bytes are counted and nothing is
looked at. Prints a line of JSON.
";

struct Settings {
    server: SocketAddr,
    streams: u64,
    requests: u64,
    events_per_answer: u64,
    request: Vec<u8>,
}

struct Measured {
    requests: u64,
    bytes: u64,
    reads: u64,
    elapsed_s: f64,
    cpu_s: f64,
    system_s: f64,
}

fn main() -> ExitCode {
    if std::env::args().skip(1).any(|arg| arg == "--help" || arg == "-h") {
        print!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let measured = settings().and_then(|settings| {
        let measured = measure(&settings).map_err(|error| error.to_string())?;
        Ok((settings, measured))
    });
    match measured {
        Ok((settings, measured)) => {
            println!("{}", describe(&settings, &measured));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("floor-client: {message}");
            ExitCode::from(2)
        }
    }
}

fn settings() -> Result<Settings, String> {
    let mut args = Args::parse(std::env::args().skip(1), &["no-stream", "no-usage"])?;
    let server = args.text("connect").ok_or("--connect is needed")?;
    let server = server.trim_start_matches("http://").parse().map_err(|_| format!("`{server}` is no address"))?;
    let streams = args.count("streams", 1)?.max(1);
    let requests = args.count("requests", streams)?.max(streams);
    let (tokens, per_event) = (args.count("tokens", 128)?.max(1), args.count("tokens-per-event", 1)?.max(1));
    let (whole, usage) = (args.flag("no-stream"), !args.flag("no-usage"));
    args.finish()?;
    sys::raise_open_files();
    let stream = match (whole, usage) {
        (true, _) => "",
        (false, true) => r#","stream":true,"stream_options":{"include_usage":true}"#,
        (false, false) => r#","stream":true"#,
    };
    let body = format!(
        r#"{{"model":"reference","messages":[{{"role":"user","content":"Say something."}}],"max_tokens":{tokens}{stream}}}"#
    );
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {server}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let events_per_answer = if whole { 1 } else { tokens.div_ceil(per_event) };
    Ok(Settings { server, streams, requests, events_per_answer, request: request.into_bytes() })
}

fn measure(settings: &Settings) -> io::Result<Measured> {
    let mut buffer = vec![0; 65_536];
    let answer = length_of_an_answer(settings, &mut buffer)?;
    let epoll = Epoll::new()?;
    let mut sockets = Vec::new();
    for token in 0..settings.streams {
        let socket = TcpStream::connect(settings.server)?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        epoll.add(&socket, token)?;
        sockets.push((socket, 0_usize));
    }
    let (before, started) = (Usage::now(), sys::monotonic());
    for (socket, _) in &mut sockets {
        socket.write_all(&settings.request)?;
    }
    let (mut sent, mut done, mut reads) = (settings.streams, 0, 0);
    let mut events = Events::with_room_for(1_024);
    while done < settings.requests {
        epoll.wait(&mut events, None)?;
        for i in 0..events.len() {
            let (socket, seen) = &mut sockets[usize::try_from(events.get(i).token).unwrap_or(0)];
            reads += 1;
            match socket.read(&mut buffer) {
                Ok(0) => return Err(io::Error::other("the server closed a connection")),
                Ok(n) => *seen += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
                Err(error) => return Err(error),
            }
            if *seen > answer {
                return Err(io::Error::other("an answer was longer than the first one"));
            }
            if *seen == answer {
                done += 1;
                *seen = 0;
                if sent < settings.requests {
                    sent += 1;
                    socket.write_all(&settings.request)?;
                }
            }
        }
    }
    let (after, ended) = (Usage::now(), sys::monotonic());
    Ok(Measured {
        requests: done,
        bytes: done * answer as u64,
        reads,
        elapsed_s: (ended - started) as f64 / 1e9,
        cpu_s: after.cpu_s() - before.cpu_s(),
        system_s: after.system_s - before.system_s,
    })
}

/// Reads one answer to its end: for a stream the empty chunk, else what its Content-Length says.
fn length_of_an_answer(settings: &Settings, buffer: &mut [u8]) -> io::Result<usize> {
    let mut socket = TcpStream::connect(settings.server)?;
    socket.write_all(&settings.request)?;
    let mut seen = Vec::new();
    loop {
        let n = socket.read(buffer)?;
        if n == 0 {
            return Err(io::Error::other("the server closed the first connection"));
        }
        seen.extend_from_slice(&buffer[..n]);
        let text = String::from_utf8_lossy(&seen);
        let Some(head) = text.find("\r\n\r\n") else { continue };
        let length = text[..head].lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
        let ended = length.map_or(seen.ends_with(b"\r\n0\r\n\r\n"), |length| seen.len() >= head + 4 + length);
        if ended {
            return Ok(seen.len());
        }
    }
}

fn describe(settings: &Settings, measured: &Measured) -> String {
    let Measured { requests, bytes, reads, elapsed_s, cpu_s, system_s } = measured;
    let events = requests * settings.events_per_answer;
    format!(
        "{{\"streams\":{},\"requests\":{requests},\"events\":{events},\"bytes\":{bytes},\"reads\":{reads},\
         \"elapsed_s\":{elapsed_s:.6},\"events_per_s\":{:.1},\"requests_per_s\":{:.1},\"cpu_s\":{cpu_s:.6},\
         \"system_s\":{system_s:.6},\"cpu_us_per_event\":{:.4},\"events_per_cpu_s\":{:.1},\"peak_rss_kib\":{}}}",
        settings.streams,
        events as f64 / elapsed_s,
        *requests as f64 / elapsed_s,
        cpu_s * 1e6 / events as f64,
        events as f64 / cpu_s,
        Usage::now().peak_rss_kib,
    )
}
