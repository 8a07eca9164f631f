use crate::Time;

/// An output that the method `poll` of a state machine returns; `poll` returns `None` if there is
/// no output before its `wake_time`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<P, E> {
    /// A packet left at the logical time `at`. This time is not after the call of `poll`, even if
    /// `poll` was called late.
    Packet {
        /// Time at which the packet left.
        at: Time,
        /// Port at which the packet left; each medium numbers its own ports.
        port: u16,
        /// The packet.
        packet: P,
    },
    /// An event that a run can record.
    Event {
        /// Time at which the event happened.
        at: Time,
        /// What happened.
        event: E,
    },
}
