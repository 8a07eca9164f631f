/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The simulator's port: the structs are those of crates/cc/src/sock.rs, a hook is a
 * plain function, and time, random numbers and parameters are fields of the socket.
 * There are no global variables, so flows may run on any number of threads.
 */
#ifndef CC_PORT_NATIVE_H
#define CC_PORT_NATIVE_H

/* The kernel's long, with 64 bits on every machine, so that results are identical. */
#define CC_PORT_LONG		long long
#define CC_PORT_STRUCTS_BEGIN
#define CC_PORT_STRUCTS_END
#define CC_PORT_BIT(type, name, width)	type name
#define CC_PORT_SIM(...)		__VA_ARGS__
#define CC_PORT_KERNEL(...)
#define CC_GET(pointer, field)		((pointer)->field)

#define CC_PROG(type, name, ...)	static type name(__VA_ARGS__)
#define CC_PROG_CONG_CONTROL(name, ...)	static void name(__VA_ARGS__)
#define CC_CB(function)			function
#define CC_TABLE			static const
#define CC_OPS(symbol)			static const struct tcp_congestion_ops symbol

/*
 * The registry of crates/cc finds a built-in algorithm by its symbol. A file that
 * is loaded at run time (CC_LOADED) has the same symbol as all others, behind
 * port/guard.c.
 */
#ifdef CC_LOADED
#define CC_DESCRIPTION(symbol)	struct cc_description cc_description
#else
#define CC_DESCRIPTION(symbol)	const struct cc_description cc_description_##symbol
#endif

#define CC_DESCRIBE(symbol, ...)					\
	extern CC_DESCRIPTION(symbol);					\
	CC_DESCRIPTION(symbol) = {					\
		.abi = CC_ABI,						\
		.tcp_sock_bytes = sizeof(struct tcp_sock),		\
		.ops = &symbol,						\
		__VA_ARGS__						\
	}

/* The flow's own block, which is set before each hook. */
#define CC_PORT_PARAMETERS(algorithm, LIST)					\
	CC_INLINE const struct algorithm##_parameters *cc_params(const struct sock *sk) \
	{									\
		return tcp_sk(sk)->cc_params;					\
	}									\
	struct algorithm##_parameters

#define CC_PORT_STATES
#define CC_PORT_STATE(sk)		((void *)tcp_sk(sk)->cc_state)

#ifdef CC_REPLAY
extern u32 cc_replay_hz;		/* that of the recording kernel */
#define CC_PORT_RECORDED_STATE(tp)	((tp)->cc_state)
#define CC_PORT_HZ			cc_replay_hz
#else
#define CC_PORT_HZ			250u	/* as in Debian and in the reference runs */
#endif
#define CC_PORT_JIFFIES32(tp)		((tp)->cc_jiffies32)
#define CC_PORT_MIN_RTT_US(tp)		((tp)->rtt_min_us)
#define CC_PORT_PHASE(tp, value)	((void)((tp)->cc_phase = (u8)(value)))
#define CC_PORT_PRANDOM_U32(tp)		cc_splitmix_u32(&(tp)->cc_random)

/* cc_requests: actions of the endpoint after the hook. */
enum {
	CC_REQUEST_ACK = 1,	/* an ACK of cc_ack_rcv_nxt */
	CC_REQUEST_ACK_ECE = 2,	/* the ACK carries ECE */
	CC_REQUEST_CWR = 4,	/* a window reduction without loss */
};

#define CC_PORT_REQUEST(tp, bits) \
	((tp)->cc_requests = (u8)((tp)->cc_requests | (u32)(bits)))
#define CC_PORT_SEND_ACK(sk, rcv_nxt) ({				\
	struct tcp_sock *cc_tp = tcp_sk(sk);				\
	cc_tp->cc_ack_rcv_nxt = (rcv_nxt);				\
	CC_PORT_REQUEST(cc_tp, cc_tp->ecn_flags & TCP_ECN_DEMAND_CWR ?	\
			CC_REQUEST_ACK | CC_REQUEST_ACK_ECE : CC_REQUEST_ACK); \
})
#ifdef CC_REPLAY			/* like the kernel's port, whose calls are repeated */
#define CC_PORT_ENTER_CWR(sk)		((void)(sk), false)
#else
#define CC_PORT_ENTER_CWR(sk)		(CC_PORT_REQUEST(tcp_sk(sk), CC_REQUEST_CWR), true)
#endif

#endif
