//! PIE (proportional integral controller enhanced, RFC 8033).
//!
//! ```text
//!                 p += alpha (delay - target) + beta (delay - delay before), every 15 ms
//!                                 |
//!   arrival -> [ burst? calm? ] -> dropped or marked with probability p -> [ queue ] -> sent
//! ```
//!
//! This is the basic algorithm of RFC 8033 section 4, with marks (section 5.1) and the limit on
//! the growth of the probability (section 5.5). The delay is measured, not estimated from a rate
//! (section 4.3). It is the waiting time of the packet dequeued last, or 0 if no packet waits, and
//! excludes the time in which a packet is sent, as in CoDel. The controller is never inactive (no
//! section 5.3), and drops are independent of each other (no section 5.4).
//!
//! There is no timer: each arrival and each dequeue first makes the updates that were due before.
//! The results are the same, because nothing else depends on the probability.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Stream, Time};

use super::{Arrival, Limits, Verdict};
use crate::config::PieConfig;
use crate::{Backlog, DropReason};

#[derive(Clone, Debug)]
pub(crate) struct Pie {
    target: Duration,
    /// "MAX_BURST".
    burst: Duration,
    ecn: bool,
    limits: Limits,
    /// Dequeue time and arrival time of each packet in the queue.
    waiting: VecDeque<(Time, Time)>,
    /// Waiting time of the packet that was dequeued last.
    last_wait: Duration,
    /// The queueing delay at the last update ("qdelay_old_").
    delay: Duration,
    drop_probability: f64,
    /// Remaining time in which all packets are accepted.
    burst_allowance: Duration,
    next_update: Time,
    random: Stream,
}

impl Pie {
    pub(crate) fn new(config: &PieConfig, random: Stream) -> Self {
        Self {
            target: config.target,
            burst: config.burst,
            ecn: config.ecn,
            limits: Limits::new(config.packets, config.bytes),
            waiting: VecDeque::new(),
            last_wait: Duration::ZERO,
            delay: Duration::ZERO,
            drop_probability: 0.0,
            burst_allowance: config.burst,
            next_update: Time::ZERO + UPDATE_INTERVAL,
            random,
        }
    }

    /// Decides whether an arriving packet is accepted, marked or dropped.
    ///
    /// Each arrival uses one random number, so the n-th arrival has the same random number
    /// whatever happened to earlier packets.
    pub(crate) fn admit(&mut self, now: Time, backlog: Backlog, arrival: Arrival) -> Verdict {
        self.update_until(now);
        let draw = self.random.unit();
        if !self.limits.have_room(backlog, arrival.bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        let is_low = |delay: Duration| delay < self.target / 2;
        if self.drop_probability == 0.0 && is_low(self.delay) && is_low(self.current_delay()) {
            self.burst_allowance = self.burst;
        }
        if self.burst_allowance > Duration::ZERO || self.is_calm() || draw >= self.drop_probability
        {
            return Verdict::Accept;
        }
        if self.ecn && arrival.is_ecn_capable && self.drop_probability < MARK_THRESHOLD {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Aqm)
        }
    }

    /// Records a packet that arrives now; `dequeue_at` is [`Time::NEVER`] if it is not known yet.
    pub(crate) fn queued(&mut self, now: Time, dequeue_at: Time) {
        self.waiting.push_back((dequeue_at, now));
    }

    /// Records that the first packet is dequeued now, if this time was not known in advance.
    ///
    /// An update that is due now already uses the waiting time of this packet.
    pub(crate) fn leave(&mut self, now: Time) {
        self.update_before(now);
        if let Some(first) = self.waiting.front_mut() {
            first.0 = now;
        }
        self.pass(now);
    }

    /// Whether no packet is dropped early, because the delay is low (RFC 8033 section 4.1). "A
    /// couple of packets" is taken as two; the pseudocode compares bytes with a mean packet size,
    /// which the RFC does not specify.
    fn is_calm(&self) -> bool {
        self.delay < self.target / 2 && self.drop_probability < 0.2 || self.waiting.len() <= 2
    }

