// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * BBR, version 3, after the working group's draft.
 *
 * BBR models the path: the highest delivery rate of two cycles of probing is its bandwidth, and
 * the lowest RTT of ten seconds is its RTT without a queue. Unlike version 1, BBR reacts to
 * losses. The data in flight at which more than 2 % were lost limit the data in flight of the next
 * cycles (long-term bound). Each round trip with a loss reduces bandwidth and data in flight to
 * the amount delivered, by a factor of at least 0.7, until the next probe (short-term bound).
 *
 *	startup 2.77 bw --> drain 0.5 bw --> probe bandwidth:
 *	down 0.9 bw --> cruise 1 bw --> refill 1 bw --> up 1.25 bw --> down
 *	any of them --> probe RTT, half the BDP, after 5 s without a lower RTT
 *
 * Startup and up end when three round trips did not raise the rate by a quarter, or when losses
 * exceed 2 %. A probe that follows a probe with too many losses stops as soon as it reaches the
 * long-term bound; if nothing was lost, it is repeated without this limit.
 *
 * Papers: draft-ietf-ccwg-bbr (the working copy of 2026-08-03), whose names are used here. Values
 * that hooks do not report are derived from other values: the data in flight at the transmission
 * of an acknowledged packet are the data delivered and lost since then; losses are counted from
 * the start of the round trip, their data in flight are those of the packet whose ACK reported
 * them, and the number of runs of losses is the number of ACKs that reported losses. To leave
 * Startup, losses are counted over the round of losses, at whose end they are judged: the round
 * trip of packets may have begun only an ACK earlier. BBR does not respond to ECN here.
 */
#include "cc.h"

#define BBR3_NONE		(~0u)		/* Infinity */
#define BBR3_INIT_CWND		10u
#define BBR3_MIN_CWND		4u
#define BBR3_MARGIN_PERCENT	99u		/* of the bandwidth */
#define BBR3_CWND_GAIN		512u		/* 1/256 */
#define BBR3_UP_CWND_GAIN	576u
#define BBR3_PROBE_RTT_GAIN	128u
#define BBR3_LOSS_EVENTS	6u		/* in a round, to leave Startup */
#define BBR3_DRAIN_ROUNDS	3u
#define BBR3_EXTRA_ROUNDS	5u		/* there are two windows of this length */
#define BBR3_RENO_ROUNDS	63u
#define BBR3_PROBE_RTT_MS	200u
#define BBR3_PROBE_RTT_GAP_MS	5000u
#define BBR3_MIN_RTT_MS		10000u

#define BBR3_PARAMETERS(P)							\
	P(startup_gain, "1/256", 709, 257, 4096, "pacing gain in Startup, 4 ln 2")	\
	P(drain_gain, "1/256", 128, 1, 256, "pacing gain in Drain")		\
	P(up_gain, "1/256", 320, 257, 1024, "pacing gain in ProbeBW_UP")	\
	P(down_gain, "1/256", 230, 1, 256, "pacing gain in ProbeBW_DOWN")	\
	P(beta, "1/1024", 717, 1, 1023,						\
	  "minimum reduction factor of a round trip with losses")		\
	P(loss_thresh, "1/1024", 20, 1, 1023, "share of losses that ends a probe")	\
	P(headroom, "1/1024", 154, 0, 1023,					\
	  "share of the long-term bound that is left to other flows")

CC_PARAMETERS(bbr3, BBR3_PARAMETERS);

#define BBR3_PHASES(P)						\
	P(BBR3_STARTUP, "startup")				\
	P(BBR3_DRAIN, "drain")					\
	P(BBR3_DOWN, "probe_bw_down")				\
	P(BBR3_CRUISE, "probe_bw_cruise")			\
	P(BBR3_REFILL, "probe_bw_refill")			\
	P(BBR3_UP, "probe_bw_up")				\
	P(BBR3_PROBE_RTT, "probe_rtt")

CC_PHASES(bbr3, BBR3_PHASES);

enum {
	BBR3_ACKS_INIT,
	BBR3_ACKS_REFILLING,
	BBR3_ACKS_STARTING,
	BBR3_ACKS_FEEDBACK,
	BBR3_ACKS_STOPPING,
};

