"""Algorithms of users for tests: a correct one, and incorrect variants."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """\
/*
 * mine: Reno, written anew.
 *
 * Papers: nobody's.
 */
#include "cc.h"

#define MINE_PARAMETERS(P) \\
	P(kept, "1/1024", 512, 1, 1023, "what a loss leaves")

CC_PARAMETERS(mine, MINE_PARAMETERS);

CC_PROG(void, mine_cong_avoid, struct sock *sk, u32 ack, u32 acked)
{
	/* here */
	tcp_reno_cong_avoid(sk, ack, acked);
}

CC_PROG(u32, mine_ssthresh, struct sock *sk)
{
	u64 cwnd = tcp_snd_cwnd(tcp_sk(sk));

	return max((u32)(cwnd * cc_params(sk)->kept >> 10), 2u);
}

CC_PROG(u32, mine_undo_cwnd, struct sock *sk)
{
	return tcp_reno_undo_cwnd(sk);
}

CC_OPS(mine) = {
	.cong_avoid	= CC_CB(mine_cong_avoid),
	.ssthresh	= CC_CB(mine_ssthresh),
	.undo_cwnd	= CC_CB(mine_undo_cwnd),
	.name		= "mine",
};

CC_DESCRIBE(mine,
	.summary = "Reno, written anew",
	CC_HAS_PARAMETERS(mine)
);
"""
HERE = GOOD.splitlines().index("\t/* here */") + 1


@dataclass(frozen=True)
class Mistake:
    """An edit of the correct file, and the resulting message."""

    name: str
    old: str
    new: str
    told: str

    @property
    def source(self) -> str:
        assert GOOD.count(self.old) == 1, self.old
        return GOOD.replace(self.old, self.new)


MARK = "\t/* here */"
# Mistakes because of which no hook is ever called.
UNUSABLE = (
    Mistake(
        "syntax",
        MARK,
        "\tnothing_here++;",
        f"syntax.c does not compile\n  syntax.c:{HERE}:9: error: 'nothing_here' undeclared",
    ),
    Mistake(
        "include",
        '#include "cc.h"',
        '#include "cc.h"\n#include "absent.h"',
        "include.c does not compile\n  include.c:7:10: fatal error: absent.h: No such file",
    ),
    Mistake(
        "state",
        MARK,
        "\tstruct big { u32 a[27]; };\n\tCC_PRIV_CHECK(struct big);",
        "state.c does not compile\n",
    ),
    Mistake(
        "link",
        MARK,
        "\textern void nowhere(void);\n\tnowhere();",
        f"link.c does not compile\n  link.c:{HERE + 1}: undefined reference to `nowhere'",
    ),
    Mistake(
        "ssthresh",
        "\t.ssthresh\t= CC_CB(mine_ssthresh),\n",
        "",
        "ssthresh.c: the hook ssthresh is missing; CC_OPS needs .ssthresh, .undo_cwnd, and either",
    ),
    Mistake(
        "undo",
        "\t.undo_cwnd\t= CC_CB(mine_undo_cwnd),\n",
        "",
        "undo.c: the hook undo_cwnd is missing",
    ),
    Mistake(
        "growth",
        "\t.cong_avoid\t= CC_CB(mine_cong_avoid),\n",
        "",
        "growth.c: the hook cong_avoid is missing",
    ),
    Mistake(
        "blank",
        '"mine",\n};',
        '"mi ne",\n};',
        'blank.c: the name "mi ne" in CC_OPS is invalid; a name has 1 to 15 characters '
        "and no spaces",
    ),
    Mistake(
        "nothing",
        GOOD[GOOD.index("CC_DESCRIBE") :],
        "",
        "nothing.c: the file does not define an algorithm; it must end with CC_OPS(...) "
        "and CC_DESCRIBE(...)",
    ),
    Mistake(
        "loading",
        '#include "cc.h"',
        '#include "cc.h"\nvoid abort(void);\n'
        "__attribute__((constructor)) static void first(void) { abort(); }",
        "loading.c: code that runs when it is loaded aborted",
    ),
)


def _calling(name: str, declaration: str, call: str) -> Mistake:
    """Return a hook that calls a function of the operating system."""
    return Mistake(name, MARK, f"\textern {declaration};\n\t{call};", f"{name}.c: {_CALLS[name]}")


_ONLY = "; it may call only functions that cc.h declares"
_CALLS = {
    "forking": f"the algorithm calls fork{_ONLY}",
    "sleeping": f"the algorithm calls sleep{_ONLY}",
    "waiting": f"the algorithm calls pause{_ONLY}",
    "leaving": f"the algorithm calls _exit{_ONLY}",
    "writing": f"the algorithm calls creat, write{_ONLY}",
}
_OPENAT = {
    "x86_64": '"syscall" : "+a"(n) : "D"(-100), "S"("/etc/shadow"), "d"(0) '
    ': "rcx", "r11", "memory"',
    "aarch64": '"mov x8, %0; mov x0, #-100; mov x1, %1; mov x2, #0; svc #0" : "+r"(n) '
    ': "r"("/etc/shadow") : "x0", "x1", "x2", "x8", "memory"',
}[platform.machine()]
_NUMBER = {"x86_64": 257, "aarch64": 56}[platform.machine()]
_SYSTEM_CALL = f"\tlong n = {_NUMBER};\n\t__asm__ volatile({_OPENAT});"
# Code that does more than control congestion.
MALICIOUS = (
    Mistake(
        "shadow",
        '#include "cc.h"',
        '#include "cc.h"\nint open(const char *path, int flags);\n'
        "long read(int file, void *to, unsigned long bytes);\n"
        "__attribute__((constructor)) static void first(void)\n"
        '{ char secret[99]; read(open("/etc/shadow", 0), secret, 99); }',
        f"shadow.c: the algorithm calls open, read{_ONLY}",
    ),
    Mistake(
        "zeros",
        '#include "cc.h"',
        '#include "cc.h"\n#include "/dev/zero"',
        "zeros.c does not compile\n  zeros.c:7:10: fatal error: /dev/zero: Permission denied",
    ),
    Mistake(
        "assembled",
        '#include "cc.h"',
        '#include "cc.h"\n__asm__(".incbin \\"/etc/shadow\\"");',
        "assembled.c does not compile",
    ),
    _calling("forking", "int fork(void)", "fork()"),
    _calling("sleeping", "unsigned sleep(unsigned s)", "sleep(1000)"),
    _calling("waiting", "int pause(void)", "pause()"),
    _calling("leaving", "void _exit(int status)", "_exit(3)"),
    _calling(
        "writing",
        "int creat(const char *path, int mode), write(int to, const void *from, unsigned long n)",
        'write(creat("written", 0600), sk, 4)',
    ),
    Mistake(
        "constructing",
        '#include "cc.h"',
        '#include "cc.h"\n__attribute__((constructor)) static void first(void)\n'
        f"{{\n{_SYSTEM_CALL}\n}}",
        "code that runs when it is loaded made a system call (openat)",
    ),
)
# Mistakes of hooks that break a run.
BREAKING = (
    Mistake(
        "overrun",
        MARK,
        "\tstruct big { u32 a[27]; } *big = inet_csk_ca(sk);\n\tbig->a[26] = acked + 1;",
        "overrun.c: cong_avoid wrote beyond the 104 bytes of its private state",
    ),
    Mistake(
        "far",
        MARK,
        "\tstruct big { u32 a[9000]; } *big = inet_csk_ca(sk);\n\tbig->a[8999] = acked + 1;",
        f"far.c:{HERE + 1}: cong_avoid accessed memory that does not belong to it",
    ),
    Mistake(
        "state",
        "CC_PROG(void, mine_cong_avoid",
        "struct big { u64 a[32]; };\nCC_STATE(struct big);\n"
        "#define tcp_reno_cong_avoid(a, b, c) (((volatile u64 *)cc_state(a))[c ? 32 : 0] = c)\n"
        "CC_PROG(void, mine_cong_avoid",
        "cong_avoid accessed memory that does not belong to it",
    ),
    Mistake(
        "division",
        MARK,
        "\tu32 *counter = inet_csk_ca(sk);\n\ttcp_sk(sk)->snd_cwnd_cnt = ack / *counter;",
        f"division.c:{HERE + 1}: cong_avoid divides by zero",
    ),
    Mistake(
        "endless",
        MARK,
        "\tvolatile u32 i = 1;\n\twhile (i)\n\t\ti |= 2;",
        "cong_avoid has not returned after one second of computation",
    ),
    Mistake(
        "aborting",
        MARK,
        "\textern void abort(void);\n\tabort();",
        "aborting.c: cong_avoid aborted",
    ),
    Mistake(
        "calling",
        MARK,
        _SYSTEM_CALL,
        "cong_avoid made a system call (openat); algorithms must not make system calls",
    ),
    Mistake(
        "recursion",
        "CC_PROG(void, mine_cong_avoid",
        "static u32 deeper(volatile u32 *n)\n{\n\tvolatile u32 room[4096];\n\n"
        "\troom[0] = *n + 1;\n\treturn deeper(room) + room[1];\n}\n"
        "#define tcp_reno_cong_avoid(a, b, c) deeper(&acked)\n"
        "CC_PROG(void, mine_cong_avoid",
        "cong_avoid accessed memory that does not belong to it",
    ),
    Mistake(
        "null",
        MARK,
        "\tu32 *volatile nothing = NULL;\n\t*nothing = acked;",
        f"null.c:{HERE + 1}: cong_avoid accessed memory that does not belong to it",
    ),
    Mistake(
        "array",
        MARK,
        "\tstatic const u32 table[4] = { 1, 2, 3, 4 };\n"
        "\ttcp_sk(sk)->snd_cwnd_cnt = table[acked + 4];",
        f"array.c:{HERE + 1}: cong_avoid reads or writes outside an array",
    ),
    Mistake(
        "clamp",
        MARK,
        "\ttcp_sk(sk)->snd_cwnd_clamp = 7;",
        "clamp.c: cong_avoid wrote tcp_sock.snd_cwnd_clamp, which the kernel does not allow",
    ),
    Mistake(
        "zero",
        MARK,
        "\ttcp_sk(sk)->snd_cwnd = 0;\n\treturn;",
        "zero.c: cong_avoid set the congestion window to 0 packets; a window must be at least 1",
    ),
)

MISTAKES = (*UNUSABLE, *MALICIOUS, *BREAKING)

# A module as in a kernel, in two files: the second needs symbols that the first exports.
COMPANION = """\
#include <linux/module.h>
#include <net/tcp.h>
#include "tcp_halves.h"

