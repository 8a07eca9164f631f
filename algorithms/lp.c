// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * LP, Low Priority, as Linux 6.1 behaves.
 *
 * LP is Reno for transfers of low priority: it gives way as soon as other flows make
 * the queue grow. LP detects this by the one-way delay of the data, which is the
 * timestamp of the receiver minus the echoed timestamp of the sender, smoothed by
 * 1/8. When the delay reaches
 *
 *	lowest + 15 % (highest - lowest)
 *
 * LP halves the window and begins an inference phase of three round trips, in which
 * the window does not grow. If the delay reaches the threshold again in this phase,
 * another flow needs the path, and LP reduces the window to one packet.
 *
 *   +------+  delay reaches the threshold: cwnd / 2   +-----------+
 *   | reno |----------------------------------------->| inference |---+ again:
 *   +------+<-----------------------------------------+-----------+<--+ cwnd = 1
 *                       3 RTT have passed
 *
 * Differs from Reno: early reduction by the one-way delay. A loss has the same
 * effect as in Reno. Unlike LP in the paper, LP in Linux then uses the delay that
 * made it give way as the new lowest delay, and twice this delay as the highest
 * delay.
 *
 * The timestamps of Linux start at a random number for each connection (RFC 7323
 * section 5.4), so the difference of two clocks can be any number of 32 bits. The
 * smoothed delay is stored multiplied by eight, which overflows for differences from
 * 2^29 ms on. For seven of eight connections, the delay therefore never reaches the
 * threshold, and LP behaves like Reno. LP gives way in the remaining connections, in
 * all connections if the stack does not use random offsets (tcp_timestamps = 2), and
 * occasionally on slow paths, where the clock of the peer is estimated inaccurately.
 *
 * Paper: A. Kuzmanovic, E. Knightly, "TCP-LP: A Distributed Algorithm for Low Priority
 * Data Transfer", INFOCOM 2003.
 */
#include "cc.h"

/* The smoothed delay is stored times eight, because it changes by an eighth. */
#define LP_SMOOTH_SHIFT	3

/* The peer's clock rate: a new measurement moves the estimate by 1/64. */
#define LP_CLOCK_SHIFT	6

/* An indication of congestion is assumed to last this many round trips. */
#define LP_INFERENCE_RTTS	3u

#define LP_PARAMETERS(P)							\
	P(threshold, "%", 15, 1, 100,						\
	  "part of the range of delays from which LP gives way to other flows")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(lp, LP_PARAMETERS);

#define LP_PHASES(P)								\
	P(LP_SLOW_START, "slow_start")						\
	P(LP_AVOIDANCE, "avoidance")						\
	P(LP_INFERENCE, "inference")

CC_PHASES(lp, LP_PHASES);

/* One-way delays in ms, which include the offset between the two clocks. */
struct lp_delay {
	u32 lowest;
	u32 highest;
	u32 next_highest;	/* becomes the highest if a higher delay is measured */
	u32 smoothed;	/* << LP_SMOOTH_SHIFT, truncated to 32 bits */
};

struct lp {
	struct lp_delay delay;
	u32 peer_hz;	/* ticks per second of the peer's clock, 0 = unknown */
	u32 last_tsval;	/* timestamp of the peer at the last ACK, in its ticks */
	u32 last_tsecr;	/* our timestamp echoed in that ACK, ms */
	u32 inference_ms;	/* length of an inference phase */
	u32 drop_ms;	/* time of the last indication of congestion, 0 = none */
	bool is_inferring;	/* in an inference phase */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct lp);
CC_STATE(struct cc_search);