struct bbr3 {
	u32 max_bw[2];		/* maxima of this cycle and the previous one, 1/2^24 packets/us */
	u32 bw_latest;		/* maximum of the round */
	u32 bw_shortterm;	/* BBR3_NONE = no bound */
	u32 full_bw;		/* rate when it last grew by a quarter */
	u32 inflight_latest;	/* maximum delivered in a round trip, packets */
	u32 inflight_shortterm;	/* packets, BBR3_NONE = no bound */
	u32 inflight_longterm;	/* packets, BBR3_NONE = no bound */
	u32 min_rtt_us;
	u32 min_rtt_ms;		/* when min_rtt_us was measured */
	u32 probe_rtt_min_us;	/* lowest RTT of five seconds */
	u32 probe_rtt_min_ms;	/* when probe_rtt_min_us was measured */
	u32 probe_rtt_done_ms;	/* end of ProbeRTT, 0 = too much in flight so far */
	u32 up_acked;		/* acknowledged towards the next increase, packets */
	u32 up_acked_per_inc;	/* acknowledged per increase of the long-term bound by one */
	u32 up_rounds;		/* rounds of this Up phase */
	u32 cycle_ms;		/* start of the cycle */
	u32 probe_wait_ms;	/* time from the cycle's start to the next probe */
	u32 rounds_since_up;
	u32 next_round_delivered;	/* tp->delivered that ends the round */
	u32 loss_round_delivered;	/* tp->delivered that ends the round of losses */
	u32 lost_in_round;	/* packets */
	u32 lost_in_loss_round;	/* packets */
	u32 loss_events;	/* ACKs in the round of losses that reported losses */
	u32 full_bw_count;	/* rounds without growth by a quarter */
	u32 drain_rounds;
	u32 extra_rounds;	/* rounds of this window of `extra` */
	u32 prior_cwnd;		/* restored after recovery or ProbeRTT, packets */
	u32 undo_bw_shortterm;
	u32 undo_inflight_shortterm;	/* packets */
	u32 undo_inflight_longterm;	/* packets */
	struct cc_aggregation extra;
	u8 state;		/* BBR3_STARTUP .. BBR3_PROBE_RTT, 0 before init */
	u8 ack_phase;		/* BBR3_ACKS_* */
	u8 undo_state;		/* restored if losses were spurious, 0 = none */
	u8 prior_ca_state;	/* TCP_CA_* at the last ACK */
	bool is_round_start;
	bool is_loss_round_start;
	bool is_full_bw_now;
	bool is_full_bw_reached;
	bool is_idle_restart;
	bool is_loss_in_round;
	bool is_probe_sample;	/* ACKs are for packets of a probe */
	bool is_too_high;	/* the last probe had too many losses */
	bool is_precautionary;	/* so this probe stopped at the long-term bound */
	bool is_probe_rtt_expired;
	bool is_probe_rtt_round_done;
	bool has_rtt;
};

CC_STATE(struct bbr3);

/* ---- results of the model */

CC_INLINE u32 bbr3_max_bw(const struct bbr3 *ca)
{
	return max(ca->max_bw[0], ca->max_bw[1]);
}

CC_INLINE u32 bbr3_bw(const struct bbr3 *ca)
{
	return min(bbr3_max_bw(ca), ca->bw_shortterm);
}

CC_INLINE bool bbr3_in_probe_bw(const struct bbr3 *ca)
{
	return ca->state >= BBR3_DOWN && ca->state <= BBR3_UP;
}

CC_INLINE u32 bbr3_bdp(const struct bbr3 *ca, u32 bw, u32 gain)
{
	if (ca->min_rtt_us == BBR3_NONE)
		return BBR3_INIT_CWND;
	return cc_bdp(bw, ca->min_rtt_us, gain);
}

CC_INLINE u32 bbr3_with_budget(const struct sock *sk, const struct bbr3 *ca, u32 inflight)
{

	inflight = max(max(inflight, 3 * cc_quantum(sk)), BBR3_MIN_CWND);
	return ca->state == BBR3_UP ? inflight + 2 : inflight;
}

CC_INLINE u32 bbr3_headroom_inflight(const struct sock *sk, const struct bbr3 *ca)
{
	u32 most = ca->inflight_longterm;
	u32 headroom = (u32)(((u64)most * cc_params(sk)->headroom) >> 10);

	if (most == BBR3_NONE)
		return BBR3_NONE;
	headroom = max(headroom, 1u);
	return max(most > headroom ? most - headroom : 0, BBR3_MIN_CWND);
}

CC_INLINE u32 bbr3_target_inflight(const struct sock *sk, const struct bbr3 *ca)
{

	return min(bbr3_bdp(ca, bbr3_bw(ca), CC_GAIN_ONE), tcp_snd_cwnd(tcp_sk(sk)));
}

/* ---- resets and entries */

