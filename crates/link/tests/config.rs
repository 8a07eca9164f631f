//! The JSON of a stage.

use core::num::NonZeroU32;

use cwndlab_link::{
    DualPi2Config, FqCodelConfig, JitterConfig, LossConfig, OutageKind, PieConfig, Probability,
    QueueConfig, RateConfig, StageConfig, Transition,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

fn stage(json: &str) -> StageConfig {
    serde_json::from_str(json).expect("a stage")
}

fn error(json: &str) -> String {
    serde_json::from_str::<StageConfig>(json).expect_err("must be refused").to_string()
}

#[test]
fn every_key_has_a_default_and_null_means_it() {
    assert_eq!(stage("{}"), StageConfig::default());
    let nulls = r#"{"rate": null, "queue": null, "delay_ns": null, "jitter": null, "loss": null,
        "framing_bytes": null, "outages": null, "schedule": null, "transition": null}"#;
    assert_eq!(stage(nulls), StageConfig::default());
}

#[test]
fn the_plain_stage_of_the_scenario_format_is_read() {
    let stage = stage(
        r#"{"rate": {"kind": "fixed", "bits_per_sec": 10000000},
            "queue": {"kind": "drop_tail", "packets": 50, "bytes": null},
            "delay_ns": 20000000, "jitter": null, "loss": null, "framing_bytes": 14,
            "outages": [], "schedule": [], "transition": "retime"}"#,
    );
    assert_eq!(stage.rate, RateConfig::Fixed { rate: Rate::from_mbit_per_sec(10) });
    assert_eq!(stage.queue, QueueConfig::DropTail { packets: Some(50), bytes: None });
    assert_eq!(stage.delay, Duration::from_millis(20));
    assert_eq!(stage.framing_bytes, Some(14));
}

/// Stages that together use every kind of setting.
const STAGES: [&str; 9] = [
    r#"{"rate": {"kind": "unlimited"}, "jitter": {"kind": "uniform", "max_ns": 5},
        "loss": {"kind": "iid", "ppb": 10000000}, "transition": "keep"}"#,
    r#"{"rate": {"kind": "token_bucket", "bits_per_sec": 5, "burst_bytes": 1600},
        "queue": {"kind": "red", "min_bytes": 1, "max_bytes": 2}}"#,
    r#"{"rate": {"kind": "mahimahi", "path": "a"}, "queue": {"kind": "codel"}}"#,
    r#"{"rate": {"kind": "log", "path": "b", "hold": false},
        "queue": {"kind": "step", "mark_packets": 20, "packets": 100}}"#,
    r#"{"queue": {"kind": "red", "min_bytes": 30280, "max_bytes": 30281, "limit_bytes": 151400,
        "max_probability_ppb": 1000000000, "weight_shift": 1, "idle_packet_ns": null, "ecn": true,
        "gentle": false, "hard_drop": false},
        "loss": {"kind": "gilbert_elliott", "p_ppb": 1, "r_ppb": 2, "loss_good_ppb": 3,
        "loss_bad_ppb": 4}}"#,
    r#"{"jitter": {"kind": "normal", "sigma_ns": 7},
        "outages": [{"start_ns": 1, "stop_ns": 2, "kind": "hold"}, {"start_ns": 3, "stop_ns": 4}],
        "schedule": [{"at_ns": 5, "bits_per_sec": 6, "delay_ns": 7,
        "loss": {"kind": "iid", "ppb": 0}}, {"at_ns": 8}]}"#,
    r#"{"queue": {"kind": "fq_codel"}}"#,
    r#"{"queue": {"kind": "pie", "packets": 1000}}"#,
    r#"{"queue": {"kind": "dualpi2", "packets": 10000}}"#,
];

#[test]
fn what_is_written_is_read_again() {
    for json in STAGES {
        let stage = stage(json);
        let written = serde_json::to_string(&stage).expect("a stage can be written");
        assert_eq!(self::stage(&written), stage, "{written}");
    }
}

