//! What stands between a socket and the wire: a device's transmit queue and its own buffer.
//!
//! ```text
//!   sockets  ->  [ queue: qdisc ]  ->  [ buffer of the device ]  ->  link
//!   sockets  <-  [ packets merged: GRO ]  <-  [ interrupt of the device ]  <-  link
//! ```
//!
//! A packet leaves the queue when the device's buffer has room for it. A device with a rate empties
//! its buffer at that rate: a serial line or USB between a computer and its modem, or an Ethernet
//! card. A device without one is emptied by the link, which tells how much of the buffer it
//! has not carried yet.
//!
//! The queue's limit is the device's `txqueuelen`, which is 1000 for most and 3 for PPP. Linux tells
//! a socket at once when the queue is full, so that these packets never leave TCP: it asks for
//! [`Host::room`] before it sends.
//!
//! What TCP does about it is TCP's: bursts of segments, how much of a socket stands below it, pacing.
//! With fq, too, it is TCP that paces. TCP learns of drops by pie, not of those by fq_codel.
//!
//! Left out: several queues of one device, limits of its buffer that follow its load (BQL), and time
//! in interrupts. A burst of segments (GSO) takes the room of its segments, not that of one packet.

mod config;
mod host;
mod queue;
mod receive;
#[cfg(test)]
mod testing;

pub use config::{HostConfig, Qdisc};
pub use host::{Host, HostCounters, Lost};
pub use receive::{Merge, Receiver};
