//! The flags that describe a plan without a file: the same plan as the YAML, resolved by the same step.

mod words;

use std::collections::BTreeMap;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use kneepoint_model::Plan;
use kneepoint_model::plan::file::{
    ConcurrencyFile, DecimalText, HoldFile, LimitsFile, LoadFile, ModelFile, PlatformFile, PriceFile, RateFile,
    RateText, SearchFile, ShareText, SloFile, Sweep, TimeLimitsFile, VERSION, WorkloadFile,
};
use kneepoint_model::plan::{
    Arrival, ConnectionPolicy, Dialect, EndPolicy, HttpVersion, LengthControl, Named, PlanFile, ResolveContext,
    resolve_file,
};
use kneepoint_model::yaml::{Path, Problem, Problems};

use words::{in_words_of_flags, label};

/// What problems call a plan made of flags.
const SOURCE: &str = "the command line";
/// Tokens of a request where the flags do not say.
const DEFAULT_INPUT: u64 = 512;
const DEFAULT_OUTPUT: u64 = 256;

const CONNECTIONS: [(&str, ConnectionPolicy); 2] =
    [("keep-alive", ConnectionPolicy::KeepAlive), ("per-request", ConnectionPolicy::PerRequest)];
const LENGTH_CONTROLS: [(&str, LengthControl); 4] = [
    ("auto", LengthControl::Auto),
    ("ignore-eos", LengthControl::IgnoreEos),
    ("min-tokens", LengthControl::MinTokens),
    ("natural", LengthControl::Natural),
];

/// Name of the first limits that are given without one.
const FIRST_SLO: &str = "slo";

/// Not a comment of the field: with backticks around the words it would be one more thing not to type.
const PRICE_HELP: &str = "What the platform costs, such as currency=USD,per_hour=1.20 or \
                          currency=EUR,per_million_input=0.5,per_million_output=1.5,per_request=0.001";

