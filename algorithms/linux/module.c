// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Adapter between the simulator and an unmodified kernel file: loads it like the
 * kernel loads a module, and translates the hooks of its table (linux/ops.h).
 *
 * A kernel file also needs functions of other files of its kernel: tcp_cong.c
 * contains the standard window rules, lib/win_minmax.c the windowed filters, and
 * yeah is based on tcp_vegas.c. These are compiled too if they are in the same
 * folder. For a file without them, the window rules and filters are those of cc.h,
 * defined as weak symbols that the kernel's own functions override.
 *
 * Parameters of a module are variables of the file, from which its init function
 * may derive others. Therefore they are written, and init runs again, whenever a
 * hook serves a flow with other values than the previous hook.
 */
#include "cc.h"
#define tcp_congestion_ops linux_congestion_ops
#include "ops.h"
#undef tcp_congestion_ops
#include "../port/guard.h"

/* Sufficient for any file, and a bound for a table without an end. */
enum { PARAMETERS_MAX = 64, TABLES_MAX = 4 };

/* The additional part of a socket, as in cc_linux.h. */
struct wide {
	int sk_state;
	u32 prior_ssthresh;
	const struct linux_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_initialized;
	u8 icsk_ca_setsockopt;
	u8 icsk_ca_dst_locked;
};

struct wide_tcp_sock {
	struct tcp_sock tp;
	struct wide wide;
};

enum { ESTABLISHED = 1 };

#define TABLE_OF(type, section)						\
	extern type __start_##section[] __attribute__((weak, visibility("hidden")));		\
	extern type __stop_##section[] __attribute__((weak, visibility("hidden")))

typedef int (*init_function)(void);
typedef const char *text_pointer;
typedef const struct cc_linux_parameter *parameter_pointer;
typedef const struct cc_linux_doc *doc_pointer;

TABLE_OF(init_function const, cc_linux_inits);
TABLE_OF(text_pointer const, cc_linux_summaries);
TABLE_OF(parameter_pointer const, cc_linux_parameters);
TABLE_OF(doc_pointer const, cc_linux_docs);

extern struct linux_congestion_ops tcp_reno __attribute__((weak, visibility("hidden")));

/*
 * Tables that a socket may use: the registered one, and others to which its init
 * may switch.
 */
static const struct linux_congestion_ops *tables[TABLES_MAX];
static const char *table_names[TABLES_MAX];
static u32 table_count;

static struct cc_parameter parameters[PARAMETERS_MAX];
static const struct cc_linux_parameter *variables[PARAMETERS_MAX];
static u32 parameter_count;
static u32 applied[PARAMETERS_MAX];

static __thread struct wide_tcp_sock *current;

/* ---- functions that the kernel would provide */

struct net_of_kernel {
	void *congestion_control;
	u8 sysctl_tcp_ecn;
};

extern struct net_of_kernel init_net;
struct net_of_kernel init_net;

struct tcp_sock *cc_linux_socket(void);
struct tcp_sock *cc_linux_socket(void)
{
	return &current->tp;
}

u64 cc_linux_time_ns(void)
{
	return current->tp.tcp_clock_cache;
}

u32 cc_linux_random_u32(void)
{
	return cc_prandom_u32((struct sock *)current);
}

void cc_linux_random_bytes(void *to, unsigned long count)
{
	u8 *bytes = to;

	for (unsigned long i = 0; i < count; i++)
		bytes[i] = (u8)cc_linux_random_u32();
}

int __wrap_tcp_register_congestion_control(struct linux_congestion_ops *ops);
int __wrap_tcp_register_congestion_control(struct linux_congestion_ops *ops)
{
	tables[0] = ops;
	return 0;
}

void __wrap_tcp_unregister_congestion_control(struct linux_congestion_ops *ops);
void __wrap_tcp_unregister_congestion_control(struct linux_congestion_ops *ops)
{
	(void)ops;
}

void tcp_enter_cwr(struct sock *sk);
void tcp_enter_cwr(struct sock *sk)
{
	(void)cc_enter_cwr(sk, 0);
}

void cc_linux_send_ack(struct sock *sk, u32 rcv_nxt);
void cc_linux_send_ack(struct sock *sk, u32 rcv_nxt)
{
	cc_send_ack(sk, rcv_nxt);
}

#define KERNELS_OWN(type, name, arguments, call)				\
	extern type name##_of_cc arguments __asm__(#name);			\
	__attribute__((weak)) type name##_of_cc arguments { return call; }

