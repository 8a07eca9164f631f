//! TCP without sockets, clocks or payload: segments and time go in, segments and deadlines come
//! out.
//!
//! [`Endpoint`] is one end of a connection, with its sending and its receiving half. Its behaviour
//! is a [`Profile`], such as a release of Linux or an agent of ns-2; its congestion control comes
//! from `cwndlab-cc`. Left out: payload, urgent data, keep-alive, and the closing states after an
//! acknowledged FIN. A received RST is handled; a RST is sent only to refuse a repeated SYN that
//! asks for another kind of ECN.

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
