//! Propagation: when a packet arrives that was sent.

use cwndlab_units::{Duration, Stream, Time};

use crate::config::JitterConfig;
use crate::schedule::Steps;

/// A delay that may change at given times, with jitter that keeps the order.
#[derive(Clone, Debug)]
pub(crate) struct Delay {
    delay: Steps<Duration>,
    jitter: Option<Jitter>,
    /// When the packet before arrives.
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

    /// When a packet arrives that was sent at `sent`, with the delay of that time and behind all
    /// that were sent before.
    #[inline]
    pub(crate) fn arrival(&mut self, sent: Time) -> Time {
        self.delay.advance(sent);
        let arrival = sent + self.sample();
        self.previous = self.previous.max(arrival);
        self.previous
    }

    /// When a packet arrives as netem has it without a rate: with the delay of the time when it
    /// came, overtaking what had a longer one; jitter alone changes no order.
    pub(crate) fn netem_arrival(&mut self, came: Time, sent: Time) -> Time {
        if self.delay.advance(came) {
            self.previous = Time::ZERO;
        }
        let arrival = sent + self.sample();
        self.previous = self.previous.max(arrival);
        self.previous
    }

    /// When a packet arrives as netem has it with a rate: there the delay runs while the packet
    /// waits for those before it to have arrived, and only then its own time at the rate.
    pub(crate) fn netem_arrival_with_rate(
        &mut self,
        came: Time,
        sent: Time,
        own_time: Duration,
    ) -> Time {
        self.delay.advance(came);
        let begins = self.previous.max(came + self.sample());
        self.previous = sent.max(begins + own_time);
        self.previous
    }

    #[inline]
    fn sample(&mut self) -> Duration {
        let delay = *self.delay.value();
        match &mut self.jitter {
            None => delay,
            Some(jitter) => jitter.sample(delay),
        }
    }
}

impl Jitter {
    /// The delay of one packet.
    #[inline(never)]
    fn sample(&mut self, delay: Duration) -> Duration {
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
            JitterConfig::Exponential { mean } => {
                let extra = libm::round(self.random.exponential(mean.as_nanos() as f64));
                delay + Duration::from_nanos(extra as u64)
            }
        }
    }
}

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
    fn a_delay_is_never_negative() {
        let mut delay = jittery(JitterConfig::Normal { sigma: MS * 100 });
        for packet in 0..1_000 {
            let sent = Time::from_secs(packet);
            assert!(delay.arrival(sent) >= sent);
        }
    }
}
