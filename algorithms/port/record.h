/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The record of a hook's call by the running kernel: everything that the hook could
 * read, and its results. `-DCC_RECORD` builds an object whose programs write a
 * record for each call into a ring buffer; port/replay.c repeats each call in the
 * native build and compares the results. Each record is self-contained, so lost
 * records do no harm.
 */
#ifndef CC_PORT_RECORD_H
#define CC_PORT_RECORD_H

/*
 * The socket, field by field: FIELD directly, BIT by CC_GET. The test in
 * port/replay.c detects fields of cc.h that are missing here.
 */
#define CC_RECORDED_SOCK(field)		inet_conn.icsk_inet.sk.field
#define CC_RECORDED_ICSK(field)		inet_conn.field

#define CC_RECORDED_FIELDS(FIELD, BIT)						\
	FIELD(u64, sk_pacing_rate, CC_RECORDED_SOCK(sk_pacing_rate))		\
	FIELD(u64, sk_max_pacing_rate, CC_RECORDED_SOCK(sk_max_pacing_rate))	\
	FIELD(u64, tcp_mstamp, tcp_mstamp)					\
	FIELD(u64, tcp_clock_cache, tcp_clock_cache)				\
	FIELD(u64, tcp_wstamp_ns, tcp_wstamp_ns)				\
	FIELD(u64, delivered_mstamp, delivered_mstamp)				\
	FIELD(u64, first_tx_mstamp, first_tx_mstamp)				\
	FIELD(u64, bytes_acked, bytes_acked)					\
	FIELD(u32, sk_pacing_status, CC_RECORDED_SOCK(sk_pacing_status))	\
	FIELD(u32, sk_gso_max_size, CC_RECORDED_SOCK(sk_gso_max_size))		\
	FIELD(u32, snd_cwnd, snd_cwnd)						\
	FIELD(u32, snd_cwnd_cnt, snd_cwnd_cnt)					\
	FIELD(u32, snd_cwnd_clamp, snd_cwnd_clamp)				\
	FIELD(u32, snd_ssthresh, snd_ssthresh)					\
	FIELD(u32, prior_cwnd, prior_cwnd)					\
	FIELD(u32, snd_cwnd_stamp, snd_cwnd_stamp)				\
	FIELD(u32, snd_cwnd_used, snd_cwnd_used)				\
	FIELD(u32, snd_una, snd_una)						\
	FIELD(u32, snd_nxt, snd_nxt)						\
	FIELD(u32, high_seq, high_seq)						\
	FIELD(u32, snd_wnd, snd_wnd)						\
	FIELD(u32, packets_out, packets_out)					\
	FIELD(u32, retrans_out, retrans_out)					\
	FIELD(u32, sacked_out, sacked_out)					\
	FIELD(u32, lost_out, lost_out)						\
	FIELD(u32, max_packets_out, max_packets_out)				\
	FIELD(u32, cwnd_usage_seq, cwnd_usage_seq)				\
	FIELD(u32, mss_cache, mss_cache)					\
	FIELD(u32, advmss, advmss)						\
	FIELD(u32, srtt_us, srtt_us)						\
	FIELD(u32, mdev_us, mdev_us)						\
	FIELD(u32, delivered, delivered)					\
	FIELD(u32, delivered_ce, delivered_ce)					\
	FIELD(u32, lost, lost)							\
	FIELD(u32, app_limited, app_limited)					\
	FIELD(u32, total_retrans, total_retrans)				\
	FIELD(u32, reordering, reordering)					\
	FIELD(u32, rcv_nxt, rcv_nxt)						\
	FIELD(u32, lsndtime, lsndtime)						\
	FIELD(u32, rcv_tsval, rx_opt.rcv_tsval)					\
	FIELD(u32, rcv_tsecr, rx_opt.rcv_tsecr)					\
	FIELD(u8, sk_pacing_shift, CC_RECORDED_SOCK(sk_pacing_shift))		\
	BIT(u8, icsk_ca_state, CC_RECORDED_ICSK(icsk_ca_state))			\
	FIELD(u8, icsk_retransmits, CC_RECORDED_ICSK(icsk_retransmits))		\
	FIELD(u8, icsk_ack, CC_RECORDED_ICSK(icsk_ack.pending))			\
	BIT(u8, saw_tstamp, rx_opt.saw_tstamp)					\
	BIT(u8, is_cwnd_limited, is_cwnd_limited)				\
	FIELD(u8, ecn_flags, ecn_flags)

