//! Runs a scenario on the Linux kernel of this machine: real sockets in network namespaces, the
//! emulator between them, and the same tables as the simulator.
//!
//! ```text
//!   applications -- sockets -- TUN 0 -- [ the emulated link ] -- TUN 1.. -- sockets -- applications
//!        |             | TCP_INFO            | every packet: what was sent twice, RTTs, queues
//!        +-------------+---------------------+------------> flows, links, samples, events
//! ```
//!
//! Applications and tables are those of the simulator, so a column has the same meaning in both.
//! Values that `TCP_INFO` does not contain are measured at the emulator, which every packet
//! crosses. The work runs in a separate process (`cwndlab-testbed`), because it needs privileges
//! and a clock; [`protocol`] describes the requests to this process. All that the process creates
//! ends with it.

#![cfg(target_os = "linux")]

mod bed;
mod capture;
mod child;
mod ends;
mod error;
mod helper;
mod live;
mod netstat;
pub mod protocol;
mod proxy;
mod run;
mod shell;
mod socket;
mod states;
mod tcp_info;
mod traces;
mod watch;
mod with_parent;

pub use error::RunError;
pub use helper::{main_of_check, serve};
pub use run::{KernelOutput, Turn, run};
pub use shell::{ShellSetup, main_of_shell, shell, status_code};
pub use with_parent::main_of_program;
