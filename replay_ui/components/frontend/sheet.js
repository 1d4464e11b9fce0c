// Shows blocks of plain data. Every text is written with textContent and every address must be a path on this
// server: what an audited page said stays a text.

const LOOKS = new Set(["quiet", "strong", "mono", "name", "number", "chip", "button"]);
const TONES = new Set(["ok", "stopped", "failed", "unknown", "none"]);

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function ownPath(href) {
  return typeof href === "string" && /^\/(?![/\\])/.test(href);
}

function toneClass(tone) {
  return `ds-tone-${TONES.has(tone) ? tone : "none"}`;
}

function span(item) {
  const linked = ownPath(item.href);
  const look = LOOKS.has(item.look) ? `ds-${item.look}` : "ds-text";
  const made = element(linked ? "a" : "span", `${look} ${toneClass(item.tone)}`, item.text);
  if (linked) made.href = item.href;
  if (linked && item.new) {
    made.target = "_blank";
    made.rel = "noopener";
  }
  if (item.tip) made.title = item.tip;
  if (item.low !== undefined && item.high !== undefined && item.at !== undefined) made.append(interval(item));
  if (Number.isFinite(item.left_ms)) {
    made.classList.add("ds-due");
    dues.set(made, { at: performance.now() + item.left_ms, ticking: item.ticking ?? "", over: item.over ?? "", units: item.units });
  }
  return made;
}

// Times that are left, by when they are over on this page's own clock: the viewer's wall clock may be wrong.
const dues = new WeakMap();

// The two largest units in the reader's language, as the server writes them.
function duration(milliseconds, [day, hour, minute, second]) {
  const s = Math.floor(Math.abs(milliseconds) / 1000);
  const said = (...parts) => parts.map(([unit, n]) => unit.replace("{n}", String(Math.floor(n)))).join(" ");
  if (s >= 86400) return said([day, s / 86400], [hour, (s % 86400) / 3600]);
  if (s >= 3600) return said([hour, s / 3600], [minute, (s % 3600) / 60]);
  return s >= 60 ? said([minute, s / 60], [second, s % 60]) : said([second, s]);
}

function tick(root) {
  for (const made of root.querySelectorAll(".ds-due")) {
    const due = dues.get(made);
    const left = due.at - performance.now();
    const late = left < 0;
    made.textContent = (late ? due.over : due.ticking).replace("{time}", duration(left, due.units));
    made.classList.toggle("ds-chip", late);
    made.classList.toggle("ds-number", !late);
    made.classList.toggle("ds-tone-failed", late);
    made.classList.toggle("ds-tone-none", !late);
  }
}

function line(items, className = "ds-line") {
  const made = element("div", className);
  for (const item of items ?? []) made.append(span(item));
  return made;
}

function cells(row, columns) {
  return row.cells.map((item, index) => {
    const column = columns[index] ?? {};
    const made = element("td", column.align === "end" ? "ds-end" : column.grow ? "ds-grow" : "");
    for (const part of item.lines ?? []) made.append(line(part));
    return made;
  });
}

function table(block) {
  const made = element("table", block.columns.length < 5 ? "ds-table ds-few" : "ds-table");
  if (block.label) made.setAttribute("aria-label", block.label);
  const head = element("tr");
  for (const column of block.columns) {
    const cell = element("th", column.align === "end" ? "ds-end" : column.grow ? "ds-grow" : "", column.label);
    cell.scope = "col";
    head.append(cell);
  }
  made.createTHead().append(head);
  const body = made.createTBody();
  for (const row of block.rows) {
    const line = element("tr", row.chosen ? "ds-chosen" : "");
    if (row.chosen) line.setAttribute("aria-current", "true");
    if (ownPath(row.href)) {
      line.classList.add("ds-opens");
      line.dataset.href = row.href;
    }
    line.append(...cells(row, block.columns));
    body.append(line);
  }
  const scroll = element("div", "ds-scroll");
  scroll.append(made);
  return scroll;
}

function interval(tile) {
  const bar = element("div", "ds-interval");
  const range = element("i", "ds-range");
  range.style.left = `${tile.low / 10}%`;
  range.style.width = `${Math.max(tile.high - tile.low, 4) / 10}%`;
  const point = element("b", "ds-point");
  point.style.left = `${tile.at / 10}%`;
  bar.append(range, point);
  return bar;
}

function tiles(block) {
  const made = element("div", "ds-tiles");
  for (const item of block.items) {
    const linked = ownPath(item.href);
    const tile = element(linked ? "a" : "div", `ds-tile ${toneClass(item.tone)}`);
    if (linked) tile.href = item.href;
    if (item.chosen) {
      tile.classList.add("ds-chosen");
      tile.setAttribute("aria-current", "true");
    }
    tile.append(element("span", "ds-label", item.label), element("span", "ds-value", item.value));
    if (item.low !== undefined && item.high !== undefined && item.at !== undefined) tile.append(interval(item));
    if (item.detail) tile.append(element("span", "ds-detail", item.detail));
    made.append(tile);
  }
  return made;
}

function facts(block) {
  const made = element("dl", "ds-facts");
  for (const item of block.items) {
    const pair = element("div");
    const value = element("dd");
    value.append(line(item.line));
    pair.append(element("dt", "", item.label), value);
    made.append(pair);
  }
  return made;
}

