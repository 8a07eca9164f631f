// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * NV, "New Vegas", as Linux 6.1 behaves.
 *
 * Like Vegas, NV keeps a few packets queued at the bottleneck, but it is designed
 * for paths on which the RTT of a single packet is unreliable (TSO, LRO, delayed
 * interrupts): NV uses the highest rate of a round trip, and acts only on a
 * sufficient number of samples. With min_rtt, the RTT of the path without a queue,
 * the window needed for this rate is
 *
 *	max_win = rate * min_rtt + pad
 *
 * Above max_win, the window decreases towards it, by 30 % of the distance each time.
 * Below max_win by more than a buffer zone, the window grows as Reno's does; between
 * these limits, it does not change. NV measures min_rtt anew about every 5 s, at
 * random times, so flows do not keep each other at a wrong value.
 *
 *	     cwnd <= max_win - pad_buffer, 20 samples
 *	   +------------------------------------------+
 *	   v                                          |
 *	+------+  cwnd > max_win, 60 samples    +----------+
 *	| grow |------------------------------->|   hold   |<--+ cwnd > max_win:
 *	+------+  (30 in the first slow start)  +----------+---+ down again
 *	   |  a loss: 80 % of the window,            ^
 *	   +-----------------------------------------+
 *	      hold until Open again and below
 *
 * Differs from Reno: NV stops growing before the queue overflows; a loss reduces the
 * window to 80 %; after timeouts, NV grows more slowly than Reno for a while.
 *
 * Source: L. Brakmo, "TCP-NV: An Update to TCP-Vegas", notes and Linux Plumbers
 * Conference, 2010. Its predecessor: L. Brakmo, L. Peterson, "TCP Vegas: End to End
 * Congestion Avoidance on a Global Internet", IEEE JSAC 13(8), 1995. Not
 * implemented: a lower bound of the RTT that a BPF program of the machine sets.
 */
#include "cc.h"

/* No sample yet. */
#define NV_NO_RTT		0xffffffffu

/* Below this window (packets), no decisions are made; minimum of nv_min_cwnd. */
#define NV_MIN_CWND		4u

/* Maximum and step of nv_min_cwnd if ACKs arrive in bursts: TSO sends 64 KiB at once. */
#define NV_BURST_CWND		81u
#define NV_BURST_STEP		2u

/* Rates are in 100 bit/s: one byte per us is 80,000 of these. */
#define NV_RATE_UNIT		80000u

/* RTTs are averaged; the weight of the last one is in 1/256. */
#define NV_RTT_SHIFT		8
#define NV_RTT_ONE		(1u << NV_RTT_SHIFT)

/* Duration of the first min_rtt, s. */
#define NV_FIRST_PERIOD_S	2u

/* The period is scaled by (384 + 0..255) / 512, which is 3/4 to 5/4. */
#define NV_PERIOD_SHIFT		9
#define NV_PERIOD_LOW		384u
#define NV_PERIOD_RANDOM	0xffu

/* Growth is slowed down to at least 2^-8 of Reno's. */
#define NV_SLOWEST		8u
#define NV_FASTEST		8u

#define NV_COUNT_MAX		255u

