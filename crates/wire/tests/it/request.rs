//! Requests are what the plan says: parsed back by independent means.

use std::collections::BTreeMap;

use kneepoint_model::plan::{
    ConnectionPolicy, Dialect, HeaderText, HttpVersion, LengthControl, Platform, SecretRef, TimeLimits, Workload,
};
use kneepoint_model::{Prompt, Secret, Tokens};
use kneepoint_wire::request::{RequestTemplate, TemplateError};
use proptest::prelude::*;
use serde_json::{Value, json};

fn platform() -> Platform {
    Platform {
        name: "p".into(),
        dialect: Dialect::OpenaiChat,
        url: "http://127.0.0.1:8000".into(),
        key: None,
        model: None,
        headers: Vec::new(),
        body: serde_json::Map::new(),
        connection: ConnectionPolicy::KeepAlive,
        ca: None,
        length_control: LengthControl::Auto,
        time_limits: TimeLimits::default(),
        http: HttpVersion::Http1,
        rtt_probe: false,
        price: None,
        declares: BTreeMap::new(),
    }
}

fn workload(stream: bool) -> Workload {
    Workload { name: "w".into(), input: Tokens(8), output: Tokens(16), stream }
}

fn prompt(text: &str) -> Prompt {
    Prompt { text: text.into(), target_input: Tokens(8), local_input: None, output: Tokens(16) }
}

fn secret(value: &str) -> SecretRef {
    SecretRef { variable: "KEY".into(), value: Secret::new(value) }
}

/// Head lines and parsed body of a request; its length must be what its head says.
#[track_caller]
fn parse(request: &[u8]) -> (Vec<String>, Value) {
    let text = std::str::from_utf8(request).expect("text");
    let (head, body) = text.split_once("\r\n\r\n").expect("a blank line");
    let lines: Vec<String> = head.split("\r\n").map(str::to_owned).collect();
    let length = lines.iter().find_map(|line| line.strip_prefix("Content-Length: ")).expect("a length");
    assert_eq!(length.parse(), Ok(body.len()));
    (lines, serde_json::from_str(body).expect("JSON"))
}

#[track_caller]
fn render(platform: &Platform, stream: bool, length: LengthControl) -> (Vec<String>, Value) {
    let template = RequestTemplate::new(platform, &workload(stream), "m", length).expect("a valid plan");
    let mut request = Vec::new();
    template.render(&prompt("Say \"hi\"\n"), &mut request);
    parse(&request)
}

#[test]
fn a_chat_request_in_full() {
    let (head, body) = render(&platform(), true, LengthControl::IgnoreEos);
    assert_eq!(
        head,
        [
            "POST /v1/chat/completions HTTP/1.1".to_owned(),
            "Host: 127.0.0.1:8000".into(),
            format!("User-Agent: kneepoint/{}", env!("CARGO_PKG_VERSION")),
            "Accept: text/event-stream".into(),
            "Content-Type: application/json".into(),
            "Accept-Encoding: identity".into(),
            "Connection: keep-alive".into(),
            "Content-Length: 155".into(),
        ]
    );
    assert_eq!(
        body,
        json!({
            "model": "m",
            "messages": [{"role": "user", "content": "Say \"hi\"\n"}],
            "max_tokens": 16,
            "stream": true,
            "stream_options": {"include_usage": true},
            "ignore_eos": true,
        })
    );
}

#[test]
fn a_unary_completion_that_closes() {
    let platform = Platform {
        dialect: Dialect::OpenaiCompletions,
        connection: ConnectionPolicy::PerRequest,
        model: Some("theirs".into()),
        ..platform()
    };
    let (head, body) = render(&platform, false, LengthControl::MinTokens);
    assert_eq!(head[0], "POST /v1/completions HTTP/1.1");
    assert!(head.contains(&"Connection: close".to_owned()) && head.contains(&"Accept: application/json".to_owned()));
    let expect =
        json!({"model": "theirs", "prompt": "Say \"hi\"\n", "max_tokens": 16, "min_tokens": 16, "stream": false});
    assert_eq!(body, expect);
}

#[test]
fn the_plans_own_fields_win() {
    let fields = json!({"temperature": 0.5, "stream_options": null, "ignore_eos": false, "max_completion_tokens": 9});
    let Value::Object(body) = fields else { unreachable!("it is an object") };
    let (_, body) = render(&Platform { body, ..platform() }, true, LengthControl::IgnoreEos);
    let expect = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "Say \"hi\"\n"}],
        "stream": true,
        "ignore_eos": false,
        "temperature": 0.5,
        "max_completion_tokens": 9,
    });
    assert_eq!(body, expect);
}

