//! Results of ACK processing: the bits of Linux's `FLAG_*`, which are passed to `cong_control`.

use core::ops::{BitOr, BitOrAssign};

/// A set of the bits `FLAG_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct AckFlags(u32);

impl AckFlags {
    pub(crate) const NONE: Self = Self(0);
    /// The segment has data.
    pub(crate) const DATA: Self = Self(0x01);
    /// The segment's window is newer than the known window.
    pub(crate) const WIN_UPDATE: Self = Self(0x02);
    /// New data were acknowledged for the first time.
    pub(crate) const DATA_ACKED: Self = Self(0x04);
    /// Retransmitted data were acknowledged for the first time.
    pub(crate) const RETRANS_DATA_ACKED: Self = Self(0x08);
    /// A SYN was acknowledged for the first time.
    pub(crate) const SYN_ACKED: Self = Self(0x10);
    /// Data were sacked for the first time.
    pub(crate) const DATA_SACKED: Self = Self(0x20);
    pub(crate) const ECE: Self = Self(0x40);
    /// A retransmission was found to be lost.
    pub(crate) const LOST_RETRANS: Self = Self(0x80);
    /// The header of the segment was not predicted.
    pub(crate) const SLOWPATH: Self = Self(0x100);
    /// A segment below the end of recovery that was never retransmitted was delivered.
    pub(crate) const ORIG_SACK_ACKED: Self = Self(0x200);
    pub(crate) const SND_UNA_ADVANCED: Self = Self(0x400);
    /// The ACK reports a duplicate segment (DSACK).
    pub(crate) const DSACKING_ACK: Self = Self(0x800);
    /// The retransmission timer must be set again.
    pub(crate) const SET_XMIT_TIMER: Self = Self(0x1000);
    /// The first segment is sacked but not acknowledged, because the peer discarded it.
    pub(crate) const SACK_RENEGING: Self = Self(0x2000);
    /// The segment's timestamp must be echoed from now on.
    pub(crate) const UPDATE_TS_RECENT: Self = Self(0x4000);
    /// The ACK covers a single segment, so the receiver may have delayed it.
    pub(crate) const ACK_MAYBE_DELAYED: Self = Self(0x10000);
    /// The reported duplicate is a tail loss probe.
    pub(crate) const DSACK_TLP: Self = Self(0x20000);

    pub(crate) const ACKED: Self = Self(Self::DATA_ACKED.0 | Self::SYN_ACKED.0);
    pub(crate) const NOT_DUP: Self = Self(Self::DATA.0 | Self::WIN_UPDATE.0 | Self::ACKED.0);
    pub(crate) const CA_ALERT: Self =
        Self(Self::DATA_SACKED.0 | Self::ECE.0 | Self::DSACKING_ACK.0);
    pub(crate) const FORWARD_PROGRESS: Self = Self(Self::ACKED.0 | Self::DATA_SACKED.0);

    /// Whether any of the given bits is set.
    #[inline]
    pub(crate) const fn has(self, any: Self) -> bool {
        self.0 & any.0 != 0
    }

    /// Whether all of the given bits are set.
    #[inline]
    pub(crate) const fn has_all(self, all: Self) -> bool {
        self.0 & all.0 == all.0
    }

    #[inline]
    pub(crate) fn remove(&mut self, these: Self) {
        self.0 &= !these.0;
    }

    /// The bits in the form that algorithms receive.
    #[inline]
    pub(crate) const fn bits(self) -> i32 {
        self.0 as i32
    }
}

impl BitOr for AckFlags {
    type Output = Self;

    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for AckFlags {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_come_and_go() {
        let mut flags = AckFlags::DATA | AckFlags::SYN_ACKED;
        assert!(flags.has(AckFlags::ACKED) && !flags.has_all(AckFlags::ACKED));
        flags |= AckFlags::DATA_ACKED;
        assert!(flags.has_all(AckFlags::ACKED));
        flags.remove(AckFlags::ACKED);
        assert_eq!(flags, AckFlags::DATA);
    }

    /// BPF algorithms test these bits, so they must equal the kernel's.
    #[test]
    fn bits_are_the_kernels() {
        assert_eq!(AckFlags::NOT_DUP.bits(), 0x17);
        assert_eq!(AckFlags::CA_ALERT.bits(), 0x860);
    }
}
