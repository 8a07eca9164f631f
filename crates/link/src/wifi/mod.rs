//! Wi-Fi: one channel that an access point and its stations share in both directions.
//!
//! The model goes from one access to the channel to the next, not from slot to slot and not from
//! packet to packet: contention ([`contention`]), frames of many packets and their block ACKs
//! ([`lane`], [`exchange`]), the time on the air ([`phy`]), losses ([`radio`]), the choice of rates
//! ([`rate_control`]), another network ([`interference`]), and where packets wait at an access point
//! and whose turn it is ([`downlink`]).
//!
//! ```text
//!          handle_packet(0): lane of each station          handle_packet(1), (2), ...
//!   port 0  [ access point ]  ---------- air ----------  [ station 1 ] [ station 2 ] ...
//!
//!   idle --first backoff ends--> frames on the air --> response or rest --> idle
//! ```
//!
//! Left out: nodes that do not hear each other (but see [`InterferenceKind::Hidden`]), lost responses, power
//! saving, several links or access points of one network, MU-MIMO, and 802.11ax.

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