u32 tcp_half_of(u32 packets)
{
	return packets >> 1;
}
EXPORT_SYMBOL_GPL(tcp_half_of);

/* Nothing calls it, as nothing calls what reads the settings in tcp_cong.c. */
int tcp_halves_read(const char *text, char *last)
{
	char *copy = kstrdup(text, GFP_USER), *rest = copy, *name;

	while ((name = strsep(&rest, " ")) && *name)
		strscpy(last, name, TCP_CA_NAME_MAX);
	kfree(copy);
	return 0;
}

static int __init halves_register(void)
{
	return tcp_register_congestion_control(NULL);
}
module_init(halves_register);
"""
COMPANION_HEADER = (
    "u32 tcp_half_of(u32 packets);\nint tcp_halves_read(const char *text, char *last);\n"
)
MODULE = """\
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/skbuff.h>
#include <net/tcp.h>
#include "tcp_halves.h"

static int kept __read_mostly = 512;
static int kept_of_four __read_mostly;
module_param(kept, int, 0644);
MODULE_PARM_DESC(kept, "what a loss leaves, in 1/1024");

struct mod { u32 calls; };

static void mod_init(struct sock *sk)
{
	struct mod *ca = inet_csk_ca(sk);

	ca->calls = 0;
}

static u32 mod_ssthresh(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	/* kept_of_four is what init made of the parameter */
	return max((tcp_snd_cwnd(tp) * kept_of_four) >> 12, 2U);
}

