//! An algorithm with the ACKs of a real kernel: the per-ACK traces of the reference, replayed.
//!
//! A trace has a row per ACK, with the sender's state before it, and a row per retransmission. From
//! this, the replay makes the calls of the Linux endpoint: the rows show the data that an ACK
//! acknowledged and when this data was sent, and RTTs are known to about 10 us. Outside of
//! recovery, the window must become that of the next row; at a loss, the threshold must. On a
//! difference, the trace's value is used, so that each difference counts once. In recovery, the
//! window is the endpoint's, and the trace's is used; the packets that SACK reported are not
//! recorded, so the RTT of such an ACK is derived from the smoothed RTT.
//!
//! The traces are not part of the project. They are searched for next to it, like `make fidelity`
//! does, or in the folder named by the environment variable `CWNDLAB_REFERENCE`; without them, a
//! test prints this and passes.

use std::collections::VecDeque;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

use cwndlab_cc::{AckSample, CwndEvent, RateSample};

use crate::flow::{CWR, Flow, LOSS, MSS_BYTES, OPEN, RECOVERY};

/// TCP_CA_Disorder: packets were sacked, but none is known to be lost.
const DISORDER: u8 = 1;

/// Time from the arrival of an ACK to the timestamp of the packets it releases, on the reference
/// host.
const SEND_LAG_US: u64 = 4;

/// Offset of the receiver's timestamp clock: in Linux a random number, which is not recorded.
const PEER_CLOCK_MS: u32 = 1 << 31;

/// A retransmission later than this after an ACK was caused by a timer.
const TIMER_LAG_US: u64 = 50;

/// The state before an ACK, and whether the ACK led to a retransmission.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    pub(crate) t_us: u64,
    pub(crate) una: u32,
    pub(crate) nxt: u32,
    pub(crate) cwnd: u32,
    pub(crate) ssthresh: u32,
    /// Smoothed RTT, rounded down.
    pub(crate) srtt_us: u32,
    pub(crate) does_retransmit: bool,
    /// Whether a timer retransmitted before the next ACK.
    pub(crate) is_timer_next: bool,
}

/// A place at which the algorithm differs from the kernel's module.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    /// Number of the ACK in the trace, from 0.
    pub(crate) ack: usize,
    pub(crate) what: &'static str,
    pub(crate) before: u32,
    pub(crate) kernel: u32,
    pub(crate) ours: u32,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { ack, what, before, kernel, ours } = self;
        write!(f, "ACK {ack}: {what} from {before} to {kernel}, ours {ours}")
    }
}

/// The result of a replay.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    /// ACKs outside recovery.
    pub(crate) acks: usize,
    /// Of these, those at which the kernel's window or ours changed.
    pub(crate) changes: usize,
    pub(crate) losses: usize,
    pub(crate) differences: Vec<Difference>,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { acks, changes, losses, differences } = self;
        write!(f, "{acks} ACKs, {changes} changes, {losses} losses, {} differ", differences.len())?;
        differences.iter().take(20).try_for_each(|difference| write!(f, "\n  {difference}"))
    }
}

/// The trace `S1p_{name}_r1`; `None`, with a printed reason, if there is none.
pub(crate) fn trace(name: &str) -> Option<Vec<Row>> {
    let folder = std::env::var_os("CWNDLAB_REFERENCE").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/linux61"),
        PathBuf::from,
    );
    let path = folder.join(format!("S1p/S1p_{name}_r1.perack.csv.gz"));
    if !path.exists() {
        println!("skipped: no {} (CWNDLAB_REFERENCE)", path.display());
        return None;
    }
    match Command::new("gzip").arg("-dc").arg(&path).output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Some(parse(&String::from_utf8(output.stdout).expect("ASCII")))
        }
        Err(error) => {
            println!("skipped: cannot run gzip: {error}");
            None
        }
    }
}

fn parse(text: &str) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for line in text.lines().skip(1) {
        let mut fields = line.split(',');
        let mut next = || fields.next().expect("a column");
        let t_us = (next().parse::<f64>().expect("a time") * 1e6).round() as u64;
        if next() != "ack" {
            let last = rows.last_mut().expect("no retransmission before an ACK");
            let is_timer = t_us > last.t_us + TIMER_LAG_US;
            last.is_timer_next |= is_timer;
            last.does_retransmit |= !is_timer;
            continue;
        }
        let mut number = || next().parse::<u32>().expect("a number");
        let (una, nxt, cwnd, ssthresh) = (number(), number(), number(), number());
        let (_snd_wnd, srtt_us) = (number(), number());
        let row = Row {
            t_us,
            una,
            nxt,
            cwnd,
            ssthresh,
            srtt_us,
            does_retransmit: false,
            is_timer_next: false,
        };
        rows.push(row);
    }
    rows
}

