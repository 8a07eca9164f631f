//! The arithmetic of times, rates and sizes.

use cwndlab_units::{Bytes, Duration, Ecn, Output, Rate, Time};
use proptest::prelude::*;

#[test]
fn units_are_what_they_say() {
    assert_eq!(Duration::from_secs(2), Duration::from_millis(2_000));
    assert_eq!(Duration::from_millis(2), Duration::from_micros(2_000));
    assert_eq!(Duration::from_micros(2), Duration::from_nanos(2_000));
    assert_eq!(Time::from_secs(2), Time::from_millis(2_000));
    assert_eq!(Time::from_millis(2), Time::from_micros(2_000));
    assert_eq!(Time::from_micros(2), Time::from_nanos(2_000));
    assert_eq!(Rate::from_mbit_per_sec(2), Rate::from_kbit_per_sec(2_000));
    assert_eq!(Rate::from_kbit_per_sec(2), Rate::from_bits_per_sec(2_000));
    let time = Time::from_nanos(1_999_999_999);
    assert_eq!((time.as_micros(), time.as_millis()), (1_999_999, 1_999));
    let span = Duration::from_nanos(1_999_999);
    assert_eq!((span.as_micros(), span.as_millis()), (1_999, 1));
}

#[test]
fn a_full_segment_takes_the_time_of_the_reference() {
    // 1514 bytes at 10 Mbit/s take 1.2112 ms: the Linux reference's transmission time.
    let time = Bytes(1514) / Rate::from_mbit_per_sec(10);
    assert_eq!(time, Duration::from_nanos(1_211_200));
    // A bandwidth-delay product: 50 Mbit/s for 40 ms is 250 kB.
    assert_eq!(Rate::from_mbit_per_sec(50) * Duration::from_millis(40), Bytes(250_000));
}

#[test]
fn the_ends_of_the_range_are_kept() {
    assert_eq!(Bytes(1) / Rate::ZERO, Duration::MAX);
    assert_eq!(Bytes(u64::MAX) / Rate::from_bits_per_sec(1), Duration::MAX);
    assert_eq!(Rate::from_bits_per_sec(u64::MAX) * Duration::MAX, Bytes(u64::MAX));
    assert_eq!(Rate::ZERO * Duration::MAX, Bytes(0));
    assert_eq!(Time::from_secs(1) + Duration::MAX, Time::NEVER);
    assert!(Time::NEVER.is_never() && !Time::ZERO.is_never());
    assert_eq!(Time::from_secs(1) - Duration::from_secs(2), Time::ZERO);
    assert_eq!(Time::from_secs(1).saturating_since(Time::from_secs(2)), Duration::ZERO);
    assert_eq!(Duration::MAX + Duration::from_nanos(1), Duration::MAX);
    assert_eq!(Duration::MAX * 2, Duration::MAX);
    assert_eq!(Duration::ZERO.saturating_sub(Duration::MAX), Duration::ZERO);
    assert_eq!(Bytes(1).saturating_sub(Bytes(2)), Bytes(0));
}

#[test]
#[cfg(debug_assertions)]
#[should_panic(expected = "is later than")]
fn a_difference_of_times_must_not_be_negative() {
    let _ = Time::from_secs(1) - Time::from_secs(2);
}

#[test]
fn text_shows_the_unit() {
    assert_eq!(format!("{:?}", Time::from_nanos(12_000_000_034)), "12.000000034 s");
    assert_eq!(format!("{:?}", Time::NEVER), "never");
    assert_eq!(format!("{:?}", Duration::from_micros(1_500)), "1.5 ms");
    assert_eq!(format!("{:?}", Rate::from_kbit_per_sec(1_500)), "1.5 Mbit/s");
    assert_eq!(Rate::from_kbit_per_sec(1_500).as_mbit_per_sec_f64(), 1.5);
    assert_eq!(Time::from_millis(1_500).as_secs_f64(), 1.5);
    assert_eq!(Duration::from_millis(1_500).as_secs_f64(), 1.5);
}

#[test]
fn ecn_codepoints_are_those_of_rfc_3168() {
    let bits = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(|ecn| ecn as u8);
    assert_eq!(bits, [0b00, 0b01, 0b10, 0b11]);
    assert!(!Ecn::default().is_capable());
    assert!(Ecn::Ect0.is_capable() && Ecn::Ect1.is_capable() && Ecn::Ce.is_capable());
}

#[test]
fn an_output_of_a_plain_packet_stays_small() {
    // The event loop moves these values: time and port besides the packet, nothing more.
    assert!(size_of::<Output<[u64; 9], ()>>() <= 72 + 16);
}

