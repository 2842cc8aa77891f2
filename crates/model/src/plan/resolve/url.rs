//! Whether a text is the base URL of a platform.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Why a text is no base URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadUrl {
    pub(super) message: &'static str,
    pub(super) hint: Option<String>,
    /// `true` if the text holds a password and must not be repeated.
    pub(super) secret: bool,
}

/// Checks `http://` or `https://`, host, optional port, optional path; no credentials, no query, no fragment.
pub(super) fn check(url: &str) -> Result<(), BadUrl> {
    let refuse = |message, hint: Option<&str>| Err(BadUrl { message, hint: hint.map(str::to_owned), secret: false });
    if url.trim().is_empty() {
        return refuse("the URL is empty", None);
    }
    if url.contains(|c: char| c.is_whitespace() || c.is_control() || c == '\\') {
        return refuse("a URL holds no space, line break or backslash", None);
    }
    let rest = match url.split_once("://") {
        Some((scheme, rest)) if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") => rest,
        Some(_) => return refuse("the URL is neither `http://` nor `https://`", None),
        None => {
            return Err(BadUrl {
                message: "the URL has no scheme",
                hint: Some(format!(
                    "write `http://{0}` or `https://{0}`",
                    without_query_values(url.trim_start_matches('/'))
                )),
                secret: url.contains('@'),
            });
        }
    };
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let tail = &rest[authority.len()..];
    if authority.contains('@') {
        return Err(BadUrl {
            message: "the URL holds credentials",
            hint: Some("take them out and give the key as `key: ${NAME}`".to_owned()),
            secret: true,
        });
    }
    if tail.contains(['?', '#']) {
        return refuse(
            "the URL has a query or fragment",
            Some("end it with the path; send what else is needed as headers"),
        );
    }
    if !tail.is_ascii() {
        return refuse("the URL's path is not ASCII", Some("percent-encode it"));
    }
    if is_bare_ipv6(authority) {
        return Err(BadUrl {
            message: "an IPv6 address stands in brackets in a URL",
            hint: Some("write `http://[::1]` or, with a port, `http://[::1]:8000`".to_owned()),
            secret: false,
        });
    }
    let (host, port) = split_port(authority);
    if let Some(port) = port
        && !(port.bytes().all(|b| b.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|port| port > 0))
    {
        return refuse("the URL's port is not a number from 1 to 65535", None);
    }
    check_host(host)
}

/// Host and port text; the colons of an IPv6 address in brackets are not the port's.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    let after_bracket = authority.rfind(']').map_or(0, |at| at + 1);
    match authority[after_bracket..].find(':') {
        Some(at) => (&authority[..after_bracket + at], Some(&authority[after_bracket + at + 1..])),
        None => (authority, None),
    }
}

/// `true` for what can only be meant as an IPv6 address and is not in a pair of brackets.
fn is_bare_ipv6(authority: &str) -> bool {
    let pair = authority.starts_with('[') && authority.contains(']');
    !pair && (authority.matches(':').count() > 1 || authority.contains(['[', ']']))
}

/// The URL as a message may show it: the values of a query are often keys, and a fragment may be anything.
pub(super) fn without_query_values(url: &str) -> String {
    let Some(at) = url.find(['?', '#']) else { return url.to_owned() };
    let (base, tail) = url.split_at(at);
    let mut shown = base.to_owned();
    for part in tail.split_inclusive(['?', '#', '&', ';']) {
        let end = part.find(['?', '#', '&', ';']).unwrap_or(part.len());
        match part[..end].split_once('=') {
            Some((name, _)) => shown.extend([name, "=***"]),
            None if end > 0 => shown.push_str("***"),
            None => {}
        }
        shown.push_str(&part[end..]);
    }
    shown
}

fn check_host(host: &str) -> Result<(), BadUrl> {
    let refuse = |message, hint: Option<&str>| Err(BadUrl { message, hint: hint.map(str::to_owned), secret: false });
    if host.is_empty() {
        return refuse("the URL has no host", None);
    }
    if let Some(inside) = host.strip_prefix('[') {
        let address = inside.strip_suffix(']').and_then(|address| address.parse::<Ipv6Addr>().ok());
        return if address.is_some() { Ok(()) } else { refuse("the URL's host is not an IPv6 address", None) };
    }
    if !host.is_ascii() {
        return refuse("the URL's host is not ASCII", Some("write its Punycode form (`xn--…`)"));
    }
    if host.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        let fits = host.parse::<Ipv4Addr>().is_ok();
        return if fits { Ok(()) } else { refuse("the URL's host is not an IPv4 address", None) };
    }
    let label_fits = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'))
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.len() <= 253 && name.split('.').all(label_fits) {
        Ok(())
    } else {
        refuse("the URL's host is not a host name", None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_urls() {
        for url in [
            "http://127.0.0.1:8000",
            "https://api.example.com/v1",
            "HTTPS://api.example.com:443/v1/chat/completions",
            "http://[::1]:8080/",
            "http://localhost",
            "http://my_service.ns.svc.cluster.local.:80",
            "http://a/b:c@d",
        ] {
            assert_eq!(check(url), Ok(()), "{url}");
        }
    }

    #[test]
    fn bad_urls() {
        for url in [
            "",
            " ",
            "example.com",
            "localhost:8000",
            "ftp://a",
            "http://",
            "http://:80",
            "http:///v1",
            "http://a:0",
            "http://a:65536",
            "http://a:+80",
            "http://a:",
            "http://u:p@a",
            "http://a?x=1",
            "http://a/#f",
            "http://a b",
            "http://[::1",
            "http://[::g]",
            "http://1.2.3",
            "http://256.1.1.1",
            "http://-a.com",
            "http://a..b",
            "http://a\\b",
            "http://模型.cn",
            "http://a/路",
        ] {
            assert!(check(url).is_err(), "{url}");
        }
        assert!(check("http://user:secret@host/").is_err_and(|bad| bad.secret));
    }

    #[test]
    fn ipv6_wants_its_brackets() {
        for url in ["http://[::1", "http://::1:80", "http://::1", "http://fe80::1]/v1", "https://2001:db8::1/v1"] {
            assert!(check(url).is_err_and(|bad| bad.message.contains("in brackets")), "{url}");
        }
    }

    #[test]
    fn queries_are_shown_without_values() {
        for (url, shown) in [
            ("http://a/v1", "http://a/v1"),
            ("http://a/v1?api-key=abc&v=2#f", "http://a/v1?api-key=***&v=***#***"),
            ("http://a?abc", "http://a?***"),
            ("http://a?k=a=b?c=d", "http://a?k=***?c=***"),
            ("http://a?", "http://a?"),
        ] {
            assert_eq!(without_query_values(url), shown);
        }
    }
}
