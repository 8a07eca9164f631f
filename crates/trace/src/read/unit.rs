//! Units of rates, sizes and times, as written in column names, cells and options.

/// The unit of a column: bits or bytes, per second or per row.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Unit {
    /// Name in messages.
    pub text: &'static str,
    /// Bits in one unit: a number of units times this value, divided by `per_megabit`, is in
    /// megabits.
    bits: f64,
    per_megabit: f64,
    /// Whether the unit is that of a rate; otherwise it is that of a size.
    pub is_rate: bool,
}

impl Unit {
    pub(super) const MBIT_S: Self = Self::rate("Mbit/s", 1.0, 1.0);
    pub(super) const KBIT_S: Self = Self::rate("kbit/s", 1.0, 1e3);
    pub(super) const BIT_S: Self = Self::rate("bit/s", 1.0, 1e6);
    pub(super) const BYTES: Self = Self::size("bytes", 8.0, 1e6);

    const fn rate(text: &'static str, bits: f64, per_megabit: f64) -> Self {
        Self { text, bits, per_megabit, is_rate: true }
    }

    const fn size(text: &'static str, bits: f64, per_megabit: f64) -> Self {
        Self { text, bits, per_megabit, is_rate: false }
    }

    /// Converts a number of these units to Mbit/s, or a size to Mbit.
    pub(super) fn megabits(self, count: f64) -> f64 {
        count * self.bits / self.per_megabit
    }

    /// The unit that occurs in a column name, a cell or an option: `Mbits/sec`, `DL throughput
    /// (kbps)`, `rx_bytes`.
    pub(super) fn find(text: &str) -> Option<Self> {
        let words = words(text);
        (0..words.len()).find_map(|at| {
            let word = words[at];
            if let Some(stem) = word.strip_suffix("ps").or_else(|| word.strip_suffix("PS")) {
                // In a word in capitals, B does not stand for byte.
                let stem = if word.ends_with("PS") { stem.to_lowercase() } else { stem.to_owned() };
                if let Some(unit) = Self::named(&stem, true) {
                    return Some(unit);
                }
            }
            let is_second = |word: &&str| {
                matches!(word.to_lowercase().as_str(), "s" | "sec" | "second" | "seconds")
            };
            let rest = words.get(at + 1..).unwrap_or_default();
            let rest = rest.strip_prefix(&["per"]).unwrap_or(rest);
            Self::named(word, rest.first().is_some_and(is_second))
        })
    }

    /// The unit of a rate or a size that a single word names.
    fn named(word: &str, is_rate: bool) -> Option<Self> {
        if is_rate {
            return Some(match word {
                "b" | "bit" | "bits" => Self::BIT_S,
                "B" | "byte" | "bytes" | "Byte" | "Bytes" | "octets" => {
                    Self::rate("bytes/s", 8.0, 1e6)
                }
                "kB" | "KB" => Self::rate("kB/s", 8.0, 1e3),
                "MB" => Self::rate("MB/s", 8.0, 1.0),
                "GB" => Self::rate("GB/s", 8e3, 1.0),
                "KiB" => Self::rate("KiB/s", 8.0 * 1024.0, 1e6),
                "MiB" => Self::rate("MiB/s", 8.0 * 1_048_576.0, 1e6),
                _ => match word.to_lowercase().as_str() {
                    "bit" | "bits" => Self::BIT_S,
                    "kb" | "kbit" | "kbits" | "kilobit" | "kilobits" => Self::KBIT_S,
                    "mb" | "mbit" | "mbits" | "megabit" | "megabits" => Self::MBIT_S,
                    "gb" | "gbit" | "gbits" | "gigabit" | "gigabits" => {
                        Self::rate("Gbit/s", 1e3, 1.0)
                    }
                    "kbyte" | "kbytes" | "kilobyte" | "kilobytes" => Self::rate("kB/s", 8.0, 1e3),
                    "mbyte" | "mbytes" | "megabyte" | "megabytes" => Self::rate("MB/s", 8.0, 1.0),
                    "gbyte" | "gbytes" | "gigabyte" | "gigabytes" => Self::rate("GB/s", 8e3, 1.0),
                    _ => return None,
                },
            });
        }
        Some(match word {
            "kB" | "KB" => Self::size("kB", 8.0, 1e3),
            "MB" => Self::size("MB", 8.0, 1.0),
            "KiB" => Self::size("KiB", 8.0 * 1024.0, 1e6),
            "MiB" => Self::size("MiB", 8.0 * 1_048_576.0, 1e6),
            _ => match word.to_lowercase().as_str() {
                "bits" => Self::size("bits", 1.0, 1e6),
                "kbit" | "kbits" | "kilobits" => Self::size("kbit", 1.0, 1e3),
                "mbit" | "mbits" | "megabits" => Self::size("Mbit", 1.0, 1.0),
                "byte" | "bytes" | "octets" => Self::BYTES,
                "kbyte" | "kbytes" | "kilobytes" => Self::size("kB", 8.0, 1e3),
                "mbyte" | "mbytes" | "megabytes" => Self::size("MB", 8.0, 1.0),
                _ => return None,
            },
        })
    }
}

