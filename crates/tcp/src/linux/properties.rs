//! Tests of properties that hold whatever the network does. Two endpoints communicate over a
//! channel that loses, repeats, marks and reorders segments, and every claim of either end is
//! compared with what really arrived.

use std::collections::BTreeMap;

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_packet::seq::{after, before};
use cwndlab_packet::{Flags, Segment};
use cwndlab_units::{Duration, Ecn, Stream, Time};
use proptest::prelude::*;

use super::rtx::{LOST, SACKED_ACKED, SACKED_RETRANS};
use super::{EcnMode, LinuxEndpoint, LinuxSettings, OptionSettings};
use crate::info::CaState;
use crate::parts::Parts;
use crate::profile::Profile;

/// Maximum time without a segment until both ends have closed, unless an end waits for its pacing
/// (one segment per round trip, however long this seems to be). It is the longest timeout, plus
/// 512 ticks of 4 ms to which the timer wheel rounds it and the tick that has begun, plus 140 ms
/// for segments in flight that set the timer again.
const SILENCE: Duration = Duration::from_millis(120_000 + 513 * 4 + 140);

/// Maximum time in which no new data are acknowledged: of 120 timeouts of two minutes each, some
/// retransmission and its answer arrive. The total time has no such limit. If ACKs are lost,
/// answers to retransmissions echo the originals and let the timeout grow to two minutes (the
/// packet scripts `echo_of_repeated` and `rto_of_lost_acks`), and then every other loss costs as
/// much.
const PATIENCE: Duration = Duration::from_secs(4 * 3_600);

/// A network with two endpoints and their applications.
#[derive(Clone, Debug)]
struct World {
    seed: u64,
    algorithm: &'static str,
    settings: LinuxSettings,
    loss_pct: u64,
    repeat_pct: u64,
    mark_pct: u64,
    delay: Duration,
    /// Maximum delay that is added to each segment independently.
    jitter: Duration,
    /// Period in which no segment arrives.
    outage: (Time, Time),
    /// Number of bytes that each end writes.
    bytes: [u64; 2],
    /// Interval between two reads of each end; zero means immediate reads.
    reads_every: [Duration; 2],
}