    /// Makes the updates that were due at or before `now`.
    fn update_until(&mut self, now: Time) {
        self.update_before(now);
        if self.next_update == now {
            self.pass(now);
            self.update();
        }
        self.pass(now);
    }

    /// Makes the updates that were due before `now`.
    fn update_before(&mut self, now: Time) {
        while self.next_update < now {
            self.pass(self.next_update);
            if self.is_at_rest() {
                let last = Duration::from_nanos((now - self.next_update).as_nanos() - 1);
                let missed = last.as_nanos() / UPDATE_INTERVAL.as_nanos() + 1;
                let gone = UPDATE_INTERVAL * missed;
                self.burst_allowance = self.burst_allowance.saturating_sub(gone);
                self.next_update += gone;
            } else {
                self.update();
            }
        }
    }

    /// Whether updates only use up the burst allowance, until a packet waits.
    fn is_at_rest(&self) -> bool {
        self.waiting.is_empty() && self.delay == Duration::ZERO && self.drop_probability == 0.0
    }

    /// Queueing delay ("current_qdelay"): waiting time of the packet dequeued last; 0 if no packet
    /// waits.
    fn current_delay(&self) -> Duration {
        if self.waiting.is_empty() { Duration::ZERO } else { self.last_wait }
    }

    /// Removes the records of packets that were dequeued at or before `time`.
    fn pass(&mut self, time: Time) {
        while let Some(&(dequeued, arrived)) = self.waiting.front()
            && dequeued <= time
        {
            self.last_wait = dequeued - arrived;
            self.waiting.pop_front();
        }
    }

    /// Updates the drop probability (RFC 8033 section 4.2) and the burst allowance (section 4.4).
    fn update(&mut self) {
        let delay = self.current_delay();
        let before = core::mem::replace(&mut self.delay, delay);
        let error_s = delay.as_secs_f64() - self.target.as_secs_f64();
        let growth_s = delay.as_secs_f64() - before.as_secs_f64();
        let mut step =
            (ALPHA_HZ * error_s + BETA_HZ * growth_s) * step_scale(self.drop_probability);
        if self.drop_probability >= 0.1 {
            step = step.min(MAX_STEP);
        }
        let mut probability = self.drop_probability + step;
        if delay == Duration::ZERO && before == Duration::ZERO {
            probability *= DECAY;
        }
        self.drop_probability = probability.clamp(0.0, 1.0);
        self.burst_allowance = self.burst_allowance.saturating_sub(UPDATE_INTERVAL);
        self.next_update += UPDATE_INTERVAL;
    }
}

/// Factor by which changes of a small drop probability are reduced: the table of RFC 8033 section
/// 4.2.
fn step_scale(probability: f64) -> f64 {
    match probability {
        p if p < 0.000_001 => 1.0 / 2048.0,
        p if p < 0.000_01 => 1.0 / 512.0,
        p if p < 0.000_1 => 1.0 / 128.0,
        p if p < 0.001 => 1.0 / 32.0,
        p if p < 0.01 => 1.0 / 8.0,
        p if p < 0.1 => 1.0 / 2.0,
        _ => 1.0,
    }
}

/// Time between two updates ("T_UPDATE", RFC 8033 section 4.2), for which alpha and beta are
/// defined.
const UPDATE_INTERVAL: Duration = Duration::from_millis(15);

const ALPHA_HZ: f64 = 0.125;
const BETA_HZ: f64 = 1.25;

/// Factor by which the probability is multiplied at each update without congestion.
const DECAY: f64 = 0.98;

/// Maximum increase of the probability in an update if it is 0.1 or more, RFC 8033 section 5.5.
const MAX_STEP: f64 = 0.02;

/// Probability from which ECN-capable packets are dropped, too ("mark_ecnth", RFC 8033 section
/// 5.1).
const MARK_THRESHOLD: f64 = 0.1;

#[cfg(test)]
mod tests;
