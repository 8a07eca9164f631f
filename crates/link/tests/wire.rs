//! Effects of a wire on packets, one setting at a time.

mod common;

use common::{Frame, MS, Outcome, drain, fixed, ms, run, run_until, take_ahead, us, wire};
use cwndlab_link::{
    Admission, AnyLink, Chain, ConfigError, DropReason, Duplex, JitterConfig, Link, LinkEvent,
    LinkEventKind, LossConfig, OutageConfig, OutageKind, Probability, QueueConfig, RateConfig,
    RateTrace, RedConfig, StageConfig, StageError, Stages, StepConfig, TraceKind, Traces,
    Transition,
};
use cwndlab_units::{Bytes, Duration, Rate, Time};

/// Frames of 1500 bytes that all arrive at one time.
fn burst(at: Time, count: u32) -> Vec<(Time, Frame)> {
    (0..count).map(|number| (at, Frame::new(number, 1500))).collect()
}

fn step(at_ms: u64) -> StepConfig {
    StepConfig { at: ms(at_ms), rate: None, delay: None, loss: None }
}

fn kinds(outcome: &Outcome) -> Vec<(u64, LinkEventKind)> {
    outcome.events.iter().map(|&(at, event)| (at.as_millis(), event.kind)).collect()
}

#[test]
fn the_default_is_a_perfect_wire() {
    let mut link = wire(StageConfig::default());
    assert_eq!(link.wake_time(), Time::NEVER);
    let outcome = run(&mut link, &burst(ms(3), 5), ms(3));
    assert_eq!(outcome.millis(), [3; 5]);
    assert_eq!(outcome.left[0].port, 1);
    let counters = link.counters(0, ms(10));
    assert_eq!(counters.offered, None);
    assert_eq!(counters.queue_max_packets, 0);
    assert_eq!(counters.queue_mean_packets, Some(0.0));
}

#[test]
fn a_packet_arrives_after_queue_service_and_delay() {
    // 1500 bytes and 14 bytes of framing at 12.112 Mbit/s take 1 ms.
    let stage = StageConfig {
        rate: RateConfig::Fixed { rate: Rate::from_kbit_per_sec(12_112) },
        delay: MS * 20,
        framing_bytes: Some(14),
        ..StageConfig::default()
    };
    let mut link = wire(stage);
    let outcome = run(&mut link, &burst(ms(1), 3), ms(100));
    assert_eq!(outcome.millis(), [22, 23, 24]);
    let counters = link.counters(0, ms(100));
    assert_eq!(counters.arrived.bytes, 3 * 1514);
    assert_eq!(counters.offered, Some(Bytes(100 * 1514)));
    assert_eq!(counters.queue_max_packets, 3);
    // 1 + 2 + 3 packet-milliseconds in 100 ms.
    assert_eq!(counters.queue_mean_packets, Some(0.06));
}

#[test]
fn the_queue_limit_counts_the_packet_in_service_as_netem_does() {
    let mut link = wire(fixed(12, Some(3)));
    let admissions: Vec<Admission> =
        burst(ms(0), 5).into_iter().map(|(at, frame)| link.handle_packet(at, 0, frame)).collect();
    use Admission::{Dropped, Queued};
    assert_eq!(admissions, [Queued, Queued, Queued, Dropped, Dropped]);
    // One packet is served at 1 ms, before arrivals at the same time.
    assert_eq!(link.handle_packet(us(999), 0, Frame::new(5, 1500)), Dropped);
    assert_eq!(link.handle_packet(us(1_000), 0, Frame::new(6, 1500)), Queued);
    assert_eq!(link.handle_packet(us(1_000), 0, Frame::new(7, 1500)), Dropped);
    let mut outcome = Outcome::default();
    run_until(&mut link, ms(100), &mut outcome);
    assert_eq!(outcome.numbers(), [0, 1, 2, 6]);
    assert_eq!(outcome.millis(), [1, 2, 3, 4]);
    let overflow =
        |flow| LinkEventKind::Dropped { flow, bytes: 1500, reason: DropReason::Overflow };
    let expected = [(0, overflow(3)), (0, overflow(4)), (0, overflow(5)), (1, overflow(7))];
    assert_eq!(kinds(&outcome), expected);
    let counters = link.counters(0, ms(100));
    assert_eq!((counters.drops.overflow, counters.dropped.bytes), (4, 6_000));
}

