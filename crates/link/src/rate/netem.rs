//! Sends packets at a rate as in Linux's netem: the departure of a packet is fixed when the packet
//! arrives.

use cwndlab_units::{Bytes, Duration, Rate, Time};

use super::{Capacity, Source};
use crate::outage::Spans;

/// A server that determines the transmission time of each packet from the rate at the packet's
/// arrival.
///
/// Later changes of the rate do not affect queued packets. Pauses do affect them, but netem has no
/// pauses.
#[derive(Clone, Debug)]
pub(crate) struct Netem {
    source: Source,
    pauses: Spans,
    rate: Rate,
    until: Time,
    free_at: Time,
    last_time: Duration,
}

impl Netem {
    pub(crate) fn new(source: Source, pauses: Spans) -> Self {
        let (rate, until) = source.rate_at(Time::ZERO);
        Self { source, pauses, rate, until, free_at: Time::ZERO, last_time: Duration::ZERO }
    }

    pub(crate) fn serve(&mut self, now: Time, bytes: u32) -> Time {
        if now >= self.until {
            (self.rate, self.until) = self.source.rate_at(now);
        }
        self.last_time = Bytes(u64::from(bytes)) / self.rate;
        self.free_at = self.after(now.max(self.free_at), self.last_time);
        self.free_at
    }

    pub(crate) fn dequeue_at(&self, arrived: Time) -> Time {
        self.pauses.open_from(arrived.max(self.free_at))
    }

    /// Transmission time of the last packet at the rate of its arrival.
    pub(crate) fn last_time(&self) -> Duration {
        self.last_time
    }

    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    pub(crate) fn offered(&self, time: Time) -> Option<Bytes> {
        Capacity::new(self.source.clone(), self.pauses.clone()).offered(time)
    }

    /// The time at which this duration has passed after `start`, not counting pauses.
    fn after(&self, start: Time, mut left: Duration) -> Time {
        let mut now = start;
        loop {
            now = self.pauses.open_from(now);
            match self.pauses.at_or_after(now) {
                Some(pause) if now + left > pause.start => {
                    left = left - (pause.start - now);
                    now = pause.stop;
                }
                _ => return now + left,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{OutageConfig, OutageKind};

    #[test]
    fn a_departure_is_kept_when_the_rate_changes() {
        let mbit = Rate::from_mbit_per_sec;
        let steps = vec![(Time::ZERO, mbit(12)), (Time::from_millis(10), mbit(6))];
        let mut server = Netem::new(Source::Steps(steps), Spans::default());
        let micros = Time::from_micros;
        assert_eq!(server.serve(micros(9_500), 1500), micros(10_500));
        assert_eq!(server.serve(micros(9_999), 1500), micros(11_500));
        assert_eq!(server.serve(micros(10_000), 1500), micros(13_500));
        assert_eq!(server.last_time(), Duration::from_millis(2));
        assert_eq!(server.offered(micros(20_000)), Some(Bytes(15_000 + 7_500)));
    }

    #[test]
    fn a_pause_moves_what_is_queued() {
        let kind = OutageKind::Hold;
        let ms = Time::from_millis;
        let outages = [
            OutageConfig { start: ms(10), stop: ms(20), kind },
            OutageConfig { start: ms(21), stop: ms(30), kind },
        ];
        let pauses = Spans::new(&outages, kind).expect("valid");
        let steps = vec![(Time::ZERO, Rate::from_mbit_per_sec(6))];
        let mut server = Netem::new(Source::Steps(steps), pauses);
        assert_eq!(server.serve(ms(8), 1500), ms(10));
        assert_eq!(server.serve(ms(8), 1500), ms(31));
        assert_eq!(server.dequeue_at(ms(9)), ms(31));
    }
}
