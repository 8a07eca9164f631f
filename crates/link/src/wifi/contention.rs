//! Contention of nodes for the channel: EDCA (802.11-2012 section 9.19), without a loop over
//! slots.
//!
//! When the channel becomes idle, a node waits for SIFS and AIFSN slots, then decrements its
//! backoff in every slot, and sends at zero. The time at which it sends is therefore known while
//! the channel stays idle. If the channel becomes busy, the number of elapsed slots follows from
//! the time.

use cwndlab_units::{Duration, Stream, Time};

use super::config::{AccessCategory, Standard};

/// The EDCA parameters of an access category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Category {
    /// Number of slots between SIFS and the backoff (AIFSN).
    aifsn: u64,
    cw_min: u32,
    cw_max: u32,
    /// Duration of a transmission opportunity; zero means one frame.
    pub(crate) txop: Duration,
}

impl Category {
    /// Returns the default parameters (802.11-2012 table 8-105); legacy DCF has an AIFSN of 2 and
    /// no TXOP.
    pub(crate) fn new(access: AccessCategory, standard: Standard) -> Self {
        // Value of aCWmin of the physical layer (802.11-2012 tables 17-4 and 18-17).
        let cw_min = if standard == Standard::B { 31 } else { 15 };
        let cw_max = 1023;
        let of = |aifsn, cw_min, cw_max, txop_us| Self {
            aifsn,
            cw_min,
            cw_max,
            txop: Duration::from_micros(txop_us),
        };
        match access {
            AccessCategory::Background => of(7, cw_min, cw_max, 0),
            AccessCategory::BestEffort => of(3, cw_min, cw_max, 0),
            AccessCategory::Video => of(2, cw_min.div_ceil(2) - 1, cw_min, 3_008),
            AccessCategory::Voice => of(2, cw_min.div_ceil(4) - 1, cw_min.div_ceil(2) - 1, 1_504),
            AccessCategory::Legacy => of(2, cw_min, cw_max, 0),
        }
    }
}

/// The state of a node that contends for the channel.
#[derive(Clone, Debug)]
pub(crate) struct Contender {
    pub(crate) category: Category,
    slot: Duration,
    /// Time from the end of the last frame until the node counts backoff slots.
    aifs: Duration,
    /// Remaining backoff slots at the beginning of the current idle period.
    backoff: u32,
    cw: u32,
    /// Number of consecutive attempts without a response.
    failures: u32,
    /// Time at which the node first had data in the current idle period, before which it cannot
    /// send.
    ready: Time,
    random: Stream,
}

impl Contender {
    pub(crate) fn new(category: Category, timing: Timing, random: Stream) -> Self {
        Self {
            category,
            slot: timing.slot,
            aifs: timing.sifs + timing.slot * category.aifsn,
            backoff: 0,
            cw: category.cw_min,
            failures: 0,
            ready: Time::ZERO,
            random,
        }
    }

    /// Time at which the node sends, if the channel has been idle since `idle_since` and no other
    /// node sends first.
    #[inline]
    pub(crate) fn sends_at(&self, idle_since: Time) -> Time {
        (idle_since + self.aifs + self.slot * u64::from(self.backoff)).max(self.ready)
    }

    /// Starts contention at `now`, when the node first has data. If the channel is busy, the node
    /// draws a backoff unless it has some left, so that it does not send at the same time as nodes
    /// that waited.
    pub(crate) fn begin(&mut self, now: Time, is_busy: bool) {
        self.ready = now;
        if is_busy && self.backoff == 0 {
            self.draw();
        }
    }

    /// Ends an idle period that lasted for this duration.
    #[inline]
    pub(crate) fn pause(&mut self, idle: Duration) {
        if self.backoff > 0 {
            let slots = idle.saturating_sub(self.aifs).as_nanos() / self.slot.as_nanos();
            self.backoff -= u64::from(self.backoff).min(slots) as u32;
        }
    }

    /// Handles a transmission that got its response or needs none.
    pub(crate) fn succeed(&mut self) {
        self.cw = self.category.cw_min;
        self.failures = 0;
        self.draw();
    }

    /// Handles a transmission without a response; after `most` consecutive failures, resets the
    /// contention window.
    pub(crate) fn fail(&mut self, most: u32) {
        self.failures += 1;
        if self.failures >= most {
            return self.succeed();
        }
        self.cw = (2 * self.cw + 1).min(self.category.cw_max);
        self.draw();
    }

