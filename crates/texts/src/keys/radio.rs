//! Keys of a cell's radio technology and carriers.

use crate::table::{
    COUNT, Form, KILOBITS_PER_SEC, KILOHERTZ, MEGAHERTZ, SMALL, Short, TIME, Table, needed,
    optional, usual,
};

pub(crate) static DEDICATED: Table = Table {
    name: "Dedicated",
    about: "A dedicated channel of UMTS, release 99.",
    kind: Some("dedicated"),
    keys: &[needed(
        "rate",
        "kbit_s",
        KILOBITS_PER_SEC,
        "rate of the dedicated channel: 64, 128 or 384 kbit/s",
    )],
};

pub(crate) static HSDPA: Table = Table {
    name: "Hsdpa",
    about: "HSDPA, the shared downlink channel of HSPA.",
    kind: Some("hsdpa"),
    keys: &[needed(
        "category",
        "category",
        SMALL,
        "HSDPA category of the handset (3GPP TS \
        25.306), from 1 to 12",
    )],
};

pub(crate) static HSUPA: Table = Table {
    name: "Hsupa",
    about: "HSUPA, the enhanced uplink channel of HSPA.",
    kind: Some("hsupa"),
    keys: &[
        needed(
            "category",
            "category",
            SMALL,
            "HSUPA category of the handset (3GPP TS 25.306): \
            3, 5 or 6",
        ),
        usual(
            "ramp",
            "ramp_ns",
            TIME,
            r#""0 s""#,
            "time in which the uplink grant grows from its smallest unit to a full block after a \
             pause in sending",
        ),
    ],
};

pub(crate) static UMTS: Table = Table {
    name: "Umts",
    about: "UMTS on dedicated channels (DCH) or HSPA channels (HSDPA, HSUPA).",
    kind: Some("umts"),
    keys: &[
        needed(
            "downlink",
            "downlink",
            Form::Kinds(&[&DEDICATED, &HSDPA], Short::Kind),
            "downlink channel of the user",
        ),
        needed(
            "uplink",
            "uplink",
            Form::Kinds(&[&DEDICATED, &HSUPA], Short::Kind),
            "uplink channel of the user",
        ),
    ],
};

pub(crate) static LTE_CARRIER: Table = Table {
    name: "LteCarrier",
    about: "A further LTE carrier, used only in the downlink; absent keys have the values of the \
        first carrier.",
    kind: None,
    keys: &[
        needed(
            "resource_blocks",
            "resource_blocks",
            COUNT,
            "bandwidth of the LTE carrier: 6, 15, 25, 50, 75 or 100 resource blocks",
        ),
        optional(
            "layers",
            "layers",
            SMALL,
            "number of spatial layers of the carrier: 1, 2, 4 or 8",
        ),
        optional(
            "is_256qam",
            "is_256qam",
            Form::Flag,
            "whether the highest modulation of the carrier is 256QAM instead of 64QAM",
        ),
    ],
};

pub(crate) static LTE: Table = Table {
    name: "Lte",
    about: "LTE with frequency-division duplex (FDD).",
    kind: Some("lte"),
    keys: &[
        needed(
            "resource_blocks",
            "resource_blocks",
            COUNT,
            "bandwidth of the LTE carrier: 6, 15, 25, 50, 75 or 100 resource blocks",
        ),
        needed("layers", "layers", SMALL, "number of spatial layers in the downlink: 1, 2, 4 or 8"),
        needed(
            "category",
            "category",
            SMALL,
            "LTE category of the handset (3GPP TS 36.306), \
            from 1 to 16",
        ),
        optional(
            "is_256qam",
            "is_256qam",
            Form::Flag,
            "whether the highest modulation of the downlink is 256QAM instead of 64QAM; requires a \
             category from 11 to 16",
        ),
        optional(
            "secondary",
            "secondary",
            Form::List(&Form::Table(&LTE_CARRIER)),
            "up to four further carriers that are used only in the downlink; if absent, the cell \
             has one carrier",
        ),
    ],
};

pub(crate) static SLOT: Table = Table {
    name: "Slot",
    about: "One slot in the slot pattern of an NR carrier: how many of its 14 symbols carry data \
        in each direction.",
    kind: None,
    keys: &[
        usual(
            "downlink_symbols",
            "downlink_symbols",
            SMALL,
            "0",
            "how many of the slot's 14 symbols carry downlink data",
        ),
        usual(
            "uplink_symbols",
            "uplink_symbols",
            SMALL,
            "0",
            "how many of the slot's 14 symbols carry uplink data",
        ),
    ],
};

pub(crate) static NR: Table = Table {
    name: "Nr",
    about: "5G New Radio (NR).",
    kind: Some("nr"),
    keys: &[
        needed(
            "subcarrier",
            "subcarrier_khz",
            KILOHERTZ,
            "subcarrier spacing: 15, 30, 60 or 120 kHz",
        ),
        needed(
            "bandwidth",
            "bandwidth_mhz",
            MEGAHERTZ,
            "bandwidth of the carrier, as listed in 3GPP TS 38.101",
        ),
        optional(
            "frequency_range",
            "frequency_range",
            Form::Word(&["fr1", "fr2"]),
            "frequency range: fr1 is below 7.125 GHz, fr2 is above 24.25 GHz; if absent, fr2 for \
             a subcarrier spacing of 120 kHz and fr1 for other spacings",
        ),
        optional(
            "duplex",
            "duplex",
            Form::Word(&["tdd", "fdd"]),
            "duplex mode: with tdd, both directions take turns on one carrier; with fdd, each \
             direction has a carrier of the given bandwidth",
        ),
        usual(
            "pattern",
            "pattern",
            Form::List(&Form::Table(&SLOT)),
            "[]",
            "slots of the repeating TDD pattern, in order; with fdd, the pattern is optional: if \
             the pattern is absent, 13 symbols of each downlink slot and all 14 symbols of each \
             uplink slot carry data",
        ),
        needed(
            "downlink_layers",
            "downlink_layers",
            SMALL,
            "number of spatial layers in the \
            downlink",
        ),
        optional(
            "layers",
            "downlink_layers",
            SMALL,
            "number of spatial layers in the downlink; \
            short form of downlink_layers",
        ),
        needed("uplink_layers", "uplink_layers", SMALL, "number of spatial layers in the uplink"),
        needed(
            "is_256qam",
            "is_256qam",
            Form::Flag,
            "whether the highest modulation is 256QAM (MCS table 2 of 3GPP TS 38.214) instead of \
             64QAM (MCS table 1)",
        ),
        needed(
            "overhead_elements",
            "overhead_elements",
            COUNT,
            "number of resource elements that carry no data, for example because they carry \
             reference signals; the number applies to one resource block in one slot",
        ),
        needed(
            "base_slots",
            "base_slots",
            COUNT,
            "number of slots that the base station needs before it can react to a received message",
        ),
        needed(
            "acknowledge_slots",
            "acknowledge_slots",
            COUNT,
            "minimum number of slots between data and their HARQ acknowledgement (K1)",
        ),
        needed(
            "grant_slots",
            "grant_slots",
            COUNT,
            "minimum number of slots between an uplink grant and the block that the grant allows \
             (K2)",
        ),
        optional(
            "secondary",
            "secondary_mhz",
            MEGAHERTZ,
            "bandwidth of a second carrier, which is used only in the downlink and has the slot \
             pattern of the first carrier; if absent, the cell has one carrier",
        ),
    ],
};
