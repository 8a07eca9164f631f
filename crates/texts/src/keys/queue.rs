//! Management of the queues of a cell.

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

pub(crate) static CELL_CODEL: Table = Table {
    name: "CellCodel",
    about: "Controlled delay, RFC 8289.",
    kind: Some("codel"),
    keys: &[
        usual("target", "target_ns", TIME, r#""5 ms""#, "acceptable standing delay"),
        usual(
            "interval",
            "interval_ns",
            TIME,
            r#""100 ms""#,
            "time that senders are given to react",
        ),
        usual("ecn", "ecn", Form::Flag, "false", "mark ECN-capable packets instead of dropping"),
    ],
};

pub(crate) static CELL_FQ_CODEL: Table = Table {
    name: "CellFqCodel",
    about: "A queue for each flow of a user, with CoDel in each: FQ-CoDel, RFC 8290.",
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
            "what a queue may send in its turn",
        ),
        usual("target", "target_ns", TIME, r#""5 ms""#, "acceptable standing delay"),
        usual(
            "interval",
            "interval_ns",
            TIME,
            r#""100 ms""#,
            "time that senders are given to react",
        ),
        usual("ecn", "ecn", Form::Flag, "false", "mark ECN-capable packets instead of dropping"),
    ],
};

pub(crate) static CELL_PIE: Table = Table {
    name: "CellPie",
    about: "Proportional integral controller enhanced: PIE, RFC 8033.",
    kind: Some("pie"),
    keys: &[
        usual("target", "target_ns", TIME, r#""15 ms""#, "delay to which the queue is controlled"),
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
