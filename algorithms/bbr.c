// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * BBR, version 1, as Linux 6.1 behaves.
 *
 * BBR does not react to losses but models the path: the highest delivery rate of the
 * last ten round trips is the bandwidth of the bottleneck, and the lowest RTT of the
 * last ten seconds is the RTT of the path without a queue. BBR paces its packets at
 * this bandwidth and limits the data in flight to twice the product of both (BDP).
 * The two values cannot be measured at the same time, because the bandwidth is
 * visible only when the queue fills, and the RTT only when the queue is empty. BBR
 * therefore measures them in turn:
 *
 *	+---------+  bandwidth grew by less than   +-------+
 *	| startup |  25 % in 3 round trips running | drain |
 *	| 2.89 bw |------------------------------->|bw/2.89|
 *	+---------+                                +-------+
 *	     ^                                         | in flight <= BDP
 *	     | the pipe was never full                 v
 *	     |                              +--------------------+
 *	+-----------+  200 ms and a round   | probe bandwidth    |
 *	| probe RTT |---------------------->| 1.25 bw, 0.75 bw,  |
 *	| 4 packets |<----------------------| 6 times 1 bw       |
 *	+-----------+  from any state: no   +--------------------+
 *	               lower RTT for 10 s     a phase lasts about the lowest RTT; it
 *	                                      begins anywhere but at 0.75, at random
 *
 * Differs from Reno in everything. A loss reduces the window for at most one round
 * trip (packet conservation); then the window returns to its previous size. Losses
 * of at least a fifth of the packets at an even rate are attributed to a policer,
 * whose rate is then used for 48 round trips. The window contains a reserve for ACKs
 * that arrive in bunches: the maximum, over 5 to 10 round trips, of the data
 * acknowledged in excess of the bandwidth.
 *
 * Papers: N. Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue
 * 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00 and, for ACKs in
 * bunches, -01; for policers, N. Cardwell et al., "BBR Congestion Control", slides,
 * IETF 97, 2016. Names follow the draft if it has them. BBR reads the time only at
 * an ACK, and it needs pacing, by the fq qdisc or by TCP's own timer.
 */
#include "cc.h"

/* Bandwidth is in 2^-24 packets per microsecond. */
#define BBR_BW_SHIFT		24
#define BBR_BW_ONE		(1ull << BBR_BW_SHIFT)

/* Gains are in 1/256. */
#define BBR_GAIN_SHIFT		8
#define BBR_GAIN_ONE		(1u << BBR_GAIN_SHIFT)

/*
 * Paces 1 % below the bandwidth, so that an estimate slightly too high does not
 * build a queue.
 */
#define BBR_PACING_PERCENT	99u

#define BBR_INIT_CWND		10u	/* used without an RTT, packets */
#define BBR_MIN_CWND		4u	/* two ACKs of two packets keep the ACK clock */

/* Below this rate a burst is a single packet, bytes/s. */
#define BBR_MIN_BURST_RATE	(1200000u >> 3)
#define BBR_BURST_MAX_BYTES	65215u	/* an IP packet of 64 KiB minus headers */
#define BBR_BURST_MAX_PKTS	127u

/* Startup ends after three rounds with a bandwidth below 1.25 times the last increased one. */
#define BBR_FULL_BW_GAIN	(BBR_GAIN_ONE * 5 / 4)
#define BBR_FULL_BW_ROUNDS	3u

/* ProbeBW's cycle; it may begin in any phase but the second. */
#define BBR_CYCLE_PHASES	8u
#define BBR_PROBE_UP_GAIN	(BBR_GAIN_ONE * 5 / 4)
#define BBR_PROBE_DOWN_GAIN	(BBR_GAIN_ONE * 3 / 4)

/* Policer: an interval of 4 to 16 rounds with a loss of 50/256, twice at the same rate. */
#define BBR_LT_MIN_ROUNDS	4u
#define BBR_LT_MAX_ROUNDS	(4 * BBR_LT_MIN_ROUNDS)
#define BBR_LT_LOSS		50u
#define BBR_LT_RATIO_SHIFT	3	/* within an eighth ... */
#define BBR_LT_DIFF_BYTES	500u	/* ... or 4 kbit/s */
#define BBR_LT_KEPT_ROUNDS	48u

