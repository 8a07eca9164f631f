//! Parser for quantities as people write them ("10 Mbit/s", "40 ms", "64 KiB", "1 %"), without
//! rounding.
//!
//! A quantity is converted to an integer number of its smallest unit: bits per second,
//! nanoseconds, bytes, parts per billion. A value that is more precise than this unit is an error,
//! and so is a number without a unit. [`Quantity::format`] writes the shortest text that is read
//! as the same number.

use serde_json::Value;

/// A kind of quantity, such as a rate, and the units in which it can be written. Only the first
/// `written` units are used for output.
#[derive(Debug)]
pub struct Quantity {
    /// Name of the quantity in the tables of keys.
    pub name: &'static str,
    /// Name of the quantity in error messages.
    pub noun: &'static str,
    /// Valid examples.
    pub examples: &'static [&'static str],
    step: &'static str,
    units: &'static [(&'static str, u64)],
    written: usize,
    bounds: Bounds,
}

/// Limits on the value of a quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Bounds {
    /// Any value that fits a 64-bit integer.
    None,
    /// May be negative.
    Signed,
    /// Above 0 and not above a maximum; the text explains why 0 is an error.
    Within(i64, &'static str),
    /// Above 0; the text explains why 0 is an error.
    Positive(&'static str),
    /// Not above a maximum; the text explains why a larger value is an error.
    Most(i64, &'static str),
}

impl Quantity {
    /// Reads a value of a document as an integer number of the smallest unit.
    ///
    /// # Errors
    /// Returns an error if the value is not this quantity; the text shows what to write.
    pub fn read(&self, value: &Value) -> Result<i64, String> {
        match value {
            Value::String(text) => self.parse(text),
            Value::Number(_) => Err(format!("the number has no unit; {}", self.remedy())),
            _ => Err(format!("not a {}; {}", self.noun, self.remedy())),
        }
    }

    /// Parses a text as an integer number of the smallest unit.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`Self::read`].
    pub fn parse(&self, text: &str) -> Result<i64, String> {
        let negative = text.trim_start().strip_prefix('-').filter(|_| self.is_signed());
        if let Some(positive) = negative {
            return self.parse_positive(positive).map(|count| -count);
        }
        let count = self.parse_positive(text)?;
        match self.bounds {
            Bounds::Positive(refusal) | Bounds::Within(_, refusal) if count == 0 => {
                Err(refusal.to_owned())
            }
            Bounds::Within(most, _) if count > most => {
                Err(format!("too large; at most {}", self.format(most)))
            }
            Bounds::Most(most, refusal) if count > most => {
                Err(format!("{refusal}; {}", self.remedy()))
            }
            _ => Ok(count),
        }
    }

    fn is_signed(&self) -> bool {
        self.bounds == Bounds::Signed
    }

    fn remedy(&self) -> String {
        let examples: Vec<String> = self.examples.iter().map(|one| format!("\"{one}\"")).collect();
        format!("write for example {}", examples.join(", "))
    }

    fn parse_positive(&self, text: &str) -> Result<i64, String> {
        let none = || format!("not a {}; {}", self.noun, self.remedy());
        let (number, unit) = Number::parse(text).ok_or_else(none)?;
        if unit.is_empty() {
            return Err(format!("the number has no unit; {}", self.remedy()));
        }
        let Some(&(_, factor)) = self.units.iter().find(|(name, _)| *name == unit) else {
            let is_near = |name: &&str| name.to_lowercase() == unit.to_lowercase();
            let near: Vec<&str> =
                self.units.iter().map(|&(name, _)| name).filter(is_near).collect();
            let hint = match near[..] {
                [one] => format!(" (did you mean \"{one}\"? case matters)"),
                _ => String::new(),
            };
            return Err(format!("{}{hint}", none()));
        };
        match number.times(factor) {
            Ok(count) => Ok(count),
            Err(Misfit::TooLarge) => Err(format!("too large; {}", self.remedy())),
            Err(Misfit::TooFine) => {
                let step = self.step;
                Err(format!("too precise, the smallest step is {step}; {}", self.remedy()))
            }
        }
    }

    /// Writes `count` in the largest unit that needs at most three decimals.
    pub fn format(&self, count: i64) -> String {
        let sign = if count < 0 { "-" } else { "" };
        let count = count.unsigned_abs();
        let units = &self.units[..self.written];
        let fits =
            |factor: u64| count >= factor && (u128::from(count) * 1000) % u128::from(factor) == 0;
        let largest =
            units.iter().filter(|(_, factor)| fits(*factor)).max_by_key(|(_, factor)| *factor);
        let (unit, factor) = *largest.unwrap_or(&units[0]);
        let zero_in_seconds = self.name == "duration" && count == 0;
        let unit = if zero_in_seconds { "s" } else { unit };
        format!("{sign}{} {unit}", decimal(count, factor))
    }
}

/// Limit on the length of a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum QueueLimit {
    /// Packets.
    Packets(u32),
    /// Bytes.
    Bytes(i64),
    /// Thousandths of the bandwidth-delay product.
    MilliBdp(i64),
    /// No limit.
    Unlimited,
}

impl QueueLimit {
    /// Reads the limit of a queue.
    ///
    /// # Errors
    /// Returns an error if the value is not a limit of a queue; the text shows what to write.
    pub fn read(value: &Value) -> Result<Self, String> {
        let text = value.as_str().unwrap_or_default().trim();
        if text == UNLIMITED {
            return Ok(Self::Unlimited);
        }
        let unit = Number::parse(text).map_or("", |(_, unit)| unit);
        let kind = match unit {
            "packets" | "packet" | "pkts" => &QUEUE_PACKETS,
            "BDP" => &QUEUE_BDP,
            _ => &QUEUE_BYTES,
        };
        let count = kind.read(value)?;
        Ok(match unit {
            "packets" | "packet" | "pkts" => Self::Packets(u32::try_from(count).map_err(|_| {
                format!(
                    "too large; for a queue without a limit, write \
                        \"{UNLIMITED}\""
                )
            })?),
            "BDP" => Self::MilliBdp(count),
            _ => Self::Bytes(count),
        })
    }
}

impl core::fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match *self {
            Self::Packets(1) => f.write_str("1 packet"),
            Self::Packets(count) => write!(f, "{count} packets"),
            Self::Bytes(count) => f.write_str(&SIZE.format(count)),
            Self::MilliBdp(count) => write!(f, "{} BDP", decimal(count.unsigned_abs(), 1000)),
            Self::Unlimited => f.write_str(UNLIMITED),
        }
    }
}

