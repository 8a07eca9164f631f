//! Keys of a wire, of a chain of wires, and of a link as a whole.

use super::cell::CELL_PATH;
use super::queue::{ACK_FILTER, ACK_THINNING, CODEL, DUAL_PI2, ECN, FQ_CODEL, PIE, POLICE_KEYS};
use super::wifi::WIFI_PATH;
use crate::table::{
    BITS_PER_SEC, BYTES, FEW_BYTES, Form, Key, MOST_COUNT, PPB, RATIO, Short, TIME, TIME_ABOVE_0,
    Table, needed, optional, usual,
};

static DROP_TAIL: Table = Table {
    name: "DropTail",
    about: "Drop-tail: packets that do not fit into the queue are dropped.",
    kind: Some("drop_tail"),
    keys: &[],
};

static RED: Table = Table {
    name: "Red",
    about: "RED, random early detection (Floyd and Jacobson 1993).",
    kind: Some("red"),
    keys: &[
        needed(
            "min",
            "min_bytes",
            BYTES,
            "average queue length below which RED neither marks nor drops packets",
        ),
        needed(
            "max",
            "max_bytes",
            BYTES,
            "average queue length at and above which every packet is marked or dropped, unless \
             gentle is true",
        ),
        usual(
            "max_probability",
            "max_probability_ppb",
            PPB,
            r#""10 %""#,
            "probability that a packet is marked or dropped when the average queue length reaches \
             the threshold max",
        ),
        usual(
            "weight_shift",
            "weight_shift",
            Form::Whole { least: 0, most: 24 },
            "9",
            "exponent of the weight in the average queue length: each arriving packet moves the \
             average towards the present queue length, by 2^-weight_shift of their difference",
        ),
        optional(
            "idle_packet",
            "idle_packet_ns",
            TIME,
            "assumed transmission time of a packet; it determines how fast the average queue \
             length decays while the link is idle; if absent, the average does not decay",
        ),
        ECN,
        usual(
            "gentle",
            "gentle",
            Form::Flag,
            "false",
            "whether the probability of marks and drops rises gradually to 1 while the average \
             queue length grows from the threshold max to twice this threshold, instead of jumping \
             to 1 at max",
        ),
        usual(
            "hard_drop",
            "hard_drop",
            Form::Flag,
            "false",
            "whether ECN-capable packets are dropped instead of marked while the average queue \
             length is so high that the probability of a mark is 1",
        ),
    ],
};

static STEP_MARKING: Table = Table {
    name: "StepMarking",
    about: "Step marking (RFC 8257 section 3.1): while the queue is longer than a threshold, \
        ECN-capable packets are marked, and all other packets are dropped.",
    kind: Some("step"),
    keys: &[needed(
        "mark",
        "",
        Form::Queue,
        "queue length above which packets are marked or dropped",
    )],
};

static IID_LOSS: Table = Table {
    name: "IidLoss",
    about: "Independent losses: each packet is lost with the same probability.",
    kind: Some("iid"),
    keys: &[needed("share", "ppb", PPB, "probability that a packet is lost")],
};

static GILBERT_ELLIOTT_LOSS: Table = Table {
    name: "GilbertElliottLoss",
    about: "Gilbert-Elliott loss: the link is in a good or a bad state, which can change after \
        each packet; each state has a loss probability.",
    kind: Some("gilbert_elliott"),
    keys: &[
        needed(
            "p",
            "p_ppb",
            PPB,
            "probability, for each packet, that the link changes from the good to the bad state",
        ),
        needed(
            "r",
            "r_ppb",
            PPB,
            "probability, for each packet, that the link changes from the bad to the good state",
        ),
        usual(
            "good",
            "loss_good_ppb",
            PPB,
            r#""0 %""#,
            "probability that a packet is lost while the link is in the good state",
        ),
        usual(
            "bad",
            "loss_bad_ppb",
            PPB,
            r#""100 %""#,
            "probability that a packet is lost while the link is in the bad state",
        ),
    ],
};

static UNIFORM_JITTER: Table = Table {
    name: "UniformJitter",
    about: "Extra delay of each packet, uniformly distributed from 0 to a maximum.",
    kind: Some("uniform"),
    keys: &[needed("most", "max_ns", TIME, "maximum extra delay of a packet")],
};

static NORMAL_JITTER: Table = Table {
    name: "NormalJitter",
    about: "Normally distributed jitter with mean zero, added to each packet's delay.",
    kind: Some("normal"),
    keys: &[needed(
        "sigma",
        "sigma_ns",
        TIME,
        "standard deviation of the jitter that is added to each packet's delay",
    )],
};

