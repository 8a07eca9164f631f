//! From a scenario to its result.

use std::collections::BTreeMap;
use std::sync::Arc;

use cwndlab_cc::{Algorithms, Congestion};
use cwndlab_link::{AnyLink, StageConfig, Traces};
use cwndlab_tcp::{Endpoint, EndpointConfig, Profile};
use cwndlab_units::{Duration, Stream, Time};
use thiserror::Error;

use crate::application::Application;
use crate::engine::Engine;
use crate::flow::Flow;
use crate::frame::Frame;
use crate::output::RunOutput;
use crate::path::{FORWARD, REVERSE};
use crate::recorder::Recorder;
use crate::scenario::{EndConfig, Scenario, ScenarioError};
use crate::summary;

/// Linux counts time in ticks of 4 ms (HZ = 250).
const TICK_NANOS: u64 = 4_000_000;

/// A run that cannot begin.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is wrong in itself, or names what does not exist.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
}

/// Runs a scenario to its end: a pure function of the scenario, its seed, and the traces and
/// algorithms that it names.
///
/// # Errors
/// [`RunError`] if the scenario names an algorithm, a stack profile, a parameter or a trace that
/// does not exist, or is wrong in itself.
pub fn run(
    scenario: &Scenario,
    traces: &Traces,
    algorithms: &Algorithms,
) -> Result<RunOutput, RunError> {
    scenario.check()?;
    let end = Time::ZERO + scenario.duration;
    let stages = [&scenario.path.forward[..], &scenario.path.reverse[..]];
    let links = [
        build_link("forward", stages[FORWARD], scenario.seed, traces)?,
        build_link("reverse", stages[REVERSE], scenario.seed, traces)?,
    ];
    let flows = build_flows(scenario, end, algorithms)?;
    let ids = scenario.flows.iter().map(|flow| flow.id).collect();
    let recorder = Recorder::new(&scenario.record, ids);
    let mut engine = Engine::new(links, flows, recorder, scenario.record.sample_interval, end);
    engine.run();
    let flows = scenario
        .flows
        .iter()
        .zip(&engine.flows)
        .map(|(config, flow)| summary::flow(config, flow, stages[flow.data_link]))
        .collect();
    let mut links = summary::links("forward", &mut engine.path.links[FORWARD], end);
    links.extend(summary::links("reverse", &mut engine.path.links[REVERSE], end));
    let mut output = RunOutput { flows, links, ..RunOutput::default() };
    if let Some(recording) = engine.recorder.on_demand {
        output.samples = recording.samples;
        output.events = recording.events;
        output.acks = recording.acks;
        output.pcap = recording.pcap.map(|pcap| pcap.into_bytes());
    }
    Ok(output)
}

/// Checks that a scenario can run with these traces and algorithms, without running it.
///
/// # Errors
/// [`RunError`] where [`run`] has one.
pub fn check(
    scenario: &Scenario,
    traces: &Traces,
    algorithms: &Algorithms,
) -> Result<(), RunError> {
    scenario.check()?;
    build_link("forward", &scenario.path.forward, scenario.seed, traces)?;
    build_link("reverse", &scenario.path.reverse, scenario.seed, traces)?;
    build_flows(scenario, Time::ZERO + scenario.duration, algorithms)?;
    Ok(())
}

fn build_link(
    direction: &str,
    stages: &[StageConfig],
    seed: u64,
    traces: &Traces,
) -> Result<AnyLink<Frame>, ScenarioError> {
    AnyLink::one_way(stages, traces, seed, direction).map_err(|error| {
        let stage = error.place.rsplit_once('.').map_or("", |(_, stage)| stage);
        ScenarioError::new(format!("path.{direction}[{stage}]"), error.problem.to_string())
    })
}

fn build_flows(
    scenario: &Scenario,
    end: Time,
    algorithms: &Algorithms,
) -> Result<Vec<Flow>, ScenarioError> {
    let phase = scenario.jiffies_phase.unwrap_or_else(|| {
        Duration::from_nanos(Stream::new(scenario.seed, "jiffies_phase").below(TICK_NANOS))
    });
    let mut profiles = Profiles::default();
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (index, config) in scenario.flows.iter().enumerate() {
        let mut end_of = |name: &str, end: &EndConfig| {
            let component = format!("flow.{}.{name}", config.id);
            let seed = Stream::new(scenario.seed, &component).next_u64();
            let path = format!("flows[{index}].{name}");
            let profile = profiles.find(end, &path)?;
            let congestion = congestion(end, &path, algorithms)?;
            let flow = index as u32;
            Ok(Endpoint::new(EndpointConfig {
                flow,
                profile,
                congestion,
                seed,
                jiffies_phase: phase,
            }))
        };
        let sender = end_of("sender", &config.sender)?;
        let receiver = end_of("receiver", &config.receiver)?;
        let stream = Stream::new(scenario.seed, &format!("flow.{}.application", config.id));
        let application = Application::new(&config.application, stream);
        let ends = [sender, receiver];
        flows.push(Flow::new(config, index, ends, application, scenario.warm_up, end));
    }
    Ok(flows)
}

/// Profiles that flows share, by name and overrides.
#[derive(Default)]
struct Profiles {
    known: Vec<(EndKey, Arc<Profile>)>,
}

type EndKey = (String, BTreeMap<String, serde_json::Value>);

impl Profiles {
    fn find(&mut self, end: &EndConfig, path: &str) -> Result<Arc<Profile>, ScenarioError> {
        let is_same = |key: &EndKey| key.0 == end.stack && key.1 == end.stack_overrides;
        if let Some((_, profile)) = self.known.iter().find(|(key, _)| is_same(key)) {
            return Ok(Arc::clone(profile));
        }
        let profile = Profile::by_name(&end.stack).ok_or_else(|| {
            let names = Profile::names().collect::<Vec<_>>().join(", ");
            let message = format!("unknown stack `{}`, there are {names}", end.stack);
            ScenarioError::new(format!("{path}.stack"), message)
        })?;
        let profile = profile.with_overrides(&end.stack_overrides).map_err(|error| {
            ScenarioError::new(format!("{path}.stack_overrides"), error.to_string())
        })?;
        let profile = Arc::new(profile);
        self.known.push(((end.stack.clone(), end.stack_overrides.clone()), Arc::clone(&profile)));
        Ok(profile)
    }
}

fn congestion(
    end: &EndConfig,
    path: &str,
    algorithms: &Algorithms,
) -> Result<Congestion, ScenarioError> {
    let algorithm = algorithms.find(&end.algorithm).ok_or_else(|| {
        let names = algorithms.names().collect::<Vec<_>>().join(", ");
        let message = format!("unknown algorithm `{}`, there are {names}", end.algorithm);
        ScenarioError::new(format!("{path}.algorithm"), message)
    })?;
    Congestion::new(algorithm, &end.parameters)
        .map_err(|error| ScenarioError::new(format!("{path}.parameters"), error.to_string()))
}
