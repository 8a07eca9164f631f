//! DualPI2: the coupled dual queue with a proportional integral controller (RFC 9332 appendix A).
//!
//! ```text
//!               ECT(1), CE -> [ L queue ] -- marked with max(ramp of its delay, k p') --\
//!   arrival ->                                                    15 of 16 bytes,        => sent
//!               the others -> [ C queue ] -- marked or dropped with p'^2 ---------------/
//!                                                                 1 of 16 at least
//!   p' += alpha (delay - target) + beta (delay - delay before), every 15 ms
//! ```
//!
//! All decisions are made when a packet is dequeued, by the pseudocode of RFC 9332 appendices A.1
//! and A.2 and with its names. This implementation makes the following choices, which the RFC
//! leaves open:
//!
//! - The scheduler is a weighted round robin that counts bytes. While both queues contain packets,
//!   the classic queue gets a sixteenth; a queue that is alone is served at once.
//! - The delay is the waiting time of the packet that is dequeued, or, at an update, of the
//!   queue's first packet. It excludes the time in which the packet is sent, as in
//!   [`super::Codel`].
//! - The probability determines marks and drops without random numbers, as in the pseudocode's
//!   `recur`.
//! - If the L queue contains only one packet, the ramp does not mark it (`Th_len`). Otherwise, a
//!   slow link, on which sending a packet takes longer than the threshold, would mark every
//!   packet.
//!
//! There is no timer: each arrival and each dequeue first makes the updates that were due by then.
//! The results are the same, because nothing changes a queue between arrivals and dequeues.

use cwndlab_units::{Duration, Ecn, Time};

use super::{Fifo, Verdict, Waiting};
use crate::config::AckFilter;
use crate::packet::Packet;
use crate::{Backlog, DropReason};

/// Settings of DualPI2.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DualPi2Settings {
    /// Target queueing delay of the classic queue.
    pub(crate) target: Duration,
    /// Largest expected round-trip time, which determines the controller's gains ("RTT_max").
    pub(crate) max_rtt: Duration,
    /// Delay above which packets of the L queue are marked ("minTh").
    pub(crate) threshold: Duration,
}

impl DualPi2Settings {
    /// Whether the update interval is long enough for updates to be made later, all at once.
    pub(crate) fn is_usable(&self) -> bool {
        self.target.min(self.max_rtt) >= Duration::from_millis(1)
    }
}

/// The L queue and the classic queue, and the coupling between them.
#[derive(Clone, Debug)]
pub(crate) struct DualPi2<P> {
    low_latency: LowLatency<P>,
    classic: Classic<P>,
    controller: Controller,
    /// Amount by which the classic queue has been served less than its share since both queues
    /// have contained packets, in bytes times the weights.
    classic_credit: i64,
    /// Time at which the last packet arrived.
    last_arrival: Time,
    /// Whether the last remaining packet is never dropped.
    keeps_last: bool,
}

/// The L queue, for packets with ECT(1) or CE.
#[derive(Clone, Debug)]
struct LowLatency<P> {
    queue: Fifo<P>,
    /// "minTh".
    threshold: Duration,
    marks: Recurrence,
    /// Drops, which occur only in overload.
    drops: Recurrence,
}

/// The classic queue, for all packets without ECT(1) or CE.
#[derive(Clone, Debug)]
struct Classic<P> {
    queue: Fifo<P>,
    /// Marks or drops.
    signals: Recurrence,
}

/// The proportional integral controller of the base probability (PI2).
#[derive(Clone, Debug)]
struct Controller {
    target: Duration,
    /// "Tupdate".
    interval: Duration,
    alpha_hz: f64,
    beta_hz: f64,
    /// "p'".
    base_probability: f64,
    /// "prevq".
    delay_before: Duration,
    next_update: Time,
}

/// An event that happens in a given share of cases, evenly spaced ("recur").
#[derive(Clone, Debug, Default)]
struct Recurrence {
    count: f64,
}

impl<P: Packet> DualPi2<P> {
    pub(crate) fn new(settings: DualPi2Settings) -> Self {
        let DualPi2Settings { target, max_rtt, threshold } = settings;
        Self {
            low_latency: LowLatency {
                queue: Fifo::new(),
                threshold,
                marks: Recurrence::default(),
                drops: Recurrence::default(),
            },
            classic: Classic { queue: Fifo::new(), signals: Recurrence::default() },
            controller: Controller::new(target, max_rtt),
            classic_credit: 0,
            last_arrival: Time::ZERO,
            keeps_last: false,
        }
    }

