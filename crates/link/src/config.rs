//! The configuration of a path's stages in the scenario's JSON.
//!
//! These types are the only definition of that JSON in Rust. A key that is absent or `null` has its
//! default; an unknown key is an error. The JSON contains times in nanoseconds and rates in bits
//! per second; the types here are typed quantities.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration, Rate, Time};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{OpportunityTrace, Probability};

/// One wire of a chain: policer, loss and outages, then the queue, the rate, and the delay.
///
/// The default is a perfect wire: each packet leaves at once.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageConfig {
    /// Rate at which packets are served.
    #[serde(default, deserialize_with = "null_is_default")]
    pub rate: RateConfig,
    /// Queue in which packets wait for service.
    #[serde(default, deserialize_with = "null_is_default")]
    pub queue: QueueConfig,
    /// Propagation delay, after service.
    #[serde(rename = "delay_ns", default, deserialize_with = "null_is_default")]
    pub delay: Duration,
    /// Random addition to each packet's delay, which does not change the order.
    #[serde(default)]
    pub jitter: Option<JitterConfig>,
    /// Rate above which arrivals are dropped, before everything else; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<PoliceConfig>,
    /// Loss on arrival, before the queue.
    #[serde(default)]
    pub loss: Option<LossConfig>,
    /// Bytes that the link adds to each packet's IP length, for its rate and its byte limits:
    /// Ethernet 14, PPP 8.
    ///
    /// If absent, 4 for a Mahimahi trace (see [`crate::OpportunityTrace`]) and otherwise 0.
    #[serde(default)]
    pub framing_bytes: Option<u32>,
    /// Times in which the link does not work.
    #[serde(default, deserialize_with = "null_is_default")]
    pub outages: Vec<OutageConfig>,
    /// Changes at given times.
    #[serde(default, deserialize_with = "null_is_default")]
    pub schedule: Vec<StepConfig>,
    /// Removal of queued ACKs that later ones supersede; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// ACK thinning: of the ACKs that carry no other information, one in this many passes; if
    /// absent, all pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
    /// Reordering of packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderConfig>,
    /// Effect of a change on packets that are already queued.
    #[serde(default, deserialize_with = "null_is_default")]
    pub transition: Transition,
}

/// Rate at which packets are served.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RateConfig {
    /// Service takes no time, so nothing is ever queued.
    Unlimited {},
    /// A packet takes its length divided by the rate.
    Fixed {
        /// The rate.
        #[serde(rename = "bits_per_sec")]
        rate: Rate,
    },
    /// A packet leaves as soon as there are tokens for its length; tokens arrive at the rate and at
    /// most `burst` of them are kept.
    ///
    /// A packet longer than `burst` is dropped.
    TokenBucket {
        /// Rate at which tokens arrive.
        #[serde(rename = "bits_per_sec")]
        rate: Rate,
        /// Maximum number of tokens.
        #[serde(rename = "burst_bytes")]
        burst: Bytes,
    },
    /// Delivery opportunities of a Mahimahi trace.
    Mahimahi {
        /// Name under which the caller provides the trace.
        path: String,
        /// Packet trains that apply instead while the load is light, if they were recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        light: Option<LightConfig>,
    },
    /// A log of throughput over time, repeated forever.
    Log {
        /// Name under which the caller provides the log.
        path: String,
        /// Whether a rate holds until the next one; otherwise rates are interpolated linearly.
        #[serde(default = "yes")]
        hold: bool,
    },
}

/// Service by recorded packet trains while the load is light.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LightConfig {
    /// Name under which the caller provides the packet trains.
    pub path: String,
    /// Idle time after which a packet begins a train.
    #[serde(rename = "after_ns")]
    pub after: Duration,
    /// The part of the trains' delays that is propagation, which the stage's delay includes.
    #[serde(rename = "delay_ns")]
    pub delay: Duration,
    /// Size of the first packet of each train on the wire; the others fill an opportunity.
    #[serde(default = "opportunity_bytes")]
    pub first_bytes: u32,
}

fn opportunity_bytes() -> u32 {
    OpportunityTrace::OPPORTUNITY.0 as u32
}

impl Default for RateConfig {
    /// No limit.
    fn default() -> Self {
        Self::Unlimited {}
    }
}