KERNELS_OWN(u32, tcp_slow_start, (struct tcp_sock *tp, u32 acked), tcp_slow_start(tp, acked))
KERNELS_OWN(void, tcp_cong_avoid_ai, (struct tcp_sock *tp, u32 w, u32 acked),
	    tcp_cong_avoid_ai(tp, w, acked))
KERNELS_OWN(void, tcp_reno_cong_avoid, (struct sock *sk, u32 ack, u32 acked),
	    tcp_reno_cong_avoid(sk, ack, acked))
KERNELS_OWN(u32, tcp_reno_ssthresh, (struct sock *sk), tcp_reno_ssthresh(sk))
KERNELS_OWN(u32, tcp_reno_undo_cwnd, (struct sock *sk), tcp_reno_undo_cwnd(sk))
KERNELS_OWN(u32, minmax_running_max, (struct minmax *m, u32 window, u32 t, u32 v),
	    minmax_running_max(m, window, t, v))
KERNELS_OWN(u32, minmax_running_min, (struct minmax *m, u32 window, u32 t, u32 v),
	    minmax_running_min(m, window, t, v))

/* ---- parameters */

static u32 read_variable(const struct cc_linux_parameter *p)
{
	switch (p->bytes) {
	case 1:
		return *(const u8 *)p->variable;
	case 2:
		return *(const u16 *)p->variable;
	default:
		return *(const u32 *)p->variable;
	}
}

static void write_variable(const struct cc_linux_parameter *p, u32 value)
{
	switch (p->bytes) {
	case 1:
		*(u8 *)p->variable = (u8)value;
		break;
	case 2:
		*(u16 *)p->variable = (u16)value;
		break;
	default:
		*(u32 *)p->variable = value;
	}
}

static u32 largest(const struct cc_linux_parameter *p)
{
	u32 all = p->bytes == 1 ? 1 : p->bytes == 2 ? 0xffff : ~0u; /* one byte is a bool */

	return p->is_signed ? all >> 1 : all;
}

static bool is_same_text(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

static const char *doc_of(const char *name)
{
	for (doc_pointer const *doc = __start_cc_linux_docs; doc < __stop_cc_linux_docs; doc++) {
		if (is_same_text((*doc)->name, name))
			return (*doc)->text;
	}
	return "";
}

static void list_parameters(void)
{
	parameter_pointer const *entry = __start_cc_linux_parameters;

	for (; entry < __stop_cc_linux_parameters && parameter_count < PARAMETERS_MAX; entry++) {
		const struct cc_linux_parameter *p = *entry;
		u32 value = read_variable(p);

		if (value > largest(p))
			continue; /* negative: our parameters cannot be */
		variables[parameter_count] = p;
		applied[parameter_count] = value;
		parameters[parameter_count++] = (struct cc_parameter){
			.name = p->name,
			.unit = p->bytes == 1 ? "bool" : "",
			.doc = doc_of(p->name),
			.value = value,
			.high = largest(p),
		};
	}
}

static void run_inits(void)
{
	for (init_function const *init = __start_cc_linux_inits; init < __stop_cc_linux_inits; init++)
		(void)(*init)();
}

static void apply_parameters(const u32 *values)
{
	bool is_changed = false;

	for (u32 i = 0; i < parameter_count; i++) {
		if (applied[i] == values[i])
			continue;
		applied[i] = values[i];
		write_variable(variables[i], values[i]);
		is_changed = true;
	}
	if (is_changed)
		run_inits();
}

/* ---- hooks */

static struct sock *enter(struct sock *sk)
{
	const u32 *values = tcp_sk(sk)->cc_params;

	current = (struct wide_tcp_sock *)sk;
	current->wide = (struct wide){ .sk_state = ESTABLISHED, .icsk_ca_initialized = 1 };
	if (values)
		apply_parameters(values);
	current->wide.icsk_ca_ops = tables[tcp_sk(sk)->cc_phase % TABLES_MAX];
	return sk;
}

#define OPS(sk) (current->wide.icsk_ca_ops)

/* A file may switch a socket to another table: dctcp does so without ECN. */
static void leave(struct sock *sk)
{
	u32 i;

	for (i = 0; i < table_count && tables[i] != OPS(sk); i++)
		;
	if (i == table_count && i < TABLES_MAX)
		tables[table_count++] = OPS(sk);
	cc_phase(sk, i);
}

static u32 linux_ssthresh(struct sock *sk)
{
	enter(sk);
	return OPS(sk)->ssthresh(sk);
}

static u32 linux_undo_cwnd(struct sock *sk)
{
	enter(sk);
	return OPS(sk)->undo_cwnd(sk);
}

static void linux_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	enter(sk);
	if (OPS(sk)->cong_avoid)
		OPS(sk)->cong_avoid(sk, ack, acked);
}

