// The stage: the frame at its own size under a zoom, and what was aimed at, compared and changed drawn over it.
//
// The frame's canvas holds the frame's pixels and nothing else; marks are on a canvas of their own, in screen
// pixels, so that lines stay thin at any zoom.

import { clamp, h } from "./dom.js";

const TILE_BITS = 4;
const TILE = 1 << TILE_BITS; // pixels
const MAX_SCALE = 32; // screen pixels to a pixel of the frame
const PIXELATED_FROM = 2;
const BLINK_MS = 600; // under the three flashes a second that WCAG 2.3.1 allows
const COLOUR = {
  marker: "#ff3d81",
  stopped: "#ffb224",
  target: "#4cc2ff",
  roi: "#5eead4",
  row: "rgba(76, 194, 255, 0.13)",
  rowEdge: "rgba(76, 194, 255, 0.65)",
  changed: "rgba(255, 77, 77, 0.38)",
  region: "rgba(13, 16, 23, 0.78)",
  regionEdge: "#ffffff",
};

export class Stage {
  constructor(labels) {
    this.labels = labels;
    this.view = null; // { scale, x, y } once the person has zoomed, else the whole frame is fitted
    this.show = { marker: true, boxes: true, changes: false, compare: "" };
    this.entry = null;
    this.frame = null;
    this.room = null; // width and height of the stage, while they are known
    this.other = null;
    this.swipe = 0.5;
    this.changed = null;
    this.changeKey = "";
    this.onzoom = () => {};
    this.marking = false; // whether a drag draws a region instead of moving the picture
    this.region = null; // [x, y, width, height] in pixels of the frame, whole numbers
    this.onregion = () => {};
    this.canvas = h("canvas", { class: "pr-frame", role: "img" });
    this.otherCanvas = h("canvas", { class: "pr-frame pr-other", hidden: true, "aria-hidden": "true" });
    this.marks = h("canvas", { class: "pr-marks", "aria-hidden": "true" });
    this.note = h("p", { class: "pr-note", hidden: true });
    this.legend = h("ul", { class: "pr-legend" });
    this.handle = h(
      "div",
      {
        class: "pr-swipe",
        role: "slider",
        tabIndex: 0,
        hidden: true,
        "aria-label": labels.compare_swipe,
        "aria-valuemin": "0",
        "aria-valuemax": "100",
        onkeydown: (event) => this.swipeKey(event),
        onpointerdown: (event) => this.drag(event, (e) => this.swipeTo(e)),
      },
      h("span", { class: "pr-swipe-side" }, labels.before),
      h("span", { class: "pr-swipe-knob" }),
      h("span", { class: "pr-swipe-side" }, labels.after),
    );
    this.node = h(
      "div",
      {
        class: "pr-stage",
        onpointerdown: (event) => this.pan(event),
        ondblclick: (event) => this.toggleFit(event),
      },
      this.canvas,
      this.otherCanvas,
      this.marks,
      this.legend,
      this.handle,
      this.note,
    );
    this.node.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.resizer = new ResizeObserver(() => {
      this.room = null;
      this.layout();
    });
    this.resizer.observe(this.node);
  }

  // Show a frame with its entry, and the one that it is compared with (or null).
  set(entry, frame, other) {
    const { bitmap } = frame;
    if (!this.frame && bitmap) {
      this.node.style.aspectRatio = `${bitmap.width} / ${bitmap.height}`;
      this.room = null;
    }
    if (this.region && entry.sha256 !== this.entry.sha256) {
      this.region = null;
      this.onregion(null);
    }
    this.entry = entry;
    this.frame = frame;
    draw(this.canvas, bitmap ?? null, entry);
    this.setOther(other);
    this.node.classList.toggle("pr-bad", frame.verified === "differs");
    this.note.hidden = bitmap !== null;
    this.nameBoxes();
    const absent = frame.verified === "missing" ? this.labels.hash_missing : this.labels.undecodable;
    this.note.textContent = frame.said?.trim() || absent;
    this.layout();
  }

