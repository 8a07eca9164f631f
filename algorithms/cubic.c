// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * CUBIC with HyStart, as Linux 6.1 behaves.
 *
 * CUBIC records the window at the last loss, W_max. The window then follows a cubic
 * curve of the time t since this loss, independent of the RTT:
 *
 *	W(t) = C (t - K)^3 + W_max,	K = cbrt((W_max - cwnd) / C)
 *
 * The curve rises fast, flattens around W_max (concave), and beyond W_max rises
 * slowly first and then faster (convex). Where the window of Reno would be above the
 * curve, CUBIC grows like Reno instead (friendly). A loss reduces the window to beta
 * = 717/1024 of its size; a flow with a loss below its last W_max records a slightly
 * smaller W_max (fast convergence). HyStart ends the first slow start before the
 * queue overflows: when the ACKs of a round trip arrive in one train that is as long
 * as the RTT of the path, or when the RTT has grown by an eighth.
 *
 *   +------------+ HyStart, cwnd >= ssthresh  +----------+ t >= K  +--------+
 *   | slow start |--------------------------->| concave  |-------->| convex |
 *   +------------+                            +----------+         +--------+
 *         ^                                     |  ^  ^ loss: new W_max |
 *         |                                     v  |  +-----------------+
 *         |  timeout (all is forgotten)       +----------+
 *         +-----------------------------------| friendly | Reno's line is higher
 *                                             +----------+ (from convex as well)
 *
 * Differs from Reno: growth depends on time instead of round trips; a loss reduces
 * the window to 0.7 instead of half; slow start ends early.
 *
 * Papers: S. Ha, I. Rhee, L. Xu, "CUBIC: A New TCP-Friendly High-Speed TCP Variant",
 * ACM SIGOPS OSR 42(5), 2008; S. Ha, I. Rhee, "Taming the Elephants: New TCP Slow
 * Start", Computer Networks 55(9), 2011; RFC 8312; RFC 9438. Where RFC 9438 differs
 * from RFC 8312, Linux follows RFC 8312: the friendly window is Reno's from the
 * start of the epoch, with the slope 3 (1 - beta) / (1 + beta), never 1, and K is
 * computed from the current window.
 *
 * Parameters for older releases: in Linux 2.6.24, a loss reduced the window to 0.8
 * of its size (`beta` 819), and slow start had no HyStart (`hystart` 0); the first
 * versions of CUBIC limited the growth per round trip, as BIC does (`max_increment`
 * 16).
 */
#include "cc.h"

/* Time t and K are in 1/1024 s, so that divisions are shifts. */
#define CUBIC_TIME_SHIFT	10

/* beta and C are in 1/1024; C = bic_scale * 10 / 1024 packets/s^3. */
#define CUBIC_SHARE_SHIFT	10
#define CUBIC_SHARE		(1u << CUBIC_SHARE_SHIFT)

/* C * t^3 contains the scale of C once and that of t three times. */
#define CUBIC_CUBE_SHIFT	(CUBIC_SHARE_SHIFT + 3 * CUBIC_TIME_SHIFT)
#define CUBIC_HALF_SHIFT	(CUBIC_CUBE_SHIFT / 2)
#define CUBIC_HALF_MASK		((1ull << CUBIC_HALF_SHIFT) - 1)

/* t^3 fits into 64 bits up to 2,048 s, when the curve has risen by 3 * 10^9 packets. */
#define CUBIC_LONGEST_TIME	(1ull << 21)

/* Maximum window, for all larger ones; the sum of two still fits. */
#define CUBIC_WINDOW_MAX	0x7fffffffull

/* The window may grow by at most half the acknowledged packets. */
#define CUBIC_FASTEST_CNT	2u

/* Before the first loss, W_max is unknown: at least one packet per 20 (5 % per RTT). */
#define CUBIC_PROBING_CNT	20u

