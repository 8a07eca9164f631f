//! Round-trip times in ticks of a coarse clock, and the retransmission timeout derived from them
//! (Jacobson, 1988, appendix A; RFC 6298 section 2).

use cwndlab_units::{Duration, Time};

/// Scale of `srtt` as a shift: `srtt` is scaled by 8 and `rttvar` by 4, so that the gains 1/8 and
/// 1/4 are shifts.
const SRTT_SHIFT: u32 = 3;
/// Scale of `rttvar` as a shift.
const RTTVAR_SHIFT: u32 = 2;

/// Upper bound of the back-off factor; usually, the upper bound of the timeout is reached first.
const MAX_BACKOFF: u64 = 64;

/// Estimates the round-trip time, and computes the retransmission timeout.
#[derive(Clone, Debug)]
pub(crate) struct RtoEstimator {
    tick: Duration,
    initial: Duration,
    min: Duration,
    max: Duration,
    /// Smoothed RTT in ticks, scaled by 8; 0 before the first sample.
    srtt: u64,
    /// Mean deviation in ticks, scaled by 4.
    rttvar: u64,
    backoff: u64,
}

impl RtoEstimator {
    pub(crate) fn new(tick: Duration, initial: Duration, min: Duration, max: Duration) -> Self {
        let tick = tick.max(Duration::from_nanos(1));
        Self { tick, initial, min, max, srtt: 0, rttvar: 0, backoff: 1 }
    }

    /// Processes the RTT of a segment that was sent at `sent`, measured with a clock of whole
    /// ticks.
    pub(crate) fn take_timed(&mut self, sent: Time, now: Time) {
        let tick = self.tick.as_nanos();
        self.take_ticks(now.as_nanos() / tick - sent.as_nanos() / tick);
    }

    /// Processes the RTT from an echoed timestamp, rounded to a tick of the clock.
    pub(crate) fn take_echo(&mut self, rtt: Duration) {
        let tick = self.tick.as_nanos();
        self.take_ticks((rtt.as_nanos() + tick / 2) / tick);
    }

    fn take_ticks(&mut self, ticks: u64) {
        let ticks = ticks.max(1);
        if self.srtt == 0 {
            self.srtt = ticks << SRTT_SHIFT;
            self.rttvar = ticks << (RTTVAR_SHIFT - 1);
            return;
        }
        let mean = self.srtt >> SRTT_SHIFT;
        self.srtt = (self.srtt + ticks - mean).max(1);
        let deviation = ticks.abs_diff(mean);
        self.rttvar = (self.rttvar + deviation - (self.rttvar >> RTTVAR_SHIFT)).max(1);
    }

    /// Doubles the timeout after the timer has expired.
    pub(crate) fn back_off(&mut self) {
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
    }

    /// Ends the back-off when a segment that was sent only once is acknowledged.
    pub(crate) fn end_backoff(&mut self) {
        self.backoff = 1;
    }

    /// Number of times that the timeout was doubled.
    pub(crate) fn doublings(&self) -> u32 {
        self.backoff.ilog2()
    }

    /// The smoothed RTT, if there was a sample.
    pub(crate) fn srtt(&self) -> Option<Duration> {
        let nanos = (self.srtt * self.tick.as_nanos()) >> SRTT_SHIFT;
        (self.srtt != 0).then(|| Duration::from_nanos(nanos))
    }

    /// The mean deviation of the RTT.
    pub(crate) fn rttvar(&self) -> Duration {
        Duration::from_nanos((self.rttvar * self.tick.as_nanos()) >> RTTVAR_SHIFT)
    }

    /// The retransmission timeout: `srtt + 4 rttvar` in whole ticks, within its bounds and with
    /// back-off.
    pub(crate) fn rto(&self) -> Duration {
        let base = if self.srtt == 0 {
            self.initial
        } else {
            // rttvar is already scaled by 4.
            Duration::from_nanos((self.rttvar + (self.srtt >> SRTT_SHIFT)) * self.tick.as_nanos())
        };
        let backed_off = base.max(self.min).as_nanos().saturating_mul(self.backoff);
        Duration::from_nanos(backed_off.max(2 * self.tick.as_nanos())).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimator() -> RtoEstimator {
        let ms = Duration::from_millis;
        RtoEstimator::new(ms(10), ms(3_000), ms(200), ms(60_000))
    }

    #[test]
    fn timer_before_a_sample_is_initial() {
        assert_eq!(estimator().rto(), Duration::from_millis(3_000));
    }

    #[test]
    fn first_sample_gives_three_times_itself() {
        let mut rto = estimator();
        rto.take_timed(Time::from_millis(0), Time::from_millis(400));
        assert_eq!(rto.srtt(), Some(Duration::from_millis(400)));
        assert_eq!(rto.rttvar(), Duration::from_millis(200));
        assert_eq!(rto.rto(), Duration::from_millis(1_200));
    }

    #[test]
    fn coarse_clock_counts_boundaries_not_time() {
        let mut early = estimator();
        early.take_timed(Time::from_millis(9), Time::from_millis(411));
        assert_eq!(early.srtt(), Some(Duration::from_millis(410)));
        let mut late = estimator();
        late.take_timed(Time::from_millis(10), Time::from_millis(419));
        assert_eq!(late.srtt(), Some(Duration::from_millis(400)));
    }

    #[test]
    fn steady_samples_bring_timer_to_its_floor() {
        let mut rto = estimator();
        for n in 0..200_u64 {
            rto.take_timed(Time::from_millis(n * 100), Time::from_millis(n * 100 + 30));
        }
        assert_eq!(rto.rto(), Duration::from_millis(200));
        assert_eq!(rto.srtt(), Some(Duration::from_millis(30)));
    }

    #[test]
    fn backoff_doubles_up_to_the_bound_and_ends() {
        let mut rto = estimator();
        rto.take_timed(Time::ZERO, Time::from_millis(400));
        let mut last = rto.rto();
        for _ in 0..5 {
            rto.back_off();
            assert_eq!(rto.rto(), last * 2);
            last = rto.rto();
        }
        rto.back_off();
        assert_eq!(rto.rto(), Duration::from_millis(60_000));
        rto.end_backoff();
        assert_eq!(rto.rto(), Duration::from_millis(1_200));
    }

    #[test]
    fn floor_is_backed_off_too() {
        let mut rto = estimator();
        for n in 0..200_u64 {
            rto.take_timed(Time::from_millis(n * 100), Time::from_millis(n * 100 + 30));
        }
        rto.back_off();
        assert_eq!(rto.rto(), Duration::from_millis(400));
    }
}
