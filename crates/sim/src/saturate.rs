//! Measures the capacity of a path with a source that always has data to send.
//!
//! The source keeps the queue of the path full with packets of 1500 bytes and ignores all
//! feedback. Its throughput is therefore the capacity of the path, and the delay of its packets is
//! the maximum delay.

use cwndlab_link::{
    Admission, AnyLink, Backlog, Direction, Link, Packet, PathConfig, Stages, Traces,
};
use cwndlab_scenario::{ScenarioError, table};
use cwndlab_units::{Duration, Ecn, Output, Time};

use crate::run::link_error;

/// Length of each packet that the source sends.
const PACKET_BYTES: u32 = 1500;

/// Maximum number of packets in flight if no queue has a limit.
const MOST_PACKETS: u32 = 2_000;

/// Interval at which the source checks for room, in addition to the check after each departure.
const TICK: Duration = Duration::from_millis(1);

/// Maximum number of packets in a tick: more than any link of this project delivers, 120 Gbit/s.
const MOST_PACKETS_PER_TICK: usize = 10_000;

table! {
/// Results of saturating one direction of a path.
#[derive(Clone, PartialEq, Debug, Default)]
columns Saturation {
    /// Arrival time of each packet, in nanoseconds.
    pub at_ns: Vec<u64>,
    /// One-way delay of each packet, in nanoseconds.
    pub delay_ns: Vec<u64>,
    /// Packets waiting or in service, once a millisecond.
    pub queue_pkts: Vec<u32>,
    /// Bytes waiting or in service, once a millisecond.
    pub queue_bytes: Vec<u64>,
    /// Time at which each transport block of this user was sent, in a cell, in nanoseconds.
    pub block_at_ns: Vec<u64>,
    /// Signal-to-interference-and-noise ratio of each of these transport blocks.
    pub block_sinr_db: Vec<f64>,
}
}

/// A packet that the source sends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    pub(crate) sent: Time,
    pub(crate) user: u16,
    pub(crate) number: usize,
    pub(crate) bytes: u32,
}

impl Packet for Probe {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn flow(&self) -> u32 {
        0
    }

    fn user(&self) -> u16 {
        self.user
    }

    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }

    fn mark_ce(&mut self) {}
}

/// Saturates one direction of a path for one of its users; no other packets are sent.
///
/// # Errors
/// Returns an error if the path's settings contradict each other, a trace is missing, or the path
/// does not limit the rate.
pub fn saturate(
    path: &PathConfig,
    traces: &Traces,
    seed: u64,
    direction: Direction,
    user: u16,
    duration: Duration,
) -> Result<Saturation, ScenarioError> {
    if user == 0 || path.users().is_some_and(|users| user > users) {
        return Err(ScenarioError::new("user", format!("there is no user {user}")));
    }
    let mut link: AnyLink<Probe> =
        AnyLink::shared(path, traces, seed).map_err(|error| link_error(&error))?;
    let port = direction.port(user);
    if let AnyLink::Cell(cell) = &mut link {
        cell.record_blocks();
    }
    let mut source = Source { link, direction, port, user };
    let mut saturation = Saturation::default();
    let end = Time::ZERO + duration;
    let mut tick = Time::ZERO;
    while tick <= end {
        source.fill(tick);
        let backlog = source.backlog(tick);
        saturation.queue_pkts.push(backlog.packets);
        saturation.queue_bytes.push(backlog.bytes);
        source.take_blocks(&mut saturation);
        tick += TICK;
        let before = saturation.at_ns.len();
        while source.link.wake_time() <= tick.min(end) {
            let now = source.link.wake_time();
            if let Some(Output::Packet { at, packet, .. }) = source.link.poll(now) {
                saturation.at_ns.push(at.as_nanos());
                saturation.delay_ns.push((at - packet.sent).as_nanos());
                source.send(now);
            }
            if saturation.at_ns.len() - before > MOST_PACKETS_PER_TICK {
                let message =
                    format!("nothing limits the rate in the direction {}", direction.name());
                return Err(ScenarioError::new("path", message));
            }
        }
    }
    Ok(saturation)
}

/// A source and the link that it saturates.
struct Source {
    link: AnyLink<Probe>,
    direction: Direction,
    port: u16,
    user: u16,
}

impl Source {
    fn send(&mut self, now: Time) -> Admission {
        let Self { port, user, .. } = *self;
        let probe = Probe { sent: now, user, number: 0, bytes: PACKET_BYTES };
        self.link.handle_packet(now, port, probe)
    }

    /// Sends packets until the queue is full.
    fn fill(&mut self, now: Time) {
        for _ in self.backlog(now).packets..MOST_PACKETS {
            if self.send(now) == Admission::Dropped {
                break;
            }
        }
    }

    /// Records the transport blocks that a cell has sent for the source's user.
    fn take_blocks(&mut self, saturation: &mut Saturation) {
        let AnyLink::Cell(cell) = &mut self.link else { return };
        for block in cell.take_blocks() {
            if block.direction == self.direction && block.port == self.user {
                saturation.block_at_ns.push(block.at.as_nanos());
                saturation.block_sinr_db.push(block.sinr.as_f64());
            }
        }
    }

    /// Backlog of the source's user in the direction that is saturated.
    fn backlog(&mut self, now: Time) -> Backlog {
        self.link.backlog_of(self.direction, self.user, now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wire(json: &str) -> PathConfig {
        let json = format!(r#"{{"kind": "wire", "forward": [{json}], "reverse": [{{}}]}}"#);
        serde_json::from_str(&json).expect("a path")
    }

    fn saturated(path: &PathConfig, seconds: u64) -> Result<Saturation, ScenarioError> {
        let duration = Duration::from_secs(seconds);
        saturate(path, &Traces::new(), 1, Direction::Forward, 1, duration)
    }

    #[test]
    fn a_wire_gives_its_rate_and_its_queue_is_full() {
        let path = wire(
            r#"{"rate": {"kind": "fixed", "bits_per_sec": 12000000}, "delay_ns": 20000000,
                "queue": {"kind": "drop_tail", "packets": 30}}"#,
        );
        let saturation = saturated(&path, 10).expect("a rate");
        // One packet per millisecond; those of the last 20 ms are still in flight.
        assert_eq!(saturation.at_ns.len(), 10_000 - 20);
        let last = saturation.delay_ns.len() - 1;
        assert_eq!(saturation.delay_ns[last], 50_000_000, "30 packets and 20 ms");
        assert!(saturation.queue_pkts[1..].iter().all(|&packets| packets == 30));
    }

    #[test]
    fn an_outage_delays_and_a_loss_thins_out() {
        let path = wire(
            r#"{"rate": {"kind": "fixed", "bits_per_sec": 12000000},
                "queue": {"kind": "drop_tail", "packets": 5},
                "loss": {"kind": "iid", "ppb": 100000000},
                "outages": [{"start_ns": 2000000000, "stop_ns": 3000000000, "kind": "hold"}]}"#,
        );
        let saturation = saturated(&path, 10).expect("a rate");
        let during = |at: &&u64| (2_000_000_001..3_000_000_000).contains(*at);
        assert_eq!(saturation.at_ns.iter().filter(during).count(), 0);
        // Loss is on arrival: the queue is refilled at once, so the rate stays full.
        assert!(saturation.at_ns.len() > 8_900, "{}", saturation.at_ns.len());
    }

    #[test]
    fn a_path_without_a_rate_is_refused() {
        let error = saturated(&wire("{}"), 1).expect_err("no rate");
        assert_eq!(error.to_string(), "path: nothing limits the rate in the direction forward");
    }
}
