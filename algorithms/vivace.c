// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Vivace: a rate that climbs the slope of its own utility.
 *
 * A sender tries a rate 5 % higher for a round trip and one 5 % lower for another, in
 * random order. What came of each is its utility, for a rate of x Mbit/s of which the
 * share L is lost while the RTT grows by dRTT/dT seconds a second:
 *
 *	U = x^0.9 - b x dRTT/dT - c x L		b = 900, c = 11.35
 *
 * Both utilities give the slope, along which the rate moves by slope * m. The factor m
 * grows with the moves in the same direction (1, 2, 3, 5, 7, ...); no move is larger
 * than 5 % of the rate, and 10 % more for each time in a row that this was too little.
 *
 *   +----------+  less utility than before  +---------+  both results  +------+
 *   | starting |--------------------------->| probing |--------------->| move |
 *   +----------+                            +---------+ <--------------+------+
 *    doubles the rate                  higher, lower, wait
 *
 * Differs from Reno: no window but twice what is in flight at the rate; losses and marks
 * change nothing but the utility, which bears 5 % of random loss.
 *
 * Papers: M. Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018,
 * sections 3 and 4, from memory of the text. Not in it, or not remembered: the result of
 * an interval comes with the ACKs of packets that were sent in it, told from others by
 * what was delivered when they were sent, so that a loss found late counts for the next
 * interval; slopes of the RTT below 1 % are noise; intervals in which the application
 * limits the sender are repeated; a timeout halves the rate and starts anew. x^0.9 is
 * right to 1 %. Where a link sends in bursts, RTTs go up and down by themselves, and b
 * makes much of it: `falling` 0, as in the authors' later Proteus (SIGCOMM 2020), helps.
 */
#include "cc.h"

#define VIVACE_ONE		65536		/* of exponents, slopes and shares: 1/2^16 */
#define VIVACE_EPSILON		20u		/* rates are tried 1/20 higher and lower */
#define VIVACE_MIN_SAMPLES	4u		/* RTTs that a slope needs */
#define VIVACE_NOISE		(VIVACE_ONE / 100)
#define VIVACE_TICK_SHIFT	4		/* times of the slope are in 16 us */
#define VIVACE_MOST_BOUNDS	100u
#define VIVACE_MAX_KBIT_S	400000000u

#define VIVACE_PARAMETERS(P)							\
	P(latency, "", 900, 0, 10000, "b, what a growing RTT costs")		\
	P(loss, "1/100", 1135, 0, 10000, "c, what a loss costs")		\
	P(falling, "bool", 1, 0, 1, "a falling RTT adds to the utility")		\
	P(step, "1/100", 100, 1, 10000, "the first move along a slope of 1, Mbit/s")

CC_PARAMETERS(vivace, VIVACE_PARAMETERS);

#define VIVACE_PHASES(P)					\
	P(VIVACE_STARTING, "starting")				\
	P(VIVACE_PROBING, "probing")

CC_PHASES(vivace, VIVACE_PHASES);

/* What is sent now. */
enum {
	VIVACE_FIRST,	/* the first interval of a trial; the only one when starting */
	VIVACE_SECOND,
	VIVACE_WAIT,	/* at the rate itself, until the results are there */
};

struct vivace {
	u64 sum_tt;		/* of the interval whose packets are acknowledged: */
	s64 sum_tr;		/* sent after its first packet, RTT longer than its */
	s64 sum_r;
	s64 sum_t;
	u32 samples;
	u32 first_us;		/* when its first packet was sent */
	u32 first_rtt_us;
	u32 acked;		/* packets */
	u32 lost;
	u32 delivered[3];	/* tp->delivered when each interval began, as it was sent */
	u32 began_us;		/* the one that is sent now */
	u32 rate;		/* kbit/s */
	s32 worth;		/* utility over rate: of the first interval; of the last start */
	u16 moves;		/* in the same direction */
	u8 bounds;		/* by which the largest move is larger */
	u8 sends;		/* VIVACE_FIRST, ... */
	u8 hears;		/* whose packets are acknowledged */
	u8 phase;
	bool is_up;		/* the last move */
	bool is_higher_first;
	bool is_limited;	/* by the application, in this trial */
	bool has_worth;		/* of the last start */
};

CC_PRIV_CHECK(struct vivace);

