//! Converts the machine's clocks to the time of a run.

use cwndlab_units::Time;

/// The monotonic clock, read as the time since the start of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_nanos: u64,
    origin_of_day_nanos: u64,
}

impl Clock {
    /// Starts the clock of a run.
    pub fn start() -> Self {
        Self {
            origin_nanos: nanos(libc::CLOCK_MONOTONIC),
            origin_of_day_nanos: nanos(libc::CLOCK_REALTIME),
        }
    }

    /// Start of the run on the machine's monotonic clock, which other programs can read too.
    pub fn origin_nanos(&self) -> u64 {
        self.origin_nanos
    }

    /// Start of the run in wall-clock time: nanoseconds since 1970.
    pub fn origin_of_day_nanos(&self) -> u64 {
        self.origin_of_day_nanos
    }

    /// The time since the run began.
    #[inline]
    pub fn now(&self) -> Time {
        Time::from_nanos(nanos(libc::CLOCK_MONOTONIC) - self.origin_nanos)
    }
}

#[inline]
fn nanos(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a timespec that the call may write to.
    let status = unsafe { libc::clock_gettime(clock, &raw mut time) };
    assert_eq!(status, 0, "Linux has a monotonic and a real-time clock");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_from_zero() {
        let clock = Clock::start();
        let first = clock.now();
        assert!(first < Time::from_secs(1));
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(clock.now() >= first + cwndlab_units::Duration::from_millis(2));
    }
}
