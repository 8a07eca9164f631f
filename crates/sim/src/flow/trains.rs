//! Handles segments that arrive together, as a train: an end usually answers only after the last
//! of them.

use cwndlab_link::Direction;
use cwndlab_packet::Segment;
use cwndlab_tcp::{Polled, TcpOutput, Train};
use cwndlab_units::Time;

use super::{Flow, Part};
use crate::path::Path;
use crate::recorder::Recorder;

impl Flow {
    /// Delivers a segment of a train to the end that receives it.
    ///
    /// Returns whether the end has not answered yet. If so, the caller delivers the remaining
    /// segments of the train and then calls [`Flow::answer_train`]. The answer is deferred only if
    /// an answer to each segment would give the same results, because all segments arrive at the
    /// same time.
    #[inline(always)]
    pub(crate) fn handle_segment_of_train(
        &mut self,
        direction: Direction,
        now: Time,
        segment: &Segment,
        path: &mut Path,
        recorder: &mut Recorder,
    ) -> bool {
        let is_data = direction == self.direction;
        if is_data && self.attachment.is_receiver_direct {
            self.record_arrival(now, segment);
            let is_to_answer = self.give_to_receiver(now, segment, path);
            if is_to_answer && !self.receiver.may_wait(now) {
                self.poll_receiver_apart(now, path);
                return false;
            }
            return is_to_answer;
        }
        if !is_data && self.attachment.is_direct {
            self.give_to_sender(now, segment, path, recorder);
            // A recording lists arrivals at the sender and departures from it in this order.
            let may_wait = recorder.on_demand.is_none() && self.sender.may_wait(now);
            if !may_wait {
                self.poll_sender_apart(now, path, recorder);
            }
            return may_wait;
        }
        if !self.enter_line(direction, now, segment, path) {
            self.handle_beyond_line(direction, now, segment, path, recorder);
        }
        false
    }

    /// Lets the end that received a train in this direction send its answer.
    #[inline(never)]
    pub(crate) fn answer_train(&mut self, direction: Direction, now: Time, path: &mut Path) {
        let is_receiver = direction == self.direction;
        let (end, part, ingress) = if is_receiver {
            (&mut self.receiver, Part::Receiver, self.attachment.ack_ingress)
        } else {
            (&mut self.sender, Part::Sender, self.attachment.data_ingress)
        };
        let Polled { outputs, next } = end.poll(now);
        if !is_receiver {
            for output in outputs {
                if let TcpOutput::Train(Train { first, count }) = output
                    && first.payload_bytes() > 0
                {
                    self.record.handle_train(now, first.seq, first.payload_bytes(), *count);
                }
            }
        }
        path.send_together(ingress, now, outputs);
        path.wakes.set_leaf(self.leaf(part), next);
    }
}