#define CUBIC_PARAMETERS(P)							\
	P(fast_convergence, "bool", 1, 0, 1,					\
	  "after a loss below W_max, remember less than the window as W_max")	\
	P(beta, "1/1024", 717, 1, 1023,						\
	  "window after a loss, relative to the window before it")		\
	P(initial_ssthresh, "packets", 0, 0, 0x7fffffff,			\
	  "first slow start threshold without HyStart, 0 = infinite")		\
	P(bic_scale, "10/1024 packets/s^3", 41, 1, 1024,			\
	  "C, the steepness of the cubic curve")				\
	P(tcp_friendliness, "bool", 1, 0, 1, "grow at least as fast as Reno")	\
	P(max_increment, "packets", 0, 0, 0x7fffffff,				\
	  "maximum growth of the window in a round trip, 0 = unlimited")	\
	P(hystart, "bool", 1, 0, 1,						\
	  "end the first slow start early by HyStart")				\
	P(hystart_detect, "", 3, 0, 3,						\
	  "signal that ends slow start: 1 = ACK trains, 2 = delay, 3 = both")	\
	P(hystart_low_window, "packets", 16, 0, 0x7fffffff,			\
	  "minimum window at which HyStart can end slow start")			\
	P(hystart_ack_delta_us, "us", 2000, 0, 1000000,				\
	  "maximum gap between the ACKs of a train")				\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_HYSTART)

CC_PARAMETERS(cubic, CUBIC_PARAMETERS);

#define CUBIC_PHASES(P)								\
	P(CUBIC_SLOW_START, "slow_start")					\
	P(CUBIC_FRIENDLY, "friendly")						\
	P(CUBIC_CONCAVE, "concave")						\
	P(CUBIC_CONVEX, "convex")

CC_PHASES(cubic, CUBIC_PHASES);

/* State that a timeout resets. */
struct cubic_epoch {
	u32 cnt;		/* acknowledged packets for one more packet */
	u32 last_max_cwnd;	/* window before the last loss, packets */
	u32 last_cwnd;		/* window at the last update, packets */
	u32 last_time;		/* time of the last update, jiffies */
	u32 origin;		/* W_max, the window at t = K, packets */
	u32 k;			/* K, 1/1024 s */
	u32 delay_min_us;	/* lowest RTT seen, 0 = none */
	u32 start;		/* start of the epoch, jiffies, 0 = none yet */
	u32 ack_cnt;		/* acknowledged packets not yet in reno_cwnd */
	u32 reno_cwnd;		/* Reno's window in this epoch, packets */
};

struct cubic {
	struct cubic_epoch epoch;
	struct cc_slow_start start;
	bool found;		/* HyStart has ended slow start */
};

CC_PRIV_CHECK(struct cubic);
CC_STATE(struct cc_search);

/*
 * First guess of the cube root for the leading digits 8..63 (base 8, two digits),
 * in 1/64. Each guess is the only one that reproduces all values of K observed in a
 * running Linux 6.1; the errors are zero on average.
 */
CC_TABLE u16 cubic_root_guess[64] = {
	[8] = 133, 139, 144, 148, 153, 157, 161, 166,
	167, 171, 174, 178, 180, 183, 186, 189,
	191, 195, 197, 200, 202, 204, 207, 209,
	210, 212, 214, 216, 219, 221, 223, 225,
	227, 229, 231, 232, 234, 235, 237, 239,
	241, 242, 244, 246, 247, 249, 250, 252,
	254, 255, 256, 258, 260, 261, 262, 264,
};

/*
 * Cube root to 0.2 %: a guess by the two leading octal digits, then a step of
 * Newton's method, with 341/1024 for a third. The exact root (cc_cbrt64) is not
 * used, because this one has Linux's error, which shifts K by some milliseconds and
 * would be visible in a time series.
 */
CC_INLINE u32 cubic_root(u64 a)
{
	u32 digits, leading, x;

	if (a < 64)
		return cc_cbrt64(a);
	digits = (fls64(a) - 1) / 3 - 1;
	leading = (u32)(a >> (3 * digits)) & 63;
	x = ((u32)cubic_root_guess[leading] << digits) >> 6;
	x = 2 * x + (u32)div64_u64(a, (u64)x * (x - 1));
	return (u32)(((u64)x * 341) >> 10);
}

CC_INLINE void cubic_forget(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	ca->epoch = (struct cubic_epoch){ .cnt = 0 };
	ca->found = false;
}

/* `hystart` 0 disables HyStart. */
CC_INLINE u32 cubic_slow_start(const struct sock *sk)
{
	u32 method = cc_params(sk)->slow_start;

	return method == CC_SLOW_START_HYSTART && !cc_params(sk)->hystart ?
		CC_SLOW_START_PLAIN : method;
}

CC_PROG(void, cubic_init, struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);

	cubic_forget(sk);
	if (cubic_slow_start(sk))
		cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cubic_slow_start(sk));
	else if (cc_params(sk)->initial_ssthresh)
		tcp_sk(sk)->snd_ssthresh = cc_params(sk)->initial_ssthresh;
}

