//! Packets at an interface as a capture file: pcap with nanoseconds and link type 101 (raw IP), as in
//! draft-ietf-opsawg-pcap. Packets are cut off behind their headers.

use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc;
use std::thread;

use cwndlab_units::Time;

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const LINKTYPE_RAW: u32 = 101;
const SNAP_BYTES: usize = 128;

/// A capture file in memory.
#[derive(Debug)]
pub(crate) struct Capture {
    bytes: Vec<u8>,
}

impl Capture {
    pub(crate) fn new() -> Self {
        let mut bytes = Vec::with_capacity(1 << 20);
        bytes.extend(MAGIC_NANOSECONDS.to_le_bytes());
        bytes.extend(2_u16.to_le_bytes());
        bytes.extend(4_u16.to_le_bytes());
        bytes.extend([0; 8]);
        bytes.extend((SNAP_BYTES as u32).to_le_bytes());
        bytes.extend(LINKTYPE_RAW.to_le_bytes());
        Self { bytes }
    }

    /// Adds a packet.
    pub(crate) fn push(&mut self, at: Time, packet: &[u8]) {
        let kept = &packet[..packet.len().min(SNAP_BYTES)];
        let (secs, nanos) = (at.as_nanos() / 1_000_000_000, at.as_nanos() % 1_000_000_000);
        for field in [secs as u32, nanos as u32, kept.len() as u32, packet.len() as u32] {
            self.bytes.extend(field.to_le_bytes());
        }
        self.bytes.extend(kept);
    }

    /// The file.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// A capture that is written while it goes on, by a thread of its own: the emulator waits for no disk.
#[derive(Debug)]
pub(crate) struct GrowingCapture {
    next: Capture,
    /// What is added to times since the run began.
    origin_nanos: u64,
    written: mpsc::Sender<Vec<u8>>,
    writer: thread::JoinHandle<io::Result<()>>,
}

impl GrowingCapture {
    /// Begins a file whose packets have the time of day, which was `origin_nanos` at the run's begin.
    pub(crate) fn begin(mut file: File, origin_nanos: u64) -> Self {
        let (written, chunks) = mpsc::channel::<Vec<u8>>();
        let writer = thread::spawn(move || chunks.iter().try_for_each(|c| file.write_all(&c)));
        Self { next: Capture::new(), origin_nanos, written, writer }
    }

    /// Adds a packet.
    pub(crate) fn push(&mut self, at: Time, packet: &[u8]) {
        self.next.push(Time::from_nanos(self.origin_nanos + at.as_nanos()), packet);
    }

    /// Has everything written that was added.
    pub(crate) fn write(&mut self) {
        if !self.next.bytes.is_empty() {
            // Where the disk is full, the writer has ended, and says so at the end.
            let _ = self.written.send(std::mem::take(&mut self.next.bytes));
        }
    }

    /// Waits until all is written.
    ///
    /// # Errors
    /// If the file could not be written.
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
        let mut whole = Capture::new();
        for number in 0..10 {
            capture.push(Time::from_millis(number), &[0x45; 60]);
            whole.push(Time::from_millis(5_000 + number), &[0x45; 60]);
            if number % 3 == 0 {
                capture.write();
            }
        }
        capture.finish().expect("written");
        assert_eq!(std::fs::read(&path).expect("there"), whole.into_bytes());
        std::fs::remove_file(path).expect("there");
    }

    #[test]
    fn a_long_packet_keeps_its_length_and_loses_its_payload() {
        let mut capture = Capture::new();
        capture.push(Time::from_nanos(3_000_000_007), &[0x45; 1_500]);
        let bytes = capture.into_bytes();
        assert_eq!(bytes.len(), 24 + 16 + SNAP_BYTES);
        assert_eq!(bytes[24..40], [3, 0, 0, 0, 7, 0, 0, 0, 128, 0, 0, 0, 0xdc, 5, 0, 0]);
    }
}
