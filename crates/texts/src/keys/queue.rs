//! Active queue management, and dropping ACKs.

use crate::table::{BYTES, COUNT, Form, Key, TIME, Table, needed, optional, usual};

pub(crate) const ACK_FILTER: Key = optional(
    "ack_filter",
    "ack_filter",
    Form::Word(&["conservative", "aggressive"]),
    "drop queued ACKs that a newer one makes redundant: conservative keeps two, aggressive one, \
     as in CAKE",
);
pub(crate) const ACK_THINNING: Key = optional(
    "ack_thinning",
    "ack_thinning",
    Form::Whole { least: 2, most: 1000 },
    "of a connection's ACKs that only acknowledge more, let one in this many pass; 4 drops three of four",
);

pub(crate) static EARLY_DISCARD: Table = Table {
    name: "EarlyDiscard",
    about: "Discards single packets, spaced by the packet discard prevention counter of UMTS.",
    kind: None,
    keys: &[
        needed("at_packets", "at_packets", COUNT, "queue length from which packets are discarded"),
        needed(
            "spacing_packets",
            "spacing_packets",
            COUNT,
            "packets that pass between two discards",
        ),
    ],
};

pub(crate) static CODEL: Table = Table {
    name: "Codel",
    about: "Controlled delay, RFC 8289.",
    kind: Some("codel"),
    keys: &[
        usual("target", "target_ns", TIME, r#""5 ms""#, "acceptable standing delay"),
        usual("interval", "interval_ns", TIME, r#""100 ms""#, "time to react"),
        usual("ecn", "ecn", Form::Flag, "false", "mark ECN-capable packets instead of dropping"),
    ],
};

pub(crate) static FQ_CODEL: Table = Table {
    name: "FqCodel",
    about: "A queue for each flow, with CoDel in each: FQ-CoDel, RFC 8290.",
    kind: Some("fq_codel"),
    keys: &[
        usual(
            "queues",
            "queues",
            Form::Whole { least: 1, most: 65_536 },
            "1024",
            "how many queues flows are hashed into",
        ),
        usual(
            "quantum",
            "quantum_bytes",
            BYTES,
            r#""1514 bytes""#,
            "bytes that a queue may send in its turn",
        ),
        usual("target", "target_ns", TIME, r#""5 ms""#, "acceptable standing delay"),
        usual("interval", "interval_ns", TIME, r#""100 ms""#, "time to react"),
        usual("ecn", "ecn", Form::Flag, "false", "mark ECN-capable packets instead of dropping"),
    ],
};

pub(crate) static DUAL_PI2: Table = Table {
    name: "DualPi2",
    about: "A queue for L4S (packets of ECT(1)) beside one for the rest, coupled: DualPI2, RFC 9332.",
    kind: Some("dualpi2"),
    keys: DUAL_PI2_KEYS,
};

/// The keys of DualPI2, wherever it stands.
pub(crate) const DUAL_PI2_KEYS: &[Key] = &[
    usual("target", "target_ns", TIME, r#""15 ms""#, "delay that the queue of the rest aims for"),
    usual(
        "max_rtt",
        "max_rtt_ns",
        TIME,
        r#""100 ms""#,
        "longest usual round trip; the longer, the slower the controller",
    ),
    usual(
        "threshold",
        "threshold_ns",
        TIME,
        r#""800 us""#,
        "delay from which packets of the L4S queue are marked; 400 us above it, all are",
    ),
];

pub(crate) static PIE: Table = Table {
    name: "Pie",
    about: "Proportional integral controller enhanced: PIE, RFC 8033.",
    kind: Some("pie"),
    keys: &[
        usual("target", "target_ns", TIME, r#""15 ms""#, "queueing delay that it aims for"),
        usual(
            "burst",
            "burst_ns",
            TIME,
            r#""150 ms""#,
            "length of a burst that is admitted without drops after a quiet time",
        ),
        usual(
            "ecn",
            "ecn",
            Form::Flag,
            "false",
            "mark ECN-capable packets instead of dropping them, below a probability of 10 %",
        ),
    ],
};
