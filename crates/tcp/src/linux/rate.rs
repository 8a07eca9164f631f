//! Samples of the delivery rate (Cheng, Cardwell et al.,
//! draft-cheng-iccrg-delivery-rate-estimation).

use cwndlab_cc::{RateSample, TcpSock};
use cwndlab_packet::seq::after;
use cwndlab_units::Rate;

use super::LinuxEndpoint;
use super::rtx::{APP_LIMITED, RETRANS, SACKED_ACKED, TxSegment};

/// Whether the first of two segments was sent after the second: compares the send times, and then
/// the sequence numbers.
#[inline]
pub(crate) fn sent_after(time: u64, other_time: u64, end_seq: u32, other_end_seq: u32) -> bool {
    time > other_time || (time == other_time && after(end_seq, other_end_seq))
}

/// The last delivery rate that the application did not limit, or a higher rate measured since
/// then.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeliveryRate {
    /// Number of packets delivered in `interval_us`.
    delivered: u32,
    interval_us: u64,
}

impl DeliveryRate {
    /// The rate, if there is a sample.
    pub(super) fn rate(&self, mss: u32) -> Option<Rate> {
        let bits = u64::from(self.delivered) * u64::from(mss) * 8 * 1_000_000;
        bits.checked_div(self.interval_us).map(Rate::from_bits_per_sec)
    }

    /// Records a sample of `delivered` packets in `interval_us`. A sample that the application
    /// limited counts only if its rate is not lower.
    fn take(&mut self, delivered: i32, interval_us: u64, is_app_limited: bool) {
        let is_higher = (delivered as i64 as u64).wrapping_mul(self.interval_us)
            >= u64::from(self.delivered) * interval_us;
        if !is_app_limited || is_higher {
            *self = Self { delivered: delivered as u32, interval_us };
        }
    }
}

/// Uses the snapshot of a delivered segment for the rate sample, if the segment was sent last so
/// far.
#[inline]
pub(crate) fn take_rate(sk: &mut TcpSock, segment: &TxSegment, sample: &mut RateSample) {
    let sent = segment.tx_mstamp;
    if segment.delivered_mstamp != 0
        && (sample.prior_delivered == 0
            || sent_after(sent, sk.first_tx_mstamp, segment.end_seq, sample.last_end_seq))
    {
        sample.prior_delivered_ce = segment.delivered_ce;
        sample.prior_delivered = segment.delivered;
        sample.prior_mstamp = segment.delivered_mstamp;
        sample.is_app_limited = u8::from(segment.flags & APP_LIMITED != 0);
        sample.is_retrans = u8::from(segment.flags & RETRANS != 0);
        sample.last_end_seq = segment.end_seq;
        sk.first_tx_mstamp = sent;
        sample.interval_us = sent.saturating_sub(segment.first_tx_mstamp) as i64;
    }
}

impl LinuxEndpoint {
    /// Stores in a segment that is being sent the snapshot for a rate sample.
    #[inline]
    pub(crate) fn stamp_rate(&mut self, segment: &mut TxSegment) {
        let sk = &mut self.sk;
        if sk.packets_out == 0 {
            sk.first_tx_mstamp = segment.tx_mstamp;
            sk.delivered_mstamp = segment.tx_mstamp;
        }
        segment.first_tx_mstamp = sk.first_tx_mstamp;
        segment.delivered_mstamp = sk.delivered_mstamp;
        segment.delivered = sk.delivered;
        segment.delivered_ce = sk.delivered_ce;
        segment.flags &= !APP_LIMITED;
        if sk.app_limited != 0 {
            segment.flags |= APP_LIMITED;
        }
    }

    /// Records that a segment was delivered; the segment that was sent last determines the sample.
    #[inline]
    pub(crate) fn rate_delivered(&mut self, number: u32, sample: &mut RateSample) {
        let segment = self.rtx.get_mut(number);
        take_rate(&mut self.sk, segment, sample);
        if segment.flags & SACKED_ACKED != 0 {
            segment.delivered_mstamp = 0;
        }
    }

