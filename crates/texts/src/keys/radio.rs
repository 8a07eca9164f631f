//! The radio technologies of a cell and their carriers.

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
        "rate of the channel: 64, 128 or 384 kbit/s",
    )],
};

pub(crate) static HSDPA: Table = Table {
    name: "Hsdpa",
    about: "The shared downlink channel of HSPA.",
    kind: Some("hsdpa"),
    keys: &[needed("category", "category", SMALL, "category of the handset: 1 to 12, TS 25.306")],
};

pub(crate) static HSUPA: Table = Table {
    name: "Hsupa",
    about: "The enhanced uplink channel of HSPA.",
    kind: Some("hsupa"),
    keys: &[
        needed("category", "category", SMALL, "category of the handset: 3, 5 or 6, TS 25.306"),
        usual(
            "ramp",
            "ramp_ns",
            TIME,
            r#""0 s""#,
            "time in which the grant grows from one unit to a whole block after a pause",
        ),
    ],
};

pub(crate) static UMTS: Table = Table {
    name: "Umts",
    about: "UMTS with the channels of HSPA.",
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
            "channel from the user",
        ),
    ],
};

pub(crate) static LTE_CARRIER: Table = Table {
    name: "LteCarrier",
    about: "A further carrier of LTE, downlink only; keys that are absent are as in the first \
        carrier.",
    kind: None,
    keys: &[
        needed(
            "resource_blocks",
            "resource_blocks",
            COUNT,
            "bandwidth: 6, 15, 25, 50, 75 or 100 resource blocks",
        ),
        optional("layers", "layers", SMALL, "spatial layers: 1, 2, 4 or 8"),
        optional("is_256qam", "is_256qam", Form::Flag, "schemes up to 256QAM"),
    ],
};

pub(crate) static LTE: Table = Table {
    name: "Lte",
    about: "LTE, frequency-division duplex.",
    kind: Some("lte"),
    keys: &[
        needed(
            "resource_blocks",
            "resource_blocks",
            COUNT,
            "bandwidth: 6, 15, 25, 50, 75 or 100 resource blocks",
        ),
        needed("layers", "layers", SMALL, "spatial layers of the downlink: 1, 2, 4 or 8"),
        needed("category", "category", SMALL, "category of the handset: 1 to 16, TS 36.306"),
        optional(
            "is_256qam",
            "is_256qam",
            Form::Flag,
            "downlink schemes up to 256QAM instead of 64QAM; categories 11 to 16",
        ),
        optional(
            "secondary",
            "secondary",
            Form::List(&Form::Table(&LTE_CARRIER)),
            "up to four further carriers, downlink only; none if absent",
        ),
    ],
};

pub(crate) static SLOT: Table = Table {
    name: "Slot",
    about: "One slot of a pattern: the number of its 14 symbols that carry data.",
    kind: None,
    keys: &[
        usual(
            "downlink_symbols",
            "downlink_symbols",
            SMALL,
            "0",
            "number of symbols for downlink data, out of 14",
        ),
        usual(
            "uplink_symbols",
            "uplink_symbols",
            SMALL,
            "0",
            "number of symbols for uplink data, \
            out of 14",
        ),
    ],
};

pub(crate) static NR: Table = Table {
    name: "Nr",
    about: "5G NR.",
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
            "bandwidth of the carrier, one of those in TS 38.101",
        ),
        optional(
            "frequency_range",
            "frequency_range",
            Form::Word(&["fr1", "fr2"]),
            "frequency range: fr1 is below 7.125 GHz, fr2 above 24.25 GHz; if absent, fr2 at 120 \
             kHz, else fr1",
        ),
        optional(
            "duplex",
            "duplex",
            Form::Word(&["tdd", "fdd"]),
            "tdd: the directions take turns on one carrier; fdd: each direction has a carrier of \
             this bandwidth",
        ),
        usual(
            "pattern",
            "pattern",
            Form::List(&Form::Table(&SLOT)),
            "[]",
            "slots of the TDD pattern, in order; it repeats; with fdd each slot has 13 symbols \
             down and 14 up if absent",
        ),
        needed("downlink_layers", "downlink_layers", SMALL, "spatial layers towards the user"),
        optional("layers", "downlink_layers", SMALL, "short form of downlink_layers"),
        needed("uplink_layers", "uplink_layers", SMALL, "spatial layers from the user"),
        needed(
            "is_256qam",
            "is_256qam",
            Form::Flag,
            "whether schemes up to 256QAM are used instead of up to 64QAM (tables 2 and 1 of TS \
             38.214)",
        ),
        needed(
            "overhead_elements",
            "overhead_elements",
            COUNT,
            "resource elements of a resource block and slot that carry no data",
        ),
        needed(
            "base_slots",
            "base_slots",
            COUNT,
            "number of slots that the base station takes to \
            answer",
        ),
        needed(
            "acknowledge_slots",
            "acknowledge_slots",
            COUNT,
            "least number of slots from data to their acknowledgement (K1)",
        ),
        needed(
            "grant_slots",
            "grant_slots",
            COUNT,
            "least number of slots from a grant to its \
            block (K2)",
        ),
        optional(
            "secondary",
            "secondary_mhz",
            MEGAHERTZ,
            "bandwidth of a second carrier, downlink only, with the same slots; none if absent",
        ),
    ],
};
