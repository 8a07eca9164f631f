/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Replaces the kernel's headers when an unmodified net/ipv4/tcp_NAME.c is compiled
 * for the simulator: every #include <...> of such a file leads here.
 *
 * The structs are those of cc.h with additional fields: the simulator's fields come
 * first, at the same offsets, then the fields that a kernel file may access but the
 * simulator does not use (struct cc_wide; linux/module.c sets it before each hook).
 * Functions that the kernel defines in headers are here; functions of other objects
 * are in linux/module.c, or in another file of the same kernel (see its comment).
 *
 * Names and meanings are those of Linux 6.1, with the additions up to 6.12.
 */
#ifndef CC_LINUX_H
#define CC_LINUX_H

#define CC_STRUCTS_ONLY
#define sock cc_sock
#define inet_connection_sock cc_inet_connection_sock
#define tcp_sock cc_tcp_sock
#define tcp_congestion_ops cc_congestion_ops
#include "cc.h"
#undef sock
#undef inet_connection_sock
#undef tcp_sock
#undef tcp_congestion_ops
#include "ops.h"

/* ---- the compiler and the language */

#define U8_MAX		((u8)~0u)
#define U16_MAX		((u16)~0u)
#define U32_MAX		(~0u)
#define U64_MAX		(~0ull)
#define U32_C(n)	n##U
#define U64_C(n)	n##ULL
#define S32_MAX		((s32)(U32_MAX >> 1))
#define INT_MAX		S32_MAX

typedef unsigned long size_t;
typedef long ssize_t;
typedef u8 __u8;
typedef u16 __u16;
typedef u32 __u32;
typedef u64 __u64;
typedef s32 __s32;
typedef s64 __s64;
typedef u32 gfp_t;

#define __read_mostly
#define __init
#define __exit
#define __always_unused	__attribute__((unused))
#define __maybe_unused	__attribute__((unused))
#define __bpf_kfunc	__attribute__((used))
#define __pure		__attribute__((pure))
#define noinline	__attribute__((noinline))
#define __always_inline	inline __attribute__((always_inline))
#define fallthrough	__attribute__((fallthrough))

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define offsetof(type, member)	__builtin_offsetof(type, member)
#define container_of(pointer, type, member) \
	((type *)((char *)(pointer) - offsetof(type, member)))
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define BUILD_BUG_ON(condition)	_Static_assert(!(condition), "BUILD_BUG_ON: " #condition)
#define BIT(n)		(1ul << (n))
#define READ_ONCE(x)	(*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, v) (*(volatile __typeof__(x) *)&(x) = (v))
#define cmpxchg(p, old, new) __sync_val_compare_and_swap(p, old, new)
#define xchg(p, v)	({ __typeof__(*(p)) cc_old = *(p); *(p) = (v); cc_old; })
#define WARN_ON(condition)	({ bool cc_is_so = !!(condition); cc_is_so; })
#define WARN_ON_ONCE(condition)	WARN_ON(condition)
#define WARN_ONCE(condition, ...)	WARN_ON(condition)

#define min(a, b) ({ __typeof__(a) cc_a = (a); __typeof__(b) cc_b = (b); \
		     cc_a < cc_b ? cc_a : cc_b; })
#define max(a, b) ({ __typeof__(a) cc_a = (a); __typeof__(b) cc_b = (b); \
		     cc_a > cc_b ? cc_a : cc_b; })
#define min_t(type, a, b)	min((type)(a), (type)(b))
#define max_t(type, a, b)	max((type)(a), (type)(b))
#define min3(a, b, c)		min(min(a, b), c)
#define max3(a, b, c)		max(max(a, b), c)
#define clamp(v, low, high)	min(max(v, low), high)
#define clamp_t(type, v, low, high) clamp((type)(v), (type)(low), (type)(high))
#define min_not_zero(a, b) ({ __typeof__(a) cc_x = (a); __typeof__(b) cc_y = (b); \
			      cc_x == 0 ? cc_y : cc_y == 0 ? cc_x : min(cc_x, cc_y); })
