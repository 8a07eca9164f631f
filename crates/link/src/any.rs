//! One type for all links: an enum, so that calls for each packet do not go through a pointer.

use cwndlab_trace::Traces;
use cwndlab_units::{Bytes, Output, Time};

use crate::cellular::Cell;
use crate::config::StageConfig;
use crate::error::{ConfigError, StageError};
use crate::{
    Admission, Backlog, Chain, ChainConfig, Counters, Direction, Distance, Duplex, Link, LinkEvent,
    Packet, PathConfig, Scatter, Stages, WifiChannel, WifiConfig, WifiError, Wire, WireConfig,
};

/// A link of any kind.
#[expect(
    clippy::large_enum_variant,
    reason = "there are few links, and the wire, a large variant, is the fast case"
)]
#[derive(Clone, Debug)]
pub enum AnyLink<P> {
    /// One wire.
    Wire(Wire<P>),
    /// Links in series.
    Chain(Box<Chain<P, Self>>),
    /// A pair of links, one for each direction.
    Duplex(Box<Duplex<Self>>),
    /// A Wi-Fi channel.
    Wifi(Box<WifiChannel<P>>),
    /// A radio cell.
    Cell(Box<Cell<P>>),
    /// The same propagation delay in both directions.
    Distance(Distance<P>),
    /// The propagation part of a wire whose packets arrive out of order.
    Scatter(Scatter<P>),
}

/// Calls the same method of whichever variant the link is.
macro_rules! dispatch {
    ($any:expr, $link:ident => $call:expr) => {
        match $any {
            AnyLink::Wire($link) => $call,
            AnyLink::Chain($link) => $call,
            AnyLink::Duplex($link) => $call,
            AnyLink::Wifi($link) => $call,
            AnyLink::Cell($link) => $call,
            AnyLink::Distance($link) => $call,
            AnyLink::Scatter($link) => $call,
        }
    };
}

impl<P: Packet> AnyLink<P> {
    /// Creates wires in series from these stages, for the run with this seed; without stages,
    /// creates a perfect wire.
    ///
    /// `name` is the direction, such as `forward`; in errors and random streams, stage 0 is then
    /// `forward.0`.
    ///
    /// # Errors
    /// Returns an error if a stage's settings contradict each other or a trace is missing.
    pub fn one_way(
        stages: &[StageConfig],
        traces: &Traces,
        run_seed: u64,
        name: &str,
    ) -> Result<Self, ConfigError> {
        let wire = |(index, config)| {
            let name = format!("{name}.{index}");
            let wire = Wire::new(config, traces, run_seed, &name).map(Self::Wire)?;
            let scatter = Scatter::behind(config, run_seed, &name).map(Self::Scatter);
            Ok([Some(wire), scatter].into_iter().flatten())
        };
        let perfect = [StageConfig::default()];
        let stages = if stages.is_empty() { &perfect } else { stages };
        let mut links = Vec::new();
        for stage in stages.iter().enumerate() {
            links.extend(wire(stage)?);
        }
        match links.len() {
            1 => Ok(links.remove(0)),
            _ => Self::chain(links, name),
        }
    }
}

impl<P: Packet> AnyLink<P> {
    /// Creates both directions of a path as one link: port 0 is the network's side, and each
    /// further port belongs to a user.
    ///
    /// # Errors
    /// Returns an error in the same cases as [`AnyLink::one_way`].
    pub fn shared(
        config: &PathConfig,
        traces: &Traces,
        run_seed: u64,
    ) -> Result<Self, ConfigError> {
        let build = Builder { traces, run_seed, has_user_ports: false };
        build.path(config, "")
    }

    /// Connects links in series, if the stage numbers in events suffice for all their stages.
    fn chain(links: Vec<Self>, place: &str) -> Result<Self, ConfigError> {
        if links.iter().map(Stages::stages).sum::<usize>() > usize::from(u16::MAX) {
            let place = place.to_owned();
            return Err(ConfigError { place, problem: StageError::TooManyStages });
        }
        Ok(Self::Chain(Box::new(Chain::new(links))))
    }
}