/// The word for an unlimited queue.
pub const UNLIMITED: &str = "unlimited";

/// A decimal number with at most 30 digits before and after the decimal point.
#[derive(Clone, Copy, Debug)]
struct Number<'a> {
    whole: &'a str,
    fraction: &'a str,
}

enum Misfit {
    TooLarge,
    TooFine,
}

impl<'a> Number<'a> {
    /// Splits a text into the number and the unit; the unit may be empty.
    fn parse(text: &'a str) -> Option<(Self, &'a str)> {
        let (whole, rest) = digits(text.trim_matches(is_space))?;
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(behind) => digits(behind)?,
            None => ("", rest),
        };
        let unit = rest.trim_matches(is_space);
        (!unit.contains('\n')).then_some((Self { whole, fraction }, unit))
    }

    /// The number times `factor`, which must be an integer.
    fn times(self, factor: u64) -> Result<i64, Misfit> {
        let factor = u128::from(factor);
        let whole: u128 = self.whole.parse().map_err(|_| Misfit::TooLarge)?;
        let whole = whole.checked_mul(factor).ok_or(Misfit::TooLarge)?;
        let fits = |count: u128| i64::try_from(count).map_err(|_| Misfit::TooLarge);
        fits(whole)?;
        let digits = self.fraction.trim_end_matches('0');
        if digits.is_empty() {
            return fits(whole);
        }
        let numerator: u128 = digits.parse().map_err(|_| Misfit::TooFine)?;
        let denominator = 10_u128.pow(u32::try_from(digits.len()).map_err(|_| Misfit::TooFine)?);
        let shared = greatest_common_divisor(numerator, denominator);
        let (numerator, denominator) = (numerator / shared, denominator / shared);
        if factor % denominator != 0 {
            return Err(Misfit::TooFine);
        }
        fits(whole + numerator * (factor / denominator))
    }
}

fn digits(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (1..=30).contains(&end).then(|| text.split_at(end))
}

fn is_space(c: char) -> bool {
    c.is_ascii_whitespace() || c == '\x0b'
}

fn greatest_common_divisor(mut one: u128, mut other: u128) -> u128 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}

/// Writes `count / factor` as a decimal number without rounding; `factor` must have no prime
/// factors other than 2 and 5.
fn decimal(count: u64, factor: u64) -> String {
    let (whole, mut rest) = (count / factor, u128::from(count % factor));
    let factor = u128::from(factor);
    let mut digits = String::new();
    while rest > 0 {
        rest *= 10;
        digits.push(char::from(b'0' + u8::try_from(rest / factor).expect("a digit")));
        rest %= factor;
    }
    if digits.is_empty() { whole.to_string() } else { format!("{whole}.{digits}") }
}

