/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Functions for algorithms that model the path by a bandwidth and an RTT: their
 * product, rates, and the aggregation of ACKs. A bandwidth is in 2^-24 packets per
 * microsecond, a gain in 1/256. Included by cc.h.
 */
#ifndef CC_MODEL_H
#define CC_MODEL_H

#define CC_BW_SHIFT		24
#define CC_BW_ONE		(1ull << CC_BW_SHIFT)
#define CC_GAIN_ONE		256u
#define CC_QUANTUM_BYTES	65536u

CC_INLINE u32 cc_now_ms(const struct sock *sk)
{
	return (u32)div_u64(tcp_sk(sk)->tcp_mstamp, USEC_PER_MSEC);
}

/* The delivery rate of a sample, whose interval must not be 0. */
CC_INLINE u32 cc_bandwidth(const struct rate_sample *rs)
{
	return (u32)min(div64_u64((u64)rs->delivered << CC_BW_SHIFT, (u64)rs->interval_us),
			(u64)(~0u - 1));
}

/* The packets in flight that fill a path, times the gain. */
CC_INLINE u32 cc_bdp(u32 bw, u32 rtt_us, u32 gain)
{
	u64 product = ((u64)bw * rtt_us) >> 8;

	product = min(product, ~0ull >> 16);
	product = (product * gain) >> (CC_BW_SHIFT - 8 + 8);
	return (u32)min(product, (u64)TCP_INFINITE_SSTHRESH);
}

/* Bytes per second: a percentage of the bandwidth, times the gain. */
CC_INLINE u64 cc_rate(const struct sock *sk, u64 bw, u32 gain, u32 percent)
{
	u64 rate = (bw * tcp_sk(sk)->mss_cache * gain) >> 8;

	rate = (rate * (USEC_PER_SEC / 100 * percent)) >> CC_BW_SHIFT;
	return min(rate, (u64)sk->sk_max_pacing_rate);
}

/* The rate of one window per RTT; the RTT is 1 ms before the first sample. */
CC_INLINE u64 cc_first_rate(const struct sock *sk, u32 gain, u32 percent)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 rtt_us = tp->srtt_us ? max(tp->srtt_us >> 3, 1u) : USEC_PER_MSEC;

	return cc_rate(sk, tcp_snd_cwnd(tp) * CC_BW_ONE / rtt_us, gain, percent);
}

/* Restores a saved window if it is larger. */
CC_INLINE void cc_restore_cwnd(struct sock *sk, u32 saved)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tcp_snd_cwnd_set(tp, min(max(tcp_snd_cwnd(tp), saved), tp->snd_cwnd_clamp));
}

/* Packets that are sent at once at the current pacing rate, in about a millisecond. */
CC_INLINE u32 cc_quantum(const struct sock *sk)
{
	u64 bytes = min((u64)sk->sk_pacing_rate / 1000, (u64)CC_QUANTUM_BYTES);

	return max(div_u32((u32)bytes, tcp_sk(sk)->mss_cache), 2u);
}

/* ACK aggregation: the maximum excess over the bandwidth in a window of rounds. */
struct cc_aggregation {
	u32 since_us;		/* start of the count */
	u32 delivered;		/* acknowledged since the start, packets */
	u16 extra[2];		/* maximum excess in this window and in the previous one, packets */
};

CC_INLINE u32 cc_aggregation_extra(const struct cc_aggregation *ca)
{
	return max((u32)ca->extra[0], (u32)ca->extra[1]);
}

CC_INLINE void cc_aggregation_restart(struct cc_aggregation *ca, u64 now_us)
{
	ca->since_us = (u32)now_us;
	ca->delivered = 0;
}

CC_INLINE void cc_aggregation_next_window(struct cc_aggregation *ca, bool keeps)
{
	ca->extra[1] = keeps ? ca->extra[0] : 0;
	ca->extra[0] = 0;
}

CC_INLINE void cc_aggregation_take(struct cc_aggregation *ca, const struct sock *sk, u32 bw,
				   u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 now_us = (u32)tp->delivered_mstamp, extra;
	u32 expected = (u32)(((u64)bw * (u32)(now_us - ca->since_us)) >> CC_BW_SHIFT);

	if (ca->delivered <= expected) {
		cc_aggregation_restart(ca, now_us);
		expected = 0;
	}
	ca->delivered += acked;
	extra = min(min(ca->delivered - expected, tcp_snd_cwnd(tp)), 0xffffu);
	ca->extra[0] = (u16)max((u32)ca->extra[0], extra);
}

#endif