/* x^-0.1 of a rate in kbit/s as Mbit/s, in 1/2^16: both powers of two by their bits. */
CC_INLINE u32 vivace_damping(u32 kbit_s)
{
	u32 bits = fls64(max(kbit_s, 1u)) - 1, exponent, whole;
	u64 fraction;

	/* log2 of kbit/s by its first bits, less that of 1000, which is 9.966 */
	fraction = ((u64)kbit_s << 16 >> bits) & 0xffff;
	exponent = (bits << 16) + (u32)fraction;
	exponent = exponent > 653125 ? (exponent - 653125) / 10 : 0;
	whole = exponent >> 16;
	fraction = exponent & 0xffff;
	/* 2^-f = 1 - 0.6716 f + 0.1716 f^2 */
	return (u32)(VIVACE_ONE - ((fraction * 44014) >> 16) +
		     ((fraction * fraction >> 16) * 11246 >> 16)) >> whole;
}

/* How much the RTT grew in the interval, seconds a second in 1/2^16: the line of least squares. */
CC_INLINE s64 vivace_slope(struct sock *sk)
{
	const struct vivace *ca = inet_csk_ca(sk);
	u64 spread, size;
	s64 covariance, mean_t, mean_r;
	bool is_falling;

	if (ca->samples < VIVACE_MIN_SAMPLES)
		return 0;
	mean_t = div_s64(ca->sum_t, (s32)ca->samples);
	spread = div_u64(ca->sum_tt, ca->samples);
	spread -= min(spread, (u64)(mean_t * mean_t));
	mean_r = div_s64(ca->sum_r, (s32)ca->samples);
	covariance = div_s64(ca->sum_tr, (s32)ca->samples) - mean_t * mean_r;
	is_falling = covariance < 0;
	size = (u64)(is_falling ? -covariance : covariance);
	size = div64_u64(min(size, ~0ull >> 12) << (16 - VIVACE_TICK_SHIFT), max(spread, 1ull));
	size = min(size, (u64)VIVACE_ONE);
	if (size < VIVACE_NOISE || (is_falling && !cc_params(sk)->falling))
		return 0;
	return is_falling ? -(s64)size : (s64)size;
}

/* The utility of the interval that has ended, divided by its rate. */
CC_INLINE s32 vivace_worth(struct sock *sk, u32 rate)
{
	const struct vivace *ca = inet_csk_ca(sk);
	u32 sent = max(ca->acked + ca->lost, 1u);
	s64 worth = (s64)vivace_damping(rate);
	u64 loss = div_u64((u64)ca->lost * VIVACE_ONE * cc_params(sk)->loss, sent);

	worth -= vivace_slope(sk) * (s64)cc_params(sk)->latency;
	worth -= (s64)div_u64(loss, 100);
	return (s32)worth;
}

CC_INLINE u32 vivace_tried(const struct vivace *ca, bool is_higher)
{
	u32 change = ca->rate / VIVACE_EPSILON;

	return is_higher ? ca->rate + change : ca->rate - change;
}

/* The rate of what is sent now. */
CC_INLINE u32 vivace_present(const struct vivace *ca)
{
	if (ca->phase == VIVACE_STARTING || ca->sends == VIVACE_WAIT)
		return ca->rate;
	return vivace_tried(ca, ca->is_higher_first == (ca->sends == VIVACE_FIRST));
}

CC_INLINE void vivace_forget(struct vivace *ca)
{
	ca->sum_tt = 0;
	ca->sum_tr = 0;
	ca->sum_r = 0;
	ca->sum_t = 0;
	ca->samples = 0;
	ca->acked = 0;
	ca->lost = 0;
}

/* A new trial, which is heard of once its packets are acknowledged. */
CC_INLINE void vivace_try(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);

	ca->sends = VIVACE_FIRST;
	ca->hears = VIVACE_WAIT;
	ca->delivered[0] = tp->delivered;
	ca->began_us = (u32)tp->tcp_mstamp;
	ca->is_higher_first = cc_prandom_u32(sk) & 1;
	ca->is_limited = false;
	vivace_forget(ca);
}

