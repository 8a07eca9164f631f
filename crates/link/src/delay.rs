//! Propagation delay: the times at which packets arrive at the far end of a link.

use cwndlab_units::{Duration, Stream, Time};

use crate::config::JitterConfig;
use crate::schedule::Steps;

/// A delay that may change at given times, with jitter that preserves the order of packets.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    delay: Steps<Duration>,
    jitter: Option<Jitter>,
    /// Arrival time of the previous packet.
    previous: Time,
}

#[derive(Clone, Debug)]
struct Jitter {
    config: JitterConfig,
    random: Stream,
}

impl Delay {
    pub(crate) fn new(
        delay: Steps<Duration>,
        jitter: Option<JitterConfig>,
        random: Stream,
    ) -> Self {
        let jitter = jitter.map(|config| Jitter { config, random });
        Self { delay, jitter, previous: Time::ZERO }
    }

    /// Arrival of a packet sent at `sent`, with the delay that applies at this time. The result is
    /// not before the arrival of any packet that was sent earlier.
    #[inline]
    pub(crate) fn arrival(&mut self, sent: Time) -> Time {
        self.delay.advance(sent);
        let arrival = sent + self.sample(sent);
        self.previous = self.previous.max(arrival);
        self.previous
    }

    /// The delay and the time until which it applies, if all packets have the same delay and the
    /// last packet, sent at `sent`, did not have to wait for an earlier packet's arrival.
    #[inline]
    pub(crate) fn fixed_after(&self, sent: Time) -> Option<(Duration, Time)> {
        let delay = *self.delay.value();
        let is_fixed = self.jitter.is_none() && self.previous == sent + delay;
        is_fixed.then(|| (delay, self.delay.until()))
    }

    /// Records that a packet after all others arrives at `arrival`.
    #[inline]
    pub(crate) fn note_arrival(&mut self, arrival: Time) {
        self.previous = arrival;
    }

    /// Arrival of a packet as in netem without a rate: the delay that applied when the packet was
    /// queued, at `came`, is added.
    ///
    /// The packet overtakes packets with a longer delay; jitter alone does not reorder packets.
    pub(crate) fn netem_arrival(&mut self, came: Time, sent: Time) -> Time {
        if self.delay.advance(came) {
            self.previous = Time::ZERO;
        }
        let arrival = sent + self.sample(sent);
        self.previous = self.previous.max(arrival);
        self.previous
    }

    /// Arrival of a packet as in netem with a rate: the delay runs while the packet waits for
    /// earlier packets to arrive, and the packet's own transmission time follows.
    pub(crate) fn netem_arrival_with_rate(
        &mut self,
        came: Time,
        sent: Time,
        own_time: Duration,
    ) -> Time {
        self.delay.advance(came);
        let begins = self.previous.max(came + self.sample(came));
        self.previous = sent.max(begins + own_time);
        self.previous
    }

    /// Delay of a packet sent at `sent`, regardless of other packets.
    pub(crate) fn sample_at(&mut self, sent: Time) -> Duration {
        self.delay.advance(sent);
        self.sample(sent)
    }

    #[inline]
    fn sample(&mut self, from: Time) -> Duration {
        let delay = *self.delay.value();
        match &mut self.jitter {
            None => delay,
            Some(jitter) => jitter.sample(from, delay),
        }
    }
}

impl Jitter {
    /// Delay of a packet that begins to propagate at `from`.
    #[inline(never)]
    fn sample(&mut self, from: Time, delay: Duration) -> Duration {
        match self.config {
            JitterConfig::Uniform { max } => {
                let limit = max.as_nanos().saturating_add(1);
                delay + Duration::from_nanos(self.random.below(limit))
            }
            JitterConfig::Normal { sigma } => {
                let offset = libm::round(self.random.normal() * sigma.as_nanos() as f64);
                if offset < 0.0 {
                    delay.saturating_sub(Duration::from_nanos(-offset as u64))
                } else {
                    delay + Duration::from_nanos(offset as u64)
                }
            }
            JitterConfig::Wifi { mean } => delay + self.wifi_spike(mean),
            JitterConfig::Bunched { period } => {
                let (arrival_ns, period_ns) = ((from + delay).as_nanos(), period.as_nanos().max(1));
                delay + Duration::from_nanos(arrival_ns.next_multiple_of(period_ns) - arrival_ns)
            }
            JitterConfig::Exponential { mean } => {
                let extra = libm::round(self.random.exponential(mean.as_nanos() as f64));
                delay + Duration::from_nanos(extra as u64)
            }
        }
    }
}

impl Jitter {
    /// Delay that Wi-Fi collisions and retransmissions add to one packet, for the given mean.
    fn wifi_spike(&mut self, mean: Duration) -> Duration {
        let share = (mean.as_millis_f64() - 1.0) / MOST_SPIKES_MS;
        let mut spike_ms = self.poisson(1.0);
        if spike_ms >= 1.0 {
            spike_ms -= self.random.unit();
        }
        if self.random.unit() < share {
            spike_ms += self.poisson(MEAN_RETRIES) * RETRY_MS;
        }
        Duration::from_nanos(libm::round(spike_ms * 1e6) as u64)
    }

