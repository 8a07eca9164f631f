// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Westwood as published in 2001, before Westwood+ (`westwood`).
 *
 * Each ACK is a sample of the bandwidth: the acknowledged bytes divided by the time
 * since the previous ACK. A low-pass filter in Tustin's form, with the time constant
 * tau, computes the bandwidth estimate BWE from the samples, even if they arrive
 * irregularly; a silence of tau / 2 counts as a sample of zero. A loss sets ssthresh
 * = BWE * RTTmin, and sets cwnd to ssthresh if cwnd is larger; a timeout sets
 * ssthresh in the same way, and cwnd = 1. If ACKs arrive in bursts, a sample is much
 * higher than the rate of the path, and BWE is too high.
 *
 *   +------------+  cwnd >= ssthresh   +----------------------+
 *   | slow start |-------------------->| congestion avoidance |
 *   +------------+                     +----------------------+
 *     ^   ^  | loss: ssthresh =               |    ^ loss: cwnd = ssthresh =
 *     |   +--+ f2 (a grows)                   |    | f1 (a = 1)
 *     |                                       +----+
 *     |  timeout: cwnd = 1, ssthresh = f3 (a = 1);   |
 *     +----------------------------------------------+
 *        in slow start ssthresh = f5 (a grows)
 *
 * Differs from Reno: window and threshold after a loss. Differs from westwood: a
 * sample at each ACK, the filter, and setting ssthresh at the loss.
 *
 * Papers: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang, "TCP Westwood:
 * Bandwidth Estimation for Enhanced Transport over Wireless Links", MobiCom 2001. An
 * earlier report of the authors, which ns-3 studies of Wi-Fi quote, defines
 * functions f1 to f6: f1 applies after a loss in congestion avoidance, f2 after a
 * loss in slow start, f3 and f4 (the window) after a timeout in congestion
 * avoidance, f5 and f6 after a timeout in slow start. With x = BWE * RTTmin, f1(x) =
 * f3(x) = x, f2(x) = f5(x) = x / a, and f4 = f6 = 1. The reduction factor a is 1 at
 * the beginning and after a loss in congestion avoidance. Each loss in slow start,
 * which indicates that ssthresh was too high, adds 1/4 to a, and each timeout in
 * slow start adds 1; the maximum of a is 4. `reduction` = 1 selects this behaviour;
 * in the paper of 2001, a is always 1.
 *
 * Three lines of the quoted code are misprints, as the text around them shows: the
 * test for slow start at a timeout is cwin > ssthresh instead of cwin < ssthresh;
 * the limit of a is "if (a < 4) a = 4" instead of a > 4; and "x increases from 1 to
 * 4" refers to a. The branches that set the window after a timeout to f4 or f6 only
 * if ssthresh is at least 2 result in 1 in both cases.
 */
#include "cc.h"

/* The reduction factor a, in 1/4. */
#define WESTWOOD_A_ONE		4u
#define WESTWOOD_A_MAX		16u
#define WESTWOOD_A_LOSS		1u
#define WESTWOOD_A_TIMEOUT	4u

/* A silence of tau / 2 counts as a sample of 0; after 64 of these, 10^-14 of BWE is left. */
#define WESTWOOD_SILENCES	2u
#define WESTWOOD_SILENCES_MAX	64u

/* Maximum sample, 1 TB/s: times two tau in us it fits into 64 bits. */
#define WESTWOOD_SAMPLE_MAX	1000000000000ull

#define WESTWOOD_2001_PARAMETERS(P)						\
	P(tau_ms, "ms", 500, 10, 4000, "time constant of the bandwidth filter")	\
	P(reduction, "bool", 0, 0, 1,						\
	  "losses in slow start divide the threshold by a growing factor a")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(westwood_2001, WESTWOOD_2001_PARAMETERS);

#define WESTWOOD_2001_PHASES(P)							\
	P(WESTWOOD_SLOW_START, "slow_start")					\
	P(WESTWOOD_AVOIDANCE, "avoidance")

