//! Executes the run that a scenario describes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cwndlab_cc::{Algorithms, Congestion, JIFFY};
use cwndlab_host::HostConfig;
use cwndlab_link::{AnyLink, ConfigError, PathConfig, Stages, Traces};
use cwndlab_scenario::{
    Application, EndConfig, FinishedFlow, FlowSummary, LinkSummary, RecordConfig, Recording,
    RunOutput, Scenario, ScenarioError, SenderCounts, flow_summary, link_summaries,
};
use cwndlab_tcp::{Counters, Endpoint, EndpointConfig, Profile};
use cwndlab_units::{Duration, Stream, Time};
use thiserror::Error;

use crate::engine::{Engine, Memory};
use crate::flow::Flow;
use crate::node::HostNodes;
use crate::path::Links;
use crate::recorder::Recorder;

/// Time after the end of the application in which the connection of an earlier run can send its
/// remaining data and close.
const LINGER: Duration = Duration::from_secs(10);

/// An error that prevents a run from starting or from reaching its end.
#[derive(Clone, PartialEq, Debug, Error)]
#[non_exhaustive]
pub enum RunError {
    /// The scenario is invalid, or names an item that does not exist.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// Another thread stopped the run.
    #[error("stopped")]
    Stopped,
}

/// Runs a scenario to its end: a pure function of the scenario, its seed, and the traces and
/// algorithms that it names.
///
/// # Errors
/// Returns a [`RunError`] if the scenario is invalid, or names an algorithm, a stack profile, a
/// parameter or a trace that does not exist.
pub fn run(
    scenario: &Scenario,
    traces: &Traces,
    algorithms: &Algorithms,
) -> Result<RunOutput, RunError> {
    run_unless_stopped(scenario, traces, algorithms, &AtomicBool::new(false))
}

/// Does the same as [`run`], but ends if another thread sets `stop`. The flag is read every 10
/// simulated ms.
///
/// # Errors
/// Returns [`RunError::Stopped`] if `stop` is set, and otherwise the errors of [`run`].
pub fn run_unless_stopped(
    scenario: &Scenario,
    traces: &Traces,
    algorithms: &Algorithms,
    stop: &AtomicBool,
) -> Result<RunOutput, RunError> {
    let mut recorded = Recording::default();
    let output =
        run_in_parts(scenario, traces, algorithms, stop, &mut |part| recorded.append(part))?;
    let RunOutput { flows, links, samples, events, acks, pcap } = output;
    recorded.append(Recording { samples, events, acks, pcap });
    Ok(whole(flows, links, recorded))
}

/// Does the same as [`run_unless_stopped`], but passes recorded data to `take` after every few
/// megabytes, so that memory does not grow with simulated time. The return value contains the
/// remaining data.
///
/// # Errors
/// Returns the same errors as [`run_unless_stopped`].
pub fn run_in_parts(
    scenario: &Scenario,
    traces: &Traces,
    algorithms: &Algorithms,
    stop: &AtomicBool,
    take: &mut dyn FnMut(Recording),
) -> Result<RunOutput, RunError> {
    scenario.check()?;
    let mut memory = Memory::new();
    for index in 0..scenario.before.len() {
        let earlier = earlier(scenario, index);
        let links = build_links(&earlier.path, earlier.seed, traces)?;
        let place = format!("before[{index}]");
        let engine = engine(&earlier, &place, links, algorithms, stop)?;
        let mut engine = engine.remembering(memory);
        engine.run(&mut |_| {});
        memory = engine.memory();
    }
    let links = build_links(&scenario.path, scenario.seed, traces)?;
    run_over(scenario, links, algorithms, stop, memory, take)
}

/// The scenario of an earlier run on the same path. The earlier run records no tables, and every
/// flow can end.
fn earlier(scenario: &Scenario, index: usize) -> Scenario {
    let end = Time::ZERO + scenario.duration;
    let mut flows = scenario.before[index].clone();
    for flow in &mut flows {
        flow.stop.get_or_insert(end);
    }
    Scenario {
        seed: Stream::new(scenario.seed, &format!("before.{index}")).next_u64(),
        duration: scenario.duration + LINGER,
        flows,
        before: Vec::new(),
        record: RecordConfig::default(),
        ..scenario.clone()
    }
}

/// Prepares the run of a scenario; in error messages, `place` is the place of its flows.
fn engine<'a>(
    scenario: &Scenario,
    place: &str,
    links: Links,
    algorithms: &Algorithms,
    stop: &'a AtomicBool,
) -> Result<Engine<'a>, RunError> {
    let end = Time::ZERO + scenario.duration;
    let (flows, nodes) = build_flows(scenario, place, end, algorithms)?;
    let ids = scenario.flows.iter().map(|flow| flow.id).collect();
    let recorder = Recorder::new(&scenario.record, ids);
    let interval = scenario.record.sample_interval;
    let engine = Engine::new(links, nodes, flows, recorder, interval, end, stop);
    Ok(engine.after_warm_up(scenario.warm_up))
}