proptest! {
    #[test]
    fn a_rate_times_the_time_of_some_bytes_gives_them_back(
        bytes in 0_u64..1 << 40,
        rate in 1_u64..1 << 40,
    ) {
        let (bytes, rate) = (Bytes(bytes), Rate::from_bits_per_sec(rate));
        let time = bytes / rate;
        prop_assert!(rate * time <= bytes);
        // Rounding down costs less than a nanosecond: one nanosecond more gives at least as many
        // bytes.
        prop_assert!(rate * (time + Duration::from_nanos(1)) >= bytes);
    }

    #[test]
    fn division_is_exact_on_both_of_its_ways(bytes: u64, rate in 1_u64..) {
        let exact = u128::from(bytes) * 8_000_000_000 / u128::from(rate);
        let expected = u64::try_from(exact).unwrap_or(u64::MAX);
        let time = Bytes(bytes) / Rate::from_bits_per_sec(rate);
        prop_assert_eq!(time, Duration::from_nanos(expected));
    }

    #[test]
    fn more_bytes_take_longer_and_more_rate_less_long(
        bytes in 0_u64..1 << 40,
        more in 0_u64..1 << 40,
        rate in 1_u64..1 << 40,
        faster in 0_u64..1 << 40,
    ) {
        let at = |rate| Rate::from_bits_per_sec(rate);
        prop_assert!(Bytes(bytes) / at(rate) <= Bytes(bytes + more) / at(rate));
        prop_assert!(Bytes(bytes) / at(rate) >= Bytes(bytes) / at(rate + faster));
    }

    #[test]
    fn times_and_spans_add_and_subtract(start in 0_u64..1 << 62, span in 0_u64..1 << 62) {
        let (start, span) = (Time::from_nanos(start), Duration::from_nanos(span));
        prop_assert_eq!((start + span) - start, span);
        prop_assert_eq!((start + span) - span, start);
        prop_assert_eq!((start + span).saturating_since(start), span);
        let mut moved = start;
        moved += span;
        prop_assert_eq!(moved, start + span);
        prop_assert_eq!((span + span) - span, span);
        prop_assert_eq!((span * 2) / 2, span);
        let mut sum = span;
        sum += span;
        prop_assert_eq!(sum, span * 2);
    }

    #[test]
    fn bytes_add_and_subtract(one in 0_u64..1 << 62, two in 0_u64..1 << 62) {
        let mut sum = Bytes(one);
        sum += Bytes(two);
        prop_assert_eq!(sum, Bytes(one) + Bytes(two));
        prop_assert_eq!(sum - Bytes(two), Bytes(one));
        prop_assert_eq!(Bytes(one).saturating_sub(sum), Bytes(0));
    }

    #[test]
    fn all_are_written_as_plain_integers(number: u64) {
        let text = number.to_string();
        let time = Time::from_nanos(number);
        prop_assert_eq!(&serde_json::to_string(&time).unwrap(), &text);
        prop_assert_eq!(serde_json::from_str::<Time>(&text).unwrap(), time);
        let span = Duration::from_nanos(number);
        prop_assert_eq!(&serde_json::to_string(&span).unwrap(), &text);
        prop_assert_eq!(serde_json::from_str::<Duration>(&text).unwrap(), span);
        let rate = Rate::from_bits_per_sec(number);
        prop_assert_eq!(&serde_json::to_string(&rate).unwrap(), &text);
        prop_assert_eq!(serde_json::from_str::<Rate>(&text).unwrap(), rate);
        prop_assert_eq!(&serde_json::to_string(&Bytes(number)).unwrap(), &text);
        prop_assert_eq!(serde_json::from_str::<Bytes>(&text).unwrap(), Bytes(number));
    }
}

// An invalid difference also panics in release builds: otherwise a duration of 584 years would
// silently give wrong results.

#[test]
#[should_panic(expected = "2 ms is longer than 1 ms")]
fn a_longer_duration_cannot_be_taken_from_a_shorter_one() {
    let _ = Duration::from_millis(1) - Duration::from_millis(2);
}

#[test]
#[should_panic(expected = "0.000000002 s is later than 0.000000001 s")]
fn no_time_lies_between_a_time_and_a_later_one() {
    let _ = Time::from_nanos(1) - Time::from_nanos(2);
}

#[test]
#[should_panic(expected = "Bytes(2) are more than Bytes(1)")]
fn more_bytes_than_there_are_cannot_be_taken_away() {
    let _ = Bytes(1) - Bytes(2);
}
