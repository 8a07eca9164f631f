// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Veno, as Linux 6.1 behaves.
 *
 * Veno is Reno that uses the estimate of Vegas to interpret losses. It estimates by
 * the RTT how many of its packets wait in the queue, cwnd (rtt - base) / rtt. With
 * fewer than beta = 3 queued packets, Veno attributes a loss to the radio link, and
 * the loss reduces the window by a fifth instead of half. With more queued packets,
 * the window grows only in every other round trip, so the next loss occurs later.
 *
 *   +------------+ cwnd >= ssthresh  +-----------+  queue >= beta  +-----------+
 *   | slow start |------------------>| available |---------------->|   full    |
 *   +------------+                   |  +1 / RTT |<----------------| +1 / 2 RTT|
 *         ^                          +-----------+  queue < beta   +-----------+
 *         |      timeout               | loss: 4/5                   | loss: 1/2
 *         +----------------------------+-----------------------------+
 *
 * Differs from Reno: a loss with a short queue reduces the window to 4/5 instead of
 * half; with a long queue, growth is halved. Unlike Vegas, Veno never reduces the
 * window without a loss. Linux uses the RTT of the last ACK; until the connection
 * has three RTT samples, and outside of the state Open, Veno behaves like Reno.
 *
 * Paper: C. P. Fu, S. C. Liew, "TCP Veno: TCP Enhancement for Transmission over
 * Wireless Access Networks", IEEE JSAC 21(2), 2003.
 */
#include "cc.h"

/* beta and the queue are in half packets, like Linux's parameter. */
#define VENO_UNIT_SHIFT	1

#define VENO_PARAMETERS(P)							\
	P(beta, "1/2 packet", 6, 0, 1000000,					\
	  "number of queued packets from which a loss means congestion")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(veno, VENO_PARAMETERS);

#define VENO_PHASES(P)								\
	P(VENO_SLOW_START, "slow_start")					\
	P(VENO_AVAILABLE, "available")						\
	P(VENO_FULL, "full")							\
	P(VENO_RENO, "reno")

CC_PHASES(veno, VENO_PHASES);

struct veno {
	struct cc_delay rtt;	/* a round is one ACK; samples counts those of the connection */
	u32 queue;	/* this flow's packets in the queue, half packets */
	bool is_on;	/* state Open: RTTs represent the queue */
	bool is_turn;	/* with a full queue: the next full window adds a packet */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct veno);
CC_STATE(struct cc_search);

CC_INLINE void veno_forget(struct sock *sk)
{
	struct veno *ca = inet_csk_ca(sk);

	ca->rtt.base_us = CC_DELAY_NONE_US;
	ca->rtt.least_us = CC_DELAY_NONE_US;
	ca->is_turn = true;
	ca->is_on = true;
}

CC_PROG(void, veno_init, struct sock *sk)
{
	struct veno *ca = inet_csk_ca(sk);

	veno_forget(sk);
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, veno_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	/* After an idle period, the path may have changed. */
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		veno_forget(sk);
}

CC_PROG(void, veno_set_state, struct sock *sk, u8 new_state)
{
	struct veno *ca = inet_csk_ca(sk);

	ca->is_on = new_state == TCP_CA_Open;
	if (ca->is_on)
		ca->rtt.least_us = CC_DELAY_NONE_US;
}

CC_PROG(void, veno_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct veno *ca = inet_csk_ca(sk);

	cc_delay_take(&ca->rtt, sample);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

/* Adds one packet for every two acknowledged windows. */
CC_INLINE void veno_grow_slowly(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (tp->snd_cwnd_cnt < cwnd) {
		tp->snd_cwnd_cnt += acked;
		return;
	}
	tp->snd_cwnd_cnt = 0;
	if (ca->is_turn && cwnd < tp->snd_cwnd_clamp) {
		tcp_snd_cwnd_set(tp, cwnd + 1);
		ca->is_turn = false;
	} else {
		ca->is_turn = true;
	}
}

/* Estimates the queue and selects the growth. */
CC_INLINE void veno_look(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u64 on_path = div_u64(((u64)cwnd * ca->rtt.base_us) << VENO_UNIT_SHIFT, ca->rtt.least_us);

	ca->queue = (cwnd << VENO_UNIT_SHIFT) - (u32)on_path;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, VENO_SLOW_START);
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	if (ca->queue < cc_params(sk)->beta) {
		cc_phase(sk, VENO_AVAILABLE);
		tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
	} else {
		cc_phase(sk, VENO_FULL);
		veno_grow_slowly(sk, acked);
	}
}

CC_PROG(void, veno_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct veno *ca = inet_csk_ca(sk);

	(void)ack;
	if (!ca->is_on) {
		cc_phase(sk, VENO_RENO);
		cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
		return;
	}
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (cc_delay_has_enough(&ca->rtt)) {
		veno_look(sk, acked);
		tcp_snd_cwnd_set(tp, min(max(tcp_snd_cwnd(tp), 2u), tp->snd_cwnd_clamp));
	} else {
		cc_phase(sk, VENO_RENO);
		cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
	}
	ca->rtt.least_us = CC_DELAY_NONE_US;
}

CC_PROG(u32, veno_ssthresh, struct sock *sk)
{
	struct veno *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 ssthresh = tcp_reno_ssthresh(sk);

	if (ca->queue < cc_params(sk)->beta)
		ssthresh = max((u32)((u64)cwnd * 4 / 5), 2u);
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start, ssthresh);
}

CC_PROG(u32, veno_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(veno) = {
	.init		= CC_CB(veno_init),
	.ssthresh	= CC_CB(veno_ssthresh),
	.cong_avoid	= CC_CB(veno_cong_avoid),
	.undo_cwnd	= CC_CB(veno_undo_cwnd),
	.set_state	= CC_CB(veno_set_state),
	.cwnd_event	= CC_CB(veno_cwnd_event),
	.pkts_acked	= CC_CB(veno_pkts_acked),
	.name		= "veno",
};

CC_DESCRIBE(veno,
	.summary = "Reno with a smaller decrease at a loss while the queue is short (Fu, "
		   "Liew 2003)",
	CC_HAS_PARAMETERS(veno),
	CC_HAS_PHASES(veno)
);
