//! When the retransmission timer was last set, as far as packets tell, and whether it fired.

/// Linux's floor of the retransmission timeout beyond the smoothed RTT (`TCP_RTO_MIN`), less a tenth
/// for timers that fire early.
const RTO_FLOOR_NS: u64 = 180_000_000;

/// How long a sender has heard nothing that sets its timer again.
#[derive(Debug)]
pub(crate) struct Silence {
    since_ns: u64,
    has_probed: bool,
}

impl Silence {
    pub(crate) fn new(begin_ns: u64) -> Self {
        Self { since_ns: begin_ns, has_probed: false }
    }

    /// The timer is set again.
    pub(crate) fn end(&mut self, at_ns: u64) {
        self.since_ns = at_ns;
    }

    /// New data are acknowledged.
    pub(crate) fn end_by_ack(&mut self, at_ns: u64) {
        self.since_ns = at_ns;
        self.has_probed = false;
    }

    /// The first byte outstanding is sent again. Returns whether it was the retransmission timer
    /// (RFC 6298) that made it go, and no answer: so after a long silence, and not as the probe of a
    /// segment that is alone and was sent once (RFC 8985 section 7), of which there is one.
    pub(crate) fn take_for_timeout(
        &mut self,
        at_ns: u64,
        srtt_ns: u64,
        is_alone_and_sent_once: bool,
    ) -> bool {
        if at_ns.saturating_sub(self.since_ns) < srtt_ns + RTO_FLOOR_NS {
            return false;
        }
        let is_probe = is_alone_and_sent_once && srtt_ns > 0 && !self.has_probed;
        self.has_probed |= is_probe;
        !is_probe
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn a_long_silence_before_a_retransmission_is_a_timeout() {
        let mut silence = Silence::new(0);
        assert!(!silence.take_for_timeout(199 * MS, 20 * MS, false));
        assert!(silence.take_for_timeout(200 * MS, 20 * MS, false));
        silence.end(150 * MS);
        assert!(!silence.take_for_timeout(200 * MS, 20 * MS, false));
    }

    #[test]
    fn a_segment_alone_is_probed_once_until_an_ack() {
        let mut silence = Silence::new(0);
        assert!(!silence.take_for_timeout(300 * MS, 20 * MS, true), "the probe");
        silence.end(300 * MS);
        assert!(silence.take_for_timeout(600 * MS, 20 * MS, true));
        silence.end_by_ack(700 * MS);
        assert!(!silence.take_for_timeout(900 * MS + MS, 20 * MS, true));
        assert!(Silence::new(0).take_for_timeout(300 * MS, 0, true), "no RTT, no probe");
    }
}
