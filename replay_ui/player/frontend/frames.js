// Frames: fetched as stored, hashed here, decoded, and kept within a budget of pixels.
//
// What is shown is what was hashed: the picture is decoded from the very bytes that went into SHA-256.

const PIXEL_BUDGET = 40e6; // about 160 MB of bitmaps, 39 frames of 1280 x 800
const ABSENT_MS = 10_000; // a frame that could not be had is asked for again after this
const ABSENT = 500; // frames remembered as absent
const FEWEST = 6; // kept whatever their size: the frame, its partner and their neighbours

const hex = (buffer) => Array.from(new Uint8Array(buffer), (b) => b.toString(16).padStart(2, "0")).join("");

async function fetchFrame(url, sha256, signal) {
  const response = await fetch(url, { credentials: "same-origin", signal });
  if (response.status === 410) return { bitmap: null, verified: "deleted", computed: "", said: await response.text() };
  if (response.status === 422) return { bitmap: null, verified: "differs", computed: "" };
  if (!response.ok) return { bitmap: null, verified: "missing", computed: "" };
  const bytes = await response.arrayBuffer();
  const computed = crypto.subtle ? hex(await crypto.subtle.digest("SHA-256", bytes)) : "";
  const instead = response.headers.get("x-withheld"); // parts are withheld: this is the rendition on record
  const good = instead ? "withheld" : "match";
  const verified = !computed ? "unchecked" : computed === (instead ?? sha256) ? good : "differs";
  let bitmap = null;
  try {
    const blob = new Blob([bytes], { type: response.headers.get("content-type") ?? "" });
    bitmap = await createImageBitmap(blob, { colorSpaceConversion: "none", premultiplyAlpha: "none" });
  } catch {
    // Not a picture. The verdict on the bytes stands; the stage says that there is nothing to show.
  }
  return { bitmap, verified, computed };
}

export class FrameStore {
  constructor(url) {
    this.url = url;
    this.held = new Map(); // sha256 -> frame, oldest use first
    this.pending = new Map(); // sha256 -> { promise, abort }
    this.absent = new Map(); // sha256 -> { frame, until }
    this.pinned = new Set();
    this.pixels = 0;
  }

  // Frame if it is here; marks it as used.
  peek(sha256) {
    const frame = this.held.get(sha256);
    if (frame) {
      this.held.delete(sha256);
      this.held.set(sha256, frame);
    }
    return frame;
  }

  load(sha256) {
    const held = this.peek(sha256);
    if (held) return Promise.resolve(held);
    const absent = this.absent.get(sha256);
    if (absent && absent.until > performance.now()) return Promise.resolve(absent.frame);
    const known = this.pending.get(sha256);
    if (known) return known.promise;
    const abort = new AbortController();
    const promise = fetchFrame(`${this.url}/${sha256}`, sha256, abort.signal)
      .catch((error) => {
        if (error.name === "AbortError") throw error;
        return { bitmap: null, verified: "missing", computed: "" };
      })
      .then((frame) => this.hold(sha256, frame))
      .finally(() => {
        if (this.pending.get(sha256)?.abort === abort) this.pending.delete(sha256);
      });
    this.pending.set(sha256, { promise, abort });
    return promise;
  }

  hold(sha256, frame) {
    if (frame.verified === "missing") {
      this.absent.set(sha256, { frame, until: performance.now() + ABSENT_MS });
      if (this.absent.size > ABSENT) this.absent.delete(this.absent.keys().next().value);
      return frame;
    }
    this.absent.delete(sha256);
    this.held.set(sha256, frame);
    this.pixels += size(frame);
    for (const [old, other] of this.held) {
      if (this.pixels <= PIXEL_BUDGET || this.held.size <= FEWEST) break;
      if (this.pinned.has(old) || old === sha256) continue;
      this.held.delete(old);
      this.pixels -= size(other);
      other.bitmap?.close();
    }
    return frame;
  }

  // Frames on screen, which must not be closed.
  pin(...sha256s) {
    this.pinned = new Set(sha256s);
  }

  // Drop requests that nobody waits for any more, so that a long scrub doesn't queue behind itself.
  wanted(sha256s) {
    for (const [sha256, { abort }] of this.pending) {
      if (sha256s.has(sha256)) continue;
      this.pending.delete(sha256); // at once: who comes back to this frame must not get the dead request
      abort.abort();
    }
  }

  close() {
    this.wanted(new Set());
    for (const frame of this.held.values()) frame.bitmap?.close();
    this.held.clear();
  }
}

const size = (frame) => (frame.bitmap ? frame.bitmap.width * frame.bitmap.height : 0);