/// Flags that describe a plan: one platform, one workload, one or two sweeps.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
#[command(next_help_heading = "Plan flags")]
pub(crate) struct PlanFlags {
    /// Address of the platform: http:// or https://, host, and where needed port and path
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The model's name, as the platform knows it
    #[arg(long, value_name = "ID")]
    model: Option<String>,
    /// Wire protocol [default: openai-chat]
    #[arg(long, value_name = "DIALECT", value_parser = word(Dialect::ALL.map(|d| (d.name(), d))))]
    dialect: Option<Dialect>,
    /// Environment variable that holds the API key
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
    /// Open loop: requests per second, as a list (0.5,1,2) or a range (1..8)
    #[arg(long, value_name = "LEVELS")]
    rate: Option<String>,
    /// How open-loop requests are spaced [default: constant]
    #[arg(long, value_name = "ARRIVAL", value_parser = word([("constant", Arrival::Constant), ("poisson", Arrival::Poisson)]))]
    arrival: Option<Arrival>,
    /// Closed loop: requests in flight, as a list (1,4,16) or a range (1..64)
    #[arg(long, value_name = "LEVELS")]
    concurrency: Option<String>,
    /// Search for the highest rate that meets this SLO, by its name in --slo [default: the only one]
    #[arg(long, value_name = "NAME")]
    search_slo: Option<String>,
    /// The first rate that the search tries, such as 1/s
    #[arg(long, value_name = "RATE")]
    search_from: Option<String>,
    /// The highest rate that the search tries
    #[arg(long, value_name = "RATE")]
    search_up_to: Option<String>,
    /// The search ends when what meets and what misses are this close [default: 5%]
    #[arg(long, value_name = "SHARE")]
    search_tolerance: Option<String>,
    /// How many more times the rate found is measured [default: 1]
    #[arg(long, value_name = "N")]
    search_confirm: Option<u64>,
    /// The sweep ends at a level whose throughput is less than this share above that of the level before it, such as 5%
    #[arg(long, value_name = "SHARE")]
    stop_at_plateau: Option<String>,
    /// Open loop: hold each level to its end, even where the platform is seen to fall behind
    #[arg(long)]
    hold_when_saturated: bool,
    /// Input tokens per request [default: 512]
    #[arg(long, value_name = "TOKENS")]
    input: Option<u64>,
    /// Output tokens per request [default: 256]
    #[arg(long, value_name = "TOKENS")]
    output: Option<u64>,
    /// Ask for whole answers instead of streams: no TTFT, no TPOT
    #[arg(long)]
    no_stream: bool,
    /// Length of the measured window of each level, at least; longer where --min-samples needs it [default: 1m]
    #[arg(long = "for", value_name = "DURATION")]
    window: Option<String>,
    /// The window goes on until it holds so many requests [default: 130, which a p95 needs]
    #[arg(long, value_name = "N")]
    min_samples: Option<u64>,
    /// The window never lasts longer than this [default: 10 times --for, or longer where the lowest rate needs it for
    /// --min-samples]
    #[arg(long, value_name = "DURATION")]
    at_most: Option<String>,
    /// Load before the window, left out of every figure [default: 5s]
    #[arg(long, value_name = "DURATION")]
    warm_up: Option<String>,
    /// How long to wait after the window for open requests [default: as --request-timeout]
    #[arg(long, value_name = "DURATION")]
    drain: Option<String>,
    /// Whether requests still open at the window's end are waited for or cut [default: drain]
    #[arg(long, value_name = "POLICY", value_parser = word(EndPolicy::ALL.map(|p| (p.name(), p))))]
    at_end: Option<EndPolicy>,
    /// Open loop: most requests in flight at a time; what arrives beyond it is late or dropped, and told [default: no
    /// limit]
    #[arg(long, value_name = "N")]
    max_in_flight: Option<u64>,
    /// Longest a connection may take to be made ready [default: 10s]
    #[arg(long, value_name = "DURATION")]
    connect_timeout: Option<String>,
    /// Longest from a request's sending to its first token [default: as --request-timeout]
    #[arg(long, value_name = "DURATION")]
    first_token_timeout: Option<String>,
    /// Longest from one piece of a streamed answer to the next [default: as --request-timeout]
    #[arg(long, value_name = "DURATION")]
    chunk_timeout: Option<String>,
    /// Longest a request may take, from its sending to its end [default: 2m]
    #[arg(long, value_name = "DURATION")]
    request_timeout: Option<String>,
    /// Whether connections are kept between requests [default: keep-alive]
    #[arg(long, value_name = "POLICY", value_parser = word(CONNECTIONS))]
    connection: Option<ConnectionPolicy>,
    /// The version of HTTP spoken; never negotiated away [default: 1.1]
    #[arg(long, value_name = "VERSION", value_parser = word(HttpVersion::ALL.map(|v| (v.name(), v))))]
    http: Option<HttpVersion>,
    /// Measure the round-trip time beside the load, on connections of its own
    #[arg(long)]
    rtt_probe: bool,
    /// How the output length is held to the target [default: auto]
    #[arg(
        long,
        value_name = "HOW",
        value_parser = word(LENGTH_CONTROLS)
    )]
    length_control: Option<LengthControl>,
    /// Certificate authorities to trust instead of the system's (PEM file)
    #[arg(long, value_name = "FILE")]
    ca: Option<String>,
    /// Latency limits, such as ttft=500ms,tpot=40ms,e2e=5s,share=99%,name=chat; may be given several times
    #[arg(long, value_name = "LIMITS")]
    slo: Vec<String>,
    #[arg(long, value_name = "PRICE", help = PRICE_HELP)]
    price: Option<String>,
    /// The run ends once so much is spent, such as '2.50 USD'; needs --price
    #[arg(long, value_name = "AMOUNT")]
    max_spend: Option<String>,
    /// The run ends once so many tokens went in and out
    #[arg(long, value_name = "TOKENS")]
    max_tokens: Option<u64>,
    /// The run ends once so many requests were sent
    #[arg(long, value_name = "N")]
    max_requests: Option<u64>,
    /// The run ends after so long
    #[arg(long, value_name = "DURATION")]
    max_time: Option<String>,
    /// The run ends once more than this share of its requests failed, such as 20%
    #[arg(long, value_name = "SHARE")]
    max_error_rate: Option<String>,
    /// Fixes prompts, lengths and arrivals; may be given with a plan file, in place of its own [default: 1]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// The model's tokenizer.json: prompts get exactly the asked number of tokens
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<String>,
    /// Name of the run, part of the bundle's folder name [default: made of the model's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
}

impl PlanFlags {
    /// `true` if no flag was given but `--seed`, which may stand beside a plan file.
    pub(crate) fn is_empty_but_for_seed(&self) -> bool {
        Self { seed: None, ..self.clone() } == Self::default()
    }

