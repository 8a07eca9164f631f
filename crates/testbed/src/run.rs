//! Runs a scenario on the Linux kernel of this machine.

use std::fs;
use std::io;
use std::thread;

use cwndlab_emu::{
    Clock, Emulator, Frame, Namespace, Priority, Report, Stop, StudyLock, set_priority,
    what_is_missing,
};
use cwndlab_link::{AnyLink, Traces};
use cwndlab_scenario::{
    ApplicationConfig, Events, FinishedFlow, FlowConfig, LinkSummary, RunOutput, Samples, Scenario,
    SenderCounts, flow_summary,
};
use cwndlab_units::{Duration, Time};

use crate::bed::{Bed, ports};
use crate::ends::{AllEnds, FlowEnds};
use crate::error::RunError;
use crate::netstat::Netstat;
use crate::protocol::{KernelNames, KernelView};
use crate::states::States;
use crate::watch::{Ends, WakeUp, Watch, WatchedFlow};

/// The result of a run on the kernel.
#[derive(Debug)]
pub struct KernelOutput {
    /// The same tables as those of the simulator.
    pub output: RunOutput,
    /// How well the machine emulated the link in real time.
    pub report: Report,
    /// `TCP_INFO` of both ends every 10 ms, if the scenario records samples; the module `states`
    /// describes the format.
    pub states: Option<Vec<u8>>,
    /// Further measurements of the kernel.
    pub kernel: KernelView,
}

/// How a run gets exclusive use of the machine.
#[expect(missing_debug_implementations, reason = "the variant contains a function")]
pub enum Turn<'a> {
    /// Waits until no other study uses the machine; the function receives the name of the study
    /// that uses it.
    Wait(&'a str, Box<dyn FnOnce(&str) + 'a>),
    /// The study has already reserved the machine, for several runs at once.
    Held,
}

/// Runs a scenario in real time as soon as the machine is available.
///
/// The TCP stack is that of the kernel, whatever stack profile the scenario names. With
/// `is_awake`, the processors do not halt during the run.
///
/// # Errors
/// Returns a [`RunError`] if the run is impossible or invalid.
pub fn run(
    scenario: &Scenario,
    traces: &Traces,
    names: &KernelNames,
    turn: Turn<'_>,
    is_awake: bool,
) -> Result<KernelOutput, RunError> {
    scenario.check()?;
    refuse_impossible(scenario)?;
    if let Some(reason) = what_is_missing() {
        return Err(RunError::Missing(reason.to_string()));
    }
    let link = AnyLink::<Frame>::shared(&scenario.path, traces, scenario.seed)?;
    let _lock = match turn {
        Turn::Wait(owner, waiting) => {
            Some(StudyLock::acquire(&StudyLock::place(), owner, waiting)?)
        }
        Turn::Held => None,
    };
    let bed = Bed::new(scenario.path.users().unwrap_or(1))?;
    let before = netstats(&bed.namespaces)?;
    let ends = Ends::new(scenario.flows.len());
    let wake_up = WakeUp::default();
    let mut all = AllEnds::new(scenario, &bed, names, ends.clone(), wake_up.clone())?;
    let end = Time::ZERO + scenario.duration;
    let (clock, stop) = (Clock::start(), Stop::new());
    let mut emulator = Emulator::new(link, bed.tuns, Watch::new(scenario, ends, wake_up));
    if !is_awake {
        emulator = emulator.letting_processors_halt();
    }
    let (acted, watched) = thread::scope(|scope| {
        let emulating = scope.spawn(|| emulator.run(clock, end, &stop));
        let acting = scope.spawn(|| {
            // Without the right to real-time priority, the run continues; its reported delays show
            // the effect.
            let _ = set_priority(Priority::Application);
            let acted = all.run(clock);
            if acted.is_err() {
                stop.stop();
            }
            acted
        });
        (acting.join().expect("no panic"), emulating.join().expect("no panic"))
    });
    acted?;
    let (report, watch) = watched?;
    let netstats: Vec<Netstat> = netstats(&bed.namespaces)?
        .into_iter()
        .zip(&before)
        .map(|(after, before)| after.since(before))
        .collect();
    let states = all.states.take().map(States::into_bytes);
    let (wake_time, read_time) = (all.waking.percentiles(), all.reading.percentiles());
    let output = output(scenario, watch, all, &netstats)?;
    let kernel = KernelView {
        began_ns: clock.origin_nanos(),
        namespaces: bed.namespaces.iter().map(Namespace::number).collect::<io::Result<_>>()?,
        netstat: netstats.into_iter().map(Netstat::into_counters).collect(),
        wake_time,
        read_time,
    };
    Ok(KernelOutput { output, report, states, kernel })
}

fn netstats(namespaces: &[Namespace]) -> io::Result<Vec<Netstat>> {
    namespaces.iter().map(|namespace| namespace.run(Netstat::read)).collect()
}

fn refuse_impossible(scenario: &Scenario) -> Result<(), RunError> {
    for (index, flow) in scenario.flows.iter().enumerate() {
        let refuse = |key: &str, what| {
            Err(RunError::Impossible { place: format!("flows[{index}].{key}"), what })
        };
        if matches!(flow.application, ApplicationConfig::Datagrams { .. }) {
            return refuse("application", "the application datagrams");
        }
        if flow.access_delay > Duration::ZERO {
            return refuse("access_delay_ns", "an additional delay of a single flow");
        }
        for (name, end) in [("sender", &flow.sender), ("receiver", &flow.receiver)] {
            if !end.stack_overrides.is_empty() {
                return refuse(
                    &format!("{name}.stack_overrides"),
                    "changed settings of the TCP \
                    stack",
                );
            }
        }
    }
    if scenario.record.ack_trace {
        let place = "record.ack_trace".to_owned();
        return Err(RunError::Impossible { place, what: "recording a row for each ACK" });
    }
    Ok(())
}

