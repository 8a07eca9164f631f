//! What an ACK did: bits of Linux's `FLAG_*`, which `cong_control` is told.

pub(crate) const DATA: u32 = 0x01;
pub(crate) const WIN_UPDATE: u32 = 0x02;
pub(crate) const DATA_ACKED: u32 = 0x04;
pub(crate) const RETRANS_DATA_ACKED: u32 = 0x08;
pub(crate) const SYN_ACKED: u32 = 0x10;
pub(crate) const DATA_SACKED: u32 = 0x20;
pub(crate) const ECE: u32 = 0x40;
pub(crate) const LOST_RETRANS: u32 = 0x80;
pub(crate) const SLOWPATH: u32 = 0x100;
pub(crate) const ORIG_SACK_ACKED: u32 = 0x200;
pub(crate) const SND_UNA_ADVANCED: u32 = 0x400;
pub(crate) const DSACKING_ACK: u32 = 0x800;
pub(crate) const SET_XMIT_TIMER: u32 = 0x1000;
pub(crate) const SACK_RENEGING: u32 = 0x2000;
pub(crate) const UPDATE_TS_RECENT: u32 = 0x4000;
pub(crate) const ACK_MAYBE_DELAYED: u32 = 0x10000;
pub(crate) const DSACK_TLP: u32 = 0x20000;

pub(crate) const ACKED: u32 = DATA_ACKED | SYN_ACKED;
pub(crate) const NOT_DUP: u32 = DATA | WIN_UPDATE | ACKED;
pub(crate) const CA_ALERT: u32 = DATA_SACKED | ECE | DSACKING_ACK;
pub(crate) const FORWARD_PROGRESS: u32 = ACKED | DATA_SACKED;
