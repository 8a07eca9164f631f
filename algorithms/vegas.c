// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Vegas, as Linux 6.1 behaves.
 *
 * Vegas detects a queue by the RTT before the queue overflows. base is the lowest
 * RTT so far, and rtt the lowest RTT of the last round trip. Without a queue, the
 * path would carry cwnd / base; it does carry cwnd / rtt. This difference multiplied
 * by base is the number of packets of this flow in the queue, cwnd (rtt - base) /
 * rtt (`rates`). Linux divides by base instead, so its result is larger if the
 * queueing delay is long:
 *
 *	diff = cwnd (rtt - base) / base
 *
 * Once per round trip, the window grows by one packet if diff is below alpha,
 * shrinks by one packet if diff is above beta, and does not change between them.
 * Slow start ends when diff exceeds gamma, with the window that the path can hold
 * without a queue. A loss has the same effect as in Reno.
 *
 *   +------------+  diff > gamma   +----------+ diff >= alpha +------+
 *   | slow start |---------------->| increase |-------------->| hold |
 *   +------------+                 |  cwnd+1  |<--------------|      |
 *         ^                        +----------+  diff < alpha +------+
 *         | cwnd < ssthresh             ^            diff > beta |  ^
 *         |                             |                        v  | diff <= beta
 *   +------------------------+          |                    +----------+
 *   | reno: fewer than three |----------+--------------------| decrease |
 *   | RTTs in the round, or  |                               |  cwnd-1  |
 *   | not in state Open      |<--- loss, from anywhere       +----------+
 *   +------------------------+
 *
 * Differs from Reno: the RTT decides whether the window grows *or shrinks* by one
 * packet per round trip; Vegas does not need losses to find its window.
 *
 * Linux doubles the window in every round trip of slow start; in the paper, the
 * window doubles only in every other round trip, so the RTT can be measured with a
 * constant window: `alternate`. In Linux, base is reset after an idle period.
 *
 * A path that becomes longer looks like a queue, so the window shrinks although it
 * should grow. La et al. propose a remedy (`reroute_groups`, 0 = off): after the
 * first K packets, the lowest RTT of every N packets is recorded. If the lowest RTTs
 * of L consecutive groups exceed base by a margin, base is set to the last of them,
 * and slow start brings the window to the size that the old rate needs on the new
 * path. The paper does not specify K, N, L and the margin. As it explains, the
 * window must have had time to shrink. Therefore, a group lasts at least one round
 * trip here, and the RTT must not have fallen while the window shrank, as it would
 * if the queue were the flow's own. The remedy cannot distinguish a longer path from
 * a queue that other flows maintain.
 *
 * Not implemented: the paper's fine-grained retransmission. The endpoint decides
 * when to retransmit a segment: a classic stack supports fine-grained retransmission
 * with `fine_retransmission`, and RACK in Linux (RFC 8985) achieves the same purpose
 * by time.
 *
 * Papers: L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas: New Techniques for
 * Congestion Detection and Avoidance", SIGCOMM 1994; R. La, J. Walrand, V.
 * Anantharam, "Issues in TCP Vegas", 1999.
 */
#include "cc.h"

#define VEGAS_PARAMETERS(P)							\
	P(alpha, "packets", 2, 0, 1000000,					\
	  "with fewer packets in the queue, the window grows")			\
	P(beta, "packets", 4, 0, 1000000,					\
	  "with more packets in the queue, the window shrinks")			\
	P(gamma, "packets", 1, 0, 1000000,					\
	  "with more packets in the queue, slow start ends")			\
	P(rates, "bool", 0, 0, 1,						\
	  "compute the queue from rates: cwnd - cwnd base / rtt, as in the paper") \
	P(alternate, "bool", 0, 0, 1,						\
	  "grow only in every other round trip of slow start")			\
	P(reroute_groups, "", 0, 0, 1000,					\
	  "groups of packets with an RTT above base that mean a new path, 0 = off") \
	P(reroute_group_pkts, "packets", 20, 1, 1000000,			\
	  "number of packets in each of these groups")				\
	P(reroute_first_pkts, "packets", 100, 0, 1000000,			\
	  "number of packets that precede the first group")			\
	P(reroute_margin, "%", 20, 0, 1000,					\
	  "excess over base that the RTT of a group must have")			\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(vegas, VEGAS_PARAMETERS);

