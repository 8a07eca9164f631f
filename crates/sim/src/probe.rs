//! Measures the delays of packets that a source sends at given times over a path without other
//! traffic. The packets can be, for example, short packet trains.

use cwndlab_link::{Admission, AnyLink, Direction, Link, PathConfig, Traces};
use cwndlab_scenario::ScenarioError;
use cwndlab_units::{Duration, Output, Time};

use crate::run::link_error;
use crate::saturate::Probe;

/// Maximum delay of a packet; a packet that has not arrived by then is lost.
const LONGEST_DELAY: Duration = Duration::from_secs(100);

/// Sends packets in one direction of a path for one of its users. Returns the delay of each
/// packet, in the order of sending; `None` if the packet is lost. For each packet, `sent` contains
/// the time and the size in bytes, including the IP header.
///
/// # Errors
/// Returns an error if the path's settings contradict each other, a trace is missing, or a packet
/// is sent before the previous one.
pub fn probe(
    path: &PathConfig,
    traces: &Traces,
    seed: u64,
    direction: Direction,
    user: u16,
    sent: &[(Time, u32)],
) -> Result<Vec<Option<Duration>>, ScenarioError> {
    if user == 0 || path.users().is_some_and(|users| user > users) {
        return Err(ScenarioError::new("user", format!("there is no user {user}")));
    }
    if !sent.is_sorted_by_key(|&(at, _)| at) {
        return Err(ScenarioError::new("sent", "the times must not decrease".to_owned()));
    }
    let mut link: AnyLink<Probe> =
        AnyLink::shared(path, traces, seed).map_err(|error| link_error(&error))?;
    let port = direction.port(user);
    let mut delays = vec![None; sent.len()];
    let mut inside = 0_usize;
    for (number, &(at, bytes)) in sent.iter().enumerate() {
        receive(&mut link, at, &mut inside, &mut delays);
        let probe = Probe { sent: at, user, number, bytes };
        if link.handle_packet(at, port, probe) != Admission::Dropped {
            inside += 1;
        }
        receive(&mut link, at, &mut inside, &mut delays);
    }
    if let Some(&(last, _)) = sent.last() {
        let end = last + LONGEST_DELAY;
        while inside > 0 && link.wake_time() <= end {
            let now = link.wake_time();
            receive(&mut link, now, &mut inside, &mut delays);
        }
    }
    Ok(delays)
}

/// Records the packets that arrive by `until`.
fn receive(
    link: &mut AnyLink<Probe>,
    until: Time,
    inside: &mut usize,
    delays: &mut [Option<Duration>],
) {
    while link.wake_time() <= until {
        let now = link.wake_time();
        if let Some(Output::Packet { at, packet, .. }) = link.poll(now) {
            delays[packet.number] = Some(at - packet.sent);
            *inside -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_packet_has_its_delay_and_some_are_lost() {
        let json = r#"{"kind": "wire", "reverse": [{}], "forward": [{
            "rate": {"kind": "fixed", "bits_per_sec": 12000000}, "delay_ns": 20000000,
            "queue": {"kind": "drop_tail", "packets": 3}}]}"#;
        let path: PathConfig = serde_json::from_str(json).expect("a path");
        let mut sent = vec![(Time::from_millis(5), 1500); 4];
        sent.push((Time::from_millis(50), 750));
        let delays = probe(&path, &Traces::new(), 1, Direction::Forward, 1, &sent);
        let us = |us| Some(Duration::from_micros(us));
        let expected = [us(21_000), us(22_000), us(23_000), None, us(20_500)];
        assert_eq!(delays.expect("a path"), expected);
        sent.push((Time::ZERO, 1500));
        let refused = probe(&path, &Traces::new(), 1, Direction::Forward, 1, &sent);
        let refused = refused.expect_err("the times are not sorted").to_string();
        assert_eq!(refused, "sent: the times must not decrease");
    }
}
