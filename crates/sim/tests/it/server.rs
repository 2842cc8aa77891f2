//! The server over real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use kneepoint_model::Secret;
use kneepoint_sim::server::LogOutcome;
use kneepoint_sim::{Profile, Running, start};
use serde_json::{Value, json};

use crate::client::{Client, Response};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

fn test_profile() -> Profile {
    Profile::embedded("test").expect("listed")
}

fn run(profile: Profile) -> Running {
    start(profile, loopback()).expect("loopback has a free port")
}

/// The `test` profile with more lines of YAML.
fn with(more: &str) -> Running {
    let text = Profile::embedded_text("test").expect("listed").replace("output: {natural_mean: 20}", more);
    run(Profile::parse("test with more", &text).unwrap_or_else(|problems| panic!("{problems}")))
}

fn chat(fields: Value) -> String {
    let mut body = json!({"model": "m", "messages": [{"role": "user", "content": "one two three four"}]});
    let Value::Object(fields) = fields else { panic!("an object") };
    body.as_object_mut().expect("an object").extend(fields);
    body.to_string()
}

fn content(response: &Response) -> String {
    response.json_events().iter().filter_map(|(e, _)| e["choices"][0]["delta"]["content"].as_str()).collect()
}

#[test]
fn a_chat_stream_has_role_tokens_finish_usage_and_end() {
    let server = run(test_profile());
    let mut client = Client::connect(server.address());
    let body = chat(json!({
        "stream": true, "stream_options": {"include_usage": true}, "max_tokens": 5, "ignore_eos": true,
    }));
    let response = client.send("POST", CHAT, "x-request-id: abc\r\n", &body);
    assert_eq!(response.status, 200);
    for (name, value) in [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("x-kneepoint-simulated", "1"),
        ("server", "kneepoint-sim"),
        ("x-request-id", "abc"),
    ] {
        assert_eq!(response.header(name), Some(value), "{name}");
    }
    let events = response.json_events();
    assert_eq!(events.len(), 7, "{events:?}");
    assert_eq!(events[0].0["choices"][0]["delta"], json!({"role": "assistant", "content": ""}));
    for (i, (event, _)) in events[1..6].iter().enumerate() {
        assert_eq!(event["object"], "chat.completion.chunk");
        let choice = &event["choices"][0];
        let text = choice["delta"]["content"].as_str().expect("a token");
        assert!(text.starts_with(' ') && text.trim().len() > 2, "{text:?}");
        assert_eq!(choice["finish_reason"], if i == 4 { json!("length") } else { Value::Null });
        assert!(event.get("usage").is_none());
    }
    assert_eq!(events[6].0["choices"], json!([]));
    assert_eq!(events[6].0["usage"], json!({"prompt_tokens": 4, "total_tokens": 9, "completion_tokens": 5}));
    assert_eq!(content(&response).split_whitespace().count(), 5);
}

#[test]
fn running_usage_counts_up() {
    let server = run(test_profile());
    let options = json!({"include_usage": true, "continuous_usage_stats": true});
    let body = chat(json!({"stream": true, "stream_options": options, "max_tokens": 3, "min_tokens": 3}));
    let events = Client::connect(server.address()).post(CHAT, &body).json_events();
    let counts: Vec<_> = events.iter().map(|(e, _)| e["usage"]["completion_tokens"].as_u64()).collect();
    assert_eq!(counts, [0, 1, 2, 3, 3].map(Some));
}

#[test]
fn completions_stream_and_unary_agree() {
    let server = run(test_profile());
    let mut client = Client::connect(server.address());
    let body = json!({"model": "m", "prompt": "a b c", "max_tokens": 6, "ignore_eos": true, "stream": true});
    let streamed: String = client
        .post(COMPLETIONS, &body.to_string())
        .json_events()
        .iter()
        .map(|(e, _)| e["choices"][0]["text"].as_str().expect("text").to_owned())
        .collect();
    assert_eq!(streamed.split_whitespace().count(), 6);
    let body = json!({"model": "m", "prompt": "a b c", "max_tokens": 6, "ignore_eos": true});
    let whole = client.post(COMPLETIONS, &body.to_string());
    assert_eq!(whole.header("content-type"), Some("application/json"));
    let whole = whole.json();
    assert_eq!(whole["choices"][0]["text"].as_str().expect("text").split_whitespace().count(), 6);
    assert_eq!(whole["usage"], json!({"prompt_tokens": 3, "total_tokens": 9, "completion_tokens": 6}));
    let chat = client.post(CHAT, &chat(json!({"max_tokens": 2, "ignore_eos": true}))).json();
    assert_eq!(chat["object"], "chat.completion");
    assert_eq!(chat["choices"][0]["message"]["content"].as_str().expect("text").split_whitespace().count(), 2);
}

