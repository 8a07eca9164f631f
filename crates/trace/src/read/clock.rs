//! Times in the cells of a table: numbers, dates with times in many spellings, and times of day.
//!
//! Only differences between the times of one file matter. A time zone shifts its time. A zone with
//! an unknown name shifts nothing; this is harmless while the zone stays the same.

use super::number::Number;

/// The time in a cell of a table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Stamp {
    /// A number; its unit depends on the column.
    Number(Number),
    /// Nanoseconds since the beginning of 1970.
    Moment(i64),
    /// A date without a time: nanoseconds from 1970 to its beginning.
    Date(i64),
    /// Nanoseconds since midnight.
    OfDay(i64),
}

const NANOS_PER_S: i64 = 1_000_000_000;
const NANOS_PER_DAY: i64 = 86_400 * NANOS_PER_S;

impl Stamp {
    /// Parses the time in a cell of a table.
    pub(super) fn parse(cell: &str) -> Option<Self> {
        if cell.len() > 64 || !cell.bytes().any(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if let Some(number) = Number::parse(cell, false) {
            let compact = if cell.len() == 14 { Calendar::compact(cell) } else { None };
            return Some(compact.map_or(Self::Number(number), Self::Moment));
        }
        Calendar::read(cell)
    }
}

/// The parts of a date and time that were found so far in a cell.
#[derive(Default)]
struct Calendar {
    date: Option<(i64, i64, i64)>,
    of_day_ns: Option<i64>,
    /// The month, if the cell contains its name.
    month: Option<i64>,
    numbers: Vec<i64>,
    zone_s: i64,
    is_afternoon: Option<bool>,
}

impl Calendar {
    fn read(cell: &str) -> Option<Stamp> {
        let mut calendar = Self::default();
        for word in parts(cell) {
            calendar.take(word)?;
        }
        calendar.stamp()
    }

    /// Parses `20230404100713`: all fields without separators.
    fn compact(cell: &str) -> Option<i64> {
        let field = |from: usize, to: usize| cell.get(from..to)?.parse::<i64>().ok();
        let (year, month, day) = (field(0, 4)?, field(4, 6)?, field(6, 8)?);
        let (hour, minute, second) = (field(8, 10)?, field(10, 12)?, field(12, 14)?);
        let is_time = hour < 24 && minute < 60 && second < 61;
        let date_ns =
            date_ns(year, month, day).filter(|_| is_time && (1970..2200).contains(&year))?;
        Some(date_ns + ((hour * 60 + minute) * 60 + second) * NANOS_PER_S)
    }

    /// Handles one word of a cell.
    fn take(&mut self, word: &str) -> Option<()> {
        let first = word.chars().next()?;
        if first.is_alphabetic() {
            return self.name(word);
        }
        if self.of_day_ns.is_some() && (first == '+' || first == '-') {
            self.zone_s = zone_s(word)?;
            return Some(());
        }
        let fields: Vec<&str> = word.split(['-', '/', '.', ':']).collect();
        let is_clock = word.contains(':') || (self.date.is_some() && fields.len() >= 3);
        if is_clock && self.of_day_ns.is_none() {
            return self.clock(word);
        }
        match fields[..] {
            [a, b, c] if self.date.is_none() && self.month.is_none() => self.date(word, a, b, c),
            [digits] if self.date.is_none() && digits.len() == 8 => {
                let (year, rest) = digits.split_at_checked(4)?;
                let (month, day) = rest.split_at_checked(2)?;
                self.date = Some((number(year)?, number(month)?, number(day)?));
                Some(())
            }
            [digits] if self.date.is_some() && digits.len() == 6 && self.of_day_ns.is_none() => {
                let fields = [digits.get(..2)?, digits.get(2..4)?, digits.get(4..)?];
                self.of_day(
                    number(fields[0])?,
                    number(fields[1])?,
                    number(fields[2])? * NANOS_PER_S,
                )
            }
            [digits] if digits.len() <= 4 && self.numbers.len() < 2 => {
                self.numbers.push(number(digits)?);
                Some(())
            }
            _ => None,
        }
    }

    fn date(&mut self, word: &str, a: &str, b: &str, c: &str) -> Option<()> {
        let (first, last) = (number(a)?, number(c)?);
        // The month's name may be between hyphens: 04-Apr-2023.
        let middle = number(b).or_else(|| month(b))?;
        let year_2000 = |year: i64, text: &str| if text.len() <= 2 { 2000 + year } else { year };
        self.date = Some(if a.len() == 4 {
            (first, middle, last)
        } else if middle > 12 {
            (year_2000(last, c), first, middle)
        } else if first > 12 || !word.contains('/') {
            (year_2000(last, c), middle, first)
        } else {
            (year_2000(last, c), first, middle)
        });
        Some(())
    }

