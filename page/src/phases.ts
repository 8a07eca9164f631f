// The phases of the algorithms, one sentence each, from the descriptions in algorithms/.

const BBR = "ACM Queue 14(5), 2016";
const BBR3 = "draft-ietf-ccwg-bbr, section 4.3";

/** A sentence for each algorithm and each name of a phase that begins. */
const SENTENCES: Record<string, Record<string, string>> = {
  bbr: {
    startup: `BBR more than doubles its rate in each round trip, until the measured bandwidth has grown by less than a quarter in three round trips (${BBR}).`,
    drain: `BBR has found the bandwidth and now sends more slowly, until the queue that it built up is empty (${BBR}).`,
    probe_bw: `BBR sends at the measured bandwidth; in every eighth round trip, it tries a rate that is a quarter higher (${BBR}).`,
    probe_rtt: `BBR has measured no shorter round-trip time for 10 s. It reduces the packets in flight to four, to measure the round-trip time without a queue (${BBR}).`,
  },
  bbr3: {
    startup: `BBR more than doubles its rate in each round trip, until the measured bandwidth has grown by less than a quarter in three round trips, or 2 % of the packets are lost (${BBR3}.1).`,
    drain: `BBR has found the bandwidth and now sends at half of it, until the queue that it built up is empty (${BBR3}.2).`,
    probe_bw_down: `BBR sends at a tenth below the bandwidth, until the queue that its probe built up is empty (${BBR3}.3).`,
    probe_bw_cruise: `BBR sends at the bandwidth until the next probe, with fewer packets in flight than it knows the path can hold (${BBR3}.3).`,
    probe_bw_refill: `BBR fills the path for a round trip before it probes, so that losses during the probe are due to the probe (${BBR3}.3).`,
    probe_bw_up: `BBR sends at a rate that is a quarter higher, until the bandwidth no longer grows or 2 % of the packets are lost. The packets in flight at this point limit the next cycles (${BBR3}.3).`,
    probe_rtt: `BBR has measured no shorter round-trip time for 5 s. It reduces the packets in flight to half of the path's capacity, to measure the round-trip time without a queue (${BBR3}.4).`,
  },
  bic: {
    below_low_window: "The window is so small that it grows as in Reno, by one packet per round trip.",
    additive: "The window is far below its target and grows by the largest step.",
    binary_search: "The window halves its distance to the window at the last loss.",
    max_probing: "The window has exceeded the window at the last loss. It grows by small steps at first, and then by larger steps.",
  },
  "c4-00": {
    initial: "C4 sends at twice its nominal rate, until the rate has not grown for three round trips, or until it detects congestion.",
    recovery: "C4 sends at a sixteenth below its nominal rate for a round trip, so that a queue that it built up drains.",
    cruising: "C4 sends at its nominal rate for at least four round trips.",
    pushing: "C4 sends at a sixteenth above its nominal rate for a round trip, or at a quarter above it after a successful push.",
  },
  cdg: {
    avoidance: "The window grows by one packet per round trip.",
    backoff: "The round-trip time rises. The window is reduced to 0.7 at random, without a loss; a steeper rise makes this more likely.",
    compete: "Reducing the window has not shortened the queue, so other flows fill it. For the next few rises of the round-trip time, CDG does not reduce the window.",
  },
  compound: {
    standard: "The window is so small that it grows as in Reno, by one packet per round trip.",
    growing: "The queue is short. A second window, which is added to that of Reno, grows quickly.",
    yielding: "The queue is long. The second window shrinks by the number of queued packets, until only the window of Reno remains.",
  },
  copa: {
    slow_start: "The window doubles in each round trip, until the rate exceeds Copa's target.",
    default: "The queue is empty from time to time, so no other flow keeps it full. Copa keeps few packets in the queue.",
    competitive: "The queue has not been nearly empty for five round trips, so another flow fills it. Copa allows more packets in the queue.",
  },
  cubic: {
    friendly: "The cubic function is below the window that Reno would have by now, so the window grows as in Reno (RFC 9438, section 4.3).",
    concave: "The window approaches the window at the last loss, quickly at first and then more and more slowly (RFC 9438, section 4.4).",
    convex: "The window has exceeded the window at the last loss. It grows slowly at first and then faster and faster, to find more bandwidth (RFC 9438, section 4.5).",
  },
  highspeed: {
    standard: "Up to 38 packets, the window grows as in Reno.",
    high_speed: "A larger window grows by larger steps, and a loss reduces it by a smaller share (RFC 3649, section 5).",
  },
  htcp: {
    low_speed: "For a second after a loss, the window grows as in Reno.",
    high_speed: "No packet has been lost for a second. As this time becomes longer, the window grows by more in each round trip.",
  },
  illinois: {
    standard: "The window is small, so it grows and shrinks as in Reno.",
    adaptive: "The queueing delay determines how fast the window grows: by large steps while the queue is short, and by small steps while it is long.",
  },
  "ledbat-pp": {
    slow_start: "The window grows by a part of each acknowledged packet, until the queueing delay is close to its target or a packet is lost.",
    avoidance: "The window grows slowly while the queueing delay is below its target, and shrinks while the delay is above the target.",
    slowdown: "The window is two packets for two round trips, to measure the round-trip time without a queue of this flow.",
    ramp_up: "After a slowdown, the window grows back to its previous size.",
  },
  lp: { inference: "The one-way delay has grown, so other flows need the link. The window is halved. If the delay grows again, the window is reduced to one packet." },
  nv: {
    grow: "The window is smaller than the highest measured rate needs, so it grows as in Reno.",
    hold: "The window is as large as the highest measured rate needs, so it stays the same or shrinks.",
  },
  prague: {
    slow_start: "The window doubles in each round trip, until a packet is marked or lost.",
    avoidance: "In each round trip, the window shrinks in proportion to the share of marked packets, and grows by one packet.",
    classic: "The marks come from a queue without L4S, so Prague responds to a mark as to a loss.",
  },
  scalable: {
    standard: "The window is small, so it grows and shrinks as in Reno.",
    scalable: "The window grows by one packet for every 100 acknowledged packets.",
  },
  vegas: {
    increase: "Fewer than two packets of this flow are in the queue, so the window grows by one packet.",
    hold: "Two to four packets of this flow are in the queue, which is the target of Vegas, so the window stays the same.",
    decrease: "More than four packets of this flow are in the queue, so the window shrinks by one packet.",
    reno: "Too few round-trip times were measured, so the window grows as in Reno.",
  },
  veno: {
    available: "Fewer than three packets of this flow are in the queue. The window grows as in Reno, and Veno attributes a loss to the radio channel.",
    full: "Three or more packets of this flow are in the queue. The window grows half as fast, and Veno attributes a loss to congestion.",
    reno: "Too few round-trip times were measured, so the window grows as in Reno.",
  },
  vivace: {
    starting: "The rate doubles in each interval, until its utility falls.",
    probing: "Vivace tries rates slightly above and below its present rate, and moves towards the rate with the higher utility.",
  },
  yeah: {
    fast: "The queue is short, so the window grows as in Scalable TCP.",
    slow: "The queue is long, so the window grows as in Reno.",
    decongest: "More packets are in the queue than YeAH allows. The window is reduced at once by the number of queued packets.",
  },
};

/** Describes the phase that begins; empty if the name of the phase is sufficient. */
export function phaseSentence(algorithm: string, phase: string): string {
  return SENTENCES[algorithm]?.[phase] ?? "";
}
