//! What a link counts, stage by stage.

use cwndlab_units::{Bytes, Time};

use crate::{Backlog, Counters, Direction};

/// The statistics of a link's stages, each of which has counters of its own.
pub trait Stages {
    /// How many stages with counters of their own the link has.
    fn stages(&self) -> usize;

    /// The stages that this user's packets in a direction pass, in their order. Of a one-way link it
    /// is all of them, and its direction [`Direction::Forward`].
    fn stages_of(&self, direction: Direction, user: u16) -> Vec<usize> {
        let _ = (direction, user);
        (0..self.stages()).collect()
    }

    /// What stage number `stage` has counted until `now`, since the beginning or the last
    /// [`Stages::begin_window`].
    ///
    /// Everything that left until `now` must have been polled. Costs time in proportion to the
    /// queue.
    ///
    /// # Panics
    /// If there is no such stage.
    fn counters(&mut self, stage: usize, now: Time) -> Counters;

    /// What stage number `stage` could have sent, as [`Counters::offered`].
    ///
    /// # Panics
    /// If there is no such stage.
    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        self.counters(stage, now).offered
    }

    /// What waits or is in service at stage number `stage`.
    ///
    /// # Panics
    /// If there is no such stage.
    fn backlog(&mut self, stage: usize, now: Time) -> Backlog;

    /// Begins to count again, for statistics that leave out the warm-up.
    fn begin_window(&mut self, now: Time);

    /// The backlogs of all stages that this user's packets in a direction pass.
    fn backlog_of(&mut self, direction: Direction, user: u16, now: Time) -> Backlog {
        let stages = self.stages_of(direction, user);
        stages
            .into_iter()
            .map(|stage| self.backlog(stage, now))
            .fold(Backlog::default(), |sum, each| sum + each)
    }

    /// The counters of each of these stages.
    fn counters_of(&mut self, direction: Direction, user: u16, now: Time) -> Vec<Counters> {
        let stages = self.stages_of(direction, user);
        stages.into_iter().map(|stage| self.counters(stage, now)).collect()
    }

    /// What each of them could have sent.
    fn offered_of(&mut self, direction: Direction, user: u16, now: Time) -> Vec<Option<Bytes>> {
        let stages = self.stages_of(direction, user);
        stages.into_iter().map(|stage| self.offered(stage, now)).collect()
    }
}