#define NV_PARAMETERS(P)							\
	P(pad, "packets", 10, 0, 10000,						\
	  "number of packets that NV keeps in the queue")			\
	P(pad_buffer, "packets", 2, 0, 10000,					\
	  "distance from the window limit within which the window does not grow") \
	P(reset_period, "s", 5, 1, 3600,					\
	  "mean time after which min_rtt is measured anew")			\
	P(min_cwnd, "packets", 2, 1, 10000, "minimum window after a decrease")	\
	P(cong_dec_mult, "1/128", 38, 0, 128,					\
	  "share of the distance to the limit by which the window decreases")	\
	P(ssthresh_factor, "1/8", 8, 1, 64,					\
	  "slow start threshold as a multiple of the window limit")		\
	P(rtt_factor, "1/256", 128, 0, 256,					\
	  "weight of an RTT sample in the average, 0 = no average")		\
	P(loss_dec_factor, "1/1024", 819, 1, 1024,				\
	  "window after a loss, relative to the window before it")		\
	P(cwnd_growth_rate_neg, "decisions", 8, 0, 255,				\
	  "after a timeout, halve the growth; decisions until it is restored")	\
	P(cwnd_growth_rate_pos, "decisions", 0, 0, 255,				\
	  "decisions without congestion until growth is faster, 0 = never")	\
	P(dec_eval_min_calls, "samples", 60, 1, 255,				\
	  "minimum number of samples for a decrease")				\
	P(inc_eval_min_calls, "samples", 20, 1, 255,				\
	  "minimum number of samples for an increase")				\
	P(ssthresh_eval_min_calls, "samples", 30, 1, 255,			\
	  "minimum number of samples for the decrease that ends slow start")	\
	P(stop_rtt_cnt, "round trips", 10, 1, 255,				\
	  "round trips above the limit, with too few samples, that stop growth") \
	P(rtt_min_cnt, "round trips", 2, 0, 255,				\
	  "minimum number of round trips between a decision and a decrease")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(nv, NV_PARAMETERS);

#define NV_PHASES(P)						\
	P(NV_SLOW_START, "slow_start")				\
	P(NV_GROW, "grow")					\
	P(NV_HOLD, "hold")

CC_PHASES(nv, NV_PHASES);

struct nv {
	u32 reset_at;		/* when min_rtt_us becomes next_min_rtt_us, jiffies */
	u32 last_rtt_us;	/* average, 0 = none yet */
	u32 min_rtt_us;		/* minimum of this period and the previous one */
	u32 next_min_rtt_us;	/* minimum of this period */
	u32 max_rate;		/* maximum since the last decision, 100 bit/s */
	u32 round_start_seq;	/* a round trip ends when data beyond this is acknowledged */
	u32 last_snd_una;	/* snd_una at the previous sample */
	u32 no_congestion_cnt;	/* consecutive decisions without congestion */
	u8 slower;		/* growth is 2^-slower of Reno's ... */
	u8 faster;		/* ... or 2^faster times; one of them is 0 */
	u8 eval_cnt;		/* samples since the last decision */
	u8 rtt_cnt;		/* round trips since the last decision */
	u8 burst_cwnd;		/* below this window, a round trip may have a single sample */
	bool may_grow;
	bool must_reset;	/* a recovery has invalidated the samples */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct nv);
CC_STATE(struct cc_search);

CC_INLINE void nv_forget(struct sock *sk)
{
	struct nv *ca = inet_csk_ca(sk);
	u32 snd_una = tcp_sk(sk)->snd_una;

	ca->must_reset = false;
	ca->no_congestion_cnt = 0;
	ca->rtt_cnt = 0;
	ca->last_rtt_us = 0;
	ca->max_rate = 0;
	ca->eval_cnt = 0;
	ca->round_start_seq = snd_una;
	ca->last_snd_una = snd_una;
}

CC_PROG(void, nv_init, struct sock *sk)
{
	struct nv *ca = inet_csk_ca(sk);

	nv_forget(sk);
	ca->may_grow = true;
	ca->reset_at = cc_jiffies32(sk) + NV_FIRST_PERIOD_S * HZ;
	ca->min_rtt_us = NV_NO_RTT;
	ca->next_min_rtt_us = NV_NO_RTT;
	ca->burst_cwnd = NV_MIN_CWND;
	ca->slower = 0;
	ca->faster = 0;
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, nv_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);
	u32 cwnd;

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (!ca->may_grow) {
		cc_phase(sk, NV_HOLD);
		return;
	}
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, NV_SLOW_START);
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	cc_phase(sk, NV_GROW);
	cwnd = tcp_snd_cwnd(tp);
	if (ca->slower)
		cwnd = (u32)min((u64)cwnd << min((u32)ca->slower, NV_SLOWEST), 0x7fffffffull);
	else
		cwnd = max(cwnd >> min((u32)ca->faster, NV_FASTEST), 4u);
	tcp_cong_avoid_ai(tp, cwnd, acked);
}

