//! The metrics, a line each.

use super::catalogue;

catalogue! {
    /// Definitions shown at the end of a report (metric definitions, version 1).
    pub(crate) Term {
        Ttft: "TTFT (time to first token): from the intended start of a request to its first event with non-empty output. Role-only and empty events do not count.",
            "TTFT（首 token 延迟）：从请求的计划发送时刻到收到首个非空输出事件的时间；仅含角色或内容为空的事件不计。";
        TtftSent: "TTFT from sent: the same end, counted from the first byte of the request handed to the socket.",
            "TTFT（自发出起）：终点相同，起点改为请求的首字节交给套接字的时刻。";
        Ttfa: "TTFA (time to first answer token): as TTFT, but to the first token that is not reasoning.",
            "TTFA（首个答案 token 延迟）：与 TTFT 相同，但终点为首个非推理内容的 token。";
        Tpot: "TPOT (time per output token): time from the first to the last event with output ÷ the output tokens after the first event. Absent where there are none.",
            "TPOT（单 token 生成时间）：从首个到末个输出事件的时间 ÷ 首个事件之后的输出 token 数；没有后续 token 时不存在。";
        Icl: "ICL (inter-chunk latency): gaps between events with output, pooled over all requests. An event may hold several tokens.",
            "ICL（数据块间隔）：相邻输出事件之间的间隔，合并所有请求统计；一个事件可能包含多个 token。";
        Itl: "ITL (inter-token latency): gaps per token; only where the number of tokens in every event is known.",
            "ITL（token 间隔）：按 token 计的间隔；仅在每个事件的 token 数已知时给出。";
        E2e: "E2E (end-to-end latency): from the intended start to the last event with output.",
            "E2E（端到端延迟）：从计划发送时刻到最后一个输出事件的时间。";
        Response: "Response time: from the intended start to the end of the answer; a trailing event without output is part of it.",
            "响应时间：从计划发送时刻到应答结束；包含末尾不带输出的事件。";
        OutputSpeed: "Output speed: 1 ÷ TPOT, tokens per second of one stream.",
            "单路输出速度：1 ÷ TPOT，即单个流每秒输出的 token 数。";
        Intended: "Intended start: when the schedule wanted the request to go out. Counting from there, a stalled server cannot hide its queue (no coordinated omission).",
            "计划发送时刻：发送计划要求发出请求的时刻。以此为起点，服务端停顿造成的排队无法被掩盖（不存在协同遗漏）。";
        Percentile: "Percentile: nearest rank, over successful requests unless it says \"with failures\", where a failed request counts as infinitely late.",
            "分位数：最近秩法，仅统计成功的请求；标注“计入失败”时，失败的请求视为无限慢。";
        Interval: "95% interval: the range within which the true value lies with 95% confidence, given this many samples. Overlapping intervals are called a tie.",
            "95% 置信区间：在当前样本量下，真实值以 95% 的置信度落入的范围。区间重叠时视为不分高下。";
        Throughput: "Throughput: output tokens, all tokens or requests completed in the measured window ÷ its length.",
            "吞吐：测量窗口内完成的输出 token、全部 token 或请求数 ÷ 窗口时长。";
        Goodput: "Goodput: requests per second that met every limit of the SLO. Counted by intended time, answers that ended in the drain included, so it can exceed achieved requests/s, which counts answers that ended inside the window.",
            "有效吞吐（goodput）：每秒满足 SLO 全部限值的请求数。按计划发送时刻计数，包含在排空阶段结束的应答，因此可能高于只计窗口内结束的应答的完成速率。";
        Attainment: "Attainment: requests that met every limit ÷ requests judged; failures count as missed, requests cut by the end of the test are left out.",
            "SLO 达成率：满足全部限值的请求 ÷ 参与评判的请求；失败计为未达标，因测试结束而中止的请求不计入。";
        Stability: "Stability coefficient: standard deviation ÷ mean of the output tokens per second within the window; lower is steadier.",
            "稳定系数：窗口内每秒输出 token 数的标准差 ÷ 均值；越小越平稳。";
        Window: "Measured window: the time of a point that counts. The warm-up before it is in no figure; in the drain after it open requests may still end.",
            "测量窗口：测试点中计入统计的时段。之前的预热不计入任何指标；之后的排空阶段等待未完成的请求结束。";
        OpenLoop: "Open loop: arrivals follow the schedule and never wait for answers. Closed loop: a fixed number of requests is in flight.",
            "开环：请求按计划到达，从不等待应答。闭环：保持固定数量的在途请求。";
        ScheduleLag: "Schedule lag: how late the client itself dispatched a request. Large values mean that the client was the limit.",
            "调度滞后：客户端自身晚于计划发出请求的时间；数值偏大说明瓶颈在客户端。";
        Jitter: "Jitter: p95 − p50 of a latency; how much worse the slow twentieth begins than the middle.",
            "抖动：延迟的 p95 − p50，即最慢的二十分之一从何处起偏离中位水平。";
        Steady: "Steady state: latencies no longer drift with time; a transient at the start of the window (MSER-5) is left out of the latencies, and a point that settles only in its second half is not steady.",
            "稳态：延迟不再随时间漂移；窗口开头的过渡段（MSER-5）不计入延迟，后半段才趋稳的测试点视为未达稳态。";
        Rtt: "RTT (round-trip time): how long a TCP handshake takes to whatever accepts the connection; from connections opened in the window, or from a probe beside the load.",
            "RTT（往返时间）：与接受连接的一方完成一次 TCP 握手的时间；取自窗口内新建的连接，或与负载同时进行的探测。";
        HalfRtt: "E2E − RTT/2: end-to-end latency without half a round trip, what published comparisons call platform latency; the network's other half is still in it.",
            "E2E − RTT/2：端到端延迟减去半个往返时间，即公开对比中所称的平台延迟；其中仍含另一半网络时间。";
        FullRtt: "E2E − RTT: end-to-end latency without a whole round trip, and without one more for each that opening the connection took: what is left is the platform's.",
            "E2E − RTT：端到端延迟减去一个完整的往返时间，新建连接时再减去建连所需的各次往返；余下的即为平台的时间。";
        Phases: "Phases: DNS, TCP and TLS make the connection ready; send hands the request to the socket; wait lasts until the first byte of the answer, first token until the first output, stream until the last, close until the end of the answer.",
            "阶段：DNS、TCP、TLS 建立连接；发送指将请求交给套接字；等待至应答首字节；首 token 至首个输出；生成至最后一个输出；收尾至应答结束。";
        WarmCold: "Kept and new connections: a request on a kept connection skips TCP and TLS; one that opens its connection pays for them in its TTFT.",
            "复用与新建连接：复用连接的请求省去 TCP 与 TLS；新建连接的请求，其 TTFT 包含建连时间。";
        Capacity: "Capacity by search: the range from the highest rate that met the SLO to the lowest that missed it, each beyond chance (Wilson 95% interval), by doubling and then bisection.",
            "搜索得出的承载能力：从满足 SLO 的最高速率到不满足的最低速率之间的区间，两端均排除偶然（Wilson 95% 置信区间）；先倍增，后二分。";
        MaxThroughput: "Best second: the most requests or tokens completed in any one second of the window; a peak that need not last.",
            "峰值（1 s 窗口）：窗口内任意一秒完成的最多请求数或 token 数；只是峰值，未必可持续。";
        StableThroughput: "Stable throughput: requests per second at the highest level at which the asked share of requests kept the limits and the platform kept up; without an SLO, 99% within 2 s.",
            "稳定吞吐：要求比例的请求满足限值且平台跟得上的最高负载水平下的每秒请求数；没有 SLO 时以 99% 在 2 s 内完成为准。";
        Knee: "Knee: the load from which latency climbs or throughput lags (Kneedle on the smoothed curve); it belongs to the range of loads swept.",
            "拐点：延迟开始明显上升或吞吐开始落后于负载之处（在平滑曲线上用 Kneedle 求得）；取决于测试的负载范围。";
        Usl: "USL (Universal Scalability Law): throughput over requests in flight with a share that contends (σ) and a share that must agree (κ); it tells where throughput would peak.",
            "USL（通用可扩展性定律）：以竞争占比（σ）和一致性开销（κ）描述吞吐随在途请求数的变化，据此推算吞吐的峰值位置。";
        Scaling: "Scaling efficiency: growth of throughput ÷ growth of load from one level to the next; 100% where both grow alike.",
            "扩展效率：相邻两级之间吞吐增长 ÷ 负载增长；两者同步增长时为 100%。";
        OverSaturated: "Over-saturated: requests in flight and TTFT kept growing; the point is ended early, because its latencies would only tell how long it was held.",
            "过饱和：在途请求与 TTFT 持续增长；该测试点会提前结束，因为其延迟只反映保持了多久。";
        KernelToUser: "Kernel to client: the longest an answer's data waited in the kernel before the client read it; latencies end at the arrival in the kernel, so this is in none of them.",
            "内核至客户端：应答数据在内核中等待客户端读取的最长时间；延迟以到达内核的时刻为终点，因此不包含这段时间。";
        MappingError: "Clock mapping error: the most by which a kernel timestamp may be off when it is told in the run's own clock.",
            "时钟映射误差：将内核时间戳换算到测试自身时钟时可能产生的最大误差。";
        Calibration: "Calibration: what the client adds to TTFT and to gaps, measured before the run against a server of known timing in its own process.",
            "校准：测试前以本进程内时刻已知的服务器为参照，测得客户端给 TTFT 和间隔带来的误差。";
        Cut: "Cut: still open when the drain ended. Neither a success nor a failure; in no percentile.",
            "中止：排空结束时仍未完成的请求。既不算成功也不算失败，不计入任何分位数。";
        TooSmall: "n too small: a percentile that so few samples cannot support is not shown; the number needed stands beside it.",
            "样本不足：样本数不足以支撑的分位数不予显示，并注明所需的样本数。";
    }
}

