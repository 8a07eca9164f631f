//! When an ACK leaves (RFC 9293 section 3.8.6.3, RFC 5681 section 4.2): at once, after a delay,
//! with the next data, or later while there is a hole.
//!
//! ```text
//!   two segments, quick ACKs, a hole filled ------------------------> now
//!   one segment ------------> delayed: `ato`, 40 to 200 ms ---------> now, or with data
//!   beside a hole: the first three now, then held back: RTT / 20 ---> now
//! ```
//!
//! The socket contains whether an ACK is due (`icsk_ack.pending`), so that algorithms can read it.

use cwndlab_cc::{ICSK_ACK_PUSHED, ICSK_ACK_SCHED, ICSK_ACK_TIMER};
use cwndlab_units::{Duration, Time};

use crate::linux::clock::{Clock, Jiffies};
use crate::linux::settings::LinuxSettings;

/// `TCP_MAX_QUICKACKS`.
pub(crate) const MAX_QUICK_ACKS: u32 = 16;
/// Minimum delay of an ACK: `TCP_ATO_MIN` and `TCP_DELACK_MIN`, `HZ / 25`.
const ATO_MIN: Jiffies = Jiffies::from_millis(40);
/// Maximum delay of an ACK: `TCP_DELACK_MAX`, `HZ / 5`.
const DELAY_MAX: Jiffies = Jiffies::from_millis(200);
/// Maximum delay of an ACK before a tighter maximum is known: `HZ / 2`.
const DELAY_UNKNOWN_MAX: Jiffies = Jiffies::from_millis(500);
/// Number of duplicate ACKs that leave at once before SACKs are held back
/// (`TCP_FASTRETRANS_THRESH`).
const DUPLICATE_ACKS_AT_ONCE: u32 = 3;

/// How and when the next ACK leaves (`icsk_ack`).
#[derive(Clone, Debug)]
pub(crate) struct AckSchedule {
    /// Number of ACKs that still leave without a delay.
    quick: u32,
    /// Whether ACKs wait for replies that carry them, because one reply has carried an ACK
    /// (`TCP_PINGPONG_THRESH` 1).
    is_interactive: bool,
    /// Expected time between segments; 0 before the first.
    ato: Jiffies,
    /// Time at which data last arrived (`lrcvtime`).
    received: Jiffies,
    /// The tick for which the delayed ACK is scheduled.
    timeout: Jiffies,
    /// Time at which the timer of the delayed ACK fires.
    delayed: Time,
    /// Largest payload seen.
    pub(crate) rcv_mss: u32,
    held: HeldBack,
    /// Time at which an invalid segment without data was last answered.
    invalid_answered: Option<Jiffies>,
}

/// State of ACKs that are held back while there is a hole.
#[derive(Clone, Debug)]
struct HeldBack {
    /// Maximum time for which an ACK is held back (`tcp_comp_sack_delay_ns`).
    longest: Duration,
    /// Additional time after which the timer may fire (`tcp_comp_sack_slack_ns`).
    slack: Duration,
    /// Maximum number of ACKs that are held back (`tcp_comp_sack_nr`).
    limit: u32,
    count: u32,
    /// Number of ACKs that left at once at the present `rcv_nxt`.
    at_once: u32,
    rcv_nxt: u32,
    timer: Time,
    /// Time at which the last segment arrived whose ACK is held back.
    came: Time,
}

/// Properties of data that arrived in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataSeen {
    pub(crate) bytes: u32,
    pub(crate) is_pushed: bool,
    pub(crate) advmss: u32,
    /// The advertised window.
    pub(crate) window: u32,
    pub(crate) rto: Jiffies,
}

impl AckSchedule {
    pub(crate) fn new(settings: &LinuxSettings) -> Self {
        let micros = |us: u32| Duration::from_micros(us.into());
        Self {
            quick: 0,
            is_interactive: false,
            ato: Jiffies(0),
            received: Jiffies(0),
            timeout: Jiffies(0),
            delayed: Time::NEVER,
            rcv_mss: 536.min(settings.announced_mss()),
            held: HeldBack {
                longest: micros(settings.held_acks.compressed_sack_delay_us),
                slack: micros(settings.held_acks.compressed_sack_slack_us),
                limit: settings.held_acks.compressed_sack_limit,
                count: 0,
                at_once: 0,
                rcv_nxt: 0,
                timer: Time::NEVER,
                came: Time::ZERO,
            },
            invalid_answered: None,
        }
    }