  // What the boxes that are drawn mean.
  nameBoxes() {
    const drawn = ["target", "roi", "row"].filter((name) => this.show.boxes && this.entry[name]);
    this.legend.replaceChildren(
      ...drawn.map((name) => h("li", { class: `pr-legend-${name}` }, this.labels[`legend_${name}`])),
    );
  }

  setOther(other) {
    this.other = other;
    const comparing = this.show.compare !== "" && Boolean(other?.frame.bitmap);
    if (comparing) draw(this.otherCanvas, other.frame.bitmap, this.entry);
    this.otherCanvas.hidden = !comparing;
    this.handle.hidden = !(comparing && this.show.compare === "swipe");
    clearInterval(this.blinking);
    if (comparing && this.show.compare === "blink") {
      this.blinking = setInterval(() => {
        this.otherCanvas.hidden = !this.otherCanvas.hidden;
      }, BLINK_MS);
    }
  }

  // Place the frame; every zoom, drag and change of size ends here.
  layout() {
    const { width, height } = this.canvas;
    this.room ??= { w: this.node.clientWidth, tall: this.node.clientHeight }; // asking makes the page lay itself out
    const { w, tall } = this.room;
    if (!w || !tall || !this.frame) return;
    const fit = Math.min(w / width, tall / height);
    const scale = Math.max(fit, this.view?.scale ?? fit);
    const place = (want, span, room) =>
      span <= room ? (room - span) / 2 : clamp(want, room - span, 0);
    const x = place(this.view?.x ?? 0, width * scale, w);
    const y = place(this.view?.y ?? 0, height * scale, tall);
    this.placed = { scale, x, y, fit };
    if (this.view) this.view = { scale, x, y };
    for (const canvas of [this.canvas, this.otherCanvas]) {
      canvas.style.transform = `translate(${x}px, ${y}px) scale(${scale})`;
      canvas.classList.toggle("pr-pixels", scale * devicePixelRatio >= PIXELATED_FROM);
    }
    const cut = clamp((this.swipe * w - x) / (width * scale), 0, 1);
    this.otherCanvas.style.clipPath = this.show.compare === "swipe" ? `inset(0 ${(1 - cut) * 100}% 0 0)` : "none";
    this.handle.style.left = `${this.swipe * 100}%`;
    this.handle.setAttribute("aria-valuenow", String(Math.round(this.swipe * 100)));
    this.node.classList.toggle("pr-zoomed", scale > fit * 1.001);
    this.onzoom(scale);
    this.paint();
  }

  zoom(factor, cx = this.node.clientWidth / 2, cy = this.node.clientHeight / 2) {
    if (!this.placed) return;
    const { scale, x, y, fit } = this.placed;
    const next = clamp(scale * factor, fit, Math.max(MAX_SCALE, fit));
    if (next <= fit) this.view = null;
    else this.view = { scale: next, x: cx - ((cx - x) / scale) * next, y: cy - ((cy - y) / scale) * next };
    this.layout();
  }

  fit() {
    this.view = null;
    this.layout();
  }

  wheel(event) {
    event.preventDefault();
    const [cx, cy] = this.local(event);
    this.zoom(Math.exp(-clamp(event.deltaY, -100, 100) * 0.003), cx, cy);
  }

  toggleFit(event) {
    const [cx, cy] = this.local(event);
    if (this.view) this.fit();
    else this.zoom(Math.max(2, 1 / this.placed.fit), cx, cy);
  }

  pan(event) {
    if (event.target === this.handle || this.handle.contains(event.target)) return;
    if (this.marking) this.mark(event);
    if (this.marking || !this.view) return;
    const from = { px: event.clientX, py: event.clientY, ...this.placed };
    this.drag(event, (e) => {
      this.view = { scale: from.scale, x: from.x + e.clientX - from.px, y: from.y + e.clientY - from.py };
      this.layout();
    });
  }

  setMarking(on) {
    this.marking = on;
    this.node.classList.toggle("pr-marking", on);
  }

