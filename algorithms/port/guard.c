// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Wraps every hook of an algorithm that was loaded at run time. The hook works on a
 * copy of the socket that ends at the end of accessible memory, so that an overrun
 * causes a trap; forbidden writes are errors, and so is a window of 0 packets.
 * Divisions by zero and similar errors are reported by the compiler's own checks
 * (-fsanitize), which know file and line.
 *
 * An error ends the process (struct cc_host), which exists only for this run.
 */
#define _GNU_SOURCE
#include "guard.h"
#include "layout.h"

#include <string.h>
#include <sys/mman.h>

/* Inaccessible address space on both sides of a socket, for overruns of any size. */
enum { MOAT = 32 << 20, PAGE = 65536 };

/* The arguments of a hook, apart from the socket. */
struct arguments {
	u32 value[2];
	const struct ack_sample *ack;
	const struct rate_sample *rate;
};

static struct cc_host *host;
static const char *source;
static const struct tcp_congestion_ops *hooks;
static struct tcp_congestion_ops guarded;
static __thread char *arena_end;

/* ---- around a hook */

static u64 socket_bytes(void)
{
	return &cc_guard_socket_bytes ? cc_guard_socket_bytes : sizeof(struct tcp_sock);
}

/* A page between two inaccessible areas; the copy is at its end. */
static struct tcp_sock *arena(void)
{
	if (!arena_end) {
		char *space = mmap(NULL, 2ul * MOAT + PAGE, PROT_NONE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (space == MAP_FAILED || mprotect(space + MOAT, PAGE, PROT_READ | PROT_WRITE))
			host->fail("finds no memory for a socket", NULL, 0);
		arena_end = space + MOAT + PAGE;
	}
	return (struct tcp_sock *)(void *)(arena_end - socket_bytes());
}

static struct sock *enter(const struct sock *sk, enum cc_hook hook)
{
	struct tcp_sock *copy = arena();

	memcpy(copy, sk, sizeof(*copy));
	host->source = source;
	host->hook = hook;
	host->calls++;
	return (struct sock *)copy;
}

static void refuse_write(const struct cc_layout *field)
{
	char text[160] = "wrote ";
	const u64 private_end = __builtin_offsetof(struct inet_connection_sock, icsk_ca_priv) +
				ICSK_CA_PRIV_SIZE;

	if (field->offset_or_size == private_end) {
		host->fail("wrote beyond the 104 bytes of its private state (icsk_ca_priv); "
			   "CC_PRIV_CHECK(struct ...) detects this error at compile time", NULL, 0);
		return;
	}
	strncat(text, field->name, 64);
	strncat(text, ", which the kernel does not allow an algorithm to write", 64);
	host->fail(text, NULL, 0);
}

static void leave(struct sock *sk, const struct arguments *arguments, u32 result)
{
	struct tcp_sock *copy = arena(), before;
	const struct cc_layout *field;

	memcpy(&before, sk, sizeof(before));
	if (&cc_guard_may_write_clamp && cc_guard_may_write_clamp)
		tcp_sk(sk)->snd_cwnd_clamp = copy->snd_cwnd_clamp;
	field = cc_forbidden_write(tcp_sk(sk), copy);
	if (field && !host->is_lenient)
		refuse_write(field);
	if (!copy->snd_cwnd && !host->is_lenient)
		host->fail("set the congestion window to 0 packets; a window must be at least 1", NULL, 0);
	memcpy(sk, copy, sizeof(*copy));
	if (host->is_recording) {
		static __thread struct cc_call call;

		call = (struct cc_call){
			.hook = host->hook,
			.result = result,
			.argument = { arguments->value[0], arguments->value[1] },
			.socket = (u64)sk,
		};
		if (arguments->ack)
			call.ack = *arguments->ack;
		if (arguments->rate)
			call.rate = *arguments->rate;
		memcpy(&call.before, &before, sizeof(before));
		memcpy(&call.after, copy, sizeof(*copy));
		host->record(&call);
	}
	host->hook = CC_NO_HOOK;
}

#define NOTHING (&(struct arguments){ .ack = NULL })

static u32 guarded_ssthresh(struct sock *sk)
{
	u32 result = hooks->ssthresh(enter(sk, CC_HOOK_ssthresh));

	leave(sk, NOTHING, result);
	return result;
}

static u32 guarded_undo_cwnd(struct sock *sk)
{
	u32 result = hooks->undo_cwnd(enter(sk, CC_HOOK_undo_cwnd));

	if (!result && !host->is_lenient)
		host->fail("returned a window of 0 packets; a window must be at least 1", NULL, 0);
	leave(sk, NOTHING, result);
	return result;
}

static u32 guarded_min_tso_segs(struct sock *sk)
{
	u32 result = hooks->min_tso_segs(enter(sk, CC_HOOK_min_tso_segs));

	leave(sk, NOTHING, result);
	return result;
}

static u32 guarded_sndbuf_expand(struct sock *sk)
{
	u32 result = hooks->sndbuf_expand(enter(sk, CC_HOOK_sndbuf_expand));

	leave(sk, NOTHING, result);
	return result;
}

static void guarded_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	hooks->cong_avoid(enter(sk, CC_HOOK_cong_avoid), ack, acked);
	leave(sk, &(struct arguments){ .value = { ack, acked } }, 0);
}