/* Like the kernel's, which first converts an unsigned value to the signed type of its size. */
#define abs(x) ({								\
	__typeof__(__builtin_choose_expr(sizeof(x) > sizeof(s32), (s64)0, (s32)0)) cc_v; \
	cc_v = (__typeof__(cc_v))(x);						\
	cc_v < 0 ? -cc_v : cc_v;						\
})
#define swap(a, b) do { __typeof__(a) cc_t = (a); (a) = (b); (b) = cc_t; } while (0)
#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_CLOSEST(n, d) ({ __typeof__(n) cc_n = (n); __typeof__(d) cc_d = (d); \
	(cc_n < 0) == (cc_d < 0) ? (cc_n + cc_d / 2) / cc_d : (cc_n - cc_d / 2) / cc_d; })

/* ---- linux/math64.h, asm/div64.h, linux/bitops.h, linux/log2.h */

#define do_div(n, base) ({ u32 cc_base = (base); u32 cc_rest = (u32)((u64)(n) % cc_base); \
			   (n) = (u64)(n) / cc_base; cc_rest; })

static inline u64 div_u64(u64 dividend, u32 divisor) { return dividend / divisor; }
static inline s64 div_s64(s64 dividend, s32 divisor) { return dividend / divisor; }
static inline u64 div64_u64(u64 dividend, u64 divisor) { return dividend / divisor; }
static inline s64 div64_s64(s64 dividend, s64 divisor) { return dividend / divisor; }
#define div64_long(dividend, divisor)	div64_s64(dividend, divisor)
#define div64_ul(dividend, divisor)	div64_u64(dividend, divisor)

static inline u64 mul_u32_u32(u32 a, u32 b) { return (u64)a * b; }
static inline int fls(unsigned int x) { return x ? 32 - __builtin_clz(x) : 0; }
static inline int fls64(u64 x) { return x ? 64 - __builtin_clzll(x) : 0; }
static inline bool is_power_of_2(unsigned long n) { return n != 0 && (n & (n - 1)) == 0; }
#define ilog2(n)	(fls64(n) - 1)

/* ---- time, HZ = 250 */

#define NSEC_PER_USEC	1000L
#define NSEC_PER_MSEC	1000000L
#define NSEC_PER_SEC	1000000000L
#undef USEC_PER_SEC
#undef USEC_PER_MSEC
#undef MSEC_PER_SEC
#define USEC_PER_SEC	1000000L
#define USEC_PER_MSEC	1000L
#define MSEC_PER_SEC	1000L
#undef HZ
#define HZ		250
#define TCP_TS_HZ	1000

/* The socket whose hook is running, which has the time and the random numbers. */
struct tcp_sock *cc_linux_socket(void);

#define tcp_jiffies32	(cc_linux_socket()->cc_jiffies32)
#define jiffies		((unsigned long)tcp_jiffies32)

static inline u64 local_clock(void) { return cc_linux_time_ns(); }
static inline u64 ktime_get_ns(void) { return cc_linux_time_ns(); }

static inline unsigned long usecs_to_jiffies(unsigned int us)
{
	return (us + (USEC_PER_SEC / HZ) - 1ul) / (USEC_PER_SEC / HZ);
}

static inline unsigned long msecs_to_jiffies(unsigned int ms)
{
	return (ms + (MSEC_PER_SEC / HZ) - 1ul) / (MSEC_PER_SEC / HZ);
}

static inline unsigned int jiffies_to_usecs(unsigned long j)
{
	return (unsigned int)(j * (USEC_PER_SEC / HZ));
}

static inline unsigned int jiffies_to_msecs(unsigned long j)
{
	return (unsigned int)(j * (MSEC_PER_SEC / HZ));
}

#define time_after(a, b)	((long)((b) - (a)) < 0)
#define time_before(a, b)	time_after(b, a)
#define time_after_eq(a, b)	((long)((a) - (b)) >= 0)
#define time_before_eq(a, b)	time_after_eq(b, a)

/* ---- linux/random.h */

#define get_random_u32()	cc_linux_random_u32()
#define prandom_u32()		cc_linux_random_u32()
#define prandom_u32_max(limit)	((u32)(((u64)cc_linux_random_u32() * (limit)) >> 32))
#define get_random_u32_below(limit) prandom_u32_max(limit)
#define get_random_bytes(to, count)	cc_linux_random_bytes(to, count)