  // Draw a rectangle on the frame; it is told once the pointer is lifted. A click without a drag takes it away.
  mark(event) {
    if (!this.placed || !this.frame?.bitmap) return;
    const { width, height } = this.canvas;
    const at = (e) => {
      const [px, py] = this.local(e);
      const { scale, x, y } = this.placed;
      return [clamp(Math.round((px - x) / scale), 0, width), clamp(Math.round((py - y) / scale), 0, height)];
    };
    const from = at(event);
    const draw = (e) => {
      const to = at(e);
      const box = [0, 1].map((k) => Math.min(from[k], to[k]));
      box.push(...[0, 1].map((k) => Math.abs(from[k] - to[k])));
      this.region = box[2] && box[3] ? box : null;
      this.paint();
    };
    draw(event);
    this.drag(event, draw, () => this.onregion(this.region));
  }

  drag(event, move, done = () => {}) {
    const node = event.currentTarget;
    node.setPointerCapture(event.pointerId);
    node.addEventListener("pointermove", move);
    const over = new AbortController();
    const end = () => {
      over.abort();
      node.removeEventListener("pointermove", move);
      done();
    };
    for (const name of ["pointerup", "pointercancel"]) node.addEventListener(name, end, { signal: over.signal });
  }

  swipeTo(event) {
    this.swipe = clamp(this.local(event)[0] / this.node.clientWidth, 0, 1);
    this.layout();
  }

  swipeKey(event) {
    const step = { ArrowLeft: -0.02, ArrowRight: 0.02, Home: -1, End: 1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.swipe = clamp(this.swipe + step, 0, 1);
    this.layout();
  }

  local(event) {
    const box = this.node.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  }

  paint() {
    if (!this.room) return;
    const ratio = devicePixelRatio;
    const [w, tall] = [Math.round(this.room.w * ratio), Math.round(this.room.tall * ratio)];
    if (this.marks.width !== w || this.marks.height !== tall) Object.assign(this.marks, { width: w, height: tall });
    const g = this.marks.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, w, tall);
    if (!this.entry || !this.placed) return;
    const { scale, x, y } = this.placed;
    const at = ([px, py]) => [x + px * scale, y + py * scale];
    const box = ([bx, by, bw, bh]) => [...at([bx, by]), bw * scale, bh * scale];
    if (this.show.changes) this.paintChanges(g, box);
    if (this.show.boxes) this.paintBoxes(g, box);
    if (this.show.marker && this.entry.point) this.paintMarker(g, at(this.entry.point), box);
    if (this.region) this.paintRegion(g, box(this.region));
  }

  paintBoxes(g, box) {
    const { row, roi, target } = this.entry;
    const stroke = (rect, colour, dash) => {
      g.setLineDash(dash);
      g.lineWidth = 4;
      g.strokeStyle = "rgba(0, 0, 0, 0.35)";
      g.strokeRect(...rect);
      g.lineWidth = 2;
      g.strokeStyle = colour;
      g.strokeRect(...rect);
      g.setLineDash([]);
    };
    if (row) {
      const [rx, ry, rw, rh] = box(row);
      g.fillStyle = COLOUR.row;
      g.fillRect(rx, ry, rw, rh);
      g.fillStyle = COLOUR.rowEdge;
      g.fillRect(rx, ry, rw, 1);
      g.fillRect(rx, ry + rh - 1, rw, 1);
    }
    if (roi) stroke(box(roi), COLOUR.roi, [6, 4]);
    if (target) stroke(box(target), COLOUR.target, []);
  }

  paintRegion(g, rect) {
    g.fillStyle = COLOUR.region;
    g.fillRect(...rect);
    g.lineWidth = 2;
    g.strokeStyle = COLOUR.regionEdge;
    g.setLineDash([6, 4]);
    g.strokeRect(...rect);
    g.setLineDash([]);
  }

