//! Sends packets at the delivery opportunities of a Mahimahi trace, by Mahimahi's rules.
//!
//! At each opportunity, the link sends 1504 bytes from the head of the queue. A packet that does
//! not fit continues at the next opportunity and leaves when its last byte is sent; several small
//! packets may leave at the same opportunity. An opportunity is lost while the queue is empty. A
//! packet that arrives at the time of an opportunity misses it.

use cwndlab_trace::OpportunityTrace;
use cwndlab_units::{Bytes, Duration, Time};

use crate::outage::Spans;

/// A server that sends only at the delivery opportunities of a trace.
#[derive(Clone, Debug)]
pub(crate) struct Opportunities {
    trace: OpportunityTrace,
    pauses: Spans,
    /// Start of the current repetition of the trace.
    lap_ms: u64,
    /// The index of the current opportunity in the trace.
    index: usize,
    /// Time of the current opportunity.
    time: Time,
    /// Bytes that are left of the current opportunity.
    left: u32,
    /// Time at which the previous packet left.
    served: Time,
}

impl Opportunities {
    pub(crate) fn new(trace: OpportunityTrace, pauses: Spans) -> Self {
        let mut opportunities = Self {
            trace,
            pauses,
            lap_ms: 0,
            index: 0,
            time: Time::ZERO,
            left: 0,
            served: Time::ZERO,
        };
        opportunities.enter();
        opportunities
    }

    pub(crate) fn serve(&mut self, now: Time, bytes: u32) -> Time {
        self.waste_until(now);
        self.serve_dequeued(bytes)
    }

    pub(crate) fn dequeue_at(&mut self, arrived: Time) -> Time {
        self.waste_until(arrived);
        if self.left == 0 {
            self.advance();
        }
        self.time
    }

    pub(crate) fn serve_dequeued(&mut self, mut bytes: u32) -> Time {
        while self.left < bytes {
            bytes -= self.left;
            self.advance();
        }
        self.left -= bytes;
        self.served = self.time;
        self.time
    }

    pub(crate) fn longest_bytes(&self) -> u32 {
        OPPORTUNITY_BYTES
    }

    pub(crate) fn free_at(&self) -> Time {
        self.served
    }

    /// Number of bytes that the opportunities up to and including `time` could carry, except in
    /// pauses.
    pub(crate) fn offered(&self, time: Time) -> Bytes {
        let before = |time: Time| match time.as_nanos().checked_sub(1) {
            Some(nanos) => self.trace.opportunities_until(Time::from_nanos(nanos)),
            None => 0,
        };
        let end = time + Duration::from_nanos(1);
        let paused: u64 = self
            .pauses
            .iter()
            .take_while(|span| span.start < end)
            .map(|span| before(span.stop.min(end)) - before(span.start))
            .sum();
        Bytes((before(end) - paused) * OpportunityTrace::OPPORTUNITY.0)
    }

    /// Skips the opportunities at or before `time`, because the queue was empty.
    pub(super) fn waste_until(&mut self, time: Time) {
        // Usually there are only a few; after a long silence, search for the next one.
        for _ in 0..8 {
            if self.time > time {
                return;
            }
            self.advance();
        }
        if self.time <= time {
            self.jump_after(time);
        }
    }

    /// Advances to the next opportunity that is not in a pause.
    fn advance(&mut self) {
        self.index += 1;
        self.enter();
    }

    fn jump_after(&mut self, time: Time) {
        self.seek(time);
        self.enter();
    }

    fn seek(&mut self, time: Time) {
        let (lap, index) = self.trace.position_after(time);
        self.lap_ms = lap.saturating_mul(self.trace.period_ms());
        self.index = index;
    }

    fn enter(&mut self) {
        self.set_time();
        if self.pauses.is_empty() {
            return;
        }
        loop {
            let open = self.pauses.open_from(self.time);
            if open == self.time {
                return;
            }
            self.seek(open - Duration::from_nanos(1));
            self.set_time();
        }
    }

    fn set_time(&mut self) {
        let stamps = self.trace.stamps_ms();
        if self.index == stamps.len() {
            self.lap_ms += self.trace.period_ms();
            self.index = 0;
        }
        let stamp_ms = self.lap_ms + u64::from(stamps[self.index]);
        self.time = Time::from_nanos(stamp_ms.saturating_mul(NANOS_PER_MILLI));
        self.left = OPPORTUNITY_BYTES;
    }
}

const NANOS_PER_MILLI: u64 = 1_000_000;
const OPPORTUNITY_BYTES: u32 = OpportunityTrace::OPPORTUNITY.0 as u32;
