// What is known of the frame, beside the picture: the verdict with its numbers, the bytes, the event.

import { fill, h, icon, toneOf, utc } from "./dom.js";

export function chip(words, tone, labels) {
  const safe = toneOf(tone);
  return h(
    "span",
    { class: `pr-chip pr-tone-${safe}` },
    icon(safe),
    h("span", {}, words || labels[`tone_${safe}`]),
  );
}

const BADGE = {
  match: ["ok", "hash_match"],
  differs: ["failed", "hash_differs"],
  missing: ["unknown", "hash_missing"],
  unchecked: ["unknown", "hash_unchecked"],
  withheld: ["stopped", "hash_withheld"],
  deleted: ["unknown", "hash_deleted"],
};

export function hashBadge(verified, labels) {
  const [tone, key] = BADGE[verified] ?? ["none", "hash_checking"];
  return h("span", { class: `pr-badge pr-tone-${tone}`, "data-badge": verified ?? "" }, icon(tone), labels[key]);
}

export class Panels {
  constructor(labels, eventsUrl, copy) {
    Object.assign(this, { labels, eventsUrl, copy });
    this.storedOpen = false;
    this.verdict = h("section", { class: "pr-card pr-verdict" });
    this.frame = h("section", { class: "pr-card" });
    this.event = h("section", { class: "pr-card" });
    this.node = h("aside", { class: "pr-panels" }, this.verdict, this.event, this.frame);
  }

  show(entry, frame) {
    this.showVerdict(entry);
    this.showEvent(entry);
    this.showFrame(entry, frame);
  }

  showVerdict(entry) {
    const { labels } = this;
    const tone = toneOf(entry.tone);
    this.verdict.className = `pr-card pr-verdict pr-tone-${tone}`;
    const judged = entry.verdict || tone !== "none";
    this.verdict.replaceChildren(
      h(
        "header",
        {},
        h("h2", {}, labels.panel_verdict),
        chip(judged ? entry.verdict : labels.no_verdict, tone, labels),
      ),
      ...[entry.summary && h("p", { class: "pr-summary" }, entry.summary)].filter(Boolean),
      ...entry.guards.map((guard) => this.guard(guard)),
      ...(entry.guards.length ? [] : [h("p", { class: "pr-quiet" }, labels.no_guards)]),
    );
  }

  guard(guard) {
    const { labels } = this;
    const rows = [];
    if (guard.expected) rows.push([labels.expected, guard.expected]);
    if (guard.found) rows.push([labels.found, guard.found]);
    for (const [name, value] of Object.entries(guard.measures)) rows.push([breakable(name), String(value)]);
    return h(
      "div",
      { class: `pr-guard pr-tone-${toneOf(guard.tone)}` },
      h("div", { class: "pr-guard-head" }, h("code", {}, guard.guard), chip(guard.verdict, guard.tone, labels)),
      rows.length ? facts(rows) : null,
    );
  }

  showEvent(entry) {
    const { labels } = this;
    const rows = [
      [labels.event_name, entry.event],
      [labels.position, String(entry.position)],
      [labels.time, utc(entry.t_us)],
      [labels.principal, entry.principal],
      [labels.action, [entry.action, entry.label].filter(Boolean).join(" · ")],
      [labels.step, entry.step > 0 ? String(entry.step) : ""],
      [labels.bill, entry.bill_id],
      [labels.task, entry.task_id],
      [labels.key, entry.key],
    ].filter(([, value]) => value !== "");
    this.event.replaceChildren(h("header", {}, h("h2", {}, labels.panel_event)), facts(rows));
    if (this.eventsUrl) this.event.append(this.stored(entry.position));
  }

  // The stored bytes of the event, fetched when somebody wants to see them.
  stored(position) {
    const pre = h("pre", { tabIndex: 0, "aria-label": this.labels.stored_event });
    const load = async () => {
      const response = await fetch(`${this.eventsUrl}/${position}.json`, { credentials: "same-origin" });
      pre.textContent = response.ok ? pretty(await response.text()) : this.labels.stored_event_failed;
    };
    const details = h("details", { open: this.storedOpen }, h("summary", {}, this.labels.stored_event), pre);
    details.addEventListener("toggle", () => {
      this.storedOpen = details.open;
      if (details.open && !pre.textContent) {
        load().catch(() => {
          pre.textContent = this.labels.stored_event_failed;
        });
      }
    });
    return details;
  }

  showFrame(entry, frame) {
    const { labels } = this;
    const sha = h(
      "button",
      {
        type: "button",
        class: "pr-copy",
        title: labels.copy_hash,
        "aria-label": `${labels.copy_hash} ${entry.sha256}`,
        onclick: () => this.copy(entry.sha256, labels.hash_copied),
      },
      h("code", {}, entry.sha256),
      icon("copy"),
    );
    const rows = [
      [labels.sha256, sha],
      ...(frame.verified === "differs" && frame.computed ? [[labels.computed, frame.computed]] : []),
      [labels.role, labels[`role_${entry.role}`] ?? entry.role],
      [labels.size, `${entry.width} × ${entry.height}`],
      [labels.media_type, entry.media_type],
    ];
    this.frame.replaceChildren(
      h("header", {}, h("h2", {}, labels.panel_frame)),
      hashBadge(frame.verified, labels),
      facts(rows),
    );
  }
}

// A name that may break after its underscores.
function breakable(name) {
  const parts = name.split(/(?<=_)/);
  return h("span", {}, ...parts.flatMap((part) => [part, document.createElement("wbr")]));
}

const LONG = 90; // characters from which a value has the whole width, and scrolls

function facts(rows) {
  return h(
    "dl",
    {},
    ...rows.map(([name, value]) => {
      const long = typeof value === "string" && value.length > LONG;
      // What scrolls must be reachable by keys.
      const shown = h("dd", long ? { tabIndex: 0 } : {}, value);
      return h("div", long ? { class: "pr-long" } : {}, h("dt", {}, name), shown);
    }),
  );
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// The keys, as the help shows them.
export function helpDialog(labels, close, regions) {
  const rows = [
    [["←", "→"], "key_step"],
    [["Shift", "← →"], "key_step10"],
    [["Home", "End"], "key_ends"],
    [["Space"], "key_play"],
    [["J", "K", "L"], "key_shuttle"],
    [["[", "]"], "key_stops"],
    [["B"], "key_swipe"],
    [["V"], "key_blink"],
    [["D"], "key_changes"],
    [["M", "O"], "key_overlays"],
    [["+", "−"], "key_zoom"],
    [["0"], "key_fit"],
    ...(regions ? [[["R"], "key_region"]] : []),
    [["U"], "key_link"],
    [["?"], "key_help"],
  ];
  return h(
    "div",
    { class: "pr-help", role: "dialog", "aria-modal": "true", "aria-label": labels.help, hidden: true },
    h(
      "div",
      { class: "pr-help-box" },
      h("header", {}, h("h2", {}, labels.help), h("button", { type: "button", onclick: close }, labels.close)),
      h(
        "dl",
        {},
        ...rows.map(([keys, label]) =>
          h("div", {}, h("dt", {}, ...keys.map((key) => h("kbd", {}, key))), h("dd", {}, labels[label])),
        ),
      ),
    ),
  );
}

export const comparison = (labels, partner) =>
  partner
    ? fill(labels.comparing, { other: partner.index + 1, role: labels[`role_${partner.role}`] ?? partner.role })
    : labels.comparing_none;
