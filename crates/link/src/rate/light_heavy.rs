//! Service that depends on the load, as in CellReplay (Sentosa et al., NSDI 2025).
//!
//! A packet that arrives after the link has been idle for a while begins a burst. The packet train
//! that was recorded at this time on the idle link limits the burst: its first bytes leave no
//! earlier than those of the train's first packet, and so on. When the burst has used up the bytes
//! of the train, packets leave at the opportunities of the trace recorded under load, until the
//! link has been idle again. Unlike in CellReplay, a train applies to one burst; further bursts
//! before the next train use the trains before it.
//!
//! A part of the trains' delays is propagation, and the stage's delay includes it: the delay of a
//! packet that arrives while the link sends. The rest of a train's delay is the time that the idle
//! link needs before it sends, such as the time for a grant in the uplink of a cell: packets that
//! arrive in this time join the burst.

use cwndlab_trace::{LightTrace, OpportunityTrace};
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
}

impl LightHeavy {
    pub(crate) fn new(
        heavy: Opportunities,
        light: LightTrace,
        config: &LightConfig,
        pauses: Spans,
    ) -> Self {
        let LightConfig { after: idle, delay: propagation, .. } = *config;
        let (recent, burst, busy, served) = ((0, 0), None, None, Time::ZERO);
        Self { heavy, light, idle, propagation, pauses, recent, burst, busy, served }
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
        self.burst = Some(Burst { train, begins, sent_bytes: 0 });
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
        let last_byte = (burst.sent_bytes + u64::from(bytes)).saturating_sub(1);
        let packet = usize::try_from(last_byte / OpportunityTrace::OPPORTUNITY.0).ok()?;
        let offset_us = *self.light.train(burst.train).offsets_us.get(packet)?;
        let leaves = burst.begins + Duration::from_micros(u64::from(offset_us));
        let leaves = leaves.max(now).max(self.served);
        // A pause ends the burst: no more of its packets were recorded.
        (self.pauses.open_from(leaves) == leaves).then_some(leaves)
    }
}

/// Number of trains among which bursts alternate: less than a second of usual recordings.
const MOST_EARLIER: usize = 8;