/* ---- linux/string.h, linux/slab.h, linux/printk.h */

void *memset(void *to, int value, size_t count);
void *memcpy(void *to, const void *from, size_t count);
int strcmp(const char *a, const char *b);
size_t strlen(const char *text);
char *strncpy(char *to, const char *from, size_t count);
ssize_t strscpy(char *to, const char *from, size_t count);
char *strsep(char **text, const char *delimiters);
int snprintf(char *to, size_t size, const char *format, ...);
void *calloc(size_t count, size_t size);
void free(void *block);
char *strdup(const char *text);

#define GFP_KERNEL	0u
#define GFP_USER	0u
#define GFP_ATOMIC	0u
#define __GFP_NOWARN	0u
#define kcalloc(count, size, flags)	calloc(count, size)
#define kzalloc(size, flags)		calloc(1, size)
#define kmalloc(size, flags)		calloc(1, size)
#define kstrdup(text, flags)		strdup(text)
#define kfree(block)			free(block)
#define pr_debug(...)	((void)0)
#define pr_info(...)	((void)0)
#define pr_notice(...)	((void)0)
#define pr_warn(...)	((void)0)
#define pr_err(...)	((void)0)

/* ---- linux/module.h: descriptions in the file, which linux/module.c reads */

#define CC_LINUX_TABLE(section_name) __attribute__((used, section(section_name)))
#define CC_LINUX_NAME2(a, b)	a##b
#define CC_LINUX_NAME(a, b)	CC_LINUX_NAME2(a, b)

#define THIS_MODULE	NULL
#define MODULE_AUTHOR(text)
#define MODULE_LICENSE(text)
#define MODULE_VERSION(text)
#define MODULE_ALIAS(text)
#define MODULE_DESCRIPTION(text) \
	static const char *const cc_linux_summary CC_LINUX_TABLE("cc_linux_summaries") = text
#define MODULE_PARM_DESC(parameter, text)				\
	static const struct cc_linux_doc CC_LINUX_NAME(cc_linux_doc_, parameter) = \
		{ #parameter, text };					\
	static const struct cc_linux_doc *const CC_LINUX_NAME(cc_linux_its_doc_, parameter) \
		CC_LINUX_TABLE("cc_linux_docs") = &CC_LINUX_NAME(cc_linux_doc_, parameter)
#define EXPORT_SYMBOL(symbol)
#define EXPORT_SYMBOL_GPL(symbol)

/* Parameters of a file that is compiled as a companion are not the algorithm's. */
#ifdef CC_LINUX_COMPANION
#define CC_LINUX_PARAMETERS	"cc_linux_companion"
#else
#define CC_LINUX_PARAMETERS	"cc_linux_parameters"
#endif

#define module_param(variable, type, permissions)	\
	module_param_named(variable, variable, type, permissions)
#define module_param_named(parameter, variable, type, permissions)	\
	CC_LINUX_PARAMETER(parameter, &variable, sizeof(variable),	\
			   sizeof(variable) > 1 && ((__typeof__(variable))-1) < 1)
#define module_param_cb(parameter, operations, variable, permissions)	\
	static const struct kernel_param_ops *const CC_LINUX_NAME(cc_linux_ops_, parameter) \
		__attribute__((used)) = operations;			\
	CC_LINUX_PARAMETER(parameter, variable, sizeof(*(variable)), false)
#define CC_LINUX_PARAMETER(parameter, address, bytes, is_signed)	\
	static const struct cc_linux_parameter CC_LINUX_NAME(cc_linux_parameter_, parameter) = \
		{ #parameter, address, bytes, is_signed };		\
	static const struct cc_linux_parameter *const			\
		CC_LINUX_NAME(cc_linux_its_parameter_, parameter)	\
		CC_LINUX_TABLE(CC_LINUX_PARAMETERS) =			\
		&CC_LINUX_NAME(cc_linux_parameter_, parameter)

struct kernel_param {
	const char *name;
	void *arg;
};

struct kernel_param_ops {
	int (*set)(const char *value, const struct kernel_param *parameter);
	int (*get)(char *buffer, const struct kernel_param *parameter);
};

#define param_set_uint_minmax(value, parameter, low, high)	(0)
#define param_get_uint		NULL
#define param_get_int		NULL

#define module_init(function)						\
	static int (*const CC_LINUX_NAME(cc_linux_init_, function))(void)	\
		CC_LINUX_TABLE("cc_linux_inits") = function
#define module_exit(function)						\
	static void (*const CC_LINUX_NAME(cc_linux_exit_, function))(void)	\
		__attribute__((used)) = function
#define late_initcall(function)						\
	static int (*const CC_LINUX_NAME(cc_linux_late_, function))(void)	\
		__attribute__((used)) = function

/* linux/btf.h, linux/btf_ids.h: for the verifier, which is not used here */
#define BTF_SET8_START(symbol)	struct btf_id_set8 symbol __attribute__((visibility("hidden")));
#define BTF_SET8_END(symbol)
#define BTF_KFUNCS_START(symbol) BTF_SET8_START(symbol)
#define BTF_KFUNCS_END(symbol)
#define BTF_ID_FLAGS(...)
#define register_btf_kfunc_id_set(type, set)	((void)(set), 0)

struct btf_id_set8 {
	u32 count;
};

struct btf_kfunc_id_set {
	void *owner;
	struct btf_id_set8 *set;
};

/* ---- the kernel's lists, locks and modules, as far as tcp_cong.c needs them to compile */

#define LIST_HEAD(symbol) struct list_head symbol = { &symbol, &symbol }
#define DEFINE_SPINLOCK(symbol) int symbol __attribute__((unused))
#define spin_lock(lock)		((void)(lock))
#define spin_unlock(lock)	((void)(lock))
#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)
#define synchronize_rcu()	((void)0)
#define might_sleep()		((void)0)
#define rcu_dereference(p)	(p)
#define list_for_each_entry_rcu(entry, head, member)			\
	for (entry = container_of((head)->next, __typeof__(*entry), member); \
	     &entry->member != (head);					\
	     entry = container_of(entry->member.next, __typeof__(*entry), member))
#define list_add_tail_rcu(node, head) ({ struct list_head *cc_n = (node), *cc_h = (head); \
	cc_n->next = cc_h; cc_n->prev = cc_h->prev; cc_h->prev->next = cc_n; cc_h->prev = cc_n; })
