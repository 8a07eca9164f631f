//! Runs a scenario on the running Linux kernel: real sockets in namespaces, the emulator between
//! them, and the tables of the simulator.
//!
//! ```text
//!   applications -- sockets -- TUN 0 -- [ the emulated link ] -- TUN 1.. -- sockets -- applications
//!        |             | TCP_INFO            | every packet: what was sent twice, RTTs, queues
//!        +-------------+---------------------+------------> flows, links, samples, events
//! ```
//!
//! Applications and tables are those of the simulator, so that a column means the same in both.
//! What `TCP_INFO` does not contain is measured at the emulator, which every packet crosses. The
//! work runs in a separate process (`cwndlab-testbed`), because it needs privileges and a clock;
//! [`protocol`] describes its requests. Nothing that it creates outlives that process.

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
