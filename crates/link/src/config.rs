//! Configuration of the stages of a path in a scenario.
//!
//! The types in this module are the only definition in Rust of the stages' JSON. A key that is
//! absent or `null` has its default; an unknown key is an error. The JSON contains times in
//! nanoseconds and rates in bits per second; the types contain typed quantities.

use core::num::NonZeroU32;

use cwndlab_units::{Bytes, Duration, Rate, Time};
use serde::{Deserialize, Deserializer, Serialize};

use crate::{OpportunityTrace, Probability};

/// One wire of a chain. Packets pass the policer, loss and outages, then the queue, the rate, and
/// the delay.
///
/// The default is a perfect wire, which each packet leaves at once.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StageConfig {
    /// Rate at which the wire sends packets.
    #[serde(default, deserialize_with = "null_is_default")]
    pub rate: RateConfig,
    /// Queue in which packets wait to be sent.
    #[serde(default, deserialize_with = "null_is_default")]
    pub queue: QueueConfig,
    /// Propagation delay, which begins after a packet was sent.
    #[serde(rename = "delay_ns", default, deserialize_with = "null_is_default")]
    pub delay: Duration,
    /// Random addition to the delay of each packet, which preserves the order of packets.
    #[serde(default)]
    pub jitter: Option<JitterConfig>,
    /// Rate above which arriving packets are dropped, before all other effects; if absent, there
    /// is no policer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub police: Option<PoliceConfig>,
    /// Loss of packets on arrival, before the queue.
    #[serde(default)]
    pub loss: Option<LossConfig>,
    /// Bytes that the link adds to the IP length of each packet, for its rate and its limits in
    /// bytes: 14 for Ethernet, 8 for PPP.
    ///
    /// If absent, 4 for a Mahimahi trace (see [`crate::OpportunityTrace`]) and otherwise 0.
    #[serde(default)]
    pub framing_bytes: Option<u32>,
    /// Periods in which the link does not work.
    #[serde(default, deserialize_with = "null_is_default")]
    pub outages: Vec<OutageConfig>,
    /// Changes of the link at given times.
    #[serde(default, deserialize_with = "null_is_default")]
    pub schedule: Vec<StepConfig>,
    /// Removal of queued ACKs that later ACKs supersede; if absent, none are removed.
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

/// Rate at which a wire sends packets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RateConfig {
    /// Sending takes no time, so no packet waits in the queue.
    Unlimited {},
    /// Sending a packet takes its length divided by the rate.
    Fixed {
        /// The rate.
        #[serde(rename = "bits_per_sec")]
        rate: Rate,
    },
    /// A packet leaves as soon as there are enough tokens for its length. Tokens arrive at the
    /// rate, and at most `burst` of them are kept.
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
        /// Packet trains, which apply instead of the trace while the load is light; absent if none
        /// were recorded.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        light: Option<LightConfig>,
    },
    /// A log of the rate over time, which is repeated forever.
    Log {
        /// Name under which the caller provides the log.
        path: String,
        /// Whether a rate applies until the next rate; otherwise, rates are interpolated linearly.
        #[serde(default = "yes")]
        hold: bool,
    },
}

/// Use of recorded packet trains while the load is light.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LightConfig {
    /// Name under which the caller provides the packet trains.
    pub path: String,
    /// Idle time after which the next packet begins a packet train.
    #[serde(rename = "after_ns")]
    pub after: Duration,
    /// The part of the packet trains' delays that is propagation; the stage's delay includes it.
    #[serde(rename = "delay_ns")]
    pub delay: Duration,
    /// Size of the first packet of each train on the wire; each further packet uses one delivery
    /// opportunity.
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

