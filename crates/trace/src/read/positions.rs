//! Drives with positions and bytes: HSDPA logs from Oslo (Riiser et al., MMSys 2013) and LTE logs
//! from Ghent (van der Hooft et al., IEEE Communications Letters 2016).
//!
//! Each line contains six numbers: the time since 1970 in s or ms, the time of another clock in
//! ms, latitude, longitude, the bytes received since the previous line, and the time in ms in
//! which they were received.

use super::number::Number;
use super::samples::Sample;

/// The rates in a log with positions and bytes; `None` if the text is not such a log.
///
/// Some copies of these logs omit columns; then the time is in ms, and the last two columns are
/// bytes and ms.
pub(super) fn samples(text: &str) -> Option<Vec<Sample>> {
    let mut samples = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let fields = line.split([' ', '\t', ',', ';']).filter(|field| !field.is_empty());
        let numbers: Option<Vec<Number>> =
            fields.map(|field| Number::parse(field, false)).collect();
        let numbers = numbers?;
        let (clock, bytes, length_ms) = match numbers[..] {
            [time, clock, latitude, longitude, bytes, length_ms] => {
                let is_place = latitude.value().abs() <= 90.0 && longitude.value().abs() <= 180.0;
                let is_epoch = time.is_whole() && (1e8..1e14).contains(&time.value());
                (is_place && is_epoch).then_some((clock, bytes, length_ms))?
            }
            [time, .., bytes, length_ms] if numbers.len() < 6 => {
                let is_epoch_ms = (1e11..1e14).contains(&time.value());
                is_epoch_ms.then_some((time, bytes, length_ms))?
            }
            _ => return None,
        };
        let are_counts = [clock, bytes, length_ms]
            .iter()
            .all(|number| number.is_whole() && number.value() >= 0.0);
        if !are_counts || length_ms.value() > LONGEST_MS {
            return None;
        }
        let (clock_ns, length_ns) = (clock.times(1_000_000)?, length_ms.times(1_000_000)?);
        if length_ns == 0 {
            continue;
        }
        samples.push(Sample {
            line: index + 1,
            start_ns: clock_ns.checked_sub(length_ns)?,
            mbit_s: Some(bytes.value() * 8.0 / length_ms.value() / 1e3),
            duration_ns: Some(length_ns),
        });
    }
    (!samples.is_empty()).then_some(samples)
}

/// Upper bound on the time between two lines.
const LONGEST_MS: f64 = 100_000.0;
