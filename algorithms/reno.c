// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reno: the standard window, RFC 5681.
 *
 * In slow start, each acknowledged packet adds one packet to the window, so the
 * window doubles in each round trip. In congestion avoidance, each acknowledged
 * window adds one packet. A loss halves the window. The recovery of the endpoint
 * (Tahoe, Reno, NewReno, SACK), not the algorithm, decides what happens between a
 * loss and its repair. `slow_start` selects a method that ends slow start earlier
 * (cc_slow_start.h).
 *
 *   +------------+   cwnd >= ssthresh   +----------------------+
 *   | slow start |--------------------->| congestion avoidance |
 *   +------------+                      +----------------------+
 *         ^     timeout: cwnd = 1, ssthresh = half  |    ^  | loss: cwnd =
 *         +-----------------------------------------+    +--+ ssthresh = half
 *
 * Papers: V. Jacobson, "Congestion Avoidance and Control", SIGCOMM 1988;
 * RFC 5681 (the rules), RFC 3465 (counting acknowledged packets, not ACKs).
 */
#include "cc.h"

#define RENO_PARAMETERS(P) CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(reno, RENO_PARAMETERS);

#define RENO_PHASES(P)						\
	P(RENO_SLOW_START, "slow_start")			\
	P(RENO_AVOIDANCE, "avoidance")

CC_PHASES(reno, RENO_PHASES);

struct reno {
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct reno);
CC_STATE(struct cc_search);

CC_PROG(void, reno_init, struct sock *sk)
{
	struct reno *ca = inet_csk_ca(sk);

	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct reno *ca = inet_csk_ca(sk);

	(void)ack;
	cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
	cc_phase(sk, tcp_in_slow_start(tp) ? RENO_SLOW_START : RENO_AVOIDANCE);
}

CC_PROG(u32, reno_ssthresh, struct sock *sk)
{
	struct reno *ca = inet_csk_ca(sk);

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      tcp_reno_ssthresh(sk));
}

CC_PROG(u32, reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_PROG(void, reno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct reno *ca = inet_csk_ca(sk);

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_OPS(reno) = {
	.init		= CC_CB(reno_init),
	.ssthresh	= CC_CB(reno_ssthresh),
	.cong_avoid	= CC_CB(reno_cong_avoid),
	.undo_cwnd	= CC_CB(reno_undo_cwnd),
	.pkts_acked	= CC_CB(reno_pkts_acked),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "reno",
};

CC_DESCRIBE(reno,
	.summary = "grows by one packet per round trip, halves the window at a loss (RFC 5681)",
	CC_HAS_PARAMETERS(reno),
	CC_HAS_PHASES(reno)
);
