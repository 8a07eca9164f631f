//! Any bytes can be read as a capture without a panic.

use cwndlab_capture::{AnalysisConfig, Flow, analyse};
use proptest::prelude::*;

fn analysed(bytes: &[u8]) -> Vec<Flow> {
    let flows = analyse(bytes, AnalysisConfig { max_samples: 50, ..AnalysisConfig::default() })
        .unwrap_or_default();
    for flow in &flows {
        assert!(flow.retransmitted_pkts <= flow.sent_pkts);
        assert!(flow.longest_burst_pkts <= flow.retransmitted_pkts);
        assert!(flow.rtts_us.is_sorted());
        assert!(flow.window_ns.is_none_or(|window_ns| window_ns <= flow.lifetime_ns));
    }
    flows
}

/// A segment of a capture's only connection; a bit selects its direction.
fn segment(
    (is_back, flags, seq, ack, payload, sacks): (bool, u8, u32, u32, u16, Vec<(u32, u32)>),
) -> Vec<u8> {
    let options_bytes = (2 + 8 * sacks.len()).next_multiple_of(4);
    let header_bytes = 40 + options_bytes;
    let total = header_bytes as u32 + u32::from(payload);
    let mut bytes = vec![0x45, 0];
    bytes.extend((total.min(65_535) as u16).to_be_bytes());
    bytes.extend([0, 0, 0x40, 0, 64, 6, 0, 0]);
    let (from, to) = if is_back { (2, 1) } else { (1, 2) };
    bytes.extend([10, 0, 0, from, 10, 0, 0, to, 0, from, 0, to]);
    bytes.extend(seq.to_be_bytes());
    bytes.extend(ack.to_be_bytes());
    bytes.extend([((20 + options_bytes) as u8 / 4) << 4, flags, 1, 0, 0, 0, 0, 0]);
    bytes.extend([5, (2 + 8 * sacks.len()) as u8]);
    for (start, end) in sacks {
        bytes.extend(start.to_be_bytes());
        bytes.extend(end.to_be_bytes());
    }
    bytes.resize(header_bytes, 0);
    let mut record = Vec::new();
    record.extend((header_bytes as u32).to_le_bytes());
    record.extend(total.to_le_bytes());
    record.extend(bytes);
    record
}

const HEAD: [u8; 24] =
    [0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 101, 0, 0, 0];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_a_capture_or_an_error(
        magic in prop::sample::select(vec![
            [0x4d_u8, 0x3c, 0xb2, 0xa1], [0xa1, 0xb2, 0xc3, 0xd4], [0x0a, 0x0d, 0x0d, 0x0a], [0; 4],
        ]),
        rest in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        analysed(&[&magic[..], &rest].concat());
    }

    #[test]
    fn any_segments_in_any_order_are_taken(
        segments in prop::collection::vec(
            (
                any::<bool>(), any::<u8>(), near(), near(), prop_oneof![Just(0_u16), any::<u16>()],
                prop::collection::vec((near(), near()), 0..4),
            ),
            0..60,
        ),
        times in prop::collection::vec(0_u32..3, 60),
    ) {
        let mut bytes = HEAD.to_vec();
        let mut now_s = 0;
        for (segment_of, step) in segments.into_iter().zip(times) {
            now_s += step;
            bytes.extend(now_s.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(segment(segment_of));
        }
        analysed(&bytes);
    }
}

/// Numbers close to each other, around the wrap of 32 bits, or arbitrary.
fn near() -> impl Strategy<Value = u32> {
    prop_oneof![
        4 => (0_u32..20_000).prop_map(|n| n.wrapping_sub(10_000)),
        1 => any::<u32>(),
    ]
}

#[test]
fn a_segment_made_here_is_read() {
    let mut bytes = HEAD.to_vec();
    for (second, is_back, payload) in [(1_u32, false, 1_000_u16), (2, true, 0)] {
        bytes.extend(second.to_le_bytes());
        bytes.extend([0; 4]);
        let ack = if is_back { 1_005 } else { 0 };
        bytes.extend(segment((is_back, 0x10, 5, ack, payload, vec![])));
    }
    let flows = analysed(&bytes);
    assert_eq!(flows.len(), 1);
    assert_eq!((flows[0].delivered_bytes, flows[0].rtts_us.len()), (1_000, 1));
    assert_eq!(flows[0].rtts_us[0], 1_000_000);
}

