// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * BIC (binary increase congestion control), as Linux 6.1 behaves.
 *
 * The window at the last loss, W_max, is an estimate of what the path can hold. BIC
 * therefore searches for the present capacity between the window after the loss and
 * W_max: each round trip covers a share of the distance to W_max, at most 16
 * packets, and small steps at the end. Beyond W_max, the search runs in the opposite
 * direction, with small steps first. Up to 14 packets, BIC behaves like Reno.
 *
 *                                                     loss: W_max = cwnd
 *                                                     cwnd = 0.8 cwnd
 *                                                     from any of the four
 *                                                          |
 *   +------------+     +-----------------+ cwnd > 14  +----v-----+ W_max - cwnd
 *   | slow start |---->| below low       |----------->| additive | <= 64
 *   +------------+     | window, 1 a RTT |            | 16 a RTT |------+
 *         ^            +-----------------+            +----------+      v
 *         |                                  +-------------+  +---------------+
 *         |  timeout (all is forgotten)      | max probing |<-| binary search |
 *         +--------------------------------- | 0.2 .. 16   |  | 16 .. 0.2     |
 *                                            +-------------+  +---------------+
 *                                                 cwnd >= W_max
 *
 * Differs from Reno: the steps of growth; a loss reduces the window to 0.8 instead
 * of half.
 *
 * Papers: L. Xu, K. Harfoush, I. Rhee, "Binary Increase Congestion Control (BIC) for
 * Fast Long-Distance Networks", INFOCOM 2004. In the paper, a round trip covers half
 * of the distance (`search_divisor` 2; the steps beyond W_max then double, as in the
 * paper), at most 32 packets (`max_increment`), and a loss reduces the window by an
 * eighth (`beta` 896). Linux divides the growth by the packets that an ACK
 * acknowledges, as if it counted ACKs, but counts packets, so each step above is
 * twice as large there (`count_acks` 0 avoids this).
 */
#include "cc.h"

/* beta is in 1/1024. */
#define BIC_SHARE_SHIFT		10
#define BIC_SHARE		(1u << BIC_SHARE_SHIFT)

/* Before the first loss, W_max is unknown: at least one packet per 20 (5 % per RTT). */
#define BIC_PROBING_CNT		20u

/*
 * Mean number of packets per ACK over 16 ACKs, in 1/16. It starts at two and falls
 * only to 31/16, even if each ACK is for one packet, because the mean is truncated.
 */
#define BIC_RATIO_SHIFT		4
#define BIC_RATIO_START		(2u << BIC_RATIO_SHIFT)

/* Maximum count, for all larger ones. */
#define BIC_CNT_MAX		0x7fffffffull

#define BIC_PARAMETERS(P)							\
	P(fast_convergence, "bool", 1, 0, 1,					\
	  "after a loss below W_max, remember less than the window as W_max")	\
	P(max_increment, "packets", 16, 1, 0xffff,				\
	  "maximum growth of the window in a round trip")			\
	P(low_window, "packets", 14, 0, 0xffff,					\
	  "up to this window, growth and reduction are Reno's")			\
	P(beta, "1/1024", 819, 1, 1023,						\
	  "window after a loss, relative to the window before it")		\
	P(initial_ssthresh, "packets", 0, 0, 0x7fffffff,			\
	  "first slow start threshold, 0 = infinite")				\
	P(smooth_part, "round trips", 20, 1, 0xffff,				\
	  "time to grow by search_divisor packets around W_max")		\
	P(search_divisor, "", 4, 2, 64,						\
	  "each round trip goes 1 / search_divisor of the distance to W_max")	\
	P(count_acks, "bool", 1, 0, 1,						\
	  "divide by the packets that an ACK acknowledges; doubles every step")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(bic, BIC_PARAMETERS);

#define BIC_PHASES(P)								\
	P(BIC_SLOW_START, "slow_start")						\
	P(BIC_BELOW_LOW_WINDOW, "below_low_window")				\
	P(BIC_ADDITIVE, "additive")						\
	P(BIC_BINARY_SEARCH, "binary_search")					\
	P(BIC_MAX_PROBING, "max_probing")

CC_PHASES(bic, BIC_PHASES);

struct bic {
	u32 cnt;		/* acknowledged packets for one more packet */
	u32 last_max_cwnd;	/* W_max, packets, 0 = none since the last timeout */
	u32 last_cwnd;		/* window at the last update, packets */
	u32 last_time;		/* time of the last update, jiffies */
	u32 ack_ratio;		/* packets per ACK, 1/16 */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct bic);
CC_STATE(struct cc_search);

CC_INLINE void bic_forget(struct sock *sk)
{
	struct bic *ca = inet_csk_ca(sk);

	*ca = (struct bic){ .ack_ratio = BIC_RATIO_START };
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, bic_init, struct sock *sk)
{
	bic_forget(sk);
	if (cc_params(sk)->initial_ssthresh)
		tcp_sk(sk)->snd_ssthresh = cc_params(sk)->initial_ssthresh;
}

