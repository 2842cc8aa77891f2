//! Validity reasons in words, and the unit of each one's figures.

use kneepoint_model::summary::{Reason, ReasonCode};

use super::{Language, Message as _, catalogue};
use crate::format;

catalogue! {
    /// What is the matter and why it matters.
    pub(crate) ReasonText {
        NoSuccess: "No request succeeded.", "没有一个请求成功。";
        TooFewSamples: "Fewer samples than the plan asked for.", "样本数少于测试计划的要求。";
        ClientLate: "The client dispatched requests late: it was the limit, not the platform.", "客户端发送请求过晚：瓶颈在客户端，而非平台。";
        ClientBusy: "The client's busiest thread was short of CPU: latencies may be the client's.", "客户端最繁忙线程的 CPU 不足：测得的延迟可能来自客户端。";
        ClientWaited: "The client waited for a processor: what arrived meanwhile was read late, and gaps inside such a wait are lost. Give it a core of its own.",
            "客户端在等待处理器：期间到达的数据未能及时读取，其间的间隔无法还原。请为客户端留出独立的核心。";
        ClientReadLate: "The client read late what had arrived: gaps inside such a wait are lost.",
            "客户端读取过晚：等待期间的间隔无法还原。";
        ErrorRate: "Too many requests failed.", "失败的请求过多。";
        Interrupted: "The run was stopped inside this point.", "测试在该测试点进行期间被中断。";
        RecordsLost: "The journal lost records of this point.", "该测试点的部分请求记录丢失。";
        RecordsInconsistent: "There are more records of this point than there can be (a request twice, or more than were scheduled): the journal was changed or written wrongly.",
            "该测试点的记录多于应有数量（同一请求重复出现，或超过计划的请求数）：记录文件被改动过或写入有误。";
        BacklogGrowing: "The queue grew throughout the window: the platform was overloaded, and latencies depend on how long the point was held.", "测量窗口内排队持续增长：平台已过载，延迟取决于测试点持续的时长。";
        LittlesLaw: "Requests in flight, rate and latency do not fit together (Little's law): the point was not in a steady state.", "在途请求数、速率与延迟不满足利特尔法则（Little's law）：该测试点未达到稳态。";
        RateNotKept: "The achieved rate fell short of the scheduled one.", "完成速率低于计划速率。";
        InputLength: "The server counted other input lengths than the plan wanted (a chat template is part of its count, not of the plan's).",
            "服务端统计的输入长度与计划不符（服务端计数包含对话模板，计划的长度不含）。";
        OutputLength: "Answers were not of the length the plan wanted.", "输出长度与计划不符。";
        TokenCountsDisagree: "The server and the reference tokenizer disagree on the output tokens.", "服务端与参考分词器统计的输出 token 数不一致。";
        PseudoStreaming: "Answers came in one piece or nearly so although a stream was asked for: the platform buffers, or the client read late. Their TTFT is about the whole answer's time, their TPOT too short or missing.",
            "请求了流式输出，但部分应答一次性或几乎一次性到达：平台有缓冲，或客户端读取过晚。这些应答的 TTFT 接近整个应答的时间，TPOT 偏小或不存在。";
        CachedPrompts: "Prompt tokens were served from a cache: latencies are better than without it. The same plan and seed send the same prompts: measure again with another seed, or restart the server.",
            "部分提示词 token 命中了缓存：延迟会优于未命中缓存的情况。相同的计划和随机种子会发送相同的提示词：请更换随机种子或重启服务端后重新测量。";
        InvisibleOutput: "Successful answers reported tokens but carried no visible output; they have no TTFT.", "部分成功的应答报告了 token 数却没有可见输出，因而没有 TTFT。";
        NoTokenCount: "Nobody counted the output tokens: no tokenizer was at hand, and the server gave no count or fewer tokens than events.", "没有可用的输出 token 数：未用分词器统计，且服务端未给出计数，或给出的 token 数少于事件数。";
        Cut: "Requests were still open at the end of the drain.", "排空结束时仍有请求未完成。";
        Oddities: "Malformed or unknown events in the answers.", "应答中存在格式错误或未知的事件。";
        NotSteady: "Latencies did not settle in the first half of the window: percentiles depend on how long the point was held. Give it a longer warm-up or a longer window.",
            "延迟在测量窗口的前半段内未趋于稳定：百分位数取决于测试点持续的时长。请延长预热或测量窗口。";
        OverSaturated: "The platform kept falling behind, and the point was ended early: holding it longer would only have made latencies longer.",
            "平台持续积压，该测试点已提前结束：继续保持只会使延迟不断增大。";
        LimitReached: "A limit of the plan ended the run inside this point.", "测试计划的某项限额在该测试点进行期间结束了测试。";
        NotOpenLoop: "Arrivals waited for a place or were never sent: the load was not the open loop that the plan describes.",
            "部分请求因等待名额而延后，或始终未能发出：实际负载并非计划中的开环负载。";
        Dropped: "Requests were never sent: this machine ran out of descriptors, ports or memory, or `max_in_flight` held them back to the end.",
            "部分请求始终未能发出：本机的文件描述符、端口或内存不足，或被 `max_in_flight` 一直扣留到结束。";
        ClientCalibration: "What the client itself adds, as calibrated before the run, is not small beside the latencies measured.",
            "按测试前的校准，客户端自身增加的延迟相对于测得的延迟不可忽略。";
        CalibrationTooSmall: "This point's load was larger than the one the client was calibrated at: what the client adds here is not known.",
            "该测试点的负载超过了客户端校准时的负载：客户端在此增加的延迟未知。";
    }
}