    /// Draws a number from a Poisson distribution: the number of uniform random numbers that can
    /// be multiplied before the product is below exp(-mean) (Knuth, The Art of Computer
    /// Programming, section 3.4.1).
    fn poisson(&mut self, mean: f64) -> f64 {
        let limit = libm::exp(-mean);
        let (mut count, mut product) = (0.0, self.random.unit());
        while product > limit {
            count += 1.0;
            product *= self.random.unit();
        }
        count
    }
}

/// Interval of a retransmission, from draft-huitema-ccwg-c4-test section 2.3.
const RETRY_MS: f64 = 7.5;
/// Mean number of retransmissions of an affected packet, from the same section.
const MEAN_RETRIES: f64 = 12.0;
const MOST_SPIKES_MS: f64 = RETRY_MS * MEAN_RETRIES;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn jittery(config: JitterConfig) -> Delay {
        let steps = Steps::new(MS * 10, core::iter::empty());
        Delay::new(steps, Some(config), Stream::new(3, "forward.0.jitter"))
    }

    #[test]
    fn jitter_keeps_the_order_and_its_range() {
        let mut delay = jittery(JitterConfig::Uniform { max: MS * 5 });
        let mut previous = Time::ZERO;
        let mut waited_for_the_one_before = 0;
        for packet in 0..10_000 {
            let sent = Time::ZERO + MS * packet;
            let arrival = delay.arrival(sent);
            assert!(arrival >= previous);
            assert!(arrival >= sent + MS * 10 && arrival <= sent + MS * 15);
            waited_for_the_one_before += u32::from(arrival == previous);
            previous = arrival;
        }
        assert!(waited_for_the_one_before > 1_000);
    }

    #[test]
    fn bunches_arrive_at_the_multiples_of_their_period() {
        let mut delay = jittery(JitterConfig::Bunched { period: MS * 5 });
        let mut arrive = |sent_us: u64| {
            let arrival = delay.arrival(Time::ZERO + Duration::from_micros(sent_us));
            arrival.saturating_since(Time::ZERO).as_micros()
        };
        assert_eq!([1, 2_000, 5_000, 5_001].map(&mut arrive), [15_000, 15_000, 15_000, 20_000]);
    }

    #[test]
    fn rare_packets_have_the_mean_of_their_jitter() {
        let mean_ms = |config| {
            let mut delay = jittery(config);
            let n = 100_000;
            let sum: f64 = (0..n)
                .map(|packet| {
                    let sent = Time::from_secs(packet);
                    (delay.arrival(sent) - sent).as_millis_f64()
                })
                .sum();
            sum / n as f64
        };
        assert!((mean_ms(JitterConfig::Uniform { max: MS * 4 }) - 12.0).abs() < 0.02);
        assert!((mean_ms(JitterConfig::Normal { sigma: MS }) - 10.0).abs() < 0.02);
        assert!((mean_ms(JitterConfig::Exponential { mean: MS * 3 }) - 13.0).abs() < 0.05);
    }

    #[test]
    fn wifi_spikes_are_those_of_the_c4_tests() {
        // The draft's "bad Wi-Fi": a mean of 7 ms, so x = 6/90 of the packets are retransmitted.
        let mut delay = jittery(JitterConfig::Wifi { mean: MS * 7 });
        let n = 200_000_u64;
        let spikes_ms: Vec<f64> = (0..n)
            .map(|packet| {
                let sent = Time::from_secs(packet);
                (delay.arrival(sent) - sent).as_millis_f64() - 10.0
            })
            .collect();
        let share = |is: &dyn Fn(f64) -> bool| {
            spikes_ms.iter().filter(|&&ms| is(ms)).count() as f64 / n as f64
        };
        let (x, none) = (6.0 / 90.0, libm::exp(-1.0));
        // No added delay: no deferral (Poisson with mean 1) and, up to exp(-12), no retransmission.
        assert!((share(&|ms| ms == 0.0) - none * (1.0 - x)).abs() < 0.004);
        // Otherwise, a delay below 1 ms is one deferral less a fraction of it.
        assert!((share(&|ms| ms > 0.0 && ms < 1.0) - none * (1.0 - x)).abs() < 0.004);
        // Fewer than 4 retransmissions: one case in 400; more than 8 deferrals: one in 100,000.
        assert!((share(&|ms| ms > 22.0) - x).abs() < 0.003);
        // The median is about 12 retransmissions of 7.5 ms.
        let long = share(&|ms| ms > 91.5) / x;
        assert!((0.40..0.50).contains(&long), "{long}");
        let mean_ms = spikes_ms.iter().sum::<f64>() / n as f64;
        // 1 ms of deferrals, less half a millisecond if there is one, and x times 90 ms.
        let expected_ms = 1.0 - 0.5 * (1.0 - none) + 6.0;
        assert!((mean_ms - expected_ms).abs() < 0.15, "{mean_ms} and {expected_ms}");
        let mut calm = jittery(JitterConfig::Wifi { mean: MS });
        let most = (0..10_000).map(|packet| {
            let sent = Time::from_secs(packet);
            (calm.arrival(sent) - sent).as_millis_f64()
        });
        assert!(most.fold(0.0, f64::max) < 10.0 + 12.0, "nothing is repeated");
    }

    #[test]
    fn a_delay_is_never_negative() {
        let mut delay = jittery(JitterConfig::Normal { sigma: MS * 100 });
        for packet in 0..1_000 {
            let sent = Time::from_secs(packet);
            assert!(delay.arrival(sent) >= sent);
        }
    }
}
