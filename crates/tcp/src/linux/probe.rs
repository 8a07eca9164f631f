//! State of a tail loss probe in flight (RFC 8985 section 7).

use cwndlab_packet::seq::{after, before};

use super::LinuxEndpoint;
use super::ack::AckFlags;
use crate::info::CaState;

/// `tlp_high_seq` and `tlp_retrans`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TailLossProbe {
    /// Value of `snd_nxt` when the probe was sent; `None` if no probe is in flight.
    high_seq: Option<u32>,
    /// Whether the probe retransmitted the last segment instead of sending a new one.
    is_retransmission: bool,
}

/// Properties of an ACK that matter to a tail loss probe.
#[derive(Clone, Copy, Debug)]
struct ProbeAck {
    ack: u32,
    /// Whether the ACK reports the probe as a duplicate.
    is_probe_dsacked: bool,
    /// Whether the ACK reports no new data.
    is_duplicate: bool,
}

impl TailLossProbe {
    /// Whether a tail loss probe is in flight.
    #[inline]
    pub(crate) fn is_out(&self) -> bool {
        self.high_seq.is_some()
    }

    /// Whether an ACK of this sequence number may answer the probe.
    #[inline]
    pub(crate) fn is_reached_by(&self, ack: u32) -> bool {
        self.high_seq.is_some_and(|high_seq| !before(ack, high_seq))
    }

    /// Records that a tail loss probe was sent.
    pub(crate) fn begin(&mut self, snd_nxt: u32, is_retransmission: bool) {
        *self = Self { high_seq: Some(snd_nxt), is_retransmission };
    }

    /// Ends the probe.
    pub(crate) fn end(&mut self) {
        self.high_seq = None;
    }

    /// Whether a SACK block that ends at this sequence number may report the probe.
    pub(crate) fn ends_at(&self, end: u32) -> bool {
        self.high_seq == Some(end)
    }

    /// Processes an ACK (RFC 8985 section 7.4.2). Returns whether the probe repaired a loss, which
    /// counts as congestion; the probe then remains in flight until the reduction starts.
    fn handle_ack(&mut self, ack: ProbeAck) -> bool {
        let Some(high_seq) = self.high_seq.filter(|_| self.is_reached_by(ack.ack)) else {
            return false;
        };
        if !self.is_retransmission || ack.is_probe_dsacked {
            self.end();
        } else if after(ack.ack, high_seq) {
            return true;
        } else if ack.is_duplicate {
            self.end();
        }
        false
    }
}

impl LinuxEndpoint {
    /// `tcp_process_tlp_ack`: processes an ACK while a tail loss probe is in flight (RFC 8985
    /// section 7.4).
    pub(super) fn handle_tlp_ack(&mut self, ack: u32, flags: AckFlags) {
        let news = AckFlags::SND_UNA_ADVANCED | AckFlags::NOT_DUP | AckFlags::DATA_SACKED;
        let ack = ProbeAck {
            ack,
            is_probe_dsacked: flags.has(AckFlags::DSACK_TLP),
            is_duplicate: !flags.has(news),
        };
        if self.probe.handle_ack(ack) {
            self.init_cwnd_reduction();
            self.set_ca_state(CaState::Cwr);
            self.end_cwnd_reduction();
            self.try_keep_open();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(is_retransmission: bool) -> TailLossProbe {
        let mut probe = TailLossProbe::default();
        probe.begin(1_000, is_retransmission);
        probe
    }

    fn ack(ack: u32) -> ProbeAck {
        ProbeAck { ack, is_probe_dsacked: false, is_duplicate: false }
    }

    #[test]
    fn new_data_as_a_probe_repair_nothing() {
        let mut probe = probe(false);
        assert!(!probe.handle_ack(ack(999)) && probe.is_out());
        assert!(!probe.handle_ack(ack(1_000)) && !probe.is_out());
    }

    #[test]
    fn a_retransmission_whose_original_arrived_is_reported_twice() {
        let mut dsacked = probe(true);
        assert!(!dsacked.handle_ack(ProbeAck { is_probe_dsacked: true, ..ack(1_000) }));
        assert!(!dsacked.is_out());
        let mut duplicate = probe(true);
        assert!(!duplicate.handle_ack(ack(1_000)) && duplicate.is_out());
        assert!(!duplicate.handle_ack(ProbeAck { is_duplicate: true, ..ack(1_000) }));
        assert!(!duplicate.is_out());
    }

    #[test]
    fn a_retransmission_behind_which_more_is_acknowledged_repaired_a_loss() {
        assert!(probe(true).handle_ack(ack(1_001)));
    }
}