    /// The seed, if one was given.
    pub(crate) fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The plan that the flags describe. Problems name the flag they are about.
    pub(crate) fn resolve(&self, context: &ResolveContext<'_>) -> Result<Plan, Problems> {
        let mut problems = Vec::new();
        let file = self.to_file(&mut problems);
        let (plan, found) = match resolve_file(&file, SOURCE, context) {
            Ok(plan) => (Some(plan), Vec::new()),
            Err(found) => (None, found.iter().cloned().collect()),
        };
        // What a flag's own form has wrong is told together with what resolution finds in the others.
        let said: Vec<Path> = problems.iter().map(|problem| problem.path.clone()).collect();
        let further = found.into_iter().filter(|problem| !said.iter().any(|path| path.leads_to(&problem.path)));
        problems.extend(further.map(in_words_of_flags));
        match (Problems::of(SOURCE, problems), plan) {
            (Some(problems), _) => Err(problems.labelled(label)),
            (None, plan) => Ok(plan.expect("invariant: what is refused has a problem")),
        }
    }

    /// The flags as a plan file; what cannot be put into one is a problem.
    fn to_file(&self, problems: &mut Vec<Problem>) -> PlanFile {
        let platform = self.url.as_deref().map_or_else(|| "platform".to_owned(), platform_name);
        let platforms = Path::ROOT.key("platforms").key(&platform);
        if self.url.is_none() {
            let problem = Problem::new(platforms.key("url"), "the address of the platform is missing");
            problems.push(problem.expected("an address such as `http://127.0.0.1:8000`"));
        }
        if self.model.is_none() {
            let problem = Problem::new(Path::ROOT.key("model").key("id"), "the model's name is missing");
            problems.push(problem.expected("a name the platform knows; `GET /v1/models` lists them on most platforms"));
        }
        PlanFile {
            kneepoint: VERSION,
            name: self.name.clone(),
            seed: self.seed,
            model: ModelFile {
                id: self.model.clone().unwrap_or_default(),
                precision: None,
                tokenizer: self.tokenizer.clone(),
            },
            platforms: Named(vec![(platform, self.platform(&platforms.key("price"), problems))]),
            workloads: Named(vec![(
                "fixed".to_owned(),
                WorkloadFile {
                    input: self.input.unwrap_or(DEFAULT_INPUT),
                    output: self.output.unwrap_or(DEFAULT_OUTPUT),
                    stream: self.no_stream.then_some(false),
                },
            )]),
            load: self.load(problems),
            slo: self.slos(problems),
            sla: None,
            limits: self.limits(),
        }
    }

    fn platform(&self, price_at: &Path, problems: &mut Vec<Problem>) -> PlatformFile {
        let price = self.price.as_deref().map(|text| {
            price(text).unwrap_or_else(|message| {
                let problem = Problem::new(price_at.clone(), message).found(text);
                problems.push(problem.expected("a currency and figures, such as `currency=USD,per_hour=1.20`"));
                PriceFile::default()
            })
        });
        PlatformFile {
            price,
            dialect: self.dialect,
            url: self.url.clone().unwrap_or_default(),
            key: self.key_env.as_ref().map(|name| format!("${{{name}}}")),
            connection: self.connection,
            http: self.http,
            rtt_probe: self.rtt_probe.then_some(true),
            ca: self.ca.clone(),
            length_control: self.length_control,
            time_limits: self.time_limits(),
            ..PlatformFile::default()
        }
    }

    fn limits(&self) -> Option<LimitsFile> {
        let limits = LimitsFile {
            spend: self.max_spend.clone(),
            tokens: self.max_tokens,
            requests: self.max_requests,
            time: self.max_time.clone(),
            errors: self.max_error_rate.clone().map(ShareText),
        };
        (limits != LimitsFile::default()).then_some(limits)
    }

    fn time_limits(&self) -> Option<TimeLimitsFile> {
        let limits = TimeLimitsFile {
            connect: self.connect_timeout.clone(),
            first_token: self.first_token_timeout.clone(),
            between_chunks: self.chunk_timeout.clone(),
            total: self.request_timeout.clone(),
        };
        (limits != TimeLimitsFile::default()).then_some(limits)
    }

