// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Compound TCP, draft-sridharan-tcpm-ctcp-02, introduced with Windows Vista.
 *
 * The window is the sum of the loss window, which behaves like Reno's, and of a
 * delay window, which fills a fast path quickly. Once per round trip, the number of
 * packets in the queue is estimated, as in Vegas:
 *
 *	diff = win (1 - base RTT / smoothed RTT).
 *
 * Below gamma packets, the delay window grows by win^0.75 / 8 - 1, so the sum
 * follows the response function of HighSpeed TCP. From gamma on, the delay window
 * shrinks by diff, at most to zero; then only the loss window is left. A loss halves
 * both windows. Up to 38 packets, Compound behaves like Reno. gamma adapts to the
 * queue that Reno alone would leave: at each loss, three quarters of the loss
 * window's share of the queue enter a moving average, limited to 5 to 30 packets.
 *
 *   +------------+ cwnd >= ssthresh  +----------+ win > 38  +---------+
 *   | slow start |------------------>| standard |---------->| growing |<--+
 *   | no delay   |                   |          |           +---------+   |
 *   | window     |                   |          |   diff >= gamma |       | diff <
 *   +------------+                   |          |<----+     +-----v----+  | gamma
 *         ^                          +----------+     +-----| yielding |--+
 *         |      timeout                |          win <= 38 +---------+
 *         +-----------------------------+-- (from any)
 *
 * Differs from Reno: the delay window.
 *
 * Papers: M. Sridharan, K. Tan, D. Bansal, D. Thaler, "Compound TCP",
 * draft-sridharan-tcpm-ctcp-02, 2008; K. Tan, J. Song, Q. Zhang, M. Sridharan, "A
 * Compound TCP Approach for High-speed and Long Distance Networks", INFOCOM 2006.
 * Equation 3 of the draft contains the power of the delay window instead of the
 * power of the sum; with it, the delay window could never leave zero. The equation
 * of the paper is used instead, from which the response function in the draft
 * follows. The draft specifies no value for lambda. Windows takes a few RTT samples
 * per round trip; here, all samples enter the smoothed RTT.
 */
#include "cc.h"

/* The delay window, diff and gamma are in 1/256 packet. */
#define COMPOUND_SHIFT		8
#define COMPOUND_ONE		(1u << COMPOUND_SHIFT)

/* alpha, beta and lambda are in 1/1024. */
#define COMPOUND_SHARE_SHIFT	10
#define COMPOUND_SHARE		(1u << COMPOUND_SHARE_SHIFT)

/* The queue if no round trip has measured it since the last loss. */
#define COMPOUND_UNKNOWN	(~0u)

/* Maximum delay window, packets: fits into 32 bits in 1/256. */
#define COMPOUND_DWND_MAX	0xffffffull

#define COMPOUND_PARAMETERS(P)							\
	P(alpha, "1/1024", 128, 1, 1024,					\
	  "factor of the delay window's growth: alpha win^0.75")		\
	P(beta, "1/1024", 512, 1, 1023,						\
	  "share by which a loss reduces the window")				\
	P(low_window, "packets", 38, 0, 0xffff,					\
	  "up to this window, growth and reduction are Reno's")			\
	P(gamma_autotune, "bool", 1, 0, 1,					\
	  "adapt gamma to the queue that Reno alone would leave")		\
	P(gamma, "packets", 30, 1, 0xffff,					\
	  "number of queued packets from which the delay window shrinks")	\
	P(gamma_low, "packets", 5, 1, 0xffff, "minimum of the adapted gamma")	\
	P(gamma_high, "packets", 30, 1, 0xffff, "maximum of the adapted gamma")	\
	P(lambda, "1/1024", 256, 1, 1024,					\
	  "weight of the most recent loss in the adapted gamma")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(compound, COMPOUND_PARAMETERS);

#define COMPOUND_PHASES(P)							\
	P(COMPOUND_SLOW_START, "slow_start")					\
	P(COMPOUND_STANDARD, "standard")					\
	P(COMPOUND_GROWING, "growing")						\
	P(COMPOUND_YIELDING, "yielding")

CC_PHASES(compound, COMPOUND_PHASES);

struct compound {
	u32 dwnd;		/* delay window, 1/256 packet */
	u32 prior_dwnd;		/* value before the last loss, 1/256 packet */
	u32 gamma;		/* 1/256 packet */
	u32 diff_reno;		/* the loss window's part of the queue, 1/256 packet */
	u32 base_rtt_us;	/* lowest RTT since the last timeout, ~0 = none */
	u32 round_end;		/* the round ends when this is acknowledged */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct compound);
CC_STATE(struct cc_search);

/* The delay window, minus a packet that is left to the loss window. */
CC_INLINE u32 compound_dwnd_pkts(const struct sock *sk)
{
	const struct compound *ca = inet_csk_ca(sk);

	return min(ca->dwnd >> COMPOUND_SHIFT, max(tcp_snd_cwnd(tcp_sk(sk)), 1u) - 1);
}

CC_PROG(void, compound_init, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);

	*ca = (struct compound){
		.gamma = cc_params(sk)->gamma << COMPOUND_SHIFT,
		.diff_reno = COMPOUND_UNKNOWN,
		.base_rtt_us = ~0u,
		.round_end = tcp_sk(sk)->snd_nxt,
	};
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* The part of a window of this many packets that is in the queue, 1/256 packet. */
CC_INLINE u32 compound_queued(const struct sock *sk, u32 packets)
{
	const struct compound *ca = inet_csk_ca(sk);
	u32 srtt_us = tcp_sk(sk)->srtt_us >> 3;

	if (srtt_us <= ca->base_rtt_us)
		return 0;
	return (u32)min(div_u64(((u64)packets << COMPOUND_SHIFT) * (srtt_us - ca->base_rtt_us),
				srtt_us),
			(u64)COMPOUND_UNKNOWN - 1);
}

