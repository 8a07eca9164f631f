/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The contract of a congestion control algorithm.
 *
 * One source file has two builds: the simulator's (any C compiler) and the running
 * kernel's (clang -target bpf, a struct_ops object). An algorithm includes only
 * this file; names and meanings are those of the Linux kernel.
 *
 *   native  crates/cc/src/sock.rs has the same structs; a test compares sizes and
 *           offsets.
 *   bpf     only the names matter: libbpf relocates each field (CO-RE).
 *
 * An algorithm may write only what the kernel lets a BPF program write: snd_cwnd,
 * snd_ssthresh, snd_cwnd_cnt, snd_cwnd_stamp, ecn_flags, app_limited,
 * sk_pacing_rate, sk_pacing_status, icsk_ack.pending and its own state, which is
 * the 104 bytes of icsk_ca_priv or the 256 bytes of CC_STATE.
 *
 * The order of an algorithm's file: header comment, constants, CC_PARAMETERS,
 * CC_PHASES, its state and CC_PRIV_CHECK or CC_STATE, hooks (CC_PROG), CC_OPS (the
 * table of hooks), CC_DESCRIBE.
 */
#ifndef CC_H
#define CC_H

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef signed short s16;
typedef signed int s32;
typedef signed long long s64;
#ifndef __cplusplus
typedef _Bool bool;
#endif
#define true 1
#define false 0
#define NULL ((void *)0)

#define CC_INLINE static inline __attribute__((always_inline, unused))

#define ICSK_CA_PRIV_SIZE	104	/* bytes of private state per socket */
#define CC_STATE_BYTES		256	/* bytes of CC_STATE per socket */
#define TCP_CA_NAME_MAX		16	/* including the NUL */
#define TCP_INFINITE_SSTHRESH	0x7fffffffu

#define USEC_PER_SEC		1000000u
#define USEC_PER_MSEC		1000u
#define MSEC_PER_SEC		1000u

/* states of the ACK state machine: icsk_ca_state and the argument of set_state */
enum tcp_ca_state {
	TCP_CA_Open,
	TCP_CA_Disorder,
	TCP_CA_CWR,
	TCP_CA_Recovery,
	TCP_CA_Loss,
};

/* argument of cwnd_event */
enum tcp_ca_event {
	CA_EVENT_TX_START,	/* first transmission with nothing in flight */
	CA_EVENT_CWND_RESTART,	/* the window restarts after idling */
	CA_EVENT_COMPLETE_CWR,	/* the reduction of a recovery is complete */
	CA_EVENT_LOSS,		/* retransmission timeout */
	CA_EVENT_ECN_NO_CE,	/* received a packet without a congestion mark */
	CA_EVENT_ECN_IS_CE,	/* received a packet with a congestion mark */
};

/* argument of in_ack_event */
enum tcp_ca_ack_event_flags {
	CA_ACK_SLOWPATH = 1,
	CA_ACK_WIN_UPDATE = 2,
	CA_ACK_ECE = 4,
};

/* tcp_congestion_ops.flags */
enum {
	TCP_CONG_NON_RESTRICTED = 1,
	TCP_CONG_NEEDS_ECN = 2,
#ifdef __bpf__	/* kernels before 7.0 refuse them, so that an algorithm gets RFC 3168 there */
	TCP_CONG_NEEDS_ACCECN = TCP_CONG_NEEDS_ECN,
	TCP_CONG_ECT_1_NEGOTIATION = 0,
#else
	TCP_CONG_NEEDS_ACCECN = 4,	/* RFC 9768 */
	TCP_CONG_ECT_1_NEGOTIATION = 8,	/* with accurate ECN, send ECT(1) */
#endif
};

/* sk_pacing_status */
enum {
	SK_PACING_NONE,
	SK_PACING_NEEDED,
	SK_PACING_FQ,
};

/* ecn_flags */
enum {
	TCP_ECN_OK = 1,
	TCP_ECN_QUEUE_CWR = 2,
	TCP_ECN_DEMAND_CWR = 4,
	TCP_ECN_SEEN = 8,
	TCP_ECN_MODE_ACCECN = 16,	/* RFC 9768, Linux 6.18 */
};

/* icsk_ack.pending, a set of these */
enum {
	ICSK_ACK_SCHED = 1,	/* an ACK is pending */
	ICSK_ACK_TIMER = 2,	/* its timer is running */
	ICSK_ACK_PUSHED = 4,	/* the received data completed a write (PSH) */
	ICSK_ACK_NOW = 16,	/* it must be sent immediately */
};