function thumbs(items) {
  const made = element("div", "ds-thumbs");
  for (const item of items ?? []) {
    if (!ownPath(item.src) || !ownPath(item.href)) continue;
    const link = element("a", "ds-thumb");
    link.href = item.href;
    const picture = element("img");
    picture.loading = "lazy";
    picture.decoding = "async";
    picture.alt = ""; // the caption beside it says the same
    picture.addEventListener("error", () => link.classList.add("ds-gone"));
    picture.src = item.src;
    link.append(item.marked?.length ? marked(picture, item.marked) : picture, element("span", "", item.caption ?? ""));
    if (item.marked?.length) link.classList.add("ds-large");
    made.append(link);
  }
  return made;
}

// A picture with parts of it marked, in per mille of its sides.
function marked(picture, parts) {
  const made = element("div", "ds-marked");
  made.append(
    picture,
    ...parts.map((part) => {
      const over = element("i");
      ["left", "top", "width", "height"].forEach((side, k) => {
        over.style[side] = `${Number(part[k]) / 10}%`;
      });
      return over;
    }),
  );
  return made;
}

function chain(block) {
  const made = element("ol", "ds-chain");
  for (const item of block.items) {
    const entry = element("li", toneClass(item.tone));
    if (item.chosen) {
      entry.classList.add("ds-chosen");
      entry.setAttribute("aria-current", "true");
    }
    const body = element("div", "ds-entry");
    body.append(line(item.title, "ds-line ds-title"), element("p", "", item.text));
    if (item.thumbs?.length) body.append(thumbs(item.thumbs));
    if (item.foot?.length) body.append(line(item.foot, "ds-line ds-foot"));
    entry.append(element("time", "", item.when), element("i", "ds-knot"), body);
    made.append(entry);
  }
  return made;
}

// Labels under at most so many bars, evenly spread.
const LABELS = 12;

function bar(item, index, every) {
  const linked = ownPath(item.href);
  const made = element(linked ? "a" : "span", `ds-bar ${toneClass(item.tone)}`);
  if (linked) made.href = item.href;
  const words = [item.label, item.detail, item.mark].filter(Boolean).join(" · ");
  made.title = words;
  if (linked) made.setAttribute("aria-label", words);
  const column = element("i", item.at === undefined || item.at === null ? "ds-column ds-unsaid" : "ds-column");
  if (!column.classList.contains("ds-unsaid")) column.style.height = `${item.at / 10}%`;
  made.append(column);
  if (item.mark) made.append(element("b", "ds-mark", "▼"));
  if (index % every === 0) made.append(element("small", "", item.label));
  return made;
}

function chart(block) {
  const made = element("div", "ds-chart");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", block.label);
  const plot = element("div", "ds-plot");
  for (const share of [0, 50, 100]) {
    const grid = element("span", "ds-grid", `${share} %`);
    grid.style.bottom = `${share}%`;
    plot.append(grid);
  }
  const bars = element("div", "ds-bars");
  const every = Math.ceil(block.bars.length / LABELS) || 1;
  bars.append(...block.bars.map((item, index) => bar(item, index, every)));
  plot.append(bars);
  if (block.limit !== undefined && block.limit !== null) {
    const limit = element("span", "ds-limit", block.limit_label);
    limit.style.bottom = `${block.limit / 10}%`;
    plot.append(limit);
  }
  made.append(plot);
  if (block.mark_label) {
    const legend = element("div", "ds-legend");
    legend.append(element("b", "ds-mark", "▼"), element("span", "", block.mark_label));
    made.append(legend);
  }
  return made;
}

function heading(block) {
  const made = element("div", `ds-heading ds-level${block.level === 3 ? 3 : 2}`);
  made.append(element(block.level === 3 ? "h3" : "h2", "", block.text));
  if (block.beside?.length) made.append(line(block.beside));
  return made;
}

function note(block) {
  const made = element("div", `ds-note ${toneClass(block.tone)}`);
  made.setAttribute("role", "note");
  made.append(element("strong", "", block.text));
  if (block.detail) made.append(element("p", "", block.detail));
  return made;
}

function lines(block) {
  const made = element("div", "ds-lines");
  for (const item of block.items) made.append(line(item));
  return made;
}

function card(block) {
  const made = element("section", `ds-card ${toneClass(block.tone)}`);
  made.append(line(block.title, "ds-line ds-title"), ...block.blocks.map(show));
  return made;
}

const SHOWN = { table, tiles, chart, facts, thumbs: (block) => thumbs(block.items), chain, heading, note, lines, card };

function show(block) {
  return SHOWN[block.kind](block);
}

function followed(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return null;
  const link = event.target.closest("a");
  if (link) return link.target ? null : link.getAttribute("href");
  if (event.target.closest("tr.ds-opens") && !String(window.getSelection()))
    return event.target.closest("tr.ds-opens").dataset.href;
  return null;
}

const last = new WeakMap();

export default function mount(component) {
  const root = component.parentElement.querySelector(".ds-sheet");
  const text = JSON.stringify(component.data.blocks);
  if (last.get(root) !== text) {
    last.set(root, text);
    root.replaceChildren(...component.data.blocks.map(show));
    const chosen = root.querySelector(".ds-chain .ds-chosen");
    if (chosen) requestAnimationFrame(() => chosen.scrollIntoView({ block: "center" }));
  }
  const follow = (event) => {
    const href = followed(event);
    if (!ownPath(href)) return;
    event.preventDefault();
    component.setTriggerValue("go", href);
  };
  root.addEventListener("click", follow);
  const ticking = root.querySelector(".ds-due") ? setInterval(() => tick(root), 1000) : 0;
  return () => {
    root.removeEventListener("click", follow);
    clearInterval(ticking);
  };
}