#[test]
fn settings_have_their_documented_defaults() {
    let codel = stage(STAGES[2]).queue;
    let expected = QueueConfig::Codel {
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: false,
        packets: None,
        bytes: None,
    };
    assert_eq!(codel, expected);
    let fq_codel = FqCodelConfig {
        queues: NonZeroU32::new(1024).expect("the constant is greater than 0"),
        quantum: Bytes(1514),
        target: Duration::from_millis(5),
        interval: Duration::from_millis(100),
        ecn: true,
        packets: None,
        bytes: None,
    };
    assert_eq!(stage(STAGES[6]).queue, QueueConfig::FqCodel(fq_codel));
    let pie = PieConfig {
        target: Duration::from_millis(15),
        burst: Duration::from_millis(150),
        ecn: false,
        packets: Some(1000),
        bytes: None,
    };
    assert_eq!(stage(STAGES[7]).queue, QueueConfig::Pie(pie));
    let dual = DualPi2Config {
        target: Duration::from_millis(15),
        max_rtt: Duration::from_millis(100),
        threshold: Duration::from_micros(800),
        packets: Some(10_000),
        bytes: None,
    };
    assert_eq!(stage(STAGES[8]).queue, QueueConfig::DualPi2(dual));
    let QueueConfig::Red(red) = stage(STAGES[1]).queue else { panic!("must be RED") };
    assert_eq!((red.weight_shift, red.max_probability.ppb(), red.ecn), (9, 20_000_000, false));
    let RateConfig::TokenBucket { burst, .. } = stage(STAGES[1]).rate else {
        panic!("must be a token bucket")
    };
    assert_eq!(burst, Bytes(1_600));
    let log = stage(r#"{"rate": {"kind": "log", "path": "b"}}"#).rate;
    assert_eq!(log, RateConfig::Log { path: "b".to_owned(), hold: true });
    let last = stage(STAGES[5]);
    assert_eq!(last.outages[1].kind, OutageKind::Drop);
    assert_eq!(last.schedule[0].at, Time::from_nanos(5));
    assert_eq!(last.transition, Transition::Retime);
    assert_eq!(last.jitter, Some(JitterConfig::Normal { sigma: Duration::from_nanos(7) }));
    let gilbert = stage(r#"{"loss": {"kind": "gilbert_elliott", "p_ppb": 1, "r_ppb": 2}}"#).loss;
    let Some(LossConfig::GilbertElliott { loss_good, loss_bad, .. }) = gilbert else {
        panic!("must be Gilbert-Elliott")
    };
    assert_eq!((loss_good, loss_bad), (Probability::ZERO, Probability::ONE));
}

#[test]
fn unknown_keys_are_errors_everywhere() {
    for json in [
        r#"{"delay": 5}"#,
        r#"{"rate": {"kind": "unlimited", "x": 1}}"#,
        r#"{"rate": {"kind": "fixed", "bits_per_sec": 1, "x": 1}}"#,
        r#"{"queue": {"kind": "drop_tail", "x": 1}}"#,
        r#"{"queue": {"kind": "red", "min_bytes": 1, "max_bytes": 2, "x": 1}}"#,
        r#"{"queue": {"kind": "fq_codel", "x": 1}}"#,
        r#"{"queue": {"kind": "pie", "x": 1}}"#,
        r#"{"loss": {"kind": "iid", "ppb": 1, "x": 1}}"#,
        r#"{"jitter": {"kind": "uniform", "max_ns": 1, "x": 1}}"#,
        r#"{"outages": [{"start_ns": 1, "stop_ns": 2, "x": 1}]}"#,
        r#"{"schedule": [{"at_ns": 1, "x": 1}]}"#,
    ] {
        assert!(error(json).contains("unknown field"), "{json}: {}", error(json));
    }
    assert!(error(r#"{"rate": {"kind": "fast"}}"#).contains("unknown variant"));
    assert!(error(r#"{"queue": {"kind": "fq_codel", "queues": 0}}"#).contains("nonzero"));
    assert!(error(r#"{"transition": "jump"}"#).contains("unknown variant"));
}

#[test]
fn a_probability_above_one_is_refused_with_its_value() {
    let message = error(r#"{"loss": {"kind": "iid", "ppb": 1000000001}}"#);
    assert!(message.contains("1000000001 parts per billion"), "{message}");
    assert!(error(r#"{"loss": {"kind": "iid", "ppb": -1}}"#).contains("invalid value"));
    assert!(error(r#"{"delay_ns": -5}"#).contains("invalid value"));
}
