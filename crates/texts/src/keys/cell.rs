//! Keys of a radio cell. The module `cellular` of the simulator's links cites the sources.

use super::queue::{
    ACK_FILTER, ACK_THINNING, CODEL, DUAL_PI2, EARLY_DISCARD, FQ_CODEL, PIE, POLICE_KEYS,
};
use super::radio::{LTE, NR, UMTS};
use crate::table::{
    BYTES, COUNT, FEW_BYTES, Form, MILLIHERTZ, PPB, RATIO, SMALL, Short, TIME, Table, needed,
    optional, usual,
};

pub(crate) static ACKNOWLEDGED: Table = Table {
    name: "Acknowledged",
    about: "Acknowledged mode: RLC retransmits blocks that HARQ did not deliver.",
    kind: Some("acknowledged"),
    keys: &[needed(
        "recovery",
        "recovery_ns",
        TIME,
        "time from the last failed HARQ transmission of a block until RLC can retransmit the \
        data of the block",
    )],
};

pub(crate) static UNACKNOWLEDGED: Table = Table {
    name: "Unacknowledged",
    about: "Unacknowledged mode: RLC waits a limited time for missing blocks, then skips them.",
    kind: Some("unacknowledged"),
    keys: &[needed(
        "reordering",
        "reordering_ns",
        TIME,
        "time for which RLC waits for a missing block before it skips the block (reordering timer)",
    )],
};

pub(crate) static TRANSPARENT: Table = Table {
    name: "Transparent",
    about: "Transparent mode: RLC neither retransmits lost blocks nor restores the order of \
        blocks.",
    kind: Some("transparent"),
    keys: &[],
};

pub(crate) static ROUND_ROBIN: Table = Table {
    name: "RoundRobin",
    about: "Round robin: users are served one after the other, with equal shares of the carrier.",
    kind: Some("round_robin"),
    keys: &[],
};

pub(crate) static MAX_CI: Table = Table {
    name: "MaxCi",
    about: "Max C/I: in each interval, the user with the best channel is served.",
    kind: Some("max_ci"),
    keys: &[],
};

pub(crate) static PROPORTIONAL_FAIR: Table = Table {
    name: "ProportionalFair",
    about: "Proportional fair: in each interval, the user with the highest ratio of possible rate \
        to average rate is served.",
    kind: Some("proportional_fair"),
    keys: &[needed(
        "window",
        "window",
        COUNT,
        "number of scheduling intervals over which the rate of a user is averaged",
    )],
};

pub(crate) static FIXED_SCHEME: Table = Table {
    name: "FixedScheme",
    about: "A fixed modulation and coding scheme; for HSDPA, its number is the channel quality \
        indicator minus 1.",
    kind: Some("fixed"),
    keys: &[needed(
        "scheme",
        "scheme",
        SMALL,
        "number of the modulation and coding scheme in the \
        table of the radio technology",
    )],
};

pub(crate) static OUTER_LOOP: Table = Table {
    name: "OuterLoop",
    about: "Outer loop of the link adaptation: adds a margin to the reported channel quality, and \
        adapts the margin continually to keep the share of failed blocks at a target.",
    kind: None,
    keys: &[
        needed(
            "target",
            "target_ppb",
            PPB,
            "intended share of blocks whose first transmission fails",
        ),
        needed(
            "step",
            "step_mdb",
            RATIO,
            "change of the margin that the outer loop adds to the reported channel quality: when \
             the first transmission of a block fails, the margin is lowered by this amount; when \
             it succeeds, the margin is raised by an amount that follows from `target`",
        ),
    ],
};

pub(crate) static REPORTS: Table = Table {
    name: "Reports",
    about: "The modulation and coding scheme follows the reported channel quality.",
    kind: Some("reports"),
    keys: &[
        needed("period", "period_ns", TIME, "time between two channel quality reports"),
        needed(
            "delay",
            "delay_ns",
            TIME,
            "time from a measurement of the channel quality until the sender uses it for link \
             adaptation",
        ),
        optional(
            "outer_loop",
            "outer_loop",
            Form::Table(&OUTER_LOOP),
            "outer loop that corrects the reported channel quality to keep the share of failed \
             blocks at a target; if absent, the reported quality is not corrected",
        ),
    ],
};

