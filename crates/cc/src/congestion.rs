//! The congestion control of one flow: its hooks and parameters.

use std::collections::BTreeMap;

use crate::algorithm::Algorithm;
use crate::ffi::Ops;
use crate::sock::{
    AckSample, CA_PRIV_BYTES, CC_STATE_BYTES, ParameterPointer, REQUEST_ACK, REQUEST_ACK_ECE,
    REQUEST_CWR, RateSample, Sock, TcpSock,
};

/// Argument of `cwnd_event`: an event of the congestion window, or the congestion mark of a
/// received packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum CwndEvent {
    /// `CA_EVENT_TX_START`: the first transmission with no packet in flight.
    TxStart = 0,
    /// `CA_EVENT_CWND_RESTART`: the congestion window restarts after an idle period.
    CwndRestart = 1,
    /// `CA_EVENT_COMPLETE_CWR`: the window reduction of CWR or of recovery is complete.
    CompleteCwr = 2,
    /// `CA_EVENT_LOSS`: retransmission timeout.
    Loss = 3,
    /// `CA_EVENT_ECN_NO_CE`: a packet without a congestion mark was received.
    EcnNoCe = 4,
    /// `CA_EVENT_ECN_IS_CE`: a packet with a congestion mark was received.
    EcnIsCe = 5,
}

/// Actions that a hook requests of its endpoint; in the kernel, functions that the hook calls
/// perform these actions. A hook that reports an event can return requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use = "the algorithm relies on it that its endpoint does what it asks for"]
pub struct Requests {
    /// An ACK that the endpoint must send.
    pub ack: Option<RequestedAck>,
    /// Whether to reduce the window without a loss (`tcp_enter_cwr`), unless a reduction is under
    /// way.
    pub reduces: bool,
}

/// An ACK that an algorithm requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedAck {
    /// Sequence number that the ACK acknowledges.
    pub rcv_nxt: u32,
    /// Whether the ACK carries ECE, the echo of a congestion mark.
    pub is_ece: bool,
}

impl Requests {
    /// No request.
    pub const NONE: Self = Self { ack: None, reduces: false };

    #[inline]
    fn taken_from(sk: &mut TcpSock) -> Self {
        if sk.cc_requests == 0 { Self::NONE } else { Self::read_from(sk) }
    }

    #[cold]
    fn read_from(sk: &mut TcpSock) -> Self {
        let bits = std::mem::take(&mut sk.cc_requests);
        let ack = RequestedAck { rcv_nxt: sk.cc_ack_rcv_nxt, is_ece: bits & REQUEST_ACK_ECE != 0 };
        Self { ack: (bits & REQUEST_ACK != 0).then_some(ack), reduces: bits & REQUEST_CWR != 0 }
    }
}

/// The reason why parameters are invalid for an algorithm.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParameterError {
    /// The algorithm has no parameter with this name.
    #[error("{algorithm} has no parameter `{name}`; its parameters: {known}")]
    Unknown {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// The requested name.
        name: String,
        /// The names of the algorithm's parameters, separated by commas, or "none".
        known: String,
    },
    /// The value is outside of the parameter's bounds.
    #[error("parameter `{name}` of {algorithm} is {value}; it must be from {min} to {max}")]
    OutOfRange {
        /// Name of the algorithm.
        algorithm: &'static str,
        /// Name of the parameter.
        name: &'static str,
        /// The requested value.
        value: i64,
        /// Lowest valid value.
        min: i64,
        /// Highest valid value.
        max: i64,
    },
}

/// The algorithm of one flow, with its parameters.
///
/// The algorithm's state is in the socket, so a clone of this type can serve another socket.
#[derive(Clone, Debug)]
pub struct Congestion {
    algorithm: Algorithm,
    ops: &'static Ops,
    /// The struct `NAME_parameters` of the C file: every field is a `u32`.
    parameters: Box<[u32]>,
    /// Whether `init` was called and `release` was not called since.
    is_running: bool,
}