fn run_over(
    scenario: &Scenario,
    links: Links,
    algorithms: &Algorithms,
    stop: &AtomicBool,
    memory: Memory,
    take: &mut dyn FnMut(Recording),
) -> Result<RunOutput, RunError> {
    let mut engine = engine(scenario, "flows", links, algorithms, stop)?.remembering(memory);
    engine.run(take);
    if stop.load(Ordering::Relaxed) {
        return Err(RunError::Stopped);
    }
    let flows = scenario
        .flows
        .iter()
        .zip(&engine.flows)
        .map(|(config, flow)| {
            let finished = FinishedFlow {
                config,
                stacks: [&config.sender.stack, &config.receiver.stack],
                user: flow.user,
                record: &flow.record,
                counts: SenderCounts {
                    host_refusals: flow.host_refusals(),
                    ..sender_counts(flow.sender.counters())
                },
                completed: flow.completed,
                outcome: flow.outcome(),
            };
            flow_summary(&finished, &scenario.path)
        })
        .collect();
    let end = Time::ZERO + scenario.duration;
    let links = link_summaries(&scenario.path, |direction, user| {
        let (link, direction) = engine.path.link_of(direction);
        link.counters_of(direction, user, end)
    });
    Ok(whole(flows, links, engine.recorder.take()))
}

fn sender_counts(counters: Counters) -> SenderCounts {
    SenderCounts {
        timeouts: Some(counters.timeouts),
        spurious_timeouts: Some(counters.spurious_timeouts),
        recoveries: Some(counters.recoveries),
        tail_loss_probes: Some(counters.tail_loss_probes),
        host_refusals: Some(counters.refusals),
        busy: counters.busy,
        rwnd_limited: counters.rwnd_limited,
        sndbuf_limited: counters.sndbuf_limited,
    }
}

fn whole(flows: Vec<FlowSummary>, links: Vec<LinkSummary>, recorded: Recording) -> RunOutput {
    let Recording { samples, events, acks, pcap } = recorded;
    RunOutput { flows, links, samples, events, acks, pcap }
}

/// Checks that a scenario can be executed with these traces and algorithms, without executing it.
///
/// # Errors
/// Returns a [`RunError`] in the cases in which [`run`] returns an error.
pub fn check(
    scenario: &Scenario,
    traces: &Traces,
    algorithms: &Algorithms,
) -> Result<(), RunError> {
    scenario.check()?;
    build_links(&scenario.path, scenario.seed, traces)?;
    let end = Time::ZERO + scenario.duration;
    build_flows(scenario, "flows", end, algorithms)?;
    for index in 0..scenario.before.len() {
        build_flows(&earlier(scenario, index), &format!("before[{index}]"), end, algorithms)?;
    }
    Ok(())
}

/// Creates the links of a path: for wires, one link for each direction, which is faster; otherwise
/// one link for both.
fn build_links(path: &PathConfig, seed: u64, traces: &Traces) -> Result<Links, ScenarioError> {
    let one_way = |stages, name| AnyLink::one_way(stages, traces, seed, name);
    let links = match path {
        PathConfig::Wire(wire) => one_way(&wire.forward, "forward").and_then(|forward| {
            Ok(Links::Separate(Box::new([forward, one_way(&wire.reverse, "reverse")?])))
        }),
        PathConfig::Wifi(_) | PathConfig::Cell(_) | PathConfig::Chain(_) => {
            AnyLink::shared(path, traces, seed).map(|medium| Links::Shared(Box::new(medium)))
        }
    };
    links.map_err(|error| link_error(&error))
}

/// Converts the place of a link's error to a place in the scenario: `path.forward[0]` for stage
/// `forward.0`, `path.downlink.adaptation` in a cell, `path.links[1].phy` in the second link of a
/// chain.
pub(crate) fn link_error(error: &ConfigError) -> ScenarioError {
    let mut place = "path".to_owned();
    let key = error.problem.place();
    for part in error.place.split('.').chain(Some(&*key)) {
        match part {
            // The path, or the chain's link, is the medium itself.
            "" | "wifi" | "cell" => {}
            number if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                place += &format!("[{number}]");
            }
            key => place += &format!(".{key}"),
        }
    }
    ScenarioError::new(place, error.problem.to_string())
}

