//! All connections of a capture.

use std::collections::BTreeMap;

use crate::config::AnalysisConfig;
use crate::connection::Connection;
use crate::{Flow, Peer, TcpPacket};

/// Connections that are followed at once; beyond it, packets of further ones are not looked at.
const MAX_CONNECTIONS: usize = 100_000;

/// Takes the packets of a capture in their order.
#[derive(Debug)]
pub struct Analysis {
    config: AnalysisConfig,
    open: BTreeMap<[Peer; 2], (u32, Connection)>,
    over: Vec<(u32, Connection)>,
    seen: u32,
}

impl Analysis {
    /// Nothing has been seen.
    pub fn new(config: AnalysisConfig) -> Self {
        Self { config, open: BTreeMap::new(), over: Vec::new(), seen: 0 }
    }

    /// The next packet, captured at a time since 1970.
    pub fn handle_packet(&mut self, at_ns: u64, packet: &TcpPacket) {
        let mut ends = [packet.source, packet.destination];
        ends.sort_unstable();
        if self.open.get(&ends).is_some_and(|(_, connection)| connection.is_over(packet)) {
            self.over.extend(self.open.remove(&ends));
        }
        if !self.open.contains_key(&ends) {
            if self.open.len() + self.over.len() == MAX_CONNECTIONS {
                return;
            }
            self.open.insert(ends, (self.seen, Connection::new(at_ns, ends, self.config)));
            self.seen += 1;
        }
        if let Some((_, connection)) = self.open.get_mut(&ends) {
            connection.handle_packet(at_ns, packet);
        }
    }

    /// A flow for each direction of each connection that carried data, in the order of the
    /// connections' first packets.
    pub fn finish(self) -> Vec<Flow> {
        let mut all: Vec<_> = self.over.into_iter().chain(self.open.into_values()).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().flat_map(|(number, connection)| connection.finish(number)).collect()
    }
}