CC_INLINE void bbr3_reset_full_bw(struct bbr3 *ca, u32 bw)
{
	ca->full_bw = bw;
	ca->full_bw_count = 0;
	ca->is_full_bw_now = false;
}

CC_INLINE void bbr3_reset_shortterm(struct bbr3 *ca)
{
	ca->bw_shortterm = BBR3_NONE;
	ca->inflight_shortterm = BBR3_NONE;
}

CC_INLINE void bbr3_save_cwnd(struct sock *sk, struct bbr3 *ca)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	if (ca->prior_ca_state < TCP_CA_Recovery && ca->state != BBR3_PROBE_RTT)
		ca->prior_cwnd = cwnd;
	else
		ca->prior_cwnd = max(ca->prior_cwnd, cwnd);
}

CC_INLINE void bbr3_start_down(struct sock *sk, struct bbr3 *ca)
{

	ca->is_loss_in_round = false;
	ca->bw_latest = 0;
	ca->inflight_latest = 0;
	ca->rounds_since_up = cc_prandom_below(sk, 2);
	ca->probe_wait_ms = 2000 + cc_prandom_below(sk, 1001);
	ca->cycle_ms = cc_now_ms(sk);
	ca->ack_phase = BBR3_ACKS_STOPPING;
	ca->next_round_delivered = tcp_sk(sk)->delivered;
	ca->state = BBR3_DOWN;
}

CC_INLINE void bbr3_start_refill(struct sock *sk, struct bbr3 *ca)
{

	bbr3_reset_shortterm(ca);
	ca->up_rounds = 0;
	ca->up_acked = 0;
	ca->is_precautionary = false;
	ca->ack_phase = BBR3_ACKS_REFILLING;
	ca->next_round_delivered = tcp_sk(sk)->delivered;
	ca->state = BBR3_REFILL;
}

CC_INLINE void bbr3_raise_slope(struct sock *sk, struct bbr3 *ca)
{
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	ca->up_acked_per_inc = max(cwnd >> (ca->up_rounds & 31), 1u);
	ca->up_rounds = min(ca->up_rounds + 1, 30u);
}

CC_INLINE void bbr3_start_up(struct sock *sk, struct bbr3 *ca, u32 bw)
{

	ca->ack_phase = BBR3_ACKS_STARTING;
	ca->next_round_delivered = tcp_sk(sk)->delivered;
	bbr3_reset_full_bw(ca, bw);
	ca->state = BBR3_UP;
	bbr3_raise_slope(sk, ca);
}

/* ---- losses */

CC_INLINE void bbr3_save_upon_loss(struct sock *sk, struct bbr3 *ca)
{

	bbr3_save_cwnd(sk, ca);
	ca->undo_state = 0;
	ca->undo_bw_shortterm = ca->bw_shortterm;
	ca->undo_inflight_shortterm = ca->inflight_shortterm;
	ca->undo_inflight_longterm = ca->inflight_longterm;
}

CC_INLINE bool bbr3_exceeds_thresh(const struct sock *sk, u32 lost, u32 tx_inflight)
{

	return (u64)lost << 10 > (u64)tx_inflight * cc_params(sk)->loss_thresh;
}

CC_INLINE bool bbr3_is_too_high(const struct sock *sk, const struct bbr3 *ca, u32 tx_inflight)
{

	return bbr3_exceeds_thresh(sk, ca->lost_in_round, tx_inflight);
}

/*
 * Data in flight when losses passed the threshold, between the losses that this ACK
 * reports.
 */
CC_INLINE u32 bbr3_inflight_at_loss(const struct sock *sk, const struct bbr3 *ca,
				    u32 tx_inflight, u32 losses)
{
	u32 thresh = cc_params(sk)->loss_thresh;
	u32 size = min(losses, tx_inflight);
	u32 before_it = tx_inflight - size;
	u32 lost_before = ca->lost_in_round > size ? ca->lost_in_round - size : 0;
	u64 allowed = (u64)before_it * thresh, had = (u64)lost_before << 10;

	if (allowed <= had)
		return before_it;
	return before_it + (u32)div_u64(allowed - had, 1024 - thresh);
}