static EXPONENTIAL_JITTER: Table = Table {
    name: "ExponentialJitter",
    about: "Exponentially distributed extra delay of each packet.",
    kind: Some("exponential"),
    keys: &[needed("mean", "mean_ns", TIME, "mean extra delay of a packet")],
};

static WIFI_JITTER: Table = Table {
    name: "WifiJitter",
    about: "Delay spikes of a bad Wi-Fi channel, as in draft-huitema-ccwg-c4-test section 2.3.",
    kind: Some("wifi"),
    keys: &[needed(
        "mean",
        "mean_ns",
        TIME,
        "mean extra delay of a packet, which also determines the share of packets that the channel \
         retransmits: from 0 % with 1 ms to 100 % with 91 ms",
    )],
};

static BUNCHED_JITTER: Table = Table {
    name: "BunchedJitter",
    about: "Packets arrive in bunches: each packet waits for the next multiple of a period.",
    kind: Some("bunched"),
    keys: &[needed(
        "period",
        "period_ns",
        TIME_ABOVE_0,
        "time from one bunch of packets to the next bunch",
    )],
};

static LATE_REORDER: Table = Table {
    name: "LateReorder",
    about: "Some packets get an extra delay, so later packets overtake them.",
    kind: Some("late"),
    keys: &[
        needed("share", "ppb", PPB, "probability that a packet is delayed"),
        needed("delay", "delay_ns", TIME, "additional delay of a reordered packet"),
        REORDER_GAP,
    ],
};

static EARLY_REORDER: Table = Table {
    name: "EarlyReorder",
    about: "Some packets skip the delay of the link and overtake earlier packets, as in netem.",
    kind: Some("early"),
    keys: &[
        needed(
            "share",
            "ppb",
            PPB,
            "probability that a packet skips the delay of the link and overtakes earlier packets",
        ),
        REORDER_GAP,
    ],
};

static JITTER_REORDER: Table = Table {
    name: "JitterReorder",
    about: "Packets may overtake earlier packets whose random delay (jitter) is longer.",
    kind: Some("jitter"),
    keys: &[],
};

const GAP: Form = Form::Whole { least: 1, most: MOST_COUNT };
const REORDER_GAP: Key = usual(
    "gap",
    "gap",
    GAP,
    "1",
    "minimum spacing of reordered packets: with the value N, at most one in N packets is reordered",
);

static POLICE: Table = Table {
    name: "Police",
    about: "A policer (token bucket): packets that exceed the rate and the burst are dropped \
        instead of queued.",
    kind: None,
    keys: POLICE_KEYS,
};

static OUTAGE: Table = Table {
    name: "Outage",
    about: "An outage: a period in which the link does not work.",
    kind: None,
    keys: &[
        needed("start", "start_ns", TIME, "time at which the outage begins"),
        needed("stop", "stop_ns", TIME, "time at which the outage ends"),
        usual(
            "kind",
            "kind",
            Form::Word(&["drop", "hold"]),
            r#""drop""#,
            "effect of the outage on arriving packets: drop means that they are dropped; hold \
             means that they wait in the queue",
        ),
    ],
};

static STEP: Table = Table {
    name: "Step",
    about: "A change of the link at a given time; absent settings stay the same.",
    kind: None,
    keys: &[
        needed("at", "at_ns", TIME, "time of the change"),
        optional("rate", "bits_per_sec", BITS_PER_SEC, "new rate of the link"),
        optional("delay", "delay_ns", TIME, "new one-way propagation delay"),
        optional("loss", "loss", LOSS, "new random loss"),
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
        remedy: "write the share of packets and their extra delay, such as \"1 %, 5 ms\", or \
            \"jitter\"",
    },
);
const OUTAGE_LIST: Form = Form::List(&Form::Table(&OUTAGE));
const STEPS: Form = Form::List(&Form::Table(&STEP));