fn worlds() -> impl Strategy<Value = World> {
    let settings = (
        (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
        prop_oneof![
            Just(EcnMode::Off),
            Just(EcnMode::Passive),
            Just(EcnMode::Active),
            Just(EcnMode::Accurate)
        ],
        prop_oneof![Just(131_072_u32), Just(16_384), Just(1_048_576)],
        prop_oneof![Just(1_500_u32), Just(600), Just(9_000)],
        any::<[bool; 4]>(),
        prop::sample::select(vec!["linux-6.1", "linux-6.18", "linux-3.5", "linux-2.6.24"]),
    )
        .prop_map(
            |((sack, timestamps, rack, probes, frto), ecn, buffer, mtu_bytes, more, name)| {
                let profile = Profile::by_name(name).expect("exists");
                let mut settings = profile.linux().expect("linux").clone();
                let [dsack, pacing, nagle, slow_start_after_idle] = more;
                let offsets = settings.options.timestamp_offsets;
                settings.options = OptionSettings {
                    sack,
                    dsack,
                    timestamps,
                    timestamp_offsets: offsets,
                    accurate_ecn_option: rack != probes,
                };
                settings.repair.rack = rack;
                settings.repair.tail_loss_probe = probes;
                settings.repair.forward_rto_recovery = frto;
                settings.receive.receive_buffer_bytes = buffer;
                LinuxSettings { ecn, mtu_bytes, pacing, nagle, slow_start_after_idle, ..settings }
            },
        );
    let algorithms: Vec<&str> = Algorithm::all().map(|algorithm| algorithm.name()).collect();
    let pauses = prop_oneof![Just(0_u64), Just(3), Just(700)].prop_map(Duration::from_millis);
    (
        (any::<u64>(), prop::sample::select(algorithms), settings),
        (0_u64..30, 0_u64..10, 0_u64..20),
        (1_u64..80, prop_oneof![Just(0_u64), 1_u64..60]),
        (0_u64..2_000, prop_oneof![Just(0_u64), 1_u64..5_000]),
        [0_u64..120_000, 0_u64..40_000],
        [pauses.clone(), pauses],
    )
        .prop_map(|(who, percent, (delay, jitter), (from, length), bytes, reads_every)| {
            let (seed, algorithm, settings) = who;
            let (loss_pct, repeat_pct, mark_pct) = percent;
            World {
                seed,
                algorithm,
                settings,
                loss_pct,
                repeat_pct,
                mark_pct,
                delay: Duration::from_millis(delay),
                jitter: Duration::from_millis(jitter),
                outage: (Time::from_millis(from), Time::from_millis(from + length)),
                bytes,
                reads_every,
            }
        })
}

/// The data that one end has really received, and the window that it has really advertised.
#[derive(Debug)]
struct Truth {
    /// Bytes that arrived, as ranges of the peer's sequence space counted from the peer's SYN.
    arrived: BTreeMap<u32, u32>,
    peer_first: Option<u32>,
    /// The highest right edge of the window that this end has advertised.
    right_edge: Option<u32>,
    window_shift: u8,
    written: u64,
    read: u64,
    next_read: Time,
}

impl Truth {
    fn new() -> Self {
        Self {
            arrived: BTreeMap::new(),
            peer_first: None,
            right_edge: None,
            window_shift: 0,
            written: 0,
            read: 0,
            next_read: Time::ZERO,
        }
    }

    /// Records a segment that is delivered to this end.
    fn note_arrival(&mut self, segment: &Segment) {
        let first = *self.peer_first.get_or_insert(segment.seq);
        let mut start = segment.seq.wrapping_sub(first);
        let mut end = segment.end_seq().wrapping_sub(first);
        if start >= end {
            return;
        }
        while let Some((&from, &to)) = self.arrived.range(..=end).next_back() {
            if to < start {
                break;
            }
            self.arrived.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.arrived.insert(start, end);
    }

    /// Whether all bytes in a range of sequence numbers have arrived.
    fn has(&self, start: u32, end: u32) -> bool {
        let Some(first) = self.peer_first else { return start == end };
        let (start, end) = (start.wrapping_sub(first), end.wrapping_sub(first));
        let block = self.arrived.range(..=start).next_back();
        start == end || block.is_some_and(|(_, &to)| to >= end)
    }
}

struct Channel {
    world: World,
    random: Stream,
    ends: [LinuxEndpoint; 2],
    truth: [Truth; 2],
    /// Segments in flight, sorted by arrival time and then by the order of departure.
    under_way: BTreeMap<(Time, u64), (usize, Segment)>,
    sent: u64,
    now: Time,
    last_sent: Time,
    /// The data of which both ends know that they arrived, and since when they know it.
    news: ([u32; 2], Time),
}

impl Channel {
    fn new(world: World) -> Self {
        let algorithm = Algorithm::by_name(world.algorithm).expect("an algorithm");
        let mut random = Stream::new(world.seed, "channel");
        let mut end = || {
            let congestion = Congestion::new(algorithm, &BTreeMap::new()).expect("defaults");
            let phase = Duration::from_nanos(random.below(4_000_000));
            // Half of the time, sequence numbers and timestamps that wrap soon.
            let seed = match random.below(2) {
                0 => random.next_u64(),
                _ => u64::MAX - random.below(50_000) - (random.below(50_000) << 32),
            };
            let parts = Parts { flow: 0, user: 1, congestion, seed, jiffies_phase: phase };
            LinuxEndpoint::new(world.settings.clone(), parts)
        };
        let mut ends = [end(), end()];
        ends[1].listen();
        ends[0].connect(Time::ZERO);
        let truth = [Truth::new(), Truth::new()];
        let under_way = BTreeMap::new();
        let (sent, now, last_sent, news) = (0, Time::ZERO, Time::ZERO, ([0; 2], Time::ZERO));
        Self { world, random, ends, truth, under_way, sent, now, last_sent, news }
    }

    /// Runs everything that is due at this time. Returns the time at which the next event is due.
    fn step(&mut self) -> Time {
        let mut next = Time::NEVER;
        for index in 0..2 {
            self.use_application(index);
            let polled = self.ends[index].poll(self.now);
            assert!(polled.next > self.now, "a timer for the past: {:?}", polled.next);
            next = next.min(polled.next);
            let outputs = polled.outputs.to_vec();
            check_counts(&self.ends[index]);
            for output in outputs {
                for segment in output.segments() {
                    self.check_segment(index, &segment);
                    self.send(1 - index, segment);
                }
            }
            let truth = &self.truth[index];
            if truth.next_read > self.now {
                next = next.min(truth.next_read);
            }
        }
        next
    }

    fn use_application(&mut self, index: usize) {
        let (now, end) = (self.now, &mut self.ends[index]);
        let truth = &mut self.truth[index];
        if end.is_established() && truth.written < self.world.bytes[index] {
            truth.written += end.write(now, self.world.bytes[index] - truth.written);
        }
        if truth.written == self.world.bytes[index] {
            end.close(now);
        }
        if now >= truth.next_read {
            truth.read += end.read(now, u64::MAX);
            truth.next_read = now + self.world.reads_every[index];
        }
    }

    /// Checks the claims of a segment: acknowledged data have arrived, and sent data are within
    /// the window.
    fn check_segment(&mut self, from: usize, segment: &Segment) {
        let [here, there] = match from {
            0 => [0, 1],
            _ => [1, 0],
        };
        let truth = &mut self.truth[here];
        if let Some(syn) = segment.syn {
            truth.window_shift = syn.window_scale.unwrap_or(0);
        }
        if let Some(first) = truth.peer_first {
            if segment.ack != 0 || segment.syn.is_none() {
                assert!(
                    truth.has(first, segment.ack),
                    "acknowledges data that did not arrive: {segment:?}"
                );
            }
        }
        for block in segment.sacks.as_slice() {
            assert!(before(block.start, block.end), "{segment:?}");
            assert!(
                truth.has(block.start, block.end),
                "reports data that did not arrive: {segment:?}"
            );
        }
        let shift = if segment.syn.is_some() { 0 } else { truth.window_shift };
        let edge = segment.ack.wrapping_add(u32::from(segment.window) << shift);
        // The first SYN acknowledges nothing, so it does not say where its window begins.
        let is_told = segment.flags.has(Flags::ACK);
        if is_told && truth.right_edge.is_none_or(|known| after(edge, known)) {
            truth.right_edge = Some(edge);
        }
        if segment.payload > 0 {
            let end = segment.seq.wrapping_add(segment.payload);
            let edge =
                self.truth[there].right_edge.expect("data are sent only after the handshake");
            assert!(!after(end, edge), "data beyond the window: {segment:?}, {edge}");
        }
    }

    fn send(&mut self, to: usize, mut segment: Segment) {
        self.last_sent = self.now;
        let world = &self.world;
        let copies = 1 + u64::from(self.random.below(100) < world.repeat_pct);
        if segment.ecn.is_capable() && self.random.below(100) < world.mark_pct {
            segment.ecn = Ecn::Ce;
        }
        for _ in 0..copies {
            let late = self.random.below(world.jitter.as_nanos() + 1);
            let arrival = self.now + world.delay + Duration::from_nanos(late);
            let is_out = arrival >= world.outage.0 && arrival < world.outage.1;
            if self.random.below(100) >= world.loss_pct && !is_out {
                self.under_way.insert((arrival, self.sent), (to, segment));
            }
            self.sent += 1;
        }
    }

    /// Runs until both ends have closed.
    fn run(&mut self) {
        while !self.ends.iter().all(LinuxEndpoint::is_closed) {
            let wake = self.step();
            let arrival = self.under_way.first_key_value().map_or(Time::NEVER, |(key, _)| key.0);
            self.now = wake.min(arrival);
            self.check_progress();
            if arrival <= self.now {
                let (_, (to, segment)) = self.under_way.pop_first().expect("there is a first");
                self.truth[to].note_arrival(&segment);
                self.ends[to].handle_segment(self.now, &segment);
                check_counts(&self.ends[to]);
            }
        }
        // Data that arrived with the last FIN are still unread.
        for (end, truth) in self.ends.iter_mut().zip(&mut self.truth) {
            truth.read += end.read(self.now, u64::MAX);
        }
    }

    /// Checks that the ends do not wait for each other forever.
    fn check_progress(&mut self) {
        let acknowledged = self.ends.each_ref().map(|end| end.sk.snd_una);
        if acknowledged != self.news.0 {
            self.news = (acknowledged, self.now);
        }
        if self.ends.iter().any(|end| !end.pacer.timer.is_never()) {
            self.last_sent = self.now;
        }
        let infos = || self.ends.each_ref().map(LinuxEndpoint::info);
        let silence = self.now.saturating_since(self.last_sent);
        assert!(silence <= SILENCE, "silent for {silence:?}: {:?}", infos());
        let stuck = self.now.saturating_since(self.news.1);
        assert!(stuck <= PATIENCE, "nothing new for {stuck:?}: {:?}", infos());
    }
}

/// Checks that the counters of the scoreboard equal a recount, and that the window is positive.
fn check_counts(end: &LinuxEndpoint) {
    let sk = &end.sk;
    let numbers = (0..end.rtx.len()).map(|index| end.rtx.head().wrapping_add(index));
    let (mut sacked, mut lost, mut retransmitted) = (0, 0, 0);
    let mut expected = sk.snd_una;
    for number in numbers {
        let segment = end.rtx.get(number);
        assert_eq!(segment.seq, expected, "a gap in the queue");
        expected = segment.end_seq;
        let flags = segment.flags;
        assert!(flags & (SACKED_ACKED | LOST) != SACKED_ACKED | LOST, "sacked and lost");
        sacked += u32::from(flags & SACKED_ACKED != 0);
        lost += u32::from(flags & LOST != 0);
        retransmitted += u32::from(flags & SACKED_RETRANS != 0);
        assert!(segment.tx_mstamp <= sk.tcp_wstamp_ns.max(sk.tcp_clock_cache).div_ceil(1_000));
    }
    if !end.rtx.is_empty() {
        assert_eq!(expected, sk.snd_nxt);
    }
    assert_eq!(sk.packets_out, end.rtx.len());
    assert_eq!((sk.lost_out, sk.retrans_out), (lost, retransmitted));
    if end.connection.options.is_sack {
        assert_eq!(sk.sacked_out, sacked);
    }
    assert!(sk.sacked_out + sk.lost_out <= sk.packets_out, "{} {}", sk.sacked_out, sk.lost_out);
    assert!(sk.snd_cwnd >= 1 && sk.snd_ssthresh >= 1);
    let state = CaState::from_u8(end.ca_state());
    assert!(state >= CaState::Recovery || sk.lost_out == 0, "lost in {state:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_in_order_whatever_the_network_does(world in worlds()) {
        let mut channel = Channel::new(world);
        channel.run();
        for index in 0..2 {
            prop_assert_eq!(channel.truth[index].read, channel.world.bytes[1 - index]);
            prop_assert!(channel.ends[index].peer_has_finished());
            let counters = channel.ends[index].counters();
            let repaired = counters.retransmitted_segments;
            prop_assert!(repaired <= counters.segments_out);
        }
    }
}
