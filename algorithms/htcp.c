// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * H-TCP, as Linux 6.1 behaves.
 *
 * Growth depends on the time since the last congestion, not on the window, so a new
 * flow with a small window has no disadvantage. In the first second after the
 * congestion, H-TCP grows like Reno; after D seconds, a round trip adds
 *
 *	alpha(D) = 2 (1 - beta) (1 + 10 (D - 1) + ((D - 1) / 2)^2)  packets,
 *
 * multiplied by RTT / 100 ms (limited to 0.1 to 2), so the growth per second does
 * not depend on the RTT. A loss reduces the window to beta = RTTmin / RTTmax of its
 * size, limited to 0.5 to 0.8, which just empties the queue; if the throughput of
 * the last epoch differs from that of the epoch before it by more than a fifth, a
 * loss halves the window.
 *
 *   +------------+ cwnd >= ssthresh  +--------------+   D > 1 s  +------------+
 *   | slow start |------------------>| low speed    |----------->| high speed |
 *   +------------+                   | alpha = 1    |            | alpha(D)   |
 *         ^                          +--------------+            +------------+
 *         |      timeout                |        ^  loss: D = 0        |
 *         +-----------------------------+        +---------------------+
 *
 * Differs from Reno: the steps of growth, and the decrease.
 *
 * Papers: D. Leith, R. Shorten, "H-TCP: TCP for High-Speed and Long-Distance
 * Networks", PFLDnet 2004; draft-leith-tcp-htcp-06. In the draft, beta is 0.5
 * (`adaptive_backoff` 0), and scaling by the RTT is optional and applies only after
 * the first second; Linux scales from the start. The formula in the draft contains
 * 0.5 (D - 1)^2, but its table of epochs was computed with ((D - 1) / 2)^2, as in
 * the paper and in Linux.
 */
#include "cc.h"

/* alpha and beta are in 1/128. */
#define HTCP_SHIFT		7
#define HTCP_ONE		(1u << HTCP_SHIFT)
#define HTCP_BETA_MIN		64u	/* 0.5 */
#define HTCP_BETA_MAX		102u	/* 0.8 */

/* RTT / 100 ms is inverted, in 1/8: from a half, at 200 ms, to ten, at 10 ms. */
#define HTCP_SCALE_SHIFT	3
#define HTCP_SCALE_MIN		4u
#define HTCP_SCALE_MAX		80u

/* Up to this minimum RTT, beta is not adapted to the path. */
#define HTCP_RTT_LEAST_MS	10u

/* RTTs that exceed the maximum by more than this are outliers. */
#define HTCP_RTT_STEP_MS	20u

/* RTTs and rates in an epoch's first round trips are those of the recovery. */
#define HTCP_SETTLING_ROUNDS	3u

#define HTCP_PARAMETERS(P)							\
	P(use_rtt_scaling, "bool", 1, 0, 1,					\
	  "scale alpha in proportion to the RTT")				\
	P(use_bandwidth_switch, "bool", 1, 0, 1,				\
	  "use beta = 0.5 if the throughput has changed by a fifth")		\
	P(adaptive_backoff, "bool", 1, 0, 1,					\
	  "beta = RTTmin / RTTmax instead of 0.5")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(htcp, HTCP_PARAMETERS);

#define HTCP_PHASES(P)								\
	P(HTCP_SLOW_START, "slow_start")					\
	P(HTCP_LOW_SPEED, "low_speed")						\
	P(HTCP_HIGH_SPEED, "high_speed")

CC_PHASES(htcp, HTCP_PHASES);

struct htcp {
	u32 alpha;		/* packets per round trip, 1/128 */
	u32 beta;		/* share of the window that a loss leaves, 1/128 */
	u32 acked;		/* packets that the last ACK acknowledged */
	u32 congested_at;	/* end of the last congestion, jiffies */
	u32 rtt_min;		/* lowest RTT of the connection, jiffies, 0 = none yet */
	u32 rtt_max;		/* highest RTT, which decays at each loss, jiffies */
	u32 period_start;	/* start of the throughput sample, jiffies */
	u32 period_pkts;	/* acknowledged since the start of the sample */
	u32 throughput;		/* smoothed, packets/s */
	u32 throughput_max;	/* maximum of this epoch, packets/s */
	u32 last_throughput_max; /* maximum of the previous epoch, packets/s */
	/* values that an undo restores */
	u32 undo_congested_at;	/* jiffies, 0 = nothing to undo */
	u32 undo_rtt_max;	/* jiffies */
	u32 undo_throughput_max; /* packets/s */
	bool may_adapt;		/* the throughput was steady at the last loss */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct htcp);