impl Congestion {
    /// Creates an instance of `algorithm`; parameters that are not given have their defaults.
    ///
    /// # Errors
    /// Returns an error if the algorithm does not have a parameter, or a value is outside of the
    /// parameter's bounds.
    pub fn new(
        algorithm: Algorithm,
        parameters: &BTreeMap<String, i64>,
    ) -> Result<Self, ParameterError> {
        let known = algorithm.parameters();
        if let Some(name) = parameters.keys().find(|n| known.iter().all(|p| p.name != n.as_str())) {
            let names: Vec<&str> = known.iter().map(|p| p.name).collect();
            return Err(ParameterError::Unknown {
                algorithm: algorithm.name(),
                name: name.clone(),
                known: if names.is_empty() { "none".to_owned() } else { names.join(", ") },
            });
        }
        let block = known
            .iter()
            .map(|p| {
                let value = parameters.get(p.name).copied().unwrap_or(p.default);
                let fits = (p.min..=p.max).contains(&value);
                u32::try_from(value).ok().filter(|_| fits).ok_or(ParameterError::OutOfRange {
                    algorithm: algorithm.name(),
                    name: p.name,
                    value,
                    min: p.min,
                    max: p.max,
                })
            })
            .collect::<Result<Box<[u32]>, _>>()?;
        Ok(Self { algorithm, ops: algorithm.0.ops, parameters: block, is_running: false })
    }

    /// The algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Selects this algorithm for a socket and clears the algorithm's private state; the caller
    /// must then call [`Congestion::init`].
    pub fn attach(&self, sk: &mut TcpSock) {
        sk.inet_conn.icsk_ca_priv = [0; CA_PRIV_BYTES / 8];
        sk.cc_state = [0; CC_STATE_BYTES / 8];
        sk.cc_params = ParameterPointer(self.parameters.as_ptr());
        sk.cc_phase = 0;
    }

    /// Whether the hook `cong_control` sets the window; if so, `cong_avoid` is not called.
    #[inline]
    pub fn has_cong_control(&self) -> bool {
        self.ops.cong_control.is_some()
    }

    /// Whether the connection must negotiate ECN, regardless of the setting of the stack.
    pub fn needs_ecn(&self) -> bool {
        self.algorithm.needs_ecn()
    }

    /// Whether the connection must negotiate accurate ECN (RFC 9768), regardless of the setting of
    /// the stack.
    pub fn needs_accurate_ecn(&self) -> bool {
        self.algorithm.needs_accurate_ecn()
    }

    /// Whether packets are ECT(1) instead of ECT(0) once ECN is negotiated.
    pub fn sends_ect1(&self) -> bool {
        self.algorithm.sends_ect1()
    }

    /// Calls the hook `init` when the connection is established.
    #[inline]
    pub fn init(&mut self, sk: &mut TcpSock) {
        self.is_running = true;
        if let Some(hook) = self.ops.init {
            // SAFETY: see `enter`.
            unsafe { hook(self.enter(sk)) }
        }
    }

    /// Calls the hook `release` when the connection ends or changes its algorithm; does nothing
    /// before `init`.
    pub fn release(&mut self, sk: &mut TcpSock) {
        if let Some(hook) = self.ops.release.filter(|_| self.is_running) {
            self.is_running = false;
            // SAFETY: see `enter`.
            unsafe { hook(self.enter(sk)) }
        }
    }