/// Creates the links of a run from their configuration.
#[derive(Clone, Copy)]
struct Builder<'a> {
    traces: &'a Traces,
    run_seed: u64,
    /// Whether each user has a port of its own, because the path contains a shared medium.
    has_user_ports: bool,
}

impl Builder<'_> {
    /// Creates the link of a path at `place`, which is empty or ends with a dot.
    fn path<P: Packet>(self, config: &PathConfig, place: &str) -> Result<AnyLink<P>, ConfigError> {
        match config {
            PathConfig::Wire(wire) => self.wire(wire, place),
            PathConfig::Wifi(wifi) => {
                let place = format!("{place}wifi");
                let channel = self.wifi(wifi, &place);
                channel.map_err(|error| ConfigError { place, problem: error.into() })
            }
            PathConfig::Cell(cell) => {
                let place = format!("{place}cell");
                match Cell::new(cell, self.run_seed, &place) {
                    Ok(cell) => Ok(AnyLink::Cell(Box::new(cell))),
                    Err(error) => Err(ConfigError { place, problem: error.into() }),
                }
            }
            PathConfig::Chain(chain) => self.chain(chain, &format!("{place}links")),
        }
    }

    fn wire<P: Packet>(self, wire: &WireConfig, place: &str) -> Result<AnyLink<P>, ConfigError> {
        let one_way = |stages, name| {
            AnyLink::one_way(stages, self.traces, self.run_seed, &format!("{place}{name}"))
        };
        let (down, up) = (one_way(&wire.forward, "forward")?, one_way(&wire.reverse, "reverse")?);
        let duplex = if self.has_user_ports {
            Duplex::with_user_ports(down, up)
        } else {
            Duplex::new(down, up)
        };
        Ok(AnyLink::Duplex(Box::new(duplex)))
    }

    /// Creates the Wi-Fi channel, preceded by the delay to the server if there is one.
    fn wifi<P: Packet>(self, config: &WifiConfig, name: &str) -> Result<AnyLink<P>, WifiError> {
        let channel = AnyLink::Wifi(Box::new(WifiChannel::new(config, self.run_seed, name)?));
        Ok(match config.wire_delay {
            Some(delay) => {
                let distance = AnyLink::Distance(Distance::new(delay));
                AnyLink::Chain(Box::new(Chain::new(vec![distance, channel])))
            }
            None => channel,
        })
    }

    fn chain<P: Packet>(
        self,
        config: &ChainConfig,
        place: &str,
    ) -> Result<AnyLink<P>, ConfigError> {
        let fail = |problem| Err(ConfigError { place: place.to_owned(), problem });
        if config.links.is_empty() {
            return fail(StageError::NoLinks);
        }
        let mut users = config.links.iter().filter_map(PathConfig::users);
        let first = users.next();
        if let (Some(first), Some(other)) = (first, users.find(|&other| Some(other) != first)) {
            return fail(StageError::DifferentUsers { first, other });
        }
        let build = Self { has_user_ports: self.has_user_ports || first.is_some(), ..self };
        let links = config
            .links
            .iter()
            .enumerate()
            .map(|(index, link)| build.path(link, &format!("{place}.{index}.")))
            .collect::<Result<_, _>>()?;
        AnyLink::chain(links, place)
    }
}

/// Links that contain other links call these functions recursively, so the functions are separate
/// from the fast path.
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
    fn other_wake_time(&self) -> Time {
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

    fn poll_ahead(&mut self, now: Time, before: Time) -> Option<Output<P, LinkEvent>> {
        dispatch!(self, link => link.poll_ahead(now, before))
    }

    #[inline]
    fn wake_time(&self) -> Time {
        match self {
            Self::Wire(link) => link.wake_time(),
            Self::Cell(link) => link.wake_time(),
            Self::Wifi(link) => link.wake_time(),
            other => other.other_wake_time(),
        }
    }
}

impl<P: Packet> Stages for AnyLink<P> {
    fn stages(&self) -> usize {
        dispatch!(self, link => link.stages())
    }

    fn stages_of(&self, direction: Direction, user: u16) -> Vec<usize> {
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
