//! The access point's queues for its stations, and the scheduling of the stations, as in Linux.
//!
//! ```text
//!   fifo        [ queue of all ] --123 packets-->  lanes, a frame each in turn        --> air
//!   fq_codel    [ FQ-CoDel of each station ]  --the frame, or AQL--> lane of that turn --> air
//!   airtime     the same, in turns by airtime
//!   dualpi2     [ DualPI2 of each station ], in turns by airtime
//! ```
//!
//! The sources are Høiland-Jørgensen, Kazior, Täht, Hurtig and Brunstrom, "Ending the Anomaly:
//! Achieving Low Latency and Airtime Fairness in WiFi", USENIX ATC 2017, and, for later changes,
//! the documentation of Linux's mac80211: its defaults, a single list of stations, and airtime
//! queue limits. The model leaves out several access categories of one access point, the memory
//! limit in addition to the packet limit, and flows of two stations that share a hash bucket.

mod config;
mod turns;

use std::collections::VecDeque;

use cwndlab_units::{Duration, Rate, Stream, Time};

pub use config::{AqlConfig, DownlinkConfig, StationDualConfig, StationQueueConfig};
use turns::{State, Turns};

use super::config::AccessPointConfig;
use crate::DropReason;
use crate::config::AckFilter;
use crate::packet::Packet;
use crate::queue::{AckThinner, CodelSettings, DualPi2, FlowQueueSettings, FlowQueues, Waiting};

/// The packets of the access point that are not in a lane yet, and the order in which the stations
/// are served.
#[derive(Clone, Debug)]
pub(super) struct Downlink<P> {
    queue: Queue<P>,
    turns: Turns,
    ack_filter: Option<AckFilter>,
    thinner: Option<AckThinner>,
    /// Dropped packets that the channel has not removed yet.
    gone: VecDeque<Gone<P>>,
}

#[derive(Clone, Debug)]
enum Queue<P> {
    Fifo {
        line: VecDeque<(usize, Waiting<P>)>,
        most_packets: usize,
        most_in_lanes: u32,
    },
    /// Queues of the stations; with airtime queue limits, packets enter lanes before the channel
    /// is won.
    Stations(Stations<P>, Option<AqlConfig>),
}

/// A separate queue for each station.
#[derive(Clone, Debug)]
struct Stations<P> {
    queues: Queues<P>,
    packets: u32,
    most_packets: u32,
}

/// The queue of each station, with its active queue management.
#[derive(Clone, Debug)]
enum Queues<P> {
    Flows(Vec<FlowQueues<P>>, CodelSettings),
    Dual(Vec<DualPi2<P>>),
}

/// A packet that the access point's queue has dropped.
#[derive(Clone, Debug)]
pub(super) struct Gone<P> {
    pub(super) station: usize,
    pub(super) waiting: Waiting<P>,
    pub(super) reason: DropReason,
}

/// A packet that was dequeued for a lane.
pub(super) struct Pulled<P> {
    pub(super) waiting: Waiting<P>,
    /// Whether the packet was marked when it was dequeued.
    pub(super) is_marked: bool,
}

/// The state of the lanes from the access point to the stations.
pub(super) trait Lanes {
    /// Whether the lane has packets to send, or expired packets to report.
    fn has_work(&self, station: usize) -> bool;

    /// The current transmission rate to the station.
    fn rate(&self, station: usize) -> Rate;

    /// Airtime, at the current rate, of the packets that the station has not received.
    fn airtime(&self, station: usize) -> Duration;

    /// Airtime, at the current rates, of the packets that all stations together have not received.
    fn all_airtime(&self) -> Duration;
}

impl<P: Packet> Downlink<P> {
    /// Creates the access point's queue, if the configuration selects one of Linux's queues.
    pub(super) fn new(
        access_point: &AccessPointConfig,
        stations: usize,
        mut random: Stream,
    ) -> Option<Self> {
        let config = access_point.queue.as_ref()?;
        let queue = match config {
            DownlinkConfig::Fifo { packets, driver_packets } => Queue::Fifo {
                line: VecDeque::new(),
                most_packets: packets.get() as usize,
                most_in_lanes: driver_packets.get(),
            },
            DownlinkConfig::FqCodel(queue) | DownlinkConfig::Airtime(queue) => {
                Queue::Stations(Stations::of_flows(queue, stations, &mut random), config.aql())
            }
            DownlinkConfig::DualPi2(queue) => {
                Queue::Stations(Stations::of_dual(queue, stations), config.aql())
            }
        };
        let by_airtime = matches!(config, DownlinkConfig::Airtime(_) | DownlinkConfig::DualPi2(_));
        let turns = Turns::new(stations, by_airtime);
        let ack_filter = access_point.ack_filter;
        let thinner = access_point.ack_thinning.map(AckThinner::new);
        Some(Self { queue, turns, ack_filter, thinner, gone: VecDeque::new() })
    }

