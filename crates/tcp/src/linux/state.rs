//! State of a TCP connection.

/// States of a connection (RFC 9293 section 3.3.2), reduced to those that the Linux endpoint
/// distinguishes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// The peer sent a RST, or this end refused the connection.
    Reset,
}
