// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * HighSpeed TCP, RFC 3649, as Linux 6.1 behaves.
 *
 * Reno needs a loss rate of 10^-10 to keep 100,000 packets in flight. HighSpeed adds
 * a(w) packets per round trip instead of one, and a loss reduces the window by the
 * share b(w) instead of half. Both are functions of the window w: a grows from 1 to
 * 73 and b falls from 0.5 to 0.1, so a loss rate of 10^-7 corresponds to a window of
 * 83,000 packets (RFC 3649 section 5). Up to 38 packets, HighSpeed behaves like
 * Reno.
 *
 *   +------------+ cwnd >= ssthresh  +----------+ cwnd > 38  +------------+
 *   | slow start |------------------>| standard |----------->| high speed |
 *   +------------+                   |   a = 1  |<-----------| a = 2 .. 73|
 *         ^                          +----------+ cwnd <= 38 +------------+
 *         |      timeout                 |                         |
 *         +------------------------------+-------------------------+
 *
 * Differs from Reno: a(w) and b(w). As in Linux, congestion avoidance counts ACKs,
 * not acknowledged packets, so delayed ACKs halve the growth; packets left over at
 * the end of slow start are not counted.
 *
 * With `computed`, a(w) and b(w) follow the formulas of RFC 3649 section 5 instead
 * of the steps of its table, and with `halve_first`, the first loss halves the
 * window. ns-2 does both; its window and steps are fractions.
 *
 * Paper: S. Floyd, "HighSpeed TCP for Large Congestion Windows", RFC 3649, 2003.
 */
#include "cc.h"

#define HIGHSPEED_PARAMETERS(P)						\
	P(computed, "bool", 0, 0, 1,						\
	  "compute a(w) and b(w) between the rows of the table, as in ns-2")	\
	P(halve_first, "bool", 0, 0, 1, "the first loss halves the window")	\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(highspeed, HIGHSPEED_PARAMETERS);

#define HIGHSPEED_PHASES(P)						\
	P(HIGHSPEED_SLOW_START, "slow_start")				\
	P(HIGHSPEED_STANDARD, "standard")				\
	P(HIGHSPEED_HIGH_SPEED, "high_speed")

CC_PHASES(highspeed, HIGHSPEED_PHASES);

struct highspeed_row {
	u32 cwnd;	/* maximum window of the row, packets */
	u32 decrease;	/* b(w), 1/256 */
};

/*
 * RFC 3649 appendix B: row n has a(w) = n + 1 and begins above the previous row's
 * window. A test computes the rows by the rule in the appendix.
 */
CC_TABLE struct highspeed_row highspeed_rows[] = {
	{ 38, 128 }, { 118, 112 }, { 221, 104 }, { 347, 98 }, { 495, 93 }, { 663, 89 },
	{ 851, 86 }, { 1058, 83 }, { 1284, 81 }, { 1529, 78 }, { 1793, 76 },
	{ 2076, 74 }, { 2378, 72 }, { 2699, 71 }, { 3039, 69 }, { 3399, 68 },
	{ 3778, 66 }, { 4177, 65 }, { 4596, 64 }, { 5036, 62 }, { 5497, 61 },
	{ 5979, 60 }, { 6483, 59 }, { 7009, 58 }, { 7558, 57 }, { 8130, 56 },
	{ 8726, 55 }, { 9346, 54 }, { 9991, 53 }, { 10661, 52 }, { 11358, 52 },
	{ 12082, 51 }, { 12834, 50 }, { 13614, 49 }, { 14424, 48 }, { 15265, 48 },
	{ 16137, 47 }, { 17042, 46 }, { 17981, 45 }, { 18955, 45 }, { 19965, 44 },
	{ 21013, 43 }, { 22101, 43 }, { 23230, 42 }, { 24402, 41 }, { 25618, 41 },
	{ 26881, 40 }, { 28193, 39 }, { 29557, 39 }, { 30975, 38 }, { 32450, 38 },
	{ 33986, 37 }, { 35586, 36 }, { 37253, 36 }, { 38992, 35 }, { 40808, 35 },
	{ 42707, 34 }, { 44694, 33 }, { 46776, 33 }, { 48961, 32 }, { 51258, 32 },
	{ 53677, 31 }, { 56230, 30 }, { 58932, 30 }, { 61799, 29 }, { 64851, 28 },
	{ 68113, 28 }, { 71617, 27 }, { 75401, 26 }, { 79517, 26 }, { 84035, 25 },
	{ 89053, 24 }, { 94717, 23 },
};

#define HIGHSPEED_LAST_ROW ((u32)CC_COUNT(highspeed_rows) - 1)

struct highspeed_point {
	u32 cwnd;	/* packets */
	u32 increase;	/* a(cwnd), 1/1024 packet */
	u32 decrease;	/* b(cwnd), 1/1024 */
};

/*
 * RFC 3649 section 5: b(w) falls linearly in log w from 0.5 to 0.1, and log p(w)
 * from log 1.5/38^2 to log 10^-7; a(w) = w^2 p(w) 2 b(w) / (2 - b(w)). The points
 * are equidistant in log w; linear interpolation between them is accurate to 0.8 %.
 */
