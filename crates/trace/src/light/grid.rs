//! Detection of the regular times at which an idle link begins to send, from the arrivals of
//! packet trains.
//!
//! In the uplink of LTE and NR, a user without a grant may send a scheduling request only at
//! regular times: TS 36.213 table 10.1.5-1, TS 38.331 (`SchedulingRequestResourceConfig`). A
//! sleeping user also listens only at regular times. A packet then waits for the next of these
//! times. The wait of a recorded train says little about the wait of a burst that begins a few
//! milliseconds later, but the next regular time is known once their period is known. TCP's round
//! trips synchronise with these times.

use cwndlab_units::{Duration, Time};

/// Regular times at which an idle link begins to send: `phase`, and all times that are a multiple
/// of `period` later.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Grid {
    /// Time from one regular time to the next.
    pub period: Duration,
    /// The first of the regular times; less than a period.
    phase: Duration,
}

impl Grid {
    /// Finds the regular times of a link from its packet trains, given as the send time and the
    /// delay of each train's first packet. The period is the longest for which the phases of most
    /// arrivals are alike, although the phases of the send times are not.
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

    /// The regular times for which the trains with the shortest delays arrive at the phase
    /// `arrival`.
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

/// Phases of times within a period.
struct Phases {
    /// Length of the mean unit vector of the phases: 1 if all phases are the same, about 0 if they
    /// are random.
    likeness: f64,
    /// Mean of the phases.
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

/// Upper bound on the period: the longest period of scheduling requests, and the usual DRX cycle,
/// are shorter.
const LONGEST: Duration = Duration::from_millis(160);

/// Step between the periods to try: in the standards, all periods from 1 ms are multiples of half
/// a slot of NR at 30 kHz or longer.
const STEP: Duration = Duration::from_micros(250);

/// Minimum number of trains: random phases of this many trains have a likeness of 0.14 on average.
const FEWEST_TRAINS: usize = 50;

/// Maximum number of trains to examine: enough to find a period quickly.
const MOST_TRAINS: usize = 2_000;

/// Minimum likeness of regular arrivals: retransmissions over the air delay one train in ten or
/// more, so not all arrivals are regular.
const REGULAR: f64 = 0.5;

/// Maximum likeness of the send times: if they are more regular, regular arrivals prove nothing.
const IRREGULAR: f64 = 0.3;

#[cfg(test)]
mod tests {
    use super::*;
    use cwndlab_units::Stream;

    /// Packet trains at random times about 70 ms apart, with the delay that `delay` returns.
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

    /// Delay of a train that waits for a scheduling request, which is possible at 3 ms and every
    /// 10 ms after it. A request takes 12 ms; one in seven is repeated.
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
