//! Service that depends on the load, as in CellReplay (Sentosa et al., NSDI 2025).
//!
//! A packet that arrives after the link has been idle for a while begins a burst. The packet train
//! that was recorded at this time on the idle link limits the burst: its first bytes leave no
//! earlier than those of the train's first packet, and so on. When the burst has used up the bytes
//! of the train, packets leave at the opportunities of the trace recorded under load, until the
//! link has been idle again. Unlike in CellReplay, a train applies to one burst; further bursts
//! before the next train use the trains before it. Bytes between two packets of a train leave at
//! times between theirs, in proportion.
//!
//! If a burst begins while packets of the last train are still on their way, the link is as slow as
//! it was for these packets, for example in a fade: the burst's bytes leave no earlier than theirs.
//!
//! A part of the trains' delays is propagation, and the stage's delay includes it: the delay of a
//! packet that arrives while the link sends. The rest of a train's delay is the time that the idle
//! link needs before it sends, such as the time for a grant in the uplink of a cell: packets that
//! arrive in this time join the burst.

use cwndlab_trace::{LightTrace, OpportunityTrace, Train};
use cwndlab_units::{Bytes, Duration, Time};

use super::Opportunities;
use crate::config::LightConfig;
use crate::outage::Spans;

/// A server that sends by packet trains while the load is light, and otherwise at opportunities.
#[derive(Clone, Debug)]
pub(crate) struct LightHeavy {
    heavy: Opportunities,
    light: LightTrace,
    /// Idle time after which a packet begins a burst.
    idle: Duration,
    propagation: Duration,
    /// Bytes of a train's first packet.
    first_bytes: u64,
    pauses: Spans,
    /// The last train that was sent before the present burst, and the number of bursts since then.
    recent: (usize, usize),
    /// The burst, while its train is not used up.
    burst: Option<Burst>,
    /// The last time at which the queue is known not to be empty; none before the first packet.
    busy: Option<Time>,
    /// When the previous packet left.
    served: Time,
}

/// A burst on an idle link.
#[derive(Clone, Copy, Debug)]
struct Burst {
    train: usize,
    /// When the first bytes can leave.
    begins: Time,
    /// Bytes that have left.
    sent_bytes: u64,
    /// The packets of the last train that are on their way when the burst begins.
    ahead: Option<Ahead>,
}

/// Packets of a train that is on its way.
#[derive(Clone, Copy, Debug)]
struct Ahead {
    train: usize,
    /// The first packet that leaves later than the burst begins.
    packet: usize,
    /// When the train's first packet leaves.
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

    /// Bytes that a link under load could have sent.
    pub(crate) fn offered(&self, time: Time) -> Bytes {
        self.heavy.offered(time)
    }

    /// Begins a burst if the link has been idle when a packet arrives.
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

    /// The train of a burst that begins `at`: the last one that was sent by this time, and for
    /// further bursts before the next one, those before it, so that a retransmission over the air
    /// does not delay all of these bursts.
    fn next_train(&mut self, at: Time) -> usize {
        let last = self.light.train_at(at);
        let earlier = match self.recent {
            (recent, bursts) if recent == last => bursts % last.saturating_add(1).min(MOST_EARLIER),
            _ => 0,
        };
        self.recent = (last, earlier + 1);
        last - earlier
    }

    /// The packets of the last train that have been sent by `at` but leave later.
    fn ahead(&self, at: Time) -> Option<Ahead> {
        let train = self.light.train_at(at);
        let Train { delay, offsets_us } = self.light.train(train);
        let first_at = self.light.sent(train, at)? + delay.saturating_sub(self.propagation);
        let has_left = |&offset_us: &u32| first_at + micros(offset_us) <= at;
        let packet = offsets_us.partition_point(has_left);
        (packet < offsets_us.len()).then_some(Ahead { train, packet, first_at })
    }

    /// Continues with the opportunities under load after `now`, if a burst was under way.
    fn end_burst(&mut self, now: Time) {
        if self.burst.take().is_some() {
            self.heavy.waste_until(now.max(self.served));
        }
    }

    /// Notes that a packet leaves.
    fn note(&mut self, bytes: u32, leaves: Time) -> Time {
        if let Some(burst) = &mut self.burst {
            burst.sent_bytes += u64::from(bytes);
        }
        self.served = leaves;
        self.busy = self.busy.max(Some(leaves));
        leaves
    }

    /// When the train lets a packet leave, if it is not used up.
    fn by_train(&self, now: Time, bytes: u32) -> Option<Time> {
        let burst = self.burst?;
        let bytes = burst.sent_bytes + u64::from(bytes);
        let offsets_us = self.light.train(burst.train).offsets_us;
        let leaves = burst.begins + offset(offsets_us, self.first_bytes, bytes)?;
        let leaves = leaves.max(self.left_ahead(&burst, bytes)).max(now).max(self.served);
        // A pause ends the burst: no more of its packets were recorded.
        (self.pauses.open_from(leaves) == leaves).then_some(leaves)
    }

    /// When so many bytes have left of the train that was on its way when the burst began.
    fn left_ahead(&self, burst: &Burst, bytes: u64) -> Time {
        let Some(Ahead { train, packet, first_at }) = burst.ahead else { return Time::ZERO };
        let offsets_us = &self.light.train(train).offsets_us[packet..];
        let first_bytes = if packet == 0 { self.first_bytes } else { FULL_BYTES };
        offset(offsets_us, first_bytes, bytes).map_or(Time::ZERO, |offset| first_at + offset)
    }
}

/// Time after which so many bytes of a train have left, if the train has so many.
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

/// Bytes of the packets of a train after the first one.
const FULL_BYTES: u64 = OpportunityTrace::OPPORTUNITY.0;

/// Number of trains among which bursts alternate: less than a second of usual recordings.
const MOST_EARLIER: usize = 8;
