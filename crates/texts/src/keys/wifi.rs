//! Keys of a Wi-Fi channel. The module `wifi` of the simulator's links cites the sources.

use super::queue::{ACK_FILTER, ACK_THINNING, DUAL_PI2_KEYS};
use crate::table::{
    COUNT, DBM, FEW_BYTES, Form, Key, MEGAHERTZ, MILLIMETRES, MOST_COUNT, PPB, RATIO, SMALL, Short,
    TIME, Table, needed, optional, usual,
};

pub(crate) static FIXED_INDEX: Table = Table {
    name: "FixedIndex",
    about: "A fixed rate, given by its index in the rate table of the Wi-Fi standard.",
    kind: Some("fixed"),
    keys: &[needed(
        "index",
        "index",
        SMALL,
        "index of the rate in the standard's rate table for one spatial stream; the number of \
         streams does not change this index: MCS 15 of 802.11n is MCS 7 with two streams, so its \
         index is 7",
    )],
};

pub(crate) static IDEAL_RATE: Table = Table {
    name: "IdealRate",
    about: "The fastest rate at which less than a tenth of the frames is lost, chosen with \
        perfect knowledge of the channel.",
    kind: Some("ideal"),
    keys: &[],
};

pub(crate) static MINSTREL: Table = Table {
    name: "Minstrel",
    about: "Minstrel, as in Linux: a sender measures the share of acknowledged frames at each \
        rate, and chooses its rate accordingly.",
    kind: Some("minstrel"),
    keys: &[],
};

pub(crate) static AGGREGATION: Table = Table {
    name: "Aggregation",
    about: "Limits of an aggregated frame, which carries several packets (A-MPDU).",
    kind: None,
    keys: &[
        optional(
            "max",
            "max_bytes",
            FEW_BYTES,
            "maximum size of an aggregated frame; if absent, \
            the limit of the standard",
        ),
        usual(
            "max_packets",
            "max_packets",
            COUNT,
            "64",
            "maximum number of packets in an \
            aggregated frame",
        ),
        usual(
            "max_time",
            "max_time_ns",
            TIME,
            r#""5.484 ms""#,
            "maximum transmission time of an aggregated frame",
        ),
    ],
};

pub(crate) static BEACONS: Table = Table {
    name: "Beacons",
    about: "Beacons that the access point sends.",
    kind: None,
    keys: &[
        needed("interval", "interval_ns", TIME, "time between two beacons"),
        needed("bytes", "bytes", COUNT, "size of each beacon"),
    ],
};

