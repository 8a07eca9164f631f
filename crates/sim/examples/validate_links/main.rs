//! Measures what `make validate-links` compares with its targets: prints a JSON object a line.
//!
//! Usage: `validate_links [--only PREFIX] [--traces DIR]`

mod cells;
mod ns3;
mod plain;
mod wifi;

use std::path::PathBuf;

use serde_json::json;

/// Which measurements are wanted, and where their results go.
struct Report {
    /// Only those whose name begins with this.
    only: String,
    /// Where recorded traces lie that the project may not contain.
    traces: Option<PathBuf>,
}

impl Report {
    /// Makes a measurement if it is wanted, and prints it.
    fn measure(&self, id: &str, value: impl FnOnce() -> f64) {
        if self.wants(id) {
            println!("{}", json!({"id": id, "value": value()}));
        }
    }

    /// Whether anything is wanted whose name begins like this.
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
