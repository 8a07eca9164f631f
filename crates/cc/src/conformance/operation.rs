//! Examples for the conformance suite: a sender's initial state and a sequence of operations.

use std::collections::BTreeMap;
use std::fmt;

use cwndlab_units::Stream;

use crate::algorithm::Algorithm;

/// Maximum congestion window that is tried, in packets: about 2^30 bytes.
pub(crate) const LARGEST_WINDOW_PKTS: u32 = 1 << 20;

/// An event of a sender, as the Linux endpoint reports it to an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operation {
    /// One ACK that acknowledges this many packets, at most the window.
    Ack { packets: u32, rtt_us: Option<u32>, is_ce: bool },
    /// ACKs of two packets each, at equal intervals.
    Stretch { acks: u32, gap_us: u32 },
    /// A loss, or an echoed congestion mark, with a recovery that ends at once.
    Loss { is_mark: bool },
    /// A retransmission timeout and the recovery from it.
    Timeout,
    /// The last window reduction proves to be spurious.
    Undo,
    /// An idle period, possibly a restart of the window, and the first packet.
    Idle { ms: u32, does_restart: bool },
    /// A packet arrives with or without a congestion mark.
    Received { is_ce: bool },
    /// The window starts to limit the sender, or stops limiting it.
    Limited { is_cwnd_limited: bool },
}

impl Operation {
    pub(crate) fn draw(stream: &mut Stream) -> Self {
        let is_so = stream.below(2) == 1;
        match stream.below(19) {
            0..6 => {
                let rtt_us = match stream.below(3) {
                    0 => None,
                    1 => Some(stream.below(5_000_000) as u32),
                    _ => Some(1_000 + stream.below(199_000) as u32),
                };
                Self::Ack { packets: 1 + stream.below(199) as u32, rtt_us, is_ce: is_so }
            }
            6..12 => Self::Stretch {
                acks: 1 + stream.below(499) as u32,
                gap_us: 1 + stream.below(19_999) as u32,
            },
            12..14 => Self::Loss { is_mark: is_so },
            14 => Self::Timeout,
            15 => Self::Undo,
            16 => Self::Idle { ms: stream.below(1_000_000) as u32, does_restart: is_so },
            17 => Self::Received { is_ce: is_so },
            _ => Self::Limited { is_cwnd_limited: is_so },
        }
    }
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Ack { packets, rtt_us, is_ce } => {
                let mark = if is_ce { ", marked" } else { "" };
                match rtt_us {
                    Some(us) => write!(f, "an ACK of {packets} (RTT {us} us{mark})"),
                    None => write!(f, "an ACK of {packets} (no RTT sample{mark})"),
                }
            }
            Self::Stretch { acks, gap_us } => write!(f, "{acks} ACKs of 2, {gap_us} us apart"),
            Self::Loss { is_mark: false } => f.write_str("a loss"),
            Self::Loss { is_mark: true } => f.write_str("a congestion mark"),
            Self::Timeout => f.write_str("a timeout"),
            Self::Undo => f.write_str("an undo"),
            Self::Idle { ms, does_restart: false } => write!(f, "{ms} ms of silence"),
            Self::Idle { ms, does_restart: true } => write!(f, "{ms} ms of silence and a restart"),
            Self::Received { is_ce } => {
                write!(f, "a packet with{} mark", if is_ce { " a" } else { "out a" })
            }
            Self::Limited { is_cwnd_limited: true } => f.write_str(
                "the window limits the sender \
                again",
            ),
            Self::Limited { is_cwnd_limited: false } => f.write_str(
                "the window no longer limits \
                the sender",
            ),
        }
    }
}

/// A sender's initial state and the operations that follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Example {
    pub(crate) parameters: BTreeMap<String, i64>,
    pub(crate) window_pkts: u32,
    pub(crate) sequence: u32,
    pub(crate) jiffies: u32,
    pub(crate) operations: Vec<Operation>,
    /// See [`crate::Suite::is_module`].
    pub(crate) is_module: bool,
}