    fn load(&self, problems: &mut Vec<Problem>) -> Vec<LoadFile> {
        let root = Path::ROOT.key("load");
        let hold = HoldFile {
            at_least: self.window.clone(),
            min_samples: self.min_samples,
            warm_up: self.warm_up.clone(),
            drain: self.drain.clone(),
            at_end: self.at_end,
            at_most: self.at_most.clone(),
        };
        let stop_at_plateau = self.stop_at_plateau.clone().map(ShareText);
        let mut loads = Vec::new();
        if let Some(text) = &self.rate {
            let sweep = sweep(text, &root.index(loads.len()).key("rate").key("sweep"), problems);
            let rate = RateFile {
                sweep,
                arrival: self.arrival,
                max_in_flight: self.max_in_flight,
                stop_at_plateau: stop_at_plateau.clone(),
                end_when_saturated: self.hold_when_saturated.then_some(false),
                hold: hold.clone(),
            };
            loads.push(LoadFile { rate: Some(rate), ..LoadFile::default() });
        }
        if let Some(text) = &self.concurrency {
            let sweep = sweep(text, &root.index(loads.len()).key("concurrency").key("sweep"), problems);
            loads.push(LoadFile {
                concurrency: Some(ConcurrencyFile { sweep, stop_at_plateau, hold: hold.clone() }),
                ..LoadFile::default()
            });
        }
        if let Some(search) = self.search(&root.index(loads.len()).key("search"), hold, problems) {
            loads.push(LoadFile { search: Some(search), ..LoadFile::default() });
        }
        if loads.iter().all(|load| load.rate.is_none() && load.search.is_none()) {
            self.rates_only(&root, problems);
        }
        if loads.iter().all(|load| load.rate.is_none() && load.concurrency.is_none()) && self.stop_at_plateau.is_some()
        {
            let problem = Problem::new(root.key("stop_at_plateau"), "there is no sweep that could stop");
            problems.push(problem.hint("give --rate or --concurrency as well: a search chooses its levels itself"));
        }
        if loads.is_empty() {
            let problem = Problem::new(root, "no load is given");
            problems.push(problem.expected(
                "--rate (such as 1,2,4 or 1..8), --concurrency (such as 1,4,16), a search (--search-from 1/s \
                 --search-up-to 100/s with an --slo), or several of them",
            ));
        }
        loads
    }

    /// The search, if one of its flags is given.
    fn search(&self, path: &Path, hold: HoldFile, problems: &mut Vec<Problem>) -> Option<SearchFile> {
        let texts = [&self.search_slo, &self.search_from, &self.search_up_to, &self.search_tolerance];
        if texts.iter().all(|text| text.is_none()) && self.search_confirm.is_none() {
            return None;
        }
        let mut rate = |key: &str, text: &Option<String>, message: &str| {
            if text.is_none() {
                let problem = Problem::new(path.key(key), message);
                problems.push(problem.expected("requests per second, such as `1/s`"));
            }
            RateText(text.clone().unwrap_or_default())
        };
        let from = rate("from", &self.search_from, "the first rate of the search is missing");
        let up_to = rate("up_to", &self.search_up_to, "the highest rate of the search is missing");
        Some(SearchFile {
            slo: self.searched_slo(path, problems),
            from,
            up_to,
            tolerance: self.search_tolerance.clone().map(ShareText),
            confirm: self.search_confirm,
            arrival: self.arrival,
            max_in_flight: self.max_in_flight,
            end_when_saturated: self.hold_when_saturated.then_some(false),
            hold,
        })
    }

    /// The name of the SLO that is searched for: as given, or of the only one.
    fn searched_slo(&self, path: &Path, problems: &mut Vec<Problem>) -> String {
        if let Some(name) = &self.search_slo {
            return name.clone();
        }
        match self.slo.as_slice() {
            // What is wrong with its form is told where it is read.
            [one] => slo(one).ok().and_then(|(name, _)| name).unwrap_or_else(|| FIRST_SLO.to_owned()),
            all => {
                let message = if all.is_empty() {
                    "a search needs limits to meet, and none are given"
                } else {
                    "which of the limits the search has to meet is not said"
                };
                let problem = Problem::new(path.key("slo"), message);
                problems.push(if all.is_empty() {
                    problem.hint("add --slo ttft=500ms,share=95%")
                } else {
                    problem.expected("the name of one of them")
                });
                String::new()
            }
        }
    }

    /// Flags that mean something for rates alone, given without any.
    fn rates_only(&self, load: &Path, problems: &mut Vec<Problem>) {
        if self.arrival.is_some() {
            let problem = Problem::new(load.key("arrival"), "an arrival without rates means nothing");
            problems.push(problem.hint("give --rate as well: a closed loop sends when an answer came"));
        }
        if self.hold_when_saturated {
            let problem =
                Problem::new(load.key("end_when_saturated"), "levels of no rate have no backlog that could grow");
            problems.push(problem.hint("give --rate as well, or leave it out"));
        }
        if self.max_in_flight.is_some() {
            let problem = Problem::new(load.key("max_in_flight"), "a limit on requests in flight without rates");
            problems.push(problem.hint("give --rate as well: a closed loop's --concurrency is its limit"));
        }
    }

