// The run's manifest: a header, and chunks of columns fetched when a frame in them is asked for.
//
// The chunks used last are kept; of the others only their frames' tones, a byte each, so that a long run can be
// looked through to its end without the page growing.

import { RANK, toneOf } from "./dom.js";

const KNOWN_VERSION = 1;
const KEPT = 8; // chunks
const TONES = Object.keys(RANK);

async function json(url) {
  const response = await fetch(url, { credentials: "same-origin" });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const value = await response.json();
  if (value.version !== KNOWN_VERSION) throw new Error(`format ${value.version}`);
  return value;
}

export class Manifest {
  // frames, size: what the page knows of the run before its header is here.
  constructor(url, language, frames, size) {
    this.url = url;
    this.query = language ? `?lang=${encodeURIComponent(language)}` : "";
    this.header = null;
    this.total = 0;
    this.size = size;
    this.stops = [];
    this.ready = new Map(); // chunk number -> chunk, oldest use first
    this.pending = new Map(); // chunk number -> promise of it
    this.tones = new Uint8Array(frames); // for each frame 1 + its tone's place in TONES; 0 while it is not known
    this.onchunk = () => {};
  }

  // Fetch the header, again where the run has grown; the last chunk may have been part-filled.
  async open() {
    const header = await json(`${this.url}.json`);
    const grown = this.header !== null && header.frames > this.total;
    if (grown) {
      const last = Math.floor(Math.max(0, this.total - 1) / this.size);
      this.forget(last);
    }
    if (header.chunk !== this.size) {
      this.ready.clear();
      this.pending.clear();
    }
    this.header = header;
    this.total = header.frames;
    const tones = new Uint8Array(this.total);
    tones.set(this.tones.subarray(0, this.total));
    this.tones = tones;
    this.size = header.chunk;
    this.stops = header.stops;
  }

  // Entry i if its chunk is here, else null.
  now(i) {
    const chunk = this.used(Math.floor(i / this.size));
    const at = i % this.size;
    if (i < 0 || i >= this.total || !chunk || at >= chunk.n) return null;
    const entry = { index: i };
    for (const name of Object.keys(chunk.columns)) entry[name] = chunk.columns[name][at];
    return entry;
  }

  // One column of entry i, without building the entry; undefined where the chunk is not here.
  cell(i, name) {
    return this.ready.get(Math.floor(i / this.size))?.columns[name][i % this.size];
  }

  // Tone of frame i, also of one whose chunk is no longer here; undefined while it is not known.
  tone(i) {
    return TONES[this.tones[i] - 1];
  }

  async entry(i) {
    if (i < 0 || i >= this.total) return null;
    const k = Math.floor(i / this.size);
    await this.chunk(k);
    if (!this.now(i)) {
      this.forget(k); // the run has grown since it was fetched
      await this.chunk(k);
    }
    return this.now(i);
  }

  chunk(k) {
    const known = this.pending.get(k);
    if (known) return known;
    const promise = json(`${this.url}/${k}.json${this.query}`).then(
      (chunk) => this.keep(k, chunk),
      (error) => {
        this.pending.delete(k); // asked again at the next visit
        throw error;
      },
    );
    this.pending.set(k, promise);
    return promise;
  }

  // A chunk that is here, marked as used.
  used(k) {
    const chunk = this.ready.get(k);
    if (chunk) {
      this.ready.delete(k);
      this.ready.set(k, chunk);
    }
    return chunk;
  }

  keep(k, chunk) {
    this.ready.set(k, chunk);
    chunk.columns.tone.forEach((tone, at) => {
      this.tones[k * this.size + at] = 1 + RANK[toneOf(tone)];
    });
    for (const old of this.ready.keys()) {
      if (this.ready.size <= KEPT) break;
      this.forget(old);
    }
    this.onchunk();
  }

  // Drop a chunk; it is asked for again at the next visit.
  forget(k) {
    this.ready.delete(k);
    this.pending.delete(k);
  }

  // Index of the nearest stop after (direction 1) or before (-1) frame i, or -1.
  stop(i, direction) {
    const frames = this.stops.map((stop) => stop[0]);
    const found = direction > 0 ? frames.find((f) => f > i) : frames.findLast((f) => f < i);
    return found ?? -1;
  }

  // The earlier frame that frame i is compared with: of the same step where there is one, else the one before.
  partner(i) {
    const step = this.cell(i, "step");
    const task = this.cell(i, "task_id");
    const sha256 = this.cell(i, "sha256");
    for (let j = i - 1; j >= 0 && j >= i - 24; j -= 1) {
      if (this.cell(j, "step") !== step || this.cell(j, "task_id") !== task) break;
      if (this.cell(j, "sha256") !== sha256) return j;
    }
    return i - 1;
  }
}
