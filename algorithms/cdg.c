// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * CDG, CAIA Delay Gradient, as Linux 6.1 behaves.
 *
 * CDG detects a filling queue by a rising RTT, not by a large RTT. Once per round
 * trip, it compares the lowest and the highest RTT with those of the previous round
 * trip; the average g of these gradients over eight round trips reduces the window
 * to 0.7 with the probability
 *
 *	P = 1 - exp(-g / G),	G = 3 ms
 *
 * The reduction is random, so noise does no harm, and its probability depends on g,
 * so the average reduction does not depend on the RTT. Against loss-based flows,
 * this is not enough, because they fill the queue again: after five reductions
 * without effect, CDG ignores the gradient until the gradient has been negative. In
 * addition, a shadow window records how large the window would be without these
 * reductions; a loss sets the window to half of the shadow window.
 *
 *	+------------+ HyStart, loss,  +-----------+ five without effect  +---------+
 *	| slow start |---------------->| avoidance |--------------------->| compete |
 *	+------------+     back-off    +-----------+<---------------------+---------+
 *	      | g > 0, with P            ^   | g > 0, with P    g <= -32 us
 *	      |                          |   v
 *	      |                        +----------+
 *	      +----------------------->| back-off | window to 0.7, as after an ECN echo
 *	                               +----------+
 *
 * Differs from Reno: the reduction above, the shadow window, and HyStart at the end
 * of slow start (gaps in its trains of ACKs may be 3 ms long), unless `slow_start`
 * selects another method (cc_slow_start.h). CDG grows as Reno does. With use_tolerance, a loss does not reduce the window if the gradients
 * indicate that the queue is not full: the paper's tolerance of random losses.
 *
 * Papers: D. A. Hayes, G. Armitage, "Revisiting TCP Congestion Control Using Delay
 * Gradients", IFIP Networking 2011; S. Ha, I. Rhee, "Taming the Elephants: New TCP
 * Slow Start", Computer Networks 55(9), 2011 (HyStart); D. A. Hayes, "Timing
 * Enhancements to the FreeBSD Kernel to Support Delay and Rate Based TCP
 * Mechanisms", CAIA TR 100219A, 2010 (delayed ACKs). In a running kernel, a BPF
 * program cannot spread a reduction over a round trip; there, the window is reduced
 * at once.
 */
#include "cc.h"

/* Maximum number of averaged gradients; the state has no room for more. */
#define CDG_GRADIENTS		8u

/* A sum of gradients is significant beyond this, us (4 us on average). */
#define CDG_NOISE_US		32

/* Number of delayed ACKs to ignore after one ACK of several packets. */
#define CDG_DELAYED_ACKS	5u

/* hystart_detect is a set of these flags. */
#define CDG_ACK_TRAIN		1u
#define CDG_DELAY		2u

/* HyStart: maximum gap in a train, samples before the delay counts, minimum margin. */
#define CDG_TRAIN_GAP_US	3000u
#define CDG_DELAY_SAMPLES	8u
#define CDG_LEAST_US		125u

#define CDG_PARAMETERS(P)							\
	P(window, "round trips", 8, 1, 8,					\
	  "number of gradients that are averaged")				\
	P(backoff_beta, "1/1024", 724, 1, 1024,					\
	  "window after a back-off, relative to the window before it")		\
	P(backoff_factor, "1/s", 42, 0, 65535,					\
	  "1 / (window * G), steepness of the back-off probability")		\
	P(hystart_detect, "", 3, 0, 3,						\
	  "with slow_start 0, signal that ends slow start: 1 = ACK trains, "	\
	  "2 = delay, 3 = both")						\
	P(use_ineff, "back-offs", 5, 0, 255,					\
	  "back-offs without effect until the gradient is ignored, 0 = never")	\
	P(use_shadow, "bool", 1, 0, 1, "a loss halves the shadow window")	\
	P(use_tolerance, "bool", 0, 0, 1,					\
	  "a loss reduces the window only if the queue is full")		\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(cdg, CDG_PARAMETERS);

#define CDG_PHASES(P)						\
	P(CDG_PHASE_SLOW_START, "slow_start")			\
	P(CDG_PHASE_AVOIDANCE, "avoidance")			\
	P(CDG_PHASE_COMPETE, "compete")				\
	P(CDG_PHASE_BACKOFF, "backoff")

CC_PHASES(cdg, CDG_PHASES);

