//! Failure kinds and sides in words.

use super::{Language, Message as _, catalogue};

catalogue! {
    /// What went wrong, by [`kneepoint_model::FailureKind`].
    pub(crate) FailureText {
        Dns: "the host name did not resolve", "域名无法解析";
        ConnectRefused: "connection refused: nothing listens there", "连接被拒绝，目标端口无服务";
        ConnectFailed: "could not connect", "无法建立连接";
        ConnectTimeout: "the connection was not up in time", "建立连接超时";
        Tls: "the TLS handshake failed", "TLS 握手失败";
        Reset: "the connection was reset", "连接被重置";
        ClosedEarly: "closed before any byte of the answer", "尚未返回任何数据连接即被关闭";
        Http: "HTTP status {status}", "HTTP 状态码 {status}";
        BadHttp: "the answer is not HTTP of the version asked for", "应答不是所选版本的 HTTP";
        WrongContentType: "the answer is not of the type asked for", "应答的内容类型与请求不符";
        BadBody: "the body is not what the dialect promises", "应答内容不符合接口协议";
        InBand: "an error inside an answer of status 200", "状态码为 200 的应答中包含错误";
        InBandStatus: "error {status} inside an answer of status 200", "状态码为 200 的应答中包含错误 {status}";
        Truncated: "the stream ended without an end marker or a finish reason", "数据流在没有结束标记的情况下中断";
        TooLarge: "a line or body longer than the client accepts", "单行或正文超过客户端的上限";
        Timeout: "the request's time ran out", "请求超时";
        FirstTokenTimeout: "the first token did not come in time", "首个 token 超时";
        ChunkTimeout: "the answer stalled for too long", "回答中断时间过长";
        Empty: "a complete answer without a single token", "应答完整但没有任何 token";
        Client: "the client could not send (descriptors, ports or memory)", "客户端无法发送（文件描述符、端口或内存不足）";
        Unknown: "another failure", "其他失败";
    }
}

catalogue! {
    /// Whose side, by [`kneepoint_model::Side`].
    pub(crate) SideText {
        Client: "client", "客户端";
        Network: "network", "网络";
        Server: "server", "服务端";
    }
}

/// A failure's code (`http_429`) in words.
pub(crate) fn failure_text(code: &str, language: Language) -> String {
    let status = code.strip_prefix("http_").or_else(|| code.strip_prefix("in_band_"));
    let text = match code {
        "dns" => FailureText::Dns,
        "connect_refused" => FailureText::ConnectRefused,
        "connect_failed" => FailureText::ConnectFailed,
        "connect_timeout" => FailureText::ConnectTimeout,
        "tls" => FailureText::Tls,
        "reset" => FailureText::Reset,
        "closed_early" => FailureText::ClosedEarly,
        "bad_http" => FailureText::BadHttp,
        "wrong_content_type" => FailureText::WrongContentType,
        "bad_body" => FailureText::BadBody,
        "in_band" => FailureText::InBand,
        "truncated" => FailureText::Truncated,
        "too_large" => FailureText::TooLarge,
        "timeout" => FailureText::Timeout,
        "first_token_timeout" => FailureText::FirstTokenTimeout,
        "chunk_timeout" => FailureText::ChunkTimeout,
        "empty" => FailureText::Empty,
        "client" => FailureText::Client,
        _ if code.starts_with("http_") => FailureText::Http,
        _ if code.starts_with("in_band_") => FailureText::InBandStatus,
        _ => FailureText::Unknown,
    };
    language.say(text, &[("status", status.unwrap_or("?"))])
}

/// A side's code in words; one this version does not know stays as it is.
pub(crate) fn side_text(code: &str, language: Language) -> String {
    match code {
        "client" => SideText::Client.text(language).to_owned(),
        "network" => SideText::Network.text(language).to_owned(),
        "server" => SideText::Server.text(language).to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use kneepoint_model::FailureKind;

    use super::*;

    #[test]
    fn every_kind_has_words_of_its_own() {
        let kinds = [
            FailureKind::Dns,
            FailureKind::ConnectRefused,
            FailureKind::ConnectFailed,
            FailureKind::ConnectTimeout,
            FailureKind::Tls,
            FailureKind::Reset,
            FailureKind::ClosedEarly,
            FailureKind::Http { status: 429, retry_after_s: None },
            FailureKind::BadHttp,
            FailureKind::WrongContentType,
            FailureKind::BadBody,
            FailureKind::InBand { status: Some(503) },
            FailureKind::InBand { status: None },
            FailureKind::Truncated,
            FailureKind::TooLarge,
            FailureKind::Timeout,
            FailureKind::FirstTokenTimeout,
            FailureKind::ChunkTimeout,
            FailureKind::Empty,
            FailureKind::Client,
        ];
        for language in Language::ALL {
            let unknown = FailureText::Unknown.text(language);
            for kind in kinds {
                assert_ne!(failure_text(&kind.code(), language), unknown, "{kind:?}");
            }
        }
        assert_eq!(failure_text("http_429", Language::English), "HTTP status 429");
    }
}
