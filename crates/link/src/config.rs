//! What a stage of a path is made of, as the scenario's JSON says it.
//!
//! These types are the only definition of that JSON on the Rust side. A key that is absent or
//! `null` has its default, an unknown key is an error. Times are nanoseconds and rates bits per
//! second there; here they have their types.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration, Rate, Time};
use serde::{Deserialize, Deserializer, Serialize};

use crate::Probability;

/// One wire of a chain: loss and outages, then the queue, then the rate, then the delay.
///
/// The default is a perfect wire: what enters leaves at once.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageConfig {
    /// How fast packets are served.
    #[serde(default, deserialize_with = "null_is_default")]
    pub rate: RateConfig,
    /// Where they wait for service.
    #[serde(default, deserialize_with = "null_is_default")]
    pub queue: QueueConfig,
    /// Propagation delay, after service.
    #[serde(rename = "delay_ns", default, deserialize_with = "null_is_default")]
    pub delay: Duration,
    /// What is added to the delay, packet by packet, without changing their order.
    #[serde(default)]
    pub jitter: Option<JitterConfig>,
    /// The rate above which arrivals are dropped, before everything else; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<PoliceConfig>,
    /// What is lost on arrival, before the queue.
    #[serde(default)]
    pub loss: Option<LossConfig>,
    /// What the link adds to each packet's IP length, in its rate and its byte limits: Ethernet 14,
    /// PPP 8. If absent, 4 on a Mahimahi trace (see [`crate::OpportunityTrace`]) and else none.
    #[serde(default)]
    pub framing_bytes: Option<u32>,
    /// When the link does not work.
    #[serde(default, deserialize_with = "null_is_default")]
    pub outages: Vec<OutageConfig>,
    /// What changes at given times.
    #[serde(default, deserialize_with = "null_is_default")]
    pub schedule: Vec<StepConfig>,
    /// Which ACKs leave the queue where later ones say as much; none if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<AckFilter>,
    /// Of the ACKs that only count on, one in so many passes; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_thinning: Option<NonZeroU32>,
    /// Which packets leave out of order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reorder: Option<ReorderConfig>,
    /// What a change does to packets that are already queued.
    #[serde(default, deserialize_with = "null_is_default")]
    pub transition: Transition,
}

/// How fast packets are served.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RateConfig {
    /// Service takes no time, so that nothing ever queues.
    Unlimited {},
    /// A packet takes its length divided by the rate.
    Fixed {
        /// The rate.
        #[serde(rename = "bits_per_sec")]
        rate: Rate,
    },
    /// A packet leaves at once if there are tokens for its length, and else when there are; tokens
    /// arrive at the rate and at most `burst` of them are kept. A longer packet than `burst` is
    /// dropped.
    TokenBucket {
        /// How fast tokens arrive.
        #[serde(rename = "bits_per_sec")]
        rate: Rate,
        /// How many are kept.
        #[serde(rename = "burst_bytes")]
        burst: Bytes,
    },
    /// Delivery opportunities of a Mahimahi trace.
    Mahimahi {
        /// Under which name the caller hands in the trace.
        path: String,
    },
    /// A log of throughput over time, repeated for ever.
    Log {
        /// Under which name the caller hands in the log.
        path: String,
        /// Whether a rate holds until the next one, or else moves to it in a straight line.
        #[serde(default = "yes")]
        hold: bool,
    },
}

impl Default for RateConfig {
    /// No limit.
    fn default() -> Self {
        Self::Unlimited {}
    }
}

/// Where packets wait. Limits count the packet in service too.
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
        /// Time that senders are given to react: a long round trip.
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
    /// A queue for L4S beside one for the rest, coupled: DualPI2, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// Random early detection, Floyd and Jacobson 1993.
    Red(RedConfig),
    /// ECN-capable arrivals are marked and others dropped while more than the threshold is queued,
    /// as DCTCP wants it (RFC 8257 section 3.1).
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
    /// A queue without limit.
    fn default() -> Self {
        Self::DropTail { packets: None, bytes: None }
    }
}

