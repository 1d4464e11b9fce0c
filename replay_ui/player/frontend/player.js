// The player: one run, one current frame, and everything that follows from moving to another.
//
// Seeking is local. The server hears where the viewer came to rest, a quarter second later, and answers with
// nothing that the picture waits for.

import { Beside } from "./beside.js";
import { clamp, fill, h } from "./dom.js";
import { FrameStore } from "./frames.js";
import { Manifest } from "./manifest.js";
import { Panels, chip, comparison, hashBadge, helpDialog } from "./panels.js";
import { Playback } from "./playback.js";
import { Stage } from "./stage.js";
import { Film, Slider } from "./timeline.js";
import { Toolbar } from "./toolbar.js";

const AHEAD = 8; // frames fetched before they are asked for, in the direction of travel
const BEHIND = 4;
const REST_MS = 250;

export class Player {
  constructor(root, { data, setStateValue }) {
    Object.assign(this, { root, data, setStateValue, labels: data.labels });
    this.manifest = new Manifest(data.manifest, data.language, data.n, data.chunk);
    this.frames = new FrameStore(data.frames);
    this.want = -1;
    this.shown = -1;
    this.direction = 1;
    this.build();
    this.beside = new Beside(this);
    this.start(data.seek ?? 0);
  }

  build() {
    const { labels, root } = this;
    const seek = (i) => this.seek(i);
    root.setAttribute("role", "region");
    root.setAttribute("aria-label", [labels.player, this.data.link.run].filter(Boolean).join(": "));
    root.setAttribute("aria-description", labels.player_hint);
    root.tabIndex = -1;
    this.stage = new Stage(labels);
    this.slider = new Slider(this.manifest, labels, seek);
    this.film = new Film(this.manifest, this.frames, labels, seek);
    this.panels = new Panels(labels, this.data.events, (text, words) => this.copy(text, words));
    this.playback = new Playback({
      position: () => this.want,
      total: () => this.manifest.total,
      times: (i) => this.manifest.cell(i, "t_us"),
      show: (i) => this.go(i),
      changed: () => this.playbackChanged(),
    });
    const command = (name, value) => this.command(name, value);
    this.toolbar = new Toolbar(labels, this.playback, command, this.data.regions);
    this.stage.onzoom = (scale) => this.toolbar.zoom(scale);
    this.stage.onregion = (box) => this.marked(box);
    this.manifest.onchunk = () => this.slider.paint();
    this.caption = h("div", { class: "pr-caption" });
    this.compareNote = h("p", { class: "pr-compare-note", hidden: true });
    this.besideNote = h("p", { class: "pr-compare-note", hidden: true }, labels.beside_none);
    this.status = h("p", { class: "pr-hidden", role: "status" });
    this.toast = h("div", { class: "pr-toast", role: "status" });
    this.help = helpDialog(labels, () => this.toggleHelp(false), this.data.regions);
    const screen = h(
      "div",
      { class: "pr-screen" },
      this.stage.node,
      this.compareNote,
      this.besideNote,
      this.toast,
      this.help,
    );
    const desk = [this.caption, screen, this.slider.node, this.toolbar.node, this.film.node, this.status];
    root.replaceChildren(
      h("div", { class: "pr-grid" }, h("div", { class: "pr-desk" }, ...desk), this.panels.node),
    );
  }