CC_PHASES(westwood_2001, WESTWOOD_2001_PHASES);

struct westwood_2001 {
	u64 bandwidth;		/* BWE, bytes/s */
	u64 last_sample;	/* bytes/s */
	u64 sample_start_us;	/* 0 = no ACK yet */
	u32 sample_bytes;	/* acknowledged since the start of the sample */
	u32 snd_una;		/* snd_una up to which bytes have been counted */
	u32 counted_bytes;	/* counted for duplicate ACKs, to be subtracted later */
	u32 rtt_min_us;		/* ~0 = none yet */
	u32 factor;		/* a, 1/4 */
	u32 last_factor;	/* value before the last loss, 1/4 */
	u32 ssthresh;		/* threshold of the last loss, regardless of the window, packets */
	bool was_in_slow_start;	/* the last loss was in slow start */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct westwood_2001);
CC_STATE(struct cc_search);

CC_PROG(void, westwood_2001_init, struct sock *sk)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);

	*ca = (struct westwood_2001){
		.snd_una = tcp_sk(sk)->snd_una,
		.rtt_min_us = ~0u,
		.factor = WESTWOOD_A_ONE,
		.last_factor = WESTWOOD_A_ONE,
		.ssthresh = TCP_INFINITE_SSTHRESH,
	};
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/*
 * Mascolo et al. 2001, equation 3: with D the time since the last sample,
 * BWE = (2 tau - D) / (2 tau + D) BWE + D (sample + last sample) / (2 tau + D).
 */
CC_INLINE void westwood_2001_filter(struct sock *sk, u32 elapsed_us, u32 bytes)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);
	u64 two_tau_us = 2ull * cc_params(sk)->tau_ms * USEC_PER_MSEC;
	u64 sample = min(div_u64((u64)bytes * USEC_PER_SEC, elapsed_us), WESTWOOD_SAMPLE_MAX);

	ca->bandwidth = div64_u64((two_tau_us - elapsed_us) * ca->bandwidth +
				  elapsed_us * (sample + ca->last_sample),
				  two_tau_us + elapsed_us);
	ca->last_sample = sample;
}

/*
 * Bytes delivered according to this ACK. A duplicate ACK stands for one segment,
 * which the cumulative ACK at the end of recovery must not count again.
 */
CC_INLINE u32 westwood_2001_delivered(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood_2001 *ca = inet_csk_ca(sk);
	u32 bytes = tp->snd_una - ca->snd_una;

	ca->snd_una = tp->snd_una;
	if (!bytes) {
		ca->counted_bytes += tp->mss_cache;
		return tp->mss_cache;
	}
	if (bytes <= tp->mss_cache)
		return bytes;
	if (ca->counted_bytes >= bytes) {
		ca->counted_bytes -= bytes;
		return tp->mss_cache;
	}
	bytes -= ca->counted_bytes;
	ca->counted_bytes = 0;
	return bytes;
}

CC_PROG(void, westwood_2001_in_ack_event, struct sock *sk, u32 flags)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);
	u32 silence_us = cc_params(sk)->tau_ms * USEC_PER_MSEC / WESTWOOD_SILENCES;
	u64 now_us = tcp_sk(sk)->tcp_mstamp;
	u32 i;

	(void)flags;
	if (!ca->sample_start_us) {
		ca->sample_start_us = now_us;
		ca->snd_una = tcp_sk(sk)->snd_una;
		return;
	}
	for (i = 0; i < WESTWOOD_SILENCES_MAX; i++) {
		if (now_us - ca->sample_start_us <= silence_us)
			break;
		westwood_2001_filter(sk, silence_us, 0);
		ca->sample_start_us += silence_us;
	}
	if (i == WESTWOOD_SILENCES_MAX)
		ca->sample_start_us = now_us - silence_us;

	/* ACKs at the same time form one sample */
	ca->sample_bytes += westwood_2001_delivered(sk);
	if (now_us <= ca->sample_start_us)
		return;
	westwood_2001_filter(sk, (u32)(now_us - ca->sample_start_us), ca->sample_bytes);
	ca->sample_start_us = now_us;
	ca->sample_bytes = 0;
}