/* Estimated state of the queue at the bottleneck. */
enum cdg_queue {
	CDG_UNKNOWN,
	CDG_NOT_FULL,
	CDG_FULL,
	CDG_BACKOFF,	/* unknown, during a back-off */
};

/* Minimum and maximum RTT of a round trip, or their differences; us. */
struct cdg_extremes {
	u32 min;
	u32 max;
};

struct cdg {
	struct cdg_extremes rtt;	/* of this round trip, 0 = none yet */
	struct cdg_extremes prior_rtt;	/* of the previous round trip */
	struct cdg_extremes gradients[CDG_GRADIENTS];	/* the latest one first */
	u32 rtt_seq;		/* the round trip ends when data beyond this is acknowledged */
	u32 shadow_wnd;		/* the window without back-offs, packets */
	u32 delay_min_us;	/* lowest RTT of slow start, 0 = none */
	u32 last_ack_us;	/* last ACK of the train, 0 = none */
	u32 train_us;		/* first ACK of the train */
	u32 backoff_cnt : 9;	/* back-offs without effect, up to use_ineff + 1 */
	u32 gradient_cnt : 4;	/* number of gradients so far */
	u32 sample_cnt : 4;	/* ACKs of this round trip, up to CDG_DELAY_SAMPLES */
	u32 queue : 2;		/* enum cdg_queue */
	u32 delack : 3;		/* number of delayed ACKs to ignore */
};

CC_PRIV_CHECK(struct cdg);

/* State of the method that slow_start selects. */
struct cdg_start {
	struct cc_slow_start start;
	struct cc_search search;
};

CC_STATE(struct cdg_start);

/* NULL: slow start is that of CDG, or there is no memory for the state. */
CC_INLINE struct cdg_start *cdg_start(struct sock *sk)
{
	return cc_params(sk)->slow_start ? cc_state(sk) : NULL;
}

#define CDG_LN2		0xb17217f8ull	/* powers of ln 2 over factorials, 1/2^32 */
#define CDG_LN2_2	0x3d7f7bffull
#define CDG_LN2_3	0x0e35846cull
#define CDG_LN2_4	0x0276556eull
#define CDG_LN2_5	0x00576200ull
#define CDG_LN2_6	0x000a1849ull

#define CDG_LOG2_E	25380160ull	/* log2(e) / 10^6, 1/2^44 */

/*
 * 2^32 exp(-x / 10^6), with a relative error of 2 in 100,000. exp(-y) is 2^-z for z
 * = y log2(e): the integer part of z is a shift, and its fraction f is used in the
 * series 2^-f = 1 - f ln 2 + (f ln 2)^2 / 2! - ...
 */
CC_INLINE u64 cdg_exp(u64 x)
{
	u64 t, f, series;

	if (x >> 25)
		return 0;	/* below 2^-48 */
	t = x * CDG_LOG2_E;
	f = (t >> 12) & 0xffffffff;
	series = CDG_LN2_5 - ((f * CDG_LN2_6) >> 32);
	series = CDG_LN2_4 - ((f * series) >> 32);
	series = CDG_LN2_3 - ((f * series) >> 32);
	series = CDG_LN2_2 - ((f * series) >> 32);
	series = CDG_LN2 - ((f * series) >> 32);
	return ((1ull << 32) - ((f * series) >> 32)) >> (t >> 44);
}

CC_INLINE u32 cdg_lesser(u32 least, u32 v)
{
	return least && least < v ? least : v;
}

CC_INLINE void cdg_forget(struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);

	*ca = (struct cdg){ .rtt_seq = tcp_sk(sk)->snd_nxt };
	ca->shadow_wnd = tcp_snd_cwnd(tcp_sk(sk));
}

/* Keeps the RTT of an active open's SYN, which belongs to the first round trip. */
CC_PROG(void, cdg_init, struct sock *sk)
{
	struct cdg_start *chosen = cdg_start(sk);
	struct cdg *ca = inet_csk_ca(sk);

	ca->rtt_seq = tcp_sk(sk)->snd_nxt;
	ca->shadow_wnd = tcp_snd_cwnd(tcp_sk(sk));
	if (chosen)
		cc_slow_start_restart(sk, &chosen->start, &chosen->search,
				      cc_params(sk)->slow_start);
}

CC_INLINE void cdg_end_slow_start(struct sock *sk)
{
	tcp_sk(sk)->snd_ssthresh = tcp_snd_cwnd(tcp_sk(sk));
}

