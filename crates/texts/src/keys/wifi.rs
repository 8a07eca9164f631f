//! A Wi-Fi channel. Sources stand in the module `wifi` of the simulator's links.

use super::queue::{ACK_FILTER, ACK_THINNING, DUAL_PI2_KEYS};
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
    about: "The fastest rate that loses less than a tenth of the frames, as if the sender knew \
        the channel.",
    kind: Some("ideal"),
    keys: &[],
};

pub(crate) static MINSTREL: Table = Table {
    name: "Minstrel",
    about: "The rate follows the share of acknowledged frames, as in Linux.",
    kind: Some("minstrel"),
    keys: &[],
};

pub(crate) static AGGREGATION: Table = Table {
    name: "Aggregation",
    about: "Limits of a frame that carries several packets (A-MPDU).",
    kind: None,
    keys: &[
        optional("max", "max_bytes", FEW_BYTES, "largest frame; the standard's limit if absent"),
        usual("max_packets", "max_packets", COUNT, "64", "most packets in a frame"),
        usual(
            "max_time",
            "max_time_ns",
            TIME,
            r#""5.484 ms""#,
            "longest duration of a frame on the air",
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
    about: "Airtime queue limits (AQL): how much airtime the packets of each station in the card \
        may take.",
    kind: None,
    keys: &[
        usual(
            "low",
            "low_ns",
            TIME,
            r#""5 ms""#,
            "airtime limit of a station while the card holds more than threshold",
        ),
        usual("high", "high_ns", TIME, r#""12 ms""#, "airtime limit of a station at other times"),
        usual(
            "threshold",
            "threshold_ns",
            TIME,
            r#""24 ms""#,
            "airtime of all stations above which the low limit applies",
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

const AQL: Key = optional(
    "aql",
    "aql",
    Form::Table(&AIRTIME_LIMITS),
    "airtime queue limits; if absent, the card holds only the frame that is on the air",
);

const FQ_CODEL_KEYS: &[Key] = &[
    usual(
        "packets",
        "packets",
        AT_LEAST_ONE,
        "8192",
        "limit of all queues together; when it is exceeded, the longest queue loses packets",
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
    usual(
        "interval",
        "interval_ns",
        TIME,
        r#""100 ms""#,
        "time that senders get to react to a drop (CoDel's interval)",
    ),
    usual("ecn", "ecn", Form::Flag, "true", "mark ECN-capable packets instead of dropping"),
    AQL,
];

static DOWNLINK_FQ_CODEL: Table = Table {
    name: "DownlinkFqCodel",
    about: "FQ-CoDel for each station; stations are served in turn, one frame each.",
    kind: Some("fq_codel"),
    keys: FQ_CODEL_KEYS,
};

static DOWNLINK_AIRTIME: Table = Table {
    name: "DownlinkAirtime",
    about: "FQ-CoDel for each station; stations get equal shares of airtime.",
    kind: Some("airtime"),
    keys: FQ_CODEL_KEYS,
};

static DOWNLINK_DUAL_PI2: Table = Table {
    name: "DownlinkDualPi2",
    about: "DualPI2 (RFC 9332) for each station; stations get equal shares of airtime.",
    kind: Some("dualpi2"),
    keys: &[
        usual(
            "packets",
            "packets",
            AT_LEAST_ONE,
            "8192",
            "limit of all queues together; arrivals beyond it are dropped",
        ),
        DUAL_PI2_KEYS[0],
        DUAL_PI2_KEYS[1],
        DUAL_PI2_KEYS[2],
        AQL,
    ],
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
            Form::Kinds(
                &[&DOWNLINK_FIFO, &DOWNLINK_FQ_CODEL, &DOWNLINK_AIRTIME, &DOWNLINK_DUAL_PI2],
                Short::Kind,
            ),
            "queue in front of the stations: fifo, fq_codel or airtime, as in Linux, or dualpi2; \
             if absent, one queue of queue_packets, as in ns-3",
        ),
        ACK_FILTER,
        ACK_THINNING,
    ],
};

pub(crate) static WIFI_RADIO: Table = Table {
    name: "WifiRadio",
    about: "Powers and losses between the nodes.",
    kind: None,
    keys: &[
        needed(
            "power",
            "power_mdbm",
            DBM,
            "transmission power of every node, including antenna \
            gain",
        ),
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
            "error curve of the decoder: with soft decisions as ns-3's NistErrorRateModel (nist, \
             the default), or with hard decisions as its YansErrorRateModel (yans)",
        ),
        optional(
            "implementation_loss",
            "implementation_loss_mdb",
            RATIO,
            "signal that a receiver loses compared with the error curve; 0 dB if absent, 5 dB in \
             IEEE 802.11",
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
            "heard: both networks wait for each other; hidden: neither does, so frames collide",
        ),
        needed("mean_burst", "mean_burst_ns", TIME, "mean length of a burst"),
        needed(
            "share",
            "share_ppb",
            PPB,
            "share of the time for which it transmits if no one else does",
        ),
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
            "frequency band of 802.11n, 5 GHz if absent; the other standards have only one band",
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
            "size from which on frames begin with RTS and CTS; none do if absent",
        ),
        optional(
            "attempts",
            "attempts",
            Form::Whole { least: 1, most: 4_294_967_295 },
            "number of transmissions after which a packet is dropped; if absent 7, or no limit \
             with aggregation",
        ),
        usual(
            "eifs",
            "eifs",
            Form::Flag,
            "true",
            "whether stations wait for the time of a response after a collision (EIFS)",
        ),
        usual(
            "asks_before_repeating",
            "asks_before_repeating",
            Form::Flag,
            "false",
            "whether a sender first asks which frames have arrived when an aggregate is not \
             answered (block ACK request)",
        ),
        usual(
            "asks_after_expiry",
            "asks_after_expiry",
            Form::Flag,
            "false",
            "a sender tells the receiver, by a request, which sent packets have expired, as in ns-3",
        ),
        optional(
            "beacons",
            "beacons",
            Form::Table(&BEACONS),
            "the access point's beacons; none if absent",
        ),
        usual("queue_packets", "queue_packets", COUNT, "500", "limit of each node's queue"),
        optional(
            "queue_time",
            "queue_time_ns",
            TIME,
            "longest time that a packet waits in the \
            queue",
        ),
        usual(
            "access_point",
            "access_point",
            Form::Table(&ACCESS_POINT),
            "{}",
            "position, priority and queue of the access point",
        ),
        needed(
            "stations",
            "stations",
            Form::Several { item: &NODE, alike: "station" },
            "the stations, one for each user, or their number",
        ),
        optional(
            "station",
            "",
            Form::OneOrList(&NODE),
            "settings of all stations, or a list of tables that stations use in turn",
        ),
        optional(
            "radio",
            "radio",
            Form::Table(&WIFI_RADIO),
            "transmission powers and path losses; if absent, every frame that does not collide is \
             received",
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
