//! How far a connection has come.

/// States of a connection (RFC 9293 section 3.3.2) as far as they differ here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    Closed,
    Listen,
    SynSent,
    SynReceived,
    Established,
    /// The peer sent a RST.
    Reset,
}
