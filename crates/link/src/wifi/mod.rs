//! Wi-Fi: one channel that an access point and its stations share in both directions.
//!
//! The model advances from one access to the channel to the next, not from slot to slot or from
//! packet to packet. Its parts are contention ([`contention`]), frames of many packets and their
//! block ACKs ([`lane`], [`exchange`]), time on the air ([`phy`]), losses ([`radio`]), rate
//! control ([`rate_control`]), another network ([`interference`]), and the access point's queues
//! and their scheduling ([`downlink`]).
//!
//! ```text
//!          handle_packet(0): lane of each station          handle_packet(1), (2), ...
//!   port 0  [ access point ]  ---------- air ----------  [ station 1 ] [ station 2 ] ...
//!
//!   idle --first backoff ends--> frames on the air --> response or rest --> idle
//! ```
//!
//! The model leaves out nodes that cannot hear each other (but see [`InterferenceKind::Hidden`]),
//! lost responses, power saving, several links or access points of one network, MU-MIMO, and
//! 802.11ax.

mod channel;
mod config;
mod contention;
mod controls;
mod downlink;
mod exchange;
mod frame;
mod hop;
mod interference;
mod lane;
mod line;
mod outbox;
mod phy;
mod places;
mod radio;
mod rate_control;

pub use channel::WifiChannel;
pub use config::{
    AccessCategory, AccessPointConfig, AggregationConfig, Band, BeaconConfig, ErrorCurve,
    InterferenceConfig, InterferenceKind, NodeConfig, RadioConfig, RateControlConfig, Standard,
    WifiConfig, WifiError,
};
pub use downlink::{AqlConfig, DownlinkConfig, StationDualConfig, StationQueueConfig};
pub use exchange::WifiStatistics;
pub use hop::AirUse;
