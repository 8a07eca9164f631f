//! The rules of RFC 8033, one by one.

use cwndlab_units::Bytes;

use super::*;

fn config() -> PieConfig {
    PieConfig {
        target: Duration::from_millis(15),
        burst: Duration::from_millis(150),
        ecn: true,
        packets: None,
        bytes: None,
    }
}

fn pie(config: &PieConfig) -> Pie {
    Pie::new(config, Stream::new(1, "forward.0.pie"))
}

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

const ECT: Arrival = Arrival { bytes: 1500, is_ecn_capable: true, idle_since: None };
const NOT_ECT: Arrival = Arrival { bytes: 1500, is_ecn_capable: false, idle_since: None };
const QUEUE: Backlog = Backlog { packets: 20, bytes: 30_000 };

/// Queues a packet that will have waited `millis` when it is dequeued at `now`, and three that
/// stay.
fn wait_of(pie: &mut Pie, now: Time, millis: u64) {
    pie.waiting.clear();
    pie.queued(now - Duration::from_millis(millis), now);
    (0..3).for_each(|_| pie.queued(now, Time::NEVER));
}

/// Makes one update with this delay.
fn update(pie: &mut Pie, millis: u64) {
    pie.next_update = pie.next_update.max(ms(3_000));
    let now = pie.next_update;
    wait_of(pie, now, millis);
    pie.update_until(now);
}

#[test]
fn the_probability_moves_by_the_control_law_and_its_table() {
    for (probability, divisor) in [
        (0.0, 2048.0),
        (0.000_005, 512.0),
        (0.000_05, 128.0),
        (0.000_5, 32.0),
        (0.005, 8.0),
        (0.05, 2.0),
        (0.3, 1.0),
    ] {
        let mut pie = pie(&config());
        pie.drop_probability = probability;
        pie.delay = Duration::from_millis(18);
        update(&mut pie, 20);
        // alpha (20 - 15) ms + beta (20 - 18) ms.
        let expected = probability + (0.125 * 0.005 + 1.25 * 0.002) / divisor;
        assert!((pie.drop_probability - expected).abs() < 1e-12, "{probability}");
        assert_eq!(pie.delay, Duration::from_millis(20));
        update(&mut pie, 12);
        assert!(pie.drop_probability < expected, "falls with the delay");
    }
}

#[test]
fn a_large_probability_grows_by_no_more_than_two_per_cent_at_once() {
    for (probability, expected) in [(0.1, 0.12), (0.09, 0.09 + (0.125 * 0.485 + 1.25 * 0.5) / 2.0)]
    {
        let mut pie = pie(&config());
        pie.drop_probability = probability;
        update(&mut pie, 500);
        assert!((pie.drop_probability - expected).abs() < 1e-12, "{probability}");
    }
    let mut pie = pie(&config());
    pie.drop_probability = 0.999;
    (0..3).for_each(|_| update(&mut pie, 900));
    assert_eq!(pie.drop_probability, 1.0);
}

#[test]
fn the_probability_decays_where_nobody_waits() {
    let mut pie = pie(&config());
    pie.drop_probability = 0.5;
    pie.update_until(ms(15));
    let expected = (0.5 - 0.125 * 0.015) * 0.98;
    assert!((pie.drop_probability - expected).abs() < 1e-12);
    pie.update_until(ms(3_000));
    assert_eq!(pie.drop_probability, 0.0);
    assert_eq!(pie.burst_allowance, Duration::ZERO);
}

#[test]
fn updates_that_were_missed_are_made_up_for_exactly() {
    let mut punctual = pie(&config());
    let mut late = pie(&config());
    for pie in [&mut punctual, &mut late] {
        pie.drop_probability = 0.2;
        pie.burst_allowance = Duration::ZERO;
        // Fifty packets with 1 ms in service each, and a late one.
        (0..50).for_each(|number| pie.queued(ms(1), ms(1 + number)));
        pie.queued(ms(40), ms(80));
    }
    (0..7_000).for_each(|now| punctual.update_until(ms(now)));
    late.update_until(ms(6_999));
    assert_eq!(late.drop_probability, punctual.drop_probability);
    assert_eq!(late.next_update, punctual.next_update);
    assert_eq!(late.next_update, ms(7_005));
    assert_eq!((late.delay, late.burst_allowance), (punctual.delay, punctual.burst_allowance));
    // An hour of silence does not need 240,000 steps: nothing changes any more.
    assert!(late.is_at_rest());
    late.update_until(ms(3_600_001));
    assert_eq!(late.next_update, ms(3_600_015));
}

