//! Bytes that act as a misbehaving peer, network and application, and drive one endpoint.
//!
//! The fuzz target `tcp_segments` and `tests/hostile.rs` share this.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use cwndlab_cc::{Algorithm, Congestion};
use cwndlab_packet::{EcnOption, Flags, SackBlock, SackBlocks, Segment, SynOptions};
use cwndlab_tcp::{EcnMode, Endpoint, EndpointConfig, Profile, StackSettings};
use cwndlab_units::{Duration, Ecn, Time};

/// Returns the bytes one after another, and zeros when they are used up.
struct Bytes<'a>(std::slice::Iter<'a, u8>);

impl Bytes<'_> {
    fn is_empty(&self) -> bool {
        self.0.as_slice().is_empty()
    }

    fn byte(&mut self) -> u8 {
        self.0.next().copied().unwrap_or(0)
    }

    fn short(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    fn word(&mut self) -> u32 {
        u32::from(self.short()) << 16 | u32::from(self.short())
    }

    /// A number near one of `bases`, or any number.
    fn near(&mut self, bases: &[u32]) -> u32 {
        let kind = self.byte();
        match bases.get(usize::from(kind & 7)) {
            Some(base) if kind & 8 == 0 => *base,
            Some(base) => base.wrapping_add_signed(i32::from(self.short() as i16)),
            None => self.word(),
        }
    }
}

/// Values that a peer can observe of the endpoint.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    /// First sequence number, the one after the last segment, and the start of the last segment.
    first: u32,
    next: u32,
    last: u32,
    /// The number that the endpoint expects next, and its timestamp.
    expects: u32,
    timestamp: u32,
}

struct Hostile<'a> {
    bytes: Bytes<'a>,
    endpoint: Endpoint,
    is_linux: bool,
    now: Time,
    seen: Seen,
}

/// Drives an endpoint with the bytes. Panics if the endpoint does, or if it reports an impossible
/// state.
pub(crate) fn drive(bytes: &[u8]) {
    let mut bytes = Bytes(bytes.iter());
    let (endpoint, is_linux) = endpoint(&mut bytes);
    let mut hostile = Hostile { bytes, endpoint, is_linux, now: Time::ZERO, seen: Seen::default() };
    if hostile.bytes.byte() & 1 == 0 {
        hostile.endpoint.connect(Time::ZERO);
    } else {
        hostile.endpoint.listen();
    }
    hostile.poll();
    while !hostile.bytes.is_empty() {
        hostile.act();
        hostile.poll();
    }
}

/// Returns an endpoint whose stack, algorithm and settings the bytes choose, and whether it is
/// Linux.
fn endpoint(bytes: &mut Bytes<'_>) -> (Endpoint, bool) {
    static PROFILES: OnceLock<Vec<Profile>> = OnceLock::new();
    let profiles = PROFILES.get_or_init(|| Profile::names().filter_map(Profile::by_name).collect());
    let mut profile = profiles[usize::from(bytes.byte()) % profiles.len()].clone();
    let choice = bytes.byte();
    if let StackSettings::Linux(settings) = &mut profile.stack {
        settings.options.sack = choice & 1 == 0;
        settings.options.timestamps = choice & 2 == 0;
        settings.options.dsack = choice & 4 == 0;
        settings.pacing = choice & 8 != 0;
        settings.nagle = choice & 16 == 0;
        if choice & 32 != 0 {
            let modes = [EcnMode::Active, EcnMode::Accurate];
            settings.ecn = modes[usize::from(choice >> 7)];
        }
        if choice & 64 != 0 {
            settings.receive.receive_buffer_bytes = 8_192;
        }
    }
    let algorithms: Vec<Algorithm> = Algorithm::all().collect();
    let algorithm = algorithms[usize::from(bytes.byte()) % algorithms.len()];
    let near_wrap = u64::from(bytes.byte()) << 4;
    let is_linux = profile.linux().is_some();
    let endpoint = Endpoint::new(EndpointConfig {
        flow: 0,
        user: 1,
        profile: Arc::new(profile),
        congestion: Congestion::new(algorithm, &BTreeMap::new()).expect("defaults are valid"),
        seed: (u64::from(u32::MAX) - near_wrap) << 32 | (u64::from(u32::MAX) - near_wrap),
        jiffies_phase: Duration::from_micros(bytes.byte().into()),
    });
    (endpoint, is_linux)
}

