//! The capture file, read back packet by packet.

use crate::setup::{Setup, algorithm};
use serde_json::json;

struct Packet {
    nanos: u64,
    is_from_sender: bool,
    wire_bytes: u32,
    seq: u32,
    ack: u32,
    flags: u8,
    payload_bytes: u32,
    sack_blocks: usize,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("4 bytes"))
}

fn parse(bytes: &[u8]) -> Vec<Packet> {
    let little = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("4 bytes"));
    assert_eq!((little(0), little(20)), (0xa1b2_3c4d, 101));
    let mut packets = Vec::new();
    let mut at = 24;
    while at < bytes.len() {
        let nanos = u64::from(little(at)) * 1_000_000_000 + u64::from(little(at + 4));
        let (captured, wire_bytes) = (little(at + 8) as usize, little(at + 12));
        let packet = &bytes[at + 16..at + 16 + captured];
        assert_eq!(packet[0], 0x45);
        assert_eq!(u32::from(u16::from_be_bytes([packet[2], packet[3]])), wire_bytes);
        let header_bytes = usize::from(packet[32] >> 4) * 4;
        assert_eq!(captured, 20 + header_bytes);
        packets.push(Packet {
            nanos,
            is_from_sender: packet[15] == 1,
            wire_bytes,
            seq: word(packet, 24),
            ack: word(packet, 28),
            flags: packet[33],
            payload_bytes: wire_bytes - captured as u32,
            sack_blocks: sack_blocks(&packet[40..captured]),
        });
        at += 16 + captured;
    }
    packets
}

fn sack_blocks(mut options: &[u8]) -> usize {
    let mut blocks = 0;
    while let [kind, rest @ ..] = options {
        match kind {
            0 => break,
            1 => options = rest,
            _ => {
                let length = usize::from(rest[0]);
                if *kind == 5 {
                    blocks = (length - 2) / 8;
                }
                options = &options[length..];
            }
        }
    }
    blocks
}

#[test]
fn a_capture_shows_the_connection_at_the_senders_interface() {
    let setup = Setup {
        application: json!({"kind": "sized", "bytes": 500_000}),
        forward: json!([{
            "rate": {"kind": "fixed", "bits_per_sec": 10_000_000},
            "queue": {"kind": "drop_tail", "packets": 15}, "delay_ns": 20_000_000,
        }]),
        record: json!({"pcap": "capture.pcap"}),
        ..Setup::new(vec![algorithm("reno")])
    };
    let output = setup.run();
    let packets = parse(&output.pcap.expect("a capture"));
    assert!(packets.windows(2).all(|pair| pair[0].nanos <= pair[1].nanos));

    let [syn, syn_ack, ack] = &packets[..3] else { panic!("no handshake") };
    assert_eq!((syn.is_from_sender, syn.flags & 0x12, syn.wire_bytes), (true, 0x02, 60));
    assert_eq!((syn_ack.is_from_sender, syn_ack.flags & 0x12), (false, 0x12));
    assert_eq!(syn_ack.ack, syn.seq.wrapping_add(1));
    assert_eq!((ack.is_from_sender, ack.flags & 0x12, ack.wire_bytes), (true, 0x10, 52));
    assert_eq!(ack.ack, syn_ack.seq.wrapping_add(1));

    // The captured data segments match the summary's count and cover the transfer.
    let data: Vec<&Packet> =
        packets.iter().filter(|p| p.is_from_sender && p.payload_bytes > 0).collect();
    let flow = &output.flows[0];
    assert_eq!(data.len() as u64, flow.sent_pkts);
    let end = data.iter().map(|p| p.seq.wrapping_add(p.payload_bytes).wrapping_sub(ack.seq)).max();
    assert_eq!(end, Some(500_000));
    assert!(flow.retransmitted_pkts > 0 && packets.iter().any(|p| p.sack_blocks > 0));
    // Both sides close with a FIN.
    for from_sender in [true, false] {
        assert!(packets.iter().any(|p| p.is_from_sender == from_sender && p.flags & 0x01 != 0));
    }
}
