//! Any link, chosen by an enum, so that nothing is called through a pointer per packet.

use core::ops::Range;

use cwndlab_units::{Output, Time};

use crate::cellular::Cell;
use crate::config::StageConfig;
use crate::error::{ConfigError, StageError};
use crate::trace::Traces;
use crate::{
    Admission, Backhaul, Backlog, Chain, Counters, Direction, Duplex, Link, LinkEvent, Packet,
    PathConfig, WifiChannel, WifiConfig, WifiError, Wire,
};

/// Any of the links.
#[expect(clippy::large_enum_variant, reason = "there are few links, and the wire is the fast case")]
#[derive(Clone, Debug)]
pub enum AnyLink<P> {
    /// One wire.
    Wire(Wire<P>),
    /// Links one behind the other.
    Chain(Chain<P>),
    /// A link in each direction.
    Duplex(Box<Duplex<P>>),
    /// A Wi-Fi channel.
    Wifi(Box<WifiChannel<P>>),
    /// A radio cell.
    Cell(Box<Cell<P>>),
    /// A Wi-Fi channel behind a wire.
    Backhaul(Box<Backhaul<P>>),
}

impl<P: Packet> AnyLink<P> {
    /// The wires of these stages one behind the other, for the run with this seed; without any, a
    /// perfect wire.
    ///
    /// `name`, such as `forward`, names the way; stage 0 is `forward.0` in errors and streams.
    ///
    /// # Errors
    /// If a stage's settings contradict each other or a trace is missing.
    pub fn one_way(
        stages: &[StageConfig],
        traces: &Traces,
        run_seed: u64,
        name: &str,
    ) -> Result<Self, ConfigError> {
        let wire = |(index, config)| {
            let name = format!("{name}.{index}");
            let stage = u16::try_from(index).map_err(|_| ConfigError {
                place: name.clone(),
                problem: StageError::TooManyStages,
            })?;
            Wire::new(config, traces, run_seed, &name, stage).map(Self::Wire)
        };
        match stages {
            [] => wire((0, &StageConfig::default())),
            [stage] => wire((0, stage)),
            stages => {
                let wires = stages.iter().enumerate().map(wire).collect::<Result<_, _>>()?;
                Ok(Self::Chain(Chain::new(wires)))
            }
        }
    }
}

impl<P: Packet> AnyLink<P> {
    /// Both ways of a path as one link: port 0 is the network's side, the others its users'.
    ///
    /// # Errors
    /// As for [`AnyLink::one_way`].
    pub fn shared(
        config: &PathConfig,
        traces: &Traces,
        run_seed: u64,
    ) -> Result<Self, ConfigError> {
        match config {
            PathConfig::Wire(wire) => {
                let down = Self::one_way(&wire.forward, traces, run_seed, "forward")?;
                let up = Self::one_way(&wire.reverse, traces, run_seed, "reverse")?;
                Ok(Self::Duplex(Box::new(Duplex::new(down, up))))
            }
            PathConfig::Wifi(wifi) => Self::wifi(wifi, run_seed)
                .map_err(|error| ConfigError { place: "wifi".to_owned(), problem: error.into() }),
            PathConfig::Cell(config) => match Cell::new(config, run_seed, "cell") {
                Ok(cell) => Ok(Self::Cell(Box::new(cell))),
                Err(error) => Err(ConfigError { place: "cell".to_owned(), problem: error.into() }),
            },
        }
    }

    /// The channel, behind a wire if there is one.
    fn wifi(config: &WifiConfig, run_seed: u64) -> Result<Self, WifiError> {
        let channel = Self::Wifi(Box::new(WifiChannel::new(config, run_seed, "wifi")?));
        Ok(match config.wire_delay {
            Some(delay) => Self::Backhaul(Box::new(Backhaul::new(channel, delay))),
            None => channel,
        })
    }
}