    /// Makes the queue keep its only packet: a node that has won the channel for this packet must
    /// have a packet to send.
    pub(crate) fn keeping_last(self) -> Self {
        Self { keeps_last: true, ..self }
    }

    /// Backlog of both queues together.
    pub(crate) fn backlog(&self) -> Backlog {
        self.low_latency.queue.backlog() + self.classic.queue.backlog()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Waiting<P>> {
        self.low_latency.queue.iter().chain(self.classic.queue.iter())
    }

    /// Arrival of the last packet, if any packets wait; since this time at the latest, there is a
    /// next packet.
    pub(crate) fn waits_since(&self) -> Option<Time> {
        (self.backlog().packets > 0).then_some(self.last_arrival)
    }

    /// Queues an arriving packet ("dualpi2_enqueue").
    pub(crate) fn push(&mut self, waiting: Waiting<P>) {
        self.update_until(waiting.arrived);
        self.last_arrival = waiting.arrived;
        match waiting.packet.ecn() {
            Ecn::Ect1 | Ecn::Ce => self.low_latency.queue.push(waiting),
            Ecn::NotEct | Ecn::Ect0 => self.classic.queue.push(waiting),
        }
    }

    /// Removes the packet that `new` supersedes from the queue to which `new` belongs, if there is
    /// such a packet.
    pub(crate) fn take_superseded(&mut self, filter: AckFilter, new: &P) -> Option<Waiting<P>> {
        let queue = match new.ecn() {
            Ecn::Ect1 | Ecn::Ce => &mut self.low_latency.queue,
            Ecn::NotEct | Ecn::Ect0 => &mut self.classic.queue,
        };
        let index = filter.find(queue.iter(), new)?;
        queue.remove(index)
    }

    /// Dequeues the next packet, and returns whether it was marked; passes dropped packets to
    /// `dropped`.
    ///
    /// "dualpi2_dequeue".
    pub(crate) fn dequeue(
        &mut self,
        now: Time,
        mut dropped: impl FnMut(Waiting<P>),
    ) -> Option<(Waiting<P>, bool)> {
        self.update_until(now);
        loop {
            let (mut head, verdict) = if self.schedule_classic() {
                self.classic.dequeue(&self.controller)?
            } else {
                self.low_latency.dequeue(now, &self.controller)?
            };
            match verdict {
                Verdict::Accept => return Some((head, false)),
                Verdict::Drop(_) if self.keeps_last && self.backlog().packets == 0 => {
                    return Some((head, false));
                }
                Verdict::Mark => {
                    head.packet.mark_ce();
                    return Some((head, true));
                }
                Verdict::Drop(_) => dropped(head),
            }
        }
    }

    /// Selects one of the two queues, and charges it for the packet ("scheduler"). Returns whether
    /// it is the classic queue.
    fn schedule_classic(&mut self) -> bool {
        let [low_latency, classic] =
            [&self.low_latency.queue, &self.classic.queue].map(|queue| queue.front());
        let (Some(low_latency), Some(classic)) = (low_latency, classic) else {
            self.classic_credit = 0;
            return classic.is_some();
        };
        let is_classic = self.classic_credit > 0;
        self.classic_credit += if is_classic {
            -i64::from(classic.bytes) * LOW_LATENCY_WEIGHT
        } else {
            i64::from(low_latency.bytes) * CLASSIC_WEIGHT
        };
        is_classic
    }

    /// Makes the updates that were due by `now`.
    fn update_until(&mut self, now: Time) {
        let queues = [&self.low_latency.queue, &self.classic.queue];
        let arrivals = queues.map(|queue| queue.front().map(|head| head.arrived));
        let first = arrivals.into_iter().flatten().min();
        self.controller.update_until(now, first);
    }
}

impl<P: Packet> LowLatency<P> {
    /// Removes the first packet, and decides whether to drop or mark it (RFC 9332 appendix A.2,
    /// with overload).
    fn dequeue(&mut self, now: Time, controller: &Controller) -> Option<(Waiting<P>, Verdict)> {
        let head = self.queue.pop_front()?;
        if controller.is_overloaded() && self.drops.recur(controller.classic_probability()) {
            return Some((head, Verdict::Drop(DropReason::Aqm)));
        }
        let is_alone = self.queue.backlog().packets == 0;
        let waited = now.saturating_since(head.arrived);
        let native = if is_alone { 0.0 } else { self.ramp(waited) };
        let is_marked = self.marks.recur(native.max(controller.coupled_probability()));
        Some((head, if is_marked { Verdict::Mark } else { Verdict::Accept }))
    }

