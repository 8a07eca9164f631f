//! Compares the ns-2 profiles with runs of ns-2.35 on the chain of the paper lte-ns2-2011: a bulk
//! transfer over 100, 10 and 1 Mbit/s, 2 ms each, with a drop-tail queue of 50 packets.
//!
//! ns-2 adds fractions of a packet to its windows; the algorithms of cwndlab add whole packets.
//! Growth from `w` to `w + 1` takes `w` ACKs in cwndlab and half an ACK more in ns-2, which is 1
//! to 3 % of a period.

use cwndlab_units::Time;

use super::settings::ClassicSettings;
use super::testing::{Run, ns_2_full, ns_2_linux, ns_2_packet, run_chain};

const FIFTY_SECONDS: Time = Time::from_secs(50);

/// Parameters of cwndlab's algorithm that correspond to HSTCP in ns-2, `windowOption_ 8`.
const NS_2_HSTCP: &[(&str, i64)] = &[("computed", 1), ("halve_first", 1)];

fn limited(window_limit_pkts: u32, settings: ClassicSettings) -> ClassicSettings {
    ClassicSettings { window_limit_pkts, ..settings }
}

fn plain_sink(settings: ClassicSettings) -> ClassicSettings {
    ClassicSettings { sack_blocks: 0, ..settings }
}

#[track_caller]
fn assert_near(what: &str, value: f64, expected: f64, tolerance_pct: f64) {
    let off_pct = (value / expected - 1.0) * 100.0;
    assert!(
        off_pct.abs() <= tolerance_pct,
        "{what}: {value:.4}, expected {expected}: {off_pct:.1} %"
    );
}

/// Asserts that all window reductions after `from_s` start from the same window, at equal
/// intervals.
#[track_caller]
fn assert_sawtooth(run: &Run, from_s: f64, peak_pkts: u32, period_s: f64) {
    let cuts: Vec<_> = run.cuts().into_iter().filter(|cut| cut.0 > from_s).collect();
    assert!(cuts.len() >= 3, "{cuts:?}");
    for pair in cuts.windows(2) {
        assert_near("period", pair[1].0 - pair[0].0, period_s, 5.0);
        assert!(pair[0].1.abs_diff(peak_pkts) <= 2, "peak {} instead of {peak_pkts}", pair[0].1);
    }
}

#[test]
fn linux_agent_halves_at_its_limit_and_goes_on_in_a_sawtooth() {
    let run = run_chain(limited(100, ns_2_linux()), "reno", &[], 50, FIFTY_SECONDS);
    assert_near("window of 100", run.first_at_least(100, 0.0), 1.21683, 0.1);
    let thresholds = run.thresholds();
    assert_eq!((thresholds[0].1, thresholds[1].1), (50, 26));
    assert_near("first cut", thresholds[0].0, 1.29144, 0.1);
    assert_near("second cut", thresholds[1].0, 4.46570, 0.1);
    assert_sawtooth(&run, 2.0, 53, 13.888);
    assert!(run.timeouts_s.is_empty());
}

#[test]
fn linux_agent_with_a_plain_sink_knows_only_timeouts() {
    let run = run_chain(limited(100, plain_sink(ns_2_linux())), "reno", &[], 50, FIFTY_SECONDS);
    assert_eq!(run.sender.counters.fast_retransmits, 0);
    for (timeout, expected) in run.timeouts_s.iter().zip([3.45643, 7.44319, 23.51274, 39.25858]) {
        assert_near("timeout", *timeout, expected, 1.5);
    }
    assert_near("first timeout", run.timeouts_s[0], 3.45643, 0.01);
}

#[test]
fn algorithms_of_the_linux_agent_choose_their_first_threshold() {
    let old_cubic = [("hystart", 0), ("beta", 819)];
    for (algorithm, parameters, expected) in
        [("reno", &[][..], 50), ("cubic", &old_cubic, 79), ("highspeed", NS_2_HSTCP, 50)]
    {
        let settings = limited(100, ns_2_linux());
        let run = run_chain(settings, algorithm, parameters, 50, Time::from_secs(3));
        let (at_s, ssthresh) = run.thresholds()[0];
        assert_eq!(ssthresh, expected, "{algorithm}");
        assert_near(algorithm, at_s, 1.29144, 0.1);
    }
}

