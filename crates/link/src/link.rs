//! The interface that every link implements.

use cwndlab_units::{Output, Time};

use crate::{Admission, LinkEvent, Packet};

/// A link: a wire, or a shared medium with several ports.
///
/// The times that are passed to a link must never decrease.
pub trait Link<P: Packet> {
    /// Receives a packet that enters the link at `port`.
    ///
    /// The result is the decision of the first queue; a later queue may still drop the packet. The
    /// caller must then poll the link or read [`Link::wake_time`], because both may have changed.
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission;

    /// Returns the outputs that left by `now`, one per call, in the order of their times. After
    /// the last output, [`Link::wake_time`] is after `now`.
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>>;

    /// Returns the next packet that leaves before `before`, if its departure is already certain
    /// because the packet only has to propagate.
    ///
    /// The caller must first poll everything that is due by `now`.
    ///
    /// This method does not advance the link. Packets of one port are returned in the order of
    /// their times. A link that cannot predict departures returns [`None`].
    fn poll_ahead(&mut self, _now: Time, _before: Time) -> Option<Output<P, LinkEvent>> {
        None
    }

    /// Time at which [`Link::poll`] next returns an output, if the link gets no input before.
    ///
    /// At or before `now` if an output is due; [`Time::NEVER`] if the link is idle.
    fn wake_time(&self) -> Time;
}
