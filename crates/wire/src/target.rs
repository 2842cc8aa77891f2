//! Where a request goes: a base URL and a dialect made into host, port and path.

use kneepoint_model::plan::Dialect;

use crate::dialects;

/// Why a URL cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Not `http://` or `https://`.
    #[error("`{url}` does not begin with http:// or https://")]
    Scheme {
        /// The URL.
        url: String,
    },
    /// User and password in a URL would end up in every report.
    #[error("the URL holds a user name or password; give it as a `key` or a header by `${{NAME}}`")]
    Credentials,
    /// The host is missing or holds what a host cannot.
    #[error("`{url}` has no valid host")]
    Host {
        /// The URL.
        url: String,
    },
    /// The port is no number from 1 to 65535.
    #[error("`{url}` has no valid port")]
    Port {
        /// The URL.
        url: String,
    },
    /// The path or query holds characters that must be percent-encoded, or there is a fragment.
    #[error("the path of `{url}` holds {found:?}, which must be percent-encoded")]
    Path {
        /// The URL.
        url: String,
        /// The first such character.
        found: char,
    },
    /// The URL is the full path of another dialect.
    #[error("`{url}` is an endpoint of the dialect `{other}`, not of `{dialect}`")]
    OtherDialect {
        /// The URL.
        url: String,
        /// The dialect that the plan names.
        dialect: &'static str,
        /// The dialect that the path belongs to.
        other: &'static str,
    },
}

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Host name or address; an IPv6 address without its brackets.
    pub host: String,
    /// Port.
    pub port: u16,
    /// TLS.
    pub tls: bool,
    /// Path and query, as sent.
    pub path: String,
    /// Value of the `Host` header: the port is in it unless it is the scheme's own.
    pub host_header: String,
}

impl Target {
    /// The endpoint of `dialect` under a base URL.
    ///
    /// * no path: the version and the endpoint are appended (`http://h` → `/v1/chat/completions`);
    /// * a path that ends in a version (`/v1`, `/api/paas/v4`): the endpoint is appended;
    /// * a path that is the endpoint already: used as it is;
    /// * any other path is a prefix (`/api/predict/name`): as if there were none.
    ///
    /// A query stays at the end.
    pub fn new(url: &str, dialect: Dialect) -> Result<Self, TargetError> {
        let (tls, rest) = if let Some(rest) = strip_scheme(url, "http://") {
            (false, rest)
        } else if let Some(rest) = strip_scheme(url, "https://") {
            (true, rest)
        } else {
            return Err(TargetError::Scheme { url: url.to_owned() });
        };
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(end);
        if authority.contains('@') {
            return Err(TargetError::Credentials);
        }
        let (host, port) = split_port(authority, url)?;
        let standard = if tls { 443 } else { 80 };
        let port = port.unwrap_or(standard);
        let shown = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        let host_header = if port == standard { shown } else { format!("{shown}:{port}") };
        Ok(Self { host: host.to_owned(), port, tls, path: endpoint_path(path, url, dialect)?, host_header })
    }

    /// Host, and port unless it is the scheme's own: the `Host` header.
    pub fn authority(&self) -> &str {
        &self.host_header
    }

    /// Path of another resource of the same API (`models` beside `/v1/chat/completions` is `/v1/models`), without a
    /// query.
    pub fn sibling(&self, name: &str) -> String {
        let path = self.path.split('?').next().unwrap_or_default();
        let base = Dialect::ALL
            .into_iter()
            .filter_map(|dialect| path.strip_suffix(dialects::endpoint(dialect)))
            .min_by_key(|base| base.len())
            .unwrap_or_default();
        format!("{base}/{name}")
    }

    /// The whole URL, for people.
    pub fn url(&self) -> String {
        format!("{}://{}{}", if self.tls { "https" } else { "http" }, self.host_header, self.path)
    }
}

fn strip_scheme<'a>(url: &'a str, scheme: &str) -> Option<&'a str> {
    let (start, rest) = url.split_at_checked(scheme.len())?;
    start.eq_ignore_ascii_case(scheme).then_some(rest)
}

fn split_port<'a>(authority: &'a str, url: &str) -> Result<(&'a str, Option<u16>), TargetError> {
    let no_host = || TargetError::Host { url: url.to_owned() };
    let (host, port) = if let Some(rest) = authority.strip_prefix('[') {
        let (host, port) = rest.split_once(']').ok_or_else(no_host)?;
        host.parse::<std::net::Ipv6Addr>().map_err(|_| no_host())?;
        (host, port)
    } else {
        let colon = authority.find(':').unwrap_or(authority.len());
        let (host, port) = authority.split_at(colon);
        if host.is_empty() || !host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)) {
            return Err(no_host());
        }
        (host, port)
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        None => return Err(no_host()),
        Some("") => None,
        Some(digits) => {
            let port = digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u16>().ok()).flatten();
            Some(port.filter(|port| *port > 0).ok_or(TargetError::Port { url: url.to_owned() })?)
        }
    };
    Ok((host, port))
}

