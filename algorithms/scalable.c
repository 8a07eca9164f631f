// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Scalable TCP, as Linux 6.1 behaves.
 *
 * The larger the window, the longer Reno needs to recover from a loss. Scalable TCP
 * adds a packet for every 100 acknowledged packets, and a loss reduces the window by
 * an eighth. Both are proportional to the window, so the recovery takes the same
 * number of round trips (13.4) at any rate.
 *
 *   +------------+ cwnd >= ssthresh  +----------+ cwnd > 100  +----------+
 *   | slow start |------------------>| standard |------------>| scalable |
 *   +------------+                   | 1 / cwnd |<------------|  1 / 100 |
 *         ^                          +----------+ cwnd <= 100 +----------+
 *         |      timeout                 |                         |
 *         +------------------------------+-------------------------+
 *
 * Differs from Reno: the growth above 100 packets; a loss reduces the window to 7/8
 * instead of half, whatever its size.
 *
 * In Kelly's paper, Scalable TCP behaves like Reno up to a legacy window (16
 * packets), including the halving at a loss, and is scalable above this window:
 * `legacy_window`. In Linux, the window grows by the faster of the two rules, and a
 * loss reduces a small window by an eighth as well.
 *
 * Papers: T. Kelly, "Scalable TCP: Improving Performance in Highspeed Wide Area
 * Networks", ACM SIGCOMM CCR 33(2), 2003; compared with HighSpeed TCP in RFC 3649.
 */
#include "cc.h"

#define SCALABLE_PARAMETERS(P)							\
	P(ai_cnt, "packets", 100, 1, 0x7fffffff,				\
	  "number of acknowledged packets that add one packet to the window, 1/a") \
	P(md_scale, "", 3, 1, 31,						\
	  "a loss reduces the window by cwnd / 2^md_scale")			\
	P(legacy_window, "packets", 0, 0, 0x7fffffff,				\
	  "grow as Reno up to this window; 0 = grow by the faster rule, as in Linux") \
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(scalable, SCALABLE_PARAMETERS);

#define SCALABLE_PHASES(P)							\
	P(SCALABLE_SLOW_START, "slow_start")					\
	P(SCALABLE_STANDARD, "standard")					\
	P(SCALABLE_SCALABLE, "scalable")

CC_PHASES(scalable, SCALABLE_PHASES);

struct scalable {
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct scalable);
CC_STATE(struct cc_search);

CC_PROG(void, scalable_init, struct sock *sk)
{
	struct scalable *ca = inet_csk_ca(sk);

	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* Whether the algorithm behaves like Reno at this window. */
CC_INLINE bool scalable_is_standard(const struct sock *sk, u32 cwnd)
{
	u32 legacy = cc_params(sk)->legacy_window;

	return cwnd <= (legacy ? legacy : cc_params(sk)->ai_cnt);
}

CC_PROG(void, scalable_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct scalable *ca = inet_csk_ca(sk);
	bool is_standard;

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, SCALABLE_SLOW_START);
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	is_standard = scalable_is_standard(sk, tcp_snd_cwnd(tp));
	cc_phase(sk, is_standard ? SCALABLE_STANDARD : SCALABLE_SCALABLE);
	tcp_cong_avoid_ai(tp, is_standard ? tcp_snd_cwnd(tp) : cc_params(sk)->ai_cnt, acked);
}

CC_PROG(u32, scalable_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	struct scalable *ca = inet_csk_ca(sk);
	u32 ssthresh = max(cwnd - (cwnd >> (cc_params(sk)->md_scale & 31)), 2u);

	if (cc_params(sk)->legacy_window && scalable_is_standard(sk, cwnd))
		ssthresh = tcp_reno_ssthresh(sk);
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start, ssthresh);
}

CC_PROG(u32, scalable_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_PROG(void, scalable_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct scalable *ca = inet_csk_ca(sk);

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_OPS(scalable) = {
	.init		= CC_CB(scalable_init),
	.ssthresh	= CC_CB(scalable_ssthresh),
	.cong_avoid	= CC_CB(scalable_cong_avoid),
	.undo_cwnd	= CC_CB(scalable_undo_cwnd),
	.pkts_acked	= CC_CB(scalable_pkts_acked),
	.name		= "scalable",
};

CC_DESCRIBE(scalable,
	.summary = "adds a packet per 100 acknowledged, drops an eighth of the window at "
		   "a loss (STCP)",
	.aliases = "stcp",
	CC_HAS_PARAMETERS(scalable),
	CC_HAS_PHASES(scalable)
);
