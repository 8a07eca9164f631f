//! Writes the packets at an interface to a capture file while the run continues.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;

use cwndlab_packet::Pcap;
use cwndlab_units::Time;

/// A capture file that a separate thread writes during the run, so that the emulator never waits
/// for a disk.
#[derive(Debug)]
pub(crate) struct GrowingCapture {
    next: Pcap,
    /// Start of the run since 1970; added to times since the start of the run.
    origin_nanos: u64,
    written: mpsc::Sender<Vec<u8>>,
    writer: thread::JoinHandle<io::Result<()>>,
}

impl GrowingCapture {
    /// Begins a capture file with wall-clock timestamps; the run began at `origin_nanos` since
    /// 1970.
    pub(crate) fn begin(mut file: File, origin_nanos: u64) -> Self {
        let (written, chunks) = mpsc::channel::<Vec<u8>>();
        let writer = thread::spawn(move || chunks.iter().try_for_each(|c| file.write_all(&c)));
        Self { next: Pcap::default(), origin_nanos, written, writer }
    }

    /// Adds a packet.
    pub(crate) fn push(&mut self, at: Time, packet: &[u8]) {
        let at = Time::from_nanos(self.origin_nanos + at.as_nanos());
        self.next.push(at, packet.len() as u32, packet);
    }

    /// Passes the packets added so far to the thread that writes the file.
    pub(crate) fn write(&mut self) {
        if self.next.bytes() > 0 {
            // If the disk is full, the writer has already ended, and `finish` returns its error.
            let _ = self.written.send(self.next.take());
        }
    }

    /// Waits until the whole capture is written.
    ///
    /// # Errors
    /// Returns an error if the capture file could not be written.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write();
        drop(self.written);
        self.writer.join().expect("no panic")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_growing_capture_is_the_same_file_however_often_it_is_written() {
        let path = std::env::temp_dir().join(format!("cwndlab-capture-{}", std::process::id()));
        let mut capture = GrowingCapture::begin(File::create(&path).expect("made"), 5_000_000_000);
        let mut whole = Pcap::default();
        for number in 0..10 {
            capture.push(Time::from_millis(number), &[0x45; 60]);
            whole.push(Time::from_millis(5_000 + number), 60, &[0x45; 60]);
            if number % 3 == 0 {
                capture.write();
            }
        }
        capture.finish().expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), whole.take());
        std::fs::remove_file(path).expect("there");
    }
}