/// FQ-CoDel, RFC 8290.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FqCodelConfig {
    /// How many queues flows are hashed into.
    #[serde(default = "fq_codel_queues")]
    pub queues: NonZeroU32,
    /// What a queue may send in its turn.
    #[serde(rename = "quantum_bytes", default = "fq_codel_quantum")]
    pub quantum: Bytes,
    /// Acceptable standing delay of each queue.
    #[serde(rename = "target_ns", default = "codel_target")]
    pub target: Duration,
    /// Time that senders are given to react: a long round trip.
    #[serde(rename = "interval_ns", default = "codel_interval")]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default)]
    pub ecn: bool,
    /// Limit of all queues together in packets; what passes it is dropped from the longest queue.
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
    /// The delay to which the queue is controlled.
    #[serde(rename = "target_ns", default = "pie_target")]
    pub target: Duration,
    /// How long a burst after calm is let in unhindered.
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
    /// The delay to which the classic queue is controlled.
    #[serde(rename = "target_ns", default = "dual_pi2_target")]
    pub target: Duration,
    /// The longest usual round trip, for which the controller is stable.
    #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
    pub max_rtt: Duration,
    /// From this delay on L4S packets are marked.
    #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
    pub threshold: Duration,
    /// Limit of both queues together in packets.
    #[serde(default)]
    pub packets: Option<u32>,
    /// Limit of both queues together in bytes.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// Active management of a queue that a radio or a device empties; its limits are given beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AqmConfig {
    /// Controlled delay, RFC 8289.
    Codel {
        /// Acceptable standing delay.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time that senders are given to react.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue for each flow, with CoDel in each: RFC 8290.
    FqCodel {
        /// How many queues flows are hashed into.
        #[serde(default = "fq_codel_queues")]
        queues: NonZeroU32,
        /// What a queue may send in its turn.
        #[serde(rename = "quantum_bytes", default = "fq_codel_quantum")]
        quantum: Bytes,
        /// Acceptable standing delay of each queue.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time that senders are given to react.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default)]
        ecn: bool,
    },
    /// Proportional integral controller enhanced: RFC 8033.
    Pie {
        /// The delay to which the queue is controlled.
        #[serde(rename = "target_ns", default = "pie_target")]
        target: Duration,
        /// How long a burst after calm is let in unhindered.
        #[serde(rename = "burst_ns", default = "pie_burst")]
        burst: Duration,
        /// Whether ECN-capable packets are marked instead of dropped, below a probability of 10 %.
        #[serde(default)]
        ecn: bool,
    },
    /// A queue for L4S beside one for the rest, coupled: DualPI2, RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// The delay to which the classic queue is controlled.
        #[serde(rename = "target_ns", default = "dual_pi2_target")]
        target: Duration,
        /// The longest usual round trip, for which the controller is stable.
        #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
        max_rtt: Duration,
        /// From this delay on L4S packets are marked.
        #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
        threshold: Duration,
    },
}

/// A packet that finds so many waiting is dropped, and then none before `spacing_packets` others
/// were taken: a packet discard prevention counter (Sågfors, Ludwig, Meyer and Peisa, "Queue
/// management for TCP traffic over 3G links", 2003), of one threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyDiscard {
    /// How many packets may wait.
    pub at_packets: u32,
    /// How many packets are taken before the next is dropped.
    pub spacing_packets: u32,
}

/// Random early detection, Floyd and Jacobson 1993.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Below this average nothing is marked.
    #[serde(rename = "min_bytes")]
    pub min: Bytes,
    /// From this average on everything is marked, unless `gentle`.
    #[serde(rename = "max_bytes")]
    pub max: Bytes,
    /// Limit of the queue itself.
    #[serde(rename = "limit_bytes", default)]
    pub limit: Option<Bytes>,
    /// Marking probability at `max`.
    #[serde(rename = "max_probability_ppb", default = "red_max_probability")]
    pub max_probability: Probability,
    /// The average moves by 2^-shift of its distance to the queue with each arrival; 9 is the
    /// paper's weight of 0.002.
    #[serde(default = "red_weight_shift")]
    pub weight_shift: u32,
    /// The time in which an idle link would have sent one packet, by which the average decays.
    /// Absent, it does not decay, which is what Linux's RED does below a token bucket: the bucket
    /// only peeks, so that RED never learns of an empty queue.
    #[serde(rename = "idle_packet_ns", default)]
    pub idle_packet: Option<Duration>,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default)]
    pub ecn: bool,
    /// Whether the probability goes on to 1 at twice `max` instead of jumping to it.
    #[serde(default)]
    pub gentle: bool,
    /// Whether even ECN-capable packets are dropped where everything would be marked.
    #[serde(default)]
    pub hard_drop: bool,
}

/// A policer: a packet passes if there are tokens for its length, and is dropped if not.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PoliceConfig {
    /// How fast tokens arrive.
    #[serde(rename = "bits_per_sec")]
    pub rate: Rate,
    /// How many are kept.
    #[serde(rename = "burst_bytes")]
    pub burst: Bytes,
}

