// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0
/*
 * The layout of the structs as the compiler creates it, for the test that compares
 * it with crates/cc/src/sock.rs, and the shared helpers as functions for tests.
 */
#include "layout.h"

extern const struct cc_layout *const cc_layout;
extern const u64 cc_layout_count;

const struct cc_layout *const cc_layout = cc_layout_table;
const u64 cc_layout_count = CC_COUNT(cc_layout_table);

extern const struct cc_layout *cc_native_forbidden_write(const struct tcp_sock *before,
							 const struct tcp_sock *after);

const struct cc_layout *cc_native_forbidden_write(const struct tcp_sock *before,
						  const struct tcp_sock *after)
{
	return cc_forbidden_write(before, after);
}

extern u32 cc_native_cbrt64(u64 x);
extern u32 cc_native_sqrt64(u64 x);
extern u32 cc_native_running_max(struct minmax *m, u32 window, u32 t, u32 v);
extern u32 cc_native_running_min(struct minmax *m, u32 window, u32 t, u32 v);

u32 cc_native_cbrt64(u64 x)
{
	return cc_cbrt64(x);
}

u32 cc_native_sqrt64(u64 x)
{
	return cc_sqrt64(x);
}

u32 cc_native_running_max(struct minmax *m, u32 window, u32 t, u32 v)
{
	return minmax_running_max(m, window, t, v);
}

u32 cc_native_running_min(struct minmax *m, u32 window, u32 t, u32 v)
{
	return minmax_running_min(m, window, t, v);
}