/* Acknowledged packets per additional packet, for steps / part packets per round trip. */
CC_INLINE u64 bic_cnt(u32 cwnd, u32 steps, u32 part)
{
	return (u64)cwnd * part / max(steps, 1u);
}

/* The growth at this distance of the window from W_max. */
CC_INLINE u64 bic_search(struct sock *sk, u32 cwnd)
{
	const struct bic *ca = inet_csk_ca(sk);
	u32 divisor = max(cc_params(sk)->search_divisor, 2u);
	u32 largest = cc_params(sk)->max_increment;
	u32 smooth = cc_params(sk)->smooth_part;

	if (cwnd < ca->last_max_cwnd) {
		u32 step = (ca->last_max_cwnd - cwnd) / divisor;

		cc_phase(sk, step > largest ? BIC_ADDITIVE : BIC_BINARY_SEARCH);
		if (step <= 1)
			return bic_cnt(cwnd, divisor, smooth);
		return bic_cnt(cwnd, min(step, largest), 1);
	} else {
		u32 beyond = cwnd - ca->last_max_cwnd;

		/* reverse search: each round trip adds 1/(divisor - 1) of the distance */
		cc_phase(sk, BIC_MAX_PROBING);
		if (beyond < divisor)
			return bic_cnt(cwnd, divisor, smooth);
		if (beyond < largest * (divisor - 1))
			return bic_cnt(cwnd, beyond, divisor - 1);
		return bic_cnt(cwnd, largest, 1);
	}
}

CC_INLINE void bic_update(struct sock *sk, u32 cwnd)
{
	struct bic *ca = inet_csk_ca(sk);
	u32 now = cc_jiffies32(sk);
	u64 cnt;

	/* No update for the same window within 1/32 s. */
	if (ca->last_cwnd == cwnd && (s32)(now - ca->last_time) <= (s32)(HZ / 32))
		return;
	ca->last_cwnd = cwnd;
	ca->last_time = now;

	if (cwnd <= cc_params(sk)->low_window) {
		cc_phase(sk, BIC_BELOW_LOW_WINDOW);
		ca->cnt = cwnd;
		return;
	}
	cnt = bic_search(sk, cwnd);
	if (!ca->last_max_cwnd)
		cnt = min(cnt, (u64)BIC_PROBING_CNT);
	if (cc_params(sk)->count_acks)
		cnt = div_u64(cnt << BIC_RATIO_SHIFT, ca->ack_ratio);
	ca->cnt = (u32)clamp(cnt, 1ull, BIC_CNT_MAX);
}

CC_PROG(void, bic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bic *ca = inet_csk_ca(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, BIC_SLOW_START);
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	bic_update(sk, tcp_snd_cwnd(tp));
	tcp_cong_avoid_ai(tp, ca->cnt, acked);
}

CC_PROG(u32, bic_ssthresh, struct sock *sk)
{
	struct bic *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 beta = cc_params(sk)->beta, ssthresh;

	/* a shrinking share indicates new flows: leave them some of it */
	if (cwnd < ca->last_max_cwnd && cc_params(sk)->fast_convergence)
		ca->last_max_cwnd =
			(u32)(((u64)cwnd * (BIC_SHARE + beta)) >> (BIC_SHARE_SHIFT + 1));
	else
		ca->last_max_cwnd = cwnd;
	ssthresh = max((u32)(((u64)cwnd * beta) >> BIC_SHARE_SHIFT), 2u);
	if (cwnd <= cc_params(sk)->low_window)
		ssthresh = tcp_reno_ssthresh(sk);
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start, ssthresh);
}

CC_PROG(u32, bic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_PROG(void, bic_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		bic_forget(sk);
}

CC_PROG(void, bic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct bic *ca = inet_csk_ca(sk);

	if (CC_GET(inet_csk(sk), icsk_ca_state) == TCP_CA_Open)
		ca->ack_ratio += sample->pkts_acked - (ca->ack_ratio >> BIC_RATIO_SHIFT);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_OPS(bic) = {
	.init		= CC_CB(bic_init),
	.ssthresh	= CC_CB(bic_ssthresh),
	.cong_avoid	= CC_CB(bic_cong_avoid),
	.set_state	= CC_CB(bic_set_state),
	.undo_cwnd	= CC_CB(bic_undo_cwnd),
	.pkts_acked	= CC_CB(bic_pkts_acked),
	.name		= "bic",
};

CC_DESCRIBE(bic,
	.summary = "binary search for the window of the last loss, slow probing beyond it",
	CC_HAS_PARAMETERS(bic),
	CC_HAS_PHASES(bic)
);