    /// Time at which the first timer fires.
    #[inline]
    pub(crate) fn wake_time(&self) -> Time {
        self.delayed.min(self.held.timer)
    }

    /// Stops both timers.
    pub(crate) fn stop(&mut self) {
        self.delayed = Time::NEVER;
        self.held.timer = Time::NEVER;
    }

    // Arriving data and departing ACKs.

    /// `tcp_event_data_recv`: processes data that arrived in order. Returns the bits to add to
    /// `icsk_ack.pending`.
    #[inline(always)]
    pub(crate) fn note_data(&mut self, data: DataSeen, now: Jiffies) -> u8 {
        let mut pending = ICSK_ACK_SCHED;
        if data.bytes >= self.rcv_mss {
            if data.bytes > self.rcv_mss {
                self.rcv_mss = data.bytes.min(data.advmss);
            }
            // A full segment with PSH ends a write, so more data may take a while.
            if data.is_pushed {
                pending |= ICSK_ACK_PUSHED;
            }
        } else if data.bytes > 0 {
            pending |= ICSK_ACK_PUSHED;
        }
        if self.ato == Jiffies(0) {
            self.raise_quick(data.window, MAX_QUICK_ACKS);
            self.ato = ATO_MIN;
        } else {
            let gap = now - self.received;
            if gap <= ATO_MIN.halved() {
                self.ato = self.ato.halved() + ATO_MIN.halved();
            } else if gap < self.ato {
                self.ato = (self.ato.halved() + gap).min(data.rto);
            } else if gap > data.rto {
                self.raise_quick(data.window, MAX_QUICK_ACKS);
            }
        }
        self.received = now;
        pending
    }

    /// Records that data leave, possibly as a reply to data that arrived shortly before.
    #[inline]
    pub(crate) fn note_data_sent(&mut self, now: Jiffies) {
        self.is_interactive |= now - self.received < self.ato;
    }

