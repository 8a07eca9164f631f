//! Creates a wire from the configuration of a stage.

use core::iter;
use std::collections::VecDeque;

use cwndlab_trace::{OpportunityTrace, RateLog, RateTrace, TraceKind, Traces};
use cwndlab_units::{Duration, Rate, Stream, Time};

use super::ingress::IngressFilter;
use super::on_dequeue::OnDequeue;
use super::{LongestQueue, Steady, Timing, Wire};
use crate::config::{
    DualPi2Config, FqCodelConfig, OutageKind, QueueConfig, RateConfig, StageConfig, Transition,
};
use crate::delay::Delay;
use crate::error::{ConfigError, StageError};
use crate::loss::Loss;
use crate::meter::Meter;
use crate::outage::{Blackouts, Spans};
use crate::packet::Packet;
use crate::policer::Policer;
use crate::queue::{
    AckThinner, Codel, CodelSettings, DequeueAqm, DualPi2, DualPi2Settings, EnqueueAqm, Fifo,
    FlowQueueSettings, FlowQueues, Limits, Pie, Queue, Red, Step,
};
use crate::rate::{
    Capacity, Fixed, LightHeavy, Netem, Opportunities, Server, Source, TokenBucket, UNLIMITED,
};
use crate::ring::Ring;
use crate::scatter::Scatter;
use crate::schedule::{Steps, rate_steps, scheduled_events};

impl<P: Packet> Wire<P> {
    /// Creates a wire from its configuration, for the run with this seed.
    ///
    /// `name`, such as `forward.0`, is the prefix of the names of the wire's random streams, and
    /// its place in errors.
    ///
    /// # Errors
    /// Returns an error if the settings contradict each other or a trace is missing.
    pub fn new(
        config: &StageConfig,
        traces: &Traces,
        run_seed: u64,
        name: &str,
    ) -> Result<Self, ConfigError> {
        let build = Builder { config, traces, run_seed, name };
        build.wire().map_err(|problem| ConfigError { place: name.to_owned(), problem })
    }
}

impl<P> Scatter<P> {
    /// The part that follows the wire of this stage, if its packets leave out of order.
    pub(crate) fn behind(config: &StageConfig, run_seed: u64, name: &str) -> Option<Self> {
        let reorder = config.reorder?;
        let build = Builder { config, traces: &Traces::new(), run_seed, name };
        Some(Self::new(reorder, build.delay(), build.stream("reorder")))
    }
}

/// The queue that decides on arrival, and the queue that replaces it if the wire's queue decides
/// on dequeue.
type Queues<P> = (Queue, Option<Box<OnDequeue<P>>>);

struct Builder<'a> {
    config: &'a StageConfig,
    traces: &'a Traces,
    run_seed: u64,
    name: &'a str,
}

