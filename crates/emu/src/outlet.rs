//! One exit port of the emulated link: schedules and merges the writes of frames.
//!
//! Each write to a TUN device runs the receiver's TCP, which takes 3 to 5 us; each wait takes
//! about as long. In two cases, consecutive segments of a connection are therefore merged into one
//! packet. The receiver's kernel accepts and acknowledges the packet like one that a network
//! device has merged with GRO:
//!
//! * **The port is busy.** It sent [`BUSY_FRAMES`] frames within a millisecond, as at 770 Mbit/s
//!   of full-sized packets. A segment then waits up to [`PATIENCE`] for the segments that follow
//!   it, and the loop wakes up once for all of them and for the packets that arrive meanwhile.
//!   Frames that are still in transit and depart within [`SPAN`] are written together with them.
//!   The write of a frame is therefore at most [`SPAN`] earlier or later than its departure, and
//!   on average at the time of its departure.
//! * **The frames are late.** A cell that retransmits a block keeps later packets in order and
//!   then delivers a thousand or more at once. If each packet were written separately, the last
//!   one would be milliseconds late.
//!
//! Otherwise, each frame is written separately as soon as it departs, so that the receiver
//! acknowledges it as it would behind a real link of this rate.

use cwndlab_units::{Duration, Time};

use crate::Frame;
use crate::delivery::Delivery;

/// Number of frames within [`BUSY_SPAN`] from which a port is busy.
const BUSY_FRAMES: usize = 64;
const BUSY_SPAN: Duration = Duration::from_millis(1);
/// Maximum time for which a frame of a busy port is held.
///
/// A wait ends 5 to 10 us late; even so, held frames are written within [`SPAN`].
pub(crate) const PATIENCE: Duration = Duration::from_micros(40);
/// Maximum time between the departure of a frame and its write because of merging.
pub(crate) const SPAN: Duration = Duration::from_micros(50);
/// Lateness from which a frame is always merged with the frames that follow it.
const LATE: Duration = Duration::from_micros(250);
/// Maximum number of connections whose frames are held at the same time, as in GRO
/// (`MAX_GRO_SKBS`).
const MOST_HELD: usize = 8;

/// The frames of an exit port that are not written yet.
#[derive(Debug)]
pub(crate) struct Outlet {
    /// Times of the last departures, in a ring buffer.
    departures: [Time; BUSY_FRAMES],
    oldest: usize,
    /// Deliveries that wait for more frames; at most one for each connection.
    held: Vec<Delivery>,
    /// Deliveries that can be written, in order.
    ready: Vec<Delivery>,
    /// Empty deliveries that can be reused.
    spare: Vec<Delivery>,
    has_written: bool,
}

impl Outlet {
    pub(crate) fn new() -> Self {
        Self {
            departures: [Time::ZERO; BUSY_FRAMES],
            oldest: 0,
            held: Vec::new(),
            ready: Vec::new(),
            spare: Vec::new(),
            has_written: false,
        }
    }

    /// Whether a frame that departs at `at` is held, because the port is busy.
    pub(crate) fn is_busy(&self, at: Time) -> bool {
        let oldest = self.departures[self.oldest];
        oldest > Time::ZERO && at < oldest + BUSY_SPAN
    }

    /// Adds a frame that left the link at `at`.
    pub(crate) fn add(&mut self, now: Time, at: Time, frame: Frame) {
        let is_busy = self.is_busy(at);
        self.departures[self.oldest] = at;
        self.oldest = (self.oldest + 1) % BUSY_FRAMES;
        let mut frame = frame;
        if let Some(index) = self.held.iter().position(|held| held.is_of_connection_of(&frame)) {
            match self.held[index].extend(at, frame) {
                Ok(()) if self.held[index].is_full() => return self.release(index),
                Ok(()) => return,
                Err(back) => frame = back,
            }
            // The frame must not overtake the held ones.
            self.release(index);
        }
        let mut delivery = self.spare.pop().unwrap_or_default();
        // A late frame does not wait: it is merged with frames that have already departed.
        let bounds = if now > at + LATE {
            Some([at, Time::NEVER])
        } else {
            is_busy.then(|| [at + PATIENCE, at + SPAN])
        };
        let begun = match bounds {
            Some(bounds) => delivery.begin(at, frame, bounds),
            None => Err(frame),
        };
        match begun {
            Ok(()) => {
                if self.held.len() == MOST_HELD {
                    self.release(0);
                }
                self.held.push(delivery);
            }
            Err(frame) => {
                delivery.begin_alone(at, frame);
                self.ready.push(delivery);
            }
        }
    }