static void mod_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);

	if (tcp_half_of(2) != 1 || !tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	tcp_cong_avoid_ai(tp, tcp_snd_cwnd(tp), acked);
}

static struct tcp_congestion_ops mod __read_mostly = {
	.init		= mod_init,
	.ssthresh	= mod_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_avoid	= mod_cong_avoid,
	.owner		= THIS_MODULE,
	.name		= "mod",
};

static int __init mod_register(void)
{
	BUILD_BUG_ON(sizeof(struct mod) > ICSK_CA_PRIV_SIZE);
	kept_of_four = 4 * kept;
	return tcp_register_congestion_control(&mod);
}

static void __exit mod_unregister(void)
{
	tcp_unregister_congestion_control(&mod);
}

module_init(mod_register);
module_exit(mod_unregister);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Reno as a module");
"""
# Additions of newer kernels: cong_control receives the ACK and its flags (6.10), timestamps have
# units (6.7), and the path changes on congestion (6.2). The module has its own table, as cdg does.
NEWER_MODULE = """\
#include <linux/module.h>
#include <net/tcp.h>

struct newer {
	u32 *windows;
	struct tcp_plb_state plb;
};

static void newer_init(struct sock *sk)
{
	struct newer *ca = inet_csk_ca(sk);

	ca->windows = kcalloc(8, sizeof(ca->windows[0]), GFP_NOWAIT | __GFP_NOWARN);
	tcp_plb_init(sk, &ca->plb);
}

