// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * C4, Christian's Congestion Control Code: congestion control for real-time media.
 * Packets are paced at a nominal rate, which only measurements raise and only
 * congestion lowers.
 *
 * The window is alpha times the nominal rate times the nominal max RTT. The nominal
 * max RTT includes the jitter of the path, so C4 does not mistake jitter for a
 * queue. Time is divided into eras of one round trip.
 *
 *   +---------+  3 eras without growth,  +----------+  1 era  +----------+
 *   | initial |------------------------->| recovery |-------->| cruising |
 *   | alpha 2 |  or congestion           |  15/16   |<--------|    1     |
 *   +---------+                          +----------+ congest.+----------+
 *        ^   3 pushes raised the rate,      |   ^                  | 4 eras
 *        +---------------------------------+    |  1 era      +--------------+
 *            or first high jitter               +-------------| pushing      |
 *                                                             | 17/16 or 5/4 |
 *                                                             +--------------+
 *
 * C4 detects congestion if the RTT exceeds the nominal max RTT by more than a
 * threshold, or if the smoothed loss rate exceeds another threshold. Both thresholds
 * shrink as the rate grows ("sensitivity"), so the faster of two flows gives way
 * first.
 *
 * If the window and the RTT of an earlier connection to the same host are known, C4
 * uses Careful Resume: when the first window has been acknowledged and the RTT is
 * similar to the earlier RTT, the initial phase continues from half of the earlier
 * window. A loss before all data of this jump have been acknowledged reverts the
 * jump: the rate is then half of the rate at which data came through.
 *
 * Papers: C. Huitema, S. Nandakumar, C. Jennings, "Specification of Christian's
 * Congestion Control Code (C4)", draft-huitema-ccwg-c4-spec-00, from the authors'
 * text of 19 October 2025, with which this file was compared line by line. Where the
 * text is inconsistent: the nominal rate is raised if it is below the estimate (the
 * text says the opposite); the excess delay is divided by the whole threshold; the
 * first push is by 17/16; the nominal max RTT is raised in each era but those of
 * faster packets, and decays once in a cycle, with the RTTs of the packets of
 * recovery, as the design says, so it is remembered for several cycles. In every
 * era, as the pseudocode has it, half would be left after one cycle.
 * Not implemented: CE marks and the shrinking of the nominal max RTT at congestion
 * (both open in the text), and the pacing quantum. The first window remains until
 * the first era ends. Careful Resume: RFC 9959, compared with its draft
 * (draft-ietf-tsvwg-careful-resume-23). Its window is C4's, so PipeSize is the
 * highest measured rate times the nominal max RTT, and the phases end with eras.
 */
#include "cc.h"

#define C4_MIN_CWND		2u
#define C4_INITIAL_GAIN		512u	/* 2 */
#define C4_RECOVERY_GAIN	240u	/* 15/16 */
#define C4_LOW_PUSH_GAIN	272u	/* 17/16 */
#define C4_STALE_ERAS		3u	/* without growth, end of the initial phase */
#define C4_STALE_ERAS_DELAY	2u	/* stale eras before it may end by delay */
#define C4_FEW_PACKETS		20u	/* packets before it may end by loss */
#define C4_CRUISING_ERAS	4u
#define C4_PUSHES		3u	/* successful ones, before the next initial phase */
#define C4_RESUME_LEAST_RTT	2u	/* minimum: half of the saved RTT */
#define C4_RESUME_MOST_RTT	10u	/* maximum: multiple of the saved RTT */
#define C4_MAX_JITTER_US	250000u
#define C4_MAX_DELAY_US		25000u	/* highest delay threshold */
#define C4_SMOOTHED_PACKETS	64u	/* (15/16)^64 is 1.6 % */

#define C4_PARAMETERS(P)							\
	P(push_gain, "1/256", 320, 273, 512,					\
	  "alpha of a push that follows a successful push")			\
	P(loss_beta, "1/1024", 256, 1, 1023,					\
	  "reduction of the rate after losses; maximum reduction by delay")	\
	P(saved_cwnd, "kB", 0, 0, 1000000,					\
	  "window of an earlier connection to resume from, 0 = none")		\
	P(saved_rtt, "ms", 0, 0, 10000,						\
	  "lowest RTT of the earlier connection to resume from")

CC_PARAMETERS(c4_00, C4_PARAMETERS);