    fn draw(&mut self) {
        self.backoff = self.random.below(u64::from(self.cw) + 1) as u32;
    }
}

/// Times of the channel that all nodes use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timing {
    pub(crate) slot: Duration,
    pub(crate) sifs: Duration,
}

/// Time until a node notices that another node has started to send (aCCATime, 802.11-2012 table
/// 18-17); transmissions that start within this time collide.
pub(crate) const DETECTION: Duration = Duration::from_micros(4);

#[cfg(test)]
mod tests {
    use super::*;

    const TIMING: Timing =
        Timing { slot: Duration::from_micros(9), sifs: Duration::from_micros(16) };
    /// AIFS of the best effort category: SIFS and three slots.
    const AIFS_US: u64 = 43;

    fn contender(access: AccessCategory) -> Contender {
        let category = Category::new(access, Standard::N);
        Contender::new(category, TIMING, Stream::new(1, "contention"))
    }

    fn us(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    #[test]
    fn windows_are_those_of_the_table() {
        let windows = |access, standard| {
            let category = Category::new(access, standard);
            (category.aifsn, category.cw_min, category.cw_max, category.txop.as_micros())
        };
        assert_eq!(windows(AccessCategory::Background, Standard::N), (7, 15, 1023, 0));
        assert_eq!(windows(AccessCategory::BestEffort, Standard::N), (3, 15, 1023, 0));
        assert_eq!(windows(AccessCategory::Video, Standard::N), (2, 7, 15, 3008));
        assert_eq!(windows(AccessCategory::Voice, Standard::N), (2, 3, 7, 1504));
        assert_eq!(windows(AccessCategory::Legacy, Standard::B), (2, 31, 1023, 0));
    }

    #[test]
    fn an_idle_channel_is_taken_at_once() {
        let mut node = contender(AccessCategory::BestEffort);
        node.begin(us(1000), false);
        assert_eq!(node.sends_at(Time::ZERO), us(1000));
        // Not before AIFS is over.
        node.begin(us(10), false);
        assert_eq!(node.sends_at(Time::ZERO), us(AIFS_US));
    }

    #[test]
    fn a_busy_channel_costs_a_backoff() {
        let slots = |cw: u64| {
            let mut node = contender(AccessCategory::BestEffort);
            (0..10_000)
                .map(|_| {
                    node.backoff = 0;
                    node.begin(us(5), true);
                    let wait = node.sends_at(Time::ZERO) - us(AIFS_US);
                    assert_eq!(wait.as_micros() % 9, 0);
                    assert!(wait.as_micros() / 9 <= cw);
                    wait.as_micros() / 9
                })
                .sum::<u64>()
        };
        // The mean of 0 to 15 is 7.5; five standard deviations of the sum are 2305.
        assert!(slots(15).abs_diff(75_000) < 2_305);
    }

    #[test]
    fn whole_slots_are_counted_while_the_channel_is_idle() {
        let mut node = contender(AccessCategory::BestEffort);
        node.backoff = 5;
        // Before AIFS is over nothing is counted, and then a slot only at its end.
        let idle = |micros| Duration::from_micros(micros);
        node.pause(idle(AIFS_US + 8));
        assert_eq!(node.backoff, 5);
        node.pause(idle(AIFS_US + 3 * 9 - 1));
        assert_eq!(node.backoff, 3);
        assert_eq!(node.sends_at(us(500)), us(500 + AIFS_US + 27));
        node.pause(idle(4_500));
        assert_eq!(node.backoff, 0);
    }

    #[test]
    fn the_window_doubles_with_each_failure_and_returns() {
        let mut node = contender(AccessCategory::BestEffort);
        let mut windows = vec![node.cw];
        for _ in 0..10 {
            node.fail(9);
            windows.push(node.cw);
        }
        assert_eq!(windows, [15, 31, 63, 127, 255, 511, 1023, 1023, 1023, 15, 31]);
        node.succeed();
        assert_eq!(node.cw, 15);
        let mut node = contender(AccessCategory::Voice);
        node.fail(7);
        node.fail(7);
        assert_eq!(node.cw, 7);
    }
}
