use crate::Time;

/// One output of a state machine's `poll`, which returns `None` if there is none until its
/// `wake_time`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output<P, E> {
    /// A packet left at the logical time `at`, which is not after the poll, however late the poll
    /// was.
    Packet {
        /// When it left.
        at: Time,
        /// Port at which it left; a medium numbers its own ports.
        port: u16,
        /// The packet.
        packet: P,
    },
    /// An event that a recorder may store.
    Event {
        /// When it happened.
        at: Time,
        /// What happened.
        event: E,
    },
}
