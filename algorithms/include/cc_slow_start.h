/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Methods that end slow start before the queue overflows, or begin it with what an
 * earlier connection has learned, for any algorithm that has a slow start. The
 * algorithm declares CC_SLOW_START_PARAMETERS(P, default) among its parameters, keeps
 * a struct cc_slow_start, declares CC_STATE(struct cc_search) or has this struct in
 * its own state, and calls
 *
 *	init, and set_state at a timeout	cc_slow_start_restart()
 *	cong_avoid, in slow start		cc_slow_start_grow() for tcp_slow_start()
 *						or cc_slow_start_growth(), if the window
 *						does not grow by tcp_slow_start()
 *	pkts_acked				cc_slow_start_take()
 *	ssthresh				cc_slow_start_ssthresh()
 *
 *   HyStart    ACKs in one train that is as long as the path, or an RTT that has grown
 *              by an eighth. S. Ha, I. Rhee, "Taming the Elephants: New TCP Slow Start",
 *              Computer Networks 55(9), 2011, as Linux 6.1 behaves.
 *   HyStart++  RFC 9406: when the RTT has grown by an eighth, the growth is reduced to a
 *              quarter; after five rounds slow start ends, unless the RTT falls again.
 *              Only in the first slow start. Compared with quotations of sections 4.2
 *              and 4.3 of the RFC.
 *   SEARCH     Deliveries that no longer double in a round trip: those of the last 3.5
 *              initial RTTs are less than 0.74 of twice those one RTT earlier.
 *              draft-chung-ccwg-search, after the pseudocode of version 3.0 (June 2024)
 *              with the threshold of later versions, 0.26. Counts packets instead of
 *              bytes. Only in the first slow start.
 *   Careful    Half of the window of an earlier connection as soon as the first window
 *   Resume     has been acknowledged, if the RTT is like that connection's. After a
 *              round trip, the window is what is in flight, and slow start continues;
 *              a loss before all of this is acknowledged halves what the path has
 *              carried. RFC 9959, after quotations of its draft. Only in the first slow
 *              start. The stack paces by twice the window in a round trip. Without
 *              saved values, it is the same as slow start until a loss.
 *
 * Included by cc.h.
 */
#ifndef CC_SLOW_START_H
#define CC_SLOW_START_H

enum {
	CC_SLOW_START_PLAIN,	/* ends only at a loss */
	CC_SLOW_START_HYSTART,
	CC_SLOW_START_HYSTART_PP,
	CC_SLOW_START_SEARCH,
	CC_SLOW_START_RESUME,	/* Careful Resume */
};

#define CC_SLOW_START_PARAMETERS(P, method)					\
	P(slow_start, "", method, 0, 4,						\
	  "0 = until a loss, 1 = HyStart, 2 = HyStart++, 3 = SEARCH, 4 = Careful Resume") \
	P(saved_cwnd, "kB", 0, 0, 1000000,					\
	  "Careful Resume: window of an earlier connection, 0 = none")		\
	P(saved_rtt, "ms", 0, 0, 10000,						\
	  "Careful Resume: lowest RTT of the earlier connection")

/* HyStart: its default settings, and its criteria, which form a set. */
#define HYSTART_ACK_TRAIN	1u
#define HYSTART_DELAY		2u
#define HYSTART_LOW_WINDOW	16u
#define HYSTART_ACK_DELTA_US	2000u

/* A round's lowest RTT is meaningful from this number of samples on. */
#define HYSTART_MIN_SAMPLES	8u

/* Bounds of the eighth by which the RTT may grow. */
#define HYSTART_DELAY_MIN_US	4000u
#define HYSTART_DELAY_MAX_US	16000u

/* A paced sender leaves gaps of a few bursts; longer gaps than 1 ms have other causes. */
#define HYSTART_BURSTS		4u
#define HYSTART_BURSTS_MAX_US	1000u