#[test]
fn a_clock_that_was_set_back_is_an_error_but_packets_slightly_out_of_order_are_not() {
    let capture = |seconds: [u32; 3]| {
        let mut bytes = HEAD.to_vec();
        for (second, is_back, payload) in
            [(seconds[0], false, 1_000_u16), (seconds[1], true, 0), (seconds[2], false, 1_000)]
        {
            bytes.extend(second.to_le_bytes());
            bytes.extend([0; 4]);
            let ack = if is_back { 1_005 } else { 0 };
            bytes.extend(segment((is_back, 0x10, 5, ack, payload, vec![])));
        }
        analyse(&bytes[..], AnalysisConfig::default())
    };
    assert!(capture([10, 11, 10]).is_ok());
    let error = capture([10, 15, 10]).unwrap_err().to_string();
    assert!(error.contains("set back by 5000 ms"), "{error}");
}

#[test]
fn what_is_acknowledged_after_a_senders_reset_is_not_counted() {
    // The reset waits behind the data in the bottleneck, so ACKs of the data still arrive.
    let acked_with = |flags: u8| {
        let mut bytes = HEAD.to_vec();
        for (second, is_back, flags, payload, ack) in [
            (1_u32, false, 0x10, 1_000_u16, 0),
            (2, false, 0x10, 1_000, 0),
            (3, true, 0x10, 0, 1_005),
            (4, false, flags, 0, 0),
            (5, true, 0x10, 0, 2_005),
        ] {
            bytes.extend(second.to_le_bytes());
            bytes.extend([0; 4]);
            let seq = if second == 1 { 5 } else { 1_005 };
            bytes.extend(segment((is_back, flags, seq, ack, payload, vec![])));
        }
        analysed(&bytes)[0].delivered_bytes
    };
    assert_eq!((acked_with(0x14), acked_with(0x10)), (1_000, 2_000));
}

#[test]
fn a_transfer_begins_with_its_first_full_segment_and_ends_with_the_last_arrival() {
    // Two messages, a pause of a minute, and three full segments that are acknowledged 2 s later.
    let talk: &[(u32, bool, u32, u32, u16)] = &[
        (1, false, 5, 0, 40),
        (2, true, 0, 45, 0),
        (60, false, 45, 0, 1_448),
        (61, false, 1_493, 0, 1_448),
        (62, true, 0, 1_493, 0),
        (63, true, 0, 2_941, 0),
    ];
    let window_of = |rows: &[(u32, bool, u32, u32, u16)]| {
        let mut bytes = HEAD.to_vec();
        for &(second, is_back, seq, ack, payload) in rows {
            bytes.extend(second.to_le_bytes());
            bytes.extend([0; 4]);
            bytes.extend(segment((is_back, 0x10, seq, ack, payload, vec![])));
        }
        let flows = analysed(&bytes);
        let flow = &flows[0];
        // There are no retransmissions, and the first segment counts as sent in the window.
        assert_eq!(flow.window_sent_bytes, flow.window_delivered_bytes);
        (flow.window_ns, flow.window_delivered_bytes, flow.delivered_bytes)
    };
    let second = 1_000_000_000;
    // The base RTT is the message's round trip of 1 s, so the last data arrived half a second
    // before 63.
    assert_eq!(window_of(talk), (Some(5 * second / 2), 2_896, 2_936));
    // The transfer of a sender without full segments begins with its first data.
    let small: Vec<_> = [(1, false, 5, 0, 40), (2, true, 0, 45, 0), (5, false, 45, 0, 900)]
        .into_iter()
        .chain([(6, true, 0, 945, 0)])
        .collect();
    assert_eq!(window_of(&small), (Some(9 * second / 2), 940, 940));
    // More than a segment's bytes in small segments are data, not initial messages.
    let paced: Vec<_> = (0..3)
        .map(|n: u32| (1 + n, false, 5 + 900 * n, 0, 900))
        .chain([(4, false, 2_705, 0, 1_448), (5, true, 0, 4_153, 0)])
        .collect();
    let (window_ns, in_window, all) = window_of(&paced);
    assert_eq!((in_window, all), (4_148, 4_148));
    assert!(window_ns > Some(3 * second));
}

#[test]
fn the_fuzzers_corpus_is_taken() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/analyse_capture");
    let mut flows = 0;
    for entry in std::fs::read_dir(folder).expect("the corpus") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        flows += analysed(&bytes).len();
    }
    assert!(flows >= 3, "the corpus holds captures too: {flows}");
}

#[test]
fn a_packet_slightly_out_of_order_takes_no_time_away() {
    let mut bytes = HEAD.to_vec();
    for (second, is_back, ack) in [(9_u32, false, 0), (8, false, 0), (9, true, 2_005)] {
        bytes.extend(second.to_le_bytes());
        bytes.extend([0; 4]);
        let (seq, payload) = if second == 8 { (1_005, 1_000) } else { (5, 1_000) };
        let payload = if is_back { 0 } else { payload };
        bytes.extend(segment((is_back, 0x10, seq, ack, payload, vec![])));
    }
    let flows = analysed(&bytes);
    assert_eq!((flows[0].delivered_bytes, flows[0].lifetime_ns), (2_000, 0));
}
