// The controls below the picture: transport, where we are, what is drawn over the frame.

import { clock, fill, h, icon } from "./dom.js";
import { SPEEDS } from "./playback.js";

export class Toolbar {
  // regions: whether a part of a frame can be marked.
  constructor(labels, playback, command, regions) {
    Object.assign(this, { labels, playback, command, regions });
    this.buttons = {};
    this.counter = h("output", { class: "pr-counter" });
    this.time = h("span", { class: "pr-time" });
    this.scale = h("span", { class: "pr-scale" });
    this.speed = h(
      "select",
      {
        "aria-label": labels.speed,
        title: labels.speed,
        onchange: () => {
          playback.speed = Number(this.speed.value);
        },
      },
      ...SPEEDS.map((speed) => h("option", { value: String(speed), selected: speed === 1 }, `${speed}×`)),
    );
    const idle = this.button("idle", labels.skip_idle, () => {
      playback.skipIdle = !playback.skipIdle;
      idle.setAttribute("aria-pressed", String(playback.skipIdle));
    });
    idle.setAttribute("aria-pressed", "true");
    this.node = h("div", { class: "pr-toolbar", role: "group", "aria-label": labels.toolbar }, ...this.groups(idle));
    this.marking(false);
    this.pressed({ marker: true, boxes: true, changes: false, compare: "" });
  }

  groups(idle) {
    const { labels } = this;
    const group = (...children) => h("div", { class: "pr-group" }, ...children);
    const own = (name, label) => this.button(name, label);
    return [
      group(
        own("first", labels.go_first),
        own("prevStop", labels.go_prev_stop),
        own("prev", labels.go_prev),
        own("play", labels.play),
        own("next", labels.go_next),
        own("nextStop", labels.go_next_stop),
        own("last", labels.go_last),
      ),
      group(this.counter, this.time),
      group(this.speed, idle),
      group(
        own("marker", labels.marker),
        own("boxes", labels.boxes),
        own("changes", labels.changes),
        own("swipe", labels.compare_swipe),
        own("blink", labels.compare_blink),
        ...(this.regions ? [own("region", labels.mark_region)] : []),
      ),
      group(own("zoomOut", labels.zoom_out), this.scale, own("zoomIn", labels.zoom_in), own("fit", labels.zoom_fit)),
      group(own("link", labels.copy_link), own("help", labels.help)),
    ];
  }

  button(name, label, action = () => this.command(name)) {
    const node = h(
      "button",
      { type: "button", title: label, "aria-label": label, "data-command": name, onclick: action },
      icon(name),
    );
    this.buttons[name] = node;
    return node;
  }

  position(i, total, elapsedMs) {
    this.counter.textContent = `${i + 1} / ${total}`;
    this.counter.setAttribute("aria-label", fill(this.labels.frame_of, { frame: i + 1, total }));
    this.time.textContent = elapsedMs === null ? "" : clock(elapsedMs);
  }

  zoom(scale) {
    this.scale.textContent = `${Math.round(scale * 100)}%`;
  }

  playing() {
    const { direction, speed } = this.playback;
    const { play } = this.buttons;
    const label = direction ? this.labels.pause : this.labels.play;
    play.replaceChildren(icon(direction ? "pause" : "play"));
    play.title = label;
    play.setAttribute("aria-label", label);
    this.speed.value = String(speed);
  }

  marking(on) {
    this.buttons.region?.setAttribute("aria-pressed", String(on));
  }

  pressed({ marker, boxes, changes, compare }) {
    const state = { marker, boxes, changes, swipe: compare === "swipe", blink: compare === "blink" };
    for (const [name, on] of Object.entries(state)) this.buttons[name].setAttribute("aria-pressed", String(on));
  }
}
