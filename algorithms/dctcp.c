// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * DCTCP: reduces the window in proportion to the share of marked packets, RFC 8257.
 *
 * A switch marks each packet that arrives while more than K packets are queued. For
 * each round trip, the sender computes the share F of marked packets and averages
 * it:
 *
 *	alpha = (1 - g) alpha + g F
 *
 * An echo of a mark reduces the window by cwnd * alpha / 2, once per round trip;
 * only if all packets are marked, this is half of the window. The queue stays near K
 * with little jitter. For an exact F, the receiver must not let a delayed ACK hide
 * where a series of marks begins and ends:
 *
 *	     data without mark, ACK every m           data with mark, ACK every m
 *	          +-------+   mark: ACK what came before, ECE = 0   +-------+
 *	          | CE=0  |---------------------------------------->| CE=1  |
 *	     +--->|       |<----------------------------------------|       |<---+
 *	     |    +-------+ no mark: ACK what came before, ECE = 1  +-------+    |
 *	     +--------+                                                 +--------+
 *
 * Differs from Reno: the reduction after a mark, and the receiver above. A loss and
 * a timeout halve the window, and between reductions, the window grows as Reno's
 * does. Without ECN on the connection, DCTCP behaves like Reno. Both ends must use
 * DCTCP.
 *
 * Papers: M. Alizadeh et al., "Data Center TCP (DCTCP)", SIGCOMM 2010; RFC 8257. As
 * in Linux, F is a share of packets, not of bytes, and alpha becomes 0 when it falls
 * below 2^g / 1024.
 */
#include "cc.h"

/* alpha is in 1/1024. */
#define DCTCP_ALPHA_SHIFT	10
#define DCTCP_ALPHA_MAX		(1u << DCTCP_ALPHA_SHIFT)

#define DCTCP_PARAMETERS(P)							\
	P(shift_g, "", 4, 1, 10,						\
	  "g = 2^-shift_g, weight of the last round trip in alpha")		\
	P(alpha_on_init, "1/1024", 1024, 0, 1024,				\
	  "value of alpha before the first round trip ends")			\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(dctcp, DCTCP_PARAMETERS);

#define DCTCP_PHASES(P)						\
	P(DCTCP_SLOW_START, "slow_start")			\
	P(DCTCP_AVOIDANCE, "avoidance")

CC_PHASES(dctcp, DCTCP_PHASES);

struct dctcp {
	u32 round_end_seq;	/* the round trip ends when this is acknowledged */
	u32 delivered;		/* tp->delivered at the start of the round trip, packets */
	u32 delivered_ce;	/* tp->delivered_ce at the start of the round trip, packets */
	u32 alpha;		/* 1/1024 */
	u32 loss_cwnd;		/* window before the last reduction, packets */
	u32 prior_rcv_nxt;	/* receiver: rcv_nxt when the last data arrived */
	bool is_ce;		/* receiver: the last data was marked */
	bool is_ecn;		/* the connection has ECN */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct dctcp);
CC_STATE(struct cc_search);

CC_INLINE void dctcp_start_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);

	ca->round_end_seq = tp->snd_nxt;
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
}

CC_PROG(void, dctcp_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);

	ca->is_ecn = (tp->ecn_flags & TCP_ECN_OK) != 0;
	ca->alpha = cc_params(sk)->alpha_on_init;
	ca->loss_cwnd = 0;
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->is_ce = false;
	dctcp_start_round(sk);
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* RFC 8257 section 3.3, once a round trip. */
CC_PROG(void, dctcp_in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	u32 shift = cc_params(sk)->shift_g;
	u32 marked, decay;

	(void)flags;
	if (!ca->is_ecn || before(tp->snd_una, ca->round_end_seq))
		return;
	/* otherwise, an alpha so small that the shift gives 0 would never decay */
	decay = ca->alpha >> shift;
	ca->alpha -= decay ? decay : ca->alpha;
	marked = tp->delivered_ce - ca->delivered_ce;
	if (marked) {
		u32 delivered = max(tp->delivered - ca->delivered, 1u);
		u64 share = ((u64)marked << (DCTCP_ALPHA_SHIFT - shift)) / delivered;

		ca->alpha = (u32)min(ca->alpha + share, (u64)DCTCP_ALPHA_MAX);
	}
	dctcp_start_round(sk);
}

