//! A host's configuration in the scenario's JSON.

use core::num::NonZeroU32;

use cwndlab_link::AqmConfig;
use cwndlab_units::{Bytes, Duration, Rate};
use serde::{Deserialize, Serialize};

/// The queueing discipline: the order in which a host's packets go to the device.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Qdisc {
    /// First in, first out (`pfifo`, or `pfifo_fast` with only one of its bands in use).
    #[default]
    Pfifo,
    /// Fair queueing with pacing of every sender (`fq`).
    Fq,
    /// Fair queueing with CoDel and ECN marks for each flow (`fq_codel`), RFC 8290 with Linux's
    /// defaults.
    FqCodel,
    /// Arriving packets are dropped with a probability that depends on the queueing delay (`pie`),
    /// RFC 8033.
    Pie,
    /// One queue for L4S traffic and one for classic traffic (`dualpi2`), RFC 9332.
    #[serde(rename = "dualpi2")]
    DualPi2,
}

impl Qdisc {
    /// Settings of the active queue management: the defaults of Linux (tc-fq_codel(8), tc-pie(8))
    /// or of the RFC.
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
    /// Maximum packets in the device's transmit queue (`txqueuelen`).
    pub queue_packets: u32,
    /// The queueing discipline.
    #[serde(default)]
    pub qdisc: Qdisc,
    /// Size of the device's own buffer, which always has room for one packet.
    #[serde(rename = "buffer_bytes", default)]
    pub buffer: Bytes,
    /// Rate at which the device sends.
    ///
    /// If neither this rate nor `packet_time` is set, the link empties the device's buffer, as in
    /// a modem without memory of its own that sends when it receives a grant.
    #[serde(rename = "bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Time that the device takes for each packet, in addition to the time given by its rate.
    #[serde(rename = "packet_ns", default)]
    pub packet_time: Duration,
    /// Maximum number of segments that TCP passes to the device in one burst (`gso_max_segs`); 1
    /// disables segmentation offload.
    #[serde(rename = "gso_packets", default = "one")]
    pub burst_packets: u32,
    /// Whether packets stop counting as the socket's as soon as the device (such as TUN) has them.
    /// If so, TCP Small Queues does not hold packets back.
    #[serde(rename = "orphans", default)]
    pub is_orphaning: bool,
    /// Whether the device (such as TUN) stores each received packet in a separate buffer. If so,
    /// no two packets share a buffer of the socket's memory.
    #[serde(rename = "separate_buffers", default)]
    pub has_separate_buffers: bool,
    /// Whether the host has only one processor. If so, the application reads only while no
    /// received packet waits for the device.
    #[serde(rename = "one_processor", default)]
    pub is_one_processor: bool,
    /// Time for which the device waits for more packets before it merges those that it received
    /// and delivers them (GRO).
    ///
    /// If the interval is absent, every packet is delivered separately.
    #[serde(rename = "gro_ns", default, skip_serializing_if = "Option::is_none")]
    pub merge_interval: Option<Duration>,
    /// Delay between the arrival of data and the application's read. Data that arrive during this
    /// delay are read together, and usually acknowledged together.
    #[serde(rename = "wake_ns", default)]
    pub wake_time: Duration,
    /// Duration of a read. After the read, the application checks again for data, and sleeps only
    /// if no data arrived.
    #[serde(rename = "read_ns", default)]
    pub read_time: Duration,
    /// Rate at which the device receives packets from the link; if absent, this rate is not
    /// limited.
    #[serde(rename = "receive_bits_per_sec", default, skip_serializing_if = "Option::is_none")]
    pub receive_rate: Option<Rate>,
    /// Time that the device takes for each packet from the link, in addition to the time given by
    /// `receive_rate`.
    #[serde(rename = "receive_packet_ns", default)]
    pub receive_packet_time: Duration,
    /// Maximum bytes that wait in the receiving device; packets that exceed this limit are
    /// dropped.
    #[serde(rename = "receive_buffer_bytes", default)]
    pub receive_buffer: Bytes,
}

impl HostConfig {
    /// The receiving device, if receiving a packet takes time.
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
