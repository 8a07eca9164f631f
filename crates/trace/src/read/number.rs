//! Numbers of cells, exact where they are written as decimals.

/// A number as a cell has it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    /// `digits` over ten to the power of `decimals`.
    Decimal { digits: i64, decimals: u32 },
    /// One with an exponent, or with more digits than fit.
    Float(f64),
}

impl Number {
    /// The number that a cell is. With `has_decimal_comma`, the sign of fractions is a comma.
    pub(super) fn parse(cell: &str, has_decimal_comma: bool) -> Option<Self> {
        let with_point;
        let cell = if has_decimal_comma && cell.contains(',') && !cell.contains('.') {
            with_point = cell.replacen(',', ".", 1);
            &with_point
        } else {
            cell
        };
        let (sign, bare) = match cell.as_bytes().first()? {
            b'-' => (-1, &cell[1..]),
            b'+' => (1, &cell[1..]),
            _ => (1, cell),
        };
        let (whole, fraction) = bare.split_once('.').unwrap_or((bare, ""));
        let is_plain = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        let are_plain = !bare.is_empty() && bare != "." && is_plain(whole) && is_plain(fraction);
        let digits = whole.bytes().chain(fraction.bytes()).try_fold(0_i64, |sum, digit| {
            sum.checked_mul(10)?.checked_add(i64::from(digit.wrapping_sub(b'0')))
        });
        if let (true, true, Some(digits)) = (are_plain, fraction.len() < TEN_TO.len(), digits) {
            return Some(Self::Decimal { digits: sign * digits, decimals: fraction.len() as u32 });
        }
        // Words such as "inf" and "nan" are none.
        let begins_as_number = bare.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let value = begins_as_number.then(|| cell.parse::<f64>().ok())??;
        value.is_finite().then_some(Self::Float(value))
    }

    pub(super) fn value(self) -> f64 {
        match self {
            Self::Decimal { digits, decimals } => digits as f64 / TEN_TO[decimals as usize] as f64,
            Self::Float(value) => value,
        }
    }

    pub(super) fn is_whole(self) -> bool {
        matches!(self, Self::Decimal { decimals: 0, .. })
    }

    /// The number times a whole one, rounded; `None` if it is beyond all times.
    pub(super) fn times(self, factor: i64) -> Option<i64> {
        match self {
            Self::Decimal { digits, decimals } => {
                let (product, by) = (
                    i128::from(digits) * i128::from(factor),
                    i128::from(TEN_TO[decimals as usize]),
                );
                i64::try_from((product + by / 2).div_euclid(by)).ok()
            }
            Self::Float(value) => {
                let product = libm::round(value * factor as f64);
                (product.abs() < 9e18).then_some(product as i64)
            }
        }
    }
}

const TEN_TO: [i64; 19] = {
    let mut powers = [1; 19];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = 10 * powers[at - 1];
        at += 1;
    }
    powers
};

#[cfg(test)]
mod tests {
    use super::*;

    fn value(cell: &str) -> Option<f64> {
        Number::parse(cell, false).map(Number::value)
    }

    #[test]
    fn cells_are_numbers_or_not() {
        assert_eq!(value("12.5"), Some(12.5));
        assert_eq!(value("-3"), Some(-3.0));
        assert_eq!(value(".5"), Some(0.5));
        assert_eq!(value("1e3"), Some(1000.0));
        assert_eq!(value("17.596184100401427123"), Some(17.596184100401427));
        for cell in ["", "-", "+", ".", "nan", "inf", "infinity", "1 2", "0x10", "1.2.3", "e5"] {
            assert_eq!(value(cell), None, "{cell}");
        }
        assert_eq!(Number::parse("12,5", true).map(Number::value), Some(12.5));
        assert_eq!(Number::parse("12,5", false), None);
    }

    #[test]
    fn products_are_exact() {
        let nanos = |cell| Number::parse(cell, false).expect("a number").times(1_000_000_000);
        assert_eq!(nanos("1700000000.123456789"), Some(1_700_000_000_123_456_789));
        assert_eq!(nanos("0.1"), Some(100_000_000));
        assert_eq!(nanos("1e300"), None);
    }
}
