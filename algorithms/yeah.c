// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * YeAH, Yet Another High-speed TCP, as Linux 6.1 behaves.
 *
 * YeAH behaves like Scalable TCP while the queue is short, and like Reno while the
 * queue is long. Once per round trip, with base, the lowest RTT so far, and rtt, the
 * lowest RTT of the round trip, it computes
 *
 *	Q = cwnd (rtt - base) / rtt	this flow's packets in the queue
 *	L = (rtt - base) / base		congestion of the network
 *
 * The mode Fast, with Q <= alpha and L <= 1/phy, adds one packet for each 100
 * acknowledged packets (or for each acknowledged window, if the window is smaller).
 * The mode Slow adds one packet per round trip; if Q is above alpha, Slow also
 * reduces the window at once by Q, at most by half (decongestion).
 *
 * A competing Reno flow would fill the space that decongestion frees, and keep YeAH
 * in Slow. YeAH therefore estimates the window that Reno would have: reno_cwnd
 * starts at half of the window and grows by one packet in each round trip of Slow.
 * Decongestion does not reduce the window below reno_cwnd. More than zeta round
 * trips of Fast reset reno_cwnd. A loss reduces the window by Q, by at least an
 * eighth and at most half; after rho consecutive round trips of Slow, with greedy
 * competing flows, a loss halves the window.
 *
 *   +------------+ cwnd >= ssthresh  +--------+ Q > alpha or L > 1/phy +--------+
 *   | slow start |------------------>|  fast  |----------------------->|  slow  |
 *   +------------+                   +--------+<-----------------------+--------+
 *         ^                              |     Q <= alpha, L <= 1/phy   |     |
 *         |      timeout                 |                   Q > alpha, | ^   |
 *         +------------------------------+-----------+  cwnd >          v |   |
 *                                        |           |  reno_cwnd  +------------+
 *                                        |           +-------------| decongest  |
 *                                        |                         | cwnd -= Q  |
 *                                        +-------------------------+------------+
 *
 * Differs from Reno: the growth of Scalable TCP in Fast, the reduction by Q after a
 * loss, and decongestion.
 *
 * Decongestion in the paper reduces the window by all of Q and sets ssthresh to half
 * of the window. In Linux, it reduces the window by at most half (`epsilon`, 0 = by
 * all of Q) and sets ssthresh to the remaining window (`halve_ssthresh` selects the
 * behaviour of the paper).
 *
 * Paper: A. Baiocchi, A. Castellani, F. Vacirca, "YeAH-TCP: Yet Another Highspeed TCP",
 * PFLDnet 2007.
 */
#include "cc.h"

/* Initial value of Reno's window and of the count of Fast. */
#define YEAH_LEAST_RENO	2u

/* Maximum of a counter, far above any rho. */
#define YEAH_MOST_ROUNDS	0xffffffu

#define YEAH_PARAMETERS(P)							\
	P(alpha, "packets", 80, 0, 1000000,					\
	  "queued packets (Q) above which the mode Slow reduces the window")	\
	P(phy, "", 8, 1, 1000000,						\
	  "the mode is Slow if the relative delay L is above 1/phy")		\
	P(gamma, "", 1, 1, 1000000,						\
	  "decongestion reduces the window by Q / gamma")			\
	P(epsilon, "", 1, 0, 31,						\
	  "decongestion takes at most window / 2^epsilon, 0 = no limit")	\
	P(halve_ssthresh, "bool", 0, 0, 1,					\
	  "decongestion sets ssthresh to half the window, not to the window")	\
	P(delta, "", 3, 0, 31,							\
	  "a loss reduces the window by at least window / 2^delta")		\
	P(rho, "round trips", 16, 0, 1000000,					\
	  "consecutive rounds of Slow after which a loss halves the window")	\
	P(zeta, "round trips", 50, 0, 1000000,					\
	  "rounds of Fast after which the estimate of Reno's window is reset")	\
	P(scalable_pkts, "packets", 100, 1, 1000000,				\
	  "acknowledged packets that add one packet to the window in Fast")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(yeah, YEAH_PARAMETERS);

#define YEAH_PHASES(P)								\
	P(YEAH_SLOW_START, "slow_start")					\
	P(YEAH_FAST, "fast")							\
	P(YEAH_SLOW, "slow")							\
	P(YEAH_DECONGEST, "decongest")

CC_PHASES(yeah, YEAH_PHASES);

struct yeah {
	struct cc_delay rtt;
	u32 round_end;	/* the round ends when data beyond this is acknowledged */
	u32 queue;	/* Q of the last round, packets */
	u32 slow_rounds;	/* consecutive rounds of Slow; 0 in Fast */
	u32 fast_rounds;	/* rounds of Fast since the last loss, up to zeta */
	u32 reno_cwnd;	/* the window that Reno would have, packets */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct yeah);
CC_STATE(struct cc_search);

CC_INLINE void yeah_start_round(struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);

	ca->round_end = tcp_sk(sk)->snd_nxt;
	cc_delay_start_round(&ca->rtt);
}

CC_INLINE void yeah_forget_path(struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);

	cc_delay_init(&ca->rtt);
	yeah_start_round(sk);
}