pub(crate) static CURVES: Table = Table {
    name: "Curves",
    about: "Transport blocks fail with a probability that depends on their modulation and coding \
        scheme and on the state of the channel (error curves).",
    kind: Some("curves"),
    keys: &[],
};

pub(crate) static GIVEN: Table = Table {
    name: "Given",
    about: "Transport blocks fail with given probabilities, regardless of the channel.",
    kind: Some("given"),
    keys: &[needed(
        "shares",
        "ppb",
        Form::List(&PPB),
        "probability that the first transmission of a block fails, then the probability for the \
         second transmission, and so on; the last value also applies to all later transmissions",
    )],
};

pub(crate) static CELL_DIRECTION: Table = Table {
    name: "CellDirection",
    about: "Settings of one direction, downlink or uplink, of a cell.",
    kind: None,
    keys: &[
        usual(
            "core_delay",
            "core_delay_ns",
            TIME,
            r#""0 s""#,
            "one-way delay of the core network, between the cell and the server's end of the link",
        ),
        usual(
            "core_jitter",
            "core_jitter_ns",
            TIME,
            r#""0 s""#,
            "upper limit of a random delay that is added to core_delay; this delay is uniformly \
             distributed from 0 to the limit, and packets keep their order",
        ),
        usual(
            "core_frame",
            "core_frame_ns",
            TIME,
            r#""0 s""#,
            "period of the core network: packets leave the core only at multiples of this period; \
             0 means that packets can leave at any time",
        ),
        optional(
            "queue_packets",
            "queue_packets",
            COUNT,
            "maximum number of packets in each user's queue; if absent, there is no limit",
        ),
        optional(
            "queue",
            "queue_bytes",
            BYTES,
            "maximum number of bytes in each user's queue; if absent, there is no limit",
        ),
        optional(
            "discard",
            "discard_ns",
            TIME,
            "maximum waiting time of packets in the queue, after which they are discarded; if \
             absent, packets may wait without limit",
        ),
        optional(
            "early_discard",
            "early_discard",
            Form::Table(&EARLY_DISCARD),
            "early discard of single packets when the queue is long; if absent, there is no early \
             discard",
        ),
        optional(
            "aqm",
            "aqm",
            Form::Kinds(&[&CODEL, &FQ_CODEL, &PIE, &DUAL_PI2], Short::Kind),
            "active queue management of each user's queue: codel, fq_codel, pie or dualpi2; if \
             absent, the queue is drop-tail",
        ),
        ACK_FILTER,
        ACK_THINNING,
        usual(
            "residual_loss",
            "residual_loss_ppb",
            PPB,
            r#""0 %""#,
            "share of packets that are lost before they reach the queue, for example on a serial \
             line; this loss does not depend on the radio channel",
        ),
        usual(
            "rlc",
            "rlc",
            Form::Kinds(&[&ACKNOWLEDGED, &UNACKNOWLEDGED, &TRANSPARENT], Short::Kind),
            r#"{"kind": "acknowledged", "recovery": "80 ms"}"#,
            "mode of radio link control (RLC), which determines what happens to blocks that HARQ \
             did not deliver",
        ),
        usual(
            "scheduler",
            "scheduler",
            Form::Kinds(&[&ROUND_ROBIN, &MAX_CI, &PROPORTIONAL_FAIR], Short::Kind),
            r#"{"kind": "round_robin"}"#,
            "scheduler, which decides which users are served in each interval",
        ),
        needed(
            "adaptation",
            "adaptation",
            Form::Kinds(&[&FIXED_SCHEME, &REPORTS], Short::Kind),
            "link adaptation: choice of the modulation and coding scheme for each transmission",
        ),
        usual(
            "block_errors",
            "block_errors",
            Form::Kinds(&[&CURVES, &GIVEN], Short::Kind),
            r#"{"kind": "curves"}"#,
            "model of block errors, which determines which transmissions of blocks fail",
        ),
        usual(
            "transmissions",
            "transmissions",
            SMALL,
            "4",
            "maximum number of HARQ transmissions of a block, including the first transmission",
        ),
        usual(
            "feedback_error",
            "feedback_error_ppb",
            PPB,
            r#""0 %""#,
            "share of failed blocks whose NACK the sender mistakes for an ACK; HARQ does not \
             retransmit these blocks, so RLC has to recover them",
        ),
    ],
};