/* ACK aggregation: excess over the bandwidth, in windows of 5 rounds. */
#define BBR_EXTRA_ROUNDS	5u
#define BBR_EXTRA_MAX_US	100000u	/* limit of the excess, as a duration at the bandwidth */
#define BBR_EPOCH_MAX_PKTS	(1u << 20)

#define BBR_PARAMETERS(P)							\
	P(high_gain, "1/256", 739, 257, 4096,					\
	  "pacing and window gain in Startup, 2 / ln 2")			\
	P(drain_gain, "1/256", 88, 1, 256, "pacing gain in Drain")		\
	P(cwnd_gain, "1/256", 512, 256, 4096,					\
	  "window divided by the BDP in ProbeBW")				\
	P(bw_rtts, "round trips", 10, 2, 1000,					\
	  "duration of the window of the maximum bandwidth")			\
	P(min_rtt_win_sec, "s", 10, 1, 3600,					\
	  "duration of the window of the minimum RTT")				\
	P(probe_rtt_mode_ms, "ms", 200, 1, 10000,				\
	  "minimum duration of ProbeRTT")					\
	P(extra_acked_gain, "1/256", 256, 0, 1024,				\
	  "gain of the extra window for ACKs that arrive in bunches, 0 = none")

CC_PARAMETERS(bbr, BBR_PARAMETERS);

#define BBR_PHASES(P)						\
	P(BBR_STARTUP, "startup")				\
	P(BBR_DRAIN, "drain")					\
	P(BBR_PROBE_BW, "probe_bw")				\
	P(BBR_PROBE_RTT, "probe_rtt")

CC_PHASES(bbr, BBR_PHASES);

struct bbr {
	struct minmax max_bw;	/* maximum bandwidth of the last rounds, 1/2^24 packets/us */
	u32 min_rtt_us;
	u32 min_rtt_stamp;	/* when min_rtt_us was measured, jiffies */
	u32 probe_rtt_done_stamp;	/* earliest end of ProbeRTT, jiffies, 0 = not set */
	u32 round_count;
	u32 next_round_delivered;	/* tp->delivered that ends the round, packets */
	u32 cycle_us;		/* start of this phase of ProbeBW */
	u32 prior_cwnd;		/* restored after recovery or ProbeRTT, packets */
	u32 full_bw;		/* bandwidth when it last grew by a quarter */
	u32 lt_bw;		/* rate of a policer, or of its first interval; 0 = none */
	u32 lt_delivered;	/* tp->delivered at the start of the interval, packets */
	u32 lt_lost;		/* tp->lost at the start of the interval, packets */
	u32 lt_ms;		/* start of the interval */
	u32 epoch_us;		/* start of the epoch of ACK aggregation */
	u32 epoch_acked;	/* acknowledged in the epoch, packets */
	u16 extra_acked;	/* maximum excess in this window of rounds, packets */
	u16 extra_acked_before;	/* maximum excess in the previous window, packets */
	u16 pacing_gain;	/* 1/256 */
	u16 cwnd_gain;		/* 1/256 */
	u8 mode;		/* BBR_STARTUP .. BBR_PROBE_RTT */
	u8 prior_ca_state;	/* TCP_CA_* at the last ACK */
	u8 cycle_phase;		/* phase of ProbeBW */
	u8 full_bw_count;	/* rounds without growth of the bandwidth by a quarter */
	u8 lt_rounds;		/* rounds of the interval, or since the policer's rate is used */
	u8 extra_rounds;	/* rounds of this window */
	bool is_full_pipe;	/* Startup has found the bandwidth */
	bool is_round_start;	/* this ACK ends a round */
	bool is_conserving;	/* first round of a recovery: packet conservation */
	bool is_idle_restart;	/* sending restarts after the application paused */
	bool is_probe_rtt_round_done;
	bool is_lt_sampling;
	bool is_lt_used;
	bool has_rtt;		/* the pacing rate is based on an RTT */
};

CC_PRIV_CHECK(struct bbr);

CC_INLINE u32 bbr_us(u64 stamp_us)
{
	return (u32)stamp_us;
}

