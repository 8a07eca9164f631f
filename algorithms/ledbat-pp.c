// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * LEDBAT++: congestion control for background traffic, which keeps the queueing
 * delay below 60 ms and gives way to all other traffic.
 *
 * The queueing delay is the lowest of the last four RTTs minus the lowest RTT of ten
 * minutes. While this delay is below the target, the window grows by GAIN packets
 * per round trip; above the target, it shrinks in proportion to the window and to
 * the excess, by at most half per round trip. GAIN is 1 / min(16, ceil(2 target /
 * base RTT)). A flow that starts late would measure the queue of other flows as part
 * of the base RTT. Each flow therefore reduces its window to two packets for two
 * round trips, once after slow start and then periodically for a tenth of the time,
 * so all flows can measure the empty path.
 *
 *   +------------+  delay > 3/4 target  +-----------+  after 2 RTT, then   +----------+
 *   | slow start |--------------------->| avoidance |--------------------->| slowdown |
 *   +------------+                      +-----------+  9 times its length  +----------+
 *         |  loss                         ^     ^                            | 2 RTT at
 *         +-------------------------------+     |  cwnd = ssthresh           v 2 packets
 *                                            +---------+<--------------------+
 *                                  timeout ->| ramp-up |
 *                                            +---------+
 *
 * Differs from Reno: growth in slow start and congestion avoidance is multiplied by
 * GAIN; the delay reduces the window; a loss halves it, as in Reno.
 *
 * Papers: P. Balasubramanian, O. Ertugay, D. Havey, M. Bagnulo, "LEDBAT++:
 * Congestion Control for Background Traffic", draft-irtf-iccrg-ledbat-plus-plus-06,
 * January 2026, section 4; RFC 6817 for the filters. This implementation was written
 * from memory of the draft, and compared with what the documentation of another
 * implementation says of sections 4.1 to 4.5 of version 01. The base RTT is a sliding
 * minimum over ten minutes, not one of ten minima over one minute each.
 */
#include "cc.h"

#define LEDBAT_PP_MIN_CWND	2u
#define LEDBAT_PP_MAX_DIVISOR	16u
#define LEDBAT_PP_BASE_MS	600000u	/* RFC 6817 section 2.4.2: ten minutes */
#define LEDBAT_PP_ROUNDS	2u	/* rounds at two packets, and before the first slowdown */
#define LEDBAT_PP_SHARE		9u	/* times the last slowdown, until the next */
#define LEDBAT_PP_SHIFT		24	/* scale of the credit's fractions of a packet */

#define LEDBAT_PP_PARAMETERS(P)							\
	P(target, "ms", 60, 1, 1000, "target of the queueing delay")		\
	P(slowdowns, "bool", 1, 0, 1,						\
	  "reduce the window to 2 packets periodically to measure the base RTT")

CC_PARAMETERS(ledbat_pp, LEDBAT_PP_PARAMETERS);

#define LEDBAT_PP_PHASES(P)					\
	P(LEDBAT_PP_SLOW_START, "slow_start")			\
	P(LEDBAT_PP_AVOIDANCE, "avoidance")			\
	P(LEDBAT_PP_SLOWDOWN, "slowdown")			\
	P(LEDBAT_PP_RAMP_UP, "ramp_up")

CC_PHASES(ledbat_pp, LEDBAT_PP_PHASES);

struct ledbat_pp {
	struct minmax base;		/* us, over ms */
	u32 recent_us[4];		/* RFC 6817 section 2.4.2: the last samples, newest first */
	u32 credit;			/* fraction of the window, 2^-24 packets */
	u32 slowdown_ms;		/* start of the next slowdown, or of the current one */
	u32 quiet_until_ms;		/* end of the time at two packets */
	u32 resume_cwnd;		/* window at which a ramp-up ends, packets */
	u8 phase;			/* LEDBAT_PP_* */
	bool has_rtt;
	bool is_slowing;		/* the ramp-up belongs to a slowdown */
	bool has_plan;			/* slowdown_ms is set */
};

CC_PRIV_CHECK(struct ledbat_pp);

CC_INLINE void ledbat_pp_enter(struct sock *sk, u8 phase)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	ca->phase = phase;
	cc_phase(sk, phase);
}

/* Whether the window is small only temporarily. */
CC_INLINE bool ledbat_pp_returns(const struct ledbat_pp *ca)
{
	return ca->phase == LEDBAT_PP_SLOWDOWN || ca->phase == LEDBAT_PP_RAMP_UP;
}

