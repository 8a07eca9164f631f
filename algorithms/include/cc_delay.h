/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
/*
 * RTT measurements of the Vegas family: the lowest RTT ever seen, which is that of
 * the path, and the lowest RTT of the current round trip, which includes the
 * queueing delay but not the effect of delayed ACKs. Included by cc.h.
 */
#ifndef CC_DELAY_H
#define CC_DELAY_H

/* The RTT before the first sample. */
#define CC_DELAY_NONE_US	0x7fffffffu

/* A round's lowest RTT is meaningful with more samples than this. */
#define CC_DELAY_FEW_SAMPLES	2u

struct cc_delay {
	u32 base_us;	/* lowest RTT of the connection */
	u32 least_us;	/* lowest RTT of the round */
	u32 samples;	/* number of RTTs in the round */
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

/* Records the RTT of an ACK; returns false if the ACK has none. */
CC_INLINE bool cc_delay_take(struct cc_delay *delay, const struct ack_sample *sample)
{
	u32 rtt_us;

	if (sample->rtt_us < 0)
		return false;
	/* never zero, because it is used as a divisor */
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

/* Queueing delay in the round's lowest RTT, us; never negative, as base is the lowest RTT. */
CC_INLINE u32 cc_delay_queueing_us(const struct cc_delay *delay)
{
	return delay->least_us - delay->base_us;
}

#endif