/// How many ACKs that say the same may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AckFilter {
    /// Two, so that the loss of one does no harm: CAKE's `ack-filter`.
    Conservative,
    /// One: CAKE's `ack-filter-aggressive`.
    Aggressive,
}

/// What is lost on arrival.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum LossConfig {
    /// Each packet on its own.
    Iid {
        /// Probability of a loss.
        #[serde(rename = "ppb")]
        probability: Probability,
    },
    /// A chain of two states that moves with each packet (Gilbert 1960, Elliott 1963).
    GilbertElliott {
        /// From good to bad.
        #[serde(rename = "p_ppb")]
        p: Probability,
        /// From bad to good.
        #[serde(rename = "r_ppb")]
        r: Probability,
        /// Loss while good.
        #[serde(rename = "loss_good_ppb", default)]
        loss_good: Probability,
        /// Loss while bad.
        #[serde(rename = "loss_bad_ppb", default = "always")]
        loss_bad: Probability,
    },
    /// Every so many packets one, without chance: for tests and benchmarks.
    Periodic {
        /// The last packet of this many is lost.
        every: NonZeroU32,
    },
}

/// What is added to the delay, packet by packet.
///
/// The order stays: no packet leaves before the one that came before it, unless [`ReorderConfig`]
/// says otherwise.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterConfig {
    /// From nothing to `max`, all equally likely.
    Uniform {
        /// The most.
        #[serde(rename = "max_ns")]
        max: Duration,
    },
    /// Normal around zero; the delay as a whole is never less than zero.
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
    /// Spikes of a Wi-Fi channel with hidden nodes, as Huitema, Nandakumar and Jennings test C4 with
    /// (draft-huitema-ccwg-c4-test section 2.3): a Poisson number (mean 1) of intervals of 1 ms, less
    /// a part of one, and of a share of packets a Poisson number (mean 12) of 7.5 ms.
    Wifi {
        /// The average that the share follows from: nothing up to 1 ms, every packet from 91 ms.
        #[serde(rename = "mean_ns")]
        mean: Duration,
    },
    /// Packets arrive in bunches, at the multiples of a period: a receiver's card that interrupts
    /// so often, or a radio that is awake so often.
    Bunched {
        /// From one bunch to the next.
        #[serde(rename = "period_ns")]
        period: Duration,
    },
}

/// Which packets leave a wire out of order; without it none does.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReorderConfig {
    /// Some take longer, so that those behind overtake them.
    Late {
        /// Probability that a packet does.
        #[serde(rename = "ppb")]
        probability: Probability,
        /// How much longer.
        #[serde(rename = "delay_ns")]
        delay: Duration,
        /// At most one in so many.
        #[serde(default = "one")]
        gap: NonZeroU32,
    },
    /// Some have no delay at all and overtake those before them: netem's own form.
    Early {
        /// Probability that a packet does.
        #[serde(rename = "ppb")]
        probability: Probability,
        /// At most one in so many.
        #[serde(default = "one")]
        gap: NonZeroU32,
    },
    /// Whatever has a shorter jitter overtakes what has a longer one.
    Jitter {},
}

/// A time in which the link does not work, from `start` up to but not including `stop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutageConfig {
    /// When it begins.
    #[serde(rename = "start_ns")]
    pub start: Time,
    /// When it is over.
    #[serde(rename = "stop_ns")]
    pub stop: Time,
    /// What happens to packets.
    #[serde(default)]
    pub kind: OutageKind,
}

/// What an outage does to packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutageKind {
    /// What arrives is lost; what is queued goes on.
    #[default]
    Drop,
    /// Service pauses; what arrives is queued.
    Hold,
}

/// A change at a given time. What is absent stays as it is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// When.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// The new rate; only where the rate is not a trace.
    #[serde(rename = "bits_per_sec", default)]
    pub rate: Option<Rate>,
    /// The new delay.
    #[serde(rename = "delay_ns", default)]
    pub delay: Option<Duration>,
    /// The new loss; i.i.d. with probability 0 for none.
    #[serde(default)]
    pub loss: Option<LossConfig>,
}

/// What a step of the rate or the delay does to packets that are already queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// As a wire does: what is left to send goes at the new rate, and has the delay of when it is
    /// sent; the order stays.
    #[default]
    Retime,
    /// As Linux's netem does: when a packet leaves is decided when it arrives, and stays. On a
    /// wire without a rate, a packet with a shorter delay overtakes. Token buckets, traces and CoDel
    /// (with one queue or many) know nothing of this and work as with `retime`.
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
