//! Resolution of platforms: addresses, secrets, headers and further body fields.

use std::collections::BTreeMap;

use super::super::file::{HeaderFile, PlatformFile};
use super::super::named::Named;
use super::super::{Dialect, HeaderText, Platform, SecretRef};
use super::{Resolver, url};
use crate::secret::Secret;
use crate::yaml::{Path, Problem};

/// Headers that the client sets itself.
const OWN_HEADERS: [&str; 15] = [
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "content-type",
    "accept",
    "accept-encoding",
    "te",
    "trailer",
    "upgrade",
    "keep-alive",
    "proxy-connection",
    "expect",
    "http2-settings",
    "content-encoding",
];
/// Headers whose value is a secret.
const SECRET_HEADERS: [&str; 9] = [
    "authorization",
    "proxy-authorization",
    "x-api-key",
    "api-key",
    "apikey",
    "x-auth-token",
    "cookie",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
];
/// Body fields that the tool sets itself or that would change what is counted.
const OWN_FIELDS: [&str; 12] = [
    "model",
    "messages",
    "prompt",
    "input",
    "stream",
    "stream_options",
    "max_tokens",
    "max_completion_tokens",
    "min_tokens",
    "ignore_eos",
    "n",
    "best_of",
];

impl Resolver<'_> {
    pub(super) fn platforms(&mut self, platforms: &Named<PlatformFile>) -> Vec<Platform> {
        let root = Path::ROOT.key("platforms");
        self.names(&root, platforms, "platform");
        platforms.iter().map(|(name, platform)| self.platform(name, platform, &root.key(name))).collect()
    }

    fn platform(&mut self, name: &str, file: &PlatformFile, path: &Path) -> Platform {
        self.url(&path.key("url"), &file.url);
        for (field, value) in [("model", &file.model), ("ca", &file.ca)] {
            if let Some(value) = value {
                self.not_blank(&path.key(field), value);
            }
        }
        let key = file.key.as_ref().and_then(|text| self.key(&path.key("key"), text));
        Platform {
            name: name.to_owned(),
            dialect: file.dialect.unwrap_or(Dialect::OpenaiChat),
            url: file.url.clone(),
            key,
            model: file.model.clone(),
            headers: self.headers(&path.key("headers"), file),
            body: self.body(&path.key("body"), file),
            connection: file.connection.unwrap_or_default(),
            ca: file.ca.as_ref().map(|file| self.file_path(&path.key("ca"), file)),
            length_control: file.length_control.unwrap_or_default(),
            time_limits: self.time_limits(path, file),
            http: file.http.unwrap_or_default(),
            rtt_probe: file.rtt_probe.unwrap_or(false),
            price: file.price.as_ref().and_then(|price| self.price(&path.key("price"), price)),
            declares: self.declares(&path.key("declares"), file),
        }
    }

    fn url(&mut self, path: &Path, text: &str) {
        if text.contains("${") {
            return; // reported with all the other misplaced references
        }
        if let Err(bad) = url::check(text) {
            let mut problem = Problem::new(path.clone(), bad.message)
                .found(if bad.secret { "***".to_owned() } else { url::without_query_values(text) })
                .expected("an address such as `http://127.0.0.1:8000` or `https://api.example.com/v1`");
            problem.hint = bad.hint;
            self.add(problem);
        }
    }

    fn key(&mut self, path: &Path, text: &str) -> Option<SecretRef> {
        if let Some(variable) = reference(text) {
            return self.secret(path, variable);
        }
        let problem = Problem::new(path.clone(), "the key stands in the plan itself").found("***");
        self.add(problem.expected("a reference, `${NAME}`").hint(literal_hint("API_KEY", "key")));
        None
    }

    /// The value of an environment variable as a secret fit for a header.
    fn secret(&mut self, path: &Path, variable: &str) -> Option<SecretRef> {
        let found = format!("${{{variable}}}");
        let problem = |message: String| Problem::new(path.clone(), message).found(&found);
        let valid = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && variable.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !valid {
            let problem = problem(format!("`{variable}` is no name of an environment variable"));
            self.add(problem.expected("letters, digits and `_`, no digit first"));
            return None;
        }
        let Some(value) = (self.context.env)(variable) else {
            let problem = problem(format!("the environment variable {variable} is not set"));
            self.add(problem.hint(format!("set it: export {variable}=…")));
            return None;
        };
        if value.is_empty() {
            self.add(problem(format!("the environment variable {variable} is empty")));
            return None;
        }
        if value.trim() != value {
            let problem =
                problem(format!("the environment variable {variable} begins or ends with a space or line break"));
            self.add(problem.hint("servers would refuse it; set it without"));
            return None;
        }
        if !value.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
            self.add(problem(format!("the environment variable {variable} holds characters that no header can carry")));
            return None;
        }
        Some(SecretRef { variable: variable.to_owned(), value: Secret::new(value) })
    }

    fn headers(&mut self, path: &Path, file: &PlatformFile) -> Vec<(String, HeaderText)> {
        let mut headers = Vec::new();
        let mut seen = BTreeMap::new();
        for (name, HeaderFile(text)) in file.headers.iter().flat_map(Named::iter) {
            let path = path.key(name);
            let lower = name.to_lowercase();
            if self.header_name(&path, name, &lower, file)
                && let Some(value) = self.header_value(&path, &lower, text)
            {
                headers.push((name.to_owned(), value));
            }
            if let Some(other) = seen.insert(lower, name) {
                let message = format!("header `{name}` is given twice, the other time as `{other}`");
                self.add_key(Problem::new(path, message).hint("keep one of the two"));
            }
        }
        headers
    }

    fn header_name(&mut self, path: &Path, name: &str, lower: &str, file: &PlatformFile) -> bool {
        // RFC 9110 §5.6.2, token.
        let token =
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b));
        if !token {
            let problem = Problem::new(path.clone(), format!("{name:?} is no header name"));
            self.add_key(problem.expected("letters, digits and `-`"));
        } else if OWN_HEADERS.contains(&lower) {
            self.add_key(Problem::new(path.clone(), format!("header `{name}` is set by kneepoint itself")));
        } else if lower == "authorization" && file.key.is_some() {
            let problem = Problem::new(path.clone(), "both `key` and an `Authorization` header are given");
            self.add_key(problem.hint("keep one of the two"));
        } else {
            return true;
        }
        false
    }

    fn header_value(&mut self, path: &Path, lower: &str, text: &str) -> Option<HeaderText> {
        if let Some(variable) = reference(text) {
            return self.secret(path, variable).map(HeaderText::Secret);
        }
        let refused = if text.contains("${") {
            let problem = Problem::new(path.clone(), format!("`{}` mixes text and a reference", path.short()));
            let bearer = lower == "authorization" && text.to_lowercase().starts_with("bearer ");
            problem.expected("plain text, or `${NAME}` and nothing else").hint(if bearer {
                "give the token as `key: ${NAME}`: it is sent as `Authorization: Bearer …`"
            } else {
                "put the whole value into the variable"
            })
        } else if SECRET_HEADERS.contains(&lower) || looks_like_a_credential(text) {
            let problem =
                Problem::new(path.clone(), format!("the value of `{}` stands in the plan itself", path.short()));
            let name = lower.to_uppercase().replace('-', "_");
            problem
                .found("***")
                .expected("a reference, `${NAME}`")
                .hint(literal_hint(&name, path.last_key().unwrap_or("")))
        } else if !text.chars().all(|c| c == '\t' || c == ' ' || c.is_ascii_graphic()) {
            Problem::new(
                path.clone(),
                format!("`{}` holds a line break or a character no header can carry", path.short()),
            )
            .expected("printable ASCII on one line")
        } else if text.trim() != text || text.is_empty() {
            Problem::new(path.clone(), format!("`{}` is empty, or begins or ends with a space", path.short()))
        } else {
            return Some(HeaderText::Plain(text.to_owned()));
        };
        self.add(refused);
        None
    }

    fn body(&mut self, path: &Path, file: &PlatformFile) -> serde_json::Map<String, serde_json::Value> {
        let body = file.body.clone().unwrap_or_default();
        for field in body.keys() {
            if OWN_FIELDS.contains(&field.as_str()) {
                let problem = Problem::new(path.key(field), format!("body field `{field}` is set by kneepoint itself"));
                self.add_key(match field.as_str() {
                    "model" => problem.hint("give `model` beside `url`"),
                    "stream" => problem.hint("give `stream` in the workload"),
                    "max_tokens" | "max_completion_tokens" => problem.hint("give `output` in the workload"),
                    "min_tokens" | "ignore_eos" => problem.hint("give `length_control` beside `url`"),
                    _ => problem,
                });
            }
        }
        body
    }

    fn declares(&mut self, path: &Path, file: &PlatformFile) -> BTreeMap<String, String> {
        let mut declares = BTreeMap::new();
        for (name, text) in file.declares.iter().flat_map(Named::iter) {
            self.not_blank(&path.key(name), text);
            declares.insert(name.to_owned(), text.clone());
        }
        declares
    }
}

