//! A radio cell. Sources stand in the module `cellular` of the simulator's links.

use super::queue::{ACK_FILTER, ACK_THINNING, CODEL, DUAL_PI2, EARLY_DISCARD, FQ_CODEL, PIE};
use super::radio::{LTE, NR, UMTS};
use crate::table::{
    BITS_PER_SEC, BYTES, COUNT, FEW_BYTES, Form, MILLIHERTZ, PPB, RATIO, SMALL, Short, TIME, Table,
    needed, optional, usual,
};

pub(crate) static ACKNOWLEDGED: Table = Table {
    name: "Acknowledged",
    about: "Acknowledged mode: RLC retransmits blocks that HARQ did not deliver.",
    kind: Some("acknowledged"),
    keys: &[needed(
        "recovery",
        "recovery_ns",
        TIME,
        "time that RLC takes to retransmit a lost block",
    )],
};

pub(crate) static UNACKNOWLEDGED: Table = Table {
    name: "Unacknowledged",
    about: "Unacknowledged mode: RLC waits for blocks that HARQ did not deliver, then skips them.",
    kind: Some("unacknowledged"),
    keys: &[needed(
        "reordering",
        "reordering_ns",
        TIME,
        "how long RLC waits for a missing block before it gives up",
    )],
};

pub(crate) static TRANSPARENT: Table =
    Table { name: "Transparent", about: "RLC does nothing.", kind: Some("transparent"), keys: &[] };

pub(crate) static ROUND_ROBIN: Table = Table {
    name: "RoundRobin",
    about: "Round robin: users are served in turn.",
    kind: Some("round_robin"),
    keys: &[],
};

pub(crate) static MAX_CI: Table = Table {
    name: "MaxCi",
    about: "The user with the best channel is served.",
    kind: Some("max_ci"),
    keys: &[],
};

pub(crate) static PROPORTIONAL_FAIR: Table = Table {
    name: "ProportionalFair",
    about: "Proportional fair: the user whose rate is highest relative to its own average is \
        served.",
    kind: Some("proportional_fair"),
    keys: &[needed(
        "window",
        "window",
        COUNT,
        "number of intervals over which a user's rate is \
        averaged",
    )],
};

pub(crate) static FIXED_SCHEME: Table = Table {
    name: "FixedScheme",
    about: "Always the same modulation and coding scheme; with HSDPA its number is the channel \
        quality minus 1.",
    kind: Some("fixed"),
    keys: &[needed("scheme", "scheme", SMALL, "number in the technology's table of schemes")],
};

pub(crate) static OUTER_LOOP: Table = Table {
    name: "OuterLoop",
    about: "An outer loop: a margin that is adapted until blocks fail as often as intended.",
    kind: None,
    keys: &[
        needed("target", "target_ppb", PPB, "intended share of failed first transmissions"),
        needed("step", "step_mdb", RATIO, "change of the margin after a failed block"),
    ],
};

pub(crate) static REPORTS: Table = Table {
    name: "Reports",
    about: "The scheme is chosen by reports of the channel quality.",
    kind: Some("reports"),
    keys: &[
        needed("period", "period_ns", TIME, "time between two reports"),
        needed(
            "delay",
            "delay_ns",
            TIME,
            "age of a channel report when the scheme first follows \
            it",
        ),
        optional(
            "outer_loop",
            "outer_loop",
            Form::Table(&OUTER_LOOP),
            "outer loop that corrects the reports when blocks fail; none if absent",
        ),
    ],
};

pub(crate) static CURVES: Table = Table {
    name: "Curves",
    about: "Blocks fail by the error curves of their scheme.",
    kind: Some("curves"),
    keys: &[],
};

pub(crate) static GIVEN: Table = Table {
    name: "Given",
    about: "Blocks fail with given probabilities, one for each transmission.",
    kind: Some("given"),
    keys: &[needed(
        "shares",
        "ppb",
        Form::List(&PPB),
        "probability of failure by transmission: the first, the second and so on",
    )],
};

