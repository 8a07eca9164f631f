//! What cells carry, against the tables of ns-3 and the standards.

mod common;

use common::cell::{lte, saturate};

#[test]
fn round_robin_gives_what_ns_3_does() {
    // lte-test-rr-ff-mac-scheduler of ns-3, 5 MHz: (scheme, users, bytes a second of each).
    // ns-3 leaves a 25th resource block of the downlink unused, which the standard does not; its
    // tolerance and ours is 10 %.
    let rows = [
        (28, 1, 2_196_000.0, 2_292_000.0),
        (28, 3, 749_000.0, 749_000.0),
        (28, 6, 373_000.0, 373_000.0),
        (28, 9, 185_000.0, 246_220.0),
        (28, 12, 185_000.0, 184_670.0),
    ];
    for (scheme, users, down, up) in rows {
        let config = lte(25, users, scheme);
        for (is_uplink, expected) in [(false, down), (true, up)] {
            for [blocks, _] in saturate(&config, is_uplink, 3) {
                assert!(
                    (blocks / expected - 1.0).abs() < 0.1,
                    "{users} users, uplink {is_uplink}: {blocks}, ns-3 {expected}"
                );
            }
        }
    }
}
