//! Active queue management.

use crate::table::{BYTES, COUNT, Form, TIME, Table, needed, usual};

pub(crate) static EARLY_DISCARD: Table = Table {
    name: "EarlyDiscard",
    about: "Drops one packet at a time: the packet discard prevention counter of UMTS.",
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

pub(crate) static PIE: Table = Table {
    name: "Pie",
    about: "Proportional integral controller enhanced: PIE, RFC 8033.",
    kind: Some("pie"),
    keys: &[
        usual("target", "target_ns", TIME, r#""15 ms""#, "delay to which it controls"),
        usual(
            "burst",
            "burst_ns",
            TIME,
            r#""150 ms""#,
            "how long a burst after calm is let in unhindered",
        ),
        usual(
            "ecn",
            "ecn",
            Form::Flag,
            "false",
            "mark ECN-capable packets instead, below a probability of 10 %",
        ),
    ],
};
