//! Differences of the profiles of ns-2, textbooks and others from `linux-6.1`: one test per
//! difference, with all stacks in the same situation.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_packet::{Flags, Segment};
use cwndlab_tcp::{Endpoint, EndpointConfig, Profile, TcpEvent, TcpOutput};
use cwndlab_units::{Duration, Time};

/// One-way delay between the two ends, and the transmission time of a segment.
const DELAY: Duration = Duration::from_millis(20);
const PER_SEGMENT: Duration = Duration::from_micros(20);

/// A transfer from one end to the other, over a wire that loses chosen data segments.
struct Transfer {
    ends: [Endpoint; 2],
    /// Arrival time and segment, for each receiving end.
    under_way: [VecDeque<(Time, Segment)>; 2],
    /// When the wire towards each end is free again.
    free: [Time; 2],
    now: Time,
    /// Every segment sent: time, sending end, and segment.
    log: Vec<(Time, usize, Segment)>,
    events: Vec<(Time, TcpEvent)>,
    /// Numbers of the sender's data segments that are lost, counting retransmissions.
    lost: Vec<usize>,
    data_segments: usize,
    windows: Vec<u32>,
}

impl Transfer {
    fn new(stack: &str, lost: &[usize]) -> Self {
        Self::with(stack, &[], lost)
    }

    /// Data of one stack to a receiver of another.
    fn between(sender: &str, receiver: &str, lost: &[usize]) -> Self {
        let mut transfer = Self::new(sender, lost);
        let mut other = Self::new(receiver, lost);
        std::mem::swap(&mut transfer.ends[1], &mut other.ends[1]);
        transfer
    }

    fn with(stack: &str, overrides: &[(&str, i64)], lost: &[usize]) -> Self {
        let overrides: BTreeMap<_, _> =
            overrides.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        let profile = Profile::by_name(stack).expect("a profile");
        let profile = Arc::new(profile.with_overrides(&overrides).expect("settings"));
        let reno = Algorithm::by_name("reno").expect("reno");
        let end = |seed| {
            Endpoint::new(EndpointConfig {
                flow: 0,
                user: 1,
                profile: Arc::clone(&profile),
                congestion: Congestion::new(reno, &BTreeMap::new()).expect("no parameters"),
                seed,
                jiffies_phase: Duration::ZERO,
            })
        };
        let mut ends = [end(1_000_000), end(2_000_000)];
        ends[1].listen();
        ends[0].connect(Time::ZERO);
        Self {
            ends,
            under_way: Default::default(),
            free: [Time::ZERO; 2],
            now: Time::ZERO,
            log: Vec::new(),
            events: Vec::new(),
            lost: lost.to_vec(),
            data_segments: 0,
            windows: Vec::new(),
        }
    }

    fn send(mut self, bytes: u64, until: Time) -> Self {
        let mut left = bytes;
        loop {
            let mut wake = Time::NEVER;
            if self.ends[0].is_established() {
                left -= self.ends[0].write(self.now, left);
            }
            for index in 0..2 {
                self.ends[index].read(self.now, u64::MAX);
                wake = wake.min(self.poll(index));
            }
            self.windows.push(self.ends[0].info().cwnd_pkts);
            let arrivals = self.under_way.each_ref().map(|way| way.front().map(|next| next.0));
            let next = arrivals.into_iter().flatten().fold(wake, Time::min);
            if next.is_never() || next > until {
                self.now = until;
                return self;
            }
            self.now = next;
            if let Some(to) = arrivals.iter().position(|at| at.is_some_and(|at| at <= self.now)) {
                let (_, segment) =
                    self.under_way[to].pop_front().expect("the queue has a first packet");
                self.ends[to].handle_segment(self.now, &segment);
            }
        }
    }

    fn poll(&mut self, index: usize) -> Time {
        let polled = self.ends[index].poll(self.now);
        for output in polled.outputs {
            for segment in output.segments() {
                self.log.push((self.now, index, segment));
                let is_data = index == 0 && segment.payload > 0;
                let is_lost = is_data && self.lost.contains(&self.data_segments);
                self.data_segments += usize::from(is_data);
                let to = 1 - index;
                self.free[to] = self.free[to].max(self.now) + PER_SEGMENT;
                if !is_lost {
                    self.under_way[to].push_back((self.free[to] + DELAY, segment));
                }
            }
            if let (0, TcpOutput::Event { at, event }) = (index, *output) {
                self.events.push((at, event));
            }
        }
        polled.next
    }

