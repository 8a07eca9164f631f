//! What every link does.

use cwndlab_units::{Output, Time};

use crate::{Admission, LinkEvent, Packet};

/// A link: a wire, or a shared medium with several ports.
///
/// The times given to one link never go back.
pub trait Link<P: Packet> {
    /// Takes a packet that enters at `port`.
    ///
    /// The answer tells what the first queue did with it; a later one may still drop it. Poll the
    /// link afterwards, or look at [`Link::wake_time`], as both may have changed.
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission;

    /// Gives what left until `now`, in the order of its times, one thing at a time; when nothing is
    /// left, [`Link::wake_time`] is after `now`.
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>>;

    /// Gives the next packet that leaves before `before`, where that is certain at `now`, until when
    /// all has been polled: it is only under way, and whatever else happens, it leaves then.
    ///
    /// The link itself does not go on by this. Packets of one port come in the order of their
    /// times. A link that does not know answers [`None`].
    fn poll_ahead(&mut self, _now: Time, _before: Time) -> Option<Output<P, LinkEvent>> {
        None
    }

    /// When [`Link::poll`] has something to give, unless there is input before.
    /// Not after `now` if it has something already, [`Time::NEVER`] if it is idle.
    fn wake_time(&self) -> Time;
}
