// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Copa: keeps 1/delta packets of each flow in the queue.
 *
 * The queueing delay dq is the lowest RTT of the last half round trip (the standing
 * RTT) minus the lowest RTT of the last 10 s. If packets arrive at random, a target
 * rate of 1 / (delta dq) optimises throughput and delay of all flows together. At
 * each ACK, the window moves by v / (delta cwnd) towards this rate. The velocity v
 * doubles each round trip, from the third round trip on in which the window moves in
 * the same direction, and is reset to 1 when the direction changes. Flows that all
 * use Copa empty the queue every five round trips. If the queue is never empty,
 * another kind of flow fills it: 1/delta then grows by one packet per round trip and
 * is halved by a loss, so Copa can compete with Reno and CUBIC.
 *
 *   +------------+  cwnd / standing > target  +---------+  no empty queue   +-------------+
 *   | slow start |--------------------------->| default |------------------>| competitive |
 *   +------------+                            +---------+  for 5 rounds     +-------------+
 *         ^        timeout                      |     ^  queue nearly empty        |
 *         +-------------------------------------+     +----------------------------+
 *
 * Differs from Reno: losses change nothing in the default mode; packets are paced at
 * twice cwnd / standing.
 *
 * Papers: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control
 * for the Internet", NSDI 2018, sections 2.1 and 2.2. The paper does not specify the
 * effect of a timeout (here: slow start), the minimum of the window (here: 2
 * packets), the growth while the application limits the sender (here: none), and the
 * largest change of the window at one ACK (here: the acknowledged data, which limits
 * v). Copa often mistakes the queue of other Copa flows for the queue of a flow that
 * fills it; later authors found the same (IEEE/ACM Transactions on Networking 31(6),
 * 2023, "Improvement of Copa"). `mode_switching` 0 keeps the default mode.
 */
#include "cc.h"

#define COPA_MIN_CWND		2u
#define COPA_UNIT		16u	/* 1/delta is in 1/16 packets */
#define COPA_RTT_MIN_MS		10000u
#define COPA_RTT_MAX_ROUNDS	4u
#define COPA_EMPTY_ROUNDS	5u
#define COPA_EMPTY_SHARE	10u	/* one tenth of the RTT's range */
#define COPA_SAME_WAY_ROUNDS	3u
#define COPA_FASTEST		(1u << 16)

#define COPA_PARAMETERS(P)							\
	P(delta, "1/1024", 512, 4, 16384,					\
	  "Copa keeps 1/delta packets in the queue")				\
	P(mode_switching, "bool", 1, 0, 1, "compete with flows that fill the queue")

CC_PARAMETERS(copa, COPA_PARAMETERS);

#define COPA_PHASES(P)						\
	P(COPA_SLOW_START, "slow_start")			\
	P(COPA_DEFAULT, "default")				\
	P(COPA_COMPETITIVE, "competitive")

CC_PHASES(copa, COPA_PHASES);

struct copa {
	struct minmax rtt_min;		/* us, with time in ms */
	struct minmax rtt_standing;	/* us, with time in us */
	struct minmax rtt_max;		/* us, with time in us */
	u32 next_round_delivered;	/* tp->delivered that ends the round */
	u32 round_cwnd;			/* window at the start of the round, packets */
	u32 empty_us;			/* when the queue was last nearly empty */
	u32 velocity;
	u32 inverse_delta;		/* 1/16 packets */
	u32 credit;			/* change not yet applied to the window, see copa_move() */
	u8 same_way_rounds;		/* rounds in which the window moved in the same direction */
	u8 phase;			/* COPA_* */
	bool went_up;			/* the last round moved the window up */
	bool has_lost;			/* a loss occurred in this round */
	bool has_rtt;
};

CC_PRIV_CHECK(struct copa);

CC_INLINE u32 copa_default_inverse(const struct sock *sk)
{
	return div_u32(COPA_UNIT * 1024, cc_params(sk)->delta);
}

CC_INLINE void copa_take_rtt(struct sock *sk, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);
	u32 now_us = (u32)tp->tcp_mstamp, srtt_us = max(tp->srtt_us >> 3, 1u);

	if (!ca->has_rtt) {
		ca->has_rtt = true;
		minmax_reset(&ca->rtt_min, cc_now_ms(sk), rtt_us);
		minmax_reset(&ca->rtt_standing, now_us, rtt_us);
		minmax_reset(&ca->rtt_max, now_us, rtt_us);
		return;
	}
	minmax_running_min(&ca->rtt_min, COPA_RTT_MIN_MS, cc_now_ms(sk), rtt_us);
	minmax_running_min(&ca->rtt_standing, srtt_us / 2, now_us, rtt_us);
	minmax_running_max(&ca->rtt_max, COPA_RTT_MAX_ROUNDS * srtt_us, now_us, rtt_us);
}

CC_INLINE u32 copa_queueing_us(const struct copa *ca)
{
	u32 standing = minmax_get(&ca->rtt_standing), least = minmax_get(&ca->rtt_min);

	return standing > least ? standing - least : 0;
}

/* Selects the mode by the time since the queue was last nearly empty. */
CC_INLINE void copa_choose_mode(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);
	u32 now_us = (u32)tp->tcp_mstamp;
	u32 range_us = minmax_get(&ca->rtt_max) - min(minmax_get(&ca->rtt_min),
						      minmax_get(&ca->rtt_max));

	if ((u64)copa_queueing_us(ca) * COPA_EMPTY_SHARE <= range_us)
		ca->empty_us = now_us;
	if (ca->phase == COPA_SLOW_START)
		return;
	if (!cc_params(sk)->mode_switching ||
	    now_us - ca->empty_us <= COPA_EMPTY_ROUNDS * (tp->srtt_us >> 3)) {
		ca->phase = COPA_DEFAULT;
		ca->inverse_delta = copa_default_inverse(sk);
	} else {
		ca->phase = COPA_COMPETITIVE;
	}
}