CC_TABLE struct highspeed_point highspeed_points[] = {
	{ 38, 1024, 512 }, { 52, 1258, 495 }, { 72, 1557, 478 }, { 99, 1914, 461 },
	{ 137, 2362, 444 }, { 189, 2903, 427 }, { 260, 3557, 410 }, { 358, 4354, 393 },
	{ 493, 5320, 375 }, { 679, 6489, 358 }, { 936, 7902, 341 }, { 1289, 9593, 324 },
	{ 1776, 11618, 307 }, { 2447, 14029, 290 }, { 3371, 16881, 273 },
	{ 4643, 20234, 256 }, { 6397, 24152, 239 }, { 8813, 28682, 222 },
	{ 12141, 33863, 205 }, { 16726, 39706, 188 }, { 23042, 46176, 171 },
	{ 31744, 53167, 154 }, { 43732, 60467, 137 }, { 60248, 67700, 119 },
	{ 83000, 74256, 102 },
};

#define HIGHSPEED_UNIT_SHIFT 10

struct highspeed {
	u32 row;	/* row of the table */
	u32 has_reduced;	/* a loss has reduced the window, bool */
	u64 credit;	/* growth not yet applied to the window, 1/1024 packet times cwnd */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct highspeed);
CC_STATE(struct cc_search);

/* The row, at most the last one; the limit proves to the verifier that it is in the table. */
CC_INLINE u32 highspeed_row(const struct sock *sk)
{
	const struct highspeed *ca = inet_csk_ca(sk);

	return min(ca->row, HIGHSPEED_LAST_ROW);
}

/* The maximum window of a row; of the last row if there is no such row. */
CC_INLINE u32 highspeed_row_cwnd(u32 row)
{
	cc_hide(row);
	return highspeed_rows[min(row, HIGHSPEED_LAST_ROW)].cwnd;
}

CC_PROG(void, highspeed_init, struct sock *sk)
{
	struct highspeed *ca = inet_csk_ca(sk);

	ca->row = 0;
	ca->has_reduced = 0;
	ca->credit = 0;
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* Interpolates the points of section 5 at this window; above it, the last point. */
CC_INLINE struct highspeed_point highspeed_at(u32 cwnd)
{
	struct highspeed_point low = highspeed_points[0];
	u32 n;

	if (cwnd <= low.cwnd)
		return low;
	for (n = 1; n < CC_COUNT(highspeed_points); n++) {
		struct highspeed_point high = highspeed_points[n];
		u32 span = max(high.cwnd - low.cwnd, 1u);
		u32 above = cwnd - low.cwnd;

		if (cwnd <= high.cwnd) {
			u64 more = (u64)(high.increase - low.increase) * above / span;
			u64 less = (u64)(low.decrease - high.decrease) * above / span;

			low.increase += (u32)more;
			low.decrease -= (u32)less;
			return low;
		}
		low = high;
	}
	return low;
}

/* Handles one ACK in congestion avoidance: adds a(w) / w packets. */
CC_INLINE void highspeed_grow(struct tcp_sock *tp, struct highspeed *ca, u32 cwnd)
{
	u64 packet = (u64)max(cwnd, 1u) << HIGHSPEED_UNIT_SHIFT;
	u64 credit = ca->credit + highspeed_at(cwnd).increase;

	if (credit >= packet) {
		credit -= packet;
		tcp_snd_cwnd_set(tp, cwnd + 1);
	}
	ca->credit = credit;
}

CC_PROG(void, highspeed_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct highspeed *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 row;

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		cc_phase(sk, HIGHSPEED_SLOW_START);
		cc_slow_start_grow(sk, &ca->start, cc_params(sk)->slow_start, acked);
		return;
	}

	row = highspeed_row(sk);
	while (row < HIGHSPEED_LAST_ROW && cwnd > highspeed_row_cwnd(row))
		row++;
	while (row > 0 && cwnd <= highspeed_row_cwnd(row - 1))
		row--;
	ca->row = row;
	cc_phase(sk, row ? HIGHSPEED_HIGH_SPEED : HIGHSPEED_STANDARD);

	if (cwnd >= tp->snd_cwnd_clamp)
		return;
	if (cc_params(sk)->computed) {
		highspeed_grow(tp, ca, cwnd);
	} else {
		u32 count = tp->snd_cwnd_cnt + row + 1;

		if (count >= cwnd) {
			count -= cwnd;
			tcp_snd_cwnd_set(tp, cwnd + 1);
		}
		tp->snd_cwnd_cnt = count;
	}
}

CC_PROG(u32, highspeed_ssthresh, struct sock *sk)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 given_up = (u32)(((u64)cwnd * highspeed_rows[highspeed_row(sk)].decrease) >> 8);
	struct highspeed *ca = inet_csk_ca(sk);

	if (cc_params(sk)->computed)
		given_up = (u32)(((u64)cwnd * highspeed_at(cwnd).decrease) >> HIGHSPEED_UNIT_SHIFT);
	if (cc_params(sk)->halve_first && !ca->has_reduced)
		given_up = cwnd >> 1;
	ca->has_reduced = 1;
	ca->credit = 0;
	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      max(cwnd - given_up, 2u));
}

CC_PROG(u32, highspeed_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_PROG(void, highspeed_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct highspeed *ca = inet_csk_ca(sk);

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_OPS(highspeed) = {
	.init		= CC_CB(highspeed_init),
	.ssthresh	= CC_CB(highspeed_ssthresh),
	.cong_avoid	= CC_CB(highspeed_cong_avoid),
	.undo_cwnd	= CC_CB(highspeed_undo_cwnd),
	.pkts_acked	= CC_CB(highspeed_pkts_acked),
	.name		= "highspeed",
};

CC_DESCRIBE(highspeed,
	.summary = "the larger the window, the larger its steps and the smaller its cuts "
		   "(RFC 3649)",
	.aliases = "hstcp",
	CC_HAS_PARAMETERS(highspeed),
	CC_HAS_PHASES(highspeed)
);