    /// Number of packets that are not in a lane yet.
    pub(super) fn packets(&self) -> u32 {
        match &self.queue {
            Queue::Fifo { line, .. } => line.len() as u32,
            Queue::Stations(stations, _) => stations.packets,
        }
    }

    /// Queues a packet for a station; returns whether it was queued. This packet or others may be
    /// dropped.
    pub(super) fn push(&mut self, station: usize, waiting: Waiting<P>) -> bool {
        let reason = DropReason::AckFiltered;
        if self.thinner.as_mut().is_some_and(|acks| acks.drops(waiting.packet.ack())) {
            self.gone.push_back(Gone { station, waiting, reason });
            return false;
        }
        if let Some(filter) = self.ack_filter
            && let Some(waiting) = self.queue.take_superseded(filter, station, &waiting.packet)
        {
            self.gone.push_back(Gone { station, waiting, reason });
        }
        match &mut self.queue {
            Queue::Fifo { line, most_packets, .. } if line.len() >= *most_packets => {
                self.gone.push_back(Gone { station, waiting, reason: DropReason::Overflow });
                false
            }
            Queue::Fifo { line, .. } => {
                line.push_back((station, waiting));
                true
            }
            Queue::Stations(stations, _) => {
                self.turns.join(station);
                stations.push(station, waiting, &mut self.gone)
            }
        }
    }

    /// Removes the next packet that the queue has dropped.
    pub(super) fn pop_gone(&mut self) -> Option<Gone<P>> {
        self.gone.pop_front()
    }

    /// Dequeues a packet for a station's lane before the channel is won, if the limits permit it.
    /// `in_lanes` is the number of packets in lanes that were not received.
    pub(super) fn pull_ahead(
        &mut self,
        now: Time,
        in_lanes: u32,
        lanes: &impl Lanes,
    ) -> Option<(usize, Pulled<P>)> {
        match &mut self.queue {
            Queue::Fifo { most_in_lanes, .. } if in_lanes >= *most_in_lanes => None,
            Queue::Fifo { line, .. } => {
                let (station, waiting) = line.pop_front()?;
                self.turns.join(station);
                Some((station, Pulled { waiting, is_marked: false }))
            }
            Queue::Stations(_, None) => None,
            Queue::Stations(stations, Some(limits)) => {
                if stations.packets == 0 {
                    return None;
                }
                let all = lanes.all_airtime();
                let limit = limits.of_station(all);
                let station = self.turns.next(|station| match stations.has_packets(station) {
                    false => State::Idle,
                    true if lanes.airtime(station) < limit => State::Ready,
                    true => State::Blocked,
                })?;
                Some((station, stations.pull(station, now, lanes, &mut self.gone)?))
            }
        }
    }

    /// Returns the station to serve, now that the access point has won the channel; `None` if
    /// lanes are served in the order of their packets.
    pub(super) fn next_station(&mut self, lanes: &impl Lanes) -> Option<usize> {
        let stations = match &self.queue {
            Queue::Stations(_, Some(_)) => return None,
            Queue::Stations(stations, None) => Some(stations),
            Queue::Fifo { .. } => None,
        };
        self.turns.next(|station| {
            let has_packets = stations.is_some_and(|stations| stations.has_packets(station));
            if has_packets || lanes.has_work(station) { State::Ready } else { State::Idle }
        })
    }

    /// Dequeues a packet for the lane of the station that is being served.
    pub(super) fn pull(
        &mut self,
        station: usize,
        now: Time,
        lanes: &impl Lanes,
    ) -> Option<Pulled<P>> {
        let Queue::Stations(stations, None) = &mut self.queue else { return None };
        stations.pull(station, now, lanes, &mut self.gone)
    }

    /// Charges a station for the airtime of frames to it or from it.
    pub(super) fn charge(&mut self, station: usize, airtime: Duration, is_from_station: bool) {
        self.turns.charge(station, airtime, is_from_station);
    }
}