/* The bandwidth in use. */
CC_INLINE u32 bbr_bw(const struct bbr *ca)
{
	return ca->is_lt_used ? ca->lt_bw : minmax_get(&ca->max_bw);
}

/* ---- pacing */

/* Bytes per second, minus the margin; fits up to 2.9 Tbit/s. */
CC_INLINE u64 bbr_bytes_per_sec(const struct sock *sk, u64 bw, u32 gain)
{
	u64 rate = bw * tcp_sk(sk)->mss_cache;

	rate = (rate * gain) >> BBR_GAIN_SHIFT;
	return (rate * (USEC_PER_SEC / 100 * BBR_PACING_PERCENT)) >> BBR_BW_SHIFT;
}

CC_INLINE u64 bbr_pacing_rate(const struct sock *sk, u64 bw, u32 gain)
{
	return min(bbr_bytes_per_sec(sk, bw, gain), (u64)sk->sk_max_pacing_rate);
}

/* From the window and the RTT of the handshake, or 1 ms without an RTT. */
CC_INLINE void bbr_init_pacing_rate(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);
	u32 rtt_us = USEC_PER_MSEC;

	if (tp->srtt_us) {
		rtt_us = max(tp->srtt_us >> 3, 1u);
		ca->has_rtt = true;
	}
	sk->sk_pacing_rate = bbr_pacing_rate(sk, tcp_snd_cwnd(tp) * BBR_BW_ONE / rtt_us,
					     cc_params(sk)->high_gain);
}