CC_INLINE void cdg_hystart(struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);
	u32 detect = cc_params(sk)->hystart_detect;

	if (ca->rtt.min)
		ca->delay_min_us = cdg_lesser(ca->delay_min_us, ca->rtt.min);
	if (!ca->delay_min_us)
		return;

	if (detect & CDG_ACK_TRAIN) {
		u32 now_us = (u32)tcp_sk(sk)->tcp_mstamp;

		if (!ca->last_ack_us || !tcp_is_cwnd_limited(sk)) {
			ca->last_ack_us = now_us;
			ca->train_us = now_us;
		} else if (before(now_us, ca->last_ack_us + CDG_TRAIN_GAP_US)) {
			u32 longest_us = max(ca->delay_min_us / 2, CDG_LEAST_US);

			ca->last_ack_us = now_us;
			if (after(now_us, ca->train_us + longest_us)) {
				cdg_end_slow_start(sk);
				return;
			}
		}
	}

	if (detect & CDG_DELAY) {
		if (ca->sample_cnt < CDG_DELAY_SAMPLES)
			ca->sample_cnt++;
		else if (ca->rtt.min > max(ca->delay_min_us + ca->delay_min_us / 8, CDG_LEAST_US))
			cdg_end_slow_start(sk);
	}
}

/* Records the gradients of the round trip that ended. Returns their sum if it is positive. */
CC_INLINE u32 cdg_gradient(struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);
	u32 window = cc_params(sk)->window;
	u32 count = min((u32)ca->gradient_cnt + 1, window);
	struct cdg_extremes sum = { 0, 0 };
	s32 least, greatest;
	u32 i;

	for (i = CDG_GRADIENTS - 1; i > 0; i--)
		ca->gradients[i] = ca->gradients[i - 1];
	ca->gradients[0].min = ca->rtt.min - ca->prior_rtt.min;
	ca->gradients[0].max = ca->rtt.max - ca->prior_rtt.max;
	ca->gradient_cnt = count & 15u;
	for (i = 0; i < CDG_GRADIENTS; i++) {
		if (i < window) {
			sum.min += ca->gradients[i].min;
			sum.max += ca->gradients[i].max;
		}
	}
	least = (s32)sum.min;
	greatest = (s32)sum.max;
	if (least <= -CDG_NOISE_US || greatest <= -CDG_NOISE_US)
		ca->backoff_cnt = 0;
	if (cc_params(sk)->use_tolerance) {
		bool rises = least >= CDG_NOISE_US;

		/* if the maximum RTT no longer rises, the queue is full */
		if (rises && greatest < CDG_NOISE_US)
			ca->queue = CDG_FULL;
		else if (rises || greatest <= -CDG_NOISE_US)
			ca->queue = CDG_NOT_FULL;
	}
	if (least <= 0)
		least = greatest;
	if (least <= 0)
		return 0;
	/* as if the missing gradients were like the existing ones */
	return (u32)min(div_u64((u64)least * window, count), 0x7fffffffull);
}

/* Reduces the window with a probability. Returns whether it did. */
CC_INLINE bool cdg_back_off(struct sock *sk, u32 gradient)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cdg *ca = inet_csk_ca(sk);
	u32 most = cc_params(sk)->use_ineff;
	u64 kept;

	if (cc_prandom_u32(sk) <= cdg_exp((u64)gradient * cc_params(sk)->backoff_factor))
		return false;
	if (most) {
		if (ca->backoff_cnt <= most)
			ca->backoff_cnt++;
		if (ca->backoff_cnt > most)
			return false;
	}
	ca->shadow_wnd = max(ca->shadow_wnd, tcp_snd_cwnd(tp));
	ca->queue = CDG_BACKOFF;
	cc_phase(sk, CDG_PHASE_BACKOFF);
	kept = ((u64)tcp_snd_cwnd(tp) * cc_params(sk)->backoff_beta) >> 10;
	if (!cc_enter_cwr(sk, max((u32)kept, 2u)))
		ca->queue = CDG_UNKNOWN;
	return true;
}

