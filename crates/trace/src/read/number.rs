//! Numbers in the cells of a table; decimal numbers are exact.

/// A number in a cell of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Number {
    /// `digits` divided by ten to the power of `decimals`.
    Decimal { digits: i64, decimals: u32 },
    /// A number with an exponent, or with more digits than fit.
    Float(f64),
}

impl Number {
    /// Parses the number in a cell. With `has_decimal_comma`, the decimal separator is a comma.
    pub(super) fn parse(cell: &str, has_decimal_comma: bool) -> Option<Self> {
        let ungrouped;
        let cell = match without_groups(cell, has_decimal_comma) {
            Some(text) => {
                ungrouped = text;
                &ungrouped
            }
            None => cell,
        };
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
        // Words such as "inf" and "nan" are not numbers.
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

    /// The number multiplied by an integer, rounded; `None` if the result is out of range.
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

/// A number with digits in groups of three, such as `12,500,000` or `12 500,5`, without the group
/// separators; `None` for other cells.
fn without_groups(cell: &str, has_decimal_comma: bool) -> Option<String> {
    let (parting, mark) = if has_decimal_comma { ('.', ',') } else { (',', '.') };
    let parts = |c: char| matches!(c, ' ' | '\u{a0}' | '\u{202f}' | '\'') || c == parting;
    let (whole, fraction) = match cell.split_once(mark) {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (cell, None),
    };
    let separator = whole.chars().find(|&c| parts(c))?;
    let mut groups = whole.split(separator);
    let first = groups.next()?.trim_start_matches(['-', '+']);
    let are_digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let is_first = (1..=3).contains(&first.len()) && are_digits(first);
    let mut count = 0;
    let are_groups = groups.all(|group| {
        count += 1;
        group.len() == 3 && are_digits(group)
    });
    // In "1.234" the point is a decimal separator, even if other numbers have a comma.
    let is_clear = separator != '.' || count > 1 || fraction.is_some();
    let is_number = is_first && are_groups && is_clear && fraction.is_none_or(are_digits);
    is_number.then(|| cell.chars().filter(|&c| c != separator).collect())
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

    #[test]
    fn digits_may_stand_in_groups_of_three() {
        let value = |cell, comma| Number::parse(cell, comma).map(Number::value);
        for (cell, has_decimal_comma, expected) in [
            ("12,500,000", false, 12_500_000.0),
            ("-1,234.5", false, -1_234.5),
            ("12 500", false, 12_500.0),
            ("12\u{a0}500,5", true, 12_500.5),
            ("12\u{202f}500", true, 12_500.0),
            ("1'234'567", false, 1_234_567.0),
            ("1.234.567", true, 1_234_567.0),
            ("1.234,5", true, 1_234.5),
            ("1.234", true, 1.234),
            ("1,234", true, 1.234),
        ] {
            assert_eq!(value(cell, has_decimal_comma), Some(expected), "{cell}");
        }
        for cell in
            ["1,23", "12,34,567", "1234,567", ",123", "1,234,", "1,234.5,6", "1 23", "1,234 567"]
        {
            assert_eq!(value(cell, false), None, "{cell}");
        }
    }
}