/*
 * A port defines
 *   CC_PORT_STRUCTS_BEGIN, _END	around the structs that mirror the kernel's
 *   CC_PORT_BIT(type, name, width)	a field that is a bitfield in the kernel
 *   CC_PORT_SIM(field)			a field that only the simulator has
 *   CC_PORT_KERNEL(field)		a field that only the kernel has
 *   CC_GET(pointer, field)		reads a CC_PORT_BIT field
 *   CC_PROG, CC_PROG_CONG_CONTROL, CC_CB, CC_OPS, CC_DESCRIBE, CC_TABLE
 *   CC_PORT_PARAMETERS(algorithm, LIST)	defines cc_params(sk)
 *   CC_PORT_STATES, CC_PORT_STATE(sk)	where the states of CC_STATE are
 *   CC_PORT_HZ, CC_PORT_JIFFIES32(tp), CC_PORT_PRANDOM_U32(tp),
 *   CC_PORT_MIN_RTT_US(tp), CC_PORT_PHASE(tp, value)
 *   CC_PORT_SEND_ACK(sk, rcv_nxt), CC_PORT_ENTER_CWR(sk)
 */
#ifdef __bpf__
#include "../port/bpf.h"
#else
#include "../port/native.h"
#endif

#define HZ CC_PORT_HZ			/* ticks of the kernel's clock per second */

/* One sample of a windowed minimum or maximum. */
struct minmax_sample {
	u32 t;		/* time, in the caller's unit */
	u32 v;		/* value */
};

/* Best, second best and third best value of a window, in order of time. */
struct minmax {
	struct minmax_sample s[3];
};

CC_PORT_STRUCTS_BEGIN

struct sock {
	unsigned CC_PORT_LONG sk_pacing_rate;		/* bytes/s, ~0 = unlimited */
	unsigned CC_PORT_LONG sk_max_pacing_rate;	/* bytes/s */
	u32 sk_pacing_status;			/* SK_PACING_* */
	u32 sk_gso_max_size;			/* maximum burst, bytes */
	u8 sk_pacing_shift;			/* burst = rate >> shift, bytes */
};

struct inet_sock {
	struct sock sk;
};

struct inet_connection_sock {
	struct inet_sock icsk_inet;
	CC_PORT_BIT(u8, icsk_ca_state, 5);	/* TCP_CA_* */
	u8 icsk_retransmits;			/* consecutive timeouts */
	struct {
		u8 pending;			/* ICSK_ACK_* */
	} icsk_ack;
	u64 icsk_ca_priv[ICSK_CA_PRIV_SIZE / sizeof(u64)];
};

struct tcp_options_received {
	CC_PORT_BIT(u8, saw_tstamp, 1);		/* last segment had a timestamp */
	u32 rcv_tsval;				/* ms of the peer's clock */
	u32 rcv_tsecr;				/* ms of our clock, echoed */
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	u64 tcp_mstamp;		/* time of the segment being processed, us */
	u64 tcp_clock_cache;	/* the same time, ns */
	u64 tcp_wstamp_ns;	/* earliest departure of the next paced segment, ns */
	u64 delivered_mstamp;	/* when delivered last grew, us */
	u64 first_tx_mstamp;	/* start of the flight being sampled, us */
	u64 bytes_acked;
	CC_PORT_SIM(const void *cc_params;)
	CC_PORT_SIM(u64 cc_random;)
	CC_PORT_SIM(u32 cc_jiffies32;)
	CC_PORT_SIM(u32 cc_ack_rcv_nxt;)
	u32 snd_cwnd;		/* congestion window, packets */
	u32 snd_cwnd_cnt;	/* linear increase counter, packets */
	u32 snd_cwnd_clamp;	/* upper bound of snd_cwnd, packets */
	u32 snd_ssthresh;	/* slow start threshold, packets */
	u32 prior_cwnd;		/* window before the reduction, packets */
	u32 snd_cwnd_stamp;	/* jiffies */
	u32 snd_cwnd_used;	/* packets */
	u32 snd_una;		/* first unacknowledged sequence number */
	u32 snd_nxt;		/* next sequence number to send */
	u32 high_seq;		/* snd_nxt when recovery began */
	u32 snd_wnd;		/* peer's receive window, bytes */
	u32 packets_out;	/* sent and not cumulatively acknowledged, packets */
	u32 retrans_out;	/* retransmitted and in flight, packets */
	u32 sacked_out;		/* reported by SACK or duplicate ACKs, packets */
	u32 lost_out;		/* marked lost, packets */
	u32 max_packets_out;	/* largest packets_out since cwnd_usage_seq */
	u32 cwnd_usage_seq;
	u32 mss_cache;		/* payload of a full segment, bytes */
	CC_PORT_SIM(u32 advmss;)
	CC_PORT_KERNEL(u16 advmss;)
	u32 srtt_us;		/* smoothed RTT << 3, us */
	u32 mdev_us;		/* mean deviation of the RTT << 2, us */
	CC_PORT_SIM(u32 rtt_min_us;)
	CC_PORT_KERNEL(struct minmax rtt_min;)	/* tcp_min_rtt() reads this or rtt_min_us */
	u32 delivered;		/* packets, total */
	u32 delivered_ce;	/* of these with a congestion mark */
	u32 lost;		/* packets marked lost, total */
	u32 app_limited;	/* delivered at which the limited flight ends, or 0 */
	u32 total_retrans;	/* packets, total */
	u32 reordering;		/* packets */
	u32 rcv_nxt;
	u32 lsndtime;		/* when data was last sent, jiffies */
	struct tcp_options_received rx_opt;
	CC_PORT_BIT(u8, is_cwnd_limited, 1);
	u8 ecn_flags;		/* TCP_ECN_* */
	CC_PORT_SIM(u8 cc_phase;)
	CC_PORT_SIM(u8 cc_requests;)
	CC_PORT_SIM(u64 cc_state[CC_STATE_BYTES / sizeof(u64)];)
};

