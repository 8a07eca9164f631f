//! Sequence numbers: a circle of 2^32 bytes (RFC 9293 section 3.4).

/// Whether `a` comes before `b`.
#[inline]
pub const fn before(a: u32, b: u32) -> bool {
    (a.wrapping_sub(b) as i32) < 0
}

/// Whether `a` comes after `b`.
#[inline]
pub const fn after(a: u32, b: u32) -> bool {
    before(b, a)
}

/// The later of two.
#[inline]
pub const fn later(a: u32, b: u32) -> u32 {
    if before(a, b) { b } else { a }
}

/// The earlier of two.
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
    }
}
