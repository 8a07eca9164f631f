// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * What the compiler made of the structs, for the test that compares them with
 * crates/cc/src/sock.rs, and the shared helpers as functions that it can call.
 */
#include "../include/cc.h"

struct cc_layout {
	const char *name;	/* "struct.field", or "struct" for the size */
	u64 offset_or_size;	/* bytes */
};

#define SIZE(type)		{ #type, sizeof(struct type) }
#define FIELD(type, field)	{ #type "." #field, __builtin_offsetof(struct type, field) }

extern const struct cc_layout cc_layout[];
extern const u64 cc_layout_count;

const struct cc_layout cc_layout[] = {
	SIZE(sock),
	FIELD(sock, sk_pacing_rate),
	FIELD(sock, sk_max_pacing_rate),
	FIELD(sock, sk_pacing_status),
	FIELD(sock, sk_gso_max_size),
	FIELD(sock, sk_pacing_shift),
	SIZE(inet_sock),
	SIZE(inet_connection_sock),
	FIELD(inet_connection_sock, icsk_ca_state),
	FIELD(inet_connection_sock, icsk_retransmits),
	FIELD(inet_connection_sock, icsk_ack),
	FIELD(inet_connection_sock, icsk_ca_priv),
	SIZE(tcp_options_received),
	FIELD(tcp_options_received, saw_tstamp),
	FIELD(tcp_options_received, rcv_tsval),
	FIELD(tcp_options_received, rcv_tsecr),
	SIZE(tcp_sock),
	FIELD(tcp_sock, inet_conn),
	FIELD(tcp_sock, tcp_mstamp),
	FIELD(tcp_sock, tcp_clock_cache),
	FIELD(tcp_sock, tcp_wstamp_ns),
	FIELD(tcp_sock, delivered_mstamp),
	FIELD(tcp_sock, first_tx_mstamp),
	FIELD(tcp_sock, bytes_acked),
	FIELD(tcp_sock, cc_params),
	FIELD(tcp_sock, cc_random),
	FIELD(tcp_sock, cc_jiffies32),
	FIELD(tcp_sock, cc_ack_rcv_nxt),
	FIELD(tcp_sock, snd_cwnd),
	FIELD(tcp_sock, snd_cwnd_cnt),
	FIELD(tcp_sock, snd_cwnd_clamp),
	FIELD(tcp_sock, snd_ssthresh),
	FIELD(tcp_sock, prior_cwnd),
	FIELD(tcp_sock, snd_cwnd_stamp),
	FIELD(tcp_sock, snd_cwnd_used),
	FIELD(tcp_sock, snd_una),
	FIELD(tcp_sock, snd_nxt),
	FIELD(tcp_sock, high_seq),
	FIELD(tcp_sock, snd_wnd),
	FIELD(tcp_sock, packets_out),
	FIELD(tcp_sock, retrans_out),
	FIELD(tcp_sock, sacked_out),
	FIELD(tcp_sock, lost_out),
	FIELD(tcp_sock, max_packets_out),
	FIELD(tcp_sock, cwnd_usage_seq),
	FIELD(tcp_sock, mss_cache),
	FIELD(tcp_sock, advmss),
	FIELD(tcp_sock, srtt_us),
	FIELD(tcp_sock, mdev_us),
	FIELD(tcp_sock, rtt_min_us),
	FIELD(tcp_sock, delivered),
	FIELD(tcp_sock, delivered_ce),
	FIELD(tcp_sock, lost),
	FIELD(tcp_sock, app_limited),
	FIELD(tcp_sock, total_retrans),
	FIELD(tcp_sock, reordering),
	FIELD(tcp_sock, rcv_nxt),
	FIELD(tcp_sock, lsndtime),
	FIELD(tcp_sock, rx_opt),
	FIELD(tcp_sock, is_cwnd_limited),
	FIELD(tcp_sock, ecn_flags),
	FIELD(tcp_sock, cc_phase),
	FIELD(tcp_sock, cc_requests),
	SIZE(ack_sample),
	FIELD(ack_sample, pkts_acked),
	FIELD(ack_sample, rtt_us),
	FIELD(ack_sample, in_flight),
	SIZE(rate_sample),
	FIELD(rate_sample, prior_mstamp),
	FIELD(rate_sample, prior_delivered),
	FIELD(rate_sample, prior_delivered_ce),
	FIELD(rate_sample, delivered),
	FIELD(rate_sample, delivered_ce),
	FIELD(rate_sample, interval_us),
	FIELD(rate_sample, snd_interval_us),
	FIELD(rate_sample, rcv_interval_us),
	FIELD(rate_sample, rtt_us),
	FIELD(rate_sample, losses),
	FIELD(rate_sample, acked_sacked),
	FIELD(rate_sample, prior_in_flight),
	FIELD(rate_sample, last_end_seq),
	FIELD(rate_sample, is_app_limited),
	FIELD(rate_sample, is_retrans),
	FIELD(rate_sample, is_ack_delayed),
	SIZE(tcp_congestion_ops),
	FIELD(tcp_congestion_ops, ssthresh),
	FIELD(tcp_congestion_ops, cong_avoid),
	FIELD(tcp_congestion_ops, set_state),
	FIELD(tcp_congestion_ops, cwnd_event),
	FIELD(tcp_congestion_ops, in_ack_event),
	FIELD(tcp_congestion_ops, pkts_acked),
	FIELD(tcp_congestion_ops, min_tso_segs),
	FIELD(tcp_congestion_ops, cong_control),
	FIELD(tcp_congestion_ops, undo_cwnd),
	FIELD(tcp_congestion_ops, sndbuf_expand),
	FIELD(tcp_congestion_ops, init),
	FIELD(tcp_congestion_ops, release),
	FIELD(tcp_congestion_ops, flags),
	FIELD(tcp_congestion_ops, name),
	SIZE(cc_parameter),
	SIZE(cc_description),
};

const u64 cc_layout_count = CC_COUNT(cc_layout);

extern u32 cc_native_cbrt64(u64 x);
extern u32 cc_native_sqrt64(u64 x);
extern u32 cc_native_running_max(struct minmax *m, u32 window, u32 t, u32 v);
extern u32 cc_native_running_min(struct minmax *m, u32 window, u32 t, u32 v);

u32 cc_native_cbrt64(u64 x)
{
	return cc_cbrt64(x);
}

u32 cc_native_sqrt64(u64 x)
{
	return cc_sqrt64(x);
}

u32 cc_native_running_max(struct minmax *m, u32 window, u32 t, u32 v)
{
	return minmax_running_max(m, window, t, v);
}

u32 cc_native_running_min(struct minmax *m, u32 window, u32 t, u32 v)
{
	return minmax_running_min(m, window, t, v);
}