  async start(seek) {
    this.root.dataset.state = "loading";
    this.caption.replaceChildren(h("span", { class: "pr-quiet" }, this.labels.loading));
    try {
      // Both at once; whether the chunk came is asked again once the header has said how many frames there are.
      const chunk = Math.floor(clamp(seek, 0, Math.max(0, this.data.n - 1)) / this.data.chunk);
      if (this.data.n > 0) this.manifest.chunk(chunk).catch(() => {});
      await this.manifest.open();
      this.root.dataset.total = String(this.manifest.total);
      if (this.manifest.total === 0) {
        this.caption.replaceChildren(h("span", { class: "pr-quiet" }, this.labels.no_frames));
        this.root.dataset.state = "empty";
        return;
      }
      this.slider.paint();
      await this.manifest.entry(clamp(seek, 0, this.manifest.total - 1));
      this.film.fitSlots();
      await this.go(seek, true);
      this.beside.begin();
      if (document.activeElement === document.body) this.slider.node.focus({ preventScroll: true });
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    const words = fill(this.labels.manifest_failed, { reason: error.message });
    this.caption.replaceChildren(h("span", { class: "pr-error", role: "alert" }, words));
    this.root.dataset.state = "failed";
  }

  // New data from the server: the run may have grown, and the page may want another frame.
  async update({ data, setStateValue }) {
    const before = this.data;
    Object.assign(this, { data, setStateValue });
    if (data.n > this.manifest.total && this.manifest.header) {
      await this.manifest.open().catch((error) => this.failed(error));
      this.root.dataset.total = String(this.manifest.total);
      this.slider.paint();
      this.film.fitSlots();
    }
    if (Number.isInteger(data.seek) && data.nonce !== before.nonce) this.seek(data.seek);
  }

  // Move by hand: playback ends.
  seek(i) {
    if (this.playback.direction) this.playback.pause();
    return this.go(i);
  }

  // Show frame i as soon as it is here. A newer wish overtakes an older one. `led`: by the player beside this one.
  async go(i, led = false) {
    const { total } = this.manifest;
    if (!total) return;
    const index = clamp(i, 0, total - 1);
    if (index !== this.want) this.direction = index > this.want ? 1 : -1;
    this.want = index;
    if (!led) {
      this.besideNote.hidden = true;
      this.root.dataset.aligned = "";
      this.beside.tell(index);
    }
    this.toolbar.position(index, total, this.elapsed(index));
    this.slider.move(index, fill(this.labels.frame_of, { frame: index + 1, total }));
    const entry = this.manifest.now(index);
    const frame = entry && this.frames.peek(entry.sha256);
    if (frame) this.show(entry, frame);
    else await this.fetchAndShow(index);
  }

  async fetchAndShow(index) {
    try {
      const entry = await this.manifest.entry(index);
      if (this.want !== index) return;
      this.frames.wanted(new Set([entry.sha256]));
      const frame = await this.frames.load(entry.sha256);
      if (this.want === index) this.show(entry, frame);
    } catch (error) {
      if (error.name !== "AbortError" && this.want === index) this.failed(error);
    }
  }

  show(entry, frame) {
    const i = entry.index;
    this.shown = i;
    const partner = this.partner(i);
    this.frames.pin(entry.sha256, partner?.sha256);
    this.stage.set(entry, frame, partner);
    this.stage.canvas.setAttribute("aria-label", fill(this.labels.stage, { frame: i + 1 }));
    this.toolbar.position(i, this.manifest.total, this.elapsed(i));
    this.describe(entry, frame);
    this.tellTests(entry, frame);
    this.around(i);
    this.compare(i, partner);
    this.atRest(entry, frame);
  }

  // What stands and lies around frame i, once the frame itself has been painted: the strip, and what is fetched ahead.
  around(i) {
    cancelAnimationFrame(this.painting);
    this.painting = requestAnimationFrame(() => {
      clearTimeout(this.painted);
      this.painted = setTimeout(() => {
        this.film.move(i);
        if (this.want === i) this.prefetch(i); // not while another frame is on its way: its load would be dropped
      });
    });
  }

  describe(entry, frame) {
    const words = [chip(entry.verdict, entry.tone, this.labels)];
    if (entry.summary) words.push(h("span", { class: "pr-line", title: entry.summary }, entry.summary));
    this.caption.replaceChildren(...words, hashBadge(frame.verified, this.labels));
    this.panels.show(entry, frame);
    this.slider.move(
      entry.index,
      [fill(this.labels.frame_of, { frame: entry.index + 1, total: this.manifest.total }), entry.verdict]
        .filter(Boolean)
        .join(", "),
    );
  }

  // What is on the screen, as attributes of the root: the contract with tests.
  tellTests(entry, frame) {
    Object.assign(this.root.dataset, {
      state: "ready",
      frame: String(entry.index),
      sha256: entry.sha256,
      verified: frame.verified,
      tone: entry.tone,
      chunks: String(this.manifest.ready.size),
      marker: this.stage.show.marker && entry.point ? entry.point.join(",") : "",
    });
  }

  elapsed(i) {
    const t = this.manifest.cell(i, "t_us");
    return t === undefined ? null : (t - this.manifest.header.started_at_us) / 1000;
  }

  prefetch(i) {
    const near = [];
    for (let k = 1; k <= AHEAD; k += 1) near.push(i + k * this.direction);
    for (let k = 1; k <= BEHIND; k += 1) near.push(i - k * this.direction);
    const entries = near.map((j) => this.manifest.now(j)).filter(Boolean);
    this.frames.wanted(new Set(entries.map((entry) => entry.sha256)));
    for (const entry of entries) this.frames.load(entry.sha256).catch(() => {});
    const beyond = i + AHEAD * this.direction;
    if (beyond >= 0 && beyond < this.manifest.total) this.manifest.entry(beyond).catch(() => {});
  }

  get comparing() {
    return this.stage.show.compare !== "" || this.stage.show.changes;
  }

  // The frame to compare with, with its picture if that is here.
  partner(i) {
    const j = this.manifest.partner(i);
    const entry = j >= 0 ? this.manifest.now(j) : null;
    const frame = entry && this.frames.peek(entry.sha256);
    return frame ? { index: j, role: entry.role, sha256: entry.sha256, frame } : null;
  }

  async compare(i, here) {
    this.compareNote.hidden = !this.comparing;
    this.root.dataset.compare = this.comparing && here ? String(here.index) : "";
    this.root.dataset.changed = "";
    if (!this.comparing) return;
    const j = this.manifest.partner(i);
    if (!here && j >= 0) {
      try {
        const entry = await this.manifest.entry(j);
        await this.frames.load(entry.sha256);
      } catch {
        return; // the viewer has moved on
      }
      const partner = this.shown === i ? this.partner(i) : null;
      if (!partner) return;
      this.stage.setOther(partner);
      this.stage.layout();
      this.root.dataset.compare = String(partner.index);
      this.noteComparison(partner);
    } else {
      this.noteComparison(here);
    }
  }

  noteComparison(partner) {
    const changed = this.stage.show.changes && partner ? this.stage.changes() : null;
    this.root.dataset.changed = changed ? String(changed.tiles.length) : "";
    this.compareNote.textContent = changed
      ? fill(this.labels.legend_changes, {
          changed: changed.tiles.length,
          tiles: changed.of,
          other: partner.index + 1,
        })
      : comparison(this.labels, partner);
  }

  // Tell the server and screen readers where the viewer is, once they have stopped moving.
  atRest(entry, frame) {
    clearTimeout(this.resting);
    if (this.playback.direction) return;
    this.resting = setTimeout(() => {
      const { frame_of: place, hash_match: good, hash_differs: bad } = this.labels;
      const verified = { match: good, differs: bad }[frame.verified] ?? "";
      const where = fill(place, { frame: entry.index + 1, total: this.manifest.total });
      this.status.textContent = [where, entry.verdict, entry.summary, verified].filter(Boolean).join(". ");
      this.setStateValue("at", {
        frame: entry.index,
        sha256: entry.sha256,
        verified: frame.verified,
        nonce: this.data.nonce,
        told: Math.round(performance.timeOrigin + performance.now()), // tells one word from the next
        url: new URLSearchParams(window.location.search).get(this.data.linkFrame),
      });
    }, REST_MS);
  }

  refresh() {
    const entry = this.manifest.now(this.shown);
    if (!entry) return;
    this.frames
      .load(entry.sha256)
      .then((frame) => this.shown === entry.index && this.show(entry, frame))
      .catch(() => {}); // overtaken by another frame
  }

  playbackChanged() {
    this.toolbar.playing();
    if (!this.playback.direction) this.refresh();
  }

  command(name, value) {
    const { playback, stage } = this;
    const actions = {
      first: () => this.seek(0),
      last: () => this.seek(this.manifest.total - 1),
      prev: () => this.seek(this.want - (value ?? 1)),
      next: () => this.seek(this.want + (value ?? 1)),
      prevStop: () => this.toStop(-1),
      nextStop: () => this.toStop(1),
      play: () => playback.toggle(),
      pause: () => playback.pause(),
      shuttle: () => playback.shuttle(value),
      marker: () => this.toggle("marker"),
      boxes: () => this.toggle("boxes"),
      changes: () => this.toggle("changes"),
      swipe: () => this.toggleCompare("swipe"),
      blink: () => this.toggleCompare("blink"),
      zoomIn: () => stage.zoom(1.5),
      zoomOut: () => stage.zoom(1 / 1.5),
      fit: () => stage.fit(),
      region: () => this.mark(),
      link: () => this.copy(this.link(), this.labels.link_copied),
      help: () => this.toggleHelp(this.help.hidden),
    };
    actions[name]();
  }

  // Whether a drag on the picture marks a part of it.
  mark() {
    if (!this.data.regions) return;
    this.stage.setMarking(!this.stage.marking);
    this.toolbar.marking(this.stage.marking);
  }

  // A part of the frame was marked, or no longer is: the page is told, with the frame that it belongs to.
  marked(box) {
    const entry = this.manifest.now(this.shown);
    this.root.dataset.region = box ? box.join(",") : "";
    if (entry) this.setStateValue("region", { frame: entry.index, sha256: entry.sha256, box });
  }

  toStop(direction) {
    const stop = this.manifest.stop(this.want, direction);
    if (stop >= 0) this.seek(stop);
  }

  toggle(what) {
    this.stage.show[what] = !this.stage.show[what];
    this.toolbar.pressed(this.stage.show);
    this.refresh();
  }

  toggleCompare(how) {
    this.stage.show.compare = this.stage.show.compare === how ? "" : how;
    this.toolbar.pressed(this.stage.show);
    this.refresh();
  }

  toggleHelp(open) {
    this.help.hidden = !open;
    if (open) this.help.querySelector("button").focus();
    else this.slider.node.focus({ preventScroll: true });
  }

  // Address of this frame on this page. What is shared counts frames from 1, as the screen does.
  link() {
    const url = new URL(window.location.href);
    for (const [name, value] of Object.entries(this.data.link)) url.searchParams.set(name, value);
    url.searchParams.set(this.data.linkFrame, String(this.shown + 1));
    return url.href;
  }

  async copy(text, words) {
    clearTimeout(this.toasting);
    try {
      await navigator.clipboard.writeText(text);
      this.toast.replaceChildren(words);
    } catch {
      // No clipboard (plain HTTP, or the browser's policy): the text is shown, ready to be copied.
      const field = h("input", { value: text, readOnly: true, "aria-label": this.labels.link_manual });
      this.toast.replaceChildren(this.labels.link_manual, field);
      field.select();
    }
    this.root.dataset.copied = text;
    this.toast.classList.add("pr-on");
    this.toasting = setTimeout(() => this.toast.classList.remove("pr-on"), 4000);
  }

  close() {
    cancelAnimationFrame(this.painting);
    clearTimeout(this.painted);
    clearTimeout(this.resting);
    clearTimeout(this.toasting);
    this.playback.pause();
    for (const part of [this.beside, this.stage, this.slider, this.film, this.frames]) part.close();
  }
}
