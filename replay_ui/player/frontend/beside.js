// Two players beside each other: what one of them shows, the other finds the counterpart of, step by step.
//
// The players of a page hear of each other's moves; a move that follows another one is not told on.

import { clamp } from "./dom.js";

const MOVED = "pr-moved";
const ASKED = "pr-asked"; // a player that has just opened asks the one that it follows where it is
const KNOWN_VERSION = 1;

export class Beside {
  constructor(player) {
    this.player = player;
    this.parts = null;
    this.listener = (event) => this.heard(event.detail);
    this.asked = ({ detail }) => {
      if (detail === player.data.manifest && player.want >= 0) this.tell(player.want);
    };
    window.addEventListener(MOVED, this.listener);
    window.addEventListener(ASKED, this.asked);
  }

  // Both may open in any order: the one that leads tells, the one that follows asks.
  begin() {
    if (!this.follow) return;
    if (this.follow.ask) window.dispatchEvent(new CustomEvent(ASKED, { detail: this.follow.run }));
    else this.tell(this.player.want);
  }

  get follow() {
    return this.player.data.follow;
  }

  // Tell the other players of this page where this one goes.
  tell(index) {
    const detail = { run: this.player.data.manifest, index };
    window.dispatchEvent(new CustomEvent(MOVED, { detail }));
  }

  async heard({ run, index }) {
    if (!this.follow || run !== this.follow.run || run === this.player.data.manifest) return;
    this.wanted = index;
    try {
      const parts = await this.alignment();
      if (this.wanted !== index) return; // a newer move overtook this one
      const part = this.at(parts, index);
      if (!part) return;
      const [first, mine, count] = part;
      const root = this.player.root;
      root.dataset.aligned = count ? "step" : "none";
      this.player.besideNote.hidden = count > 0;
      this.player.go(mine + clamp(index - first, 0, Math.max(count - 1, 0)), true);
    } catch {
      this.player.root.dataset.aligned = "failed";
    }
  }

  // The part that begins last before or at a frame.
  at(parts, index) {
    let low = 0;
    let high = parts.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (parts[middle][0] <= index) low = middle + 1;
      else high = middle;
    }
    return parts[low - 1];
  }

  alignment() {
    if (this.parts?.url !== this.follow.url) {
      const { url } = this.follow;
      const promise = fetch(url, { credentials: "same-origin" }).then(async (response) => {
        if (!response.ok) throw new Error(`HTTP ${response.status}`);
        const value = await response.json();
        if (value.version !== KNOWN_VERSION) throw new Error(`format ${value.version}`);
        return value.parts;
      });
      this.parts = { url, promise };
      promise.catch(() => {
        if (this.parts?.promise === promise) this.parts = null; // asked again at the next move
      });
    }
    return this.parts.promise;
  }

  close() {
    window.removeEventListener(MOVED, this.listener);
    window.removeEventListener(ASKED, this.asked);
  }
}
