/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Integer arithmetic for both builds: no floats, no signed division (which BPF does
 * not have before -mcpu=v4), and no loops without a constant bound. A division by
 * zero gives zero in both builds, as in the BPF instruction. Included by cc.h.
 */
#ifndef CC_MATH_H
#define CC_MATH_H

#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define min(a, b) ({ __typeof__(a) cc_a = (a); __typeof__(b) cc_b = (b); \
		     cc_a < cc_b ? cc_a : cc_b; })
#define max(a, b) ({ __typeof__(a) cc_a = (a); __typeof__(b) cc_b = (b); \
		     cc_a > cc_b ? cc_a : cc_b; })
#define min_t(type, a, b) min((type)(a), (type)(b))
#define max_t(type, a, b) max((type)(a), (type)(b))
#define clamp(v, low, high) min(max(v, low), high)
#define clamp_t(type, v, low, high) clamp((type)(v), (type)(low), (type)(high))

/* Sequence numbers and jiffies wrap, so the sign of their difference orders them. */
#define before(a, b)	((s32)((u32)(a) - (u32)(b)) < 0)
#define after(a, b)	before(b, a)

CC_INLINE u64 div64_u64(u64 dividend, u64 divisor)
{
	return divisor ? dividend / divisor : 0;
}

CC_INLINE u64 div_u64(u64 dividend, u32 divisor)
{
	return div64_u64(dividend, divisor);
}

CC_INLINE u32 div_u32(u32 dividend, u32 divisor)
{
	return divisor ? dividend / divisor : 0;
}

/* Rounds towards zero, like C. */
CC_INLINE s64 div64_s64(s64 dividend, s64 divisor)
{
	u64 n = dividend < 0 ? 0 - (u64)dividend : (u64)dividend;
	u64 d = divisor < 0 ? 0 - (u64)divisor : (u64)divisor;
	u64 q = div64_u64(n, d);

	return (s64)((dividend < 0) != (divisor < 0) ? 0 - q : q);
}

CC_INLINE s64 div_s64(s64 dividend, s32 divisor)
{
	return div64_s64(dividend, divisor);
}

/* Position of the most significant bit set, from 1 on; 0 for 0. */
CC_INLINE u32 fls64(u64 x)
{
	u32 n = 0;

	for (u32 step = 32; step; step >>= 1) {
		if (x >> step) {
			x >>= step;
			n += step;
		}
	}
	return n + (u32)x;
}

/*
 * Hides the value of a variable from clang's optimiser. clang then does not replace
 * an arithmetic selection by a branch, or compute an index a second time after a
 * check, which the verifier would not recognise as checked.
 */
#define cc_hide(variable) __asm__ volatile("" : "+r"(variable))

/*
 * Returns 1 if x >= y, else 0, for x and y below 2^63. Loops over digits multiply
 * by this bit, because a branch in each of N rounds would be 2^N paths for the BPF
 * verifier. The same applies to a mask of all ones or zeros since Linux 6.18, whose
 * verifier follows both values.
 */
CC_INLINE u64 cc_bit_ge(u64 x, u64 y)
{
	u64 bit = ((x - y) >> 63) ^ 1;

	cc_hide(bit);
	return bit;
}

/* floor(cube root), digit by digit: three bits of x give one bit of the root. */
CC_INLINE u32 cc_cbrt64(u64 x)
{
	u64 root = 0;

	for (u32 i = 0; i < 22; i++) {
		u32 shift = 63 - 3 * i;
		u64 step, bit;

		root <<= 1;
		/* (root + 1)^3 - root^3 */
		step = 3 * root * (root + 1) + 1;
		bit = cc_bit_ge(x >> shift, step);
		x -= (step << shift) * bit;
		root += bit;
	}
	return (u32)root;
}

/* floor(square root): two bits of x give one bit of the root. */
CC_INLINE u32 cc_sqrt64(u64 x)
{
	u64 root = 0, rest = 0;

	for (u32 i = 0; i < 32; i++) {
		u64 step, bit;

		rest = (rest << 2) | ((x >> (62 - 2 * i)) & 3);
		step = (root << 2) | 1;
		bit = cc_bit_ge(rest, step);
		rest -= step * bit;
		root = (root << 1) | bit;
	}
	return (u32)root;
}

/* SplitMix64 (Steele, Lea, Flood 2014), for which any 64-bit state is a good seed. */
CC_INLINE u32 cc_splitmix_u32(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return (u32)((z ^ (z >> 31)) >> 32);
}

#endif