// The keys of a wire, all of which a link also has.
const RATE: Key = optional(
    "rate",
    "",
    BITS_PER_SEC,
    "fixed rate of the link; if both rate and trace are absent, the rate is unlimited",
);
const BURST: Key = optional(
    "burst",
    "",
    BYTES,
    "size of the token bucket that enforces the rate, and thus the maximum burst; if absent, the \
     rate is enforced without a token bucket",
);
const TRACE: Key = optional(
    "trace",
    "",
    Form::Text,
    "recording of the link's rate in one of these formats: (1) Mahimahi trace, (2) text file with \
     a time in s and a rate in Mbit/s on each line, (3) CSV or JSON table of rates, (4) iperf3 \
     report, (5) CellReplay folder; files may be compressed with gzip",
);
const COLUMN: Key = optional(
    "column",
    "",
    Form::Text,
    "name or number of the column with the rates, if the trace is a table",
);
const UNIT: Key = optional(
    "unit",
    "",
    Form::Text,
    "unit of the rates (such as Mbit/s) or of the amounts of data (such as bytes), if the trace is \
     a table",
);
const TIME_COLUMN: Key = optional(
    "time_column",
    "",
    Form::Text,
    "name or number of the column with the times, if the trace is a table",
);
const TIME_UNIT: Key = optional(
    "time_unit",
    "",
    Form::Text,
    "unit of the times (s, ms or us), if the trace is a table",
);
const LIGHT_TRACE: Key = optional(
    "light_trace",
    "",
    Form::Text,
    "file with packet trains that were recorded on the idle link, for replay under light load, as \
     in CellReplay; each line contains the time of a train, its base delay and the arrival times \
     of its packets, in ms; the key trace must name a Mahimahi trace",
);
const LIGHT_AFTER: Key = optional(
    "light_after",
    "",
    TIME,
    "idle time of the link after which the next packet begins a new burst; packets of this burst \
     are delayed like a packet train of light_trace or of a CellReplay folder; if absent, 10 ms",
);
const BUSY_DELAY: Key = optional(
    "busy_delay",
    "",
    TIME,
    "one-way delay of a packet that arrives while the link is sending, for links with packet \
     trains (light_trace); if absent, the shortest base delay of the trains",
);
const LIGHT_FIRST: Key = optional(
    "light_first",
    "",
    FEW_BYTES,
    "size of the first packet of each train in light_trace, including its IP header; if absent, \
     1500 bytes, like all further packets of a train",
);
const HOLD: Key = usual(
    "hold",
    "",
    Form::Flag,
    "true",
    "whether each rate in the trace applies until the next row (true), or rates are \
     interpolated between rows (false)",
);
const QUEUE: Key = optional(
    "queue",
    "",
    Form::Queue,
    "maximum length of the queue; the default is one bandwidth-delay product (BDP), at least 10 \
     packets; for a trace, it is one BDP at the trace's mean rate, at least 250 packets",
);
const AQM: Key = usual(
    "aqm",
    "",
    DISCIPLINE,
    r#"{"kind": "drop_tail"}"#,
    "queue management: drop_tail, codel, fq_codel, pie, dualpi2, red or step",
);
const DELAY: Key = optional("delay", "", TIME, "one-way propagation delay of the link");
const JITTER: Key = optional(
    "jitter",
    "jitter",
    DELAYS,
    "random variation of the delay: \"2 ms\" is uniform jitter from 0 to 2 ms; \"wifi 7 ms\" \
     imitates a bad Wi-Fi channel; \"bunched 5 ms\" delivers packets in bunches, every 5 ms; a \
     table selects any kind",
);
const REORDER: Key = optional(
    "reorder",
    "reorder",
    REORDERS,
    "reordering of packets: \"1 %, 5 ms\" delays 1 % of the packets by an additional 5 ms; \
     \"jitter\" lets packets overtake earlier packets whose random delay (jitter) is longer",
);
const POLICER: Key = optional(
    "police",
    "police",
    POLICE_OR_TEXT,
    "policer before the queue, such as \"20 Mbit/s, 100 kB\": packets that exceed the rate and \
     the burst are dropped instead of queued",
);
const LOST: Key = optional(
    "loss",
    "loss",
    LOSS,
    "random loss of arriving packets: a share such as \"1 %\" \
        means independent losses; a table selects another kind of loss",
);
const FRAMING: Key = optional(
    "framing",
    "",
    FEW_BYTES,
    "number of bytes that the link adds to each IP packet: 14 for Ethernet, 4 for Mahimahi",
);
const OUTAGES: Key = usual(
    "outages",
    "outages",
    OUTAGE_LIST,
    "[]",
    "outages: periods in which the link drops arriving packets or holds them in the queue",
);
const SCHEDULE: Key = usual(
    "schedule",
    "schedule",
    STEPS,
    "[]",
    "changes of the link's rate, delay or random loss, each at a given time",
);
const TRANSITION: Key = usual(
    "transition",
    "transition",
    Form::Word(&["retime", "keep"]),
    r#""retime""#,
    "effect of a scheduled change on packets that are already queued: with \"retime\", they get \
     new departure times, as on a wire; with \"keep\", their departure times stay the same, as in \
     netem",
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
    LIGHT_TRACE,
    LIGHT_AFTER,
    BUSY_DELAY,
    LIGHT_FIRST,
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

/// Further keys of a link that is a preset, a cell or a Wi-Fi channel.
const PRESET_OR_MEDIUM: &[Key] = &[
    optional(
        "preset",
        "",
        Form::Text,
        "name of a preset, or a TOML file with a link; other keys of this table override the \
         values of the preset or file",
    ),
    optional(
        "period",
        "",
        Form::Text,
        "period of the day, such as evening, if the preset has different values for different \
         periods",
    ),
    optional(
        "bandwidth",
        "",
        Form::Text,
        "bandwidth of a cell or a Wi-Fi channel, such as \"60 MHz\"",
    ),
    optional(
        "layers",
        "",
        Form::Whole { least: 1, most: 8 },
        "number of spatial layers of a cell's downlink, or of spatial streams of a Wi-Fi channel",
    ),
    optional(
        "mcs",
        "",
        Form::Whole { least: 0, most: 31 },
        "fixed modulation and coding scheme of a cell or a Wi-Fi channel; if absent, the scheme \
         follows the quality of the channel",
    ),
    optional(
        "users",
        "",
        Form::Whole { least: 1, most: 2007 },
        "number of users of a cell, or of stations of a Wi-Fi channel",
    ),
    optional(
        "coverage",
        "",
        RATIO,
        "mean signal to interference and noise ratio in the downlink of a cell; the ratio in the \
         uplink is shifted by the difference (in decibels) between this value and the preset's \
         ratio in the downlink",
    ),
    optional(
        "speed",
        "",
        Form::Text,
        "speed of the users of a cell, such as \"120 km/h\", which determines the Doppler shift \
         and how fast shadowing changes",
    ),
    optional(
        "handover",
        "",
        Form::Text,
        "handovers of each user of a cell: mean time between two handovers, and duration of the \
         interruption, such as \"every 30 s, 40 ms\"",
    ),
    optional(
        "drx",
        "",
        Form::Text,
        "sleep of the users of a cell (DRX): time without traffic after which a user sleeps, and \
         interval at which the user listens, such as \"after 100 ms, every 40 ms\"",
    ),
    optional(
        "cell",
        "",
        Form::Table(&CELL_PATH),
        "radio cell, which defines both directions of \
        the link",
    ),
    optional(
        "wifi",
        "",
        Form::Table(&WIFI_PATH),
        "Wi-Fi channel, which defines both directions \
        of the link",
    ),
];

/// The key of a wire's reverse direction.
const BACK: &[Key] = &[optional(
    "reverse",
    "",
    Form::Table(&LINK_STAGE),
    "settings of a chained wire in the direction from the user to the server; if absent, this \
     direction has the delay of the other direction, an unlimited rate and an unlimited queue",
)];

/// Keys of a link as a whole.
const WHOLE: &[Key] = &[
    optional(
        "name",
        "",
        Form::Text,
        "name of the link in results, if a study compares several links",
    ),
    optional(
        "server",
        "",
        TIME,
        "one-way delay between the link and the server; for a cell, this value overrides \
         core_delay",
    ),
    optional(
        "wire",
        "",
        Form::Table(&CHAIN_WIRE),
        "wire between the server and the cell or Wi-Fi channel",
    ),
    optional("stage", "", LINKS, "links of a chain, in the order from the server to the user"),
];

const LINKS: Form = Form::List(&Form::Table(&CHAIN_STAGE));

/// Concatenates groups of keys.
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
    assert!(at == N, "the array has room for all keys");
    found
}