/// The unit of time with this name, in nanoseconds.
pub(super) fn time_unit_ns(text: &str) -> Option<i64> {
    words(text).iter().rev().find_map(|word| {
        Some(match word.to_lowercase().as_str() {
            "ns" | "nsec" | "nanosecond" | "nanoseconds" => 1,
            "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "microsecond" | "microseconds" => 1_000,
            "ms" | "msec" | "millis" | "millisecond" | "milliseconds" => 1_000_000,
            "s" | "sec" | "secs" | "second" | "seconds" => 1_000_000_000,
            "min" | "minute" | "minutes" => 60_000_000_000,
            _ => return None,
        })
    })
}

/// The words of a column name, with their case unchanged: `rxBytes_per sec` has `rx`, `Bytes`,
/// `per`, `sec`.
pub(super) fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for run in text.split(|c: char| !c.is_alphabetic()) {
        let mut begin = 0;
        let mut before: Option<char> = None;
        for (at, letter) in run.char_indices() {
            let begins = letter.is_uppercase() && before.is_some_and(char::is_lowercase);
            // The prefixes of kB and KiB are not separate words.
            let is_prefix = |word: &str| word.len() == 1 || ["Ki", "Mi", "Gi"].contains(&word);
            if begins && !is_prefix(&run[begin..at]) {
                words.push(&run[begin..at]);
                begin = at;
            }
            before = Some(letter);
        }
        if begin < run.len() {
            words.push(&run[begin..]);
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(text: &str) -> Option<&'static str> {
        Unit::find(text).map(|unit| unit.text)
    }

    #[test]
    fn rates_are_found_in_names_and_cells() {
        for text in ["Mbit/s", "Mbits/sec", "Mbps", "MBPS", "download_mbit_s", "Throughput (Mb/s)"]
        {
            assert_eq!(unit(text), Some("Mbit/s"), "{text}");
        }
        for text in ["kbps", "Kbits/sec", "DL_kbit_s", "throughputKbps", "bw [kb/s]"] {
            assert_eq!(unit(text), Some("kbit/s"), "{text}");
        }
        assert_eq!(unit("bits_per_second"), Some("bit/s"));
        assert_eq!(unit("bps"), Some("bit/s"));
        assert_eq!(unit("rate_gbps"), Some("Gbit/s"));
        assert_eq!(unit("MB/s"), Some("MB/s"));
        assert_eq!(unit("MBps"), Some("MB/s"));
        assert_eq!(unit("kBps"), Some("kB/s"));
        assert_eq!(unit("bytes/sec"), Some("bytes/s"));
        assert_eq!(unit("MBytes/sec"), Some("MB/s"));
    }

    #[test]
    fn sizes_are_found_and_words_that_only_look_alike_are_not() {
        assert_eq!(unit("rx_bytes"), Some("bytes"));
        assert_eq!(unit("rxBytes"), Some("bytes"));
        assert_eq!(unit("transferred (KB)"), Some("kB"));
        for text in
            ["throughput", "speed_km_h", "DL_bitrate", "time_s", "steps", "GPS", "b", "RSRP"]
        {
            assert_eq!(unit(text), None, "{text}");
        }
    }

    #[test]
    fn units_count_in_megabits() {
        let megabits = |text: &str, count| Unit::find(text).expect("a unit").megabits(count);
        assert_eq!(megabits("kbit/s", 3001.0), 3.001);
        assert_eq!(megabits("MB/s", 2.0), 16.0);
        assert_eq!(megabits("bytes", 125_000.0), 1.0);
        assert_eq!(megabits("KiB/s", 1000.0), 8.192);
    }

    #[test]
    fn times_have_units_too() {
        assert_eq!(time_unit_ns("time_ms"), Some(1_000_000));
        assert_eq!(time_unit_ns("Time (s)"), Some(1_000_000_000));
        assert_eq!(time_unit_ns("epoch us"), Some(1_000));
        assert_eq!(time_unit_ns("Timestamp"), None);
    }
}