/* alpha win^0.75 - 1, at least 0, 1/256 packet. */
CC_INLINE u64 compound_growth(const struct sock *sk, u32 win)
{
	u64 root = cc_sqrt64((u64)win << 32);			/* in 2^-16 */
	u64 power = cc_sqrt64(min(win, 0x7fffffffu) * root);	/* in 2^-8 */
	u64 growth = (power * cc_params(sk)->alpha) >> COMPOUND_SHARE_SHIFT;

	return growth > COMPOUND_ONE ? growth - COMPOUND_ONE : 0;
}

/* Ends a round: equations 3 and 4. */
CC_INLINE void compound_end_round(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);
	u32 win = tcp_snd_cwnd(tp);
	u32 loss_window = win - compound_dwnd_pkts(sk);
	u32 diff = compound_queued(sk, win);

	ca->diff_reno = compound_queued(sk, loss_window);
	if (win <= cc_params(sk)->low_window) {
		ca->dwnd = 0;
		cc_phase(sk, COMPOUND_STANDARD);
		return;
	}
	if (diff < ca->gamma) {
		ca->dwnd = (u32)min(ca->dwnd + compound_growth(sk, win),
				    COMPOUND_DWND_MAX << COMPOUND_SHIFT);
		cc_phase(sk, COMPOUND_GROWING);
	} else {
		ca->dwnd -= min(ca->dwnd, diff);
		cc_phase(sk, COMPOUND_YIELDING);
	}
	tcp_snd_cwnd_set(tp, min(loss_window + (ca->dwnd >> COMPOUND_SHIFT),
				 tp->snd_cwnd_clamp));
	/* yielding must not lead to slow start */
	tp->snd_ssthresh = min(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

CC_PROG(void, compound_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct compound *ca = inet_csk_ca(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		ca->dwnd = 0;
		ca->round_end = tp->snd_nxt;
		cc_phase(sk, COMPOUND_SLOW_START);
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	/* equation 2: one packet per round trip, regardless of the delay window */
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
	if (before(tp->snd_una, ca->round_end))
		return;
	ca->round_end = tp->snd_nxt;
	/* RTTs during a recovery do not represent the queue */
	if (CC_GET(inet_csk(sk), icsk_ca_state) == TCP_CA_Open)
		compound_end_round(sk);
}

CC_INLINE void compound_tune_gamma(struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);
	u64 lambda = min(cc_params(sk)->lambda, COMPOUND_SHARE);
	u64 sample = (u64)ca->diff_reno * 3 / 4;
	u64 gamma;

	if (!cc_params(sk)->gamma_autotune || ca->diff_reno == COMPOUND_UNKNOWN)
		return;
	gamma = ((COMPOUND_SHARE - lambda) * ca->gamma + lambda * sample) >> COMPOUND_SHARE_SHIFT;
	ca->gamma = (u32)clamp(gamma, (u64)cc_params(sk)->gamma_low << COMPOUND_SHIFT,
			       (u64)cc_params(sk)->gamma_high << COMPOUND_SHIFT);
	ca->diff_reno = COMPOUND_UNKNOWN;
}

CC_PROG(u32, compound_ssthresh, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);
	u32 win = tcp_snd_cwnd(tcp_sk(sk));
	u32 loss_window = (win - compound_dwnd_pkts(sk)) >> 1;
	u32 rest = win - (u32)(((u64)win * cc_params(sk)->beta) >> COMPOUND_SHARE_SHIFT);

	compound_tune_gamma(sk);
	/* equation 5: the delay window compensates for the halved loss window */
	ca->prior_dwnd = ca->dwnd;
	ca->dwnd = 0;
	if (rest > loss_window && ca->prior_dwnd)
		ca->dwnd = (u32)min((u64)(rest - loss_window), COMPOUND_DWND_MAX)
			   << COMPOUND_SHIFT;
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max(loss_window + (ca->dwnd >> COMPOUND_SHIFT), 2u));
}

CC_PROG(void, compound_set_state, struct sock *sk, u8 new_state)
{
	struct compound *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->dwnd = 0;
	ca->base_rtt_us = ~0u;
}

CC_PROG(void, compound_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct compound *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0 && CC_GET(inet_csk(sk), icsk_ca_state) == TCP_CA_Open)
		ca->base_rtt_us = min(ca->base_rtt_us, (u32)sample->rtt_us);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_PROG(u32, compound_undo_cwnd, struct sock *sk)
{
	struct compound *ca = inet_csk_ca(sk);

	ca->dwnd = ca->prior_dwnd;
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(compound) = {
	.init		= CC_CB(compound_init),
	.ssthresh	= CC_CB(compound_ssthresh),
	.cong_avoid	= CC_CB(compound_cong_avoid),
	.set_state	= CC_CB(compound_set_state),
	.undo_cwnd	= CC_CB(compound_undo_cwnd),
	.pkts_acked	= CC_CB(compound_pkts_acked),
	.name		= "compound",
};

CC_DESCRIBE(compound,
	.summary = "Reno with a second window that grows while the queue is short (CTCP "
		   "of Windows)",
	.aliases = "winsock ctcp",
	CC_HAS_PARAMETERS(compound),
	CC_HAS_PHASES(compound)
);