CC_INLINE void bbr_set_pacing_rate(struct sock *sk, u32 bw, u32 gain)
{
	struct bbr *ca = inet_csk_ca(sk);
	u64 rate = bbr_pacing_rate(sk, bw, gain);

	if (!ca->has_rtt && tcp_sk(sk)->srtt_us)
		bbr_init_pacing_rate(sk);
	/* An application that starts slowly must not slow down Startup. */
	if (ca->is_full_pipe || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

CC_INLINE u32 bbr_least_burst(const struct sock *sk)
{
	return sk->sk_pacing_rate < BBR_MIN_BURST_RATE ? 1 : 2;
}

/* Packets sent at once: those that the rate sends in about a millisecond. */
CC_INLINE u32 bbr_burst(const struct sock *sk)
{
	u64 bytes = min((u64)sk->sk_pacing_rate >> (sk->sk_pacing_shift & 63),
			(u64)BBR_BURST_MAX_BYTES);
	u32 packets = div_u32((u32)bytes, tcp_sk(sk)->mss_cache);

	return min(max(packets, bbr_least_burst(sk)), BBR_BURST_MAX_PKTS);
}

/* ---- window */

/* Packets in flight at this bandwidth and the lowest RTT, times a gain. */
CC_INLINE u32 bbr_bdp(const struct sock *sk, u32 bw, u32 gain)
{
	const struct bbr *ca = inet_csk_ca(sk);
	u64 product = (u64)bw * ca->min_rtt_us;

	if (ca->min_rtt_us == ~0u)
		return BBR_INIT_CWND;
	return (u32)((((product * gain) >> BBR_GAIN_SHIFT) + BBR_BW_ONE - 1) >> BBR_BW_SHIFT);
}

/* Adds room for bursts at both ends; even, because ACKs are for two packets. */
CC_INLINE u32 bbr_with_bursts(const struct sock *sk, u32 cwnd)
{
	const struct bbr *ca = inet_csk_ca(sk);

	cwnd += 3 * bbr_burst(sk);
	cwnd = (cwnd + 1) & ~1u;
	/* otherwise, 1.25 times a small BDP may not exceed it */
	if (ca->mode == BBR_PROBE_BW && ca->cycle_phase == 0)
		cwnd += 2;
	return cwnd;
}

CC_INLINE u32 bbr_inflight(const struct sock *sk, u32 bw, u32 gain)
{
	return bbr_with_bursts(sk, bbr_bdp(sk, bw, gain));
}

/*
 * Of the data in flight, the amount that will still be in flight when the next
 * segment can leave.
 */
CC_INLINE u32 bbr_inflight_at_departure(const struct sock *sk, u32 in_flight)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr *ca = inet_csk_ca(sk);
	u64 now_ns = tp->tcp_clock_cache;
	u64 wait_us = (max((u64)tp->tcp_wstamp_ns, now_ns) - now_ns) / 1000;
	u32 delivered = (u32)(((u64)bbr_bw(ca) * wait_us) >> BBR_BW_SHIFT);

	if (ca->pacing_gain > BBR_GAIN_ONE)
		in_flight += bbr_burst(sk);
	return in_flight > delivered ? in_flight - delivered : 0;
}

/* Room for the excess of ACK aggregation. */
CC_INLINE u32 bbr_ack_aggregation(const struct sock *sk)
{
	const struct bbr *ca = inet_csk_ca(sk);
	u32 gain = cc_params(sk)->extra_acked_gain;
	u32 extra = max((u32)ca->extra_acked, (u32)ca->extra_acked_before);

	if (!gain || !ca->is_full_pipe)
		return 0;
	return min((gain * extra) >> BBR_GAIN_SHIFT,
		   (u32)(((u64)bbr_bw(ca) * BBR_EXTRA_MAX_US) >> BBR_BW_SHIFT));
}

CC_INLINE void bbr_save_cwnd(struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	/* a window that recovery or ProbeRTT has reduced must not be restored later */
	if (ca->prior_ca_state < TCP_CA_Recovery && ca->mode != BBR_PROBE_RTT)
		ca->prior_cwnd = cwnd;
	else
		ca->prior_cwnd = max(ca->prior_cwnd, cwnd);
}

/*
 * The window according to recovery: a round of packet conservation, then slow start
 * back to the model's window; at the end, the previous window. Returns whether packet
 * conservation determines the window.
 */
CC_INLINE bool bbr_recover(struct sock *sk, const struct rate_sample *rs, u32 acked, u32 *window)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);
	u8 prior_state = ca->prior_ca_state;
	u8 state = (u8)CC_GET(inet_csk(sk), icsk_ca_state);
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 conserved = tcp_packets_in_flight(tp) + acked;

	/* lost packets are not in flight, and must not be replaced at once */
	if (rs->losses > 0)
		cwnd = cwnd > (u32)rs->losses ? cwnd - (u32)rs->losses : 1;
	if (state == TCP_CA_Recovery && prior_state != TCP_CA_Recovery) {
		ca->is_conserving = true;
		ca->next_round_delivered = tp->delivered;
		cwnd = conserved;
	} else if (prior_state >= TCP_CA_Recovery && state < TCP_CA_Recovery) {
		cwnd = max(cwnd, ca->prior_cwnd);
		ca->is_conserving = false;
	}
	ca->prior_ca_state = state;
	*window = ca->is_conserving ? max(cwnd, conserved) : cwnd;
	return ca->is_conserving;
}

CC_INLINE void bbr_set_cwnd(struct sock *sk, const struct rate_sample *rs, u32 bw, u32 gain)
{
	struct tcp_sock *tp = tcp_sk(sk);
	const struct bbr *ca = inet_csk_ca(sk);
	u32 acked = rs->acked_sacked;
	u32 cwnd = tcp_snd_cwnd(tp);

	if (acked && !bbr_recover(sk, rs, acked, &cwnd)) {
		u32 target = bbr_with_bursts(sk, bbr_bdp(sk, bw, gain) + bbr_ack_aggregation(sk));

		if (ca->is_full_pipe)
			cwnd = min(cwnd + acked, target);
		else if (cwnd < target || tp->delivered < BBR_INIT_CWND)
			cwnd += acked;
		cwnd = max(cwnd, BBR_MIN_CWND);
	}
	cwnd = min(max(cwnd, 1u), tp->snd_cwnd_clamp);
	if (ca->mode == BBR_PROBE_RTT)
		cwnd = min(cwnd, BBR_MIN_CWND);
	tcp_snd_cwnd_set(tp, cwnd);
}

/* ---- states */

CC_INLINE void bbr_advance_cycle(struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);

	ca->cycle_phase = (u8)(ca->cycle_phase + 1u) & (BBR_CYCLE_PHASES - 1);
	ca->cycle_us = bbr_us(tcp_sk(sk)->delivered_mstamp);
}