#define C4_PHASES(P)			\
	P(C4_INITIAL, "initial")	\
	P(C4_RECOVERY, "recovery")	\
	P(C4_CRUISING, "cruising")	\
	P(C4_PUSHING, "pushing")

CC_PHASES(c4_00, C4_PHASES);

/* Careful Resume */
enum {
	C4_RECONNAISSANCE,	/* the first window is in flight */
	C4_UNVALIDATED,		/* half of the saved window is being sent */
	C4_VALIDATING,		/* the jump is being acknowledged */
	C4_RESUMED,		/* finished, or not used */
};

struct c4 {
	u32 nominal_bw;		/* packets/us, 2^-24 */
	u32 nominal_max_rtt_us;
	u32 running_min_rtt_us;
	u32 era_delivered;	/* tp->delivered that ends the era */
	u32 era_min_rtt_us;
	u32 era_max_rtt_us;
	u32 era_bw;		/* nominal_bw when the era began */
	u32 recovered_bw;	/* nominal_bw when the last recovery ended */
	u32 validated_bw;	/* nominal_bw before the jump, or confirmed */
	u32 loss_rate;		/* smoothed, 1/65536 */
	u32 received;		/* packets, up to C4_FEW_PACKETS + 1 */
	u16 gain;		/* alpha, 1/256 */
	u16 previous_gain;	/* of the previous era */
	u16 push_gain;		/* of the last push, 0 = this recovery did not follow one */
	u8 phase;		/* C4_* */
	u8 eras;		/* number of eras in this phase */
	u8 resume;		/* C4_RECONNAISSANCE to C4_RESUMED */
	u8 stale_eras;		/* consecutive, without growth */
	u8 pushes;		/* consecutive, that raised the rate */
	bool is_congested;	/* this recovery began with congestion, or saw it */
	bool has_era;		/* the first era has ended */
	bool has_restarted;	/* the initial phase was restarted because of high jitter */
};

CC_PRIV_CHECK(struct c4);

CC_INLINE void c4_start_era(struct sock *sk)
{
	struct c4 *ca = inet_csk_ca(sk);

	ca->era_delivered = tcp_sk(sk)->delivered;
	ca->era_min_rtt_us = ~0u;
	ca->era_max_rtt_us = 0;
	ca->era_bw = ca->nominal_bw;
	ca->previous_gain = ca->gain;
}

CC_INLINE void c4_enter(struct sock *sk, u8 phase, u32 gain)
{
	struct c4 *ca = inet_csk_ca(sk);

	c4_start_era(sk);
	ca->phase = phase;
	ca->gain = (u16)gain;
	ca->eras = 0;
	ca->stale_eras = 0;
	cc_phase(sk, phase);
}

CC_INLINE void c4_enter_recovery(struct sock *sk, bool is_congested)
{
	struct c4 *ca = inet_csk_ca(sk);

	ca->push_gain = ca->phase == C4_PUSHING ? ca->gain : 0;
	ca->resume = C4_RESUMED;
	ca->is_congested = is_congested;
	c4_enter(sk, C4_RECOVERY, C4_RECOVERY_GAIN);
}

/* 0 to 1024, as a function of the nominal rate in bytes per second: 942 is 0.92. */
CC_INLINE u32 c4_sensitivity(const struct sock *sk)
{
	const struct c4 *ca = inet_csk_ca(sk);
	u64 rate = ((u64)ca->nominal_bw * tcp_sk(sk)->mss_cache >> 8) * USEC_PER_SEC >> 16;

	if (rate < 50000)
		return 0;
	if (rate < 1000000)
		return (u32)div_u64((rate - 50000) * 942, 950000);
	if (rate < 10000000)
		return 942 + (u32)div_u64((rate - 1000000) * 82, 9000000);
	return 1024;
}

/* nominal max RTT * (1/16 + (1 - sensitivity) * 3/16), at most 25 ms */
CC_INLINE u32 c4_delay_threshold_us(const struct c4 *ca, u32 sensitivity)
{
	u64 share = 1024 + 3 * (1024 - sensitivity);

	return max((u32)min(ca->nominal_max_rtt_us * share >> 14, (u64)C4_MAX_DELAY_US), 1u);
}

CC_INLINE bool c4_loses_too_many(struct c4 *ca, u32 lost, u32 sensitivity)
{
	/* 0.02 + 0.5 * (1 - sensitivity) */
	u32 threshold = 1311 + (1024 - sensitivity) * 32;

	for (u32 i = 0; i < C4_SMOOTHED_PACKETS && i < lost; i++)
		ca->loss_rate += (65536 - min(ca->loss_rate, 65536u)) / 16;
	return lost && ca->loss_rate > threshold;
}

