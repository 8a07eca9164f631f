//! The host below TCP: how many packets it accepts in total and from one socket, and how TCP reacts
//! when it refuses a packet.
//!
//! - *Refusals.* A full device queue is congestion that no ACK will report. Linux notices it when
//!   it passes a segment to the device. The segment counts as never sent, the window is reduced as
//!   for a congestion mark (once per window), and the data wait for the next ACK or timer.
//! - *Small queues* (TCP Small Queues, Linux 3.6; ip-sysctl, `tcp_limit_output_bytes`): a socket
//!   keeps at most the data of a millisecond at its pacing rate, or two packets, below TCP. More
//!   data are sent as packets leave the device, so a short queue is seldom full.
//! - *Bursts* (TSO, GSO): if the device cuts large packets into segments, TCP passes a burst at
//!   once, up to the device's limit. A smaller burst waits for more ACKs while it is less than a
//!   third of the window (ip-sysctl, `tcp_tso_win_divisor`), for at most a millisecond.

use cwndlab_packet::Flags;
use cwndlab_units::Time;

use super::LinuxEndpoint;
use super::clock::Jiffies;
use super::output::NewSegment;
use super::pacer::Push;
use super::receiver::Buffers;
use crate::info::{CaState, TcpEvent};

/// Properties of the host that an endpoint needs to know before it connects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HostTraits {
    /// Maximum number of segments that are passed to the device as one packet; 1 means no
    /// segmentation offload.
    pub burst_pkts: u32,
    /// Whether the host paces all traffic, whatever the algorithm (fq).
    pub is_pacing: bool,
    /// Whether packets that were passed to the device no longer count as the socket's.
    pub is_orphaning: bool,
    /// Whether each received segment is stored in a separate buffer.
    pub has_separate_buffers: bool,
}

/// State of the queue in the host, below TCP.
#[derive(Clone, Copy, Debug)]
pub(super) struct HostQueue {
    pub(super) traits: HostTraits,
    /// Number of packets that the host accepts until the next update.
    room_pkts: u32,
    /// Number of data packets that were passed to the host and have not left it.
    held_pkts: u32,
    /// Whether data wait for a packet to leave the host.
    is_waiting: bool,
}

/// Result of passing a burst to the host.
pub(super) struct Burst {
    pub(super) sent_pkts: u32,
    /// Whether no more segments can be sent now.
    pub(super) is_last: bool,
    /// Whether more segments could be sent, but it is better to wait for an ACK that opens the
    /// congestion window.
    pub(super) is_cwnd_limited: bool,
}

/// Whether new data wait for a longer burst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deferral {
    None,
    /// New data wait until the congestion window opens.
    CwndLimited,
    /// New data wait for more data, or until the window of the peer opens.
    Other,
}

/// `TCP_RESOURCE_PROBE_INTERVAL`: delay in microseconds after which a refused retransmission is
/// tried again.
const RESOURCE_PROBE_US: u64 = 500_000;
/// Exponent of the share of a second whose data a socket keeps below TCP: 1/1024 of a second
/// (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Memory of a 1500-byte packet; the limits apply to memory.
const PACKET_MEMORY_BYTES: u64 = 2_304;
/// `tcp_limit_output_bytes`: maximum memory of one socket below TCP.
const OUTPUT_LIMIT_BYTES: u64 = 1_048_576;
/// Number of bursts that are always allowed below TCP.
const LEAST_BURSTS_BELOW: u32 = 2;
/// `tcp_tso_win_divisor`.
const WINDOW_DIVISOR: u32 = 3;
/// Maximum time that a burst waits after the previous one.
const LONGEST_DEFERRAL_NS: u64 = 1_000_000;
/// Maximum time until the next ACK for which a burst waits.
const FARTHEST_ACK_US: i64 = 1_000;

impl LinuxEndpoint {
    pub(crate) fn attach_host(&mut self, traits: HostTraits) {
        let host = HostQueue { traits, room_pkts: u32::MAX, held_pkts: 0, is_waiting: false };
        self.host = Some(host);
        if traits.burst_pkts > 1 {
            // What the host splits later, TCP keeps in one buffer.
            self.settings.segmentation_offload = true;
            self.buffer.share_unsent();
        }
        if traits.is_orphaning {
            // `tcp_should_expand_sndbuf`: not while the window is full. Without a host, small queues
            // are not modelled, which keep the window open while an ACK is handled.
            self.settings.send.send_buffer_grows_at_full_window = false;
        }
        if traits.has_separate_buffers {
            self.receiver.set_buffers(Buffers::Separate);
        }
    }