CC_INLINE void bbr3_take_losses(struct sock *sk, struct bbr3 *ca, const struct rate_sample *rs,
				u32 tx_inflight)
{
	u32 losses = rs->losses > 0 ? (u32)rs->losses : 0;

	if (!losses)
		return;
	ca->lost_in_round += losses;
	ca->lost_in_loss_round += losses;
	ca->loss_events++;
	if (!ca->is_loss_in_round) {
		ca->loss_round_delivered = tcp_sk(sk)->delivered;
		bbr3_save_upon_loss(sk, ca);
	}
	ca->is_loss_in_round = true;
	if (!ca->is_probe_sample || !bbr3_is_too_high(sk, ca, tx_inflight))
		return;
	ca->is_too_high = true;
	ca->is_probe_sample = false;	/* only one response per probe */
	if (!rs->is_app_limited) {
		u64 least = (u64)bbr3_target_inflight(sk, ca) * cc_params(sk)->beta;

		ca->inflight_longterm = max(bbr3_inflight_at_loss(sk, ca, tx_inflight, losses),
					    (u32)(least >> 10));
	}
	if (ca->state == BBR3_UP) {
		ca->undo_state = BBR3_UP;
		bbr3_start_down(sk, ca);
	}
}

CC_INLINE void bbr3_adapt_shortterm(struct sock *sk, struct bbr3 *ca)
{
	u32 beta = cc_params(sk)->beta;
	bool is_probing = ca->state == BBR3_STARTUP || ca->state == BBR3_REFILL ||
			  ca->state == BBR3_UP;

	if (is_probing || !ca->is_loss_in_round)
		return;
	if (ca->bw_shortterm == BBR3_NONE)
		ca->bw_shortterm = bbr3_max_bw(ca);
	if (ca->inflight_shortterm == BBR3_NONE)
		ca->inflight_shortterm = tcp_snd_cwnd(tcp_sk(sk));
	ca->bw_shortterm = max(ca->bw_latest, (u32)(((u64)ca->bw_shortterm * beta) >> 10));
	ca->inflight_shortterm = max(ca->inflight_latest,
				     (u32)(((u64)ca->inflight_shortterm * beta) >> 10));
}

/* ---- update of the model at an ACK */

CC_INLINE void bbr3_update_signals(struct sock *sk, struct bbr3 *ca,
				   const struct rate_sample *rs, u32 bw)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	ca->is_loss_round_start = false;
	ca->bw_latest = max(ca->bw_latest, bw);
	ca->inflight_latest = max(ca->inflight_latest, (u32)rs->delivered);
	if (!before(rs->prior_delivered, ca->loss_round_delivered)) {
		ca->loss_round_delivered = tp->delivered;
		ca->is_loss_round_start = true;
	}
	ca->is_round_start = !before(rs->prior_delivered, ca->next_round_delivered);
	if (ca->is_round_start) {
		ca->next_round_delivered = tcp_sk(sk)->delivered;
		ca->rounds_since_up++;
		ca->drain_rounds++;
	}
	if (bw && (bw >= bbr3_max_bw(ca) || !rs->is_app_limited))
		ca->max_bw[0] = max(ca->max_bw[0], bw);
	if (ca->is_loss_round_start) {
		bbr3_adapt_shortterm(sk, ca);
		ca->is_loss_in_round = false;
	}
}

CC_INLINE void bbr3_update_aggregation(struct sock *sk, struct bbr3 *ca,
				       const struct rate_sample *rs)
{
	u32 rounds = ca->is_full_bw_reached ? BBR3_EXTRA_ROUNDS : 1;

	if (ca->is_round_start && ca->extra_rounds + 1 >= rounds) {
		ca->extra_rounds = 0;
		cc_aggregation_next_window(&ca->extra, ca->is_full_bw_reached);
	} else if (ca->is_round_start) {
		ca->extra_rounds++;
	}
	cc_aggregation_take(&ca->extra, sk, bbr3_bw(ca), rs->acked_sacked);
}

CC_INLINE void bbr3_check_full_bw(struct bbr3 *ca, const struct rate_sample *rs, u32 bw)
{
	if (ca->is_full_bw_now || !ca->is_round_start || rs->is_app_limited)
		return;
	if ((u64)bw * 4 >= (u64)ca->full_bw * 5) {
		bbr3_reset_full_bw(ca, bw);
		return;
	}
	ca->is_full_bw_now = ++ca->full_bw_count >= 3;
	ca->is_full_bw_reached |= ca->is_full_bw_now;
}

