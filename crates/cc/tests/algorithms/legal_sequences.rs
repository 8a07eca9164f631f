//! The conformance suite for every built-in algorithm, and bounds on the growth of a window.

use cwndlab_cc::{Algorithm, Rule, Suite, check};
use proptest::prelude::*;

use crate::flow::{Flow, RECOVERY};

#[test]
fn every_algorithm_keeps_to_the_contract() {
    for algorithm in Algorithm::all().filter(|a| a.name() != "fixed") {
        if let Err(violation) = check(algorithm, Suite::default()) {
            panic!("{}: {violation}", algorithm.name());
        }
    }
}

#[test]
fn only_a_window_that_ignores_losses_answers_them_with_more() {
    let fixed = Algorithm::by_name("fixed").expect("fixed is there");
    let violation = check(fixed, Suite::default()).expect_err("its threshold is its window");
    assert!(matches!(violation.rule, Rule::RaisedThreshold { .. }), "{violation}");
}

/// Bound on the growth of Illinois from packets counted at a lower alpha, in 1/128 packet.
fn multiplied_by(algorithm: Algorithm) -> u32 {
    let highest = algorithm.parameters().iter().find(|p| p.name == "alpha_max");
    // 128 with a small window
    highest.filter(|_| algorithm.name() == "illinois").map_or(0, |p| p.default.max(128) as u32)
}

#[derive(Clone, Debug)]
enum Step {
    Ack { packets: u32, rtt_us: u32 },
    Loss,
    Timeout,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        8 => (1..200_u32, 1_000..200_000_u32)
            .prop_map(|(packets, rtt_us)| Step::Ack { packets, rtt_us }),
        1 => Just(Step::Loss),
        1 => Just(Step::Timeout),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Each acknowledged packet adds at most about one packet. Exceptions: an ACK in hybla stands
    /// for 2^rho packets, compound's delay window grows once per round trip, and `cong_control`
    /// follows models.
    #[test]
    fn a_window_grows_by_what_is_acknowledged(
        steps in prop::collection::vec(step(), 1..150),
        window in prop_oneof![1..100_u32, 1..1_u32 << 20],
    ) {
        let others = ["fixed", "hybla", "compound"];
        for algorithm in Algorithm::all().filter(|a| !others.contains(&a.name())) {
            let mut flow = Flow::new(algorithm.name(), &[]);
            if flow.congestion.has_cong_control() {
                continue;
            }
            flow.sk.snd_cwnd = window;
            for step in &steps {
                match *step {
                    Step::Loss => flow.reduce(RECOVERY),
                    Step::Timeout => {
                        flow.time_out();
                        flow.open();
                    }
                    Step::Ack { packets, rtt_us } => {
                        flow.advance(u64::from(rtt_us) * 1_000);
                        let packets = packets.min(flow.sk.snd_cwnd);
                        let before = flow.sk.snd_cwnd;
                        let counted = u64::from(flow.sk.snd_cwnd_cnt + packets);
                        let multiplied =
                            counted * u64::from(multiplied_by(algorithm)) / 128 / u64::from(before);
                        flow.ack(packets, rtt_us as i32);
                        let grown = u64::from(flow.sk.snd_cwnd.saturating_sub(before));
                        // credit from slower growth counts as one packet
                        prop_assert!(
                            grown <= multiplied.max(u64::from(packets) + 1),
                            "{}: {packets} acknowledged, grown from {before} by {grown}",
                            algorithm.name()
                        );
                    }
                }
            }
        }
    }
}
