// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Vivace: a rate that follows the gradient of its own utility.
 *
 * A sender tries a rate 5 % higher for one round trip and a rate 5 % lower for
 * another, in random order, and computes the utility of each. For a rate of x
 * Mbit/s, of which the share L is lost while the RTT grows by dRTT/dT seconds per
 * second, the utility is
 *
 *	U = x^0.9 - b x dRTT/dT - c x L		b = 900, c = 11.35
 *
 * The two utilities give the gradient, and the rate moves by gradient * m. The
 * factor m grows with consecutive moves in the same direction (1, 2, 3, 5, 7, ...).
 * A move is at most 5 % of the rate, plus 10 % for each consecutive move that
 * reached this bound.
 *
 *   +----------+  less utility than before  +---------+  both results  +------+
 *   | starting |--------------------------->| probing |--------------->| move |
 *   +----------+          timeout           +---------+ <--------------+------+
 *    doubles the rate                  higher, lower, wait
 *
 * Differs from Reno: the window is only a limit of twice the data in flight at this
 * rate and the lowest RTT; losses and marks have no effect except on the utility,
 * which tolerates 5 % of random loss at 100 Mbit/s (there, 0.9 x^-0.1 = 0.05 c).
 *
 * Papers: M. Dong et al., "PCC Vivace: Online-Learning Congestion Control", NSDI 2018,
 * sections 3 and 4, as quoted in a reader's notes: the utility, also for a falling RTT;
 * two intervals of one round trip; the bound on moves, which falls to the lowest value
 * that allows a smaller move; the slope of the RTT by least squares, of which less than
 * 1 % is noise; a trial is repeated if the higher rate lost less, and both results are
 * averaged if this happens again; a timeout halves the rate. The numbers and the factor
 * m are from memory of the paper, and match WebRTC's first implementation of it.
 *
 * Where the paper is silent: the authors' code (github.com/PCCproject/PCC-Uspace),
 *	branch NSDI-2018: at least 10 packets per interval; a trial is repeated only
 *	if 5 % were lost, and over two packets more at the lower rate (otherwise, random
 *	losses would hold the rate down, because only favourable results are repeated);
 *	half the rate if half of an interval is lost; slopes below 20 % are noise when
 *	starting;
 *	branch master (2020, the current one according to its README): half the rate
 *	while a start waits for its result, and falling RTTs do not count then; a slope
 *	of the RTT counts as zero if it is smaller than its error, which is the root
 *	mean square of the residuals divided by the mean RTT;
 *	branch pcc-ccp, which controls TCP: the window. With the smoothed RTT instead,
 *	which grows with the queue, a rate above the link's would lose most packets.
 * Not adopted from there: a lower weight, one tenth, for losses up to 3 %, a minimum
 * rate of 0.5 to 1.3 Mbit/s and a minimum move of 0.5 Mbit/s, several pairs of intervals
 * per trial, the trend of the RTT over six intervals. `falling` 0 is the behaviour of
 * branches master and pcc-ccp; it helps if a link sends in bursts, so that RTTs fall by
 * themselves.
 *
 * Our choices: the result of an interval is based on the ACKs of packets that were
 * sent in it, which are identified by the data delivered when they were sent, so a
 * loss found late counts for the next interval; intervals in which the application
 * limits the sender are repeated; the retransmission timer is the timeout; the
 * minimum rate is two packets per round trip; x^0.9 is accurate to 1 %.
 */
#include "cc.h"

#define VIVACE_ONE		65536		/* scale of exponents, slopes and shares: 1/2^16 */
#define VIVACE_EPSILON		20u		/* the rates tried are 1/20 higher and lower */
#define VIVACE_MIN_SAMPLES	4u		/* minimum number of RTTs for a slope */
#define VIVACE_LEAST_PACKETS	10u		/* minimum of an interval */
#define VIVACE_NOISE		(VIVACE_ONE / 100)
#define VIVACE_NOISE_STARTING	(VIVACE_ONE / 5)
#define VIVACE_TICK_SHIFT	4		/* times in the slope's sums are in 16 us */
#define VIVACE_MOST_BOUNDS	100u
#define VIVACE_MAX_KBIT_S	400000000u

#define VIVACE_PARAMETERS(P)							\
	P(latency, "", 900, 0, 10000, "b, what a growing RTT costs")		\
	P(loss, "1/100", 1135, 0, 10000, "c, what a loss costs")		\
	P(falling, "bool", 1, 0, 1, "a falling RTT adds to the utility")		\
	P(step, "1/100", 100, 1, 10000, "the first move along a slope of 1, Mbit/s")	\
	P(tolerance, "bool", 1, 0, 1, "an RTT slope smaller than its error counts as none")

