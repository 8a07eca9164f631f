//! The scenario: everything that determines a run, as canonical JSON with integers in SI units.
//!
//! A field that is `null` or absent has its default; an unknown key is an error.
//! [`Scenario::from_json`] checks everything that does not depend on algorithms and traces. Every
//! error names its place in the JSON.

use core::num::NonZeroU16;
use std::collections::BTreeMap;

use cwndlab_host::HostConfig;
use cwndlab_link::{Direction, PathConfig};
use cwndlab_units::{Duration, Time};
use serde::{Deserialize, Serialize};

use crate::application::ApplicationConfig;
use crate::error::ScenarioError;
use crate::file_name::FileName;

/// Version of the format that this crate reads and writes.
pub const SCENARIO_VERSION: u32 = 1;

/// Everything that determines a run, except the contents of traces.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Version of the scenario's format: [`SCENARIO_VERSION`].
    pub version: u32,
    /// Seed of all random numbers of the run.
    pub seed: u64,
    /// Time at which the run ends.
    #[serde(rename = "duration_ns")]
    pub duration: Duration,
    /// Time at the beginning of each flow that statistics exclude.
    #[serde(rename = "warm_up_ns", default)]
    pub warm_up: Duration,
    /// The network.
    pub path: PathConfig,
    /// The connections of the run; they may be listed in any order.
    pub flows: Vec<FlowConfig>,
    /// The connections of earlier runs over the same path, the most recent run last.
    ///
    /// Earlier runs matter because hosts remember some state of earlier connections, such as the
    /// slow start threshold.
    #[serde(default)]
    pub before: Vec<Vec<FlowConfig>>,
    /// Tables to record in addition to the summary.
    #[serde(default)]
    pub record: RecordConfig,
    /// Phase of the hosts' clock ticks of 4 ms at the start of the run; if absent, the phase is
    /// random.
    ///
    /// Timers and algorithms of Linux round times to these ticks.
    #[serde(rename = "jiffies_phase_ns", default, skip_serializing_if = "Option::is_none")]
    pub jiffies_phase: Option<Duration>,
}

/// One connection.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Number of the flow in results.
    pub id: u32,
    /// Direction of the data; ACKs travel in the opposite direction.
    #[serde(default)]
    pub direction: Direction,
    /// Number of the flow's user on a shared medium, from 1.
    #[serde(default = "first_user")]
    pub user: NonZeroU16,
    /// Time at which the flow opens its connection.
    #[serde(rename = "start_ns", default)]
    pub start: Time,
    /// Time at which the application stops; if absent, it stops at the end of the run.
    #[serde(rename = "stop_ns", default)]
    pub stop: Option<Time>,
    /// The application that produces the data.
    #[serde(default)]
    pub application: ApplicationConfig,
    /// The end that sends the data.
    pub sender: EndConfig,
    /// The end that receives the data.
    pub receiver: EndConfig,
    /// One-way delay of the flow's own access link, which is added to the path in both directions.
    #[serde(rename = "access_delay_ns", default)]
    pub access_delay: Duration,
}

/// One end's TCP stack.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EndConfig {
    /// Name of a stack profile.
    pub stack: String,
    /// Name of a congestion control algorithm.
    pub algorithm: String,
    /// Parameters of the algorithm that differ from their defaults.
    #[serde(default)]
    pub parameters: BTreeMap<String, i64>,
    /// Settings of the stack that differ from the profile.
    #[serde(default)]
    pub stack_overrides: BTreeMap<String, serde_json::Value>,
    /// The network device through which this end sends; if absent, the host does not affect
    /// packets.
    ///
    /// Ends of the same user on the same side of the path share a device if its settings are
    /// equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<HostConfig>,
}

/// Tables to record in addition to the summary.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordConfig {
    /// Time between two rows of the table of samples; if absent, no samples are recorded.
    #[serde(rename = "sample_interval_ns", default)]
    pub sample_interval: Option<Duration>,
    /// Whether events such as losses, recoveries and timeouts are recorded.
    #[serde(default)]
    pub events: bool,
    /// Whether every ACK is recorded.
    #[serde(default)]
    pub ack_trace: bool,
    /// File name for the capture at the data senders' interfaces; the caller writes the file.
    #[serde(default)]
    pub pcap: Option<FileName>,
}