/* Begins in any phase but that of 0.75, which must follow a probe. */
CC_INLINE void bbr_enter_probe_bw(struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);

	ca->mode = BBR_PROBE_BW;
	ca->cycle_phase = (u8)(BBR_CYCLE_PHASES - 1 - cc_prandom_below(sk, BBR_CYCLE_PHASES - 1));
	bbr_advance_cycle(sk);
}

CC_INLINE void bbr_exit_probe_rtt(struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);

	if (ca->is_full_pipe)
		bbr_enter_probe_bw(sk);
	else
		ca->mode = BBR_STARTUP;
}

CC_INLINE void bbr_check_probe_rtt_done(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);

	if (!ca->probe_rtt_done_stamp || !after(cc_jiffies32(sk), ca->probe_rtt_done_stamp))
		return;
	ca->min_rtt_stamp = cc_jiffies32(sk);
	tcp_snd_cwnd_set(tp, min(max(tcp_snd_cwnd(tp), ca->prior_cwnd), tp->snd_cwnd_clamp));
	bbr_exit_probe_rtt(sk);
}

CC_INLINE u32 bbr_cycle_gain(const struct bbr *ca)
{
	if (ca->is_lt_used)
		return BBR_GAIN_ONE;
	switch (ca->cycle_phase) {
	case 0:
		return BBR_PROBE_UP_GAIN;
	case 1:
		return BBR_PROBE_DOWN_GAIN;
	default:
		return BBR_GAIN_ONE;
	}
}

CC_INLINE void bbr_set_gains(struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);
	u32 pacing = BBR_GAIN_ONE;
	u32 window = BBR_GAIN_ONE;

	switch (ca->mode) {
	case BBR_STARTUP:
		pacing = cc_params(sk)->high_gain;
		window = pacing;
		break;
	case BBR_DRAIN:
		pacing = cc_params(sk)->drain_gain;
		window = cc_params(sk)->high_gain;	/* in Drain too: ACKs may be late */
		break;
	case BBR_PROBE_BW:
		pacing = bbr_cycle_gain(ca);
		window = cc_params(sk)->cwnd_gain;
		break;
	}
	ca->pacing_gain = (u16)pacing;
	ca->cwnd_gain = (u16)window;
	cc_phase(sk, ca->mode);
}

/* ---- policers: the long-term bandwidth */

CC_INLINE void bbr_start_lt_interval(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);

	ca->lt_ms = (u32)(tp->delivered_mstamp / USEC_PER_MSEC);
	ca->lt_delivered = tp->delivered;
	ca->lt_lost = tp->lost;
	ca->lt_rounds = 0;
}

CC_INLINE void bbr_reset_lt(struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);

	ca->lt_bw = 0;
	ca->is_lt_used = false;
	ca->is_lt_sampling = false;
	bbr_start_lt_interval(sk);
}

/* Ends an interval between losses; the same rate twice is a policer's. */
CC_INLINE void bbr_end_lt_interval(struct sock *sk, u32 bw)
{
	struct bbr *ca = inet_csk_ca(sk);

	if (ca->lt_bw) {
		u32 distance = bw > ca->lt_bw ? bw - ca->lt_bw : ca->lt_bw - bw;

		if ((u64)distance << BBR_LT_RATIO_SHIFT <= ca->lt_bw ||
		    bbr_bytes_per_sec(sk, distance, BBR_GAIN_ONE) <= BBR_LT_DIFF_BYTES) {
			ca->lt_bw = (u32)(((u64)bw + ca->lt_bw) >> 1);
			ca->is_lt_used = true;
			ca->pacing_gain = BBR_GAIN_ONE;
			ca->lt_rounds = 0;
			return;
		}
	}
	ca->lt_bw = bw;
	bbr_start_lt_interval(sk);
}

