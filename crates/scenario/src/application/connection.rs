//! What an application asks of a connection, and what several of them write to it.

use cwndlab_units::Time;

/// A bulk sender writes blocks of 64 KiB, as iperf does.
pub(super) const BLOCK_BYTES: u64 = 64 * 1024;
/// What a browser asks with, or writes before a body: a request line and the usual headers.
pub(super) const HTTP_REQUEST_BYTES: u64 = 400;
/// What a server answers with, its body not counted: a status line and the usual headers.
pub(super) const HTTP_ANSWER_BYTES: u64 = 300;

/// One end of a connection, as an application sees it.
pub trait Connection {
    /// Hands over up to so many bytes. Returns how many were taken; 0 if there is no room.
    fn write(&mut self, now: Time, bytes: u64) -> u64;

    /// Takes everything that has arrived in order. Answers how many bytes.
    fn read(&mut self, now: Time) -> u64;

    /// Whether the peer has closed its side, and all that it sent has been read.
    fn peer_has_finished(&self) -> bool;

    /// Closes this side: nothing more is written.
    fn close(&mut self, now: Time);
}

/// Writes what the socket takes of a message.
pub(super) fn write_up_to<C: Connection>(now: Time, connection: &mut C, to_write: &mut u64) {
    while *to_write > 0 {
        let written = connection.write(now, (*to_write).min(BLOCK_BYTES));
        if written == 0 {
            break;
        }
        *to_write -= written;
    }
}