static void newer_release(struct sock *sk)
{
	struct newer *ca = inet_csk_ca(sk);

	kfree(ca->windows);
}

static u32 newer_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

__bpf_kfunc static void newer_main(struct sock *sk, u32 ack, int flag,
				const struct rate_sample *rs)
{
	struct newer *ca = inet_csk_ca(sk);

	(void)flag;
	tcp_plb_update_state(sk, &ca->plb, rs->losses << TCP_PLB_SCALE);
	tcp_plb_check_rehash(sk, &ca->plb);
	if (ca->windows)
		ca->windows[tcp_time_stamp_ts(tcp_sk(sk)) % 8] = tcp_snd_cwnd(tcp_sk(sk));
	if (ack != tcp_sk(sk)->snd_una)
		tcp_snd_cwnd_set(tcp_sk(sk), 0);
	else
		tcp_snd_cwnd_set(tcp_sk(sk), 20 + rs->losses * 0);
}

static struct tcp_congestion_ops newer = {
	.init		= newer_init,
	.release	= newer_release,
	.ssthresh	= newer_ssthresh,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.cong_control	= newer_main,
	.name		= "newer",
};

static int __init newer_register(void)
{
	return tcp_register_congestion_control(&newer);
}
module_init(newer_register);
"""


def mine(folder: Path, source: str = GOOD, name: str = "mine.c") -> Path:
    """Write an algorithm of a user, and return its path."""
    path = folder / name
    path.write_text(source)
    return path


def kernel_in(folder: Path) -> Path:
    """Write a kernel's folders with our own modules, and return the folder of the modules."""
    ipv4 = folder / "kernel" / "net" / "ipv4"
    ipv4.mkdir(parents=True)
    (ipv4 / "tcp_halves.h").write_text(COMPANION_HEADER)
    (ipv4 / "tcp_halves.c").write_text(COMPANION)
    (ipv4 / "tcp_mod.c").write_text(MODULE)
    (ipv4 / "tcp_newer.c").write_text(NEWER_MODULE)
    return ipv4