CC_PROG(void, yeah_init, struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);

	yeah_forget_path(sk);
	ca->queue = 0;
	ca->slow_rounds = 0;
	ca->fast_rounds = 0;
	ca->reno_cwnd = YEAH_LEAST_RENO;
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, yeah_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	/* After an idle period, the path may have changed. */
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		yeah_forget_path(sk);
}

CC_PROG(void, yeah_set_state, struct sock *sk, u8 new_state)
{
	/* RTTs during a recovery are not representative; a new round follows. */
	if (new_state == TCP_CA_Open)
		yeah_start_round(sk);
}

CC_PROG(void, yeah_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct yeah *ca = inet_csk_ca(sk);

	cc_delay_take(&ca->rtt, sample);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

/* Removes the packets in the queue from the window, down to Reno's window. */
CC_INLINE void yeah_decongest(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 excess = min(div_u32(ca->queue, cc_params(sk)->gamma),
			 cwnd >> (cc_params(sk)->epsilon & 31));

	cwnd = max(cwnd - excess, ca->reno_cwnd);
	tcp_snd_cwnd_set(tp, cwnd);
	tp->snd_ssthresh = cc_params(sk)->halve_ssthresh ? max(cwnd >> 1, 2u) : cwnd;
}

CC_INLINE void yeah_go_slow(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *ca = inet_csk_ca(sk);

	if (ca->queue > cc_params(sk)->alpha && tcp_snd_cwnd(tp) > ca->reno_cwnd) {
		yeah_decongest(sk);
		cc_phase(sk, YEAH_DECONGEST);
	}
	if (ca->reno_cwnd <= YEAH_LEAST_RENO)
		ca->reno_cwnd = max(tcp_snd_cwnd(tp) >> 1, YEAH_LEAST_RENO);
	else
		ca->reno_cwnd++;
	ca->slow_rounds = min(ca->slow_rounds + 1, YEAH_MOST_ROUNDS);
}

CC_INLINE void yeah_go_fast(struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);

	ca->slow_rounds = 0;
	ca->fast_rounds++;
	if (ca->fast_rounds > cc_params(sk)->zeta) {
		ca->reno_cwnd = YEAH_LEAST_RENO;
		ca->fast_rounds = 0;
	}
}

CC_INLINE void yeah_end_round(struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);
	u32 queueing_us = cc_delay_queueing_us(&ca->rtt);
	u64 waiting = (u64)tcp_snd_cwnd(tcp_sk(sk)) * queueing_us;

	ca->queue = (u32)div_u64(waiting, ca->rtt.least_us);
	if (ca->queue > cc_params(sk)->alpha ||
	    queueing_us > div_u32(ca->rtt.base_us, cc_params(sk)->phy))
		yeah_go_slow(sk);
	else
		yeah_go_fast(sk);
}

CC_INLINE void yeah_grow(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct yeah *ca = inet_csk_ca(sk);
	u32 pkts;

	if (tcp_in_slow_start(tp)) {
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	pkts = tcp_snd_cwnd(tp);
	if (!ca->slow_rounds)
		pkts = min(pkts, cc_params(sk)->scalable_pkts);
	tcp_cong_avoid_ai(tp, pkts, acked);
}

CC_PROG(void, yeah_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct yeah *ca = inet_csk_ca(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	yeah_grow(sk, acked);
	if (tcp_in_slow_start(tcp_sk(sk)))
		cc_phase(sk, YEAH_SLOW_START);
	else
		cc_phase(sk, ca->slow_rounds ? YEAH_SLOW : YEAH_FAST);
	if (!after(ack, ca->round_end))
		return;
	if (cc_delay_has_enough(&ca->rtt))
		yeah_end_round(sk);
	yeah_start_round(sk);
}

CC_PROG(u32, yeah_ssthresh, struct sock *sk)
{
	struct yeah *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 half = max(cwnd >> 1, 2u);
	u32 given_up = half;

	if (ca->slow_rounds < cc_params(sk)->rho)
		given_up = max(min(ca->queue, half), cwnd >> (cc_params(sk)->delta & 31));
	ca->fast_rounds = 0;
	ca->reno_cwnd = max(ca->reno_cwnd >> 1, YEAH_LEAST_RENO);
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max(cwnd - min(given_up, cwnd), 2u));
}

CC_PROG(u32, yeah_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(yeah) = {
	.init		= CC_CB(yeah_init),
	.ssthresh	= CC_CB(yeah_ssthresh),
	.cong_avoid	= CC_CB(yeah_cong_avoid),
	.undo_cwnd	= CC_CB(yeah_undo_cwnd),
	.set_state	= CC_CB(yeah_set_state),
	.cwnd_event	= CC_CB(yeah_cwnd_event),
	.pkts_acked	= CC_CB(yeah_pkts_acked),
	.name		= "yeah",
};

CC_DESCRIBE(yeah,
	.summary = "Scalable TCP while the queue is short, Reno while it is long (Baiocchi 2007)",
	CC_HAS_PARAMETERS(yeah),
	CC_HAS_PHASES(yeah)
);