/// The quantity with the given name: `rate`, `duration`, `size`, `share` and so on.
pub fn quantity(name: &str) -> Option<&'static Quantity> {
    QUANTITIES.iter().copied().find(|quantity| quantity.name == name)
}

static QUANTITIES: [&Quantity; 8] =
    [&RATE, &DURATION, &SIZE, &SHARE, &DECIBEL, &POWER, &LENGTH, &FREQUENCY];

const K: u64 = 1000;
const M: u64 = 1_000_000;
const G: u64 = 1_000_000_000;

// Of units with equal factors, the first one is used for output.

/// Bits per second.
pub static RATE: Quantity = Quantity {
    name: "rate",
    noun: "rate",
    examples: &["20 Mbit/s", "2.5 MB/s"],
    step: "1 bit/s",
    units: &[
        ("bit/s", 1),
        ("kbit/s", K),
        ("Mbit/s", M),
        ("Gbit/s", G),
        ("Tbit/s", 1000 * G),
        ("bps", 1),
        ("kbps", K),
        ("Mbps", M),
        ("Gbps", G),
        ("Tbps", 1000 * G),
        ("B/s", 8),
        ("kB/s", 8 * K),
        ("MB/s", 8 * M),
        ("GB/s", 8 * G),
        ("KiB/s", 8 << 10),
        ("MiB/s", 8 << 20),
        ("GiB/s", 8 << 30),
    ],
    written: 4,
    // The fastest Ethernet, IEEE 802.3dj, is 1.6 Tbit/s.
    bounds: Bounds::Within(
        2_000_000_000_000,
        "a rate of 0 would deliver no packets; write periods without service as \"outages\"",
    ),
};

/// Nanoseconds.
pub static DURATION: Quantity = Quantity {
    name: "duration",
    noun: "time",
    examples: &["40 ms", "60 s"],
    step: "1 ns",
    units: &[
        ("ns", 1),
        ("us", K),
        ("ms", M),
        ("s", G),
        ("\u{b5}s", K),
        ("\u{3bc}s", K),
        ("min", 60 * G),
        ("h", 3600 * G),
    ],
    written: 4,
    bounds: Bounds::None,
};

/// Bytes.
pub static SIZE: Quantity = Quantity {
    name: "size",
    noun: "size",
    examples: &["1500 bytes", "64 KiB"],
    step: "1 byte",
    units: SIZE_UNITS,
    written: 4,
    bounds: Bounds::None,
};