#[test]
fn the_same_seed_gives_the_same_answers() {
    let ask = || {
        let server = run(test_profile());
        let mut client = Client::connect(server.address());
        let body = chat(json!({"stream": true}));
        [0, 1, 2].map(|_| content(&client.post(CHAT, &body)))
    };
    let answers = ask();
    assert_eq!(answers, ask());
    assert_ne!(answers[0], answers[1]);
}

#[test]
fn nothing_is_faster_than_the_model() {
    let server = run(test_profile());
    let mut client = Client::connect(server.address());
    let body = chat(json!({"stream": true, "max_tokens": 40, "ignore_eos": true}));
    for _ in 0..3 {
        let events = client.post(CHAT, &body).json_events();
        // 1 ms + 4 prompt tokens of 1 us; then 1 ms + 10 us a token.
        for (i, (_, at)) in events[1..].iter().enumerate() {
            let model = Duration::from_micros(1004 + 1010 * i as u64);
            assert!(*at >= model, "token {i} came after {at:?}, the model says {model:?}");
        }
    }
    drop(client);
    for entry in finished(&server, 3) {
        let (received, first, last) =
            (entry.received.0, entry.first_due.expect("sent").0, entry.last_due.expect("sent").0);
        assert_eq!(first - received, 1_004_000, "the model itself is exact");
        assert_eq!(last - first, 39 * 1_010_000);
        assert!(entry.first_written.expect("sent").0 >= first && entry.last_written.expect("sent").0 >= last);
        assert_eq!((entry.sent_tokens, entry.outcome), (40, LogOutcome::Complete));
    }
}

/// The log, once it has `count` entries: the last one is written just after the client has read its answer.
fn finished(server: &Running, count: usize) -> Vec<kneepoint_sim::server::LogEntry> {
    let started = crate::client::now();
    loop {
        let entries = server.requests();
        if entries.len() >= count {
            return entries;
        }
        assert!(started.elapsed() < Duration::from_secs(10), "{} of {count} requests ended", entries.len());
        std::thread::yield_now();
    }
}

#[test]
fn the_small_paths_answer() {
    let server = run(test_profile());
    let mut client = Client::connect(server.address());
    assert_eq!(client.get("/health").status, 200);
    assert!(client.get("/version").json()["version"].is_string());
    let models = client.get("/v1/models").json();
    assert_eq!(models["data"][0]["id"], "simulated");
    assert_eq!(models["data"][0]["max_model_len"], 4096);
    client.post(CHAT, &chat(json!({"max_tokens": 2, "ignore_eos": true})));
    finished(&server, 1);
    let log = client.get("/sim/requests").json();
    assert_eq!(log["requests"][0]["sent_tokens"], 2);
    assert_eq!(log["requests"][0]["outcome"], "complete");
    let metrics = client.get("/metrics").body;
    for line in [
        "vllm:generation_tokens_total 2",
        "vllm:prompt_tokens_total 4",
        "vllm:request_success_total 1",
        "vllm:num_requests_running 0",
        "kneepoint_sim_replicas_ready 1",
    ] {
        assert!(metrics.lines().any(|l| l == line), "{line} is missing: {metrics}");
    }
    assert!(metrics.contains("\nkneepoint_sim_lag_seconds "));
}

