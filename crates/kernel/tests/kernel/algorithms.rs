//! Loads every algorithm of `algorithms/` into the running kernel.

use crate::helper::{Helper, load};
use crate::lifetime::is_gone_soon;
use crate::machine::{compile_object, skip_unless_possible, sources, unused_name};
use crate::network::transfer;

const BYTES: usize = 1_000_000;

#[test]
fn every_algorithm_loads_carries_a_transfer_and_unloads() {
    skip_unless_possible!();
    for (algorithm, source) in sources() {
        let (mut helper, name) = (Helper::start(), unused_name());
        helper.do_this(&load(&compile_object(&source, &[]), &name));
        let arrived = transfer(&name, |sent| sent >= BYTES);
        assert!(arrived >= BYTES, "{algorithm}");
        helper.do_this(&serde_json::json!({"do": "unload", "name": name}));
        helper.end();
        assert!(is_gone_soon(&name), "{algorithm}");
    }
}
