//! A Wi-Fi channel. Sources stand in the module `wifi` of the simulator's links.

use crate::table::{
    COUNT, DBM, FEW_BYTES, Form, Key, MEGAHERTZ, MILLIMETRES, MOST_COUNT, PPB, RATIO, SMALL, Short,
    TIME, Table, needed, optional, usual,
};

pub(crate) static FIXED_INDEX: Table = Table {
    name: "FixedIndex",
    about: "Always the same rate, by its index in the standard's table.",
    kind: Some("fixed"),
    keys: &[needed("index", "index", SMALL, "index in the standard's table of rates, per stream")],
};

pub(crate) static IDEAL_RATE: Table = Table {
    name: "IdealRate",
    about: "The fastest rate that loses less than a tenth, as if the sender knew the channel.",
    kind: Some("ideal"),
    keys: &[],
};

pub(crate) static MINSTREL: Table = Table {
    name: "Minstrel",
    about: "By what was acknowledged, as Linux does.",
    kind: Some("minstrel"),
    keys: &[],
};

pub(crate) static AGGREGATION: Table = Table {
    name: "Aggregation",
    about: "How large a frame of several packets gets (A-MPDU).",
    kind: None,
    keys: &[
        optional("max", "max_bytes", FEW_BYTES, "largest frame; the standard's limit if absent"),
        usual("max_packets", "max_packets", COUNT, "64", "most packets in a frame"),
        usual(
            "max_time",
            "max_time_ns",
            TIME,
            r#""5.484 ms""#,
            "longest time of a frame on the air",
        ),
    ],
};

pub(crate) static BEACONS: Table = Table {
    name: "Beacons",
    about: "The access point's beacons.",
    kind: None,
    keys: &[
        needed("interval", "interval_ns", TIME, "time between two beacons"),
        needed("bytes", "bytes", COUNT, "size of a beacon"),
    ],
};