#define VEGAS_PHASES(P)								\
	P(VEGAS_SLOW_START, "slow_start")					\
	P(VEGAS_INCREASE, "increase")						\
	P(VEGAS_HOLD, "hold")							\
	P(VEGAS_DECREASE, "decrease")						\
	P(VEGAS_RENO, "reno")

CC_PHASES(vegas, VEGAS_PHASES);

/* Groups of packets by La et al., to check whether base is still valid. */
struct vegas_route {
	u32 packets;	/* packets of the group so far; at first, of the connection */
	u32 group_end;	/* a round trip has passed when data beyond this is acknowledged */
	u32 least_us;	/* lowest RTT of the group */
	u32 groups;	/* consecutive groups above base */
	u32 first_us;	/* lowest RTT of the first of these groups */
	u32 first_cwnd;	/* window at that time, packets */
	bool is_watched;	/* the connection's first packets are over */
};

struct vegas {
	struct cc_delay rtt;
	u32 round_end;	/* the round ends when more than this is acknowledged */
	bool is_on;	/* state Open: RTTs represent the queue */
	bool is_still;	/* with `alternate`: no growth in this round of slow start */
	struct vegas_route route;
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct vegas);
CC_STATE(struct cc_search);

CC_INLINE void vegas_start_round(struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	ca->round_end = tcp_sk(sk)->snd_nxt;
	cc_delay_start_round(&ca->rtt);
}

CC_INLINE void vegas_forget(struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	cc_delay_init(&ca->rtt);
	vegas_start_round(sk);
	ca->is_on = true;
	ca->is_still = false;
	ca->route = (struct vegas_route){
		.group_end = ca->round_end,
		.least_us = CC_DELAY_NONE_US,
	};
}

CC_PROG(void, vegas_init, struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	vegas_forget(sk);
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, vegas_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	/* After an idle period, the path may have changed. */
	if (event == CA_EVENT_CWND_RESTART || event == CA_EVENT_TX_START)
		vegas_forget(sk);
}

CC_PROG(void, vegas_set_state, struct sock *sk, u8 new_state)
{
	struct vegas *ca = inet_csk_ca(sk);

	/* RTTs during a recovery are not representative; a new round follows. */
	ca->is_on = new_state == TCP_CA_Open;
	if (ca->is_on)
		vegas_start_round(sk);
}

/* The path has become longer: sets base, and lets the window grow to the old rate. */
CC_INLINE void vegas_change_route(struct sock *sk, u32 base_us)
{
	struct vegas *ca = inet_csk_ca(sk);
	u64 window = div_u64((u64)ca->route.first_cwnd * base_us, ca->rtt.base_us);

	tcp_sk(sk)->snd_ssthresh = (u32)clamp(window, 2ull, (u64)TCP_INFINITE_SSTHRESH);
	ca->rtt.base_us = base_us;
}

/*
 * Whether the window shrank while the RTT stayed the same: it changed by less than
 * a quarter of the amount by which our own queue would have shrunk. A growing RTT
 * is not due to a longer path either.
 */
CC_INLINE bool vegas_is_no_queue(const struct vegas_route *route, u32 cwnd, u32 least_us)
{
	u32 shrunk = route->first_cwnd - min(cwnd, route->first_cwnd);
	u32 moved_us = max(least_us, route->first_us) - min(least_us, route->first_us);

	return shrunk && 4 * (u64)moved_us * route->first_cwnd < (u64)route->first_us * shrunk;
}

/* Handles a complete group. */
CC_INLINE void vegas_end_group(struct sock *sk, u32 least_us)
{
	struct vegas *ca = inet_csk_ca(sk);
	struct vegas_route *route = &ca->route;
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u64 margin_us = (u64)ca->rtt.base_us * cc_params(sk)->reroute_margin / 100;

	if (least_us <= ca->rtt.base_us + margin_us) {
		route->groups = 0;
		return;
	}
	if (!route->groups) {
		route->first_us = least_us;
		route->first_cwnd = cwnd;
	}
	route->groups++;
	if (route->groups < cc_params(sk)->reroute_groups)
		return;
	route->groups = 0;
	if (vegas_is_no_queue(route, cwnd, least_us))
		vegas_change_route(sk, least_us);
}

CC_INLINE void vegas_watch_route(struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);
	struct vegas_route *route = &ca->route;
	u32 enough = route->is_watched ? cc_params(sk)->reroute_group_pkts :
					 cc_params(sk)->reroute_first_pkts;

	route->packets += min(sample->pkts_acked, enough);
	route->least_us = min(route->least_us, (u32)sample->rtt_us + 1);
	if (route->packets < enough || !after(tp->snd_una, route->group_end))
		return;
	if (tcp_in_slow_start(tp))
		route->groups = 0;
	else if (route->is_watched)
		vegas_end_group(sk, route->least_us);
	route->is_watched = true;
	route->packets = 0;
	route->group_end = tp->snd_nxt;
	route->least_us = CC_DELAY_NONE_US;
}

