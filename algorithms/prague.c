// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Prague: congestion control for L4S, which reduces the window in proportion to the
 * share of marked packets.
 *
 * Prague sends its packets with ECT(1). A queue with two inputs, such as DualPI2,
 * lets these packets pass other packets and marks them at a very small delay.
 * Accurate ECN reports how many packets were marked. The share of marked packets in
 * each round trip is averaged, as in DCTCP:
 *
 *	alpha += g (share - alpha)
 *
 * A mark reduces the window by cwnd * alpha / 2, once per round trip. Two marks per
 * round trip are sufficient to keep a window of any size constant.
 *
 *                    mark                    accurate ECN was not agreed on:
 *   +------------+ --------> +-----------+   +---------+
 *   | slow start |           | avoidance |   | classic |  Reno, and ECT(0)
 *   +------------+ <-------- +-----------+   +---------+
 *                   timeout
 *
 * Differs from DCTCP: packets that are acknowledged without a mark increase the
 * window at any time, also after a reduction; window and alpha include fractions of
 * a packet; packets are paced at one window per round trip, in slow start at two.
 * After 500 round trips, a flow with a short RTT behaves as if its RTT were 25 ms
 * (the virtual RTT): alpha and reductions use this time, and the window grows by
 * (srtt / virtual RTT)^2 per round trip, so short paths no longer obtain more
 * capacity. A loss halves the window.
 *
 * Papers: draft-briscoe-iccrg-prague-congestion-control, text of version 00 (March
 * 2021); later versions were not available. They use the term virtual RTT for the
 * reference RTT of version 00. alpha starts at 1, as in RFC 8257. The detection of a
 * queue that treats ECT(1) like ECT(0) is not implemented, because the
 * implementation of the draft disables it.
 */
#include "cc.h"

/* Scale of the fractions of the window and of alpha. */
#define PRAGUE_SHIFT		20
#define PRAGUE_ONE		(1u << PRAGUE_SHIFT)
#define PRAGUE_MIN_CWND		2u
/* Scale of the ratio of two virtual RTTs. */
#define PRAGUE_RATIO_SHIFT	10

#define PRAGUE_PARAMETERS(P)							\
	P(shift_g, "", 4, 1, 10,						\
	  "g = 2^-shift_g, weight of the last round trip in alpha")		\
	P(alpha_on_init, "1/1024", 1024, 0, 1024,				\
	  "value of alpha before the first round trip ends")			\
	P(rtt_virt, "us", 25000, 0, 1000000,					\
	  "minimum of the virtual RTT, by which the window grows")		\
	P(rtt_virt_rounds, "", 500, 0, 100000,					\
	  "number of round trips after which the virtual RTT is used")		\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(prague, PRAGUE_PARAMETERS);

#define PRAGUE_PHASES(P)					\
	P(PRAGUE_SLOW_START, "slow_start")			\
	P(PRAGUE_AVOIDANCE, "avoidance")			\
	P(PRAGUE_CLASSIC, "classic")

CC_PHASES(prague, PRAGUE_PHASES);

struct prague {
	u32 round_end_seq;	/* the round trip ends when this is acknowledged */
	u32 rounds;		/* round trips, up to rtt_virt_rounds */
	u32 share_us;		/* start of the count of marks for alpha */
	u32 share_delivered;	/* tp->delivered at that time, packets */
	u32 share_ce;		/* tp->delivered_ce at that time, packets */
	u32 alpha_over_g;	/* 1/2^20 */
	u32 seen_ce;		/* tp->delivered_ce at the last ACK, packets */
	u32 reduced_seq;	/* snd_nxt at the last reduction; reduced_us is its time */
	u32 reduced_us;
	u32 fraction;		/* fraction of a packet in addition to the window, 1/2^20 */
	bool is_accurate;	/* the connection has accurate ECN */
	bool has_reduced;
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct prague);
CC_STATE(struct cc_search);

CC_INLINE u32 prague_srtt_us(const struct sock *sk)
{
	return max(tcp_sk(sk)->srtt_us >> 3, 1u);
}

CC_INLINE u32 prague_virtual_rtt_us(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	if (ca->rounds < cc_params(sk)->rtt_virt_rounds)
		return prague_srtt_us(sk);
	return max(prague_srtt_us(sk), cc_params(sk)->rtt_virt);
}

CC_INLINE void prague_start_share(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	ca->share_us = (u32)tp->tcp_mstamp;
	ca->share_delivered = tp->delivered;
	ca->share_ce = tp->delivered_ce;
}

/* Without accurate ECN, the number of marks is unknown: half the window. */
CC_INLINE u32 prague_alpha(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	if (!ca->is_accurate)
		return PRAGUE_ONE;
	return min(ca->alpha_over_g >> cc_params(sk)->shift_g, PRAGUE_ONE);
}

/* Updates alpha once per virtual RTT, which is at least a round trip. */
CC_INLINE void prague_update_alpha(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 marked, delivered;

	if (before(tp->snd_una, ca->round_end_seq))
		return;
	ca->round_end_seq = tp->snd_nxt;
	if (ca->rounds < cc_params(sk)->rtt_virt_rounds)
		ca->rounds++;
	if ((u32)tp->tcp_mstamp - ca->share_us < prague_virtual_rtt_us(sk))
		return;
	marked = tp->delivered_ce - ca->share_ce;
	delivered = max(tp->delivered - ca->share_delivered, 1u);
	ca->alpha_over_g -= ca->alpha_over_g >> cc_params(sk)->shift_g;
	ca->alpha_over_g += (u32)div_u64((u64)min(marked, delivered) << PRAGUE_SHIFT, delivered);
	prague_start_share(sk);
}

