//! TCP connections as their packets alone show them: goodput, round-trip times, retransmissions and their
//! bursts, timeouts and data in flight, from a pcap or pcapng capture.
//!
//! ```text
//!   bytes -> Reader -> Frame -> decode -> TcpPacket -> Analysis -> one Flow a direction with data
//! ```
//!
//! Everything is read as a stream: no packet is kept. Memory grows with the data in flight, by four
//! bytes a round-trip time and by a row a sample of the time series. Any bytes are a capture or an error, and a capture that
//! ends within a packet (its program was killed) is read up to there.
//!
//! Where a capture was taken decides what it can tell. Beside the data's sender, everything here is
//! known. Beside the receiver, packets that were lost were never seen, round trips cannot be
//! measured, and a timeout looks like any other late retransmission: those values are `None`.

mod analysis;
mod arrivals;
mod config;
mod connection;
mod decode;
mod error;
mod flow;
mod reader;
mod round_trips;
mod sender;
mod series;
mod silence;

pub use analysis::Analysis;
pub use config::AnalysisConfig;
pub use cwndlab_packet::{Peer, TcpPacket};
pub use decode::decode;
pub use error::CaptureError;
pub use flow::{Flow, FlowEvent, FlowSample, Vantage};
pub use reader::{Frame, Reader};

/// Analyses a whole capture.
///
/// # Errors
/// If it is not a capture, or damaged elsewhere than at its end.
pub fn analyse(
    bytes: impl std::io::Read,
    config: AnalysisConfig,
) -> Result<Vec<Flow>, CaptureError> {
    let mut reader = Reader::new(bytes)?;
    let mut analysis = Analysis::new(config);
    while let Some(frame) = reader.next_frame()? {
        if let Some(packet) = decode(&frame) {
            analysis.handle_packet(frame.at_ns, &packet);
        }
    }
    Ok(analysis.finish())
}
