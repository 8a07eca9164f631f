//! Copies the calls of a loaded algorithm's hooks from the kernel's ring buffer to a file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::rc::Rc;

use libbpf_rs::{MapCore, MapType, Object, RingBuffer, RingBufferBuilder};

use crate::protocol::{Refusal, RefusalKind};

pub(crate) const NOT_RECORDING: &str =
    "the object was compiled without recording; compile it with -DCC_RECORD";

/// A recording in progress; its file contains consecutive records of the type `struct cc_record`
/// (`algorithms/port/record.h`).
pub(crate) struct Recording {
    ring: RingBuffer<'static>,
    file: Rc<RefCell<Written>>,
}

struct Written {
    writer: BufWriter<File>,
    calls: u64,
    failure: Option<io::Error>,
}

impl Recording {
    /// Starts to record the calls of an algorithm's hooks.
    ///
    /// # Errors
    /// Returns an error if the object was compiled without recording or the file cannot be
    /// created.
    pub(crate) fn start(object: &Object, path: &Path) -> Result<Self, Refusal> {
        let map = object
            .maps()
            .find(|map| map.map_type() == MapType::RingBuf)
            .ok_or_else(|| Refusal::new(RefusalKind::Object, NOT_RECORDING))?;
        let file = File::create(path).map_err(|error| failure(path, &error))?;
        let written =
            Written { writer: BufWriter::with_capacity(1 << 16, file), calls: 0, failure: None };
        let file = Rc::new(RefCell::new(written));
        let sink = Rc::clone(&file);
        let mut builder = RingBufferBuilder::new();
        builder
            .add(&map, move |record| sink.borrow_mut().take(record))
            .map_err(|error| Refusal::new(RefusalKind::Kernel, error))?;
        let ring = builder.build().map_err(|error| Refusal::new(RefusalKind::Kernel, error))?;
        Ok(Self { ring, file })
    }

    /// Writes the records in the ring buffer to the file.
    pub(crate) fn drain(&self) {
        self.ring.consume_raw();
    }

    /// Ends the recording; returns the number of recorded calls.
    ///
    /// # Errors
    /// Returns an error if the file could not be written.
    pub(crate) fn finish(self) -> Result<u64, Refusal> {
        self.drain();
        let mut written = self.file.borrow_mut();
        let flushed = written.writer.flush();
        match written.failure.take().map_or(flushed, Err) {
            Ok(()) => Ok(written.calls),
            Err(error) => Err(Refusal::new(RefusalKind::File, error)),
        }
    }
}

impl Written {
    fn take(&mut self, record: &[u8]) -> i32 {
        match self.writer.write_all(record) {
            Ok(()) => self.calls += 1,
            Err(error) => self.failure = Some(error),
        }
        0
    }
}

fn failure(path: &Path, error: &io::Error) -> Refusal {
    Refusal::new(RefusalKind::File, format!("{}: {error}", path.display()))
}
