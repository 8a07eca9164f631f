//! Sends packets through a wire, to count the instructions per packet. Run this program under
//! `valgrind --tool=callgrind` with two numbers of packets, and divide the difference of the
//! instruction counts by that of the packets.
//!
//! ```text
//! count_instructions [plain|random|trace|red|codel|fq_codel|pie] PACKETS
//! ```

use cwndlab_link::{
    AnyLink, JitterConfig, Link, LinkEventKind, LossConfig, Packet, Probability, QueueConfig,
    RateConfig, RateTrace, RedConfig, StageConfig, Traces,
};
use cwndlab_units::{Bytes, Duration, Ecn, Output, Rate, Time};

/// A packet of the same size in memory as a segment of the simulator.
#[derive(Clone, Copy)]
struct Segment {
    body: [u64; 9],
}

impl Packet for Segment {
    fn wire_bytes(&self) -> u32 {
        1500
    }

    fn flow(&self) -> u32 {
        self.body[0] as u32
    }

    fn ecn(&self) -> Ecn {
        Ecn::Ect0
    }

    fn mark_ce(&mut self) {
        self.body[1] = 1;
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "plain".to_owned());
    let packets = arguments.next().and_then(|count| count.parse().ok()).unwrap_or(1_000_000_u64);
    let (stage, traces) = stage(&kind);
    let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");

    // A window of packets on a wire of 50 Mbit/s and 40 ms: each that leaves makes another enter.
    let segment = Segment { body: [0; 9] };
    let mut now = Time::ZERO;
    for _ in 0..200 {
        link.handle_packet(now, 0, segment);
    }
    let (mut delivered, mut check) = (0, 0);
    while delivered < packets {
        match link.poll(now) {
            Some(Output::Packet { at, packet, .. }) => {
                delivered += 1;
                check ^= at.as_nanos() ^ packet.body[8];
                link.handle_packet(now, 0, segment);
            }
            Some(Output::Event { event, .. }) => {
                if matches!(event.kind, LinkEventKind::Dropped { .. }) {
                    link.handle_packet(now, 0, segment);
                }
            }
            None if link.wake_time().is_never() => break,
            None => now = link.wake_time(),
        }
    }
    println!("{kind}: {delivered} packets in {now:?}, check {check}");
}

fn stage(kind: &str) -> (StageConfig, Traces) {
    let plain = StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_mbit_per_sec(50) },
        queue: QueueConfig::DropTail { packets: Some(250), bytes: None },
        delay: Duration::from_millis(40),
        framing_bytes: Some(14),
        ..StageConfig::default()
    };
    let mut traces = Traces::new();
    let stage = match kind {
        "random" => StageConfig {
            jitter: Some(JitterConfig::Uniform { max: Duration::from_millis(1) }),
            loss: Some(LossConfig::Iid {
                probability: Probability::from_ppb(1_000_000).expect("a probability"),
            }),
            ..plain
        },
        "trace" => {
            let text: String = (1..=1000).map(|ms| format!("{ms}\n").repeat(4)).collect();
            let trace = RateTrace::parse_mahimahi(text.as_bytes()).expect("a trace");
            traces.insert("made", trace);
            let rate = RateConfig::Mahimahi { path: "made".to_owned(), light: None };
            StageConfig { rate, framing_bytes: None, ..plain }
        }
        "red" => {
            let queue = QueueConfig::Red(RedConfig {
                min: Bytes(15_000),
                max: Bytes(150_000),
                limit: None,
                max_probability: Probability::from_ppb(10_000_000).expect("a probability"),
                weight_shift: 9,
                idle_packet: None,
                ecn: true,
                gentle: true,
                hard_drop: false,
            });
            StageConfig { queue, ..plain }
        }
        "fq_codel" | "pie" => StageConfig {
            queue: serde_json::from_str(&format!(r#"{{"kind": "{kind}", "ecn": true}}"#))
                .expect("a queue with its defaults"),
            ..plain
        },
        "codel" => StageConfig {
            queue: QueueConfig::Codel {
                target: Duration::from_millis(5),
                interval: Duration::from_millis(100),
                ecn: true,
                packets: None,
                bytes: None,
            },
            ..plain
        },
        _ => plain,
    };
    (stage, traces)
}
