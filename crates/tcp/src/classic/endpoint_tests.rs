//! Two classic endpoints at the ends of a wire.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::{Duration, Time};
use proptest::prelude::*;

use super::endpoint::ClassicEndpoint;
use super::settings::{ClassicSettings, Recovery};
use super::testing::{ns_2_full, ns_2_linux, ns_2_packet, ns_3, textbook};
use crate::parts::Parts;

const DELAY: Duration = Duration::from_millis(10);

/// A client, a server, and what is on the wire between them.
struct Wire {
    ends: [ClassicEndpoint; 2],
    under_way: VecDeque<(Time, usize, Segment)>,
    now: Time,
    /// Every segment sent, with the index of its sender.
    log: Vec<(usize, Segment)>,
    /// Numbers of the segments that are lost, counted from 0 in the order of departure.
    lost: Vec<usize>,
    reads: bool,
}

impl Wire {
    fn new(settings: ClassicSettings, lost: &[usize]) -> Self {
        let reno = Algorithm::by_name("reno").expect("reno");
        let end = || {
            let congestion = Congestion::new(reno, &BTreeMap::new()).expect("no parameters");
            let jiffies_phase = Duration::ZERO;
            let parts = Parts { flow: 7, user: 1, congestion, seed: 1, jiffies_phase };
            ClassicEndpoint::new(settings.clone(), parts)
        };
        let mut ends = [end(), end()];
        ends[1].listen();
        ends[0].connect(Time::ZERO);
        Self {
            ends,
            under_way: VecDeque::new(),
            now: Time::ZERO,
            log: Vec::new(),
            lost: lost.to_vec(),
            reads: true,
        }
    }

    /// Runs until `until` or until nothing more happens. Returns the bytes that each end has read
    /// since.
    fn run(&mut self, until: Time) -> [u64; 2] {
        let mut read = [0; 2];
        loop {
            let mut wake = Time::NEVER;
            for (index, end) in self.ends.iter_mut().enumerate() {
                if self.reads {
                    read[index] += end.read(self.now, u64::MAX);
                }
                let polled = end.poll(self.now);
                for output in polled.outputs {
                    for segment in output.segments() {
                        if !self.lost.contains(&self.log.len()) {
                            self.under_way.push_back((self.now + DELAY, 1 - index, segment));
                        }
                        self.log.push((index, segment));
                    }
                }
                assert!(polled.next > self.now, "a wait for the past");
                wake = wake.min(polled.next);
            }
            let arrival = self.under_way.front().map_or(Time::NEVER, |next| next.0);
            self.now = arrival.min(wake);
            if self.now.is_never() || self.now > until {
                self.now = until;
                return read;
            }
            // One at a time, as a link delivers them: each may cause an answer.
            if arrival <= self.now {
                let (_, to, segment) =
                    self.under_way.pop_front().expect("the queue has a first packet");
                self.ends[to].handle_segment(self.now, &segment);
            }
        }
    }

    fn sizes(&self) -> Vec<(usize, u32)> {
        self.log.iter().map(|(end, segment)| (*end, segment.wire_bytes())).collect()
    }
}

fn seconds(secs: u64) -> Time {
    Time::from_secs(secs)
}

#[test]
fn packet_agent_begins_with_a_bare_packet_and_ends_with_data() {
    let mut wire = Wire::new(ns_2_packet(), &[]);
    wire.ends[0].write(Time::ZERO, 2_000);
    assert_eq!(wire.run(seconds(1)), [0, 2_000]);
    let sizes = [(0, 40), (1, 40), (0, 1540), (0, 540), (1, 40), (1, 40)];
    assert_eq!(wire.sizes(), sizes, "no ACK of the ACK");
}

#[test]
fn linux_agent_sends_data_behind_its_first_packet() {
    let mut wire = Wire::new(ns_2_linux(), &[]);
    wire.ends[0].write(Time::ZERO, 10_000);
    wire.run(seconds(1));
    assert_eq!(wire.sizes()[..3], [(0, 40), (0, 1550), (1, 40)]);
    assert_eq!(wire.ends[0].last_rtt_us(), Some(20_000), "by an echoed timestamp");
}

#[test]
fn either_end_waits_for_its_address_and_the_waits_are_round_trip() {
    let with = |address_wait_ms| {
        let settings = ClassicSettings { address_wait_ms, ..ns_3() };
        let mut wire = Wire::new(settings, &[]);
        wire.run(Time::from_millis(100));
        (wire.log.len(), wire.ends[0].info().srtt_us)
    };
    assert_eq!(with(0), (3, 20_000));
    assert_eq!(with(1), (3, 20_000), "0 ms is the only number below 1");
    let (segments, handshake_us) = with(10);
    assert_eq!(segments, 3, "no SYN is sent twice");
    // Both ends have the same seed here, and so draw the same delay.
    let waits_us = handshake_us - 20_000;
    assert!((2_000..=18_000).contains(&waits_us) && waits_us % 2_000 == 0, "{handshake_us}");
}

#[test]
fn an_address_that_is_known_is_not_waited_for_again() {
    let settings = ClassicSettings { address_wait_ms: 10, ..ns_3() };
    // The answer is lost: 3 s after the start, the SYN is retransmitted, and both leave at once.
    let mut wire = Wire::new(settings, &[1]);
    let is_open =
        |wire: &Wire| wire.log.iter().any(|(_, segment)| segment.flags == Flags(Flags::ACK));
    let again = seconds(3) + DELAY + DELAY;
    wire.run(Time::from_micros(again.as_micros() - 1));
    assert!(!is_open(&wire));
    wire.run(again);
    assert!(is_open(&wire));
}

