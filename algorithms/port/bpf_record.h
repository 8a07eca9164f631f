/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Recording in the running kernel (-DCC_RECORD): each program of an object records
 * its calls. Included by bpf.h.
 */
#ifndef CC_PORT_BPF_RECORD_H
#define CC_PORT_BPF_RECORD_H

#define CC_RECORD_MAP_BYTES	(1 << 24)
#define CC_RECORD_CPUS		1024	/* a power of two; more of them share a slot */
#define CC_BPF_RINGBUF		27

struct {
	int (*type)[CC_BPF_RINGBUF];
	int (*max_entries)[CC_RECORD_MAP_BYTES];
} cc_records CC_SECTION(".maps");

/* Also for algorithms without CC_STATE, so that all records have the same form. */
CC_STATE_MAP
#define CC_PORT_STATES
#define CC_PORT_RECORDED_STATE(tp)	bpf_sk_storage_get(&cc_states, (void *)(tp), NULL, 0)

static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static void *(*const bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
static void (*const bpf_ringbuf_discard)(void *record, u64 flags) = (void *)133;
#define CC_BPF_RB_NO_WAKEUP	1

/*
 * Inputs of a call apart from the socket, which do not change while it runs, so
 * that the native build gets the same ones: the clock, and the state of a random
 * number generator.
 */
struct cc_record_cpu {
	u64 random;
	u32 jiffies32;
	u32 calls;	/* detects a call that was interrupted by another one */
	u32 phase;	/* that the call reported, 0 = none */
};

struct cc_record_cpu cc_record_cpus[CC_RECORD_CPUS] CC_SECTION(".bss");

/* Initial state of the generators; the loader may set it; 0 = the kernel draws it. */
const volatile u64 cc_record_seed CC_SECTION(".rodata") = 0;

CC_INLINE struct cc_record_cpu *cc_record_cpu(void)
{
	return &cc_record_cpus[bpf_get_smp_processor_id() & (CC_RECORD_CPUS - 1)];
}

#define CC_PORT_JIFFIES32(tp)		((void)(tp), cc_record_cpu()->jiffies32)
#define CC_PORT_PRANDOM_U32(tp)		((void)(tp), cc_splitmix_u32(&cc_record_cpu()->random))
#define CC_PORT_PHASE(tp, value)	((void)(tp), (void)(cc_record_cpu()->phase = (value)))

/* The argument after the socket, derived from the type of the body. */
enum {
	CC_RECORD_NOTHING,
	CC_RECORD_ONE,
	CC_RECORD_TWO,
	CC_RECORD_SAMPLE,
};
#define CC_RECORD_KIND(body) _Generic(&(body),					\
	void (*)(struct sock *): CC_RECORD_NOTHING,				\
	u32 (*)(struct sock *): CC_RECORD_NOTHING,				\
	void (*)(struct sock *, u32, u32): CC_RECORD_TWO,			\
	void (*)(struct sock *, const struct ack_sample *): CC_RECORD_SAMPLE,	\
	default: CC_RECORD_ONE)

#define CC_RECORD_ENTER(name)							\
	struct cc_record *cc_record = bpf_ringbuf_reserve(&cc_records, sizeof(*cc_record), 0); \
	struct cc_record_cpu *cc_cpu = cc_record_cpu();				\
	u32 cc_call = ++cc_cpu->calls;						\
	cc_cpu->jiffies32 = (u32)bpf_jiffies64();				\
	cc_cpu->phase = 0;							\
	if (!cc_cpu->random)							\
		cc_cpu->random = cc_record_seed;				\
	if (!cc_cpu->random)							\
		cc_cpu->random = (u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32(); \
	if (cc_record) {							\
		_Static_assert(sizeof(#name) <= CC_RECORD_NAME_BYTES, "the name of a program"); \
		/* the rest follows later: clang refuses more than 1,024 bytes */ \
		__builtin_memset(cc_record, 0, __builtin_offsetof(struct cc_record, after)); \
		__builtin_memcpy(cc_record->program, #name, sizeof(#name));	\
		cc_record->random = cc_cpu->random;				\
		cc_record->bytes = sizeof(*cc_record);				\
		cc_record->hz = CC_PORT_HZ;					\
		cc_record->jiffies32 = cc_cpu->jiffies32;			\
		cc_record_socket(&cc_record->before, (void *)ctx[0]);		\
	}

#define CC_RECORD_LEAVE(value)							\
	if (cc_record) {							\
		cc_record->result = (value);					\
		cc_record->phase = cc_cpu->phase;				\
		__builtin_memset(&cc_record->after, 0, sizeof(cc_record->after)); \
		cc_record_socket(&cc_record->after, (void *)ctx[0]);		\
		if (cc_cpu->calls == cc_call)					\
			bpf_ringbuf_submit(cc_record, CC_BPF_RB_NO_WAKEUP);	\
		else								\
			bpf_ringbuf_discard(cc_record, CC_BPF_RB_NO_WAKEUP);	\
	}

#define CC_RECORD_ARGUMENTS(body)						\
	if (cc_record && CC_RECORD_KIND(body) == CC_RECORD_SAMPLE)		\
		cc_record_ack_sample(&cc_record->ack, (void *)ctx[1]);		\
	else if (cc_record && CC_RECORD_KIND(body) != CC_RECORD_NOTHING)	\
		cc_record->argument[0] = (u32)ctx[1];				\
	if (cc_record && CC_RECORD_KIND(body) == CC_RECORD_TWO)			\
		cc_record->argument[1] = (u32)ctx[2];

#define CC_RECORD_CALL_void(call)						\
	call;									\
	CC_RECORD_LEAVE(0)
#define CC_RECORD_CALL_u32(call)						\
	u32 cc_result = call;							\
	CC_RECORD_LEAVE(cc_result)						\
	return cc_result;

#define CC_RUN(type, name, call)						\
	CC_RECORD_ENTER(name)							\
	CC_RECORD_ARGUMENTS(name##_body)					\
	CC_RECORD_CALL_##type(call)

#define CC_RUN_CONG_CONTROL(name, ack, flag, rs)				\
	CC_RECORD_ENTER(name)							\
	if (cc_record) {							\
		cc_record->argument[0] = (ack);					\
		cc_record->argument[1] = (u32)(flag);				\
		cc_record_rate_sample(&cc_record->rate, rs);			\
	}									\
	name##_body((void *)ctx[0], ack, flag, rs);				\
	CC_RECORD_LEAVE(0)

#endif