/// Queue in which packets wait. Limits include the packet in service.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueConfig {
    /// An arrival that does not fit is dropped.
    DropTail {
        /// Limit in packets.
        #[serde(default)]
        packets: Option<u32>,
        /// Limit in bytes.
        #[serde(default)]
        bytes: Option<Bytes>,
    },
    /// Controlled delay, RFC 8289.
    Codel {
        /// Acceptable standing delay.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time for senders to react: a long round trip.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default)]
        ecn: bool,
        /// Limit in packets.
        #[serde(default)]
        packets: Option<u32>,
        /// Limit in bytes.
        #[serde(default)]
        bytes: Option<Bytes>,
    },
    /// A queue for each flow, with CoDel in each: FQ-CoDel, RFC 8290.
    FqCodel(FqCodelConfig),
    /// Proportional integral controller enhanced: PIE, RFC 8033.
    Pie(PieConfig),
    /// A queue for L4S and a classic queue, coupled: DualPI2, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// Random early detection, Floyd and Jacobson 1993.
    Red(RedConfig),
    /// While more than the threshold is queued, ECN-capable arrivals are marked and others dropped,
    /// as DCTCP requires (RFC 8257 section 3.1).
    Step {
        /// Threshold in bytes.
        #[serde(default)]
        mark_bytes: Option<Bytes>,
        /// Threshold in packets.
        #[serde(default)]
        mark_packets: Option<u32>,
        /// Limit in packets.
        #[serde(default)]
        packets: Option<u32>,
        /// Limit in bytes.
        #[serde(default)]
        bytes: Option<Bytes>,
    },
}

impl Default for QueueConfig {
    /// A queue without a limit.
    fn default() -> Self {
        Self::DropTail { packets: None, bytes: None }
    }
}

/// FQ-CoDel, RFC 8290.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodelConfig {
    /// Number of queues into which flows are hashed.
    #[serde(default = "fq_codel_queues")]
    pub queues: NonZeroU32,
    /// Bytes that a queue may send in its turn.
    #[serde(rename = "quantum_bytes", default = "fq_codel_quantum")]
    pub quantum: Bytes,
    /// Acceptable standing delay of each queue.
    #[serde(rename = "target_ns", default = "codel_target")]
    pub target: Duration,
    /// Time for senders to react: a long round trip.
    #[serde(rename = "interval_ns", default = "codel_interval")]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default = "fq_codel_ecn")]
    pub ecn: bool,
    /// Limit of all queues together in packets; excess packets are dropped from the longest queue.
    #[serde(default)]
    pub packets: Option<u32>,
    /// Limit of all queues together in bytes.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// PIE, RFC 8033.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PieConfig {
    /// Target queueing delay.
    #[serde(rename = "target_ns", default = "pie_target")]
    pub target: Duration,
    /// Length of a burst that is accepted without drops after a calm period.
    #[serde(rename = "burst_ns", default = "pie_burst")]
    pub burst: Duration,
    /// Whether ECN-capable packets are marked instead of dropped while the probability is below
    /// 10 %.
    #[serde(default)]
    pub ecn: bool,
    /// Limit in packets.
    #[serde(default)]
    pub packets: Option<u32>,
    /// Limit in bytes.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// DualPI2, RFC 9332 appendix A.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DualPi2Config {
    /// Target queueing delay of the classic queue.
    #[serde(rename = "target_ns", default = "dual_pi2_target")]
    pub target: Duration,
    /// Longest typical round-trip time, for which the controller is stable.
    #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
    pub max_rtt: Duration,
    /// Delay above which L4S packets are marked.
    #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
    pub threshold: Duration,
    /// Limit of both queues together in packets.
    #[serde(default)]
    pub packets: Option<u32>,
    /// Limit of both queues together in bytes.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// Active management of a queue that a radio or a device empties; its limits are set separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AqmConfig {
    /// Controlled delay, RFC 8289.
    Codel {
        /// Acceptable standing delay.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time for senders to react.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue for each flow, with CoDel in each: RFC 8290.
    FqCodel {
        /// Number of queues into which flows are hashed.
        #[serde(default = "fq_codel_queues")]
        queues: NonZeroU32,
        /// Bytes that a queue may send in its turn.
        #[serde(rename = "quantum_bytes", default = "fq_codel_quantum")]
        quantum: Bytes,
        /// Acceptable standing delay of each queue.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time for senders to react.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default = "fq_codel_ecn")]
        ecn: bool,
    },
    /// Proportional integral controller enhanced: RFC 8033.
    Pie {
        /// Target queueing delay.
        #[serde(rename = "target_ns", default = "pie_target")]
        target: Duration,
        /// Length of a burst that is accepted without drops after a calm period.
        #[serde(rename = "burst_ns", default = "pie_burst")]
        burst: Duration,
        /// Whether ECN-capable packets are marked instead of dropped, below a probability of 10 %.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue for L4S and a classic queue, coupled: DualPI2, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// Target queueing delay of the classic queue.
        #[serde(rename = "target_ns", default = "dual_pi2_target")]
        target: Duration,
        /// Longest typical round-trip time, for which the controller is stable.
        #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
        max_rtt: Duration,
        /// Delay above which L4S packets are marked.
        #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
        threshold: Duration,
    },
}

