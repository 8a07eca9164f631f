//! The conformance suite's model of a sender, as far as an algorithm can observe it, and the
//! checks after each hook.

use super::operation::{Example, LARGEST_WINDOW_PKTS, Operation};
use crate::algorithm::Algorithm;
use crate::congestion::{Congestion, CwndEvent};
use crate::layout::{PRIVATE_STATE_END, call_checked};
use crate::sock::{AckSample, INFINITE_SSTHRESH, RateSample, TcpSock};

const OPEN: u8 = 0;
const CWR: u8 = 2;
const RECOVERY: u8 = 3;
const LOSS: u8 = 4;

const MSS_BYTES: u32 = 1448;

/// Duration of a tick of the kernel's clock, HZ = 250.
const JIFFY_NS: u64 = 4_000_000;

/// `CA_ACK_ECE`.
const ACK_ECE: u32 = 4;

/// A rule that a hook broke.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Rule {
    /// The hook wrote a field that the kernel does not permit a BPF program to write.
    #[error("wrote {0}, which the kernel does not allow an algorithm to write")]
    ForbiddenWrite(&'static str),
    /// The hook wrote beyond the end of the algorithm's private state.
    #[error(
        "wrote beyond the 104 bytes of its private state (icsk_ca_priv); CC_PRIV_CHECK(struct \
         ...) detects this error at compile time"
    )]
    Overrun,
    /// The congestion window is 0, so that no packet can be sent.
    #[error("set the congestion window to 0 packets; a window must be at least 1")]
    NoWindow,
    /// The congestion window is above `snd_cwnd_clamp`.
    #[error("set the congestion window to {0} packets, above its limit snd_cwnd_clamp")]
    WindowAboveClamp(u32),
    /// The slow start threshold is above `TCP_INFINITE_SSTHRESH`, which indicates an overflow.
    #[error(
        "set the slow start threshold to {0} packets, above TCP_INFINITE_SSTHRESH: possibly \
        an overflow"
    )]
    Overflow(u32),
    /// The slow start threshold is below 2 packets (RFC 5681 section 3.1, equation 4).
    #[error(
        "returns a slow start threshold of {0} packets; the minimum is 2 (RFC 5681 section \
        3.1)"
    )]
    LowThreshold(u32),
    /// The slow start threshold is above the congestion window at the loss.
    #[error("returns a slow start threshold of {answer} after a loss at a window of {window}")]
    RaisedThreshold {
        /// The threshold returned.
        answer: u32,
        /// The congestion window at the loss.
        window: u32,
    },
    /// Undoing a window reduction made the window smaller, or set it to 0.
    #[error("returns a window of {answer}, less than the present window of {window}")]
    LoweredByUndo {
        /// The window returned.
        answer: u32,
        /// The congestion window before the undo.
        window: u32,
    },
    /// The algorithm reports a phase that is not listed in `CC_PHASES`.
    #[error("reports phase {0}, which CC_PHASES does not list")]
    UnnamedPhase(u8),
}

/// A rule that was broken, and the hook that broke it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Broken {
    pub(crate) hook: &'static str,
    pub(crate) rule: Rule,
}

type Kept = Result<(), Broken>;

/// A sender under test.
struct Model {
    congestion: Congestion,
    sk: TcpSock,
    now_ns: u64,
    jiffies: u32,
    /// Offset of the peer's timestamp clock from the sender's clock.
    peer_clock_ms: u32,
}

/// Runs an example.
pub(crate) fn run(algorithm: Algorithm, example: &Example) -> Kept {
    let congestion = Congestion::new(algorithm, &example.parameters)
        .expect("parameters are drawn within their bounds");
    let sk = TcpSock {
        snd_cwnd: example.window_pkts,
        snd_cwnd_clamp: LARGEST_WINDOW_PKTS,
        snd_una: example.sequence,
        snd_nxt: example.sequence,
        is_cwnd_limited: 1,
        mss_cache: MSS_BYTES,
        ..TcpSock::default()
    };
    let mut model = Model {
        congestion,
        sk,
        now_ns: 0,
        jiffies: example.jiffies,
        peer_clock_ms: example.sequence,
    };
    model.advance(1_000_000);
    model.congestion.attach(&mut model.sk);
    model.init(example.is_module)?;
    for &operation in &example.operations {
        model.apply(operation)?;
    }
    model.hook("release", Congestion::release)
}

