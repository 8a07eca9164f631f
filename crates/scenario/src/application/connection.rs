//! The interface between an application and its connection, and message sizes that several
//! applications use.

use cwndlab_units::Time;

/// Size of the blocks that a bulk sender writes: 64 KiB, as in iperf.
pub(super) const BLOCK_BYTES: u64 = 64 * 1024;
/// Size of an HTTP request: a request line and the usual headers.
pub(super) const HTTP_REQUEST_BYTES: u64 = 400;
/// Size of an HTTP response without its body: a status line and the usual headers.
pub(super) const HTTP_ANSWER_BYTES: u64 = 300;

/// One end of a connection, as an application sees it.
pub trait Connection {
    /// Writes up to `bytes` bytes. Returns the number of bytes that the connection accepted; 0 if
    /// there is no room.
    fn write(&mut self, now: Time, bytes: u64) -> u64;

    /// Reads all data that have arrived in order, and returns the number of bytes.
    fn read(&mut self, now: Time) -> u64;

    /// Whether the peer has closed its side and this end has read all data of the peer.
    fn peer_has_finished(&self) -> bool;

    /// Closes this side of the connection: no more data can be written.
    fn close(&mut self, now: Time);
}

/// Writes as much of a message as the socket accepts.
pub(super) fn write_up_to<C: Connection>(now: Time, connection: &mut C, to_write: &mut u64) {
    while *to_write > 0 {
        let written = connection.write(now, (*to_write).min(BLOCK_BYTES));
        if written == 0 {
            break;
        }
        *to_write -= written;
    }
}
