//! What a generation request asks for: parsed, checked, and its lengths decided.
//!
//! Tokens of a prompt are counted by one rule: one a word (words being separated by white space) over all message
//! contents, plus the profile's overhead, at least one. A prompt given as token ids counts these.

use kneepoint_model::random::SplitMix64;
use serde_json::{Map, Value};

use super::error::ApiError;
use super::text::count_tokens;
use crate::profile::{ObedienceFile, Profile};

/// Output tokens of `/v1/completions` where the request does not say, as the API reference has it.
const COMPLETIONS_DEFAULT: u64 = 16;

/// Which API is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Api {
    /// `/v1/chat/completions`.
    Chat,
    /// `/v1/completions`.
    Completions,
}

/// How much usage a stream reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Usage {
    /// None.
    Absent,
    /// In a chunk of its own before the end.
    AtEnd,
    /// So far in every chunk, and in a chunk of its own before the end.
    Running,
}

/// A request, ready to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Generation {
    pub(super) api: Api,
    pub(super) model: String,
    pub(super) stream: bool,
    pub(super) usage: Usage,
    pub(super) prompt: u64,
    pub(super) output: u64,
    /// `stop` or `length`.
    pub(super) finish: &'static str,
}

impl Generation {
    /// Parses the body of request number `id`.
    pub(super) fn parse(api: Api, body: &[u8], profile: &Profile, id: u64) -> Result<Self, ApiError> {
        let body: Value = serde_json::from_slice(body).map_err(|error| {
            ApiError::bad_body(format!("We could not parse the JSON body of your request: {error}"))
        })?;
        let Value::Object(body) = body else {
            return Err(ApiError::bad_body("The JSON body of your request is not an object."));
        };
        let model = model(&body, profile)?;
        let stream = flag(&body, "stream")?.unwrap_or(false);
        if integer(&body, "n")?.is_some_and(|n| n != 1) {
            return Err(ApiError::bad("n", "This server gives one choice per request; `n` must be 1."));
        }
        let (param, words) = match api {
            Api::Chat => ("messages", messages(&body)?),
            Api::Completions => ("prompt", prompt(&body)?),
        };
        let prompt = words.saturating_add(profile.prompt_overhead).max(1);
        let (output, finish) = Lengths::of(api, &body, profile)?.decide(param, prompt, profile, id)?;
        Ok(Self { api, model, stream, usage: usage(&body, stream)?, prompt, output, finish })
    }
}

fn model(body: &Map<String, Value>, profile: &Profile) -> Result<String, ApiError> {
    match body.get("model") {
        None | Some(Value::Null) if !profile.only_model => Ok(profile.model.clone()),
        Some(Value::String(name)) if *name == profile.model || !profile.only_model => Ok(name.clone()),
        Some(Value::String(name)) => Err(ApiError::no_model(name)),
        _ => Err(ApiError::bad("model", "you must provide a model parameter")),
    }
}

fn usage(body: &Map<String, Value>, stream: bool) -> Result<Usage, ApiError> {
    let options = match body.get("stream_options") {
        None | Some(Value::Null) => return Ok(Usage::Absent),
        Some(_) if !stream => {
            return Err(ApiError::bad("stream_options", "`stream_options` is only allowed when `stream` is true."));
        }
        Some(Value::Object(options)) => options,
        Some(_) => return Err(ApiError::bad("stream_options", "`stream_options` must be an object.")),
    };
    let include = flag(options, "include_usage")?.unwrap_or(false);
    let running = flag(options, "continuous_usage_stats")?.unwrap_or(false);
    Ok(match (include, running) {
        (false, _) => Usage::Absent,
        (true, false) => Usage::AtEnd,
        (true, true) => Usage::Running,
    })
}