/// The glossary in the order in which it is read.
pub(crate) const TERMS: [Term; 38] = [
    Term::Ttft,
    Term::TtftSent,
    Term::Ttfa,
    Term::Tpot,
    Term::Icl,
    Term::Itl,
    Term::E2e,
    Term::Response,
    Term::OutputSpeed,
    Term::Intended,
    Term::Percentile,
    Term::Interval,
    Term::Throughput,
    Term::Goodput,
    Term::Attainment,
    Term::Stability,
    Term::Window,
    Term::OpenLoop,
    Term::ScheduleLag,
    Term::Jitter,
    Term::Steady,
    Term::Rtt,
    Term::HalfRtt,
    Term::FullRtt,
    Term::Phases,
    Term::WarmCold,
    Term::Capacity,
    Term::MaxThroughput,
    Term::StableThroughput,
    Term::Knee,
    Term::Usl,
    Term::Scaling,
    Term::OverSaturated,
    Term::KernelToUser,
    Term::MappingError,
    Term::Calibration,
    Term::Cut,
    Term::TooSmall,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_glossary_has_every_term_and_every_term_a_definition() {
        use crate::messages::{Language, Message as _};
        assert_eq!(TERMS.len(), Term::ALL.len());
        for term in TERMS {
            assert!(term.text(Language::English).contains(": "), "{term:?}");
            assert!(term.text(Language::Chinese).contains('：'), "{term:?}");
        }
    }
}