#[test]
fn silence_brings_back_the_allowance_and_ends_the_delay() {
    let mut pie = pie(&config());
    pie.burst_allowance = Duration::from_millis(30);
    pie.update_until(ms(15));
    assert_eq!(pie.burst_allowance, Duration::from_millis(15));
    pie.admit(ms(16), QUEUE, ECT);
    assert_eq!(pie.burst_allowance, pie.burst);
    pie.delay = Duration::from_millis(7);
    pie.update_until(ms(30));
    assert_eq!(pie.delay, Duration::ZERO);
}

#[test]
fn the_delay_is_that_of_the_last_turn_and_none_if_nobody_waits() {
    let mut pie = pie(&config());
    pie.queued(ms(1), ms(9));
    pie.queued(ms(2), ms(14));
    pie.queued(ms(3), ms(20));
    pie.update_until(ms(15));
    assert_eq!(pie.delay, Duration::from_millis(12), "the turn at 14 ms");
    pie.update_until(ms(30));
    assert_eq!(pie.delay, Duration::ZERO);
}

/// Share of the arrivals accepted in this state.
fn let_in(pie: &mut Pie, arrival: Arrival) -> f64 {
    let now = pie.next_update - Duration::from_millis(1);
    let taken = (0..20_000).filter(|_| pie.admit(now, QUEUE, arrival) == Verdict::Accept);
    taken.count() as f64 / 20_000.0
}

/// A queue in a state of congestion.
fn congested(probability: f64) -> Pie {
    let mut pie = pie(&config());
    update(&mut pie, 30);
    pie.burst_allowance = Duration::ZERO;
    pie.drop_probability = probability;
    pie
}

#[test]
fn arrivals_are_dropped_with_the_probability() {
    for probability in [0.01, 0.1, 0.5] {
        let mut pie = congested(probability);
        let dropped = 1.0 - let_in(&mut pie, NOT_ECT);
        let deviation = (probability * (1.0 - probability) / 20_000.0_f64).sqrt();
        assert!((dropped - probability).abs() < 4.0 * deviation, "{probability}: {dropped}");
    }
}

#[test]
fn nothing_is_dropped_early_in_calm() {
    assert!(let_in(&mut congested(0.19), NOT_ECT) < 0.9);
    let mut short = congested(0.19);
    short.delay = Duration::from_millis(7);
    assert_eq!(let_in(&mut short, NOT_ECT), 1.0, "below half the target");
    short.drop_probability = 0.2;
    assert!(let_in(&mut short, NOT_ECT) < 0.9, "but not if the probability is a fifth");
    let mut two = congested(0.9);
    two.waiting.pop_back();
    assert_eq!(let_in(&mut two, NOT_ECT), 1.0, "two packets wait");
}

#[test]
fn capable_packets_are_marked_below_a_tenth_and_dropped_above() {
    let now = |pie: &Pie| pie.next_update - Duration::from_millis(1);
    let verdicts = |mut pie: Pie, arrival| -> Vec<Verdict> {
        let now = now(&pie);
        (0..2_000)
            .map(|_| pie.admit(now, QUEUE, arrival))
            .filter(|&verdict| verdict != Verdict::Accept)
            .collect()
    };
    let dropped = Verdict::Drop(DropReason::Aqm);
    let below = verdicts(congested(0.09), ECT);
    assert!(below.len() > 100 && below.iter().all(|&verdict| verdict == Verdict::Mark));
    let above = verdicts(congested(0.1), ECT);
    assert!(above.len() > 100 && above.iter().all(|&verdict| verdict == dropped));
    assert!(verdicts(congested(0.09), NOT_ECT).iter().all(|&verdict| verdict == dropped));
    let mut deaf = congested(0.09);
    deaf.ecn = false;
    assert!(verdicts(deaf, ECT).iter().all(|&verdict| verdict == dropped));
}