CC_PROG(void, lp_init, struct sock *sk)
{
	struct lp *ca = inet_csk_ca(sk);

	*ca = (struct lp){ .delay = { .lowest = ~0u } };
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* Measures the rate of the peer's clock relative to ours, from the second ACK on. */
CC_INLINE void lp_measure_clock(struct sock *sk)
{
	const struct tcp_options_received *options = &tcp_sk(sk)->rx_opt;
	struct lp *ca = inet_csk_ca(sk);
	u32 theirs = options->rcv_tsval - ca->last_tsval;
	u32 ours_ms = options->rcv_tsecr - ca->last_tsecr;

	if (theirs && ours_ms && ca->last_tsval && ca->last_tsecr) {
		u32 hz = div_u32(theirs * MSEC_PER_SEC, ours_ms);

		if (!ca->peer_hz)
			ca->peer_hz = hz;
		else if (hz >= ca->peer_hz)
			ca->peer_hz += (hz - ca->peer_hz) >> LP_CLOCK_SHIFT;
		else
			/* rounds up the step, so that the estimate falls by at least one */
			ca->peer_hz -= (ca->peer_hz - hz + (1u << LP_CLOCK_SHIFT) - 1) >>
				       LP_CLOCK_SHIFT;
	}
	ca->last_tsval = options->rcv_tsval;
	ca->last_tsecr = options->rcv_tsecr;
}

/* One-way delay in ms, 0 = unknown. */
CC_INLINE u32 lp_one_way_delay(struct sock *sk)
{
	const struct tcp_options_received *options = &tcp_sk(sk)->rx_opt;
	const struct lp *ca = inet_csk_ca(sk);

	lp_measure_clock(sk);
	if (!ca->peer_hz)
		return 0;
	/* whole ms per tick: if the peer's clock is faster than ours, this is 0 */
	return options->rcv_tsval * (MSEC_PER_SEC / ca->peer_hz) - options->rcv_tsecr;
}

CC_INLINE void lp_take_delay(struct lp_delay *delay, u32 ms)
{
	delay->lowest = min(delay->lowest, ms);
	if (ms > delay->highest) {
		if (ms <= delay->next_highest) {
			delay->highest = ms;
		} else {
			/* ignores the highest delay */
			delay->highest = delay->next_highest ? delay->next_highest : ms;
			delay->next_highest = ms;
		}
	}
	if (delay->smoothed)
		delay->smoothed += ms - (delay->smoothed >> LP_SMOOTH_SHIFT);
	else
		delay->smoothed = ms << LP_SMOOTH_SHIFT;
}

/* Whether the smoothed delay indicates that other flows use the path. */
CC_INLINE bool lp_is_indicated(const struct sock *sk)
{
	const struct lp *ca = inet_csk_ca(sk);
	const struct lp_delay *delay = &ca->delay;
	u32 range = cc_params(sk)->threshold * (delay->highest - delay->lowest) / 100;

	return delay->smoothed >> LP_SMOOTH_SHIFT >= delay->lowest + range;
}

CC_PROG(void, lp_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lp *ca = inet_csk_ca(sk);
	u32 now_ms = tcp_time_stamp(tp);
	u32 rtt_ms = now_ms - tp->rx_opt.rcv_tsecr;

	if (sample->rtt_us > 0) {
		u32 ms = lp_one_way_delay(sk);

		if (ms)
			lp_take_delay(&ca->delay, ms);
	}
	if ((s32)rtt_ms > 0)
		ca->inference_ms = LP_INFERENCE_RTTS * rtt_ms;
	ca->is_inferring = ca->drop_ms && now_ms - ca->drop_ms < ca->inference_ms;
	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
	if (!lp_is_indicated(sk))
		return;

	/* The current delay becomes the reference for later ones. */
	ca->delay.lowest = ca->delay.smoothed >> LP_SMOOTH_SHIFT;
	ca->delay.highest = ca->delay.smoothed >> (LP_SMOOTH_SHIFT - 1);
	ca->delay.next_highest = ca->delay.highest;
	tcp_snd_cwnd_set(tp, ca->is_inferring ? 1 : max(tcp_snd_cwnd(tp) >> 1, 1u));
	ca->drop_ms = now_ms;
}

CC_PROG(void, lp_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct lp *ca = inet_csk_ca(sk);

	(void)ack;
	if (ca->is_inferring) {
		cc_phase(sk, LP_INFERENCE);
		return;
	}
	cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
	cc_phase(sk, tcp_in_slow_start(tcp_sk(sk)) ? LP_SLOW_START : LP_AVOIDANCE);
}

CC_PROG(u32, lp_ssthresh, struct sock *sk)
{
	struct lp *ca = inet_csk_ca(sk);

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      tcp_reno_ssthresh(sk));
}

CC_PROG(u32, lp_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(lp) = {
	.init		= CC_CB(lp_init),
	.ssthresh	= CC_CB(lp_ssthresh),
	.cong_avoid	= CC_CB(lp_cong_avoid),
	.undo_cwnd	= CC_CB(lp_undo_cwnd),
	.pkts_acked	= CC_CB(lp_pkts_acked),
	.name		= "lp",
};

CC_DESCRIBE(lp,
	.summary = "low priority: gives way when the one-way delay grows (Kuzmanovic, "
		   "Knightly 2003)",
	CC_HAS_PARAMETERS(lp),
	CC_HAS_PHASES(lp)
);