#[test]
fn a_byte_limit_leaves_room_for_small_packets() {
    let queue = QueueConfig::DropTail { packets: None, bytes: Some(Bytes(4_600)) };
    let mut link = wire(StageConfig { queue, ..fixed(12, None) });
    let lengths = [1500, 1500, 1500, 1500, 100, 1];
    let admitted: Vec<bool> = lengths
        .iter()
        .map(|&length| link.handle_packet(ms(0), 0, Frame::new(0, length)) == Admission::Queued)
        .collect();
    assert_eq!(admitted, [true, true, true, false, true, false]);
    assert_eq!(link.backlog(0, us(500)).bytes, 4_600);
    assert_eq!(link.backlog(0, us(1_000)).bytes, 3_100);
}

#[test]
fn a_rate_step_retimes_what_is_queued() {
    let slower = StepConfig { rate: Some(Rate::from_mbit_per_sec(6)), ..step(2) };
    let stage = StageConfig { schedule: vec![slower], ..fixed(12, None) };
    let mut link = wire(stage.clone());
    let outcome = run(&mut link, &burst(us(500), 4), ms(100));
    // 1 ms each until 2 ms, when the second is half sent and takes another millisecond.
    let at: Vec<u64> = outcome.left.iter().map(|left| left.at.as_micros()).collect();
    assert_eq!(at, [1_500, 3_000, 5_000, 7_000]);
    assert_eq!(kinds(&outcome), [(2, LinkEventKind::RateChanged(Rate::from_mbit_per_sec(6)))]);

    let mut kept = wire(StageConfig { transition: Transition::Keep, ..stage });
    let mut arrivals = burst(us(500), 4);
    arrivals.push((us(2_000), Frame::new(4, 1500)));
    let at: Vec<u64> =
        run(&mut kept, &arrivals, ms(100)).left.iter().map(|left| left.at.as_micros()).collect();
    assert_eq!(at, [1_500, 2_500, 3_500, 4_500, 6_500]);
}

#[test]
fn a_delay_step_keeps_the_order_unless_it_is_netems() {
    let shorter = StepConfig { delay: Some(MS * 5), ..step(10) };
    let stage = StageConfig { delay: MS * 20, schedule: vec![shorter], ..StageConfig::default() };
    let arrivals = [(ms(9), Frame::new(0, 1500)), (ms(10), Frame::new(1, 1500))];
    let outcome = run(&mut wire(stage.clone()), &arrivals, ms(100));
    assert_eq!((outcome.numbers(), outcome.millis()), (vec![0, 1], vec![29, 29]));
    // netem's queue is sorted by time: the second packet overtakes.
    let mut kept = wire(StageConfig { transition: Transition::Keep, ..stage });
    let outcome = run(&mut kept, &arrivals, ms(100));
    assert_eq!((outcome.numbers(), outcome.millis()), (vec![1, 0], vec![15, 29]));
}

#[test]
fn netem_with_a_rate_lets_nothing_overtake_and_spaces_what_follows() {
    // netem's departure is max(last departure, now + delay) + transmission time.
    let shorter = StepConfig { delay: Some(MS * 5), ..step(10) };
    let stage = StageConfig {
        delay: MS * 20,
        schedule: vec![shorter],
        transition: Transition::Keep,
        ..fixed(12, None)
    };
    let arrivals: Vec<_> = [9, 10, 11, 40].map(|at| (ms(at), Frame::new(at as u32, 1500))).into();
    let outcome = run(&mut wire(stage), &arrivals, ms(100));
    assert_eq!(outcome.millis(), [30, 31, 32, 46]);
}

#[test]
fn jitter_does_not_stop_a_kept_shorter_delay_from_overtaking() {
    let shorter = StepConfig { delay: Some(MS * 5), ..step(10) };
    let stage = StageConfig {
        delay: MS * 20,
        jitter: Some(JitterConfig::Uniform { max: MS }),
        schedule: vec![shorter],
        transition: Transition::Keep,
        ..StageConfig::default()
    };
    let arrival = |number: u32| (us(9_000 + 100 * u64::from(number)), Frame::new(number, 1500));
    let outcome = run(&mut wire(stage), &(0..20).map(arrival).collect::<Vec<_>>(), ms(100));
    let expected: Vec<u32> = (10..20).chain(0..10).collect();
    assert_eq!(outcome.numbers(), expected);
}