    /// Returns the slow start threshold after a loss at this time, in packets.
    #[inline]
    pub fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        let hook = self.ops.ssthresh.expect("the registry checked that this hook exists");
        // SAFETY: see `enter`.
        unsafe { hook(self.enter(sk)) }
    }

    /// Returns the window to restore when the last reduction proves to be spurious, in packets.
    #[inline]
    pub fn undo_cwnd(&mut self, sk: &mut TcpSock) -> u32 {
        let hook = self.ops.undo_cwnd.expect("the registry checked that this hook exists");
        // SAFETY: see `enter`.
        unsafe { hook(self.enter(sk)) }
    }

    /// Reports that an ACK up to `ack` acknowledged `acked` packets; the window may grow.
    #[inline]
    pub fn cong_avoid(&mut self, sk: &mut TcpSock, ack: u32, acked: u32) -> Requests {
        if let Some(hook) = self.ops.cong_avoid {
            // SAFETY: see `enter`.
            unsafe { hook(self.enter(sk), ack, acked) }
            return Requests::taken_from(sk);
        }
        Requests::NONE
    }

    /// Reports the state that TCP's ACK state machine is about to enter.
    #[inline]
    pub fn set_state(&mut self, sk: &mut TcpSock, new_state: u8) {
        if let Some(hook) = self.ops.set_state {
            // SAFETY: see `enter`.
            unsafe { hook(self.enter(sk), new_state) }
        }
    }

    /// Reports an event.
    #[inline]
    pub fn cwnd_event(&mut self, sk: &mut TcpSock, event: CwndEvent) -> Requests {
        if let Some(hook) = self.ops.cwnd_event {
            // SAFETY: see `enter`.
            unsafe { hook(self.enter(sk), event as i32) }
            return Requests::taken_from(sk);
        }
        Requests::NONE
    }

    /// Reports the arrival of an ACK; `flags` is a set of the flags `CA_ACK_*`.
    #[inline]
    pub fn in_ack_event(&mut self, sk: &mut TcpSock, flags: u32) -> Requests {
        if let Some(hook) = self.ops.in_ack_event {
            // SAFETY: see `enter`.
            unsafe { hook(self.enter(sk), flags) }
            return Requests::taken_from(sk);
        }
        Requests::NONE
    }

    /// Reports that packets were acknowledged, cumulatively or by SACK.
    #[inline]
    pub fn pkts_acked(&mut self, sk: &mut TcpSock, sample: &AckSample) -> Requests {
        if let Some(hook) = self.ops.pkts_acked {
            // SAFETY: see `enter`; the sample is borrowed for the call.
            unsafe { hook(self.enter(sk), sample) }
            return Requests::taken_from(sk);
        }
        Requests::NONE
    }

    /// Reports that an ACK has been processed; used only if [`Congestion::has_cong_control`].
    #[inline]
    pub fn cong_control(
        &mut self,
        sk: &mut TcpSock,
        ack: u32,
        flag: i32,
        sample: &RateSample,
    ) -> Requests {
        if let Some(hook) = self.ops.cong_control {
            // SAFETY: see `enter`; the sample is borrowed for the call.
            unsafe { hook(self.enter(sk), ack, flag, sample) }
            return Requests::taken_from(sk);
        }
        Requests::NONE
    }

    /// Minimum number of segments in a TSO burst; `None` if the algorithm does not set it.
    #[inline]
    pub fn min_tso_segs(&mut self, sk: &mut TcpSock) -> Option<u32> {
        let hook = self.ops.min_tso_segs?;
        // SAFETY: see `enter`.
        Some(unsafe { hook(self.enter(sk)) })
    }

    /// Size of the send buffer in congestion windows; `None` if the algorithm does not set it.
    #[inline]
    pub fn sndbuf_expand(&mut self, sk: &mut TcpSock) -> Option<u32> {
        let hook = self.ops.sndbuf_expand?;
        // SAFETY: see `enter`.
        Some(unsafe { hook(self.enter(sk)) })
    }

    /// Returns the argument of a hook. Hook calls are sound because a hook follows only two
    /// pointers. The first points to the socket: the whole `TcpSock`, borrowed exclusively for the
    /// call, with the layout that the C file was compiled with (tested). The second is
    /// `cc_params`, which is set here, so it points to this instance's block of as many values as
    /// the file declares, borrowed with `self`.
    #[inline]
    fn enter(&self, sk: &mut TcpSock) -> *mut Sock {
        sk.cc_params = ParameterPointer(self.parameters.as_ptr());
        std::ptr::from_mut(sk).cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reno() -> (Congestion, TcpSock) {
        let algorithm = Algorithm::by_name("reno").expect("reno is there");
        let mut congestion = Congestion::new(algorithm, &BTreeMap::new()).expect("no parameters");
        let mut sk = TcpSock { is_cwnd_limited: 1, ..TcpSock::default() };
        congestion.attach(&mut sk);
        congestion.init(&mut sk);
        (congestion, sk)
    }

    #[test]
    fn reno_doubles_then_adds_one_per_window() {
        let (mut congestion, mut sk) = reno();
        sk.snd_ssthresh = 20;
        let _ = congestion.cong_avoid(&mut sk, 0, 10);
        assert_eq!(sk.snd_cwnd, 20);
        for _ in 0..20 {
            let _ = congestion.cong_avoid(&mut sk, 0, 1);
        }
        assert_eq!(sk.snd_cwnd, 21);
        assert_eq!(congestion.ssthresh(&mut sk), 10);
        assert_eq!(congestion.algorithm().phases()[usize::from(sk.cc_phase)], "avoidance");
    }

    #[test]
    fn another_algorithm_finds_no_state_of_the_one_before() {
        let (congestion, mut sk) = reno();
        sk.cc_state.fill(7);
        sk.inet_conn.icsk_ca_priv.fill(7);
        congestion.attach(&mut sk);
        assert_eq!(sk.cc_state, [0; CC_STATE_BYTES / 8]);
        assert_eq!(sk.inet_conn.icsk_ca_priv, [0; CA_PRIV_BYTES / 8]);
    }

    #[test]
    fn absent_hooks_do_nothing() {
        let (mut congestion, mut sk) = reno();
        assert!(!congestion.has_cong_control());
        let _ = congestion.cong_control(&mut sk, 0, 0, &RateSample::default());
        let _ = congestion.pkts_acked(&mut sk, &AckSample::default());
        let _ = congestion.cwnd_event(&mut sk, CwndEvent::Loss);
        assert_eq!(congestion.min_tso_segs(&mut sk), None);
        assert_eq!(congestion.sndbuf_expand(&mut sk), None);
        assert_eq!(sk.snd_cwnd, 10);
    }

    #[test]
    fn an_unknown_parameter_is_an_error_that_names_it() {
        let algorithm = Algorithm::by_name("reno").expect("reno is there");
        let error = Congestion::new(algorithm, &BTreeMap::from([("beta".to_owned(), 3)]))
            .expect_err("reno has no beta");
        assert_eq!(
            error.to_string(),
            "reno has no parameter `beta`; its parameters: slow_start, saved_cwnd, saved_rtt"
        );
    }

    #[test]
    fn a_value_outside_its_bounds_is_an_error_that_names_them() {
        let cubic = Algorithm::by_name("cubic").expect("cubic is there");
        for value in [0, 1024, -1, i64::MAX] {
            let error = Congestion::new(cubic, &BTreeMap::from([("beta".to_owned(), value)]))
                .expect_err("out of bounds");
            let expected = format!(
                "parameter `beta` of cubic is {value}; it must be from 1 to \
                1023"
            );
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn each_flow_has_its_own_parameters() {
        let cubic = Algorithm::by_name("cubic").expect("cubic is there");
        let mut halving =
            Congestion::new(cubic, &BTreeMap::from([("beta".to_owned(), 512)])).expect("in bounds");
        let mut plain = Congestion::new(cubic, &BTreeMap::new()).expect("no parameters");
        let mut sk = TcpSock { snd_cwnd: 1024, ..TcpSock::default() };
        plain.attach(&mut sk);
        assert_eq!(plain.ssthresh(&mut sk), 717);
        // Without `attach`, too: a hook always gets the parameters of its own flow.
        assert_eq!(halving.ssthresh(&mut sk), 512);
        let mut copy = halving.clone();
        drop(halving);
        assert_eq!(copy.ssthresh(&mut sk), 512);
    }

    #[test]
    fn a_flow_may_move_to_another_thread() {
        fn assert_send<T: Send>() {}
        assert_send::<Congestion>();
        assert_send::<TcpSock>();
    }
}
