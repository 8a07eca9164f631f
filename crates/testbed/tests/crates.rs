//! Dependencies between the crates of the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

type Uses = BTreeMap<String, BTreeSet<String>>;

fn cargo(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO"))
        .args(arguments)
        .arg("--offline")
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("Cargo runs this test");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// The crates of the workspace that each crate uses, except in its tests.
fn uses() -> Uses {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version", "1"]);
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    let own = |value: &Value| value.as_str()?.strip_prefix("cwndlab-").map(str::to_owned);
    let packages = metadata["packages"].as_array().expect("a list");
    let of_package = |package: &Value| {
        let dependencies = package["dependencies"].as_array().expect("a list").iter();
        let names =
            dependencies.filter(|one| one["kind"].is_null()).filter_map(|one| own(&one["name"]));
        (own(&package["name"]).expect("a crate of this workspace"), names.collect())
    };
    packages.iter().map(of_package).collect()
}

#[test]
fn contributing_says_which_crate_uses_which() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CONTRIBUTING.md");
    let text = std::fs::read_to_string(file).expect("it is there");
    let lines = text.lines().filter_map(|line| line.split_once("<-"));
    let written: Uses = lines
        .map(|(name, used)| {
            (name.trim().to_owned(), used.split_whitespace().map(str::to_owned).collect())
        })
        .collect();
    assert_eq!(written, uses());
}

#[test]
fn helpers_with_privileges_contain_neither_endpoint_nor_algorithms() {
    for helper in ["cwndlab-testbed", "cwndlab-kernel"] {
        let tree = cargo(&["tree", "--package", helper, "--edges", "normal", "--prefix", "none"]);
        let names: BTreeSet<&str> =
            tree.lines().filter_map(|line| line.split(' ').next()).collect();
        assert!(names.contains(helper), "{names:?}");
        for other in ["cwndlab-tcp", "cwndlab-cc", "cwndlab-sim"] {
            assert!(!names.contains(other), "{helper} uses {other}");
        }
    }
}