CC_INLINE void c4_take_received(struct c4 *ca, u32 acked)
{
	ca->received = min(ca->received + min(acked, C4_FEW_PACKETS + 1), C4_FEW_PACKETS + 1);
	if (acked >= C4_SMOOTHED_PACKETS)
		ca->loss_rate = 0;
	for (u32 i = 0; i < C4_SMOOTHED_PACKETS && i < acked && ca->loss_rate; i++)
		ca->loss_rate -= (ca->loss_rate + 15) / 16;
}

CC_INLINE bool c4_is_resuming(const struct c4 *ca)
{
	return ca->resume == C4_UNVALIDATED || ca->resume == C4_VALIDATING;
}

/*
 * Packets acknowledged since this one was sent, divided by its RTT or by the time
 * in which they were sent, whichever is longer. The interval of the kernel's sample
 * is longer than the RTT: it begins at the last ACK before this packet was sent.
 */
CC_INLINE u32 c4_rate_estimate(const struct rate_sample *rs)
{
	u64 delay_us = (u64)rs->interval_us;

	if (rs->rtt_us > 0)
		delay_us = max((u32)rs->rtt_us, rs->snd_interval_us);
	return (u32)min(div64_u64((u64)rs->delivered << CC_BW_SHIFT, max(delay_us, 1ull)),
			(u64)(~0u / 2));
}

/* Jumps to half of the saved window, at the gain of the initial phase. */
CC_INLINE void c4_jump(struct sock *sk)
{
	struct c4 *ca = inet_csk_ca(sk);
	u64 saved_cwnd = (u64)cc_params(sk)->saved_cwnd * 1000;
	u64 saved_rtt_us = (u64)cc_params(sk)->saved_rtt * USEC_PER_MSEC;
	u32 rtt_us = ca->running_min_rtt_us;
	u64 bw;

	ca->resume = C4_RESUMED;
	if (!rtt_us || rtt_us <= saved_rtt_us / C4_RESUME_LEAST_RTT ||
	    rtt_us > saved_rtt_us * C4_RESUME_MOST_RTT)
		return;
	bw = div_u64(div_u64(saved_cwnd, max(tcp_sk(sk)->mss_cache, 1u)) * CC_BW_ONE / 4, rtt_us);
	if (bw <= ca->nominal_bw || bw > ~0u / 2)
		return;
	ca->validated_bw = ca->nominal_bw;
	ca->nominal_bw = (u32)bw;
	ca->resume = C4_UNVALIDATED;
}

/* The rate that corresponds to a window of this many packets. */
CC_INLINE u32 c4_bw_of(const struct c4 *ca, u32 packets)
{
	return (u32)min(div_u64(packets * CC_BW_ONE, max(ca->nominal_max_rtt_us, 1u)),
			(u64)(~0u / 2));
}

CC_INLINE void c4_continue_resume(struct sock *sk)
{
	struct c4 *ca = inet_csk_ca(sk);

	switch (ca->resume) {
	case C4_RECONNAISSANCE:
		c4_jump(sk);
		return;
	case C4_UNVALIDATED:
		ca->resume = C4_VALIDATING;
		/* the window is the data in flight, at most the previous window */
		ca->nominal_bw = min(ca->nominal_bw * (C4_INITIAL_GAIN / CC_GAIN_ONE),
				     c4_bw_of(ca, tcp_packets_in_flight(tcp_sk(sk))));
		ca->nominal_bw = max(ca->nominal_bw, ca->validated_bw);
		ca->gain = CC_GAIN_ONE;
		return;
	case C4_VALIDATING:
		ca->resume = C4_RESUMED;
		ca->nominal_bw = ca->validated_bw;
		ca->gain = C4_INITIAL_GAIN;
		ca->stale_eras = 0;
		return;
	default:
		return;
	}
}

/* Safe retreat at any loss, even if a timer found it: half of the confirmed rate. */
CC_INLINE void c4_retreat(struct sock *sk)
{
	struct c4 *ca = inet_csk_ca(sk);

	ca->nominal_bw = max(ca->validated_bw / 2, 1u);
	c4_enter_recovery(sk, true);
}

