/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The running kernel's port: a hook is a struct_ops program, structs are relocated
 * field by field (CO-RE), and parameters are constants of the object.
 *
 *	clang -target bpf -mcpu=v3 -O2 -g -c cubic.c && llvm-strip -g cubic.o
 *
 * No vmlinux.h and no libbpf header is needed. -g is required, because it creates
 * the type information for the relocations. The loader (libbpf 1.2 or later) may
 * set cc_parameters in .rodata and the name of the ops before it loads the object.
 */
#ifndef CC_PORT_BPF_H
#define CC_PORT_BPF_H

#define CC_SECTION(name) __attribute__((section(name), used))

/* struct_ops programs must be GPL-compatible. */
char _license[] CC_SECTION("license") = "Dual BSD/GPL";

#define CC_PORT_LONG		long
#define CC_PORT_STRUCTS_BEGIN							\
	_Pragma("clang attribute push(__attribute__((preserve_access_index)), apply_to = record)")
#define CC_PORT_STRUCTS_END	_Pragma("clang attribute pop")
#define CC_PORT_BIT(type, name, width)	type name : width
#define CC_PORT_SIM(...)
#define CC_PORT_KERNEL(...)		__VA_ARGS__

/*
 * Reads a bitfield. A plain read would relocate the byte but use the mask of our
 * own struct, and be wrong silently. Therefore offset, size and shifts (kinds 0, 1,
 * 4, 5) are relocated from the kernel's type information.
 */
#define CC_FIELD_INFO(pointer, field, kind) \
	__builtin_preserve_field_info((pointer)->field, kind)
#define CC_GET(pointer, field) ({						\
	const void *cc_at = (const char *)(pointer) + CC_FIELD_INFO(pointer, field, 0); \
	u64 cc_bits = 0;							\
	__asm__ volatile("" : "+r"(cc_at));					\
	switch (CC_FIELD_INFO(pointer, field, 1)) {				\
	case 1:									\
		cc_bits = *(const u8 *)cc_at;					\
		break;								\
	case 2:									\
		cc_bits = *(const u16 *)cc_at;					\
		break;								\
	case 4:									\
		cc_bits = *(const u32 *)cc_at;					\
		break;								\
	case 8:									\
		cc_bits = *(const u64 *)cc_at;					\
		break;								\
	}									\
	(cc_bits << CC_FIELD_INFO(pointer, field, 4)) >>			\
		CC_FIELD_INFO(pointer, field, 5);				\
})

/*
 * A program gets its arguments as an array of u64; CC_PROG unpacks those that the
 * hook declares. The kernel checks each one against its own prototype.
 */
#define CC_CONCAT_(a, b)	a##b
#define CC_CONCAT(a, b)		CC_CONCAT_(a, b)
#define CC_COUNT_ARGS_(a, b, c, d, n, ...) n
#define CC_COUNT_ARGS(...)	CC_COUNT_ARGS_(__VA_ARGS__, 4, 3, 2, 1)
#define CC_ARGS_1		(void *)ctx[0]
#define CC_ARGS_2		CC_ARGS_1, (void *)ctx[1]
#define CC_ARGS_3		CC_ARGS_2, (void *)ctx[2]
#define CC_ARGS_4		CC_ARGS_3, (void *)ctx[3]