pub(crate) static ACCESS_REPORTS: Table = Table {
    name: "AccessReports",
    about: "Timers of the buffer status reports in the uplink.",
    kind: None,
    keys: &[
        needed(
            "period",
            "period_ns",
            TIME,
            "time between two buffer status reports of a user that is sending (periodicBSR-Timer)",
        ),
        needed(
            "repeat",
            "repeat_ns",
            TIME,
            "time since its last buffer status report after which a user without a grant repeats \
             the report (retxBSR-Timer)",
        ),
    ],
};

pub(crate) static ACCESS: Table = Table {
    name: "Access",
    about: "Uplink access in LTE and NR: how a user requests transmission grants.",
    kind: None,
    keys: &[
        needed(
            "request_period",
            "request_period_ns",
            TIME,
            "time between two opportunities of a user to send a scheduling request",
        ),
        optional(
            "first_grant",
            "first_grant_bytes",
            FEW_BYTES,
            "size of the first grant after a scheduling request; if absent, this grant covers \
             all waiting data",
        ),
        usual(
            "keep_alive",
            "keep_alive_ns",
            TIME,
            r#""0 s""#,
            "time for which a user whose queue has become empty continues to get grants without a \
             request; each of these grants is as large as the first grant after a request",
        ),
        optional(
            "reports",
            "reports",
            Form::Table(&ACCESS_REPORTS),
            "timers of the users' buffer status reports; if absent, every uplink block carries a \
             report",
        ),
    ],
};

pub(crate) static FADING: Table = Table {
    name: "Fading",
    about: "Fast fading of a radio channel.",
    kind: None,
    keys: &[
        needed(
            "doppler",
            "doppler_mhz",
            MILLIHERTZ,
            "maximum Doppler shift: speed of the user divided by the wavelength",
        ),
        needed(
            "branches",
            "branches",
            SMALL,
            "number of independent diversity branches, such as receive antennas, whose powers are \
             averaged; more branches mean weaker fading",
        ),
        optional(
            "rice",
            "rice_mdb",
            RATIO,
            "K factor of Rician fading: ratio of the power of the direct path to the power of the \
             scattered paths; if absent, Rayleigh fading",
        ),
    ],
};

pub(crate) static DRIFT: Table = Table {
    name: "Drift",
    about: "Slow fading: a variation of the mean signal to interference and noise ratio, such as \
        shadowing.",
    kind: None,
    keys: &[
        needed("sigma", "sigma_mdb", RATIO, "standard deviation of the slow fading"),
        needed("correlation", "correlation_ns", TIME, "correlation time of the slow fading"),
    ],
};

pub(crate) static CELL_USER: Table = Table {
    name: "CellUser",
    about: "A user of a cell; the flows of this user are measured.",
    kind: None,
    keys: &[
        needed(
            "downlink",
            "downlink_mdb",
            RATIO,
            "mean signal to interference and noise ratio of the user's downlink",
        ),
        needed(
            "uplink",
            "uplink_mdb",
            RATIO,
            "mean signal to interference and noise ratio of the user's uplink",
        ),
        optional(
            "fading",
            "fading",
            Form::Table(&FADING),
            "fast fading of the user's channel; downlink and uplink fade independently of each \
             other; if absent, the channel has no fast fading",
        ),
        usual(
            "drifts",
            "drifts",
            Form::List(&Form::Table(&DRIFT)),
            "[]",
            "slow fading: variations of the mean signal to interference and noise ratio, equal in \
             both directions",
        ),
    ],
};

pub(crate) static BACKGROUND: Table = Table {
    name: "Background",
    about: "Background users of a cell: their traffic uses capacity and is not measured.",
    kind: None,
    keys: &[
        needed(
            "users",
            "users",
            Form::Whole { least: 1, most: 65_535 },
            "number of background users with these settings",
        ),
        needed(
            "way",
            "way",
            Form::Word(&["down", "up"]),
            "direction of the background users' \
            data: down is the downlink, up is the uplink",
        ),
        needed(
            "lowest",
            "lowest_mdb",
            RATIO,
            "mean signal to interference and noise ratio of the background user with the worst \
             channel; the ratios of the users in this table are evenly spaced from `lowest` to \
             `highest`",
        ),
        needed(
            "highest",
            "highest_mdb",
            RATIO,
            "mean signal to interference and noise ratio of the background user with the best \
             channel",
        ),
        optional(
            "fading",
            "fading",
            Form::Table(&FADING),
            "fast fading of each background user's channel; if absent, these channels have no \
             fast fading",
        ),
        needed(
            "on",
            "on_ns",
            TIME,
            "mean duration of a period in which a background user needs \
            capacity",
        ),
        usual(
            "off",
            "off_ns",
            TIME,
            r#""0 s""#,
            "mean duration of a period in which a background user needs no capacity; 0 means that \
             every background user always needs capacity",
        ),
    ],
};

