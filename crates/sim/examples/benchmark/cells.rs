//! Scenarios in which the radio of a cell limits one downlink flow.

use serde_json::{Value, json};

const MS: u64 = 1_000_000;

/// The cell with this name; `None` if the name is unknown.
pub(crate) fn cell(name: &str) -> Option<Value> {
    match name {
        "hsdpa" => Some(hsdpa()),
        "lte" => Some(lte()),
        "nr" => Some(nr()),
        _ => None,
    }
}

/// HSDPA of category 8 with HSUPA of category 5, at walking speed.
fn hsdpa() -> Value {
    let up = json!({
        "core_delay_ns": 25 * MS, "queue_bytes": 100_000,
        "adaptation": {"kind": "fixed", "scheme": 0},
        "block_errors": {"kind": "given", "ppb": [100_000_000, 20_000_000]},
    });
    json!({
        "kind": "cell",
        "radio": {
            "kind": "umts",
            "downlink": {"kind": "hsdpa", "category": 8},
            "uplink": {"kind": "hsupa", "category": 5},
        },
        "downlink": direction(25, 150_000, 8, 2),
        "uplink": up,
        "users": [user(4, 0, 6_000, 2)],
    })
}

/// LTE, 20 MHz and two layers, at walking speed, with ten other users who always have data to send.
fn lte() -> Value {
    let background = json!({
        "users": 10, "way": "down", "lowest_mdb": 0, "highest_mdb": 20_000, "on_ns": 1_000 * MS,
        "fading": {"doppler_mhz": 7_000, "branches": 2},
    });
    json!({
        "kind": "cell",
        "radio": {"kind": "lte", "resource_blocks": 100, "layers": 2, "category": 4},
        "downlink": direction(10, 500_000, 6, 5),
        "uplink": direction(10, 500_000, 6, 5),
        "access": {"request_period_ns": 10 * MS, "first_grant_bytes": 100, "keep_alive_ns": 5 * MS},
        "users": [user(15, 12, 7_000, 2)],
        "background": [background],
    })
}

/// NR, 50 MHz and one layer in Amarisoft's pattern, at walking speed.
fn nr() -> Value {
    let mut pattern = vec![json!({"downlink_symbols": 13}); 7];
    pattern.push(json!({"downlink_symbols": 6, "uplink_symbols": 4}));
    pattern.extend([json!({"uplink_symbols": 14}), json!({"uplink_symbols": 14})]);
    json!({
        "kind": "cell",
        "radio": {
            "kind": "nr", "subcarrier_khz": 30, "bandwidth_mhz": 50, "pattern": pattern,
            "downlink_layers": 1, "uplink_layers": 1, "is_256qam": true, "overhead_elements": 24,
            "base_slots": 4, "acknowledge_slots": 2, "grant_slots": 2,
        },
        "downlink": direction(5, 1_000_000, 5, 40),
        "uplink": direction(5, 1_000_000, 5, 40),
        "access": {"request_period_ns": 20 * MS, "first_grant_bytes": 100, "keep_alive_ns": 5 * MS},
        "users": [user(17, 17, 10_000, 4)],
    })
}

fn direction(core_ms: u64, queue_bytes: u64, report_delay_ms: u64, report_ms: u64) -> Value {
    json!({
        "core_delay_ns": core_ms * MS, "queue_bytes": queue_bytes,
        "scheduler": {"kind": "proportional_fair", "window": 100},
        "adaptation": {
            "kind": "reports", "period_ns": report_ms * MS, "delay_ns": report_delay_ms * MS,
            "outer_loop": {"target_ppb": 100_000_000, "step_mdb": 500},
        },
    })
}

fn user(down_db: i64, up_db: i64, doppler_mhz: u64, branches: u64) -> Value {
    json!({
        "downlink_mdb": down_db * 1000, "uplink_mdb": up_db * 1000,
        "fading": {"doppler_mhz": doppler_mhz, "branches": branches},
    })
}