/// Early drops of single packets: a packet that arrives while the queue has `at_packets` packets
/// is dropped. No further packet is dropped before `spacing_packets` packets have been accepted.
/// This is a packet discard prevention counter (Sågfors, Ludwig, Meyer and Peisa, "Queue
/// management for TCP traffic over 3G links", 2003) with one threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyDiscard {
    /// Queue length at which packets are dropped.
    pub at_packets: u32,
    /// Number of packets accepted before the next drop.
    pub spacing_packets: u32,
}

/// Random early detection, Floyd and Jacobson 1993.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Average queue length below which nothing is marked.
    #[serde(rename = "min_bytes")]
    pub min: Bytes,
    /// Average queue length from which everything is marked, unless `gentle` is set.
    #[serde(rename = "max_bytes")]
    pub max: Bytes,
    /// Limit of the queue itself.
    #[serde(rename = "limit_bytes", default)]
    pub limit: Option<Bytes>,
    /// Marking probability at `max`.
    #[serde(rename = "max_probability_ppb", default = "red_max_probability")]
    pub max_probability: Probability,
    /// With each arrival, the average moves towards the current queue length, by 2^-`weight_shift`
    /// of the difference; 9 is close to the paper's weight of 0.002.
    #[serde(default = "red_weight_shift")]
    pub weight_shift: u32,
    /// Transmission time of one packet, which determines how fast the average decays while the
    /// link is idle.
    ///
    /// If absent, the average does not decay. Linux's RED behaves like this if a token bucket
    /// takes its packets: the token bucket only peeks at the queue, so RED never notices that the
    /// queue is empty.
    #[serde(rename = "idle_packet_ns", default)]
    pub idle_packet: Option<Duration>,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default)]
    pub ecn: bool,
    /// Whether the probability rises to 1 at twice `max` instead of jumping to 1 at `max`.
    #[serde(default)]
    pub gentle: bool,
    /// Whether ECN-capable packets are also dropped when everything would be marked.
    #[serde(default)]
    pub hard_drop: bool,
}

/// A policer: a packet passes if there are tokens for its length, and is otherwise dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoliceConfig {
    /// Rate at which tokens arrive.
    #[serde(rename = "bits_per_sec")]
    pub rate: Rate,
    /// Maximum number of tokens.
    #[serde(rename = "burst_bytes")]
    pub burst: Bytes,
}

/// Number of superseded ACKs that may stay in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    /// One, so that the loss of an ACK does no harm: CAKE's `ack-filter`.
    Conservative,
    /// None: CAKE's `ack-filter-aggressive`.
    Aggressive,
}

/// Loss on arrival.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossConfig {
    /// Independent losses.
    Iid {
        /// Probability of a loss.
        #[serde(rename = "ppb")]
        probability: Probability,
    },
    /// A chain of two states with a transition after each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// Probability of a transition from good to bad.
        #[serde(rename = "p_ppb")]
        p: Probability,
        /// Probability of a transition from bad to good.
        #[serde(rename = "r_ppb")]
        r: Probability,
        /// Loss probability in the good state.
        #[serde(rename = "loss_good_ppb", default)]
        loss_good: Probability,
        /// Loss probability in the bad state.
        #[serde(rename = "loss_bad_ppb", default = "always")]
        loss_bad: Probability,
    },
    /// Regular loss without randomness, for tests and benchmarks.
    Periodic {
        /// One of this many packets is lost, the last one.
        every: NonZeroU32,
    },
}

/// Random addition to each packet's delay.
///
/// The order is preserved: no packet leaves before an earlier one, unless [`ReorderConfig`] is set.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterConfig {
    /// Uniform between 0 and `max`.
    Uniform {
        /// Largest addition.
        #[serde(rename = "max_ns")]
        max: Duration,
    },
    /// Normal with mean 0; the total delay is never negative.
    Normal {
        /// Standard deviation.
        #[serde(rename = "sigma_ns")]
        sigma: Duration,
    },
    /// Exponential.
    Exponential {
        /// Mean.
        #[serde(rename = "mean_ns")]
        mean: Duration,
    },
    /// Spikes of a Wi-Fi channel with hidden nodes, as in Huitema, Nandakumar and Jennings' tests
    /// of C4 (draft-huitema-ccwg-c4-test section 2.3). Each packet waits for a Poisson number
    /// (mean 1) of intervals of 1 ms, the last of which is cut at a random point. A share of the
    /// packets also waits for a Poisson number (mean 12) of intervals of 7.5 ms.
    Wifi {
        /// Mean of the added delay, which determines the share of packets that wait for intervals
        /// of 7.5 ms: none if the mean is 1 ms or less, all if it is 91 ms or more.
        #[serde(rename = "mean_ns")]
        mean: Duration,
    },
    /// Packets arrive in bunches, at multiples of a period: a network card with an interrupt per
    /// period, or a radio that wakes up once per period.
    Bunched {
        /// Time from one bunch to the next.
        #[serde(rename = "period_ns")]
        period: Duration,
    },
}

