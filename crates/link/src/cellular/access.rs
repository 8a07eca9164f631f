//! How a user of LTE or NR obtains uplink grants.
//!
//! ```text
//!  nothing waits --packet--> request at the next opportunity --> first grant
//!       ^                                                          | the block reports the backlog
//!       |                                                          v
//!       +--- nothing waits, and keep-alive is over -- a grant whenever the scheduler has room
//! ```
//!
//! The base station assumes the backlog in the last report that it has decoded, minus the bytes
//! granted since then. Without timers, every decoded block carries a report. With timers (TS
//! 36.321 and TS 38.321 section 5.4.5), only these blocks carry a report: the first block after an
//! empty queue, blocks with spare room, and one block per period. The base station then learns
//! only from the next report about packets that join a non-empty queue; once all reported bytes
//! are granted, the user waits until it may send a request again. The model leaves out the
//! prohibition and failure of requests, and random access.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::config::{AccessConfig, ReportsConfig};
use super::plan::Plan;

/// The base station's knowledge of a user's backlog, and the user's pending request for a grant.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    period: Duration,
    /// Time of the first opportunity to send a request.
    phase: Duration,
    first_grant: Option<u32>,
    keep_alive_slots: u64,
    /// Slot of the requested grant; `u64::MAX` if no request is pending.
    granted_slot: u64,
    reports: VecDeque<Report>,
    known: Report,
    /// Total bytes granted.
    granted: u64,
    /// The first slot without a keep-alive grant, which is a grant without a request.
    alive_until: u64,
    /// Data that arrive before this time are served by a keep-alive grant.
    alive_before: Time,
    timers: Option<ReportsConfig>,
    told_at: Time,
    /// Whether the user's queue was empty after the last block.
    was_empty: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Report {
    /// First slot in which grants take this report into account.
    slot: u64,
    waiting: u64,
    /// Value of [`Access::granted`] when the report was sent.
    granted: u64,
}

impl Access {
    /// `phase` is the offset of the user's request opportunities as a fraction of their period; it
    /// is rounded to a slot of the uplink.
    pub(crate) fn new(config: &AccessConfig, plan: &Plan, phase: f64) -> Self {
        let (period, interval) = (config.request_period, plan.interval);
        let slots = period.as_nanos() / interval.as_nanos();
        Self {
            period,
            phase: interval * plan.next_slot((phase * slots as f64) as u64),
            first_grant: config.first_grant_bytes,
            keep_alive_slots: config.keep_alive.as_nanos() / interval.as_nanos(),
            granted_slot: u64::MAX,
            reports: VecDeque::new(),
            known: Report::default(),
            granted: 0,
            alive_until: 0,
            alive_before: Time::ZERO,
            timers: config.reports,
            told_at: Time::ZERO,
            was_empty: true,
        }
    }

    /// Bytes that the base station would grant in `slot`; `waiting` is the actual backlog.
    pub(crate) fn wanted(&mut self, slot: u64, waiting: u64) -> u64 {
        while let Some(&report) = self.reports.front() {
            if report.slot > slot {
                break;
            }
            self.known = report;
            self.reports.pop_front();
        }
        let believed = self.believed();
        if believed > 0 {
            return believed;
        }
        if slot >= self.granted_slot || slot < self.alive_until {
            return self.first_grant.map_or(waiting.max(1), u64::from);
        }
        0
    }

    fn believed(&self) -> u64 {
        self.known.waiting.saturating_sub(self.granted - self.known.granted)
    }

    /// Records that a block with room for `bytes` is sent in `slot`.
    pub(crate) fn handle_grant(&mut self, plan: &Plan, slot: u64, bytes: u64, has_data: bool) {
        self.granted += bytes;
        if slot >= self.granted_slot {
            self.granted_slot = u64::MAX;
        }
        if has_data {
            self.alive_until = slot.saturating_add(1).saturating_add(self.keep_alive_slots);
            let last = plan.slot_before(self.alive_until).unwrap_or(slot);
            self.alive_before = plan.start(last) + Duration::from_nanos(1);
        }
    }

    /// Whether the block that is sent now carries a report. `spare` bytes of the block contain no
    /// data; `is_empty` is whether the queue is empty after the block.
    pub(crate) fn tells(&mut self, now: Time, spare: u64, is_empty: bool) -> bool {
        let Some(timers) = self.timers else { return true };
        let is_period_over = now.saturating_since(self.told_at) >= timers.period;
        let tells = self.was_empty || spare >= REPORT_BYTES || is_period_over;
        self.was_empty = is_empty;
        if tells {
            self.told_at = now;
        }
        tells
    }

    /// Handles the report in a block sent in `slot`: it contains the backlog after this block.
    pub(crate) fn handle_report(&mut self, plan: &Plan, slot: u64, waiting: u64) {
        let report = Report { slot: plan.response(slot), waiting, granted: self.granted };
        self.reports.push_back(report);
    }

    /// Requests a grant at the first opportunity at or after `from`, unless the user will get a
    /// grant anyway.
    #[inline]
    pub(crate) fn ask(&mut self, plan: &Plan, from: Time) {
        if from >= self.alive_before {
            self.ask_if_silent(plan, from);
        }
    }

    /// Requests a grant as [`Access::ask`] does, if the user gets no more keep-alive grants.
    fn ask_if_silent(&mut self, plan: &Plan, from: Time) {
        let will_be_granted = self.granted_slot != u64::MAX
            || self.believed() > 0
            || self.reports.iter().any(|report| report.waiting > 0);
        let may_ask = self.timers.is_none_or(|timers| {
            self.was_empty || from.saturating_since(self.told_at) >= timers.repeat
        });
        if will_be_granted || !may_ask {
            return;
        }
        let since = from.as_nanos().saturating_sub(self.phase.as_nanos());
        let periods = since.div_ceil(self.period.as_nanos());
        let opportunity = Time::ZERO + self.phase + self.period * periods;
        self.granted_slot = plan.response(plan.slot_from(opportunity));
    }

    /// Slot of the requested grant; 0 if no request is pending.
    pub(crate) fn next_slot(&self) -> u64 {
        if self.granted_slot == u64::MAX { 0 } else { self.granted_slot }
    }

    /// Resets the state when the user leaves the cell.
    pub(crate) fn clear(&mut self) {
        self.granted_slot = u64::MAX;
        self.reports.clear();
        self.known = Report { granted: self.granted, ..Report::default() };
        (self.alive_until, self.alive_before) = (0, Time::ZERO);
        self.was_empty = true;
    }
}

/// Size of a long buffer status report with its subheader: TS 36.321 section 6.1.3.1.
const REPORT_BYTES: u64 = 4;
