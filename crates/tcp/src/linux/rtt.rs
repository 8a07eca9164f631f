//! Round-trip time, its variance and the retransmission timeout (RFC 6298, with Linux's variance,
//! which falls slowly and rises at once), and the lowest RTT in a window of time.

use cwndlab_cc::JIFFY;
use cwndlab_packet::seq::after;

use super::LinuxEndpoint;

/// State of the sender's round-trip time measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rtt {
    pub(crate) estimator: RttEstimator,
    pub(crate) min: WindowedMin,
    /// The RTT sample of the last segment that was processed.
    pub(crate) last_us: Option<u32>,
}

/// Smoothed RTT and timeout; `srtt_us` and `mdev_us` are in the socket, where algorithms read
/// them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    pub(crate) rttvar_us: u32,
    mdev_max_us: u32,
    /// The variance may decrease again when `snd_una` has passed this sequence number.
    rtt_seq: u32,
    rto_min_us: u32,
}

/// Input of [`RttEstimator::take`].
struct RttSample {
    rtt_us: u32,
    snd_una: u32,
    snd_nxt: u32,
}

impl RttEstimator {
    pub(crate) fn new(rto_min_us: u32) -> Self {
        Self { rttvar_us: 0, mdev_max_us: 0, rtt_seq: 0, rto_min_us }
    }

    /// Processes an RTT sample; `srtt_us` is scaled by 8, and `mdev_us` by 4.
    fn take(&mut self, srtt_us: &mut u32, mdev_us: &mut u32, sample: &RttSample) {
        let rtt = i64::from(sample.rtt_us);
        if *srtt_us == 0 {
            *srtt_us = (sample.rtt_us << 3).max(1);
            *mdev_us = sample.rtt_us << 1;
            self.rttvar_us = (*mdev_us).max(self.rto_min_us);
            self.mdev_max_us = self.rttvar_us;
            self.rtt_seq = sample.snd_nxt;
            return;
        }
        let error = rtt - i64::from(*srtt_us >> 3);
        let smoothed = i64::from(*srtt_us) + error;
        let mut deviation = error.abs() - i64::from(*mdev_us >> 2);
        // A falling RTT must not raise the variance as fast as a rising one does.
        if error < 0 && deviation > 0 {
            deviation >>= 3;
        }
        *mdev_us = (i64::from(*mdev_us) + deviation).max(0) as u32;
        if *mdev_us > self.mdev_max_us {
            self.mdev_max_us = *mdev_us;
            self.rttvar_us = self.rttvar_us.max(self.mdev_max_us);
        }
        if after(sample.snd_una, self.rtt_seq) {
            if self.mdev_max_us < self.rttvar_us {
                self.rttvar_us -= (self.rttvar_us - self.mdev_max_us) >> 2;
            }
            self.rtt_seq = sample.snd_nxt;
            self.mdev_max_us = self.rto_min_us;
        }
        *srtt_us = smoothed.max(1) as u32;
    }

    /// The retransmission timeout that results from the samples (RFC 6298 section 2.3).
    fn rto_us(&self, srtt_us: u32) -> u64 {
        u64::from(srtt_us >> 3) + u64::from(self.rttvar_us)
    }
}

/// The minimum over a sliding window of time, computed from the best three samples (Kathleen
/// Nichols' algorithm, `lib/win_minmax.c`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowedMin {
    /// Length of the window of time in jiffies.
    window: u32,
    samples: [(u32, u32); 3],
}

impl WindowedMin {
    pub(crate) fn new(window: u32) -> Self {
        Self { window, samples: [(0, u32::MAX); 3] }
    }

    fn value(&self) -> u32 {
        self.samples[0].1
    }

    /// Adds a value at a time in jiffies.
    #[inline(always)]
    fn take(&mut self, time: u32, value: u32) {
        let window = self.window;
        let sample = (time, value);
        let [best, second, third] = self.samples;
        if value <= best.1 || time.wrapping_sub(third.0) > window {
            self.samples = [sample; 3];
            return;
        }
        if value <= second.1 {
            self.samples = [best, sample, sample];
        } else if value <= third.1 {
            self.samples[2] = sample;
        }
        let age = time.wrapping_sub(self.samples[0].0);
        if age <= window / 4 {
            return;
        }
        if age > window {
            self.samples = [self.samples[1], self.samples[2], sample];
            if time.wrapping_sub(self.samples[0].0) > window {
                self.samples = [self.samples[1], self.samples[2], sample];
            }
        } else if self.samples[1].0 == self.samples[0].0 {
            self.samples[1] = sample;
            self.samples[2] = sample;
        } else if self.samples[2].0 == self.samples[1].0 && age > window / 2 {
            self.samples[2] = sample;
        }
    }
}

impl LinuxEndpoint {
    /// Passes an RTT sample to the estimators, and updates the timeout.
    #[inline(always)]
    pub(crate) fn take_rtt(&mut self, rtt_us: u32, ca_rtt_us: u32, is_maybe_delayed: bool) {
        self.rtt.last_us = Some(ca_rtt_us);
        if !is_maybe_delayed || ca_rtt_us <= self.sk.rtt_min_us {
            let value = if ca_rtt_us == 0 { JIFFY.as_micros() as u32 } else { ca_rtt_us };
            self.rtt.min.take(self.sk.cc_jiffies32, value);
            self.sk.rtt_min_us = self.rtt.min.value();
        }
        let tick_us = self.settings.timer.rtt_tick_us;
        let rtt_us = if tick_us <= 1 { rtt_us } else { rtt_us / tick_us * tick_us };
        let rtt_us = rtt_us.max(tick_us).max(1);
        let sample = RttSample { rtt_us, snd_una: self.sk.snd_una, snd_nxt: self.sk.snd_nxt };
        self.rtt.estimator.take(&mut self.sk.srtt_us, &mut self.sk.mdev_us, &sample);
        let rto_us = self.rtt.estimator.rto_us(self.sk.srtt_us);
        self.timer.rto = self.clock.jiffies_of_us(rto_us).min(self.timer.rto_max);
        self.timer.backoff = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take_all(samples: &[u32]) -> (u32, u32, RttEstimator) {
        let (mut srtt, mut mdev) = (0, 0);
        let mut estimator = RttEstimator::new(200_000);
        for (index, &rtt_us) in samples.iter().enumerate() {
            let snd_una = index as u32 * 1_000;
            let sample = RttSample { rtt_us, snd_una, snd_nxt: snd_una + 500 };
            estimator.take(&mut srtt, &mut mdev, &sample);
        }
        (srtt, mdev, estimator)
    }

    /// Values traced on Linux 6.1 (reference/linux61, S1 reno): handshake of 40,104 us, then an
    /// ACK.
    #[test]
    fn first_sample_gives_the_kernels_values() {
        let (srtt, mdev, estimator) = take_all(&[40_104]);
        assert_eq!((srtt >> 3, mdev >> 2), (40_104, 20_052));
        assert_eq!(estimator.rto_us(srtt), 240_104);
    }

    #[test]
    fn timeout_stays_above_the_rtt_by_the_floor() {
        let (srtt, _, estimator) = take_all(&[50_000; 200]);
        assert_eq!(srtt >> 3, 50_000);
        assert_eq!(estimator.rto_us(srtt), 250_000);
    }

    #[test]
    fn minimum_is_forgotten_after_the_window() {
        let mut min = WindowedMin::new(100);
        min.take(0, 50);
        for time in 1..=100 {
            min.take(time, 80);
            assert_eq!(min.value(), 50);
        }
        min.take(101, 80);
        assert_eq!(min.value(), 80);
    }
}
