//! TCP sequence numbers, which wrap around after 2^32 bytes (RFC 9293 section 3.4).

use core::ops::{Add, Sub};

/// A sequence number.
///
/// Sequence numbers have no total order: of two numbers, the later one is ahead of the other by
/// less than half of 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SeqNumber(pub u32);

impl SeqNumber {
    /// Whether this sequence number comes before another.
    #[inline]
    pub const fn is_before(self, other: Self) -> bool {
        (self.0.wrapping_sub(other.0) as i32) < 0
    }

    /// Returns the number nearest to `near` among those with these lower 32 bits. This extends
    /// sequence numbers beyond 32 bits.
    #[inline]
    pub const fn near(self, near: u64) -> u64 {
        let distance = self.0.wrapping_sub(near as u32) as i32;
        near.saturating_add_signed(distance as i64)
    }
}

impl Add<u32> for SeqNumber {
    type Output = Self;

    #[inline]
    fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

impl Sub for SeqNumber {
    type Output = i32;

    /// Returns by how many bytes this sequence number is ahead of another.
    #[inline]
    fn sub(self, other: Self) -> i32 {
        self.0.wrapping_sub(other.0) as i32
    }
}

/// Whether sequence number `a` comes before `b`.
#[inline]
pub const fn before(a: u32, b: u32) -> bool {
    SeqNumber(a).is_before(SeqNumber(b))
}

/// Whether sequence number `a` comes after `b`.
#[inline]
pub const fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// Returns the later of two sequence numbers.
#[inline]
pub const fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

/// Returns the earlier of two sequence numbers.
#[inline]
pub const fn earlier(a: u32, b: u32) -> u32 {
    if before(a, b) { a } else { b }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_survives_the_wrap() {
        assert!(before(u32::MAX, 0));
        assert!(after(5, u32::MAX - 5));
        assert!(!before(7, 7) && !after(7, 7));
        assert_eq!((later(u32::MAX, 3), earlier(u32::MAX, 3)), (3, u32::MAX));
        let last = SeqNumber(u32::MAX);
        assert!(last.is_before(last + 1) && !(last + 1).is_before(last));
        assert_eq!((last + 3 - last, last - (last + 3)), (3, -3));
    }

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        let near = (1_u64 << 32) + 5;
        assert_eq!(SeqNumber(7).near(near), near + 2);
        assert_eq!(SeqNumber(0xffff_ffff).near(near), (1 << 32) - 1);
        assert_eq!(SeqNumber(0).near(0xffff_fff0), 1 << 32);
    }
}
