//! Paths, methods and headers.

use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use kneepoint_model::bundle::SIMULATED_HEADER;
use serde_json::json;
use tokio::sync::mpsc;

use super::answer::{self, AnswerBody, BreakOff, Flush, Stream, Ticket, Whole};
use super::connection::ResetSwitch;
use super::error::ApiError;
use super::events::Writer;
use super::generation::{Api, Generation};
use super::log::LogOutcome;
use super::pacer::{Command, Message, Submission};
use super::{Shared, clock, metrics};
use crate::engine::SequenceId;
use crate::platform::{self, FaultKind, Item, Refused};

/// Largest request body read, bytes.
const BODY_LIMIT: usize = 32 << 20;
/// The client's own name for a request.
const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Answers one request.
pub(super) async fn handle(
    shared: Arc<Shared>,
    reset: ResetSwitch,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, BreakOff> {
    let request_id = request.headers().get(REQUEST_ID).cloned();
    let mut response = match route(&shared, reset, request).await {
        Ok(response) => response,
        Err(Failed::Error(error)) => error_response(&error),
        Err(Failed::BreakOff(broken)) => return Err(broken),
    };
    let headers = response.headers_mut();
    headers.insert(HeaderName::from_static(SIMULATED_HEADER), HeaderValue::from_static("1"));
    headers.insert(header::SERVER, HeaderValue::from_static("kneepoint-sim"));
    if let Some(request_id) = request_id {
        headers.insert(REQUEST_ID, request_id);
    }
    Ok(response)
}

/// Why there is no answer.
enum Failed {
    Error(ApiError),
    BreakOff(BreakOff),
}

impl From<ApiError> for Failed {
    fn from(error: ApiError) -> Self {
        Self::Error(error)
    }
}

async fn route(
    shared: &Arc<Shared>,
    reset: ResetSwitch,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Failed> {
    let path = request.uri().path();
    if path.starts_with("/v1/") {
        authorize(shared, &request)?;
    }
    let (wanted, api) = match path {
        "/v1/chat/completions" => (Method::POST, Some(Api::Chat)),
        "/v1/completions" => (Method::POST, Some(Api::Completions)),
        "/v1/models" | "/health" | "/version" | "/metrics" | "/sim/requests" => (Method::GET, None),
        _ => return Err(ApiError::no_path(path).into()),
    };
    if request.method() != wanted {
        let mut response = error_response(&ApiError::no_method());
        let allow = if wanted == Method::POST { "POST" } else { "GET" };
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        return Ok(response);
    }
    match (api, path) {
        (Some(api), _) => generate(shared, reset, api, request).await,
        (None, "/health") => Ok(response(StatusCode::OK, "text/plain", Bytes::new())),
        (None, "/version") => Ok(json_response(&json!({"version": env!("CARGO_PKG_VERSION"), "simulated": true}))),
        (None, "/metrics") => {
            let text = metrics::render(shared);
            Ok(response(StatusCode::OK, "text/plain; version=1.0.0; charset=utf-8", text.into()))
        }
        (None, "/sim/requests") => Ok(json_response(&json!({"requests": shared.log.entries()}))),
        (None, _) => Ok(json_response(&json!({
            "object": "list",
            "data": [{
                "id": shared.profile.model,
                "object": "model",
                "created": clock::unix_secs(),
                "owned_by": "kneepoint-sim",
                "max_model_len": shared.profile.context,
            }],
        }))),
    }
}

fn authorize(shared: &Shared, request: &Request<Incoming>) -> Result<(), ApiError> {
    let Some(key) = &shared.profile.key else { return Ok(()) };
    let given = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let given = given.and_then(|value| value.strip_prefix("Bearer "));
    if given == Some(key.expose()) { Ok(()) } else { Err(ApiError::unauthorized()) }
}

async fn generate(
    shared: &Arc<Shared>,
    reset: ResetSwitch,
    api: Api,
    request: Request<Incoming>,
) -> Result<Response<AnswerBody>, Failed> {
    let request_id = request.headers().get(REQUEST_ID).and_then(|id| id.to_str().ok()).map(str::to_owned);
    let body = match Limited::new(request.into_body(), BODY_LIMIT).collect().await {
        Ok(body) => body.to_bytes(),
        Err(error) if error.is::<http_body_util::LengthLimitError>() => return Err(ApiError::too_large().into()),
        // The client broke off in the middle of its request.
        Err(_) => return Err(Failed::BreakOff(BreakOff)),
    };
    let received = shared.clock.now();
    let id = shared.next_id();
    let generation = Generation::parse(api, &body, &shared.profile, id)?;
    let (reply, mut messages) = mpsc::unbounded_channel();
    let request = platform::Request { id: SequenceId(id), prompt: generation.prompt, output: generation.output };
    let submission = Submission { received, request, request_id, reply };
    let mut ticket = Ticket::new(shared, request.id);
    shared.commands.send(Command::Submit(submission)).map_err(|_| Failed::BreakOff(BreakOff))?;
    accepted(shared, &mut messages, &mut ticket).await?;
    let stream = generation.stream;
    let mut writer = Writer::new(generation, shared.profile.seed, id, clock::unix_secs());
    if stream {
        let body = AnswerBody::Stream(Box::new(Stream::new(shared, messages, writer, ticket, reset)));
        let mut response = Response::new(body);
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        return Ok(response);
    }
    match answer::whole(messages, &mut writer, &mut ticket, &reset).await.map_err(Failed::BreakOff)? {
        Whole::Document(bytes) => Ok(response(StatusCode::OK, "application/json", bytes)),
        Whole::Error(error) => Err(error.into()),
        Whole::Half(bytes) => {
            let half = bytes.slice(..bytes.len() / 2);
            let mut response = Response::new(AnswerBody::Torn(Some(half), Flush::default()));
            response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
            Ok(response)
        }
    }
}

/// Waits until the platform takes the request, or says why it does not.
async fn accepted(
    shared: &Shared,
    messages: &mut mpsc::UnboundedReceiver<Message>,
    ticket: &mut Ticket,
) -> Result<(), Failed> {
    let error = match messages.recv().await {
        Some(Message::Item { item: Item::Head, .. }) => return Ok(()),
        Some(Message::Item { item: Item::Fault(FaultKind::Http503), .. }) => {
            ticket.ends(LogOutcome::Fault);
            ApiError::unavailable()
        }
        Some(Message::Item { item: Item::Fault(_), .. }) => {
            ticket.ends(LogOutcome::Fault);
            ApiError::server()
        }
        Some(Message::Refused(Refused::QueueFull { .. })) => {
            ticket.ends(LogOutcome::Refused);
            ApiError::queue_full(shared.profile.retry_after.0.div_ceil(1_000_000_000))
        }
        Some(Message::Refused(Refused::Engine(refusal))) => {
            ticket.ends(LogOutcome::Refused);
            ApiError::bad_body(format!("This server cannot run the request: {refusal}."))
        }
        // No token comes before the head; a closed channel means that the server stops.
        Some(Message::Item { .. }) | None => return Err(Failed::BreakOff(BreakOff)),
    };
    Err(error.into())
}

fn error_response(error: &ApiError) -> Response<AnswerBody> {
    let mut response = response(error.status, "application/json", error.body().to_string().into());
    if let Some(seconds) = error.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn json_response(value: &serde_json::Value) -> Response<AnswerBody> {
    response(StatusCode::OK, "application/json", value.to_string().into())
}

fn response(status: StatusCode, content_type: &'static str, bytes: Bytes) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::whole(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