    /// Lets frames that depart soon join the deliveries that are due. Returns the latest departure
    /// of these frames, or `None` if the port is not busy or no delivery is due.
    pub(crate) fn look_ahead(&mut self, now: Time) -> Option<Time> {
        let until = now + SPAN;
        let is_busy = self.is_busy(now);
        let due = self.held.iter_mut().filter(|held| is_busy && held.due() <= now);
        due.map(|held| held.join_until(until)).last().map(|()| until)
    }

    /// Marks the deliveries that no longer wait as ready. All frames that departed until `now`
    /// have been added, and no frame departs before `next`.
    pub(crate) fn settle(&mut self, now: Time, next: Time) {
        let mut index = 0;
        while index < self.held.len() {
            if self.held[index].is_due(now, next) {
                self.release(index);
            } else {
                index += 1;
            }
        }
    }

    /// Marks every delivery as ready.
    pub(crate) fn release_all(&mut self) {
        self.ready.append(&mut self.held);
    }

    fn release(&mut self, index: usize) {
        let delivery = self.held.remove(index);
        self.ready.push(delivery);
    }

    /// Time at which the first of the held deliveries must be written.
    pub(crate) fn due(&self) -> Time {
        self.held.iter().map(Delivery::due).min().unwrap_or(Time::NEVER)
    }

    /// Whether a delivery was written since the last call.
    pub(crate) fn take_has_written(&mut self) -> bool {
        std::mem::take(&mut self.has_written)
    }

    /// Whether there is a delivery to write.
    pub(crate) fn is_ready(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Passes each ready delivery to `write`.
    pub(crate) fn write(&mut self, mut write: impl FnMut(&mut Delivery)) {
        self.has_written |= self.is_ready();
        for mut delivery in self.ready.drain(..) {
            write(&mut delivery);
            delivery.clear();
            self.spare.push(delivery);
        }
    }
}

#[cfg(test)]
mod tests {
    use cwndlab_packet::{Flags, Segment, ipv4_headers};

    use super::*;

    const PAYLOAD: u32 = 1_000;

    /// Segment number `number` of the connection at this port.
    fn segment(port: u16, number: u32, flags: u16) -> Frame {
        let segment = Segment {
            seq: number * PAYLOAD,
            payload: if flags & Flags::FIN == 0 { PAYLOAD } else { 0 },
            flags: Flags(Flags::ACK | flags),
            ..Segment::default()
        };
        let ends = [([10, 0, 0, 1].into(), 80), ([10, 0, 0, 2].into(), port)];
        let (mut content, bytes) = ipv4_headers(ends, number as u16, &segment);
        content.resize(bytes as usize, 0);
        Frame::new(&content)
    }

    fn us(micros: u64) -> Time {
        Time::from_micros(micros)
    }

    /// The number of frames in each delivery that is ready, and the last departure of each.
    fn written(outlet: &mut Outlet) -> Vec<(usize, Time)> {
        let mut written = Vec::new();
        outlet.write(|delivery| {
            let frames = delivery.frames();
            written.push((frames.len(), frames[frames.len() - 1].0));
        });
        written
    }

    /// An outlet to which a frame was added every `distance_us`, and the end of this sequence
    /// (exclusive).
    fn after(distance_us: u64) -> (Outlet, u64) {
        let mut outlet = Outlet::new();
        let end = 10_000 + 64 * distance_us;
        for at in (10_000..end).step_by(distance_us as usize) {
            outlet.add(us(at), us(at), segment(9, 0, Flags::FIN));
        }
        assert_eq!(written(&mut outlet).len(), 64, "what carries no data is not held");
        (outlet, end)
    }

    #[test]
    fn frames_of_a_port_that_is_not_busy_are_written_one_by_one_however_close() {
        let (mut outlet, start) = after(20);
        for number in 0..3 {
            outlet.add(us(start), us(start), segment(9, number, 0));
        }
        assert_eq!(written(&mut outlet), [(1, us(start)); 3]);
        assert_eq!(outlet.due(), Time::NEVER);
    }