    /// Data segments in the order in which they were sent.
    fn data(&self) -> impl Iterator<Item = &(Time, usize, Segment)> {
        self.log.iter().filter(|(_, from, segment)| *from == 0 && segment.payload > 0)
    }

    /// Segments of the receiver after its SYN.
    fn acks(&self) -> impl Iterator<Item = &Segment> {
        let acks = self.log.iter().filter(|(_, from, s)| *from == 1 && !s.flags.has(Flags::SYN));
        acks.map(|(_, _, segment)| segment)
    }

    fn has(&self, name: &str) -> bool {
        self.events.iter().any(|(_, event)| event.name() == name)
    }

    /// When the first retransmission was sent.
    fn repaired_at(&self) -> Time {
        let mut highest = 0;
        for (at, _, segment) in self.data() {
            let end = segment.seq.wrapping_add(segment.payload);
            if end <= highest {
                return *at;
            }
            highest = end;
        }
        panic!("nothing was retransmitted");
    }
}

const SECOND: Time = Time::from_secs(1);

#[test]
fn packet_agent_opens_with_a_bare_packet_and_linux_with_three() {
    let until = Time::from_millis(42);
    let linux = Transfer::new("linux-6.1", &[]).send(10_000, until);
    let first: Vec<u32> = linux.log.iter().take(3).map(|entry| entry.2.wire_bytes()).collect();
    assert_eq!(first, [60, 60, 52], "SYN, SYN-ACK and ACK with options");
    let ns = Transfer::new("ns-2-packet", &[]).send(10_000, until);
    let first: Vec<u32> = ns.log.iter().take(3).map(|entry| entry.2.wire_bytes()).collect();
    assert_eq!(first, [40, 40, 1_540], "no ACK between the answer and data");
}

#[test]
fn linux_agent_of_ns_2_sends_data_a_round_trip_earlier() {
    let first_ms = |stack| {
        let sent = Transfer::new(stack, &[]).send(10_000, SECOND);
        sent.data().next().expect("data").0.as_millis()
    };
    assert_eq!(first_ms("linux-6.1"), 40);
    assert_eq!(first_ms("ns-2-packet"), 40);
    assert_eq!(first_ms("ns-2-linux"), 0);
}

#[test]
fn segment_and_header_sizes_differ() {
    for (stack, payload, header) in [
        ("linux-6.1", 1_448, 52),
        ("ns-2-packet", 1_500, 40),
        ("ns-2-full", 536, 40),
        ("ns-2-linux", 1_500, 50),
        ("textbook", 1_460, 40),
        ("windows-7", 1_460, 40),
        ("ns-3", 536, 52),
        ("linux-2.6.24", 1_448, 52),
    ] {
        let sent = Transfer::new(stack, &[]).send(100_000, SECOND);
        let segment = sent.data().next().expect("data").2;
        assert_eq!((segment.payload, segment.wire_bytes()), (payload, payload + header), "{stack}");
    }
}

#[test]
fn first_flight_is_ten_segments_or_two() {
    // Until just before the first ACK of data arrives.
    let until = Time::from_millis(79);
    for (stack, segments) in [
        ("linux-6.1", 10),
        ("linux-2.6.24", 3),
        ("textbook", 10),
        ("windows-7", 2),
        ("ns-3", 10),
        ("ns-2-packet", 2),
        ("ns-2-full", 2),
    ] {
        let sent = Transfer::new(stack, &[]).send(100_000, until);
        assert_eq!(sent.data().count(), segments, "{stack}");
    }
}

#[test]
fn window_limit_of_ns_2_bounds_flight_and_first_slow_start() {
    let ns = Transfer::new("ns-2-packet", &[]);
    assert_eq!(ns.ends[0].info().ssthresh_pkts, Some(20));
    let ns = ns.send(1_000_000, SECOND);
    assert_eq!(ns.ends[0].info().cwnd_pkts, 20);
    assert!(ns.windows.iter().all(|window| *window <= 20));
    let linux = Transfer::new("linux-6.1", &[]);
    assert_eq!(linux.ends[0].info().ssthresh_pkts, None);
    let linux = linux.send(1_000_000, SECOND);
    assert!(linux.ends[0].info().cwnd_pkts > 40);
}