#[test]
fn the_plans_own_headers_win() {
    let headers = vec![
        ("user-agent".to_owned(), HeaderText::Plain("mine/1".into())),
        ("host".to_owned(), HeaderText::Plain("virtual".into())),
        ("authorization".to_owned(), HeaderText::Secret(secret("Basic abc"))),
    ];
    let (head, _) =
        render(&Platform { headers, key: Some(secret("sk-1")), ..platform() }, true, LengthControl::Natural);
    for name in ["user-agent", "host", "authorization"] {
        let n = head.iter().filter(|line| line.to_ascii_lowercase().starts_with(name)).count();
        assert_eq!(n, 1, "{name}");
    }
    assert!(head.contains(&"authorization: Basic abc".to_owned()));
}

#[test]
fn secrets_are_sent_and_never_shown() {
    let headers = vec![("X-Token".to_owned(), HeaderText::Secret(secret("t0p")))];
    let platform = Platform { headers, key: Some(secret("sk-123")), ..platform() };
    let template = RequestTemplate::new(&platform, &workload(true), "m", LengthControl::Natural).expect("valid");
    let mut sent = Vec::new();
    template.render(&prompt("tell me sk-123"), &mut sent);
    let (head, _) = parse(&sent);
    assert!(head.contains(&"Authorization: Bearer sk-123".to_owned()) && head.contains(&"X-Token: t0p".to_owned()));
    let shown = template.render_masked(&prompt("tell me sk-123"));
    assert!(shown.contains("Authorization: Bearer ***\r\n") && shown.contains("X-Token: ***\r\n"));
    for text in [shown, format!("{template:?}")] {
        assert!(!text.contains("sk-123") && !text.contains("t0p"), "{text}");
    }
    assert_eq!(template.secrets().len(), 2);
}

#[test]
fn plans_that_cannot_be_sent_are_refused() {
    let error = |platform: Platform, length| {
        RequestTemplate::new(&platform, &workload(true), "m", length).expect_err("an error")
    };
    let natural = |platform| error(platform, LengthControl::Natural);
    assert!(matches!(error(platform(), LengthControl::Auto), TemplateError::LengthNotSettled));
    assert!(matches!(natural(Platform { url: "h".into(), ..platform() }), TemplateError::Target(_)));
    for name in ["model", "messages", "prompt", "stream"] {
        let body = [(name.to_owned(), Value::Null)].into_iter().collect();
        assert!(matches!(natural(Platform { body, ..platform() }), TemplateError::ReservedField { .. }));
    }
    let with = |name: &str, value: &str| Platform {
        headers: vec![(name.into(), HeaderText::Plain(value.into()))],
        ..platform()
    };
    for name in ["Content-Length", "transfer-encoding", "Connection", "Accept-Encoding", "Expect"] {
        assert!(matches!(natural(with(name, "x")), TemplateError::ReservedHeader { .. }), "{name}");
    }
    assert!(matches!(natural(with("a b", "x")), TemplateError::HeaderName { .. }));
    assert!(matches!(natural(with("", "x")), TemplateError::HeaderName { .. }));
    assert!(matches!(natural(with("X", "a\r\nY: b")), TemplateError::HeaderValue { .. }));
    let injected = natural(Platform { key: Some(secret("k\r\nX: y")), ..platform() });
    assert!(matches!(injected, TemplateError::HeaderValue { .. }));
    assert!(!injected.to_string().contains("X: y"), "a secret is not shown");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_prompt_arrives_as_it_is(text in any::<String>(), output in any::<u64>()) {
        let template = RequestTemplate::new(&platform(), &workload(true), "m", LengthControl::MinTokens).expect("valid");
        let prompt = Prompt { output: Tokens(output), ..prompt(&text) };
        let mut request = Vec::new();
        template.render(&prompt, &mut request);
        let (_, body) = parse(&request);
        prop_assert_eq!(&body["messages"][0]["content"], &Value::from(text));
        prop_assert_eq!(&body["max_tokens"], &Value::from(output));
        prop_assert_eq!(&body["min_tokens"], &Value::from(output));
    }
}