    pub(crate) fn set_room(&mut self, packets: u32) {
        if let Some(host) = &mut self.host {
            host.room_pkts = packets;
        }
    }

    /// Records that a data packet has left the host. Returns whether data were waiting for this.
    pub(crate) fn handle_departure(&mut self, now: Time) -> bool {
        let Some(host) = &mut self.host else { return false };
        host.held_pkts = host.held_pkts.saturating_sub(1);
        if !host.is_waiting {
            return false;
        }
        host.is_waiting = false;
        self.set_now(now);
        self.send_what_waits();
        true
    }

    /// Reserves room for one packet in the host, or reduces the window if there is none. Returns
    /// whether there was room.
    pub(super) fn try_reserve(&mut self) -> bool {
        let Some(host) = &mut self.host else { return true };
        if host.room_pkts > 0 {
            host.room_pkts -= 1;
            host.held_pkts += 1;
            return true;
        }
        self.counters.refusals += 1;
        if self.ca_state() < CaState::Cwr as u8 {
            self.event(TcpEvent::HostRefused);
        }
        self.enter_cwr();
        false
    }

    /// Reserves room for an ACK; if there is none, the ACK is lost, and the next one supersedes it.
    #[cold]
    pub(super) fn reserve_for_ack(&mut self) {
        if let Some(host) = &mut self.host {
            host.room_pkts = host.room_pkts.saturating_sub(1);
        }
    }

    /// Delay until a retransmission after a timeout that the host refused is tried again.
    pub(super) fn refused_retransmission_delay(&self) -> Jiffies {
        self.timer.rto.min(self.clock.jiffies_of_us(RESOURCE_PROBE_US))
    }

    /// `tcp_small_queue_check`: returns whether data must wait for packets to leave, because this
    /// socket has enough packets below TCP. The first packets of a flight never wait.
    pub(super) fn wait_for_departures(&mut self) -> bool {
        let Some(HostQueue { traits, held_pkts, .. }) = self.host else { return false };
        if !self.settings.small_queues || traits.is_orphaning {
            return false;
        }
        let burst = self.handed_over_pkts(traits);
        let rate_bytes = self.sk.inet_conn.icsk_inet.sk.sk_pacing_rate >> PACING_SHIFT;
        let by_rate = rate_bytes.min(OUTPUT_LIMIT_BYTES) / PACKET_MEMORY_BYTES;
        let limit = (LEAST_BURSTS_BELOW * burst).max(by_rate as u32);
        let is_enough = held_pkts >= limit && self.sk.packets_out > burst;
        if let Some(host) = &mut self.host {
            host.is_waiting |= is_enough;
        }
        is_enough
    }

    /// `tcp_tso_segs`: number of segments to pass to the host at once.
    fn handed_over_pkts(&mut self, traits: HostTraits) -> u32 {
        if traits.burst_pkts <= 1 { 1 } else { self.burst_pkts().min(traits.burst_pkts) }
    }

    /// `tcp_cwnd_test`: maximum number of segments of the next burst; a window has at least two
    /// bursts.
    fn burst_quota(&self, longest: u32, in_flight: u32) -> u32 {
        let half = self.sk.snd_cwnd / 2;
        self.sk.snd_cwnd.saturating_sub(in_flight).min(half).min(longest).max(1)
    }

    /// If bursts take data from two buffers, prepares the first buffer for the next burst, for
    /// which there must be room in the window.
    pub(super) fn fill_first_buffer(&mut self, in_flight: u32) {
        let Some(HostQueue { traits, .. }) = self.host else { return };
        if self.buffer.buffer_end(self.sk.snd_nxt).is_some() {
            let longest = self.handed_over_pkts(traits);
            let wanted = self.burst_quota(longest, in_flight) * self.sk.mss_cache;
            self.buffer.fill_first(self.sk.snd_nxt, wanted);
        }
    }