CC_PARAMETERS(vivace, VIVACE_PARAMETERS);

#define VIVACE_PHASES(P)					\
	P(VIVACE_STARTING, "starting")				\
	P(VIVACE_PROBING, "probing")

CC_PHASES(vivace, VIVACE_PHASES);

/* The interval whose packets are being sent. */
enum {
	VIVACE_FIRST,	/* the first interval of a trial; the only one when starting */
	VIVACE_SECOND,
	VIVACE_WAIT,	/* at the rate itself, until the results are available */
};

struct vivace {
	u64 sum_tt;		/* sums over the interval that is being acknowledged: */
	s64 sum_tr;		/* time since its first packet was sent, RTT minus the first one */
	u64 sum_rr;
	s64 sum_r;
	s64 sum_t;
	u32 samples;
	u32 first_us;		/* when its first packet was sent */
	u32 first_rtt_us;
	u32 acked;		/* packets */
	u32 lost;
	u32 first_began;	/* tp->delivered when the first interval began to be sent */
	u32 second_began;	/* the same for the second; of a start: for its end */
	u32 second_ended;
	u32 began_us;		/* start of the interval that is being sent */
	u32 rate;		/* kbit/s */
	s32 worth;		/* utility / rate of the first interval, or of the last start */
	s32 slope;		/* slope of the utility in the trial that is being checked */
	u16 lost_first;		/* packets lost in the first interval */
	u16 moves;		/* consecutive moves in the same direction */
	u8 bounds;		/* number of tenths added to the bound of a move */
	u8 sends;		/* VIVACE_FIRST, ... */
	u8 hears;		/* interval whose packets are being acknowledged */
	u8 phase;
	bool is_up;		/* the last move was up */
	bool is_higher_first;
	bool is_limited;	/* the application limited the sender in this trial */
	bool is_check;		/* this trial repeats one with an odd result */
	bool has_worth;		/* worth is that of a previous start */
};

CC_PRIV_CHECK(struct vivace);

/*
 * x^-0.1 for a rate in kbit/s as Mbit/s, in 1/2^16, by bitwise approximations of
 * log2 and 2^x.
 */
CC_INLINE u32 vivace_damping(u32 kbit_s)
{
	u32 bits = fls64(max(kbit_s, 1u)) - 1, exponent, whole;
	u64 fraction;

	/* log2 of kbit/s by its leading bits, minus log2(1000) = 9.966 */
	fraction = ((u64)kbit_s << 16 >> bits) & 0xffff;
	exponent = (bits << 16) + (u32)fraction;
	exponent = exponent > 653125 ? (exponent - 653125) / 10 : 0;
	whole = exponent >> 16;
	fraction = exponent & 0xffff;
	/* 2^-f = 1 - 0.6716 f + 0.1716 f^2 */
	return (u32)(VIVACE_ONE - ((fraction * 44014) >> 16) +
		     ((fraction * fraction >> 16) * 11246 >> 16)) >> whole;
}

/* The mean square of the residuals of the RTTs' least-squares line, us^2. */
CC_INLINE u64 vivace_rest(const struct vivace *ca, s64 mean_r, u64 covariance, u64 spread)
{
	u64 square = div_u64(ca->sum_rr, ca->samples);
	/* covariance^2 / spread; the slope is in us per tick with 12 additional bits */
	u64 line = (div64_u64(covariance << 12, max(spread, 1ull)) * covariance) >> 12;

	square -= min(square, (u64)mean_r * (u64)mean_r);
	return square - min(square, line);
}

