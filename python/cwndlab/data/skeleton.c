/*
 * skeleton: describe the algorithm in one line.
 *
 * This is Reno with one parameter, as a starting point for your own algorithm. Names
 * and meanings are those of the Linux kernel (struct tcp_congestion_ops, struct
 * tcp_sock). cc.h declares all available fields and functions. The algorithm can read
 * all fields, but may write only snd_cwnd, snd_ssthresh, snd_cwnd_cnt, sk_pacing_rate
 * and its own state below: the simulator checks this, and the kernel enforces it, too.
 *
 *	cwndlab algorithm check ./skeleton.c
 *	cwndlab compare --link lossy --algorithm cubic,./skeleton.c --repeat 10
 *
 * Papers: the publications that describe the algorithm.
 */
#include "cc.h"

/*
 * Parameters: name, unit, default, lowest and highest value, meaning. A study sets
 * them in [parameters.skeleton]; this file reads them as cc_params(sk)->NAME.
 */
#define SKELETON_PARAMETERS(P)						\
	P(kept_share, "1/1024", 512, 1, 1023, "share of the window that is kept after a loss")

CC_PARAMETERS(skeleton, SKELETON_PARAMETERS);

/* Phases that plots distinguish. Report a change of phase with cc_phase(sk, ...). */
#define SKELETON_PHASES(P)						\
	P(SKELETON_SLOW_START, "slow_start")				\
	P(SKELETON_AVOIDANCE, "avoidance")

CC_PHASES(skeleton, SKELETON_PHASES);

/* The state of one connection: at most 104 bytes, initialised to zero. */
struct skeleton {
	u32 min_rtt_us;		/* lowest RTT so far, 0 = none */
};

CC_PRIV_CHECK(struct skeleton);

/* The connection is established. Optional. */
CC_PROG(void, skeleton_init, struct sock *sk)
{
	struct skeleton *ca = inet_csk_ca(sk);

	ca->min_rtt_us = 0;
}

/* An ACK arrived, with an RTT sample or without one (negative). Optional. */
CC_PROG(void, skeleton_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct skeleton *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return;
	rtt_us = max((u32)sample->rtt_us, 1u);
	if (!ca->min_rtt_us || rtt_us < ca->min_rtt_us)
		ca->min_rtt_us = rtt_us;
}

/* An ACK of `acked` packets arrived without a loss: the window may grow. Required. */
CC_PROG(void, skeleton_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, SKELETON_SLOW_START);
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	cc_phase(sk, SKELETON_AVOIDANCE);
	/* grow by one packet for each window acknowledged */
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

/* A loss: return the new slow-start threshold, at least 2. Required. */
CC_PROG(u32, skeleton_ssthresh, struct sock *sk)
{
	u64 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max((u32)(cwnd * cc_params(sk)->kept_share >> 10), 2u);
}

/* The loss was spurious: return the window to restore. Required. */
CC_PROG(u32, skeleton_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

/*
 * Other hooks: set_state (the ACK state machine), cwnd_event (idle, timeout, marks),
 * in_ack_event (each ACK), cong_control (replaces cong_avoid and controls both window
 * and rate), min_tso_segs, sndbuf_expand, release.
 */
CC_OPS(skeleton) = {
	.init		= CC_CB(skeleton_init),
	.pkts_acked	= CC_CB(skeleton_pkts_acked),
	.cong_avoid	= CC_CB(skeleton_cong_avoid),
	.ssthresh	= CC_CB(skeleton_ssthresh),
	.undo_cwnd	= CC_CB(skeleton_undo_cwnd),
	.name		= "skeleton",
};

CC_DESCRIBE(skeleton,
	.summary = "Reno with a knob",
	CC_HAS_PARAMETERS(skeleton),
	CC_HAS_PHASES(skeleton)
);