#define list_del_rcu(node) ({ struct list_head *cc_n = (node); \
	cc_n->next->prev = cc_n->prev; cc_n->prev->next = cc_n->next; })
#define jhash(text, length, seed)	((void)(text), (u32)(length) ^ (seed))
#define bpf_try_module_get(data, owner)	((void)(data), true)
#define bpf_module_put(data, owner)	((void)(data))
#define trace_tcp_cong_state_set(sk, state)	((void)(sk))

/* ---- net/sock.h, net/inet_connection_sock.h, net/tcp.h */

struct net {
	struct {
		const struct tcp_congestion_ops *tcp_congestion_control;
		u8 sysctl_tcp_ecn;
	} ipv4;
};

extern struct net init_net;

#define sock_net(sk)		((void)(sk), &init_net)
#define net_eq(a, b)		((a) == (b))
#define NET_INC_STATS(net, field)		((void)(net))
#define NET_ADD_STATS(net, field, count)	((void)(net))

enum {
	TCP_ESTABLISHED = 1,
	TCP_CLOSE = 7,
	TCP_LISTEN = 10,
};

#define TCPF_CLOSE		(1 << TCP_CLOSE)
#define TCPF_LISTEN		(1 << TCP_LISTEN)
#define TCPF_CA_Open		(1 << TCP_CA_Open)
#define TCPF_CA_Disorder	(1 << TCP_CA_Disorder)
#define TCPF_CA_CWR		(1 << TCP_CA_CWR)
#define TCPF_CA_Recovery	(1 << TCP_CA_Recovery)
#define TCPF_CA_Loss		(1 << TCP_CA_Loss)
#define TCP_INIT_CWND		10
#define TCP_CA_MAX		128
#define TCP_CA_BUF_MAX		(TCP_CA_NAME_MAX * TCP_CA_MAX)
#define TCP_CA_UNSPEC		0
#define TCP_CONG_MASK		(TCP_CONG_NON_RESTRICTED | TCP_CONG_NEEDS_ECN)
#define CONFIG_DEFAULT_TCP_CONG	"cubic"
#define MAX_TCP_HEADER		320	/* in Debian's amd64 build */
#define GSO_LEGACY_MAX_SIZE	65536u
#define MAX_ERRNO		4095
#define ENOENT			2
#define ENOMEM			12
#define EBUSY			16
#define EEXIST			17
#define EINVAL			22
#define EPERM			1
#define ERANGE			34

