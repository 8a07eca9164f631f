//! Counters over all connections of a namespace: `/proc/net/netstat`.

use std::collections::BTreeMap;
use std::fs;
use std::io;

/// TCP counters of a network namespace under the kernel's names; counters that are zero are
/// omitted.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Netstat {
    counters: BTreeMap<String, u64>,
}

impl Netstat {
    /// Reads the TCP counters of this thread's namespace.
    pub(crate) fn read() -> io::Result<Self> {
        Ok(Self::parse(&fs::read_to_string("/proc/thread-self/net/netstat")?))
    }

    /// The increases of the counters since `before`.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        for (name, count) in &mut self.counters {
            *count = count.saturating_sub(before.of(name));
        }
        self.counters.retain(|_, count| *count > 0);
        self
    }

    pub(crate) fn recoveries(&self) -> u64 {
        self.of("TCPRenoRecovery") + self.of("TCPSackRecovery")
    }

    pub(crate) fn tail_loss_probes(&self) -> u64 {
        self.of("TCPLossProbes")
    }

    pub(crate) fn spurious_timeouts(&self) -> u64 {
        self.of("TCPSpuriousRTOs")
    }

    /// All counters.
    pub(crate) fn into_counters(self) -> BTreeMap<String, u64> {
        self.counters
    }

    fn of(&self, name: &str) -> u64 {
        self.counters.get(name).copied().unwrap_or(0)
    }

    fn parse(text: &str) -> Self {
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
        let mut words = || lines.next().unwrap_or("").split_whitespace();
        let (names, values) = (words(), words());
        let counters = names.zip(values).filter_map(|(name, value)| {
            let count = value.parse().ok().filter(|&count| count > 0)?;
            Some((name.to_owned(), count))
        });
        Self { counters: counters.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "TcpExt: SyncookiesSent TCPRenoRecovery TCPSackRecovery TCPLossProbes Odd\n\
                        TcpExt: 0 2 30 4 -1\nIpExt: InNoRoutes TCPLossProbes\nIpExt: 5 6\n";

    #[test]
    fn counters_are_found_by_their_names() {
        let found = Netstat::parse(TEXT);
        assert_eq!((found.recoveries(), found.tail_loss_probes()), (32, 4));
        assert_eq!(found.spurious_timeouts(), 0);
        let names: Vec<String> = found.into_counters().into_keys().collect();
        assert_eq!(names, ["TCPLossProbes", "TCPRenoRecovery", "TCPSackRecovery"]);
        assert_eq!(Netstat::parse(""), Netstat::default());
    }

    #[test]
    fn what_was_counted_before_is_left_out() {
        let before = Netstat::parse("TcpExt: TCPRenoRecovery TCPLossProbes\nTcpExt: 2 1\n");
        let since = Netstat::parse(TEXT).since(&before);
        assert_eq!((since.recoveries(), since.tail_loss_probes()), (30, 3));
        assert_eq!(since.into_counters().len(), 2);
    }
}
