// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * Repeats the calls that a kernel recorded (record.h) in the native build of the
 * same algorithm, and compares the results. This is a separate program:
 *
 *	cc -DCC_LOADED -DCC_REPLAY cubic.c port/replay.c && ./a.out [beta=717 ...] <records
 *
 * Writes a line of JSON for each of the first differences and for each program. The
 * exit status is 0 if all calls agree, 1 if not, and 2 if they cannot be repeated.
 * With --list as the only argument, it makes no calls and lists the recorded calls
 * as CSV.
 */
#include "layout.h"
#include "record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern struct cc_description cc_description;

enum { MOST_PARAMETERS = 64, MOST_PROGRAMS = 16, MOST_SHOWN = 20 };

struct tally {
	char program[CC_RECORD_NAME_BYTES];
	u64 calls;
	u64 mismatches;
};

u32 cc_replay_hz;

static struct tally tallies[MOST_PROGRAMS];
static u32 parameters[MOST_PARAMETERS];
static u64 shown;

static _Noreturn void refuse(const char *what, const char *which)
{
	fprintf(stderr, "%s: %s\n", which, what);
	exit(2);
}

/* ---- a socket from a record */

#define PUT(type, name, path) tp->path = (__typeof__(tp->path))from->name;

static void put_socket(struct tcp_sock *tp, const struct cc_recorded_socket *from)
{
	CC_RECORDED_FIELDS(PUT, PUT)
	tp->rtt_min_us = from->rtt_min_us;
	memcpy(tp->inet_conn.icsk_ca_priv, from->icsk_ca_priv, ICSK_CA_PRIV_SIZE);
	memcpy(tp->cc_state, from->cc_state, CC_STATE_BYTES);
}

static bool is_set(const struct tcp_sock *tp, u64 offset, u32 bytes)
{
	for (u64 at = offset; at < offset + bytes; at++) {
		if (((const u8 *)tp)[at])
			return true;
	}
	return false;
}

/* Checks that a record has every field that an algorithm may read. */
static void check_fields(void)
{
	static const char options[] = "tcp_options_received.";
	struct cc_recorded_socket every;
	struct tcp_sock tp = { .snd_cwnd = 0 };

	memset(&every, 0xff, sizeof(every));
	put_socket(&tp, &every);
	for (u32 i = 0; i < CC_COUNT(cc_layout_table); i++) {
		const struct cc_layout *row = &cc_layout_table[i];
		bool is_option = !strncmp(row->name, options, sizeof(options) - 1);
		u64 base = is_option ? __builtin_offsetof(struct tcp_sock, rx_opt) : 0;

		if ((row->access == CC_NOT_OF_SOCKET && !is_option) || strstr(row->name, ".cc_"))
			continue;
		if (!is_set(&tp, base + row->offset_or_size, row->bytes))
			refuse("not in CC_RECORDED_FIELDS", row->name);
	}
}

/* ---- a call */

/* "cubic_init" ends with '_' and "init". */
static bool ends_with(const char *name, char mark, const char *end)
{
	u64 length = strlen(name), end_length = strlen(end);

	return length > end_length && name[length - end_length - 1] == mark &&
	       !strcmp(name + length - end_length, end);
}

