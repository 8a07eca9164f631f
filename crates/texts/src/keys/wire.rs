//! A wire, a chain of wires, and a link as a whole.

use super::cell::CELL_PATH;
use super::queue::{ACK_FILTER, ACK_THINNING, CODEL, DUAL_PI2, FQ_CODEL, PIE};
use super::wifi::WIFI_PATH;
use crate::table::{
    BITS_PER_SEC, BYTES, FEW_BYTES, Form, Key, MOST_COUNT, PPB, RATIO, Short, TIME, TIME_ABOVE_0,
    Table, needed, optional, usual,
};

static DROP_TAIL: Table = Table {
    name: "DropTail",
    about: "Drop-tail: packets that do not fit are dropped.",
    kind: Some("drop_tail"),
    keys: &[],
};

static RED: Table = Table {
    name: "Red",
    about: "Random early detection, Floyd and Jacobson 1993.",
    kind: Some("red"),
    keys: &[
        needed("min", "min_bytes", BYTES, "average queue length below which no packet is marked"),
        needed(
            "max",
            "max_bytes",
            BYTES,
            "average queue length from which every packet is marked, unless gentle is true",
        ),
        usual(
            "max_probability",
            "max_probability_ppb",
            PPB,
            r#""10 %""#,
            "marking probability when the average reaches max",
        ),
        usual(
            "weight_shift",
            "weight_shift",
            Form::Whole { least: 0, most: 31 },
            "9",
            "with each arrival, the average moves by 2^-shift of its distance from the queue \
             length",
        ),
        optional(
            "idle_packet",
            "idle_packet_ns",
            TIME,
            "transmission time of a packet, which sets how the average decays when idle",
        ),
        usual("ecn", "ecn", Form::Flag, "false", "mark ECN-capable packets instead of dropping"),
        usual(
            "gentle",
            "gentle",
            Form::Flag,
            "false",
            "whether the probability rises gradually to 1 at twice max",
        ),
        usual(
            "hard_drop",
            "hard_drop",
            Form::Flag,
            "false",
            "drop ECN-capable packets, too, when the average is at its maximum",
        ),
    ],
};

static STEP_MARKING: Table = Table {
    name: "StepMarking",
    about: "Marks ECN-capable packets while more than a threshold is queued, RFC 8257 section 3.1.",
    kind: Some("step"),
    keys: &[needed("mark", "", Form::Queue, "queue length above which packets are marked")],
};

static IID_LOSS: Table = Table {
    name: "IidLoss",
    about: "Packets are lost independently of each other.",
    kind: Some("iid"),
    keys: &[needed("share", "ppb", PPB, "probability that a packet is lost")],
};

