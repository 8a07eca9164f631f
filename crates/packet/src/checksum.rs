//! The Internet checksum (RFC 1071), and its update when a single word changes (RFC 1624).

/// Returns the sum of the 16-bit words of some bytes, to which more sums may be added; an odd last
/// byte is the upper half of its word.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks(2)
        .map(|pair| u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)])))
        .sum()
}

/// Returns the checksum for a sum of 16-bit words.
pub(crate) fn checksum(sum: u32) -> u16 {
    !folded(sum)
}

/// Updates the checksum of a header in which one word has changed: RFC 1624 section 3, equation 3.
pub(crate) fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    !folded(u32::from(!checksum) + u32::from(!before) + u32::from(after))
}

fn folded(mut sum: u32) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc_comes_out() {
        // RFC 1071 section 3.
        assert_eq!(folded(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(sum(&[0x12, 0x34, 0x56]), 0x1234 + 0x5600);
    }

    #[test]
    fn an_update_is_what_a_new_sum_would_be() {
        // RFC 1624 section 4.
        assert_eq!(updated(0xdd2f, 0x5555, 0x3285), 0x0000);
        for (before, after) in [(0_u16, 3_u16), (0xb800, 0xb803), (0xffff, 1)] {
            let header = |word: u16| sum(&[0x45, 0, 0x12, 0x34]) + u32::from(word);
            assert_eq!(updated(checksum(header(before)), before, after), checksum(header(after)));
        }
    }
}
