// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Westwood+, as Linux 6.1 behaves.
 *
 * Westwood+ measures by the ACKs at which rate the path delivers data: once per
 * round trip (at least 50 ms), the acknowledged bytes are divided by the time, and a
 * low-pass filter computes the bandwidth estimate BWE from these samples. After a
 * loss, the window is BWE * RTTmin, which fills the path without a queue, instead of
 * half of the window. A random loss on a radio link without a queue therefore does
 * not reduce the window, and a loss by congestion empties the queue.
 *
 *   +------------+  cwnd >= ssthresh   +----------------------+
 *   | slow start |-------------------->| congestion avoidance |
 *   +------------+                     +----------------------+
 *         ^  timeout: cwnd = 1,               |    ^ loss: half the window during
 *         |  ssthresh = BWE * RTTmin,         |    | recovery, then cwnd =
 *         +-----------------------------------+    | ssthresh = BWE * RTTmin
 *            RTTmin begins anew               +----+
 *
 * Differs from Reno: window and threshold after a loss.
 *
 * Papers: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi, R. Wang, "TCP Westwood:
 * Bandwidth Estimation for Enhanced Transport over Wireless Links", MobiCom 2001
 * (westwood-2001); L. A. Grieco, S. Mascolo, "Performance Evaluation and Comparison
 * of Westwood+, New Reno, and Vegas TCP Congestion Control", ACM SIGCOMM CCR 34(2),
 * 2004: one sample per round trip, because bursts of ACKs made the estimate of 2001
 * too high. In the paper, ssthresh is set at the loss (`at_loss`), and there is one
 * filter with a pole at 0.9 (`single_filter`); Linux sets ssthresh when the recovery
 * is complete, and uses two filters with poles at 7/8. Linux measures RTT and time
 * in ticks.
 */
#include "cc.h"

/* A sample takes at least 50 ms, in whole ticks; a shorter RTT would give noisy rates. */
#define WESTWOOD_SAMPLE_MIN	(HZ / 20)

/* The RTT before the first ACK has measured it. */
#define WESTWOOD_RTT_UNKNOWN_MS	20000u

/* The filters: y += (x - y) / 8, and the paper's y += (x - y) / 10. */
#define WESTWOOD_GAIN		8u
#define WESTWOOD_SINGLE_GAIN	10u

/* Rate in bytes per tick; a higher rate would not fit with the gains (4 TB/s). */
#define WESTWOOD_RATE_MAX	0x0fffffffu

#define WESTWOOD_PARAMETERS(P)							\
	P(at_loss, "bool", 0, 0, 1,						\
	  "set ssthresh to BWE * RTTmin at the loss, not after recovery")	\
	P(single_filter, "bool", 0, 0, 1,					\
	  "use one filter with a pole at 0.9 instead of two with poles at 7/8")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(westwood, WESTWOOD_PARAMETERS);

#define WESTWOOD_PHASES(P)							\
	P(WESTWOOD_SLOW_START, "slow_start")					\
	P(WESTWOOD_AVOIDANCE, "avoidance")

CC_PHASES(westwood, WESTWOOD_PHASES);

struct westwood {
	u32 rate;		/* output of the first filter, bytes/tick */
	u32 bandwidth;		/* BWE, output of the second filter, bytes/tick */
	u32 sample_start;	/* jiffies */
	u32 sample_bytes;	/* acknowledged since the start of the sample */
	u32 snd_una;		/* snd_una up to which bytes have been counted */
	u32 counted_bytes;	/* counted for duplicate ACKs, to be subtracted later */
	u32 rtt;		/* of the last ACK, jiffies */
	u32 rtt_min;		/* jiffies */
	u16 has_ack;		/* 1: an ACK has arrived; 16 bits, so no byte is left undefined */
	u16 is_rtt_stale;	/* 1: rtt_min will be reset */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct westwood);
CC_STATE(struct cc_search);

