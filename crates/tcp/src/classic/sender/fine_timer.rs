//! Vegas's retransmission timer (Brakmo, O'Malley and Peterson, 1994, section 3.1): a fine-grained
//! clock measures the time of each segment, and the only lower bound is the RTT.
//!
//! The expiry of this timer alone has no effect. The timer is checked at duplicate ACKs, and at
//! the first two ACKs of new data after a retransmission. A loss in a small window is therefore
//! repaired without a third duplicate ACK.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use crate::classic::settings::ClassicSettings;
use crate::classic::timer::RtoEstimator;

/// Number of ACKs of new data at which the timer is checked after a retransmission.
const LOOKS: u8 = 2;

/// A segment in flight.
#[derive(Clone, Copy, Debug)]
struct Sent {
    end: u64,
    at: Time,
    is_again: bool,
}

/// Send times of the segments in flight, and the RTT in ticks of the fine-grained clock.
#[derive(Debug)]
pub(super) struct FineTimer {
    sent: VecDeque<Sent>,
    estimator: RtoEstimator,
    looks: u8,
}

impl FineTimer {
    pub(super) fn new(settings: &ClassicSettings) -> Self {
        let tick = Duration::from_micros(1);
        let estimator =
            RtoEstimator::new(tick, settings.rto_initial(), Duration::ZERO, settings.rto_max());
        Self { sent: VecDeque::new(), estimator, looks: 0 }
    }

    /// Records that the segment that ends at `end` is sent, for the first time or again.
    pub(super) fn note_sent(&mut self, now: Time, end: u64) {
        let place = self.sent.partition_point(|sent| sent.end < end);
        match self.sent.get_mut(place) {
            Some(sent) => {
                (sent.at, sent.is_again) = (now, true);
                self.looks = LOOKS;
            }
            None => self.sent.push_back(Sent { end, at: now, is_again: false }),
        }
    }

    /// Records that all data below `next` are acknowledged. The last segment gives an RTT sample,
    /// unless any of the segments was retransmitted (Karn and Partridge, 1987).
    pub(super) fn note_acknowledged(&mut self, now: Time, next: u64) {
        let mut last = None;
        let mut is_again = false;
        while let Some(sent) = self.sent.front().filter(|sent| sent.end <= next) {
            is_again |= sent.is_again;
            last = Some(sent.at);
            self.sent.pop_front();
        }
        if let Some(at) = last.filter(|_| !is_again) {
            self.estimator.take_timed(at, now);
        }
    }

    /// Whether the first segment in flight has exceeded its timeout.
    pub(super) fn is_overdue(&self, now: Time) -> bool {
        let has_rtt = self.estimator.srtt().is_some();
        let first = self.sent.front().filter(|_| has_rtt);
        first.is_some_and(|sent| now.saturating_since(sent.at) > self.estimator.rto())
    }

    /// Returns whether the timer may be checked at this ACK of new data, and counts the check.
    pub(super) fn take_look(&mut self) -> bool {
        let may = self.looks > 0;
        self.looks = self.looks.saturating_sub(1);
        may
    }
}
