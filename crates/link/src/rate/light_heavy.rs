//! Sends packets at times that depend on the load, as in CellReplay (Sentosa et al., NSDI 2025).
//!
//! A packet that arrives after the link has been idle for a while begins a burst. The packet train
//! that was recorded at this time on the idle link limits the burst: the first bytes of the burst
//! leave no earlier than those of the train's first packet, and so on. When the burst has used up
//! the bytes of the train, packets leave at the delivery opportunities of the trace recorded under
//! load, until the link has been idle again. Unlike in CellReplay, a train applies to one burst;
//! further bursts before the next train use the trains before it. The times of bytes between two
//! packets of a train are interpolated linearly.
//!
//! If a burst begins while packets of the last train are still on their way, the link is as slow
//! as it was for these packets, for example because of fading: the bytes of the burst leave no
//! earlier than theirs.
//!
//! A part of the trains' delays is propagation, which the stage's delay includes: this is the
//! delay of a packet that arrives while the link sends. The rest of a train's delay is the time
//! that an idle link needs before it sends, such as the time for a grant in the uplink of a cell.
//! Packets that arrive during this time join the burst.

use cwndlab_trace::{LightTrace, OpportunityTrace, Train};
use cwndlab_units::{Bytes, Duration, Time};

use super::Opportunities;
use crate::config::LightConfig;
use crate::outage::Spans;

/// A server that follows packet trains while the load is light, and otherwise delivery
/// opportunities.
#[derive(Clone, Debug)]
pub(crate) struct LightHeavy {
    heavy: Opportunities,
    light: LightTrace,
    /// Idle time after which a packet begins a burst.
    idle: Duration,
    propagation: Duration,
    /// Bytes of the first packet of a train.
    first_bytes: u64,
    pauses: Spans,
    /// Index of the last train that was sent before the present burst, and the number of bursts
    /// since this train.
    recent: (usize, usize),
    /// The present burst, until its train is used up.
    burst: Option<Burst>,
    /// The last time at which the queue is known to contain packets; none before the first packet.
    busy: Option<Time>,
    /// Time at which the previous packet left.
    served: Time,
}

/// A burst of packets after the link was idle.
#[derive(Clone, Copy, Debug)]
struct Burst {
    train: usize,
    /// Time at which the first bytes of the burst can leave.
    begins: Time,
    /// Bytes of the burst that have left.
    sent_bytes: u64,
    /// The packets of the last train that are still on their way when the burst begins.
    ahead: Option<Ahead>,
}

/// Packets of a train that are still on their way.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    train: usize,
    /// Index of the first packet that leaves after the burst begins.
    packet: usize,
    /// Time at which the train's first packet leaves.
    first_at: Time,
}

impl LightHeavy {
    pub(crate) fn new(
        heavy: Opportunities,
        light: LightTrace,
        config: &LightConfig,
        pauses: Spans,
    ) -> Self {
        let LightConfig { after: idle, delay: propagation, first_bytes, .. } = *config;
        let (recent, burst, busy, served) = ((0, 0), None, None, Time::ZERO);
        let first_bytes = u64::from(first_bytes);
        Self { heavy, light, idle, propagation, first_bytes, pauses, recent, burst, busy, served }
    }

    pub(crate) fn serve(&mut self, now: Time, bytes: u32) -> Time {
        self.arrive(now);
        let leaves = match self.by_train(now, bytes) {
            Some(leaves) => leaves,
            None => {
                self.end_burst(now);
                self.heavy.serve(now, bytes)
            }
        };
        self.note(bytes, leaves)
    }

    pub(crate) fn dequeue_at(&mut self, arrived: Time, bytes: u32) -> Time {
        self.arrive(arrived);
        let at = match self.by_train(arrived, bytes) {
            Some(at) => at,
            None => {
                self.end_burst(arrived);
                self.heavy.dequeue_at(arrived)
            }
        };
        // If the queue drops this packet instead, the link was not idle until then.
        self.busy = self.busy.max(Some(at));
        at
    }

    pub(crate) fn serve_dequeued(&mut self, now: Time, bytes: u32) -> Time {
        let leaves = match self.by_train(now, bytes) {
            Some(leaves) => leaves,
            None => {
                self.end_burst(now);
                self.heavy.serve_dequeued(bytes)
            }
        };
        self.note(bytes, leaves)
    }

    pub(crate) fn longest_bytes(&self) -> u32 {
        self.heavy.longest_bytes()
    }

    pub(crate) fn free_at(&self) -> Time {
        self.served
    }

