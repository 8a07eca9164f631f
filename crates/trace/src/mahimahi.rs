//! Mahimahi's packet-delivery traces (Netravali et al. 2015).
//!
//! Each line is a time in milliseconds at which the link can send 1504 bytes: an IP packet of 1500
//! bytes and the four bytes that Mahimahi's TUN device adds. Equal lines are separate
//! opportunities to send. The trace repeats with its last time as the period, so a single line "1"
//! gives one opportunity per millisecond.

use std::sync::Arc;

use cwndlab_units::{Bytes, Duration, Rate, Time};

use crate::error::shorten;
use crate::lines::{MAX_LINES, numbered_lines, printable};
use crate::{TraceError, TraceProblem};

/// The times at which a link could send 1504 bytes, from a Mahimahi trace; the trace repeats
/// forever.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpportunityTrace {
    /// The times of one period; not empty and not decreasing, and the last time is positive.
    stamps_ms: Arc<[u32]>,
}

impl OpportunityTrace {
    /// Bytes that can be sent at one delivery opportunity.
    pub const OPPORTUNITY: Bytes = Bytes(1504);
    /// Bytes that Mahimahi adds to each IP packet.
    pub const FRAMING_BYTES: u32 = 4;

    pub(crate) fn parse(text: &[u8]) -> Result<Self, TraceError> {
        Self::parse_up_to(text, MAX_LINES)
    }