#[test]
fn sinks_of_ns_2_acknowledge_every_packet() {
    let count = |stack| {
        let sent = Transfer::new(stack, &[]).send(3_000_000, Time::from_secs(20));
        (sent.acks().count(), sent.data().count())
    };
    let (acks, segments) = count("ns-2-packet");
    assert_eq!(acks, segments);
    let (acks, segments) = count("ns-2-full");
    assert_eq!(acks, segments);
    // Linux delays ACKs, but sends many at once while its receive window grows.
    let (acks, segments) = count("linux-6.1");
    assert!(acks < segments - 50, "{acks} ACKs for {segments} segments");
}

#[test]
fn unanswered_start_is_repeated_after_three_seconds_or_one() {
    for (stack, millis) in [
        ("linux-6.1", 1_000),
        ("linux-2.6.24", 3_000),
        ("textbook", 1_000),
        ("windows-7", 3_000),
        ("ns-3", 3_000),
        ("ns-2-full", 3_000),
    ] {
        let mut alone = Transfer::new(stack, &[]);
        let mut starts = Vec::new();
        while starts.len() < 2 {
            let polled = alone.ends[0].poll(alone.now);
            if polled.outputs.iter().any(|output| matches!(output, TcpOutput::Train(_))) {
                starts.push(alone.now.as_millis());
            }
            alone.now = polled.next;
        }
        // Linux rounds to its ticks, coarsely if the timer is long.
        assert!(starts[1].abs_diff(millis) <= millis / 15, "{stack}: {starts:?}");
    }
}

#[test]
fn only_linux_probes_for_a_lost_tail() {
    // The last of ten segments is lost.
    let linux = Transfer::new("linux-6.1", &[9]).send(14_480, Time::from_secs(5));
    assert!(linux.has("tail_loss_probe") && !linux.has("timeout"));
    let ns = Transfer::new("ns-2-packet", &[9]).send(15_000, Time::from_secs(5));
    assert!(!ns.has("tail_loss_probe") && ns.has("timeout"));
    assert_eq!(ns.ends[0].info().snd_una_bytes, 15_000);
}

#[test]
fn plain_sink_leaves_the_sack_agents_only_their_timer() {
    let lost = [30];
    let until = Time::from_secs(5);
    let sack = Transfer::new("ns-2-packet", &lost).send(150_000, until);
    assert!(sack.has("recovery") && !sack.has("timeout"));
    for stack in ["ns-2-packet", "ns-2-linux"] {
        let plain = Transfer::with(stack, &[("sack_blocks", 0)], &lost).send(150_000, until);
        assert!(!plain.has("recovery") && plain.has("timeout"), "{stack}");
    }
}

#[test]
fn reno_of_full_tcp_inflates_its_window_and_linux_does_not() {
    let largest_in_recovery = |stack, first: usize| {
        let limit: &[(&str, i64)] =
            if stack == "linux-6.1" { &[] } else { &[("window_limit_pkts", 40)] };
        let sent = Transfer::with(stack, limit, &[first]).send(400_000, Time::from_secs(3));
        let recovery = sent.events.iter().find(|(_, event)| event.name() == "recovery");
        assert!(recovery.is_some(), "{stack}");
        sent.windows.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect()
    };
    // Steps of the window in both stacks after a loss in the middle of a flight of 30.
    let full: Vec<i64> = largest_in_recovery("ns-2-full", 60);
    let down = full.iter().position(|step| *step < -3).expect("a reduction");
    assert!(full[down + 1..].iter().take(20).sum::<i64>() >= 5, "duplicate ACKs add to it");
    let linux: Vec<i64> = largest_in_recovery("linux-6.1", 60);
    let down = linux.iter().position(|step| *step < 0).expect("a reduction");
    assert!(linux[down + 1..].iter().take(20).sum::<i64>() <= 0, "PRR only takes away");
}

#[test]
fn timeout_of_ns_2_sends_the_flight_again_and_of_linux_only_what_is_lost() {
    // Every second segment of a flight is lost.
    let lost = [40, 42, 44, 46, 48, 50];
    let again = |stack: &str, settings: &[(&str, i64)]| {
        let sent = Transfer::with(stack, settings, &lost).send(200_000, Time::from_secs(8));
        sent.ends[0].counters().retransmitted_segments
    };
    assert_eq!(again("linux-6.1", &[]), 6);
    let ns = again("ns-2-packet", &[("sack_blocks", 0)]);
    assert!(ns >= 10, "{ns} segments again for 6 lost ones");
}

