//! Periods in which a link does not work.

use cwndlab_units::Time;

use crate::config::{OutageConfig, OutageKind};
use crate::error::StageError;

/// A period from `start` up to but not including `stop`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Span {
    pub(crate) start: Time,
    pub(crate) stop: Time,
}

/// Periods that neither overlap nor touch, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Spans {
    spans: Vec<Span>,
}

impl Spans {
    /// Outages of one kind; overlapping outages are merged.
    pub(crate) fn new(outages: &[OutageConfig], kind: OutageKind) -> Result<Self, StageError> {
        let mut sorted: Vec<Span> = Vec::new();
        for &OutageConfig { start, stop, kind: its_kind } in outages {
            if start >= stop {
                return Err(StageError::EmptyOutage { start, stop });
            }
            if its_kind == kind {
                sorted.push(Span { start, stop });
            }
        }
        sorted.sort_unstable_by_key(|span| span.start);
        let mut spans: Vec<Span> = Vec::new();
        for span in sorted {
            match spans.last_mut() {
                Some(last) if span.start <= last.stop => last.stop = last.stop.max(span.stop),
                _ => spans.push(span),
            }
        }
        Ok(Self { spans })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Span> + '_ {
        self.spans.iter().copied()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The period that contains `time`, or otherwise the next period.
    pub(crate) fn at_or_after(&self, time: Time) -> Option<Span> {
        self.spans.get(self.spans.partition_point(|span| span.stop <= time)).copied()
    }

    /// End of the period that contains `time`; `time` itself if no period contains it.
    pub(crate) fn open_from(&self, time: Time) -> Time {
        match self.at_or_after(time) {
            Some(span) if span.start <= time => span.stop,
            _ => time,
        }
    }
}

/// Periods in which arriving packets are lost; the times of queries must not decrease.
#[derive(Clone, Debug)]
pub(crate) struct Blackouts {
    spans: Spans,
    next: Span,
}

impl Blackouts {
    pub(crate) fn new(spans: Spans) -> Self {
        let next = spans.at_or_after(Time::ZERO).unwrap_or(NO_MORE);
        Self { spans, next }
    }

    #[inline]
    pub(crate) fn covers(&mut self, now: Time) -> bool {
        if now >= self.next.stop {
            self.next = self.spans.at_or_after(now).unwrap_or(NO_MORE);
        }
        now >= self.next.start
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }
}

const NO_MORE: Span = Span { start: Time::NEVER, stop: Time::NEVER };

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(start: u64, stop: u64, kind: OutageKind) -> OutageConfig {
        OutageConfig { start: Time::from_secs(start), stop: Time::from_secs(stop), kind }
    }

    fn spans() -> Spans {
        let outages = [
            outage(10, 12, OutageKind::Drop),
            outage(5, 6, OutageKind::Drop),
            outage(1, 4, OutageKind::Hold),
            outage(6, 7, OutageKind::Drop),
            outage(11, 15, OutageKind::Drop),
            outage(12, 13, OutageKind::Drop),
        ];
        Spans::new(&outages, OutageKind::Drop).expect("valid")
    }

    #[test]
    fn spans_are_sorted_and_merged() {
        let secs = |span: Span| (span.start.as_nanos() / 1_000_000_000, span.stop.as_millis());
        assert_eq!(spans().iter().map(secs).collect::<Vec<_>>(), [(5, 7_000), (10, 15_000)]);
    }

    #[test]
    fn a_span_begins_at_its_start_and_is_over_at_its_stop() {
        let mut blackouts = Blackouts::new(spans());
        let nano = |seconds: u64, before: u64| Time::from_nanos(seconds * 1_000_000_000 - before);
        assert!(!blackouts.covers(Time::ZERO));
        assert!(!blackouts.covers(nano(5, 1)));
        assert!(blackouts.covers(nano(5, 0)));
        assert!(blackouts.covers(nano(7, 1)));
        assert!(!blackouts.covers(nano(7, 0)));
        assert!(blackouts.covers(nano(14, 0)));
        assert!(!blackouts.covers(nano(15, 0)));
        assert!(!blackouts.covers(nano(1_000, 0)));
        assert_eq!(spans().open_from(nano(6, 0)), nano(7, 0));
        assert_eq!(spans().open_from(nano(7, 0)), nano(7, 0));
    }

    #[test]
    fn an_outage_without_duration_is_refused() {
        let outages = [outage(3, 3, OutageKind::Hold)];
        let error = Spans::new(&outages, OutageKind::Drop).expect_err("must be refused");
        assert!(matches!(error, StageError::EmptyOutage { .. }));
    }
}
