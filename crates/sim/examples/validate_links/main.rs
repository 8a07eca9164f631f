//! Makes the measurements that `make validate-links` compares with its expected values; prints one
//! JSON object per line.
//!
//! Usage: `validate_links [--only PREFIX] [--traces DIR]`

mod cells;
mod ns3;
mod plain;
mod wifi;

use std::path::PathBuf;

use serde_json::json;

/// The measurements to make, and their inputs.
struct Report {
    /// Makes only the measurements whose name begins with this prefix.
    only: String,
    /// Folder with recorded traces whose licences do not permit the project to include them.
    traces: Option<PathBuf>,
}

impl Report {
    /// Makes a measurement and prints it, if the measurement is selected.
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
