//! The TCP option of accurate ECN (RFC 9768 section 3.2.3).
//!
//! The code follows draft-ietf-tcpm-accurate-ecn-34, the text that became RFC 9768.

/// Number of different values of a 24-bit field.
const MODULUS: u32 = 1 << 24;
const FIELD_BYTES: usize = 3;

/// Bytes of payload received with ECT(0), CE and ECT(1): the option contains up to three of these
/// counters, modulo 2^24.
///
/// In order 0, the counters are those of ECT(0), CE and ECT(1); order 1 is the reverse. Counters
/// at the end may be omitted (RFC 9768 table 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EcnOption {
    is_order_1: bool,
    count: u8,
    fields: [[u8; FIELD_BYTES]; 3],
}

impl EcnOption {
    /// AccECN0, the kind of an option in order 0.
    pub const KIND_0: u8 = 172;
    /// AccECN1, the kind of an option in order 1.
    pub const KIND_1: u8 = 174;

    /// Creates an option with the first `count` of the counters ECT(0), CE and ECT(1), or of
    /// ECT(1), CE and ECT(0) in order 1.
    ///
    /// A `count` above three is treated as three.
    pub fn new(is_order_1: bool, count: usize, [ect0, ce, ect1]: [u32; 3]) -> Self {
        let counters = if is_order_1 { [ect1, ce, ect0] } else { [ect0, ce, ect1] };
        let mut option = Self { is_order_1, ..Self::default() };
        for counter in counters.into_iter().take(count) {
            let [_, high, middle, low] = counter.to_be_bytes();
            option.push([high, middle, low]);
        }
        option
    }

    /// Parses the value of an option. If RFC 9768 table 5 does not list the option's length, the
    /// bytes after the last whole field are padding (section 3.2.3). Returns `None` if the option
    /// is of another kind.
    pub(crate) fn parse(kind: u8, value: &[u8]) -> Option<Self> {
        if kind != Self::KIND_0 && kind != Self::KIND_1 {
            return None;
        }
        let mut option = Self { is_order_1: kind == Self::KIND_1, ..Self::default() };
        for field in value.chunks_exact(FIELD_BYTES).take(3) {
            option.push([field[0], field[1], field[2]]);
        }
        Some(option)
    }

    /// The order of the counters, the number of fields, and the fields.
    pub(crate) const fn into_parts(self) -> (bool, u8, [[u8; FIELD_BYTES]; 3]) {
        (self.is_order_1, self.count, self.fields)
    }

    /// Creates an option from the order of the counters, the number of fields, and the fields.
    pub(crate) const fn from_parts(
        is_order_1: bool,
        count: u8,
        fields: [[u8; FIELD_BYTES]; 3],
    ) -> Self {
        Self { is_order_1, count, fields }
    }

    fn push(&mut self, field: [u8; FIELD_BYTES]) {
        self.fields[usize::from(self.count)] = field;
        self.count += 1;
    }

    /// The kind of the option, which depends on the order of the counters.
    pub const fn kind(&self) -> u8 {
        if self.is_order_1 { Self::KIND_1 } else { Self::KIND_0 }
    }

    /// Length in bytes: 2, 5, 8 or 11.
    pub const fn bytes(&self) -> usize {
        2 + FIELD_BYTES * self.count as usize
    }

    /// Length of the option in bytes, padded to whole 32-bit words.
    pub const fn padded_bytes(&self) -> usize {
        self.bytes().next_multiple_of(4)
    }

    /// The fields in the order in which they are sent.
    pub fn fields(&self) -> &[[u8; FIELD_BYTES]] {
        &self.fields[..usize::from(self.count)]
    }

    /// The counters of ECT(0), CE and ECT(1), modulo 2^24; `None` for each omitted counter.
    pub fn counters(&self) -> [Option<u32>; 3] {
        let mut counters = [None; 3];
        for (counter, [high, middle, low]) in counters.iter_mut().zip(self.fields()) {
            *counter = Some(u32::from_be_bytes([0, *high, *middle, *low]));
        }
        if self.is_order_1 {
            counters.reverse();
        }
        counters
    }
}

/// The increase from a known counter to the value of a received field, modulo 2^24 (RFC 9768
/// appendix A.1).
pub const fn gain(field: u32, counter: u32) -> u32 {
    field.wrapping_sub(counter) % MODULUS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_each_length_and_order_are_those_of_table_5() {
        let counters = [1, 2, 3];
        let read = |is_order_1, count| EcnOption::new(is_order_1, count, counters).counters();
        assert_eq!(read(false, 3), [Some(1), Some(2), Some(3)]);
        assert_eq!(read(false, 2), [Some(1), Some(2), None]);
        assert_eq!(read(false, 1), [Some(1), None, None]);
        assert_eq!(read(true, 3), [Some(1), Some(2), Some(3)]);
        assert_eq!(read(true, 2), [None, Some(2), Some(3)]);
        assert_eq!(read(true, 1), [None, None, Some(3)]);
        assert_eq!(read(true, 0), [None; 3]);
        let lengths = [0, 1, 2, 3, 4].map(|count| EcnOption::new(true, count, counters).bytes());
        assert_eq!(lengths, [2, 5, 8, 11, 11]);
    }

    #[test]
    fn a_strange_length_is_read_as_far_as_whole_fields_go() {
        let value = [0, 0, 9, 0, 1, 0, 7, 7];
        let option = EcnOption::parse(EcnOption::KIND_1, &value).expect("the kind is known");
        assert_eq!(option.counters(), [None, Some(256), Some(9)]);
        let longer = EcnOption::parse(EcnOption::KIND_0, &[5; 14]).expect("the kind is known");
        assert_eq!(longer.bytes(), 11);
        assert_eq!(EcnOption::parse(173, &value), None);
    }

    #[test]
    fn a_gain_is_the_example_of_the_appendix_and_wraps() {
        assert_eq!(gain(1_461, 33_554_433), 1_460);
        assert_eq!(gain(5, MODULUS - 5), 10);
        assert_eq!(EcnOption::new(false, 1, [MODULUS + 7, 0, 0]).counters()[0], Some(7));
    }
}