pub(crate) static NODE: Table = Table {
    name: "Node",
    about: "The access point or a station.",
    kind: None,
    keys: &[
        usual("x", "x_mm", MILLIMETRES, r#""0 mm""#, "position along one axis"),
        usual("y", "y_mm", MILLIMETRES, r#""0 mm""#, "position along the other axis"),
        optional(
            "access",
            "access",
            Form::Word(&["background", "best_effort", "video", "voice", "legacy"]),
            "priority for the channel; best effort if absent, legacy with 802.11a, b and g",
        ),
    ],
};

static AIRTIME_LIMITS: Table = Table {
    name: "AirtimeLimits",
    about: "Airtime queue limits (AQL): what the card holds of each station, in time on the air.",
    kind: None,
    keys: &[
        usual(
            "low",
            "low_ns",
            TIME,
            r#""5 ms""#,
            "limit of a station while the card holds more than threshold",
        ),
        usual("high", "high_ns", TIME, r#""12 ms""#, "limit of a station otherwise"),
        usual(
            "threshold",
            "threshold_ns",
            TIME,
            r#""24 ms""#,
            "airtime of all stations from which on the low limit holds",
        ),
    ],
};

const AT_LEAST_ONE: Form = Form::Whole { least: 1, most: MOST_COUNT };

static DOWNLINK_FIFO: Table = Table {
    name: "DownlinkFifo",
    about: "One queue above a driver that serves stations in turn, as in Linux before 4.11.",
    kind: Some("fifo"),
    keys: &[
        usual("packets", "packets", AT_LEAST_ONE, "1000", "limit of the queue"),
        usual(
            "driver_packets",
            "driver_packets",
            AT_LEAST_ONE,
            "123",
            "packets that the driver holds for all stations",
        ),
    ],
};

const FQ_CODEL_KEYS: &[Key] = &[
    usual(
        "packets",
        "packets",
        AT_LEAST_ONE,
        "8192",
        "limit of all queues; the longest loses packets beyond it",
    ),
    usual(
        "queues",
        "queues",
        Form::Whole { least: 1, most: 65_536 },
        "4096",
        "how many queues a station's flows are hashed into",
    ),
    usual(
        "quantum",
        "quantum_bytes",
        FEW_BYTES,
        r#""300 bytes""#,
        "bytes that a flow may send in its turn",
    ),
    usual("target", "target_ns", TIME, r#""20 ms""#, "acceptable standing delay"),
    usual("interval", "interval_ns", TIME, r#""100 ms""#, "time that senders are given to react"),
    usual("ecn", "ecn", Form::Flag, "true", "mark ECN-capable packets instead of dropping"),
    optional(
        "aql",
        "aql",
        Form::Table(&AIRTIME_LIMITS),
        "airtime queue limits; if absent the card holds the frame on the air only",
    ),
];

static DOWNLINK_FQ_CODEL: Table = Table {
    name: "DownlinkFqCodel",
    about: "FQ-CoDel for each station; stations are served in turn, a frame each.",
    kind: Some("fq_codel"),
    keys: FQ_CODEL_KEYS,
};

static DOWNLINK_AIRTIME: Table = Table {
    name: "DownlinkAirtime",
    about: "FQ-CoDel for each station; stations are served by the airtime that they have used.",
    kind: Some("airtime"),
    keys: FQ_CODEL_KEYS,
};

static ACCESS_POINT: Table = Table {
    name: "AccessPoint",
    about: "The access point.",
    kind: None,
    keys: &[
        NODE.keys[0],
        NODE.keys[1],
        NODE.keys[2],
        optional(
            "queue",
            "queue",
            Form::Kinds(&[&DOWNLINK_FIFO, &DOWNLINK_FQ_CODEL, &DOWNLINK_AIRTIME], Short::Kind),
            "where packets wait for stations, as Linux does it: fifo, fq_codel or airtime; if absent one queue of queue_packets, as in ns-3",
        ),
    ],
};

pub(crate) static WIFI_RADIO: Table = Table {
    name: "WifiRadio",
    about: "Powers and losses between the nodes.",
    kind: None,
    keys: &[
        needed("power", "power_mdbm", DBM, "power of every node, antennas included"),
        usual(
            "noise_figure",
            "noise_figure_mdb",
            RATIO,
            r#""7 dB""#,
            "noise figure of every receiver",
        ),
        usual(
            "path_loss_exponent_milli",
            "path_loss_exponent_milli",
            COUNT,
            "3000",
            "path loss exponent in thousandths: 3000 loses 30 dB for each tenfold distance",
        ),
        optional(
            "error_curve",
            "error_curve",
            Form::Word(&["nist", "yans"]),
            "errors behind the decoder: soft decisions as ns-3's NistErrorRateModel (nist), hard ones as its YansErrorRateModel (yans); nist if absent",
        ),
        optional(
            "implementation_loss",
            "implementation_loss_mdb",
            RATIO,
            "a receiver is so much worse than the curve; 0 dB if absent, IEEE 802.11 assumes 5 dB",
        ),
    ],
};

pub(crate) static INTERFERENCE: Table = Table {
    name: "Interference",
    about: "Another network on the channel.",
    kind: None,
    keys: &[
        needed(
            "kind",
            "kind",
            Form::Word(&["heard", "hidden"]),
            "heard: both wait for each other; hidden: neither does, and frames collide",
        ),
        needed("mean_burst", "mean_burst_ns", TIME, "mean length of a burst"),
        needed("share", "share_ppb", PPB, "share of the time that it is on the air if left alone"),
    ],
};

pub(crate) static WIFI_PATH: Table = Table {
    name: "WifiPath",
    about: "A Wi-Fi channel with its access point and stations.",
    kind: Some("wifi"),
    keys: &[
        needed(
            "standard",
            "standard",
            Form::Word(&["802.11a", "802.11b", "802.11g", "802.11n", "802.11ac"]),
            "amendment of IEEE 802.11",
        ),
        optional(
            "band",
            "band",
            Form::Word(&["2.4 GHz", "5 GHz"]),
            "frequency band of 802.11n, 5 GHz if absent; the others have one",
        ),
        usual("channel", "channel_mhz", MEGAHERTZ, r#""20 MHz""#, "width of the channel"),
        usual("spatial_streams", "spatial_streams", SMALL, "1", "spatial streams of each frame"),
        usual(
            "short_guard_interval",
            "short_guard_interval",
            Form::Flag,
            "false",
            "guard interval of 400 ns instead of 800 ns",
        ),
        usual(
            "rate_control",
            "rate_control",
            Form::Kinds(&[&FIXED_INDEX, &IDEAL_RATE, &MINSTREL], Short::Kind),
            r#"{"kind": "ideal"}"#,
            "how senders choose their rate",
        ),
        optional(
            "aggregation",
            "aggregation",
            Form::Table(&AGGREGATION),
            "frames of several packets (A-MPDU); none if absent",
        ),
        optional(
            "rts_threshold",
            "rts_threshold_bytes",
            FEW_BYTES,
            "frames from this size on begin with RTS and CTS; none if absent",
        ),
        optional(
            "attempts",
            "attempts",
            Form::Whole { least: 1, most: 4_294_967_295 },
            "transmissions before a packet is dropped; if absent 7, with aggregation no limit",
        ),
        usual(
            "eifs",
            "eifs",
            Form::Flag,
            "true",
            "the channel rests after a collision as long as a response takes (EIFS)",
        ),
        usual(
            "asks_before_repeating",
            "asks_before_repeating",
            Form::Flag,
            "false",
            "a sender asks what has arrived before it repeats an unanswered aggregate",
        ),
        optional(
            "beacons",
            "beacons",
            Form::Table(&BEACONS),
            "the access point's beacons; none if absent",
        ),
        usual("queue_packets", "queue_packets", COUNT, "500", "limit of each node's queue"),
        optional("queue_time", "queue_time_ns", TIME, "longest time of a packet in the queue"),
        usual(
            "access_point",
            "access_point",
            Form::Table(&ACCESS_POINT),
            "{}",
            "the access point's place, priority and queue",
        ),
        needed(
            "stations",
            "stations",
            Form::Several { item: &NODE, alike: "station" },
            "stations, one for each user, or their number",
        ),
        optional(
            "station",
            "",
            Form::OneOrList(&NODE),
            "what the stations have in common, or several such tables that take turns",
        ),
        optional(
            "radio",
            "radio",
            Form::Table(&WIFI_RADIO),
            "powers and losses; if absent, whatever does not collide is received",
        ),
        optional(
            "interference",
            "interference",
            Form::Table(&INTERFERENCE),
            "another network on the channel; none if absent",
        ),
        optional(
            "wire_delay",
            "wire_delay_ns",
            TIME,
            "delay between access point and server, one way; one machine if absent",
        ),
    ],
};