#[test]
fn the_burst_allowance_lasts_150_ms_and_comes_back_with_calm() {
    let mut pie = pie(&config());
    for number in 1..=10 {
        pie.drop_probability = 0.9;
        let now = pie.next_update - Duration::from_millis(1);
        assert_eq!(pie.admit(now, QUEUE, NOT_ECT), Verdict::Accept, "update {number}");
        update(&mut pie, 200);
    }
    assert_eq!(pie.burst_allowance, Duration::ZERO);
    pie.drop_probability = 0.9;
    assert!(let_in(&mut pie, NOT_ECT) < 0.15);
    // The delay must be small, now and at the last update, and the probability must be 0.
    pie.drop_probability = 0.0;
    let now = pie.next_update;
    wait_of(&mut pie, now - Duration::from_millis(1), 5);
    pie.admit(now - Duration::from_millis(1), QUEUE, NOT_ECT);
    assert_eq!(pie.burst_allowance, Duration::ZERO);
    update(&mut pie, 5);
    pie.drop_probability = 0.0;
    pie.admit(now + Duration::from_millis(1), QUEUE, NOT_ECT);
    assert_eq!(pie.burst_allowance, Duration::from_millis(150));
}

#[test]
fn every_arrival_takes_one_draw() {
    let mut calm = pie(&config());
    let mut busy = congested(0.5);
    for _ in 0..100 {
        calm.admit(ms(1), QUEUE, ECT);
        busy.admit(ms(3_001), QUEUE, NOT_ECT);
    }
    assert_eq!(calm.random, busy.random);
}

#[test]
fn a_full_queue_drops_whatever_the_probability_is() {
    let overflow = Verdict::Drop(DropReason::Overflow);
    let mut packets = pie(&PieConfig { packets: Some(20), ..config() });
    assert_eq!(packets.admit(ms(1), QUEUE, ECT), overflow);
    let mut bytes = pie(&PieConfig { bytes: Some(Bytes(31_499)), ..config() });
    assert_eq!(bytes.admit(ms(1), QUEUE, ECT), overflow);
    let mut room = pie(&PieConfig { bytes: Some(Bytes(31_500)), ..config() });
    assert_eq!(room.admit(ms(1), QUEUE, ECT), Verdict::Accept);
}

