//! A host as the scenario's JSON says it.

use core::num::NonZeroU32;

use cwndlab_link::AqmConfig;
use cwndlab_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

/// In what order packets go to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// In that of their arrival (`pfifo`; `pfifo_fast`, of which one band is used).
    #[default]
    Pfifo,
    /// Flows take turns, and every sender is paced (`fq`).
    Fq,
    /// Queues of flows, each with CoDel and marks (`fq_codel`), RFC 8290 with Linux's defaults.
    FqCodel,
    /// Arrivals are dropped with a probability that follows the delay (`pie`), RFC 8033.
    Pie,
    /// A queue for L4S beside one for the rest (`dualpi2`), RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2,
}

impl Qdisc {
    /// How the queue is managed: with Linux's defaults, tc-fq_codel(8) and tc-pie(8), or the RFC's.
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

/// What stands between a machine's sockets and the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostConfig {
    /// Limit of the device's queue, `txqueuelen`.
    pub queue_packets: u32,
    /// The order in the queue.
    #[serde(default)]
    pub qdisc: Qdisc,
    /// Room of the device's own buffer; it always takes one packet.
    #[serde(rename = "buffer_bytes", default)]
    pub buffer: Bytes,
    /// How fast the device sends. Without one it is the link that empties the device's buffer: a
    /// modem without any other memory, which sends when it is granted to.
    #[serde(rename = "bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// How long the device takes for each packet, beside its rate.
    #[serde(rename = "packet_ns", default)]
    pub packet_time: Duration,
    /// The most segments that TCP hands over at once (`gso_max_segs`); 1 means no offload.
    #[serde(rename = "gso_packets", default = "one")]
    pub burst_packets: u32,
    /// Packets no longer count as the socket's once the device has them (TUN), so that Small Queues
    /// hold nothing back.
    #[serde(rename = "orphans", default)]
    pub is_orphaning: bool,
    /// The device keeps each packet that it received in one piece (TUN), so that no two share a buffer
    /// of the socket's memory.
    #[serde(rename = "separate_buffers", default)]
    pub has_separate_buffers: bool,
    /// The application reads only while no received packet waits for the device, as the machine has
    /// one processor.
    #[serde(rename = "one_processor", default)]
    pub is_one_processor: bool,
    /// How long the device waits for more before it hands over what it received, merged (GRO).
    /// Without one every packet is handed over by itself.
    #[serde(rename = "gro_ns", default, skip_serializing_if = "Option::is_none")]
    pub merge_interval: Option<Duration>,
    /// Delay between the arrival of data and the application's read: what comes in that time is read, and
    /// mostly acknowledged, together.
    #[serde(rename = "wake_ns", default)]
    pub wake_time: Duration,
    /// How long a read takes: after it the application looks again, and waits only if nothing has come.
    #[serde(rename = "read_ns", default)]
    pub read_time: Duration,
    /// How fast the device takes what the link brings; at once if absent.
    #[serde(rename = "receive_bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub receive_rate: Option<Rate>,
    /// How long it takes for each packet that the link brings, beside that rate.
    #[serde(rename = "receive_packet_ns", default)]
    pub receive_packet_time: Duration,
    /// What waits for both at most; what comes on top of it is lost.
    #[serde(rename = "receive_buffer_bytes", default)]
    pub receive_buffer: Bytes,
}

impl HostConfig {
    /// The line between the link and the device, if that takes time.
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
