//! Any link, chosen by an enum, so that nothing is called through a pointer per packet.

use core::ops::Range;

use cwndlab_trace::Traces;
use cwndlab_units::{Bytes, Output, Time};

use crate::cellular::Cell;
use crate::config::StageConfig;
use crate::error::{ConfigError, StageError};
use crate::{
    Admission, Backhaul, Backlog, Chain, Counters, Direction, Duplex, Link, LinkEvent, Packet,
    PathConfig, Stages, WifiChannel, WifiConfig, WifiError, Wire,
};

/// Any of the links.
#[expect(clippy::large_enum_variant, reason = "there are few links, and the wire is the fast case")]
#[derive(Clone, Debug)]
pub enum AnyLink<P> {
    /// One wire.
    Wire(Wire<P>),
    /// Links one behind the other.
    Chain(Chain<Self>),
    /// A link in each direction.
    Duplex(Box<Duplex<Self>>),
    /// A Wi-Fi channel.
    Wifi(Box<WifiChannel<P>>),
    /// A radio cell.
    Cell(Box<Cell<P>>),
    /// A Wi-Fi channel behind a wire.
    Backhaul(Box<Backhaul<P, Self>>),
}

/// Calls the same of whichever link it is.
macro_rules! dispatch {
    ($any:expr, $link:ident => $call:expr) => {
        match $any {
            AnyLink::Wire($link) => $call,
            AnyLink::Chain($link) => $call,
            AnyLink::Duplex($link) => $call,
            AnyLink::Wifi($link) => $call,
            AnyLink::Cell($link) => $call,
            AnyLink::Backhaul($link) => $call,
        }
    };
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
        dispatch!(self, link => link.handle_packet(now, port, packet))
    }

    #[inline(never)]
    fn poll_composed(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        dispatch!(self, link => link.poll(now))
    }

    #[inline(never)]
    fn composed_wake_time(&self) -> Time {
        dispatch!(self, link => link.wake_time())
    }
}

impl<P: Packet> Link<P> for AnyLink<P> {
    #[inline(always)]
    fn handle_packet(&mut self, now: Time, port: u16, packet: P) -> Admission {
        match self {
            Self::Wire(link) => link.handle_packet(now, port, packet),
            Self::Cell(link) => link.handle_packet(now, port, packet),
            Self::Wifi(link) => link.handle_packet(now, port, packet),
            composed => composed.handle_composed(now, port, packet),
        }
    }

    #[inline(always)]
    fn poll(&mut self, now: Time) -> Option<Output<P, LinkEvent>> {
        match self {
            Self::Wire(link) => link.poll(now),
            Self::Cell(link) => link.poll(now),
            Self::Wifi(link) => link.poll(now),
            composed => composed.poll_composed(now),
        }
    }

    #[inline]
    fn wake_time(&self) -> Time {
        match self {
            Self::Wire(link) => link.wake_time(),
            Self::Cell(link) => link.wake_time(),
            Self::Wifi(link) => link.wake_time(),
            composed => composed.composed_wake_time(),
        }
    }
}

impl<P: Packet> Stages for AnyLink<P> {
    fn stages(&self) -> usize {
        dispatch!(self, link => link.stages())
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Range<usize> {
        dispatch!(self, link => link.stages_of(direction, user))
    }

    fn counters(&mut self, stage: usize, now: Time) -> Counters {
        dispatch!(self, link => link.counters(stage, now))
    }

    fn offered(&mut self, stage: usize, now: Time) -> Option<Bytes> {
        dispatch!(self, link => link.offered(stage, now))
    }

    fn backlog(&mut self, stage: usize, now: Time) -> Backlog {
        dispatch!(self, link => link.backlog(stage, now))
    }

    fn begin_window(&mut self, now: Time) {
        dispatch!(self, link => link.begin_window(now))
    }
}