CC_PROG(u32, nv_ssthresh, struct sock *sk)
{
	struct nv *ca = inet_csk_ca(sk);
	u64 kept = (u64)tcp_snd_cwnd(tcp_sk(sk)) * cc_params(sk)->loss_dec_factor;

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max((u32)(kept >> 10), 2u));
}

CC_PROG(void, nv_set_state, struct sock *sk, u8 new_state)
{
	struct nv *ca = inet_csk_ca(sk);

	if (new_state == TCP_CA_Open) {
		if (ca->must_reset)
			nv_forget(sk);
		return;
	}
	if (new_state == TCP_CA_Disorder)
		return;
	ca->must_reset = true;
	ca->may_grow = false;
	if (new_state != TCP_CA_Loss)
		return;
	ca->faster = 0;
	if (cc_params(sk)->cwnd_growth_rate_neg && ca->slower < NV_SLOWEST)
		ca->slower++;
}

/* The average including this sample. */
CC_INLINE u32 nv_average_rtt(struct sock *sk, u32 rtt_us)
{
	struct nv *ca = inet_csk_ca(sk);
	u32 weight = cc_params(sk)->rtt_factor;

	if (!weight)
		return rtt_us;
	if (ca->last_rtt_us)
		rtt_us = (u32)(((u64)rtt_us * weight +
				(u64)ca->last_rtt_us * (NV_RTT_ONE - weight)) >> NV_RTT_SHIFT);
	else
		ca->min_rtt_us = rtt_us << 1;	/* replaces the value from before a recovery */
	ca->last_rtt_us = rtt_us;
	return rtt_us;
}

CC_INLINE void nv_update_min_rtt(struct sock *sk, u32 rtt_us)
{
	struct nv *ca = inet_csk_ca(sk);
	u32 now = cc_jiffies32(sk);
	u32 period;

	ca->min_rtt_us = min(ca->min_rtt_us, rtt_us);
	ca->next_min_rtt_us = min(ca->next_min_rtt_us, rtt_us);
	if (before(now, ca->reset_at))
		return;
	ca->min_rtt_us = ca->next_min_rtt_us;
	ca->next_min_rtt_us = NV_NO_RTT;
	period = NV_PERIOD_LOW + (cc_prandom_u32(sk) & NV_PERIOD_RANDOM);
	ca->reset_at = now + (u32)(((u64)cc_params(sk)->reset_period * period * HZ) >> NV_PERIOD_SHIFT);
	/* bursts may have ended, too */
	ca->burst_cwnd = (u8)max(ca->burst_cwnd / 2u, NV_MIN_CWND);
}

/* The window is above max_win: returns whether it is reduced. */
CC_INLINE bool nv_decrease(struct sock *sk, u32 max_win)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 distance = cwnd - max_win;
	u32 needed;

	if (ca->rtt_cnt < cc_params(sk)->rtt_min_cnt)
		return false;
	if (tcp_in_initial_slowstart(tp)) {
		if (ca->eval_cnt < cc_params(sk)->ssthresh_eval_min_calls)
			return false;
	} else if (ca->eval_cnt < cc_params(sk)->dec_eval_min_calls) {
		if (ca->rtt_cnt > cc_params(sk)->stop_rtt_cnt)
			ca->may_grow = false;
		return false;
	}
	ca->may_grow = false;
	ca->faster = 0;
	ca->no_congestion_cnt = 0;
	needed = (u32)min(((u64)cc_params(sk)->ssthresh_factor * max_win) >> 3, 0x7ffffffeull);
	tp->snd_ssthresh = max(needed, 2u);
	if (distance > 2)
		cwnd -= max((u32)(((u64)distance * cc_params(sk)->cong_dec_mult) >> 7), 2u);
	else if (cc_params(sk)->cong_dec_mult)
		cwnd = max_win;
	tcp_snd_cwnd_set(tp, max(cwnd, 1u));
	return true;
}

