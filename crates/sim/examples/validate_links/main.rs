//! Makes the measurements that `make validate-links` compares with its targets; prints one JSON
//! object per line.
//!
//! Usage: `validate_links [--only PREFIX] [--traces DIR]`

mod cells;
mod ns3;
mod plain;
mod wifi;

use std::path::PathBuf;

use serde_json::json;

/// Selection of measurements, and their inputs.
struct Report {
    /// Makes only measurements whose name begins with this prefix.
    only: String,
    /// Folder with recorded traces that the project may not contain.
    traces: Option<PathBuf>,
}

impl Report {
    /// Makes and prints a measurement if it is selected.
    fn measure(&self, id: &str, value: impl FnOnce() -> f64) {
        if self.wants(id) {
            println!("{}", json!({"id": id, "value": value()}));
        }
    }

    /// Whether any measurement whose name begins with `id` is selected.
    fn wants(&self, id: &str) -> bool {
        id.starts_with(&self.only) || self.only.starts_with(id)
    }
}

fn main() {
    let mut report = Report { only: String::new(), traces: None };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().unwrap_or_default();
        match argument.as_str() {
            "--only" => report.only = value,
            "--traces" => report.traces = Some(PathBuf::from(value)),
            other => panic!("unknown argument {other}"),
        }
    }
    plain::measure(&report);
    wifi::measure(&report);
    ns3::measure(&report);
    cells::measure(&report);
}