CC_INLINE void c4_check_congestion(struct sock *sk, const struct rate_sample *rs)
{
	struct c4 *ca = inet_csk_ca(sk);
	u32 beta = 0, most = (u32)cc_params(sk)->loss_beta, sensitivity = c4_sensitivity(sk);
	u32 threshold_us = c4_delay_threshold_us(ca, sensitivity);
	u32 limit_us = ca->nominal_max_rtt_us + threshold_us;
	/* losses found only by a timer are not a signal */
	bool by_timer = (u32)CC_GET(inet_csk(sk), icsk_ca_state) == TCP_CA_Loss;
	u32 lost = rs->losses > 0 && !by_timer ? (u32)rs->losses : 0;
	bool is_loss = c4_loses_too_many(ca, lost, sensitivity);
	bool is_delay = rs->rtt_us > 0 && (u32)rs->rtt_us > limit_us;

	if (!is_loss && !is_delay)
		return;
	if (is_delay)
		beta = (u32)min(div_u64((u64)((u32)rs->rtt_us - limit_us) << 10, threshold_us),
				(u64)most);
	if (is_loss)
		beta = most;
	switch (ca->phase) {
	case C4_INITIAL:
		if ((is_loss && ca->received > C4_FEW_PACKETS) ||
		    (is_delay && ca->stale_eras >= C4_STALE_ERAS_DELAY))
			c4_enter_recovery(sk, true);
		return;
	case C4_RECOVERY:
		ca->is_congested = true;
		return;
	case C4_PUSHING:
		/* by a packet of the push itself: only ends the push */
		if (!before(rs->prior_delivered, ca->era_delivered))
			beta = 0;
		break;
	default:
		break;
	}
	ca->nominal_bw = max((u32)((u64)ca->nominal_bw * (1024 - beta) >> 10), 1u);
	c4_enter_recovery(sk, true);
}

CC_INLINE void c4_take_era_rtts(struct c4 *ca)
{
	u32 most = ca->era_max_rtt_us;

	if (!most || ca->phase == C4_INITIAL || ca->previous_gain > CC_GAIN_ONE)
		return;
	if (ca->era_min_rtt_us < ca->running_min_rtt_us)
		ca->running_min_rtt_us = ca->era_min_rtt_us;
	else
		ca->running_min_rtt_us = (u32)((7ull * ca->running_min_rtt_us +
						ca->era_min_rtt_us) / 8);
	most = min(most, ca->running_min_rtt_us + C4_MAX_JITTER_US);
	if (most > ca->nominal_max_rtt_us)
		ca->nominal_max_rtt_us = most;
	else if (ca->previous_gain < CC_GAIN_ONE)
		ca->nominal_max_rtt_us = (u32)((7ull * ca->nominal_max_rtt_us + most) / 8);
}

/* Any growth after a small push, a quarter of the expected growth after a large one. */
CC_INLINE bool c4_has_pushed(const struct c4 *ca)
{
	u32 share = 1024 + (ca->push_gain - min((u32)ca->push_gain, CC_GAIN_ONE));

	if (ca->is_congested || !ca->push_gain)
		return false;
	if (ca->push_gain <= C4_LOW_PUSH_GAIN)
		return ca->nominal_bw > ca->recovered_bw;
	return (u64)ca->nominal_bw << 10 >= (u64)ca->recovered_bw * share;
}

CC_INLINE void c4_end_recovery(struct sock *sk)
{
	struct c4 *ca = inet_csk_ca(sk);
	bool has_jitter = (u64)ca->running_min_rtt_us * 5 < (u64)ca->nominal_max_rtt_us * 2;

	if (c4_has_pushed(ca))
		ca->pushes++;
	else if (ca->push_gain || ca->is_congested)
		ca->pushes = 0;
	ca->recovered_bw = ca->nominal_bw;
	ca->is_congested = false;
	if (ca->pushes < C4_PUSHES && (!has_jitter || ca->has_restarted)) {
		c4_enter(sk, C4_CRUISING, CC_GAIN_ONE);
		return;
	}
	if (ca->pushes < C4_PUSHES)
		ca->has_restarted = true;
	ca->pushes = 0;
	c4_enter(sk, C4_INITIAL, C4_INITIAL_GAIN);
}