#[test]
fn only_linux_forgets_its_window_when_idle() {
    let after_idle = |stack| {
        let sent = Transfer::new(stack, &[]).send(100_000, Time::from_secs(2));
        let before = sent.ends[0].info().cwnd_pkts;
        let later = sent.now + Duration::from_secs(20);
        let mut idle = Transfer { now: later, ..sent };
        idle.ends[0].poll(later);
        let sent = idle.send(3_000, later + Duration::from_millis(1));
        (before, sent.ends[0].info().cwnd_pkts)
    };
    let (before, after) = after_idle("ns-2-packet");
    assert_eq!(after, before);
    let (before, after) = after_idle("linux-6.1");
    assert!(before > 10 && after == 10, "{before} {after}");
}

#[test]
fn timer_of_the_textbook_waits_a_second_where_linux_waits_a_fifth() {
    let waited = |stack, bytes| {
        let sent = Transfer::new(stack, &[9]).send(bytes, Time::from_secs(5));
        sent.repaired_at().saturating_since(Time::from_millis(80))
    };
    assert!(waited("textbook", 14_600) >= Duration::from_millis(960));
    assert!(waited("linux-6.1", 14_480) <= Duration::from_millis(250));
}

#[test]
fn only_older_linux_remembers_the_threshold() {
    // A loss sets a threshold; the next connection to the same host starts with it.
    for (stack, is_cached) in [("linux-2.6.24", true), ("linux-3.5", true), ("linux-5.10", false)] {
        let first = Transfer::new(stack, &[30]).send(300_000, Time::from_secs(5));
        let learned = first.ends[0].info().ssthresh_pkts.expect("a loss");
        let remembered = first.ends[0].ssthresh_to_remember();
        assert_eq!(remembered.is_some(), is_cached, "{stack}");
        assert!(remembered.is_none_or(|pkts| pkts >= learned), "{stack}: {remembered:?}");
        let mut second = Transfer::new(stack, &[]);
        second.ends[0].remember_ssthresh(remembered.unwrap_or(learned));
        let second = second.send(10_000, SECOND);
        assert_eq!(second.ends[0].info().ssthresh_pkts, remembered, "{stack}");
    }
}

#[test]
fn receive_windows_are_three_quarters_of_the_buffer_or_half() {
    let widest = |stack| {
        let sent = Transfer::with(stack, &[("receive_buffer_max_bytes", 87_380)], &[]);
        let sent = sent.send(2_000_000, Time::from_secs(5));
        sent.ends[0].info().snd_wnd_bytes
    };
    // The window clamp leaves out one segment.
    assert!((64_000..=65_600).contains(&widest("linux-2.6.24")), "{}", widest("linux-2.6.24"));
    assert!((41_000..=43_700).contains(&widest("linux-3.5")), "{}", widest("linux-3.5"));
}

#[test]
fn cubic_of_2_6_24_has_its_own_parameters() {
    let parameters = |stack| Profile::by_name(stack).expect("exists").algorithms.remove("cubic");
    let old = parameters("linux-2.6.24").expect("parameters of its own");
    assert_eq!((old["beta"], old["hystart"]), (819, 0));
    assert_eq!(parameters("linux-3.5"), None);
}

#[test]
fn timers_wait_a_fifth_three_tenths_or_a_whole_second() {
    // The whole first flight is lost; it leaves after 40 ms, in ns-3 up to 9 ms later at either
    // end.
    for (stack, segments, millis) in
        [("linux-2.6.24", 3, 240..=256), ("windows-7", 2, 300..=310), ("ns-3", 10, 1_000..=1_018)]
    {
        let lost: Vec<usize> = (0..segments).collect();
        let sent = Transfer::new(stack, &lost).send(536 * 10, Time::from_secs(5));
        let waited = sent.repaired_at().saturating_since(Time::from_millis(40)).as_millis();
        assert!(millis.contains(&waited), "{stack}: {waited} ms");
    }
}

#[test]
fn buffers_of_ns_3_bound_the_flight_and_nothing_is_lost() {
    let sent = Transfer::with("ns-3", &[("segment_bytes", 1_472)], &[]);
    let sent = sent.send(3_000_000, Time::from_secs(3));
    let most = sent.data().map(|(_, _, segment)| segment.seq).collect::<Vec<_>>();
    assert!(most.len() > 1_000);
    assert_eq!(sent.ends[0].info().snd_wnd_bytes / 1_472, 89);
    assert!(sent.ends[0].info().unacked_pkts <= 90);
}

