//! Text reports of iperf3 and iperf: a line for each stream and interval.
//!
//! ```text
//! [  5]   0.00-1.00   sec  1.60 MBytes  13.4 Mbits/sec
//! [SUM]   0.00-1.00   sec  3.89 MBytes  32.7 Mbits/sec
//! [  7][RX-C]   0.00-1.00   sec  1.60 MBytes  13.4 Mbits/sec
//! ```
//!
//! With the option `-y C`, iperf writes the same data as columns:
//!
//! ```text
//! 20230501120000,10.0.0.2,4444,10.0.0.1,5001,3,0.0-1.0,1600000,12800000
//! ```
//!
//! With `--bidir`, only the received stream counts. Omitted intervals and summaries at the end are
//! ignored.

use super::number::Number;
use super::samples::Sample;
use super::unit::Unit;

/// Whether a text is an iperf report.
pub(super) fn is_report(text: &str) -> bool {
    text.lines().take(2000).any(|line| Interval::read(line).is_some())
}

/// Name of the report's form.
pub(super) fn form(text: &str) -> &'static str {
    let head = || text.lines().take(2000);
    if head().any(|line| line.starts_with("Client connecting to") || line.contains("on TCP port")) {
        "iperf report"
    } else if head().find_map(Interval::read).is_some_and(|interval| interval.is_columns) {
        "iperf CSV"
    } else {
        "iperf3 report"
    }
}

/// The total rate of all streams in each interval; tests that follow each other in the file follow
/// each other in time.
pub(super) fn samples(text: &str) -> Vec<Sample> {
    let has_received = text.lines().any(|line| line.contains("[RX-"));
    let has_sums =
        text.lines().any(|line| Interval::read(line).is_some_and(|interval| interval.is_sum));
    let mut samples: Vec<Sample> = Vec::new();
    // Start and last end of the current test; a line that begins at 0 again starts another test.
    let (mut begin_s, mut end_s, mut last_start_s) = (0.0, 0.0_f64, None);
    for (index, line) in text.lines().enumerate() {
        let Some(interval) = Interval::read(line) else { continue };
        let length_s = interval.end_s - interval.start_s;
        // iperf 2 does not mark its summary, but it is far longer than an interval.
        let is_total = interval.is_total
            || (interval.start_s == 0.0
                && !samples.is_empty()
                && length_s > 1.5 * longest_s(&samples));
        let is_other = (has_received && !interval.is_received) || (has_sums && !interval.is_sum);
        if is_total || is_other || line.contains("(omitted)") {
            continue;
        }
        if last_start_s == Some(interval.start_s) {
            // Parallel streams.
            let last = samples.last_mut().expect("the element was the last of the list");
            last.mbit_s = last.mbit_s.map(|mbit_s| mbit_s + interval.mbit_s);
            continue;
        }
        if interval.start_s < end_s - 1e-9 {
            begin_s += end_s;
            end_s = 0.0;
        }
        end_s = end_s.max(interval.end_s);
        last_start_s = Some(interval.start_s);
        samples.push(Sample {
            line: index + 1,
            start_ns: nanos(begin_s + interval.start_s),
            mbit_s: Some(interval.mbit_s),
            duration_ns: Some(nanos(length_s)),
        });
    }
    samples
}

pub(super) fn nanos(seconds: f64) -> i64 {
    libm::round(seconds * 1e9) as i64
}

fn longest_s(samples: &[Sample]) -> f64 {
    let lengths = samples.iter().filter_map(|sample| sample.duration_ns);
    lengths.max().map_or(0.0, |ns| ns as f64 / 1e9)
}

/// A line of a report.
struct Interval {
    is_sum: bool,
    is_received: bool,
    /// Whether the line is in the form of the option `-y C`.
    is_columns: bool,
    /// Whether the line summarises all intervals.
    is_total: bool,
    start_s: f64,
    end_s: f64,
    mbit_s: f64,
}

impl Interval {
    fn read(line: &str) -> Option<Self> {
        let Some(at) = line.find('[') else { return Self::read_columns(line) };
        let (name, rest) = line[at + 1..].split_once(']')?;
        let name = name.trim();
        let is_sum = name == "SUM";
        // iperf3's `--timestamps` puts a time first, which may also be in brackets.
        if !is_sum
            && !name.bytes().all(|byte| byte.is_ascii_digit() || byte == b'*' || byte == b' ')
        {
            return Self::read(rest);
        }
        let (role, rest) = match rest.trim_start().strip_prefix('[') {
            Some(inside) => inside.split_once(']')?,
            None => ("", rest),
        };
        let mut words = rest.split_ascii_whitespace();
        let mut range = words.next()?.to_owned();
        if range.ends_with('-') {
            range.push_str(words.next()?);
        }
        let (start_s, end_s) = range_s(&range)?;
        if !words.next()?.starts_with("sec") {
            return None;
        }
        let words: Vec<&str> = words.collect();
        let (value, unit) = words.windows(2).find_map(|pair| {
            let unit = Unit::find(pair[1]).filter(|unit| unit.is_rate && pair[1].contains('/'))?;
            Some((Number::parse(pair[0], false)?.value(), (unit, pair[1])))
        })?;
        // iperf's byte units are powers of 2, its bit units powers of 10.
        let binary = match unit.1 {
            "KBytes/sec" => 1024.0 / 1e3,
            "MBytes/sec" => 1_048_576.0 / 1e6,
            "GBytes/sec" => 1_073_741_824.0 / 1e9,
            _ => 1.0,
        };
        let is_total = words.iter().any(|word| matches!(*word, "sender" | "receiver"));
        let is_received = role.starts_with("RX");
        let mbit_s = unit.0.megabits(value) * binary;
        let is_columns = false;
        Some(Self { is_sum, is_received, is_columns, is_total, start_s, end_s, mbit_s })
    }

    /// Reads a line in the form of `-y C`: time, addresses and ports, number of the stream,
    /// interval, bytes, bit/s.
    fn read_columns(line: &str) -> Option<Self> {
        let cells: Vec<&str> = line.trim().split(',').collect();
        let [stamp, _, _, _, _, stream, range, bytes, bit_s, ..] = cells[..] else { return None };
        let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let stamp = stamp.split_once('.').map_or(stamp, |(whole, _)| whole);
        if stamp.len() != 14 || !is_digits(stamp) || !is_digits(bytes) {
            return None;
        }
        let (start_s, end_s) = range_s(range)?;
        Some(Self {
            is_sum: stream == "-1",
            is_received: false,
            is_columns: true,
            is_total: false,
            start_s,
            end_s,
            mbit_s: Number::parse(bit_s, false)?.value() / 1e6,
        })
    }
}

/// Reads `0.00-1.00`.
fn range_s(text: &str) -> Option<(f64, f64)> {
    let (start, end) = text.split_once('-')?;
    let seconds = |text: &str| Number::parse(text, false).map(Number::value).filter(|&s| s < 1e8);
    let (start_s, end_s) = (seconds(start)?, seconds(end)?);
    (end_s > start_s && start_s >= 0.0).then_some((start_s, end_s))
}
