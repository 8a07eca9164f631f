//! Passes a recorded sequence of ACKs to an algorithm, for `bench/algorithms.py`, which counts the
//! executed instructions.
//!
//! Usage: `cost ALGORITHM TRACE.csv REPETITIONS`. The trace is the output of the example `acks`
//! (of crates/sim), or that of a kernel in the same columns. Every algorithm gets the same calls:
//! at each ACK, the window, the threshold, the RTT and the data in flight are those of the trace,
//! whatever the algorithm did at the previous ACK. Prints the number of ACKs in a repetition.

use std::collections::{BTreeMap, VecDeque};

use cwndlab_cc::{AckSample, Algorithm, Congestion, CwndEvent, RateSample, TcpSock};

const MSS_BYTES: u32 = 1448;
const JIFFY_US: u64 = 4_000;
const OPEN: u8 = 0;
const RECOVERY: u8 = 3;

/// `CA_ACK_SLOWPATH` and `CA_ACK_WIN_UPDATE`.
const SLOW_PATH: u32 = 1;
const FAST_PATH: u32 = 2;

/// The state of the sender before an ACK.
#[derive(Clone, Copy)]
struct Row {
    t_us: u64,
    una: u32,
    nxt: u32,
    cwnd: u32,
    ssthresh: u32,
    srtt_us: u32,
}

/// Action of the endpoint at an ACK, in addition to reporting the ACK.
#[derive(Clone, Copy, PartialEq)]
enum Deed {
    Grow,
    Nothing,
    EnterRecovery,
    LeaveRecovery,
}

struct Step {
    row: Row,
    una: u32,
    acked: u32,
    rtt_us: i32,
    deed: Deed,
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, path, repetitions] = &arguments[..] else {
        panic!("usage: cost ALGORITHM TRACE.csv REPETITIONS");
    };
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let steps = steps(&rows(&text));
    let algorithm = Algorithm::by_name(name).unwrap_or_else(|| panic!("no algorithm {name}"));
    let mut congestion = Congestion::new(algorithm, &BTreeMap::new()).expect("defaults");
    for _ in 0..repetitions.parse().unwrap_or_else(|error| panic!("{repetitions}: {error}")) {
        feed(&mut congestion, &steps);
    }
    println!("{}", steps.len());
}

fn rows(text: &str) -> Vec<Row> {
    let acks = text.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    acks.filter(|fields| fields[1] == "ack")
        .map(|fields| {
            let number = |index: usize| fields[index].parse::<u32>().expect("a number");
            Row {
                t_us: (fields[0].parse::<f64>().expect("a time") * 1e6) as u64,
                una: number(2),
                nxt: number(3),
                cwnd: number(4),
                ssthresh: number(5),
                srtt_us: number(7),
            }
        })
        .collect()
}

/// The actions at each ACK, derived from the row of the next ACK.
fn steps(rows: &[Row]) -> Vec<Step> {
    let mut sent: VecDeque<(u32, u64)> = VecDeque::new();
    let mut recovery_ends = None;
    let mut steps = Vec::new();
    for pair in rows.windows(2) {
        let [row, next] = [pair[0], pair[1]];
        sent.push_back((row.nxt, row.t_us));
        let mut rtt_us = row.srtt_us as i32;
        while sent.front().is_some_and(|&(end, _)| end <= next.una) {
            rtt_us = sent.pop_front().map_or(rtt_us, |(_, at)| (row.t_us - at).max(1) as i32);
        }
        let deed = match recovery_ends {
            None if next.ssthresh < row.ssthresh => {
                recovery_ends = Some(row.nxt);
                Deed::EnterRecovery
            }
            None => {
                if next.una > row.una {
                    Deed::Grow
                } else {
                    Deed::Nothing
                }
            }
            Some(end) if next.una >= end => {
                recovery_ends = None;
                Deed::LeaveRecovery
            }
            Some(_) => Deed::Nothing,
        };
        let acked = (next.una - row.una).div_ceil(MSS_BYTES);
        steps.push(Step { row, una: next.una, acked, rtt_us, deed });
    }
    steps
}

/// Makes the hook calls of one connection.
fn feed(congestion: &mut Congestion, steps: &[Step]) {
    let mut sk = TcpSock {
        mss_cache: MSS_BYTES,
        srtt_us: steps[0].row.srtt_us << 3,
        rtt_min_us: steps[0].row.srtt_us,
        is_cwnd_limited: 1,
        ..TcpSock::default()
    };
    congestion.attach(&mut sk);
    congestion.init(&mut sk);
    for step in steps {
        let Step { row, una, acked, rtt_us, deed } = *step;
        sk.tcp_mstamp = row.t_us;
        sk.tcp_clock_cache = row.t_us * 1_000;
        sk.cc_jiffies32 = (row.t_us / JIFFY_US) as u32;
        sk.snd_una = una;
        sk.snd_nxt = row.nxt;
        sk.bytes_acked = una.into();
        sk.packets_out = (row.nxt - una) / MSS_BYTES;
        sk.max_packets_out = sk.packets_out;
        sk.snd_cwnd = row.cwnd;
        sk.snd_ssthresh = row.ssthresh;
        sk.srtt_us = row.srtt_us << 3;
        sk.rtt_min_us = sk.rtt_min_us.min(rtt_us as u32);
        sk.delivered += acked;
        sk.delivered_mstamp = row.t_us;

        let _ = congestion.in_ack_event(&mut sk, if acked == 0 { SLOW_PATH } else { FAST_PATH });
        let in_flight = row.nxt - row.una;
        let _ = congestion.pkts_acked(&mut sk, &AckSample { pkts_acked: acked, rtt_us, in_flight });
        match deed {
            Deed::EnterRecovery => {
                sk.prior_cwnd = sk.snd_cwnd;
                sk.snd_ssthresh = congestion.ssthresh(&mut sk);
                set_state(congestion, &mut sk, RECOVERY);
            }
            Deed::LeaveRecovery => {
                let _ = congestion.cwnd_event(&mut sk, CwndEvent::CompleteCwr);
                set_state(congestion, &mut sk, OPEN);
            }
            Deed::Grow | Deed::Nothing => {}
        }
        if congestion.has_cong_control() {
            let sample = RateSample {
                prior_mstamp: row.t_us.saturating_sub(rtt_us as u64),
                prior_delivered: sk.delivered.saturating_sub(sk.packets_out),
                delivered: sk.packets_out as i32,
                interval_us: rtt_us.into(),
                rtt_us: rtt_us.into(),
                acked_sacked: acked,
                prior_in_flight: in_flight / MSS_BYTES,
                ..RateSample::default()
            };
            let _ = congestion.cong_control(&mut sk, una, 0, &sample);
        } else if deed == Deed::Grow {
            let _ = congestion.cong_avoid(&mut sk, una, acked);
        }
    }
    congestion.release(&mut sk);
}

fn set_state(congestion: &mut Congestion, sk: &mut TcpSock, state: u8) {
    congestion.set_state(sk, state);
    sk.inet_conn.icsk_ca_state = state;
}