/// Queue in which packets wait. Its limits include the packet that is being sent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum QueueConfig {
    /// Drop-tail: an arriving packet that does not fit is dropped.
    DropTail {
        /// Limit in packets.
        #[serde(default)]
        packets: Option<u32>,
        /// Limit in bytes.
        #[serde(default)]
        bytes: Option<Bytes>,
    },
    /// CoDel (controlled delay), RFC 8289.
    Codel {
        /// Acceptable standing delay.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time that senders have to react to a drop: a long round-trip time.
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
    /// FQ-CoDel, RFC 8290: a queue for each flow, with CoDel in each queue.
    FqCodel(FqCodelConfig),
    /// PIE (proportional integral controller enhanced), RFC 8033.
    Pie(PieConfig),
    /// DualPI2, RFC 9332: two coupled queues, one for L4S and one for all other packets.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Config),
    /// RED (random early detection), Floyd and Jacobson 1993.
    Red(RedConfig),
    /// Step marking, as DCTCP requires (RFC 8257 section 3.1): while the queue is longer than the
    /// threshold, arriving ECN-capable packets are marked, and other packets are dropped.
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
    /// Queueing delay that may persist in each queue without drops.
    #[serde(rename = "target_ns", default = "codel_target")]
    pub target: Duration,
    /// Time that senders have to react to a drop: a long round-trip time.
    #[serde(rename = "interval_ns", default = "codel_interval")]
    pub interval: Duration,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default = "fq_codel_ecn")]
    pub ecn: bool,
    /// Maximum number of packets in all queues; if it is exceeded, packets of the longest queue
    /// are dropped.
    #[serde(default)]
    pub packets: Option<u32>,
    /// Maximum number of bytes in all queues.
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
    /// Duration of a burst that is accepted without drops after a period of low delay.
    #[serde(rename = "burst_ns", default = "pie_burst")]
    pub burst: Duration,
    /// Whether ECN-capable packets are marked instead of dropped while the drop probability is
    /// below 10 %.
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
    /// Largest expected round-trip time, up to which the controller is stable.
    #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
    pub max_rtt: Duration,
    /// Queueing delay above which L4S packets are marked.
    #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
    pub threshold: Duration,
    /// Maximum number of packets in both queues together.
    #[serde(default)]
    pub packets: Option<u32>,
    /// Maximum number of bytes in both queues together.
    #[serde(default)]
    pub bytes: Option<Bytes>,
}

/// Active queue management of a queue that a radio or a network device empties; the queue's limits
/// are set separately.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum AqmConfig {
    /// CoDel (controlled delay), RFC 8289.
    Codel {
        /// Acceptable standing delay.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time that senders have to react to a drop.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default)]
        ecn: bool,
    },
    /// FQ-CoDel, RFC 8290: a queue for each flow, with CoDel in each queue.
    FqCodel {
        /// Number of queues into which flows are hashed.
        #[serde(default = "fq_codel_queues")]
        queues: NonZeroU32,
        /// Bytes that a queue may send in its turn.
        #[serde(rename = "quantum_bytes", default = "fq_codel_quantum")]
        quantum: Bytes,
        /// Queueing delay that may persist in each queue without drops.
        #[serde(rename = "target_ns", default = "codel_target")]
        target: Duration,
        /// Time that senders have to react to a drop.
        #[serde(rename = "interval_ns", default = "codel_interval")]
        interval: Duration,
        /// Whether ECN-capable packets are marked instead of dropped.
        #[serde(default = "fq_codel_ecn")]
        ecn: bool,
    },
    /// PIE (proportional integral controller enhanced), RFC 8033.
    Pie {
        /// Target queueing delay.
        #[serde(rename = "target_ns", default = "pie_target")]
        target: Duration,
        /// Duration of a burst that is accepted without drops after a period of low delay.
        #[serde(rename = "burst_ns", default = "pie_burst")]
        burst: Duration,
        /// Whether ECN-capable packets are marked instead of dropped while the drop probability is
        /// below 10 %.
        #[serde(default)]
        ecn: bool,
    },
    /// DualPI2, RFC 9332: two coupled queues, one for L4S and one for all other packets.
    #[serde(rename = "dualpi2")]
    DualPi2 {
        /// Target queueing delay of the classic queue.
        #[serde(rename = "target_ns", default = "dual_pi2_target")]
        target: Duration,
        /// Largest expected round-trip time, up to which the controller is stable.
        #[serde(rename = "max_rtt_ns", default = "dual_pi2_max_rtt")]
        max_rtt: Duration,
        /// Queueing delay above which L4S packets are marked.
        #[serde(rename = "threshold_ns", default = "dual_pi2_threshold")]
        threshold: Duration,
    },
}

