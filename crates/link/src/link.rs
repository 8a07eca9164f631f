//! The interface of every link.

use cwndlab_units::{Output, Time};

use crate::{Admission, LinkEvent, Packet};

/// A link: a wire, or a shared medium with several ports.
///
/// Times passed to a link never decrease.
pub trait Link<P: Packet> {
    /// Receives a packet that enters at `port`.
    ///
    /// The result is the decision of the first queue; a later queue may still drop the packet. Poll
    /// the link afterwards, or read [`Link::wake_time`], because both may have changed.
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission;

    /// Returns the outputs that left by `now`, one at a time in the order of their times; after the
    /// last one, [`Link::wake_time`] is after `now`.
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>>;

    /// Returns the next packet that leaves before `before`, if its departure is certain at `now`
    /// because only propagation remains.
    ///
    /// Everything that is due by `now` must have been polled.
    ///
    /// This does not advance the link. Packets of one port are returned in the order of their
    /// times. A link that cannot predict departures returns [`None`].
    fn poll_ahead(&mut self, _now: Time, _before: Time) -> Option<Output<P, LinkEvent>> {
        None
    }

    /// When [`Link::poll`] next returns something, unless there is input before.
    ///
    /// At or before `now` if an output is due, [`Time::NEVER`] if the link is idle.
    fn wake_time(&self) -> Time;
}