#[test]
fn prr_of_ns_3_spreads_the_reduction_and_a_pipe_waits_for_it() {
    // New segments sent between the start and the end of recovery.
    let sent_in_recovery = |stack: &str| {
        let sent = Transfer::with(stack, &[("initial_window_pkts", 30)], &[5]);
        let sent = sent.send(400_000, Time::from_secs(3));
        let at = |name: &str| sent.events.iter().find(|(_, event)| event.name() == name);
        let start = at("recovery").expect("a loss").0;
        let repair = sent.repaired_at();
        assert_eq!(start, repair, "{stack}");
        let early = start + Duration::from_micros(200);
        sent.data().filter(|(at, _, _)| *at > start && *at <= early).count()
    };
    assert!(sent_in_recovery("ns-3") > sent_in_recovery("windows-7"));
}

#[test]
fn stacks_talk_to_each_other() {
    let lost = [5, 20, 21, 30];
    for sender in Profile::names() {
        for receiver in Profile::names() {
            let sent =
                Transfer::between(sender, receiver, &lost).send(100_000, Time::from_secs(30));
            let arrived = sent.ends[0].info().snd_una_bytes;
            assert_eq!(arrived, 100_000, "{sender} to {receiver}");
        }
    }
}

#[test]
fn clocks_of_older_linux_show_in_timestamps_and_newer_ones_are_offset() {
    // Both ends have the same clock; separate offsets hide it.
    for (stack, is_offset) in
        [("linux-2.6.24", false), ("linux-3.5", false), ("linux-5.10", true), ("linux-6.18", true)]
    {
        let sent = Transfer::new(stack, &[]).send(10_000, SECOND);
        let stamp = |index: usize| sent.log[index].2.timestamps.expect("timestamps").0;
        let apart = stamp(1).wrapping_sub(stamp(0));
        assert_eq!(apart > 100, is_offset, "{stack}: {apart}");
    }
}

#[test]
fn send_buffers_of_4_mib_bound_the_flight() {
    // Nothing is lost, the wire holds 2,000 segments and the receiver's window 5,000.
    let flight = |stack| {
        let sent = Transfer::between(stack, "linux-6.1", &[]).send(400_000_000, Time::from_secs(5));
        sent.ends[0].info().unacked_pkts
    };
    for stack in ["linux-2.6.24", "linux-3.5", "linux-5.10"] {
        assert!((1_000..1_100).contains(&flight(stack)), "{stack}: {}", flight(stack));
    }
    // A segment takes 2,408 bytes there, not 2,728.
    assert!((1_130..1_250).contains(&flight("linux-6.12")), "{}", flight("linux-6.12"));
    assert!(flight("linux-6.1") > 3_000, "{}", flight("linux-6.1"));
    // With segmentation offload, a buffer of 44 segments leaves as a whole at such a rate, and is
    // charged once: 4 MiB of payload. Measured over an NR cell: at most 2,768 in flight. The
    // application waits until a third of the buffer is free, so there are fewer in between.
    let flights = (4_750..5_000).step_by(25).map(|ms| {
        let until = Time::from_millis(ms);
        let sent = Transfer::between("linux-6.18", "linux-6.1", &[]).send(400_000_000, until);
        sent.ends[0].info().unacked_pkts
    });
    let most = flights.max().expect("ten times");
    assert!((2_600..=2_900).contains(&most), "{most}");
}

#[test]
fn windows_reports_four_holes_where_timestamps_leave_room_for_three() {
    let most_blocks = |stack| {
        let lost = [11, 13, 15, 17, 19];
        let sent = Transfer::with(stack, &[("initial_window_pkts", 30)], &lost);
        let sent = sent.send(100_000, SECOND);
        sent.acks().map(|ack| ack.sacks.as_slice().len()).max()
    };
    assert_eq!(most_blocks("windows-7"), Some(4));
    assert_eq!(most_blocks("ns-3"), Some(3));
}

#[test]
fn windows_repairs_two_holes_in_a_round_trip_and_newreno_needs_two() {
    let between_repairs = |stack| {
        let sent = Transfer::with(stack, &[("initial_window_pkts", 30)], &[5, 15]);
        let sent = sent.send(43_800, SECOND);
        let hole = |number: usize| sent.data().nth(number).expect("data").2.seq;
        let repair = |seq: u32| {
            let of_seq = sent.data().filter(|(_, _, segment)| segment.seq == seq);
            of_seq.map(|(at, _, _)| *at).nth(1).expect("a repair")
        };
        repair(hole(15)).saturating_since(repair(hole(5)))
    };
    assert!(between_repairs("windows-7") < DELAY, "{:?}", between_repairs("windows-7"));
    assert!(between_repairs("textbook") >= DELAY * 2, "{:?}", between_repairs("textbook"));
}