#[test]
fn a_drop_outage_loses_what_arrives_and_a_hold_keeps_it() {
    let outage = |kind| OutageConfig { start: ms(2), stop: ms(10), kind };
    let arrivals: Vec<_> =
        (0..12_u32).map(|number| (ms(number.into()), Frame::new(number, 1500))).collect();

    let outages = vec![outage(OutageKind::Drop)];
    let outcome = run(&mut wire(StageConfig { outages, ..fixed(12, None) }), &arrivals, ms(100));
    assert_eq!(outcome.numbers(), [0, 1, 10, 11]);
    assert_eq!(outcome.millis(), [1, 2, 11, 12]);
    let events = kinds(&outcome);
    assert_eq!(events[0], (2, LinkEventKind::OutageBegan(OutageKind::Drop)));
    let lost = LinkEventKind::Dropped { flow: 2, bytes: 1500, reason: DropReason::Outage };
    assert_eq!(events[1], (2, lost));
    assert_eq!(events[events.len() - 1], (10, LinkEventKind::OutageEnded(OutageKind::Drop)));

    let outages = vec![outage(OutageKind::Hold)];
    let mut link = wire(StageConfig { outages, ..fixed(12, Some(5)) });
    let outcome = run(&mut link, &arrivals, ms(100));
    // Five of the eight packets that arrive meanwhile find room, then the queue drains at the rate.
    assert_eq!(outcome.numbers(), [0, 1, 2, 3, 4, 5, 6, 11]);
    assert_eq!(outcome.millis(), [1, 2, 11, 12, 13, 14, 15, 16]);
    assert_eq!(link.counters(0, ms(20)).offered, Some(Bytes(12 * 1500)));
}

#[test]
fn a_loss_step_begins_and_ends_at_its_time() {
    let loss = |ppb| {
        let probability = Probability::from_ppb(ppb).expect("a probability");
        Some(LossConfig::Iid { probability })
    };
    let schedule = vec![
        StepConfig { loss: loss(1_000_000_000), ..step(5) },
        StepConfig { loss: loss(0), ..step(8) },
    ];
    let arrivals: Vec<_> =
        (0..12_u32).map(|number| (ms(number.into()), Frame::new(number, 1500))).collect();
    let mut link = wire(StageConfig { schedule, ..StageConfig::default() });
    let outcome = run(&mut link, &arrivals, ms(100));
    assert_eq!(outcome.numbers(), [0, 1, 2, 3, 4, 8, 9, 10, 11]);
    assert_eq!(link.counters(0, ms(100)).drops.loss, 3);
    let changes =
        kinds(&outcome).iter().filter(|event| event.1 == LinkEventKind::LossChanged).count();
    assert_eq!(changes, 2);
}

#[test]
fn the_reference_s_red_below_a_token_bucket_marks_a_standing_queue_of_20_packets() {
    let stage = StageConfig {
        rate: RateConfig::TokenBucket { rate: Rate::from_mbit_per_sec(10), burst: Bytes(1_600) },
        queue: QueueConfig::Red(RedConfig {
            min: Bytes(30_280),
            max: Bytes(30_281),
            limit: Some(Bytes(151_400)),
            max_probability: Probability::ONE,
            weight_shift: 1,
            idle_packet: None,
            ecn: true,
            gentle: false,
            hard_drop: false,
        }),
        framing_bytes: Some(14),
        ..StageConfig::default()
    };
    // Packets at exactly the rate behind a standing queue: each finds the same backlog.
    let marks = |standing: u32| {
        let mut link = wire(stage.clone());
        let mut outcome = Outcome::default();
        for number in 0..standing {
            link.handle_packet(ms(0), 0, Frame::capable(number, 1500));
        }
        drain(&mut link, ms(0), &mut outcome);
        let mut admissions = Vec::new();
        for number in 0..200 {
            // Right after a departure.
            let at = Time::from_nanos(1_142_400 + 1_211_200 * number);
            run_until(&mut link, at, &mut outcome);
            admissions.push(link.handle_packet(at, 0, Frame::capable(999, 1500)));
        }
        admissions[100..].iter().filter(|&&seen| seen == Admission::Marked).count()
    };
    // The first packet leaves at once, and one more before each arrival.
    assert_eq!(marks(22), 0);
    assert_eq!(marks(23), 100);
}