/* RFC 9406 section 4.3; MIN_RTT_THRESH and MAX_RTT_THRESH are the bounds above. */
#define HYSTART_PP_GROWTH_SHIFT	2		/* CSS_GROWTH_DIVISOR = 4 */
#define HYSTART_PP_ROUNDS	5u		/* CSS_ROUNDS */
#define HYSTART_PP_MOST		8u		/* L, maximum packets of an ACK, unless paced */

#define SEARCH_WINDOW		10		/* W, bins */
#define SEARCH_EXTRA		15		/* EXTRA_BINS: an RTT is shorter than this */
#define SEARCH_POINTS		32		/* counts kept: at least the sum of both, plus 1 */
#define SEARCH_RTTS_PERCENT	350u		/* length of the window, of the first RTT */
#define SEARCH_THRESHOLD	266u		/* 0.26, 1/1024 */
#define SEARCH_LEAST_CWND	10u		/* minimum that SEARCH leaves, packets */

/* RFC 9959: bounds of the RTT with which a flow may resume. */
#define RESUME_LEAST_RTT	2u		/* more than the saved RTT divided by this */
#define RESUME_MOST_RTT		10u		/* at most the saved RTT times this */

struct cc_hystart {
	u32 start_us;		/* start of the round */
	u32 last_ack_us;	/* last ACK of the train */
	u32 end_seq;		/* the round ends when this is acknowledged */
	u32 least_rtt_us;	/* lowest RTT of the round so far */
	u32 samples;		/* number of RTTs in the round, up to HYSTART_MIN_SAMPLES */
	u32 shortest_us;	/* of the connection, 0 = none; if the algorithm keeps none */
};

struct cc_hystart_pp {
	u32 end_seq;		/* the round ends when this is acknowledged */
	u32 last_rtt_us;	/* lowest RTT of the previous round, ~0 = none */
	u32 least_rtt_us;	/* lowest RTT of the round so far, ~0 = none */
	u32 baseline_us;	/* growth remains slow while the RTT is not below this */
	u16 rest;		/* acknowledged packets that do not count yet */
	u8 samples;		/* number of RTTs in the round, up to HYSTART_MIN_SAMPLES */
	u8 slow_rounds;		/* rounds of slow growth, including this one, 0 = none */
};

struct cc_search {
	u32 bin_us;		/* length of a bin, 0 = not started */
	u32 bin_end_us;
	u32 bins;		/* number of complete bins */
	u32 delivered[SEARCH_POINTS];	/* tp->delivered at the end of each bin, a ring */
};

/* Phases of Careful Resume. */
enum {
	RESUME_OVER,		/* finished, or not used */
	RESUME_RECONNAISSANCE,	/* the first window is in flight */
	RESUME_UNVALIDATED,	/* half of the saved window is being sent */
	RESUME_VALIDATING,	/* these packets are being acknowledged */
	RESUME_RETREAT,		/* one of them was lost */
};

struct cc_resume {
	u32 end_seq;		/* the phase ends when this is acknowledged */
	u32 pipe_size;		/* packets that the path has carried in this time */
	u32 first_cwnd;		/* initial window, packets */
	u32 rtt_us;		/* lowest RTT, ~0 = none */
	u8 phase;		/* RESUME_* */
};

/* The argument `saved` below: the values of an earlier connection. */
struct cc_saved {
	u32 cwnd_kb;
	u32 rtt_ms;
};

#define CC_SAVED(sk) \
	((struct cc_saved){ cc_params(sk)->saved_cwnd, cc_params(sk)->saved_rtt })

/* The argument `search` below for an algorithm with CC_STATE(struct cc_search). */
#define CC_SEARCH(sk) \
	(cc_params(sk)->slow_start == CC_SLOW_START_SEARCH ? cc_state(sk) : NULL)

struct cc_slow_start {
	union {
		struct cc_hystart hystart;
		struct cc_hystart_pp hystart_pp;
		struct cc_resume resume;
	};
};

CC_INLINE void cc_slow_start_end(struct sock *sk)
{
	tcp_sk(sk)->snd_ssthresh = tcp_snd_cwnd(tcp_sk(sk));
}