pub(crate) static CELL_DIRECTION: Table = Table {
    name: "CellDirection",
    about: "One direction of a cell.",
    kind: None,
    keys: &[
        usual(
            "core_delay",
            "core_delay_ns",
            TIME,
            r#""0 s""#,
            "one-way delay between the cell and the server's end of the link",
        ),
        usual(
            "core_jitter",
            "core_jitter_ns",
            TIME,
            r#""0 s""#,
            "largest random addition to that delay, uniform from 0; the order of packets is kept",
        ),
        usual(
            "core_frame",
            "core_frame_ns",
            TIME,
            r#""0 s""#,
            "packets leave the core only at multiples of this time; at once if 0",
        ),
        optional(
            "queue_packets",
            "queue_packets",
            COUNT,
            "limit of each user's queue in packets; none if absent",
        ),
        optional(
            "queue",
            "queue_bytes",
            BYTES,
            "limit of each user's queue in bytes; none if absent",
        ),
        optional(
            "discard",
            "discard_ns",
            TIME,
            "packets that have waited longer than this are discarded; never if absent",
        ),
        optional(
            "early_discard",
            "early_discard",
            Form::Table(&EARLY_DISCARD),
            "discards single packets of a long queue; none if absent",
        ),
        optional(
            "aqm",
            "aqm",
            Form::Kinds(&[&CODEL, &FQ_CODEL, &PIE, &DUAL_PI2], Short::Kind),
            "active management of each user's queue: codel, fq_codel, pie or dualpi2; drop-tail if absent",
        ),
        ACK_FILTER,
        ACK_THINNING,
        usual(
            "residual_loss",
            "residual_loss_ppb",
            PPB,
            r#""0 %""#,
            "share of the packets lost before the queue, as on a serial line",
        ),
        usual(
            "rlc",
            "rlc",
            Form::Kinds(&[&ACKNOWLEDGED, &UNACKNOWLEDGED, &TRANSPARENT], Short::Kind),
            r#"{"kind": "acknowledged", "recovery": "80 ms"}"#,
            "how radio link control handles blocks that never arrive",
        ),
        usual(
            "scheduler",
            "scheduler",
            Form::Kinds(&[&ROUND_ROBIN, &MAX_CI, &PROPORTIONAL_FAIR], Short::Kind),
            r#"{"kind": "round_robin"}"#,
            "which user is served",
        ),
        needed(
            "adaptation",
            "adaptation",
            Form::Kinds(&[&FIXED_SCHEME, &REPORTS], Short::Kind),
            "how the modulation and coding scheme follows the channel",
        ),
        usual(
            "block_errors",
            "block_errors",
            Form::Kinds(&[&CURVES, &GIVEN], Short::Kind),
            r#"{"kind": "curves"}"#,
            "which blocks fail",
        ),
        usual(
            "transmissions",
            "transmissions",
            SMALL,
            "4",
            "largest number of transmissions of a block by HARQ, including the first",
        ),
        usual(
            "feedback_error",
            "feedback_error_ppb",
            PPB,
            r#""0 %""#,
            "share of failed blocks that HARQ takes for received, so RLC has to recover them",
        ),
    ],
};

pub(crate) static ACCESS_REPORTS: Table = Table {
    name: "AccessReports",
    about: "The timers of buffer status reports.",
    kind: None,
    keys: &[
        needed(
            "period",
            "period_ns",
            TIME,
            "time between two buffer reports of a sending user (periodicBSR-Timer)",
        ),
        needed(
            "repeat",
            "repeat_ns",
            TIME,
            "time without a grant until a user repeats its buffer report (retxBSR-Timer)",
        ),
    ],
};

pub(crate) static ACCESS: Table = Table {
    name: "Access",
    about: "How a user of LTE or NR is granted the uplink.",
    kind: None,
    keys: &[
        needed(
            "request_period",
            "request_period_ns",
            TIME,
            "time between two opportunities for a scheduling request",
        ),
        optional(
            "first_grant",
            "first_grant_bytes",
            FEW_BYTES,
            "size of the first grant after a request; if absent, as large as all data that wait",
        ),
        usual(
            "keep_alive",
            "keep_alive_ns",
            TIME,
            r#""0 s""#,
            "time for which a user with an empty queue keeps getting the same grants",
        ),
        optional(
            "reports",
            "reports",
            Form::Table(&ACCESS_REPORTS),
            "timers of buffer status reports; if absent, every block carries a report",
        ),
    ],
};

pub(crate) static FADING: Table = Table {
    name: "Fading",
    about: "Fast fading: the largest Doppler shift, and over how many branches powers are \
        averaged.",
    kind: None,
    keys: &[
        needed(
            "doppler",
            "doppler_mhz",
            MILLIHERTZ,
            "largest Doppler shift: speed over wavelength",
        ),
        needed(
            "branches",
            "branches",
            SMALL,
            "number of independent paths whose powers are averaged; more paths mean less fading",
        ),
        optional(
            "rice",
            "rice_mdb",
            RATIO,
            "ratio of the direct path's power to the scattered power (Rice); Rayleigh fading if \
             absent",
        ),
    ],
};

pub(crate) static DRIFT: Table = Table {
    name: "Drift",
    about: "A slow variation of the mean.",
    kind: None,
    keys: &[
        needed("sigma", "sigma_mdb", RATIO, "standard deviation of the variation"),
        needed("correlation", "correlation_ns", TIME, "correlation time of the variation"),
    ],
};

