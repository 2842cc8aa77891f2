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
