// The packets of a run from the capture at its senders: when each was sent, and when its last byte
// was acknowledged.

/** Data packets of a run, in the order in which they were sent. */
export interface Packets {
  /** End of the recorded time. */
  until_s: number;
  sent_s: Float64Array;
  /** Time at which the packet was acknowledged; NaN if it was not. */
  acked_s: Float64Array;
  /** The packet's number within its flow, from 1, by its position in the stream. */
  number: Uint32Array;
  flow: Uint16Array;
  /** 1 if the packet is a retransmission, and otherwise 0. */
  isResent: Uint8Array;
  /** The shortest time from sending to acknowledgement. */
  shortest_s: number;
}

const FILE_HEADER = 24;
const RECORD_HEADER = 16;
const IP_HEADER = 20;
const ADDRESSES = { source: 12, destination: 16 };
const LAST_OF_SENDER = 1; // senders are 10.0.0.1, receivers 10.0.0.2: crates/sim/src/pcap.rs
const FIRST_PORT = 40_000;
const FULL_BYTES = 1448;
const SYN = 2;
const SACK = 5;
const TIMESTAMP_WORDS = 1e9;

/** Packets of a flow that are in flight. */
interface Flow {
  first: number | null;
  /** Rows not yet acknowledged, by the sequence number after their last byte. */
  open: Map<number, number[]>;
  sentUpTo: number;
  ackedUpTo: number;
}

/** Parses a capture of the simulator; times are relative to `begin_s`. */
export function packetsOf(pcap: Uint8Array, begin_s: number, until_s: number): Packets {
  const view = new DataView(pcap.buffer, pcap.byteOffset, pcap.byteLength);
  const sent: number[] = [];
  const acked: number[] = [];
  const number: number[] = [];
  const flowOf: number[] = [];
  const resent: number[] = [];
  const flows = new Map<number, Flow>();
  let at = FILE_HEADER;
  while (at + RECORD_HEADER <= pcap.length) {
    const time_s = view.getUint32(at, true) + view.getUint32(at + 4, true) / TIMESTAMP_WORDS - begin_s;
    const kept = view.getUint32(at + 8, true);
    const wire = view.getUint32(at + 12, true);
    const ip = at + RECORD_HEADER;
    at = ip + kept;
    const tcp = ip + IP_HEADER;
    const isData = view.getUint8(ip + ADDRESSES.source + 3) === LAST_OF_SENDER;
    const id = view.getUint16(isData ? tcp : tcp + 2) - FIRST_PORT;
    let flow = flows.get(id);
    if (flow === undefined) {
      flow = { first: null, open: new Map(), sentUpTo: 0, ackedUpTo: 0 };
      flows.set(id, flow);
    }
    const header = (view.getUint8(tcp + 12) >> 4) * 4;
    const flags = view.getUint8(tcp + 13);
    if (isData) {
      const payload = wire - IP_HEADER - header;
      if ((flags & SYN) !== 0) flow.first = (view.getUint32(tcp + 4) + 1) >>> 0;
      if (payload <= 0) continue;
      flow.first ??= view.getUint32(tcp + 4);
      const start = (view.getUint32(tcp + 4) - flow.first) >>> 0;
      const end = start + payload;
      const row = sent.push(time_s) - 1;
      acked.push(NaN);
      number.push(Math.floor(start / FULL_BYTES) + 1);
      flowOf.push(id);
      resent.push(start < flow.sentUpTo ? 1 : 0);
      flow.sentUpTo = Math.max(flow.sentUpTo, end);
      const rows = flow.open.get(end);
      if (rows === undefined) flow.open.set(end, [row]);
      else rows.push(row);
    } else if (flow.first !== null) {
      // Everything covered by an ACK or a SACK block has arrived; of retransmitted packets, the
      // last copy counts.
      const take = (from: number, to: number) => {
        for (const [end, rows] of flow.open) {
          if (end <= from || end > to) continue;
          acked[rows.at(-1)!] = time_s;
          flow.open.delete(end);
        }
      };
      const ack = (view.getUint32(tcp + 8) - flow.first) >>> 0;
      if (ack > flow.ackedUpTo && ack < 2 ** 31) {
        take(flow.ackedUpTo, ack);
        flow.ackedUpTo = ack;
      }
      let option = tcp + 20;
      while (option < tcp + header && view.getUint8(option) !== 0) {
        const kind = view.getUint8(option);
        const length = kind === 1 ? 1 : view.getUint8(option + 1);
        if (kind === SACK) {
          for (let block = option + 2; block < option + length; block += 8) {
            const left = (view.getUint32(block) - flow.first) >>> 0;
            const right = (view.getUint32(block + 4) - flow.first) >>> 0;
            if (right > flow.ackedUpTo) take(Math.max(left, flow.ackedUpTo), right);
          }
        }
        option += Math.max(1, length);
      }
    }
  }
  const acked_s = Float64Array.from(acked);
  let shortest_s = Infinity;
  acked_s.forEach((time, row) => {
    if (resent[row] === 0 && time - sent[row]! < shortest_s) shortest_s = time - sent[row]!;
  });
  return {
    until_s,
    sent_s: Float64Array.from(sent),
    acked_s,
    number: Uint32Array.from(number),
    flow: Uint16Array.from(flowOf),
    isResent: Uint8Array.from(resent),
    shortest_s,
  };
}
