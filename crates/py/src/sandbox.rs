//! Confines the process that loads a user's algorithms, and the compiler that reads them.

use std::ffi::OsString;
use std::path::PathBuf;

use cwndlab_sandbox::{Protection, RunCompilerError};
use pyo3::exceptions::PyTimeoutError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Protections of the kernel: their names, and whether each is available.
#[pyfunction]
pub(crate) fn protections() -> [(&'static str, bool); 2] {
    let Protection { has_landlock, has_seccomp } = Protection::of_kernel();
    [("Landlock", has_landlock), ("seccomp", has_seccomp)]
}

/// Confines this process permanently: it may read below some folders, and compute.
#[pyfunction]
pub(crate) fn confine_worker(readable: Vec<PathBuf>) -> PyResult<()> {
    cwndlab_cc::install_guard();
    Ok(cwndlab_sandbox::confine_worker(&readable)?)
}

type FinishedCommand = (i32, Py<PyBytes>, Py<PyBytes>);

/// Runs a command that may read below some folders and write below others.
#[pyfunction]
pub(crate) fn run_compiler(
    py: Python<'_>,
    command: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
    readable: Vec<PathBuf>,
    writable: Vec<PathBuf>,
    time_limit_s: u64,
) -> PyResult<FinishedCommand> {
    let run = || {
        cwndlab_sandbox::run_compiler(&command, &environment, &readable, &writable, time_limit_s)
    };
    let done = py.detach(run).map_err(|error| match error {
        RunCompilerError::Start(error) => error.into(),
        other => PyTimeoutError::new_err(other.to_string()),
    })?;
    let bytes = |text: &[u8]| PyBytes::new(py, text).unbind();
    Ok((done.status, bytes(&done.output), bytes(&done.messages)))
}