/* Fields that a kernel file may access, in addition to the simulator's. */
struct cc_wide {
	int sk_state;
	u32 prior_ssthresh;
	const struct tcp_congestion_ops *icsk_ca_ops;
	u8 icsk_ca_initialized;
	u8 icsk_ca_setsockopt;
	u8 icsk_ca_dst_locked;
};

struct tcp_sock {
	struct cc_tcp_sock;
	struct cc_wide;
};

struct inet_connection_sock {
	struct cc_inet_connection_sock;
	u8 cc_tcp[sizeof(struct cc_tcp_sock) - sizeof(struct cc_inet_connection_sock)];
	struct cc_wide;
};

struct sock {
	struct cc_sock;
	u8 cc_tcp[sizeof(struct cc_tcp_sock) - sizeof(struct cc_sock)];
	struct cc_wide;
};

static inline struct tcp_sock *tcp_sk(const struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

static inline struct inet_connection_sock *inet_csk(const struct sock *sk)
{
	return (struct inet_connection_sock *)sk;
}

static inline void *inet_csk_ca(const struct sock *sk)
{
	return (void *)inet_csk(sk)->icsk_ca_priv;
}

/* BUILD_BUG_ON(sizeof(struct x) > ICSK_CA_PRIV_SIZE) compares with a size_t */
#undef ICSK_CA_PRIV_SIZE
#define ICSK_CA_PRIV_SIZE	sizeof(((struct inet_connection_sock *)0)->icsk_ca_priv)

static inline bool before(u32 a, u32 b) { return (s32)(a - b) < 0; }
#define after(a, b)	before(b, a)
static inline bool between(u32 a, u32 low, u32 high) { return high - low >= a - low; }

static inline u32 tcp_snd_cwnd(const struct tcp_sock *tp) { return tp->snd_cwnd; }
static inline void tcp_snd_cwnd_set(struct tcp_sock *tp, u32 packets) { tp->snd_cwnd = packets; }
static inline unsigned int tcp_left_out(const struct tcp_sock *tp)
{
	return tp->sacked_out + tp->lost_out;
}

static inline unsigned int tcp_packets_in_flight(const struct tcp_sock *tp)
{
	return tp->packets_out - tcp_left_out(tp) + tp->retrans_out;
}

static inline bool tcp_in_slow_start(const struct tcp_sock *tp)
{
	return tcp_snd_cwnd(tp) < tp->snd_ssthresh;
}

static inline bool tcp_in_initial_slowstart(const struct tcp_sock *tp)
{
	return tp->snd_ssthresh >= TCP_INFINITE_SSTHRESH;
}

static inline bool tcp_in_cwnd_reduction(const struct sock *sk)
{
	return (TCPF_CA_CWR | TCPF_CA_Recovery) & (1 << inet_csk(sk)->icsk_ca_state);
}

static inline u32 tcp_current_ssthresh(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_in_cwnd_reduction(sk))
		return tp->snd_ssthresh;
	return max(tp->snd_ssthresh, (tcp_snd_cwnd(tp) >> 1) + (tcp_snd_cwnd(tp) >> 2));
}

static inline bool tcp_is_cwnd_limited(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (tp->is_cwnd_limited)
		return true;
	return tcp_in_slow_start(tp) && tcp_snd_cwnd(tp) < 2 * tp->max_packets_out;
}

static inline u32 tcp_min_rtt(const struct tcp_sock *tp) { return tp->rtt_min_us; }
static inline u32 tcp_time_stamp(const struct tcp_sock *tp)
{
	return (u32)(tp->tcp_mstamp / (USEC_PER_SEC / TCP_TS_HZ));
}