impl<P: Packet> Queue<P> {
    /// Removes the packet of a station that the arriving packet `new` supersedes, if any.
    fn take_superseded(
        &mut self,
        filter: AckFilter,
        station: usize,
        new: &P,
    ) -> Option<Waiting<P>> {
        match self {
            Self::Fifo { line, .. } => {
                let index = filter.find(line.iter().map(|(_, waiting)| waiting), new)?;
                line.remove(index).map(|(_, waiting)| waiting)
            }
            Self::Stations(stations, _) => {
                let gone = match &mut stations.queues {
                    Queues::Flows(queues, _) => queues[station].take_superseded(filter, new),
                    Queues::Dual(queues) => queues[station].take_superseded(filter, new),
                }?;
                stations.packets -= 1;
                Some(gone)
            }
        }
    }
}

impl<P: Packet> Stations<P> {
    fn of_flows(config: &StationQueueConfig, stations: usize, random: &mut Stream) -> Self {
        let StationQueueConfig { target, interval, ecn, .. } = *config;
        let codel = CodelSettings { target, interval, ecn };
        let mut queue = |_| {
            FlowQueues::new(FlowQueueSettings {
                codel,
                queues: config.queues.get(),
                quantum_bytes: u32::try_from(config.quantum.0).unwrap_or(u32::MAX),
                salt: random.next_u64(),
            })
        };
        let queues = Queues::Flows((0..stations).map(&mut queue).collect(), codel);
        Self { queues, packets: 0, most_packets: config.packets.get() }
    }

    fn of_dual(config: &StationDualConfig, stations: usize) -> Self {
        let queues =
            (0..stations).map(|_| DualPi2::new(config.settings()).keeping_last()).collect();
        Self { queues: Queues::Dual(queues), packets: 0, most_packets: config.packets.get() }
    }

    fn has_packets(&self, station: usize) -> bool {
        let backlog = match &self.queues {
            Queues::Flows(queues, _) => queues[station].backlog(),
            Queues::Dual(queues) => queues[station].backlog(),
        };
        backlog.packets > 0
    }

    /// Queues a packet for a station; returns whether it was queued.
    fn push(&mut self, station: usize, waiting: Waiting<P>, gone: &mut VecDeque<Gone<P>>) -> bool {
        let queues = match &mut self.queues {
            Queues::Flows(queues, _) => queues,
            Queues::Dual(_) if self.packets >= self.most_packets => {
                gone.push_back(Gone { station, waiting, reason: DropReason::Overflow });
                return false;
            }
            Queues::Dual(queues) => {
                queues[station].push(waiting);
                self.packets += 1;
                return true;
            }
        };
        queues[station].push(waiting);
        self.packets += 1;
        let mut is_there = true;
        while self.packets > self.most_packets {
            let bytes = |&station: &usize| queues[station].longest_bytes();
            // The first of several that are equally long.
            let longest = (0..queues.len()).rev().max_by_key(bytes).expect("there are stations");
            let packets = &mut self.packets;
            queues[longest].shorten_longest(|waiting, is_last| {
                *packets -= 1;
                is_there &= !(is_last && longest == station);
                gone.push_back(Gone { station: longest, waiting, reason: DropReason::Overflow });
            });
        }
        is_there
    }

    fn pull(
        &mut self,
        station: usize,
        now: Time,
        lanes: &impl Lanes,
        gone: &mut VecDeque<Gone<P>>,
    ) -> Option<Pulled<P>> {
        let packets = &mut self.packets;
        let dropped = |waiting| {
            *packets -= 1;
            gone.push_back(Gone { station, waiting, reason: DropReason::Aqm });
        };
        let (waiting, is_marked) = match &mut self.queues {
            Queues::Flows(queues, codel) => {
                let threshold = SLOW_STATION.bits_per_sec().saturating_mul(queues.len() as u64);
                let is_slow = lanes.rate(station).bits_per_sec() < threshold;
                queues[station].tune(if is_slow { SLOW_CODEL } else { *codel });
                queues[station].dequeue(now, dropped)
            }
            Queues::Dual(queues) => queues[station].dequeue(now, dropped),
        }?;
        self.packets -= 1;
        Some(Pulled { waiting, is_marked })
    }
}

impl AqlConfig {
    /// Airtime limit for the lane of a station when all lanes together hold this airtime.
    fn of_station(self, all: Duration) -> Duration {
        if all < self.threshold { self.high } else { self.low }
    }
}

/// A station is slow if its rate is below this rate times the number of stations (mac80211).
const SLOW_STATION: Rate = Rate::from_bits_per_sec(6_000_000);
/// CoDel settings of a slow station, whose frames alone last longer than the default target
/// (mac80211).
const SLOW_CODEL: CodelSettings = CodelSettings {
    target: Duration::from_millis(50),
    interval: Duration::from_millis(300),
    ecn: false,
};
