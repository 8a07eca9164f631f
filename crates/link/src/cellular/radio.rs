//! The technology of a cell and its carriers, as in the scenario's JSON.

use cwndlab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::channel::FrequencyRange;

/// The technology and its carriers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RadioConfig {
    /// UMTS: in each direction, a dedicated channel or HSPA.
    Umts {
        /// Downlink channel.
        downlink: UmtsDownlink,
        /// Uplink channel.
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
        /// Category of the users' handsets, from 1 to 12.
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
        /// Category of the users' handsets: 3, 5 or 6.
        category: u8,
        /// Time in which the grant grows, after a pause, from one unit to the whole block.
        #[serde(rename = "ramp_ns", default)]
        ramp: Duration,
    },
}

/// A slot of a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    /// Downlink data symbols, of 14.
    #[serde(default)]
    pub downlink_symbols: u8,
    /// Uplink data symbols, of 14.
    #[serde(default)]
    pub uplink_symbols: u8,
}

/// LTE's primary carrier in each direction, and the users' handsets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteConfig {
    /// Resource blocks in each direction: 6, 15, 25, 50, 75 or 100.
    pub resource_blocks: u16,
    /// Spatial layers of the downlink: 1, 2, 4 or 8.
    pub layers: u8,
    /// Category of the users' handsets, from 1 to 16.
    pub category: u8,
    /// Whether the downlink uses schemes up to 256QAM (TS 36.213 table 7.1.7.1-1A) instead of
    /// 64QAM; default 64QAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_256qam: Option<bool>,
    /// Up to four secondary carriers, downlink only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<LteCarrier>,
}

/// A secondary carrier of LTE; absent keys are as in the primary carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteCarrier {
    /// Resource blocks.
    pub resource_blocks: u16,
    /// Spatial layers.
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
    /// Below or above 7.125 GHz. By default, 120 kHz spacing is above and other spacings are below.
    /// 60 kHz exists in both ranges, with different numbers of resource blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_range: Option<FrequencyRange>,
    /// How the directions share the spectrum; TDD if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<NrDuplex>,
    /// The slots of one period, which repeats. With FDD, the symbols of each direction are on its
    /// own carrier, and an empty pattern means 13 symbols down and 14 up in every slot.
    #[serde(default)]
    pub pattern: Vec<SlotConfig>,
    /// Spatial layers of the downlink.
    pub downlink_layers: u8,
    /// Spatial layers of the uplink.
    pub uplink_layers: u8,
    /// Whether schemes go up to 256QAM (table 2 of TS 38.214) instead of 64QAM (table 1).
    pub is_256qam: bool,
    /// Resource elements of a resource block in each slot without data: reference signals.
    pub overhead_elements: u16,
    /// Slots that the base station's software needs to react to a request or report.
    pub base_slots: u32,
    /// Minimum slots from data to its acknowledgement, K1.
    pub acknowledge_slots: u32,
    /// Minimum slots from a grant to its block, K2.
    pub grant_slots: u32,
    /// Bandwidth of a secondary carrier, downlink only, with the same slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary_mhz: Option<u32>,
}

/// How NR's directions share the spectrum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NrDuplex {
    /// On one carrier, in turns.
    Tdd,
    /// On a carrier each.
    Fdd,
}