/* The growth of the RTT in the interval, in 1/2^16 s/s, by least squares. */
CC_INLINE s64 vivace_slope(struct sock *sk)
{
	const struct vivace *ca = inet_csk_ca(sk);
	u64 spread, size, covariance, error;
	s64 product, mean_t, mean_r;
	bool is_falling, is_starting = ca->phase == VIVACE_STARTING;

	if (ca->samples < VIVACE_MIN_SAMPLES)
		return 0;
	mean_t = div_s64(ca->sum_t, (s32)ca->samples);
	spread = div_u64(ca->sum_tt, ca->samples);
	spread -= min(spread, (u64)(mean_t * mean_t));
	mean_r = div_s64(ca->sum_r, (s32)ca->samples);
	product = div_s64(ca->sum_tr, (s32)ca->samples) - mean_t * mean_r;
	is_falling = product < 0;
	covariance = min((u64)(is_falling ? -product : product), ~0ull >> 12);
	size = div64_u64(covariance << (16 - VIVACE_TICK_SHIFT), max(spread, 1ull));
	size = min(size, (u64)VIVACE_ONE);
	if (size < (is_starting ? VIVACE_NOISE_STARTING : VIVACE_NOISE) ||
	    (is_falling && (is_starting || !cc_params(sk)->falling)))
		return 0;
	error = (u64)cc_sqrt64(vivace_rest(ca, mean_r, covariance, spread)) * VIVACE_ONE;
	error = div64_u64(error, (u64)max((s64)ca->first_rtt_us + mean_r, 1ll));
	if (cc_params(sk)->tolerance && size <= error)
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

/* The current sending rate. */
CC_INLINE u32 vivace_present(const struct vivace *ca)
{
	if (ca->phase == VIVACE_STARTING)
		return ca->sends == VIVACE_WAIT ? ca->rate / 2 : ca->rate;
	if (ca->sends == VIVACE_WAIT)
		return ca->rate;
	return vivace_tried(ca, ca->is_higher_first == (ca->sends == VIVACE_FIRST));
}

CC_INLINE void vivace_forget(struct vivace *ca)
{
	ca->sum_tt = 0;
	ca->sum_tr = 0;
	ca->sum_rr = 0;
	ca->sum_r = 0;
	ca->sum_t = 0;
	ca->samples = 0;
	ca->acked = 0;
	ca->lost = 0;
}

/* Starts a trial, whose results arrive with the ACKs of its packets. */
CC_INLINE void vivace_try(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);

	ca->sends = VIVACE_FIRST;
	ca->hears = VIVACE_WAIT;
	ca->first_began = tp->delivered;
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
	/* two packets per round trip */
	u32 least = (u32)min(div_u64((u64)tp->mss_cache * 16000, srtt_us), 1000000ull);

	ca->rate = min(max(max(kbit_s, least), VIVACE_EPSILON), VIVACE_MAX_KBIT_S);
}

/* Moves the rate along the slope, in 1/2^16 of utility per Mbit/s. */
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
	/* in kbit/s, 1000 per Mbit/s; step is in 1/100, slope in 1/2^16 */
	change = (size * factor * cc_params(sk)->step * 10) >> 16;
	bound = ca->rate / 20 + ca->rate / 10 * ca->bounds;
	if (change > bound) {
		change = bound;
		if (ca->bounds < VIVACE_MOST_BOUNDS)
			ca->bounds++;
	} else {
		/* the smallest number of tenths that allows this move */
		u64 beyond = change > ca->rate / 20 ? change - ca->rate / 20 : 0;
		u64 tenth = max(ca->rate / 10, 1u);

		ca->bounds = (u8)min(div64_u64(beyond + tenth - 1, tenth), (u64)ca->bounds);
	}
	if (is_up)
		vivace_set_rate(sk, ca->rate + (u32)change);
	else
		vivace_set_rate(sk, ca->rate > change ? ca->rate - (u32)change : 0);
}

/* After a timeout or heavy loss: halves the rate and resets the direction. */
CC_INLINE void vivace_halve(struct sock *sk)
{
	struct vivace *ca = inet_csk_ca(sk);

	ca->phase = VIVACE_PROBING;
	ca->is_check = false;
	ca->moves = 0;
	ca->bounds = 0;
	vivace_set_rate(sk, ca->rate / 2);
	vivace_try(sk);
}

/* Doubles the rate, until the utility is less than at half the rate. */
CC_INLINE void vivace_end_start(struct sock *sk)
{
	struct vivace *ca = inet_csk_ca(sk);
	s32 worth = vivace_worth(sk, ca->rate);

	if (ca->has_worth && 2 * (s64)worth < (s64)ca->worth) {
		ca->phase = VIVACE_PROBING;
		vivace_set_rate(sk, ca->rate / 2);
	} else if (!ca->is_limited) {
		ca->worth = worth;
		ca->has_worth = true;
		vivace_set_rate(sk, ca->rate * 2);
	}
	vivace_try(sk);
}

/* With 5 % lost: whether the higher rate had at least three losses fewer, but not none. */
CC_INLINE bool vivace_is_odd(const struct vivace *ca)
{
	u32 high = ca->is_higher_first ? ca->lost_first : ca->lost;
	u32 low = ca->is_higher_first ? ca->lost : ca->lost_first;
	u64 sent = (u64)ca->acked + ca->lost;	/* approximately equal to that of the first */

	return high && low > high + 2 && ((u64)low + high) * 10 >= sent;
}