CC_INLINE void prague_set_window(struct sock *sk, u64 window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 cwnd = (u32)min(window >> PRAGUE_SHIFT, (u64)tp->snd_cwnd_clamp);

	ca->fraction = (u32)window & (PRAGUE_ONE - 1);
	tcp_snd_cwnd_set(tp, max(cwnd, PRAGUE_MIN_CWND));
}

CC_INLINE u64 prague_window(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	return ((u64)tcp_snd_cwnd(tcp_sk(sk)) << PRAGUE_SHIFT) + ca->fraction;
}

/* Handles packets acknowledged without a mark. */
CC_INLINE void prague_grow(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 virtual_us = prague_virtual_rtt_us(sk), srtt_us = prague_srtt_us(sk);
	u64 step;

	if (tcp_in_slow_start(tp)) {
		acked = cc_slow_start_growth(sk, &ca->start, cc_params(sk)->slow_start, acked);
		step = (u64)acked << PRAGUE_SHIFT;
	} else {
		step = (u64)acked << PRAGUE_SHIFT;
		if (srtt_us < virtual_us) {
			u32 ratio = div_u32(srtt_us << PRAGUE_RATIO_SHIFT, virtual_us);

			step = (step * ratio * ratio) >> (2 * PRAGUE_RATIO_SHIFT);
		}
		step = div_u64(step, tcp_snd_cwnd(tp));
	}
	prague_set_window(sk, prague_window(sk) + step);
}

/* The threshold after a loss. */
CC_INLINE u32 prague_half(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      tcp_reno_ssthresh(sk));
}

/* Handles marked packets: reduces the window at most once per virtual RTT. */
CC_INLINE void prague_reduce(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u64 window = prague_window(sk);
	u32 ssthresh;

	if (ca->has_reduced && (before(tp->snd_una, ca->reduced_seq) ||
				(u32)tp->tcp_mstamp - ca->reduced_us < prague_virtual_rtt_us(sk)))
		return;
	prague_set_window(sk, window - ((window >> 1) * prague_alpha(sk) >> PRAGUE_SHIFT));
	ssthresh = cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
					  tcp_snd_cwnd(tp));
	/* the window of a jump was too large by more than alpha says */
	if (ssthresh < tcp_snd_cwnd(tp))
		prague_set_window(sk, (u64)ssthresh << PRAGUE_SHIFT);
	tp->snd_ssthresh = tcp_snd_cwnd(tp);
	ca->reduced_seq = tp->snd_nxt;
	ca->reduced_us = (u32)tp->tcp_mstamp;
	ca->has_reduced = true;
}

CC_INLINE void prague_set_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 window = max(tcp_snd_cwnd(tp), tcp_packets_in_flight(tp));
	u32 gain = tcp_in_slow_start(tp) ? 2 * CC_GAIN_ONE : CC_GAIN_ONE;

	if (tp->srtt_us)
		sk->sk_pacing_rate = cc_rate(sk, div_u64(window * CC_BW_ONE, prague_srtt_us(sk)),
					     gain, 100);
}

CC_PROG_CONG_CONTROL(prague_cong_control, struct sock *sk, u32 ack, int flag,
		     const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 marked = tp->delivered_ce - ca->seen_ce, acked = rs->acked_sacked;

	(void)ack;
	(void)flag;
	ca->seen_ce = tp->delivered_ce;
	prague_update_alpha(sk);
	if (CC_GET(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery) {
		if (marked)
			prague_reduce(sk);
		if (acked > marked && tcp_is_cwnd_limited(sk))
			prague_grow(sk, acked - marked);
	}
	prague_set_rate(sk);
	cc_phase(sk, !ca->is_accurate ? PRAGUE_CLASSIC :
		     tcp_in_slow_start(tp) ? PRAGUE_SLOW_START : PRAGUE_AVOIDANCE);
}

CC_PROG(void, prague_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct prague *ca = inet_csk_ca(sk);

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_PROG(void, prague_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	*ca = (struct prague){
		.round_end_seq = tp->snd_nxt,
		.alpha_over_g = (cc_params(sk)->alpha_on_init << (PRAGUE_SHIFT - 10))
				<< cc_params(sk)->shift_g,
		.seen_ce = tp->delivered_ce,
		.is_accurate = (tp->ecn_flags & TCP_ECN_MODE_ACCECN) != 0,
	};
	prague_start_share(sk);
	prague_set_rate(sk);
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* The stack also calls this at a mark, to which Prague responds elsewhere. */
CC_PROG(u32, prague_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_PROG(void, prague_set_state, struct sock *sk, u8 new_state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (new_state == TCP_CA_Recovery &&
	    CC_GET(inet_csk(sk), icsk_ca_state) != TCP_CA_Recovery) {
		tp->snd_ssthresh = prague_half(sk);
		prague_set_window(sk, (u64)tp->snd_ssthresh << PRAGUE_SHIFT);
	}
}

CC_PROG(void, prague_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		tcp_sk(sk)->snd_ssthresh = prague_half(sk);
}

CC_PROG(u32, prague_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(prague) = {
	.init		= CC_CB(prague_init),
	.cong_control	= CC_CB(prague_cong_control),
	.ssthresh	= CC_CB(prague_ssthresh),
	.undo_cwnd	= CC_CB(prague_undo_cwnd),
	.set_state	= CC_CB(prague_set_state),
	.cwnd_event	= CC_CB(prague_cwnd_event),
	.pkts_acked	= CC_CB(prague_pkts_acked),
	.flags		= TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION,
	.name		= "prague",
};

CC_DESCRIBE(prague,
	.summary = "reduces the window in proportion to the share of marked L4S packets "
		   "(draft 2021)",
	CC_HAS_PARAMETERS(prague),
	CC_HAS_PHASES(prague)
);
