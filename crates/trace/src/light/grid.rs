//! Regular times at which an idle link begins to send, found in the arrivals of packet trains.
//!
//! In the uplink of LTE and NR, a user without a grant may ask for one at regular times: TS 36.213
//! table 10.1.5-1, TS 38.331 (`SchedulingRequestResourceConfig`). A user who sleeps listens at
//! regular times, too. A packet then waits for the next of these times. The wait of a train says
//! little about that of a burst that begins a few milliseconds later, but the times themselves are
//! known once their period is. TCP's round trips lock on to them.

use cwndlab_units::{Duration, Time};

/// Regular times: `phase`, and a multiple of `period` after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// Time from one to the next.
    pub period: Duration,
    /// The first of them; less than a period.
    phase: Duration,
}

impl Grid {
    /// Finds the grid of trains, given as the time of sending and the delay of their first packet:
    /// the longest period for which the phases of most arrivals are alike, although the phases of
    /// the sending times are not.
    pub(super) fn find(trains: impl Iterator<Item = (Duration, Duration)> + Clone) -> Option<Self> {
        let trains = trains.take(MOST_TRAINS);
        if trains.clone().count() < FEWEST_TRAINS {
            return None;
        }
        let periods = (1..=LONGEST.as_nanos() / STEP.as_nanos()).rev().map(|n| STEP * n);
        periods.filter(|&period| period >= SHORTEST).find_map(|period| {
            let sent = Phases::of(trains.clone().map(|(start, _)| start), period);
            let arrived = Phases::of(trains.clone().map(|(start, delay)| start + delay), period);
            let is_regular = arrived.likeness >= REGULAR && sent.likeness < IRREGULAR;
            is_regular.then(|| Self::of(trains.clone(), period, arrived.mean))
        })
    }

    /// The grid whose fastest trains arrive at the phase `arrival`.
    fn of(
        trains: impl Iterator<Item = (Duration, Duration)>,
        period: Duration,
        arrival: Duration,
    ) -> Self {
        let period_ns = period.as_nanos();
        let regular = trains.filter(|&(start, delay)| {
            let late_ns = ((start + delay).as_nanos() + period_ns - arrival.as_nanos()) % period_ns;
            late_ns.min(period_ns - late_ns) <= period_ns / 8
        });
        let fastest_ns = regular.map(|(_, delay)| delay.as_nanos()).min().unwrap_or(0);
        let phase_ns = (arrival.as_nanos() + period_ns - fastest_ns % period_ns) % period_ns;
        Self { period, phase: Duration::from_nanos(phase_ns) }
    }

    /// Time from `at` to the next of the regular times.
    pub(super) fn wait(&self, at: Time) -> Duration {
        let period_ns = self.period.as_nanos();
        let since_ns = (at.as_nanos() % period_ns + period_ns - self.phase.as_nanos()) % period_ns;
        Duration::from_nanos((period_ns - since_ns) % period_ns)
    }
}

/// Phases of times in a period.
struct Phases {
    /// Length of the mean unit vector: 1 if all phases are the same, about 0 if they are random.
    likeness: f64,
    /// Phase of the mean.
    mean: Duration,
}

impl Phases {
    fn of(times: impl Iterator<Item = Duration>, period: Duration) -> Self {
        let period_ns = period.as_nanos();
        let (mut x, mut y, mut count) = (0.0, 0.0, 0.0);
        for time in times {
            let turn = (time.as_nanos() % period_ns) as f64 / period_ns as f64;
            let (sin, cos) = libm::sincos(turn * core::f64::consts::TAU);
            (x, y, count) = (x + cos, y + sin, count + 1.0);
        }
        let turn = libm::atan2(y, x) / core::f64::consts::TAU;
        let mean_ns = libm::round((turn + 1.0) * period_ns as f64) as u64 % period_ns;
        Self { likeness: libm::hypot(x, y) / count, mean: Duration::from_nanos(mean_ns) }
    }
}

const SHORTEST: Duration = Duration::from_millis(1);

/// The longest period of requests and the usual cycle of a sleeping user are shorter.
const LONGEST: Duration = Duration::from_millis(160);

/// All periods of the standards from 1 ms are multiples of half a slot of NR at 30 kHz or longer.
const STEP: Duration = Duration::from_micros(250);

/// Random phases of so many trains have a likeness of 0.14 on average.
const FEWEST_TRAINS: usize = 50;

/// Enough to find a period quickly.
const MOST_TRAINS: usize = 2_000;

/// Retransmissions over the air delay one train in ten or more, so not all arrivals are regular.
const REGULAR: f64 = 0.5;

/// Above this likeness of the sending times, regular arrivals prove nothing.
const IRREGULAR: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Stream;

    /// Trains at random times about 70 ms apart, with the delay that `delay` returns.
    fn trains(delay: impl Fn(u64, &mut Stream) -> u64) -> Vec<(Duration, Duration)> {
        let mut random = Stream::new(1, "trains");
        let mut at_us = 0;
        let one = |_| {
            at_us += 50_000 + random.below(40_000);
            let delay_us = delay(at_us, &mut random);
            (Duration::from_micros(at_us), Duration::from_micros(delay_us))
        };
        (0..400).map(one).collect()
    }

    /// Delay of a request at 3 ms and every 10 ms, which takes 12 ms; one in seven is repeated.
    fn requested(at_us: u64, random: &mut Stream) -> u64 {
        let wait_us = (10_000 + 3_000 - at_us % 10_000) % 10_000;
        wait_us + 12_000 + if random.below(7) == 0 { 8_000 } else { 0 }
    }

    #[test]
    fn the_times_of_requests_are_found() {
        let found = Grid::find(trains(requested).into_iter()).expect("a grid");
        assert_eq!(found.period, Duration::from_millis(10));
        let error_us = found.phase.as_micros().abs_diff(3_000);
        assert!(error_us < 300, "{error_us}");
        let wait = found.wait(Time::from_millis(1_009));
        assert!(wait.as_micros().abs_diff(4_000) < 300, "{wait:?}");
    }

    #[test]
    fn random_delays_and_regular_sending_have_none() {
        assert_eq!(Grid::find(trains(|_, random| random.below(30_000)).into_iter()), None);
        let regular = (0..400).map(|n| (Duration::from_millis(n * 100), Duration::from_millis(20)));
        assert_eq!(Grid::find(regular), None);
        assert_eq!(Grid::find(trains(requested).into_iter().take(20)), None);
    }
}
