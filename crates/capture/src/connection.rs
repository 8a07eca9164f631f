//! A TCP connection in a capture: its handshake and both directions.

use cwndlab_packet::{Flags, Peer, Segment, SynOptions, TcpPacket};

use crate::sender::Sender;
use crate::{AnalysisConfig, Flow, Vantage};

/// Bytes of TCP options in a segment with timestamps, which reduce the payload of a full segment.
const TIMESTAMP_BYTES: u32 = 12;
/// Minimum ratio of the longer part of the handshake to the shorter part; with a smaller ratio, the
/// handshake does not show where the capture was taken.
const CLEARLY_LONGER: u64 = 2;

#[derive(Debug)]
pub(crate) struct Connection {
    /// The two ends of the connection, in the order of their addresses.
    ends: [Peer; 2],
    /// For each end, the data that it sent.
    senders: [Sender; 2],
    handshake: Handshake,
    now_ns: u64,
}

#[derive(Debug, Default)]
struct Handshake {
    /// The end that opened the connection, the time of its SYN, and its initial sequence number.
    syn: Option<(usize, u64, u32)>,
    syn_ack_ns: Option<u64>,
    ack_ns: Option<u64>,
    mss: [Option<u16>; 2],
    has_timestamps: bool,
    is_closed: bool,
}

impl Connection {
    pub(crate) fn new(at_ns: u64, ends: [Peer; 2], config: AnalysisConfig) -> Self {
        let senders = [Sender::new(at_ns, config), Sender::new(at_ns, config)];
        Self { ends, senders, handshake: Handshake::default(), now_ns: at_ns }
    }

    /// Whether a SYN with this sequence number begins a new connection between the same ends.
    pub(crate) fn is_over(&self, packet: &TcpPacket) -> bool {
        let segment = &packet.segment;
        let opens = segment.flags.has(Flags::SYN) && !segment.flags.has(Flags::ACK);
        let is_same = self.handshake.syn.is_some_and(|(_, _, seq)| seq == segment.seq);
        opens && !is_same && (self.handshake.is_closed || self.handshake.syn.is_some())
    }

    pub(crate) fn handle_packet(&mut self, at_ns: u64, packet: &TcpPacket) {
        // The capture's clock may have been set back.
        self.now_ns = self.now_ns.max(at_ns);
        let at_ns = self.now_ns;
        let from = usize::from(packet.source != self.ends[0]);
        self.handle_handshake(at_ns, from, &packet.segment);
        let vantage = [self.vantage(0), self.vantage(1)];
        self.senders[from].handle_sent(at_ns, &packet.segment, vantage[from]);
        self.senders[1 - from].handle_answer(at_ns, &packet.segment, vantage[1 - from]);
        self.handshake.is_closed |= packet.segment.flags.has(Flags::FIN | Flags::RST);
    }

    fn handle_handshake(&mut self, at_ns: u64, from: usize, segment: &Segment) {
        let handshake = &mut self.handshake;
        if let Some(syn) = segment.syn {
            handshake.mss[from] = Some(syn.mss);
            if segment.flags.has(Flags::ACK) {
                handshake.syn_ack_ns = Some(at_ns);
                handshake.has_timestamps = segment.timestamps.is_some();
                let [first, second] =
                    handshake.mss.map(|mss| u32::from(mss.unwrap_or(SynOptions::DEFAULT_MSS)));
                let options_bytes = if handshake.has_timestamps { TIMESTAMP_BYTES } else { 0 };
                let mss_bytes = first.min(second).saturating_sub(options_bytes);
                for sender in &mut self.senders {
                    sender.set_mss(mss_bytes);
                }
            } else {
                // Of several SYNs, only the last one gives the time of the answer.
                handshake.syn = Some((from, at_ns, segment.seq));
            }
        } else if handshake.ack_ns.is_none()
            && let (Some((client, syn_ns, _)), Some(_)) = (handshake.syn, handshake.syn_ack_ns)
            && from == client
        {
            handshake.ack_ns = Some(at_ns);
            let rtt_us = u32::try_from(at_ns.saturating_sub(syn_ns) / 1_000).unwrap_or(u32::MAX);
            for sender in &mut self.senders {
                sender.handle_handshake_rtt(rtt_us);
            }
        }
    }

    /// Where the capture was taken, for data from one end. The longer part of the handshake is the
    /// round trip to the end that is farther from the capture.
    fn vantage(&self, sender: usize) -> Vantage {
        let handshake = &self.handshake;
        let (Some((client, syn_ns, _)), Some(syn_ack_ns), Some(ack_ns)) =
            (handshake.syn, handshake.syn_ack_ns, handshake.ack_ns)
        else {
            return Vantage::Unknown;
        };
        let far_ns = syn_ack_ns.saturating_sub(syn_ns);
        let near_ns = ack_ns.saturating_sub(syn_ack_ns);
        if far_ns.max(near_ns) < CLEARLY_LONGER * far_ns.min(near_ns) {
            return Vantage::Unknown;
        }
        if (far_ns > near_ns) == (sender == client) { Vantage::Sender } else { Vantage::Receiver }
    }

    /// Returns a flow for each direction in which data were transferred.
    pub(crate) fn finish(self, number: u32) -> impl Iterator<Item = Flow> {
        let vantage = [self.vantage(0), self.vantage(1)];
        let client = self.handshake.syn.map(|(client, _, _)| client);
        let ends = self.ends;
        self.senders.into_iter().enumerate().filter(|(_, sender)| sender.has_data()).map(
            move |(at, sender)| Flow {
                connection: number,
                is_sender_client: client.map(|client| client == at),
                ..sender.finish(vantage[at], (ends[at], ends[1 - at]))
            },
        )
    }
}