/* The window is well below max_win: returns whether it may grow. */
CC_INLINE bool nv_increase(struct sock *sk)
{
	struct nv *ca = inet_csk_ca(sk);
	u32 slow_steps = cc_params(sk)->cwnd_growth_rate_neg;
	u32 fast_steps = cc_params(sk)->cwnd_growth_rate_pos;

	if (ca->eval_cnt < cc_params(sk)->inc_eval_min_calls)
		return false;
	ca->may_grow = true;
	ca->no_congestion_cnt++;
	if (ca->slower) {
		if (slow_steps && ca->no_congestion_cnt > slow_steps) {
			ca->slower--;
			ca->no_congestion_cnt = 0;
		}
	} else if (fast_steps && ca->no_congestion_cnt > fast_steps) {
		ca->faster = (u8)min(ca->faster + 1u, NV_FASTEST);
		ca->no_congestion_cnt = 0;
	}
	return true;
}

/* Decides once per round trip. */
CC_INLINE void nv_decide(struct sock *sk, u32 bytes_acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);
	u32 max_win;
	bool is_decided;

	ca->round_start_seq = tp->snd_nxt;
	if (ca->rtt_cnt < NV_COUNT_MAX)
		ca->rtt_cnt++;
	/* A single sample in the round trip: ACKs arrive in bursts as large as the window. */
	if (ca->eval_cnt == 1 && ca->burst_cwnd < NV_BURST_CWND &&
	    bytes_acked >= (u64)(ca->burst_cwnd - 1u) * tp->mss_cache) {
		ca->burst_cwnd = (u8)min(ca->burst_cwnd + NV_BURST_STEP, NV_BURST_CWND);
		ca->round_start_seq = tp->snd_nxt + ca->burst_cwnd * tp->mss_cache;
		ca->eval_cnt = 0;
		ca->may_grow = true;
		return;
	}

	max_win = (u32)min(div64_u64((u64)ca->max_rate * ca->min_rtt_us,
				     (u64)NV_RATE_UNIT * tp->mss_cache), 0x3fffffffull);
	max_win += cc_params(sk)->pad;
	if (tcp_snd_cwnd(tp) > max_win)
		is_decided = nv_decrease(sk, max_win);
	else if (tcp_snd_cwnd(tp) + cc_params(sk)->pad_buffer <= max_win)
		is_decided = nv_increase(sk);
	else
		is_decided = false;
	if (!is_decided)
		return;
	ca->eval_cnt = 0;
	ca->rtt_cnt = 0;
	ca->max_rate = 0;
	tcp_snd_cwnd_set(tp, max(tcp_snd_cwnd(tp), cc_params(sk)->min_cwnd));
}

CC_PROG(void, nv_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct nv *ca = inet_csk_ca(sk);
	u32 bytes_acked, rtt_us;
	u64 rate;

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
	if (sample->rtt_us < 0 || CC_GET(inet_csk(sk), icsk_ca_state) > TCP_CA_Disorder)
		return;
	bytes_acked = tp->snd_una - ca->last_snd_una;
	ca->last_snd_una = tp->snd_una;
	if (!sample->in_flight)
		return;

	rtt_us = nv_average_rtt(sk, (u32)sample->rtt_us);
	rate = (u64)sample->in_flight * NV_RATE_UNIT / max(rtt_us, 1u);
	ca->max_rate = max(ca->max_rate, (u32)rate);
	if (ca->eval_cnt < NV_COUNT_MAX)
		ca->eval_cnt++;
	nv_update_min_rtt(sk, rtt_us);
	if (before(ca->round_start_seq, tp->snd_una))
		nv_decide(sk, bytes_acked);
}

CC_PROG(u32, nv_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(nv) = {
	.init		= CC_CB(nv_init),
	.ssthresh	= CC_CB(nv_ssthresh),
	.cong_avoid	= CC_CB(nv_cong_avoid),
	.undo_cwnd	= CC_CB(nv_undo_cwnd),
	.set_state	= CC_CB(nv_set_state),
	.pkts_acked	= CC_CB(nv_pkts_acked),
	.name		= "nv",
};

CC_DESCRIBE(nv,
	.summary = "keeps some packets in the queue, by the highest rate of each round trip",
	CC_HAS_PARAMETERS(nv),
	CC_HAS_PHASES(nv)
);
