/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Records retransmissions, timeouts and recoveries of every socket of the machine when they
 * happen. The reader of the records keeps those of its own namespaces. The programs are attached
 * to tracepoints, which are stable across kernel releases.
 */
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define SECTION(name)	__attribute__((section(name), used))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct ns_common {
	u32 inum;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct sock_common {
	u16 skc_dport;		/* in network byte order */
	u16 skc_num;		/* local port, in host byte order */
	possible_net_t skc_net;
};

struct sock {
	struct sock_common __sk_common;
};
#pragma clang attribute pop

enum kind {
	RETRANSMISSION,
	TIMEOUT,
	RECOVERY,
};

/* enum tcp_ca_state (linux/tcp.h) */
#define TCP_CA_Recovery	3
#define TCP_CA_Loss	4

struct record {
	u64 at_ns;		/* monotonic clock */
	u32 netns;		/* inode number of the namespace */
	u32 kind;
	u16 local_port;
	u16 remote_port;
	u32 unused;
};

#define BPF_MAP_TYPE_RINGBUF	27
#define RECORDS_BYTES		(1 << 22)

struct {
	int (*type)[BPF_MAP_TYPE_RINGBUF];
	int (*max_entries)[RECORDS_BYTES];
} records SECTION(".maps");

static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static void *(*const bpf_ringbuf_reserve)(void *map, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *record, u64 flags) = (void *)132;
#define BPF_RB_NO_WAKEUP	1

static inline __attribute__((always_inline)) int tell(u64 *ctx, enum kind kind)
{
	const struct sock_common *common = &((const struct sock *)ctx[0])->__sk_common;
	struct record *record = bpf_ringbuf_reserve(&records, sizeof(*record), 0);

	if (!record)
		return 0;
	record->at_ns = bpf_ktime_get_ns();
	record->netns = common->skc_net.net->ns.inum;
	record->kind = kind;
	record->local_port = common->skc_num;
	record->remote_port = __builtin_bswap16(common->skc_dport);
	record->unused = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

SECTION("tp_btf/tcp_retransmit_skb") int retransmission(u64 *ctx)
{
	return tell(ctx, RETRANSMISSION);
}

/* Arguments: sk and its new state; since Linux 5.19. Every timeout enters Loss again. */
SECTION("tp_btf/tcp_cong_state_set") int state(u64 *ctx)
{
	if (ctx[1] == TCP_CA_Loss)
		return tell(ctx, TIMEOUT);
	return ctx[1] == TCP_CA_Recovery ? tell(ctx, RECOVERY) : 0;
}

char licence[] SECTION("license") = "Dual BSD/GPL";
