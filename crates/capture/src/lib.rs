//! Analysis of TCP connections from their packets alone: goodput, round-trip times, retransmissions
//! and their bursts, timeouts and data in flight, from a pcap or pcapng capture.
//!
//! ```text
//!   bytes -> Reader -> Frame -> decode -> TcpPacket -> Analysis -> one Flow a direction with data
//! ```
//!
//! The capture is read as a stream, and packets are not stored. Memory grows by the data in
//! flight, four bytes per round-trip time sample, and one row per sample of the time series. Any
//! input yields either an analysis or an error. A capture that ends within a packet, because the
//! capturing program was killed, is read up to that packet.
//!
//! The results depend on where the capture was taken. At the data's sender, all results are known.
//! A capture at the receiver does not show lost packets and round-trip times, and a timeout looks
//! like any other late retransmission: these results are `None` or empty.

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

/// Largest step of the clock back that is ignored: programs that capture several interfaces or
/// queues write packets slightly out of order. A larger step would falsify times and rates.
const MOST_SET_BACK_NS: u64 = 1_000_000_000;

/// Analyses a whole capture.
///
/// # Errors
/// Returns an error if the input is not a capture, if it is damaged other than at its end, or if its
/// clock was set back.
pub fn analyse(
    bytes: impl std::io::Read,
    config: AnalysisConfig,
) -> Result<Vec<Flow>, CaptureError> {
    let mut reader = Reader::new(bytes)?;
    let mut analysis = Analysis::new(config);
    let mut latest_ns = 0;
    while let Some(frame) = reader.next_frame()? {
        if let Some(packet) = decode(&frame) {
            latest_ns = frame.at_ns.max(latest_ns);
            let back_ns = latest_ns - frame.at_ns;
            if back_ns > MOST_SET_BACK_NS {
                return Err(CaptureError::ClockSetBack { back_ms: back_ns / 1_000_000 });
            }
            analysis.handle_packet(frame.at_ns, &packet);
        }
    }
    Ok(analysis.finish())
}