static u32 call_hook(struct sock *sk, const struct cc_record *record)
{
	const struct tcp_congestion_ops *ops = cc_description.ops;
	const char *name = record->program;
	const u32 *argument = record->argument;
	const struct ack_sample ack = {
		.pkts_acked = record->ack.pkts_acked,
		.rtt_us = record->ack.rtt_us,
		.in_flight = record->ack.in_flight,
	};
	const struct rate_sample rate = {
		.prior_mstamp = record->rate.prior_mstamp,
		.prior_delivered = record->rate.prior_delivered,
		.prior_delivered_ce = record->rate.prior_delivered_ce,
		.delivered = record->rate.delivered,
		.delivered_ce = record->rate.delivered_ce,
		.interval_us = (s64)record->rate.interval_us,
		.snd_interval_us = record->rate.snd_interval_us,
		.rcv_interval_us = record->rate.rcv_interval_us,
		.rtt_us = (s64)record->rate.rtt_us,
		.losses = record->rate.losses,
		.acked_sacked = record->rate.acked_sacked,
		.prior_in_flight = record->rate.prior_in_flight,
		.last_end_seq = record->rate.last_end_seq,
		.is_app_limited = record->rate.is_app_limited,
		.is_retrans = record->rate.is_retrans,
		.is_ack_delayed = record->rate.is_ack_delayed,
	};

#define HOOK(hook, ...)						\
	if (ops->hook && ends_with(name, '_', #hook)) {		\
		ops->hook(__VA_ARGS__);				\
		return 0;					\
	}
#define ASK(hook)						\
	if (ops->hook && ends_with(name, '_', #hook))		\
		return ops->hook(sk)
	ASK(ssthresh);
	ASK(undo_cwnd);
	ASK(min_tso_segs);
	ASK(sndbuf_expand);
	HOOK(cong_avoid, sk, argument[0], argument[1])
	HOOK(set_state, sk, (u8)argument[0])
	HOOK(cwnd_event, sk, (enum tcp_ca_event)argument[0])
	HOOK(in_ack_event, sk, argument[0])
	HOOK(pkts_acked, sk, &ack)
	HOOK(cong_control, sk, argument[0], (int)argument[1], &rate)
	HOOK(init, sk)
	HOOK(release, sk)
	refuse("a recorded program is named after its hook: mine_cong_avoid", name);
}

static struct tally *tally_of(const char *program)
{
	for (u32 i = 0; i < MOST_PROGRAMS; i++) {
		if (!tallies[i].program[0])
			memcpy(tallies[i].program, program, sizeof(tallies[i].program));
		if (!strcmp(tallies[i].program, program))
			return &tallies[i];
	}
	refuse("more programs than there are hooks", program);
}

static bool differs(const struct tally *tally, const char *field, u64 before, u64 kernel,
		    u64 native)
{
	if (kernel == native)
		return false;
	if (shown < MOST_SHOWN)
		printf("{\"difference\": {\"program\": \"%s\", \"call\": %llu, \"field\": \"%s\", "
		       "\"before\": %llu, \"kernel\": %llu, \"native\": %llu}}\n",
		       tally->program, tally->calls, field, before, kernel, native);
	shown++;
	return true;
}

/* A field that only the stack writes; the kernel's stack did if the hook requested an ACK. */
static bool is_stacks(const char *field)
{
	for (u32 i = 0; i < CC_COUNT(cc_layout_table); i++) {
		const struct cc_layout *row = &cc_layout_table[i];

		if (row->access == CC_WRITABLE && ends_with(row->name, '.', field))
			return false;
	}
	return true;
}

#define COMPARE(type, name, path)						\
	if (kernel->name != native.name && !(tp.cc_requests && is_stacks(#name))) \
		bad |= differs(tally, #name, before->name, kernel->name, native.name);

static void replay(const struct cc_record *record)
{
	const struct cc_recorded_socket *before = &record->before, *kernel = &record->after;
	struct tally *tally = tally_of(record->program);
	struct tcp_sock tp = {
		.cc_params = parameters,
		.cc_random = record->random,
		.cc_jiffies32 = record->jiffies32,
	};
	struct cc_recorded_socket native;
	bool bad;
	u32 result;

	put_socket(&tp, before);
	result = call_hook(&tp.inet_conn.icsk_inet.sk, record);
	cc_record_socket(&native, &tp);

	bad = differs(tally, "result", 0, record->result, result);
	bad |= differs(tally, "phase", 0, record->phase, tp.cc_phase);
	CC_RECORDED_FIELDS(COMPARE, COMPARE)
	for (u32 i = 0; i < CC_COUNT(native.icsk_ca_priv); i++)
		bad |= differs(tally, "icsk_ca_priv", before->icsk_ca_priv[i],
			       kernel->icsk_ca_priv[i], native.icsk_ca_priv[i]);
	for (u32 i = 0; i < CC_COUNT(native.cc_state); i++)
		bad |= differs(tally, "cc_state", before->cc_state[i], kernel->cc_state[i],
			       native.cc_state[i]);
	tally->calls++;
	tally->mismatches += bad;
}

/* ---- the program */

static void set_parameter(const char *setting)
{
	const char *value = strchr(setting, '=');

	for (u32 i = 0; value && i < cc_description.parameter_count; i++) {
		const char *name = cc_description.parameters[i].name;

		if (strlen(name) == (u64)(value - setting) &&
		    !strncmp(name, setting, strlen(name))) {
			parameters[i] = (u32)strtoul(value + 1, NULL, 10);
			return;
		}
	}
	refuse("no parameter of this algorithm", setting);
}

static void list(const struct cc_record *record)
{
	printf("%s,%u,%u,%llu,%u,%u\n", record->program, record->argument[0], record->phase,
	       record->after.tcp_mstamp, record->after.snd_una, record->after.snd_nxt);
}

int main(int count, char **arguments)
{
	static struct cc_record record;
	bool only_lists = count == 2 && !strcmp(arguments[1], "--list");
	u64 mismatches = 0;

	check_fields();
	if (cc_description.parameter_count > MOST_PARAMETERS)
		refuse("has too many parameters", "algorithm");
	for (u32 i = 0; i < cc_description.parameter_count; i++)
		parameters[i] = cc_description.parameters[i].value;
	for (int i = 1; i < count && !only_lists; i++)
		set_parameter(arguments[i]);
	if (only_lists)
		puts("program,argument,phase,t_us,snd_una,snd_nxt");

	while (fread(&record, sizeof(record), 1, stdin) == 1) {
		record.program[CC_RECORD_NAME_BYTES - 1] = 0;
		if (record.bytes != sizeof(record))
			refuse("recorded with another version of record.h", record.program);
		cc_replay_hz = record.hz;
		if (only_lists)
			list(&record);
		else
			replay(&record);
	}
	for (u32 i = 0; i < MOST_PROGRAMS && tallies[i].program[0]; i++) {
		printf("{\"program\": \"%s\", \"calls\": %llu, \"mismatches\": %llu}\n",
		       tallies[i].program, tallies[i].calls, tallies[i].mismatches);
		mismatches += tallies[i].mismatches;
	}
	return mismatches ? 1 : 0;
}