pub(crate) static NODE: Table = Table {
    name: "Node",
    about: "A station of a Wi-Fi channel.",
    kind: None,
    keys: &[
        usual("x", "x_mm", MILLIMETRES, r#""0 mm""#, "x coordinate of the station or access point"),
        usual("y", "y_mm", MILLIMETRES, r#""0 mm""#, "y coordinate of the station or access point"),
        optional(
            "access",
            "access",
            Form::Word(&["background", "best_effort", "video", "voice", "legacy"]),
            "access category: priority of the station or access point in the competition for the \
             channel; legacy: no priorities (DCF); the default is legacy for 802.11a, b and g, \
             and best_effort for other standards",
        ),
    ],
};

static AIRTIME_LIMITS: Table = Table {
    name: "AirtimeLimits",
    about: "Airtime queue limits (AQL): maximum airtime of the packets that the network card \
        holds for each station.",
    kind: None,
    keys: &[
        usual(
            "low",
            "low_ns",
            TIME,
            r#""5 ms""#,
            "airtime limit of each station while the total airtime of the packets in the network \
             card is at least `threshold`",
        ),
        usual(
            "high",
            "high_ns",
            TIME,
            r#""12 ms""#,
            "airtime limit of each station while the total airtime of the packets in the network \
             card is below `threshold`",
        ),
        usual(
            "threshold",
            "threshold_ns",
            TIME,
            r#""24 ms""#,
            "threshold for the total airtime of all packets in the network card: while the total \
             is at or above the threshold, the limit `low` applies; while it is below the \
             threshold, the limit `high` applies",
        ),
    ],
};

const AT_LEAST_ONE: Form = Form::Whole { least: 1, most: MOST_COUNT };

static DOWNLINK_FIFO: Table = Table {
    name: "DownlinkFifo",
    about: "One queue for all stations, and behind it a driver that serves the stations one after \
        the other, as in Linux before 4.11.",
    kind: Some("fifo"),
    keys: &[
        usual("packets", "packets", AT_LEAST_ONE, "1000", "maximum number of packets in the queue"),
        usual(
            "driver_packets",
            "driver_packets",
            AT_LEAST_ONE,
            "123",
            "maximum number of packets that the driver holds for all stations together",
        ),
    ],
};

const AQL: Key = optional(
    "aql",
    "aql",
    Form::Table(&AIRTIME_LIMITS),
    "airtime queue limits (AQL); if absent, the network card holds only the frame that it is \
     transmitting",
);

const FQ_CODEL_KEYS: &[Key] = &[
    usual(
        "packets",
        "packets",
        AT_LEAST_ONE,
        "8192",
        "maximum number of packets in the queues of all stations together; when this number is \
         exceeded, packets of the longest queue are dropped",
    ),
    usual(
        "queues",
        "queues",
        Form::Whole { least: 1, most: 65_536 },
        "4096",
        "number of queues that the access point keeps for each station; a hash selects the queue \
         of each flow",
    ),
    usual(
        "quantum",
        "quantum_bytes",
        FEW_BYTES,
        r#""300 bytes""#,
        "number of bytes that a flow sends before the next flow is served (quantum of FQ-CoDel)",
    ),
    usual(
        "target",
        "target_ns",
        TIME,
        r#""20 ms""#,
        "target of CoDel: queueing delay that may \
        persist without drops",
    ),
    usual(
        "interval",
        "interval_ns",
        TIME,
        r#""100 ms""#,
        "interval of CoDel: time for senders to react to a drop before the next drop",
    ),
    usual(
        "ecn",
        "ecn",
        Form::Flag,
        "true",
        "whether to mark ECN-capable packets instead of \
        dropping them",
    ),
    AQL,
];

static DOWNLINK_FQ_CODEL: Table = Table {
    name: "DownlinkFqCodel",
    about: "FQ-CoDel for each station; the access point sends one frame to each station in turn.",
    kind: Some("fq_codel"),
    keys: FQ_CODEL_KEYS,
};

static DOWNLINK_AIRTIME: Table = Table {
    name: "DownlinkAirtime",
    about: "FQ-CoDel for each station; the access point shares airtime equally between stations.",
    kind: Some("airtime"),
    keys: FQ_CODEL_KEYS,
};

static DOWNLINK_DUAL_PI2: Table = Table {
    name: "DownlinkDualPi2",
    about: "DualPI2 (RFC 9332) for each station; the access point shares airtime equally between \
        stations.",
    kind: Some("dualpi2"),
    keys: &[
        usual(
            "packets",
            "packets",
            AT_LEAST_ONE,
            "8192",
            "maximum number of packets in the queues of all stations together; packets that do not \
             fit are dropped",
        ),
        DUAL_PI2_KEYS[0],
        DUAL_PI2_KEYS[1],
        DUAL_PI2_KEYS[2],
        AQL,
    ],
};

static ACCESS_POINT: Table = Table {
    name: "AccessPoint",
    about: "The access point of a Wi-Fi channel.",
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
            "kind of queue for packets to the stations: fifo, fq_codel and airtime imitate Linux; \
             dualpi2 is DualPI2 (RFC 9332); if absent, one queue with the limit queue_packets, as \
             in ns-3",
        ),
        ACK_FILTER,
        ACK_THINNING,
    ],
};

pub(crate) static WIFI_RADIO: Table = Table {
    name: "WifiRadio",
    about: "Transmission power, path loss and reception errors in a Wi-Fi channel.",
    kind: None,
    keys: &[
        needed(
            "power",
            "power_mdbm",
            DBM,
            "transmission power of each station and of the access point, including the antenna \
             gain",
        ),
        usual(
            "noise_figure",
            "noise_figure_mdb",
            RATIO,
            r#""7 dB""#,
            "noise figure of each receiver",
        ),
        usual(
            "path_loss_exponent_milli",
            "path_loss_exponent_milli",
            COUNT,
            "3000",
            "path loss exponent in thousandths: with 3000, the path loss increases by 30 dB when \
             the distance increases tenfold",
        ),
        optional(
            "error_curve",
            "error_curve",
            Form::Word(&["nist", "yans"]),
            "error curve of the receivers' decoder: nist models soft decisions, like \
             NistErrorRateModel of ns-3; yans models hard decisions, like YansErrorRateModel of \
             ns-3; if absent, nist",
        ),
        optional(
            "implementation_loss",
            "implementation_loss_mdb",
            RATIO,
            "additional signal-to-noise ratio that a real receiver needs to reach the error \
             probability of the error curve; if absent, 0 dB; IEEE 802.11 assumes 5 dB",
        ),
    ],
};

