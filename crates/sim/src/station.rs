//! The machines' devices, between the sockets and the path.

use core::num::NonZeroU16;

use cwndlab_host::{Host, HostConfig, Qdisc, Receiver};
use cwndlab_link::{Admission, Direction};
use cwndlab_packet::Segment;
use cwndlab_tcp::HostTraits;
use cwndlab_units::{Bytes, Stream, Time};

use crate::frame::Frame;
use crate::path::{Entrance, Path};

/// A device: all ends of a user on one side of the path that name the same share it.
#[derive(Debug)]
pub(crate) struct Station {
    config: HostConfig,
    host: Host<Frame>,
    /// What it has received, if it merges that.
    receiver: Option<Receiver<Frame>>,
    /// The direction of what it passes on.
    direction: Direction,
    /// Whether it stands behind the link instead of before it.
    is_behind: bool,
    user: u16,
    entrance: Entrance,
    component: usize,
}

/// The devices of a run.
#[derive(Debug, Default)]
pub(crate) struct Stations {
    all: Vec<Station>,
    /// Whether the link empties the buffer of any.
    is_any_emptied_by_link: bool,
}

impl Stations {
    /// The device of an end that sends in `direction`, if it has one.
    pub(crate) fn find_or_add(
        &mut self,
        config: Option<HostConfig>,
        direction: Direction,
        user: NonZeroU16,
        is_behind: bool,
        run_seed: u64,
    ) -> Option<usize> {
        let (config, user) = (config?, user.get());
        let is_same = |station: &Station| {
            (station.direction, station.user, station.config) == (direction, user, config)
                && station.is_behind == is_behind
        };
        Some(self.all.iter().position(is_same).unwrap_or_else(|| {
            let random = Stream::new(run_seed, &format!("host.{}", self.all.len()));
            let host = Host::new(config, random);
            self.is_any_emptied_by_link |= host.is_emptied_by_link();
            let entrance = Entrance::default();
            self.all.push(Station {
                config,
                host,
                receiver: config.merge_interval.map(Receiver::new),
                direction,
                is_behind,
                user,
                entrance,
                component: 0,
            });
            self.all.len() - 1
        }))
    }

    /// What the endpoints behind a device have to know of it.
    pub(crate) fn traits_of(&self, number: usize) -> HostTraits {
        let HostConfig { burst_packets, qdisc, is_orphaning, .. } = self.all[number].config;
        HostTraits { burst_pkts: burst_packets, is_pacing: qdisc == Qdisc::Fq, is_orphaning }
    }

    /// The direction of what a device behind the link passes on; `None` of one before it.
    pub(crate) fn direction_behind(&self, number: usize) -> Option<Direction> {
        let station = &self.all[number];
        station.is_behind.then_some(station.direction)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}

impl Path {
    /// Connects the devices, the first of which is this component.
    pub(crate) fn connect_stations(&mut self, first_component: usize) {
        for number in 0..self.stations.len() {
            let Station { direction, user, .. } = self.stations.all[number];
            let entrance = self.entrance(direction, user);
            let station = &mut self.stations.all[number];
            (station.entrance, station.component) = (entrance, first_component + number);
        }
    }

    /// How many packets of a flow a device takes now.
    pub(crate) fn room(&mut self, number: usize, flow: usize, now: Time) -> u32 {
        let held = self.held(number, now);
        self.stations.all[number].host.room(now, held, flow as u32)
    }

    /// Gives a segment that comes from the link to a device that hands over later what it receives.
    /// Returns whether it does.
    pub(crate) fn receive(&mut self, number: usize, now: Time, segment: &Segment) -> bool {
        let Some(receiver) = &mut self.stations.all[number].receiver else { return false };
        receiver.handle_packet(now, Frame(*segment));
        self.settle_station(number, now);
        true
    }

    /// What a device hands over now of what it received.
    pub(crate) fn received(&mut self, number: usize, now: Time) -> Vec<Frame> {
        let receiver = &mut self.stations.all[number].receiver;
        receiver.as_mut().map_or_else(Vec::new, |receiver| receiver.poll(now))
    }

    /// Packets in a device and its queue.
    pub(crate) fn waiting_in(&self, number: usize) -> u32 {
        self.stations.all[number].host.backlog_packets()
    }

    /// Gives a segment to a device. [`Path::settle_station`] must follow.
    pub(crate) fn give(&mut self, number: usize, now: Time, segment: &Segment) -> Admission {
        let held = self.held(number, now);
        self.stations.all[number].host.handle_packet(now, held, Frame(*segment))
    }

    /// What leaves a device next, if it is due. [`Path::settle_station`] must follow.
    pub(crate) fn poll_station(&mut self, number: usize, now: Time) -> Option<Segment> {
        let held = self.held(number, now);
        let (_, Frame(segment)) = self.stations.all[number].host.poll(now, held)?;
        Some(segment)
    }

    /// The next segment that a device's queue dropped after it was taken.
    pub(crate) fn poll_lost(&mut self, number: usize) -> Option<Segment> {
        self.stations.all[number].host.poll_lost().map(|Frame(segment)| segment)
    }

    /// Sets when a device acts next.
    pub(crate) fn settle_station(&mut self, number: usize, now: Time) {
        let held = self.held(number, now);
        let station = &mut self.stations.all[number];
        let received = station.receiver.as_ref().map_or(Time::NEVER, Receiver::wake_time);
        let wake = station.host.wake_time(now, held).min(received);
        self.wakes.set(station.component, wake);
    }

    /// A link has acted: devices that it empties may have room.
    #[inline]
    pub(crate) fn settle_stations_behind(&mut self, link: Direction, now: Time) {
        if self.stations.is_any_emptied_by_link {
            self.wake_stations_behind(link, now);
        }
    }

    #[cold]
    fn wake_stations_behind(&mut self, link: Direction, now: Time) {
        for number in 0..self.stations.len() {
            let station = &self.stations.all[number];
            if station.entrance.link == link
                && station.host.is_emptied_by_link()
                && station.host.backlog_packets() > 0
            {
                self.settle_station(number, now);
            }
        }
    }

    /// What the link holds of a device's buffer.
    fn held(&mut self, number: usize, now: Time) -> Bytes {
        let Station { direction, user, ref host, .. } = self.stations.all[number];
        if !host.is_emptied_by_link() {
            return Bytes(0);
        }
        Bytes(self.backlog(direction, user, now).bytes)
    }
}