fn output(
    scenario: &Scenario,
    mut watch: Watch,
    all: AllEnds,
    netstats: &[Netstat],
) -> io::Result<RunOutput> {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let stack = format!("linux-{}", release.trim());
    let events = watch.events.take().map(|link| {
        let own = all.flows.iter().enumerate();
        events(scenario, own.map(|(index, flow)| (index, flow.events.as_slice())), &link)
    });
    let samples = scenario
        .record
        .sample_interval
        .map(|interval| samples(scenario, interval, &watch.flows, &all.flows));
    let links: Vec<LinkSummary> = std::mem::take(&mut watch.links);
    let mut flows = Vec::new();
    for ((config, watched), ends) in scenario.flows.iter().zip(watch.flows).zip(all.flows) {
        let [sender_port, _] = ports(scenario, config);
        // A namespace counts all its connections together.
        let is_here = |other: &&FlowConfig| ports(scenario, other).contains(&sender_port);
        let is_alone = scenario.flows.iter().filter(is_here).count() == 1;
        let netstat = is_alone.then(|| &netstats[usize::from(sender_port)]);
        let info = ends.info.unwrap_or_default();
        let counts = SenderCounts {
            timeouts: info.timeouts,
            spurious_timeouts: netstat.map(Netstat::spurious_timeouts),
            recoveries: netstat.map(Netstat::recoveries),
            tail_loss_probes: netstat.map(Netstat::tail_loss_probes),
            host_refusals: None,
            busy: info.busy,
            rwnd_limited: info.rwnd_limited,
            sndbuf_limited: info.sndbuf_limited,
        };
        let outcome = ends.outcome();
        let mut record = watched.record.joined_with(ends.record);
        record.finish();
        let finished = FinishedFlow {
            config,
            stacks: [&stack, &stack],
            user: config.user.get(),
            record: &record,
            counts,
            completed: ends.completed,
            outcome,
        };
        flows.push(flow_summary(&finished, &scenario.path));
    }
    let pcap = watch.capture.map(|mut capture| capture.take());
    Ok(RunOutput { flows, links, samples, events, acks: None, pcap })
}

fn events<'a>(
    scenario: &Scenario,
    own: impl Iterator<Item = (usize, &'a [(Time, &'static str)])>,
    link: &[(Time, cwndlab_link::LinkEvent)],
) -> Events {
    let mut all: Vec<(Time, Option<usize>, &'static str, f64)> = Vec::new();
    for (index, events) in own {
        all.extend(events.iter().map(|&(at, name)| (at, Some(index), name, f64::NAN)));
    }
    all.extend(link.iter().map(|(at, event)| {
        let value = event.kind.value().map_or(f64::NAN, |value| value as f64);
        (*at, event.kind.flow().map(|flow| flow as usize), event.kind.name(), value)
    }));
    all.sort_by_key(|event| event.0);
    let mut events = Events::default();
    for (at, flow, name, value) in all {
        // Packets of no flow, such as the kernel's reply from a closed port, have no flow number.
        events.flow.push(flow.and_then(|flow| scenario.flows.get(flow)).map(|flow| flow.id));
        events.t_s.push(at.as_secs_f64());
        events.event.push(name);
        events.value.push(value);
    }
    events
}

fn samples(
    scenario: &Scenario,
    interval: Duration,
    watched: &[WatchedFlow],
    ends: &[FlowEnds],
) -> Samples {
    let mut samples = Samples::default();
    let rows = ends.iter().map(|flow| flow.rows.len()).max().unwrap_or(0);
    let mbit_s = |bytes: u64| bytes as f64 * 8e3 / interval.as_nanos() as f64;
    let defined = |value: Option<f64>| value.unwrap_or(f64::NAN);
    let rate_mbit_s = |byte_s: u64| byte_s as f64 * 8e-6;
    // Totals of each flow at the previous row.
    let mut before = vec![[0_u64; 2]; ends.len()];
    for number in 0..rows {
        for (index, config) in scenario.flows.iter().enumerate() {
            let end = ends[index].rows.get(number).copied().flatten();
            let (Some(end), Some(seen)) = (end, watched[index].rows.get(number)) else { continue };
            let info = end.info;
            let [sent, delivered] =
                std::mem::replace(&mut before[index], [seen.sent_bytes, end.delivered_bytes]);
            samples.flow.push(config.id);
            samples.t_s.push((interval.as_nanos() * (number as u64 + 1)) as f64 / 1e9);
            samples.cwnd_pkts.push(info.cwnd_pkts);
            samples.ssthresh_pkts.push(defined(info.ssthresh_pkts.map(f64::from)));
            let srtt_ms = (info.srtt_us > 0).then(|| f64::from(info.srtt_us) / 1e3);
            samples.srtt_ms.push(defined(srtt_ms));
            samples.rtt_ms.push(defined(seen.rtt_ms));
            samples.throughput_mbit_s.push(mbit_s(seen.sent_bytes - sent));
            samples.goodput_mbit_s.push(mbit_s(end.delivered_bytes - delivered));
            samples.inflight_pkts.push(info.in_flight_pkts);
            samples.queue_pkts.push(seen.queue.packets);
            samples.queue_bytes.push(seen.queue.bytes);
            samples.host_queue_pkts.push(f64::NAN);
            samples.pacing_rate_mbit_s.push(defined(info.pacing_rate_byte_s.map(rate_mbit_s)));
            samples.delivery_rate_mbit_s.push(rate_mbit_s(info.delivery_rate_byte_s));
            samples.ca_state.push(info.ca_state);
        }
    }
    samples
}
