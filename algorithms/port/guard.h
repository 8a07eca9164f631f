/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The interface between the simulator and an algorithm that is compiled and loaded
 * at run time. crates/cc/src/guard.rs has the same structs.
 */
#ifndef CC_PORT_GUARD_H
#define CC_PORT_GUARD_H

#include "../include/cc.h"

/* One call of a hook, with the socket before and after it. */
struct cc_call {
	u32 hook;		/* enum cc_hook */
	u32 result;		/* 0 if the hook returns nothing */
	u32 argument[2];	/* ack and acked; new_state; event; flags; ack and flag */
	u64 socket;		/* its address */
	struct ack_sample ack;	/* of pkts_acked */
	struct rate_sample rate; /* of cong_control */
	struct tcp_sock before;
	struct tcp_sock after;
};

#define CC_HOOK_NUMBER(result, name, arguments) CC_HOOK_##name,

/* The positions of the hooks in their table. */
enum cc_hook {
	CC_HOOKS(CC_HOOK_NUMBER)
	CC_NO_HOOK,
};

/* Data of the process that loads algorithms, shared by all of them. */
struct cc_host {
	/* the hook that is running, or CC_NO_HOOK */
	volatile u32 hook;
	/* number of hooks called so far: if it does not change, a hook has not returned */
	volatile u64 calls;
	/* name in messages of the file whose algorithm is running, or ran last */
	const char *volatile source;
	/*
	 * Reports that an algorithm broke a rule in `hook`; file is NULL if the
	 * line is not known. Does not return.
	 */
	void (*fail)(const char *what, const char *file, u32 line);
	/* Gets each call while is_recording. */
	void (*record)(const struct cc_call *call);
	volatile u32 is_recording;
	/* whether the caller of the hooks checks the rules itself: the conformance suite */
	volatile u32 is_lenient;
};

/* The only function that a loaded algorithm exports; messages call its file `source`. */
__attribute__((visibility("default")))
const struct cc_description *cc_guard_open(struct cc_host *host, const char *source);

/* The algorithm, with the name that CC_DESCRIBE uses in this kind of build. */
extern struct cc_description cc_description __attribute__((weak, visibility("hidden")));

/* Settings in which linux/module.c differs from our algorithms. */
extern const u32 cc_guard_socket_bytes __attribute__((weak, visibility("hidden")));
extern const bool cc_guard_may_write_clamp __attribute__((weak, visibility("hidden")));
extern void cc_guard_prepare(void) __attribute__((weak, visibility("hidden")));

#endif