CC_INLINE u32 ledbat_pp_queueing_us(const struct ledbat_pp *ca)
{
	u32 recent = min(min(ca->recent_us[0], ca->recent_us[1]),
			 min(ca->recent_us[2], ca->recent_us[3]));
	u32 base = minmax_get(&ca->base);

	return recent > base ? recent - base : 0;
}

/* 1 / GAIN */
CC_INLINE u32 ledbat_pp_divisor(const struct sock *sk)
{
	const struct ledbat_pp *ca = inet_csk_ca(sk);
	u32 base_us = max(minmax_get(&ca->base), 1u);
	u32 twice_us = 2 * (u32)cc_params(sk)->target * USEC_PER_MSEC;

	return min(div_u32(twice_us + base_us - 1, base_us), LEDBAT_PP_MAX_DIVISOR);
}

/* Moves the window by fractions of a packet, to at least two packets. */
CC_INLINE void ledbat_pp_move(struct sock *sk, u64 up, u64 down)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);
	u64 window = ((u64)tcp_snd_cwnd(tp) << LEDBAT_PP_SHIFT) + ca->credit + up;
	u64 least = (u64)LEDBAT_PP_MIN_CWND << LEDBAT_PP_SHIFT;

	window = window > least + down ? window - down : least;
	ca->credit = (u32)(window & ((1u << LEDBAT_PP_SHIFT) - 1));
	window = min(window >> LEDBAT_PP_SHIFT, (u64)tp->snd_cwnd_clamp);
	tcp_snd_cwnd_set(tp, (u32)window);
}

/* Converts acknowledged packets, with a limit so that products fit into 64 bits. */
CC_INLINE u64 ledbat_pp_packets(u32 acked)
{
	return (u64)min(acked, 1u << 16) << LEDBAT_PP_SHIFT;
}

CC_INLINE void ledbat_pp_grow(struct sock *sk, u32 acked, u32 divisor)
{
	if (tcp_is_cwnd_limited(sk))
		ledbat_pp_move(sk, div_u64(ledbat_pp_packets(acked), divisor), 0);
}

/*
 * Adds GAIN per round trip, or subtracts the window times the relative excess, at
 * most half.
 */
CC_INLINE void ledbat_pp_avoid(struct sock *sk, u32 acked, u32 divisor, u32 queueing_us)
{
	u32 target_us = (u32)cc_params(sk)->target * USEC_PER_MSEC;
	u64 packets = ledbat_pp_packets(acked), excess;

	divisor *= max(tcp_snd_cwnd(tcp_sk(sk)), 1u);
	if (queueing_us < target_us) {
		ledbat_pp_grow(sk, acked, divisor);
		return;
	}
	excess = (u64)(queueing_us - target_us) * acked << 16;
	excess = div_u64(excess, target_us) << (LEDBAT_PP_SHIFT - 16);
	ledbat_pp_move(sk, div_u64(packets, divisor), min(excess, packets / 2));
}

CC_INLINE void ledbat_pp_plan_slowdown(struct sock *sk, u32 wait_ms)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	ca->slowdown_ms = cc_now_ms(sk) + wait_ms;
	ca->has_plan = true;
}

CC_INLINE u32 ledbat_pp_rounds_ms(const struct sock *sk)
{
	return LEDBAT_PP_ROUNDS * max((tcp_sk(sk)->srtt_us >> 3) / (u32)USEC_PER_MSEC, 1u);
}

CC_INLINE void ledbat_pp_leave_slow_start(struct sock *sk)
{
	tcp_sk(sk)->snd_ssthresh = max(tcp_snd_cwnd(tcp_sk(sk)), LEDBAT_PP_MIN_CWND);
	ledbat_pp_enter(sk, LEDBAT_PP_AVOIDANCE);
	ledbat_pp_plan_slowdown(sk, ledbat_pp_rounds_ms(sk));
}

CC_INLINE void ledbat_pp_begin_slowdown(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);

	ca->resume_cwnd = max(tcp_snd_cwnd(tp), LEDBAT_PP_MIN_CWND);
	tp->snd_ssthresh = ca->resume_cwnd;
	tcp_snd_cwnd_set(tp, LEDBAT_PP_MIN_CWND);
	ca->credit = 0;
	ca->is_slowing = true;
	ca->slowdown_ms = cc_now_ms(sk);
	ca->quiet_until_ms = ca->slowdown_ms + ledbat_pp_rounds_ms(sk);
	ledbat_pp_enter(sk, LEDBAT_PP_SLOWDOWN);
}

