/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The layout of the socket as a table: the position of each field, and whether an
 * algorithm may write it. The table has three uses: the test that compares the
 * structs with those of crates/cc/src/sock.rs, the conformance suite, and the guard
 * of a user's file.
 */
#ifndef CC_PORT_LAYOUT_H
#define CC_PORT_LAYOUT_H

#include "../include/cc.h"

enum cc_access {
	CC_NOT_OF_SOCKET,
	CC_READABLE,
	CC_WRITABLE,	/* the kernel lets a BPF program write it, or only the simulator has it */
};

struct cc_layout {
	const char *name;	/* "struct.field", or "struct" for the size */
	u64 offset_or_size;	/* bytes */
	u32 bytes;		/* of the field, 0 for a struct */
	u32 access;		/* enum cc_access */
};

#define SIZE(type)		{ #type, sizeof(struct type), 0, CC_NOT_OF_SOCKET }
#define ROW(type, field, access) \
	{ #type "." #field, __builtin_offsetof(struct type, field), \
	  sizeof(((struct type *)0)->field), access }
#define FIELD(type, field)	ROW(type, field, CC_NOT_OF_SOCKET)
#define READABLE(type, field)	ROW(type, field, CC_READABLE)
#define WRITABLE(type, field)	ROW(type, field, CC_WRITABLE)
#define HOOK(result, name, arguments)	FIELD(tcp_congestion_ops, name),

static const struct cc_layout cc_layout_table[] = {
	SIZE(sock),
	WRITABLE(sock, sk_pacing_rate),
	READABLE(sock, sk_max_pacing_rate),
	WRITABLE(sock, sk_pacing_status),
	READABLE(sock, sk_gso_max_size),
	READABLE(sock, sk_pacing_shift),
	SIZE(inet_sock),
	SIZE(inet_connection_sock),
	READABLE(inet_connection_sock, icsk_ca_state),
	READABLE(inet_connection_sock, icsk_retransmits),
	WRITABLE(inet_connection_sock, icsk_ack),
	WRITABLE(inet_connection_sock, icsk_ca_priv),
	SIZE(tcp_options_received),
	FIELD(tcp_options_received, saw_tstamp),
	FIELD(tcp_options_received, rcv_tsval),
	FIELD(tcp_options_received, rcv_tsecr),
	SIZE(tcp_sock),
	FIELD(tcp_sock, inet_conn),
	READABLE(tcp_sock, tcp_mstamp),
	READABLE(tcp_sock, tcp_clock_cache),
	READABLE(tcp_sock, tcp_wstamp_ns),
	READABLE(tcp_sock, delivered_mstamp),
	READABLE(tcp_sock, first_tx_mstamp),
	READABLE(tcp_sock, bytes_acked),
	READABLE(tcp_sock, cc_params),
	WRITABLE(tcp_sock, cc_random),
	READABLE(tcp_sock, cc_jiffies32),
	WRITABLE(tcp_sock, cc_ack_rcv_nxt),
	WRITABLE(tcp_sock, snd_cwnd),
	WRITABLE(tcp_sock, snd_cwnd_cnt),
	READABLE(tcp_sock, snd_cwnd_clamp),
	WRITABLE(tcp_sock, snd_ssthresh),
	READABLE(tcp_sock, prior_cwnd),
	WRITABLE(tcp_sock, snd_cwnd_stamp),
	READABLE(tcp_sock, snd_cwnd_used),
	READABLE(tcp_sock, snd_una),
	READABLE(tcp_sock, snd_nxt),
	READABLE(tcp_sock, high_seq),
	READABLE(tcp_sock, snd_wnd),
	READABLE(tcp_sock, packets_out),
	READABLE(tcp_sock, retrans_out),
	READABLE(tcp_sock, sacked_out),
	READABLE(tcp_sock, lost_out),
	READABLE(tcp_sock, max_packets_out),
	READABLE(tcp_sock, cwnd_usage_seq),
	READABLE(tcp_sock, mss_cache),
	READABLE(tcp_sock, advmss),
	READABLE(tcp_sock, srtt_us),
	READABLE(tcp_sock, mdev_us),
	READABLE(tcp_sock, rtt_min_us),
	READABLE(tcp_sock, delivered),
	READABLE(tcp_sock, delivered_ce),
	READABLE(tcp_sock, lost),
	WRITABLE(tcp_sock, app_limited),
	READABLE(tcp_sock, total_retrans),
	READABLE(tcp_sock, reordering),
	READABLE(tcp_sock, rcv_nxt),
	READABLE(tcp_sock, lsndtime),
	READABLE(tcp_sock, rx_opt),
	READABLE(tcp_sock, is_cwnd_limited),
	WRITABLE(tcp_sock, ecn_flags),
	WRITABLE(tcp_sock, cc_phase),
	WRITABLE(tcp_sock, cc_requests),
	WRITABLE(tcp_sock, cc_state),
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
	CC_HOOKS(HOOK)
	FIELD(tcp_congestion_ops, flags),
	FIELD(tcp_congestion_ops, name),
	SIZE(cc_parameter),
	SIZE(cc_description),
};

#undef SIZE
#undef ROW
#undef FIELD
#undef READABLE
#undef WRITABLE
#undef HOOK

/*
 * Returns the first field that differs between two states of a socket although an
 * algorithm may not write it; NULL if there is none. Each struct begins with the
 * one below it, so their offsets are offsets in the socket.
 */
static inline const struct cc_layout *cc_forbidden_write(const struct tcp_sock *before,
							 const struct tcp_sock *after)
{
	const u8 *old = (const u8 *)before, *new = (const u8 *)after;

	for (u32 i = 0; i < CC_COUNT(cc_layout_table); i++) {
		const struct cc_layout *row = &cc_layout_table[i];

		if (row->access != CC_READABLE)
			continue;
		for (u64 at = row->offset_or_size; at < row->offset_or_size + row->bytes; at++) {
			if (old[at] != new[at])
				return row;
		}
	}
	return NULL;
}

#endif