    fn slos(&self, problems: &mut Vec<Problem>) -> Option<Named<SloFile>> {
        let root = Path::ROOT.key("slo");
        let mut slos: Vec<(String, SloFile)> = Vec::new();
        for text in &self.slo {
            match slo(text) {
                Ok((name, slo)) => {
                    let name = name.unwrap_or_else(|| match slos.len() {
                        0 => FIRST_SLO.to_owned(),
                        n => format!("slo{}", n + 1),
                    });
                    if slos.iter().any(|(other, _)| *other == name) {
                        let problem = Problem::new(root.key(&name), format!("the name `{name}` is given twice"));
                        problems.push(problem.found(text).hint("give each its own `name=`"));
                    }
                    slos.push((name, slo));
                }
                Err(message) => {
                    let problem = Problem::new(root.clone(), message).found(text);
                    problems.push(problem.expected("limits such as `ttft=500ms,tpot=40ms,e2e=5s,share=99%,name=chat`"));
                }
            }
        }
        (!slos.is_empty()).then_some(Named(slos))
    }
}

/// A parser of words that stand for values, so that clap lists and completes them.
fn word<T: Copy + Send + Sync + 'static, const N: usize>(
    words: [(&'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(words.map(|(word, _)| word)).map(move |typed| {
        let found = words.iter().find(|(word, _)| *word == typed);
        found.expect("invariant: the parser lets only these words through").1
    })
}

/// Levels as typed: a range, or a list of numbers.
fn sweep<T: std::str::FromStr>(text: &str, path: &Path, problems: &mut Vec<Problem>) -> Sweep<T> {
    if !text.contains(',') {
        return Sweep::Range(text.to_owned());
    }
    let mut levels = Vec::new();
    for part in text.split(',') {
        if let Ok(level) = part.trim().parse() {
            levels.push(level);
        } else {
            let problem = Problem::new(path.clone(), format!("`{part}` is no level")).found(text);
            problems.push(problem.expected("numbers such as `1,2,4`, or a range such as `1..8`"));
        }
    }
    Sweep::List(levels)
}

/// Entries as typed, `ttft=500ms,share=99%`: only those keys, each once.
fn entries<'t>(text: &'t str, known: &[&str], one: &str) -> Result<BTreeMap<&'t str, String>, String> {
    let mut parts = BTreeMap::new();
    for part in text.split(',') {
        let (key, value) = part.split_once('=').ok_or_else(|| format!("`{part}` has no `=`"))?;
        let key = key.trim();
        if !known.contains(&key) {
            return Err(format!("`{key}` is no {one}"));
        }
        if parts.insert(key, value.trim().to_owned()).is_some() {
            return Err(format!("`{key}` is given twice"));
        }
    }
    Ok(parts)
}

/// Limits as typed, and the name if one is among them.
fn slo(text: &str) -> Result<(Option<String>, SloFile), String> {
    let mut parts = entries(text, &["ttft", "tpot", "e2e", "share", "name"], "limit")?;
    let name = parts.remove("name");
    let mut limit = |key| parts.remove(key);
    let slo =
        SloFile { ttft: limit("ttft"), tpot: limit("tpot"), e2e: limit("e2e"), share: limit("share").map(ShareText) };
    Ok((name, slo))
}

/// A price as typed.
fn price(text: &str) -> Result<PriceFile, String> {
    const KEYS: [&str; 5] = ["currency", "per_hour", "per_million_input", "per_million_output", "per_request"];

    let mut parts = entries(text, &KEYS, "part of a price")?;
    let currency = parts.remove("currency").ok_or_else(|| "a price without `currency=`".to_owned())?;
    let mut figure = |key| parts.remove(key).map(DecimalText);
    Ok(PriceFile {
        currency,
        per_hour: figure("per_hour"),
        per_million_input: figure("per_million_input"),
        per_million_output: figure("per_million_output"),
        per_request: figure("per_request"),
    })
}

/// The platform's name: its host and port, as far as a name can hold them.
fn platform_name(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    // Whoever put a password into the URL is told so; it must not become a name.
    let host = authority.rsplit('@').next().unwrap_or(authority);
    let name: String =
        host.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' }).collect();
    let name: String = name.trim_matches('-').chars().take(64).collect();
    if name.starts_with(|c: char| c.is_ascii_alphanumeric()) { name } else { "platform".to_owned() }
}

#[cfg(test)]
mod tests;
