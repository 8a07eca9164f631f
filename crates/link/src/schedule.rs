//! Changes of a link at given times, and the events that report them.

use cwndlab_units::{Duration, Rate, Time};

use crate::LinkEventKind;
use crate::config::{OutageKind, StepConfig};
use crate::outage::Spans;

/// A value that changes at given times; queries must not go back in time.
#[derive(Clone, Debug)]
pub(crate) struct Steps<T> {
    /// Times and values of the changes, in order of time.
    steps: Vec<(Time, T)>,
    next: usize,
    now: T,
    until: Time,
}

impl<T: Clone> Steps<T> {
    /// A value and the list of its later changes.
    ///
    /// If two changes have the same time, the one later in the list applies.
    pub(crate) fn new(first: T, changes: impl Iterator<Item = (Time, T)>) -> Self {
        let mut steps: Vec<(Time, T)> = changes.collect();
        steps.sort_by_key(|&(at, _)| at);
        let until = steps.first().map_or(Time::NEVER, |&(at, _)| at);
        Self { steps, next: 0, now: first, until }
    }

    /// Advances to `time`. Returns whether the value has changed.
    #[inline]
    pub(crate) fn advance(&mut self, time: Time) -> bool {
        time >= self.until && self.step(time)
    }

    #[cold]
    fn step(&mut self, time: Time) -> bool {
        let mut is_new = false;
        while time >= self.until && self.next < self.steps.len() {
            self.now = self.steps[self.next].1.clone();
            self.next += 1;
            self.until = self.steps.get(self.next).map_or(Time::NEVER, |&(at, _)| at);
            is_new = true;
        }
        is_new
    }

    /// Time of the next change of the value.
    pub(crate) fn until(&self) -> Time {
        self.until
    }

    pub(crate) fn value(&self) -> &T {
        &self.now
    }

    pub(crate) fn value_mut(&mut self) -> &mut T {
        &mut self.now
    }
}

/// Rates over time.
pub(crate) fn rate_steps(first: Rate, schedule: &[StepConfig]) -> Vec<(Time, Rate)> {
    let mut steps = vec![(Time::ZERO, first)];
    steps.extend(schedule.iter().filter_map(|step| Some((step.at, step.rate?))));
    steps.sort_by_key(|&(at, _)| at);
    steps
}

/// Events that are known in advance, in order of time.
pub(crate) fn scheduled_events(
    schedule: &[StepConfig],
    blackouts: &Spans,
    pauses: &Spans,
) -> Vec<(Time, LinkEventKind)> {
    let mut events = Vec::new();
    for (spans, kind) in [(blackouts, OutageKind::Drop), (pauses, OutageKind::Hold)] {
        for span in spans.iter() {
            events.push((span.start, LinkEventKind::OutageBegan(kind)));
            events.push((span.stop, LinkEventKind::OutageEnded(kind)));
        }
    }
    for step in schedule {
        let rate = step.rate.map(LinkEventKind::RateChanged);
        let delay = step.delay.map(|delay: Duration| LinkEventKind::DelayChanged(delay));
        let loss = step.loss.is_some().then_some(LinkEventKind::LossChanged);
        events.extend([rate, delay, loss].into_iter().flatten().map(|kind| (step.at, kind)));
    }
    events.sort_by_key(|&(at, _)| at);
    events
}