/* ---- HyStart */

CC_INLINE void cc_hystart_start_round(struct sock *sk, struct cc_hystart *round)
{
	u32 now_us = (u32)tcp_sk(sk)->tcp_mstamp;

	round->start_us = now_us;
	round->last_ack_us = now_us;
	round->end_seq = tcp_sk(sk)->snd_nxt;
	round->least_rtt_us = ~0u;
	round->samples = 0;
}

/* Maximum time between the ACKs of a round trip that pacing may cause, in us. */
CC_INLINE u32 cc_hystart_pacing_us(const struct sock *sk)
{
	u64 rate = sk->sk_pacing_rate;

	if (!rate)
		return 0;
	return (u32)min(div64_u64((u64)sk->sk_gso_max_size * HYSTART_BURSTS * USEC_PER_SEC, rate),
			(u64)HYSTART_BURSTS_MAX_US);
}

/* Handles the RTT of an ACK; returns true if slow start should end. */
CC_INLINE bool cc_hystart_take(struct sock *sk, struct cc_hystart *round, u32 rtt_us,
			       u32 shortest_us, u32 detect, u32 low_window, u32 ack_delta_us)
{
	bool is_found = false;

	if (after(tcp_sk(sk)->snd_una, round->end_seq))
		cc_hystart_start_round(sk, round);
	/* but rounds are counted from the first ACK on */
	if (tcp_snd_cwnd(tcp_sk(sk)) < low_window)
		return false;

	if (detect & HYSTART_ACK_TRAIN) {
		u32 now_us = (u32)tcp_sk(sk)->tcp_mstamp;

		if ((s32)(now_us - round->last_ack_us) <= (s32)ack_delta_us) {
			u32 longest_us = shortest_us + cc_hystart_pacing_us(sk);

			round->last_ack_us = now_us;
			/*
			 * Packets sent back to back arrive as a train of half the
			 * RTT when the window fills the path in one direction;
			 * pacing spreads them over the whole RTT.
			 */
			if (sk->sk_pacing_status == SK_PACING_NONE)
				longest_us >>= 1;
			if ((s32)(now_us - round->start_us) > (s32)longest_us)
				is_found = true;
		}
	}

	if (detect & HYSTART_DELAY) {
		round->least_rtt_us = min(round->least_rtt_us, rtt_us);
		if (round->samples < HYSTART_MIN_SAMPLES)
			round->samples++;
		else if (round->least_rtt_us > shortest_us +
			 clamp(shortest_us >> 3, HYSTART_DELAY_MIN_US, HYSTART_DELAY_MAX_US))
			is_found = true;
	}
	return is_found;
}

/* ---- HyStart++ */

CC_INLINE void cc_hystart_pp_restart(struct sock *sk, struct cc_hystart_pp *ss)
{
	ss->end_seq = tcp_sk(sk)->snd_nxt;
	ss->last_rtt_us = ~0u;
	ss->least_rtt_us = ~0u;
	ss->rest = 0;
	ss->samples = 0;
	ss->slow_rounds = 0;
}

CC_INLINE void cc_hystart_pp_take(struct sock *sk, struct cc_hystart_pp *ss, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (after(tp->snd_una, ss->end_seq)) {
		ss->last_rtt_us = ss->least_rtt_us;
		ss->least_rtt_us = ~0u;
		ss->samples = 0;
		ss->end_seq = tp->snd_nxt;
		if (ss->slow_rounds && ++ss->slow_rounds > HYSTART_PP_ROUNDS) {
			cc_slow_start_end(sk);
			return;
		}
	}
	ss->least_rtt_us = min(ss->least_rtt_us, rtt_us);
	if (ss->samples < HYSTART_MIN_SAMPLES && ++ss->samples < HYSTART_MIN_SAMPLES)
		return;
	if (ss->slow_rounds) {
		if (ss->least_rtt_us < ss->baseline_us)
			ss->slow_rounds = 0;
	} else if (ss->last_rtt_us != ~0u) {
		u32 more_us = clamp(ss->last_rtt_us >> 3, HYSTART_DELAY_MIN_US,
				    HYSTART_DELAY_MAX_US);

		if (ss->least_rtt_us >= ss->last_rtt_us + more_us) {
			ss->baseline_us = ss->least_rtt_us;
			ss->slow_rounds = 1;
		}
	}
}