CC_INLINE void vivace_set_rate(struct sock *sk, u32 kbit_s)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);
	u32 srtt_us = max(tp->srtt_us >> 3, 1u);
	/* two packets a round trip */
	u32 least = (u32)min(div_u64((u64)tp->mss_cache * 16000, srtt_us), 1000000ull);

	ca->rate = min(max(max(kbit_s, least), VIVACE_EPSILON), VIVACE_MAX_KBIT_S);
}

/* Along the slope, in 1/2^16 of utility a Mbit/s. */
CC_INLINE void vivace_move(struct sock *sk, s64 slope)
{
	struct vivace *ca = inet_csk_ca(sk);
	bool is_up = slope > 0;
	u64 size = (u64)(is_up ? slope : -slope), change;
	u32 factor, bound;

	if (is_up != ca->is_up) {
		ca->moves = 0;
		ca->bounds = 0;
		ca->is_up = is_up;
	}
	if (ca->moves < 1000)
		ca->moves++;
	factor = ca->moves <= 3 ? ca->moves : 2u * ca->moves - 3;
	size = min(size, (u64)VIVACE_ONE * 1000);
	/* kbit/s: 1000 a Mbit/s, in 1/100 of 1/2^16 */
	change = (size * factor * cc_params(sk)->step * 10) >> 16;
	bound = ca->rate / 20 + ca->rate / 10 * ca->bounds;
	if (change > bound) {
		change = bound;
		if (ca->bounds < VIVACE_MOST_BOUNDS)
			ca->bounds++;
	} else if (ca->bounds) {
		ca->bounds--;
	}
	if (is_up)
		vivace_set_rate(sk, ca->rate + (u32)change);
	else
		vivace_set_rate(sk, ca->rate > change ? ca->rate - (u32)change : 0);
}

/* The interval that was heard is over: its worth, and after the last one what follows. */
CC_INLINE void vivace_end_interval(struct sock *sk)
{
	struct vivace *ca = inet_csk_ca(sk);
	s32 worth;

	if (ca->phase == VIVACE_STARTING) {
		u32 half = ca->rate / 2;

		worth = vivace_worth(sk, ca->rate);
		/* less utility than at half the rate */
		if (ca->has_worth && 2 * (s64)worth < (s64)ca->worth) {
			ca->phase = VIVACE_PROBING;
			vivace_set_rate(sk, half);
		} else if (!ca->is_limited) {
			ca->worth = worth;
			ca->has_worth = true;
			vivace_set_rate(sk, ca->rate * 2);
		}
		vivace_try(sk);
		return;
	}
	if (ca->hears == VIVACE_FIRST) {
		ca->worth = vivace_worth(sk, vivace_tried(ca, ca->is_higher_first));
		return;
	}
	worth = vivace_worth(sk, vivace_tried(ca, !ca->is_higher_first));
	if (!ca->is_limited) {
		s64 high = ca->is_higher_first ? ca->worth : worth;
		s64 low = ca->is_higher_first ? worth : ca->worth;
		/* (1 + e) high - (1 - e) low, over 2 e */
		s64 slope = div_s64(high + low + (high - low) * (s64)VIVACE_EPSILON, 2);

		vivace_move(sk, slope);
	}
	vivace_try(sk);
}

/* Which interval the packets were sent in that are acknowledged now. */
CC_INLINE void vivace_follow(struct sock *sk, u32 prior_delivered)
{
	struct vivace *ca = inet_csk_ca(sk);

	if (ca->hears == VIVACE_WAIT) {
		if (before(ca->delivered[0], prior_delivered)) {
			ca->hears = VIVACE_FIRST;
			vivace_forget(ca);
		}
		return;
	}
	if (ca->hears == VIVACE_FIRST && ca->sends > VIVACE_FIRST &&
	    before(ca->delivered[1], prior_delivered)) {
		vivace_end_interval(sk);
		if (ca->phase == VIVACE_PROBING && ca->hears == VIVACE_FIRST) {
			ca->hears = VIVACE_SECOND;
			vivace_forget(ca);
		}
	} else if (ca->hears == VIVACE_SECOND && ca->sends == VIVACE_WAIT &&
		   before(ca->delivered[2], prior_delivered)) {
		vivace_end_interval(sk);
	}
}