#[test]
fn mistakes_are_answered_with_error_objects_and_the_header() {
    let server = run(test_profile().with_key(Secret::new("sk-right")));
    let mut client = Client::connect(server.address());
    let right = "authorization: Bearer sk-right\r\n";
    for (method, path, headers, body, status) in [
        ("POST", CHAT, "", "{}", 401),
        ("POST", CHAT, "authorization: Bearer sk-wrong\r\n", "{}", 401),
        ("POST", CHAT, right, "{", 400),
        ("POST", CHAT, right, "{}", 400),
        ("GET", CHAT, right, "", 405),
        ("POST", "/v1/embeddings", right, "{}", 404),
        ("GET", "/nothing", "", "", 404),
        ("POST", CHAT, right, &chat(json!({"max_tokens": 100_000})), 400),
    ] {
        let response = client.send(method, path, headers, body);
        assert_eq!(response.status, status, "{method} {path} {body}");
        assert_eq!(response.header("x-kneepoint-simulated"), Some("1"));
        let error = &response.json()["error"];
        assert!(error["message"].is_string() && error["type"].is_string(), "{error}");
        assert!(error.get("code").is_some() && error.get("param").is_some());
        assert!(!response.body.contains("sk-"));
    }
    let context = client.send("POST", CHAT, right, &chat(json!({"max_tokens": 100_000})));
    assert_eq!(context.json()["error"]["code"], "context_length_exceeded");
    assert_eq!(client.get("/health").status, 200, "health needs no key");
}

#[test]
fn an_unknown_model_is_404_only_where_the_profile_says_so() {
    let server = with("only_model: true");
    let mut client = Client::connect(server.address());
    let response = client.post(CHAT, &chat(json!({"max_tokens": 1})));
    assert_eq!((response.status, &response.json()["error"]["code"]), (404, &json!("model_not_found")));
    let known = chat(json!({"max_tokens": 1, "model": "simulated"}));
    assert_eq!(client.post(CHAT, &known).status, 200);
}

#[test]
fn a_full_queue_answers_429_with_retry_after() {
    let server = with("queue: {limit: 1, retry_after: 2500ms}\nreplicas: {min: 0, max: 1, start: 300ms}");
    // The first waits for the cold start, and fills the queue.
    let mut first = Client::connect(server.address());
    let body = chat(json!({"max_tokens": 1, "stream": true}));
    first.write("POST", CHAT, "", &body);
    let head_of_first = crate::client::now();
    // Whether it has arrived is only seen by asking.
    let mut second = Client::connect(server.address());
    let refused = loop {
        let metrics = second.get("/metrics").body;
        if metrics.lines().any(|line| line == "vllm:num_requests_waiting 1") {
            break second.post(CHAT, &body);
        }
        assert!(head_of_first.elapsed() < Duration::from_secs(10), "{metrics}");
    };
    assert_eq!((refused.status, refused.header("retry-after")), (429, Some("3")));
    assert_eq!(refused.json()["error"]["type"], "rate_limit_error");
    let answer = first.read(head_of_first).expect("an answer");
    assert_eq!(answer.status, 200);
    let (_, at) = answer.json_events().pop().expect("a token");
    assert!(at >= Duration::from_millis(290), "{at:?}: a cold start takes 300 ms");
}

#[test]
fn faults_look_as_they_are_called() {
    let body = chat(json!({"max_tokens": 20, "stream": true, "ignore_eos": true}));
    let ask = |fault: &str| {
        let server = with(&format!("faults: {{{fault}: 100%}}"));
        let response = Client::connect(server.address()).post(CHAT, &body);
        let outcome = finished(&server, 1)[0].outcome;
        assert_eq!(outcome, LogOutcome::Fault, "{fault}");
        response
    };
    assert_eq!(ask("http_500").status, 500);
    assert_eq!(ask("http_503").status, 503);
    let truncated = ask("truncate");
    assert_eq!((truncated.status, truncated.broken), (200, None));
    assert!(!truncated.body.contains("[DONE]") && !truncated.body.contains("\"length\""), "{}", truncated.body);
    let closed = ask("close");
    assert_eq!(closed.broken, Some(std::io::ErrorKind::UnexpectedEof));
    let reset = ask("reset");
    assert_eq!(reset.broken, Some(std::io::ErrorKind::ConnectionReset));
    let errored = ask("error_event");
    assert!(errored.json_events().last().expect("an event").0["error"]["message"].is_string());
}

