//! A look at each platform before the run: is it there, what does it say of itself, does it hold to an output length.
//!
//! What is seen goes into `environment.json`. A platform that cannot be reached, or refuses a plain request, ends the
//! run before any load; everything else is noted and left to the report.

use kneepoint_model::bundle::{LengthEvidence, Observed, PlatformEnvironment};
use kneepoint_model::plan::{LengthControl, Platform, Point, Workload};
use kneepoint_model::{Failure, Nanos, Plan, Prompt, RequestSource, Tokens};
use kneepoint_wire::exchange::Answer;
use kneepoint_wire::request::{RequestTemplate, TemplateError};
use kneepoint_wire::transport::{Endpoint, EndpointError};

use crate::clock::Clock;
use crate::once::{self, OnceError, Patience};
use crate::stop::StopSignal;

/// TCP handshakes timed for the round trip.
const HANDSHAKES: usize = 5;
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(10);
const LOOK_TIMEOUT: Nanos = Nanos::from_secs(5);
/// Output tokens asked for when length control is tried: more than a model would stop at by chance of being brief.
const PROBE_OUTPUT: u64 = 24;

/// Why a platform cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// The user asked to stop.
    #[error("stopped while looking at the platforms; nothing was measured")]
    Stopped,
    /// It accepts connections, but a plain request is not answered in time.
    #[error("platform `{platform}`: {url} did not answer a plain request")]
    Unanswered {
        /// The platform.
        platform: String,
        /// Its URL.
        url: String,
        /// How far it came.
        #[source]
        source: OnceError,
    },
    /// No address, no name, or TLS not possible.
    #[error("platform `{platform}`: {url} cannot be used")]
    Endpoint {
        /// The platform.
        platform: String,
        /// Its URL.
        url: String,
        /// Why.
        #[source]
        source: EndpointError,
    },
    /// The request cannot be put into the dialect's words.
    #[error("platform `{platform}`: the request cannot be made")]
    Template {
        /// The platform.
        platform: String,
        /// Why.
        #[source]
        source: TemplateError,
    },
    /// Nothing answers there.
    #[error("platform `{platform}`: {url} could not be reached")]
    Unreachable {
        /// The platform.
        platform: String,
        /// Its URL.
        url: String,
        /// Why.
        #[source]
        source: OnceError,
    },
    /// It answers, but not to the request of the plan.
    #[error("platform `{platform}`: {url} refused a plain request: {}", describe(failure))]
    Refused {
        /// The platform.
        platform: String,
        /// Its URL.
        url: String,
        /// What it said.
        failure: Box<Failure>,
    },
}

fn describe(failure: &Failure) -> String {
    let code = failure.kind.code();
    if failure.detail.is_empty() { code } else { format!("{code}: {}", failure.detail) }
}

/// A platform that can be measured.
#[derive(Clone, Debug)]
pub struct Probed {
    /// Where its requests go, held to the address that answered.
    pub endpoint: Endpoint,
    /// For `environment.json`.
    pub environment: PlatformEnvironment,
    /// The kernel stamped what arrived from it.
    pub kernel_stamps: bool,
    /// The answer to the plain request, for `check`.
    pub answer: ProbeAnswer,
}

/// What one plain request brought.
#[derive(Clone, Debug, Default)]
pub struct ProbeAnswer {
    /// Time to the first token, from the sending, ms.
    pub ttft_ms: Option<f64>,
    /// Time to the last token, from the sending, ms.
    pub e2e_ms: Option<f64>,
    /// Token-bearing events.
    pub events: usize,
    /// Input tokens by the server's count.
    pub input_tokens: Option<u64>,
    /// Output tokens by the server's count.
    pub output_tokens: Option<u64>,
    /// Why the server stopped.
    pub finish: Option<String>,
}

