//! What leaves an endpoint, whatever its stack.

use cwndlab_packet::Segment;
use cwndlab_units::Time;

use crate::info::TcpEvent;

/// What an endpoint gives out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpOutput {
    /// A segment leaves.
    Segment(Segment),
    /// Something happened that a recorder may want to know.
    Event {
        /// When it happened.
        at: Time,
        /// What happened.
        event: TcpEvent,
    },
}

/// The answer to a poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Polled<'a> {
    /// What leaves now, in its order.
    pub outputs: &'a [TcpOutput],
    /// When to poll again unless there is input; later than the poll.
    pub next: Time,
}

/// What leaves an endpoint, from where it is put until at least the next poll.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outbox {
    outputs: Vec<TcpOutput>,
    /// How many of them were given.
    given: usize,
}

impl Outbox {
    #[inline]
    pub(crate) fn push_segment(&mut self, segment: Segment) -> &mut Segment {
        self.push(TcpOutput::Segment(segment));
        match self.outputs.last_mut() {
            Some(TcpOutput::Segment(segment)) => segment,
            _ => unreachable!("a segment was pushed"),
        }
    }

    pub(crate) fn push_event(&mut self, at: Time, event: TcpEvent) {
        self.push(TcpOutput::Event { at, event });
    }

    #[inline(always)]
    fn push(&mut self, output: TcpOutput) {
        if self.outputs.len() == self.outputs.capacity() {
            self.forget_given();
        }
        self.outputs.push(output);
    }

    /// Makes room before the memory grows.
    #[cold]
    fn forget_given(&mut self) {
        self.outputs.drain(..self.given);
        self.given = 0;
    }

    /// Everything that was put in since the last time.
    #[inline]
    pub(crate) fn give(&mut self, next: Time) -> Polled<'_> {
        let outputs = &self.outputs[self.given..];
        self.given = self.outputs.len();
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
            let seq = |output: &TcpOutput| match output {
                TcpOutput::Segment(segment) => segment.seq,
                TcpOutput::Event { .. } => panic!("no event was put in"),
            };
            polled.outputs.iter().map(seq).collect()
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
        out.push_segment(Segment::default()).seq = 4;
        assert_eq!(seqs(out.give(next)), [3, 4]);
        out.push_event(Time::ZERO, TcpEvent::Established);
        let event = TcpOutput::Event { at: Time::ZERO, event: TcpEvent::Established };
        assert_eq!(out.give(next).outputs, [event]);
    }

    #[test]
    fn a_segment_is_copied_in_few_moves() {
        assert!(size_of::<TcpOutput>() <= 80, "{} bytes", size_of::<TcpOutput>());
    }
}
