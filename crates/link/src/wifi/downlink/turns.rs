//! Which station of an access point is served next.
//!
//! ```text
//!   by frames      [ 3 ] [ 1 ] [ 2 ]   the first is served, and then goes to the end
//!   by airtime     [ 3 ] [ 1 ] [ 2 ]   the first is served until it has used up its time,
//!                                      and then goes to the end with a new quantum
//! ```
//!
//! Deficit round robin in airtime (Høiland-Jørgensen et al. 2017, algorithm 3): a station's deficit
//! is in time, and what it is sent and sends is taken from it when it is known how long that took. A
//! station that had nothing comes back at the head, so that who seldom needs the air has it at once
//! (section 3.2, as mac80211 does it: without a second list).

use std::collections::VecDeque;

use cwndlab_units::Duration;

#[derive(Clone, Debug)]
pub(super) struct Turns {
    order: VecDeque<usize>,
    stations: Vec<Turn>,
    is_by_airtime: bool,
}

/// A station's place in the order.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    is_in_order: bool,
    /// Whether it may be served, as was last found.
    is_ready: bool,
    deficit_nanos: i64,
}

impl Turns {
    pub(super) fn new(stations: usize, is_by_airtime: bool) -> Self {
        let stations = vec![Turn::default(); stations];
        Self { order: VecDeque::new(), stations, is_by_airtime }
    }

    /// There is something for a station.
    pub(super) fn join(&mut self, station: usize) {
        let turn = &mut self.stations[station];
        if turn.is_in_order {
            return;
        }
        turn.is_in_order = true;
        if self.is_by_airtime {
            self.order.push_front(station);
        } else {
            self.order.push_back(station);
        }
    }

    /// The station to be served, of those that may be; stations for which there is nothing leave.
    ///
    /// Time goes by for those that must wait, too, but only if another is served.
    pub(super) fn next(&mut self, mut state: impl FnMut(usize) -> State) -> Option<usize> {
        let stations = &mut self.stations;
        let mut is_any_ready = false;
        self.order.retain(|&station| {
            let state = state(station);
            stations[station].is_ready = state == State::Ready;
            stations[station].is_in_order = state != State::Idle;
            is_any_ready |= state == State::Ready;
            state != State::Idle
        });
        if !is_any_ready {
            return None;
        }
        loop {
            let station = *self.order.front()?;
            let turn = &mut self.stations[station];
            if turn.deficit_nanos < 0 {
                turn.deficit_nanos += QUANTUM_NANOS;
            } else if turn.is_ready {
                return Some(station);
            }
            self.order.rotate_left(1);
        }
    }

    /// A frame to a station is over, or one from it is: the channel was in use for so long.
    pub(super) fn charge(&mut self, station: usize, airtime: Duration, is_from_station: bool) {
        if self.is_by_airtime {
            let nanos = i64::try_from(airtime.as_nanos()).unwrap_or(i64::MAX);
            let turn = &mut self.stations[station];
            turn.deficit_nanos = turn.deficit_nanos.saturating_sub(nanos);
        } else if !is_from_station && self.order.front() == Some(&station) {
            self.order.rotate_left(1);
        }
    }
}

/// What there is for a station.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Idle,
    /// It may be served.
    Ready,
    /// There is something that must wait.
    Blocked,
}

/// What a station's deficit is filled up by: mac80211's weight of a station in microseconds.
const QUANTUM_NANOS: i64 = 256_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(is_by_airtime: bool) -> Turns {
        let mut turns = Turns::new(3, is_by_airtime);
        (0..3).for_each(|station| turns.join(station));
        turns
    }

    /// Airtime of three stations whose frames take so long, after so many frames.
    fn shares(turns: &mut Turns, frames_us: [u64; 3]) -> [f64; 3] {
        let mut used = [0; 3];
        for _ in 0..30_000 {
            let station = turns.next(|_| State::Ready).expect("all are ready");
            used[station] += frames_us[station];
            turns.charge(station, Duration::from_micros(frames_us[station]), false);
        }
        let all: u64 = used.iter().sum();
        used.map(|used| used as f64 / all as f64)
    }

    #[test]
    fn frames_in_turn_give_airtime_in_proportion_to_their_length() {
        let [a, b, c] = shares(&mut turns(false), [1_000, 1_000, 2_000]);
        assert!((a - 0.25).abs() < 1e-3 && (b - 0.25).abs() < 1e-3 && (c - 0.5).abs() < 1e-3);
    }

    #[test]
    fn airtime_is_the_same_whatever_the_frames() {
        for share in shares(&mut turns(true), [700, 1_900, 5_400]) {
            assert!((share - 1.0 / 3.0).abs() < 2e-3, "{share}");
        }
    }

    #[test]
    fn who_comes_back_is_served_first_unless_it_has_used_its_time() {
        let mut turns = turns(true);
        assert_eq!(turns.next(|_| State::Ready), Some(2));
        assert_eq!(turns.next(|station| [State::Ready, State::Idle][station.min(1)]), Some(0));
        turns.join(1);
        assert_eq!(turns.next(|_| State::Ready), Some(1));
        turns.charge(1, Duration::from_micros(300), true);
        assert_eq!(turns.next(|_| State::Ready), Some(0));
    }

    #[test]
    fn nobody_is_served_who_may_not() {
        let mut turns = turns(true);
        assert_eq!(turns.next(|_| State::Blocked), None);
        let is_last = |station| if station == 2 { State::Ready } else { State::Blocked };
        turns.charge(2, Duration::from_millis(50), false);
        assert_eq!(turns.next(is_last), Some(2));
        assert_eq!(turns.next(|_| State::Idle), None);
        assert!(turns.order.is_empty());
    }
}
