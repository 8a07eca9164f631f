//! The emulator: runs any [`Link`](cwndlab_link::Link) in real time between programs of this
//! machine.
//!
//! ```text
//!   namespace 0 -- TUN 0 -- port 0 [  Link  ] port 1 -- TUN 1 -- namespace 1
//!                                  [        ] port 2 -- TUN 2 -- namespace 2
//! ```
//!
//! The link is the same state machine as in the simulator; here, the monotonic clock drives it. A
//! frame gets a timestamp when it is read from its TUN device. The link determines when the frame
//! departs, and the emulator writes the frame to the TUN device of its exit port as soon after
//! this time as the machine allows. The [`Report`] contains how late frames were written, and how
//! many packets a TUN device dropped because its ring was full.
//!
//! The emulator creates nothing with a name outside of its process: open files hold the
//! namespaces, and the TUN devices are not persistent. However the process ends, the kernel
//! releases all of them.
//!
//! Only IPv4 packets cross the link. The emulator acts like a network card with offloads. The
//! sender's kernel may pass large segments, which are split before they enter the link; checksums
//! are not computed; and frames that leave a busy or late link are merged before they are written.

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
mod poll;
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
pub use poll::{Interest, Poll, Ready};
pub use privilege::{Obstacle, Right, what_is_missing};
pub use realtime::{Priority, set_priority};
pub use route::Route;
pub use tun::{Tun, TunConfig, address_of};