CC_PROG(void, cubic_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	struct cubic *ca = inet_csk_ca(sk);
	u32 now, idle;

	if (event != CA_EVENT_TX_START)
		return;
	/* The curve does not advance while nothing is sent. */
	now = cc_jiffies32(sk);
	idle = now - tcp_sk(sk)->lsndtime;
	if (ca->epoch.start && (s32)idle > 0) {
		ca->epoch.start += idle;
		if (after(ca->epoch.start, now))
			ca->epoch.start = now;
	}
}

/* Starts a new curve from here, and Reno's line. */
CC_INLINE void cubic_start_epoch(struct sock *sk, u32 cwnd, u32 acked)
{
	struct cubic *ca = inet_csk_ca(sk);
	struct cubic_epoch *epoch = &ca->epoch;

	epoch->start = cc_jiffies32(sk);
	epoch->ack_cnt = acked;
	epoch->reno_cwnd = cwnd;
	if (epoch->last_max_cwnd <= cwnd) {
		epoch->k = 0;
		epoch->origin = cwnd;
	} else {
		/* 1/C in the scale of K^3; fits up to 165 million packets with C = 0.01 */
		u64 inverse = (1ull << CUBIC_CUBE_SHIFT) / max(cc_params(sk)->bic_scale * 10, 1u);

		epoch->k = cubic_root(inverse * (epoch->last_max_cwnd - cwnd));
		epoch->origin = epoch->last_max_cwnd;
	}
}

/* The window on the curve one RTT from now. */
CC_INLINE u32 cubic_target(struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);
	const struct cubic_epoch *epoch = &ca->epoch;
	u64 slope = (u64)cc_params(sk)->bic_scale * 10;
	u64 t, distance, cube, delta;
	bool is_concave;

	t = cc_jiffies32(sk) - epoch->start;
	t += usecs_to_jiffies(epoch->delay_min_us);
	t = (t << CUBIC_TIME_SHIFT) / HZ;
	is_concave = t < epoch->k;
	distance = is_concave ? epoch->k - t : t - epoch->k;
	distance = min(distance, CUBIC_LONGEST_TIME);
	cube = distance * distance * distance;
	/*
	 * (cube * slope) >> CUBIC_CUBE_SHIFT in two halves, because the product may
	 * have 77 bits
	 */
	delta = ((cube >> CUBIC_HALF_SHIFT) * slope +
		 (((cube & CUBIC_HALF_MASK) * slope) >> CUBIC_HALF_SHIFT)) >> CUBIC_HALF_SHIFT;
	delta = min(delta, CUBIC_WINDOW_MAX);
	cc_phase(sk, is_concave ? CUBIC_CONCAVE : CUBIC_CONVEX);
	if (!is_concave)
		return epoch->origin + (u32)delta;
	return epoch->origin > delta ? epoch->origin - (u32)delta : 0;
}

/*
 * With the decrease factor beta, Reno must grow by 3 (1 - beta) / (1 + beta)
 * packets per round trip to have the mean window of Reno (RFC 8312 section 4.2):
 * one packet for every cwnd * scale / 8 acknowledged, with scale = 8 (1 + beta) /
 * (3 (1 - beta)).
 */
CC_INLINE void cubic_follow_reno(struct sock *sk, u32 cwnd)
{
	struct cubic *ca = inet_csk_ca(sk);
	struct cubic_epoch *epoch = &ca->epoch;
	u32 beta = cc_params(sk)->beta;
	u32 scale = 8 * (CUBIC_SHARE + beta) / 3 / max(CUBIC_SHARE - beta, 1u);
	u32 step = (u32)clamp(((u64)cwnd * scale) >> 3, 1ull, CUBIC_WINDOW_MAX);

	if (epoch->ack_cnt > step) {
		u32 packets = (epoch->ack_cnt - 1) / step;

		epoch->ack_cnt -= packets * step;
		epoch->reno_cwnd += packets;
	}
	if (epoch->reno_cwnd > cwnd) {
		u32 cnt = cwnd / (epoch->reno_cwnd - cwnd);

		if (epoch->cnt > cnt) {
			epoch->cnt = cnt;
			cc_phase(sk, CUBIC_FRIENDLY);
		}
	}
}

