//! The technology of a cell and its carrier, as the scenario's JSON says it.

use cwndlab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::channel::FrequencyRange;

/// The technology and its carrier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RadioConfig {
    /// UMTS: in each direction a dedicated channel or one of HSPA's.
    Umts {
        /// Down.
        downlink: UmtsDownlink,
        /// Up.
        uplink: UmtsUplink,
    },
    /// LTE, frequency-division duplex.
    Lte(LteConfig),
    /// 5G NR.
    Nr(NrConfig),
}

/// The downlink of UMTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum UmtsDownlink {
    /// A dedicated channel of release 99.
    Dedicated {
        /// 64, 128 or 384 kbit/s.
        kbit_s: u32,
    },
    /// HSDPA, shared.
    Hsdpa {
        /// The users' category, from 1 to 12.
        category: u8,
    },
}

/// The uplink of UMTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum UmtsUplink {
    /// A dedicated channel of release 99.
    Dedicated {
        /// 64, 128 or 384 kbit/s.
        kbit_s: u32,
    },
    /// HSUPA.
    Hsupa {
        /// The users' category: 3, 5 or 6.
        category: u8,
        /// How long the grant grows, after a pause, from one unit to all of the block.
        #[serde(rename = "ramp_ns", default)]
        ramp: Duration,
    },
}

/// One slot of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    /// Symbols for data down, of 14.
    #[serde(default)]
    pub downlink_symbols: u8,
    /// Symbols for data up, of 14.
    #[serde(default)]
    pub uplink_symbols: u8,
}

/// LTE's carriers, one for each direction, and the users' handsets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteConfig {
    /// Resource blocks in each direction: 6, 15, 25, 50, 75 or 100.
    pub resource_blocks: u16,
    /// Layers of the downlink: 1, 2, 4 or 8.
    pub layers: u8,
    /// The users' category, from 1 to 16.
    pub category: u8,
    /// Whether the downlink's schemes go up to 256QAM (TS 36.213 table 7.1.7.1-1A) and not 64QAM, which
    /// is taken if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_256qam: Option<bool>,
    /// Up to four further carriers, down only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<LteCarrier>,
}

/// A further carrier of LTE; what is absent is as in the first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteCarrier {
    /// Resource blocks.
    pub resource_blocks: u16,
    /// Layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u8>,
    /// Whether schemes go up to 256QAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_256qam: Option<bool>,
}

/// NR's carrier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NrConfig {
    /// Subcarrier spacing: 15, 30, 60 or 120 kHz.
    pub subcarrier_khz: u32,
    /// Bandwidth, one of those of TS 38.101.
    pub bandwidth_mhz: u32,
    /// Below or above 7.125 GHz; absent, 120 kHz are above and all others below. 60 kHz are in both,
    /// with other numbers of resource blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_range: Option<FrequencyRange>,
    /// How the directions share the spectrum; in turns if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<NrDuplex>,
    /// The slots of one period, again and again. With frequency-division duplex the symbols of each
    /// direction are on its own carrier, and without slots each has 13 symbols down and 14 up.
    #[serde(default)]
    pub pattern: Vec<SlotConfig>,
    /// Layers down.
    pub downlink_layers: u8,
    /// Layers up.
    pub uplink_layers: u8,
    /// Whether schemes go up to 256QAM (table 2 of TS 38.214) and not 64QAM (table 1).
    pub is_256qam: bool,
    /// Resource elements in a resource block and slot that carry no data: reference signals.
    pub overhead_elements: u16,
    /// Slots that the base station's software takes for an answer.
    pub base_slots: u32,
    /// Least number of slots from data to its acknowledgement, K1.
    pub acknowledge_slots: u32,
    /// Least number of slots from a grant to its block, K2.
    pub grant_slots: u32,
    /// Bandwidth of a second carrier, down only, with the same slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary_mhz: Option<u32>,
}

/// How NR's directions share the spectrum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NrDuplex {
    /// One carrier, in turns.
    Tdd,
    /// A carrier each.
    Fdd,
}
