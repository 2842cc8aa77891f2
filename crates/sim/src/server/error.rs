//! Answers that are no answers: the API's error objects.

use hyper::StatusCode;
use serde_json::{Value, json};

/// An error of the API, as the API reference shapes it: `{"error": {"message", "type", "param", "code"}}`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    kind: &'static str,
    code: Option<&'static str>,
    param: Option<&'static str>,
    message: String,
    /// Seconds for the header `Retry-After`.
    pub(super) retry_after: Option<u64>,
}

impl ApiError {
    fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, code: None, param: None, message: message.into(), retry_after: None }
    }

    /// 400 about one parameter.
    pub(super) fn bad(param: &'static str, message: impl Into<String>) -> Self {
        Self { param: Some(param), ..Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message) }
    }

    /// 400: the body is no JSON object.
    pub(super) fn bad_body(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "invalid_request_error", message)
    }

    /// 413: the body is too large.
    pub(super) fn too_large() -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid_request_error", "The request body is too large.")
    }

    /// 400: prompt and output do not fit the context.
    pub(super) fn context(param: &'static str, limit: u64, prompt: u64, output: u64) -> Self {
        let message = format!(
            "This model's maximum context length is {limit} tokens. However, you requested {} tokens ({prompt} in \
             the prompt, {output} in the completion). Please reduce the length of either.",
            prompt.saturating_add(output)
        );
        Self { code: Some("context_length_exceeded"), ..Self::bad(param, message) }
    }

    /// 401.
    pub(super) fn unauthorized() -> Self {
        Self {
            code: Some("invalid_api_key"),
            ..Self::new(StatusCode::UNAUTHORIZED, "invalid_request_error", "Incorrect API key provided.")
        }
    }

    /// 404: no such model.
    pub(super) fn no_model(name: &str) -> Self {
        Self {
            param: Some("model"),
            code: Some("model_not_found"),
            ..Self::new(StatusCode::NOT_FOUND, "invalid_request_error", format!("The model `{name}` does not exist."))
        }
    }

    /// 404: no such path.
    pub(super) fn no_path(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "invalid_request_error", format!("Unknown path {path}."))
    }

    /// 405.
    pub(super) fn no_method() -> Self {
        Self::new(StatusCode::METHOD_NOT_ALLOWED, "invalid_request_error", "Method not allowed.")
    }

    /// 429, because too many requests wait.
    pub(super) fn queue_full(retry_after: u64) -> Self {
        Self {
            code: Some("rate_limit_exceeded"),
            retry_after: Some(retry_after),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", "Too many requests are waiting.")
        }
    }

    /// 500.
    pub(super) fn server() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "server_error", "The server had an error.")
    }

    /// 503.
    pub(super) fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "server_error", "The server is overloaded or not ready.")
    }

    /// The object.
    pub(super) fn body(&self) -> Value {
        json!({"error": {"message": self.message, "type": self.kind, "param": self.param, "code": self.code}})
    }
}
