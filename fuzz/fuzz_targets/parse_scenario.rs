//! Any text is a scenario or an error; a scenario that is written and read again is equal.
#![no_main]

use cwndlab_cc::Algorithms;
use cwndlab_link::Traces;
use cwndlab_scenario::Scenario;
use cwndlab_sim::check;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(scenario) = Scenario::from_json(text) {
        assert_eq!(Scenario::from_json(&scenario.to_json()).as_ref(), Ok(&scenario));
        let _ = check(&scenario, &Traces::new(), &Algorithms::default());
    }
});