impl Model {
    /// Calls a hook and checks the rules that hold after every hook.
    fn hook<R>(
        &mut self,
        name: &'static str,
        call: impl FnOnce(&mut Congestion, &mut TcpSock) -> R,
    ) -> Result<R, Broken> {
        let broken = |rule| Err(Broken { hook: name, rule });
        let (answer, field) = call_checked(&mut self.sk, |sk| call(&mut self.congestion, sk));
        if let Some(field) = field {
            let is_overrun = field.offset == PRIVATE_STATE_END;
            return broken(if is_overrun {
                Rule::Overrun
            } else {
                Rule::ForbiddenWrite(field.name)
            });
        }
        let after = &self.sk;
        if after.snd_cwnd == 0 {
            return broken(Rule::NoWindow);
        }
        if after.snd_cwnd > after.snd_cwnd_clamp {
            return broken(Rule::WindowAboveClamp(after.snd_cwnd));
        }
        if after.snd_ssthresh > INFINITE_SSTHRESH {
            return broken(Rule::Overflow(after.snd_ssthresh));
        }
        if usize::from(after.cc_phase) >= self.congestion.algorithm().phases().len().max(1) {
            return broken(Rule::UnnamedPhase(after.cc_phase));
        }
        Ok(answer)
    }

    fn init(&mut self, is_module: bool) -> Kept {
        let outcome = self.hook("init", Congestion::init);
        let clamp = Rule::ForbiddenWrite("tcp_sock.snd_cwnd_clamp");
        if is_module && outcome.as_ref().is_err_and(|broken| broken.rule == clamp) {
            self.sk.snd_cwnd = self.sk.snd_cwnd.min(self.sk.snd_cwnd_clamp);
            return Ok(());
        }
        outcome
    }

    fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        self.sk.tcp_clock_cache = self.now_ns;
        self.sk.tcp_mstamp = self.now_ns / 1_000;
        self.sk.cc_jiffies32 = ((self.now_ns / JIFFY_NS) as u32).wrapping_add(self.jiffies);
    }

    fn state(&mut self, state: u8) -> Kept {
        self.hook("set_state", |c, sk| c.set_state(sk, state))?;
        self.sk.inet_conn.icsk_ca_state = state;
        Ok(())
    }

    fn event(&mut self, event: CwndEvent) -> Kept {
        self.hook("cwnd_event", |c, sk| c.cwnd_event(sk, event)).map(|_| ())
    }

    /// Calls the hook that returns the slow start threshold after a loss. If the algorithm has
    /// `cong_control`, the threshold may be above the window.
    fn threshold(&mut self) -> Result<u32, Broken> {
        let window = self.sk.snd_cwnd;
        let answer = self.hook("ssthresh", Congestion::ssthresh)?;
        let broken = |rule| Err(Broken { hook: "ssthresh", rule });
        if answer < 2 {
            return broken(Rule::LowThreshold(answer));
        }
        if answer > INFINITE_SSTHRESH {
            return broken(Rule::Overflow(answer));
        }
        if answer > window.max(2) && !self.congestion.has_cong_control() {
            return broken(Rule::RaisedThreshold { answer, window });
        }
        Ok(answer)
    }

    fn ack(&mut self, packets: u32, rtt_us: Option<u32>, is_ce: bool) -> Kept {
        let sk = &mut self.sk;
        let packets = packets.min(sk.snd_cwnd);
        // The whole window was sent before this ACK arrived.
        sk.snd_nxt = sk.snd_una.wrapping_add(sk.snd_cwnd.wrapping_mul(MSS_BYTES));
        sk.snd_una = sk.snd_una.wrapping_add(packets.wrapping_mul(MSS_BYTES));
        sk.packets_out = sk.snd_cwnd;
        sk.max_packets_out = sk.snd_cwnd;
        let prior_delivered = sk.delivered.wrapping_sub(sk.snd_cwnd - packets);
        sk.delivered = sk.delivered.wrapping_add(packets);
        sk.delivered_mstamp = sk.tcp_mstamp;
        sk.delivered_ce = sk.delivered_ce.wrapping_add(if is_ce { packets } else { 0 });
        sk.lsndtime = sk.cc_jiffies32;
        let now_ms = (self.now_ns / 1_000_000) as u32;
        sk.rx_opt.saw_tstamp = 1;
        sk.rx_opt.rcv_tsecr = now_ms.wrapping_sub(rtt_us.unwrap_or(0) / 1_000);
        sk.rx_opt.rcv_tsval = now_ms.wrapping_add(self.peer_clock_ms);
        let rtt = rtt_us.map_or(-1, i64::from);
        let sample = AckSample { pkts_acked: packets, rtt_us: rtt as i32, in_flight: sk.snd_cwnd };
        let delivery = RateSample {
            prior_delivered,
            delivered: sk.snd_cwnd as i32,
            losses: i32::from(is_ce),
            is_app_limited: u8::from(sk.is_cwnd_limited == 0),
            interval_us: rtt,
            rtt_us: rtt,
            acked_sacked: packets,
            prior_in_flight: sk.snd_cwnd,
            ..RateSample::default()
        };
        let una = sk.snd_una;
        let flags = if is_ce { ACK_ECE } else { 0 };
        let early = self.hook("in_ack_event", |c, sk| c.in_ack_event(sk, flags))?;
        let acked = self.hook("pkts_acked", |c, sk| c.pkts_acked(sk, &sample))?;
        let last = if self.congestion.has_cong_control() {
            self.hook("cong_control", |c, sk| c.cong_control(sk, una, 0, &delivery))?
        } else {
            self.hook("cong_avoid", |c, sk| c.cong_avoid(sk, una, packets))?
        };
        if early.reduces || acked.reduces || last.reduces {
            self.reduce(CWR)?;
        }
        Ok(())
    }

    fn reduce(&mut self, state: u8) -> Kept {
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_cwnd_cnt = 0;
        self.sk.snd_ssthresh = self.threshold()?;
        self.state(state)?;
        if !self.congestion.has_cong_control() {
            self.sk.snd_cwnd = self.sk.snd_cwnd.min(self.sk.snd_ssthresh);
        }
        self.event(CwndEvent::CompleteCwr)?;
        self.state(OPEN)
    }

    fn time_out(&mut self) -> Kept {
        self.sk.prior_cwnd = self.sk.snd_cwnd;
        self.sk.snd_ssthresh = self.threshold()?;
        self.event(CwndEvent::Loss)?;
        self.sk.snd_cwnd = 1;
        self.sk.snd_cwnd_cnt = 0;
        self.state(LOSS)?;
        self.advance(1_000_000_000);
        self.ack(1, None, false)?;
        self.state(OPEN)
    }

    fn undo(&mut self) -> Kept {
        let window = self.sk.snd_cwnd;
        let answer = self.hook("undo_cwnd", Congestion::undo_cwnd)?;
        if answer == 0 || answer < window && !self.congestion.has_cong_control() {
            let rule = Rule::LoweredByUndo { answer, window };
            return Err(Broken { hook: "undo_cwnd", rule });
        }
        self.sk.snd_cwnd = answer.min(self.sk.snd_cwnd_clamp);
        Ok(())
    }

    fn apply(&mut self, operation: Operation) -> Kept {
        match operation {
            Operation::Ack { packets, rtt_us, is_ce } => {
                self.advance(u64::from(rtt_us.unwrap_or(0)) * 1_000);
                self.ack(packets, rtt_us, is_ce)
            }
            Operation::Stretch { acks, gap_us } => (0..acks).try_for_each(|_| {
                self.advance(u64::from(gap_us) * 1_000);
                self.ack(2, Some(20_000), false)
            }),
            Operation::Loss { is_mark } => self.reduce(if is_mark { CWR } else { RECOVERY }),
            Operation::Timeout => self.time_out(),
            Operation::Undo => self.undo(),
            Operation::Idle { ms, does_restart } => {
                self.sk.lsndtime = self.sk.cc_jiffies32;
                self.advance(u64::from(ms) * 1_000_000);
                if does_restart {
                    self.event(CwndEvent::CwndRestart)?;
                    self.sk.snd_cwnd = self.sk.snd_cwnd.min(10);
                }
                self.event(CwndEvent::TxStart)
            }
            Operation::Received { is_ce } => {
                self.event(if is_ce { CwndEvent::EcnIsCe } else { CwndEvent::EcnNoCe })
            }
            Operation::Limited { is_cwnd_limited } => {
                self.sk.is_cwnd_limited = u8::from(is_cwnd_limited);
                Ok(())
            }
        }
    }
}