/// `true` for what is a credential whatever its header is called: a scheme with a long token, or a key by its prefix.
fn looks_like_a_credential(text: &str) -> bool {
    const PREFIXES: [&str; 12] =
        ["sk-", "sk_", "pk_", "rk_", "gsk_", "hf_", "nvapi-", "xai-", "r8_", "ghp_", "github_pat_", "AIza"];
    let is_long = |token: &str| token.len() >= 16 && !token.contains(char::is_whitespace);
    let (first, rest) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
    let scheme = ["bearer", "basic", "token", "apikey", "api-key"].iter().any(|name| first.eq_ignore_ascii_case(name));
    let is_key = |word: &str| is_long(word) && PREFIXES.iter().any(|prefix| word.starts_with(prefix));
    scheme && is_long(rest.trim()) || text.split(|c: char| c.is_whitespace() || "=,;:\"".contains(c)).any(is_key)
}

/// The `NAME` of `${NAME}`.
fn reference(text: &str) -> Option<&str> {
    let name = text.strip_prefix("${")?.strip_suffix('}')?;
    (!name.contains(['$', '{', '}'])).then_some(name)
}

fn literal_hint(variable: &str, field: &str) -> String {
    format!("a plan is kept with the results: export {variable}=… and write `{field}: ${{{variable}}}`")
}