const SIZE_UNITS: &[(&str, u64)] = &[
    ("bytes", 1),
    ("kB", K),
    ("MB", M),
    ("GB", G),
    ("byte", 1),
    ("B", 1),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Parts per billion, at most 100 %.
pub static SHARE: Quantity = Quantity {
    name: "share",
    noun: "share",
    examples: &["1 %", "0.05 %"],
    step: "0.0000001 %",
    units: &[("%", 10_000_000)],
    written: 1,
    bounds: Bounds::Most(1_000_000_000, "more than 100 %"),
};

/// Thousandths of a decibel; may be negative.
pub static DECIBEL: Quantity = Quantity {
    name: "decibel",
    noun: "ratio in decibels",
    examples: &["16.5 dB"],
    step: "0.001 dB",
    units: &[("dB", K)],
    written: 1,
    bounds: Bounds::Signed,
};

/// Thousandths of a dBm; may be negative.
pub static POWER: Quantity = Quantity {
    name: "power",
    noun: "power",
    examples: &["20 dBm"],
    step: "0.001 dBm",
    units: &[("dBm", K)],
    written: 1,
    bounds: Bounds::Signed,
};

/// Millimetres; may be negative.
pub static LENGTH: Quantity = Quantity {
    name: "length",
    noun: "length",
    examples: &["2.5 m"],
    step: "1 mm",
    units: &[("mm", 1), ("m", K), ("km", M)],
    written: 3,
    bounds: Bounds::Signed,
};

/// Thousandths of a hertz.
pub static FREQUENCY: Quantity = Quantity {
    name: "frequency",
    noun: "frequency",
    examples: &["20 MHz", "5.8 Hz"],
    step: "0.001 Hz",
    units: &[("Hz", K), ("kHz", M), ("MHz", G), ("GHz", 1000 * G)],
    written: 4,
    bounds: Bounds::None,
};

/// Examples of a queue's limit, for error messages.
pub(crate) const QUEUE_EXAMPLES: &[&str] = &["250 packets", "64 KiB", "1 BDP", UNLIMITED];

const NO_ROOM: &str = "a queue of 0 would let no packet through; the packet in transmission \
     counts, so write at least 1";

static QUEUE_PACKETS: Quantity = Quantity {
    units: &[("packets", 1), ("packet", 1), ("pkts", 1)],
    step: "1 packet",
    ..queue_limit()
};
static QUEUE_BDP: Quantity =
    Quantity { units: &[("BDP", 1000)], step: "0.001 BDP", ..queue_limit() };
static QUEUE_BYTES: Quantity = queue_limit();

const fn queue_limit() -> Quantity {
    Quantity {
        name: "queue",
        noun: "queue limit",
        examples: QUEUE_EXAMPLES,
        step: "1 byte",
        units: SIZE_UNITS,
        written: 1,
        bounds: Bounds::Positive(NO_ROOM),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn quantities_are_exact() {
        assert_eq!(RATE.parse("2.5 MB/s"), Ok(20_000_000));
        assert_eq!(DURATION.parse(" 0.000000001 s "), Ok(1));
        assert_eq!(SIZE.parse("0.000000000931322574615478515625 GiB"), Ok(1));
        assert_eq!(SHARE.parse("100 %"), Ok(1_000_000_000));
        assert_eq!(DECIBEL.parse("-1.5 dB"), Ok(-1500));
        assert_eq!(FREQUENCY.parse("5.8 Hz"), Ok(5800));
        assert_eq!(SIZE.parse("9223372036854775807 bytes"), Ok(i64::MAX));
    }

    #[test]
    fn what_is_none_says_what_to_write() {
        let error = |text: &str| RATE.parse(text).expect_err("no rate");
        assert_eq!(error("10 Tbit/s"), "too large; at most 2000 Gbit/s");
        assert_eq!(error("3000 Gbps"), "too large; at most 2000 Gbit/s");
        assert_eq!(
            error("10"),
            "the number has no unit; write for example \"20 Mbit/s\", \"2.5 MB/s\""
        );
        assert!(error("10 mbit/s").ends_with("(did you mean \"Mbit/s\"? case matters)"));
        assert!(error("0 bit/s").starts_with("a rate of 0 would deliver no packets"));
        assert!(error("0.5 bit/s").starts_with("too precise, the smallest step is 1 bit/s"));
        assert!(error("9223372036854775808 bit/s").starts_with("too large"));
        assert!(error("-1 bit/s").starts_with("not a rate"));
        assert!(SHARE.parse("100.1 %").expect_err("too much").starts_with("more than 100 %"));
        assert!(RATE.read(&json!(10)).expect_err("no text").starts_with("the number has"));
    }

    #[test]
    fn a_queue_is_packets_bytes_or_a_product() {
        let read = |text: &str| QueueLimit::read(&json!(text));
        assert_eq!(read("250 packets"), Ok(QueueLimit::Packets(250)));
        assert_eq!(read("64 KiB"), Ok(QueueLimit::Bytes(65_536)));
        assert_eq!(read("0.5 BDP"), Ok(QueueLimit::MilliBdp(500)));
        assert_eq!(read(" unlimited "), Ok(QueueLimit::Unlimited));
        assert_eq!(read("0 packets"), Err(NO_ROOM.to_owned()));
        assert!(read("4294967296 packets").expect_err("too many").starts_with("too large; for a"));
        for text in ["1 packet", "2 packets", "1.5 BDP", "64 kB", "unlimited"] {
            assert_eq!(read(text).expect("a limit").to_string(), text);
        }
    }

    #[test]
    fn zero_is_written_in_the_usual_unit() {
        assert_eq!(DURATION.format(0), "0 s");
        assert_eq!(SIZE.format(0), "0 bytes");
        assert_eq!(DECIBEL.format(-500), "-0.5 dB");
        assert_eq!(FREQUENCY.format(7), "0.007 Hz");
        assert_eq!(LENGTH.format(-2500), "-2.5 m");
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(count in 0..i64::MAX, negative in any::<bool>()) {
            for quantity in QUANTITIES {
                let count = if negative && quantity.is_signed() { -count } else { count };
                let count = match quantity.bounds {
                    Bounds::Most(most, _) | Bounds::Within(most, _) => count % most,
                    _ => count,
                };
                let text = quantity.format(count);
                if count != 0 {
                    prop_assert_eq!(quantity.parse(&text), Ok(count), "{}", text);
                }
            }
        }

        #[test]
        fn any_text_is_a_quantity_or_a_sentence(text in "\\PC{0,40}") {
            for quantity in QUANTITIES {
                let _ = quantity.parse(&text);
            }
            let _ = QueueLimit::read(&Value::String(text));
        }
    }
}
