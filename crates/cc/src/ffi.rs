//! `struct tcp_congestion_ops` and its companions as `algorithms/include/cc.h` declares them.

use std::ffi::{c_char, c_int};

use crate::sock::{AckSample, RateSample, Sock};

/// `CC_ABI`: the version of the structs in this file and in `sock.rs`.
pub(crate) const ABI: u32 = 1;

/// `TCP_CONG_NEEDS_ECN`.
pub(crate) const NEEDS_ECN: u32 = 2;

type ReturnsU32 = Option<unsafe extern "C" fn(*mut Sock) -> u32>;
type ReturnsNothing = Option<unsafe extern "C" fn(*mut Sock)>;

/// `struct tcp_congestion_ops`: the hooks, null where the algorithm has none.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Ops {
    pub(crate) ssthresh: ReturnsU32,
    pub(crate) cong_avoid: Option<unsafe extern "C" fn(*mut Sock, u32, u32)>,
    pub(crate) set_state: Option<unsafe extern "C" fn(*mut Sock, u8)>,
    pub(crate) cwnd_event: Option<unsafe extern "C" fn(*mut Sock, c_int)>,
    pub(crate) in_ack_event: Option<unsafe extern "C" fn(*mut Sock, u32)>,
    pub(crate) pkts_acked: Option<unsafe extern "C" fn(*mut Sock, *const AckSample)>,
    pub(crate) min_tso_segs: ReturnsU32,
    pub(crate) cong_control: Option<unsafe extern "C" fn(*mut Sock, u32, c_int, *const RateSample)>,
    pub(crate) undo_cwnd: ReturnsU32,
    pub(crate) sndbuf_expand: ReturnsU32,
    pub(crate) init: ReturnsNothing,
    pub(crate) release: ReturnsNothing,
    pub(crate) flags: u32,
    pub(crate) name: [c_char; 16],
}

/// `struct cc_parameter`.
#[repr(C)]
pub(crate) struct Parameter {
    pub(crate) name: *const c_char,
    pub(crate) unit: *const c_char,
    pub(crate) doc: *const c_char,
    pub(crate) value: u32,
    pub(crate) low: u32,
    pub(crate) high: u32,
}

/// `struct cc_description`.
#[repr(C)]
pub(crate) struct Description {
    pub(crate) abi: u32,
    pub(crate) parameter_count: u32,
    pub(crate) phase_count: u32,
    pub(crate) tcp_sock_bytes: u32,
    pub(crate) ops: *const Ops,
    pub(crate) summary: *const c_char,
    pub(crate) aliases: *const c_char,
    pub(crate) parameters: *const Parameter,
    pub(crate) phases: *const *const c_char,
}

// SAFETY: a description and all that it points to are constants of a C file; nobody writes them.
unsafe impl Sync for Description {}
