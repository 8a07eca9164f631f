//! Conversion of rate samples to a log: times are in order and begin at 0; a rate applies until
//! the next time.

use core::fmt::Write as _;

use super::understood::Pace;
use crate::error::shorten;
use crate::{TraceError, TraceProblem};

/// A rate that applies from a point in time on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Sample {
    /// Number of the sample's line in the file, from 1.
    pub line: usize,
    /// Time from which the rate applies, relative to an origin that all samples of the file share.
    pub start_ns: i64,
    /// The rate; `None` if the recorder did not know it, so the previous rate continues.
    pub mbit_s: Option<f64>,
    /// Duration for which the rate applies; `None` if it applies until the next sample.
    pub duration_ns: Option<i64>,
}

/// A log in the form that [`crate::RateTrace::parse_log`] reads, and the corrections that were
/// made.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Log {
    pub content: Vec<u8>,
    pub pace: Pace,
    /// Number of pauses of the recorder, which are removed from the log.
    pub pauses: usize,
    /// Number of samples that are slightly earlier than the sample before, and that get the time
    /// of this sample.
    pub late: usize,
}

/// Maximum time between two samples; a longer time is a pause of the recorder.
const LONGEST_STEP_NS: i64 = 10_000_000_000;
const LONGEST_STEPS: i64 = 10;

/// At most one sample in this many may be out of order.
const ORDERED_BESIDE_LATE: usize = 100;

const MAX_MBIT_S: f64 = 1e7;

/// Converts samples of a rate to a log.
///
/// If a time is much earlier or much later than the one before, another recording begins at this
/// line: it follows the previous recording after the usual step.
pub(super) fn log(samples: &[Sample]) -> Result<Log, TraceError> {
    let [first, ..] = samples else { return Err(TraceError::whole(TraceProblem::Empty)) };
    let step_ns = usual_step_ns(samples);
    let longest_ns = LONGEST_STEP_NS.max(step_ns.saturating_mul(LONGEST_STEPS));
    let mut log =
        Log { content: Vec::new(), pace: Pace::of(samples.len(), step_ns), pauses: 0, late: 0 };
    let mut text = String::from("time_s,rate_mbit_s\n");
    let (mut now_ns, mut before_ns, mut begin_ns) = (0, first.start_ns, None);
    let mut last = None;
    for sample in samples {
        let passed_ns = i128::from(sample.start_ns) - i128::from(before_ns);
        if passed_ns > i128::from(longest_ns) || passed_ns < -i128::from(longest_ns) {
            now_ns += step_ns;
            log.pauses += 1;
            before_ns = sample.start_ns;
        } else if passed_ns < 0 {
            log.late += 1;
            if log.late * ORDERED_BESIDE_LATE > samples.len() {
                let problem = unordered(sample.start_ns, before_ns, first);
                return Err(TraceError::at(sample.line, problem));
            }
        } else {
            now_ns += passed_ns as i64;
            before_ns = sample.start_ns;
        }
        let Some(mbit_s) = sample.mbit_s else { continue };
        check(mbit_s).map_err(|problem| TraceError::at(sample.line, problem))?;
        let start_ns = now_ns - *begin_ns.get_or_insert(now_ns);
        write_row(&mut text, start_ns, mbit_s);
        last = Some((start_ns, mbit_s, sample.duration_ns));
    }
    let Some((start_ns, mbit_s, duration_ns)) = last else {
        return Err(TraceError::whole(TraceProblem::Empty));
    };
    // The last rate of a log holds as long as the one before it, so two halves give its duration.
    let is_usual = |ns: i64| (ns - step_ns).abs() <= step_ns / 50;
    if let Some(ns) = duration_ns.filter(|&ns| ns >= 2_000 && !is_usual(ns)) {
        write_row(&mut text, start_ns + ns / 2, mbit_s);
    }
    log.content = text.into_bytes();
    Ok(log)
}

/// The lower median of the steps between samples. If there is no step, the duration of the first
/// sample; if this is unknown, a second.
fn usual_step_ns(samples: &[Sample]) -> i64 {
    let starts = samples.iter().map(|sample| sample.start_ns);
    usual_ns(starts).or(samples[0].duration_ns.filter(|&ns| ns > 0)).unwrap_or(1_000_000_000)
}