CC_INLINE void vivace_take(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);
	u32 sent_us = (u32)tp->tcp_mstamp - (u32)rs->rtt_us;
	s64 t, r;

	ca->acked += rs->acked_sacked;
	ca->lost += (u32)max(rs->losses, 0);
	if (rs->is_app_limited)
		ca->is_limited = true;
	if (rs->rtt_us < 0)
		return;
	if (!ca->samples) {
		ca->first_us = sent_us;
		ca->first_rtt_us = (u32)rs->rtt_us;
	}
	t = div_s64((s32)(sent_us - ca->first_us), 1 << VIVACE_TICK_SHIFT);
	r = (s64)rs->rtt_us - (s64)ca->first_rtt_us;
	ca->samples++;
	ca->sum_t += t;
	ca->sum_tt += (u64)(t * t);
	ca->sum_r += r;
	ca->sum_tr += t * r;
}

/* An interval takes a round trip. */
CC_INLINE void vivace_send_next(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);

	if (ca->sends == VIVACE_WAIT || (u32)tp->tcp_mstamp - ca->began_us < tp->srtt_us >> 3)
		return;
	if (ca->phase == VIVACE_STARTING || ca->sends == VIVACE_SECOND) {
		ca->delivered[ca->sends == VIVACE_SECOND ? 2 : 1] = tp->delivered;
		ca->sends = VIVACE_WAIT;
	} else {
		ca->delivered[1] = tp->delivered;
		ca->sends = VIVACE_SECOND;
	}
	ca->began_us = (u32)tp->tcp_mstamp;
}

CC_INLINE void vivace_apply(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct vivace *ca = inet_csk_ca(sk);
	u64 rate = (u64)vivace_present(ca) * 125;	/* bytes/s */
	u64 window = div_u64(rate * (tp->srtt_us >> 3), USEC_PER_SEC);

	sk->sk_pacing_rate = min(rate, (u64)sk->sk_max_pacing_rate);
	window = min(div_u64(2 * window, tp->mss_cache) + 10, (u64)tp->snd_cwnd_clamp);
	tcp_snd_cwnd_set(tp, (u32)window);
}

CC_PROG_CONG_CONTROL(vivace_cong_control, struct sock *sk, u32 ack, int flag,
		     const struct rate_sample *rs)
{
	struct vivace *ca = inet_csk_ca(sk);

	(void)ack;
	(void)flag;
	if (rs->delivered > 0)
		vivace_follow(sk, rs->prior_delivered);
	vivace_take(sk, rs);
	vivace_send_next(sk);
	vivace_apply(sk);
	cc_phase(sk, ca->phase);
}

/* The rate of the window that there is, each RTT, of 100 ms if none is known. */
CC_INLINE void vivace_start(struct sock *sk, u32 kbit_s)
{
	struct vivace *ca = inet_csk_ca(sk);

	ca->phase = VIVACE_STARTING;
	ca->has_worth = false;
	ca->moves = 0;
	ca->bounds = 0;
	vivace_set_rate(sk, kbit_s);
	vivace_try(sk);
}

CC_PROG(void, vivace_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);
	u32 rtt_us = tp->srtt_us ? max(tp->srtt_us >> 3, 1u) : 100 * USEC_PER_MSEC;
	u64 bits = (u64)tcp_snd_cwnd(tp) * tp->mss_cache * 8;

	*ca = (struct vivace){ .phase = VIVACE_STARTING };
	vivace_start(sk, (u32)min(div_u64(bits * 1000, rtt_us), (u64)VIVACE_MAX_KBIT_S));
	sk->sk_pacing_rate = min((u64)ca->rate * 125, (u64)sk->sk_max_pacing_rate);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_PROG(void, vivace_set_state, struct sock *sk, u8 new_state)
{
	const struct vivace *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Loss)
		vivace_start(sk, ca->rate / 2);
}

CC_PROG(u32, vivace_ssthresh, struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

CC_PROG(u32, vivace_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(vivace) = {
	.init		= CC_CB(vivace_init),
	.cong_control	= CC_CB(vivace_cong_control),
	.ssthresh	= CC_CB(vivace_ssthresh),
	.undo_cwnd	= CC_CB(vivace_undo_cwnd),
	.set_state	= CC_CB(vivace_set_state),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "vivace",
};

CC_DESCRIBE(vivace,
	.summary = "a rate that climbs the slope of its utility (PCC Vivace, 2018)",
	CC_HAS_PARAMETERS(vivace),
	CC_HAS_PHASES(vivace)
);
