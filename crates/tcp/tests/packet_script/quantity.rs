//! Numbers with units: `10`, `1.5ms`, `200..240ms`, `12Mbit/s`.

/// A value with its unit, or a word.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Value {
    Count(u64),
    Nanos(u64),
    BitsPerSec(u64),
    Word(&'static str),
}

/// A unit's name, its kind, and its size in the smallest unit.
type Unit = (&'static str, fn(u64) -> Value, u64);

const UNITS: [Unit; 6] = [
    ("", Value::Count, 1),
    ("us", Value::Nanos, 1_000),
    ("ms", Value::Nanos, 1_000_000),
    ("s", Value::Nanos, 1_000_000_000),
    ("kbit/s", Value::BitsPerSec, 1_000),
    ("Mbit/s", Value::BitsPerSec, 1_000_000),
];

impl Value {
    /// The number in the smallest unit; `None` for a word.
    fn number(self) -> Option<u64> {
        match self {
            Self::Count(number) | Self::Nanos(number) | Self::BitsPerSec(number) => Some(number),
            Self::Word(_) => None,
        }
    }

    /// Whether the value has the same unit as the bounds and lies between them.
    pub(crate) fn is_between(self, low: Self, high: Self) -> bool {
        let is_like = |other: &Self| std::mem::discriminant(&self) == std::mem::discriminant(other);
        is_like(&low) && is_like(&high) && (low.number()..=high.number()).contains(&self.number())
    }

    pub(crate) fn show(self) -> String {
        match self {
            Self::Count(count) => count.to_string(),
            Self::Nanos(nanos) => format!("{}ms", nanos as f64 / 1e6),
            Self::BitsPerSec(bits) => format!("{}Mbit/s", bits as f64 / 1e6),
            Self::Word(word) => word.to_owned(),
        }
    }
}

/// Position at which the unit starts.
fn unit_at(text: &str) -> usize {
    text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len())
}

fn quantity(text: &str) -> Result<Value, String> {
    let (digits, unit) = text.split_at(unit_at(text));
    let wrong = || format!("`{text}` is not a number with a unit of us, ms, s, kbit/s or Mbit/s");
    let (_, kind, scale) = UNITS.iter().find(|(known, ..)| *known == unit).ok_or_else(wrong)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    let parse = |digits: &str| digits.replace('_', "").parse::<u64>().map_err(|_| wrong());
    let mut value = parse(whole)? * scale;
    if !part.is_empty() {
        let tenths = 10_u64.pow(part.len() as u32);
        if scale % tenths != 0 {
            return Err(wrong());
        }
        value += parse(part)? * (scale / tenths);
    }
    Ok(kind(value))
}

/// Parses a quantity or a range; the low end may omit a unit that the high end states.
pub(crate) fn quantities(text: &str) -> Result<(Value, Value), String> {
    let Some((low, high)) = text.split_once("..") else {
        let value = quantity(text)?;
        return Ok((value, value));
    };
    let unit = if unit_at(low) == low.len() { &high[unit_at(high)..] } else { "" };
    let (low, high) = (quantity(&format!("{low}{unit}"))?, quantity(high)?);
    if !low.is_between(low, high) {
        return Err(format!("`{text}` is not a range"));
    }
    Ok((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        assert_eq!(quantity("10"), Ok(Value::Count(10)));
        assert_eq!(quantity("1.5ms"), Ok(Value::Nanos(1_500_000)));
        assert_eq!(quantity("1_448"), Ok(Value::Count(1_448)));
        assert_eq!(quantity("2.896Mbit/s"), Ok(Value::BitsPerSec(2_896_000)));
        for wrong in ["", "ms", "1.5", "3 ms", "7min", "1.2345us", "-3s"] {
            assert!(quantity(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_share_a_unit_and_rise() {
        let ms = |n: u64| Value::Nanos(n * 1_000_000);
        assert_eq!(quantities("200..240ms"), Ok((ms(200), ms(240))));
        assert_eq!(quantities("900ms..1s"), Ok((ms(900), ms(1_000))));
        assert!(quantities("240..200ms").is_err());
        assert!(ms(200).is_between(ms(200), ms(240)));
        assert!(!ms(241).is_between(ms(200), ms(240)));
        assert!(!Value::Count(200_000_000).is_between(ms(200), ms(240)));
    }
}