/// The lower median of the positive steps from each start time to the next.
pub(super) fn usual_ns(starts: impl Iterator<Item = i64> + Clone) -> Option<i64> {
    let pairs = starts.clone().zip(starts.skip(1));
    let steps = pairs.map(|(start, next)| next.saturating_sub(start)).filter(|&step| step > 0);
    let mut steps: Vec<i64> = steps.collect();
    let middle = steps.len().checked_sub(1)? / 2;
    Some(*steps.select_nth_unstable(middle).1)
}

fn check(mbit_s: f64) -> Result<(), TraceProblem> {
    if mbit_s < 0.0 {
        return Err(TraceProblem::Negative(shorten(&format!("{mbit_s} Mbit/s"))));
    }
    if mbit_s > MAX_MBIT_S {
        let found = format!("{mbit_s:e} Mbit/s");
        return Err(TraceProblem::TooLarge { found, most: "1e7 Mbit/s" });
    }
    Ok(())
}

fn unordered(found_ns: i64, previous_ns: i64, first: &Sample) -> TraceProblem {
    let since = |ns: i64| {
        // Times since 1970 are long numbers, so they are counted from the first.
        let from_ns = if first.start_ns > 1_000_000_000_000_000 { first.start_ns } else { 0 };
        format!("{} s", (ns - from_ns) as f64 / 1e9)
    };
    TraceProblem::Unordered { found: since(found_ns), previous: since(previous_ns) }
}

fn write_row(text: &mut String, start_ns: i64, mbit_s: f64) {
    let (seconds, nanos) = (start_ns / 1_000_000_000, start_ns % 1_000_000_000);
    let written = if nanos == 0 {
        writeln!(text, "{seconds},{mbit_s:?}")
    } else {
        let fraction = format!("{nanos:09}");
        writeln!(text, "{seconds}.{},{mbit_s:?}", fraction.trim_end_matches('0'))
    };
    written.expect("writing to a String cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(start_ms: i64, mbit_s: Option<f64>) -> Sample {
        Sample { line: 1, start_ns: start_ms * 1_000_000, mbit_s, duration_ns: None }
    }

    fn written(samples: &[Sample]) -> String {
        String::from_utf8(log(samples).expect("a log").content).expect("text")
    }

    #[test]
    fn times_begin_at_zero_and_what_is_unknown_holds_on() {
        let samples = [
            sample(500, None),
            sample(1500, Some(2.0)),
            sample(2500, None),
            sample(3750, Some(0.001)),
        ];
        assert_eq!(written(&samples), "time_s,rate_mbit_s\n0,2.0\n2.25,0.001\n");
    }

    #[test]
    fn a_pause_of_the_recorder_takes_no_time() {
        let mut samples: Vec<Sample> = (0..5).map(|at| sample(at * 1000, Some(1.0))).collect();
        samples.extend((0..3).map(|at| sample(9_000_000 + at * 1000, Some(2.0))));
        samples.extend((0..3).map(|at| sample(5_000_000 + at * 1000, Some(3.0))));
        let log = log(&samples).expect("a log");
        assert_eq!(log.pauses, 2);
        let text = String::from_utf8(log.content).expect("text");
        assert!(text.contains("\n4,1.0\n5,2.0\n6,2.0\n7,2.0\n8,3.0\n"), "{text}");
    }

    #[test]
    fn a_short_step_back_is_an_error() {
        let samples = [sample(0, Some(1.0)), sample(2000, Some(1.0)), sample(1000, Some(1.0))];
        let error = log(&samples).expect_err("must be refused").to_string();
        assert_eq!(
            error,
            "line 1: the time 1 s follows the later time 2 s: sort the lines by time"
        );
    }

    #[test]
    fn a_shorter_last_interval_stays_short() {
        let mut samples = [sample(0, Some(1.0)), sample(1000, Some(2.0)), sample(2000, Some(4.0))];
        samples[2].duration_ns = Some(100_000_000);
        assert_eq!(written(&samples), "time_s,rate_mbit_s\n0,1.0\n1,2.0\n2,4.0\n2.05,4.0\n");
    }
}
