//! Derives the random numbers of one run from a study's seed: the run's own seed, and random
//! delays of start times.
//!
//! The seed and the delays are parts of a SHA-256 hash. They depend only on the arguments, and so
//! are the same on any machine and in any order of the runs.

use sha2::{Digest, Sha256};

/// Number of bits of a seed: every JSON reader represents integers of this size exactly.
const SEED_BITS: u32 = 53;

/// Seed of one repetition of a run.
///
/// `cell` contains the settings on which the channel's randomness may depend, as canonical JSON
/// within a JSON string: runs with the same `cell` have the same channel. If `cell` is `None`,
/// repetitions with the same number have the same seed throughout a study.
pub fn run_seed(cell: Option<&str>, repetition: u64, study_seed: u64) -> u64 {
    let named = cell.map(|cell| format!("\"cell\":{cell},")).unwrap_or_default();
    let text = format!("{{{named}\"repetition\":{repetition},\"study\":{study_seed}}}");
    let [a, b, c, d, e, f, g, h, ..] = <[u8; 32]>::from(Sha256::digest(text));
    u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> (u64::BITS - SEED_BITS)
}

/// A random number of nanoseconds that belongs to a name in a run: below `most_ns`, or 0 if
/// `most_ns` is 0.
pub fn drawn_ns(seed: u64, name: &str, most_ns: u64) -> u64 {
    let digest = <[u8; 32]>::from(Sha256::digest(format!("{seed}/{name}")));
    let number = digest[..16].iter().fold(0_u128, |number, &byte| number << 8 | u128::from(byte));
    number.checked_rem(most_ns.into()).unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These values must not change, because stored results are named by them.
    #[test]
    fn seeds_are_those_of_version_0_2() {
        assert_eq!(run_seed(Some(r#""{\"duration_ns\":1}""#), 3, 1), 6_461_971_596_950_460);
        assert_eq!(run_seed(None, 0, 1), 689_551_492_679_761);
        assert_eq!(drawn_ns(5, "flow.0.start", 100_000_000), 92_170_694);
        assert_eq!(drawn_ns(5, "flow.0.start", 0), 0);
    }
}
