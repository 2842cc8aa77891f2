//! `/metrics` in the Prometheus text format: a few of vLLM's names, so that a scraper made for it finds them, and the
//! simulator's own.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use super::Shared;
use super::log::{LogEntry, LogOutcome};

/// What is counted at the end of each request.
#[derive(Debug, Default)]
pub(super) struct Counters {
    complete: AtomicU64,
    refused: AtomicU64,
    fault: AtomicU64,
    dropped: AtomicU64,
    prompt_tokens: AtomicU64,
    generation_tokens: AtomicU64,
}

impl Counters {
    pub(super) fn note_end(&self, entry: &LogEntry) {
        let outcome = match entry.outcome {
            LogOutcome::Complete => &self.complete,
            LogOutcome::Refused => &self.refused,
            LogOutcome::Fault => &self.fault,
            LogOutcome::Dropped => &self.dropped,
        };
        outcome.fetch_add(1, Ordering::Relaxed);
        if entry.admitted.is_some() {
            self.prompt_tokens.fetch_add(entry.prompt_tokens, Ordering::Relaxed);
            self.generation_tokens.fetch_add(entry.sent_tokens, Ordering::Relaxed);
        }
    }
}

/// The whole page.
pub(super) fn render(shared: &Shared) -> String {
    let load = *shared.load.lock().expect("invariant: nothing panics while it holds this lock");
    let punctuality = shared.lag.read(shared.clock.now());
    let counters = &shared.counters;
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed).to_string();
    let mut page = Page::default();
    page.metric("vllm:num_requests_running", "gauge", "Sequences in a batch.", &load.running.to_string());
    page.metric("vllm:num_requests_waiting", "gauge", "Sequences waiting.", &load.waiting.to_string());
    page.metric("vllm:kv_cache_usage_perc", "gauge", "KV cache in use, 0 to 1.", &load.kv_usage.to_string());
    page.metric("vllm:num_preemptions_total", "counter", "Preemptions.", &load.preemptions.to_string());
    page.metric(
        "vllm:prompt_tokens_total",
        "counter",
        "Prompt tokens of ended requests.",
        &read(&counters.prompt_tokens),
    );
    page.metric(
        "vllm:generation_tokens_total",
        "counter",
        "Output tokens sent by ended requests.",
        &read(&counters.generation_tokens),
    );
    page.metric("vllm:request_success_total", "counter", "Complete answers.", &read(&counters.complete));
    page.metric("kneepoint_sim_refused_total", "counter", "Requests turned away.", &read(&counters.refused));
    page.metric("kneepoint_sim_faults_total", "counter", "Requests that were made to fail.", &read(&counters.fault));
    page.metric("kneepoint_sim_dropped_total", "counter", "Requests whose client left.", &read(&counters.dropped));
    page.metric("kneepoint_sim_replicas_ready", "gauge", "Replicas that serve.", &load.ready.to_string());
    page.metric("kneepoint_sim_replicas_starting", "gauge", "Replicas in a cold start.", &load.starting.to_string());
    page.metric("kneepoint_sim_cold_starts_total", "counter", "Cold starts.", &load.cold_starts.to_string());
    page.metric(
        "kneepoint_sim_lag_seconds",
        "gauge",
        "Most an event was late in the last ten seconds: if this is not small, figures are the machine's, not the model's.",
        &punctuality.lag_recent.as_secs_f64().to_string(),
    );
    page.metric(
        "kneepoint_sim_lag_max_seconds",
        "gauge",
        "Most an event was late since the start.",
        &punctuality.lag_max.as_secs_f64().to_string(),
    );
    page.metric("kneepoint_sim_late_total", "counter", "Events over 5 ms late.", &punctuality.late.to_string());
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn metric(&mut self, name: &str, kind: &str, help: &str, value: &str) {
        write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{name} {value}\n")
            .expect("invariant: writing to a string does not fail");
    }
}
