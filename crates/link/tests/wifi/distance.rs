//! The distance between an access point and the server.

use cwndlab_link::{
    AnyLink, Backlog, Link, PathConfig, RateControlConfig, Stages, Standard, Traces, WifiConfig,
};
use cwndlab_units::{Duration, Time};

use crate::common::{Frame, Outcome, drain, run_until, us};

const DELAY_US: u64 = 20_000;

/// A channel that is always idle, optionally behind a wire with this delay.
fn link(wire_delay_us: Option<u64>, stations: usize) -> AnyLink<Frame> {
    let config = WifiConfig {
        rate_control: RateControlConfig::Fixed { index: 7 },
        wire_delay: wire_delay_us.map(Duration::from_micros),
        ..WifiConfig::new(Standard::N, stations)
    };
    let path = PathConfig::Wifi(Box::new(config));
    AnyLink::shared(&path, &Traces::new(), 1).expect("a channel")
}

/// Sends a downlink and an uplink packet of the second station, far apart in time.
fn there_and_back(link: &mut AnyLink<Frame>) -> Vec<(u64, u16, u32)> {
    let mut outcome = Outcome::default();
    link.handle_packet(us(1_000), 0, Frame::of(2, 0, 1500));
    run_until(link, us(90_000), &mut outcome);
    link.handle_packet(us(90_000), 2, Frame::of(2, 1, 1500));
    run_until(link, us(200_000), &mut outcome);
    outcome.left.iter().map(|left| (left.at.as_micros(), left.port, left.number)).collect()
}

#[test]
fn the_wire_delays_each_way_by_its_delay_and_nothing_else() {
    let near = there_and_back(&mut link(None, 2));
    let far = there_and_back(&mut link(Some(DELAY_US), 2));
    let later: Vec<_> =
        near.iter().map(|&(at_us, port, number)| (at_us + DELAY_US, port, number)).collect();
    assert_eq!(near.iter().map(|left| left.1).collect::<Vec<_>>(), [2, 0]);
    assert_eq!(far, later);
    assert_eq!(there_and_back(&mut link(Some(0), 2)), near);
}

#[test]
fn what_is_on_the_wire_waits_in_no_queue() {
    let mut link = link(Some(DELAY_US), 1);
    for number in 0..10 {
        link.handle_packet(us(0), 0, Frame::new(number, 1500));
    }
    assert_eq!(link.stages(), 2);
    let mut outcome = Outcome::default();
    drain(&mut link, us(DELAY_US - 1), &mut outcome);
    assert_eq!(link.backlog(0, us(DELAY_US - 1)), Backlog::default());
    assert_eq!(link.counters(0, us(DELAY_US - 1)).arrived.packets, 0);
    assert_eq!(link.backlog(0, us(DELAY_US)).packets, 10);
    run_until(&mut link, us(200_000), &mut outcome);
    assert_eq!(outcome.numbers(), (0..10).collect::<Vec<_>>());
    assert_eq!(link.counters(0, us(200_000)).delivered.packets, 10);
}

#[test]
fn late_polling_changes_no_time() {
    let given = |link: &mut AnyLink<Frame>, is_punctual: bool| {
        let mut outcome = Outcome::default();
        for number in 0..200_u32 {
            let at = us(u64::from(number) * 700);
            if is_punctual {
                run_until(link, at, &mut outcome);
            }
            link.handle_packet(at, (number % 2) as u16, Frame::new(number, 1500));
        }
        if is_punctual {
            run_until(link, Time::from_secs(1), &mut outcome);
        } else {
            drain(link, Time::from_secs(1), &mut outcome);
        }
        outcome
    };
    let punctual = given(&mut link(Some(DELAY_US), 1), true);
    let late = given(&mut link(Some(DELAY_US), 1), false);
    assert_eq!(punctual.left.len(), 200);
    assert_eq!(punctual, late);
}