impl Builder<'_> {
    fn wire<P: Packet>(&self) -> Result<Wire<P>, StageError> {
        let config = self.config;
        let blackouts = Spans::new(&config.outages, OutageKind::Drop)?;
        let pauses = Spans::new(&config.outages, OutageKind::Hold)?;
        let mut scheduled = scheduled_events(&config.schedule, &blackouts, &pauses);
        scheduled.reverse();
        let event_at = scheduled.last().map_or(Time::NEVER, |&(at, _)| at);
        let (queue, on_dequeue) = self.queue()?;
        let server = self.server(pauses, on_dequeue.is_some())?;
        if config.reorder.is_some() && config.transition == Transition::Keep {
            return Err(StageError::KeptReorder);
        }
        let is_unlimited = config.rate == RateConfig::Unlimited {}
            && config.schedule.iter().all(|step| step.rate.is_none());
        let timing = match (config.transition, &server) {
            (Transition::Keep, Server::Netem(_)) if is_unlimited => Timing::KeepDelay,
            (Transition::Keep, Server::Netem(_)) => Timing::KeepRate,
            _ => Timing::Retime,
        };
        let ingress = self.ingress(Blackouts::new(blackouts));
        Ok(Wire {
            wake: event_at,
            other_at: event_at,
            ring: Ring::new(),
            queue,
            // Reordered packets are delayed behind the wire.
            delay: if config.reorder.is_some() {
                Delay::new(Steps::new(Duration::ZERO, iter::empty()), None, self.stream("jitter"))
            } else {
                self.delay()
            },
            framing_bytes: config.framing_bytes.unwrap_or(match config.rate {
                RateConfig::Mahimahi { .. } => OpportunityTrace::FRAMING_BYTES,
                _ => 0,
            }),
            timing,
            steady: Steady::unknown(),
            has_ingress: ingress.is_some()
                || on_dequeue.is_some()
                || server.longest_bytes() < u32::MAX,
            ingress,
            server,
            on_dequeue,
            events: VecDeque::new(),
            scheduled,
            meter: Meter::default(),
            longest: LongestQueue::new(),
        })
    }

    /// The propagation delay of a stage over time, with its jitter.
    fn delay(&self) -> Delay {
        let delays = self.config.schedule.iter().filter_map(|step| Some((step.at, step.delay?)));
        let delays = Steps::new(self.config.delay, delays);
        Delay::new(delays, self.config.jitter, self.stream("jitter"))
    }

    fn stream(&self, part: &str) -> Stream {
        Stream::new(self.run_seed, &format!("{}.{part}", self.name))
    }

    fn ingress(&self, blackouts: Blackouts) -> Option<Box<IngressFilter>> {
        let losses = self.config.schedule.iter().filter(|step| step.loss.is_some());
        let policer = self.config.police.as_ref().map(Policer::new);
        if policer.is_none()
            && self.config.loss.is_none()
            && blackouts.is_empty()
            && losses.clone().next().is_none()
            && self.config.ack_thinning.is_none()
        {
            return None;
        }
        let losses = losses.map(|step| (step.at, Loss::new(step.loss.as_ref())));
        let loss = Steps::new(Loss::new(self.config.loss.as_ref()), losses);
        let thinner = self.config.ack_thinning.map(AckThinner::new);
        let random = self.stream("loss");
        Some(Box::new(IngressFilter { policer, blackouts, loss, thinner, random }))
    }

    fn queue<P: Packet>(&self) -> Result<Queues<P>, StageError> {
        let queue = match self.config.queue {
            QueueConfig::DropTail { packets, bytes } if self.config.ack_filter.is_some() => {
                let limits = Limits::new(packets, bytes);
                return Ok(self.on_dequeue(DequeueAqm::None(Fifo::new()), limits));
            }
            QueueConfig::Pie(_) | QueueConfig::Red(_) | QueueConfig::Step { .. }
                if self.config.ack_filter.is_some() =>
            {
                return Err(StageError::AckFilterQueue);
            }
            QueueConfig::DropTail { packets, bytes } => {
                Queue::DropTail(Limits::new(packets, bytes))
            }
            QueueConfig::Pie(ref pie) => {
                Queue::EnqueueAqm(Box::new(EnqueueAqm::Pie(Pie::new(pie, self.stream("pie")))))
            }
            QueueConfig::Red(ref red) => {
                Queue::EnqueueAqm(Box::new(EnqueueAqm::Red(Red::new(red, self.stream("red"))?)))
            }
            QueueConfig::Step { mark_bytes: None, mark_packets: None, .. } => {
                return Err(StageError::NoStep);
            }
            QueueConfig::Step { mark_bytes, mark_packets, packets, bytes } => {
                let step = Step::new(mark_packets, mark_bytes, Limits::new(packets, bytes));
                Queue::EnqueueAqm(Box::new(EnqueueAqm::Step(step)))
            }
            QueueConfig::Codel { target, interval, ecn, packets, bytes } => {
                let codel = Codel::new(codel_settings(target, interval, ecn)?);
                let limits = Limits::new(packets, bytes);
                return Ok(self.on_dequeue(DequeueAqm::Codel(codel), limits));
            }
            QueueConfig::FqCodel(ref config) => {
                let queues = FlowQueues::new(self.flow_queue_settings(config)?);
                let limits = Limits::new(config.packets, config.bytes);
                return Ok(self.on_dequeue(DequeueAqm::Flows(queues), limits));
            }
            QueueConfig::DualPi2(ref config) => {
                let queue = DualPi2::new(dual_pi2_settings(config)?);
                let limits = Limits::new(config.packets, config.bytes);
                return Ok(self.on_dequeue(DequeueAqm::Dual(Box::new(queue)), limits));
            }
        };
        Ok((queue, None))
    }

    fn on_dequeue<P>(&self, queue: DequeueAqm<P>, limits: Limits) -> Queues<P> {
        let ack_filter = self.config.ack_filter;
        let aqm = OnDequeue { queue, limits, ack_filter, next_dequeue: Time::NEVER };
        (Queue::DropTail(limits), Some(Box::new(aqm)))
    }

    fn flow_queue_settings(&self, config: &FqCodelConfig) -> Result<FlowQueueSettings, StageError> {
        let codel = codel_settings(config.target, config.interval, config.ecn)?;
        let quantum = u32::try_from(config.quantum.0).ok().filter(|&bytes| bytes > 0);
        Ok(FlowQueueSettings {
            codel,
            queues: config.queues.get(),
            quantum_bytes: quantum.ok_or(StageError::FqCodelQuantum(config.quantum))?,
            salt: self.stream("fq_codel").next_u64(),
        })
    }

    fn server(&self, pauses: Spans, is_on_dequeue: bool) -> Result<Server, StageError> {
        let fixed = |rate| -> Result<Server, StageError> {
            let steps = rate_steps(rate, &self.config.schedule);
            if self.config.transition == Transition::Retime || is_on_dequeue {
                return Ok(Server::Fixed(Fixed::new(Capacity::new(
                    Source::Steps(steps),
                    pauses.clone(),
                ))));
            }
            if steps.iter().any(|&(_, rate)| rate == Rate::ZERO) {
                return Err(StageError::KeptZeroRate);
            }
            Ok(Server::Netem(Netem::new(Source::Steps(steps), pauses.clone())))
        };
        match self.config.rate {
            RateConfig::Unlimited {} => fixed(UNLIMITED),
            RateConfig::Fixed { rate } => fixed(rate),
            RateConfig::TokenBucket { rate, burst } => {
                let steps = rate_steps(rate, &self.config.schedule);
                let bytes = u32::try_from(burst.0).ok();
                let burst_bytes = bytes
                    .filter(|&bytes| bytes > 0 && burst <= StageError::MAX_BURST)
                    .ok_or(StageError::Burst(burst))?;
                let capacity = Capacity::new(Source::Steps(steps), pauses);
                Ok(Server::TokenBucket(TokenBucket::new(capacity, burst_bytes)))
            }
            RateConfig::Mahimahi { ref path, ref light } => {
                let heavy = Opportunities::new(self.opportunities(path)?, pauses.clone());
                let Some(light) = light else { return Ok(Server::Trace(heavy)) };
                let trains = self.traces.find_light(&light.path);
                let trains = trains.ok_or_else(|| StageError::UnknownTrace(light.path.clone()))?;
                let server = LightHeavy::new(heavy, trains.clone(), light, pauses);
                Ok(Server::LightHeavy(Box::new(server)))
            }
            RateConfig::Log { ref path, hold } => {
                let log = self.log(path)?;
                let log = if hold { log } else { log.interpolated() };
                Ok(Server::Fixed(Fixed::new(Capacity::new(Source::Log(log), pauses))))
            }
        }
    }

    fn opportunities(&self, path: &str) -> Result<OpportunityTrace, StageError> {
        match self.trace(path)? {
            RateTrace::Mahimahi(trace) => Ok(trace.clone()),
            RateTrace::Log(_) => Err(wrong_kind(path, TraceKind::Log, TraceKind::Mahimahi)),
        }
    }

    fn log(&self, path: &str) -> Result<RateLog, StageError> {
        match self.trace(path)? {
            RateTrace::Log(log) => Ok(log.clone()),
            RateTrace::Mahimahi(_) => Err(wrong_kind(path, TraceKind::Mahimahi, TraceKind::Log)),
        }
    }

    fn trace(&self, path: &str) -> Result<&RateTrace, StageError> {
        match self.config.schedule.iter().find(|step| step.rate.is_some()) {
            Some(step) => Err(StageError::TraceRateChange(step.at)),
            None => self.traces.find(path).ok_or_else(|| StageError::UnknownTrace(path.to_owned())),
        }
    }
}

fn codel_settings(
    target: Duration,
    interval: Duration,
    ecn: bool,
) -> Result<CodelSettings, StageError> {
    if interval.as_nanos() == 0 {
        return Err(StageError::CodelInterval);
    }
    Ok(CodelSettings { target, interval, ecn })
}

fn dual_pi2_settings(config: &DualPi2Config) -> Result<DualPi2Settings, StageError> {
    let DualPi2Config { target, max_rtt, threshold, .. } = *config;
    let settings = DualPi2Settings { target, max_rtt, threshold };
    if settings.is_usable() { Ok(settings) } else { Err(StageError::DualPi2Times) }
}

fn wrong_kind(path: &str, found: TraceKind, wanted: TraceKind) -> StageError {
    StageError::WrongTraceKind { path: path.to_owned(), found, wanted }
}
