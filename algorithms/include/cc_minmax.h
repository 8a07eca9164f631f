/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * Maximum or minimum of a sliding window of time, in constant space, with the
 * kernel's names. Included by cc.h.
 *
 * Three samples are kept: the best of the window, the best since then, and the best
 * since that one. When the first one leaves the window, the others move up. To
 * spread the samples over the window, a second and a third one are taken at the
 * latest after a quarter and a half of it. The result is always a value of the
 * window, but may not be the best, which the spreading can displace.
 *
 * K. Nichols's windowed filter, as described with BBR: N. Cardwell et al., "BBR:
 * Congestion-Based Congestion Control", ACM Queue 14(5), 2016.
 */
#ifndef CC_MINMAX_H
#define CC_MINMAX_H

CC_INLINE u32 minmax_get(const struct minmax *m)
{
	return m->s[0].v;
}

CC_INLINE u32 minmax_reset(struct minmax *m, u32 t, u32 v)
{
	struct minmax_sample sample = { .t = t, .v = v };

	m->s[0] = sample;
	m->s[1] = sample;
	m->s[2] = sample;
	return v;
}

CC_INLINE bool cc_minmax_beats(u32 v, u32 other, bool is_max)
{
	return is_max ? v >= other : v <= other;
}

CC_INLINE u32 cc_minmax_update(struct minmax *m, u32 window, u32 t, u32 v, bool is_max)
{
	struct minmax_sample sample = { .t = t, .v = v };
	u32 age;

	/* a new best, or no sample is left in the window */
	if (cc_minmax_beats(v, m->s[0].v, is_max) || t - m->s[2].t > window)
		return minmax_reset(m, t, v);
	if (cc_minmax_beats(v, m->s[1].v, is_max)) {
		m->s[1] = sample;
		m->s[2] = sample;
	} else if (cc_minmax_beats(v, m->s[2].v, is_max)) {
		m->s[2] = sample;
	}

	age = t - m->s[0].t;
	if (age > window) {
		m->s[0] = m->s[1];
		m->s[1] = m->s[2];
		m->s[2] = sample;
		/* the second may be too old as well; the third one is not, see above */
		if (t - m->s[0].t > window) {
			m->s[0] = m->s[1];
			m->s[1] = m->s[2];
		}
	} else if (m->s[1].t == m->s[0].t && age > window / 4) {
		m->s[1] = sample;
		m->s[2] = sample;
	} else if (m->s[2].t == m->s[1].t && age > window / 2) {
		m->s[2] = sample;
	}
	return m->s[0].v;
}

CC_INLINE u32 minmax_running_max(struct minmax *m, u32 window, u32 t, u32 v)
{
	return cc_minmax_update(m, window, t, v, true);
}

CC_INLINE u32 minmax_running_min(struct minmax *m, u32 window, u32 t, u32 v)
{
	return cc_minmax_update(m, window, t, v, false);
}

#endif
