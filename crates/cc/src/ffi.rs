//! `struct tcp_congestion_ops` and related types, as `algorithms/include/cc.h` declares them.

use std::ffi::{c_char, c_int};

use crate::sock::{AckSample, RateSample, Sock};

/// `CC_ABI`: the version of the structs in this file and in `sock.rs`.
pub(crate) const ABI: u32 = 1;

/// `TCP_CONG_NEEDS_ECN`.
pub(crate) const NEEDS_ECN: u32 = 2;
/// `TCP_CONG_NEEDS_ACCECN`.
pub(crate) const NEEDS_ACCECN: u32 = 4;
/// `TCP_CONG_ECT_1_NEGOTIATION`.
pub(crate) const ECT_1_NEGOTIATION: u32 = 8;

type ReturnsU32 = Option<unsafe extern "C" fn(*mut Sock) -> u32>;
type ReturnsNothing = Option<unsafe extern "C" fn(*mut Sock)>;

/// Defines `struct tcp_congestion_ops` from the hooks, in the order of `CC_HOOKS`.
macro_rules! table_of_hooks {
    ($($hook:ident: $signature:ty,)*) => {
        /// `struct tcp_congestion_ops`: the hooks; a hook that the algorithm does not implement is
        /// null.
        #[repr(C)]
        #[derive(Debug)]
        pub(crate) struct Ops {
            $(pub(crate) $hook: $signature,)*
            pub(crate) flags: u32,
            pub(crate) name: [c_char; 16],
        }

        impl Ops {
            /// Names of the implemented hooks.
            pub(crate) fn hooks(&self) -> Vec<&'static str> {
                let hooks = [$(self.$hook.is_some(),)*];
                HOOKS.iter().zip(hooks).filter_map(|(&name, is_there)| is_there.then_some(name)).collect()
            }
        }

        /// Names of all hooks, indexed by `enum cc_hook`.
        pub(crate) const HOOKS: &[&str] = &[$(stringify!($hook),)*];
    };
}

table_of_hooks! {
    ssthresh: ReturnsU32,
    cong_avoid: Option<unsafe extern "C" fn(*mut Sock, u32, u32)>,
    set_state: Option<unsafe extern "C" fn(*mut Sock, u8)>,
    cwnd_event: Option<unsafe extern "C" fn(*mut Sock, c_int)>,
    in_ack_event: Option<unsafe extern "C" fn(*mut Sock, u32)>,
    pkts_acked: Option<unsafe extern "C" fn(*mut Sock, *const AckSample)>,
    min_tso_segs: ReturnsU32,
    cong_control: Option<unsafe extern "C" fn(*mut Sock, u32, c_int, *const RateSample)>,
    undo_cwnd: ReturnsU32,
    sndbuf_expand: ReturnsU32,
    init: ReturnsNothing,
    release: ReturnsNothing,
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

// SAFETY: a description and everything that it points to are constants of a C file.
unsafe impl Sync for Description {}