/* Ends a trial after both intervals. */
CC_INLINE void vivace_decide(struct sock *sk, s32 worth)
{
	struct vivace *ca = inet_csk_ca(sk);
	s64 high = ca->is_higher_first ? ca->worth : worth;
	s64 low = ca->is_higher_first ? worth : ca->worth;
	/* ((1 + e) high - (1 - e) low) / (2 e) */
	s64 slope = div_s64(high + low + (high - low) * (s64)VIVACE_EPSILON, 2);
	bool is_odd;

	slope = clamp(slope, -(s64)VIVACE_ONE * 1000, (s64)VIVACE_ONE * 1000);
	is_odd = slope > 0 && vivace_is_odd(ca);
	if (ca->is_limited)
		return;
	if (is_odd && !ca->is_check) {
		ca->slope = (s32)slope;
		ca->is_check = true;
		return;
	}
	if (is_odd)
		slope = div_s64(slope + ca->slope, 2);
	ca->is_check = false;
	vivace_move(sk, slope);
}

/* Ends the interval being acknowledged; after the last one, decides on the rate. */
CC_INLINE void vivace_end_interval(struct sock *sk)
{
	struct vivace *ca = inet_csk_ca(sk);

	if (ca->phase == VIVACE_STARTING) {
		vivace_end_start(sk);
	} else if (ca->lost > ca->acked) {
		vivace_halve(sk);
	} else if (ca->hears == VIVACE_FIRST) {
		ca->worth = vivace_worth(sk, vivace_tried(ca, ca->is_higher_first));
		ca->lost_first = (u16)min(ca->lost, 0xffffu);
	} else {
		vivace_decide(sk, vivace_worth(sk, vivace_tried(ca, !ca->is_higher_first)));
		vivace_try(sk);
	}
}

/* Determines the interval in which the packets acknowledged now were sent. */
CC_INLINE void vivace_follow(struct sock *sk, u32 prior_delivered)
{
	struct vivace *ca = inet_csk_ca(sk);

	if (ca->hears == VIVACE_WAIT) {
		if (before(ca->first_began, prior_delivered)) {
			ca->hears = VIVACE_FIRST;
			vivace_forget(ca);
		}
		return;
	}
	if (ca->hears == VIVACE_FIRST && ca->sends > VIVACE_FIRST &&
	    before(ca->second_began, prior_delivered)) {
		vivace_end_interval(sk);
		if (ca->phase == VIVACE_PROBING && ca->hears == VIVACE_FIRST) {
			ca->hears = VIVACE_SECOND;
			vivace_forget(ca);
		}
	} else if (ca->hears == VIVACE_SECOND && ca->sends == VIVACE_WAIT &&
		   before(ca->second_ended, prior_delivered)) {
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
	ca->sum_rr += (u64)r * (u64)r;
	ca->sum_r += r;
	ca->sum_tr += t * r;
}

/* Starts sending the next interval after a round trip. */
CC_INLINE void vivace_send_next(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);
	bool is_second = ca->sends == VIVACE_SECOND;
	u32 delivered = tp->delivered - (is_second ? ca->second_began : ca->first_began);

	if (ca->sends == VIVACE_WAIT || (u32)tp->tcp_mstamp - ca->began_us < tp->srtt_us >> 3 ||
	    delivered < VIVACE_LEAST_PACKETS)
		return;
	if (is_second) {
		ca->second_ended = tp->delivered;
		ca->sends = VIVACE_WAIT;
	} else {
		ca->second_began = tp->delivered;
		ca->sends = ca->phase == VIVACE_STARTING ? VIVACE_WAIT : VIVACE_SECOND;
	}
	ca->began_us = (u32)tp->tcp_mstamp;
}

/* Sets pacing and window; the window limits data in flight if ACKs do not arrive. */
CC_INLINE void vivace_apply(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct vivace *ca = inet_csk_ca(sk);
	u64 rate = (u64)vivace_present(ca) * 125;	/* bytes/s */
	u64 window = div_u64(rate * min(tcp_min_rtt(tp), tp->srtt_us >> 3), USEC_PER_SEC);

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

/* The initial rate is one window per RTT, or per 100 ms without an RTT. */
CC_PROG(void, vivace_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct vivace *ca = inet_csk_ca(sk);
	u32 rtt_us = tp->srtt_us ? max(tp->srtt_us >> 3, 1u) : 100 * USEC_PER_MSEC;
	u64 bits = (u64)tcp_snd_cwnd(tp) * tp->mss_cache * 8;

	*ca = (struct vivace){ .phase = VIVACE_STARTING };
	vivace_set_rate(sk, (u32)min(div_u64(bits * 1000, rtt_us), (u64)VIVACE_MAX_KBIT_S));
	vivace_try(sk);
	sk->sk_pacing_rate = min((u64)ca->rate * 125, (u64)sk->sk_max_pacing_rate);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_PROG(void, vivace_set_state, struct sock *sk, u8 new_state)
{
	if (new_state == TCP_CA_Loss)
		vivace_halve(sk);
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