CC_PROG(void, westwood_init, struct sock *sk)
{
	struct westwood *ca = inet_csk_ca(sk);

	*ca = (struct westwood){
		.sample_start = cc_jiffies32(sk),
		.snd_una = tcp_sk(sk)->snd_una,
		.rtt = msecs_to_jiffies(WESTWOOD_RTT_UNKNOWN_MS),
		.rtt_min = msecs_to_jiffies(WESTWOOD_RTT_UNKNOWN_MS),
		.is_rtt_stale = true,
	};
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_INLINE u32 westwood_filter(u32 mean, u32 sample, u32 gain)
{
	return ((gain - 1) * mean + sample) / gain;
}

/* Ends the sample if a round trip has passed. */
CC_INLINE void westwood_sample(struct sock *sk)
{
	struct westwood *ca = inet_csk_ca(sk);
	u32 now = cc_jiffies32(sk);
	u32 ticks = now - ca->sample_start;
	u32 rate;

	/* time before the first ACK belongs to the handshake */
	if (!ca->has_ack) {
		ca->snd_una = tcp_sk(sk)->snd_una;
		ca->has_ack = true;
	}
	if (!ca->rtt || (s32)ticks <= (s32)max(ca->rtt, WESTWOOD_SAMPLE_MIN))
		return;

	rate = min(div_u32(ca->sample_bytes, ticks), WESTWOOD_RATE_MAX);
	if (!ca->rate && !ca->bandwidth) {
		ca->rate = rate;
		ca->bandwidth = rate;
	} else if (cc_params(sk)->single_filter) {
		ca->bandwidth = westwood_filter(ca->bandwidth, rate, WESTWOOD_SINGLE_GAIN);
	} else {
		ca->rate = westwood_filter(ca->rate, rate, WESTWOOD_GAIN);
		ca->bandwidth = westwood_filter(ca->bandwidth, ca->rate, WESTWOOD_GAIN);
	}
	ca->sample_bytes = 0;
	ca->sample_start = now;
}

/*
 * Bytes delivered according to this ACK. A duplicate ACK stands for one segment,
 * which the cumulative ACK at the end of recovery must not count again.
 */
CC_INLINE u32 westwood_delivered(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);
	u32 bytes = tp->snd_una - ca->snd_una;

	if (!bytes) {
		ca->counted_bytes += tp->mss_cache;
		return tp->mss_cache;
	}
	if (bytes > tp->mss_cache) {
		if (ca->counted_bytes >= bytes) {
			ca->counted_bytes -= bytes;
			bytes = tp->mss_cache;
		} else {
			bytes -= ca->counted_bytes;
			ca->counted_bytes = 0;
		}
	}
	return bytes;
}

CC_PROG(void, westwood_in_ack_event, struct sock *sk, u32 flags)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	westwood_sample(sk);
	if (flags & CA_ACK_SLOWPATH)
		ca->sample_bytes += westwood_delivered(sk);
	else
		ca->sample_bytes += tp->snd_una - ca->snd_una;
	ca->snd_una = tp->snd_una;

	if (ca->is_rtt_stale) {
		ca->rtt_min = ca->rtt;
		ca->is_rtt_stale = false;
	} else {
		ca->rtt_min = min(ca->rtt_min, ca->rtt);
	}
}

CC_PROG(void, westwood_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct westwood *ca = inet_csk_ca(sk);

	if (sample->rtt_us > 0)
		ca->rtt = usecs_to_jiffies((u32)sample->rtt_us);
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

/* BWE * RTTmin in packets. */
CC_INLINE u32 westwood_path_pkts(struct sock *sk)
{
	const struct westwood *ca = inet_csk_ca(sk);
	u64 bytes = (u64)ca->bandwidth * ca->rtt_min;

	return (u32)clamp(div_u64(bytes, tcp_sk(sk)->mss_cache), 2ull,
			  (u64)TCP_INFINITE_SSTHRESH);
}

CC_PROG(u32, westwood_ssthresh, struct sock *sk)
{
	struct westwood *ca = inet_csk_ca(sk);
	u32 ssthresh = tcp_reno_ssthresh(sk);

	if (cc_params(sk)->at_loss)
		ssthresh = clamp(tcp_snd_cwnd(tcp_sk(sk)), 2u, westwood_path_pkts(sk));
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start, ssthresh);
}

CC_PROG(void, westwood_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct westwood *ca = inet_csk_ca(sk);

	if (cc_slow_start_retreats(&ca->start, cc_params(sk)->slow_start))
		return;
	switch (event) {
	case CA_EVENT_COMPLETE_CWR:
		tp->snd_ssthresh = westwood_path_pkts(sk);
		tcp_snd_cwnd_set(tp, min(tp->snd_ssthresh, tp->snd_cwnd_clamp));
		break;
	case CA_EVENT_LOSS:
		tp->snd_ssthresh = westwood_path_pkts(sk);
		/* the path may have changed; the next ACK starts with the last RTT */
		ca->is_rtt_stale = true;
		break;
	default:
		break;
	}
}

CC_PROG(void, westwood_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct westwood *ca = inet_csk_ca(sk);

	(void)ack;
	cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
	cc_phase(sk, tcp_in_slow_start(tcp_sk(sk)) ? WESTWOOD_SLOW_START : WESTWOOD_AVOIDANCE);
}

CC_PROG(u32, westwood_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(westwood) = {
	.init		= CC_CB(westwood_init),
	.ssthresh	= CC_CB(westwood_ssthresh),
	.cong_avoid	= CC_CB(westwood_cong_avoid),
	.cwnd_event	= CC_CB(westwood_cwnd_event),
	.in_ack_event	= CC_CB(westwood_in_ack_event),
	.pkts_acked	= CC_CB(westwood_pkts_acked),
	.undo_cwnd	= CC_CB(westwood_undo_cwnd),
	.name		= "westwood",
};

CC_DESCRIBE(westwood,
	.summary = "Westwood+: after a loss, sets the window from the measured delivery rate",
	.aliases = "westwood+",
	CC_HAS_PARAMETERS(westwood),
	CC_HAS_PHASES(westwood)
);