#[test]
fn statistics_can_begin_after_the_warm_up() {
    let mut link = wire(fixed(12, None));
    let mut outcome = Outcome::default();
    for (at, frame) in burst(ms(0), 10) {
        link.handle_packet(at, 0, frame);
    }
    run_until(&mut link, us(4_500), &mut outcome);
    link.begin_window(us(4_500));
    run_until(&mut link, us(7_500), &mut outcome);
    let counters = link.counters(0, us(7_500));
    assert_eq!(counters.window, MS * 3);
    assert_eq!((counters.arrived.packets, counters.delivered.packets), (0, 3));
    assert_eq!(counters.queue_max_packets, 6);
    // 6 packets for 0.5 ms, 5 and 4 for 1 ms each, 3 for 0.5 ms.
    assert_eq!(counters.queue_mean_packets, Some(13.5 / 3.0));
    assert_eq!(counters.offered, Some(Bytes(4_500)));
}

#[test]
fn a_chain_adds_its_delays_and_its_slowest_link_decides() {
    let stages = [
        StageConfig { delay: MS * 5, ..fixed(24, None) },
        StageConfig { delay: MS * 7, ..fixed(12, Some(3)) },
        StageConfig { delay: MS, ..StageConfig::default() },
    ];
    let mut link: AnyLink<Frame> =
        AnyLink::one_way(&stages, &Traces::new(), 1, "forward").expect("valid settings");
    assert_eq!(link.stages(), 3);
    let outcome = run(&mut link, &burst(ms(0), 6), ms(100));
    // 0.5 ms + 5 ms + 1 ms + 7 ms + 1 ms; then one packet per millisecond, if it finds room.
    let at: Vec<u64> = outcome.left.iter().map(|left| left.at.as_micros()).collect();
    assert_eq!(at, [14_500, 15_500, 16_500, 17_500, 18_500]);
    assert_eq!(link.counters(0, ms(100)).delivered.packets, 6);
    assert_eq!(link.counters(1, ms(100)).drops.overflow, 1);
    assert_eq!(outcome.events.len(), 1);
    assert_eq!(outcome.events[0].1.stage, 1);
}

#[test]
fn both_ways_of_a_duplex_are_independent() {
    let down = wire(StageConfig { delay: MS * 5, ..fixed(12, None) });
    let up = wire(StageConfig { delay: MS * 2, ..fixed(6, None) });
    let mut link = AnyLink::Duplex(Box::new(Duplex::new(down, up)));
    link.handle_packet(ms(0), 0, Frame::new(1, 1500));
    link.handle_packet(ms(0), 1, Frame::new(2, 1500));
    link.handle_packet(ms(0), 0, Frame::new(3, 1500));
    let mut outcome = Outcome::default();
    drain(&mut link, ms(100), &mut outcome);
    let left: Vec<_> =
        outcome.left.iter().map(|left| (left.at.as_millis(), left.port, left.number)).collect();
    assert_eq!(left, [(4, 0, 2), (6, 1, 1), (7, 1, 3)]);
    assert_eq!(link.counters(0, ms(100)).delivered.packets, 2);
    assert_eq!(link.counters(1, ms(100)).delivered.packets, 1);
}