#define CC_RECORD_DECLARE(type, name, path) type name;

struct cc_recorded_socket {
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
	u64 cc_state[CC_STATE_BYTES / sizeof(u64)];	/* zero if there is none */
	CC_RECORDED_FIELDS(CC_RECORD_DECLARE, CC_RECORD_DECLARE)
	u32 rtt_min_us;
};

struct cc_recorded_ack_sample {
	u32 pkts_acked;
	s32 rtt_us;
	u32 in_flight;
};

struct cc_recorded_rate_sample {
	u64 prior_mstamp;
	s64 interval_us;
	s64 rtt_us;
	u32 prior_delivered;
	u32 prior_delivered_ce;
	s32 delivered;
	s32 delivered_ce;
	u32 snd_interval_us;
	u32 rcv_interval_us;
	s32 losses;
	u32 acked_sacked;
	u32 prior_in_flight;
	u32 last_end_seq;
	u8 is_app_limited;
	u8 is_retrans;
	u8 is_ack_delayed;
};

#define CC_RECORD_NAME_BYTES 32

struct cc_record {
	/* name of the program, which ends with the hook's: cubic_cong_avoid */
	char program[CC_RECORD_NAME_BYTES];
	u64 random;		/* state of the random number generator before the call */
	u32 hz;
	u32 jiffies32;
	u32 result;		/* 0 if the hook returns nothing */
	u32 argument[2];	/* as in struct cc_call of guard.h */
	u32 bytes;		/* size of this struct in the recorder */
	u32 phase;		/* phase that the hook reported, 0 = none */
	struct cc_recorded_ack_sample ack;
	struct cc_recorded_rate_sample rate;
	struct cc_recorded_socket before;
	struct cc_recorded_socket after;
};

#define CC_RECORD_READ(type, name, path)	to->name = (type)tp->path;
#define CC_RECORD_READ_BIT(type, name, path)	to->name = (type)CC_GET(tp, path);

CC_INLINE void cc_record_socket(struct cc_recorded_socket *to, const struct tcp_sock *tp)
{
	const u64 *state = CC_PORT_RECORDED_STATE(tp);

	CC_RECORDED_FIELDS(CC_RECORD_READ, CC_RECORD_READ_BIT)
	to->rtt_min_us = tcp_min_rtt(tp);
	for (u32 i = 0; i < CC_COUNT(to->icsk_ca_priv); i++)
		to->icsk_ca_priv[i] = tp->inet_conn.icsk_ca_priv[i];
	for (u32 i = 0; state && i < CC_COUNT(to->cc_state); i++)
		to->cc_state[i] = state[i];
}

CC_INLINE void cc_record_ack_sample(struct cc_recorded_ack_sample *to,
				    const struct ack_sample *from)
{
	to->pkts_acked = from->pkts_acked;
	to->rtt_us = from->rtt_us;
	to->in_flight = from->in_flight;
}

CC_INLINE void cc_record_rate_sample(struct cc_recorded_rate_sample *to,
				     const struct rate_sample *from)
{
	to->prior_mstamp = from->prior_mstamp;
	to->prior_delivered = from->prior_delivered;
	to->prior_delivered_ce = from->prior_delivered_ce;
	to->delivered = from->delivered;
	to->delivered_ce = from->delivered_ce;
	to->interval_us = from->interval_us;
	to->snd_interval_us = from->snd_interval_us;
	to->rcv_interval_us = from->rcv_interval_us;
	to->rtt_us = from->rtt_us;
	to->losses = from->losses;
	to->acked_sacked = from->acked_sacked;
	to->prior_in_flight = from->prior_in_flight;
	to->last_end_seq = from->last_end_seq;
	to->is_app_limited = (u8)from->is_app_limited;
	to->is_retrans = (u8)from->is_retrans;
	to->is_ack_delayed = (u8)from->is_ack_delayed;
}

#endif
