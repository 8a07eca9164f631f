//! The path between a socket and the wire: the transmit queue of a network device, and the
//! device's own buffer.
//!
//! ```text
//!   sockets  ->  [ queue: qdisc ]  ->  [ buffer of the device ]  ->  link
//!   sockets  <-  [ packets merged: GRO ]  <-  [ interrupt of the device ]  <-  link
//! ```
//!
//! A packet leaves the queue when the device's buffer has room for it. A device with a rate
//! empties its buffer at that rate, for example a serial line or USB between a computer and its
//! modem, or an Ethernet card. The link empties the buffer of a device without a rate; the caller
//! passes how much of the buffer the link still holds.
//!
//! The queue's limit is the device's `txqueuelen`, which is 1000 for most devices and 3 for PPP.
//! Linux notifies a socket at once when the queue is full, so a packet that does not fit never
//! leaves TCP: TCP calls [`Host::room`] before it sends.
//!
//! TCP itself decides the size of bursts, the amount of a socket's data that may wait in the host,
//! and pacing, even with fq. Linux notifies TCP of drops by pie, but not of drops by fq_codel.
//!
//! The model leaves out multiple queues per device, buffer limits that follow the load (BQL), and
//! the duration of interrupts. A burst of segments (GSO) occupies the space of its segments, not
//! that of one packet.

mod config;
mod host;
mod queue;
mod receive;
#[cfg(test)]
mod testing;

pub use config::{HostConfig, Qdisc};
pub use host::{Host, HostCounters, Lost};
pub use receive::{Merge, Receiver};
