//! Drives with positions and bytes: logs of HSDPA in Oslo (Riiser et al., MMSys 2013) and of LTE in
//! Ghent (van der Hooft et al., IEEE Communications Letters 2016).
//!
//! Six numbers in a line: the time since 1970 in s or ms, the time of some clock in ms, latitude,
//! longitude, the bytes that arrived since the line before, and in how many ms they did.

use super::number::Number;
use super::samples::Sample;

/// The rates of such a log; nothing if a text is none.
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
        let [time, clock, latitude, longitude, bytes, length_ms] = numbers[..] else { return None };
        let is_place = latitude.value().abs() <= 90.0 && longitude.value().abs() <= 180.0;
        let are_counts = bytes.is_whole() && length_ms.is_whole() && clock.is_whole();
        let is_epoch = time.is_whole() && (1e8..1e14).contains(&time.value());
        if !is_place || !are_counts || !is_epoch || bytes.value() < 0.0 || length_ms.value() < 0.0 {
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