#[test]
fn full_tcp_shakes_hands_three_times_and_cuts_into_536_bytes() {
    let mut wire = Wire::new(ns_2_full(), &[]);
    wire.ends[0].write(Time::ZERO, 1_072);
    wire.run(seconds(1));
    let sizes = [(0, 40), (1, 40), (0, 40), (0, 576), (0, 576), (1, 40), (1, 40)];
    assert_eq!(wire.sizes(), sizes);
}

#[test]
fn full_tcp_delays_acks_if_two_segments_make_one() {
    let settings = ClassicSettings { ack_segments: 2, ..ns_2_full() };
    let mut wire = Wire::new(settings, &[]);
    wire.ends[0].write(Time::ZERO, 536);
    wire.run(Time::from_millis(129));
    assert_eq!(wire.log.len(), 4, "the segment arrives at 30 ms and waits");
    wire.run(Time::from_millis(131));
    assert_eq!(wire.log.len(), 5);
    assert_eq!(wire.ends[1].counters().delayed_acks, 1);
}

#[test]
fn textbook_sends_ten_segments_and_acknowledges_every_second() {
    let mut wire = Wire::new(textbook(), &[]);
    wire.ends[0].write(Time::ZERO, 20 * 1_460);
    wire.run(Time::from_millis(39));
    let sizes = wire.sizes();
    assert_eq!(sizes[..3], [(0, 40), (1, 40), (0, 40)]);
    assert_eq!(sizes[3..13], [(0, 1_500); 10]);
    assert_eq!(sizes[13..], [(1, 40); 5]);
}

#[test]
fn data_flow_both_ways_at_once_and_carry_the_acks() {
    let settings = ClassicSettings { ack_segments: 2, ..ns_2_full() };
    let mut wire = Wire::new(settings, &[]);
    wire.ends[0].write(Time::ZERO, 20_000);
    wire.ends[1].write(Time::ZERO, 30_000);
    assert_eq!(wire.run(seconds(5)), [30_000, 20_000]);
    let bare = wire.log.iter().filter(|(_, segment)| segment.payload == 0).count();
    assert!(bare < 94 / 2, "{bare} bare ACKs for 94 segments of data");
}

#[test]
fn connection_ends_when_both_have_closed() {
    let mut wire = Wire::new(ns_2_full(), &[]);
    wire.ends[0].write(Time::ZERO, 1_000);
    wire.ends[0].close(Time::ZERO);
    assert_eq!(wire.run(seconds(1)), [0, 1_000]);
    assert!(wire.ends[1].peer_has_finished() && !wire.ends[0].is_closed());
    let now = wire.now;
    wire.ends[1].close(now);
    wire.run(seconds(2));
    assert!(wire.ends[0].is_closed() && wire.ends[1].is_closed());
    let fins = wire.log.iter().filter(|(_, segment)| segment.flags.has(Flags::FIN)).count();
    assert_eq!(fins, 2);
}

#[test]
fn lost_syn_and_lost_answer_are_sent_again_after_the_initial_timer() {
    for lost in [0, 1] {
        let mut wire = Wire::new(ns_2_full(), &[lost]);
        wire.ends[0].write(Time::ZERO, 500);
        assert_eq!(wire.run(Time::from_millis(2_999))[1], 0);
        assert_eq!(wire.run(Time::from_millis(3_100))[1], 500);
    }
}

#[test]
fn closed_window_stops_the_sender_and_reading_opens_it() {
    let settings = ClassicSettings { receive_buffer_bytes: 5_360, ..ns_2_full() };
    let mut wire = Wire::new(settings, &[]);
    wire.reads = false;
    wire.ends[0].write(Time::ZERO, 20_000);
    wire.run(Time::from_millis(150));
    assert_eq!(wire.ends[1].readable(), 5_360);
    wire.reads = true;
    assert_eq!(wire.run(seconds(1))[1], 20_000);
}

#[test]
fn linux_like_peer_limits_the_segment() {
    let mut small = Wire::new(ns_2_packet(), &[]);
    small.ends[0].write(Time::ZERO, 3_000);
    small.run(Time::from_millis(10));
    let mut answer = small.under_way[0].2;
    answer.syn.as_mut().expect("options of a SYN").mss = 1_460;
    small.under_way[0].2 = answer;
    small.run(seconds(1));
    assert_eq!(small.sizes()[2], (0, 1_500));
}

proptest! {
    /// Whatever is lost, every recovery delivers every byte once and in order.
    #[test]
    fn every_byte_arrives(
        lost in prop::collection::vec(0_usize..400, 0..80),
        kind in 0_usize..5,
        bytes in 1_u64..300_000,
        is_textbook: bool,
    ) {
        let recoveries = [
            Recovery::Tahoe,
            Recovery::Reno,
            Recovery::NewReno,
            Recovery::Sack,
            Recovery::Prr,
            Recovery::Fack,
        ];
        let base = if is_textbook { textbook() } else { ns_2_packet() };
        let settings =
            ClassicSettings { recovery: recoveries[kind], window_limit_pkts: 60, ..base };
        let mut wire = Wire::new(settings, &lost);
        wire.ends[0].write(Time::ZERO, bytes);
        wire.ends[0].close(Time::ZERO);
        let read = wire.run(seconds(100_000));
        prop_assert_eq!(read, [0, bytes]);
        prop_assert!(wire.ends[1].peer_has_finished());
        let sent: u64 = wire.log.iter().filter(|(end, _)| *end == 0)
            .map(|(_, segment)| u64::from(segment.payload)).sum();
        let again = wire.ends[0].counters().retransmitted_segments;
        prop_assert!(sent <= bytes + again * 1_500, "{} bytes, {} segments again", sent, again);
        prop_assert!(wire.ends[0].info().cwnd_pkts >= 1);
    }
}