CC_INLINE void bbr3_check_startup(struct sock *sk, struct bbr3 *ca, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 lost = ca->lost_in_loss_round;

	if (ca->state != BBR3_STARTUP)
		return;
	if (!ca->is_full_bw_reached && ca->is_loss_round_start &&
	    ca->prior_ca_state == TCP_CA_Recovery && ca->loss_events >= BBR3_LOSS_EVENTS &&
	    bbr3_exceeds_thresh(sk, lost, (u32)rs->delivered + lost)) {
		ca->undo_state = BBR3_STARTUP;
		ca->is_full_bw_now = true;
		ca->is_full_bw_reached = true;
		ca->inflight_longterm = max(bbr3_bdp(ca, bbr3_bw(ca), CC_GAIN_ONE),
					    ca->inflight_latest);
	}
	if (!ca->is_full_bw_reached)
		return;
	ca->state = BBR3_DRAIN;
	ca->drain_rounds = 0;
	/* only informative: the BDP at the end of Startup */
	tp->snd_ssthresh = max(bbr3_bdp(ca, bbr3_max_bw(ca), CC_GAIN_ONE), 2u);
}

/* ---- ProbeBW */

/* Returns whether it selected a state. */
CC_INLINE bool bbr3_adapt_longterm(struct sock *sk, struct bbr3 *ca,
				   const struct rate_sample *rs, u32 tx_inflight)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->ack_phase == BBR3_ACKS_STARTING && ca->is_round_start)
		ca->ack_phase = BBR3_ACKS_FEEDBACK;
	if (ca->ack_phase == BBR3_ACKS_STOPPING && ca->is_round_start) {
		ca->is_probe_sample = false;
		ca->ack_phase = BBR3_ACKS_INIT;
		if (bbr3_in_probe_bw(ca) && !rs->is_app_limited) {
			ca->max_bw[1] = ca->max_bw[0];
			ca->max_bw[0] = 0;
		}
		if (bbr3_in_probe_bw(ca) && ca->is_precautionary && !ca->is_too_high) {
			bbr3_start_refill(sk, ca);
			return true;
		}
	}
	if (bbr3_is_too_high(sk, ca, tx_inflight) || ca->inflight_longterm == BBR3_NONE)
		return false;
	ca->inflight_longterm = max(ca->inflight_longterm, tx_inflight);
	if (ca->state != BBR3_UP || !CC_GET(tp, is_cwnd_limited) ||
	    tcp_snd_cwnd(tp) < ca->inflight_longterm)
		return false;
	ca->up_acked += rs->acked_sacked;
	if (ca->up_acked >= ca->up_acked_per_inc) {
		u32 delta = div_u32(ca->up_acked, ca->up_acked_per_inc);

		ca->up_acked -= delta * ca->up_acked_per_inc;
		ca->inflight_longterm = min(ca->inflight_longterm + delta, TCP_INFINITE_SSTHRESH);
	}
	if (ca->is_round_start)
		bbr3_raise_slope(sk, ca);
	return false;
}

CC_INLINE bool bbr3_is_time_to_go_down(struct sock *sk, struct bbr3 *ca, u32 bw)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->is_too_high && tcp_packets_in_flight(tp) >= ca->inflight_longterm) {
		ca->is_precautionary = true;
		return true;
	}
	if (CC_GET(tp, is_cwnd_limited) && tcp_snd_cwnd(tp) >= ca->inflight_longterm) {
		bbr3_reset_full_bw(ca, bw);
		return false;
	}
	return ca->is_full_bw_now;
}

CC_INLINE void bbr3_update_cycle(struct sock *sk, struct bbr3 *ca, const struct rate_sample *rs,
				 u32 bw, u32 tx_inflight)
{
	u32 in_flight = tcp_packets_in_flight(tcp_sk(sk));

	if (!ca->is_full_bw_reached || bbr3_adapt_longterm(sk, ca, rs, tx_inflight))
		return;
	switch (ca->state) {
	case BBR3_DOWN:
	case BBR3_CRUISE:
		if (after(cc_now_ms(sk), ca->cycle_ms + ca->probe_wait_ms) ||
		    ca->rounds_since_up >= min(bbr3_target_inflight(sk, ca), BBR3_RENO_ROUNDS))
			bbr3_start_refill(sk, ca);
		else if (in_flight <= bbr3_headroom_inflight(sk, ca) &&
			 in_flight <= bbr3_with_budget(sk, ca, bbr3_bdp(ca, bbr3_max_bw(ca),
								    CC_GAIN_ONE)))
			ca->state = BBR3_CRUISE;
		break;
	case BBR3_REFILL:
		if (ca->is_round_start) {
			ca->is_probe_sample = true;
			bbr3_start_up(sk, ca, bw);
		}
		break;
	case BBR3_UP:
		if (bbr3_is_time_to_go_down(sk, ca, bw)) {
			ca->is_too_high = false;
			bbr3_start_down(sk, ca);
		}
		break;
	}
}

