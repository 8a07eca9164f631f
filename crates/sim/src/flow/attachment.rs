//! How the two ends of a connection are attached to the path: directly, through a host's device,
//! or through the flow's access delay.

use std::collections::VecDeque;

use cwndlab_packet::Segment;
use cwndlab_scenario::FlowConfig;
use cwndlab_tcp::Train;
use cwndlab_units::{Duration, Time};

use crate::ingress::Ingress;
use crate::path::Path;

/// Index of the data sender in `nodes`.
pub(super) const SENDER: usize = 0;
/// Index of the receiver in `nodes`.
pub(super) const RECEIVER: usize = 1;

/// Devices and access delay between the ends and the path, and where segments of each direction
/// enter the path.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(super) data_ingress: Ingress,
    pub(super) ack_ingress: Ingress,
    pub(super) access: Access,
    /// Indices of the sender's and the receiver's device, if they have one.
    pub(crate) nodes: [Option<usize>; 2],
    /// Receiving devices: of ACKs at the sender, and of data at the receiver.
    pub(crate) receive_lines: Option<[Option<usize>; 2]>,
    /// Number of segments that the sender sent and the sender's device dropped.
    pub(super) dropped_by_host: u64,
    /// Whether the sender is attached directly, without a device or an access delay.
    pub(super) is_direct: bool,
    /// Whether the receiver is attached directly and receives TCP segments.
    pub(super) is_receiver_direct: bool,
}

impl Attachment {
    /// Creates the attachment of a flow; its devices and the entries to the path are set later.
    pub(super) fn new(config: &FlowConfig, is_of_datagrams: bool) -> Self {
        Self {
            data_ingress: Ingress::default(),
            ack_ingress: Ingress::default(),
            access: Access { delay: config.access_delay, ..Access::default() },
            nodes: [None; 2],
            receive_lines: None,
            dropped_by_host: 0,
            is_direct: config.sender.host.is_none() && config.access_delay == Duration::ZERO,
            is_receiver_direct: config.receiver.host.is_none() && !is_of_datagrams,
        }
    }

    /// Passes the sender's segments to the sender's device, or into the access delay.
    #[inline(never)]
    pub(super) fn send_indirectly(&mut self, now: Time, train: &Train, path: &mut Path) {
        if let Some(node) = self.nodes[SENDER] {
            self.dropped_by_host += path.send_train_to_node(node, now, train);
        } else {
            let due = now + self.access.delay;
            self.access.from_sender.extend(train.segments().map(|segment| (due, segment)));
        }
    }
}

/// The access delay of one flow in both directions, without loss or reordering.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) delay: Duration,
    pub(super) from_sender: VecDeque<(Time, Segment)>,
    pub(super) to_sender: VecDeque<(Time, Segment)>,
}

impl Access {
    /// Time at which the next segment of either direction has crossed the access delay.
    pub(super) fn due(&self) -> Time {
        let head =
            |queue: &VecDeque<(Time, Segment)>| queue.front().map_or(Time::NEVER, |head| head.0);
        head(&self.from_sender).min(head(&self.to_sender))
    }
}

/// Removes the first segment of a queue if the segment is due.
pub(super) fn pop_due(queue: &mut VecDeque<(Time, Segment)>, now: Time) -> Option<Segment> {
    let (due, _) = queue.front()?;
    if *due > now {
        return None;
    }
    queue.pop_front().map(|(_, segment)| segment)
}