/// Decision on each arrival, and the final probability, by RFC 8033 section 4 with the marks of
/// section 5.1 and the limit of section 5.5: a timer every 15 ms and a queue of arrival times, the
/// first of which leaves every `service_us`.
fn by_the_rules(arrivals: &[Time], service_us: u64) -> (Vec<Verdict>, f64) {
    const QDELAY_REF: f64 = 0.015;
    let mut random = Stream::new(1, "forward.0.pie");
    let mut queue: VecDeque<(f64, f64)> = VecDeque::new();
    let (mut free_at, mut current_qdelay, mut qdelay_old) = (0.0_f64, 0.0, 0.0);
    let (mut drop_prob, mut burst_allowance, mut ticks) = (0.0_f64, 0.150_f64, 1_u64);
    let mut verdicts = Vec::new();
    let leave = |queue: &mut VecDeque<(f64, f64)>, until: f64, current_qdelay: &mut f64| {
        while let Some(&(arrived, leaves)) = queue.front()
            && leaves <= until
        {
            *current_qdelay = leaves - arrived;
            queue.pop_front();
        }
    };
    for &arrival in arrivals {
        let now = arrival.as_secs_f64();
        while ticks as f64 * 0.015 <= now {
            leave(&mut queue, ticks as f64 * 0.015, &mut current_qdelay);
            let qdelay = if queue.is_empty() { 0.0 } else { current_qdelay };
            let mut p = 0.125 * (qdelay - QDELAY_REF) + 1.25 * (qdelay - qdelay_old);
            let table = [
                (1e-6, 2048.0),
                (1e-5, 512.0),
                (1e-4, 128.0),
                (1e-3, 32.0),
                (1e-2, 8.0),
                (0.1, 2.0),
            ];
            p /= table.iter().find(|(below, _)| drop_prob < *below).map_or(1.0, |row| row.1);
            if drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            drop_prob += p;
            if qdelay == 0.0 && qdelay_old == 0.0 {
                drop_prob *= 0.98;
            }
            drop_prob = drop_prob.clamp(0.0, 1.0);
            burst_allowance = (burst_allowance - 0.015).max(0.0);
            qdelay_old = qdelay;
            ticks += 1;
        }
        leave(&mut queue, now, &mut current_qdelay);
        let draw = random.unit();
        let qdelay = if queue.is_empty() { 0.0 } else { current_qdelay };
        if drop_prob == 0.0 && qdelay < QDELAY_REF / 2.0 && qdelay_old < QDELAY_REF / 2.0 {
            burst_allowance = 0.150;
        }
        let is_in_burst = burst_allowance > 1e-9;
        let is_calm = qdelay_old < QDELAY_REF / 2.0 && drop_prob < 0.2 || queue.len() <= 2;
        let verdict = if is_in_burst || is_calm || draw >= drop_prob {
            Verdict::Accept
        } else if drop_prob < 0.1 {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Aqm)
        };
        if !matches!(verdict, Verdict::Drop(_)) {
            let begins = free_at.max(now);
            queue.push_back((now, begins));
            free_at = begins + service_us as f64 * 1e-6;
        }
        verdicts.push(verdict);
    }
    (verdicts, drop_prob)
}

#[test]
fn pie_is_the_rfc_packet_by_packet() {
    for (seed, load) in [(1, 1.1), (2, 1.3), (3, 2.0), (4, 0.97)] {
        let mut random = Stream::new(seed, "load");
        let mut at = 0.0;
        let arrivals: Vec<Time> = (0..20_000)
            .map(|number| {
                // In every third second, the load is a fifth.
                let is_calm = number / 1_000 % 3 == 2;
                at += random.exponential(1e6 / load * if is_calm { 5.0 } else { 1.0 });
                Time::from_nanos(at as u64)
            })
            .collect();
        let mut pie = pie(&config());
        let mut free_at = Time::ZERO;
        let mut verdicts = Vec::new();
        for &now in &arrivals {
            let verdict = pie.admit(now, QUEUE, ECT);
            if !matches!(verdict, Verdict::Drop(_)) {
                let begins = free_at.max(now);
                pie.queued(now, begins);
                free_at = begins + Duration::from_micros(1_000);
            }
            verdicts.push(verdict);
        }
        let (expected, drop_prob) = by_the_rules(&arrivals, 1_000);
        let first = verdicts.iter().zip(&expected).position(|(ours, theirs)| ours != theirs);
        assert_eq!(first, None, "load {load}");
        assert!((pie.drop_probability - drop_prob).abs() < 1e-6, "load {load}");
        let marked = verdicts.iter().filter(|&&verdict| verdict == Verdict::Mark).count();
        assert!(load < 1.0 || marked > 10, "load {load}: {marked}");
    }
}

#[test]
fn an_update_between_two_departures_knows_the_first_alone() {
    // Departures that are not known in advance: the update at 15 ms is between the first and the
    // second.
    let mut unknown = pie(&config());
    let mut known = pie(&config());
    for (arrived, leaves) in [(1, 11), (2, 29), (3, 31)] {
        unknown.queued(ms(arrived), Time::NEVER);
        known.queued(ms(arrived), ms(leaves));
    }
    for leaves in [11, 29] {
        unknown.leave(ms(leaves));
        known.update_until(ms(leaves));
        let state = |pie: &Pie| (pie.delay, pie.drop_probability, pie.burst_allowance);
        assert_eq!(state(&unknown), state(&known), "{leaves} ms");
    }
    assert_eq!(unknown.delay, Duration::from_millis(10), "the wait of the first");
}
