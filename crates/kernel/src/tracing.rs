//! Records events of the kernel with BPF programs at tracepoints and functions.

use std::path::Path;

use libbpf_rs::{Link, Object, ObjectBuilder};

use crate::protocol::{Refusal, RefusalKind};
use crate::recording::Recording;
use crate::refusal::start_listening;

/// A trace in progress; dropping it detaches its programs.
pub(crate) struct Tracing {
    // Dropped in this order: first the writers of the ring buffer, then its reader, then the object
    // that contains it.
    links: Vec<Link>,
    recording: Recording,
    _object: Object,
}

impl Tracing {
    /// Attaches every program of an object and writes their records to a file.
    ///
    /// # Errors
    /// Returns an error if the kernel rejects a program; the error contains the kernel's reason.
    pub(crate) fn start(object: &Path, file: &Path) -> Result<Self, Refusal> {
        start_listening();
        let open = ObjectBuilder::default()
            .open_file(object)
            .map_err(|error| Refusal::not_opened(&error))?;
        let object = open.load().map_err(|error| Refusal::not_loaded(&error))?;
        let recording = Recording::start(&object, file)?;
        let links = object
            .progs_mut()
            .map(|program| {
                program.attach().map_err(|error| {
                    let name = program.name().to_string_lossy().into_owned();
                    Refusal::new(
                        RefusalKind::Kernel,
                        format!("the kernel cannot trace {name}: {error}"),
                    )
                })
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { links, recording, _object: object })
    }

    /// Writes the records in the ring buffer to the file.
    pub(crate) fn drain(&self) {
        self.recording.drain();
    }

    /// Ends the trace; returns the number of records in the file.
    ///
    /// # Errors
    /// Returns an error if the file could not be written.
    pub(crate) fn finish(self) -> Result<u64, Refusal> {
        drop(self.links);
        self.recording.finish()
    }
}
