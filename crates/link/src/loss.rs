//! Loss of packets on arrival, before the queue.

use cwndlab_units::Stream;

use crate::Probability;
use crate::config::LossConfig;

/// A random loss process that advances with each packet.
#[derive(Clone, Debug)]
pub(crate) enum Loss {
    None,
    Iid { threshold: u64 },
    GilbertElliott { chain: Chain, is_bad: bool },
    Periodic { every: u32, left: u32 },
}

/// Two-state loss process of Gilbert 1960 and Elliott 1963, with thresholds for 64 random bits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chain {
    good_to_bad: u64,
    bad_to_good: u64,
    loss_good: u64,
    loss_bad: u64,
}

impl Loss {
    /// Creates the loss process in the good state.
    pub(crate) fn new(config: Option<&LossConfig>) -> Self {
        match config {
            None => Self::None,
            Some(&LossConfig::Iid { probability }) if probability == Probability::ZERO => {
                Self::None
            }
            Some(LossConfig::Iid { probability }) => {
                Self::Iid { threshold: probability.threshold() }
            }
            Some(LossConfig::GilbertElliott { p, r, loss_good, loss_bad }) => {
                let chain = Chain {
                    good_to_bad: p.threshold(),
                    bad_to_good: r.threshold(),
                    loss_good: loss_good.threshold(),
                    loss_bad: loss_bad.threshold(),
                };
                Self::GilbertElliott { chain, is_bad: false }
            }
            Some(LossConfig::Periodic { every }) => {
                Self::Periodic { every: every.get(), left: every.get() }
            }
        }
    }

    /// Decides whether the next packet is lost.
    ///
    /// The present state applies to this packet and may change after it. Every packet uses the
    /// same number of random numbers.
    #[inline]
    pub(crate) fn decide(&mut self, random: &mut Stream) -> bool {
        match self {
            Self::None => false,
            Self::Iid { threshold } => random.next_u64() < *threshold,
            Self::GilbertElliott { chain, is_bad } => {
                let (loss, leave) = if *is_bad {
                    (chain.loss_bad, chain.bad_to_good)
                } else {
                    (chain.loss_good, chain.good_to_bad)
                };
                let is_lost = random.next_u64() < loss;
                *is_bad ^= random.next_u64() < leave;
                is_lost
            }
            Self::Periodic { every, left } => {
                *left -= 1;
                let is_lost = *left == 0;
                if is_lost {
                    *left = *every;
                }
                is_lost
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ppb(ppb: u32) -> Probability {
        Probability::from_ppb(ppb).expect("a probability")
    }

    /// Number of losses, and number of sequences of consecutive losses, in this many packets.
    fn count(config: &LossConfig, packets: u32) -> (f64, f64) {
        let mut random = Stream::new(5, "forward.0.loss");
        let mut loss = Loss::new(Some(config));
        let (mut losses, mut bursts, mut was_lost) = (0, 0, false);
        for _ in 0..packets {
            let is_lost = loss.decide(&mut random);
            losses += u32::from(is_lost);
            bursts += u32::from(is_lost && !was_lost);
            was_lost = is_lost;
        }
        (f64::from(losses), f64::from(bursts))
    }

    #[test]
    fn independent_losses_have_their_rate() {
        let (losses, bursts) = count(&LossConfig::Iid { probability: ppb(10_000_000) }, 1_000_000);
        // Binomial: mean 10,000, standard deviation 99.5. Losses are consecutive only by chance.
        assert!((losses - 10_000.0).abs() < 500.0, "{losses}");
        assert!((losses / bursts - 1.0 / 0.99).abs() < 0.01, "{}", losses / bursts);
    }

    #[test]
    fn gilbert_losses_have_mean_and_burst_of_the_formula() {
        // Loss p / (p + r) = 1/101 with bursts of 1/r = 10 packets.
        let (p, r) = (0.001, 0.1);
        let config = LossConfig::GilbertElliott {
            p: ppb(1_000_000),
            r: ppb(100_000_000),
            loss_good: Probability::ZERO,
            loss_bad: Probability::ONE,
        };
        let packets = 4_000_000;
        let (losses, bursts) = count(&config, packets);
        let rate = losses / f64::from(packets);
        assert!((rate / (p / (p + r)) - 1.0).abs() < 0.08, "{rate}");
        assert!((losses / bursts - 1.0 / r).abs() < 0.5, "{}", losses / bursts);
    }

    #[test]
    fn elliott_losses_are_the_mean_of_both_states() {
        let config = LossConfig::GilbertElliott {
            p: ppb(20_000_000),
            r: ppb(80_000_000),
            loss_good: ppb(10_000_000),
            loss_bad: ppb(500_000_000),
        };
        let packets = 1_000_000;
        let (losses, _) = count(&config, packets);
        let expected = 0.8 * 0.01 + 0.2 * 0.5;
        assert!((losses / f64::from(packets) / expected - 1.0).abs() < 0.05, "{losses}");
    }

    #[test]
    fn periodic_losses_are_the_last_of_each_period() {
        let config = LossConfig::Periodic { every: 3.try_into().expect("not 0") };
        let mut random = Stream::new(5, "forward.0.loss");
        let mut loss = Loss::new(Some(&config));
        let lost: Vec<bool> = (0..7).map(|_| loss.decide(&mut random)).collect();
        assert_eq!(lost, [false, false, true, false, false, true, false]);
    }

    #[test]
    fn nothing_and_everything_are_exact() {
        assert_eq!(count(&LossConfig::Iid { probability: Probability::ZERO }, 100_000).0, 0.0);
        assert_eq!(count(&LossConfig::Iid { probability: Probability::ONE }, 100_000).0, 100_000.0);
    }
}