fn endpoint_path(path: &str, url: &str, dialect: Dialect) -> Result<String, TargetError> {
    if let Some(found) = path.chars().find(|c| !c.is_ascii_graphic() || "\"<>\\^`{|}#".contains(*c)) {
        return Err(TargetError::Path { url: url.to_owned(), found });
    }
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let base = path.trim_end_matches('/');
    // `/chat/completions` ends in `/completions` as well: the longest endpoint is the one meant.
    let full = Dialect::ALL
        .into_iter()
        .filter(|dialect| base.ends_with(dialects::endpoint(*dialect)))
        .max_by_key(|dialect| dialects::endpoint(*dialect).len());
    match full {
        Some(other) if other == dialect => return Ok(format!("{base}{query}")),
        Some(other) => {
            return Err(TargetError::OtherDialect {
                url: url.to_owned(),
                dialect: dialect.name(),
                other: other.name(),
            });
        }
        None => {}
    }
    let version = if is_version(base.rsplit('/').next().unwrap_or_default()) { "" } else { "/v1" };
    Ok(format!("{base}{version}{}{query}", dialects::endpoint(dialect)))
}

/// `v1`, `v4`, `v1beta`, `v1beta1`.
fn is_version(segment: &str) -> bool {
    let Some(rest) = segment.strip_prefix('v') else { return false };
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let suffix = rest[digits..].trim_end_matches(|c: char| c.is_ascii_digit());
    digits > 0 && matches!(suffix, "" | "alpha" | "beta")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, dialect: Dialect, expect: &str) {
        let target = Target::new(url, dialect).expect("valid");
        assert_eq!(target.url(), expect);
    }

    #[test]
    fn base_urls_become_endpoints() {
        let chat = |url, expect| check(url, Dialect::OpenaiChat, expect);
        chat("http://h:1", "http://h:1/v1/chat/completions");
        chat("http://h:1/", "http://h:1/v1/chat/completions");
        chat("HTTPS://h/v1/", "https://h/v1/chat/completions");
        chat("https://h:443/api/paas/v4", "https://h/api/paas/v4/chat/completions");
        chat("http://h:80/openai/v1beta", "http://h/openai/v1beta/chat/completions");
        chat("http://h/api/predict/vllm", "http://h/api/predict/vllm/v1/chat/completions");
        chat(
            "https://h/deployments/x/chat/completions?api-version=1",
            "https://h/deployments/x/chat/completions?api-version=1",
        );
        chat("http://[::1]:8000", "http://[::1]:8000/v1/chat/completions");
        check("http://h/v1", Dialect::OpenaiCompletions, "http://h/v1/completions");
        check("http://h/v1/completions", Dialect::OpenaiCompletions, "http://h/v1/completions");
        assert_eq!(Target::new("http://[::1]:8000", Dialect::OpenaiChat).expect("valid").host, "::1");
    }

    #[test]
    fn siblings_stand_beside_the_endpoint() {
        let sibling = |url| Target::new(url, Dialect::OpenaiChat).expect("valid").sibling("models");
        assert_eq!(sibling("http://h"), "/v1/models");
        assert_eq!(sibling("http://h/a/v4?x=1"), "/a/v4/models");
    }

    #[test]
    fn unusable_urls_are_told_apart() {
        let error = |url: &str| Target::new(url, Dialect::OpenaiChat).expect_err("an error");
        assert!(matches!(error("ftp://h"), TargetError::Scheme { .. }));
        assert!(matches!(error("localhost:8000"), TargetError::Scheme { .. }));
        assert!(matches!(error("http://"), TargetError::Host { .. }));
        assert!(matches!(error("http://a b"), TargetError::Host { .. }));
        assert!(matches!(error("http://[::1"), TargetError::Host { .. }));
        assert!(matches!(error("http://h:0"), TargetError::Port { .. }));
        assert!(matches!(error("http://h:70000"), TargetError::Port { .. }));
        assert!(matches!(error("http://h/a b"), TargetError::Path { found: ' ', .. }));
        assert!(matches!(error("http://h/\r\nX: y"), TargetError::Path { .. }));
        assert!(matches!(error("http://h/v1/completions"), TargetError::OtherDialect { .. }));
        let with_password = error("http://me:hunter2@h");
        assert_eq!(with_password, TargetError::Credentials);
        assert!(!with_password.to_string().contains("hunter2"));
        assert!(Target::new("http://h/v1/chat/completions", Dialect::OpenaiCompletions).is_err());
    }
}
