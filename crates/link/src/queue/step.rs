//! Step marking: marks every arriving packet while the queue is longer than a threshold.
//!
//! DCTCP requires such a queue (RFC 8257 section 3.1), which uses the current queue length instead
//! of an average. Packets that cannot be marked are dropped, as in RED with a probability of 1.

use cwndlab_units::Bytes;

use super::{Arrival, Limits, Verdict};
use crate::{Backlog, DropReason};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    threshold_packets: u32,
    threshold_bytes: u64,
    limits: Limits,
}

impl Step {
    pub(crate) fn new(packets: Option<u32>, bytes: Option<Bytes>, limits: Limits) -> Self {
        Self {
            threshold_packets: packets.unwrap_or(u32::MAX),
            threshold_bytes: bytes.map_or(u64::MAX, |bytes| bytes.0),
            limits,
        }
    }

    pub(crate) fn admit(self, backlog: Backlog, arrival: Arrival) -> Verdict {
        let exceeds =
            backlog.packets > self.threshold_packets || backlog.bytes > self.threshold_bytes;
        if !self.limits.have_room(backlog, arrival.bytes) {
            Verdict::Drop(DropReason::Overflow)
        } else if !exceeds {
            Verdict::Accept
        } else if arrival.is_ecn_capable {
            Verdict::Mark
        } else {
            Verdict::Drop(DropReason::Aqm)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_above_the_threshold_and_not_at_it() {
        let arrival = |is_ecn_capable| Arrival { bytes: 1500, is_ecn_capable, idle_since: None };
        let backlog = |packets| Backlog { packets, bytes: u64::from(packets) * 1500 };
        let limits = Limits::new(Some(100), None);
        for step in
            [Step::new(Some(20), None, limits), Step::new(None, Some(Bytes(30_000)), limits)]
        {
            assert_eq!(step.admit(backlog(20), arrival(true)), Verdict::Accept);
            assert_eq!(step.admit(backlog(21), arrival(true)), Verdict::Mark);
            assert_eq!(step.admit(backlog(21), arrival(false)), Verdict::Drop(DropReason::Aqm));
            let full = step.admit(backlog(100), arrival(true));
            assert_eq!(full, Verdict::Drop(DropReason::Overflow));
        }
    }
}
