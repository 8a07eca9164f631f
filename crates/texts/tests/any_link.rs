//! Any text can be read as a link without a panic.

mod resolved;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/corpus/resolve_link");

fn corpus() -> Vec<String> {
    let mut paths: Vec<_> = fs::read_dir(Path::new(CORPUS))
        .expect("the corpus is in the repository")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().map(|path| fs::read_to_string(path).expect("a text")).collect()
}

#[test]
fn the_fuzz_corpus_is_replayed() {
    let links = corpus().iter().filter_map(|text| resolved::check(text)).count();
    assert!(links >= 10, "{links} of the corpus are links");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_changed_link_is_a_link_or_refused(
        seed in prop::sample::select(corpus()),
        at in any::<prop::sample::Index>(),
        length in 0_usize..12,
        other in "[a-z0-9 .,=\"{}\\[\\]%/_-]{0,12}",
    ) {
        let letters: Vec<char> = seed.chars().collect();
        let begin = at.index(letters.len() + 1);
        let end = (begin + length).min(letters.len());
        let changed: String =
            letters[..begin].iter().copied().chain(other.chars()).chain(letters[end..].iter().copied()).collect();
        resolved::check(&changed);
    }
}
