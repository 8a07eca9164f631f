//! Tests that each stage of a cell's pipeline matters: without it, a figure misses its target.

mod common;

use std::collections::BTreeMap;

use common::cell_rows::{self, Change};

/// Target and tolerance of a figure, as read by `make validate-links`.
struct Target {
    target: f64,
    tolerance: f64,
}

impl Target {
    fn holds(&self, value: f64) -> bool {
        (value - self.target).abs() <= self.tolerance
    }
}

fn targets() -> BTreeMap<String, Target> {
    let text = include_str!("../../../tests/links/targets.toml");
    let file: toml::Table = text.parse().expect("the file of targets is TOML");
    let rows = file["target"].as_array().expect("targets").iter().map(|row| {
        let number = |value: &toml::Value| {
            value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
        };
        let target = number(&row["target"]).expect("a target");
        let tolerance = match &row["within"] {
            toml::Value::String(share) if share == "exact" => 0.0,
            toml::Value::String(share) => {
                let percent = share.strip_suffix(" %").expect("a share in percent");
                target.abs() * percent.parse::<f64>().expect("a number") / 100.0
            }
            other => number(other).expect("a tolerance"),
        };
        (row["id"].as_str().expect("a name").to_owned(), Target { target, tolerance })
    });
    rows.collect()
}

fn measure(id: &str, change: Change) -> f64 {
    let all = cell_rows::all();
    let rows = all.iter().find(|rows| rows.ids.iter().any(|row| row == id));
    let rows = rows.unwrap_or_else(|| panic!("nothing measures {id}"));
    let place = rows.ids.iter().position(|row| row == id).expect("it was just found");
    (rows.measure)(change)[place]
}

#[test]
fn every_measurement_has_a_target_and_every_target_a_measurement() {
    let targets = targets();
    let measured: Vec<String> = cell_rows::all().into_iter().flat_map(|rows| rows.ids).collect();
    for id in &measured {
        assert!(targets.contains_key(id), "{id} has no target");
    }
    for id in targets.keys().filter(|id| id.starts_with("cell.")) {
        assert!(measured.contains(id), "nothing measures {id}");
    }
}

#[test]
fn without_a_stage_a_figure_is_missed() {
    let targets = targets();
    for (stage, change, id) in cell_rows::stages() {
        let target = &targets[id];
        let with = measure(id, |config| config);
        assert!(target.holds(with), "{id}: {with} with all stages, {}", target.target);
        let without = measure(id, change);
        assert!(!target.holds(without), "{id} is {without} even without {stage}");
    }
}
