// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Fixed: a constant window of a given size.
 *
 * This is not congestion control. Fixed keeps the window constant for tests and
 * benchmarks that need a constant window, and fills a path without reacting to it.
 * Unlike reno, it neither grows nor reduces its window; only the recovery of the
 * endpoint (PRR, one segment after a timeout) reduces the window for a while.
 */
#include "cc.h"

#define FIXED_PARAMETERS(P)						\
	P(window_pkts, "packets", 100, 1, 1000000, "size of the constant window")

CC_PARAMETERS(fixed, FIXED_PARAMETERS);

CC_PROG(void, fixed_init, struct sock *sk)
{
	tcp_snd_cwnd_set(tcp_sk(sk), cc_params(sk)->window_pkts);
	tcp_sk(sk)->snd_ssthresh = cc_params(sk)->window_pkts;
}

CC_PROG(void, fixed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	(void)ack;
	(void)acked;
	tcp_snd_cwnd_set(tcp_sk(sk), cc_params(sk)->window_pkts);
}

CC_PROG(u32, fixed_ssthresh, struct sock *sk)
{
	return max(cc_params(sk)->window_pkts, 2u);
}

CC_PROG(u32, fixed_undo_cwnd, struct sock *sk)
{
	return cc_params(sk)->window_pkts;
}

CC_OPS(fixed) = {
	.init		= CC_CB(fixed_init),
	.ssthresh	= CC_CB(fixed_ssthresh),
	.cong_avoid	= CC_CB(fixed_cong_avoid),
	.undo_cwnd	= CC_CB(fixed_undo_cwnd),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "fixed",
};

CC_DESCRIBE(fixed,
	.summary = "constant window, without congestion control, for tests and benchmarks",
	CC_HAS_PARAMETERS(fixed)
);