CC_PROG(void, dctcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct dctcp *ca = inet_csk_ca(sk);

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_PROG(void, dctcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct dctcp *ca = inet_csk_ca(sk);

	(void)ack;
	cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
	cc_phase(sk, tcp_in_slow_start(tcp_sk(sk)) ? DCTCP_SLOW_START : DCTCP_AVOIDANCE);
}

CC_PROG(u32, dctcp_ssthresh, struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), ssthresh;

	if (ca->is_ecn) {
		ca->loss_cwnd = cwnd;
		ssthresh = max(cwnd - (u32)(((u64)cwnd * ca->alpha) >> (DCTCP_ALPHA_SHIFT + 1)),
			       2u);
	} else {
		ssthresh = tcp_reno_ssthresh(sk);
	}
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start, ssthresh);
}

/*
 * RFC 8257 section 3.5: a loss is not a mark, so Reno's threshold replaces that of
 * the ssthresh hook.
 */
CC_INLINE void dctcp_halve(struct sock *sk)
{
	struct dctcp *ca = inet_csk_ca(sk);

	ca->loss_cwnd = tcp_snd_cwnd(tcp_sk(sk));
	if (!cc_slow_start_retreats(&ca->start, cc_params(sk)->slow_start))
		tcp_sk(sk)->snd_ssthresh = tcp_reno_ssthresh(sk);
}

CC_PROG(void, dctcp_set_state, struct sock *sk, u8 new_state)
{
	const struct dctcp *ca = inet_csk_ca(sk);

	if (ca->is_ecn && new_state == TCP_CA_Recovery &&
	    CC_GET(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery)
		dctcp_halve(sk);
}

/* ACKs carry ECE while the arriving data is marked. */
CC_INLINE void dctcp_echo(struct tcp_sock *tp, bool is_ce)
{
	if (is_ce)
		tp->ecn_flags = (u8)(tp->ecn_flags | TCP_ECN_DEMAND_CWR);
	else
		tp->ecn_flags = (u8)(tp->ecn_flags & ~(u32)TCP_ECN_DEMAND_CWR);
}

/* RFC 8257 section 3.2: handles arriving data, of which is_ce is the mark. */
CC_INLINE void dctcp_receive(struct sock *sk, bool is_ce)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp *ca = inet_csk_ca(sk);
	u8 pending = inet_csk(sk)->icsk_ack.pending;

	if (ca->is_ce != is_ce) {
		/* a delayed ACK is pending for data with the other mark */
		if (pending & ICSK_ACK_TIMER) {
			dctcp_echo(tp, ca->is_ce);
			cc_send_ack(sk, ca->prior_rcv_nxt);
		}
		inet_csk(sk)->icsk_ack.pending = (u8)(pending | ICSK_ACK_NOW);
	}
	ca->prior_rcv_nxt = tp->rcv_nxt;
	ca->is_ce = is_ce;
	dctcp_echo(tp, is_ce);
}

CC_PROG(void, dctcp_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct dctcp *ca = inet_csk_ca(sk);

	if (!ca->is_ecn)
		return;
	if (event == CA_EVENT_LOSS)
		dctcp_halve(sk);
	else if (event == CA_EVENT_ECN_IS_CE)
		dctcp_receive(sk, true);
	else if (event == CA_EVENT_ECN_NO_CE)
		dctcp_receive(sk, false);
}

CC_PROG(u32, dctcp_undo_cwnd, struct sock *sk)
{
	const struct dctcp *ca = inet_csk_ca(sk);

	if (!ca->is_ecn)
		return tcp_reno_undo_cwnd(sk);
	return max(tcp_snd_cwnd(tcp_sk(sk)), ca->loss_cwnd);
}

CC_OPS(dctcp) = {
	.init		= CC_CB(dctcp_init),
	.in_ack_event	= CC_CB(dctcp_in_ack_event),
	.ssthresh	= CC_CB(dctcp_ssthresh),
	.cong_avoid	= CC_CB(dctcp_cong_avoid),
	.undo_cwnd	= CC_CB(dctcp_undo_cwnd),
	.set_state	= CC_CB(dctcp_set_state),
	.cwnd_event	= CC_CB(dctcp_cwnd_event),
	.pkts_acked	= CC_CB(dctcp_pkts_acked),
	.flags		= TCP_CONG_NEEDS_ECN,
	.name		= "dctcp",
};

CC_DESCRIBE(dctcp,
	.summary = "reduces the window in proportion to the share of marked packets (RFC 8257)",
	CC_HAS_PARAMETERS(dctcp),
	CC_HAS_PHASES(dctcp)
);