    /// Parses times such as `10:07:13.25+02:00` and `10:07`; after a date also `10-07-13` and
    /// `10.07.13`.
    fn clock(&mut self, word: &str) -> Option<()> {
        let (clock, zone) = match word.split_once(':') {
            Some((hour, rest)) => match rest.find(['+', '-']) {
                Some(at) => (word[..hour.len() + 1 + at].to_owned(), &rest[at..]),
                None => (word.to_owned(), ""),
            },
            None => (word.replacen(['-', '.'], ":", 2), ""),
        };
        if !zone.is_empty() {
            self.zone_s = zone_s(zone)?;
        }
        let mut fields = clock.splitn(3, ':');
        let (hour, minute) = (number(fields.next()?)?, number(fields.next()?)?);
        let second_ns = match fields.next() {
            Some(second) => {
                Number::parse(&second.replacen([':', ','], ".", 1), false)?.times(NANOS_PER_S)?
            }
            None if self.date.is_some() || self.month.is_some() => 0,
            None => return None,
        };
        self.of_day(hour, minute, second_ns)
    }

    fn of_day(&mut self, hour: i64, minute: i64, second_ns: i64) -> Option<()> {
        let is_time = hour <= 24 && minute < 60 && (0..=60 * NANOS_PER_S).contains(&second_ns);
        self.of_day_ns = is_time.then(|| (hour * 60 + minute) * 60 * NANOS_PER_S + second_ns);
        self.of_day_ns.map(|_| ())
    }

    fn name(&mut self, word: &str) -> Option<()> {
        match word.to_ascii_lowercase().as_str() {
            "am" => self.is_afternoon = Some(false),
            "pm" => self.is_afternoon = Some(true),
            lower => match month(lower) {
                Some(month) if self.date.is_none() && self.month.is_none() => {
                    self.month = Some(month);
                }
                _ if lower.get(..3).is_some_and(|day| WEEKDAYS.contains(&day)) => {}
                // A word after a time can only be a time zone.
                _ if self.of_day_ns.is_some() && word.len() <= 5 => {
                    self.zone_s = named_zone_s(lower)
                }
                _ => return None,
            },
        }
        Some(())
    }

