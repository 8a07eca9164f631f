//! Settings of a classic sender and receiver: the `[classic]` table of a stack profile.

use cwndlab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

/// Loss recovery of a classic sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Tahoe: the third duplicate ACK starts slow start at the hole (Jacobson, 1988).
    Tahoe,
    /// Reno: fast recovery until the first ACK of new data (RFC 5681 section 3.2).
    Reno,
    /// NewReno: fast recovery until all data in flight at its start are acknowledged (RFC 6582).
    NewReno,
    /// SACK: as many packets in flight as the window allows; holes are filled first (Fall and
    /// Floyd, 1996, section 3).
    Sack,
    /// PRR: losses are detected as in `Sack`, and each ACK determines how many packets may leave
    /// (RFC 6937).
    Prr,
    /// FACK: packets more than three below the highest SACK are lost, and every second ACK reduces
    /// the packets in flight by one (Mathis and Mahdavi, 1996; TCP-Linux of ns-2).
    Fack,
}

/// How a connection is opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// SYN, SYN-ACK and ACK; data follow the ACK.
    ThreeWay,
    /// A first packet without data opens the connection and counts towards the window. Data follow
    /// it as the window allows, and an ordinary ACK acknowledges it.
    FirstPacket,
}

/// Which ACKs give a sample of the round-trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttSampling {
    /// The round-trip time of one segment at a time is measured, never that of a retransmission
    /// (Karn and Partridge, 1987).
    OneSegment,
    /// Every ACK echoes a timestamp. Each ACK, including duplicate ACKs, gives a sample and
    /// restarts the retransmission timer.
    EveryAck,
}

/// Which round-trip time is passed to the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttReport {
    /// The RTT sample of the present ACK.
    Sample,
    /// The smoothed RTT from which the retransmission timer is computed.
    Smoothed,
}

/// Sizes of headers and options.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Overhead {
    /// Bytes of the network and transport headers of every packet, without options.
    pub header_bytes: u32,
    /// Bytes that timestamps add to a data segment; 0 disables timestamps.
    pub timestamp_bytes: u32,
    /// Bytes that each SACK block adds to an ACK.
    pub sack_block_bytes: u32,
}

/// The retransmission timer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassicTimer {
    /// The retransmission timeout before the first RTT sample.
    pub rto_initial_ms: u32,
    /// Lower bound of the retransmission timeout before back-off.
    pub rto_min_ms: u32,
    /// Upper bound of the retransmission timeout.
    pub rto_max_ms: u32,
    /// Tick of the clock that measures the round-trip time.
    pub rtt_tick_us: u32,
}

/// How losses and timeouts change the slow start threshold and the scoreboard.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LossRules {
    /// Algorithms whose slow start threshold after a loss is computed from the packets in flight
    /// (neither reported by SACK nor lost) instead of from the window.
    pub reduces_flight: Vec<String>,
    /// Whether every timeout lowers the slow start threshold, not only the first timeout of a
    /// segment (RFC 5681 section 3.1).
    pub every_timeout_reduces: bool,
    /// Whether data reported by SACK are not retransmitted after a timeout. RFC 2018 section 8
    /// requires that a timeout clears SACKs.
    pub sacks_outlive_timeouts: bool,
}

/// The settings of a classic sender and receiver.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassicSettings {
    /// Loss recovery.
    pub recovery: Recovery,
    /// How the connection is opened.
    pub handshake: Handshake,
    /// Payload bytes of a full segment.
    pub segment_bytes: u32,
    /// Sizes of headers and options.
    #[serde(flatten)]
    pub overhead: Overhead,
    /// Number of SACK blocks that the receiver sends; 0 disables SACK.
    pub sack_blocks: u8,
    /// Congestion window before the first ACK.
    pub initial_window_pkts: u32,
    /// Whether the ACK of the SYN or first packet increases the window by one packet.
    pub handshake_opens_window: bool,
    /// Upper bound of the congestion window, and initial slow start threshold.
    pub window_limit_pkts: u32,
    /// Number of duplicate ACKs that indicate a loss.
    pub duplicate_ack_threshold: u32,
    /// Whether each of the first duplicate ACKs allows one new segment (RFC 3042).
    pub limited_transmit: bool,
    /// How losses and timeouts change the slow start threshold and the scoreboard.
    #[serde(flatten)]
    pub loss_rules: LossRules,
    /// Whether every segment has a fine-grained timer that is checked at duplicate ACKs (Vegas:
    /// Brakmo, O'Malley and Peterson, 1994, section 3.1).
    pub fine_retransmission: bool,
    /// The retransmission timer.
    #[serde(flatten)]
    pub timer: ClassicTimer,
    /// Which ACKs give an RTT sample.
    pub rtt_sampling: RttSampling,
    /// Tick of the timestamp clock, to which samples from echoed timestamps are rounded; 0 means a
    /// clock finer than any sample. No sample is below a microsecond.
    pub timestamp_tick_us: u32,
    /// Which RTT is passed to the algorithm.
    pub rtt_report: RttReport,
    /// Upper bound (exclusive) of the delay of each end's first packet while this end resolves the
    /// peer's address. The delay is a random whole number of milliseconds for each connection, and
    /// is part of the first RTT.
    pub address_wait_ms: u32,
    /// Number of in-order segments after which an ACK is sent at once.
    pub ack_segments: u32,
    /// Time for which an ACK waits for further segments.
    pub delayed_ack_ms: u32,
    /// Receive buffer; all of it is advertised.
    pub receive_buffer_bytes: u32,
}

impl ClassicSettings {
    pub(crate) fn rto_initial(&self) -> Duration {
        Duration::from_millis(self.timer.rto_initial_ms.into())
    }

    pub(crate) fn rto_min(&self) -> Duration {
        Duration::from_millis(self.timer.rto_min_ms.into())
    }

    pub(crate) fn rto_max(&self) -> Duration {
        Duration::from_millis(self.timer.rto_max_ms.into())
    }

    pub(crate) fn rtt_tick(&self) -> Duration {
        Duration::from_micros(self.timer.rtt_tick_us.into())
    }

    /// RTT sample from an echoed timestamp, rounded to ticks of the timestamp clock.
    pub(crate) fn echoed_rtt(&self, sent: Time, now: Time) -> Duration {
        let tick = u64::from(self.timestamp_tick_us);
        if tick == 0 {
            return now.saturating_since(sent);
        }
        let ticks = now.as_micros() / tick - sent.as_micros() / tick;
        Duration::from_micros((ticks * tick).max(1))
    }

    pub(crate) fn delayed_ack(&self) -> Duration {
        Duration::from_millis(self.delayed_ack_ms.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classic::testing::{ns_2_linux, ns_3};

    #[test]
    fn timestamps_of_ns_3_count_whole_milliseconds_and_never_nothing() {
        let us = Time::from_micros;
        let echoed = |sent, now| ns_3().echoed_rtt(us(sent), us(now)).as_micros();
        assert_eq!(echoed(1_999, 2_001), 1_000);
        assert_eq!(echoed(1_001, 1_999), 1);
        assert_eq!(echoed(1_500, 4_499), 3_000);
        assert_eq!(ns_2_linux().echoed_rtt(us(1_999), us(2_001)).as_micros(), 2);
    }
}