CC_INLINE void bbr_sample_lt(struct sock *sk, bool has_loss, bool is_app_limited)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);
	u32 lost, delivered, ms;

	if (ca->is_lt_used) {
		if (ca->mode == BBR_PROBE_BW && ca->is_round_start &&
		    ++ca->lt_rounds >= BBR_LT_KEPT_ROUNDS) {
			bbr_reset_lt(sk);
			bbr_enter_probe_bw(sk);
		}
		return;
	}
	/* Sampling starts when the policer has no tokens left, at its first drop. */
	if (!ca->is_lt_sampling) {
		if (!has_loss)
			return;
		bbr_start_lt_interval(sk);
		ca->is_lt_sampling = true;
	}
	if (is_app_limited) {
		bbr_reset_lt(sk);
		return;
	}
	if (ca->is_round_start)
		ca->lt_rounds++;
	if (ca->lt_rounds < BBR_LT_MIN_ROUNDS)
		return;
	if (ca->lt_rounds > BBR_LT_MAX_ROUNDS) {
		bbr_reset_lt(sk);
		return;
	}
	/* The interval ends at a loss, when the tokens are used up again. */
	if (!has_loss)
		return;
	lost = tp->lost - ca->lt_lost;
	delivered = tp->delivered - ca->lt_delivered;
	if (!delivered || (u64)lost << BBR_GAIN_SHIFT < (u64)BBR_LT_LOSS * delivered)
		return;
	ms = (u32)(tp->delivered_mstamp / USEC_PER_MSEC) - ca->lt_ms;
	if ((s32)ms < 1)
		return;
	if (ms >= ~0u / USEC_PER_MSEC) {
		bbr_reset_lt(sk);
		return;
	}
	bbr_end_lt_interval(sk, (u32)(delivered * BBR_BW_ONE / (ms * USEC_PER_MSEC)));
}

/* ---- the model */

CC_INLINE void bbr_update_round(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);

	if (before(rs->prior_delivered, ca->next_round_delivered))
		return;
	ca->next_round_delivered = tp->delivered;
	ca->round_count++;
	ca->is_round_start = true;
	ca->is_conserving = false;
}

CC_INLINE void bbr_update_bw(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *ca = inet_csk_ca(sk);
	u32 bw;

	bbr_update_round(sk, rs);
	bbr_sample_lt(sk, rs->losses != 0, rs->is_app_limited != 0);
	bw = (u32)div64_u64((u64)rs->delivered << BBR_BW_SHIFT, (u64)rs->interval_us);
	/* A flight that the application limits gives too low a bandwidth. */
	if (!rs->is_app_limited || bw >= minmax_get(&ca->max_bw))
		minmax_running_max(&ca->max_bw, cc_params(sk)->bw_rtts, ca->round_count, bw);
}

CC_INLINE void bbr_update_ack_aggregation(struct sock *sk, const struct rate_sample *rs)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);
	u32 now_us = bbr_us(tp->delivered_mstamp);
	u32 expected, extra;

	if (!cc_params(sk)->extra_acked_gain || !rs->acked_sacked)
		return;
	if (ca->is_round_start && ++ca->extra_rounds >= BBR_EXTRA_ROUNDS) {
		ca->extra_rounds = 0;
		ca->extra_acked_before = ca->extra_acked;
		ca->extra_acked = 0;
	}
	expected = (u32)(((u64)bbr_bw(ca) * (u32)(now_us - ca->epoch_us)) >> BBR_BW_SHIFT);
	/* An epoch lasts while ACKs arrive faster than the bandwidth. */
	if (ca->epoch_acked <= expected ||
	    (u64)ca->epoch_acked + rs->acked_sacked >= BBR_EPOCH_MAX_PKTS) {
		ca->epoch_acked = 0;
		ca->epoch_us = now_us;
		expected = 0;
	}
	ca->epoch_acked = min(ca->epoch_acked + rs->acked_sacked, BBR_EPOCH_MAX_PKTS - 1);
	extra = min(min(ca->epoch_acked - expected, tcp_snd_cwnd(tp)), 0xffffu);
	ca->extra_acked = (u16)max((u32)ca->extra_acked, extra);
}