/* ---- ProbeRTT */

CC_INLINE u32 bbr3_probe_rtt_cwnd(const struct bbr3 *ca)
{
	return max(bbr3_bdp(ca, bbr3_bw(ca), BBR3_PROBE_RTT_GAIN), BBR3_MIN_CWND);
}

CC_INLINE void bbr3_check_probe_rtt_done(struct sock *sk, struct bbr3 *ca)
{
	u32 now_ms = cc_now_ms(sk);

	if (!ca->probe_rtt_done_ms || !after(now_ms, ca->probe_rtt_done_ms))
		return;
	ca->probe_rtt_min_ms = now_ms;
	cc_restore_cwnd(sk, ca->prior_cwnd);
	bbr3_reset_shortterm(ca);
	if (ca->is_full_bw_reached) {
		bbr3_start_down(sk, ca);
		ca->state = BBR3_CRUISE;
	} else {
		ca->state = BBR3_STARTUP;
	}
}

CC_INLINE void bbr3_update_min_rtt(struct sock *sk, struct bbr3 *ca, const struct rate_sample *rs)
{
	u32 now_ms = cc_now_ms(sk);

	ca->is_probe_rtt_expired = after(now_ms, ca->probe_rtt_min_ms + BBR3_PROBE_RTT_GAP_MS);
	if (rs->rtt_us >= 0 &&
	    ((u32)rs->rtt_us < ca->probe_rtt_min_us || ca->is_probe_rtt_expired)) {
		ca->probe_rtt_min_us = (u32)rs->rtt_us;
		ca->probe_rtt_min_ms = now_ms;
	}
	if (ca->probe_rtt_min_us < ca->min_rtt_us ||
	    after(now_ms, ca->min_rtt_ms + BBR3_MIN_RTT_MS)) {
		ca->min_rtt_us = ca->probe_rtt_min_us;
		ca->min_rtt_ms = ca->probe_rtt_min_ms;
	}
}

CC_INLINE void bbr3_check_probe_rtt(struct sock *sk, struct bbr3 *ca, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 in_flight = tcp_packets_in_flight(tp);

	if (ca->state != BBR3_PROBE_RTT && ca->is_probe_rtt_expired && !ca->is_idle_restart) {
		bbr3_save_cwnd(sk, ca);
		ca->state = BBR3_PROBE_RTT;
		ca->probe_rtt_done_ms = 0;
		ca->ack_phase = BBR3_ACKS_STOPPING;
		ca->next_round_delivered = tcp_sk(sk)->delivered;
	}
	if (ca->state == BBR3_PROBE_RTT) {
		/* its samples must not count for the bandwidth */
		tp->app_limited = max(tp->delivered + in_flight, 1u);
		if (!ca->probe_rtt_done_ms && in_flight <= bbr3_probe_rtt_cwnd(ca)) {
			ca->probe_rtt_done_ms = max(cc_now_ms(sk) + BBR3_PROBE_RTT_MS, 1u);
			ca->is_probe_rtt_round_done = false;
			ca->next_round_delivered = tcp_sk(sk)->delivered;
		} else if (ca->probe_rtt_done_ms) {
			if (ca->is_round_start)
				ca->is_probe_rtt_round_done = true;
			if (ca->is_probe_rtt_round_done)
				bbr3_check_probe_rtt_done(sk, ca);
		}
	}
	if (rs->delivered > 0)
		ca->is_idle_restart = false;
}

/* ---- control: pacing rate, window, bursts */

CC_INLINE void bbr3_set_rate(struct sock *sk, struct bbr3 *ca, u32 gain)
{
	u64 rate = cc_rate(sk, bbr3_bw(ca), gain, BBR3_MARGIN_PERCENT);

	if (!ca->has_rtt && tcp_sk(sk)->srtt_us) {
		ca->has_rtt = true;
		sk->sk_pacing_rate = cc_first_rate(sk, cc_params(sk)->startup_gain,
						   BBR3_MARGIN_PERCENT);
	}
	if (ca->is_full_bw_reached || rate > sk->sk_pacing_rate)
		sk->sk_pacing_rate = rate;
}

CC_INLINE u32 bbr3_pacing_gain(const struct sock *sk, const struct bbr3 *ca)
{

	switch (ca->state) {
	case BBR3_STARTUP:
		return cc_params(sk)->startup_gain;
	case BBR3_DRAIN:
		return cc_params(sk)->drain_gain;
	case BBR3_DOWN:
		return cc_params(sk)->down_gain;
	case BBR3_UP:
		return cc_params(sk)->up_gain;
	}
	return CC_GAIN_ONE;
}