/* Linux 6.7, without timestamps in microseconds */
#define tcp_time_stamp_ms(tp)	tcp_time_stamp(tp)
#define tcp_time_stamp_ts(tp)	tcp_time_stamp(tp)

static inline u32 tcp_stamp_us_delta(u64 now, u64 then)
{
	return (u32)max_t(s64, (s64)(now - then), 0);
}

static inline bool tcp_ca_needs_ecn(const struct sock *sk)
{
	return inet_csk(sk)->icsk_ca_ops->flags & TCP_CONG_NEEDS_ECN;
}

/* Linux 6.10 added flags, which TCP without AccECN leaves 0. */
#define __tcp_send_ack(sk, rcv_nxt, ...)	cc_linux_send_ack(sk, rcv_nxt)

/* Protective Load Balancing, Linux 6.2: sysctl_tcp_plb_enabled is 0 by default. */
#define TCP_PLB_SCALE	8

struct tcp_plb_state {
	u8 consec_cong_rounds;
	u32 pause_until;
};

static inline void tcp_plb_init(const struct sock *sk, struct tcp_plb_state *plb)
{
	(void)sk;
	plb->consec_cong_rounds = 0;
	plb->pause_until = 0;
}

#define tcp_plb_update_state(sk, plb, ratio)	((void)(sk), (void)(plb), (void)(ratio))
#define tcp_plb_check_rehash(sk, plb)		((void)(sk), (void)(plb))
#define tcp_plb_update_state_upon_rto(sk, plb)	((void)(sk), (void)(plb))

/* no BPF program is attached to the socket */
#define tcp_call_bpf(...)	(-1)
#define INET_ECN_xmit(sk)	((void)(sk))
#define INET_ECN_dontxmit(sk)	((void)(sk))

/* linux/module.c, or tcp_cong.c of the same kernel */
int tcp_register_congestion_control(struct tcp_congestion_ops *ops);
void tcp_unregister_congestion_control(struct tcp_congestion_ops *ops);
u32 tcp_slow_start(struct tcp_sock *tp, u32 acked);
void tcp_cong_avoid_ai(struct tcp_sock *tp, u32 w, u32 acked);
void tcp_reno_cong_avoid(struct sock *sk, u32 ack, u32 acked);
u32 tcp_reno_ssthresh(struct sock *sk);
u32 tcp_reno_undo_cwnd(struct sock *sk);
void tcp_enter_cwr(struct sock *sk);
void cc_linux_send_ack(struct sock *sk, u32 rcv_nxt);
extern struct tcp_congestion_ops tcp_reno;
struct tcp_congestion_ops *tcp_ca_find(const char *name);
struct tcp_congestion_ops *tcp_ca_find_key(u32 key);
void tcp_init_congestion_control(struct sock *sk);
void tcp_cleanup_congestion_control(struct sock *sk);

/* ---- linux/win_minmax.h; the filters are in lib/win_minmax.c or linux/module.c */

u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 v);
u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 v);

static inline u32 minmax_get(const struct minmax *m)
{
	return m->s[0].v;
}

static inline u32 minmax_reset(struct minmax *m, u32 t, u32 v)
{
	struct minmax_sample sample = { .t = t, .v = v };

	m->s[2] = m->s[1] = m->s[0] = sample;
	return v;
}

/* ---- linux/inet_diag.h: output for ss, which is not used here */

enum {
	INET_DIAG_VEGASINFO = 3,
	INET_DIAG_DCTCPINFO = 9,
	INET_DIAG_BBRINFO = 16,
};

struct tcpvegas_info {
	u32 tcpv_enabled, tcpv_rttcnt, tcpv_rtt, tcpv_minrtt;
};

struct tcp_dctcp_info {
	u16 dctcp_enabled, dctcp_ce_state;
	u32 dctcp_alpha, dctcp_ab_ecn, dctcp_ab_tot;
};

struct tcp_bbr_info {
	u32 bbr_bw_lo, bbr_bw_hi, bbr_min_rtt, bbr_pacing_gain, bbr_cwnd_gain;
};

union tcp_cc_info {
	struct tcpvegas_info vegas;
	struct tcp_dctcp_info dctcp;
	struct tcp_bbr_info bbr;
};

#endif