struct ack_sample {
	u32 pkts_acked;		/* packets this ACK acknowledged or sacked */
	s32 rtt_us;		/* its RTT, -1 = none */
	u32 in_flight;		/* bytes in flight when the packet was sent, itself included */
};

struct rate_sample {
	u64 prior_mstamp;	/* start of the sample, us */
	u32 prior_delivered;	/* tp->delivered at the start */
	u32 prior_delivered_ce;	/* tp->delivered_ce at the start */
	s32 delivered;		/* packets over the interval, -1 = no sample */
	s32 delivered_ce;	/* of these with a congestion mark */
	CC_PORT_LONG interval_us;	/* length of the sample, -1 = no sample */
	u32 snd_interval_us;	/* its send phase, us */
	u32 rcv_interval_us;	/* its ACK phase, us */
	CC_PORT_LONG rtt_us;		/* RTT of the last delivered packet, -1 = none */
	int losses;		/* packets newly marked lost */
	u32 acked_sacked;	/* packets newly acknowledged or sacked */
	u32 prior_in_flight;	/* packets in flight before this ACK */
	u32 last_end_seq;
	u8 is_app_limited;
	u8 is_retrans;
	u8 is_ack_delayed;
};

/*
 * The hooks: H(result, name, arguments), in the order of their table. ssthresh,
 * undo_cwnd and either cong_avoid or cong_control are required. cong_control sets
 * window and rate alone; the stack does not change them.
 */
#define CC_HOOKS(H)								\
	H(u32, ssthresh, (struct sock *sk))					\
	H(void, cong_avoid, (struct sock *sk, u32 ack, u32 acked))		\
	H(void, set_state, (struct sock *sk, u8 new_state))			\
	H(void, cwnd_event, (struct sock *sk, enum tcp_ca_event event))	\
	H(void, in_ack_event, (struct sock *sk, u32 flags))			\
	H(void, pkts_acked, (struct sock *sk, const struct ack_sample *sample))	\
	H(u32, min_tso_segs, (struct sock *sk))					\
	H(void, cong_control, (struct sock *sk, u32 ack, int flag,		\
			       const struct rate_sample *rs))			\
	H(u32, undo_cwnd, (struct sock *sk))					\
	H(u32, sndbuf_expand, (struct sock *sk))				\
	H(void, init, (struct sock *sk))					\
	H(void, release, (struct sock *sk))

#define CC_HOOK_POINTER(result, name, arguments) result (*name) arguments;

struct tcp_congestion_ops {
	CC_HOOKS(CC_HOOK_POINTER)
	u32 flags;			/* TCP_CONG_* */
	char name[TCP_CA_NAME_MAX];
};

CC_PORT_STRUCTS_END

/* A parameter as CC_PARAMETERS declares it; all values are u32. */
struct cc_parameter {
	const char *name;
	const char *unit;	/* empty for a plain number */
	const char *doc;	/* its purpose, in one line */
	u32 value;		/* default */
	u32 low, high;		/* bounds, inclusive */
};

#define CC_ABI 1	/* version of struct cc_description and of the structs above */

