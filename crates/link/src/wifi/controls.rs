//! Control frames: their times on the air, which are computed once for each rate.

use cwndlab_units::Duration;

use super::frame::{
    ACK_BYTES, BLOCK_ACK_BYTES, BLOCK_ACK_REQUEST_BYTES, CTS_BYTES, RTS_BYTES, Rules,
};
use super::phy::{Mode, Phy};

/// Times on the air of RTS, CTS, ACKs, block ACKs and block ACK requests at one rate, and the
/// maximum size of a data frame outside of a transmission opportunity, in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Controls {
    pub(super) rts: Duration,
    pub(super) cts: Duration,
    pub(super) ack: Duration,
    pub(super) block_ack: Duration,
    pub(super) block_ack_request: Duration,
    pub(super) capacity_bytes: u64,
}

impl Controls {
    /// Returns the times for each rate by the rate's index; entries are zero where the standard
    /// has no rate.
    pub(super) fn of_rates(phy: &Phy, rules: &Rules) -> Vec<Self> {
        let of = |mode: &Mode| {
            let control = phy.response(mode);
            Self {
                rts: control.duration(RTS_BYTES),
                cts: control.duration(CTS_BYTES),
                ack: control.duration(ACK_BYTES),
                block_ack: control.duration(BLOCK_ACK_BYTES),
                block_ack_request: control.duration(BLOCK_ACK_REQUEST_BYTES),
                capacity_bytes: mode.capacity_bytes(rules.max_time),
            }
        };
        (0..phy.modes()).map(|index| phy.mode(index).map_or_else(Self::default, of)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wifi::config::{Standard, WifiConfig};

    #[test]
    fn a_fast_frame_is_answered_at_24_mbit_s() {
        let config = WifiConfig::new(Standard::N, 1);
        let phy = Phy::new(&config).expect("a channel");
        let controls = Controls::of_rates(&phy, &Rules::new(&config));
        // 20 us, and 14 and 32 bytes with 22 bits in symbols of 4 us with 96 bits each.
        assert_eq!(controls[7].ack, Duration::from_micros(28));
        assert_eq!(controls[7].block_ack, Duration::from_micros(32));
        assert_eq!(controls[0].ack, Duration::from_micros(44));
        assert_eq!(controls.len(), 8);
    }
}
