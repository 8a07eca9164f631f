// Animates the path of the packets: sender, queue, air, receiver, with one lane per algorithm.

import { shown } from "./charts.ts";
import type { Curves } from "./curves.ts";
import { lowerBound } from "./happenings.ts";
import type { Packets } from "./packets.ts";

export interface Lane {
  name: string;
  colour: string;
  /** The packets of the run; null until the capture is available. */
  packets: Packets | null;
  drops_s: Float64Array;
  curves: Curves;
}

const LANE_PX = 74;
const TOP_PX = 22;
const MOST_DOTS = 500;
const MOST_FLIGHT_S = 5;
const FALL_S = 0.4;
/** Positions as shares of the width: end of the sender, the queue, start of the receiver. */
const SENDER = 0.13;
const QUEUE = { from: 0.24, to: 0.55 };
const RECEIVER = 0.93;
/** Shares of the shortest round trip: from the sender to the queue, and to the receiver. */
const TO_QUEUE = 0.08;
const TO_RECEIVER = 0.5;

export class PathView {
  private lanes: Lane[] = [];
  private readonly context: CanvasRenderingContext2D;
  private mostQueued = 1;
  private t_s = 0;
  private colours = { ink: "", soft: "", line: "", bar: "", miss: "" };

  constructor(private readonly canvas: HTMLCanvasElement) {
    this.context = canvas.getContext("2d")!;
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  show(lanes: Lane[]): void {
    this.lanes = lanes;
    this.mostQueued = 1;
    for (const { curves } of lanes) {
      for (const queued of curves.queue_pkts) if (queued > this.mostQueued) this.mostQueued = queued;
    }
    const style = getComputedStyle(document.documentElement);
    for (const name of Object.keys(this.colours) as (keyof typeof this.colours)[]) {
      this.colours[name] = style.getPropertyValue(`--${name}`).trim();
    }
    this.resize();
  }

  private resize(): void {
    const height = TOP_PX + LANE_PX * Math.max(1, this.lanes.length);
    this.canvas.style.height = `${height}px`;
    const [width, scaled] = [this.canvas.clientWidth, Math.round(height * devicePixelRatio)];
    const wide = Math.round(width * devicePixelRatio);
    if (this.canvas.width === wide && this.canvas.height === scaled) return;
    Object.assign(this.canvas, { width: wide, height: scaled }); // which clears it
    this.draw(this.t_s);
  }

  /** Draws the packets at a time, and returns a description of the picture. */
  draw(t_s: number): string {
    const { context } = this;
    this.t_s = t_s;
    const width = this.canvas.clientWidth;
    context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    context.clearRect(0, 0, width, this.canvas.height);
    context.font = "12px system-ui, sans-serif";
    context.textBaseline = "middle";
    context.textAlign = "center";
    context.fillStyle = this.colours.soft;
    const middle = (from: number, to: number) => ((from + to) / 2) * width;
    context.fillText("sender", middle(0, SENDER), TOP_PX / 2);
    context.fillText("queue", middle(QUEUE.from, QUEUE.to), TOP_PX / 2);
    context.fillText(width < 500 ? "air" : "the link: air or wire", middle(QUEUE.to, RECEIVER), TOP_PX / 2);
    context.fillText(width < 500 ? "rcv" : "receiver", middle(RECEIVER, 1), TOP_PX / 2);
    return this.lanes.map((lane, n) => this.drawLane(lane, t_s, width, TOP_PX + n * LANE_PX)).join(" ");
  }

  private drawLane(lane: Lane, t_s: number, width: number, top: number): string {
    const { context, colours } = this;
    const { curves, colour } = lane;
    const data = top + 24;
    const acks = top + 54;
    const row = Math.max(0, lowerBound(curves.t_s.length, (n) => curves.t_s[n]! > t_s) - 1);
    const queued = curves.queue_pkts[row] ?? 0;
    const left = QUEUE.from * width;
    const wide = (QUEUE.to - QUEUE.from) * width;
    context.fillStyle = colours.bar;
    context.strokeStyle = colours.line;
    context.lineWidth = 1;
    context.fillRect(left, top + 6, wide, 36);
    context.globalAlpha = 0.22;
    context.fillStyle = colour;
    const filled = Math.min(1, queued / this.mostQueued) * wide;
    context.fillRect(left + wide - filled, top + 6, filled, 36);
    context.globalAlpha = 1;
    context.strokeRect(left + 0.5, top + 6.5, wide, 35);
    context.beginPath();
    context.moveTo(SENDER * width, acks);
    context.lineTo(RECEIVER * width, acks);
    context.stroke();
    context.fillStyle = colour;
    context.fillRect(0, top + 6, (SENDER - 0.01) * width, 54);
    context.fillRect((RECEIVER + 0.01) * width, top + 6, (1 - RECEIVER - 0.01) * width, 54);
    context.fillStyle = getContrast(colour);
    context.font = "600 12px system-ui, sans-serif";
    context.fillText(lane.name, (SENDER / 2) * width, top + 24, (SENDER - 0.02) * width);
    context.font = "11px system-ui, sans-serif";
    const cwnd = curves.cwnd_pkts[row];
    if (cwnd !== undefined && !Number.isNaN(cwnd)) {
      context.fillText(`${width < 500 ? "" : "window "}${Math.round(cwnd).toLocaleString("en")}`, (SENDER / 2) * width, top + 44, (SENDER - 0.02) * width);
    }
    const goodput = curves.goodput_mbit_s[row];
    if (width >= 700 && goodput !== undefined && !Number.isNaN(goodput)) {
      const middle = ((1 + RECEIVER) / 2 + 0.005) * width;
      context.fillText(shown(goodput), middle, top + 24, (1 - RECEIVER - 0.02) * width);
      context.fillText("Mbit/s", middle, top + 40, (1 - RECEIVER - 0.02) * width);
    }
    const inFlight = lane.packets === null ? 0 : this.drawPackets(lane.packets, lane, t_s, width, data, acks);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = colours.ink;
    context.textAlign = "left";
    const count = `${Math.round(queued).toLocaleString("en")}${width < 500 ? "" : " queued"}`;
    context.fillText(Number.isNaN(queued) ? "" : count, left + wide + 6, top + 12);
    context.textAlign = "center";
    const window = Number.isNaN(cwnd) ? "" : `, window ${Math.round(cwnd ?? 0)}`;
    return `${lane.name}: ${Math.round(queued || 0)} packets queued${window}, ${inFlight} in flight.`;
  }

  private drawPackets(packets: Packets, lane: Lane, t_s: number, width: number, data: number, acks: number): number {
    const { context, colours } = this;
    const { sent_s, acked_s, isResent, shortest_s } = packets;
    const count = sent_s.length;
    const end = lowerBound(count, (row) => sent_s[row]! > t_s);
    const begin = lowerBound(count, (row) => sent_s[row]! > t_s - MOST_FLIGHT_S);
    const rows: number[] = [];
    for (let row = begin; row < end; row += 1) if (acked_s[row]! > t_s) rows.push(row);
    const every = Math.ceil(rows.length / MOST_DOTS);
    const queueEnd = QUEUE.to * width;
    rows.forEach((row, n) => {
      if (n % every !== 0) return;
      const age_s = t_s - sent_s[row]!;
      const waits_s = Math.max(0, acked_s[row]! - sent_s[row]! - shortest_s);
      const [toQueue, toReceiver] = [TO_QUEUE * shortest_s, TO_RECEIVER * shortest_s];
      context.fillStyle = isResent[row] ? colours.miss : lane.colour;
      let x: number;
      let y = data;
      if (age_s < toQueue) {
        x = (SENDER + (QUEUE.from - SENDER) * (age_s / toQueue)) * width;
      } else if (age_s < toQueue + waits_s) {
        const share = (age_s - toQueue) / waits_s;
        x = (QUEUE.from + (QUEUE.to - QUEUE.from) * share) * width;
        y = data + ((row % 5) - 2) * 5; // spread over several rows
      } else if (age_s < waits_s + toReceiver) {
        const share = (age_s - toQueue - waits_s) / (toReceiver - toQueue);
        x = queueEnd + (RECEIVER * width - queueEnd) * share;
      } else {
        const share = (age_s - waits_s - toReceiver) / (shortest_s - toReceiver);
        x = (RECEIVER - (RECEIVER - SENDER) * Math.min(1, share)) * width;
        context.fillRect(x - 1, acks - 3, 2, 6); // an acknowledgement
        return;
      }
      context.fillRect(x - 2.5, y - 3, 5, 6);
    });
    this.drawDrops(lane.drops_s, t_s, width, data);
    return rows.length;
  }

  /** Draws lost packets as they fall at the start of the queue. */
  private drawDrops(drops_s: Float64Array, t_s: number, width: number, data: number): void {
    const { context, colours } = this;
    context.fillStyle = colours.miss;
    const end = lowerBound(drops_s.length, (n) => drops_s[n]! > t_s);
    for (let n = end - 1; n >= 0 && n > end - 40 && drops_s[n]! > t_s - FALL_S; n -= 1) {
      const share = (t_s - drops_s[n]!) / FALL_S;
      context.globalAlpha = 1 - share;
      context.fillRect(QUEUE.from * width - 6 - (n % 4) * 5, data + share * 34, 5, 6);
    }
    context.globalAlpha = 1;
  }
}

/** Black or white, whichever is readable on the colour #rrggbb. */
function getContrast(colour: string): string {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16)) as [number, number, number];
  return 0.299 * red + 0.587 * green + 0.114 * blue > 140 ? "#000000" : "#ffffff";
}
