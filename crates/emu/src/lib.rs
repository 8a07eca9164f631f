//! The emulator: any [`Link`](cwndlab_link::Link) in real time, for the programs of this machine.
//!
//! ```text
//!   namespace 0 -- TUN 0 -- port 0 [  Link  ] port 1 -- TUN 1 -- namespace 1
//!                                  [        ] port 2 -- TUN 2 -- namespace 2
//! ```
//!
//! The link is the very state machine of the simulator; here the time that it is given is that of
//! the monotonic clock. A frame is stamped when it is read from its TUN, and written to the TUN of
//! the port at which it leaves as soon after its logical time as the machine allows. How much later
//! that was is counted ([`Report`]), as is what a TUN dropped because nobody read it in time.
//!
//! Nothing has a name outside the process: namespaces are held by open files, TUNs are not
//! persistent. Whichever way the process ends, the kernel takes all of it back.
//!
//! Only IPv4 crosses. As with a network card that has offloads, the sender's kernel may hand over
//! large segments, which are cut before the link sees them, checksums are nobody's work, and what
//! leaves a busy or a late link is merged before it is written.

#![cfg(target_os = "linux")]

mod awake;
mod clock;
mod delivery;
mod device;
mod driver;
mod durations;
mod frame;
mod intake;
mod lock;
mod namespace;
mod netlink;
mod offload;
mod outlet;
mod privilege;
mod realtime;
mod route;
mod system_call;
mod tun;

pub use clock::Clock;
pub use driver::{Emulator, Report, Stop, Tap};
pub use durations::{Durations, Percentiles};
pub use frame::{Frame, MTU_BYTES};
pub use lock::StudyLock;
pub use namespace::Namespace;
pub use privilege::{Obstacle, Right, what_is_missing};
pub use realtime::{Priority, set_priority};
pub use route::Route;
pub use tun::{Tun, TunConfig, address_of};