static GILBERT_ELLIOTT_LOSS: Table = Table {
    name: "GilbertElliottLoss",
    about: "Two states, good and bad, between which each packet may move.",
    kind: Some("gilbert_elliott"),
    keys: &[
        needed("p", "p_ppb", PPB, "probability of changing from good to bad"),
        needed("r", "r_ppb", PPB, "probability of changing from bad to good"),
        usual("good", "loss_good_ppb", PPB, r#""0 %""#, "loss while good"),
        usual("bad", "loss_bad_ppb", PPB, r#""100 %""#, "loss while bad"),
    ],
};

static UNIFORM_JITTER: Table = Table {
    name: "UniformJitter",
    about: "Uniformly distributed from 0 to the maximum.",
    kind: Some("uniform"),
    keys: &[needed("most", "max_ns", TIME, "largest extra delay")],
};

static NORMAL_JITTER: Table = Table {
    name: "NormalJitter",
    about: "Normal around zero.",
    kind: Some("normal"),
    keys: &[needed("sigma", "sigma_ns", TIME, "standard deviation of the delay")],
};

static EXPONENTIAL_JITTER: Table = Table {
    name: "ExponentialJitter",
    about: "Exponential.",
    kind: Some("exponential"),
    keys: &[needed("mean", "mean_ns", TIME, "mean extra delay")],
};

static WIFI_JITTER: Table = Table {
    name: "WifiJitter",
    about: "Spikes of a bad Wi-Fi channel, as in draft-huitema-ccwg-c4-test section 2.3.",
    kind: Some("wifi"),
    keys: &[needed(
        "mean",
        "mean_ns",
        TIME,
        "mean delay; above 1 ms a share of packets is retransmitted, from 91 ms on all",
    )],
};

static BUNCHED_JITTER: Table = Table {
    name: "BunchedJitter",
    about: "Packets arrive together, at the multiples of a period.",
    kind: Some("bunched"),
    keys: &[needed("period", "period_ns", TIME_ABOVE_0, "time from one bunch to the next")],
};

static LATE_REORDER: Table = Table {
    name: "LateReorder",
    about: "Some packets take longer, so later packets overtake them.",
    kind: Some("late"),
    keys: &[
        needed("share", "ppb", PPB, "probability that a packet is delayed"),
        needed("delay", "delay_ns", TIME, "how much later"),
        usual("gap", "gap", GAP, "1", "at most one packet in this many"),
    ],
};

static EARLY_REORDER: Table = Table {
    name: "EarlyReorder",
    about: "Some packets have no delay and overtake those before them, as in netem.",
    kind: Some("early"),
    keys: &[
        needed("share", "ppb", PPB, "probability that a packet has no delay"),
        usual("gap", "gap", GAP, "1", "at most one packet in this many"),
    ],
};

static JITTER_REORDER: Table = Table {
    name: "JitterReorder",
    about: "A packet with a shorter jitter overtakes those with a longer one.",
    kind: Some("jitter"),
    keys: &[],
};

const GAP: Form = Form::Whole { least: 1, most: MOST_COUNT };

static POLICE: Table = Table {
    name: "Police",
    about: "A policer: packets above the rate, beyond the burst, are dropped instead of queued.",
    kind: None,
    keys: &[
        needed("rate", "bits_per_sec", BITS_PER_SEC, "rate that may pass"),
        needed("burst", "burst_bytes", BYTES, "burst that may pass at once after a pause"),
    ],
};

static OUTAGE: Table = Table {
    name: "Outage",
    about: "An outage: a time in which the link does not work.",
    kind: None,
    keys: &[
        needed("start", "start_ns", TIME, "when it begins"),
        needed("stop", "stop_ns", TIME, "when it ends"),
        usual(
            "kind",
            "kind",
            Form::Word(&["drop", "hold"]),
            r#""drop""#,
            "drop arriving packets, or hold them in the queue",
        ),
    ],
};

static STEP: Table = Table {
    name: "Step",
    about: "A change at a given time; other settings stay the same.",
    kind: None,
    keys: &[
        needed("at", "at_ns", TIME, "time of the change"),
        optional("rate", "bits_per_sec", BITS_PER_SEC, "new rate"),
        optional("delay", "delay_ns", TIME, "new propagation delay, one way"),
        optional("loss", "loss", LOSS, "new loss"),
    ],
};

const LOSS: Form =
    Form::Kinds(&[&IID_LOSS, &GILBERT_ELLIOTT_LOSS], Short::Key { kind: "iid", key: "share" });

pub(super) const POLICE_OR_TEXT: Form = Form::TableOrText(
    &POLICE,
    Short::Pair {
        first: "rate",
        second: "burst",
        remedy: "write the rate and the burst, such as \"20 Mbit/s, 100 kB\"",
    },
);

const DISCIPLINE: Form = Form::Kinds(
    &[&DROP_TAIL, &CODEL, &FQ_CODEL, &PIE, &DUAL_PI2, &RED, &STEP_MARKING],
    Short::Kind,
);
const DELAYS: Form = Form::Kinds(
    &[&UNIFORM_JITTER, &NORMAL_JITTER, &EXPONENTIAL_JITTER, &WIFI_JITTER, &BUNCHED_JITTER],
    Short::Worded {
        words: &[("wifi", "mean"), ("bunched", "period")],
        kind: "uniform",
        key: "most",
    },
);
const REORDERS: Form = Form::Kinds(
    &[&LATE_REORDER, &EARLY_REORDER, &JITTER_REORDER],
    Short::KindOrPair {
        word: "jitter",
        kind: "late",
        first: "share",
        second: "delay",
        remedy: "write the share and how much later it comes, such as \"1 %, 5 ms\"; or \"jitter\"",
    },
);
const OUTAGE_LIST: Form = Form::List(&Form::Table(&OUTAGE));
const STEPS: Form = Form::List(&Form::Table(&STEP));

// The keys of a wire, of which a link has all.
const RATE: Key = optional(
    "rate",
    "",
    BITS_PER_SEC,
    "rate of the link; unlimited without this and without a trace",
);
const BURST: Key = optional("burst", "", BYTES, "largest burst; makes the rate a token bucket");
const TRACE: Key = optional(
    "trace",
    "",
    Form::Text,
    "a recorded link that gives the rate: a file of Mahimahi, of seconds and Mbit/s, a table, a \
     report of iperf3, a folder of CellReplay; any of them may be gzip",
);
const COLUMN: Key = optional(
    "column",
    "",
    Form::Text,
    "for a trace that is a table: the rate's column, name or number",
);
const UNIT: Key = optional(
    "unit",
    "",
    Form::Text,
    "for a trace that is a table: the rate's unit, Mbit/s or bytes",
);
const TIME_COLUMN: Key = optional(
    "time_column",
    "",
    Form::Text,
    "for a trace that is a table: the times' column, name or number",
);
const TIME_UNIT: Key = optional(
    "time_unit",
    "",
    Form::Text,
    "for a trace that is a table: the times' unit, s, ms or us",
);
const HOLD: Key = usual(
    "hold",
    "",
    Form::Flag,
    "true",
    "true: a recorded rate holds until the next row; false: rates are interpolated",
);
const QUEUE: Key = optional(
    "queue",
    "",
    Form::Queue,
    "limit of the queue; if absent 1 BDP, with a trace 1 BDP of its mean rate and at least 250 \
     packets",
);
const AQM: Key = usual(
    "aqm",
    "",
    DISCIPLINE,
    r#"{"kind": "drop_tail"}"#,
    "discipline of the queue: drop_tail, codel, fq_codel, pie, dualpi2, red or step",
);
const DELAY: Key = optional("delay", "", TIME, "propagation delay, one way");
const JITTER: Key = optional(
    "jitter",
    "jitter",
    DELAYS,
    "jitter: a time alone is the maximum of uniform jitter; other kinds are \"wifi 7 ms\" and \
     \"bunched 5 ms\"",
);
const REORDER: Key = optional(
    "reorder",
    "reorder",
    REORDERS,
    "reordering of packets: \"SHARE, DELAY\" delays a share of them by this time; \"jitter\" lets \
     packets overtake each other if their jitter differs",
);
const POLICER: Key = optional(
    "police",
    "police",
    POLICE_OR_TEXT,
    "policer on arrival, \"RATE, BURST\": drops instead of queueing",
);
const LOST: Key =
    optional("loss", "loss", LOSS, "random loss; a share alone means independent losses");
const FRAMING: Key = optional(
    "framing",
    "",
    FEW_BYTES,
    "bytes of framing added to each packet: Ethernet 14, Mahimahi 4",
);
const OUTAGES: Key =
    usual("outages", "outages", OUTAGE_LIST, "[]", "times in which the link does not work");
const SCHEDULE: Key =
    usual("schedule", "schedule", STEPS, "[]", "changes of the link at given times");
const TRANSITION: Key = usual(
    "transition",
    "transition",
    Form::Word(&["retime", "keep"]),
    r#""retime""#,
    "\"keep\": queued packets keep their departure times, as in netem; \"retime\": a change \
     applies to them, too",
);

/// The keys of a wire.
const WIRE: &[Key] = &[
    RATE,
    BURST,
    TRACE,
    COLUMN,
    UNIT,
    TIME_COLUMN,
    TIME_UNIT,
    HOLD,
    QUEUE,
    AQM,
    DELAY,
    JITTER,
    REORDER,
    ACK_FILTER,
    ACK_THINNING,
    POLICER,
    LOST,
    FRAMING,
    OUTAGES,
    SCHEDULE,
    TRANSITION,
];

/// What else is said of a link that may be a preset or a medium.
const PRESET_OR_MEDIUM: &[Key] = &[
    optional(
        "preset",
        "",
        Form::Text,
        "name of a preset or TOML file; it gives the keys that are not written here",
    ),
    optional(
        "period",
        "",
        Form::Text,
        "time of the day, for a preset that has different figures for several times",
    ),
    optional(
        "bandwidth",
        "",
        Form::Text,
        "for a cell or a Wi-Fi channel: its bandwidth, \"60 \
        MHz\"",
    ),
    optional(
        "layers",
        "",
        Form::Whole { least: 1, most: 8 },
        "for a cell or a Wi-Fi channel: spatial layers of the downlink",
    ),
    optional(
        "mcs",
        "",
        Form::Whole { least: 0, most: 31 },
        "for a cell or a Wi-Fi channel: the modulation and coding scheme, which then never changes",
    ),
    optional(
        "users",
        "",
        Form::Whole { least: 1, most: 2007 },
        "for a cell or a Wi-Fi channel: number of users or stations",
    ),
    optional(
        "coverage",
        "",
        RATIO,
        "for a cell: mean signal to interference and noise ratio of the downlink; the uplink's is \
         shifted by as much",
    ),
    optional(
        "speed",
        "",
        Form::Text,
        "for a cell: speed of the users, \"120 km/h\", which sets the Doppler shift and how fast \
         shadowing changes",
    ),
    optional(
        "handover",
        "",
        Form::Text,
        "for a cell: time between handovers, and interruption, \"every 30 s, 40 ms\"",
    ),
    optional(
        "drx",
        "",
        Form::Text,
        "for a cell: silence after which users sleep, and their listening cycle, \"after 100 ms, \
         every 40 ms\"",
    ),
    optional("cell", "", Form::Table(&CELL_PATH), "a radio cell: both directions"),
    optional("wifi", "", Form::Table(&WIFI_PATH), "a Wi-Fi channel: both directions"),
];

/// What else is said of a wire beside a medium.
const BACK: &[Key] = &[optional(
    "reverse",
    "",
    Form::Table(&LINK_STAGE),
    "for a wire beside a cell or a Wi-Fi channel: its keys in the other direction; if absent, \
     that direction has the same delay and no limits",
)];

/// What else is said of a link as a whole.
const WHOLE: &[Key] = &[
    optional("name", "", Form::Text, "name of the user in results"),
    optional(
        "server",
        "",
        TIME,
        "one-way delay between the link and the server; in a cell it replaces core_delay",
    ),
    optional(
        "wire",
        "",
        Form::Table(&CHAIN_WIRE),
        "a wire between the server and a cell or a Wi-Fi channel",
    ),
    optional("stage", "", LINKS, "the links of a chain, beginning at the server's end"),
];

const LINKS: Form = Form::List(&Form::Table(&CHAIN_STAGE));

/// The keys of several groups, one behind the other.
const fn joined<const N: usize>(groups: &[&[Key]]) -> [Key; N] {
    let mut found = [DELAY; N];
    let (mut group, mut at) = (0, 0);
    while group < groups.len() {
        let mut n = 0;
        while n < groups[group].len() {
            found[at] = groups[group][n];
            at += 1;
            n += 1;
        }
        group += 1;
    }
    assert!(at == N, "there is room for as many keys as there are");
    found
}

static CHAIN_WIRE_KEYS: [Key; 22] = joined(&[WIRE, BACK]);
static CHAIN_STAGE_KEYS: [Key; 34] = joined(&[WIRE, PRESET_OR_MEDIUM, BACK]);
static LINK_KEYS: [Key; 37] = joined(&[WIRE, PRESET_OR_MEDIUM, WHOLE]);

pub(crate) static LINK_STAGE: Table = Table {
    name: "LinkStage",
    about: "One wire: policer, loss and outages on arrival, then the queue, the rate, the delay.",
    kind: None,
    keys: WIRE,
};

static CHAIN_WIRE: Table = Table {
    name: "ChainWire",
    about: "A wire beside a cell or a Wi-Fi channel, both ways.",
    kind: None,
    keys: &CHAIN_WIRE_KEYS,
};

static CHAIN_STAGE: Table = Table {
    name: "ChainStage",
    about: "One link of a chain.",
    kind: None,
    keys: &CHAIN_STAGE_KEYS,
};

pub(crate) static LINK: Table = Table {
    name: "Link",
    about: "One direction of a path: a wire, a chain of stages, or a preset with changes. A cell \
        or a Wi-Fi channel is both directions at once, and so is a chain with one of them.",
    kind: None,
    keys: &LINK_KEYS,
};