    /// Completes the rate sample of an ACK.
    #[inline]
    pub(crate) fn rate_generate(
        &mut self,
        delivered: u32,
        lost: u32,
        is_sack_reneg: bool,
        sample: &mut RateSample,
    ) {
        let sk = &mut self.sk;
        if sk.app_limited != 0 && after(sk.delivered, sk.app_limited) {
            sk.app_limited = 0;
        }
        if delivered != 0 {
            sk.delivered_mstamp = sk.tcp_mstamp;
        }
        sample.acked_sacked = delivered;
        sample.losses = lost as i32;
        if sample.prior_mstamp == 0 || is_sack_reneg {
            sample.delivered = -1;
            sample.interval_us = -1;
            return;
        }
        sample.delivered = sk.delivered.wrapping_sub(sample.prior_delivered) as i32;
        sample.delivered_ce = sk.delivered_ce.wrapping_sub(sample.prior_delivered_ce) as i32;
        let send_us = sample.interval_us.max(0) as u64;
        let ack_us = sk.tcp_mstamp.saturating_sub(sample.prior_mstamp);
        let interval_us = send_us.max(ack_us);
        sample.interval_us = interval_us as i64;
        sample.snd_interval_us = send_us as u32;
        sample.rcv_interval_us = ack_us as u32;
        // A rate above what one round trip allows is due to stretched ACKs.
        if interval_us < u64::from(sk.rtt_min_us) {
            sample.interval_us = -1;
            return;
        }
        self.rate.take(sample.delivered, interval_us, sample.is_app_limited != 0);
    }

    /// Marks the data in flight as limited by the application, if nothing else limits the sender.
    pub(crate) fn check_app_limited(&mut self) {
        let unsent = self.buffer.write_seq.wrapping_sub(self.sk.snd_nxt);
        let in_flight = self.in_flight();
        let sk = &mut self.sk;
        if unsent < sk.mss_cache && in_flight < sk.snd_cwnd && sk.lost_out <= sk.retrans_out {
            sk.app_limited = sk.delivered.wrapping_add(in_flight).max(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_two_segments_sent_at_once_the_later_one_has_the_higher_number() {
        assert!(sent_after(2, 1, 0, 100) && !sent_after(1, 2, 100, 0));
        assert!(sent_after(1, 1, 100, 0) && !sent_after(1, 1, 0, 100));
    }

    #[test]
    fn the_segment_that_was_sent_last_gives_the_sample() {
        let mut sk = TcpSock::default();
        let mut sample = RateSample::default();
        let segment = |tx_mstamp, end_seq, delivered| TxSegment {
            end_seq,
            tx_mstamp,
            first_tx_mstamp: 10,
            delivered_mstamp: 5,
            delivered,
            ..TxSegment::default()
        };
        take_rate(&mut sk, &segment(30, 300, 7), &mut sample);
        take_rate(&mut sk, &segment(20, 400, 6), &mut sample);
        assert_eq!((sample.prior_delivered, sample.interval_us, sk.first_tx_mstamp), (7, 20, 30));
        let used = TxSegment { delivered_mstamp: 0, ..segment(40, 500, 8) };
        take_rate(&mut sk, &used, &mut sample);
        assert_eq!(sample.prior_delivered, 7, "it gave a sample before");
    }

    #[test]
    fn a_rate_that_the_application_limited_counts_only_if_it_is_no_lower() {
        let mut rate = DeliveryRate::default();
        assert_eq!(rate.rate(1_000), None);
        rate.take(10, 1_000, false);
        rate.take(9, 1_000, true);
        assert_eq!(rate.rate(1_000), Some(Rate::from_mbit_per_sec(80)));
        rate.take(20, 2_000, true);
        rate.take(11, 1_000, true);
        assert_eq!(rate.rate(1_000), Some(Rate::from_mbit_per_sec(88)));
        rate.take(1, 1_000, false);
        assert_eq!(rate.rate(1_000), Some(Rate::from_mbit_per_sec(8)));
    }
}
