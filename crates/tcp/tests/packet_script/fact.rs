//! Facts about an endpoint that `expect` can check.

use cwndlab_tcp::{CaState, Endpoint};
use cwndlab_units::Duration;

use super::quantity::{Value, quantities};

/// Name and getter of a fact.
type Fact = (&'static str, fn(&Endpoint) -> Value);

/// All facts.
pub(crate) const FACTS: &[Fact] = &[
    ("cwnd", |e| count(e.info().cwnd_pkts)),
    ("ssthresh", |e| e.info().ssthresh_pkts.map_or(NONE, count)),
    ("state", |e| Value::Word(state(e.info().ca_state))),
    ("in_flight", |e| count(e.info().in_flight_pkts)),
    ("unacked", |e| count(e.info().unacked_pkts)),
    ("sacked", |e| count(e.info().sacked_pkts)),
    ("lost", |e| count(e.info().lost_pkts)),
    ("retrans", |e| count(e.info().retrans_pkts)),
    ("delivered_ce", |e| count(e.info().delivered_ce_pkts)),
    ("notsent", |e| Value::Count(e.info().notsent_bytes)),
    ("snd_una", |e| Value::Count(e.info().snd_una_bytes)),
    ("snd_nxt", |e| Value::Count(e.info().snd_nxt_bytes)),
    ("snd_wnd", |e| count(e.info().snd_wnd_bytes)),
    ("srtt", |e| micros(e.info().srtt_us)),
    ("rttvar", |e| micros(e.info().rttvar_us)),
    ("min_rtt", |e| e.info().min_rtt_us.map_or(NONE, micros)),
    ("rtt_sample", |e| e.last_rtt_us().map_or(NONE, micros)),
    ("rto", |e| span(e.info().rto)),
    ("backoff", |e| count(e.info().backoff)),
    ("pacing_rate", |e| {
        e.info().pacing_rate.map_or(NONE, |rate| Value::BitsPerSec(rate.bits_per_sec()))
    }),
    ("delivery_rate", |e| {
        e.info().delivery_rate.map_or(NONE, |rate| Value::BitsPerSec(rate.bits_per_sec()))
    }),
    ("retransmitted", |e| Value::Count(e.counters().retransmitted_segments)),
    ("timeouts", |e| Value::Count(e.counters().timeouts)),
    ("spurious_timeouts", |e| Value::Count(e.counters().spurious_timeouts)),
    ("recoveries", |e| Value::Count(e.counters().recoveries)),
    ("tail_loss_probes", |e| Value::Count(e.counters().tail_loss_probes)),
    ("refusals", |e| Value::Count(e.counters().refusals)),
    ("undos", |e| Value::Count(e.counters().undos)),
    ("delayed_acks", |e| Value::Count(e.counters().delayed_acks)),
    ("duplicates", |e| Value::Count(e.counters().duplicate_segments)),
    ("rwnd_limited", |e| span(e.counters().rwnd_limited)),
    ("readable", |e| Value::Count(e.readable())),
    ("established", |e| yes(e.is_established())),
    ("peer_finished", |e| yes(e.peer_has_finished())),
    ("closed", |e| yes(e.is_closed())),
];

const NONE: Value = Value::Word("none");

fn yes(is: bool) -> Value {
    Value::Word(if is { "yes" } else { "no" })
}

fn count(count: u32) -> Value {
    Value::Count(count.into())
}

fn micros(micros: u32) -> Value {
    Value::Nanos(u64::from(micros) * 1_000)
}

fn span(span: Duration) -> Value {
    Value::Nanos(span.as_nanos())
}

fn state(state: CaState) -> &'static str {
    match state {
        CaState::Open => "Open",
        CaState::Disorder => "Disorder",
        CaState::Cwr => "CWR",
        CaState::Recovery => "Recovery",
        CaState::Loss => "Loss",
    }
}

/// A fact and its expected value.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    fact: &'static Fact,
    wanted: Wanted,
}

#[derive(Clone, Debug)]
enum Wanted {
    Between(Value, Value),
    Word(String),
}

impl Claim {
    /// Parses `NAME VALUE` or `NAME LOW..HIGH`.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [name, value] = words[..] else {
            return Err(format!("`{}` is not a fact and its value", text.trim()));
        };
        let Some(fact) = FACTS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<&str> = FACTS.iter().map(|(name, _)| *name).collect();
            return Err(format!("no fact `{name}`; there are {}", known.join(", ")));
        };
        let wanted = if value.starts_with(|c: char| c.is_ascii_digit()) {
            let (low, high) = quantities(value)?;
            Wanted::Between(low, high)
        } else {
            Wanted::Word(value.to_owned())
        };
        Ok(Self { fact, wanted })
    }

    /// Describes the difference if the claim does not hold.
    pub(crate) fn difference(&self, endpoint: &Endpoint) -> Option<String> {
        let (name, of) = self.fact;
        let got = of(endpoint);
        let (holds, wanted) = match &self.wanted {
            Wanted::Word(word) => (got.show() == *word, word.clone()),
            Wanted::Between(low, high) if low == high => (got == *low, low.show()),
            Wanted::Between(low, high) => {
                (got.is_between(*low, *high), format!("{}..{}", low.show(), high.show()))
            }
        };
        (!holds).then(|| format!("{name} {wanted}, got {}", got.show()))
    }
}