/* ---- SEARCH */

/* Packets delivered up to the end of the bin this number of bins ago. */
CC_INLINE u32 cc_search_point(const struct cc_search *ss, u32 bins_ago)
{
	return ss->delivered[(ss->bins - bins_ago) & (SEARCH_POINTS - 1)];
}

/* Deliveries in the window that ended ago_us ago, in 1/1024 packets. */
CC_INLINE u64 cc_search_window(const struct cc_search *ss, u32 ago_us)
{
	u32 bins = div_u32(ago_us, ss->bin_us);
	u64 part = div_u64((u64)(ago_us - bins * ss->bin_us) << 10, ss->bin_us);
	u32 nearer = cc_search_point(ss, bins) - cc_search_point(ss, bins + SEARCH_WINDOW);
	u32 farther = cc_search_point(ss, bins + 1) -
		      cc_search_point(ss, bins + 1 + SEARCH_WINDOW);

	return nearer * (1024 - part) + farther * part;
}

/* Slow start reached the bottleneck's capacity two RTTs ago: removes later growth. */
CC_INLINE void cc_search_end(struct sock *sk, const struct cc_search *ss)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 bins = 2 * SEARCH_WINDOW * 100 / SEARCH_RTTS_PERCENT;
	u32 overshoot = cc_search_point(ss, 0) - cc_search_point(ss, bins);
	u32 cwnd = tcp_snd_cwnd(tp);

	tcp_snd_cwnd_set(tp, max(cwnd - min(overshoot, cwnd), min(cwnd, SEARCH_LEAST_CWND)));
	cc_slow_start_end(sk);
}

CC_INLINE void cc_search_take(struct sock *sk, struct cc_search *ss, u32 rtt_us)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = (u32)tp->tcp_mstamp, passed, bins;
	u64 twice, now;

	if (!ss->bin_us) {
		ss->bin_us = max((u32)((u64)rtt_us * SEARCH_RTTS_PERCENT /
				       (100 * SEARCH_WINDOW)), 1u);
		ss->bin_end_us = now_us + ss->bin_us;
		ss->bins = 0;
		ss->delivered[0] = tp->delivered;
		return;
	}
	if (!after(now_us, ss->bin_end_us))
		return;
	passed = div_u32(now_us - ss->bin_end_us, ss->bin_us) + 1;
	if (passed > SEARCH_WINDOW) {
		ss->bin_us = 0;		/* a pause: restarts with the next RTT */
		return;
	}
	ss->bin_end_us += passed * ss->bin_us;
	for (u32 i = 1; i < passed; i++)
		ss->delivered[(ss->bins + i) & (SEARCH_POINTS - 1)] = cc_search_point(ss, 0);
	ss->bins += passed;
	ss->delivered[ss->bins & (SEARCH_POINTS - 1)] = tp->delivered;

	bins = div_u32(rtt_us, ss->bin_us) + 1;
	if (bins > SEARCH_EXTRA || bins + SEARCH_WINDOW > ss->bins)
		return;
	now = cc_search_window(ss, 0);
	twice = 2 * cc_search_window(ss, rtt_us);
	if (twice > now && (twice - now) << 10 >= twice * SEARCH_THRESHOLD)
		cc_search_end(sk, ss);
}

/* ---- Careful Resume */

CC_INLINE void cc_resume_start(struct sock *sk, struct cc_resume *ss)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ss->phase = RESUME_RECONNAISSANCE;
	ss->end_seq = tp->snd_una + tcp_snd_cwnd(tp) * tp->mss_cache;
	ss->first_cwnd = tcp_snd_cwnd(tp);
	ss->rtt_us = ~0u;
	ss->pipe_size = 0;
	/* the jump has to be paced */
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