/// A segment in flight.
#[derive(Clone)]
struct Sent {
    end: u32,
    at_us: u64,
    delivered: u32,
}

/// A replay in progress.
#[derive(Clone)]
pub(crate) struct Replay {
    pub(crate) flow: Flow,
    in_flight: VecDeque<Sent>,
    /// The recovery ends when this is acknowledged.
    high_seq: u32,
    /// Packets that SACK reported, one per duplicate ACK.
    sacked: u32,
    usage_end: u32,
    pub(crate) outcome: Outcome,
}

/// Replays the trace of `name` up to the first timeout; `None` if there is no trace.
pub(crate) fn replay(name: &str, parameters: &[(&str, i64)]) -> Option<Outcome> {
    trace(name).map(|rows| replay_rows(name, parameters, &rows))
}

/// Replays these rows.
pub(crate) fn replay_rows(name: &str, parameters: &[(&str, i64)], rows: &[Row]) -> Outcome {
    let mut replay = Replay::new(name, parameters, rows[0]);
    for ack in 0..rows.len() - 1 {
        if rows[ack].is_timer_next {
            break;
        }
        replay.step(ack, rows);
    }
    replay.outcome
}

impl Replay {
    /// The handshake ends one RTT after t = 0, and gives a sample of this RTT.
    pub(crate) fn new(name: &str, parameters: &[(&str, i64)], first: Row) -> Self {
        let mut flow = Flow::new(name, parameters);
        flow.jiffies_offset = 0;
        flow.advance(u64::from(first.srtt_us) * 1_000);
        flow.sk.srtt_us = first.srtt_us << 3;
        flow.sk.rtt_min_us = first.srtt_us;
        flow.sk.is_cwnd_limited = 0;
        // the receiver used DCTCP as well
        flow.sk.ecn_flags = u8::from(flow.congestion.needs_ecn());
        flow.congestion.attach(&mut flow.sk);
        let syn = AckSample { pkts_acked: 1, rtt_us: first.srtt_us as i32, in_flight: MSS_BYTES };
        let _ = flow.congestion.pkts_acked(&mut flow.sk, &syn);
        flow.sk.snd_cwnd = first.cwnd;
        flow.congestion.init(&mut flow.sk);
        let _ = flow.congestion.cwnd_event(&mut flow.sk, CwndEvent::TxStart);
        let mut replay = Self {
            flow,
            in_flight: VecDeque::new(),
            high_seq: 0,
            sacked: 0,
            usage_end: 0,
            outcome: Outcome::default(),
        };
        replay.send(u64::from(first.srtt_us) + SEND_LAG_US, first);
        replay
    }

    /// Replays the ACK with this number, and the packets that it released.
    pub(crate) fn step(&mut self, ack: usize, rows: &[Row]) {
        let [row, next] = [rows[ack], rows[ack + 1]];
        let is_sack = does_sack_too(&rows[ack.saturating_sub(1)..rows.len().min(ack + 3)]);
        self.ack(ack, row, next, is_sack);
        self.send(row.t_us + SEND_LAG_US, next);
    }

    /// Records the packets sent before the next ACK.
    fn send(&mut self, at_us: u64, found: Row) {
        let sk = &mut self.flow.sk;
        while sk.snd_nxt != found.nxt {
            let end = sk.snd_nxt + MSS_BYTES.min(found.nxt - sk.snd_nxt);
            self.in_flight.push_back(Sent { end, at_us, delivered: sk.delivered });
            sk.snd_nxt = end;
        }
        sk.packets_out = self.in_flight.len() as u32;
        sk.sacked_out = self.sacked.min(sk.packets_out);
        sk.lsndtime = sk.cc_jiffies32;
        // the cause of the limit is kept for a window
        let is_limited = sk.packets_out - sk.sacked_out >= sk.snd_cwnd;
        let is_over = sk.snd_una.wrapping_sub(self.usage_end) as i32 >= 0;
        if is_over || is_limited || (sk.is_cwnd_limited == 0 && sk.packets_out > sk.max_packets_out)
        {
            sk.is_cwnd_limited = u8::from(is_limited);
            sk.max_packets_out = sk.packets_out;
            self.usage_end = sk.snd_nxt;
        }
    }

