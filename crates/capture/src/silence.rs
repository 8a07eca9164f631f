//! Estimate of the time at which the retransmission timer was last restarted, and of whether it
//! expired.

/// Linux's minimum difference between the retransmission timeout and the smoothed RTT
/// (`TCP_RTO_MIN`), minus a tenth for timers that expire early.
const RTO_FLOOR_NS: u64 = 180_000_000;

/// Time since the last event that restarts a sender's retransmission timer.
#[derive(Debug)]
pub(crate) struct Silence {
    since_ns: u64,
    has_probed: bool,
}

impl Silence {
    pub(crate) fn new(begin_ns: u64) -> Self {
        Self { since_ns: begin_ns, has_probed: false }
    }

    /// Handles a restart of the retransmission timer.
    pub(crate) fn end(&mut self, at_ns: u64) {
        self.since_ns = at_ns;
    }

    /// Handles an acknowledgement of new data.
    pub(crate) fn end_by_ack(&mut self, at_ns: u64) {
        self.since_ns = at_ns;
        self.has_probed = false;
    }

    /// Handles a retransmission of the first outstanding byte. Returns whether the retransmission
    /// timer (RFC 6298) caused the retransmission, rather than an ACK. This is the case after a
    /// long silence, with one exception: a single segment that was sent only once is a tail loss
    /// probe (RFC 8985 section 7).
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
