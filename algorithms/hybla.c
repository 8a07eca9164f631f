// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Hybla, as Linux 6.1 behaves.
 *
 * The rate of Reno grows with 1 / RTT^2, which is too slow on satellite paths. Hybla
 * grows on a long path by as many packets per second as Reno on a path with RTT0 =
 * 25 ms: with rho = RTT / RTT0 (at least 1), each ACK adds 2^rho - 1 packets in slow
 * start and rho^2 / cwnd packets after slow start. The first window is rho packets.
 *
 *   +----------------+   cwnd >= ssthresh   +----------------------+
 *   | slow start     |--------------------->| congestion avoidance |
 *   | 2^rho - 1      |                      | rho^2 / cwnd         |
 *   +----------------+                      +----------------------+
 *         ^     timeout: cwnd = 1, ssthresh = half  |    ^  | loss: cwnd =
 *         +-----------------------------------------+    +--+ ssthresh = half
 *
 * Differs from Reno: the steps of growth, which apply to each ACK and not to each
 * packet. During the recovery from a loss, Hybla behaves like Reno.
 *
 * Paper: C. Caini, R. Firrincieli, "TCP Hybla: A TCP Enhancement for Heterogeneous
 * Networks", International Journal of Satellite Communications and Networking 22(5),
 * 2004. The paper also paces packets and estimates the bandwidth to set the first
 * ssthresh; Linux does neither. rho is updated when the smoothed RTT reaches a new
 * minimum.
 */
#include "cc.h"

/* Growth is counted in 1/128 packet. */
#define HYBLA_SHIFT		7
#define HYBLA_ONE		(1u << HYBLA_SHIFT)

/* rho is in 1/8, rho^2 in 1/64. */
#define HYBLA_RHO_SHIFT		3
#define HYBLA_RHO_ONE		(1u << HYBLA_RHO_SHIFT)

/* 2^16 packets per ACK are sufficient. */
#define HYBLA_RHO_LARGEST	16u

/* Maximum window, packets. */
#define HYBLA_CWND_MAX		65535u

#define HYBLA_PARAMETERS(P)							\
	P(rtt0, "ms", 25, 1, 60000,						\
	  "RTT of the reference path whose growth Hybla imitates")		\
	CC_SLOW_START_PARAMETERS(P, CC_SLOW_START_PLAIN)

CC_PARAMETERS(hybla, HYBLA_PARAMETERS);

#define HYBLA_PHASES(P)								\
	P(HYBLA_SLOW_START, "slow_start")					\
	P(HYBLA_AVOIDANCE, "avoidance")						\
	P(HYBLA_RENO, "reno")

CC_PHASES(hybla, HYBLA_PHASES);

/* 2^(n/8) in 1/128; a test recomputes them. */
CC_TABLE u32 hybla_powers[HYBLA_RHO_ONE] = { 128, 139, 152, 165, 181, 197, 215, 234 };

struct hybla {
	u32 rho;		/* RTT / RTT0, 1/8, 0 = not known yet */
	u32 srtt_min;		/* lowest smoothed RTT, us << 3 */
	u32 credit;		/* growth not yet applied to the window, 1/128 packet */
	bool is_repairing;	/* a loss is being repaired */
	struct cc_slow_start start;
};

CC_PRIV_CHECK(struct hybla);
CC_STATE(struct cc_search);

CC_INLINE void hybla_update_rho(struct sock *sk)
{
	struct hybla *ca = inet_csk_ca(sk);
	/* srtt_us already has the scale of rho */
	u32 rho = div_u32(tcp_sk(sk)->srtt_us, cc_params(sk)->rtt0 * USEC_PER_MSEC);

	ca->rho = max(rho, HYBLA_RHO_ONE);
	ca->srtt_min = tcp_sk(sk)->srtt_us;
}

CC_PROG(void, hybla_init, struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);

	*ca = (struct hybla){ .credit = 0 };
	hybla_update_rho(sk);
	tcp_snd_cwnd_set(tp, min(min(ca->rho >> HYBLA_RHO_SHIFT, HYBLA_CWND_MAX),
				 tp->snd_cwnd_clamp));
	cc_slow_start_restart(sk, &ca->start, CC_SEARCH(sk), cc_params(sk)->slow_start);
}