CC_STATE(struct cc_search);

CC_INLINE u32 htcp_since_congestion(const struct sock *sk)
{
	const struct htcp *ca = inet_csk_ca(sk);

	return cc_jiffies32(sk) - ca->congested_at;
}

CC_PROG(void, htcp_init, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	*ca = (struct htcp){
		.alpha = HTCP_ONE,
		.beta = HTCP_BETA_MIN,
		.acked = 1,
		.congested_at = cc_jiffies32(sk),
	};
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* alpha(D) */
CC_INLINE void htcp_update_alpha(struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);
	u64 elapsed = htcp_since_congestion(sk);
	u64 packets = 1;

	if (elapsed > HZ) {
		elapsed -= HZ;
		packets += (10 * elapsed + (elapsed / 2) * (elapsed / 2) / HZ) / HZ;
	}
	if (cc_params(sk)->use_rtt_scaling && ca->rtt_min) {
		u64 inverse = div_u64((u64)HZ << HTCP_SCALE_SHIFT, 10 * ca->rtt_min);

		packets = (packets << HTCP_SCALE_SHIFT) /
			  clamp(inverse, (u64)HTCP_SCALE_MIN, (u64)HTCP_SCALE_MAX);
		packets = max(packets, 1ull);
	}
	ca->alpha = (u32)min(2 * packets * (HTCP_ONE - ca->beta), 0x7fffffffull);
}

/* RTTmin / RTTmax if this is the share of the window outside of the queue, else half. */
CC_INLINE void htcp_update_beta(struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	ca->beta = HTCP_BETA_MIN;
	if (!cc_params(sk)->adaptive_backoff)
		return;
	if (cc_params(sk)->use_bandwidth_switch) {
		u64 now = 5ull * ca->throughput_max;
		u64 before = ca->last_throughput_max;

		ca->last_throughput_max = ca->throughput_max;
		if (now < 4 * before || now > 6 * before) {
			ca->may_adapt = false;
			return;
		}
	}
	if (!ca->may_adapt || ca->rtt_min <= msecs_to_jiffies(HTCP_RTT_LEAST_MS) || !ca->rtt_max) {
		ca->may_adapt = true;
		return;
	}
	ca->beta = clamp(div_u32(ca->rtt_min << HTCP_SHIFT, ca->rtt_max), HTCP_BETA_MIN,
			 HTCP_BETA_MAX);
}

CC_PROG(u32, htcp_ssthresh, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);
	u64 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	htcp_update_beta(sk);
	htcp_update_alpha(sk);
	/* the path may have become shorter */
	if (ca->rtt_max > ca->rtt_min)
		ca->rtt_max = ca->rtt_min + (u32)((u64)(ca->rtt_max - ca->rtt_min) * 95 / 100);
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max((u32)((cwnd * ca->beta) >> HTCP_SHIFT), 2u));
}

CC_PROG(void, htcp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct htcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, HTCP_SLOW_START);
		cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		return;
	}
	cc_phase(sk, htcp_since_congestion(sk) > HZ ? HTCP_HIGH_SPEED : HTCP_LOW_SPEED);
	/* alpha / cwnd for each packet; the packet that completes a step does not count */
	if (((u64)tp->snd_cwnd_cnt * ca->alpha) >> HTCP_SHIFT >= cwnd) {
		if (cwnd < tp->snd_cwnd_clamp)
			tcp_snd_cwnd_set(tp, cwnd + 1);
		tp->snd_cwnd_cnt = 0;
		htcp_update_alpha(sk);
	} else {
		tp->snd_cwnd_cnt += ca->acked;
	}
	ca->acked = 1;
}

