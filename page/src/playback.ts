// Playback of the animation: plays at a selected speed, pauses, or moves from packet to packet.

const SPEEDS: { label: string; factor: number }[] = [
  { label: "real time", factor: 1 },
  { label: "slow, 1/4", factor: 0.25 },
  { label: "slow, 1/20", factor: 0.05 },
  { label: "slow, 1/200", factor: 0.005 },
];
const FIRST_SPEED = 1;
/**
 * Maximum time by which a frame of the animation advances the playback, even if it is drawn later.
 */
const MOST_FRAME_S = 0.1;

interface Place {
  play: HTMLButtonElement;
  step: HTMLButtonElement;
  speed: HTMLSelectElement;
  time: HTMLInputElement;
  output: HTMLElement;
}

export class Playback {
  t_s = 0;
  private duration_s = 1;
  private isPlaying = false;
  private last_ms = 0;

  /** `moved` draws a time; `next` returns the time of the next packet after a time. */
  constructor(
    private readonly place: Place,
    private readonly moved: (t_s: number) => void,
    private readonly next: (t_s: number) => number,
  ) {
    place.speed.append(
      ...SPEEDS.map(({ label }, n) => new Option(label, String(n), n === FIRST_SPEED, n === FIRST_SPEED)),
    );
    place.play.onclick = () => (this.isPlaying ? this.pause() : this.play());
    place.step.onclick = () => {
      this.pause();
      this.go(this.next(this.t_s));
    };
    place.time.oninput = () => {
      this.pause();
      this.go(Number(place.time.value));
    };
    this.say();
  }

  /** Sets the duration of another run; keeps the present time if it is within this duration. */
  limit(duration_s: number): void {
    this.duration_s = duration_s;
    this.place.time.max = String(duration_s);
    if (this.t_s > duration_s) this.t_s = 0;
    this.go(this.t_s);
  }

  go(t_s: number): void {
    this.t_s = Math.max(0, Math.min(t_s, this.duration_s));
    this.place.time.value = String(this.t_s);
    const text = `${this.t_s.toFixed(this.speed < 0.1 || !this.isPlaying ? 4 : 2)} s`;
    this.place.output.textContent = text;
    this.place.time.ariaValueText = text;
    this.moved(this.t_s);
  }

  play(): void {
    if (this.isPlaying) return;
    this.isPlaying = true;
    if (this.t_s >= this.duration_s) this.t_s = 0;
    this.last_ms = performance.now();
    this.say();
    requestAnimationFrame(() => this.frame());
  }

  pause(): void {
    this.isPlaying = false;
    this.say();
  }

  private get speed(): number {
    return SPEEDS[Number(this.place.speed.value)]!.factor;
  }

  private frame(): void {
    if (!this.isPlaying) return;
    const now_ms = performance.now();
    const passed_s = Math.min(MOST_FRAME_S, (now_ms - this.last_ms) / 1000);
    this.last_ms = now_ms;
    this.go(this.t_s + passed_s * this.speed);
    if (this.t_s >= this.duration_s) this.pause();
    else requestAnimationFrame(() => this.frame());
  }

  private say(): void {
    this.place.play.textContent = this.isPlaying ? "❚❚" : "▶";
    this.place.play.ariaLabel = this.isPlaying ? "Pause" : "Play";
  }
}