  paintMarker(g, [x, y], box) {
    const held = this.entry.tone === "stopped";
    const colour = held ? COLOUR.stopped : COLOUR.marker;
    const ring = (width, style) => {
      g.lineWidth = width;
      g.strokeStyle = style;
      g.beginPath();
      g.arc(x, y, 17, 0, 2 * Math.PI);
      if (held) {
        g.moveTo(x - 12, y + 12);
        g.lineTo(x + 12, y - 12);
      }
      g.stroke();
    };
    ring(7, "rgba(0, 0, 0, 0.45)");
    ring(3.5, colour);
    g.fillStyle = "#fff";
    g.beginPath();
    g.arc(x, y, 4.5, 0, 2 * Math.PI);
    g.fill();
    g.fillStyle = colour;
    g.beginPath();
    g.arc(x, y, 3, 0, 2 * Math.PI);
    g.fill();
    const around = [this.entry.target, this.entry.roi].filter((b) => b && this.show.boxes).map(box);
    const edges = {
      left: Math.min(x - 18, ...around.map((b) => b[0])),
      right: Math.max(x + 18, ...around.map((b) => b[0] + b[2])),
    };
    this.paintTag(g, edges, y, colour);
  }

  // What was aimed at, in words, beside the boxes: it must not cover what it speaks of.
  paintTag(g, { left: before, right: after }, y, colour) {
    const text = [this.entry.action, this.entry.label].filter(Boolean).join(" · ");
    if (!text) return;
    g.font = "600 12.5px system-ui, sans-serif";
    const width = Math.min(g.measureText(text).width, 260) + 18;
    const room = after + 8 + width <= this.room.w;
    const left = clamp(room ? after + 8 : before - 8 - width, 4, this.room.w - width - 4);
    const top = clamp(y - 13, 4, this.room.tall - 30);
    g.fillStyle = "rgba(13, 16, 23, 0.9)";
    g.beginPath();
    g.roundRect(left, top, width, 26, 6);
    g.fill();
    g.fillStyle = colour;
    g.fillRect(left, top + 5, 3, 16);
    g.fillStyle = "#fff";
    g.textBaseline = "middle";
    g.fillText(text, left + 10, top + 13.5, 260);
  }

  paintChanges(g, box) {
    const changed = this.changes();
    if (!changed) return;
    g.fillStyle = COLOUR.changed;
    for (const [tx, ty] of changed.tiles) g.fillRect(...box([tx * TILE, ty * TILE, TILE, TILE]));
  }

  // Tiles in which any pixel differs from the frame compared with; null where there is nothing to compare.
  changes() {
    if (!this.other?.frame.bitmap || !this.frame?.bitmap) return null;
    const key = `${this.other.sha256} ${this.entry.sha256}`;
    if (key !== this.changeKey) {
      this.changeKey = key;
      this.changed = changedTiles(this.frame.bitmap, this.other.frame.bitmap);
    }
    return this.changed;
  }

  close() {
    clearInterval(this.blinking);
    this.resizer.disconnect();
  }
}

function draw(canvas, bitmap, entry) {
  const width = bitmap?.width ?? entry.width;
  const height = bitmap?.height ?? entry.height;
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  const g = canvas.getContext("2d");
  if (bitmap) {
    g.globalCompositeOperation = "copy";
    g.drawImage(bitmap, 0, 0);
  } else {
    g.clearRect(0, 0, width, height);
  }
}

function pixels(bitmap, width, height) {
  const g = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
  g.drawImage(bitmap, 0, 0);
  return new Uint32Array(g.getImageData(0, 0, width, height).data.buffer);
}

function changedTiles(bitmap, other) {
  const width = Math.max(bitmap.width, other.width);
  const height = Math.max(bitmap.height, other.height);
  const [a, b] = [pixels(bitmap, width, height), pixels(other, width, height)];
  const across = Math.ceil(width / TILE);
  const down = Math.ceil(height / TILE);
  const hit = new Uint8Array(across * down);
  for (let y = 0, at = 0; y < height; y += 1) {
    const row = Math.floor(y / TILE) * across;
    for (let x = 0; x < width; x += 1, at += 1) if (a[at] !== b[at]) hit[row + (x >> TILE_BITS)] = 1;
  }
  const tiles = [];
  hit.forEach((on, i) => on && tiles.push([i % across, Math.floor(i / across)]));
  return { tiles, of: hit.length };
}