static void guarded_set_state(struct sock *sk, u8 new_state)
{
	hooks->set_state(enter(sk, CC_HOOK_set_state), new_state);
	leave(sk, &(struct arguments){ .value = { new_state } }, 0);
}

static void guarded_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	hooks->cwnd_event(enter(sk, CC_HOOK_cwnd_event), event);
	leave(sk, &(struct arguments){ .value = { event } }, 0);
}

static void guarded_in_ack_event(struct sock *sk, u32 flags)
{
	hooks->in_ack_event(enter(sk, CC_HOOK_in_ack_event), flags);
	leave(sk, &(struct arguments){ .value = { flags } }, 0);
}

static void guarded_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	hooks->pkts_acked(enter(sk, CC_HOOK_pkts_acked), sample);
	leave(sk, &(struct arguments){ .ack = sample }, 0);
}

static void guarded_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	hooks->cong_control(enter(sk, CC_HOOK_cong_control), ack, flag, rs);
	leave(sk, &(struct arguments){ .value = { ack, (u32)flag }, .rate = rs }, 0);
}

static void guarded_init(struct sock *sk)
{
	hooks->init(enter(sk, CC_HOOK_init));
	leave(sk, NOTHING, 0);
}

static void guarded_release(struct sock *sk)
{
	hooks->release(enter(sk, CC_HOOK_release));
	leave(sk, NOTHING, 0);
}

/* ---- loading */

const struct cc_description *cc_guard_open(struct cc_host *process, const char *file)
{
	host = process;
	source = file;
	if (&cc_guard_prepare)
		cc_guard_prepare();
	if (!&cc_description || !cc_description.ops)
		return NULL;
	hooks = cc_description.ops;
	guarded = *hooks;
#define GUARD(result, hook, arguments)		\
	if (hooks->hook)				\
		guarded.hook = guarded_##hook;
	CC_HOOKS(GUARD)
#undef GUARD
	cc_description.ops = &guarded;
	return &cc_description;
}

/* ---- functions called by the compiler's checks (-fsanitize=...); the location is first */

struct place {
	const char *file;
	u32 line;
	u32 column;
};

#define FINDS(check, what)						\
	void __ubsan_handle_##check(const struct place *place);		\
	void __ubsan_handle_##check(const struct place *place)		\
	{								\
		host->fail(what, place->file, place->line);		\
	}								\
	void __ubsan_handle_##check##_abort(const struct place *place);	\
	void __ubsan_handle_##check##_abort(const struct place *place)	\
	{								\
		host->fail(what, place->file, place->line);		\
	}

FINDS(divrem_overflow, "divides by zero, or the smallest integer by -1")
FINDS(shift_out_of_bounds, "shifts a number by its width or more, or by less than 0")
FINDS(out_of_bounds, "reads or writes outside an array")
FINDS(add_overflow, "adds signed numbers beyond the range of their type")
FINDS(sub_overflow, "subtracts signed numbers beyond the range of their type")
FINDS(mul_overflow, "multiplies signed numbers beyond the range of their type")
FINDS(negate_overflow, "negates a number whose type cannot hold the result")
FINDS(type_mismatch_v1, "follows a pointer that is null, unaligned or too short for its type")
FINDS(pointer_overflow, "moves a pointer outside of memory")
FINDS(load_invalid_value, "reads a bool or enum that holds none of its values")
FINDS(builtin_unreachable, "reaches code that is marked as unreachable")
FINDS(missing_return, "reaches the end of a function without returning a value")
FINDS(vla_bound_not_positive, "creates an array without elements")
FINDS(nonnull_arg, "passes NULL where NULL is not allowed")
FINDS(invalid_builtin, "counts the leading or trailing zeros of 0")
