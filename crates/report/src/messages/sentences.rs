//! Sentences: verdict, warnings, notes.

use super::catalogue;

catalogue! {
    /// Whole sentences, most with figures.
    pub(crate) Sentence {
        SimulatedAll: "These figures come from simulated platforms. They say nothing about any real service.",
            "以下数据来自模拟平台，不代表任何真实服务的性能。";
        SimulatedSome: "Some figures come from simulated platforms ({platforms}). They say nothing about any real service.",
            "部分数据来自模拟平台（{platforms}），不代表任何真实服务的性能。";
        SubtitleRun: "{name} · started {started}", "{name} · 开始于 {started}";

        // Verdict, with an SLO.
        SloHeading: "SLO {slo}: {limits}, for at least {share} of requests", "SLO {slo}：{limits}，要求至少 {share} 的请求达标";
        SloHeadingIn: "{workload}, {kind} — SLO {slo}: {limits}, for at least {share} of requests",
            "{workload}（{kind}）— SLO {slo}：{limits}，要求至少 {share} 的请求达标";
        PlainHeadingIn: "{workload}, {kind}", "{workload}（{kind}）";
        NobodyMet: "No platform met it at any valid load level.", "没有任何平台在有效的负载水平下达标。";
        OnlyMet: "{platform} met it up to {load}.", "{platform} 最高在 {load} 下达标。";
        OnlyMetUnsure: "{platform} met it up to {load}, but that is not certain: {why}.", "{platform} 最高在 {load} 下达标，但并不确定：{why}。";
        WhyMetUnsure: "with n = {n}, the 95% interval of {platform} ({low}–{high} at {load}) reaches below the share asked for",
            "在 {n} 个请求下，{platform} 的 95% 置信区间（{load} 下为 {low}–{high}）下限低于要求的达成率";
        ClearWinner: "{platform} carries the most load: {load}. The difference is clear: at or below that load, every other platform missed it with its whole 95% interval.",
            "{platform} 承载能力最强，最高 {load}。差异明确：在不高于该负载的水平下，其他平台达成率的整个 95% 置信区间均低于要求。";
        LikelyWinner: "{platform} met it at the highest load, {load}, but the lead is not certain: {why}.",
            "{platform} 达标的负载最高（{load}），但领先并不确定：{why}。";
        WhyNoValid: "{platform} has no valid measurement at or above that load to judge it by", "{platform} 在该负载及以上没有可供评判的有效测量";
        WhyOverlap: "the interval of {platform} ({low}–{high} at {load}) includes the share asked for",
            "{platform} 的置信区间（{load} 下为 {low}–{high}）包含要求的达成率";
        WhyNotJudged: "{platform} cannot be judged by this SLO", "{platform} 无法按此 SLO 评判";
        LoadTie: "A tie on load: {platforms} met it at {load}, the highest level any platform did.",
            "承载能力不分高下：{platforms} 均在 {load} 下达标，这也是各平台达标的最高负载。";
        LoadTieUnsure: "A tie on load: {platforms} met it at {load}, the highest level any platform did, but that is not certain: {why}.",
            "承载能力不分高下：{platforms} 均在 {load} 下达标，这也是各平台达标的最高负载，但并不确定：{why}。";
        Fastest: "{platform} has the lowest {metric}, {value}; its interval overlaps no other.",
            "{platform} 的 {metric} 最低，为 {value}，置信区间与其他平台均不重叠。";
        FastestTie: "{platforms} tie for the lowest {metric}: their intervals overlap.",
            "{platforms} 的 {metric} 并列最低，置信区间相互重叠。";
        NotComparable: "{metric} cannot be compared: n is too small for intervals.",
            "{metric} 的样本不足以给出置信区间，无法比较。";
        HighestTested: "It is the highest level tested: the limit may lie higher.", "该水平已是测试的最高负载，实际上限可能更高。";
        FactMet: "{platform}: met it up to {load} ({attainment} of {n} requests{interval}); TTFT p50 {p50}, p95 {p95}; {tokens}.",
            "{platform}：最高在 {load} 下达标（{n} 个请求中达成 {attainment}{interval}）；TTFT p50 {p50}，p95 {p95}；{tokens}。";
        AttainmentInterval: ", 95% interval {low}–{high}", "，95% 置信区间 {low}–{high}";
        FactAttainmentUnsure: "The interval reaches below the share asked for: more requests would be needed to be sure.", "该置信区间下限低于要求的达成率，需要更多请求才能确定。";
        FactLowerMissed: "At the lower level {load} it missed: treat the limit with care.", "但在更低的 {load} 下未达标，该上限仅供参考。";
        FactNeverMet: "{platform}: met it at no valid level; the best was {attainment} at {load}.", "{platform}：在所有有效的负载水平下均未达标，最好成绩为 {load} 下的 {attainment}。";
        FactNotJudged: "{platform}: cannot be judged by this SLO at any valid level.", "{platform}：在所有有效的负载水平下均无法按此 SLO 评判。";
        FactNoValid: "{platform}: no valid load level, so no verdict.", "{platform}：没有有效的负载水平，不作结论。";
        FactInvalidAbove: "Not valid, and so not used: {loads}.", "以下负载水平无效，未予采用：{loads}。";

        // Verdict and capacity, by a search.
        SearchOnly: "{platform} sustains {range} by its search.", "按搜索结果，{platform} 的承载能力为 {range}。";
        SearchWinner: "{platform} sustains the most by its search: {range}. The difference is clear: every other platform misses it at {low} or below.",
            "按搜索结果，{platform} 承载能力最强：{range}。差异明确：其他平台在不高于 {low} 的速率下均不达标。";
        SearchLikely: "{platform} sustains the most of those that could be judged by their search: {range}.",
            "在搜索结果可供评判的平台中，{platform} 承载能力最强：{range}。";
        SearchTie: "The searches tell no difference between {platforms}: the ranges their capacities lie in overlap.",
            "{platforms} 的承载能力区间相互重叠，搜索结果无法区分高下。";
        SearchNobody: "No search found a rate that meets it at a valid step.", "没有任何搜索在有效的步骤中找到达标的速率。";
        SearchUnsound: "Searches that rest on steps which are not valid are not used.", "依据无效步骤得出的搜索结果未予采用。";
        CapacityBetween: "{platform}: meets {slo} ({share}) at {low} and misses it at {high}; the capacity lies between.",
            "{platform}：在 {low} 下满足 {slo}（{share}），在 {high} 下不满足，承载能力介于两者之间。";
        CapacityAtMostMet: "{platform}: meets {slo} ({share}) at {low}, the highest rate that the search may try; the capacity may be larger.",
            "{platform}：在搜索允许的最高速率 {low} 下仍满足 {slo}（{share}），承载能力可能更高。";
        CapacityAtLeast: "{platform}: meets {slo} ({share}) at {low}; no rate was found that surely misses it.",
            "{platform}：在 {low} 下满足 {slo}（{share}），未找到确定不满足的速率。";
        CapacityBelow: "{platform}: misses {slo} ({share}) at {high} already, and no lower rate that was tried meets it.",
            "{platform}：在 {high} 下已不满足 {slo}（{share}），更低的已测速率也均未达标。";
        CapacityUnknown: "{platform}: whether {slo} ({share}) is met could not be told at any rate.",
            "{platform}：在任何速率下都无法判定是否满足 {slo}（{share}）。";
        CapacityUnconfirmed: "It was not measured again to confirm it.", "该结果未经重复测量确认。";
        CapacityConfirmedOnce: "Measured once more at that rate, it met it again.", "在该速率下又测量一次，再次达标。";
        CapacityConfirmed: "Measured {n} more times at that rate, it met it each time.", "在该速率下又测量 {n} 次，每次均达标。";
        CapacityIncomplete: "The search did not come to its end, so the range is wider than it was to be.",
            "搜索未完成，区间比预期更宽。";
        CapacityNotValid: "No step at {low} is valid: read the reasons before you rely on it.",
            "{low} 下没有有效的步骤：采信之前请先查看原因。";
        CapacityClientLimit: "At {high} this client was late or short of CPU: it, not the platform, may have been the limit.",
            "在 {high} 下客户端过晚或 CPU 不足：瓶颈可能在客户端，而非平台。";
        KneeLatencyAt: "{platform}: latency climbs from {load} on (knee of this sweep).",
            "{platform}：延迟自 {load} 起明显上升（本次逐级测试的拐点）。";
        KneeThroughputAt: "{platform}: throughput lags behind load from {load} on (knee of this sweep).",
            "{platform}：吞吐自 {load} 起落后于负载（本次逐级测试的拐点）。";
        KneeBeforeSlo: "That is {n} times the capacity for {slo}: the curve bends before {slo} is missed.",
            "为 {slo} 承载能力的 {n} 倍：曲线先出现拐点，之后才不满足 {slo}。";
        KneeAfterSlo: "That is {n} times the capacity for {slo}: {slo} is missed before the curve bends.",
            "为 {slo} 承载能力的 {n} 倍：曲线出现拐点之前已不满足 {slo}。";
        KneeAtSlo: "That is the capacity for {slo}.", "恰为 {slo} 的承载能力。";
        CapacityIntro: "How much each platform takes: by a search for the highest rate within an SLO, by the most of any second, and by what lasted.",
            "各平台能承载多少：依据在 SLO 内搜索到的最高速率、任意一秒的峰值，以及可持续的吞吐。";
        NoteNoDns: "Nothing had to be resolved.", "无需解析域名。";
        NoteAllKept: "No request of this point opened a connection.", "该测试点没有请求新建连接。";
        NoteNoneKept: "Every request of this point opened a connection.", "该测试点的每个请求都新建连接。";
        NoteNoTls: "No TLS handshake: plain HTTP, or every connection was kept.", "没有 TLS 握手：使用明文 HTTP，或连接均被复用。";
        NotePhases: "Medians in ms over the requests in which the phase happened; TCP and TLS over new connections only, DNS once before the run. The phases of one request add up to its response time from sent; medians need not.",
            "各阶段的中位数（ms），仅统计经历该阶段的请求；TCP 与 TLS 仅统计新建连接，DNS 为测试前的一次解析。单个请求的各阶段之和为其自发出起的响应时间，中位数之和则未必相等。";
        NoteNoRtt: "No round trip was measured.", "未测得往返时间。";
        NoteNoProbe: "The plan asks for no probe (rtt_probe).", "计划未要求探测（rtt_probe）。";
        NoteBelowZero: "{n} requests took less than the round trip taken off; their figures are below 0 and not cut.",
            "{n} 个请求的耗时短于所扣除的往返时间，其数值为负，未作截断。";
        NoteNetwork: "E2E − RTT/2 leaves one way of the network in; E2E − RTT takes both ways off, and one more round trip for each that opening the connection took.",
            "E2E − RTT/2 中仍含单程网络时间；E2E − RTT 扣除双程，新建连接时再扣除建连所需的各次往返。";
        NoteNoJitter: "n does not support a p95.", "样本数不足以支撑 p95。";
        NoteTooShortToTell: "Too little to tell.", "数据过少，无法判断。";
        NoteSteadiness: "Jitter: p95 − p50. Steady: latencies settled within the first half of the window (MSER-5); a transient at its start is left out of the latencies, not of counts and rates.",
            "抖动为 p95 − p50。平稳指延迟在窗口前半段内趋稳（MSER-5）；开头的过渡段不计入延迟分布，但仍计入计数与速率。";
        NoteCalibration: "Measured against a server of known timing inside the client's own process, at the plan's largest load; gaps are off either way.",
            "以客户端进程内时刻已知的服务器为参照，按计划的最大负载测得；间隔误差包括偏早与偏晚。";
        NoteServerLate: "The server itself was later than what is told of the client: this machine was busy, and a smaller error of the client cannot be seen.",
            "服务器自身的延迟大于测得的客户端误差：本机当时繁忙，无法分辨更小的客户端误差。";
        NoteNoKernelStamps: "The kernel gave no timestamps.", "内核未提供时间戳。";
        NoteNotCalibrated: "The client was not calibrated before this run.", "测试前未校准客户端。";
        NoteNoLevelCounts: "No level counts: each was not valid for another reason than overload.", "没有可计入的负载水平：均因过载以外的原因无效。";
        NoteNoPlateau: "The levels measured show no plateau.", "已测的负载水平未显示平台期。";
        NoteNothingStable: "No level measured is stable by this rule.", "已测的负载水平均不满足该稳定规则。";
        NoteStableChance: "Chance alone may explain that the rule was met.", "满足该规则可能仅出于偶然。";
        NoteStableHighest: "The highest level measured: more may be sustained.", "已是测得的最高负载，实际可能更高。";
        NoteStableChanceHighest: "The highest level measured, and chance alone may explain that the rule was met.", "已是测得的最高负载，且满足该规则可能仅出于偶然。";
        NoteMaxAgainstStable: "The best second is a peak that does not last. Stable throughput is that of the highest level at which the rule was met and the platform kept up.",
            "峰值只是某一秒的最大值，不可持续。稳定速率取满足规则且平台跟得上的最高负载水平。";
        NoteKneeFewLevels: "Fewer than five different levels that count.", "可计入的不同负载水平少于五级。";
        NoteKneeNoBend: "The curve does not bend within this sweep.", "曲线在测试范围内没有拐点。";
        NoteKneeOfSweep: "A knee depends on the range of loads swept (Kneedle on the smoothed curve; two lines as a check). × capacity: below 1 the curve bends first, above 1 the SLO is missed first.",
            "拐点取决于逐级测试的负载范围（在平滑后的曲线上用 Kneedle 求得，两段直线用于核对）。倍数小于 1 表示曲线先出现拐点，大于 1 表示先不满足 SLO。";
        NoteUsl: "X(N) = γN ÷ (1 + σ(N − 1) + κN(N − 1)), N requests in flight, fitted to the levels that count.",
            "X（N）= γN ÷（1 + σ（N − 1）+ κN（N − 1）），N 为在途请求数，对可计入的负载水平拟合。";
        NoteUslNoPeak: "The fitted law never falls: it has no peak.", "拟合曲线始终不下降，没有峰值。";
        NoteUslNoR2: "All throughputs are alike: there is no variance to explain.", "各级吞吐相同，没有可解释的方差。";
        NoteScaling: "Growth of throughput over growth of load; 100% where throughput grows as load does.",
            "吞吐增长与负载增长之比；吞吐与负载同步增长时为 100%。";

        // Verdict, without an SLO.
        NoSlo: "The plan sets no SLO, so there is no capacity to name; here are the facts.", "测试计划未设置 SLO，无法给出承载上限，仅列出事实。";
        FactLowest: "{platform}: at {load}, the lowest valid level, TTFT p50 {p50}, p95 {p95}; {tokens}.",
            "{platform}：在最低有效负载 {load} 下，TTFT p50 {p50}，p95 {p95}；{tokens}。";
        FactMost: "Most output at a valid level: {tokens} at {load}, TTFT p50 {p50}, p95 {p95}.", "有效负载中输出最高：{load} 下 {tokens}，TTFT p50 {p50}，p95 {p95}。";
        ComparedThere: "Compared at that load:",
            "在该负载下比较：";
        ComparedAt: "Compared at {load}, the highest level valid for all:",
            "在所有平台均有效的最高负载 {load} 下比较：";
        NoCommonLevel: "No load level is valid for all platforms, so they are not compared.", "没有任何负载水平在所有平台上均有效，故不作比较。";
        NoPoints: "No point was measured: there is nothing to judge.", "没有测得任何测试点，无法作出结论。";
        OneRunOnly: "Intervals cover the requests of these runs; how much whole runs differ from each other is not in them.", "置信区间仅反映本次测试中请求之间的波动，不包含多次测试之间的差异。";

        TokensPerS: "{n} output tokens/s", "输出 {n} token/s";
        TokensUnknown: "output tokens/s unknown (nobody counted)", "输出 token/s 未知（无计数）";
        ValueWithInterval: "{value} (95% interval {low}–{high})", "{value}（95% 置信区间 {low}–{high}）";
        ValueAtLeast: "{value} (95% interval {low} or more)", "{value}（95% 置信区间不低于 {low}）";
        ValueNoInterval: "{value} (no interval)", "{value}（无置信区间）";
        TooSmall: "n too small (n = {n}, needs {needs})", "样本不足（n = {n}，需 {needs}）";
        NotMeasured: "not measured (n = 0)", "未测得（n = 0）";
        LimitAtMost: "{metric} ≤ {value}", "{metric} ≤ {value}";

        // Warnings.
        NoWarnings: "Nothing stands against these figures.", "未发现影响数据可信度的问题。";
        RunLimitReached: "{run}: the run was ended by a limit of its plan; {done} of {planned} points were measured.", "{run}：测试因达到计划中的上限而结束，共 {planned} 个测试点，已测 {done} 个。";
        RunLimitReachedAt: "{run}: {limit}; the run ended there, and {done} of {planned} points were measured.", "{run}：{limit}，测试就此结束；共 {planned} 个测试点，已测 {done} 个。";
        LimitFigure: "{limit} limit reached: {observed} of {allowed}", "达到{limit}上限：{observed}，上限 {allowed}";
        SkippedAtPlateau: "{run}: throughput had stopped growing, so the sweep ended there (stop_at_plateau) and these levels were left out:",
            "{run}：吞吐已不再增长，测试按 stop_at_plateau 结束，略过以下负载水平：";
        PointNumber: "point {n} of the plan", "计划中的第 {n} 个测试点";
        RunInterrupted: "{run}: the run was stopped by the user before its end; {done} of {planned} points were measured.", "{run}：测试被用户提前中断，共 {planned} 个测试点，已测 {done} 个。";
        RunFailed: "{run}: the run ended early by an error of its own; {done} of {planned} points were measured.", "{run}：测试因自身错误提前终止，共 {planned} 个测试点，已测 {done} 个。";
        RunKilled: "{run}: the run was killed, or is still going; {done} of {planned} points are in this report.", "{run}：测试被强制终止或仍在进行，共 {planned} 个测试点，本报告包含 {done} 个。";
        PointsMissing: "{run}: {done} of {planned} planned points were measured.", "{run}：计划 {planned} 个测试点，实际测得 {done} 个。";
        JournalLost: "{run}: {bytes} at the end of the request journal could not be read.", "{run}：请求日志末尾有 {bytes} 无法读取。";
        JournalUnflushed: "{run}: what the journal had not yet written (at most a second of records) is lost.", "{run}：尚未写入日志的记录（至多一秒）已丢失。";
        OtherMetrics: "{run}: made with version {found} of the metric definitions; this report explains version {known}.", "{run}：使用第 {found} 版指标定义，本报告说明的是第 {known} 版。";
        PlansDiffer: "The runs were made from different plans: compare them with care.", "各次测试使用的计划不同，比较时请谨慎。";
        LengthIgnoreEos: "{platform}: output length was held by ignore_eos with max_tokens{evidence}.", "{platform}：通过 ignore_eos 与 max_tokens 控制输出长度{evidence}。";
        LengthMinTokens: "{platform}: output length was held by min_tokens with max_tokens{evidence}.", "{platform}：通过 min_tokens 与 max_tokens 控制输出长度{evidence}。";
        LengthNatural: "{platform}: only max_tokens was in force{evidence}; the model may stop earlier, so output lengths vary.", "{platform}：仅 max_tokens 生效{evidence}，模型可能提前结束，输出长度会有波动。";
        LengthUnprobed: "{platform}: which length control was in force is not known; the platform was not probed.", "{platform}：未对平台进行探测，输出长度控制方式未知。";
        EvidencePlan: " (set in the plan, not tried)", "（由测试计划指定，未经验证）";
        EvidenceProbed: " (tried: {asked} asked for, {delivered} delivered)", "（已验证：要求 {asked} 个 token，返回 {delivered} 个）";
        EvidenceProbedUncounted: " (tried: {asked} asked for, delivered count unknown)", "（已验证：要求 {asked} 个 token，返回数量未知）";
        EvidenceNothing: " (nothing else was accepted and obeyed)", "（其他方式均未被接受并遵守）";
        InputOff: "{platform}: input lengths are off the target by more than 5%.", "{platform}：输入长度与目标偏差超过 5%。";
        OutputOff: "{platform}: output lengths are off the target by more than 5%.", "{platform}：输出长度与目标偏差超过 5%。";
        EnvironmentProblem: "{platform}: met while looking at the platform: {problem}", "{platform}：探测平台时遇到问题：{problem}";
        PlatformAt: "{platform}, {load}", "{platform}，{load}";
        FigureAt: "{load}: {figure}", "{load}：{figure}";
        FigureAtLeast: "{figure}, asked for at least {limit}", "{figure}，要求至少 {limit}";
        FigureLimit: "{figure}, limit {limit}", "{figure}，限值 {limit}";
        MeanOf: "mean {mean}, target {target} ({deviation})", "均值 {mean}，目标 {target}（{deviation}）";

        // Table notes: why there is no value.
        NoteNoSamples: "No sample: no request of this point has such a value.", "无样本：该测试点没有任何请求具有此项数值。";
        NoteRefused: "n too small: so few samples cannot support this percentile. The number needed is given.", "样本不足：样本数不足以支撑该分位数，所需样本数见表中。";
        NoteNotSupported: "n is too small for this percentile.", "样本数不足以支撑该分位数。";
        NeedsSamples: "{percentile} needs {n} samples", "{percentile} 需 {n} 个样本";
        NeedsAlso: "{percentile} {n}", "{percentile} 需 {n} 个";
        NoteOneSample: "Needs two samples.", "需要至少两个样本。";
        NoteNoWindow: "The measured window has no length.", "测量窗口没有时长。";
        NoteNoTokens: "Nobody counted the output tokens.", "没有输出 token 计数。";
        NoteClosedLoop: "Closed loop: arrivals wait for answers by design.", "闭环：按设计，请求会等待应答。";
        NoteNotEvaluated: "The SLO cannot be evaluated at this point.", "该测试点无法评判此 SLO。";
        NoteNotTold: "The server did not say.", "服务端未提供。";
        NoteNoTokenizer: "No tokenizer file was given.", "未提供分词器文件。";
        NoteNotSeen: "The system did not tell.", "系统未提供。";
        NoteShort: "The window is too short.", "测量窗口过短。";
        NoteFailed: "The percentile falls on a failed request: there is no such latency.", "该分位数落在失败请求上，不存在对应的延迟值。";
        NoteInvalidRows: "Points marked as not valid are shown for completeness; no verdict uses them.", "标为无效的测试点仅供查阅，不用于任何结论。";
        NoteGoodput: "Goodput counts requests by their intended time, also those whose answers ended in the drain; achieved requests/s counts answers that ended inside the window. So goodput can be the larger.",
            "有效吞吐按请求的计划发送时刻计数，包含在排空阶段才结束的应答；完成速率只计窗口内结束的应答。因此有效吞吐可能高于完成速率。";
        NoteTpotOf: "TPOT of {n} of {all} answers; the others had no measurable span: all their tokens came at one instant.",
            "{all} 个应答中有 {n} 个具有 TPOT，其余应答没有可测量的时间跨度：其全部 token 在同一时刻到达。";
        NoteIntervals: "Below each percentile: its 95% interval; ≥ where n supports no upper bound, nothing where it supports none.", "各分位数下方为 95% 置信区间；“≥”表示样本量不足以给出上限，空白表示无法给出区间。";
        NoneFailed: "No request failed.", "没有失败的请求。";
        NoReasons: "nothing to note", "无异常";

        CurveIntro: "Each dot is a load level held for its measured window. Lower and further right is better.", "每个点代表一个保持了完整测量窗口的负载水平，越靠右下越好。";
        CurveStill: "{metric} against achieved requests/s", "{metric} 与完成速率";
        CurveStillIn: "{metric} against achieved requests/s, {workload}", "{metric} 与完成速率（{workload}）";
        ThroughputStill: "TTFT against output tokens/s", "TTFT 与输出吞吐";
        ThroughputStillIn: "TTFT against output tokens/s, {workload}", "TTFT 与输出吞吐（{workload}）";
        DistributionIntro: "The share of successful requests that took at most so long, at one load level.", "在同一负载水平下，耗时不超过某值的成功请求占比。";
        DistributionStill: "Distribution of {metric} at {load}", "{load} 下的 {metric} 分布";
        DistributionStillIn: "Distribution of {metric} at {load}, {workload}", "{load} 下的 {metric} 分布（{workload}）";
        SeriesIntro: "One point, second by second; the shaded seconds are warm-up and drain and count in no figure.", "单个测试点的逐秒数据；阴影部分为预热与排空阶段，不计入任何指标。";
        SeriesStill: "{load}: {what}", "{load}：{what}";
        PercentileNote: "Solid p50, dashed p95, dotted p99. {hollow}.", "实线 p50，虚线 p95，点线 p99。{hollow}。";
        RepeatIntro: "Save the plan below as plan.yaml, set the environment variables it names, and run:", "将下方的测试计划保存为 plan.yaml，设置其中引用的环境变量，然后运行：";
        RepeatDemo: "The simulated platforms of the demo ended with it, and their ports with them; to see it again, run:", "演示所用的模拟平台及其端口已随演示结束而关闭。要再次运行演示，请执行：";
        RepeatSimulated: "The simulated platforms must be started again first, at the addresses in the plan (kneepoint sim).", "运行之前，须先在计划中的地址重新启动模拟平台（kneepoint sim）。";
        RepeatSeed: "The seed {seed} fixes prompts, lengths and arrivals.", "随机种子 {seed} 决定提示词、长度和到达时刻。";
        MetricsDefined: "The metrics are defined in version {version} of Kneepoint's metric definitions; a line each:", "指标依据 Kneepoint 指标定义第 {version} 版，逐条说明如下：";
        MadeWith: "Made with Kneepoint {version}. Charts: Apache ECharts.", "由 Kneepoint {version} 生成。图表：Apache ECharts。";
    }
}