    fn parse_up_to(text: &[u8], max_lines: usize) -> Result<Self, TraceError> {
        const WANTED: &str = "a whole number of milliseconds";
        if text.is_empty() {
            return Err(TraceError::whole(TraceProblem::Empty));
        }
        let mut stamps_ms: Vec<u32> = Vec::new();
        for (number, line) in numbered_lines(text) {
            let error = |problem| Err(TraceError::at(number, problem));
            if number > max_lines {
                return error(TraceProblem::TooManyLines(max_lines));
            }
            let word = printable(number, line)?;
            let digits = word.strip_prefix('-').unwrap_or(word);
            if word.is_empty() {
                return error(TraceProblem::Blank);
            }
            if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
                return error(TraceProblem::not_a_number(word, WANTED));
            }
            if digits.len() < word.len() {
                return error(TraceProblem::Negative(shorten(word)));
            }
            let Ok(stamp) = word.parse() else {
                let most = "4294967295 ms, 49 days";
                return error(TraceProblem::TooLarge { found: shorten(word), most });
            };
            match stamps_ms.last() {
                Some(&previous) if stamp < previous => {
                    return error(TraceProblem::Unordered {
                        found: format!("{stamp} ms"),
                        previous: format!("{previous} ms"),
                    });
                }
                _ => stamps_ms.push(stamp),
            }
        }
        if stamps_ms.last() == Some(&0) {
            return Err(TraceError::at(stamps_ms.len(), TraceProblem::NoDuration));
        }
        Ok(Self { stamps_ms: stamps_ms.into() })
    }

    /// The delivery opportunities of one period, in milliseconds.
    pub fn stamps_ms(&self) -> &[u32] {
        &self.stamps_ms
    }

    /// Number of delivery opportunities in one period.
    pub fn opportunities(&self) -> usize {
        self.stamps_ms.len()
    }

    /// The period of the trace, which is the time of its last delivery opportunity.
    pub fn period(&self) -> Duration {
        Duration::from_millis(self.period_ms())
    }

    /// Mean rate over one period.
    pub fn mean_rate(&self) -> Rate {
        let bits = u128::from(Self::OPPORTUNITY.0) * 8 * self.stamps_ms.len() as u128;
        let rate = bits * 1000 / u128::from(self.period_ms());
        Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// Number of delivery opportunities from time 0 up to and including `time`.
    pub fn opportunities_until(&self, time: Time) -> u64 {
        let (lap, index) = self.position_after(time);
        lap * self.stamps_ms.len() as u64 + index as u64
    }

    /// The first delivery opportunity after `time`: number of the repetition of the trace, and
    /// index within the trace.
    ///
    /// The last opportunities of a repetition coincide with time 0 of the next repetition, where
    /// they count as passed.
    pub fn position_after(&self, time: Time) -> (u64, usize) {
        let millis = time.as_millis();
        let (lap, within) = (millis / self.period_ms(), millis % self.period_ms());
        (lap, self.stamps_ms.partition_point(|&stamp| u64::from(stamp) <= within))
    }

    /// The period in milliseconds.
    pub fn period_ms(&self) -> u64 {
        u64::from(*self.stamps_ms.last().expect("a trace is not empty"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &[u8]) -> String {
        OpportunityTrace::parse(text).expect_err("must be refused").to_string()
    }

    #[test]
    fn each_mistake_names_its_line_and_the_remedy() {
        assert_eq!(problem(b"1\n\n2\n"), "line 2: the line is blank: remove it");
        assert_eq!(problem(b"1\n2\n\n"), "line 3: the line is blank: remove it");
        assert_eq!(
            problem(b"5\n7\n6\n"),
            "line 3: the time 6 ms follows the later time 7 ms: sort the lines by time"
        );
        assert_eq!(problem(b"1\n-2\n"), "line 2: `-2` is negative: times and rates start at 0");
        assert_eq!(problem(b"1\nx\n"), "line 2: `x` is not a whole number of milliseconds");
        assert_eq!(problem(b"1.5\n"), "line 1: `1.5` is not a whole number of milliseconds");
        assert_eq!(problem(b"-\n"), "line 1: `-` is not a whole number of milliseconds");
        assert_eq!(problem(b"+1\n"), "line 1: `+1` is not a whole number of milliseconds");
        assert_eq!(problem(b"1 2\n"), "line 1: `1 2` is not a whole number of milliseconds");
        assert_eq!(
            problem(b"4294967296\n"),
            "line 1: `4294967296` is too large: the maximum is 4294967295 ms, 49 days"
        );
        assert_eq!(
            problem(b"0\n0\n"),
            "line 2: the last time is 0 ms: the trace repeats after its last time, which must be \
             positive"
        );
        let long = OpportunityTrace::parse_up_to(b"1\n2\n3\n", 2).expect_err("must be refused");
        assert_eq!(long.to_string(), "line 3: the trace has more than 2 lines: shorten it");
    }

    #[test]
    fn a_long_word_is_shortened_in_the_message() {
        assert_eq!(
            problem(&[b'x'; 500]),
            format!("line 1: `{}...` is not a whole number of milliseconds", "x".repeat(40))
        );
    }

    #[test]
    fn line_ends_of_either_kind_and_spaces_are_accepted() {
        let stamps =
            |text: &[u8]| OpportunityTrace::parse(text).expect("a trace").stamps_ms().to_vec();
        assert_eq!(stamps(b"0\n5\n5"), [0, 5, 5]);
        assert_eq!(stamps(b"0\r\n 5\r\n5 \r\n"), [0, 5, 5]);
    }

    #[test]
    fn opportunities_are_counted_over_laps() {
        let trace = OpportunityTrace::parse(b"0\n0\n3\n5\n5\n").expect("a trace");
        let until = |ms| trace.opportunities_until(Time::from_millis(ms));
        // Lap 0: 0 0 3 5 5; lap 1: 5 5 8 10 10; lap 2: 10 10 13 ...
        assert_eq!([until(0), until(2), until(3), until(4)], [2, 2, 3, 3]);
        assert_eq!([until(5), until(7), until(8), until(10)], [7, 7, 8, 12]);
        assert_eq!(trace.opportunities_until(Time::from_nanos(2_999_999)), 2);
        // "1" means one opportunity per millisecond, and none at time 0: 12.032 Mbit/s.
        let one = OpportunityTrace::parse(b"1").expect("a trace");
        assert_eq!(one.opportunities_until(Time::ZERO), 0);
        assert_eq!(one.opportunities_until(Time::from_secs(1)), 1000);
        assert_eq!(one.mean_rate(), Rate::from_kbit_per_sec(12_032));
    }
}