CC_INLINE void bbr3_set_cwnd(struct sock *sk, struct bbr3 *ca, const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp), cap = BBR3_NONE, most;
	u32 gain = ca->state == BBR3_UP ? BBR3_UP_CWND_GAIN : BBR3_CWND_GAIN;

	if (ca->state == BBR3_PROBE_RTT)
		gain = BBR3_PROBE_RTT_GAIN;
	most = bbr3_bdp(ca, bbr3_bw(ca), gain) + cc_aggregation_extra(&ca->extra);
	most = bbr3_with_budget(sk, ca, most);
	if (ca->is_full_bw_reached)
		cwnd = min(cwnd + rs->acked_sacked, most);
	else if (cwnd < most || tp->delivered < BBR3_INIT_CWND)
		cwnd += rs->acked_sacked;
	cwnd = max(cwnd, BBR3_MIN_CWND);
	if (ca->state == BBR3_PROBE_RTT)
		cwnd = min(cwnd, bbr3_probe_rtt_cwnd(ca));
	if (ca->state == BBR3_CRUISE || ca->state == BBR3_PROBE_RTT)
		cap = bbr3_headroom_inflight(sk, ca);
	else if (bbr3_in_probe_bw(ca))
		cap = ca->inflight_longterm;
	cap = max(min(cap, ca->inflight_shortterm), BBR3_MIN_CWND);
	tcp_snd_cwnd_set(tp, min(min(cwnd, cap), tp->snd_cwnd_clamp));
}

/* ---- hooks */

CC_PROG_CONG_CONTROL(bbr3_cong_control, struct sock *sk, u32 ack, int flag,
		     const struct rate_sample *rs)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *ca = cc_state(sk);
	u8 ca_state = (u8)CC_GET(inet_csk(sk), icsk_ca_state);
	bool is_sample = rs->delivered >= 0 && rs->interval_us > 0;
	u32 tx_inflight = rs->delivered > 0 ? (u32)rs->delivered : 0, bw = 0;

	(void)ack;
	(void)flag;
	if (!ca)
		return;
	tx_inflight += ca->lost_in_round;
	ca->is_round_start = false;
	ca->is_loss_round_start = false;
	if (is_sample) {
		bw = cc_bandwidth(rs);
		bbr3_update_signals(sk, ca, rs, bw);
		bbr3_update_aggregation(sk, ca, rs);
	}
	bbr3_take_losses(sk, ca, rs, tx_inflight);
	if (ca->prior_ca_state >= TCP_CA_Recovery && ca_state < TCP_CA_Recovery)
		cc_restore_cwnd(sk, ca->prior_cwnd);
	if (is_sample)
		bbr3_check_full_bw(ca, rs, bw);
	bbr3_check_startup(sk, ca, rs);
	if (ca->state == BBR3_DRAIN &&
	    (tcp_packets_in_flight(tp) <=
	     bbr3_with_budget(sk, ca, bbr3_bdp(ca, bbr3_bw(ca), CC_GAIN_ONE)) ||
	     ca->drain_rounds > BBR3_DRAIN_ROUNDS))
		bbr3_start_down(sk, ca);
	if (is_sample)
		bbr3_update_cycle(sk, ca, rs, bw, tx_inflight);
	bbr3_update_min_rtt(sk, ca, rs);
	bbr3_check_probe_rtt(sk, ca, rs);
	if (ca->is_loss_round_start) {
		ca->bw_latest = bw;
		ca->inflight_latest = (u32)rs->delivered;
		ca->lost_in_loss_round = 0;
		ca->loss_events = 0;
	}
	if (ca->is_round_start)
		ca->lost_in_round = 0;
	ca->prior_ca_state = ca_state;
	bbr3_set_rate(sk, ca, bbr3_pacing_gain(sk, ca));
	bbr3_set_cwnd(sk, ca, rs);
	cc_phase(sk, ca->state);
}

