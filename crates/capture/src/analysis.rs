//! Analysis of all connections of a capture.

use std::collections::BTreeMap;

use crate::config::AnalysisConfig;
use crate::connection::Connection;
use crate::{Flow, Peer, TcpPacket};

/// Maximum number of simultaneous connections; the packets of any further connection are ignored.
const MAX_CONNECTIONS: usize = 100_000;

/// Analyses the packets of a capture in order.
#[derive(Debug)]
pub struct Analysis {
    config: AnalysisConfig,
    open: BTreeMap<[Peer; 2], (u32, Connection)>,
    over: Vec<(u32, Connection)>,
    seen: u32,
}

impl Analysis {
    /// Creates an analysis without packets.
    pub fn new(config: AnalysisConfig) -> Self {
        Self { config, open: BTreeMap::new(), over: Vec::new(), seen: 0 }
    }

    /// Processes the next packet, captured at `at_ns` since 1970.
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

    /// Returns a flow for each direction in which a connection transferred data; connections are
    /// in the order of their first packets.
    pub fn finish(self) -> Vec<Flow> {
        let mut all: Vec<_> = self.over.into_iter().chain(self.open.into_values()).collect();
        all.sort_unstable_by_key(|(number, _)| *number);
        all.into_iter().flat_map(|(number, connection)| connection.finish(number)).collect()
    }
}
