//! What the kernel does by itself, taken down where it does it: programs at tracepoints and functions.

use std::path::Path;

use libbpf_rs::{Link, Object, ObjectBuilder};

use crate::protocol::{Refusal, RefusalKind};
use crate::recording::Recording;
use crate::refusal::start_listening;

/// A trace under way. Dropped, its programs are gone.
pub(crate) struct Tracing {
    // In this order: nothing writes any more when the ring buffer goes, nothing reads when the
    // object does.
    links: Vec<Link>,
    recording: Recording,
    _object: Object,
}

impl Tracing {
    /// Attaches every program of an object, and writes what they tell to a file.
    ///
    /// # Errors
    /// With the kernel's reason.
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

    /// Moves what the kernel has traced into the file.
    pub(crate) fn drain(&self) {
        self.recording.drain();
    }

    /// Ends it; how many records are in the file.
    ///
    /// # Errors
    /// If the file could not be written.
    pub(crate) fn finish(self) -> Result<u64, Refusal> {
        drop(self.links);
        self.recording.finish()
    }
}
