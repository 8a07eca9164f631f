//! A summary of how a file was interpreted, in one line for people.

use core::fmt;

use cwndlab_units::Duration;

/// How a file of a recorded link was interpreted.
#[derive(Clone, PartialEq, Debug)]
pub struct Understood {
    /// The form of the file, such as `Mahimahi trace`, `CSV` or `iperf3 JSON`.
    pub form: &'static str,
    /// How the rates were interpreted, if the trace consists of rates.
    pub rates: Option<UnderstoodRates>,
    /// Number of delivery opportunities, if the trace consists of these.
    pub opportunities: Option<usize>,
    /// The time after which the trace repeats.
    pub duration: Duration,
    /// Further steps of the interpretation, for people.
    pub notes: Vec<String>,
}

/// How the rates of a trace were interpreted.
#[derive(Clone, PartialEq, Debug)]
pub struct UnderstoodRates {
    /// Time between the samples of the rate.
    pub pace: Pace,
    /// Unit of the rates.
    pub unit: &'static str,
    /// The column of the rate: its number, from 1, and its name.
    pub column: Option<(usize, String)>,
}

/// Frequency of samples.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Number of samples.
    pub samples: usize,
    /// Usual time from one sample to the next.
    pub step: Duration,
}

impl Pace {
    pub(super) fn of(samples: usize, step_ns: i64) -> Self {
        Self { samples, step: Duration::from_nanos(step_ns.unsigned_abs()) }
    }
}

impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let step_s = self.step.as_secs_f64();
        let per_second = libm::round(1.0 / step_s);
        if (0.995..1.005).contains(&step_s) {
            f.write_str("a sample a second")
        } else if step_s < 1.0 && (step_s * per_second - 1.0).abs() < 0.005 {
            write!(f, "{} samples a second", thousands(per_second as u64))
        } else if step_s < 1.0 {
            write!(f, "a sample every {} ms", trimmed(step_s * 1e3))
        } else {
            write!(f, "a sample every {} s", trimmed(step_s))
        }
    }
}

impl fmt::Display for Understood {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.form)?;
        let mut parts = Vec::new();
        if let Some(rates) = &self.rates {
            parts.push(rates.pace.to_string());
            parts.push(rates.unit.to_owned());
            if let Some((number, name)) = &rates.column {
                let name = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
                parts.push(format!("column {number}{name}"));
            }
        }
        if let Some(opportunities) = self.opportunities {
            let count = thousands(opportunities as u64);
            parts.push(format!("{count} delivery opportunities of 1,504 bytes"));
        }
        parts.push(format!("{} s", trimmed(self.duration.as_secs_f64())));
        parts.extend(self.notes.iter().cloned());
        write!(f, ": {}", parts.join(", "))
    }
}

/// Formats a number with at most three decimals, no trailing zeros, and commas between thousands.
pub(crate) fn trimmed(number: f64) -> String {
    let text = format!("{number:.3}");
    let (whole, fraction) = text.split_once('.').expect("three decimals");
    let whole = thousands(whole.parse().unwrap_or(u64::MAX));
    match fraction.trim_end_matches('0') {
        "" => whole,
        fraction => format!("{whole}.{fraction}"),
    }
}

pub(crate) fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_told_in_a_line() {
        let mut understood = Understood {
            form: "CSV",
            rates: Some(UnderstoodRates {
                pace: Pace::of(1204, 1_000_000_000),
                unit: "Mbit/s",
                column: Some((2, "throughput".to_owned())),
            }),
            opportunities: None,
            duration: Duration::from_secs(1204),
            notes: Vec::new(),
        };
        let said = "CSV: a sample a second, Mbit/s, column 2 \"throughput\", 1,204 s";
        assert_eq!(understood.to_string(), said);
        understood.notes.push("2 pauses left out".to_owned());
        assert_eq!(understood.to_string(), format!("{said}, 2 pauses left out"));
    }

    #[test]
    fn a_pace_is_told_as_people_say_it() {
        let told = |step_ms: i64| Pace::of(9, step_ms * 1_000_000).to_string();
        assert_eq!(told(100), "10 samples a second");
        assert_eq!(told(5_000), "a sample every 5 s");
        assert_eq!(told(1_001), "a sample a second");
        assert_eq!(told(370), "a sample every 370 ms");
    }
}
