//! Output of a TCP endpoint with any stack.

use core::mem;

use cwndlab_packet::{Flags, Segment};
use cwndlab_units::Time;

use crate::info::TcpEvent;

/// Consecutive segments that differ only in their sequence numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Train {
    /// First segment.
    pub first: Segment,
    /// Number of segments in the train, at least 1.
    pub count: u32,
}

impl Train {
    /// Iterates over the segments of the train; each begins where the previous segment ends.
    pub fn segments(self) -> impl Iterator<Item = Segment> {
        let Self { first, count } = self;
        (0..count).map(move |index| Segment {
            seq: first.seq.wrapping_add(index.wrapping_mul(first.payload)),
            ..first
        })
    }
}

/// An output of a TCP endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpOutput {
    /// Segments to send.
    Train(Train),
    /// An event that a run can record.
    Event {
        /// When it happened.
        at: Time,
        /// What happened.
        event: TcpEvent,
    },
}

impl TcpOutput {
    /// Iterates over the segments of this output; empty for an event.
    pub fn segments(&self) -> impl Iterator<Item = Segment> {
        let train = match *self {
            Self::Train(train) => Some(train),
            Self::Event { .. } => None,
        };
        train.into_iter().flat_map(Train::segments)
    }
}

/// Result of polling an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled<'a> {
    /// Outputs, in the order in which they leave.
    pub outputs: &'a [TcpOutput],
    /// Time of the next poll if there is no input before; later than the present poll.
    pub next: Time,
}

/// Outputs of an endpoint; each output is stored at least until the next poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    outputs: Vec<TcpOutput>,
    /// Number of outputs that no poll has returned yet: all or none.
    fresh: usize,
}

impl Outbox {
    #[inline(always)]
    pub(crate) fn push_segment(&mut self, segment: Segment) {
        self.push_train(segment, 1);
    }

    /// Returns the last output, which must be a single segment.
    pub(crate) fn last_segment(&mut self) -> &mut Segment {
        match self.outputs.last_mut() {
            Some(TcpOutput::Train(Train { first, count: 1 })) => first,
            _ => unreachable!("a segment was pushed"),
        }
    }

    /// Returns the flags of the last segment, if no poll has returned this segment yet and only
    /// events follow it.
    pub(crate) fn flags_of_last(&mut self) -> Option<&mut Flags> {
        self.outputs[..self.fresh].iter_mut().rev().find_map(|output| match output {
            TcpOutput::Train(Train { first, count: 1 }) => Some(&mut first.flags),
            _ => None,
        })
    }

    #[inline(always)]
    pub(crate) fn push_train(&mut self, first: Segment, count: u32) {
        self.push(TcpOutput::Train(Train { first, count }));
    }

    pub(crate) fn push_event(&mut self, at: Time, event: TcpEvent) {
        self.push(TcpOutput::Event { at, event });
    }

    /// Adds an output. The first output after a poll takes the place of the outputs that the poll
    /// returned, so that an endpoint touches little memory.
    #[inline(always)]
    fn push(&mut self, output: TcpOutput) {
        if self.fresh == 0 {
            self.outputs.clear();
        }
        self.outputs.push(output);
        self.fresh += 1;
    }

    /// Returns all outputs that were added since the last call.
    #[inline]
    pub(crate) fn give(&mut self, next: Time) -> Polled<'_> {
        let outputs = &self.outputs[..mem::take(&mut self.fresh)];
        Polled { outputs, next }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outbox_gives_everything_once_and_in_order() {
        let mut out = Outbox::default();
        let next = Time::from_secs(1);
        let seqs = |polled: Polled<'_>| -> Vec<u32> {
            assert_eq!(polled.next, next);
            polled.outputs.iter().flat_map(TcpOutput::segments).map(|segment| segment.seq).collect()
        };
        let push = |out: &mut Outbox, seq| {
            out.push_segment(Segment { seq, ..Segment::default() });
        };
        assert_eq!(seqs(out.give(next)), []);
        push(&mut out, 1);
        push(&mut out, 2);
        assert_eq!(seqs(out.give(next)), [1, 2]);
        assert_eq!(seqs(out.give(next)), []);
        push(&mut out, 3);
        push(&mut out, 0);
        out.last_segment().seq = 4;
        assert_eq!(seqs(out.give(next)), [3, 4]);
        out.push_event(Time::ZERO, TcpEvent::Established);
        let event = TcpOutput::Event { at: Time::ZERO, event: TcpEvent::Established };
        assert_eq!(out.give(next).outputs, [event]);
    }

    #[test]
    fn the_segments_of_a_train_follow_one_another() {
        let mut out = Outbox::default();
        let first = Segment { seq: u32::MAX - 99, payload: 100, ack: 7, ..Segment::default() };
        out.push_train(first, 3);
        let polled = out.give(Time::ZERO);
        let segments: Vec<_> = polled.outputs.iter().flat_map(TcpOutput::segments).collect();
        assert_eq!(
            segments.iter().map(|segment| segment.seq).collect::<Vec<_>>(),
            [first.seq, 0, 100]
        );
        assert!(segments.iter().all(|segment| segment.ack == 7 && segment.payload == 100));
    }

    #[test]
    fn a_segment_is_copied_in_few_moves() {
        assert!(size_of::<TcpOutput>() <= 88, "{} bytes", size_of::<TcpOutput>());
    }
}