pub(crate) static INTERFERENCE: Table = Table {
    name: "Interference",
    about: "Another network that uses the same Wi-Fi channel.",
    kind: None,
    keys: &[
        needed(
            "kind",
            "kind",
            Form::Word(&["heard", "hidden"]),
            "whether the networks sense each other's transmissions: heard means that each \
             network waits for the other; hidden means that neither waits, so frames collide",
        ),
        needed(
            "mean_burst",
            "mean_burst_ns",
            TIME,
            "mean duration of the interfering network's transmission bursts",
        ),
        needed(
            "share",
            "share_ppb",
            PPB,
            "share of time for which the interfering network would transmit if the channel were \
             otherwise idle",
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
            "Wi-Fi standard: amendment of IEEE 802.11",
        ),
        optional(
            "band",
            "band",
            Form::Word(&["2.4 GHz", "5 GHz"]),
            "frequency band of 802.11n; if absent, 5 GHz; the other standards have only one band",
        ),
        usual("channel", "channel_mhz", MEGAHERTZ, r#""20 MHz""#, "width of the channel"),
        usual(
            "spatial_streams",
            "spatial_streams",
            SMALL,
            "1",
            "number of spatial streams of \
            each frame",
        ),
        usual(
            "short_guard_interval",
            "short_guard_interval",
            Form::Flag,
            "false",
            "whether the guard interval is 400 ns instead of 800 ns",
        ),
        usual(
            "rate_control",
            "rate_control",
            Form::Kinds(&[&FIXED_INDEX, &IDEAL_RATE, &MINSTREL], Short::Kind),
            r#"{"kind": "ideal"}"#,
            "rate control: how a sender chooses its transmission rate",
        ),
        optional(
            "aggregation",
            "aggregation",
            Form::Table(&AGGREGATION),
            "aggregation of several packets into one frame (A-MPDU); if absent, each frame \
             carries one packet",
        ),
        optional(
            "rts_threshold",
            "rts_threshold_bytes",
            FEW_BYTES,
            "smallest size of frames that are preceded by an exchange of RTS and CTS; if absent, \
             RTS and CTS are not used",
        ),
        optional(
            "attempts",
            "attempts",
            Form::Whole { least: 1, most: 4_294_967_295 },
            "maximum number of transmissions of a packet, after which the packet is dropped; if \
             absent, 7 without aggregation and unlimited with aggregation",
        ),
        usual(
            "eifs",
            "eifs",
            Form::Flag,
            "true",
            "whether a frame without a response, such as a frame in a collision, keeps the channel \
             idle for as long as the response would have taken (EIFS)",
        ),
        usual(
            "asks_before_repeating",
            "asks_before_repeating",
            Form::Flag,
            "false",
            "whether, after an aggregated frame without acknowledgement, the sender retransmits \
             only after it has asked the receiver which packets arrived (block ACK request)",
        ),
        usual(
            "asks_after_expiry",
            "asks_after_expiry",
            Form::Flag,
            "false",
            "whether the sender, as in ns-3, sends a block ACK request when transmitted packets \
             exceed queue_time and are dropped",
        ),
        optional(
            "beacons",
            "beacons",
            Form::Table(&BEACONS),
            "beacons of the access point; if absent, the access point sends no beacons",
        ),
        usual(
            "queue_packets",
            "queue_packets",
            COUNT,
            "500",
            "maximum number of packets in the \
            queue of each station and of the access point",
        ),
        optional(
            "queue_time",
            "queue_time_ns",
            TIME,
            "maximum waiting time of a packet in the queue, after which the packet is dropped; if \
             absent, 500 ms",
        ),
        usual(
            "access_point",
            "access_point",
            Form::Table(&ACCESS_POINT),
            "{}",
            "position of the access point, its priority in the competition for the channel, and \
             its queue",
        ),
        needed(
            "stations",
            "stations",
            Form::Several { item: &NODE, alike: "station" },
            "stations of the channel: a table for each station, or only the number of stations; \
             each station is one user",
        ),
        optional(
            "station",
            "",
            Form::OneOrList(&NODE),
            "settings of the stations: one table for all stations, or a list of tables that are \
             assigned to the stations in turn, repeatedly if there are more stations than tables",
        ),
        optional(
            "radio",
            "radio",
            Form::Table(&WIFI_RADIO),
            "transmission power, path loss and reception errors; if absent, every frame that \
             does not collide is received",
        ),
        optional(
            "interference",
            "interference",
            Form::Table(&INTERFERENCE),
            "another network that uses the same channel; if absent, there is no other network",
        ),
        optional(
            "wire_delay",
            "wire_delay_ns",
            TIME,
            "one-way delay between the access point and the server; if absent, the access point \
             is the server",
        ),
    ],
};