CC_INLINE void htcp_take_rtt(struct sock *sk, u32 rtt)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (!ca->rtt_min || rtt < ca->rtt_min)
		ca->rtt_min = rtt;
	if (CC_GET(inet_csk(sk), icsk_ca_state) != TCP_CA_Open)
		return;
	ca->rtt_max = max(ca->rtt_max, ca->rtt_min);
	if (rtt > ca->rtt_max && rtt - ca->rtt_max <= msecs_to_jiffies(HTCP_RTT_STEP_MS))
		ca->rtt_max = rtt;
}

/* Measures the throughput, once per round trip and window. */
CC_INLINE void htcp_take_throughput(struct sock *sk, u32 pkts)
{
	struct htcp *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 step = max(ca->alpha >> HTCP_SHIFT, 1u);
	u32 now = cc_jiffies32(sk);
	u32 elapsed = now - ca->period_start;
	u32 throughput;

	ca->period_pkts += pkts;
	/* the packets that this round trip adds are not in flight yet */
	if (ca->period_pkts < (cwnd > step ? cwnd - step : 0) || !ca->rtt_min ||
	    (s32)elapsed < (s32)ca->rtt_min)
		return;
	throughput = (u32)div_u64((u64)ca->period_pkts * HZ, elapsed);
	if (htcp_since_congestion(sk) / ca->rtt_min <= HTCP_SETTLING_ROUNDS) {
		ca->throughput = throughput;
		ca->throughput_max = throughput;
	} else {
		ca->throughput = (u32)((3ull * ca->throughput + throughput) / 4);
		ca->throughput_max = max(ca->throughput_max, ca->throughput);
	}
	ca->period_pkts = 0;
	ca->period_start = now;
}

CC_PROG(void, htcp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct htcp *ca = inet_csk_ca(sk);
	u8 state = (u8)CC_GET(inet_csk(sk), icsk_ca_state);

	if (state == TCP_CA_Open)
		ca->acked = sample->pkts_acked;
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
	if (sample->rtt_us > 0)
		htcp_take_rtt(sk, usecs_to_jiffies((u32)sample->rtt_us));
	if (!cc_params(sk)->use_bandwidth_switch)
		return;
	if (state == TCP_CA_Open || state == TCP_CA_Disorder) {
		htcp_take_throughput(sk, sample->pkts_acked);
	} else {
		ca->period_pkts = 0;
		ca->period_start = cc_jiffies32(sk);
	}
}

CC_PROG(void, htcp_set_state, struct sock *sk, u8 new_state)
{
	struct htcp *ca = inet_csk_ca(sk);

	switch (new_state) {
	case TCP_CA_Open:
		/* D counts from the end of the recovery */
		if (ca->undo_congested_at) {
			ca->congested_at = cc_jiffies32(sk);
			ca->undo_congested_at = 0;
		}
		break;
	case TCP_CA_CWR:
	case TCP_CA_Recovery:
	case TCP_CA_Loss:
		ca->undo_congested_at = ca->congested_at;
		ca->undo_rtt_max = ca->rtt_max;
		ca->undo_throughput_max = ca->last_throughput_max;
		ca->congested_at = cc_jiffies32(sk);
		break;
	default:
		break;
	}
}

CC_PROG(u32, htcp_undo_cwnd, struct sock *sk)
{
	struct htcp *ca = inet_csk_ca(sk);

	if (ca->undo_congested_at) {
		ca->congested_at = ca->undo_congested_at;
		ca->rtt_max = ca->undo_rtt_max;
		ca->last_throughput_max = ca->undo_throughput_max;
		ca->undo_congested_at = 0;
	}
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(htcp) = {
	.init		= CC_CB(htcp_init),
	.ssthresh	= CC_CB(htcp_ssthresh),
	.cong_avoid	= CC_CB(htcp_cong_avoid),
	.set_state	= CC_CB(htcp_set_state),
	.undo_cwnd	= CC_CB(htcp_undo_cwnd),
	.pkts_acked	= CC_CB(htcp_pkts_acked),
	.name		= "htcp",
};

CC_DESCRIBE(htcp,
	.summary = "growth by the time since the last congestion, decrease by the share "
		   "of the queue",
	CC_HAS_PARAMETERS(htcp),
	CC_HAS_PHASES(htcp)
);