#define CC_PROG(type, name, ...)						\
	CC_INLINE type name##_body(__VA_ARGS__);				\
	CC_SECTION("struct_ops/" #name) type name(u64 *ctx)			\
	{									\
		_Pragma("clang diagnostic push")				\
		_Pragma("clang diagnostic ignored \"-Wint-conversion\"")	\
		CC_RUN(type, name, name##_body(CC_CONCAT(CC_ARGS_, CC_COUNT_ARGS(__VA_ARGS__)))) \
		_Pragma("clang diagnostic pop")					\
	}									\
	CC_INLINE type name##_body(__VA_ARGS__)

/*
 * cong_control has the arguments (sk, rs) before Linux 6.10, and then (sk, ack,
 * flag, rs). libbpf fills in the version, and the verifier removes the unused
 * branch.
 */
extern int LINUX_KERNEL_VERSION __attribute__((section(".kconfig")));

#define CC_PROG_CONG_CONTROL(name, ...)						\
	CC_INLINE void name##_body(__VA_ARGS__);				\
	CC_SECTION("struct_ops/" #name) void name(u64 *ctx)			\
	{									\
		if (LINUX_KERNEL_VERSION >= (6 << 16) + (10 << 8)) {		\
			CC_RUN_CONG_CONTROL(name, (u32)ctx[1], (int)ctx[2], (void *)ctx[3]) \
		} else {							\
			CC_RUN_CONG_CONTROL(name, 0, 0, (void *)ctx[1])		\
		}								\
	}									\
	CC_INLINE void name##_body(__VA_ARGS__)

#define CC_CB(function)		(void *)function

/* A .struct_ops.link is removed with its loader, even if that is killed (Linux 6.4). */
#ifndef CC_OPS_SECTION
#define CC_OPS_SECTION		".struct_ops.link"
#endif
#define CC_OPS(symbol)		CC_SECTION(CC_OPS_SECTION) struct tcp_congestion_ops symbol

/* The object does not contain the description. */
#define CC_DESCRIBE(symbol, ...)						\
	static const struct cc_description cc_description_##symbol		\
		__attribute__((unused)) = { .ops = &symbol, __VA_ARGS__ }

/* clang places small tables in .rodata.cst*, which libbpf does not support. */
#define CC_TABLE		static const __attribute__((section(".rodata")))

#define CC_PORT_PARAMETERS(algorithm, LIST)					\
	const volatile struct algorithm##_parameters cc_parameters		\
		CC_SECTION(".rodata") = { LIST(CC_PARAMETER_VALUE) };		\
	CC_INLINE const volatile struct algorithm##_parameters *		\
	cc_params(const struct sock *sk)					\
	{									\
		(void)sk;							\
		return &cc_parameters;						\
	}									\
	struct algorithm##_parameters

/* The states of CC_STATE, stored by socket. */
#define CC_BPF_SK_STORAGE	24
#define CC_BPF_NO_PREALLOC	1
#define CC_BPF_CREATE		1

struct cc_state_bytes {
	u64 words[CC_STATE_BYTES / sizeof(u64)];
};

#define CC_STATE_MAP								\
	struct {								\
		int (*type)[CC_BPF_SK_STORAGE];					\
		int (*map_flags)[CC_BPF_NO_PREALLOC];				\
		int *key;							\
		struct cc_state_bytes *value;					\
	} cc_states CC_SECTION(".maps");

#define CC_PORT_STATE(sk)							\
	bpf_sk_storage_get(&cc_states, (void *)(sk), NULL, CC_BPF_CREATE)

extern u32 CONFIG_HZ __attribute__((section(".kconfig")));

/* Helpers by their numbers in the kernel's UAPI. */
static u32 (*const bpf_get_prandom_u32)(void) __attribute__((unused)) = (void *)7;
static void *(*const bpf_sk_storage_get)(void *map, void *sk, void *value, u64 flags)
	__attribute__((unused)) = (void *)107;
static long (*const bpf_tcp_send_ack)(void *tp, u32 rcv_nxt) __attribute__((unused)) = (void *)116;
static u64 (*const bpf_jiffies64)(void) __attribute__((unused)) = (void *)118;

#define CC_PORT_HZ			CONFIG_HZ
#define CC_PORT_MIN_RTT_US(tp)		((tp)->rtt_min.s[0].v)
#define CC_PORT_SEND_ACK(sk, rcv_nxt)	((void)bpf_tcp_send_ack(tcp_sk(sk), rcv_nxt))
/* A BPF program cannot call tcp_enter_cwr. */
#define CC_PORT_ENTER_CWR(sk)		((void)(sk), false)

/* Wraps the call of a program with its unpacked arguments. */
#ifdef CC_RECORD
#include "bpf_record.h"
#else
#define CC_PORT_JIFFIES32(tp)		((void)(tp), (u32)bpf_jiffies64())
#define CC_PORT_PRANDOM_U32(tp)		((void)(tp), bpf_get_prandom_u32())
#define CC_PORT_PHASE(tp, value)	((void)(tp), (void)(value))
#define CC_PORT_STATES			CC_STATE_MAP
#define CC_RUN(type, name, call)	return call;
#define CC_RUN_CONG_CONTROL(name, ack, flag, rs)				\
	name##_body((void *)ctx[0], ack, flag, rs);
#endif

#endif