impl Example {
    /// Draws a random example with `length` operations; about half of the examples have random
    /// parameters.
    pub(crate) fn draw(
        algorithm: Algorithm,
        stream: &mut Stream,
        length: usize,
        is_module: bool,
    ) -> Self {
        let is_tuned = stream.below(2) == 1 && !is_module;
        let window = if stream.below(2) == 0 { 100 } else { u64::from(LARGEST_WINDOW_PKTS) };
        Self {
            parameters: if is_tuned { parameters(algorithm, stream) } else { BTreeMap::new() },
            window_pkts: 1 + stream.below(window) as u32,
            sequence: stream.next_u64() as u32,
            // The kernel's jiffies wrap five minutes after boot.
            jiffies: if stream.below(2) == 0 { u32::MAX - 500 } else { stream.next_u64() as u32 },
            operations: (0..length).map(|_| Operation::draw(stream)).collect(),
            is_module,
        }
    }
}

/// Draws a value for each parameter: a bound, the default, or a random valid value.
fn parameters(algorithm: Algorithm, stream: &mut Stream) -> BTreeMap<String, i64> {
    let value = |p: &crate::ParameterInfo, stream: &mut Stream| match stream.below(5) {
        0 => p.min,
        1 => p.max,
        2 | 3 => p.default,
        _ => p.min + stream.below((p.max - p.min) as u64 + 1) as i64,
    };
    algorithm.parameters().iter().map(|p| (p.name.to_owned(), value(p, stream))).collect()
}

impl fmt::Display for Example {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a window of {}", self.window_pkts)?;
        for operation in &self.operations {
            write!(f, ", {operation}")?;
        }
        for (n, (name, value)) in self.parameters.iter().enumerate() {
            write!(f, "{}{name} = {value}", if n == 0 { "; with " } else { ", " })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_told_in_words() {
        let example = Example {
            parameters: BTreeMap::from([("beta".into(), 1), ("gain".into(), 7)]),
            window_pkts: 12,
            sequence: 0,
            jiffies: 0,
            operations: vec![
                Operation::Ack { packets: 3, rtt_us: Some(20_000), is_ce: true },
                Operation::Ack { packets: 1, rtt_us: None, is_ce: false },
                Operation::Timeout,
                Operation::Received { is_ce: false },
            ],
            is_module: false,
        };
        assert_eq!(
            example.to_string(),
            "a window of 12, an ACK of 3 (RTT 20000 us, marked), an ACK of 1 (no RTT sample), a \
             timeout, a packet without a mark; with beta = 1, gain = 7"
        );
    }

    #[test]
    fn every_operation_and_every_bound_is_drawn() {
        let cubic = Algorithm::by_name("cubic").expect("cubic is there");
        let mut stream = Stream::new(1, "test");
        let examples: Vec<Example> =
            (0..500).map(|_| Example::draw(cubic, &mut stream, 20, false)).collect();
        let has = |wanted: fn(&Operation) -> bool| {
            assert!(examples.iter().flat_map(|e| &e.operations).any(wanted));
        };
        has(|o| matches!(o, Operation::Ack { rtt_us: None, .. }));
        has(|o| matches!(o, Operation::Loss { is_mark: true }));
        has(|o| matches!(o, Operation::Timeout));
        has(|o| matches!(o, Operation::Undo));
        has(|o| matches!(o, Operation::Idle { does_restart: true, .. }));
        has(|o| matches!(o, Operation::Received { is_ce: true }));
        has(|o| matches!(o, Operation::Limited { is_cwnd_limited: false }));
        for p in cubic.parameters() {
            for value in [p.min, p.max, p.default] {
                assert!(
                    examples.iter().any(|e| e.parameters.get(p.name) == Some(&value)),
                    "{} is never {value}",
                    p.name
                );
            }
        }
        assert!(examples.iter().any(|e| e.window_pkts < 4));
        assert!(examples.iter().any(|e| e.window_pkts > LARGEST_WINDOW_PKTS / 2));
    }
}