/* At the end of a round trip: the velocity, and delta in the competitive mode. */
CC_INLINE void copa_end_round(struct sock *sk)
{
	struct copa *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk)), least = copa_default_inverse(sk);
	bool goes_up = cwnd > ca->round_cwnd;

	if (goes_up != ca->went_up) {
		ca->same_way_rounds = 0;
		ca->velocity = 1;
	} else if (ca->same_way_rounds < COPA_SAME_WAY_ROUNDS) {
		ca->same_way_rounds++;
	} else {
		ca->velocity = min(ca->velocity * 2, COPA_FASTEST);
	}
	ca->went_up = goes_up;
	if (ca->phase == COPA_COMPETITIVE)
		ca->inverse_delta = ca->has_lost ?
			max(ca->inverse_delta / 2, least) :
			min(ca->inverse_delta + COPA_UNIT, COPA_FASTEST);
	ca->has_lost = false;
	ca->round_cwnd = cwnd;
	ca->next_round_delivered = tcp_sk(sk)->delivered;
}

/*
 * Moves by v / (delta cwnd) packets for each acknowledged packet, up or down. The
 * credit is in 1 / (16 cwnd) packets; it rises from 0 and falls from one packet.
 */
CC_INLINE u32 copa_move(struct copa *ca, u32 cwnd, u32 acked, bool is_up)
{
	u64 packet = (u64)cwnd * COPA_UNIT;
	u64 step = (u64)ca->velocity * ca->inverse_delta;
	u64 credit = min((u64)ca->credit, packet);
	u32 packets;

	step = min(step, packet) * acked;
	if (is_up) {
		credit += step;
		packets = (u32)div64_u64(credit, packet);
		ca->credit = (u32)(credit - packets * packet);
		return cwnd + packets;
	}
	if (credit >= step) {
		ca->credit = (u32)(credit - step);
		return cwnd;
	}
	packets = (u32)div64_u64(step - credit + packet - 1, packet);
	ca->credit = (u32)(credit + packets * packet - step);
	return cwnd > packets ? cwnd - packets : 0;
}

CC_INLINE void copa_set_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct copa *ca = inet_csk_ca(sk);
	u64 bytes = (u64)tcp_snd_cwnd(tp) * tp->mss_cache * 2;

	if (!ca->has_rtt)
		return;
	sk->sk_pacing_rate = min(div_u64(bytes * USEC_PER_SEC,
					 max(minmax_get(&ca->rtt_standing), 1u)),
				 (u64)sk->sk_max_pacing_rate);
}

CC_PROG_CONG_CONTROL(copa_cong_control, struct sock *sk, u32 ack, int flag,
		     const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	bool is_up;

	(void)ack;
	(void)flag;
	if (rs->losses > 0)
		ca->has_lost = true;
	if (rs->rtt_us >= 0)
		copa_take_rtt(sk, max((u32)rs->rtt_us, 1u));
	if (!ca->has_rtt)
		return;
	copa_choose_mode(sk);
	/* cwnd / standing <= 1 / (delta dq), without divisions */
	is_up = (u64)cwnd * copa_queueing_us(ca) * COPA_UNIT <=
		(u64)minmax_get(&ca->rtt_standing) * ca->inverse_delta;
	if (ca->phase == COPA_SLOW_START && !is_up) {
		ca->phase = COPA_DEFAULT;
		ca->round_cwnd = cwnd;
		ca->went_up = true;
		tp->snd_ssthresh = max(cwnd, COPA_MIN_CWND);
	}
	if (is_up && !tcp_is_cwnd_limited(sk))
		; /* the application limits the sender */
	else if (ca->phase == COPA_SLOW_START)
		cwnd += rs->acked_sacked;
	else
		cwnd = copa_move(ca, cwnd, rs->acked_sacked, is_up);
	tcp_snd_cwnd_set(tp, min(max(cwnd, COPA_MIN_CWND), tp->snd_cwnd_clamp));
	if (!before(rs->prior_delivered, ca->next_round_delivered))
		copa_end_round(sk);
	copa_set_rate(sk);
	cc_phase(sk, ca->phase);
}

CC_INLINE void copa_start(struct sock *sk)
{
	struct copa *ca = inet_csk_ca(sk);

	ca->phase = COPA_SLOW_START;
	ca->velocity = 1;
	ca->same_way_rounds = 0;
	ca->credit = 0;
	ca->inverse_delta = copa_default_inverse(sk);
	ca->empty_us = (u32)tcp_sk(sk)->tcp_mstamp;
	cc_phase(sk, ca->phase);
}

CC_PROG(void, copa_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct copa *ca = inet_csk_ca(sk);

	*ca = (struct copa){ .next_round_delivered = tp->delivered };
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	if (tp->srtt_us)
		copa_take_rtt(sk, max(tp->srtt_us >> 3, 1u));
	copa_start(sk);
	copa_set_rate(sk);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_PROG(void, copa_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		copa_start(sk);
}

CC_PROG(u32, copa_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_PROG(u32, copa_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(copa) = {
	.init		= CC_CB(copa_init),
	.cong_control	= CC_CB(copa_cong_control),
	.ssthresh	= CC_CB(copa_ssthresh),
	.undo_cwnd	= CC_CB(copa_undo_cwnd),
	.set_state	= CC_CB(copa_set_state),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "copa",
};

CC_DESCRIBE(copa,
	.summary = "keeps few packets in the queue, more if other flows fill it (2018)",
	CC_HAS_PARAMETERS(copa),
	CC_HAS_PHASES(copa)
);
