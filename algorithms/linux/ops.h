/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The interface between a kernel file and linux/module.c: its table of hooks, as
 * the kernel's net/tcp.h declares it, and its parameters. Linux 6.10 added two
 * arguments to cong_control; a file that has them is compiled with
 * CC_LINUX_CONG_CONTROL_4.
 */
#ifndef CC_LINUX_OPS_H
#define CC_LINUX_OPS_H

/* Selects the arguments that this file's cong_control has, out of four. */
#ifdef CC_LINUX_CONG_CONTROL_4
#define CC_CONG_CONTROL(sk, ack, flag, rs) sk, ack, flag, rs
#else
#define CC_CONG_CONTROL(sk, ack, flag, rs) sk, rs
#endif

struct list_head {
	struct list_head *next, *prev;
};

struct sock;
union tcp_cc_info;

struct tcp_congestion_ops {
	u32 (*ssthresh)(struct sock *sk);
	void (*cong_avoid)(struct sock *sk, u32 ack, u32 acked);
	void (*set_state)(struct sock *sk, u8 new_state);
	void (*cwnd_event)(struct sock *sk, enum tcp_ca_event event);
	void (*in_ack_event)(struct sock *sk, u32 flags);
	void (*pkts_acked)(struct sock *sk, const struct ack_sample *sample);
	u32 (*min_tso_segs)(struct sock *sk);
	void (*cong_control)(CC_CONG_CONTROL(struct sock *sk, u32 ack, int flag,
					     const struct rate_sample *rs));
	u32 (*undo_cwnd)(struct sock *sk);
	u32 (*sndbuf_expand)(struct sock *sk);
	unsigned long (*get_info)(struct sock *sk, u32 ext, int *attribute,
				  union tcp_cc_info *info);
	char name[TCP_CA_NAME_MAX];
	void *owner;
	struct list_head list;
	u32 key;
	u32 flags;
	void (*init)(struct sock *sk);
	void (*release)(struct sock *sk);
};

/* module_param(): a variable of the file */
struct cc_linux_parameter {
	const char *name;
	void *variable;
	u32 bytes;
	bool is_signed;
};

/* MODULE_PARM_DESC() */
struct cc_linux_doc {
	const char *name;
	const char *text;
};

u64 cc_linux_time_ns(void);
u32 cc_linux_random_u32(void);
void cc_linux_random_bytes(void *to, unsigned long count);

#endif