    /// Number of bytes that a link under load could have sent.
    pub(crate) fn offered(&self, time: Time) -> Bytes {
        self.heavy.offered(time)
    }

    /// Begins a burst if the link was idle when a packet arrived.
    fn arrive(&mut self, at: Time) {
        if self.busy.is_some_and(|busy| at <= busy + self.idle) {
            return;
        }
        let train = self.next_train(at);
        let begins = self.pauses.open_from(at);
        let delay = self.light.delay_at(train, begins);
        let begins = begins + delay.saturating_sub(self.propagation);
        self.burst = Some(Burst { train, begins, sent_bytes: 0, ahead: self.ahead(at) });
        self.busy = Some(at);
    }

    /// Index of the train for a burst that begins `at`: the last train that was sent by this time.
    /// Further bursts before the next train use earlier trains, so that a retransmission over the
    /// air in one train does not delay all of these bursts.
    fn next_train(&mut self, at: Time) -> usize {
        let last = self.light.train_at(at);
        let earlier = match self.recent {
            (recent, bursts) if recent == last => bursts % last.saturating_add(1).min(MOST_EARLIER),
            _ => 0,
        };
        self.recent = (last, earlier + 1);
        last - earlier
    }

    /// The packets of the last train that were sent by `at` and leave later.
    fn ahead(&self, at: Time) -> Option<Ahead> {
        let train = self.light.train_at(at);
        let Train { delay, offsets_us } = self.light.train(train);
        let first_at = self.light.sent(train, at)? + delay.saturating_sub(self.propagation);
        let has_left = |&offset_us: &u32| first_at + micros(offset_us) <= at;
        let packet = offsets_us.partition_point(has_left);
        (packet < offsets_us.len()).then_some(Ahead { train, packet, first_at })
    }

    /// Ends the burst, if there is one: after `now`, packets leave at the delivery opportunities
    /// under load.
    fn end_burst(&mut self, now: Time) {
        if self.burst.take().is_some() {
            self.heavy.waste_until(now.max(self.served));
        }
    }

    /// Records that a packet leaves.
    fn note(&mut self, bytes: u32, leaves: Time) -> Time {
        if let Some(burst) = &mut self.burst {
            burst.sent_bytes += u64::from(bytes);
        }
        self.served = leaves;
        self.busy = self.busy.max(Some(leaves));
        leaves
    }

    /// Time at which the train allows the next packet to leave; `None` if the train is used up.
    fn by_train(&self, now: Time, bytes: u32) -> Option<Time> {
        let burst = self.burst?;
        let bytes = burst.sent_bytes + u64::from(bytes);
        let offsets_us = self.light.train(burst.train).offsets_us;
        let leaves = burst.begins + offset(offsets_us, self.first_bytes, bytes)?;
        let leaves = leaves.max(self.left_ahead(&burst, bytes)).max(now).max(self.served);
        // A pause ends the burst: no more of its packets were recorded.
        (self.pauses.open_from(leaves) == leaves).then_some(leaves)
    }

    /// Time at which this number of bytes has left of the train that was on its way when the burst
    /// began.
    fn left_ahead(&self, burst: &Burst, bytes: u64) -> Time {
        let Some(Ahead { train, packet, first_at }) = burst.ahead else { return Time::ZERO };
        let offsets_us = &self.light.train(train).offsets_us[packet..];
        let first_bytes = if packet == 0 { self.first_bytes } else { FULL_BYTES };
        offset(offsets_us, first_bytes, bytes).map_or(Time::ZERO, |offset| first_at + offset)
    }
}

/// Time after which this number of bytes of a train has left; `None` if the train has fewer.
fn offset(offsets_us: &[u32], first_bytes: u64, bytes: u64) -> Option<Duration> {
    let further_bytes = bytes.saturating_sub(first_bytes);
    let packet = usize::try_from(further_bytes.div_ceil(FULL_BYTES)).ok()?;
    let after = micros(*offsets_us.get(packet)?);
    let Some(before) = packet.checked_sub(1) else { return Some(after) };
    let part_bytes = further_bytes - before as u64 * FULL_BYTES;
    let before = micros(offsets_us[before]);
    Some(before + (after - before) * part_bytes / FULL_BYTES)
}

fn micros(count: u32) -> Duration {
    Duration::from_micros(u64::from(count))
}

/// Bytes of each packet of a train except the first.
const FULL_BYTES: u64 = OpportunityTrace::OPPORTUNITY.0;

/// Number of trains among which bursts alternate; usual recordings have this many in less than a
/// second.
const MOST_EARLIER: usize = 8;
