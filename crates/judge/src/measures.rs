//! Goodput and delay of a run, for the goals of bulk transfers.

use core::cmp::Ordering;

/// Queueing delay below which a further reduction hardly matters: the duration of a frame of a
/// call with 50 frames per second.
pub const DELAY_FLOOR_MS: f64 = 20.0;

/// Goodput assumed for a starved flow, because 0 has no logarithm.
pub const STARVED_MBIT_S: f64 = 0.01;

/// Goodput, delay and times of one flow; NaN if undefined.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct FlowFigures {
    /// Goodput of the payload that the application read in the measurement window.
    pub goodput_mbit_s: f64,
    /// 95th percentile of the round-trip time in the measurement window.
    pub rtt_p95_ms: f64,
    /// Minimum round-trip time.
    pub rtt_base_ms: f64,
    /// Time at which the flow ended.
    pub end_s: f64,
    /// Length of the measurement window, which ends with the flow.
    pub window_s: f64,
}

/// Goodput and delay of a run in which one algorithm sends all flows between the same two hosts;
/// NaN if undefined.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RunFigures {
    /// Mean of the logarithms of the flows' goodputs.
    pub log_goodput: f64,
    /// Mean over the flows of the logarithm of (95th percentile of the queueing delay +
    /// [`DELAY_FLOOR_MS`]).
    pub log_queueing_delay: f64,
    /// Goodput of all flows together.
    pub goodput_mbit_s: f64,
    /// Mean over the flows of the 95th percentile of the round-trip time.
    pub rtt_p95_ms: f64,
}

impl RunFigures {
    /// Computes goodput and delay of a run with these flows.
    #[must_use]
    pub fn of(flows: &[FlowFigures]) -> Self {
        let shortest_ms = flows.iter().map(|flow| flow.rtt_base_ms).fold(f64::NAN, f64::min);
        let of_each = |value: &dyn Fn(&FlowFigures) -> f64| mean(flows.iter().map(value));
        Self {
            log_goodput: of_each(&|flow| {
                let is_starved = flow.goodput_mbit_s < STARVED_MBIT_S;
                libm::log(if is_starved { STARVED_MBIT_S } else { flow.goodput_mbit_s })
            }),
            log_queueing_delay: of_each(&|flow| {
                let delay_ms = (flow.rtt_p95_ms - shortest_ms).max(0.0);
                // A flow that carried nothing is treated as delayed for its whole window.
                let is_starved = flow.rtt_p95_ms.is_nan() && flow.goodput_mbit_s == 0.0;
                let waited_ms = if is_starved { 1000.0 * flow.window_s } else { f64::NAN };
                let known_ms = if flow.rtt_p95_ms.is_nan() { waited_ms } else { delay_ms };
                libm::log(known_ms + DELAY_FLOOR_MS)
            }),
            goodput_mbit_s: together(flows),
            rtt_p95_ms: of_each(&|flow| flow.rtt_p95_ms),
        }
    }
}

/// Natural logarithms, identical on every machine.
#[must_use]
pub fn logarithms(values: &[f64]) -> Vec<f64> {
    values.iter().copied().map(libm::log).collect()
}

/// Mean of the values that are not NaN; NaN if there are none.
fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let known: Vec<f64> = values.filter(|value| !value.is_nan()).collect();
    sum(&known) / known.len() as f64
}

/// A compensated sum (Kahan 1965); the tables of the command line use the same method.
fn sum(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0, 0.0);
    for value in values {
        let rest = value - lost;
        let next = sum + rest;
        lost = (next - sum) - rest;
        sum = next;
    }
    sum
}

/// Goodput of all flows together: their data divided by the time in which at least one flow was
/// measured.
fn together(flows: &[FlowFigures]) -> f64 {
    let mut known: Vec<&FlowFigures> =
        flows.iter().filter(|flow| !flow.goodput_mbit_s.is_nan()).collect();
    let Some(&&first) = known.first() else {
        return f64::NAN;
    };
    if known.len() == 1 {
        return first.goodput_mbit_s;
    }
    let carried: Vec<f64> = known.iter().map(|flow| flow.goodput_mbit_s * flow.window_s).collect();
    let begin_s = |flow: &FlowFigures| flow.end_s - flow.window_s;
    known.sort_by(|a, b| begin_s(a).partial_cmp(&begin_s(b)).unwrap_or(Ordering::Equal));
    let mut covered_s = f64::NEG_INFINITY;
    let mut measured_s = Vec::new();
    for flow in known {
        measured_s.push((flow.end_s - begin_s(flow).max(covered_s)).max(0.0));
        covered_s = covered_s.max(flow.end_s);
    }
    sum(&carried) / sum(&measured_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: FlowFigures = FlowFigures {
        goodput_mbit_s: 4.0,
        rtt_p95_ms: 100.0,
        rtt_base_ms: 20.0,
        end_s: 30.0,
        window_s: 30.0,
    };

    #[test]
    fn queueing_delay_is_over_the_shortest_round_trip_of_the_run() {
        let late = FlowFigures { rtt_base_ms: 60.0, ..FLOW };
        let run = RunFigures::of(&[FLOW, late]);
        assert_eq!(run.log_queueing_delay, libm::log(100.0));
    }

    #[test]
    fn flows_one_after_the_other_do_not_add_up() {
        let second = FlowFigures { end_s: 60.0, ..FLOW };
        assert_eq!(RunFigures::of(&[FLOW, second]).goodput_mbit_s, 4.0);
        assert_eq!(RunFigures::of(&[FLOW, FLOW]).goodput_mbit_s, 8.0);
    }

    #[test]
    fn a_starved_flow_waited_all_along() {
        let starved = FlowFigures { goodput_mbit_s: 0.0, rtt_p95_ms: f64::NAN, ..FLOW };
        let run = RunFigures::of(&[starved]);
        assert_eq!(run.log_goodput, libm::log(STARVED_MBIT_S));
        assert_eq!(run.log_queueing_delay, libm::log(30_020.0));
        assert!(run.rtt_p95_ms.is_nan());
    }
}
