//! RED (random early detection, Floyd and Jacobson 1993).
//!
//! Each arrival moves the average queue length towards the current length in bytes, by a weight.
//! Below `min`, no packet is marked. From `min` to `max`, arriving packets are marked with a
//! probability that grows to its maximum; marks are spread evenly over arrivals. Above `max`, all
//! arriving packets are marked, or with `gentle` (Floyd 2000) only above twice `max`.
//!
//! The average is an integer with `weight_shift` fractional bits, as in Linux, so that this model
//! reproduces each decision of the reference kernel's RED with `min` and `max` one byte apart.

use cwndlab_units::{Stream, Time};

use super::{Arrival, Limits, Verdict};
use crate::config::RedConfig;
use crate::error::StageError;
use crate::{Backlog, DropReason, Probability};

#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: RedConfig,
    limits: Limits,
    /// Average queue length in bytes, times 2^weight_shift.
    average: u64,
    /// Number of arrivals since the last mark, while the average is between the thresholds.
    unmarked: Option<u64>,
    random: Stream,
}

impl Red {
    pub(crate) fn new(config: &RedConfig, random: Stream) -> Result<Self, StageError> {
        if config.min >= config.max {
            return Err(StageError::RedThresholds { min: config.min, max: config.max });
        }
        if config.weight_shift > MAX_WEIGHT_SHIFT {
            return Err(StageError::RedWeight(config.weight_shift));
        }
        if config.idle_packet.is_some_and(|time| time.as_nanos() == 0) {
            return Err(StageError::RedIdlePacket);
        }
        let limits = Limits::new(None, config.limit);
        Ok(Self { config: config.clone(), limits, average: 0, unmarked: None, random })
    }

    pub(crate) fn admit(&mut self, now: Time, backlog: Backlog, arrival: Arrival) -> Verdict {
        self.update_average(now, backlog.bytes, arrival.idle_since);
        let decision = self.decide();
        if !self.limits.have_room(backlog, arrival.bytes) {
            return Verdict::Drop(DropReason::Overflow);
        }
        let is_markable = self.config.ecn && arrival.is_ecn_capable;
        match decision {
            Decision::Pass => Verdict::Accept,
            Decision::Early if is_markable => Verdict::Mark,
            Decision::Forced if is_markable && !self.config.hard_drop => Verdict::Mark,
            Decision::Early | Decision::Forced => Verdict::Drop(DropReason::Aqm),
        }
    }

    fn update_average(&mut self, now: Time, queue_bytes: u64, idle_since: Option<Time>) {
        let shift = self.config.weight_shift;
        match (idle_since, self.config.idle_packet) {
            (Some(since), Some(packet)) => {
                // "m = f(time - q_time); avg = (1 - wq)^m avg", figure 2.
                let packets =
                    now.saturating_since(since).as_nanos() as f64 / packet.as_nanos() as f64;
                let weight = 1.0 / f64::from(1_u32 << shift);
                self.average = (self.average as f64 * libm::pow(1.0 - weight, packets)) as u64;
            }
            _ => self.average = self.average - (self.average >> shift) + queue_bytes,
        }
    }

    fn decide(&mut self) -> Decision {
        let scaled = |bytes: u64| u128::from(bytes) << self.config.weight_shift;
        let average = u128::from(self.average);
        let (min, max) = (scaled(self.config.min.0), scaled(self.config.max.0));
        let top = u64::from(self.config.max_probability.ppb());
        let probability = if average < min {
            self.unmarked = None;
            return Decision::Pass;
        } else if average < max {
            (u128::from(top) * (average - min) / (max - min)) as u64
        } else if self.config.gentle && average < 2 * max {
            top + (u128::from(BILLION - top) * (average - max) / max) as u64
        } else {
            self.unmarked = Some(0);
            return Decision::Forced;
        };
        // "pa = pb / (1 - count pb)", figure 2.
        let count = self.unmarked.map_or(0, |count| count + 1);
        let draw = self.random.next_u64() >> 32;
        let rest = BILLION.saturating_sub(count.saturating_mul(probability));
        if u128::from(draw) * u128::from(rest) < u128::from(probability) << 32 {
            self.unmarked = Some(0);
            Decision::Early
        } else {
            self.unmarked = Some(count);
            Decision::Pass
        }
    }
}

/// RED's decision on an arriving packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Decision {
    Pass,
    Early,
    Forced,
}

const BILLION: u64 = Probability::ONE.ppb() as u64;

/// Maximum exponent of the weight, for a weight of 6e-8: with queues below a gigabyte, the average
/// fits easily into 64 bits.
const MAX_WEIGHT_SHIFT: u32 = 24;

#[cfg(test)]
mod tests {
    use cwndlab_units::{Bytes, Duration};

    use super::*;

    fn config() -> RedConfig {
        RedConfig {
            min: Bytes(5_000),
            max: Bytes(15_000),
            limit: None,
            max_probability: Probability::from_ppb(20_000_000).expect("a probability"),
            weight_shift: 9,
            idle_packet: None,
            ecn: true,
            gentle: false,
            hard_drop: false,
        }
    }

    fn red(config: &RedConfig) -> Red {
        Red::new(config, Stream::new(1, "forward.0.red")).expect("valid")
    }

