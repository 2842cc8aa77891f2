//! What the command line says beside its data: progress, the verdicts of a check, warnings.

use super::catalogue;

catalogue! {
    /// Sentences of the command line. Errors are in English, like the plan they speak of.
    #[expect(missing_docs, reason = "a key is documented by its English text")]
    pub Console {
        Probing: "probing {platform}", "正在探测 {platform}";
        PreflightFound: "note: {found}", "注意：{found}";
        Calibrating: "measuring what this client itself adds, about 3 s", "正在测量本机客户端自身的误差，约 3 秒";
        NotCalibrated: "warning: what this client itself adds could not be measured: {error}",
            "警告：无法测量本机客户端自身的误差：{error}";
        PointName: "[{index}/{total}] {platform} · {workload} · {level}", "[{index}/{total}] {platform} · {workload} · {level}";
        LevelRate: "{rate} req/s", "{rate} 请求/秒";
        LevelConcurrency: "concurrency {concurrency}", "并发 {concurrency}";
        SearchStep: "[search, step {step}] {platform} · {workload} · {level}", "[搜索，第 {step} 步] {platform} · {workload} · {level}";
        PointDone: "{point}: done, {requests} requests in {seconds} s", "{point}：完成，{seconds} 秒内 {requests} 个请求";
        PointInterrupted: "{point}: interrupted, {requests} requests in {seconds} s",
            "{point}：已中断，{seconds} 秒内 {requests} 个请求";
        PointSaturated: "{point}: ended early, the platform falls behind; {requests} requests in {seconds} s",
            "{point}：提前结束，平台已跟不上；{seconds} 秒内 {requests} 个请求";
        PointAtLimit: "{point}: ended by a limit of the plan; {requests} requests in {seconds} s",
            "{point}：达到计划的上限而结束；{seconds} 秒内 {requests} 个请求";
        Preparing: "{point}: making prompts {made}/{wanted}", "{point}：正在生成提示词 {made}/{wanted}";
        WarmUp: "{point}: warm-up, {counts}", "{point}：预热，{counts}";
        Measuring: "{point}: measuring, {counts}", "{point}：测量中，{counts}";
        Draining: "{point}: draining, {counts}", "{point}：等待未完成的请求，{counts}";
        Counts: "{sent} sent, {ended} ended, {failed} failed, {in_flight} in flight",
            "已发送 {sent}，已结束 {ended}，失败 {failed}，在途 {in_flight}";
        TimeLeft: "{text}; about {seconds} s left in all", "{text}；全部还需约 {seconds} 秒";
        Eta: "{seconds} s left", "剩余 {seconds} 秒";
        StoppingOnce: "stopping: open requests may finish; once more stops at once",
            "正在停止：等待未完成的请求；再按一次则立即停止";
        StoppingNow: "stopping at once", "立即停止";
        SloMissedAt: "SLO {slo} missed by {platform}, {workload}, {load}: {reached} of the requests met it, {wanted} are asked for",
            "SLO {slo} 未达标：{platform}，{workload}，{load}：{reached} 的请求达标，要求 {wanted}";
        SloNotJudged: "SLO {slo} cannot be judged for {platform}, {workload}, {load} (asked for: {wanted}{reached})",
            "SLO {slo} 无法评判：{platform}，{workload}，{load}（要求 {wanted}{reached}）";
        ReportAt: "report: {path}", "报告：{path}";
        PlanAt: "plan: {path}", "计划：{path}";
        DemoStarts: "three simulated platforms on loopback; this takes under a minute",
            "本机回环上的三个模拟平台，用时不到一分钟";
        SimServing: "simulated platform; Ctrl-C ends it", "模拟平台已启动；按 Ctrl-C 结束";
        SimLate: "warning: this machine was too busy for the simulated platform {name}: tokens left up to {lag} ms late",
            "警告：本机过于繁忙，模拟平台 {name} 发送 token 最多迟了 {lag} 毫秒";
        ChangedFile: "warning: {file} in {bundle} is not the file the run left", "警告：{bundle} 中的 {file} 已不是测量时写入的文件";
        InitWrote: "wrote {path}; next: kneepoint check {path}", "已写入 {path}；下一步：kneepoint check {path}";
        CheckPlan: "{plan}: points {points}, platforms {platforms}, at least {seconds} s",
            "{plan}：{points} 个测点，{platforms} 个平台，至少 {seconds} 秒";
        CheckSearches: "and searches {searches}, each as many steps as it takes", "另有 {searches} 个搜索，步数视结果而定";
        CheckFailed: "FAILED: {error}", "失败：{error}";
        CalibrateMeasuring: "measuring {streams} streams, {events} token events/s",
            "正在测量 {streams} 个流，每秒 {events} 个 token 事件";
        CalibrateStreams: "streams", "流数";
        CalibrateEvents: "events/s", "事件/秒";
        CalibrateAnswers: "answers", "回答数";
        CalibrateTtft: "TTFT +{percentile}", "TTFT +{percentile}";
        CalibrateItl: "ITL ±{percentile}", "ITL ±{percentile}";
        CalibrateServer: "server p99", "服务器 p99";
        CalibrateVerdict: "verdict", "结论";
        CalibrateVerdictKept: "kept", "跟得上";
        CalibrateVerdictLate: "client late", "客户端迟了";
        CalibrateVerdictUnknown: "cannot tell: server late", "无法判断：服务器迟了";
        CalibrateHow: "ms added by the client, against a server of known timing inside this process; server p99: how late that server itself was",
            "单位毫秒：客户端自身带来的误差，对照本进程内时刻已知的服务器；服务器 p99 是该服务器自身的延迟";
        CalibrateLargest: "largest load kept (server on time, ITL within {limit} ms at p99): {streams} streams, {events} token events/s, server and client on this machine together",
            "跟得上的最大负载（服务器准时，ITL 误差 p99 不超过 {limit} 毫秒）：{streams} 个流，每秒 {events} 个 token 事件；服务器与客户端同在本机";
        CalibrateNoneKept: "no load was kept (server on time, ITL within {limit} ms at p99); is the machine busy with something else?",
            "没有跟得上的负载（服务器准时，ITL 误差 p99 不超过 {limit} 毫秒）；本机是否正忙于别的任务？";
        CalibrateCannotTell: "of the last load nothing can be told: the server shares this machine with the client and was itself late by more than {limit} ms at p99",
            "最后一个负载无法判断：服务器与客户端同在本机，其自身 p99 已迟了 {limit} 毫秒以上";
        CalibrateNoHigher: "no higher load was tried: open files (`ulimit -n`) allow no more streams, or the last step was reached",
            "没有尝试更高的负载：可打开的文件数（`ulimit -n`）不允许更多的流，或已到最后一级";
        CalibrateEnded: "the next load could not be measured: {error}", "下一级负载无法测量：{error}";
        Reachable: "reachable", "可达";
        ReachableYes: "yes, {addresses} (TCP connect {connect})", "是，{addresses}（TCP 连接 {connect}）";
        Tls: "TLS", "TLS";
        Authenticated: "authenticated", "鉴权";
        AuthenticatedYes: "yes", "通过";
        NoKeyNeeded: "no key given, none asked for", "未提供密钥，平台也未要求";
        Streams: "streams", "流式输出";
        StreamsYes: "yes, {events} events", "是，{events} 个事件";
        StreamsOnePiece: "one piece: it does not stream, or the answer is too short to tell", "一次返回：不是流式，或回答太短无法判断";
        StreamsNothing: "no visible output", "没有可见输出";
        StreamNotAsked: "not asked for", "未要求";
        FirstAndEnd: "TTFT and E2E", "TTFT 与 E2E";
        FirstAndEndValue: "{ttft}, {e2e} (one request)", "{ttft}，{e2e}（单个请求）";
        InputTokens: "input tokens", "输入 token";
        InputTokensValue: "{counted}, {target} wanted by the plan", "{counted}，计划要求 {target}";
        OutputTokens: "output tokens", "输出 token";
        LengthControl: "length control", "长度控制";
        Server: "server", "服务器";
        Version: "version", "版本";
        Models: "models", "模型";
        Simulated: "simulated", "模拟";
        Yes: "yes", "是";
        NotTold: "not told", "未告知";
        UrlIs: "sends to", "请求地址";
    }
}