/// Early discard of single packets: a packet that arrives while the queue has `at_packets` packets
/// is dropped. No further packet is dropped before `spacing_packets` packets have been accepted.
/// This is a packet discard prevention counter (Sågfors, Ludwig, Meyer and Peisa, "Queue
/// management for TCP traffic over 3G links", 2003) with one threshold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyDiscard {
    /// Queue length from which an arriving packet is dropped.
    pub at_packets: u32,
    /// Number of packets that are accepted before the next drop.
    pub spacing_packets: u32,
}

/// RED (random early detection), Floyd and Jacobson 1993.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Average queue length below which no packet is marked.
    #[serde(rename = "min_bytes")]
    pub min: Bytes,
    /// Average queue length from which every packet is marked, unless `gentle` is set.
    #[serde(rename = "max_bytes")]
    pub max: Bytes,
    /// Maximum number of bytes in the queue.
    #[serde(rename = "limit_bytes", default)]
    pub limit: Option<Bytes>,
    /// Marking probability when the average queue length reaches `max`.
    #[serde(rename = "max_probability_ppb", default = "red_max_probability")]
    pub max_probability: Probability,
    /// Each arrival moves the average towards the current queue length by 2^-`weight_shift` of the
    /// difference; 9 is close to the weight of 0.002 in the paper.
    #[serde(default = "red_weight_shift")]
    pub weight_shift: u32,
    /// Transmission time of a packet, which determines how fast the average decays while the link
    /// is idle.
    ///
    /// If absent, the average does not decay. Linux's RED behaves like this if a token bucket
    /// dequeues its packets: the token bucket first looks at the queue without dequeuing, so RED
    /// never notices that the queue is empty.
    #[serde(rename = "idle_packet_ns", default)]
    pub idle_packet: Option<Duration>,
    /// Whether ECN-capable packets are marked instead of dropped.
    #[serde(default)]
    pub ecn: bool,
    /// Whether the marking probability rises gradually to 1 while the average grows from `max` to
    /// twice `max`, instead of jumping to 1 at `max`.
    #[serde(default)]
    pub gentle: bool,
    /// Whether ECN-capable packets are also dropped when every packet would be marked.
    #[serde(default)]
    pub hard_drop: bool,
}

/// A policer: a packet passes if there are enough tokens for its length; otherwise, the packet is
/// dropped.
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
    /// One superseded ACK stays, so that the loss of an ACK does no harm: CAKE's `ack-filter`.
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
        /// Probability that a packet is lost.
        #[serde(rename = "ppb")]
        probability: Probability,
    },
    /// Gilbert-Elliott loss: a chain of two states that can change after each packet (Gilbert
    /// 1960, Elliott 1963).
    GilbertElliott {
        /// Probability that the state changes from good to bad.
        #[serde(rename = "p_ppb")]
        p: Probability,
        /// Probability that the state changes from bad to good.
        #[serde(rename = "r_ppb")]
        r: Probability,
        /// Loss probability of a packet in the good state.
        #[serde(rename = "loss_good_ppb", default)]
        loss_good: Probability,
        /// Loss probability of a packet in the bad state.
        #[serde(rename = "loss_bad_ppb", default = "always")]
        loss_bad: Probability,
    },
    /// Regular loss without randomness, for tests and benchmarks.
    Periodic {
        /// Of this many packets, the last one is lost.
        every: NonZeroU32,
    },
}

/// Random addition to the delay of each packet.
///
/// Jitter preserves the order: no packet arrives before an earlier packet, unless
/// [`ReorderConfig`] is set.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum JitterConfig {
    /// The addition is uniformly distributed between 0 and `max`.
    Uniform {
        /// Largest addition.
        #[serde(rename = "max_ns")]
        max: Duration,
    },
    /// The addition is normally distributed with mean 0; the total delay is never negative.
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
    /// Delay spikes of a Wi-Fi channel with hidden nodes, as in the tests of C4 by Huitema,
    /// Nandakumar and Jennings (draft-huitema-ccwg-c4-test section 2.3). Each packet waits for a
    /// Poisson number (mean 1) of intervals of 1 ms, the last of which is cut at a random point. A
    /// share of the packets also waits for a Poisson number (mean 12) of intervals of 7.5 ms.
    Wifi {
        /// Mean of the additional delay. It determines the share of packets that wait for
        /// intervals of 7.5 ms: none if the mean is 1 ms or less, all if it is 91 ms or more.
        #[serde(rename = "mean_ns")]
        mean: Duration,
    },
    /// Packets arrive in bunches, at multiples of a period. Causes are a network card with one
    /// interrupt per period, or a radio that wakes up once per period.
    Bunched {
        /// Time from one bunch to the next.
        #[serde(rename = "period_ns")]
        period: Duration,
    },
}