CC_INLINE bool bbr_is_phase_over(struct sock *sk, const struct rate_sample *rs)
{
	const struct bbr *ca = inet_csk_ca(sk);
	u32 age_us = bbr_us(tcp_sk(sk)->delivered_mstamp) - ca->cycle_us;
	bool is_long = (s32)age_us > 0 && age_us > ca->min_rtt_us;
	u32 bw = minmax_get(&ca->max_bw);
	u32 in_flight;

	if (ca->pacing_gain == BBR_GAIN_ONE)
		return is_long;
	in_flight = bbr_inflight_at_departure(sk, rs->prior_in_flight);
	/* Up until the wanted queue exists, or overflows; down until the queue is empty. */
	if (ca->pacing_gain > BBR_GAIN_ONE)
		return is_long &&
		       (rs->losses || in_flight >= bbr_inflight(sk, bw, ca->pacing_gain));
	return is_long || in_flight <= bbr_inflight(sk, bw, BBR_GAIN_ONE);
}

CC_INLINE void bbr_check_full_pipe(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *ca = inet_csk_ca(sk);
	u32 bw = minmax_get(&ca->max_bw);

	if (ca->is_full_pipe || !ca->is_round_start || rs->is_app_limited)
		return;
	if (bw >= ((u64)ca->full_bw * BBR_FULL_BW_GAIN) >> BBR_GAIN_SHIFT) {
		ca->full_bw = bw;
		ca->full_bw_count = 0;
		return;
	}
	ca->full_bw_count++;
	ca->is_full_pipe = ca->full_bw_count >= BBR_FULL_BW_ROUNDS;
}

CC_INLINE void bbr_check_drain(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);
	u32 bdp;

	if (ca->mode != BBR_STARTUP && ca->mode != BBR_DRAIN)
		return;
	if (ca->mode == BBR_STARTUP && !ca->is_full_pipe)
		return;
	bdp = bbr_inflight(sk, minmax_get(&ca->max_bw), BBR_GAIN_ONE);
	if (ca->mode == BBR_STARTUP) {
		ca->mode = BBR_DRAIN;
		/* only informative: the BDP at the end of Startup */
		tp->snd_ssthresh = min(bdp, TCP_INFINITE_SSTHRESH);
	}
	if (bbr_inflight_at_departure(sk, tcp_packets_in_flight(tp)) <= bdp)
		bbr_enter_probe_bw(sk);
}

CC_INLINE void bbr_probe_rtt(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);
	u32 in_flight = tcp_packets_in_flight(tp);

	/* its samples must not count for the bandwidth */
	tp->app_limited = max(tp->delivered + in_flight, 1u);
	if (ca->probe_rtt_done_stamp) {
		if (ca->is_round_start)
			ca->is_probe_rtt_round_done = true;
		if (ca->is_probe_rtt_round_done)
			bbr_check_probe_rtt_done(sk);
	} else if (in_flight <= BBR_MIN_CWND) {
		ca->probe_rtt_done_stamp =
			cc_jiffies32(sk) + msecs_to_jiffies(cc_params(sk)->probe_rtt_mode_ms);
		ca->is_probe_rtt_round_done = false;
		ca->next_round_delivered = tp->delivered;
	}
}

CC_INLINE void bbr_update_min_rtt(struct sock *sk, const struct rate_sample *rs)
{
	struct bbr *ca = inet_csk_ca(sk);
	u32 now = cc_jiffies32(sk);
	bool is_expired = after(now, ca->min_rtt_stamp + cc_params(sk)->min_rtt_win_sec * HZ);

	if (rs->rtt_us >= 0 && (rs->rtt_us < (s64)ca->min_rtt_us ||
				(is_expired && !rs->is_ack_delayed))) {
		ca->min_rtt_us = (u32)rs->rtt_us;
		ca->min_rtt_stamp = now;
	}
	/* An idle period has drained the queue already. */
	if (is_expired && !ca->is_idle_restart && ca->mode != BBR_PROBE_RTT) {
		ca->mode = BBR_PROBE_RTT;
		bbr_save_cwnd(sk);
		ca->probe_rtt_done_stamp = 0;
	}
	if (ca->mode == BBR_PROBE_RTT)
		bbr_probe_rtt(sk);
	if (rs->delivered > 0)
		ca->is_idle_restart = false;
}

