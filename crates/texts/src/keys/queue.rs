//! Keys of active queue management, policers, and deliberate ACK drops.

use crate::table::{BITS_PER_SEC, BYTES, COUNT, Form, Key, TIME, Table, needed, optional, usual};

const ABOUT_ECN: &str = "whether to mark ECN-capable packets instead of dropping them";
pub(crate) const ECN: Key = usual("ecn", "ecn", Form::Flag, "false", ABOUT_ECN);
const CODEL_TARGET: Key = usual(
    "target",
    "target_ns",
    TIME,
    r#""5 ms""#,
    "target of CoDel: queueing delay that may persist without drops",
);
const CODEL_INTERVAL: Key = usual(
    "interval",
    "interval_ns",
    TIME,
    r#""100 ms""#,
    "interval of CoDel: time for senders to react to a drop before the next drop",
);
pub(crate) const ACK_FILTER: Key = optional(
    "ack_filter",
    "ack_filter",
    Form::Word(&["conservative", "aggressive"]),
    "ACK filter, as in CAKE: drops queued ACKs that a newer ACK of the same connection makes \
     redundant; aggressive drops all redundant ACKs, conservative drops all redundant ACKs of a \
     connection except the newest",
);
pub(crate) const ACK_THINNING: Key = optional(
    "ack_thinning",
    "ack_thinning",
    Form::Whole { least: 2, most: 1000 },
    "ACK thinning: with the value N, one in N pure ACKs of each connection passes, and the others \
     are dropped; duplicate ACKs and ACKs with SACK blocks always pass",
);

pub(crate) const POLICE_KEYS: &[Key] = &[
    needed(
        "rate",
        "bits_per_sec",
        BITS_PER_SEC,
        "maximum mean rate of the packets that the policer lets pass (token rate)",
    ),
    needed(
        "burst",
        "burst_bytes",
        BYTES,
        "maximum number of bytes that pass at once after a pause (size of the token bucket)",
    ),
];

pub(crate) static EARLY_DISCARD: Table = Table {
    name: "EarlyDiscard",
    about: "Early discard of single packets from a long queue, as in UMTS; a packet discard \
        prevention counter limits how often packets are discarded.",
    kind: None,
    keys: &[
        needed(
            "at_packets",
            "at_packets",
            COUNT,
            "queue length at and above which arriving packets are discarded, but no more often \
             than spacing_packets allows",
        ),
        needed(
            "spacing_packets",
            "spacing_packets",
            COUNT,
            "minimum number of packets that are accepted between two early discards",
        ),
    ],
};

pub(crate) static CODEL: Table = Table {
    name: "Codel",
    about: "CoDel (controlled delay, RFC 8289), one queue for all flows.",
    kind: Some("codel"),
    keys: &[CODEL_TARGET, CODEL_INTERVAL, ECN],
};

pub(crate) static FQ_CODEL: Table = Table {
    name: "FqCodel",
    about: "FQ-CoDel (RFC 8290): a queue for each flow, with CoDel in each queue.",
    kind: Some("fq_codel"),
    keys: &[
        usual(
            "queues",
            "queues",
            Form::Whole { least: 1, most: 65_536 },
            "1024",
            "number of queues; a hash selects the queue of each flow",
        ),
        usual(
            "quantum",
            "quantum_bytes",
            BYTES,
            r#""1514 bytes""#,
            "number of bytes that a queue sends before the next queue is served",
        ),
        CODEL_TARGET,
        CODEL_INTERVAL,
        // On by default, unlike in codel and pie: tc-fq_codel(8).
        usual("ecn", "ecn", Form::Flag, "true", ABOUT_ECN),
    ],
};

pub(crate) static DUAL_PI2: Table = Table {
    name: "DualPi2",
    about: "DualPI2 (RFC 9332): two coupled queues, one for L4S packets (ECT(1)) and one for all \
        other packets.",
    kind: Some("dualpi2"),
    keys: DUAL_PI2_KEYS,
};

/// The keys of DualPI2, for wires, cells and Wi-Fi channels.
pub(crate) const DUAL_PI2_KEYS: &[Key] = &[
    usual(
        "target",
        "target_ns",
        TIME,
        r#""15 ms""#,
        "target queueing delay of the classic \
        queue, which is the queue for all packets that are not L4S packets",
    ),
    usual(
        "max_rtt",
        "max_rtt_ns",
        TIME,
        r#""100 ms""#,
        "largest expected round-trip time of the flows (RTT_max of RFC 9332); a larger value \
         makes the PI controller react more slowly",
    ),
    usual(
        "threshold",
        "threshold_ns",
        TIME,
        r#""800 us""#,
        "queueing delay at which the native AQM of the L4S queue begins to mark (minTh of RFC \
         9332): its marking probability rises from 0 at this delay to 1 at a delay that is 400 us \
         longer",
    ),
];

pub(crate) static PIE: Table = Table {
    name: "Pie",
    about: "PIE (proportional integral controller enhanced, RFC 8033).",
    kind: Some("pie"),
    keys: &[
        usual("target", "target_ns", TIME, r#""15 ms""#, "target queueing delay of PIE"),
        usual(
            "burst",
            "burst_ns",
            TIME,
            r#""150 ms""#,
            "maximum duration of a burst that PIE admits without drops after a period of low delay",
        ),
        usual(
            "ecn",
            "ecn",
            Form::Flag,
            "false",
            "whether ECN-capable packets are marked instead of dropped as long as the drop \
             probability is below 10 %",
        ),
    ],
};