    /// `is_sack` includes ACKs of new data that also report data beyond a hole.
    fn ack(&mut self, ack: usize, row: Row, next: Row, is_sack: bool) {
        let flow = &mut self.flow;
        flow.advance((row.t_us * 1_000).saturating_sub(flow.now_ns));
        let prior_in_flight = flow.sk.packets_out - flow.sk.sacked_out;
        let is_advanced = next.una != row.una;
        let mut acked = 0;
        let mut last = None;
        while self.in_flight.front().is_some_and(|sent| sent.end <= next.una) {
            last = self.in_flight.pop_front();
            acked += 1;
        }
        // a reduction without loss lasts until data beyond it is acknowledged
        let is_cwr = flow.sk.inet_conn.icsk_ca_state == CWR;
        let is_open = flow.sk.inet_conn.icsk_ca_state == OPEN || is_cwr;
        // The RTT is that of the last reported packet, beyond the hole if there is one; later, only
        // the smoothed RTT gives a sacked packet's.
        let reported = if is_sack { self.in_flight.get(1) } else { last.as_ref() };
        let rtt_us = match reported {
            Some(sent) if is_open && self.sacked == 0 => (row.t_us - sent.at_us) as i32,
            _ => inferred_rtt_us(row.srtt_us, next.srtt_us),
        };
        let delivered = if is_open && is_advanced { acked + u32::from(is_sack) } else { 1 };
        self.sacked = if is_advanced { self.sacked.saturating_sub(acked) } else { self.sacked + 1 };
        self.sacked += u32::from(is_sack);
        let sk = &mut flow.sk;
        sk.snd_una = next.una;
        sk.bytes_acked = next.una.into();
        sk.packets_out = self.in_flight.len() as u32;
        sk.srtt_us = next.srtt_us << 3;
        sk.delivered += delivered;
        sk.delivered_mstamp = sk.tcp_mstamp;
        sk.rtt_min_us = sk.rtt_min_us.min(rtt_us.max(1) as u32);
        sk.rx_opt.saw_tstamp = 1;
        sk.rx_opt.rcv_tsecr = ((row.t_us - rtt_us.max(0) as u64) / 1_000) as u32;
        // the whole delay of the reference's path is in the direction of the ACKs
        sk.rx_opt.rcv_tsval = ((row.t_us - 40_000) / 1_000) as u32 + PEER_CLOCK_MS;
        let sent_at_delivered = last.as_ref().map_or(sk.delivered, |sent| sent.delivered);
        let in_flight = MSS_BYTES * (sk.delivered - sent_at_delivered);
        // ACKs with SACK blocks and duplicate ACKs take the slow path
        let _ = flow.congestion.in_ack_event(sk, if is_advanced && is_open { 2 } else { 1 });
        let sample = AckSample { pkts_acked: acked, rtt_us, in_flight };
        let _ = flow.congestion.pkts_acked(sk, &sample);

        match sk.inet_conn.icsk_ca_state {
            OPEN | DISORDER if row.does_retransmit => {
                return self.reduce(RECOVERY, ack, row, next);
            }
            OPEN if !is_advanced || is_sack => self.set_state(DISORDER),
            OPEN => {}
            DISORDER if is_advanced => self.set_state(OPEN),
            RECOVERY | LOSS | CWR if next.una < self.high_seq + u32::from(is_cwr) => {
                sk.snd_cwnd = next.cwnd;
                sk.snd_ssthresh = next.ssthresh;
                return;
            }
            RECOVERY | LOSS | CWR => {
                sk.snd_cwnd = sk.snd_ssthresh;
                self.sacked = 0;
                let _ = flow.congestion.cwnd_event(sk, CwndEvent::CompleteCwr);
                self.set_state(OPEN);
            }
            _ => {}
        }
        if is_advanced {
            self.avoid(ack, row, next, delivered, prior_in_flight, rtt_us);
        }
    }

    fn avoid(
        &mut self,
        ack: usize,
        row: Row,
        next: Row,
        delivered: u32,
        prior_in_flight: u32,
        rtt_us: i32,
    ) {
        let Flow { congestion, sk, .. } = &mut self.flow;
        let before = sk.snd_cwnd;
        let credit = sk.snd_cwnd_cnt;
        let asked = if congestion.has_cong_control() {
            let sample = RateSample {
                delivered: delivered as i32,
                interval_us: rtt_us.max(1).into(),
                rtt_us: rtt_us.into(),
                acked_sacked: delivered,
                prior_in_flight,
                ..RateSample::default()
            };
            congestion.cong_control(sk, next.una, 0, &sample)
        } else {
            congestion.cong_avoid(sk, next.una, delivered)
        };
        self.outcome.acks += 1;
        if asked.reduces {
            return self.reduce(CWR, ack, row, next);
        }
        let sk = &mut self.flow.sk;
        self.outcome.changes += usize::from(next.cwnd != row.cwnd || sk.snd_cwnd != before);
        // the kernel reports the threshold after a pause: at least 3/4 of the window
        let ours = sk.snd_ssthresh.max((sk.snd_cwnd >> 1) + (sk.snd_cwnd >> 2));
        let differences = [
            Difference { ack, what: "cwnd", before, kernel: next.cwnd, ours: sk.snd_cwnd },
            Difference { ack, what: "ssthresh", before: row.ssthresh, kernel: next.ssthresh, ours },
        ];
        let wrong = differences.into_iter().filter(|d| d.kernel != d.ours);
        // the second difference often follows from the first
        self.outcome.differences.extend(wrong.take(1));
        // an increase that was early or late must not shift all later ones
        if sk.snd_cwnd > next.cwnd {
            sk.snd_cwnd_cnt = credit + delivered;
        } else if sk.snd_cwnd < next.cwnd {
            sk.snd_cwnd_cnt = 0;
        }
        sk.snd_cwnd = next.cwnd;
        if ours != next.ssthresh {
            sk.snd_ssthresh = next.ssthresh;
        }
    }

