// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Calls every algorithm randomly, in orders that an endpoint would and would not
 * use, with parameters within their bounds; the sanitizers detect undefined
 * behaviour and invalid accesses. The socket has a heap block of its own, so that
 * they detect an access past its end.
 */
#include "cc.h"

#include <stdio.h>
#include <stdlib.h>

extern const struct cc_description *const all_algorithms[];

enum { RUNS = 300, CALLS = 3000 };

static u64 random_state = 1;

static u32 random_u32(void)
{
	return cc_splitmix_u32(&random_state);
}

/* A small number, one at a boundary, or any number. */
static u32 random_value(void)
{
	static const u32 edges[] = { 0, 1, 2, 0x7fffffff, 0x80000000, 0xffffffff };

	switch (random_u32() % 4) {
	case 0:
		return edges[random_u32() % CC_COUNT(edges)];
	case 1:
		return random_u32();
	default:
		return random_u32() % 1000;
	}
}

static void random_socket(struct tcp_sock *tp)
{
	struct sock *sk = (struct sock *)tp;

	tp->tcp_mstamp += random_value();
	tp->tcp_clock_cache = tp->tcp_mstamp * 1000;
	tp->tcp_wstamp_ns = tp->tcp_clock_cache + random_value();
	tp->delivered_mstamp = tp->tcp_mstamp - random_u32() % 1000;
	tp->cc_jiffies32 += random_u32() % 100;
	tp->snd_cwnd = max(random_value() & 0x7fffffff, 1u);
	tp->snd_ssthresh = random_value() & 0x7fffffff;
	tp->prior_cwnd = random_value() & 0x7fffffff;
	tp->snd_una = random_value();
	tp->snd_nxt = random_value();
	tp->lsndtime = random_value();
	tp->packets_out = random_u32() % 100000;
	tp->max_packets_out = random_u32() % 100000;
	tp->delivered += random_u32() % 100;
	tp->delivered_ce += random_u32() % 100;
	tp->lost += random_u32() % 100;
	tp->app_limited = random_value();
	tp->sacked_out = random_u32() % 4;
	tp->lost_out = random_u32() % 4;
	tp->rcv_nxt += random_u32() % 3000;
	tp->ecn_flags = (u8)random_u32();
	tp->mss_cache = random_value();
	tp->srtt_us = random_value();
	tp->rtt_min_us = random_value();
	tp->rx_opt.rcv_tsval = random_value();
	tp->rx_opt.rcv_tsecr = random_value();
	tp->is_cwnd_limited = random_u32() & 1;
	sk->sk_pacing_rate = ((u64)random_value() << 32) | random_value();
	sk->sk_pacing_status = random_u32() % 3;
	sk->sk_max_pacing_rate = random_u32() & 1 ? ~0ul : random_value();
	sk->sk_pacing_shift = (u8)(random_u32() % 20);
	tp->inet_conn.icsk_ca_state = (u8)(random_u32() % 5);
	tp->inet_conn.icsk_ack.pending = (u8)random_u32();
}

static void random_call(const struct tcp_congestion_ops *ops, struct sock *sk)
{
	struct ack_sample ack = {
		.pkts_acked = random_value(),
		.rtt_us = (s32)random_value(),
		.in_flight = random_value(),
	};
	struct rate_sample rate = {
		.prior_delivered = random_u32() & 1 ? tcp_sk(sk)->delivered : random_value(),
		.delivered = (s32)random_value(),
		.is_app_limited = random_u32() & 1,
		.is_ack_delayed = random_u32() & 1,
		.interval_us = (s32)random_value(),
		.rtt_us = (s32)random_value(),
		.acked_sacked = random_value(),
		.losses = (s32)(random_value() & 0x7fffffff),
		.prior_in_flight = random_value(),
	};

	switch (random_u32() % 10) {
	case 0:
		ops->ssthresh(sk);
		break;
	case 1:
		ops->undo_cwnd(sk);
		break;
	case 2:
		if (ops->set_state)
			ops->set_state(sk, (u8)(random_u32() % 5));
		break;
	case 3:
		if (ops->cwnd_event)
			ops->cwnd_event(sk, (enum tcp_ca_event)(random_u32() % 6));
		break;
	case 4:
		if (ops->in_ack_event)
			ops->in_ack_event(sk, random_u32() % 8);
		break;
	case 5:
	case 6:
		if (ops->pkts_acked)
			ops->pkts_acked(sk, &ack);
		break;
	case 7:
		if (ops->min_tso_segs)
			ops->min_tso_segs(sk);
		if (ops->sndbuf_expand)
			ops->sndbuf_expand(sk);
		break;
	default:
		if (ops->cong_avoid)
			ops->cong_avoid(sk, random_value(), random_value());
		if (ops->cong_control)
			ops->cong_control(sk, random_value(), 0, &rate);
	}
}

int main(void)
{
	for (u32 i = 0; all_algorithms[i]; i++) {
		const struct cc_description *algorithm = all_algorithms[i];
		const struct tcp_congestion_ops *ops = algorithm->ops;
		u32 count = algorithm->parameter_count;

		for (u32 run = 0; run < RUNS; run++) {
			struct tcp_sock *tp = calloc(1, sizeof(*tp));
			u32 *values = calloc(count ? count : 1, sizeof(*values));

			if (!tp || !values)
				return 1;
			for (u32 p = 0; p < count; p++) {
				const struct cc_parameter *info = &algorithm->parameters[p];
				u64 span = (u64)info->high - info->low + 1;

				switch (run % 4) {
				case 0:
					values[p] = info->value;
					break;
				case 1:
					values[p] = random_u32() & 1 ? info->low : info->high;
					break;
				default:
					values[p] = (u32)(info->low + random_u32() % span);
				}
			}
			tp->cc_params = values;
			tp->cc_random = run;
			tp->snd_cwnd_clamp = ~0u;
			random_socket(tp);
			if (ops->init)
				ops->init((struct sock *)tp);
			for (u32 call = 0; call < CALLS; call++) {
				if (random_u32() % 3 == 0)
					random_socket(tp);
				random_call(ops, (struct sock *)tp);
			}
			if (ops->release)
				ops->release((struct sock *)tp);
			free(values);
			free(tp);
		}
		printf("%s: %d calls\n", ops->name, RUNS * CALLS);
	}
	return 0;
}