static CHAIN_WIRE_KEYS: [Key; 26] = joined(&[WIRE, BACK]);
static CHAIN_STAGE_KEYS: [Key; 38] = joined(&[WIRE, PRESET_OR_MEDIUM, BACK]);
static LINK_KEYS: [Key; 41] = joined(&[WIRE, PRESET_OR_MEDIUM, WHOLE]);

pub(crate) static LINK_STAGE: Table = Table {
    name: "LinkStage",
    about: "One direction of a wire. Packets pass its parts in this order: policer, random loss \
        and outages, queue, rate, delay.",
    kind: None,
    keys: WIRE,
};

static CHAIN_WIRE: Table = Table {
    name: "ChainWire",
    about: "Both directions of a wire that is chained with a cell or a Wi-Fi channel.",
    kind: None,
    keys: &CHAIN_WIRE_KEYS,
};

static CHAIN_STAGE: Table = Table {
    name: "ChainStage",
    about: "One link of a chain of links: a wire, a preset, a cell or a Wi-Fi channel.",
    kind: None,
    keys: &CHAIN_STAGE_KEYS,
};

pub(crate) static LINK: Table = Table {
    name: "Link",
    about: "A wire, a cell, a Wi-Fi channel, a chain of links, or a preset with changes. A cell or \
        a Wi-Fi channel defines both directions of a path, even as part of a chain. A wire or a \
        chain of wires defines only one direction.",
    kind: None,
    keys: &LINK_KEYS,
};