static void linux_cong_control(struct sock *sk, u32 ack, int flag, const struct rate_sample *rs)
{
	(void)ack;
	(void)flag;
	enter(sk);
	if (OPS(sk)->cong_control)
		OPS(sk)->cong_control(CC_CONG_CONTROL(sk, ack, flag, rs));
}

static void linux_set_state(struct sock *sk, u8 new_state)
{
	enter(sk);
	if (OPS(sk)->set_state)
		OPS(sk)->set_state(sk, new_state);
}

static void linux_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	enter(sk);
	if (OPS(sk)->cwnd_event)
		OPS(sk)->cwnd_event(sk, event);
}

static void linux_in_ack_event(struct sock *sk, u32 flags)
{
	enter(sk);
	if (OPS(sk)->in_ack_event)
		OPS(sk)->in_ack_event(sk, flags);
}

static void linux_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	enter(sk);
	if (OPS(sk)->pkts_acked)
		OPS(sk)->pkts_acked(sk, sample);
}

static u32 linux_min_tso_segs(struct sock *sk)
{
	enter(sk);
	return OPS(sk)->min_tso_segs(sk);
}

static u32 linux_sndbuf_expand(struct sock *sk)
{
	enter(sk);
	return OPS(sk)->sndbuf_expand(sk);
}

static void linux_init(struct sock *sk)
{
	enter(sk);
	if (OPS(sk)->init)
		OPS(sk)->init(sk);
	leave(sk);
}

static void linux_release(struct sock *sk)
{
	enter(sk);
	if (OPS(sk)->release)
		OPS(sk)->release(sk);
}

/* ---- loading */

static struct tcp_congestion_ops ops;

struct cc_description cc_description = {
	.abi = CC_ABI,
	.tcp_sock_bytes = sizeof(struct tcp_sock),
	.ops = &ops,
	.summary = "",
	.parameters = parameters,
	.phases = table_names,
};

const u32 cc_guard_socket_bytes = sizeof(struct wide_tcp_sock);
const bool cc_guard_may_write_clamp = true; /* hybla and others limit it in init */

void cc_guard_prepare(void)
{
	const struct linux_congestion_ops *table;

	list_parameters();
	run_inits();
	if (!tables[0])
		tables[0] = &tcp_reno; /* tcp_cong.c's own table; null without that file */
	table = tables[0];
	if (!table)
		return;
	table_names[table_count++] = "none";
	for (u32 i = table_count; i < TABLES_MAX; i++)
		table_names[i] = "other hooks";
	ops.ssthresh = table->ssthresh ? linux_ssthresh : NULL;
	ops.undo_cwnd = table->undo_cwnd ? linux_undo_cwnd : NULL;
	ops.cong_avoid = table->cong_avoid ? linux_cong_avoid : NULL;
	ops.cong_control = table->cong_control ? linux_cong_control : NULL;
	ops.set_state = table->set_state ? linux_set_state : NULL;
	ops.cwnd_event = table->cwnd_event ? linux_cwnd_event : NULL;
	ops.in_ack_event = table->in_ack_event ? linux_in_ack_event : NULL;
	ops.pkts_acked = table->pkts_acked ? linux_pkts_acked : NULL;
	ops.min_tso_segs = table->min_tso_segs ? linux_min_tso_segs : NULL;
	ops.sndbuf_expand = table->sndbuf_expand ? linux_sndbuf_expand : NULL;
	ops.init = table->init ? linux_init : NULL;
	ops.release = table->release ? linux_release : NULL;
	ops.flags = table->flags;
	for (u32 i = 0; i < TCP_CA_NAME_MAX; i++)
		ops.name[i] = table->name[i];
	for (text_pointer const *s = __start_cc_linux_summaries; s < __stop_cc_linux_summaries; s++)
		cc_description.summary = *s;
	cc_description.parameter_count = parameter_count;
	cc_description.phase_count = TABLES_MAX;
}