    fn stamp(self) -> Option<Stamp> {
        let date = match (self.date, self.month, &self.numbers[..]) {
            (Some(date), None, []) => Some(date),
            (None, Some(month), &[a, b]) if a > 31 => Some((a, month, b)),
            (None, Some(month), &[a, b]) => Some((b, month, a)),
            (None, None, []) => None,
            _ => return None,
        };
        let date_ns = match date {
            Some((year, month, day)) => Some(date_ns(year, month, day)?),
            None => None,
        };
        let twelve_ns = 12 * 3600 * NANOS_PER_S;
        let of_day_ns = self.of_day_ns.map(|of_day_ns| match self.is_afternoon {
            Some(true) if of_day_ns < twelve_ns => of_day_ns + twelve_ns,
            Some(false) if of_day_ns >= twelve_ns => of_day_ns - twelve_ns,
            _ => of_day_ns,
        });
        Some(match (date_ns, of_day_ns) {
            (Some(date_ns), Some(of_day_ns)) => {
                Stamp::Moment(date_ns + of_day_ns - self.zone_s * NANOS_PER_S)
            }
            (Some(date_ns), None) => Stamp::Date(date_ns),
            (None, Some(of_day_ns)) => Stamp::OfDay(of_day_ns % NANOS_PER_DAY),
            (None, None) => return None,
        })
    }
}

/// Splits a cell at blanks, brackets and underscores, at the T and the Z of ISO 8601, and between a
/// time and its AM or PM. Commas are removed at the ends of words, but not within a word.
fn parts(cell: &str) -> impl Iterator<Item = &str> {
    let words = cell.split([' ', '\t', '_', '(', ')']);
    words.flat_map(|word| {
        let word = word.trim_matches([',', '[', ']', '"', '\'']);
        let is_number = word.starts_with(|c: char| c.is_ascii_digit());
        let at_t = word
            .find('T')
            .filter(|&at| is_number && word[at + 1..].starts_with(|c: char| c.is_ascii_digit()));
        let (date, clock) = at_t.map_or(("", word), |at| (&word[..at], &word[at + 1..]));
        let digits = clock.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
        let (clock, tail) = if is_number { clock.split_at(digits) } else { (clock, "") };
        [date, clock, tail].into_iter().filter(|part| !part.is_empty())
    })
}

fn number(digits: &str) -> Option<i64> {
    let is_number =
        (1..=9).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

const WEEKDAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

fn month(word: &str) -> Option<i64> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let lower = word.to_ascii_lowercase();
    let at = MONTHS.iter().position(|month| Some(*month) == lower.get(..3))?;
    Some(at as i64 + 1)
}

/// Parses `+02:00`, `-0500` or `+2` as seconds east of Greenwich.
fn zone_s(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    let (hours, minutes) = match digits.len() {
        1 | 2 => (number(&digits)?, 0),
        4 => (number(&digits[..2])?, number(&digits[2..])?),
        _ => return None,
    };
    Some(sign * (hours * 60 + minutes) * 60)
}

/// Seconds east of Greenwich for the names of zones with daylight saving time and of their
/// standard time.
fn named_zone_s(lower: &str) -> i64 {
    let hours = match lower {
        "hst" => -10,
        "akst" => -9,
        "akdt" | "pst" => -8,
        "pdt" | "mst" => -7,
        "mdt" | "cst" => -6,
        "cdt" | "est" => -5,
        "edt" => -4,
        "bst" | "west" | "cet" => 1,
        "cest" | "eet" => 2,
        "eest" => 3,
        _ => 0,
    };
    hours * 3600
}

/// Nanoseconds from the beginning of 1970 to the beginning of a day in the Gregorian calendar.
fn date_ns(year: i64, month: i64, day: i64) -> Option<i64> {
    const DAYS_BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    if !(1900..2200).contains(&year) || !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let before = year - 1;
    let leap_days = before / 4 - before / 100 + before / 400 - 477;
    let leap_day = i64::from(is_leap && month > 2);
    let days =
        365 * (year - 1970) + leap_days + DAYS_BEFORE[month as usize - 1] + leap_day + day - 1;
    Some(days * NANOS_PER_DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 4 April 2023, 10:07:13 UTC.
    const MOMENT_MS: i64 = 1_680_602_833_000;

    fn moment_ms(cell: &str) -> Option<i64> {
        match Stamp::parse(cell)? {
            Stamp::Moment(nanos) => Some(nanos / 1_000_000),
            other => panic!("{cell}: {other:?}"),
        }
    }

    #[test]
    fn a_moment_has_many_spellings() {
        for cell in [
            "2023-04-04 10:07:13",
            "2023-04-04T10:07:13Z",
            "2023-04-04T10:07:13.000Z",
            "2023-04-04 10:07:13 UTC",
            "2023-04-04T12:07:13+02:00",
            "2023-04-04T12:07:13+0200",
            "2023-04-04 05:07:13 CDT",
            "2023-04-04 05:07:13 -05:00",
            "2023-04-04 05:07:13-05",
            "2023/04/04 10:07:13",
            "2023.04.04_10.07.13",
            "2023-04-04_10-07-13",
            "20230404T100713Z",
            "20230404 100713",
            "20230404100713",
            "04.04.2023 10:07:13",
            "04/04/2023 10:07:13",
            "4/4/23 10:07:13 AM",
            "Tue, 04 Apr 2023 10:07:13 GMT",
            "Tue Apr  4 10:07:13 2023",
            "Apr 4, 2023 10:07:13",
            "04-Apr-2023 10:07:13",
        ] {
            assert_eq!(moment_ms(cell), Some(MOMENT_MS), "{cell}");
        }
        assert_eq!(moment_ms("2023-04-04 10:07:13,250"), Some(MOMENT_MS + 250));
        assert_eq!(moment_ms("2023-04-04T10:07:13.25Z"), Some(MOMENT_MS + 250));
        assert_eq!(moment_ms("01/16/2021, 4:04 PM"), Some(1_610_813_040_000));
        assert_eq!(moment_ms("16.07.2015 22:00:11"), Some(1_437_084_011_000));
        assert_eq!(moment_ms("2024-02-29 00:00:00"), Some(1_709_164_800_000));
        assert_eq!(moment_ms("2000-03-01 00:00:00"), Some(951_868_800_000));
    }

    #[test]
    fn parts_of_moments_are_told_apart() {
        assert_eq!(Stamp::parse("2023-04-04"), Some(Stamp::Date(1_680_566_400 * NANOS_PER_S)));
        assert_eq!(Stamp::parse("10:07:13.5"), Some(Stamp::OfDay(36_433_500_000_000)));
        assert!(matches!(Stamp::parse("1680602833.25"), Some(Stamp::Number(_))));
        assert!(matches!(Stamp::parse("1680602833250"), Some(Stamp::Number(_))));
    }

    #[test]
    fn what_is_no_time_is_none() {
        for cell in [
            "",
            "-",
            "suburban",
            "5G",
            "12 Mbit/s",
            "1.2.3.4",
            "25:00:00",
            "2023-13-01",
            "12:30",
            "B_11",
            "a4df",
            "2023-04-04 10:07:13 elsewhere",
            "1,2",
            "10:07:99",
        ] {
            assert!(
                !matches!(Stamp::parse(cell), Some(Stamp::Moment(_) | Stamp::OfDay(_))),
                "{cell}"
            );
        }
    }
}
