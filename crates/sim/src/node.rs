//! The network devices of the hosts, between the sockets and the path.

use core::num::NonZeroU16;

use cwndlab_host::{Host, HostConfig, Qdisc, Receiver};
use cwndlab_link::Direction;
use cwndlab_tcp::HostTraits;

use cwndlab_units::Stream;

use crate::frame::Frame;
use crate::ingress::Ingress;

/// A network device. All ends of a user on the same side of the path share the device if their
/// configurations are equal.
#[derive(Debug)]
pub(crate) struct HostNode {
    pub(crate) config: HostConfig,
    pub(crate) host: Host<Frame>,
    /// Receive side of the device, if it merges received segments.
    pub(crate) receiver: Option<Receiver<Frame>>,
    /// Direction of the segments that leave the device.
    pub(crate) direction: Direction,
    /// Whether the device receives segments from the link (behind it), instead of sending segments
    /// into the link (in front of it).
    pub(crate) is_behind: bool,
    pub(crate) user: u16,
    pub(crate) ingress: Ingress,
    pub(crate) component: usize,
}

/// The network devices of all hosts of a run.
#[derive(Debug, Default)]
pub(crate) struct HostNodes {
    pub(crate) all: Vec<HostNode>,
    /// Whether any device has a buffer that the link empties.
    pub(crate) is_any_emptied_by_link: bool,
}

impl HostNodes {
    /// Index of the device of an end that sends in `direction`; `None` if the end has no device.
    pub(crate) fn find_or_add(
        &mut self,
        config: Option<HostConfig>,
        direction: Direction,
        user: NonZeroU16,
        is_behind: bool,
        run_seed: u64,
    ) -> Option<usize> {
        let (config, user) = (config?, user.get());
        let is_same = |node: &HostNode| {
            (node.direction, node.user, node.config) == (direction, user, config)
                && node.is_behind == is_behind
        };
        Some(self.all.iter().position(is_same).unwrap_or_else(|| {
            let random = Stream::new(run_seed, &format!("host.{}", self.all.len()));
            let host = Host::new(config, random);
            self.is_any_emptied_by_link |= host.is_emptied_by_link();
            let ingress = Ingress::default();
            self.all.push(HostNode {
                config,
                host,
                receiver: config.merge_interval.map(Receiver::new),
                direction,
                is_behind,
                user,
                ingress,
                component: 0,
            });
            self.all.len() - 1
        }))
    }

    /// Properties of a device that the endpoints behind it need to know.
    pub(crate) fn traits_of(&self, number: usize) -> HostTraits {
        let config = &self.all[number].config;
        HostTraits {
            burst_pkts: config.burst_packets,
            is_pacing: config.qdisc == Qdisc::Fq,
            is_orphaning: config.is_orphaning,
            has_separate_buffers: config.has_separate_buffers,
        }
    }

    /// Direction of the segments that leave a device behind the link; `None` for a device in front
    /// of the link.
    pub(crate) fn direction_behind(&self, number: usize) -> Option<Direction> {
        let node = &self.all[number];
        node.is_behind.then_some(node.direction)
    }

    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
}