    /// Marking probability that follows from the queue's own delay ("laqm").
    fn ramp(&self, waited: Duration) -> f64 {
        let above = waited.saturating_sub(self.threshold).as_nanos() as f64;
        (above / RAMP.as_nanos() as f64).min(1.0)
    }
}

impl<P: Packet> Classic<P> {
    /// Removes the first packet, and decides whether to drop or mark it.
    fn dequeue(&mut self, controller: &Controller) -> Option<(Waiting<P>, Verdict)> {
        let head = self.queue.pop_front()?;
        let verdict = if !self.signals.recur(controller.classic_probability()) {
            Verdict::Accept
        } else if head.packet.ecn().is_capable() && !controller.is_overloaded() {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Aqm)
        };
        Some((head, verdict))
    }
}

impl Controller {
    /// Creates a controller with the gains of RFC 9332 figure 2.
    fn new(target: Duration, max_rtt: Duration) -> Self {
        let interval = target.min(max_rtt / 3);
        let max_rtt_s = max_rtt.as_secs_f64();
        Self {
            target,
            interval,
            alpha_hz: 0.1 * interval.as_secs_f64() / (max_rtt_s * max_rtt_s),
            beta_hz: 0.3 / max_rtt_s,
            base_probability: 0.0,
            delay_before: Duration::ZERO,
            next_update: Time::ZERO + interval,
        }
    }

    /// "p_C".
    fn classic_probability(&self) -> f64 {
        self.base_probability * self.base_probability
    }

    /// "p_CL".
    fn coupled_probability(&self) -> f64 {
        (COUPLING * self.base_probability).min(1.0)
    }

    /// Whether marking is saturated: "p_CL >= p_Lmax", which is equivalent to "p_C >= p_Cmax".
    fn is_overloaded(&self) -> bool {
        COUPLING * self.base_probability >= 1.0
    }

    /// Makes the updates that were due by `now`; `first` is the arrival time of the packet that
    /// has waited longest.
    fn update_until(&mut self, now: Time, first: Option<Time>) {
        while self.next_update <= now {
            if first.is_none() && self.is_at_rest() {
                let late = (now - self.next_update).as_nanos();
                self.next_update += self.interval * (late / self.interval.as_nanos() + 1);
                return;
            }
            let delay = first.map_or(Duration::ZERO, |at| self.next_update.saturating_since(at));
            self.update(delay);
            self.next_update += self.interval;
        }
    }

    /// Whether updates have no effect until a packet waits.
    fn is_at_rest(&self) -> bool {
        self.base_probability == 0.0 && self.delay_before == Duration::ZERO
    }

    /// "dualpi2_update".
    fn update(&mut self, delay: Duration) {
        let error_s = delay.as_secs_f64() - self.target.as_secs_f64();
        let growth_s = delay.as_secs_f64() - self.delay_before.as_secs_f64();
        let moved = self.base_probability + self.alpha_hz * error_s + self.beta_hz * growth_s;
        self.base_probability = moved.clamp(0.0, 1.0);
        self.delay_before = delay;
    }
}

impl Recurrence {
    /// Counts a case, and returns whether the event happens in this case.
    fn recur(&mut self, likelihood: f64) -> bool {
        self.count += likelihood;
        let recurs = self.count > 1.0;
        if recurs {
            self.count -= 1.0;
        }
        recurs
    }
}

/// Ratio of the L queue's marking probability to the base probability ("k"; RFC 9332 section 2.1
/// recommends 2).
const COUPLING: f64 = 2.0;

/// Difference between the delay at which every packet is marked and the threshold ("range").
const RAMP: Duration = Duration::from_micros(400);

/// Weight of the classic queue while both queues contain packets (RFC 9332 appendix A.1).
const CLASSIC_WEIGHT: i64 = 1;
/// Weight of the L queue while both queues contain packets.
const LOW_LATENCY_WEIGHT: i64 = 15;

#[cfg(test)]
mod tests;