    fn reduce(&mut self, state: u8, ack: usize, row: Row, next: Row) {
        let Flow { congestion, sk, .. } = &mut self.flow;
        self.outcome.losses += usize::from(state == RECOVERY);
        self.high_seq = row.nxt;
        sk.high_seq = row.nxt;
        sk.prior_cwnd = sk.snd_cwnd;
        sk.snd_cwnd_cnt = 0;
        sk.snd_ssthresh = congestion.ssthresh(sk);
        let before = sk.snd_cwnd;
        self.set_state(state);
        let sk = &mut self.flow.sk;
        let (kernel, ours) = (next.ssthresh, sk.snd_ssthresh);
        if ours != kernel {
            let difference = Difference { ack, what: "ssthresh", before, kernel, ours };
            self.outcome.differences.push(difference);
        }
        sk.snd_ssthresh = next.ssthresh;
        sk.snd_cwnd = next.cwnd;
    }

    fn set_state(&mut self, state: u8) {
        let Flow { congestion, sk, .. } = &mut self.flow;
        congestion.set_state(sk, state);
        sk.inet_conn.icsk_ca_state = state;
    }
}

/// Whether the second of these ACKs acknowledged a segment and reported the one beyond a hole: the
/// receiver, which had acknowledged segments in pairs, delayed that segment's ACK until the next
/// one arrived out of order. Duplicate ACKs follow.
fn does_sack_too(rows: &[Row]) -> bool {
    let &[before, row, next, after] = rows else { return false };
    let [last, this, then] = [row.una - before.una, next.una - row.una, after.una - next.una];
    last == 2 * MSS_BYTES && this == MSS_BYTES && then == 0 && after.nxt != next.nxt
}

/// The RTT that changed the smoothed RTT from `before` to `after` (RFC 6298 section 2.3, alpha =
/// 1/8), to 8 us.
fn inferred_rtt_us(before: u32, after: u32) -> i32 {
    let [before, after] = [i64::from(before), i64::from(after)];
    (before + 8 * (after - before)).max(1) as i32
}

/// Asserts that the window at every ACK and the threshold at every loss equal the kernel's, in a
/// trace with at least this many changes of the window and this many losses.
fn assert_identical(name: &str, changes: usize, losses: usize) {
    let Some(outcome) = replay(name, &[]) else { return };
    println!("{name}: {outcome}");
    assert!(outcome.changes >= changes && outcome.losses >= losses, "{name}: {outcome}");
    assert!(outcome.differences.is_empty(), "{name}: {outcome}");
}

#[test]
fn reno_cubic_and_highspeed_do_at_every_ack_what_the_kernels_modules_do() {
    for name in ["reno", "cubic", "highspeed"] {
        assert_identical(name, 300, 10);
    }
}

#[test]
fn the_loss_based_do_at_every_ack_what_the_kernels_modules_do() {
    for name in ["bic", "westwood", "htcp", "scalable", "hybla"] {
        assert_identical(name, 300, 1);
    }
}

#[test]
fn the_delay_based_do_at_every_ack_what_the_kernels_modules_do() {
    assert_identical("vegas", 100, 0);
    for (name, changes, losses) in
        [("veno", 300, 6), ("yeah", 500, 14), ("illinois", 300, 6), ("lp", 500, 10)]
    {
        assert_identical(name, changes, losses);
    }
}

#[test]
fn another_parameter_makes_another_window() {
    // so that the absence of differences is significant
    for (name, parameter, value) in [
        ("cubic", "bic_scale", 42),
        ("vegas", "beta", 3),
        ("veno", "beta", 60),
        ("yeah", "alpha", 20),
        ("illinois", "alpha_min", 39),
    ] {
        let Some(outcome) = replay(name, &[(parameter, value)]) else { return };
        assert!(!outcome.differences.is_empty(), "{name}: {outcome}");
    }
}