CC_INLINE void c4_end_era(struct sock *sk, bool is_app_limited)
{
	struct c4 *ca = inet_csk_ca(sk);

	ca->has_era = true;
	c4_take_era_rtts(ca);
	c4_continue_resume(sk);
	if (ca->eras < 255)
		ca->eras++;
	switch (ca->phase) {
	case C4_INITIAL:
		if (ca->nominal_bw > ca->era_bw)
			ca->stale_eras = 0;
		else if (!is_app_limited)
			ca->stale_eras++;
		if (ca->stale_eras >= C4_STALE_ERAS)
			c4_enter_recovery(sk, false);
		else
			c4_start_era(sk);
		return;
	case C4_RECOVERY:
		c4_end_recovery(sk);
		return;
	case C4_PUSHING:
		c4_enter_recovery(sk, false);
		return;
	default:
		if (ca->eras >= C4_CRUISING_ERAS && !is_app_limited)
			c4_enter(sk, C4_PUSHING,
				 ca->pushes ? (u32)cc_params(sk)->push_gain : C4_LOW_PUSH_GAIN);
		else
			c4_start_era(sk);
	}
}

/*
 * alpha * nominal rate * nominal max RTT. A packet can leave while the bytes in
 * transit are below the window, so a fraction of a packet counts as a whole one.
 */
CC_INLINE u32 c4_window(const struct c4 *ca)
{
	u64 product = (u64)ca->nominal_bw * ca->nominal_max_rtt_us >> 8;

	product = min(product, ~0ull >> 16) * ca->gain;
	return (u32)min((product + CC_BW_ONE - 1) >> CC_BW_SHIFT, (u64)TCP_INFINITE_SSTHRESH);
}

CC_PROG_CONG_CONTROL(c4_cong_control, struct sock *sk, u32 ack, int flag,
		     const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct c4 *ca = inet_csk_ca(sk);
	u32 rtt_us, bw;

	(void)ack;
	(void)flag;
	if (rs->rtt_us > 0) {
		rtt_us = (u32)rs->rtt_us;
		if (!ca->nominal_max_rtt_us) {
			ca->nominal_max_rtt_us = rtt_us;
			ca->running_min_rtt_us = rtt_us;
		}
		ca->era_min_rtt_us = min(ca->era_min_rtt_us, rtt_us);
		ca->era_max_rtt_us = max(ca->era_max_rtt_us, rtt_us);
	}
	if (rs->losses > 0 && ca->resume == C4_RECONNAISSANCE)
		ca->resume = C4_RESUMED;
	if (rs->losses > 0 && c4_is_resuming(ca))
		c4_retreat(sk);
	else if (ca->nominal_max_rtt_us)
		c4_check_congestion(sk, rs);
	c4_take_received(ca, rs->acked_sacked);
	if (rs->delivered > 0 && rs->interval_us > 0) {
		bw = c4_rate_estimate(rs);
		if (c4_is_resuming(ca))
			ca->validated_bw = max(ca->validated_bw, bw);
		if (!(ca->phase == C4_RECOVERY && ca->is_congested))
			ca->nominal_bw = max(ca->nominal_bw, bw);
		if (!before(rs->prior_delivered, ca->era_delivered))
			c4_end_era(sk, rs->is_app_limited);
	}
	if (!ca->has_era || !ca->nominal_bw || !ca->nominal_max_rtt_us)
		return;
	sk->sk_pacing_rate = cc_rate(sk, ca->nominal_bw, ca->gain, 100);
	bw = c4_window(ca);
	tcp_snd_cwnd_set(tp, min(max(bw, C4_MIN_CWND), tp->snd_cwnd_clamp));
}

CC_PROG(void, c4_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct c4 *ca = inet_csk_ca(sk);

	*ca = (struct c4){ .nominal_max_rtt_us = tp->srtt_us >> 3 };
	ca->running_min_rtt_us = ca->nominal_max_rtt_us;
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->gain = C4_INITIAL_GAIN;
	c4_enter(sk, C4_INITIAL, C4_INITIAL_GAIN);
	sk->sk_pacing_rate = cc_first_rate(sk, C4_INITIAL_GAIN, 100);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_PROG(u32, c4_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_PROG(u32, c4_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(c4_00) = {
	.init		= CC_CB(c4_init),
	.cong_control	= CC_CB(c4_cong_control),
	.ssthresh	= CC_CB(c4_ssthresh),
	.undo_cwnd	= CC_CB(c4_undo_cwnd),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "c4-00",
};

CC_DESCRIBE(c4_00,
	.summary = "for real-time media: probes for its rate by pushes, tolerates jitter (2025)",
	CC_HAS_PARAMETERS(c4_00),
	CC_HAS_PHASES(c4_00)
);