/// Words of all messages.
fn messages(body: &Map<String, Value>) -> Result<u64, ApiError> {
    let messages = match body.get("messages") {
        Some(Value::Array(messages)) if !messages.is_empty() => messages,
        Some(Value::Array(_)) => return Err(ApiError::bad("messages", "[] is too short - 'messages'")),
        Some(_) => return Err(ApiError::bad("messages", "`messages` must be an array of messages.")),
        None => return Err(ApiError::bad("messages", "Missing required parameter: 'messages'.")),
    };
    let mut words = 0;
    for message in messages {
        if !message["role"].is_string() {
            return Err(ApiError::bad("messages", "Every message must have a role."));
        }
        words += match &message["content"] {
            Value::Null => 0,
            Value::String(text) => count_tokens(text),
            Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).map(count_tokens).sum(),
            _ => return Err(ApiError::bad("messages", "A message's content must be text or a list of parts.")),
        };
    }
    Ok(words)
}

/// Tokens of a completion's prompt: words of a text, or token ids.
fn prompt(body: &Map<String, Value>) -> Result<u64, ApiError> {
    let wrong = || ApiError::bad("prompt", "`prompt` must be one text, or one list of token ids.");
    match body.get("prompt") {
        None => Err(ApiError::bad("prompt", "Missing required parameter: 'prompt'.")),
        Some(Value::String(text)) => Ok(count_tokens(text)),
        Some(Value::Array(items)) => match items.as_slice() {
            [Value::String(text)] => Ok(count_tokens(text)),
            ids if !ids.is_empty() && ids.iter().all(Value::is_u64) => Ok(ids.len() as u64),
            _ => Err(wrong()),
        },
        Some(_) => Err(wrong()),
    }
}

/// What the request says about the output's length.
struct Lengths {
    most: Option<u64>,
    least: Option<u64>,
    ignore_eos: bool,
}

impl Lengths {
    fn of(api: Api, body: &Map<String, Value>, profile: &Profile) -> Result<Self, ApiError> {
        let most = match api {
            Api::Chat => at_least(body, "max_completion_tokens", 1)?.or(at_least(body, "max_tokens", 1)?),
            Api::Completions => at_least(body, "max_tokens", 1)?.or(Some(COMPLETIONS_DEFAULT)),
        };
        let ignore_eos = flag(body, "ignore_eos")?;
        let least = at_least(body, "min_tokens", 0)?;
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            return Err(ApiError::bad("min_tokens", format!("min_tokens ({least}) is more than max_tokens ({most}).")));
        }
        Ok(Self {
            most,
            least: obeyed("min_tokens", least, profile.min_tokens)?,
            ignore_eos: obeyed("ignore_eos", ignore_eos, profile.ignore_eos)?.unwrap_or(false),
        })
    }

    /// Output tokens and finish reason. Where nothing prescribes a length the model stops by itself, after an
    /// exponentially distributed number of tokens.
    fn decide(
        &self,
        param: &'static str,
        prompt: u64,
        profile: &Profile,
        id: u64,
    ) -> Result<(u64, &'static str), ApiError> {
        let room = profile.context.saturating_sub(prompt);
        let most = self.most.unwrap_or(room);
        if most > room || room == 0 {
            return Err(ApiError::context(param, profile.context, prompt, self.most.unwrap_or(1)));
        }
        if let Err(refusal) = profile.engine.check(prompt, most) {
            return Err(ApiError::bad(param, format!("This server cannot run the request: {refusal}.")));
        }
        if self.ignore_eos {
            return Ok((most, "length"));
        }
        let natural = natural_length(profile, id).max(self.least.unwrap_or(1)).max(1);
        Ok(if natural < most { (natural, "stop") } else { (most, "length") })
    }
}

fn natural_length(profile: &Profile, id: u64) -> u64 {
    let draw = SplitMix64::for_purpose(profile.seed, "sim length", &[id]).exponential() * profile.natural_mean as f64;
    // Nanos is only used here to round and to saturate.
    kneepoint_model::Nanos::from_secs_f64(draw / 1e9).0.max(1)
}

fn obeyed<T>(param: &'static str, value: Option<T>, obedience: ObedienceFile) -> Result<Option<T>, ApiError> {
    match (value, obedience) {
        (Some(_), ObedienceFile::Refuse) => {
            Err(ApiError::bad(param, format!("Unrecognized request argument supplied: {param}")))
        }
        (Some(_), ObedienceFile::Ignore) | (None, _) => Ok(None),
        (Some(value), ObedienceFile::Obey) => Ok(Some(value)),
    }
}