    /// Passes a burst to the host; `next` is the first segment of the burst and fits the windows.
    pub(super) fn send_burst(&mut self, next: NewSegment, in_flight: u32, push: Push) -> Burst {
        let is_probe = push == Push::Probe;
        let mut burst = Burst { sent_pkts: 0, is_last: true, is_cwnd_limited: false };
        let Some(HostQueue { traits, .. }) = self.host else { return burst };
        if !is_probe && self.wait_for_departures() {
            return burst;
        }
        let longest = self.handed_over_pkts(traits);
        let quota = if is_probe { 1 } else { self.burst_quota(longest, in_flight) };
        if push.is_all() {
            let deferral = self.deferral(longest, in_flight);
            if deferral != Deferral::None {
                burst.is_cwnd_limited = deferral == Deferral::CwndLimited;
                return burst;
            }
        }
        burst.is_last = false;
        let mut next = next;
        let due_before = self.sk.tcp_wstamp_ns;
        let departure = due_before.max(self.sk.tcp_clock_cache);
        let mut length_ns = 0;
        loop {
            if !self.try_reserve() {
                burst.is_last = true;
                break;
            }
            // All segments of a burst leave together; the next burst waits for all of them.
            self.sk.tcp_wstamp_ns = departure;
            self.transmit_new(next.end, next.is_fin, in_flight + burst.sent_pkts);
            length_ns += self.sk.tcp_wstamp_ns - departure;
            burst.sent_pkts += 1;
            if next.is_partial {
                self.buffer.short_end = next.end;
            }
            if burst.sent_pkts >= quota || next.is_partial || next.ends_buffer || !self.has_unsent()
            {
                break;
            }
            next = self.next_new();
            if next.is_partial && !next.ends_buffer {
                break;
            }
            let Some(cut) = self.cut_to_window(next, push) else { break };
            next = cut;
        }
        if burst.sent_pkts > 1 && self.settings.bursts.burst_push {
            self.push_end_of_burst();
        }
        if burst.sent_pkts > 0 {
            let credit = (departure - due_before).min(length_ns / 2);
            self.sk.tcp_wstamp_ns = departure + length_ns - credit;
        }
        self.pacer.end_burst();
        burst
    }

    /// Sets PSH on the segment sent last, as `__tcp_transmit_skb` does for each packet that
    /// contains several segments.
    fn push_end_of_burst(&mut self) {
        if let Some(flags) = self.out.flags_of_last() {
            flags.0 |= Flags::PSH;
        }
        let last = self.rtx.tail().wrapping_sub(1);
        self.rtx.get_mut(last).control.0 |= Flags::PSH;
    }

