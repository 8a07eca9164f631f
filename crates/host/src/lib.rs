//! What stands between a socket and the wire: a device's transmit queue and its own buffer.
//!
//! ```text
//!   sockets  ->  [ queue of the device: pfifo ]  ->  [ buffer of the device ]  ->  link
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
//! Left out: several queues of one device, and time in interrupts.

mod config;
mod host;

pub use config::HostConfig;
pub use host::{Host, HostCounters};