/// A reason's sentence.
pub(crate) fn reason_text(code: ReasonCode, language: Language) -> &'static str {
    let text = match code {
        ReasonCode::NoSuccess => ReasonText::NoSuccess,
        ReasonCode::TooFewSamples => ReasonText::TooFewSamples,
        ReasonCode::ClientLate => ReasonText::ClientLate,
        ReasonCode::ClientBusy => ReasonText::ClientBusy,
        ReasonCode::ClientWaited => ReasonText::ClientWaited,
        ReasonCode::ClientReadLate => ReasonText::ClientReadLate,
        ReasonCode::ErrorRate => ReasonText::ErrorRate,
        ReasonCode::Interrupted => ReasonText::Interrupted,
        ReasonCode::RecordsLost => ReasonText::RecordsLost,
        ReasonCode::RecordsInconsistent => ReasonText::RecordsInconsistent,
        ReasonCode::BacklogGrowing => ReasonText::BacklogGrowing,
        ReasonCode::LittlesLaw => ReasonText::LittlesLaw,
        ReasonCode::RateNotKept => ReasonText::RateNotKept,
        ReasonCode::InputLength => ReasonText::InputLength,
        ReasonCode::OutputLength => ReasonText::OutputLength,
        ReasonCode::TokenCountsDisagree => ReasonText::TokenCountsDisagree,
        ReasonCode::PseudoStreaming => ReasonText::PseudoStreaming,
        ReasonCode::CachedPrompts => ReasonText::CachedPrompts,
        ReasonCode::InvisibleOutput => ReasonText::InvisibleOutput,
        ReasonCode::NoTokenCount => ReasonText::NoTokenCount,
        ReasonCode::Cut => ReasonText::Cut,
        ReasonCode::Oddities => ReasonText::Oddities,
        ReasonCode::NotSteady => ReasonText::NotSteady,
        ReasonCode::OverSaturated => ReasonText::OverSaturated,
        ReasonCode::LimitReached => ReasonText::LimitReached,
        ReasonCode::NotOpenLoop => ReasonText::NotOpenLoop,
        ReasonCode::Dropped => ReasonText::Dropped,
        ReasonCode::ClientCalibration => ReasonText::ClientCalibration,
        ReasonCode::CalibrationTooSmall => ReasonText::CalibrationTooSmall,
    };
    text.text(language)
}

