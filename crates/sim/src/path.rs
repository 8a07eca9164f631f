//! The two directions between the ends, and the times at which anything is due.

use cwndlab_link::{AnyLink, Backlog, Link};
use cwndlab_tcp::Segment;
use cwndlab_units::{Bytes, Time};

use crate::frame::Frame;
use crate::wake::WakeTree;

/// The direction from the network to the user, as index of its link.
pub(crate) const FORWARD: usize = 0;
/// The direction from the user to the network.
pub(crate) const REVERSE: usize = 1;

/// Both links and every component's wake time; the links are the components 0 and 1.
#[derive(Debug)]
pub(crate) struct Path {
    pub(crate) links: [AnyLink<Frame>; 2],
    pub(crate) wakes: WakeTree,
}

impl Path {
    pub(crate) fn new(links: [AnyLink<Frame>; 2], components: usize) -> Self {
        Self { links, wakes: WakeTree::new(components) }
    }

    /// Gives a segment to a link. [`Path::settle`] must follow.
    pub(crate) fn send(&mut self, link: usize, now: Time, segment: &Segment) {
        self.links[link].handle_packet(now, 0, Frame(*segment));
    }

    /// Whether a link has something at `now`. Sets when it acts next, as must be done after it was
    /// given packets.
    #[inline]
    pub(crate) fn settle(&mut self, link: usize, now: Time) -> bool {
        let wake = self.links[link].wake_time().max(now);
        self.wakes.set(link, wake);
        wake == now
    }

    /// What each stage of a link could have carried so far.
    pub(crate) fn offered(&mut self, link: usize, now: Time) -> Vec<Option<Bytes>> {
        let link = &mut self.links[link];
        (0..link.stages()).map(|stage| link.counters(stage, now).offered).collect()
    }

    /// What waits in all queues of a link.
    pub(crate) fn backlog(&mut self, link: usize, now: Time) -> Backlog {
        let link = &mut self.links[link];
        let mut sum = Backlog::default();
        for stage in 0..link.stages() {
            let backlog = link.backlog(stage, now);
            sum.packets += backlog.packets;
            sum.bytes += backlog.bytes;
        }
        sum
    }
}
