/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Functions that algorithms share: access to the socket, clocks, and the standard
 * window rules with their kernel names. Both builds run this code; the kernel's own
 * functions with these names are not called. Included by cc.h.
 */
#ifndef CC_TCP_H
#define CC_TCP_H

/* Each struct begins with the one below it, so these casts are the kernel's. */
CC_INLINE struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

CC_INLINE struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

/*
 * The algorithm's private state: ICSK_CA_PRIV_SIZE bytes, zero at first. For an
 * active open, the hooks of an ACK are called for the SYN before init.
 */
CC_INLINE void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

CC_INLINE u32 tcp_snd_cwnd(const struct tcp_sock *tp)
{
	return tp->snd_cwnd;
}

CC_INLINE void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 packets)
{
	tp->snd_cwnd = packets;
}

/* ---- clocks and randomness */

/* The kernel's tick counter, tcp_jiffies32; wraps. */
CC_INLINE u32 cc_jiffies32(const struct sock *sk)
{
	return CC_PORT_JIFFIES32(tcp_sk(sk));
}

/* 32 random bits; in the simulator, from the flow's own seeded stream. */
CC_INLINE u32 cc_prandom_u32(struct sock *sk)
{
	return CC_PORT_PRANDOM_U32(tcp_sk(sk));
}

/* Uniformly distributed below limit, like prandom_u32_max(). */
CC_INLINE u32 cc_prandom_below(struct sock *sk, u32 limit)
{
	return (u32)(((u64)cc_prandom_u32(sk) * limit) >> 32);
}

/* Rounds up, like the kernel, so that a wait is never too short. */
CC_INLINE u32 usecs_to_jiffies(u32 us)
{
	u32 tick_us = USEC_PER_SEC / HZ;

	return us / tick_us + (us % tick_us != 0);
}

CC_INLINE u32 msecs_to_jiffies(u32 ms)
{
	return (u32)(((u64)ms * HZ + MSEC_PER_SEC - 1) / MSEC_PER_SEC);
}

CC_INLINE u32 jiffies_to_usecs(u32 ticks)
{
	return ticks * (USEC_PER_SEC / HZ);
}

CC_INLINE u32 jiffies_to_msecs(u32 ticks)
{
	return ticks * (MSEC_PER_SEC / HZ);
}

/* Microseconds from then to now; 0 if then is later. */
CC_INLINE u32 tcp_stamp_us_delta(u64 now, u64 then)
{
	return now > then ? (u32)(now - then) : 0;
}

/* Our timestamp clock (RFC 7323) in ms, which rcv_tsecr echoes. */
CC_INLINE u32 tcp_time_stamp(const struct tcp_sock *tp)
{
	return (u32)div_u64(tp->tcp_mstamp, USEC_PER_MSEC);
}

/* ---- state of the connection */

/* Lowest RTT of the last minutes, us; ~0 before the first sample. */
CC_INLINE u32 tcp_min_rtt(const struct tcp_sock *tp)
{
	return CC_PORT_MIN_RTT_US(tp);
}

/* Packets that are no longer in the network: sacked or lost. */
CC_INLINE u32 tcp_left_out(const struct tcp_sock *tp)
{
	return tp->sacked_out + tp->lost_out;
}

CC_INLINE u32 tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tcp_left_out(tp) + tp->retrans_out;
}

CC_INLINE bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tcp_snd_cwnd(tp) < tp->snd_ssthresh;
}

/* The threshold after an idle period: at least 3/4 of the window. */
CC_INLINE u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u32 state = (u32)CC_GET(inet_csk(sk), icsk_ca_state);

	if (state == TCP_CA_CWR || state == TCP_CA_Recovery)
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tcp_snd_cwnd(tp) >> 1) + (tcp_snd_cwnd(tp) >> 2));
}

/* Whether no reduction has set the threshold yet. */
CC_INLINE bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

/*
 * Whether the window limited the sender, a condition for growth (RFC 7661). In slow
 * start, half a window in flight is enough, because a sender with bursts would
 * otherwise never double it.
 */
CC_INLINE bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (CC_GET(tp, is_cwnd_limited))
		return true;
	if (tcp_in_slow_start(tp))
		return tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
	return false;
}

/* Tells the recorder the current phase, of the algorithm's CC_PHASES. */
CC_INLINE void cc_phase(struct sock *sk, u32 phase)
{
	CC_PORT_PHASE(tcp_sk(sk), phase);
}

/* ---- functions of the stack */

/*
 * Sends an ACK up to rcv_nxt, with ECE according to ecn_flags; a delayed ACK stays
 * pending. In the kernel, this is __tcp_send_ack.
 */
CC_INLINE void cc_send_ack(struct sock *sk, u32 rcv_nxt)
{
	CC_PORT_SEND_ACK(sk, rcv_nxt);
}

/*
 * Reduces the window to ssthresh without a loss, like an echoed congestion mark;
 * only in cong_avoid. True: the stack performs the reduction, calls the ssthresh
 * hook, and reports CA_EVENT_COMPLETE_CWR at its end. False: the reduction is
 * complete, because the running kernel does not let a BPF program call
 * tcp_enter_cwr.
 */
CC_INLINE bool cc_enter_cwr(struct sock *sk, u32 ssthresh)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (CC_PORT_ENTER_CWR(sk))
		return true;
	tp->snd_ssthresh = ssthresh;
	tcp_snd_cwnd_set(tp, min(tcp_snd_cwnd(tp), ssthresh));
	return false;
}

/* ---- standard window rules, RFC 5681 section 3.1 */

/*
 * Adds a packet for each acknowledged packet, up to the threshold. Returns the
 * number of acknowledged packets that are left for congestion avoidance.
 */
CC_INLINE u32 tcp_slow_start(struct tcp_sock *tp, u32 acked)
{
	u32 cwnd = min(tcp_snd_cwnd(tp) + acked, tp->snd_ssthresh);

	acked -= cwnd - tcp_snd_cwnd(tp);
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
	return acked;
}

/* Adds a packet for every w acknowledged packets. */
CC_INLINE void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked)
{
	u32 cwnd = tcp_snd_cwnd(tp);
	u32 count = tp->snd_cwnd_cnt;

	w = max(w, 1u);
	/* credit from a larger w counts as one packet, not as many */
	if (count >= w) {
		count = 0;
		cwnd++;
	}
	count += acked;
	if (count >= w) {
		u32 packets = count / w;

		count -= packets * w;
		cwnd += packets;
	}
	tp->snd_cwnd_cnt = count;
	tcp_snd_cwnd_set(tp, min(cwnd, tp->snd_cwnd_clamp));
}

CC_INLINE void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	(void)ack;
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

/* Half of the window, at least two packets. */
CC_INLINE u32 tcp_reno_ssthresh(struct sock *sk)
{
	return max(tcp_snd_cwnd(tcp_sk(sk)) >> 1, 2u);
}

/* The window to restore when a reduction proves spurious. */
CC_INLINE u32 tcp_reno_undo_cwnd(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return max(tcp_snd_cwnd(tp), tp->prior_cwnd);
}

#endif