CC_PROG(void, bbr3_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *ca = cc_state(sk);

	if (!ca)
		return;
	*ca = (struct bbr3){ .state = BBR3_STARTUP };
	tp->snd_ssthresh = TCP_INFINITE_SSTHRESH;
	ca->min_rtt_us = tp->srtt_us ? tp->srtt_us >> 3 : BBR3_NONE;
	ca->probe_rtt_min_us = ca->min_rtt_us;
	ca->min_rtt_ms = cc_now_ms(sk);
	ca->probe_rtt_min_ms = ca->min_rtt_ms;
	ca->inflight_longterm = BBR3_NONE;
	cc_aggregation_restart(&ca->extra, tp->tcp_mstamp);
	ca->next_round_delivered = tp->delivered;
	ca->loss_round_delivered = tp->delivered;
	bbr3_reset_shortterm(ca);
	ca->has_rtt = tp->srtt_us != 0;
	sk->sk_pacing_rate = cc_first_rate(sk, cc_params(sk)->startup_gain, BBR3_MARGIN_PERCENT);
	cc_phase(sk, ca->state);
	if (sk->sk_pacing_status == SK_PACING_NONE)
		sk->sk_pacing_status = SK_PACING_NEEDED;
}

CC_PROG(void, bbr3_cwnd_event, struct sock *sk, enum tcp_ca_event event)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct bbr3 *ca = cc_state(sk);

	if (!ca || event != CA_EVENT_TX_START || !tp->app_limited)
		return;
	ca->is_idle_restart = true;
	cc_aggregation_restart(&ca->extra, tp->tcp_mstamp);
	if (bbr3_in_probe_bw(ca))
		bbr3_set_rate(sk, ca, CC_GAIN_ONE);
	else if (ca->state == BBR3_PROBE_RTT)
		bbr3_check_probe_rtt_done(sk, ca);
	cc_phase(sk, ca->state);
}

CC_PROG(u32, bbr3_ssthresh, struct sock *sk)
{
	struct bbr3 *ca = cc_state(sk);

	if (ca)
		bbr3_save_upon_loss(sk, ca);
	return tcp_sk(sk)->snd_ssthresh;
}

CC_PROG(u32, bbr3_undo_cwnd, struct sock *sk)
{
	struct bbr3 *ca = cc_state(sk);

	if (!ca)
		return tcp_reno_undo_cwnd(sk);
	ca->is_loss_in_round = false;
	bbr3_reset_full_bw(ca, 0);
	ca->bw_shortterm = max(ca->bw_shortterm, ca->undo_bw_shortterm);
	ca->inflight_shortterm = max(ca->inflight_shortterm, ca->undo_inflight_shortterm);
	ca->inflight_longterm = max(ca->inflight_longterm, ca->undo_inflight_longterm);
	if (ca->undo_state == BBR3_STARTUP && ca->state != BBR3_STARTUP) {
		ca->is_full_bw_reached = false;
		if (ca->state != BBR3_PROBE_RTT)
			ca->state = BBR3_STARTUP;
	} else if (ca->undo_state == BBR3_UP && ca->state != BBR3_UP &&
		   ca->state != BBR3_PROBE_RTT) {
		bbr3_start_refill(sk, ca);
	}
	ca->undo_state = 0;
	cc_phase(sk, ca->state);
	return max(tcp_snd_cwnd(tcp_sk(sk)), ca->prior_cwnd);
}

CC_PROG(void, bbr3_set_state, struct sock *sk, u8 new_state)
{
	struct bbr3 *ca = cc_state(sk);

	/* bbr3_ssthresh() saved the state before; the window is one packet now */
	if (ca && new_state == TCP_CA_Loss)
		ca->prior_ca_state = TCP_CA_Loss;
}

CC_PROG(u32, bbr3_min_tso_segs, struct sock *sk)
{
	(void)sk;
	return 2;	/* minimum of SetSendQuantum() */
}

/* Room for a lost window and its retransmission, while new data is sent. */
CC_PROG(u32, bbr3_sndbuf_expand, struct sock *sk)
{
	(void)sk;
	return 3;
}

CC_OPS(bbr3) = {
	.init		= CC_CB(bbr3_init),
	.cong_control	= CC_CB(bbr3_cong_control),
	.ssthresh	= CC_CB(bbr3_ssthresh),
	.undo_cwnd	= CC_CB(bbr3_undo_cwnd),
	.set_state	= CC_CB(bbr3_set_state),
	.cwnd_event	= CC_CB(bbr3_cwnd_event),
	.min_tso_segs	= CC_CB(bbr3_min_tso_segs),
	.sndbuf_expand	= CC_CB(bbr3_sndbuf_expand),
	.flags		= TCP_CONG_NON_RESTRICTED,
	.name		= "bbr3",
};

CC_DESCRIBE(bbr3,
	.summary = "sends at the measured bandwidth; losses limit the data in flight (2023)",
	CC_HAS_PARAMETERS(bbr3),
	CC_HAS_PHASES(bbr3)
);
