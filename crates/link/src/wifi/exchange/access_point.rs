//! Passes packets between an access point's queue and the lanes to its stations.

use cwndlab_units::{Duration, Rate, Time};

use super::{Exchange, Hop};
use crate::queue::Waiting;
use crate::wifi::downlink::{self, Gone, Pulled};
use crate::wifi::frame::Transmission;
use crate::wifi::lane::{Dropped, FrameLimits};
use crate::wifi::phy::Phy;
use crate::{Admission, LinkEvent, LinkEventKind, Packet};

impl<P: Packet> Exchange<P> {
    /// Queues a packet for a lane of the access point; also returns the access point's node if it
    /// had no data before.
    #[inline(never)]
    pub(super) fn enqueue_at_access_point(
        &mut self,
        now: Time,
        lane: usize,
        waiting: Waiting<P>,
    ) -> (Admission, Option<usize>) {
        let had_nothing = !self.nodes[0].has_work();
        self.nodes[0].queued += 1;
        self.nodes[0].inside += 1;
        self.lanes[lane].queue.add(now, waiting.bytes);
        let downlink = self.downlink.as_mut().expect("the queue has active queue management");
        let is_there = downlink.push(lane / 2, waiting);
        self.take_gone(now);
        self.lanes[lane].queue.note_most();
        self.pull_ahead(now);
        let admission = if is_there { Admission::Queued } else { Admission::Dropped };
        (admission, (had_nothing && self.nodes[0].has_work()).then_some(0))
    }

    /// Number of packets that wait at the access point and are not in a lane yet.
    pub(in crate::wifi) fn packets_in_no_lane(&self) -> usize {
        self.downlink.as_ref().map_or(0, |downlink| downlink.packets() as usize)
    }

    /// Moves packets into lanes before the channel is won, as far as the airtime limits permit.
    pub(super) fn pull_ahead(&mut self, at: Time) {
        while let Some(downlink) = &mut self.downlink {
            let in_lanes = self.nodes[0].queued - downlink.packets();
            let lanes = Downward { lanes: &self.lanes, phy: &self.phy };
            let Some((station, pulled)) = downlink.pull_ahead(at, in_lanes, &lanes) else { break };
            self.load(at, 2 * station, pulled);
        }
    }

    /// Selects the lane to serve for a node that has won the channel.
    pub(super) fn next_lane(&mut self, node: usize, at: Time) -> usize {
        let Some(downlink) = self.downlink.as_mut().filter(|_| node == 0) else {
            return self.first_lane(node);
        };
        let lanes = Downward { lanes: &self.lanes, phy: &self.phy };
        let is_asked = lanes.lanes.iter().step_by(2).any(|hop| hop.asks && hop.lane.has_work());
        let station = if is_asked { None } else { downlink.next_station(&lanes) };
        let Some(lane) = station.map(|station| 2 * station) else { return self.first_lane(node) };
        self.fill(lane, at, FrameLimits { packets: 1, bytes: u64::MAX });
        lane
    }

    /// Dequeues packets into the lane that is being served, until a frame is full.
    pub(super) fn fill(&mut self, lane: usize, at: Time, limits: FrameLimits) {
        while let Some(downlink) = &mut self.downlink
            && !self.lanes[lane].lane.fills(limits)
        {
            let lanes = Downward { lanes: &self.lanes, phy: &self.phy };
            let Some(pulled) = downlink.pull(lane / 2, at, &lanes) else { break };
            self.load(at, lane, pulled);
        }
    }

    /// Charges a station for the airtime of a frame that has ended.
    pub(super) fn charge(&mut self, at: Time, frame: &Transmission) {
        let downlink = self.downlink.as_mut().expect("the queue has active queue management");
        let is_from_station = frame.from != 0;
        // The access point cannot charge a station for a frame that it did not receive.
        if !is_from_station || frame.is_answered {
            downlink.charge(frame.lane / 2, frame.ends - frame.begins, is_from_station);
        }
        if !is_from_station {
            self.pull_ahead(at);
        }
    }

    fn load(&mut self, at: Time, lane: usize, pulled: Pulled<P>) {
        let Pulled { waiting: Waiting { packet, bytes, .. }, is_marked } = pulled;
        let hop = &mut self.lanes[lane];
        let flow = packet.flow();
        hop.lane.push(at, bytes, packet);
        self.take_gone(at);
        if is_marked {
            self.lanes[lane].meter.mark(bytes);
            let kind = LinkEventKind::Marked { flow, bytes };
            self.outbox.tell(at, LinkEvent { stage: lane as u16, kind });
        }
    }

    /// Reports the packets that the access point's queue has dropped.
    fn take_gone(&mut self, at: Time) {
        while let Some(Gone { station, waiting, reason }) =
            self.downlink.as_mut().and_then(|downlink| downlink.pop_gone())
        {
            let Waiting { packet, bytes, .. } = waiting;
            self.lose(at, 2 * station, Dropped { packet, bytes, was_sent: false }, reason);
        }
    }
}

/// The lanes from an access point to its stations.
struct Downward<'a, P> {
    lanes: &'a [Hop<P>],
    phy: &'a Phy,
}

impl<P: Packet> downlink::Lanes for Downward<'_, P> {
    fn has_work(&self, station: usize) -> bool {
        self.lanes[2 * station].lane.has_work()
    }

    fn rate(&self, station: usize) -> Rate {
        let mode = self.phy.existing_mode(self.lanes[2 * station].rates.usual());
        Rate::from_bits_per_sec(mode.bits_per_sec())
    }

    fn airtime(&self, station: usize) -> Duration {
        let bits = 8 * self.lanes[2 * station].lane.waiting_bytes();
        Duration::from_nanos(bits * 1_000_000_000 / self.rate(station).bits_per_sec())
    }

    fn all_airtime(&self) -> Duration {
        let stations = 0..self.lanes.len() / 2;
        stations.map(|station| self.airtime(station)).fold(Duration::ZERO, |all, one| all + one)
    }
}