#[test]
fn linux_agent_keeps_the_bottleneck_busy_under_heavy_loss() {
    // CUBIC's window of 79 exceeds the path by 27 packets: losses, and losses of their repairs.
    let old_cubic = [("hystart", 0), ("beta", 819)];
    let settings = limited(100, ns_2_linux());
    let run = run_chain(settings, "cubic", &old_cubic, 50, FIFTY_SECONDS);
    assert!(run.timeouts_s.is_empty(), "{:?}", run.timeouts_s);
    assert_near("packets delivered", run.sender.una() as f64 / 1500.0, 4011.0, 1.0);
}

#[test]
fn full_tcp_inflates_times_out_and_goes_on_in_a_sawtooth() {
    let run = run_chain(limited(100, ns_2_full()), "reno", &[], 50, FIFTY_SECONDS);
    assert_near("window of 100", run.first_at_least(100, 0.0), 0.48541, 0.1);
    let cuts = run.cuts();
    assert_near("fast retransmit", cuts[0].0, 0.52228, 0.01);
    assert_near("end of inflation", cuts[1].0, 0.75268, 0.01);
    assert_eq!(cuts[1].1, 102, "inflated");
    assert_eq!(run.timeouts_s.len(), 1);
    assert_near("timeout", run.timeouts_s[0], 1.01268, 0.01);
    let thresholds: Vec<u32> = run.thresholds().iter().map(|change| change.1).collect();
    assert_eq!(thresholds[..3], [50, 25, 26]);
    assert_near("slow start ends", run.first_at_least(25, 1.1), 1.26227, 0.1);
    // From here on a peak of 54 and the inflated 78 alternate.
    let later: Vec<_> = cuts.iter().filter(|cut| cut.0 > 2.0).collect();
    for period in later.windows(3) {
        assert_near("period", period[2].0 - period[0].0, 5.396, 5.0);
        let peaks = (period[0].1.min(period[1].1), period[0].1.max(period[1].1));
        assert!(peaks.0.abs_diff(54) <= 2 && peaks.1 == 78, "{peaks:?}");
    }
}

#[test]
fn full_tcp_with_large_segments_is_slower() {
    let settings = ClassicSettings { segment_bytes: 1460, ..limited(100, ns_2_full()) };
    let run = run_chain(settings, "reno", &[], 50, FIFTY_SECONDS);
    assert_near("window of 100", run.first_at_least(100, 0.0), 1.204, 0.1);
    assert_near("fast retransmit", run.cuts()[0].0, 1.27606, 0.1);
    assert_near("timeout", run.timeouts_s[0], 2.49406, 1.0);
}

#[test]
fn hstcp_is_barely_more_than_reno_at_such_windows() {
    let run = run_chain(limited(80, ns_2_packet()), "highspeed", NS_2_HSTCP, 50, FIFTY_SECONDS);
    assert_near("window of 80", run.first_at_least(80, 0.0), 0.98877, 0.1);
    let thresholds = run.thresholds();
    assert_eq!(thresholds[0].1, 40);
    assert_near("first cut", thresholds[0].0, 1.30930, 0.1);
    assert_near("second cut", thresholds[1].0, 8.92292, 0.1);
    assert!(thresholds[1].1.abs_diff(27) <= 1);
    assert_sawtooth(&run, 2.0, 53, 12.65);
}

#[test]
fn sack_agent_as_the_script_prints_it_is_reno_with_sack() {
    let run = run_chain(limited(80, ns_2_packet()), "reno", &[], 50, FIFTY_SECONDS);
    assert_near("second cut", run.thresholds()[1].0, 9.72372, 1.5);
    assert_sawtooth(&run, 2.0, 53, 13.626);
}

#[test]
fn sack_agent_with_a_plain_sink_knows_only_timeouts() {
    let settings = limited(80, plain_sink(ns_2_packet()));
    let run = run_chain(settings, "reno", &[], 50, FIFTY_SECONDS);
    assert_eq!(run.sender.counters.fast_retransmits, 0);
    assert_near("timeout", run.timeouts_s[0], 1.92213, 0.01);
    assert_near("timeout", run.timeouts_s[1], 11.70638, 1.0);
}

#[test]
fn queue_limit_decides_the_first_peak() {
    for (queue, peak, cut_s) in
        [(20, 43, 0.57010), (30, 63, 0.81650), (38, 79, 1.01362), (40, 83, 1.06290)]
    {
        let settings = limited(100, ns_2_packet());
        let run = run_chain(settings, "highspeed", NS_2_HSTCP, queue, Time::from_secs(2));
        let (at_s, from) = run.cuts()[0];
        assert_eq!(from, peak, "queue of {queue}");
        assert_near("first cut", at_s, cut_s, 0.1);
    }
}
