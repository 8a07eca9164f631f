use crate::Time;

/// What every state machine answers to `poll`.
///
/// Poll again after `Packet` and `Event`, until `Wait` or `Idle`. A `Wait` is always later than
/// the time of the poll.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<P, E> {
    /// A packet left at the logical time `at`, which is not after the poll however late that came.
    Packet {
        /// When it left.
        at: Time,
        /// Where it left; a medium's ports are numbered by the medium, an endpoint has port 0.
        port: u16,
        /// The packet.
        packet: P,
    },
    /// Something happened that a recorder may want to know.
    Event {
        /// When it happened.
        at: Time,
        /// What happened.
        event: E,
    },
    /// Nothing before this time, unless there is input.
    Wait(Time),
    /// Nothing until there is input.
    Idle,
}