/* Growth per ACK, in 1/128 packet. */
CC_INLINE u32 hybla_increment(const struct sock *sk, u32 cwnd, bool in_slow_start)
{
	const struct hybla *ca = inet_csk_ca(sk);
	u32 whole = min(ca->rho >> HYBLA_RHO_SHIFT, HYBLA_RHO_LARGEST);
	u64 square;

	if (in_slow_start)
		return (hybla_powers[ca->rho & (HYBLA_RHO_ONE - 1)] << whole) - HYBLA_ONE;
	square = (u64)ca->rho * ca->rho << (HYBLA_SHIFT - 2 * HYBLA_RHO_SHIFT);
	return (u32)min(div_u64(square, cwnd), (u64)HYBLA_CWND_MAX << HYBLA_SHIFT);
}

CC_PROG(void, hybla_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct hybla *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tp);
	bool in_slow_start = tcp_in_slow_start(tp);
	u32 packets, increment;

	(void)ack;
	if (tp->srtt_us < ca->srtt_min)
		hybla_update_rho(sk);
	if (!tcp_is_cwnd_limited(sk))
		return;
	if (ca->is_repairing) {
		cc_phase(sk, HYBLA_RENO);
		cc_slow_start_reno(sk, &ca->start, cc_params(sk)->slow_start, acked);
		return;
	}
	cc_phase(sk, in_slow_start ? HYBLA_SLOW_START : HYBLA_AVOIDANCE);
	if (in_slow_start && cc_slow_start_holds(&ca->start, cc_params(sk)->slow_start))
		return;

	increment = hybla_increment(sk, cwnd, in_slow_start);
	if (in_slow_start)
		increment >>= cc_slow_start_growth_shift(sk, &ca->start, cc_params(sk)->slow_start);
	ca->credit += increment;
	packets = ca->credit >> HYBLA_SHIFT;
	ca->credit &= HYBLA_ONE - 1;

	/* a window so large that its growth rounds to 0 grows like Reno's */
	if (increment < HYBLA_ONE)
		tp->snd_cwnd_cnt++;
	if (packets)
		tp->snd_cwnd_cnt = 0;
	if (!increment && tp->snd_cwnd_cnt >= cwnd) {
		packets = 1;
		tp->snd_cwnd_cnt = 0;
	}
	cwnd += packets;
	if (in_slow_start)
		cwnd = min(cwnd, tp->snd_ssthresh);
	tcp_snd_cwnd_set(tp, min(min(cwnd, HYBLA_CWND_MAX), tp->snd_cwnd_clamp));
}

CC_PROG(void, hybla_pkts_acked, struct sock *sk, const struct ack_sample *sample)
{
	struct hybla *ca = inet_csk_ca(sk);

	cc_slow_start_take(sk, &ca->start, CC_SEARCH(sk), CC_SAVED(sk),
			   cc_params(sk)->slow_start, sample);
}

CC_PROG(u32, hybla_ssthresh, struct sock *sk)
{
	struct hybla *ca = inet_csk_ca(sk);

	return cc_slow_start_ssthresh(sk, &ca->start, cc_params(sk)->slow_start,
				      tcp_reno_ssthresh(sk));
}

CC_PROG(u32, hybla_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_PROG(void, hybla_set_state, struct sock *sk, u8 new_state)
{
	struct hybla *ca = inet_csk_ca(sk);

	ca->is_repairing = new_state != TCP_CA_Open;
}

CC_OPS(hybla) = {
	.init		= CC_CB(hybla_init),
	.ssthresh	= CC_CB(hybla_ssthresh),
	.cong_avoid	= CC_CB(hybla_cong_avoid),
	.set_state	= CC_CB(hybla_set_state),
	.undo_cwnd	= CC_CB(hybla_undo_cwnd),
	.pkts_acked	= CC_CB(hybla_pkts_acked),
	.name		= "hybla",
};

CC_DESCRIBE(hybla,
	.summary = "on long paths, grows as fast in packets per second as on a path of 25 ms",
	CC_HAS_PARAMETERS(hybla),
	CC_HAS_PHASES(hybla)
);
