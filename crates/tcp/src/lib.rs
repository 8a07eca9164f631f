//! TCP without sockets, clocks or payload: segments and time go in, segments and times come out.
//!
//! [`Endpoint`] is one end of a connection, with its sending and its receiving half. How it behaves
//! is a [`Profile`]: Linux of some release, or one of ns-2's agents. Which congestion control it
//! runs is `cwndlab-cc`'s matter. What is left out: payload, urgent data, keep-alive, and the
//! closing states beyond an acknowledged FIN; a RST is taken but never sent.

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
