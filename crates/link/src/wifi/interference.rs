//! Another network on the same channel; the lengths of its bursts and gaps do not depend on the
//! modelled network.
//!
//! The lengths of bursts and gaps are exponentially distributed. A network that senses the
//! modelled network delays its bursts while this network sends, and then sends them one after the
//! other; a hidden network sends them immediately.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Stream, Time};

use super::config::{InterferenceConfig, InterferenceKind};

/// The sequence of bursts; `next` is the next burst.
#[derive(Clone, Debug)]
pub(crate) struct Interference {
    pub(crate) kind: InterferenceKind,
    mean_burst_nanos: f64,
    mean_gap_nanos: f64,
    random: Stream,
    next: Burst,
    /// Hidden bursts that can overlap with a frame that has not ended.
    recent: VecDeque<Burst>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Burst {
    start: Time,
    stop: Time,
}

impl Interference {
    /// Creates the sequence of bursts; returns `None` if the other network never sends.
    pub(crate) fn new(config: &InterferenceConfig, random: Stream) -> Option<Self> {
        let share = config.share.as_f64();
        if share == 0.0 {
            return None;
        }
        let mean_burst_nanos = config.mean_burst.as_nanos() as f64;
        let mut interference = Self {
            kind: config.kind,
            mean_burst_nanos,
            mean_gap_nanos: mean_burst_nanos * (1.0 - share) / share,
            random,
            next: Burst { start: Time::ZERO, stop: Time::ZERO },
            recent: VecDeque::new(),
        };
        interference.advance();
        Some(interference)
    }

    fn advance(&mut self) {
        let mut draw = |mean| Duration::from_nanos(self.random.exponential(mean) as u64 + 1);
        let start = self.next.stop + draw(self.mean_gap_nanos);
        self.next = Burst { start, stop: start + draw(self.mean_burst_nanos) };
    }

    /// Planned start of the next burst that the modelled network can sense; never if the other
    /// network is hidden.
    pub(crate) fn heard_at(&self) -> Time {
        if self.kind == InterferenceKind::Heard { self.next.start } else { Time::NEVER }
    }

    /// Sends at `now` the burst that was planned for [`Interference::heard_at`]; returns the time
    /// at which it ends.
    pub(crate) fn send(&mut self, now: Time) -> Time {
        let length = self.next.stop - self.next.start;
        self.advance();
        now + length
    }

    /// Whether a hidden burst overlaps with a transmission from `from` to `until`. Bursts that end
    /// by `forgotten` are discarded. Calls must be in the order of `from`, which must not be
    /// before `forgotten`.
    pub(crate) fn meets(&mut self, forgotten: Time, from: Time, until: Time) -> bool {
        if self.kind == InterferenceKind::Heard {
            return false;
        }
        while self.next.start < until {
            self.recent.push_back(self.next);
            self.advance();
        }
        while self.recent.front().is_some_and(|burst| burst.stop <= forgotten) {
            self.recent.pop_front();
        }
        self.recent.iter().any(|burst| burst.start < until && burst.stop > from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Probability;

    fn interference(kind: InterferenceKind, share_ppb: u32) -> Option<Interference> {
        let config = InterferenceConfig {
            kind,
            mean_burst: Duration::from_millis(2),
            share: Probability::from_ppb(share_ppb).expect("a probability"),
        };
        Interference::new(&config, Stream::new(5, "interference"))
    }

    #[test]
    fn bursts_have_their_share_and_mean() {
        let mut bursts = interference(InterferenceKind::Heard, 300_000_000).expect("bursts");
        let (mut on_air, n) = (Duration::ZERO, 100_000);
        for _ in 0..n {
            let start = bursts.heard_at();
            on_air += bursts.send(start) - start;
        }
        let mean_ms = on_air.as_millis_f64() / f64::from(n);
        let share = on_air.as_secs_f64() / bursts.heard_at().as_secs_f64();
        assert!((mean_ms - 2.0).abs() < 0.03, "{mean_ms}");
        assert!((share - 0.3).abs() < 0.003, "{share}");
        assert!(interference(InterferenceKind::Heard, 0).is_none());
    }

    #[test]
    fn a_hidden_burst_meets_what_overlaps_it() {
        let mut bursts = interference(InterferenceKind::Hidden, 300_000_000).expect("bursts");
        assert!(bursts.heard_at().is_never());
        let Burst { start, stop } = bursts.next;
        let ns = Duration::from_nanos(1);
        assert!(!bursts.meets(Time::ZERO, Time::ZERO, start));
        assert!(bursts.meets(Time::ZERO, Time::ZERO, start + ns));
        assert!(bursts.meets(Time::ZERO, start + ns, start + ns + ns));
        assert!(bursts.meets(Time::ZERO, stop - ns, stop));
        assert!(!bursts.meets(Time::ZERO, stop, stop + ns));
        assert!(!bursts.meets(stop, stop, stop + ns));
    }
}