impl Hostile<'_> {
    fn act(&mut self) {
        let now = self.now;
        match self.bytes.byte() % 8 {
            0 => {
                let amount = u64::from(self.bytes.short());
                self.pass(Duration::from_micros(amount));
            }
            1 => {
                let amount = u64::from(self.bytes.short());
                self.pass(Duration::from_millis(amount));
            }
            2 => {
                let bytes = u64::from(self.bytes.short());
                let taken = self.endpoint.write(now, bytes);
                assert!(taken <= bytes);
            }
            3 => {
                let (readable, max) = (self.endpoint.readable(), u64::from(self.bytes.short()));
                assert_eq!(self.endpoint.read(now, max), readable.min(max));
            }
            4 if self.bytes.byte() < 16 => self.endpoint.close(now),
            _ => {
                let segment = self.segment();
                self.endpoint.handle_segment(now, &segment);
            }
        }
    }

    /// A segment that is mostly valid, or not.
    fn segment(&mut self) -> Segment {
        let Seen { first, next, last, expects, timestamp } = self.seen;
        let bytes = &mut self.bytes;
        let choice = bytes.byte();
        let flags = if choice & 1 == 0 { Flags::ACK } else { bytes.short() & 0x1ff };
        let seq = bytes.near(&[expects, expects, expects, expects.wrapping_sub(1), 0]);
        let ack = bytes.near(&[next, last, first.wrapping_add(1), next, last, next]);
        let payload = if choice & 2 == 0 { 0 } else { u32::from(bytes.short() % 3_000) };
        let mut sacks = SackBlocks::default();
        if choice & 4 != 0 {
            for _ in 0..1 + bytes.byte() % 4 {
                let start = bytes.near(&[ack, last, next, first]);
                let end = bytes.near(&[next, start.wrapping_add(1_448), last]);
                sacks.push(SackBlock { start, end });
            }
        }
        let timestamps = match choice & 0x18 {
            0 => None,
            8 => Some((bytes.word(), bytes.word())),
            _ => Some((self.now.as_millis() as u32, timestamp)),
        };
        let is_syn = flags & Flags::SYN != 0;
        let syn = is_syn.then(|| SynOptions {
            mss: bytes.short(),
            window_scale: Some(bytes.byte()).filter(|shift| *shift < 32),
            is_sack_permitted: bytes.byte() & 1 == 0,
        });
        let ecn = match bytes.byte() & 15 {
            0 => Ecn::Ce,
            1 => Ecn::Ect0,
            _ => Ecn::NotEct,
        };
        let ecn_option = (choice & 0x40 != 0).then(|| {
            let (kind, counters) = (bytes.byte(), [bytes.word(), bytes.word(), bytes.word()]);
            EcnOption::new(kind & 1 != 0, usize::from(kind >> 1 & 3), counters)
        });
        let window = if choice & 0x20 == 0 { u16::MAX >> 1 } else { bytes.short() };
        let mut segment = Segment {
            flow: 0,
            user: 1,
            seq,
            ack,
            payload,
            window,
            flags: Flags(flags),
            ecn,
            timestamps,
            sacks,
            syn,
            header_bytes: 40,
        };
        ecn_option.into_iter().for_each(|option| segment.set_ecn_option(option));
        segment
    }

    fn pass(&mut self, time: Duration) {
        let until = self.now + time;
        // A timer that fires again and again would be a livelock.
        for _ in 0..100_000 {
            let next = self.poll();
            if next > until {
                self.now = until;
                return;
            }
            self.now = next;
        }
        panic!("timers never rest");
    }

    /// Takes the output and checks the endpoint's state. Returns when to poll again.
    fn poll(&mut self) -> Time {
        let polled = self.endpoint.poll(self.now);
        assert!(polled.next > self.now, "a timer for the past");
        for output in polled.outputs {
            for segment in output.segments() {
                if segment.syn.is_some() {
                    self.seen.first = segment.seq;
                }
                self.seen.last = segment.seq;
                self.seen.next = segment.end_seq();
                self.seen.expects = segment.ack;
                self.seen.timestamp = segment.timestamps.map_or(0, |(value, _)| value);
                assert!(segment.wire_bytes() >= 40 && segment.payload <= u32::from(u16::MAX));
                let is_good = |block: &SackBlock| (block.end.wrapping_sub(block.start) as i32) > 0;
                assert!(segment.sacks.as_slice().iter().all(is_good), "{segment:?}");
            }
        }
        let next = polled.next;
        let info = self.endpoint.info();
        assert!(info.cwnd_pkts >= 1, "{info:?}");
        assert!(info.sacked_pkts <= info.unacked_pkts && info.lost_pkts <= info.unacked_pkts);
        // A classic end publishes its counts only with the next ACK.
        if self.is_linux {
            assert!(info.in_flight_pkts <= info.unacked_pkts + info.retrans_pkts, "{info:?}");
        }
        assert!(info.snd_una_bytes <= info.snd_nxt_bytes, "{info:?}");
        next
    }
}