impl Scenario {
    /// Reads and checks a scenario.
    ///
    /// # Errors
    /// Returns a [`ScenarioError`] for the first value that is malformed, unknown or out of range.
    pub fn from_json(json: &str) -> Result<Self, ScenarioError> {
        let mut reader = serde_json::Deserializer::from_str(json);
        let scenario: Self = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
            let path = error.path().to_string();
            let place = if matches!(path.as_str(), "." | "?") { "scenario" } else { &path };
            ScenarioError::new(place, error.inner().to_string())
        })?;
        reader.end().map_err(|error| ScenarioError::new("scenario", error.to_string()))?;
        scenario.check()?;
        Ok(scenario)
    }

    /// The scenario as canonical JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("a scenario has string keys only")
    }

    /// Checks conditions that the types cannot express.
    ///
    /// # Errors
    /// Returns a [`ScenarioError`] for the first value that is out of range.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let fail = |path: &str, message: String| Err(ScenarioError::new(path, message));
        if self.version != SCENARIO_VERSION {
            let message = format!(
                "the scenario has format version {}; this program reads version \
                    {SCENARIO_VERSION}",
                self.version
            );
            return fail("version", message);
        }
        if self.duration == Duration::ZERO || self.duration > MAX_DURATION {
            let message = format!("{:?} is not between 1 ns and 100 days", self.duration);
            return fail("duration_ns", message);
        }
        if self.record.sample_interval.is_some_and(|interval| interval < MIN_SAMPLE_INTERVAL) {
            return fail("record.sample_interval_ns", "the interval is shorter than 0.1 ms".into());
        }
        self.check_flows("flows", &self.flows)?;
        for (index, flows) in self.before.iter().enumerate() {
            self.check_flows(&format!("before[{index}]"), flows)?;
        }
        Ok(())
    }

    fn check_flows(&self, place: &str, flows: &[FlowConfig]) -> Result<(), ScenarioError> {
        let fail = |path: &str, message: String| Err(ScenarioError::new(path, message));
        if flows.is_empty() {
            return fail(place, "the list of flows is empty".into());
        }
        for (index, flow) in flows.iter().enumerate() {
            let place = format!("{place}[{index}]");
            if flows[..index].iter().any(|other| other.id == flow.id) {
                let message = format!("another flow already has the id {}", flow.id);
                return fail(&format!("{place}.id"), message);
            }
            if self.path.users().is_some_and(|users| flow.user.get() > users) {
                let users = self.path.users().unwrap_or_default();
                let message = format!(
                    "there is no user {}; the number of users of the cell or \
                    Wi-Fi channel is {users}",
                    flow.user
                );
                return fail(&format!("{place}.user"), message);
            }
            flow.check(&place, self.duration)?;
            for (end, name) in [(&flow.sender, "sender"), (&flow.receiver, "receiver")] {
                if !self.path.is_granting() && end.host.is_some_and(|host| host.rate.is_none()) {
                    let message = "a device on a wire needs a rate";
                    return fail(&format!("{place}.{name}.host"), message.into());
                }
            }
        }
        Ok(())
    }
}

impl FlowConfig {
    fn check(&self, path: &str, duration: Duration) -> Result<(), ScenarioError> {
        let end = Time::ZERO + duration;
        if self.start >= end {
            let message = format!("{:?} is not before the end of the run, {end:?}", self.start);
            return Err(ScenarioError::new(format!("{path}.start_ns"), message));
        }
        if let Some(stop) = self.stop.filter(|&stop| stop <= self.start) {
            let message = format!("{stop:?} is not after the start, {:?}", self.start);
            return Err(ScenarioError::new(format!("{path}.stop_ns"), message));
        }
        self.application.check(&format!("{path}.application"))
    }
}

fn first_user() -> NonZeroU16 {
    NonZeroU16::MIN
}

const MAX_DURATION: Duration = Duration::from_secs(100 * 24 * 3600);
const MIN_SAMPLE_INTERVAL: Duration = Duration::from_micros(100);

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{"version": 1, "seed": 7, "duration_ns": 1000000000,
        "path": {"kind": "wire", "forward": [], "reverse": []},
        "flows": [{"id": 0, "sender": {"stack": "linux-6.1", "algorithm": "reno"},
                   "receiver": {"stack": "linux-6.1", "algorithm": "reno"}}]}"#;

    fn error_of(from: &str, to: &str) -> ScenarioError {
        assert!(SMALL.contains(from), "{from}");
        Scenario::from_json(&SMALL.replace(from, to)).expect_err("a bad scenario")
    }

    #[test]
    fn absent_and_null_fields_have_their_defaults() {
        let scenario = Scenario::from_json(SMALL).expect("a good scenario");
        assert_eq!(scenario.warm_up, Duration::ZERO);
        assert_eq!(scenario.flows[0].application, ApplicationConfig::Bulk {});
        assert_eq!(scenario.flows[0].stop, None);
        assert_eq!(scenario.record, RecordConfig::default());
        let with_null = SMALL.replace(r#""id": 0,"#, r#""id": 0, "stop_ns": null,"#);
        assert_eq!(Scenario::from_json(&with_null), Ok(scenario));
    }

    #[test]
    fn canonical_json_reads_back_as_the_same_scenario() {
        let scenario = Scenario::from_json(SMALL).expect("a good scenario");
        assert_eq!(Scenario::from_json(&scenario.to_json()), Ok(scenario));
    }

    #[test]
    fn an_error_names_its_place() {
        let unknown = error_of(r#""stack""#, r#""stock""#);
        assert_eq!(unknown.path, "flows[0].sender.stock");
        assert!(unknown.message.contains("unknown field `stock`"), "{unknown}");
        let type_ = error_of(r#""id": 0"#, r#""id": -1"#);
        assert_eq!(type_.path, "flows[0].id");
        assert_eq!(error_of("1000000000", "0").path, "duration_ns");
        assert_eq!(error_of(r#""version": 1"#, r#""version": 2"#).path, "version");
        let late = error_of(r#""id": 0"#, r#""id": 0, "start_ns": 2000000000"#);
        assert_eq!(late.path, "flows[0].start_ns");
        let stop = error_of(r#""id": 0"#, r#""id": 0, "start_ns": 20, "stop_ns": 20"#);
        assert_eq!(stop.path, "flows[0].stop_ns");
    }

    #[test]
    fn an_unknown_application_key_is_an_error() {
        let error =
            error_of(r#""id": 0"#, r#""id": 0, "application": {"kind": "bulk", "bytes": 1}"#);
        assert!(error.path.starts_with("flows[0].application"), "{error}");
    }

    #[test]
    fn text_behind_the_scenario_is_an_error() {
        let error = Scenario::from_json(&format!("{SMALL} x")).expect_err("text behind");
        assert_eq!(error.path, "scenario");
    }
}