/// Reordering of a wire's packets.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReorderConfig {
    /// Some packets take longer, so that later ones overtake them.
    Late {
        /// Probability that a packet takes longer.
        #[serde(rename = "ppb")]
        probability: Probability,
        /// Additional delay.
        #[serde(rename = "delay_ns")]
        delay: Duration,
        /// At most one in this many packets takes longer.
        #[serde(default = "one")]
        gap: NonZeroU32,
    },
    /// Some packets have no delay and overtake earlier ones, as in netem.
    Early {
        /// Probability that a packet has no delay.
        #[serde(rename = "ppb")]
        probability: Probability,
        /// At most one in this many packets has no delay.
        #[serde(default = "one")]
        gap: NonZeroU32,
    },
    /// A packet with a shorter jitter overtakes packets with a longer one.
    Jitter {},
}

/// A time in which the link does not work, from `start` up to but not including `stop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageConfig {
    /// Start of the outage.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// End of the outage.
    #[serde(rename = "stop_ns")]
    pub stop: Time,
    /// Effect on packets.
    #[serde(default)]
    pub kind: OutageKind,
}

/// Effect of an outage on packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageKind {
    /// Arrivals are lost; queued packets are still sent.
    #[default]
    Drop,
    /// Service pauses; arrivals are queued.
    Hold,
}

/// A change at a given time. Absent values do not change.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Time of the change.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// New rate; not possible if the rate is a trace.
    #[serde(rename = "bits_per_sec", default)]
    pub rate: Option<Rate>,
    /// New delay.
    #[serde(rename = "delay_ns", default)]
    pub delay: Option<Duration>,
    /// New loss; to end all losses, independent losses with a probability of 0.
    #[serde(default)]
    pub loss: Option<LossConfig>,
}

/// Effect of a change of rate or delay on packets that are already queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// As on a wire: unsent bytes are sent at the new rate, with the delay at their time of
    /// sending; the order is preserved.
    #[default]
    Retime,
    /// As in Linux's netem: a packet's departure is fixed when it arrives.
    ///
    /// On a wire without a rate, a packet with a shorter delay overtakes packets with a longer
    /// delay. Token buckets, traces, and queues that decide on dequeue (CoDel, FQ-CoDel, DualPI2,
    /// ACK filters) ignore `keep` and work as with `retime`.
    Keep,
}

fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

fn one() -> NonZeroU32 {
    NonZeroU32::MIN
}

fn yes() -> bool {
    true
}

fn always() -> Probability {
    Probability::ONE
}

/// TARGET of RFC 8289 section 5.
fn codel_target() -> Duration {
    Duration::from_millis(5)
}

/// INTERVAL of RFC 8289 section 5.
fn codel_interval() -> Duration {
    Duration::from_millis(100)
}

/// RFC 8290 section 5.2.5.
fn fq_codel_queues() -> NonZeroU32 {
    NonZeroU32::new(1024).expect("more than none")
}

/// tc-fq_codel(8): ECN is on by default, unlike in CoDel and PIE.
const fn fq_codel_ecn() -> bool {
    true
}

/// RFC 8290 section 5.2.4: an Ethernet frame.
fn fq_codel_quantum() -> Bytes {
    Bytes(1514)
}

/// QDELAY_REF of RFC 8033 section 4.2.
fn pie_target() -> Duration {
    Duration::from_millis(15)
}

/// MAX_BURST of RFC 8033 section 4.4.
fn pie_burst() -> Duration {
    Duration::from_millis(150)
}

/// "target" of RFC 9332 figure 2.
pub(crate) fn dual_pi2_target() -> Duration {
    Duration::from_millis(15)
}

/// "RTT_max" of RFC 9332 figure 2.
pub(crate) fn dual_pi2_max_rtt() -> Duration {
    Duration::from_millis(100)
}

/// "minTh" of RFC 9332 figure 2.
pub(crate) fn dual_pi2_threshold() -> Duration {
    Duration::from_micros(800)
}

/// Floyd and Jacobson 1993 simulate with 1/50.
fn red_max_probability() -> Probability {
    Probability::from_ppb(20_000_000).expect("1/50 is a probability")
}

/// Floyd and Jacobson 1993 recommend 0.002, of which 2^-9 is the nearest power of two.
fn red_weight_shift() -> u32 {
    9
}