pub(crate) static RRC: Table = Table {
    name: "Rrc",
    about: "Connection states (RRC) and discontinuous reception (DRX): how a user without \
        traffic sleeps and wakes up.",
    kind: None,
    keys: &[
        optional(
            "drx_after",
            "drx_after_ns",
            TIME,
            "time without traffic after which the user sleeps between periodic listening windows \
             (DRX); if absent, a connected user always listens",
        ),
        usual(
            "drx_cycle",
            "drx_cycle_ns",
            TIME,
            r#""0 s""#,
            "period of the listening windows of a user in DRX",
        ),
        needed(
            "inactivity",
            "inactivity_ns",
            TIME,
            "time without traffic after which the RRC state of the user changes from connected to \
             idle",
        ),
        needed(
            "promotion_least",
            "promotion_least_ns",
            TIME,
            "minimum time that a user needs to \
            change from idle to connected",
        ),
        needed(
            "promotion_most",
            "promotion_most_ns",
            TIME,
            "maximum time that a user needs to \
            change from idle to connected; the time is uniformly distributed between minimum and \
            maximum",
        ),
        needed(
            "paging_cycle",
            "paging_cycle_ns",
            TIME,
            "time between two paging occasions of an \
            idle user",
        ),
    ],
};

pub(crate) static HANDOVER: Table = Table {
    name: "Handover",
    about: "Handovers of users between cells.",
    kind: None,
    keys: &[
        needed("interval", "interval_ns", TIME, "mean time between two handovers of a user"),
        needed(
            "interruption",
            "interruption_ns",
            TIME,
            "time during each handover in which the \
            user is not served",
        ),
        needed(
            "is_lossless",
            "is_lossless",
            Form::Flag,
            "whether packets that are in transmission at a handover are sent again afterwards \
             (lossless) or lost (seamless)",
        ),
    ],
};

pub(crate) static CELL_POLICE: Table = Table {
    name: "CellPolice",
    about: "A policer (token bucket): packets that exceed the rate and the burst are dropped \
        instead of queued.",
    kind: None,
    keys: POLICE_KEYS,
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
            "radio technology (UMTS, LTE or NR) and its carrier",
        ),
        needed(
            "downlink",
            "downlink",
            Form::Table(&CELL_DIRECTION),
            "settings of the downlink, \
            from the base station to the users",
        ),
        needed(
            "uplink",
            "uplink",
            Form::Table(&CELL_DIRECTION),
            "settings of the uplink, from \
            the users to the base station",
        ),
        optional(
            "access",
            "access",
            Form::Table(&ACCESS),
            "scheduling requests and grants of the uplink; required for LTE and NR, not \
             available for UMTS",
        ),
        needed(
            "users",
            "users",
            Form::Several { item: &CELL_USER, alike: "user" },
            "users whose flows are measured: a table for each user, or only the number of users",
        ),
        optional(
            "user",
            "",
            Form::OneOrList(&CELL_USER),
            "settings of the users: one table for all users, or a list of tables that are assigned \
             to the users in turn, repeatedly if there are more users than tables",
        ),
        usual(
            "background",
            "background",
            Form::List(&Form::Table(&BACKGROUND)),
            "[]",
            "background users, whose traffic uses capacity and is not measured",
        ),
        optional(
            "rrc",
            "rrc",
            Form::Table(&RRC),
            "sleep and wake-up of users without traffic; if absent, users never sleep",
        ),
        optional(
            "handover",
            "handover",
            Form::Table(&HANDOVER),
            "handovers of users between cells; if absent, users stay in their cell",
        ),
        optional(
            "police",
            "police",
            Form::Table(&CELL_POLICE),
            "policer of each user's downlink: packets that exceed the rate are dropped where \
             they enter the operator's network",
        ),
    ],
};
