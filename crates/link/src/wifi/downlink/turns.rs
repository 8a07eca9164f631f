//! The order in which an access point serves its stations.
//!
//! ```text
//!   by frames      [ 3 ] [ 1 ] [ 2 ]   the first is served, then moves to the end
//!   by airtime     [ 3 ] [ 1 ] [ 2 ]   the first is served until its deficit is used up,
//!                                      then moves to the end with a new quantum
//! ```
//!
//! Deficit round robin in airtime (Høiland-Jørgensen et al. 2017, algorithm 3). The deficit of a
//! station is a time, from which the airtime of frames to and from the station is subtracted when
//! the frames end. A station that had no data returns at the head of the order, so that a station
//! that sends rarely is served at once (section 3.2, but without a second list, like mac80211).

use std::collections::VecDeque;

use cwndlab_units::Duration;

#[derive(Clone, Debug)]
pub(super) struct Turns {
    order: VecDeque<usize>,
    stations: Vec<Turn>,
    is_by_airtime: bool,
}

/// The state of a station in the order.
#[derive(Clone, Copy, Debug, Default)]
struct Turn {
    is_in_order: bool,
    /// Whether the station could be served when this was last checked.
    is_ready: bool,
    deficit_nanos: i64,
}

impl Turns {
    pub(super) fn new(stations: usize, is_by_airtime: bool) -> Self {
        let stations = vec![Turn::default(); stations];
        Self { order: VecDeque::new(), stations, is_by_airtime }
    }

    /// Adds a station that had no data until now.
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

    /// Returns the next station to serve among those that are ready; stations without data leave
    /// the order.
    ///
    /// The deficit of stations whose data must wait also increases, but only if another station is
    /// served.
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

    /// Charges a station for the airtime of a frame to it or from it, when the frame has ended.
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

/// Whether a station can be served now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Idle,
    /// The station has data that can be sent.
    Ready,
    /// The station has data that must wait.
    Blocked,
}

/// Amount that is added to the deficit of a station: the default weight of mac80211, in
/// microseconds.
const QUANTUM_NANOS: i64 = 256_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn turns(is_by_airtime: bool) -> Turns {
        let mut turns = Turns::new(3, is_by_airtime);
        (0..3).for_each(|station| turns.join(station));
        turns
    }

    /// Share of the airtime that each of three stations gets with frames of these durations, after
    /// many frames.
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
