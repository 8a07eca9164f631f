//! An algorithm that draws random numbers, with the ACKs of a real kernel.
//!
//! The kernel's random numbers are not known, but their consequences are. At each draw, the test
//! therefore tries numbers until the window changes as in the kernel; if none succeeds, the
//! algorithms differ.

use crate::replay::{Outcome, Replay, Row};

/// Numbers to try at a draw.
const TRIES: u64 = 400;

/// The result of a replay.
#[derive(Debug)]
pub(crate) struct Chance {
    pub(crate) outcome: Outcome,
    /// ACKs at which the algorithm drew a number.
    pub(crate) draws: usize,
}

/// State before an ACK at which the algorithm drew a number.
struct Draw {
    ack: usize,
    before: Replay,
    tries: u64,
    /// The farthest ACK that a number reached.
    best: Option<(usize, u64)>,
}

/// Replays these rows.
pub(crate) fn replay_by_chance(name: &str, rows: &[Row]) -> Chance {
    let mut replay = Replay::new(name, &[], rows[0]);
    let mut last: Option<Draw> = None;
    let mut draws = 0;
    let mut ack = 0;
    while ack < rows.len() - 1 && !rows[ack].is_timer_next {
        let before = replay.clone();
        replay.step(ack, rows);
        let is_equal = replay.outcome.differences.len() == before.outcome.differences.len();
        let is_draw = replay.flow.sk.cc_random != before.flow.sk.cc_random;
        if is_draw && last.as_ref().is_none_or(|draw| draw.ack < ack) {
            draws += 1;
            last = Some(Draw { ack, before, tries: 0, best: None });
        }
        ack += 1;
        let Some(draw) = last.as_mut().filter(|draw| !is_equal && draw.tries <= TRIES) else {
            continue;
        };
        // it may be due to the last draw: repeats that with another number
        let seed = draw.before.flow.sk.cc_random.wrapping_add(draw.tries);
        if draw.best.is_none_or(|(farthest, _)| ack > farthest) {
            draw.best = Some((ack, seed));
        }
        draw.tries += 1;
        let best = draw.best.map_or(seed, |(_, best)| best);
        replay = draw.before.clone();
        ack = draw.ack;
        let next = replay.flow.sk.cc_random.wrapping_add(draw.tries);
        replay.flow.sk.cc_random = if draw.tries <= TRIES { next } else { best };
    }
    Chance { outcome: replay.outcome, draws }
}