#[test]
fn only_a_packet_under_way_is_certain_to_leave() {
    // 1500 bytes take 1 ms at 12 Mbit/s, and 2 or 3 ms of propagation.
    let [down, up] = [2, 3].map(|millis| {
        wire(StageConfig { delay: Duration::from_millis(millis), ..fixed(12, None) })
    });
    let mut link = AnyLink::Duplex(Box::new(Duplex::new(down, up)));
    let mut outcome = Outcome::default();
    for (port, number) in [(0, 0), (0, 1), (1, 2)] {
        link.handle_packet(ms(0), port, Frame::new(number, 1_500));
    }
    let mut ahead = |now, before| {
        drain(&mut link, now, &mut outcome);
        take_ahead(&mut link, now, before, &mut outcome);
        outcome.left.drain(..).map(|left| (left.at, left.port, left.number)).collect::<Vec<_>>()
    };
    assert_eq!(ahead(us(999), ms(50)), [], "in service");
    assert_eq!(ahead(ms(1), ms(3)), [], "until then, exclusively");
    assert_eq!(ahead(ms(1), us(3_001)), [(ms(3), 1, 0)]);
    assert_eq!(ahead(ms(2), ms(50)), [(ms(4), 1, 1), (ms(4), 0, 2)]);
    // If the delay becomes shorter, netem's packets overtake.
    let shorter = StepConfig { delay: Some(Duration::from_millis(1)), ..step(10) };
    let netem = StageConfig {
        delay: Duration::from_millis(20),
        transition: Transition::Keep,
        schedule: vec![shorter],
        ..StageConfig::default()
    };
    let mut link = wire(netem);
    let mut outcome = Outcome::default();
    link.handle_packet(ms(9), 0, Frame::new(0, 1_500));
    take_ahead(&mut link, ms(9), ms(50), &mut outcome);
    link.handle_packet(ms(11), 0, Frame::new(1, 1_500));
    run_until(&mut link, ms(50), &mut outcome);
    assert_eq!(outcome.numbers(), [1, 0]);
}

#[test]
fn a_chain_of_duplex_links_carries_both_ways() {
    let duplex = |ms| {
        let way = || wire(StageConfig { delay: MS * ms, ..StageConfig::default() });
        AnyLink::Duplex(Box::new(Duplex::new(way(), way())))
    };
    let mut link = Chain::new(vec![duplex(3), duplex(4)]);
    link.handle_packet(ms(0), 0, Frame::new(1, 1500));
    link.handle_packet(ms(1), 1, Frame::new(2, 1500));
    let mut outcome = Outcome::default();
    drain(&mut link, ms(100), &mut outcome);
    let left: Vec<_> =
        outcome.left.iter().map(|left| (left.at.as_millis(), left.port, left.number)).collect();
    assert_eq!(left, [(7, 1, 1), (8, 0, 2)]);
}

#[test]
fn a_throughput_log_serves_at_its_rates() {
    let mut traces = Traces::new();
    let log = b"time_s,rate_mbit_s\n10,12\n11,0\n12,24\n";
    traces.insert("log", RateTrace::parse_log(log).expect("a log"));
    let rate = RateConfig::Log { path: "log".to_owned(), hold: true };
    let stage = StageConfig { rate, ..StageConfig::default() };
    let mut link = AnyLink::one_way(&[stage], &traces, 1, "forward").expect("valid settings");
    let outcome = run(&mut link, &burst(ms(998), 6), ms(10_000));
    let at: Vec<u64> = outcome.left.iter().map(|left| left.at.as_micros()).collect();
    assert_eq!(at, [999_000, 1_000_000, 2_000_500, 2_001_000, 2_001_500, 2_002_000]);
    assert_eq!(link.counters(0, ms(3_000)).offered, Some(Bytes(4_500_000)));
}

#[test]
fn nothing_leaves_a_link_whose_rate_stays_zero() {
    let mut link = wire(fixed(0, Some(5)));
    let outcome = run(&mut link, &burst(ms(0), 7), ms(1_000_000));
    assert!(outcome.left.is_empty());
    assert_eq!(outcome.events.len(), 2);
    assert!(link.poll(ms(1_000_001)).is_none());
    assert!(link.wake_time().is_never());
    let counters = link.counters(0, ms(1_000_000));
    assert_eq!(counters.queue_mean_packets, Some(5.0));
    assert_eq!(counters.offered, Some(Bytes(0)));
}

#[test]
fn the_same_seed_gives_the_same_losses_and_another_stage_others() {
    let lossy = StageConfig {
        loss: Some(LossConfig::Iid {
            probability: Probability::from_ppb(300_000_000).expect("a probability"),
        }),
        ..StageConfig::default()
    };
    let survivors = |seed, name| {
        let mut link: AnyLink<Frame> =
            AnyLink::one_way(std::slice::from_ref(&lossy), &Traces::new(), seed, name)
                .expect("valid settings");
        run(&mut link, &burst(ms(0), 200), ms(1)).numbers()
    };
    assert_eq!(survivors(1, "forward"), survivors(1, "forward"));
    assert_ne!(survivors(1, "forward"), survivors(2, "forward"));
    assert_ne!(survivors(1, "forward"), survivors(1, "reverse"));
}

