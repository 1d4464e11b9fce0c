// Playing: the recorded rhythm at a speed, with waiting cut short.

export const SPEEDS = [0.25, 0.5, 1, 2, 4, 8];
const IDLE_MS = 1200; // a longer pause than this between two frames is waiting
const IDLE_SHOWN_MS = 500; // what remains of it
const FASTEST_MS = 16;

export class Playback {
  // next(i): shows frame i and resolves once it is on the screen. times: index -> microseconds or undefined.
  constructor({ position, total, times, show, changed }) {
    Object.assign(this, { position, total, times, show, changed });
    this.direction = 0; // 0 while paused
    this.speed = 1;
    this.skipIdle = true;
    this.turn = 0;
  }

  toggle() {
    if (this.direction) this.pause();
    else {
      if (this.position() >= this.total() - 1) this.restart = true;
      this.play(1);
    }
  }

  // Shuttle: the same way again is faster, the other way starts over.
  shuttle(direction) {
    if (this.direction === direction) {
      const faster = SPEEDS[Math.min(SPEEDS.length - 1, SPEEDS.indexOf(this.speed) + 1)];
      this.speed = faster;
    }
    this.play(direction);
  }

  play(direction) {
    this.direction = direction;
    this.changed();
    this.run(++this.turn);
  }

  pause() {
    this.direction = 0;
    this.turn += 1;
    clearTimeout(this.timer);
    this.wake?.();
    this.changed();
  }

  delay(from, to) {
    const [a, b] = [this.times(from), this.times(to)];
    const real = a === undefined || b === undefined ? IDLE_SHOWN_MS : Math.abs(b - a) / 1000;
    const shown = this.skipIdle && real > IDLE_MS ? IDLE_SHOWN_MS : real;
    return Math.max(FASTEST_MS, shown / this.speed);
  }

  async run(turn) {
    clearTimeout(this.timer);
    this.wake?.();
    if (this.restart) {
      this.restart = false;
      await this.show(0);
    }
    while (this.turn === turn && this.direction) {
      const from = this.position();
      const to = from + this.direction;
      if (to < 0 || to >= this.total()) {
        this.pause();
        return;
      }
      await new Promise((resolve) => {
        this.wake = resolve;
        this.timer = setTimeout(resolve, this.delay(from, to));
      });
      if (this.turn === turn) await this.show(this.position() + this.direction);
    }
  }
}
