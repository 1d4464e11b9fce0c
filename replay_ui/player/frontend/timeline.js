// The slider over the whole run and the strip of frames around the current one.

import { RANK, clamp, clock, fill, h, toneOf } from "./dom.js";

export const TONE_COLOUR = {
  ok: "#2fbf8f",
  stopped: "#ffb224",
  failed: "#f2555a",
  unknown: "#9b8cff",
  none: "#56607a",
};

// A slider by the ARIA pattern: focusable, with value, range and words; keys are the player's own.
export class Slider {
  constructor(manifest, labels, seek) {
    Object.assign(this, { manifest, labels, seek });
    this.canvas = h("canvas", { "aria-hidden": "true" });
    this.head = h("div", { class: "pr-head" });
    this.tip = h("div", { class: "pr-tip", hidden: true });
    this.node = h(
      "div",
      {
        class: "pr-slider",
        role: "slider",
        tabIndex: 0,
        "aria-label": labels.slider,
        "aria-valuemin": "1",
        onpointerdown: (event) => {
          this.node.setPointerCapture(event.pointerId);
          this.seek(this.indexAt(event));
        },
        onpointermove: (event) => {
          if (event.buttons & 1) this.seek(this.indexAt(event));
          this.hover(event);
        },
        onpointerleave: () => {
          this.tip.hidden = true;
        },
      },
      this.canvas,
      this.head,
      this.tip,
    );
    this.resizer = new ResizeObserver(() => this.paint());
    this.resizer.observe(this.node);
  }

  indexAt(event) {
    const box = this.node.getBoundingClientRect();
    const share = clamp((event.clientX - box.left) / box.width, 0, 1);
    return Math.min(this.manifest.total - 1, Math.floor(share * this.manifest.total));
  }

  hover(event) {
    const i = this.indexAt(event);
    const t = this.manifest.cell(i, "t_us");
    const at = t === undefined ? "" : ` · ${clock((t - this.manifest.header.started_at_us) / 1000)}`;
    this.tip.textContent = `${i + 1}${at}`;
    this.tip.hidden = false;
    const box = this.node.getBoundingClientRect();
    this.tip.style.left = `${clamp(event.clientX - box.left, 24, box.width - 24)}px`;
  }

  move(i, words) {
    const { total } = this.manifest;
    this.head.style.left = `${((i + 0.5) / total) * 100}%`;
    this.node.setAttribute("aria-valuemax", String(total));
    this.node.setAttribute("aria-valuenow", String(i + 1));
    this.node.setAttribute("aria-valuetext", words);
  }

  // One column of pixels shows the worst verdict of the frames behind it, as far as they are known; stops are
  // known from the header, so they show before their chunk is fetched.
  paint() {
    const { total } = this.manifest;
    const ratio = devicePixelRatio;
    const [w, tall] = [this.node.clientWidth, this.node.clientHeight];
    if (!w || !total) return;
    Object.assign(this.canvas, { width: Math.round(w * ratio), height: Math.round(tall * ratio) });
    const g = this.canvas.getContext("2d");
    g.scale(ratio, ratio);
    const cells = Math.min(total, Math.floor(w));
    const each = w / cells;
    const worst = new Array(cells).fill(null);
    const mark = (cell, tone) => {
      if (worst[cell] === null || RANK[tone] > RANK[worst[cell]]) worst[cell] = tone;
    };
    for (let cell = 0; cell < cells; cell += 1) {
      const from = Math.floor((cell / cells) * total);
      const tone = this.manifest.tone(from);
      if (tone !== undefined) mark(cell, tone);
    }
    for (const [frame, tone] of this.manifest.stops) mark(Math.floor((frame / total) * cells), toneOf(tone));
    const gap = each > 5 ? 1 : 0;
    worst.forEach((tone, cell) => {
      const loud = tone === "stopped" || tone === "failed";
      g.fillStyle = tone === null ? "#2a3142" : TONE_COLOUR[tone];
      g.globalAlpha = tone === null || loud ? 1 : 0.55;
      const top = loud ? 5 : 11;
      g.fillRect(cell * each, top, Math.max(loud ? 2 : 0.5, each - gap), tall - 2 * top);
    });
  }

  close() {
    this.resizer.disconnect();
  }
}

const SLOT = 116; // width of a thumbnail with its gap, pixels
const THUMB = { width: 208, height: 130 };