/* The simulator's description of an algorithm, in addition to its hooks. */
struct cc_description {
	u32 abi;		/* CC_ABI */
	u32 parameter_count;
	u32 phase_count;
	u32 tcp_sock_bytes;	/* sizeof(struct tcp_sock) at compile time */
	const struct tcp_congestion_ops *ops;
	const char *summary;	/* one line */
	const char *aliases;	/* separated by spaces, or NULL */
	const struct cc_parameter *parameters;
	const char *const *phases;
};

/*
 * Parameters. An algorithm lists them once,
 *
 *	#define CUBIC_PARAMETERS(P)					\
 *		P(beta, "1/1024", 717, 1, 1023, "window after a loss")	\
 *		...
 *	CC_PARAMETERS(cubic, CUBIC_PARAMETERS);
 *
 * with name, unit, default, minimum, maximum and meaning; hooks then read
 * cc_params(sk)->beta. In the simulator, each flow has its own values; in the
 * kernel, they are constants of the loaded object, which the verifier folds.
 */
#define CC_PARAMETER_FIELD(name, unit, value, low, high, doc) u32 name;
#define CC_PARAMETER_VALUE(name, unit, value, low, high, doc) value,
#define CC_PARAMETER_ENTRY(name, unit, value, low, high, doc) \
	{ #name, unit, doc, value, low, high },
#define CC_PARAMETER_CHECK(name, unit, value, low, high, doc) \
	_Static_assert((low) <= (value) && (value) <= (high), #name " outside its bounds");

#define CC_PARAMETERS(algorithm, LIST)						\
	LIST(CC_PARAMETER_CHECK)						\
	struct algorithm##_parameters { LIST(CC_PARAMETER_FIELD) };		\
	static const struct cc_parameter algorithm##_parameter_table[]		\
		__attribute__((unused)) = { LIST(CC_PARAMETER_ENTRY) };		\
	CC_PORT_PARAMETERS(algorithm, LIST)

/* used in CC_DESCRIBE */
#define CC_HAS_PARAMETERS(algorithm)						\
	.parameters = algorithm##_parameter_table,				\
	.parameter_count = CC_COUNT(algorithm##_parameter_table)

/*
 * Phases: the states of an algorithm that a plot should distinguish, listed as
 * P(CUBIC_CONCAVE, "concave"). They are numbered from 1; 0 means "none reported".
 * The simulator records a change of cc_phase() as an event; the kernel ignores it.
 */
#define CC_PHASE_ENUM(symbol, name) symbol,
#define CC_PHASE_NAME(symbol, name) name,
#define CC_PHASES(algorithm, LIST)						\
	enum algorithm##_phase { algorithm##_no_phase, LIST(CC_PHASE_ENUM) };	\
	static const char *const algorithm##_phase_table[]			\
		__attribute__((unused)) = { "none", LIST(CC_PHASE_NAME) }

/* used in CC_DESCRIBE */
#define CC_HAS_PHASES(algorithm)						\
	.phases = algorithm##_phase_table,					\
	.phase_count = CC_COUNT(algorithm##_phase_table)

#define CC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/*
 * State. If an algorithm's struct fits into icsk_ca_priv, write
 * CC_PRIV_CHECK(struct cubic) after the struct, and access it with inet_csk_ca(sk).
 * For a larger struct, up to CC_STATE_BYTES, write CC_STATE(struct bbr3) instead,
 * and use cc_state(sk); the state is zero at first. The kernel stores it next to
 * the socket (BPF_MAP_TYPE_SK_STORAGE) and allocates it at the first call; if there
 * is no memory, cc_state() is NULL, and the hook must do nothing. In the kernel,
 * cc_state() is a function call, so a hook should call it only once. Unlike
 * icsk_ca_priv, this state may be indexed by a variable whose bounds the verifier
 * knows.
 */
#define CC_PRIV_CHECK(type) \
	_Static_assert(sizeof(type) <= ICSK_CA_PRIV_SIZE,			\
		       #type " exceeds icsk_ca_priv; CC_STATE holds more")

#define CC_STATE(type)								\
	_Static_assert(sizeof(type) <= CC_STATE_BYTES, #type " exceeds CC_STATE_BYTES"); \
	CC_PORT_STATES								\
	CC_INLINE type *cc_state(const struct sock *sk)				\
	{									\
		return CC_PORT_STATE(sk);					\
	}									\
	type

/* linux/cc_linux.h needs only the structs: a kernel file has its own helpers. */
#ifndef CC_STRUCTS_ONLY
#include "cc_math.h"
#include "cc_minmax.h"
#include "cc_tcp.h"
#include "cc_delay.h"
#include "cc_model.h"
#include "cc_slow_start.h"
#ifdef CC_RECORD
#include "../port/record.h"
#endif
#endif

#endif
