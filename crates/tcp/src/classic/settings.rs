//! What distinguishes one classic sender from another: the `[classic]` table of a stack profile.

use cwndlab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

/// How a sender repairs losses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// The third duplicate ACK starts slow start at the hole (Jacobson, 1988).
    Tahoe,
    /// Fast recovery until the first ACK of new data (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery until all that was in flight is acknowledged (RFC 6582).
    NewReno,
    /// As many packets in the pipe as the window has, holes first (Fall and Floyd, 1996, section 3).
    Sack,
    /// The same losses; each ACK says how many packets may go (RFC 6937).
    Prr,
    /// Losses are what lies more than three packets below the highest SACK, and every second ACK
    /// takes one packet out of flight (Mathis and Mahdavi, 1996; TCP-Linux of ns-2).
    Fack,
}

/// How a connection begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Handshake {
    /// SYN, SYN-ACK and ACK; data follow the ACK.
    ThreeWay,
    /// The first packet is bare and counts as one of the window; data follow it as the window
    /// allows, and the packet that acknowledges it is an ordinary ACK.
    FirstPacket,
}

/// Which ACKs give a sample of the round trip time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttSampling {
    /// One segment at a time is timed, never a retransmitted one (Karn and Partridge, 1987).
    OneSegment,
    /// Every ACK echoes a timestamp, and each, a duplicate too, gives a sample and restarts the
    /// retransmission timer.
    EveryAck,
}

/// Which round trip time the algorithm gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RttReport {
    /// The sample of the ACK.
    Sample,
    /// The smoothed one, of which the timer is made.
    Smoothed,
}

/// What packets have beside their payload.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Overhead {
    /// Network and transport header of every packet without options.
    pub header_bytes: u32,
    /// What timestamps add to a data segment; 0 is without timestamps.
    pub timestamp_bytes: u32,
    /// What each SACK block adds to an ACK.
    pub sack_block_bytes: u32,
}

/// The retransmission timer.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassicTimer {
    /// The retransmission timer before the first sample.
    pub rto_initial_ms: u32,
    /// Lower bound of the retransmission timer, before its back-off.
    pub rto_min_ms: u32,
    /// Upper bound of the retransmission timer.
    pub rto_max_ms: u32,
    /// Tick of the clock that times segments.
    pub rtt_tick_us: u32,
}

/// What losses reduce, and what timeouts forget.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LossRules {
    /// Algorithms whose threshold after a loss follows from the packets in flight, those neither
    /// SACKed nor lost, instead of from the window.
    pub reduces_flight: Vec<String>,
    /// Whether every timeout lowers the threshold, and not the first one of a segment alone
    /// (RFC 5681 section 3.1).
    pub every_timeout_reduces: bool,
    /// Whether SACKed data are not sent again after a timeout. RFC 2018 section 8 forgets them.
    pub sacks_outlive_timeouts: bool,
}

/// The settings of a classic sender and receiver.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ClassicSettings {
    /// How losses are repaired.
    pub recovery: Recovery,
    /// How the connection begins.
    pub handshake: Handshake,
    /// Payload of a full segment.
    pub segment_bytes: u32,
    /// What packets have beside their payload.
    #[serde(flatten)]
    pub overhead: Overhead,
    /// SACK blocks that the receiver sends; 0 is a receiver without SACK.
    pub sack_blocks: u8,
    /// Window before the first ACK.
    pub initial_window_pkts: u32,
    /// Whether the ACK of the first packet or SYN opens the window by one.
    pub handshake_opens_window: bool,
    /// Upper bound of the window, and the slow start threshold in the beginning.
    pub window_limit_pkts: u32,
    /// Duplicate ACKs that make a loss.
    pub duplicate_ack_threshold: u32,
    /// Whether the first duplicate ACKs let a new segment go each (RFC 3042).
    pub limited_transmit: bool,
    /// What losses reduce, and what timeouts forget.
    #[serde(flatten)]
    pub loss_rules: LossRules,
    /// Whether every segment has a fine timer, at which a duplicate ACK looks (Vegas: Brakmo,
    /// O'Malley and Peterson, 1994, section 3.1).
    pub fine_retransmission: bool,
    /// The retransmission timer.
    #[serde(flatten)]
    pub timer: ClassicTimer,
    /// Which ACKs give a sample.
    pub rtt_sampling: RttSampling,
    /// Tick of the clock that timestamps show, in which an echo's sample is counted; 0 for a clock
    /// that is finer than any sample. No sample is less than a microsecond.
    pub timestamp_tick_us: u32,
    /// Which of them the algorithm gets.
    pub rtt_report: RttReport,
    /// The first packet of either end waits for its peer's address: whole milliseconds, fewer than
    /// this, drawn again for each connection, that count as round trip.
    pub address_wait_ms: u32,
    /// Segments in order that make an ACK without waiting.
    pub ack_segments: u32,
    /// How long an ACK waits for further segments.
    pub delayed_ack_ms: u32,
    /// Receive buffer, all of which is advertised.
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

    /// What an echoed timestamp tells of the time since then.
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