/// The prompt that a platform is probed with, `platform` its index in the plan: of its first point, and with an index that
/// no run reaches, so that it is no measured request's prompt.
pub fn prompt(source: &dyn RequestSource, points: &[Point], platform: usize) -> Prompt {
    let number = points.iter().position(|point| point.platform == platform).unwrap_or(0);
    source.prompt(number, &points[number], u64::MAX)
}

/// Looks at one platform, sending the plan's first workload once, and a few small requests more for length control.
pub fn probe(
    plan: &Plan,
    platform: &Platform,
    prompt: &Prompt,
    clock: Clock,
    stop: &StopSignal,
) -> Result<Probed, ProbeError> {
    let workload = &plan.workloads[0];
    let model = platform.model.as_deref().unwrap_or(&plan.model.id);
    let uncontrolled = template(platform, workload, model, LengthControl::Natural)?;
    let target = uncontrolled.target();
    let endpoint = Endpoint::resolve(target, platform.ca.as_deref(), || clock.now()).map_err(|source| {
        ProbeError::Endpoint { platform: platform.name.clone(), url: platform.url.clone(), source }
    })?;
    let endpoint = endpoint.with_http(platform.http);
    let unreachable =
        |source| ProbeError::Unreachable { platform: platform.name.clone(), url: platform.url.clone(), source };
    let addresses = endpoint.addresses().iter().map(ToString::to_string).collect();
    let (endpoint, tcp_connect) = once::reach(&endpoint, HANDSHAKES, CONNECT_TIMEOUT, clock).map_err(unreachable)?;

    let mut observed = Observed {
        url: target.url(),
        addresses,
        dns_ms: endpoint.dns().map(Nanos::as_millis_f64),
        tcp_connect_ms: Some(tcp_connect.as_millis_f64()),
        ..Observed::default()
    };
    let patience = Patience { timeout: platform.time_limits.total, clock, stop };
    let (answer, kernel_stamps) = plain_request(platform, &uncontrolled, &endpoint, prompt, patience, &mut observed)?;
    let looking = Patience { timeout: LOOK_TIMEOUT, ..patience };
    look_around(&endpoint, platform, &uncontrolled, looking, &mut observed);
    settle_length(plan, platform, prompt, &endpoint, patience, &mut observed)?;
    let environment = PlatformEnvironment { declared: platform.declares.clone(), observed };
    Ok(Probed { endpoint, environment, kernel_stamps, answer })
}

/// The template of a platform's requests.
pub(crate) fn template(
    platform: &Platform,
    workload: &Workload,
    model: &str,
    length: LengthControl,
) -> Result<RequestTemplate, ProbeError> {
    RequestTemplate::new(platform, workload, model, length)
        .map_err(|source| ProbeError::Template { platform: platform.name.clone(), source })
}

/// Model list and version, where there are any. Their absence is no fault.
fn look_around(
    endpoint: &Endpoint,
    platform: &Platform,
    template: &RequestTemplate,
    patience: Patience<'_>,
    observed: &mut Observed,
) {
    let target = template.target();
    if let Ok(page) = once::get(endpoint, platform, target, &target.sibling("models"), patience) {
        let entries = page.json.as_ref().and_then(|json| json.get("data")).and_then(|data| data.as_array());
        let ids = entries.into_iter().flatten().filter_map(|entry| entry.get("id")?.as_str());
        observed.models = ids.map(|id| template.cleaned(id)).take(100).collect();
        let server = page.server.map(|server| template.cleaned(&server));
        observed.server_header = server.or(observed.server_header.take());
        observed.simulated |= page.simulated;
    }
    if let Ok(page) = once::get(endpoint, platform, target, "/version", patience) {
        let version = page.json.as_ref().and_then(|json| json.get("version")?.as_str());
        observed.engine_version = version.map(|version| template.cleaned(version));
    }
}

