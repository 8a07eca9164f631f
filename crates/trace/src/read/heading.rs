//! Meaning of the column names in a table.

use super::unit::{Unit, time_unit_ns, words};

/// A column of a table, as described by its name.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Column {
    pub name: String,
    pub meaning: Meaning,
    pub unit: Option<Unit>,
    pub towards: Towards,
    /// Whether the column is a statistic, such as the mean or minimum, of another column.
    pub is_derived: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Meaning {
    Rate,
    /// Number of bytes or bits transferred.
    Size,
    Time,
    /// Duration that the values in a row cover.
    Duration,
    Other,
}

/// Direction of the data that a column counts, according to its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Towards {
    User,
    Unsaid,
    Network,
}

impl Column {
    pub(super) fn named(name: &str) -> Self {
        let lower = name.to_lowercase();
        let parts: Vec<String> = words(name).iter().map(|word| word.to_lowercase()).collect();
        let has = |known: &[&str]| parts.iter().any(|part| known.contains(&part.as_str()));
        let says = |known: &[&str]| known.iter().any(|word| lower.contains(word));
        let towards = if has(&["dl", "down", "rx", "recv", "ingress"])
            || says(&["download", "downlink", "downstream", "receiv", "dlthrou", "dlbit"])
        {
            Towards::User
        } else if has(&["ul", "up", "tx", "egress"])
            || says(&["upload", "uplink", "upstream", "sent", "sender", "ulthrou", "ulbit"])
        {
            Towards::Network
        } else {
            Towards::Unsaid
        };
        // Names of G-NetTrack, whose manual states the unit.
        let of_drive_test = matches!(lower.as_str(), "dl_bitrate" | "ul_bitrate");
        let unit = Unit::find(name).or(of_drive_test.then_some(Unit::KBIT_S));
        let is_delay =
            has(&["rtt", "ping", "latency", "delay", "jitter", "owd", "uptime", "zone", "ttl"])
                || says(&["timezone", "latency", "timeout"]);
        let meaning = match unit {
            Some(unit) if unit.is_rate => Meaning::Rate,
            Some(_) => Meaning::Size,
            None if is_delay => Meaning::Other,
            None if has(&["duration", "dur", "interval", "delta", "dt", "period"]) => {
                Meaning::Duration
            }
            None if is_rate(&lower, &parts) => Meaning::Rate,
            None if is_time(name, &parts) => Meaning::Time,
            None => Meaning::Other,
        };
        let is_derived =
            has(&["avg", "average", "mean", "min", "max", "std", "median", "rolled", "total"]);
        Self { name: name.to_owned(), meaning, unit, towards, is_derived }
    }

    /// The column's number, from 1, and its name, for messages.
    pub(super) fn told(&self, index: usize) -> String {
        if self.name.is_empty() {
            format!("{}", index + 1)
        } else {
            format!("{} \"{}\"", index + 1, crate::error::shorten(&self.name))
        }
    }
}

fn is_rate(lower: &str, parts: &[String]) -> bool {
    const WORDS: [&str; 9] = [
        "throughput",
        "thrpt",
        "thput",
        "tput",
        "bandwidth",
        "bitrate",
        "goodput",
        "datarate",
        "bit rate",
    ];
    const OTHER_RATES: [&str; 10] = [
        "sample", "sampling", "frame", "error", "loss", "packet", "refresh", "heart", "code",
        "coding",
    ];
    // A column named after a direction alone has that direction's rate.
    const DIRECTIONS: [&str; 6] =
        ["download", "upload", "downlink", "uplink", "downstream", "upstream"];
    let has = |word: &str| parts.iter().any(|part| part == word);
    DIRECTIONS.contains(&lower)
        || WORDS.iter().any(|word| lower.contains(word))
        || has("bw")
        || has("tpt")
        || (has("rate") && !OTHER_RATES.iter().any(|word| has(word)))
}

fn is_time(name: &str, parts: &[String]) -> bool {
    const WORDS: [&str; 14] = [
        "time",
        "timestamp",
        "ts",
        "t",
        "date",
        "datetime",
        "epoch",
        "unix",
        "utc",
        "clock",
        "elapsed",
        "timestamps",
        "datum",
        "times",
    ];
    let lower = name.to_lowercase();
    parts.iter().any(|part| WORDS.contains(&part.as_str()))
        || lower.starts_with("timestamp")
        || lower.ends_with("timestamp")
        || (parts.len() == 1 && time_unit_ns(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_columns_are() {
        let meaning = |name: &str| Column::named(name).meaning;
        for name in ["throughput", "DL_bitrate", "download_mbit_s", "Bitrate", "rate", "bw", "Mbps"]
            .into_iter()
            .chain(["download", "Uplink"])
        {
            assert_eq!(meaning(name), Meaning::Rate, "{name}");
        }
        for name in
            ["time", "Timestamp", "time_ms", "Date", "epoch", "t [s]", "seconds", "DateTime"]
        {
            assert_eq!(meaning(name), Meaning::Time, "{name}");
        }
        for name in
            ["speed", "latitude", "longtitu", "area_type", "PINGAVG", "RTT_time", "error_rate"]
        {
            assert_eq!(meaning(name), Meaning::Other, "{name}");
        }
        assert_eq!(meaning("rx_bytes"), Meaning::Size);
        assert_eq!(meaning("duration_ms"), Meaning::Duration);
    }

    #[test]
    fn names_say_directions() {
        let towards = |name: &str| Column::named(name).towards;
        assert_eq!(towards("DL_bitrate"), Towards::User);
        assert_eq!(towards("upload_mbit_s"), Towards::Network);
        assert_eq!(towards("throughput"), Towards::Unsaid);
    }
}
