//! Helpers for tests of the classic stack: the profiles, and ns-2's chain of links.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::sync::Arc;

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_units::{Duration, Time};

use super::receiver::{Receiver, SackBlocks};
use super::sender::{Ack, Sender};
use super::settings::{ClassicSettings, Handshake};

fn settings_of(profile: &str) -> ClassicSettings {
    let table: toml::Table = toml::from_str(profile).expect("the profile is TOML");
    table["classic"].clone().try_into().expect("the profile has classic settings")
}

pub(super) fn ns_2_packet() -> ClassicSettings {
    settings_of(include_str!("../../profiles/ns-2-packet.toml"))
}

pub(super) fn ns_2_full() -> ClassicSettings {
    settings_of(include_str!("../../profiles/ns-2-full.toml"))
}

pub(super) fn ns_2_linux() -> ClassicSettings {
    settings_of(include_str!("../../profiles/ns-2-linux.toml"))
}

pub(super) fn ns_3() -> ClassicSettings {
    settings_of(include_str!("../../profiles/ns-3.toml"))
}

pub(super) fn textbook() -> ClassicSettings {
    settings_of(include_str!("../../profiles/textbook.toml"))
}

/// A wire of the chain: a drop-tail queue whose limit includes the packet being sent.
struct Hop {
    bits_per_sec: u64,
    queue: VecDeque<Time>,
    limit: usize,
}

/// Propagation delay of every wire of the chain.
const DELAY: Duration = Duration::from_millis(2);

impl Hop {
    /// Returns the time at which a packet arrives at the other end, or `None` if it is dropped.
    fn carry(&mut self, now: Time, bytes: u32) -> Option<Time> {
        while self.queue.front().is_some_and(|left| *left <= now) {
            self.queue.pop_front();
        }
        if self.queue.len() >= self.limit {
            return None;
        }
        let begin = self.queue.back().copied().unwrap_or(now);
        let nanos = u64::from(bytes) * 8 * 1_000_000_000 / self.bits_per_sec;
        let left = begin + Duration::from_nanos(nanos);
        self.queue.push_back(left);
        Some(left + DELAY)
    }
}

#[derive(Clone, Copy)]
enum Content {
    Open,
    Opened,
    Data { start: u64, end: u64 },
    Ack { next: u64, blocks: SackBlocks },
}

#[derive(Clone, Copy)]
struct Packet {
    content: Content,
    bytes: u32,
    sent: Time,
    hop: usize,
}

/// A change of the window: time, and `cwnd` and `ssthresh` in packets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Change {
    pub(super) at_s: f64,
    pub(super) cwnd: u32,
    pub(super) ssthresh: u32,
}

/// The result of a transfer over the chain.
pub(super) struct Run {
    pub(super) changes: Vec<Change>,
    pub(super) timeouts_s: Vec<f64>,
    pub(super) sender: Sender,
}

impl Run {
    /// Returns the time at which the window first reached `cwnd` after `from_s`.
    pub(super) fn first_at_least(&self, cwnd: u32, from_s: f64) -> f64 {
        let found = self.changes.iter().find(|c| c.at_s >= from_s && c.cwnd >= cwnd);
        found.expect("the window gets there").at_s
    }

    /// Returns the changes of the slow start threshold.
    pub(super) fn thresholds(&self) -> Vec<(f64, u32)> {
        let pairs = self.changes.windows(2).filter(|pair| pair[0].ssthresh != pair[1].ssthresh);
        pairs.map(|pair| (pair[1].at_s, pair[1].ssthresh)).collect()
    }

    /// Returns the times at which the window was reduced by more than a quarter, and the window
    /// before each.
    pub(super) fn cuts(&self) -> Vec<(f64, u32)> {
        let pairs = self.changes.windows(2).filter(|p| p[1].cwnd * 4 < p[0].cwnd * 3);
        pairs.map(|pair| (pair[1].at_s, pair[0].cwnd)).collect()
    }
}

