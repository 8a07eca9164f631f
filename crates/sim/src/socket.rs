//! The interface of a TCP endpoint to its application.

use cwndlab_scenario::Connection;
use cwndlab_tcp::Endpoint;
use cwndlab_units::Time;

/// A reference to a TCP endpoint, with writes and reads that do not block.
pub(crate) struct Socket<'a>(pub(crate) &'a mut Endpoint);

impl Connection for Socket<'_> {
    #[inline]
    fn write(&mut self, now: Time, bytes: u64) -> u64 {
        if self.0.send_space() > 0 { self.0.write(now, bytes) } else { 0 }
    }

    #[inline]
    fn read(&mut self, now: Time) -> u64 {
        if self.0.readable() > 0 { self.0.read(now, u64::MAX) } else { 0 }
    }

    #[inline]
    fn peer_has_finished(&self) -> bool {
        self.0.peer_has_finished()
    }

    #[cold]
    fn close(&mut self, now: Time) {
        self.0.close(now);
    }
}