/* Computes cnt, the number of packets to acknowledge per additional packet. */
CC_INLINE void cubic_update(struct sock *sk, u32 cwnd, u32 acked)
{
	struct cubic *ca = inet_csk_ca(sk);
	struct cubic_epoch *epoch = &ca->epoch;
	u32 now = cc_jiffies32(sk);

	epoch->ack_cnt += acked;
	/* No update for the same window within 1/32 s. */
	if (epoch->last_cwnd == cwnd && (s32)(now - epoch->last_time) <= (s32)(HZ / 32))
		return;

	/* The curve is a function of time, so it is evaluated only once per tick. */
	if (!epoch->start || now != epoch->last_time) {
		u32 target;

		epoch->last_cwnd = cwnd;
		epoch->last_time = now;
		if (!epoch->start)
			cubic_start_epoch(sk, cwnd, acked);
		target = cubic_target(sk);
		if (target > cwnd)
			epoch->cnt = cwnd / (target - cwnd);
		else
			epoch->cnt = (u32)min((u64)cwnd * 100, CUBIC_WINDOW_MAX); /* nearly flat */
		if (!epoch->last_max_cwnd && epoch->cnt > CUBIC_PROBING_CNT)
			epoch->cnt = CUBIC_PROBING_CNT;
	}
	if (cc_params(sk)->tcp_friendliness)
		cubic_follow_reno(sk, cwnd);
	if (cc_params(sk)->max_increment)
		epoch->cnt = max(epoch->cnt, cwnd / cc_params(sk)->max_increment);
	epoch->cnt = max(epoch->cnt, CUBIC_FASTEST_CNT);
}

CC_PROG(void, cubic_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, CUBIC_SLOW_START);
		acked = cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		if (!acked)
			return;
	}
	cubic_update(sk, tcp_snd_cwnd(tp), acked);
	tcp_cong_avoid_ai(tp, ca->epoch.cnt, acked);
}

CC_PROG(u32, cubic_ssthresh, struct sock *sk)
{
	struct cubic *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 beta = cc_params(sk)->beta;

	ca->epoch.start = 0;
	/* RFC 9438 section 4.7: a shrinking share indicates new flows */
	if (cwnd < ca->epoch.last_max_cwnd && cc_params(sk)->fast_convergence)
		ca->epoch.last_max_cwnd =
			(u32)(((u64)cwnd * (CUBIC_SHARE + beta)) >> (CUBIC_SHARE_SHIFT + 1));
	else
		ca->epoch.last_max_cwnd = cwnd;
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max((u32)(((u64)cwnd * beta) >> CUBIC_SHARE_SHIFT), 2u));
}

CC_PROG(u32, cubic_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_PROG(void, cubic_set_state, struct sock *sk, u8 new_state)
{
	struct cubic *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	cubic_forget(sk);
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

CC_PROG(void, cubic_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct cubic *ca = inet_csk_ca(sk);
	u32 method = cc_params(sk)->slow_start, rtt_us;

	if (method == CC_SLOW_START_RESUME)
		cc_resume_take(sk, &ca->start.resume, CC_SAVED(sk), sample);
	if (sample->rtt_us < 0)
		return;
	/* RTTs in the first second of an epoch are those of the recovery. */
	if (ca->epoch.start && (s32)(cc_jiffies32(sk) - ca->epoch.start) < (s32)HZ)
		return;
	rtt_us = max((u32)sample->rtt_us, 1u);
	if (!ca->epoch.delay_min_us || ca->epoch.delay_min_us > rtt_us)
		ca->epoch.delay_min_us = rtt_us;
	if (method != CC_SLOW_START_HYSTART) {
		if (method != CC_SLOW_START_RESUME)
			cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk), method,
					   sample);
	} else if (cc_params(sk)->hystart && !ca->found && tcp_in_slow_start(tp) &&
		   cc_hystart_take(sk, &ca->start.hystart, rtt_us, ca->epoch.delay_min_us,
				   cc_params(sk)->hystart_detect,
				   cc_params(sk)->hystart_low_window,
				   cc_params(sk)->hystart_ack_delta_us)) {
		ca->found = true;
		cc_slow_start_end(sk);
	}
}

CC_OPS(cubic) = {
	.init		= CC_CB(cubic_init),
	.ssthresh	= CC_CB(cubic_ssthresh),
	.cong_avoid	= CC_CB(cubic_cong_avoid),
	.set_state	= CC_CB(cubic_set_state),
	.undo_cwnd	= CC_CB(cubic_undo_cwnd),
	.cwnd_event	= CC_CB(cubic_cwnd_event),
	.pkts_acked	= CC_CB(cubic_pkts_acked),
	.name		= "cubic",
};

CC_DESCRIBE(cubic,
	.summary = "window on a cubic curve of the time since the last loss, HyStart (RFC 9438)",
	CC_HAS_PARAMETERS(cubic),
	CC_HAS_PHASES(cubic)
);