CC_PROG(void, westwood_2001_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt_min_us = min(ca->rtt_min_us, (u32)sample->rtt_us);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

/* f1 to f3 and f5: BWE * RTTmin / a in packets, at least two. */
CC_INLINE u32 westwood_2001_threshold(const struct sock *sk)
{
	const struct westwood_2001 *ca = inet_csk_ca(sk);
	/* in bytes/ms times us, because bytes/s times us may not fit */
	u64 bytes = (ca->bandwidth / MSEC_PER_SEC) * ca->rtt_min_us / USEC_PER_MSEC;
	u64 pkts = div_u64(bytes * WESTWOOD_A_ONE, max(ca->factor, WESTWOOD_A_ONE));

	if (ca->rtt_min_us == ~0u)
		return 2;
	return (u32)clamp(div_u64(pkts, tcp_sk(sk)->mss_cache), 2ull,
			  (u64)TCP_INFINITE_SSTHRESH);
}

CC_INLINE void westwood_2001_grow_factor(struct sock *sk, u32 step)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);

	ca->factor = WESTWOOD_A_ONE;
	if (cc_params(sk)->reduction && ca->was_in_slow_start)
		ca->factor = min(ca->last_factor + step, WESTWOOD_A_MAX);
}

CC_PROG(u32, westwood_2001_ssthresh, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood_2001 *ca = inet_csk_ca(sk);

	ca->was_in_slow_start = tcp_in_slow_start(tp);
	ca->last_factor = ca->factor;
	westwood_2001_grow_factor(sk, WESTWOOD_A_LOSS);
	ca->ssthresh = westwood_2001_threshold(sk);
	/* the endpoint sets the window to this value, and a loss must not raise it */
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      min(ca->ssthresh, max(tcp_snd_cwnd(tp), 2u)));
}

CC_PROG(void, westwood_2001_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);

	if (cc_slow_start_retreats(&ca->start, cc_params(sk)->slow_start))
		return;
	switch (event) {
	case CA_EVENT_COMPLETE_CWR:
		tcp_sk(sk)->snd_ssthresh = ca->ssthresh;
		break;
	case CA_EVENT_LOSS:
		/* ssthresh() was called just before, as for a loss */
		westwood_2001_grow_factor(sk, WESTWOOD_A_TIMEOUT);
		ca->ssthresh = westwood_2001_threshold(sk);
		tcp_sk(sk)->snd_ssthresh = ca->ssthresh;
		break;
	default:
		break;
	}
}

CC_PROG(void, westwood_2001_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);

	(void)ack;
	cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
	cc_phase(sk, tcp_in_slow_start(tcp_sk(sk)) ? WESTWOOD_SLOW_START : WESTWOOD_AVOIDANCE);
}

CC_PROG(u32, westwood_2001_undo_cwnd, struct sock *sk)
{
	struct westwood_2001 *ca = inet_csk_ca(sk);

	ca->factor = ca->last_factor;
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(westwood_2001) = {
	.init		= CC_CB(westwood_2001_init),
	.ssthresh	= CC_CB(westwood_2001_ssthresh),
	.cong_avoid	= CC_CB(westwood_2001_cong_avoid),
	.cwnd_event	= CC_CB(westwood_2001_cwnd_event),
	.in_ack_event	= CC_CB(westwood_2001_in_ack_event),
	.pkts_acked	= CC_CB(westwood_2001_pkts_acked),
	.undo_cwnd	= CC_CB(westwood_2001_undo_cwnd),
	.name		= "westwood-2001",
};

CC_DESCRIBE(westwood_2001,
	.summary = "Westwood as first published: samples the bandwidth at each ACK",
	CC_HAS_PARAMETERS(westwood_2001),
	CC_HAS_PHASES(westwood_2001)
);
