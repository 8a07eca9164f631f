//! How a user of LTE or NR gets leave to send.
//!
//! ```text
//!   nothing waits --packet--> request at the next opportunity --> first grant
//!        ^                                                            | the block tells what waits
//!        |                                                            v
//!        +---- nothing waits, and not for keep-alive ---- a grant whenever the scheduler has room
//! ```
//!
//! The base station believes what the last report that it can have read told it, less what it has
//! granted since. Every block that is decoded carries a report, or, with timers (TS 36.321 and TS
//! 38.321 section 5.4.5), the first after an empty queue, what has room to spare, and one a period.
//! What comes to a queue that is not empty is then not known of before, and when all that was told is
//! granted, the user waits until it may ask again. Left out: prohibition and failure of requests,
//! random access.

use std::collections::VecDeque;

use cwndlab_units::{Duration, Time};

use super::config::{AccessConfig, ReportsConfig};
use super::plan::Plan;

/// What the base station knows of a user, and what the user has asked for.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    period: Duration,
    /// The first opportunity for a request.
    phase: Duration,
    first_grant: Option<u32>,
    keep_alive_slots: u64,
    /// The slot of the grant that was asked for; the largest number if none was.
    granted_slot: u64,
    reports: VecDeque<Report>,
    known: Report,
    /// Bytes granted in all.
    granted: u64,
    /// Until which slot there are grants unasked.
    alive_until: u64,
    /// What comes before this finds such a slot.
    alive_before: Time,
    timers: Option<ReportsConfig>,
    told_at: Time,
    /// Whether the queue has been empty since the last block.
    was_empty: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Report {
    /// From which slot on blocks are granted in its knowledge.
    slot: u64,
    waiting: u64,
    /// [`Access::granted`] when it was sent.
    granted: u64,
}

impl Access {
    /// `phase` says when the user's opportunities for requests are, as a part of the period; they
    /// are in slots of the uplink.
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

    /// Bytes for which the scheduler would give room in `slot`, when `waiting` are there.
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

    /// A block with room for `bytes` is sent in `slot`.
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

    /// Whether the block that is sent now tells what waits: `spare` bytes of it hold no data, and
    /// behind it the queue is empty or not.
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

    /// The base station decodes a block sent in `slot` that tells how much waits behind it.
    pub(crate) fn handle_report(&mut self, plan: &Plan, slot: u64, waiting: u64) {
        let report = Report { slot: plan.response(slot), waiting, granted: self.granted };
        self.reports.push_back(report);
    }

    /// Asks for leave at the next opportunity from `from` on, if nothing else will bring it.
    #[inline]
    pub(crate) fn ask(&mut self, plan: &Plan, from: Time) {
        if from >= self.alive_before {
            self.ask_if_silent(plan, from);
        }
    }

    /// The same where no grant comes unasked.
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

    /// The slot before which no grant can come.
    pub(crate) fn next_slot(&self) -> u64 {
        if self.granted_slot == u64::MAX { 0 } else { self.granted_slot }
    }

    /// Forgets everything, as when the cell is left.
    pub(crate) fn clear(&mut self) {
        self.granted_slot = u64::MAX;
        self.reports.clear();
        self.known = Report { granted: self.granted, ..Report::default() };
        (self.alive_until, self.alive_before) = (0, Time::ZERO);
        self.was_empty = true;
    }
}

/// A long report and its subheader: TS 36.321 section 6.1.3.1.
const REPORT_BYTES: u64 = 4;
