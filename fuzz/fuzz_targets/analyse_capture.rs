//! Any bytes are a capture or an error; `cargo test -p cwndlab-capture` replays the corpus.
#![no_main]

use cwndlab_capture::{AnalysisConfig, analyse};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let config = AnalysisConfig { max_samples: 50, ..AnalysisConfig::default() };
    for flow in analyse(bytes, config).unwrap_or_default() {
        assert!(flow.retransmitted_pkts <= flow.sent_pkts);
        assert!(flow.rtts_us.is_sorted());
    }
});
