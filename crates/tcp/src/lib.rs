//! TCP endpoints without sockets, clocks or payload: the input is segments and the time, the
//! output is segments and the time of the next call.
//!
//! [`Endpoint`] is one end of a connection, with its sending and its receiving half. A
//! [`Profile`], such as a release of Linux or an agent of ns-2, determines its behaviour; its
//! congestion control comes from `cwndlab-cc`. The endpoint leaves out payload, urgent data,
//! keep-alive, and the closing states after an acknowledged FIN. It handles a received RST. It
//! sends a RST only to refuse a repeated SYN that requests another kind of ECN.

mod classic;
mod endpoint;
mod info;
mod linux;
mod outbox;
mod parts;
mod profile;

pub use classic::{
    ClassicSettings, ClassicTimer, Handshake, Overhead, Recovery, RttReport, RttSampling,
};
pub use endpoint::{Endpoint, EndpointConfig};
pub use info::{CaState, Counters, Info, TcpEvent};
pub use linux::{
    BurstSettings, EcnMode, HeldAckSettings, HostTraits, LinuxSettings, OptionSettings,
    ReceiveSettings, ReorderingSettings, RepairSettings, SendSettings, TimerSettings,
    WindowReduction,
};
pub use outbox::{Polled, TcpOutput, Train};
pub use profile::{Profile, ProfileError, StackSettings};