/// Reordering of the packets of a wire.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum ReorderConfig {
    /// Some packets are delayed, so that later packets overtake them.
    Late {
        /// Probability that a packet is delayed.
        #[serde(rename = "ppb")]
        probability: Probability,
        /// Additional delay.
        #[serde(rename = "delay_ns")]
        delay: Duration,
        /// At most one packet in this many is delayed.
        #[serde(default = "one")]
        gap: NonZeroU32,
    },
    /// Some packets skip the delay and overtake earlier packets, as in netem.
    Early {
        /// Probability that a packet skips the delay.
        #[serde(rename = "ppb")]
        probability: Probability,
        /// At most one packet in this many skips the delay.
        #[serde(default = "one")]
        gap: NonZeroU32,
    },
    /// Packets may overtake earlier packets whose random delay (jitter) is longer.
    Jitter {},
}

/// An outage: a period in which the link does not work, from `start` up to but not including
/// `stop`.
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
    /// Arriving packets are dropped; queued packets are still sent.
    #[default]
    Drop,
    /// The link stops sending; arriving packets wait in the queue.
    Hold,
}

/// A change of the link at a given time. Settings that are absent stay the same.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepConfig {
    /// Time of the change.
    #[serde(rename = "at_ns")]
    pub at: Time,
    /// New rate of the link; not possible if the rate is given by a trace.
    #[serde(rename = "bits_per_sec", default)]
    pub rate: Option<Rate>,
    /// New delay.
    #[serde(rename = "delay_ns", default)]
    pub delay: Option<Duration>,
    /// New loss process; to end all losses, independent losses with a probability of 0.
    #[serde(default)]
    pub loss: Option<LossConfig>,
}

/// Effect of a change of the rate or the delay on packets that are already queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transition {
    /// As on a real wire: bytes that are not sent yet are sent at the new rate, with the delay
    /// that applies when they are sent. The order of packets is preserved.
    #[default]
    Retime,
    /// As in Linux's netem: the departure of a packet is fixed when the packet arrives.
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

/// Default: TARGET of RFC 8289 section 5.
fn codel_target() -> Duration {
    Duration::from_millis(5)
}

/// Default: INTERVAL of RFC 8289 section 5.
fn codel_interval() -> Duration {
    Duration::from_millis(100)
}

/// Default: number of queues in RFC 8290 section 5.2.5.
fn fq_codel_queues() -> NonZeroU32 {
    NonZeroU32::new(1024).expect("the constant is greater than 0")
}

/// Default of tc-fq_codel(8): ECN is on, unlike in CoDel and PIE.
const fn fq_codel_ecn() -> bool {
    true
}

/// Default: quantum of RFC 8290 section 5.2.4, an Ethernet frame.
fn fq_codel_quantum() -> Bytes {
    Bytes(1514)
}

/// Default: QDELAY_REF of RFC 8033 section 4.2.
fn pie_target() -> Duration {
    Duration::from_millis(15)
}

/// Default: MAX_BURST of RFC 8033 section 4.4.
fn pie_burst() -> Duration {
    Duration::from_millis(150)
}

/// Default: "target" of RFC 9332 figure 2.
pub(crate) fn dual_pi2_target() -> Duration {
    Duration::from_millis(15)
}

/// Default: "RTT_max" of RFC 9332 figure 2.
pub(crate) fn dual_pi2_max_rtt() -> Duration {
    Duration::from_millis(100)
}

/// Default: "minTh" of RFC 9332 figure 2.
pub(crate) fn dual_pi2_threshold() -> Duration {
    Duration::from_micros(800)
}

/// Default: Floyd and Jacobson 1993 simulate with 1/50.
fn red_max_probability() -> Probability {
    Probability::from_ppb(20_000_000).expect("1/50 is a probability")
}

/// Default: Floyd and Jacobson 1993 recommend a weight of 0.002, and 2^-9 is the nearest power of
/// two.
fn red_weight_shift() -> u32 {
    9
}