/// Runs a bulk transfer over the chain of the paper lte-ns2-2011: 100, 10 and 1 Mbit/s, 2 ms each.
pub(super) fn run_chain(
    settings: ClassicSettings,
    algorithm: &str,
    parameters: &[(&str, i64)],
    queue_packets: usize,
    until: Time,
) -> Run {
    let algorithm = Algorithm::by_name(algorithm).expect("a known algorithm");
    let parameters: BTreeMap<String, i64> =
        parameters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let congestion = Congestion::new(algorithm, &parameters).expect("known parameters");
    let settings = Arc::new(settings);
    let hop = |mbit: u64| Hop {
        bits_per_sec: mbit * 1_000_000,
        queue: VecDeque::new(),
        limit: queue_packets,
    };
    let mut hops = [hop(100), hop(10), hop(1), hop(1), hop(10), hop(100)];
    let mut sender = Sender::new(Arc::clone(&settings), congestion, Duration::ZERO);
    let mut receiver = Receiver::new();
    // The receiver echoes the send time of the last segment that arrived in order.
    let mut echo = Time::ZERO;
    let mut under_way: BinaryHeap<Reverse<(Time, u64)>> = BinaryHeap::new();
    let mut packets: BTreeMap<u64, Packet> = BTreeMap::new();
    let mut count = 0_u64;
    let mut run = Vec::new();
    let mut timeouts_s = Vec::new();
    let mut now = Time::ZERO;
    let mut outbox: Vec<Packet> = Vec::new();

    sender.open(now);
    sender.write(u64::MAX / 4);
    let opening =
        Packet { content: Content::Open, bytes: settings.overhead.header_bytes, sent: now, hop: 0 };
    outbox.push(opening);
    while now < until {
        while let Some(segment) = sender.poll_transmit(now) {
            let length = (segment.end - segment.start) as u32;
            let content = Content::Data { start: segment.start, end: segment.end };
            let bytes = length + settings.overhead.header_bytes + settings.overhead.timestamp_bytes;
            outbox.push(Packet { content, bytes, sent: now, hop: 0 });
        }
        for packet in outbox.drain(..) {
            if let Some(at) = hops[packet.hop].carry(now, packet.bytes) {
                packets.insert(count, packet);
                under_way.push(Reverse((at, count)));
                count += 1;
            }
        }
        let change = Change {
            at_s: now.as_secs_f64(),
            cwnd: sender.sk.snd_cwnd,
            ssthresh: sender.sk.snd_ssthresh,
        };
        let last = run.last().map(|last: &Change| (last.cwnd, last.ssthresh));
        if last != Some((change.cwnd, change.ssthresh)) {
            run.push(change);
        }
        let next = under_way.peek().map_or(Time::NEVER, |Reverse((at, _))| *at);
        if sender.timer() < next {
            now = sender.timer();
            let before = sender.counters.timeouts;
            sender.handle_timeout(now);
            if sender.counters.timeouts > before {
                timeouts_s.push(now.as_secs_f64());
            }
            continue;
        }
        let Reverse((at, id)) = under_way.pop().expect("something is under way");
        now = at;
        let mut packet = packets.remove(&id).expect("the packet is stored");
        packet.hop += 1;
        if packet.hop != 3 && packet.hop != 6 {
            outbox.push(packet);
            continue;
        }
        match packet.content {
            Content::Open => {
                echo = packet.sent;
                let content = Content::Opened;
                outbox.push(Packet {
                    content,
                    bytes: settings.overhead.header_bytes,
                    sent: echo,
                    hop: 3,
                });
            }
            Content::Opened => {
                sender.handle_opened(now);
                if settings.handshake == Handshake::ThreeWay {
                    let content = Content::Ack { next: 0, blocks: SackBlocks::default() };
                    let bytes = settings.overhead.header_bytes;
                    outbox.push(Packet { content, bytes, sent: now, hop: 0 });
                }
            }
            Content::Data { start, end } => {
                let before = receiver.next();
                receiver.handle_data(now, start, end, &settings);
                if receiver.next() > before {
                    echo = packet.sent;
                }
                assert_eq!(receiver.ack_due(), now, "these sinks acknowledge every packet");
                receiver.note_ack_sent();
                let blocks = receiver.sack_blocks(&settings);
                let extra = settings.overhead.sack_block_bytes * blocks.as_slice().len() as u32;
                let content = Content::Ack { next: receiver.next(), blocks };
                let bytes = settings.overhead.header_bytes + extra;
                outbox.push(Packet { content, bytes, sent: echo, hop: 3 });
            }
            Content::Ack { next, blocks } if packet.hop == 6 => sender.handle_ack(
                now,
                Ack {
                    next,
                    blocks: blocks.as_slice(),
                    echo: (settings.overhead.timestamp_bytes > 0).then_some(packet.sent),
                    is_bare: true,
                    window_bytes: u64::MAX,
                },
            ),
            Content::Ack { .. } => {}
        }
    }
    Run { changes: run, timeouts_s, sender }
}