CC_INLINE void ledbat_pp_end_ramp_up(struct sock *sk)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	ledbat_pp_enter(sk, LEDBAT_PP_AVOIDANCE);
	if (ca->is_slowing)
		ledbat_pp_plan_slowdown(sk, LEDBAT_PP_SHARE * (cc_now_ms(sk) - ca->slowdown_ms));
	else if (!ca->has_plan)
		ledbat_pp_plan_slowdown(sk, ledbat_pp_rounds_ms(sk));
	ca->is_slowing = false;
}

CC_PROG(void, ledbat_pp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct ledbat_pp *ca = inet_csk_ca(sk);
	u32 queueing_us, divisor, target_us = (u32)cc_params(sk)->target * USEC_PER_MSEC;

	(void)ack;
	if (!ca->has_rtt)
		return;
	queueing_us = ledbat_pp_queueing_us(ca);
	divisor = ledbat_pp_divisor(sk);
	switch (ca->phase) {
	case LEDBAT_PP_SLOW_START:
		if (queueing_us > target_us / 4 * 3 || !tcp_in_slow_start(tp))
			ledbat_pp_leave_slow_start(sk);
		else
			ledbat_pp_grow(sk, acked, divisor);
		return;
	case LEDBAT_PP_SLOWDOWN:
		if (before(cc_now_ms(sk), ca->quiet_until_ms))
			return;
		ledbat_pp_enter(sk, LEDBAT_PP_RAMP_UP);
		return;
	case LEDBAT_PP_RAMP_UP:
		if (tcp_snd_cwnd(tp) < ca->resume_cwnd)
			ledbat_pp_grow(sk, acked, divisor);
		if (tcp_snd_cwnd(tp) >= ca->resume_cwnd)
			ledbat_pp_end_ramp_up(sk);
		return;
	default:
		if (cc_params(sk)->slowdowns && ca->has_plan &&
		    !before(cc_now_ms(sk), ca->slowdown_ms))
			ledbat_pp_begin_slowdown(sk);
		else
			ledbat_pp_avoid(sk, acked, divisor, queueing_us);
	}
}

CC_PROG(void, ledbat_pp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = max((u32)sample->rtt_us, 1u);
	if (ca->has_rtt) {
		minmax_running_min(&ca->base, LEDBAT_PP_BASE_MS, cc_now_ms(sk), rtt_us);
	} else {
		ca->has_rtt = true;
		minmax_reset(&ca->base, cc_now_ms(sk), rtt_us);
		ca->recent_us[0] = ca->recent_us[1] = ca->recent_us[2] = rtt_us;
	}
	/* Elements are moved, because the kernel's verifier rejects a computed index. */
	ca->recent_us[3] = ca->recent_us[2];
	ca->recent_us[2] = ca->recent_us[1];
	ca->recent_us[1] = ca->recent_us[0];
	ca->recent_us[0] = rtt_us;
}

CC_PROG(void, ledbat_pp_init, struct sock *sk)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	*ca = (struct ledbat_pp){ .phase = LEDBAT_PP_SLOW_START };
	cc_phase(sk, ca->phase);
}

CC_PROG(void, ledbat_pp_set_state, struct sock *sk, u8 new_state)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->credit = 0;
	if (!ledbat_pp_returns(ca))
		ca->resume_cwnd = tcp_sk(sk)->snd_ssthresh;
	ledbat_pp_enter(sk, LEDBAT_PP_RAMP_UP);
}

/* Half of the window, and half of the one that will be restored. */
CC_PROG(u32, ledbat_pp_ssthresh, struct sock *sk)
{
	struct ledbat_pp *ca = inet_csk_ca(sk);

	if (ledbat_pp_returns(ca))
		ca->resume_cwnd = max(ca->resume_cwnd / 2, LEDBAT_PP_MIN_CWND);
	return max(tcp_snd_cwnd(tcp_sk(sk)) / 2, LEDBAT_PP_MIN_CWND);
}

CC_PROG(u32, ledbat_pp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(ledbat_pp) = {
	.init		= CC_CB(ledbat_pp_init),
	.ssthresh	= CC_CB(ledbat_pp_ssthresh),
	.cong_avoid	= CC_CB(ledbat_pp_cong_avoid),
	.pkts_acked	= CC_CB(ledbat_pp_pkts_acked),
	.set_state	= CC_CB(ledbat_pp_set_state),
	.undo_cwnd	= CC_CB(ledbat_pp_undo_cwnd),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "ledbat-pp",
};

CC_DESCRIBE(ledbat_pp,
	.aliases = "ledbat++",
	.summary = "background traffic: keeps the queue below 60 ms, gives way to other "
		   "flows (2026)",
	CC_HAS_PARAMETERS(ledbat_pp),
	CC_HAS_PHASES(ledbat_pp)
);
