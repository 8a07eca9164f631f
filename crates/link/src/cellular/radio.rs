//! Configuration of a cell's radio technology and its carriers in a scenario.

use cwndlab_units::Duration;
use serde::{Deserialize, Serialize};

use crate::channel::FrequencyRange;

/// The radio technology of a cell and its carriers.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum RadioConfig {
    /// UMTS; each direction has a dedicated channel or a channel of HSPA.
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

/// The downlink channel of UMTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum UmtsDownlink {
    /// A dedicated channel of release 99.
    Dedicated {
        /// Rate of the dedicated channel: 64, 128 or 384 kbit/s.
        kbit_s: u32,
    },
    /// HSDPA, shared.
    Hsdpa {
        /// Category of the users' handsets, from 1 to 12.
        category: u8,
    },
}

/// The uplink channel of UMTS.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum UmtsUplink {
    /// A dedicated channel of release 99.
    Dedicated {
        /// Rate of the dedicated channel: 64, 128 or 384 kbit/s.
        kbit_s: u32,
    },
    /// HSUPA.
    Hsupa {
        /// Category of the users' handsets: 3, 5 or 6.
        category: u8,
        /// Time in which the uplink grant grows from one unit to a full block after a pause in
        /// sending.
        #[serde(rename = "ramp_ns", default)]
        ramp: Duration,
    },
}

/// A slot of the pattern of an NR carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlotConfig {
    /// Number of the slot's 14 symbols that carry downlink data.
    #[serde(default)]
    pub downlink_symbols: u8,
    /// Number of the slot's 14 symbols that carry uplink data.
    #[serde(default)]
    pub uplink_symbols: u8,
}

/// LTE's primary carrier in each direction, and the category of the users' handsets.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteConfig {
    /// Number of resource blocks in each direction: 6, 15, 25, 50, 75 or 100.
    pub resource_blocks: u16,
    /// Number of spatial layers in the downlink: 1, 2, 4 or 8.
    pub layers: u8,
    /// Category of the users' handsets, from 1 to 16.
    pub category: u8,
    /// Whether the downlink uses modulations up to 256QAM (TS 36.213 table 7.1.7.1-1A) instead of
    /// 64QAM; if absent, 64QAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_256qam: Option<bool>,
    /// Up to four secondary carriers, which are used only in the downlink.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secondary: Vec<LteCarrier>,
}

/// A secondary carrier of LTE; absent keys have the values of the primary carrier.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LteCarrier {
    /// Resource blocks.
    pub resource_blocks: u16,
    /// Spatial layers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layers: Option<u8>,
    /// Whether the carrier uses modulations up to 256QAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub is_256qam: Option<bool>,
}

/// NR's carrier.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NrConfig {
    /// Subcarrier spacing: 15, 30, 60 or 120 kHz.
    pub subcarrier_khz: u32,
    /// Bandwidth of the carrier, as listed in TS 38.101.
    pub bandwidth_mhz: u32,
    /// Frequency range: below or above 7.125 GHz. If absent, it is above for a spacing of 120 kHz
    /// and below for other spacings. A spacing of 60 kHz exists in both ranges, with different
    /// numbers of resource blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequency_range: Option<FrequencyRange>,
    /// How the two directions share the spectrum; if absent, TDD.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<NrDuplex>,
    /// The slots of one period, which repeats. With FDD, the symbols of each direction are on its
    /// own carrier, and an empty pattern means 13 downlink symbols and 14 uplink symbols in every
    /// slot.
    #[serde(default)]
    pub pattern: Vec<SlotConfig>,
    /// Number of spatial layers in the downlink.
    pub downlink_layers: u8,
    /// Number of spatial layers in the uplink.
    pub uplink_layers: u8,
    /// Whether modulations go up to 256QAM (table 2 of TS 38.214) instead of 64QAM (table 1).
    pub is_256qam: bool,
    /// Number of resource elements in each resource block and slot that carry no data, such as
    /// reference signals.
    pub overhead_elements: u16,
    /// Number of slots that the base station's software needs to react to a request or report.
    pub base_slots: u32,
    /// Minimum number of slots from data to their acknowledgement (K1).
    pub acknowledge_slots: u32,
    /// Minimum number of slots from a grant to the block that it allows (K2).
    pub grant_slots: u32,
    /// Bandwidth of a secondary carrier with the same slots, which is used only in the downlink.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secondary_mhz: Option<u32>,
}

/// How the two directions of NR share the spectrum.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NrDuplex {
    /// Both directions take turns on one carrier.
    Tdd,
    /// Each direction has its own carrier.
    Fdd,
}