/* The first window has been acknowledged: jumps, if the path is like the saved one. */
CC_INLINE void cc_resume_jump(struct sock *sk, struct cc_resume *ss, struct cc_saved saved)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u64 saved_us = (u64)saved.rtt_ms * USEC_PER_MSEC;
	u64 jump = div_u64((u64)saved.cwnd_kb * 1000, max(tp->mss_cache, 1u)) / 2;

	ss->phase = RESUME_OVER;
	if (ss->rtt_us <= saved_us / RESUME_LEAST_RTT || ss->rtt_us > saved_us * RESUME_MOST_RTT ||
	    (u32)CC_GET(inet_csk(sk), icsk_ca_state) != TCP_CA_Open || !tcp_is_cwnd_limited(sk) ||
	    jump <= tcp_snd_cwnd(tp))
		return;
	ss->phase = RESUME_UNVALIDATED;
	ss->end_seq = tp->snd_nxt;
	ss->pipe_size = tcp_packets_in_flight(tp);
	tcp_snd_cwnd_set(tp, min((u32)jump, tp->snd_cwnd_clamp));
}

CC_INLINE void cc_resume_take(struct sock *sk, struct cc_resume *ss, struct cc_saved saved,
			      const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);

	if (ss->phase == RESUME_OVER)
		return;
	if (sample->rtt_us > 0)
		ss->rtt_us = min(ss->rtt_us, (u32)sample->rtt_us);
	if (ss->phase != RESUME_RECONNAISSANCE)
		ss->pipe_size += sample->pkts_acked;
	if (before(tp->snd_una, ss->end_seq))
		return;
	switch (ss->phase) {
	case RESUME_RECONNAISSANCE:
		cc_resume_jump(sk, ss, saved);
		return;
	case RESUME_UNVALIDATED:
		/* a sender with few data has learned nothing of the saved window */
		ss->phase = in_flight > ss->pipe_size ? RESUME_VALIDATING : RESUME_OVER;
		ss->end_seq = tp->snd_nxt;
		tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), max(in_flight, ss->pipe_size)));
		return;
	case RESUME_VALIDATING:
		ss->phase = RESUME_OVER;
		return;
	default:
		/* the recovery takes its window from the threshold until it ends */
		if ((u32)CC_GET(inet_csk(sk), icsk_ca_state) > TCP_CA_Disorder)
			return;
		tp->snd_ssthresh = max(ss->pipe_size, 2u);
		ss->phase = RESUME_OVER;
	}
}

/* ---- functions for the algorithm */

CC_INLINE void cc_slow_start_restart(struct sock *sk, struct cc_slow_start *ss,
				     struct cc_search *search, u32 method)
{
	if (method == CC_SLOW_START_HYSTART)
		cc_hystart_start_round(sk, &ss->hystart);
	else if (method == CC_SLOW_START_HYSTART_PP)
		cc_hystart_pp_restart(sk, &ss->hystart_pp);
	else if (method == CC_SLOW_START_SEARCH && search)
		search->bin_us = 0;
	else if (method == CC_SLOW_START_RESUME && tcp_in_initial_slowstart(tcp_sk(sk)))
		cc_resume_start(sk, &ss->resume);
}

/* Whether the window must not grow, because the packets of a jump are being sent. */
CC_INLINE bool cc_slow_start_holds(const struct cc_slow_start *ss, u32 method)
{
	return method == CC_SLOW_START_RESUME && ss->resume.phase == RESUME_UNVALIDATED;
}

/* The binary logarithm of the number by which HyStart++ divides the growth. */
CC_INLINE u32 cc_slow_start_growth_shift(const struct sock *sk, const struct cc_slow_start *ss,
					 u32 method)
{
	bool is_slow = method == CC_SLOW_START_HYSTART_PP && ss->hystart_pp.slow_rounds &&
		       tcp_in_initial_slowstart(tcp_sk(sk));

	return is_slow ? HYSTART_PP_GROWTH_SHIFT : 0;
}

