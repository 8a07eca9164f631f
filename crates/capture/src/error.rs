//! Errors in capture files.

use thiserror::Error;

/// Why a file cannot be read as a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The first bytes match neither format.
    #[error("the file is neither pcap nor pcapng: it begins with the bytes {0:02x?}")]
    NoCapture([u8; 4]),
    /// The file ends within its header, after this many bytes.
    #[error("the file ends after {0} bytes, within its header; copy or record the capture again")]
    InHeader(u64),
    /// A length is impossible.
    #[error("at byte {at}: a length of {bytes} bytes is impossible")]
    Length {
        /// Offset in the file.
        at: u64,
        /// The length in the file.
        bytes: u32,
    },
    /// A pcapng block is inconsistent.
    #[error("at byte {at}: {problem}")]
    Block {
        /// Offset in the file.
        at: u64,
        /// The inconsistency.
        problem: &'static str,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}
