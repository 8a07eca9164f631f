//! The table of RFC 3649, computed independently.

use crate::flow::{Flow, RECOVERY};

const RTT_NS: u64 = 50_000_000;

/// The rows of appendix B as (window, b in 1/256): its program iterates over windows and prints a
/// row whenever a(w) exceeds that of the last row by more than one.
fn rows() -> Vec<(u32, u32)> {
    let mut rows = vec![(38, 128)];
    let mut last_a = 1.0;
    for window in 38..100_000u32 {
        let w = f64::from(window);
        let b = (0.1 - 0.5) * libm::log(w / 38.0) / libm::log(83_000.0 / 38.0) + 0.5;
        let a = w * w * 2.0 * b / ((2.0 - b) * libm::pow(w, 1.2) * 12.8);
        if a > last_a + 1.0 {
            rows.push((window, (256.0 * b) as u32));
            last_a = a;
        }
    }
    rows
}

/// The numbers of a table in the source code.
fn table(name: &str) -> Vec<u32> {
    let source = include_str!("../../../../algorithms/highspeed.c");
    let table = source.split(&format!("{name}[] = {{")).nth(1).expect("the table");
    let table = table.split("};").next().expect("its end");
    table
        .split(|c: char| !c.is_ascii_digit())
        .filter(|word| !word.is_empty())
        .map(|word| word.parse().expect("digits"))
        .collect()
}

/// a(w) in packets and b(w) of RFC 3649 section 5, with p(w) through (38, 1.5/38^2).
fn section_5(w: f64) -> (f64, f64) {
    let along = libm::log(w / 38.0) / libm::log(83_000.0 / 38.0);
    let b = 0.5 - 0.4 * along;
    let low = libm::log(1.5 / (38.0 * 38.0));
    let p = libm::exp(low + (libm::log(1e-7) - low) * along);
    (w * w * p * 2.0 * b / (2.0 - b), b)
}

#[test]
fn the_points_are_those_of_section_5() {
    let numbers = table("highspeed_points");
    let points: Vec<&[u32]> = numbers.chunks(3).collect();
    for point in &points {
        let (a, b) = section_5(f64::from(point[0]));
        assert!((f64::from(point[1]) / 1024.0 / a - 1.0).abs() < 0.002, "{point:?}: a = {a}");
        assert!((f64::from(point[2]) / 1024.0 - b).abs() < 0.002, "{point:?}: b = {b}");
    }
    // between two points, a line is accurate enough
    for pair in points.windows(2) {
        let middle = u32::midpoint(pair[0][0], pair[1][0]);
        let share = f64::from(middle - pair[0][0]) / f64::from(pair[1][0] - pair[0][0]);
        let line = f64::from(pair[0][1]) + share * f64::from(pair[1][1] - pair[0][1]);
        let (a, _) = section_5(f64::from(middle));
        assert!((line / 1024.0 / a - 1.0).abs() < 0.01, "at {middle}: {line}, a = {a}");
    }
}

#[test]
fn the_first_loss_halves_if_asked_to() {
    let mut flow = Flow::new("highspeed", &[("halve_first", 1), ("computed", 1)]);
    flow.sk.snd_cwnd = 1_000;
    flow.reduce(RECOVERY);
    assert_eq!(flow.sk.snd_cwnd, 500);
    flow.sk.snd_cwnd = 1_000;
    flow.reduce(RECOVERY);
    let kept = 1.0 - section_5(1_000.0).1;
    assert!((f64::from(flow.sk.snd_cwnd) - 1_000.0 * kept).abs() <= 3.0, "{}", flow.sk.snd_cwnd);
}

#[test]
fn the_table_is_that_of_the_rfc() {
    let numbers = table("highspeed_rows");
    let expected: Vec<u32> = rows().into_iter().flat_map(|(window, b)| [window, b]).collect();
    assert_eq!(numbers, expected);
    assert_eq!(rows().len(), 73);
    // four of the rows as printed in the RFC
    for (window, b) in [(118, 0.44), (1058, 0.33), (10661, 0.21), (84035, 0.10)] {
        let row = rows().into_iter().find(|row| row.0 == window).expect("a row of the RFC");
        assert!((f64::from(row.1) / 256.0 - b).abs() < 0.01, "{row:?}");
    }
}

#[test]
fn a_window_grows_and_shrinks_by_its_row() {
    for (index, pair) in rows().windows(2).enumerate() {
        // a window in the middle of the row that ends at pair[1]
        let window = u32::midpoint(pair[0].0, pair[1].0);
        let mut flow = Flow::new("highspeed", &[]);
        flow.sk.snd_ssthresh = 2;
        flow.sk.snd_cwnd = window;
        for _ in 0..window {
            flow.advance(RTT_NS / u64::from(window));
            flow.ack(1, 50_000);
        }
        // a(w) of the row is its number, from 1 on; the window grows meanwhile, so one may be
        // missing
        let expected = index as u32 + 2;
        let grown = flow.sk.snd_cwnd - window;
        assert!((expected - 1..=expected).contains(&grown), "at {window}: grew by {grown}");
        assert_eq!(flow.phase(), "high_speed");

        let before = flow.sk.snd_cwnd;
        flow.reduce(RECOVERY);
        let given_up = u64::from(before) * u64::from(pair[1].1) / 256;
        assert_eq!(u64::from(before - flow.sk.snd_cwnd), given_up);
    }
}

#[test]
fn delayed_acks_halve_the_growth_as_in_linux() {
    let grown = |packets_per_ack: u32| {
        let mut flow = Flow::new("highspeed", &[]);
        flow.sk.snd_ssthresh = 2;
        flow.sk.snd_cwnd = 1_000;
        for _ in 0..2_000 / packets_per_ack {
            flow.advance(50_000);
            flow.ack(packets_per_ack, 50_000);
        }
        flow.sk.snd_cwnd - 1_000
    };
    assert!(grown(1).abs_diff(2 * grown(2)) <= 1, "{} and {}", grown(1), grown(2));
}