CC_PROG(void, cdg_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cdg_start *chosen = cdg_start(sk);
	struct cdg *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (tcp_in_slow_start(tp) && cc_params(sk)->hystart_detect && !chosen)
		cdg_hystart(sk);

	if (after(ack, ca->rtt_seq) && ca->rtt.max) {
		u32 gradient = ca->prior_rtt.max ? cdg_gradient(sk) : 0;

		ca->rtt_seq = tp->snd_nxt;
		ca->prior_rtt = ca->rtt;
		ca->rtt = (struct cdg_extremes){ 0, 0 };
		ca->last_ack_us = 0;
		ca->sample_cnt = 0;
		if (gradient && cdg_back_off(sk, gradient))
			return;
	}

	if (tcp_in_slow_start(tp))
		cc_phase(sk, CDG_PHASE_SLOW_START);
	else if (cc_params(sk)->use_ineff && ca->backoff_cnt > cc_params(sk)->use_ineff)
		cc_phase(sk, CDG_PHASE_COMPETE);
	else
		cc_phase(sk, CDG_PHASE_AVOIDANCE);
	if (!tcp_is_cwnd_limited(sk)) {
		ca->shadow_wnd = min(ca->shadow_wnd, cwnd);
		return;
	}
	if (chosen)
		cc_slow_start_reno(sk, &chosen->start, cc_params(sk)->slow_start, acked);
	else
		tcp_reno_cong_avoid(sk, ack, acked);
	ca->shadow_wnd = max(ca->shadow_wnd, ca->shadow_wnd + (tcp_snd_cwnd(tp) - cwnd));
}

CC_PROG(void, cdg_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct cdg_start *chosen = cdg_start(sk);
	struct cdg *ca = inet_csk_ca(sk);
	u32 rtt_us;

	if (chosen)
		cc_slow_start_take(sk, &chosen->start, &chosen->search, CC_SAVED(sk),
				   cc_params(sk)->slow_start, sample);
	if (sample->rtt_us <= 0)
		return;
	rtt_us = (u32)sample->rtt_us;
	/*
	 * An ACK of one packet after ACKs of several was delayed by the receiver's
	 * timer: it is valid only for the minimum, if at all.
	 */
	if (!tcp_sk(sk)->sacked_out) {
		if (sample->pkts_acked == 1 && ca->delack) {
			ca->rtt.min = min(ca->rtt.min, rtt_us);
			ca->delack--;
			return;
		}
		if (sample->pkts_acked > 1 && ca->delack < CDG_DELAYED_ACKS)
			ca->delack++;
	}
	ca->rtt.min = cdg_lesser(ca->rtt.min, rtt_us);
	ca->rtt.max = max(ca->rtt.max, rtt_us);
}

/* The threshold after a loss or a back-off. */
CC_INLINE u32 cdg_kept_window(struct sock *sk)
{
	struct cdg *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (ca->queue == CDG_BACKOFF)
		return max((u32)(((u64)cwnd * cc_params(sk)->backoff_beta) >> 10), 2u);
	if (ca->queue == CDG_NOT_FULL && cc_params(sk)->use_tolerance)
		return max(cwnd, 2u);
	ca->shadow_wnd = max(min(ca->shadow_wnd >> 1, cwnd), 2u);
	if (cc_params(sk)->use_shadow)
		return max(ca->shadow_wnd, cwnd >> 1);
	return max(cwnd >> 1, 2u);
}

CC_PROG(u32, cdg_ssthresh, struct sock *sk)
{
	struct cdg_start *chosen = cdg_start(sk);
	u32 ssthresh = cdg_kept_window(sk);

	if (!chosen)
		return ssthresh;
	return cc_slow_start_ssthresh(sk, &chosen->start, cc_params(sk)->slow_start, ssthresh);
}

CC_PROG(void, cdg_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cdg *ca = inet_csk_ca(sk);

	if (event == CA_EVENT_CWND_RESTART) {
		cdg_forget(sk);
	} else if (event == CA_EVENT_COMPLETE_CWR) {
		/* a gradient across a reduction would be caused by the reduction */
		ca->queue = CDG_UNKNOWN;
		ca->rtt_seq = tcp_sk(sk)->snd_nxt;
		ca->prior_rtt = ca->rtt;
		ca->rtt = (struct cdg_extremes){ 0, 0 };
	}
}

CC_PROG(u32, cdg_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(cdg) = {
	.init		= CC_CB(cdg_init),
	.ssthresh	= CC_CB(cdg_ssthresh),
	.cong_avoid	= CC_CB(cdg_cong_avoid),
	.undo_cwnd	= CC_CB(cdg_undo_cwnd),
	.cwnd_event	= CC_CB(cdg_cwnd_event),
	.pkts_acked	= CC_CB(cdg_pkts_acked),
	.name		= "cdg",
};

CC_DESCRIBE(cdg,
	.summary = "reduces the window at random when the RTT rises (Hayes and Armitage 2011)",
	CC_HAS_PARAMETERS(cdg),
	CC_HAS_PHASES(cdg)
);