#[test]
fn unary_faults_break_the_document() {
    let body = chat(json!({"max_tokens": 20, "ignore_eos": true}));
    let ask = |fault: &str| {
        let server = with(&format!("faults: {{{fault}: 100%}}"));
        let mut client = Client::connect(server.address());
        client.write("POST", CHAT, "", &body);
        client.read(crate::client::now())
    };
    assert_eq!(ask("error_event").expect("an answer").status, 500);
    let half = ask("truncate").expect("a head");
    assert_eq!(half.broken, Some(std::io::ErrorKind::UnexpectedEof));
    assert!(half.body.starts_with('{') && !half.body.ends_with('}'));
    assert_eq!(ask("close").expect_err("no answer"), std::io::ErrorKind::UnexpectedEof);
    assert_eq!(ask("reset").expect_err("no answer"), std::io::ErrorKind::ConnectionReset);
}

#[test]
fn a_stalled_answer_ends_with_its_client() {
    let server = with("faults: {stall: 100%}");
    let mut client = Client::connect(server.address());
    client.write("POST", CHAT, "", &chat(json!({"max_tokens": 20, "stream": true, "ignore_eos": true})));
    client.await_answer();
    drop(client);
    assert!(matches!(finished(&server, 1)[0].outcome, LogOutcome::Dropped | LogOutcome::Fault));
}

#[test]
fn a_client_that_leaves_frees_its_seat() {
    let server = run(test_profile());
    let mut client = Client::connect(server.address());
    client.write("POST", CHAT, "", &chat(json!({"max_tokens": 4000, "stream": true, "ignore_eos": true})));
    client.await_answer();
    drop(client);
    let entry = &finished(&server, 1)[0];
    assert_eq!(entry.outcome, LogOutcome::Dropped);
    assert!(entry.sent_tokens < 4000);
    let metrics = Client::connect(server.address()).get("/metrics").body;
    assert!(metrics.contains("\nkneepoint_sim_dropped_total 1\n"), "{metrics}");
}

#[test]
fn chunks_of_several_tokens_and_early_roles() {
    let server = with(
        "stream: {tokens_per_event: 4, role: at-once, keep_alive: 20ms}\nnetwork: {rtt: 1ms}\n\
                       replicas: {min: 0, max: 1, start: 100ms}",
    );
    let body = chat(json!({"max_tokens": 10, "stream": true, "ignore_eos": true}));
    let response = Client::connect(server.address()).post(CHAT, &body);
    let events = response.json_events();
    let words: Vec<usize> = events
        .iter()
        .map(|(e, _)| e["choices"][0]["delta"]["content"].as_str().expect("text").split_whitespace().count())
        .collect();
    assert_eq!(words, [0, 4, 4, 2]);
    assert!(events[0].1 < events[1].1);
    assert!(response.body.contains(": keep-alive\n\n"), "{}", response.body);
}

#[test]
fn many_at_once_all_complete_and_stop_ends_everything() {
    let server = run(test_profile());
    let address = server.address();
    let body = chat(json!({"max_tokens": 20, "stream": true, "ignore_eos": true}));
    std::thread::scope(|scope| {
        for _ in 0..32 {
            scope.spawn(|| {
                let mut client = Client::connect(address);
                for _ in 0..3 {
                    assert_eq!(content(&client.post(CHAT, &body)).split_whitespace().count(), 20);
                }
            });
        }
    });
    assert_eq!(finished(&server, 96).len(), 96);
    let mut open = Client::connect(address);
    open.write("POST", CHAT, "", &chat(json!({"max_tokens": 4000, "stream": true, "ignore_eos": true})));
    server.stop();
    // The port is free again, and the open answer was broken off.
    assert!(std::net::TcpListener::bind(address).is_ok());
    if let Ok(response) = open.read(crate::client::now()) {
        assert!(response.broken.is_some(), "{response:?}");
    }
}

#[test]
fn a_taken_address_is_an_error_that_names_it() {
    let server = run(test_profile());
    let error = start(test_profile(), server.address()).expect_err("taken");
    assert!(error.to_string().contains(&server.address().to_string()), "{error}");
}