    const ECT: Arrival = Arrival { bytes: 1000, is_ecn_capable: true, idle_since: None };
    const NOT_ECT: Arrival = Arrival { bytes: 1000, is_ecn_capable: false, idle_since: None };

    fn queue(bytes: u64) -> Backlog {
        Backlog { packets: 1, bytes }
    }

    #[test]
    fn the_average_approaches_the_queue_by_its_weight() {
        let mut red = red(&config());
        for arrival in 1..=2_000 {
            red.admit(Time::ZERO, queue(4_000), ECT);
            let expected = 4_000.0 * (1.0 - (1.0 - 1.0 / 512.0_f64).powi(arrival));
            let average = red.average as f64 / 512.0;
            assert!((average - expected).abs() < 3.0, "{arrival}: {average} {expected}");
        }
    }

    #[test]
    fn marks_are_as_frequent_as_the_average_says_and_evenly_spread() {
        let mut red = red(&config());
        red.average = 10_000 << 9;
        let mut gaps = Vec::new();
        let mut last = 0;
        for arrival in 1..=200_000_u32 {
            if red.admit(Time::ZERO, queue(10_000), ECT) == Verdict::Mark {
                gaps.push(arrival - last);
                last = arrival;
            }
        }
        // pb is 0.01 halfway, so gaps are uniform from 1 to 1/pb = 100.
        assert!(gaps.iter().skip(1).all(|&gap| gap <= 101));
        let mean = f64::from(last) / gaps.len() as f64;
        assert!((mean - 50.5).abs() < 2.0, "{mean}");
        let short = gaps.iter().filter(|&&gap| gap <= 50).count() as f64 / gaps.len() as f64;
        assert!((short - 0.5).abs() < 0.04, "{short}");
    }

    #[test]
    fn from_max_on_everything_is_marked_or_dropped() {
        let mut red = red(&config());
        red.average = 15_100 << 9;
        assert_eq!(red.admit(Time::ZERO, queue(15_100), ECT), Verdict::Mark);
        let dropped = Verdict::Drop(DropReason::Aqm);
        assert_eq!(red.admit(Time::ZERO, queue(15_100), NOT_ECT), dropped);
        red.config.hard_drop = true;
        assert_eq!(red.admit(Time::ZERO, queue(15_100), ECT), dropped);
        red.config.gentle = true;
        let marked = (0..10_000)
            .filter(|_| red.admit(Time::ZERO, queue(15_100), ECT) == Verdict::Mark)
            .count();
        // pb is 0.0265: gaps of 19.4 on average.
        assert!((marked as f64 - 10_000.0 / 19.4).abs() < 50.0, "{marked}");
    }

    #[test]
    fn the_average_decays_while_the_link_is_idle() {
        let idle = Arrival { idle_since: Some(Time::ZERO), ..ECT };
        let mut plain = red(&config());
        plain.average = 8_000 << 9;
        plain.admit(Time::from_millis(100), queue(0), idle);
        assert_eq!(plain.average, (8_000 << 9) - 8_000);
        let config = RedConfig { idle_packet: Some(Duration::from_millis(1)), ..config() };
        let mut aging = red(&config);
        aging.average = 8_000 << 9;
        aging.admit(Time::from_millis(100), queue(0), idle);
        let expected = 8_000.0 * (1.0 - 1.0 / 512.0_f64).powi(100);
        assert!((aging.average as f64 / 512.0 - expected).abs() < 1.0, "{}", aging.average);
    }

    #[test]
    fn the_red_of_the_linux_reference_marks_when_the_average_passes_20_packets() {
        // min 30280, max 30281, weight 1/2: avg = avg / 2 + queue / 2 with each arrival.
        let config = RedConfig {
            min: Bytes(30_280),
            max: Bytes(30_281),
            limit: Some(Bytes(151_400)),
            max_probability: Probability::ONE,
            weight_shift: 1,
            ..config()
        };
        let mut red = red(&config);
        let verdicts: Vec<Verdict> =
            (0..40).map(|packets| red.admit(Time::ZERO, queue(packets * 1514), ECT)).collect();
        // On a ramp of one packet per arrival, the average is one packet behind the queue.
        let first = verdicts.iter().position(|&verdict| verdict == Verdict::Mark);
        assert_eq!(first, Some(22));
        assert!(verdicts[22..].iter().all(|&verdict| verdict == Verdict::Mark));
        let full = red.admit(Time::ZERO, queue(151_000), ECT);
        assert_eq!(full, Verdict::Drop(DropReason::Overflow));
    }

    #[test]
    fn impossible_settings_are_refused() {
        let refuse = |config| Red::new(&config, Stream::new(1, "")).expect_err("must be refused");
        let thresholds = RedConfig { min: Bytes(15_000), ..config() };
        assert!(matches!(refuse(thresholds), StageError::RedThresholds { .. }));
        let weight = RedConfig { weight_shift: 25, ..config() };
        assert_eq!(refuse(weight), StageError::RedWeight(25));
        let idle = RedConfig { idle_packet: Some(Duration::ZERO), ..config() };
        assert_eq!(refuse(idle), StageError::RedIdlePacket);
    }
}