    /// `tcp_event_ack_sent`: records that an ACK leaves, alone or with data; `pending` contains
    /// what was due.
    #[inline]
    pub(crate) fn note_sent(&mut self, pending: u8) {
        if pending == 0 && self.held.count == 0 {
            return;
        }
        self.held.count = 0;
        self.held.timer = Time::NEVER;
        if self.quick > 0 && pending & ICSK_ACK_SCHED != 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.ato = ATO_MIN;
            }
        }
        self.delayed = Time::NEVER;
    }

    // Quick ACKs.

    /// `tcp_enter_quickack_mode`: lets the next ACKs leave at once.
    pub(crate) fn enter_quick(&mut self, window: u32, max: u32) {
        self.raise_quick(window, max);
        self.is_interactive = false;
        self.ato = ATO_MIN;
    }

    /// `tcp_incr_quickack`.
    fn raise_quick(&mut self, window: u32, max: u32) {
        let quick = (window / (2 * self.rcv_mss.max(1))).max(2).min(max);
        self.quick = self.quick.max(quick);
    }

    /// Lets one ACK leave at once, because the window opens.
    #[inline]
    pub(crate) fn quicken_once(&mut self) {
        self.quick |= 1;
    }

    /// Ends quick ACKs.
    #[inline]
    pub(crate) fn stop_quick(&mut self) {
        self.quick = 0;
    }

    #[inline]
    pub(crate) fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive()
    }

    /// Whether ACKs wait for replies that carry them.
    #[inline]
    pub(crate) fn is_interactive(&self) -> bool {
        self.is_interactive
    }

    /// Returns whether to answer an invalid segment without data: only if none was answered within
    /// `limit` (`tcp_invalid_ratelimit`).
    pub(crate) fn take_invalid(&mut self, now: Jiffies, limit: Jiffies) -> bool {
        let is_soon = self.invalid_answered.is_some_and(|at| now < at + limit);
        if !is_soon {
            self.invalid_answered = Some(now);
        }
        !is_soon
    }

    // Delayed ACKs.

    /// `tcp_send_delayed_ack`: sets the timer of a delayed ACK. Returns whether the ACK must leave
    /// now instead, because the timer was about to fire.
    #[inline(always)]
    pub(crate) fn delay(&mut self, clock: &Clock, srtt_us: u32, pending: u8) -> bool {
        let now = clock.jiffies();
        let ato = self.longest_delay(clock, srtt_us, pending);
        if self.is_about_to_fire(now, ato) {
            return true;
        }
        let mut timeout = now + ato;
        if !self.delayed.is_never() {
            timeout = timeout.min(self.timeout);
        }
        self.timeout = timeout;
        self.delayed = clock.timer(timeout - now);
        false
    }

    /// Whether the timer of a delayed ACK is about to fire, so that [`AckSchedule::delay`] would
    /// return `true`.
    #[inline(always)]
    pub(crate) fn would_not_wait(&self, clock: &Clock, srtt_us: u32, pending: u8) -> bool {
        !self.delayed.is_never()
            && self.is_about_to_fire(clock.jiffies(), self.longest_delay(clock, srtt_us, pending))
    }

    /// Whether a delayed ACK is waiting and will leave within a quarter of `ato`.
    #[inline(always)]
    fn is_about_to_fire(&self, now: Jiffies, ato: Jiffies) -> bool {
        !self.delayed.is_never() && self.timeout <= now + ato.halved().halved()
    }

    /// Maximum delay of an ACK that is delayed now.
    #[inline(always)]
    fn longest_delay(&self, clock: &Clock, srtt_us: u32, pending: u8) -> Jiffies {
        let mut ato = self.ato;
        if ato > ATO_MIN {
            let mut max = DELAY_UNKNOWN_MAX;
            if self.is_interactive() || pending & ICSK_ACK_PUSHED != 0 {
                max = DELAY_MAX;
            }
            if srtt_us > 0 {
                max = max.min(clock.jiffies_of_us(u64::from(srtt_us >> 3)).max(ATO_MIN));
            }
            ato = ato.min(max);
        }
        ato.min(DELAY_MAX)
    }

    /// Clears the timer of the delayed ACK if it has fired. Returns whether it had fired.
    #[inline]
    pub(crate) fn take_delayed(&mut self, now: Time) -> bool {
        let is_due = self.delayed <= now;
        if is_due {
            self.delayed = Time::NEVER;
        }
        is_due
    }

    /// Adapts the delay after a delayed ACK was sent because of its timer: the next ACK waits
    /// longer, unless this ACK waited in vain for a reply.
    pub(crate) fn note_delayed_sent(&mut self, rto: Jiffies) {
        if self.is_interactive() {
            self.is_interactive = false;
            self.ato = ATO_MIN;
        } else {
            self.ato = self.ato.doubled().min(rto);
        }
    }

    /// Bits of `icsk_ack.pending` for a delayed ACK.
    pub(crate) const DELAYED: u8 = ICSK_ACK_SCHED | ICSK_ACK_TIMER;

    // ACKs while there is a hole.

    /// Whether an ACK is held back.
    #[inline]
    pub(crate) fn has_held_back(&self) -> bool {
        self.held.count > 0
    }

    /// Holds back an ACK that reports a hole (`tcp_comp_sack_nr`), for a twentieth of `rtt_us`,
    /// which is scaled by 8. Returns whether the ACK must leave at once instead.
    pub(crate) fn hold_back(&mut self, rcv_nxt: u32, rtt_us: u32, now: Time) -> bool {
        let held = &mut self.held;
        if held.count >= held.limit {
            return true;
        }
        if held.rcv_nxt != rcv_nxt {
            held.rcv_nxt = rcv_nxt;
            held.at_once = 0;
        }
        if held.at_once < DUPLICATE_ACKS_AT_ONCE {
            held.at_once += 1;
            return true;
        }
        held.count += 1;
        held.came = now;
        if held.timer.is_never() {
            let delay = Duration::from_nanos(u64::from(rtt_us) * (1_000 >> 3) / 20);
            held.timer = now + delay.min(held.longest) + held.slack;
        }
        false
    }

    /// Removes the held-back ACKs if their timer has fired. Returns the time at which the last of
    /// their segments arrived.
    #[inline]
    pub(crate) fn take_held_back(&mut self, now: Time) -> Option<Time> {
        if self.held.timer > now {
            return None;
        }
        self.held.timer = Time::NEVER;
        (core::mem::take(&mut self.held.count) > 0).then_some(self.held.came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;

    const MSS: u32 = 1_448;
    const RTO: Jiffies = Jiffies(60);

    fn schedule() -> AckSchedule {
        let profile = Profile::by_name("linux-6.1").expect("exists");
        AckSchedule::new(profile.linux().expect("linux"))
    }

    fn data(bytes: u32) -> DataSeen {
        DataSeen { bytes, is_pushed: false, advmss: MSS, window: 65_535, rto: RTO }
    }

    fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    #[test]
    fn the_first_acks_are_quick_and_count_down() {
        let mut acks = schedule();
        let pending = acks.note_data(data(MSS), Jiffies(100));
        assert_eq!(pending, ICSK_ACK_SCHED);
        for _ in 0..MAX_QUICK_ACKS {
            assert!(acks.is_quick());
            acks.note_sent(pending);
        }
        assert!(!acks.is_quick());
    }

    #[test]
    fn replies_end_quick_acks() {
        let mut acks = schedule();
        acks.note_data(data(MSS), Jiffies(100));
        acks.note_data_sent(Jiffies(100) + ATO_MIN);
        assert!(acks.is_quick(), "too late for a reply");
        acks.note_data_sent(Jiffies(101));
        assert!(!acks.is_quick() && acks.is_interactive());
        acks.enter_quick(65_535, 2);
        assert!(acks.is_quick());
    }

    #[test]
    fn a_short_segment_is_the_end_of_a_write() {
        let mut acks = schedule();
        acks.note_data(data(MSS), Jiffies(1));
        assert_ne!(acks.note_data(data(100), Jiffies(1)) & ICSK_ACK_PUSHED, 0);
        assert_eq!(acks.note_data(data(MSS), Jiffies(1)) & ICSK_ACK_PUSHED, 0);
        assert_eq!(acks.rcv_mss, MSS);
    }

    /// The timer fires at the first tick after 40 ms.
    #[test]
    fn a_delayed_ack_waits_forty_milliseconds() {
        let clock = Clock::new(Duration::ZERO, Duration::ZERO);
        let mut acks = schedule();
        acks.note_data(data(MSS), clock.jiffies());
        assert!(!acks.delay(&clock, 0, ICSK_ACK_SCHED));
        assert_eq!(acks.wake_time(), at(44));
        assert!(!acks.take_delayed(at(43)) && acks.take_delayed(at(44)));
        assert!(acks.wake_time().is_never());
        acks.note_delayed_sent(RTO);
        assert!(!acks.delay(&clock, 8 * 400_000, ICSK_ACK_SCHED));
        assert_eq!(acks.wake_time(), at(84), "the second one waits twice as long");
    }

    #[test]
    fn beside_a_hole_three_leave_at_once_and_the_rest_wait_for_a_twentieth_of_the_rtt() {
        let mut acks = schedule();
        let now = at(1);
        for _ in 0..3 {
            assert!(acks.hold_back(7, 8 * 10_000, now));
        }
        assert!(!acks.hold_back(7, 8 * 10_000, now));
        // 10 ms / 20 and a slack of 100 us.
        assert_eq!(acks.wake_time(), now + Duration::from_micros(600));
        assert!(!acks.hold_back(7, 8 * 10_000, at(1) + Duration::from_micros(300)));
        assert_eq!(acks.take_held_back(now), None);
        assert_eq!(acks.take_held_back(at(2)), Some(Time::from_micros(1_300)));
        assert!(!acks.has_held_back());
        assert!(acks.hold_back(9, 8 * 10_000, at(3)), "another hole");
    }

    #[test]
    fn what_is_invalid_is_answered_now_and_then() {
        let mut acks = schedule();
        let answered = [0, 1, 124, 125, 130].map(|at| acks.take_invalid(Jiffies(at), Jiffies(125)));
        assert_eq!(answered, [true, false, false, true, false]);
    }

    #[test]
    fn what_leaves_takes_along_what_was_held_back() {
        let mut acks = schedule();
        for _ in 0..4 {
            acks.hold_back(7, 80_000, at(1));
        }
        assert!(acks.has_held_back());
        acks.note_sent(0);
        assert!(!acks.has_held_back() && acks.wake_time().is_never());
    }
}
