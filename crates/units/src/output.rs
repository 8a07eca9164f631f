use crate::Time;

/// One thing that a state machine gives from `poll`, which gives `None` when there is nothing more
/// until its `wake_time`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<P, E> {
    /// A packet left at the logical time `at`, which is not after the poll however late that came.
    Packet {
        /// When it left.
        at: Time,
        /// Where it left; a medium's ports are numbered by the medium.
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
}
