//! What a namespace counts of all its connections together: `/proc/net/netstat`.

use std::fs;
use std::io;

/// Counters of TCP in one namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Netstat {
    pub(crate) recoveries: u64,
    pub(crate) tail_loss_probes: u64,
    pub(crate) spurious_timeouts: u64,
}

impl Netstat {
    /// Those of this thread's namespace.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/thread-self/net/netstat")?))
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter(|line| line.starts_with("TcpExt:"));
        let mut words = || lines.next().unwrap_or("").split_whitespace();
        let (names, values) = (words(), words());
        let mut counters = Self::default();
        for (name, value) in names.zip(values) {
            let count = || value.parse::<u64>().unwrap_or(0);
            match name {
                "TCPRenoRecovery" | "TCPSackRecovery" => counters.recoveries += count(),
                "TCPLossProbes" => counters.tail_loss_probes += count(),
                "TCPSpuriousRTOs" => counters.spurious_timeouts += count(),
                _ => {}
            }
        }
        counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_found_by_their_names() {
        let text = "TcpExt: SyncookiesSent TCPRenoRecovery TCPSackRecovery TCPLossProbes\n\
                    TcpExt: 1 2 30 4\nIpExt: InNoRoutes TCPLossProbes\nIpExt: 5 6\n";
        let expected = Netstat { recoveries: 32, tail_loss_probes: 4, spurious_timeouts: 0 };
        assert_eq!(Netstat::parse(text), expected);
        assert_eq!(Netstat::parse(""), Netstat::default());
    }
}