/* The number of packets by which the window may grow in slow start. */
CC_INLINE u32 cc_slow_start_growth(struct sock *sk, struct cc_slow_start *ss, u32 method, u32 acked)
{
	struct cc_hystart_pp *pp = &ss->hystart_pp;

	if (cc_slow_start_holds(ss, method))
		return 0;
	if (method != CC_SLOW_START_HYSTART_PP || !tcp_in_initial_slowstart(tcp_sk(sk)))
		return acked;
	if (sk->sk_pacing_status == SK_PACING_NONE)
		acked = min(acked, HYSTART_PP_MOST);
	if (pp->slow_rounds) {
		u32 count = pp->rest + acked;

		acked = count >> HYSTART_PP_GROWTH_SHIFT;
		pp->rest = (u16)(count - (acked << HYSTART_PP_GROWTH_SHIFT));
	}
	return acked;
}

/* Replaces tcp_slow_start(). */
CC_INLINE u32 cc_slow_start_grow(struct sock *sk, struct cc_slow_start *ss, u32 method, u32 acked)
{
	if (cc_slow_start_holds(ss, method))
		return 0;
	return tcp_slow_start(tcp_sk(sk), cc_slow_start_growth(sk, ss, method, acked));
}

/* Replaces tcp_reno_cong_avoid(). */
CC_INLINE void cc_slow_start_reno(struct sock *sk, struct cc_slow_start *ss, u32 method, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = cc_slow_start_grow(sk, ss, method, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

/* Handles the RTT of an ACK. */
CC_INLINE void cc_slow_start_take(struct sock *sk, struct cc_slow_start *ss,
				  struct cc_search *search, struct cc_saved saved, u32 method,
				  const struct ack_sample *sample)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = max((u32)max(sample->rtt_us, 0), 1u);

	if (method == CC_SLOW_START_RESUME) {
		cc_resume_take(sk, &ss->resume, saved, sample);
		return;
	}
	if (method == CC_SLOW_START_PLAIN || sample->rtt_us < 0 || !tcp_in_slow_start(tp))
		return;
	if (method == CC_SLOW_START_HYSTART) {
		struct cc_hystart *round = &ss->hystart;

		if (!round->shortest_us || round->shortest_us > rtt_us)
			round->shortest_us = rtt_us;
		if (cc_hystart_take(sk, round, rtt_us, round->shortest_us,
				    HYSTART_ACK_TRAIN | HYSTART_DELAY, HYSTART_LOW_WINDOW,
				    HYSTART_ACK_DELTA_US))
			cc_slow_start_end(sk);
	} else if (tcp_in_initial_slowstart(tp)) {
		if (method == CC_SLOW_START_HYSTART_PP)
			cc_hystart_pp_take(sk, &ss->hystart_pp, rtt_us);
		else if (search)
			cc_search_take(sk, search, rtt_us);
	}
}

/* The threshold after a loss, where the algorithm's own would be `ssthresh`. */
CC_INLINE u32 cc_slow_start_ssthresh(struct sock *sk, struct cc_slow_start *ss, u32 method,
				     u32 ssthresh)
{
	struct cc_resume *resume = &ss->resume;

	if (method != CC_SLOW_START_RESUME)
		return ssthresh;
	if (resume->phase == RESUME_UNVALIDATED || resume->phase == RESUME_VALIDATING) {
		resume->phase = RESUME_RETREAT;
		resume->end_seq = tcp_sk(sk)->snd_nxt;
		return max(resume->pipe_size / 2, resume->first_cwnd);
	}
	if (resume->phase == RESUME_RECONNAISSANCE)
		resume->phase = RESUME_OVER;
	return ssthresh;
}

/* Whether the window is that of a jump that was lost, not the algorithm's. */
CC_INLINE bool cc_slow_start_retreats(const struct cc_slow_start *ss, u32 method)
{
	return method == CC_SLOW_START_RESUME && ss->resume.phase == RESUME_RETREAT;
}

#endif
