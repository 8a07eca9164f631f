//! The kernel's description of a TCP socket: `struct tcp_info` of `linux/tcp.h`.

use cwndlab_units::Duration;

/// Length of the structure up to the last field that this module reads; older kernels return less.
///
/// The module `python/cwndlab/results/tcp_info.py` reads all fields.
const KNOWN_BYTES: usize = 248;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// Offset of the socket's count of timeouts (since Linux 6.7).
const TOTAL_RTO_AT: usize = 240;

/// The state of the sending side of a socket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct TcpInfo {
    pub(crate) ca_state: u8,
    pub(crate) srtt_us: u32,
    pub(crate) cwnd_pkts: u32,
    /// Slow start threshold; `None` while it is infinite.
    pub(crate) ssthresh_pkts: Option<u32>,
    pub(crate) in_flight_pkts: u32,
    pub(crate) pacing_rate_byte_s: Option<u64>,
    pub(crate) delivery_rate_byte_s: u64,
    pub(crate) busy: Duration,
    pub(crate) rwnd_limited: Duration,
    pub(crate) sndbuf_limited: Duration,
    /// Number of retransmission timeouts; `None` if the kernel does not count them.
    pub(crate) timeouts: Option<u64>,
}

impl TcpInfo {
    /// Reads the structure that the kernel returned for `TCP_INFO`.
    pub(crate) fn parse(bytes: &[u8]) -> Self {
        let mut known = [0; KNOWN_BYTES];
        let length = bytes.len().min(KNOWN_BYTES);
        known[..length].copy_from_slice(&bytes[..length]);
        let long =
            |at: usize| u32::from_ne_bytes(known[at..at + 4].try_into().expect("four bytes"));
        let quad =
            |at: usize| u64::from_ne_bytes(known[at..at + 8].try_into().expect("eight bytes"));
        let [unacked, sacked, lost, retrans] = [24, 28, 32, 36].map(long);
        let ssthresh_pkts = long(76);
        Self {
            ca_state: known[1],
            srtt_us: long(68),
            cwnd_pkts: long(80),
            ssthresh_pkts: (ssthresh_pkts < INFINITE_SSTHRESH).then_some(ssthresh_pkts),
            in_flight_pkts: (unacked + retrans).saturating_sub(sacked + lost),
            pacing_rate_byte_s: Some(quad(104)).filter(|&rate| rate != u64::MAX),
            delivery_rate_byte_s: quad(160),
            busy: Duration::from_micros(quad(168)),
            rwnd_limited: Duration::from_micros(quad(176)),
            sndbuf_limited: Duration::from_micros(quad(184)),
            timeouts: (length > TOTAL_RTO_AT + 1).then(|| {
                let count = [known[TOTAL_RTO_AT], known[TOTAL_RTO_AT + 1]];
                u64::from(u16::from_ne_bytes(count))
            }),
        }
    }
}

/// Creates a buffer that is large enough for the structure of any kernel, including unknown
/// fields.
pub(crate) const fn buffer() -> [u8; 512] {
    [0; 512]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_are_where_linux_has_them() {
        let mut bytes = buffer();
        bytes[1] = 3;
        for (at, value) in [(24, 20_u32), (28, 5), (32, 4), (36, 2), (68, 25_000), (80, 17)] {
            bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes[76..80].copy_from_slice(&INFINITE_SSTHRESH.to_ne_bytes());
        bytes[104..112].copy_from_slice(&u64::MAX.to_ne_bytes());
        bytes[168..176].copy_from_slice(&1_500_000_u64.to_ne_bytes());
        bytes[240..242].copy_from_slice(&7_u16.to_ne_bytes());
        let info = TcpInfo::parse(&bytes);
        assert_eq!((info.ca_state, info.srtt_us, info.cwnd_pkts), (3, 25_000, 17));
        assert_eq!((info.ssthresh_pkts, info.in_flight_pkts), (None, 13));
        assert_eq!(info.pacing_rate_byte_s, None);
        assert_eq!((info.busy, info.timeouts), (Duration::from_millis(1_500), Some(7)));
    }

    #[test]
    fn an_old_kernel_does_not_count_timeouts() {
        assert_eq!(TcpInfo::parse(&buffer()[..232]).timeouts, None);
    }
}
