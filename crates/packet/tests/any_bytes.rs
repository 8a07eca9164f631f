//! Headers can be parsed from any bytes.

mod read_back;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_bytes_are_headers_or_none(bytes in prop::collection::vec(any::<u8>(), 0..150)) {
        read_back::check(&bytes);
    }

    #[test]
    fn anything_like_headers_is_read_back(
        is_ipv6 in any::<bool>(),
        tcp in prop::collection::vec(any::<u8>(), 20..100),
        offset in 5_u8..16,
        options in prop::collection::vec(
            prop::sample::select(vec![0_u8, 1, 2, 3, 4, 5, 8, 10, 18, 26, 34]), 0..40,
        ),
    ) {
        let mut tcp = tcp;
        tcp[12] = offset << 4;
        for (place, kind) in tcp.iter_mut().skip(20).zip(options) {
            *place = kind;
        }
        let mut ip = if is_ipv6 { vec![0; 40] } else { vec![0; 20] };
        let total = (ip.len() + tcp.len()) as u16;
        if is_ipv6 {
            (ip[0], ip[6]) = (0x60, 6);
            ip[4..6].copy_from_slice(&(total - 40).to_be_bytes());
        } else {
            (ip[0], ip[9]) = (0x45, 6);
            ip[2..4].copy_from_slice(&total.to_be_bytes());
        }
        ip.extend(tcp);
        read_back::check(&ip);
    }
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/packet_headers");
    let mut files = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is in the repository") {
        read_back::check(&fs::read(entry.expect("an entry").path()).expect("a file"));
        files += 1;
    }
    assert!(files >= 5);
}
