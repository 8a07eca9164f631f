/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * The boundary between the simulator and an algorithm that is compiled and loaded
 * at run time. crates/cc/src/guard.rs has these structs.
 */
#ifndef CC_PORT_GUARD_H
#define CC_PORT_GUARD_H

#include "../include/cc.h"

/* One call of a hook, with the socket before and after it. */
struct cc_call {
	u32 hook;		/* enum cc_hook */
	u32 result;		/* 0 if the hook has none */
	u32 argument[2];	/* ack and acked; new_state; event; flags; ack and flag */
	u64 socket;		/* its address */
	struct ack_sample ack;	/* of pkts_acked */
	struct rate_sample rate; /* of cong_control */
	struct tcp_sock before;
	struct tcp_sock after;
};

#define CC_HOOK_NUMBER(result, name, arguments) CC_HOOK_##name,

/* The places of the hooks in their table. */
enum cc_hook {
	CC_HOOKS(CC_HOOK_NUMBER)
	CC_NO_HOOK,
};

/* What the process that loads algorithms has for all of them. */
struct cc_host {
	/* the hook that runs now, CC_NO_HOOK between two */
	volatile u32 hook;
	/* hooks called so far: one that does not return is one that stays the same */
	volatile u64 calls;
	/* what messages call the file of the algorithm that runs, or ran last */
	const char *volatile source;
	/*
	 * An algorithm broke a rule: the hook is `hook`, file is NULL if the line is
	 * not known. Does not return.
	 */
	void (*fail)(const char *what, const char *file, u32 line);
	/* Is told of each call while is_recording. */
	void (*record)(const struct cc_call *call);
	volatile u32 is_recording;
	/* who calls the hooks looks at the rules: the conformance suite */
	volatile u32 is_lenient;
};

/* The one function that a loaded algorithm exports; messages call its file `source`. */
__attribute__((visibility("default")))
const struct cc_description *cc_guard_open(struct cc_host *host, const char *source);

/* The algorithm, by the name that CC_DESCRIBE gives it in a build of this kind. */
extern struct cc_description cc_description __attribute__((weak, visibility("hidden")));

/* What linux/module.c wants otherwise than an algorithm of ours. */
extern const u32 cc_guard_socket_bytes __attribute__((weak, visibility("hidden")));
extern const bool cc_guard_may_write_clamp __attribute__((weak, visibility("hidden")));
extern void cc_guard_prepare(void) __attribute__((weak, visibility("hidden")));

#endif