CC_PROG(void, vegas_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct vegas *ca = inet_csk_ca(sk);

	if (cc_delay_take(&ca->rtt, sample) && cc_params(sk)->reroute_groups && ca->is_on)
		vegas_watch_route(sk, sample);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_INLINE void vegas_slow_start(struct sock *sk, u32 acked)
{
	struct vegas *ca = inet_csk_ca(sk);

	cc_phase(sk, VEGAS_SLOW_START);
	if (!ca->is_still)
		cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
}

/* Number of this flow's packets in the queue. */
CC_INLINE u32 vegas_queue_pkts(struct sock *sk, u32 cwnd)
{
	struct vegas *ca = inet_csk_ca(sk);

	if (cc_params(sk)->rates)
		return cwnd - (u32)div_u64((u64)cwnd * ca->rtt.base_us, ca->rtt.least_us);
	/* 32 bits, like Linux: wraps at 4,295 (packets times seconds of queueing) */
	return div_u32(cwnd * cc_delay_queueing_us(&ca->rtt), ca->rtt.base_us);
}

/* Ends a round trip: compares the actual rate with the expected one. */
CC_INLINE void vegas_end_round(struct sock *sk, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 diff = vegas_queue_pkts(sk, cwnd);

	if (tcp_in_slow_start(tp)) {
		if (diff > cc_params(sk)->gamma) {
			/* the window that the path holds without a queue, plus one */
			u64 target = div_u64((u64)cwnd * ca->rtt.base_us, ca->rtt.least_us);

			tcp_snd_cwnd_set(tp, min(cwnd, (u32)target + 1));
			tp->snd_ssthresh = min(tp->snd_ssthresh, tcp_snd_cwnd(tp));
		} else {
			ca->is_still = cc_params(sk)->alternate && !ca->is_still;
			vegas_slow_start(sk, acked);
		}
	} else if (diff > cc_params(sk)->beta) {
		tcp_snd_cwnd_set(tp, cwnd - 1);
		tp->snd_ssthresh = min(tp->snd_ssthresh, tcp_snd_cwnd(tp));
		cc_phase(sk, VEGAS_DECREASE);
	} else if (diff < cc_params(sk)->alpha) {
		tcp_snd_cwnd_set(tp, cwnd + 1);
		cc_phase(sk, VEGAS_INCREASE);
	} else {
		cc_phase(sk, VEGAS_HOLD);
	}
	cwnd = tcp_snd_cwnd(tp);
	tcp_snd_cwnd_set(tp, min(max(cwnd, 2u), tp->snd_cwnd_clamp));
	tp->snd_ssthresh = tcp_current_ssthresh(sk);
}

CC_PROG(void, vegas_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vegas *ca = inet_csk_ca(sk);

	if (ca->is_on && !after(ack, ca->round_end)) {
		if (tcp_in_slow_start(tp))
			vegas_slow_start(sk, acked);
		return;
	}
	if (ca->is_on && cc_delay_has_enough(&ca->rtt)) {
		vegas_end_round(sk, acked);
	} else {
		cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
		cc_phase(sk, VEGAS_RENO);
	}
	if (ca->is_on)
		vegas_start_round(sk);
}

CC_PROG(u32, vegas_ssthresh, struct sock *sk)
{
	struct vegas *ca = inet_csk_ca(sk);

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      tcp_reno_ssthresh(sk));
}

CC_PROG(u32, vegas_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(vegas) = {
	.init		= CC_CB(vegas_init),
	.ssthresh	= CC_CB(vegas_ssthresh),
	.cong_avoid	= CC_CB(vegas_cong_avoid),
	.undo_cwnd	= CC_CB(vegas_undo_cwnd),
	.set_state	= CC_CB(vegas_set_state),
	.cwnd_event	= CC_CB(vegas_cwnd_event),
	.pkts_acked	= CC_CB(vegas_pkts_acked),
	.name		= "vegas",
};

CC_DESCRIBE(vegas,
	.summary = "keeps two to four packets in the queue, estimated from the RTT (Brakmo 1994)",
	CC_HAS_PARAMETERS(vegas),
	CC_HAS_PHASES(vegas)
);