fn build_flows(
    scenario: &Scenario,
    place: &str,
    end: Time,
    algorithms: &Algorithms,
) -> Result<(Vec<Flow>, HostNodes), ScenarioError> {
    let phase = scenario.jiffies_phase.unwrap_or_else(|| {
        Duration::from_nanos(Stream::new(scenario.seed, "jiffies_phase").below(JIFFY.as_nanos()))
    });
    let mut profiles = Profiles::default();
    let mut flows = Vec::with_capacity(scenario.flows.len());
    let mut nodes = HostNodes::default();
    for (index, config) in scenario.flows.iter().enumerate() {
        let mut end_of = |name: &str, end: &EndConfig| {
            let component = format!("flow.{}.{name}", config.id);
            let seed = Stream::new(scenario.seed, &component).next_u64();
            let path = format!("{place}[{index}].{name}");
            let profile = profiles.find(end, &path)?;
            let congestion = congestion(end, &path, algorithms)?;
            let flow = index as u32;
            Ok(Endpoint::new(EndpointConfig {
                flow,
                user: config.user.get(),
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
        let mut flow = Flow::new(config, index, ends, application, scenario.warm_up, end);
        let (data, acks, user) = (flow.direction, flow.direction.opposite(), config.user);
        flow.attachment.nodes =
            [(&config.sender, data), (&config.receiver, acks)].map(|(end, direction)| {
                nodes.find_or_add(end.host, direction, user, false, scenario.seed)
            });
        let receive_lines =
            [(&config.sender, acks), (&config.receiver, data)].map(|(end, direction)| {
                let line = end.host.and_then(HostConfig::receiving);
                nodes.find_or_add(line, direction, user, true, scenario.seed)
            });
        flow.attachment.receive_lines =
            receive_lines.iter().any(Option::is_some).then_some(receive_lines);
        for (node, end) in flow.attachment.nodes.iter().zip([&mut flow.sender, &mut flow.receiver])
        {
            if let Some(node) = *node {
                end.attach_host(nodes.traits_of(node));
            }
        }
        flows.push(flow);
    }
    Ok((flows, nodes))
}

/// Stack profiles that several flows share, by their name and overrides.
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
        let mut profile = Profile::shared(&end.stack).ok_or_else(|| {
            let names = Profile::names().collect::<Vec<_>>().join(", ");
            let message = format!("unknown stack `{}`; the stacks are {names}", end.stack);
            ScenarioError::new(format!("{path}.stack"), message)
        })?;
        if !end.stack_overrides.is_empty() {
            let changed = profile.with_overrides(&end.stack_overrides).map_err(|error| {
                ScenarioError::new(format!("{path}.stack_overrides"), error.to_string())
            })?;
            profile = Arc::new(changed);
        }
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
        let message = format!("unknown algorithm `{}`; the algorithms are {names}", end.algorithm);
        ScenarioError::new(format!("{path}.algorithm"), message)
    })?;
    Congestion::new(algorithm, &end.parameters)
        .map_err(|error| ScenarioError::new(format!("{path}.parameters"), error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario with flows of three users in both directions, over a chain with loss; the ACKs
    /// of some flows share the path with data of others.
    const MIXED: &str = r#"{"version": 1, "seed": 7, "duration_ns": 8000000000,
        "path": {"kind": "wire",
            "forward": [
                {"rate": {"kind": "fixed", "bits_per_sec": 10000000}, "delay_ns": 10000000,
                 "queue": {"kind": "drop_tail", "packets": 30}},
                {"delay_ns": 7000000, "loss": {"kind": "iid", "ppb": 2000000},
                 "jitter": {"kind": "uniform", "max_ns": 3000000}}],
            "reverse": [
                {"rate": {"kind": "fixed", "bits_per_sec": 2000000}, "delay_ns": 9000000,
                 "queue": {"kind": "drop_tail", "packets": 30}}]},
        "flows": [
            {"id": 0, "sender": END, "receiver": END},
            {"id": 1, "user": 2, "direction": "reverse", "sender": END, "receiver": END},
            {"id": 2, "user": 3, "start_ns": 1000000, "access_delay_ns": 5000000,
             "sender": END, "receiver": END}],
        "record": {"sample_interval_ns": 50000000, "events": true}}"#;

    #[test]
    fn a_shared_medium_of_two_wires_is_the_two_wires() {
        let end = r#"{"stack": "linux-6.1", "algorithm": "cubic"}"#;
        let scenario = Scenario::from_json(&MIXED.replace("END", end)).expect("a good scenario");
        let (traces, algorithms) = (Traces::new(), Algorithms::default());
        let medium = AnyLink::shared(&scenario.path, &traces, scenario.seed).expect("good links");
        let stop = AtomicBool::new(false);
        let shared = Links::Shared(Box::new(medium));
        let shared = run_over(&scenario, shared, &algorithms, &stop, Memory::new(), &mut |_| {})
            .expect("it runs");
        let separate = run(&scenario, &traces, &algorithms).expect("it runs");
        assert_eq!(shared.flows, separate.flows);
        let columns = |output: &RunOutput| {
            let samples = output.samples.clone().expect("samples");
            (samples.t_s, samples.cwnd_pkts, samples.inflight_pkts, samples.queue_bytes)
        };
        assert!(columns(&shared) == columns(&separate));
        assert_eq!(shared.links, separate.links);
        assert!(separate.flows.iter().all(|flow| flow.delivered_bytes > 200_000));
        assert!(separate.flows.iter().any(|flow| flow.retransmitted_pkts > 0));
    }
}