/// What is made of links calls these again, so they stand apart from the fast case.
impl<P: Packet> AnyLink<P> {
    #[inline(never)]
    fn handle_composed(&mut self, now: Time, port: u16, packet: P) -> Admission {
        match self {
            Self::Wire(link) => link.handle_packet(now, port, packet),
            Self::Chain(link) => link.handle_packet(now, port, packet),
            Self::Duplex(link) => link.handle_packet(now, port, packet),
            Self::Wifi(link) => link.handle_packet(now, port, packet),
            Self::Cell(link) => link.handle_packet(now, port, packet),
            Self::Backhaul(link) => link.handle_packet(now, port, packet),
        }
    }

    #[inline(never)]
    fn poll_composed(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        match self {
            Self::Wire(link) => link.poll(now),
            Self::Chain(link) => link.poll(now),
            Self::Duplex(link) => link.poll(now),
            Self::Wifi(link) => link.poll(now),
            Self::Cell(link) => link.poll(now),
            Self::Backhaul(link) => link.poll(now),
        }
    }

    #[inline(never)]
    fn composed_wake_time(&self) -> Time {
        match self {
            Self::Wire(link) => link.wake_time(),
            Self::Chain(link) => link.wake_time(),
            Self::Duplex(link) => link.wake_time(),
            Self::Wifi(link) => link.wake_time(),
            Self::Cell(link) => link.wake_time(),
            Self::Backhaul(link) => link.wake_time(),
        }
    }
}

impl<P: Packet> Link<P> for AnyLink<P> {
    #[inline]
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        match self {
            Self::Wire(link) => link.handle_packet(now, port, packet),
            composed => composed.handle_composed(now, port, packet),
        }
    }

    #[inline]
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        match self {
            Self::Wire(link) => link.poll(now),
            composed => composed.poll_composed(now),
        }
    }

    #[inline]
    fn wake_time(&self) -> Time {
        match self {
            Self::Wire(link) => link.wake_time(),
            Self::Cell(link) => link.wake_time(),
            composed => composed.composed_wake_time(),
        }
    }

    fn stages(&self) -> usize {
        match self {
            Self::Wire(link) => link.stages(),
            Self::Chain(link) => link.stages(),
            Self::Duplex(link) => link.stages(),
            Self::Wifi(link) => link.stages(),
            Self::Cell(link) => link.stages(),
            Self::Backhaul(link) => link.stages(),
        }
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Range<usize> {
        match self {
            Self::Wire(link) => link.stages_of(direction, user),
            Self::Chain(link) => link.stages_of(direction, user),
            Self::Duplex(link) => link.stages_of(direction, user),
            Self::Wifi(link) => link.stages_of(direction, user),
            Self::Cell(link) => link.stages_of(direction, user),
            Self::Backhaul(link) => link.stages_of(direction, user),
        }
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        match self {
            Self::Wire(link) => link.counters(stage, now),
            Self::Chain(link) => link.counters(stage, now),
            Self::Duplex(link) => link.counters(stage, now),
            Self::Wifi(link) => link.counters(stage, now),
            Self::Cell(link) => link.counters(stage, now),
            Self::Backhaul(link) => link.counters(stage, now),
        }
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        match self {
            Self::Wire(link) => link.backlog(stage, now),
            Self::Chain(link) => link.backlog(stage, now),
            Self::Duplex(link) => link.backlog(stage, now),
            Self::Wifi(link) => link.backlog(stage, now),
            Self::Cell(link) => link.backlog(stage, now),
            Self::Backhaul(link) => link.backlog(stage, now),
        }
    }

    fn begin_window(&mut self, now: Time) {
        match self {
            Self::Wire(link) => link.begin_window(now),
            Self::Chain(link) => link.begin_window(now),
            Self::Duplex(link) => link.begin_window(now),
            Self::Wifi(link) => link.begin_window(now),
            Self::Cell(link) => link.begin_window(now),
            Self::Backhaul(link) => link.begin_window(now),
        }
    }
}