// A slot keeps its frame while that is in the strip: a step changes one picture of it, not all of them.
export class Film {
  constructor(manifest, frames, labels, seek) {
    Object.assign(this, { manifest, frames, labels, seek });
    this.slots = [];
    this.first = -1; // frame at the left end
    this.current = -1;
    this.node = h("div", { class: "pr-film", role: "group", "aria-label": labels.film });
    this.resizer = new ResizeObserver(() => this.fitSlots());
    this.resizer.observe(this.node);
  }

  fitSlots() {
    const half = Math.max(1, Math.floor((this.node.clientWidth / SLOT - 1) / 2));
    const count = Math.max(1, Math.min(2 * half + 1, this.manifest.total));
    if (count === this.slots.length) return;
    this.slots = Array.from({ length: count }, () => this.slot());
    this.first = -1;
    if (this.current >= 0) this.move(this.current);
  }

  slot() {
    const canvas = h("canvas", THUMB);
    const number = h("span", { class: "pr-number" });
    const onclick = () => this.seek(slot.index);
    const node = h("button", { type: "button", class: "pr-thumb", tabIndex: -1, onclick }, canvas, number);
    const slot = { node, canvas, number, index: -1, named: "", drawn: "" };
    return slot;
  }

  at(index) {
    return this.slots[index % this.slots.length];
  }

  move(i) {
    this.current = i;
    const count = this.slots.length;
    const first = clamp(i - Math.floor(count / 2), 0, Math.max(0, this.manifest.total - count));
    const shown = Array.from({ length: count }, (_, k) => first + k);
    const missing = shown.filter((index) => !this.put(this.at(index), index));
    // Only now, with their names: a button without one says nothing to whoever can't see its picture.
    this.order(first, shown);
    clearTimeout(this.timer);
    if (missing.length) this.timer = setTimeout(() => this.fetchThumbs(i, missing), 90);
  }

  // Put the slots in order of their frames; those that stay in the strip are not touched.
  order(first, shown) {
    const by = this.first < 0 ? shown.length : first - this.first;
    this.first = first;
    const node = (index) => this.at(index).node;
    if (Math.abs(by) >= shown.length) this.node.replaceChildren(...shown.map(node));
    else if (by > 0) this.node.append(...shown.slice(-by).map(node));
    else if (by < 0) this.node.prepend(...shown.slice(0, -by).map(node));
  }

  // Give a slot its frame; whether the picture is there.
  put(slot, index) {
    const { node, canvas, number } = slot;
    const entry = this.manifest.now(index);
    const tone = toneOf(entry?.tone);
    const name =
      fill(this.labels.frame_of, { frame: index + 1, total: this.manifest.total }) +
      (entry?.verdict ? `, ${entry.verdict}` : "");
    if (slot.named !== `${name} ${tone}`) {
      Object.assign(slot, { index, named: `${name} ${tone}` });
      node.dataset.index = String(index);
      node.className = `pr-thumb pr-tone-${tone}`;
      node.setAttribute("aria-label", name);
      number.textContent = String(index + 1);
    }
    node.toggleAttribute("data-current", index === this.current);
    const sha256 = entry?.sha256 ?? "";
    if (slot.drawn === sha256 && sha256) return true;
    slot.drawn = drawThumb(canvas, this.frames.held.get(sha256)?.bitmap) ? sha256 : "";
    return Boolean(slot.drawn);
  }

  async fetchThumbs(i, missing) {
    for (const index of missing) {
      try {
        const entry = await this.manifest.entry(index);
        if (this.current !== i || !entry) return;
        await this.frames.load(entry.sha256);
        if (this.current !== i) return;
        this.put(this.at(index), index);
      } catch {
        return; // the viewer has moved on, or the frame's own badge says what is wrong
      }
    }
  }

  close() {
    clearTimeout(this.timer);
    this.resizer.disconnect();
  }
}

function drawThumb(canvas, bitmap) {
  const g = canvas.getContext("2d");
  const { width, height } = THUMB;
  g.clearRect(0, 0, width, height);
  if (!bitmap) return false;
  const scale = Math.min(width / bitmap.width, height / bitmap.height);
  const [w, tall] = [bitmap.width * scale, bitmap.height * scale];
  g.imageSmoothingQuality = "medium";
  g.drawImage(bitmap, (width - w) / 2, (height - tall) / 2, w, tall);
  return true;
}
