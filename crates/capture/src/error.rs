//! Why a file is not a capture.

use thiserror::Error;

/// Why a file cannot be read as a capture.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// It begins like neither format.
    #[error("the file is neither pcap nor pcapng: it begins with the bytes {0:02x?}")]
    NoCapture([u8; 4]),
    /// A length that no packet has.
    #[error("at byte {at}: a length of {bytes} bytes is impossible")]
    Length {
        /// Where in the file.
        at: u64,
        /// What it claims.
        bytes: u32,
    },
    /// A block of pcapng that contradicts itself.
    #[error("at byte {at}: {problem}")]
    Block {
        /// Where in the file.
        at: u64,
        /// What is wrong.
        problem: &'static str,
    },
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] std::io::Error),
}
