//! Counters for each stage of a link.

use cwndlab_units::{Bytes, Time};

use crate::{Backlog, Counters, Direction};

/// Access to the counters of a link's stages.
pub trait Stages {
    /// Number of stages that have counters.
    fn stages(&self) -> usize;

    /// The stages that this user's packets pass in a direction, in order.
    ///
    /// A one-way link only has the direction [`Direction::Forward`], with all its stages.
    fn stages_of(&self, direction: Direction, user: u16) -> Vec<usize> {
        let _ = (direction, user);
        (0..self.stages()).collect()
    }

    /// Counts of stage number `stage` up to `now`, since the start of the run or the last
    /// [`Stages::begin_window`].
    ///
    /// The caller must first poll everything that left by `now`. The duration of a call is
    /// proportional to the length of the queue.
    ///
    /// # Panics
    /// Panics if there is no such stage.
    fn counters(&mut self, stage: usize, now: Time) -> Counters;

    /// Bytes that stage number `stage` could have sent, as in [`Counters::offered`].
    ///
    /// # Panics
    /// Panics if there is no such stage.
    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        self.counters(stage, now).offered
    }

    /// Packets that wait or are being sent at stage number `stage`.
    ///
    /// # Panics
    /// Panics if there is no such stage.
    fn backlog(&mut self, stage: usize, now: Time) -> Backlog;

    /// Restarts the counts, so that statistics exclude the warm-up.
    fn begin_window(&mut self, now: Time);

    /// Sum of the backlogs of all stages that this user's packets pass in a direction.
    fn backlog_of(&mut self, direction: Direction, user: u16, now: Time) -> Backlog {
        let stages = self.stages_of(direction, user);
        stages
            .into_iter()
            .map(|stage| self.backlog(stage, now))
            .fold(Backlog::default(), |sum, each| sum + each)
    }

    /// Counters of each stage that this user's packets pass in a direction.
    fn counters_of(&mut self, direction: Direction, user: u16, now: Time) -> Vec<Counters> {
        let stages = self.stages_of(direction, user);
        stages.into_iter().map(|stage| self.counters(stage, now)).collect()
    }

    /// Bytes that each stage which this user's packets pass in a direction could have sent.
    fn offered_of(&mut self, direction: Direction, user: u16, now: Time) -> Vec<Option<Bytes>> {
        let stages = self.stages_of(direction, user);
        stages.into_iter().map(|stage| self.offered(stage, now)).collect()
    }
}
