//! Proportional rate reduction (RFC 6937): the number of segments that may leave for the packets
//! that an ACK delivers during recovery.

use super::settings::WindowReduction;

/// Counters of RFC 6937 section 3, except `RecoverFS`, for which the window before the reduction
/// is used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// `prr_delivered`: number of packets that reached the receiver since recovery began.
    delivered: u32,
    /// `prr_out`: number of packets sent since recovery began.
    out: u32,
}

/// Properties of an ACK during recovery.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrrAck {
    /// Number of packets that the ACK delivered, at least 1.
    pub(crate) delivered: u32,
    /// Whether the ACK acknowledges new data and indicates no further loss.
    pub(crate) is_safe: bool,
    pub(crate) in_flight: u32,
    pub(crate) ssthresh: u32,
    /// The window before the reduction, at least 1.
    pub(crate) prior_cwnd: u32,
}

impl Prr {
    /// Records that `pkts` packets were sent.
    #[inline]
    pub(crate) fn note_sent(&mut self, pkts: u32) {
        self.out += pkts;
    }

    /// The congestion window in packets after an ACK.
    pub(crate) fn window(&mut self, ack: PrrAck, reduction: WindowReduction) -> u32 {
        let room = i64::from(ack.ssthresh) - i64::from(ack.in_flight);
        self.delivered = self.delivered.wrapping_add(ack.delivered);
        let (delivered, out) = (i64::from(self.delivered), i64::from(self.out));
        let mut count = if room < 0 {
            // In proportion: sndcnt = CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out.
            let share = u64::from(ack.ssthresh) * u64::from(self.delivered);
            share.div_ceil(u64::from(ack.prior_cwnd)) as i64 - out
        } else {
            // Back to the threshold, like slow start or packet for packet.
            let mut count = (delivered - out).max(i64::from(ack.delivered));
            if ack.is_safe || reduction == WindowReduction::Prr {
                count += 1;
            }
            count.min(room)
        };
        // At the start of recovery, the fast retransmit leaves at once.
        count = count.max(i64::from(self.out == 0));
        (i64::from(ack.in_flight) + count).max(1) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(in_flight: u32, delivered: u32) -> PrrAck {
        PrrAck { delivered, is_safe: false, in_flight, ssthresh: 70, prior_cwnd: 100 }
    }

    /// Of 100 packets in flight, one is lost; 99 ACKs follow, and 7 packets leave for every 10.
    #[test]
    fn in_proportion_the_flight_falls_to_the_threshold_in_one_round_trip() {
        let mut prr = Prr::default();
        let mut in_flight = 99;
        let mut sent = 0;
        for _ in 0..99 {
            in_flight -= 1;
            let cwnd = prr.window(ack(in_flight, 1), WindowReduction::PrrSafeAck);
            let count = cwnd.saturating_sub(in_flight);
            prr.note_sent(count);
            in_flight += count;
            sent += count;
        }
        assert_eq!(in_flight, 70);
        assert_eq!(sent, 70);
    }

    #[test]
    fn the_first_ack_lets_the_fast_retransmit_go() {
        let mut prr = Prr::default();
        assert_eq!(prr.window(ack(200, 0), WindowReduction::PrrSafeAck), 201);
    }

    #[test]
    fn below_the_threshold_only_safe_acks_let_one_more_go() {
        let window = |is_safe, reduction| {
            let mut prr = Prr::default();
            prr.note_sent(1);
            prr.window(PrrAck { is_safe, ..ack(20, 2) }, reduction)
        };
        assert_eq!(window(false, WindowReduction::PrrSafeAck), 22);
        assert_eq!(window(true, WindowReduction::PrrSafeAck), 23);
        assert_eq!(window(false, WindowReduction::Prr), 23);
    }
}