#[test]
fn contradictions_are_refused_with_their_place() {
    let mut traces = Traces::new();
    traces.insert("log", RateTrace::parse_log(b"0,1\n1,2\n").expect("a log"));
    let refuse = |stage: StageConfig| -> ConfigError {
        let stages = [StageConfig::default(), stage];
        AnyLink::<Frame>::one_way(&stages, &traces, 1, "reverse").expect_err("must be refused")
    };
    let trace = |path: &str| RateConfig::Mahimahi { path: path.to_owned(), light: None };
    let missing = refuse(StageConfig { rate: trace("x"), ..StageConfig::default() });
    assert_eq!(missing.to_string(), "reverse.1: the trace `x` has not been loaded");
    let kind = refuse(StageConfig { rate: trace("log"), ..StageConfig::default() });
    let expected = StageError::WrongTraceKind {
        path: "log".into(),
        found: TraceKind::Log,
        wanted: TraceKind::Mahimahi,
    };
    assert_eq!(kind.problem, expected);
    assert_eq!(
        kind.to_string(),
        "reverse.1: trace `log` is a rate log, but the kind of the rate requires a Mahimahi trace"
    );
    let schedule = vec![StepConfig { rate: Some(Rate::ZERO), ..step(3) }];
    let rate = RateConfig::Log { path: "log".to_owned(), hold: true };
    let change = refuse(StageConfig { rate, schedule: schedule.clone(), ..StageConfig::default() });
    assert_eq!(change.problem, StageError::TraceRateChange(ms(3)));
    let kept = StageConfig { schedule, transition: Transition::Keep, ..fixed(1, None) };
    assert_eq!(refuse(kept).problem, StageError::KeptZeroRate);
    let outages = vec![OutageConfig { start: ms(5), stop: ms(5), kind: OutageKind::Hold }];
    let outage = refuse(StageConfig { outages, ..StageConfig::default() });
    assert_eq!(
        outage.to_string(),
        "reverse.1: an outage starts at 0.005000000 s but stops at 0.005000000 s"
    );
    let rate = RateConfig::TokenBucket { rate: Rate::from_mbit_per_sec(1), burst: Bytes(0) };
    let burst = refuse(StageConfig { rate, ..StageConfig::default() });
    assert_eq!(
        burst.to_string(),
        "reverse.1: a burst of 0 bytes is not possible: use from 1 to \
        1073741824 bytes"
    );
    let queue =
        QueueConfig::Step { mark_bytes: None, mark_packets: None, packets: None, bytes: None };
    let no_step = refuse(StageConfig { queue, ..StageConfig::default() });
    assert_eq!(no_step.problem, StageError::NoStep);
    let queue = |json: &str| StageConfig {
        queue: serde_json::from_str(json).expect("a queue"),
        ..StageConfig::default()
    };
    let quantum = refuse(queue(r#"{"kind": "fq_codel", "quantum_bytes": 0}"#));
    assert_eq!(
        quantum.to_string(),
        "reverse.1: fq_codel: a quantum of 0 bytes; use from 1 to 4,294,967,295 bytes"
    );
    for kind in ["codel", "fq_codel"] {
        let hurried = refuse(queue(&format!(r#"{{"kind": "{kind}", "interval_ns": 0}}"#)));
        assert_eq!(hurried.problem, StageError::CodelInterval);
    }
    for key in ["target_ns", "max_rtt_ns"] {
        let hurried = refuse(queue(&format!(r#"{{"kind": "dualpi2", "{key}": 999999}}"#)));
        assert_eq!(hurried.problem, StageError::DualPi2Times);
    }
}

#[test]
fn events_have_names_flows_and_values() {
    let kind = LinkEventKind::Dropped { flow: 7, bytes: 1514, reason: DropReason::Aqm };
    let event = LinkEvent { stage: 0, kind };
    assert_eq!(event.kind.name(), "aqm_drop");
    assert_eq!((kind.flow(), kind.value()), (Some(7), Some(1514)));
    let changed = LinkEventKind::DelayChanged(Duration::from_micros(5));
    assert_eq!(
        (changed.name(), changed.flow(), changed.value()),
        ("delay_changed", None, Some(5_000))
    );
}
