//! How a connection's ends stand on the path: directly, behind a machine's device, or behind a delay of
//! the flow's own.

use std::collections::VecDeque;

use cwndlab_packet::Segment;
use cwndlab_scenario::FlowConfig;
use cwndlab_tcp::Train;
use cwndlab_units::{Duration, Time};

use crate::ingress::Ingress;
use crate::path::Path;

/// The sender's place among the nodes, and the receiver's.
pub(super) const SENDER: usize = 0;
pub(super) const RECEIVER: usize = 1;

/// What stands between the ends and the path, and where what they send enters it.
#[derive(Debug)]
pub(crate) struct Attachment {
    pub(super) data_ingress: Ingress,
    pub(super) ack_ingress: Ingress,
    pub(super) access: Access,
    /// The devices of the sender and of the receiver.
    pub(crate) nodes: [Option<usize>; 2],
    /// The devices through which data and ACKs come in: at the sender, and at the receiver.
    pub(crate) receive_lines: Option<[Option<usize>; 2]>,
    /// Segments that the sender sent all the same, and its device lost.
    pub(super) dropped_by_host: u64,
    /// Whether nothing stands between the sender and the path: neither a device nor a delay.
    pub(super) is_direct: bool,
    /// The same of the receiver, and whether what comes are segments.
    pub(super) is_receiver_direct: bool,
}

impl Attachment {
    /// That of a flow whose devices and ingresses are not known yet.
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

    /// Sends what the sender sends to its device, or into the delay.
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

/// A delay of one flow's own, in both directions, in which nothing is lost or overtaken.
#[derive(Debug, Default)]
pub(super) struct Access {
    pub(super) delay: Duration,
    pub(super) from_sender: VecDeque<(Time, Segment)>,
    pub(super) to_sender: VecDeque<(Time, Segment)>,
}

impl Access {
    /// When the next segment leaves either delay.
    pub(super) fn due(&self) -> Time {
        let head =
            |queue: &VecDeque<(Time, Segment)>| queue.front().map_or(Time::NEVER, |head| head.0);
        head(&self.from_sender).min(head(&self.to_sender))
    }
}

/// The first segment of a queue, if its time has come.
pub(super) fn pop_due(queue: &mut VecDeque<(Time, Segment)>, now: Time) -> Option<Segment> {
    let (due, _) = queue.front()?;
    if *due > now {
        return None;
    }
    queue.pop_front().map(|(_, segment)| segment)
}
