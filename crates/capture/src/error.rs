//! Errors in capture files.

use thiserror::Error;

/// Why a file cannot be read as a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The file is neither pcap nor pcapng; the value contains its first bytes.
    #[error("the file is neither pcap nor pcapng: it begins with the bytes {0:02x?}")]
    NoCapture([u8; 4]),
    /// The file ends within its header; the value is the file's length in bytes.
    #[error("the file ends after {0} bytes, within its header; copy or record the capture again")]
    InHeader(u64),
    /// The file contains an impossible length.
    #[error(
        "at byte {at}: a length of {bytes} bytes is impossible; copy or record the capture again"
    )]
    Length {
        /// Position of the impossible length in the file.
        at: u64,
        /// The length that the file states.
        bytes: u32,
    },
    /// A pcapng block is inconsistent.
    #[error("at byte {at}: {problem}; copy or record the capture again")]
    Block {
        /// Position of the block in the file.
        at: u64,
        /// The inconsistency.
        problem: &'static str,
    },
    /// The clock was set back during the capture.
    #[error("the clock was set back by {back_ms} ms during the capture; record the capture again")]
    ClockSetBack {
        /// Difference to the latest time before.
        back_ms: u64,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}