CC_PROG_CONG_CONTROL(bbr_cong_control, struct sock *sk, u32 ack, int flag,
		     const struct rate_sample *rs)
{
	struct bbr *ca = inet_csk_ca(sk);
	bool is_sample = rs->delivered >= 0 && rs->interval_us > 0;
	u32 bw;

	(void)ack;
	(void)flag;
	ca->is_round_start = false;
	if (is_sample) {
		bbr_update_bw(sk, rs);
		bbr_update_ack_aggregation(sk, rs);
	}
	if (ca->mode == BBR_PROBE_BW && bbr_is_phase_over(sk, rs))
		bbr_advance_cycle(sk);
	bbr_check_full_pipe(sk, rs);
	bbr_check_drain(sk);
	bbr_update_min_rtt(sk, rs);
	bbr_set_gains(sk);

	bw = bbr_bw(ca);
	bbr_set_pacing_rate(sk, bw, ca->pacing_gain);
	bbr_set_cwnd(sk, rs, bw, ca->cwnd_gain);
}

CC_PROG(void, bbr_init, struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);

	*ca = (struct bbr){ .mode = BBR_STARTUP };
	tcp_sk(sk)->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->next_round_delivered = tp->delivered;
	ca->min_rtt_us = tcp_min_rtt(tp);
	ca->min_rtt_stamp = cc_jiffies32(sk);
	ca->epoch_us = bbr_us(tp->tcp_mstamp);
	minmax_reset(&ca->max_bw, ca->round_count, 0);
	bbr_init_pacing_rate(sk);
	bbr_reset_lt(sk);
	bbr_set_gains(sk);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_PROG(void, bbr_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr *ca = inet_csk_ca(sk);

	if (event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	ca->is_idle_restart = true;
	ca->epoch_us = bbr_us(tp->tcp_mstamp);
	ca->epoch_acked = 0;
	/* The queue has drained: restart at the bandwidth. */
	if (ca->mode == BBR_PROBE_BW)
		bbr_set_pacing_rate(sk, bbr_bw(ca), BBR_GAIN_ONE);
	else if (ca->mode == BBR_PROBE_RTT)
		bbr_check_probe_rtt_done(sk);
}

/* The model ignores losses; only saves the window to restore later. */
CC_PROG(u32, bbr_ssthresh, struct sock *sk)
{
	bbr_save_cwnd(sk);
	return tcp_sk(sk)->snd_ssthresh;
}

/* The loss was spurious, so conclusions of Startup from it may be wrong. */
CC_PROG(u32, bbr_undo_cwnd, struct sock *sk)
{
	struct bbr *ca = inet_csk_ca(sk);

	ca->full_bw = 0;
	ca->full_bw_count = 0;
	bbr_reset_lt(sk);
	return tcp_snd_cwnd(tcp_sk(sk));
}

CC_PROG(void, bbr_set_state, struct sock *sk, u8 new_state)
{
	struct bbr *ca = inet_csk_ca(sk);

	if (new_state != TCP_CA_Loss)
		return;
	ca->prior_ca_state = TCP_CA_Loss;
	ca->full_bw = 0;
	ca->is_round_start = true;	/* as at the end of a round */
	bbr_sample_lt(sk, true, false);
}

CC_PROG(u32, bbr_min_tso_segs, struct sock *sk)
{
	return bbr_least_burst(sk);
}

/* Room for a lost window and its retransmission, while new data is sent. */
CC_PROG(u32, bbr_sndbuf_expand, struct sock *sk)
{
	(void)sk;
	return 3;
}

CC_OPS(bbr) = {
	.init		= CC_CB(bbr_init),
	.cong_control	= CC_CB(bbr_cong_control),
	.ssthresh	= CC_CB(bbr_ssthresh),
	.undo_cwnd	= CC_CB(bbr_undo_cwnd),
	.set_state	= CC_CB(bbr_set_state),
	.cwnd_event	= CC_CB(bbr_cwnd_event),
	.min_tso_segs	= CC_CB(bbr_min_tso_segs),
	.sndbuf_expand	= CC_CB(bbr_sndbuf_expand),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "bbr",
};

CC_DESCRIBE(bbr,
	.summary = "sends at the measured bandwidth with about twice the BDP in flight (2016)",
	CC_HAS_PARAMETERS(bbr),
	CC_HAS_PHASES(bbr)
);