pub(crate) static CELL_USER: Table = Table {
    name: "CellUser",
    about: "A user whose flows are measured.",
    kind: None,
    keys: &[
        needed(
            "downlink",
            "downlink_mdb",
            RATIO,
            "mean signal to interference and noise ratio towards the user",
        ),
        needed(
            "uplink",
            "uplink_mdb",
            RATIO,
            "mean signal to interference and noise ratio from the user",
        ),
        optional(
            "fading",
            "fading",
            Form::Table(&FADING),
            "fast fading, separate in each direction; none if absent",
        ),
        usual(
            "drifts",
            "drifts",
            Form::List(&Form::Table(&DRIFT)),
            "[]",
            "slow variations of the mean, the same in both directions",
        ),
    ],
};

pub(crate) static BACKGROUND: Table = Table {
    name: "Background",
    about: "Background users, which take capacity all the time or from time to time.",
    kind: None,
    keys: &[
        needed(
            "users",
            "users",
            Form::Whole { least: 1, most: 65_535 },
            "number of equal \
            background users",
        ),
        needed("way", "way", Form::Word(&["down", "up"]), "direction of their data"),
        needed(
            "lowest",
            "lowest_mdb",
            RATIO,
            "ratio of signal to interference and noise of the worst user",
        ),
        needed(
            "highest",
            "highest_mdb",
            RATIO,
            "ratio of signal to interference and noise of the best user",
        ),
        optional(
            "fading",
            "fading",
            Form::Table(&FADING),
            "fast fading of each user's channel; none if absent",
        ),
        needed("on", "on_ns", TIME, "mean time for which a user wants service"),
        usual(
            "off",
            "off_ns",
            TIME,
            r#""0 s""#,
            "mean time for which a user is silent; never silent if 0",
        ),
    ],
};

pub(crate) static RRC: Table = Table {
    name: "Rrc",
    about: "Discontinuous reception (DRX): how a silent user sleeps and wakes.",
    kind: None,
    keys: &[
        optional(
            "drx_after",
            "drx_after_ns",
            TIME,
            "silence after which the user listens in cycles; never if absent",
        ),
        usual("drx_cycle", "drx_cycle_ns", TIME, r#""0 s""#, "time between two listening windows"),
        needed(
            "inactivity",
            "inactivity_ns",
            TIME,
            "silence after which the user is no longer connected",
        ),
        needed("promotion_least", "promotion_least_ns", TIME, "shortest time to wake from idle"),
        needed("promotion_most", "promotion_most_ns", TIME, "longest time to wake from idle"),
        needed("paging_cycle", "paging_cycle_ns", TIME, "time between two pagings of an idle user"),
    ],
};

pub(crate) static HANDOVER: Table = Table {
    name: "Handover",
    about: "Handovers of users from cell to cell.",
    kind: None,
    keys: &[
        needed("interval", "interval_ns", TIME, "mean time between two handovers"),
        needed("interruption", "interruption_ns", TIME, "time without service at each handover"),
        needed(
            "is_lossless",
            "is_lossless",
            Form::Flag,
            "packets in transmission are sent again afterwards instead of being lost",
        ),
    ],
};

pub(crate) static CELL_POLICE: Table = Table {
    name: "CellPolice",
    about: "A policer: packets above the rate, beyond the burst, are dropped instead of queued.",
    kind: None,
    keys: &[
        needed("rate", "bits_per_sec", BITS_PER_SEC, "highest rate of packets that may pass"),
        needed("burst", "burst_bytes", BYTES, "largest burst that may pass at once after a pause"),
    ],
};

pub(crate) static CELL_PATH: Table = Table {
    name: "CellPath",
    about: "A radio cell with its users and its core network.",
    kind: Some("cell"),
    keys: &[
        needed(
            "radio",
            "radio",
            Form::Kinds(&[&UMTS, &LTE, &NR], Short::Kind),
            "radio technology with its carrier",
        ),
        needed("downlink", "downlink", Form::Table(&CELL_DIRECTION), "direction towards the users"),
        needed("uplink", "uplink", Form::Table(&CELL_DIRECTION), "direction from the users"),
        optional(
            "access",
            "access",
            Form::Table(&ACCESS),
            "scheduling requests and grants; LTE and NR need it, UMTS has none",
        ),
        needed(
            "users",
            "users",
            Form::Several { item: &CELL_USER, alike: "user" },
            "the users whose flows are measured, or their number",
        ),
        optional(
            "user",
            "",
            Form::OneOrList(&CELL_USER),
            "settings of all users, or a list of tables that users take in turn",
        ),
        usual(
            "background",
            "background",
            Form::List(&Form::Table(&BACKGROUND)),
            "[]",
            "background users, which only take capacity",
        ),
        optional(
            "rrc",
            "rrc",
            Form::Table(&RRC),
            "sleep and wake-up of silent users; always awake if absent",
        ),
        optional(
            "handover",
            "handover",
            Form::Table(&HANDOVER),
            "handovers between cells; none \
            if absent",
        ),
        optional(
            "police",
            "police",
            Form::Table(&CELL_POLICE),
            "policer: rate that each user may receive; the excess is dropped where it enters the \
             network",
        ),
    ],
};
