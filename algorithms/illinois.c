// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Illinois, as Linux 6.1 behaves.
 *
 * A loss triggers a decrease of the window; the delay determines the size of the
 * decrease and the speed of growth. With d, the queueing delay averaged over a round
 * trip, and D, the highest d so far:
 *
 *   alpha = 10 packets a round trip     beta = 1/8 of the window at a loss
 *     |-----.                             |                .--------- 1/2
 *     |      \                            |              .'
 *     |        `-.._                      |            .'
 *     |             ``--..__ 0.3          |----------.'
 *     +-----+-------------+--> d          +---------+-----+----------+--> d
 *        D/100            D                       D/10  8 D/10       D
 *
 *	alpha(d) = 10 D' / (D' + d' (10 / 0.3 - 1)),  D' = D - D/100, d' = d - D/100
 *
 * After a long queue, alpha returns to 10 only when theta = 5 consecutive round
 * trips had a short queue. Below win_thresh = 15 packets, Illinois behaves like
 * Reno.
 *
 *   +------------+ cwnd >= ssthresh  +----------+ cwnd >= 15 +--------------------+
 *   | slow start |------------------>| standard |----------->| adaptive           |
 *   +------------+                   |  1, 1/2  |<-----------| alpha(d), beta(d)  |
 *         ^                          +----------+ cwnd < 15  +--------------------+
 *         |      timeout (1, 1/2)         |                            |
 *         +-------------------------------+----------------------------+
 *
 * Differs from Reno: the two functions. The window grows in whole packets, at the
 * time at which the growth amounts to a packet; the growth is concave over time.
 *
 * As in Linux, alpha starts at 10, and an ACK counts all packets that it
 * acknowledges.
 *
 * Paper: S. Liu, T. Basar, R. Srikant, "TCP-Illinois: A Loss and Delay-Based Congestion
 * Control Algorithm for High-Speed Networks", VALUETOOLS 2006.
 */
#include "cc.h"

/* alpha is in 1/128 packet, beta in 1/64. */
#define ILLINOIS_ALPHA_SHIFT	7
#define ILLINOIS_ALPHA_ONE	(1u << ILLINOIS_ALPHA_SHIFT)
#define ILLINOIS_BETA_SHIFT	6
#define ILLINOIS_BETA_HALF	(1u << (ILLINOIS_BETA_SHIFT - 1))

/* Shares of the longest queueing delay: negligible delay, and the ends of beta's slope. */
#define ILLINOIS_NO_DELAY(longest)	((longest) / 100)
#define ILLINOIS_LOW_DELAY(longest)	((longest) / 10)
#define ILLINOIS_HIGH_DELAY(longest)	((longest) * 8 / 10)

/* Delays up to this, 3.3 s, times alpha fit into 32 bits. */
#define ILLINOIS_LONGEST_RTT_US	(~0u / (10 * ILLINOIS_ALPHA_ONE))

#define ILLINOIS_PARAMETERS(P)							\
	P(alpha_max, "1/128 packet", 1280, 1, 1280,				\
	  "growth per round trip with an empty queue")				\
	P(alpha_min, "1/128 packet", 38, 1, 1280,				\
	  "growth per round trip with the longest queue")			\
	P(beta_min, "1/64", 8, 0, 64,						\
	  "share by which a loss reduces the window with a short queue")	\
	P(beta_max, "1/64", 32, 0, 64,						\
	  "share by which a loss reduces the window with a long queue")		\
	P(win_thresh, "packets", 15, 0, 1000000,				\
	  "below this window, growth and reduction are Reno's")			\
	P(theta, "round trips", 5, 0, 1000000,					\
	  "round trips with a short queue until the growth is alpha_max again")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(illinois, ILLINOIS_PARAMETERS);

#define ILLINOIS_PHASES(P)							\
	P(ILLINOIS_SLOW_START, "slow_start")					\
	P(ILLINOIS_STANDARD, "standard")					\
	P(ILLINOIS_ADAPTIVE, "adaptive")

CC_PHASES(illinois, ILLINOIS_PHASES);

struct illinois {
	u64 sum_us;	/* sum of the round's RTTs */
	u32 samples;	/* number of RTTs in the sum */
	u32 base_us;	/* lowest RTT of the connection */
	u32 longest_us;	/* highest RTT of the connection */
	u32 round_end;	/* the round ends when data beyond this is acknowledged */
	u32 acked;	/* packets that the last ACK acknowledged */
	u32 alpha;	/* packets to add per round trip, ILLINOIS_ALPHA_SHIFT */
	u32 beta;	/* share of the window to give up, ILLINOIS_BETA_SHIFT */
	u32 low_rounds;	/* consecutive rounds with a short queue after one with a long queue */
	bool was_above;	/* the queue has been long since alpha was last at its maximum */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct illinois);
CC_STATE(struct cc_search);

CC_INLINE void illinois_start_round(struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->sum_us = 0;
	ca->samples = 0;
}

CC_PROG(void, illinois_init, struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	ca->alpha = cc_params(sk)->alpha_max;
	ca->beta = ILLINOIS_BETA_HALF;
	ca->base_us = CC_DELAY_NONE_US;
	ca->longest_us = 0;
	ca->acked = 0;
	ca->low_rounds = 0;
	ca->was_above = false;
	illinois_start_round(sk);
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, illinois_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct illinois *ca = inet_csk_ca(sk);
	u32 rtt_us;

	ca->acked = sample->pkts_acked;
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
	if (sample->rtt_us < 0)
		return;
	rtt_us = min((u32)sample->rtt_us, ILLINOIS_LONGEST_RTT_US);
	ca->base_us = min(ca->base_us, rtt_us);
	ca->longest_us = max(ca->longest_us, rtt_us);
	ca->sum_us += rtt_us;
	ca->samples++;
}

/* alpha(d); `longest` is D. */
CC_INLINE u32 illinois_alpha(struct sock *sk, u32 delay_us, u32 longest_us)
{
	struct illinois *ca = inet_csk_ca(sk);
	u32 most = cc_params(sk)->alpha_max;
	u32 least = min(cc_params(sk)->alpha_min, most);
	u32 none_us = ILLINOIS_NO_DELAY(longest_us);

	if (delay_us <= none_us) {
		if (!ca->was_above)
			return most;
		/* A single short queue among long ones may be chance. */
		ca->low_rounds++;
		if (ca->low_rounds < cc_params(sk)->theta)
			return ca->alpha;
		ca->low_rounds = 0;
		ca->was_above = false;
		return most;
	}
	ca->was_above = true;
	longest_us -= none_us;
	delay_us -= none_us;
	return div_u32(longest_us * most,
		       longest_us + div_u32(delay_us * (most - least), least));
}

/* beta(d) */
CC_INLINE u32 illinois_beta(struct sock *sk, u32 delay_us, u32 longest_us)
{
	u32 most = cc_params(sk)->beta_max;
	u32 least = min(cc_params(sk)->beta_min, most);
	u32 low_us = ILLINOIS_LOW_DELAY(longest_us);
	u32 high_us = ILLINOIS_HIGH_DELAY(longest_us);

	if (delay_us <= low_us)
		return least;
	if (delay_us >= high_us || high_us <= low_us)
		return most;
	/* linear interpolation between both ends */
	return div_u32(least * (high_us - delay_us) + most * (delay_us - low_us),
		       high_us - low_us);
}

CC_INLINE void illinois_end_round(struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (tcp_snd_cwnd(tcp_sk(sk)) < cc_params(sk)->win_thresh) {
		ca->alpha = ILLINOIS_ALPHA_ONE;
		ca->beta = ILLINOIS_BETA_HALF;
	} else if (ca->samples) {
		u32 longest_us = ca->longest_us - ca->base_us;
		u32 delay_us = (u32)div_u64(ca->sum_us, ca->samples) - ca->base_us;

		ca->alpha = illinois_alpha(sk, delay_us, longest_us);
		ca->beta = illinois_beta(sk, delay_us, longest_us);
	}
	illinois_start_round(sk);
}

CC_PROG(void, illinois_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct illinois *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 growth;

	if (after(ack, ca->round_end))
		illinois_end_round(sk);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, ILLINOIS_SLOW_START);
		cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		return;
	}
	cc_phase(sk, cwnd < cc_params(sk)->win_thresh ? ILLINOIS_STANDARD : ILLINOIS_ADAPTIVE);
	tp->snd_cwnd_cnt += ca->acked;
	ca->acked = 1;
	/* alpha packets per acknowledged window */
	growth = (tp->snd_cwnd_cnt * ca->alpha) >> ILLINOIS_ALPHA_SHIFT;
	if (growth >= cwnd) {
		tcp_snd_cwnd_set(tp, min(cwnd + div_u32(growth, cwnd), tp->snd_cwnd_clamp));
		tp->snd_cwnd_cnt = 0;
	}
}

CC_PROG(void, illinois_set_state, struct sock *sk, u8 new_state)
{
	struct illinois *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->alpha = ILLINOIS_ALPHA_ONE;
	ca->beta = ILLINOIS_BETA_HALF;
	ca->low_rounds = 0;
	ca->was_above = false;
	illinois_start_round(sk);
}

CC_PROG(u32, illinois_ssthresh, struct sock *sk)
{
	struct illinois *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 given_up = (u32)(((u64)cwnd * ca->beta) >> ILLINOIS_BETA_SHIFT);

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max(cwnd - min(given_up, cwnd), 2u));
}

CC_PROG(u32, illinois_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(illinois) = {
	.init		= CC_CB(illinois_init),
	.ssthresh	= CC_CB(illinois_ssthresh),
	.cong_avoid	= CC_CB(illinois_cong_avoid),
	.undo_cwnd	= CC_CB(illinois_undo_cwnd),
	.set_state	= CC_CB(illinois_set_state),
	.pkts_acked	= CC_CB(illinois_pkts_acked),
	.name		= "illinois",
};

CC_DESCRIBE(illinois,
	.summary = "loss triggers a decrease; delay sets the size of all steps (Liu et al. 2006)",
	CC_HAS_PARAMETERS(illinois),
	CC_HAS_PHASES(illinois)
);
