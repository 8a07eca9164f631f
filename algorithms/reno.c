// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Reno: the standard window, RFC 5681.
 *
 * Slow start: one packet for each acknowledged, so the window doubles in a round
 * trip. Congestion avoidance: one packet for each window acknowledged. A loss
 * halves the window. What happens between loss and its repair (Tahoe, Reno,
 * NewReno, SACK) is not the algorithm's: the endpoint's recovery decides it.
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

#define RENO_PHASES(P)						\
	P(RENO_SLOW_START, "slow_start")			\
	P(RENO_AVOIDANCE, "avoidance")

CC_PHASES(reno, RENO_PHASES);

CC_PROG(void, reno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	tcp_reno_cong_avoid(sk, ack, acked);
	cc_phase(sk, tcp_in_slow_start(tcp_sk(sk)) ? RENO_SLOW_START : RENO_AVOIDANCE);
}

CC_PROG(u32, reno_ssthresh, struct sock *sk)
{
	return tcp_reno_ssthresh(sk);
}

CC_PROG(u32, reno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(reno) = {
	.ssthresh	= CC_CB(reno_ssthresh),
	.cong_avoid	= CC_CB(reno_cong_avoid),
	.undo_cwnd	= CC_CB(reno_undo_cwnd),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "reno",
};

CC_DESCRIBE(reno,
	.summary = "one packet a round trip, half the window at a loss (RFC 5681)",
	CC_HAS_PHASES(reno)
);