    /// `tcp_tso_should_defer`: whether to wait for a longer burst. The next ACK is expected one RTT
    /// after the oldest segment in flight was sent.
    fn deferral(&self, longest: u32, in_flight: u32) -> Deferral {
        let sk = &self.sk;
        let mss = sk.mss_cache;
        let is_repairing = self.ca_state() >= CaState::Recovery as u8;
        let since_last_ns = sk.tcp_clock_cache.saturating_sub(sk.tcp_wstamp_ns);
        let end = self.buffer.buffer_end(sk.snd_nxt);
        let buffered = end.unwrap_or(self.buffer.write_seq).wrapping_sub(sk.snd_nxt);
        if longest <= 1
            || buffered <= mss
            || in_flight == 0
            || is_repairing
            || since_last_ns > LONGEST_DEFERRAL_NS
        {
            return Deferral::None;
        }
        let send_window = self.window_end().wrapping_sub(sk.snd_nxt);
        let cwnd_left = sk.snd_cwnd.saturating_sub(in_flight).saturating_mul(mss);
        let may_go = send_window.min(cwnd_left);
        let a_third = sk.snd_wnd.min(sk.snd_cwnd.saturating_mul(mss)) / WINDOW_DIVISOR;
        // A full buffer gets no more data.
        let is_whole = end.is_some() && may_go >= buffered;
        if may_go >= longest.saturating_mul(mss) || is_whole || may_go >= a_third {
            return Deferral::None;
        }
        // Not if the next ACK is more than half a round trip or 1 ms away (Linux 6.1.192; older
        // kernels wait for it if it is at most half a round trip away).
        let rtt_us = i64::from(sk.srtt_us >> 3);
        let age_us =
            self.rtx.first().map_or(0, |head| sk.tcp_mstamp as i64 - head.tx_mstamp as i64);
        if rtt_us - age_us > (rtt_us / 2).min(FARTHEST_ACK_US) {
            return Deferral::None;
        }
        if cwnd_left < send_window && cwnd_left <= buffered {
            Deferral::CwndLimited
        } else if self.buffer.is_fin_queued && end.is_none() {
            Deferral::None
        } else {
            Deferral::Other
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::{Pair, SENDER};
    use cwndlab_packet::Segment;

    const TRAITS: HostTraits = HostTraits {
        burst_pkts: 1,
        is_pacing: false,
        is_orphaning: false,
        has_separate_buffers: false,
    };

    #[test]
    fn a_host_without_room_takes_nothing_and_reduces_the_window() {
        let mut pair = Pair::established();
        pair.ends[SENDER].attach_host(HostTraits { is_orphaning: true, ..TRAITS });
        pair.ends[SENDER].set_room(3);
        assert_eq!(pair.write(14_480).len(), 3);
        let sender = &pair.ends[SENDER];
        assert_eq!(sender.ca_state(), CaState::Cwr as u8);
        assert!(sender.counters.refusals > 0);
    }

    /// Measured on Linux 6.1.0-56 in a virtual machine (docs/notes/2026-11-vm.md).
    #[test]
    fn a_burst_fills_the_window_of_the_peer_with_one_short_segment() {
        let mut pair = Pair::established();
        let traits = HostTraits { burst_pkts: 44, is_orphaning: true, ..TRAITS };
        let sender = &mut pair.ends[SENDER];
        sender.attach_host(traits);
        sender.set_room(u32::MAX);
        sender.sk.snd_wnd = 3 * 1_448 + 700;
        let sizes = |segments: &[Segment]| segments.iter().map(|s| s.payload).collect::<Vec<_>>();
        assert_eq!(sizes(&pair.write(14_480)), [1_448, 1_448, 1_448, 700]);
        // The short segment is in flight.
        let sender = &mut pair.ends[SENDER];
        sender.sk.snd_wnd += 2 * 1_448 + 700;
        sender.write_xmit(Push::All);
        assert_eq!(sizes(&pair.sent_by(SENDER)), [1_448, 1_448]);
        // An application that fills the send buffer pushes (`TCP_NAGLE_PUSH`).
        pair.ends[SENDER].sk.snd_wnd += 1_448;
        assert_eq!(sizes(&pair.write(1_000_000)), [1_448, 700]);
    }

    /// Linux 6.1.0-56 in a virtual machine (docs/notes/2026-11-vm.md): 243,712 bytes at a window of
    /// 28 when an ACK lets two bursts leave, unchanged when it lets one leave.
    #[test]
    fn the_send_buffer_grows_between_two_bursts() {
        for (burst_pkts, expected_bytes) in [(1, 11 * 8_704), (2, 87_040)] {
            let mut pair = fast(burst_pkts);
            let flight = pair.write(1_000_000);
            assert_eq!(pair.ends[SENDER].buffer.sndbuf_bytes, 87_040);
            let acks = pair.deliver(&flight[..1]);
            pair.answer(&acks);
            let sender = &pair.ends[SENDER];
            assert_eq!((sender.in_flight(), sender.sk.snd_cwnd), (11, 11));
            assert_eq!(sender.buffer.sndbuf_bytes, expected_bytes);
        }
    }

    /// A pair whose sender sends bursts of at most so many packets at a high rate.
    fn fast(burst_pkts: u32) -> Pair {
        let mut pair = Pair::established();
        pair.ends[SENDER].attach_host(HostTraits { burst_pkts, is_orphaning: true, ..TRAITS });
        pair.ends[SENDER].set_room(u32::MAX);
        pair.ends[SENDER].sk.inet_conn.icsk_inet.sk.sk_pacing_rate = 1 << 40;
        pair
    }

    #[test]
    fn room_that_the_second_burst_takes_does_not_unblock_the_application() {
        let answered = |sndbuf_bytes: Option<u64>| {
            let mut pair = fast(1);
            let flight = pair.write(1_000_000);
            if let Some(bytes) = sndbuf_bytes {
                pair.ends[SENDER].buffer.sndbuf_bytes = bytes;
            }
            let acks = pair.deliver(&flight[..1]);
            pair.answer(&acks);
            let buffer = &pair.ends[SENDER].buffer;
            (buffer.queued_bytes, buffer.is_blocked)
        };
        let (queued_bytes, is_blocked) = answered(None);
        assert!(is_blocked);
        let enough_bytes = queued_bytes + queued_bytes / 2;
        assert_eq!(answered(Some(enough_bytes)), (queued_bytes, false));
        assert_eq!(answered(Some(enough_bytes - 1)), (queued_bytes, true));
    }

    #[test]
    fn a_burst_is_at_most_half_of_the_window() {
        let mut pair = fast(44);
        let sent = pair.write(14_480);
        let pushes: Vec<bool> = sent.iter().map(|sent| sent.flags.has(Flags::PSH)).collect();
        assert_eq!(pushes, [[false, false, false, false, true]; 2].concat());
    }

    /// Traced on Linux 6.1.192: 80 packets of window, 72 in flight, srtt 13,420 us, and the oldest
    /// segment sent 7,671 us ago; the burst left.
    #[test]
    fn data_do_not_wait_for_an_ack_that_is_more_than_a_millisecond_away() {
        let mut pair = fast(44);
        pair.write(14_480);
        let sender = &mut pair.ends[SENDER];
        sender.buffer.write_seq = sender.sk.snd_nxt.wrapping_add(22 * 1_448);
        sender.sk.snd_cwnd = 80;
        let sent_at = sender.rtx.first().expect("in flight").tx_mstamp;
        let mut deferral_after = |us: u64, srtt_us: u32| {
            (sender.sk.tcp_mstamp, sender.sk.srtt_us) = (sent_at + us, srtt_us << 3);
            sender.deferral(11, 72)
        };
        assert_eq!(deferral_after(7_671, 13_420), Deferral::None);
        assert_eq!(deferral_after(12_419, 13_420), Deferral::None);
        assert_eq!(deferral_after(12_420, 13_420), Deferral::CwndLimited);
        // Of a shorter RTT, half is less than 1 ms.
        assert_eq!(deferral_after(499, 1_000), Deferral::None);
        assert_eq!(deferral_after(500, 1_000), Deferral::CwndLimited);
    }

    #[test]
    fn data_wait_for_a_third_of_the_window_in_bytes_and_for_more_data() {
        let mut pair = fast(44);
        pair.write(14_480);
        let sender = &mut pair.ends[SENDER];
        let start = sender.sk.snd_nxt;
        sender.buffer.write_seq = start.wrapping_add(20 * 1_448);
        (sender.sk.srtt_us, sender.sk.snd_cwnd) = (0, 12);
        let may_go = |sender: &LinuxEndpoint, packets: u32| sender.deferral(6, 12 - packets);
        assert_eq!([3, 4].map(|n| may_go(sender, n)), [Deferral::CwndLimited, Deferral::None]);
        // A third of 13 packets is more than four.
        sender.sk.snd_cwnd = 13;
        assert_eq!(sender.deferral(6, 9), Deferral::CwndLimited);
        // The application may still add to the last buffer, unless it has closed.
        sender.buffer.write_seq = start.wrapping_add(3 * 1_448);
        assert_eq!(sender.deferral(6, 9), Deferral::Other);
        sender.buffer.is_fin_queued = true;
        assert_eq!(sender.deferral(6, 9), Deferral::None);
        // One segment is subject to Nagle's algorithm alone.
        sender.buffer.write_seq = start.wrapping_add(1_448);
        sender.buffer.is_fin_queued = false;
        assert_eq!(sender.deferral(6, 9), Deferral::None);
    }

    #[test]
    fn of_one_socket_few_packets_stand_below_tcp_until_some_have_left() {
        let mut pair = Pair::established();
        pair.ends[SENDER].attach_host(TRAITS);
        // Two packets in a millisecond.
        pair.ends[SENDER].sk.inet_conn.icsk_inet.sk.sk_pacing_rate = 3_000_000;
        let sent = pair.write(14_480).len();
        assert_eq!(sent, 2);
        assert!(pair.ends[SENDER].handle_departure(pair.now), "data waited for it");
        assert_eq!(pair.sent_by(SENDER).len(), 1);
    }
}
