//! Whatever input arrives, an endpoint neither panics nor reports an impossible state.

mod hostile_bytes;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[test]
fn the_fuzz_corpus_is_replayed() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus/tcp_segments");
    let mut files = 0;
    for entry in fs::read_dir(corpus).expect("the corpus is in the repository") {
        hostile_bytes::drive(&fs::read(entry.expect("an entry").path()).expect("a file"));
        files += 1;
    }
    assert!(files >= 20, "{files} files");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..1_500)) {
        hostile_bytes::drive(&bytes);
    }
}