/// One request as the plan will send them, without length control: what is refused here would fail all along.
fn plain_request(
    platform: &Platform,
    template: &RequestTemplate,
    endpoint: &Endpoint,
    prompt: &Prompt,
    patience: Patience<'_>,
    observed: &mut Observed,
) -> Result<(ProbeAnswer, bool), ProbeError> {
    let prompt = Prompt { output: Tokens(prompt.output.0.min(PROBE_OUTPUT)), ..prompt.clone() };
    let done = once::exchange(endpoint, template, &prompt, patience).map_err(|source| no_answer(platform, source))?;
    observed.tls = done.tls;
    observed.http = Some(done.http);
    observed.server_header = done.answer.server_header.as_deref().map(|server| template.cleaned(server));
    observed.simulated |= done.answer.simulated;
    match &done.answer.verdict {
        Ok(()) => {
            let mut answer = probe_answer(&done.answer, done.sent);
            answer.finish = answer.finish.map(|finish| template.cleaned(&finish));
            Ok((answer, done.kernel_stamps))
        }
        Err(failure) => Err(ProbeError::Refused {
            platform: platform.name.clone(),
            url: platform.url.clone(),
            failure: Box::new(masked(failure, template)),
        }),
    }
}

/// A server that accepts connections and does not answer is another thing than one that is not there.
fn no_answer(platform: &Platform, source: OnceError) -> ProbeError {
    let (name, url) = (platform.name.clone(), platform.url.clone());
    match source {
        OnceError::Stopped => ProbeError::Stopped,
        OnceError::Timeout { .. } => ProbeError::Unanswered { platform: name, url, source },
        source => ProbeError::Unreachable { platform: name, url, source },
    }
}

fn probe_answer(answer: &Answer, sent: Nanos) -> ProbeAnswer {
    let since_sent = |at: Option<Nanos>| at.and_then(|at| at.since(sent)).map(Nanos::as_millis_f64);
    ProbeAnswer {
        ttft_ms: since_sent(answer.events.first),
        e2e_ms: since_sent(answer.events.instants().last()),
        events: answer.events.len(),
        input_tokens: answer.input_tokens.map(|tokens| tokens.0),
        output_tokens: answer.output_tokens.map(|tokens| tokens.0),
        finish: answer.finish.clone(),
    }
}

/// Finds the length control in force: what the plan says, or the first one that is accepted *and* obeyed.
fn settle_length(
    plan: &Plan,
    platform: &Platform,
    prompt: &Prompt,
    endpoint: &Endpoint,
    patience: Patience<'_>,
    observed: &mut Observed,
) -> Result<(), ProbeError> {
    if platform.length_control != LengthControl::Auto {
        observed.length_control = platform.length_control;
        observed.length_control_evidence = LengthEvidence::Plan;
        return Ok(());
    }
    let model = platform.model.as_deref().unwrap_or(&plan.model.id);
    let asked = prompt.output.0.clamp(1, PROBE_OUTPUT);
    let prompt = Prompt { output: Tokens(asked), ..prompt.clone() };
    for length in [LengthControl::IgnoreEos, LengthControl::MinTokens] {
        let template = template(platform, &plan.workloads[0], model, length)?;
        let done = match once::exchange(endpoint, &template, &prompt, patience) {
            Ok(done) => done,
            Err(OnceError::Stopped) => return Err(ProbeError::Stopped),
            Err(_) => continue,
        };
        if done.answer.verdict.is_err() {
            continue;
        }
        let delivered = done.answer.output_tokens.map(|tokens| tokens.0);
        // A server that counts nothing is believed: the report compares lengths wherever a tokenizer can.
        if delivered.is_none_or(|delivered| delivered == asked) {
            observed.length_control = length;
            observed.length_control_evidence = LengthEvidence::Probed { asked, delivered };
            return Ok(());
        }
    }
    observed.length_control = LengthControl::Natural;
    observed.length_control_evidence = LengthEvidence::NothingObeyed;
    Ok(())
}

/// What the server said, without the secrets that it may have echoed.
fn masked(failure: &Failure, template: &RequestTemplate) -> Failure {
    let detail = template.secrets().iter().fold(failure.detail.clone(), |text, secret| secret.mask_in(&text));
    Failure { detail, ..failure.clone() }
}