catalogue! {
    /// A figure with what it counts.
    pub(crate) Figure {
        Failed: "{n} failed", "{n} 个失败";
        Samples: "n = {n}", "样本数 {n}";
        LagP99: "lag p99 {n}", "滞后 p99 为 {n}";
        Waited: "{n} of the window", "占窗口 {n}";
        ReadP99: "wait p99 {n}", "等待 p99 为 {n}";
        CpuShare: "{n} of a core", "占单核 {n}";
        Failures: "{n} failed", "失败率 {n}";
        Measured: "{n} measured", "已测量 {n}";
        Lost: "{n} lost", "丢失 {n}";
        TooMany: "{n} too many", "多出 {n} 条";
        Growth: "backlog +{n} requests/s", "每秒增加 {n} 个请求";
        Deviation: "{n} off", "偏差 {n}";
        Achieved: "{n} achieved", "达到 {n}";
        OfAnswers: "{n} of answers", "占应答的 {n}";
        OfTokens: "{n} of tokens", "占 token 的 {n}";
        Requests: "still open: {n}", "未完成 {n} 个";
        Events: "events: {n}", "事件 {n} 个";
        OfRequests: "{n} of requests", "占请求的 {n}";
        AddedP99: "added p99 {n}", "增加 p99 为 {n}";
        Times: "{n} times the calibrated load", "为校准负载的 {n} 倍";
    }
}

/// The observed figure in words: `lag p99 12.4 ms`.
pub(crate) fn reason_figure(reason: &Reason, language: Language) -> Option<String> {
    let observed = reason.observed?;
    let figure = match reason.code {
        ReasonCode::NoSuccess => Figure::Failed,
        ReasonCode::TooFewSamples => Figure::Samples,
        ReasonCode::ClientLate => Figure::LagP99,
        ReasonCode::ClientBusy => Figure::CpuShare,
        ReasonCode::ClientWaited | ReasonCode::NotSteady => Figure::Waited,
        ReasonCode::ClientReadLate => Figure::ReadP99,
        ReasonCode::ErrorRate => Figure::Failures,
        ReasonCode::Interrupted | ReasonCode::OverSaturated | ReasonCode::LimitReached => Figure::Measured,
        ReasonCode::RecordsLost => Figure::Lost,
        ReasonCode::RecordsInconsistent => Figure::TooMany,
        ReasonCode::BacklogGrowing => Figure::Growth,
        ReasonCode::LittlesLaw
        | ReasonCode::InputLength
        | ReasonCode::OutputLength
        | ReasonCode::TokenCountsDisagree => Figure::Deviation,
        ReasonCode::RateNotKept => Figure::Achieved,
        ReasonCode::PseudoStreaming | ReasonCode::InvisibleOutput | ReasonCode::NoTokenCount => Figure::OfAnswers,
        ReasonCode::CachedPrompts => Figure::OfTokens,
        ReasonCode::Cut => Figure::Requests,
        ReasonCode::Oddities => Figure::Events,
        ReasonCode::NotOpenLoop | ReasonCode::Dropped => Figure::OfRequests,
        ReasonCode::ClientCalibration => Figure::AddedP99,
        ReasonCode::CalibrationTooSmall => Figure::Times,
    };
    Some(language.say(figure, &[("n", &reason_value(reason.code, observed))]))
}

/// A figure of a reason with its unit.
fn reason_value(code: ReasonCode, value: f64) -> String {
    match code {
        ReasonCode::NoSuccess
        | ReasonCode::TooFewSamples
        | ReasonCode::RecordsInconsistent
        | ReasonCode::Cut
        | ReasonCode::Oddities => format::whole(value),
        ReasonCode::ClientLate | ReasonCode::ClientReadLate | ReasonCode::ClientCalibration => format::millis(value),
        ReasonCode::Interrupted | ReasonCode::OverSaturated | ReasonCode::LimitReached => {
            format!("{} s", format::number(value))
        }
        ReasonCode::RecordsLost => format::bytes(value),
        ReasonCode::BacklogGrowing | ReasonCode::CalibrationTooSmall => format::number(value),
        // The other deviations have no direction.
        ReasonCode::InputLength | ReasonCode::OutputLength => format::signed_percent(value),
        _ => format::percent(value),
    }
}

/// The limit a reason's figure was held against, without a sign: `5%`.
pub(crate) fn reason_limit(reason: &Reason) -> Option<String> {
    let limit = reason.limit?;
    Some(match reason.code {
        ReasonCode::InputLength | ReasonCode::OutputLength => format::percent(limit),
        ReasonCode::ClientLate | ReasonCode::ClientReadLate | ReasonCode::ClientCalibration => {
            format!("{} ms", format::limit(limit))
        }
        ReasonCode::BacklogGrowing | ReasonCode::CalibrationTooSmall => format::limit(limit),
        code => reason_value(code, limit),
    })
}
