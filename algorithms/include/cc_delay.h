/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * What the algorithms of the Vegas family keep of the RTT: the path's own, which is
 * the lowest ever seen, and the lowest of the round trip now under way, which holds
 * what the queue adds and not what delayed ACKs do. Included by cc.h.
 */
#ifndef CC_DELAY_H
#define CC_DELAY_H

/* Before the first sample. */
#define CC_DELAY_NONE_US	0x7fffffffu

/* A round's lowest RTT means something from more samples than this on. */
#define CC_DELAY_FEW_SAMPLES	2u

struct cc_delay {
	u32 base_us;	/* lowest RTT of the connection */
	u32 least_us;	/* lowest RTT of the round */
	u32 samples;	/* RTTs of the round */
};

CC_INLINE void cc_delay_start_round(struct cc_delay *delay)
{
	delay->least_us = CC_DELAY_NONE_US;
	delay->samples = 0;
}

CC_INLINE void cc_delay_init(struct cc_delay *delay)
{
	delay->base_us = CC_DELAY_NONE_US;
	cc_delay_start_round(delay);
}

/* Takes the RTT of an ACK; false if it has none. */
CC_INLINE bool cc_delay_take(struct cc_delay *delay, const struct ack_sample *sample)
{
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return false;
	/* never zero, so that it may divide */
	rtt_us = (u32)sample->rtt_us + 1;
	delay->base_us = min(delay->base_us, rtt_us);
	delay->least_us = min(delay->least_us, rtt_us);
	delay->samples++;
	return true;
}

CC_INLINE bool cc_delay_has_enough(const struct cc_delay *delay)
{
	return delay->samples > CC_DELAY_FEW_SAMPLES;
}

/* What the queue added to the round's lowest RTT, us; base is never above that. */
CC_INLINE u32 cc_delay_queueing_us(const struct cc_delay *delay)
{
	return delay->least_us - delay->base_us;
}

#endif
