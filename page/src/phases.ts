// The phases of the algorithms, one sentence each, from the descriptions in algorithms/.

const BBR = "ACM Queue 14(5), 2016";
const BBR3 = "draft-ietf-ccwg-bbr, section 4.3";

/** By algorithm and by the name of the phase that begins. */
const SENTENCES: Record<string, Record<string, string>> = {
  bbr: {
    startup: `The rate more than doubles each round trip, until three of them bring no quarter more (${BBR}).`,
    drain: `BBR found the bandwidth and now sends slower, until what it had queued is gone (${BBR}).`,
    probe_bw: `BBR sends at the measured bandwidth; every eighth round trip it tries a quarter more (${BBR}).`,
    probe_rtt: `BBR has seen no shorter round trip for 10 s: with four packets in flight it looks whether the path is shorter than it seems (${BBR}).`,
  },
  bbr3: {
    startup: `The rate more than doubles each round trip, until three of them bring no quarter more, or 2 % are lost (${BBR3}.1).`,
    drain: `BBR found the bandwidth and now sends at half of it, until what it had queued is gone (${BBR3}.2).`,
    probe_bw_down: `BBR sends a tenth below the bandwidth, until the queue that its probe made is gone (${BBR3}.3).`,
    probe_bw_cruise: `BBR sends at the bandwidth, below what it knows to fit in flight, and waits for the next probe (${BBR3}.3).`,
    probe_bw_refill: `BBR fills the path for a round trip before it probes, so that losses of the probe are the probe's own (${BBR3}.3).`,
    probe_bw_up: `BBR sends a quarter more, until that brings no more or 2 % are lost: what was in flight then bounds the next cycles (${BBR3}.3).`,
    probe_rtt: `BBR has seen no shorter round trip for 5 s: with half of the path's capacity in flight it looks whether the path is shorter than it seems (${BBR3}.4).`,
  },
  bic: {
    below_low_window: "The window is so small that Reno's rule holds: a packet a round trip.",
    additive: "The window is far from its goal and grows by the largest step.",
    binary_search: "The window halves its distance to the one of the last loss.",
    max_probing: "The window has passed the one of the last loss: small steps first, larger ones after.",
  },
  c4: {
    initial: "C4 sends at twice its nominal rate, until three round trips have not raised the rate, or congestion ends it.",
    recovery: "C4 sends a sixteenth below its nominal rate for a round trip, so that a queue that it made drains.",
    cruising: "C4 sends at its nominal rate for at least four round trips.",
    pushing: "C4 sends a sixteenth above its nominal rate for a round trip, or a quarter after a successful push.",
  },
  cdg: {
    avoidance: "The window grows by a packet a round trip.",
    backoff: "The round trip rises: by chance, the more likely the steeper, the window falls to 0.7 without a loss.",
    compete: "Backing off has not helped, so others fill the queue: for some rises it does not back off.",
  },
  compound: {
    standard: "The window is small enough for Reno's rule: a packet a round trip.",
    growing: "The queue is short: a second window is added to Reno's and grows quickly.",
    yielding: "The queue is long: the second window shrinks by what is queued, down to Reno's alone.",
  },
  copa: {
    slow_start: "The window doubles each round trip, until the rate exceeds Copa's target.",
    default: "The queue empties now and then, so no other flow keeps it full: Copa keeps few packets in it.",
    competitive: "The queue has not been nearly empty for five round trips, so another flow fills it: Copa allows more packets in the queue.",
  },
  cubic: {
    friendly: "The cubic curve is below what Reno would have by now, so that the window grows as Reno's (RFC 9438, section 4.3).",
    concave: "The window nears the one of the last loss: fast at first, then ever slower (RFC 9438, section 4.4).",
    convex: "The window has passed the one of the last loss and looks for room: slowly at first, then ever faster (RFC 9438, section 4.5).",
  },
  highspeed: {
    standard: "Up to 38 packets the window grows as Reno's.",
    high_speed: "The larger the window, the larger its steps, and the less a loss takes (RFC 3649, section 5).",
  },
  htcp: {
    low_speed: "For a second after a loss the window grows as Reno's.",
    high_speed: "A second has passed without a loss: each round trip adds more, the longer it lasts.",
  },
  illinois: {
    standard: "The window is small: it grows and falls as Reno's.",
    adaptive: "The delay sets the steps: large ones while the queue is short, small ones while it is long.",
  },
  "ledbat-pp": {
    slow_start: "The window grows by a part of each acknowledged packet, until the queueing delay nears its target or a packet is lost.",
    avoidance: "The window grows slowly while the queueing delay is below its target, and shrinks above it.",
    slowdown: "Two packets in flight for two round trips show how short the path is without this flow's queue.",
    ramp_up: "After a slowdown, the window grows back to where it was.",
  },
  lp: { inference: "The one-way delay grew: others need the link. The window is halved, and falls to a packet if the delay grows again." },
  nv: {
    grow: "The window is below what the highest rate needs: it grows as Reno's.",
    hold: "The window is what the highest rate needs: it stays, or falls.",
  },
  prague: {
    slow_start: "The window doubles each round trip, until a packet is marked or lost.",
    avoidance: "Each round trip, the window falls in proportion to the share of marked packets, and grows by a packet.",
    classic: "The marks come from a queue without L4S: Prague responds to them as to losses.",
  },
  scalable: {
    standard: "The window is small: it grows and falls as Reno's.",
    scalable: "Each 100 packets that are acknowledged add one to the window.",
  },
  vegas: {
    increase: "Fewer than two packets of this flow are queued: the window grows by one.",
    hold: "Two to four packets of this flow are queued, as it wants: the window stays.",
    decrease: "More than four packets of this flow are queued: the window falls by one.",
    reno: "Too few round trips were measured: the window grows as Reno's.",
  },
  veno: {
    available: "Fewer than three packets of this flow are queued: it grows as Reno, and takes a loss for the radio's.",
    full: "Three packets or more of this flow are queued: it grows half as fast, and takes a loss for congestion.",
    reno: "Too few round trips were measured: the window grows as Reno's.",
  },
  vivace: {
    starting: "The rate doubles in each interval, until its utility falls.",
    probing: "Vivace tries rates slightly above and below its own, and moves to where the utility is higher.",
  },
  yeah: {
    fast: "The queue is short: the window grows as Scalable's.",
    slow: "The queue is long: the window grows as Reno's.",
    decongest: "More is queued than it wants: what is queued is taken out of the window at once.",
  },
};

/** Describes the phase that begins; empty if its name suffices. */
export function phaseSentence(algorithm: string, phase: string): string {
  return SENTENCES[algorithm]?.[phase] ?? "";
}