    #[test]
    fn a_busy_port_holds_a_segment_for_40_us_and_joins_those_of_50_us() {
        let (mut outlet, start) = after(12);
        // The loop wakes up late for the first deadline, after the fifth frame has departed.
        let now = us(start + 49);
        for number in 0..5 {
            let at = us(start + 12 * u64::from(number));
            outlet.add(now.min(at + PATIENCE), at, segment(9, number, 0));
        }
        assert!(written(&mut outlet).is_empty());
        assert_eq!(outlet.due(), us(start + 40));
        outlet.settle(us(start + 39), us(start + 60));
        assert_eq!(written(&mut outlet), [(5, us(start + 48))], "nothing departs before 50 us");
        for number in 5..11 {
            let at = us(start + 12 * u64::from(number));
            outlet.add(at, at, segment(9, number, 0));
        }
        assert_eq!(written(&mut outlet), [(5, us(start + 108))], "the sixth is 60 us later");
        outlet.settle(us(start + 121), us(start + 122));
        assert_eq!((written(&mut outlet).len(), outlet.due()), (0, us(start + 160)));
        outlet.settle(us(start + 160), us(start + 160));
        assert_eq!(written(&mut outlet), [(1, us(start + 120))]);
    }

    #[test]
    fn what_is_due_at_a_busy_port_takes_along_what_departs_within_50_us() {
        let (mut outlet, start) = after(12);
        outlet.add(us(start), us(start), segment(9, 0, 0));
        assert_eq!(outlet.look_ahead(us(start + 39)), None, "not due");
        outlet.add(us(start + 36), us(start + 36), segment(9, 1, 0));
        let now = us(start + 44);
        assert_eq!(outlet.look_ahead(now), Some(us(start + 94)));
        for number in 2..7 {
            outlet.add(now, us(start + 36 + 12 * (u64::from(number) - 1)), segment(9, number, 0));
        }
        // A frame of another connection, which is not due.
        outlet.add(now, us(start + 60), segment(8, 0, 0));
        outlet.settle(now, us(start + 100));
        assert_eq!(written(&mut outlet), [(6, us(start + 84))], "the seventh departs at 96");
        assert_eq!((outlet.held.len(), outlet.due()), (2, us(start + 100)));
        let (mut outlet, start) = after(100);
        outlet.add(us(start), us(start), segment(9, 0, 0));
        assert_eq!(outlet.look_ahead(us(start + 50)), None, "nothing is held where it is quiet");
    }

    #[test]
    fn connections_are_held_apart_and_nothing_overtakes_its_own() {
        let (mut outlet, start) = after(10);
        let at = us(start);
        for (port, number) in [(1, 0), (2, 0), (1, 1), (2, 1)] {
            outlet.add(at, at, segment(port, number, 0));
        }
        assert!(written(&mut outlet).is_empty());
        // A segment without data, then a retransmission.
        outlet.add(at, at, segment(1, 2, Flags::FIN));
        assert_eq!(written(&mut outlet), [(2, at), (1, at)]);
        outlet.add(at, at, segment(2, 0, 0));
        assert_eq!(written(&mut outlet), [(2, at)]);
        for port in 3..=10 {
            outlet.add(at, at, segment(port, 0, 0));
        }
        assert_eq!(written(&mut outlet), [(1, at)], "the oldest of nine");
        outlet.release_all();
        assert_eq!(written(&mut outlet), [(1, at); 8]);
    }

    #[test]
    fn what_is_late_is_joined_up_to_64_kb_and_not_held() {
        let (mut outlet, start) = after(100);
        let now = us(start + 250 + 1 + 50);
        for number in 0..50 {
            outlet.add(now, us(start + u64::from(number)), segment(9, number, 0));
        }
        assert_eq!(written(&mut outlet), [(44, us(start + 43))]);
        outlet.settle(now, Time::NEVER);
        assert_eq!(written(&mut outlet), [(6, us(start + 49))]);
        outlet.add(now, now - LATE, segment(9, 50, 0));
        assert_eq!(written(&mut outlet).len(), 1, "it is not late yet, and the port not busy");
    }

    #[test]
    fn a_port_is_busy_for_a_millisecond_after_64_frames() {
        let (outlet, start) = after(12);
        let oldest = start - 64 * 12;
        assert!(outlet.is_busy(us(oldest + 999)) && !outlet.is_busy(us(oldest + 1_000)));
        assert!(!Outlet::new().is_busy(us(1)), "no frame yet");
    }
}