fn flag(body: &Map<String, Value>, name: &'static str) -> Result<Option<bool>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        Some(_) => Err(ApiError::bad(name, format!("`{name}` must be true or false."))),
    }
}

fn integer(body: &Map<String, Value>, name: &'static str) -> Result<Option<u64>, ApiError> {
    match body.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64() {
            Some(number) => Ok(Some(number)),
            None => Err(ApiError::bad(name, format!("`{name}` must be a whole number that is not negative."))),
        },
    }
}

fn at_least(body: &Map<String, Value>, name: &'static str, least: u64) -> Result<Option<u64>, ApiError> {
    match integer(body, name)? {
        Some(number) if number < least => Err(ApiError::bad(name, format!("`{name}` must be at least {least}."))),
        number => Ok(number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(body: &str) -> Result<Generation, ApiError> {
        Generation::parse(Api::Chat, body.as_bytes(), &Profile::embedded("test").expect("listed"), 0)
    }

    fn chat(more: &str) -> String {
        format!(r#"{{"model":"m","messages":[{{"role":"user","content":"one two  three"}}]{more}}}"#)
    }

    #[test]
    fn length_is_what_the_request_prescribes() {
        let fixed = parse(&chat(r#","max_tokens":7,"ignore_eos":true"#)).expect("valid");
        assert_eq!((fixed.prompt, fixed.output, fixed.finish), (3, 7, "length"));
        let least = parse(&chat(r#","max_tokens":90,"min_tokens":90"#)).expect("valid");
        assert_eq!((least.output, least.finish), (90, "length"));
        let both = parse(&chat(r#","max_tokens":9,"max_completion_tokens":5,"ignore_eos":true"#)).expect("valid");
        assert_eq!(both.output, 5);
    }

    #[test]
    fn natural_stops_vary_around_their_mean() {
        let profile = Profile::embedded("test").expect("listed");
        let body = chat("");
        let lengths: Vec<u64> = (0..2000)
            .map(|id| Generation::parse(Api::Chat, body.as_bytes(), &profile, id).expect("valid").output)
            .collect();
        let mean = lengths.iter().sum::<u64>() as f64 / lengths.len() as f64;
        assert!((18.5..22.0).contains(&mean), "{mean}");
        assert!(lengths.iter().all(|&n| n >= 1) && lengths.iter().any(|&n| n > 50));
    }

    #[test]
    fn token_ids_and_lists_count() {
        let profile = Profile::embedded("test").expect("listed");
        for (prompt, tokens) in [(r#""a b c""#, 3), ("[1,2,3,4]", 4), (r#"["a b"]"#, 2), (r#""""#, 1)] {
            let body = format!(r#"{{"prompt":{prompt}}}"#);
            let parsed = Generation::parse(Api::Completions, body.as_bytes(), &profile, 0).expect("valid");
            assert_eq!(parsed.prompt, tokens, "{prompt}");
            assert!(parsed.output <= COMPLETIONS_DEFAULT);
        }
    }

    #[test]
    fn each_mistake_names_its_parameter() {
        for (body, param) in [
            ("{", "null"),
            ("[]", "null"),
            ("{}", "\"messages\""),
            (r#"{"messages":[]}"#, "\"messages\""),
            (r#"{"messages":[{"content":"x"}]}"#, "\"messages\""),
            (&chat(r#","max_tokens":"many""#), "\"max_tokens\""),
            (&chat(r#","max_tokens":-1"#), "\"max_tokens\""),
            (&chat(r#","max_tokens":0"#), "\"max_tokens\""),
            (&chat(r#","min_tokens":9,"max_tokens":8"#), "\"min_tokens\""),
            (&chat(r#","stream":"yes""#), "\"stream\""),
            (&chat(r#","stream_options":{"include_usage":true}"#), "\"stream_options\""),
            (&chat(r#","n":2"#), "\"n\""),
            (&chat(r#","max_tokens":5000"#), "\"messages\""),
            (&chat(r#","model":7"#), "\"model\""),
        ] {
            let error = parse(body).expect_err(body);
            assert_eq!(error.status, 400, "{body}");
            assert_eq!(error.body()["error"]["param"].to_string(), param, "{body}");
        }
    }
}
