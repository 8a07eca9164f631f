//! A host's configuration in the scenario's JSON.

use core::num::NonZeroU32;

use cwndlab_link::AqmConfig;
use cwndlab_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

/// The queueing discipline: the order in which packets go to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// Order of arrival (`pfifo`, or `pfifo_fast` with only one of its bands in use).
    #[default]
    Pfifo,
    /// Flows take turns, and every sender is paced (`fq`).
    Fq,
    /// A queue for each flow with CoDel and ECN marks (`fq_codel`), RFC 8290 with Linux's defaults.
    FqCodel,
    /// Arrivals are dropped with a probability that depends on the delay (`pie`), RFC 8033.
    Pie,
    /// A queue for L4S and a classic queue (`dualpi2`), RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2,
}

impl Qdisc {
    /// Settings of the AQM: Linux's defaults, tc-fq_codel(8) and tc-pie(8), or those of the RFC.
    pub(crate) fn management(self) -> Option<AqmConfig> {
        let ms = Duration::from_millis;
        match self {
            Self::Pfifo | Self::Fq => None,
            Self::FqCodel => Some(AqmConfig::FqCodel {
                queues: NonZeroU32::MIN.saturating_add(1023),
                quantum: Bytes(1_514),
                target: ms(5),
                interval: ms(100),
                ecn: true,
            }),
            Self::Pie => Some(AqmConfig::Pie { target: ms(15), burst: ms(150), ecn: false }),
            Self::DualPi2 => Some(AqmConfig::DualPi2 {
                target: ms(15),
                max_rtt: ms(100),
                threshold: Duration::from_micros(800),
            }),
        }
    }
}

/// The device and its queue between a host's sockets and the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// Limit of the device's queue, `txqueuelen`.
    pub queue_packets: u32,
    /// The queueing discipline.
    #[serde(default)]
    pub qdisc: Qdisc,
    /// Size of the device's own buffer, which always has room for one packet.
    #[serde(rename = "buffer_bytes", default)]
    pub buffer: Bytes,
    /// Sending rate of the device.
    ///
    /// Without it and `packet_time`, the link empties the device's buffer: a modem without other
    /// memory, which sends when it receives a grant.
    #[serde(rename = "bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time that the device takes for each packet, in addition to its rate.
    #[serde(rename = "packet_ns", default)]
    pub packet_time: Duration,
    /// Maximum segments that TCP passes down at once (`gso_max_segs`); 1 means no offload.
    #[serde(rename = "gso_packets", default = "one")]
    pub burst_packets: u32,
    /// Packets no longer count as the socket's once they are in the device (TUN), so that Small
    /// Queues do not hold packets back.
    #[serde(rename = "orphans", default)]
    pub is_orphaning: bool,
    /// The device keeps each received packet in a buffer of its own (TUN), so that no two packets
    /// share a buffer of the socket's memory.
    #[serde(rename = "separate_buffers", default)]
    pub has_separate_buffers: bool,
    /// The host has one processor, so the application reads only while no received packet waits for
    /// the device.
    #[serde(rename = "one_processor", default)]
    pub is_one_processor: bool,
    /// How long the device waits for more packets before it delivers those that it received, merged
    /// (GRO).
    ///
    /// If absent, every packet is delivered by itself.
    #[serde(rename = "gro_ns", default, skip_serializing_if = "Option::is_none")]
    pub merge_interval: Option<Duration>,
    /// Delay between the arrival of data and the application's read: data that arrive in this time
    /// are read, and usually acknowledged, together.
    #[serde(rename = "wake_ns", default)]
    pub wake_time: Duration,
    /// Duration of a read: then the application checks again, and sleeps only if no data arrived.
    #[serde(rename = "read_ns", default)]
    pub read_time: Duration,
    /// Rate at which the device receives packets from the link; unlimited if absent.
    #[serde(rename = "receive_bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub receive_rate: Option<Rate>,
    /// Time that the device takes for each packet from the link, in addition to that rate.
    #[serde(rename = "receive_packet_ns", default)]
    pub receive_packet_time: Duration,
    /// Maximum bytes that wait to be received; packets beyond that are dropped.
    #[serde(rename = "receive_buffer_bytes", default)]
    pub receive_buffer: Bytes,
}

impl HostConfig {
    /// The receiving device behind the link, if receiving takes time.
    pub fn receiving(self) -> Option<Self> {
        let (rate, packet_time) = (self.receive_rate, self.receive_packet_time);
        let takes_time = rate.is_some() || packet_time > Duration::ZERO;
        let buffer = self.receive_buffer;
        takes_time.then(|| Self { buffer, rate, packet_time, ..Self::default() })
    }
}

impl Default for HostConfig {
    fn default() -> Self {
        Self {
            queue_packets: 0,
            qdisc: Qdisc::default(),
            buffer: Bytes(0),
            rate: None,
            packet_time: Duration::ZERO,
            burst_packets: one(),
            is_orphaning: false,
            has_separate_buffers: false,
            is_one_processor: false,
            merge_interval: None,
            wake_time: Duration::ZERO,
            read_time: Duration::ZERO,
            receive_rate: None,
            receive_packet_time: Duration::ZERO,
            receive_buffer: Bytes(0),
        }
    }
}

fn one() -> u32 {
    1
}
