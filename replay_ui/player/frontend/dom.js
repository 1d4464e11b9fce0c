// Building DOM without HTML strings. Text from a recording may hold markup; it only ever becomes a text node.

const SVG = "http://www.w3.org/2000/svg";

// Paths on a 24 x 24 grid.
const ICONS = {
  first: "M6 5h2v14H6zM20 5v14L9 12z",
  last: "M16 5h2v14h-2zM4 5v14l11-7z",
  prev: "M16 5v14L6 12z",
  next: "M8 5v14l10-7z",
  prevStop: "M4 5h2v14H4zM14 5 7 12l7 7 1.8-1.8L10.6 12l5.2-5.2zM18 9h3v6h-3z",
  nextStop: "M18 5h2v14h-2zM10 5 8.2 6.8 13.4 12 8.2 17.2 10 19l7-7zM3 9h3v6H3z",
  play: "M8 5v14l11-7z",
  pause: "M7 5h4v14H7zM14 5h4v14h-4z",
  idle: "M12 3a9 9 0 1 0 9 9h-2a7 7 0 1 1-2-4.9V10h2V3h-2v2.5A9 9 0 0 0 12 3zm-1 4v6l4.5 2.7 1-1.6-3.5-2.1V7z",
  marker: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2a7 7 0 1 1 0 14 7 7 0 0 1 0-14zm0 5a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  boxes: "M4 4h6v2H6v4H4zM14 4h6v6h-2V6h-4zM4 14h2v4h4v2H4zM18 14h2v6h-6v-2h4zM9 9h6v6H9z",
  changes: "M4 4h4v4H4zM10 4h4v4h-4zM16 10h4v4h-4zM10 10h4v4h-4zM4 16h4v4H4zM16 16h4v4h-4z",
  swipe: "M11 3h2v18h-2zM8 8v8l-5-4zM16 8v8l5-4z",
  blink: "M12 5C6.5 5 2.7 9.6 1.5 12c1.2 2.4 5 7 10.5 7s9.3-4.6 10.5-7C21.3 9.6 17.5 5 12 5zm0 12a5 5 0 1 1 0-10 5 5 0 0 1 0 10zm0-7a2 2 0 1 0 0 4 2 2 0 0 0 0-4z",
  region: "M3 5h4V3h2v4H5v4H3zM15 3h2v2h4v6h-2V7h-4zM3 13h2v4h4v4H7v-2H3zM19 13h2v6h-4v2h-2v-4h4zM8 9h8v6H8z",
  zoomIn: "M10 3a7 7 0 1 0 4.2 12.6l5.1 5.1 1.4-1.4-5.1-5.1A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM9 7h2v2h2v2h-2v2H9v-2H7V9h2z",
  zoomOut: "M10 3a7 7 0 1 0 4.2 12.6l5.1 5.1 1.4-1.4-5.1-5.1A7 7 0 0 0 10 3zm0 2a5 5 0 1 1 0 10 5 5 0 0 1 0-10zM7 9h6v2H7z",
  fit: "M4 4h6v2H7.4l3 3L9 10.4l-3-3V10H4zM14 4h6v6h-2V7.4l-3 3L13.6 9l3-3H14zM4 14h2v2.6l3-3 1.4 1.4-3 3H10v2H4zM18 14h2v6h-6v-2h2.6l-3-3 1.4-1.4 3 3z",
  link: "M10.6 13.4a1 1 0 0 0 1.4 0l4-4a2 2 0 0 0-2.8-2.8L11.8 8l-1.4-1.4 1.4-1.4a4 4 0 0 1 5.6 5.6l-4 4a3 3 0 0 1-4.2 0zM13.4 10.6a1 1 0 0 0-1.4 0l-4 4a2 2 0 0 0 2.8 2.8l1.4-1.4 1.4 1.4-1.4 1.4a4 4 0 0 1-5.6-5.6l4-4a3 3 0 0 1 4.2 0z",
  help: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm-1 13h2v2h-2zm1-10a3.5 3.5 0 0 1 1.5 6.7c-.4.2-.5.4-.5.8v1h-2v-1c0-1.2.6-2 1.6-2.5A1.5 1.5 0 1 0 10.5 9.5h-2A3.5 3.5 0 0 1 12 6z",
  copy: "M8 3h11v13h-2V5H8zM5 7h10v14H5zm2 2v10h6V9z",
  ok: "M9.5 17.5 4 12l1.5-1.5 4 4 9-9L20 7z",
  stopped: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zM7 11h10v2.5H7z",
  failed: "M6.5 5 12 10.5 17.5 5 19 6.5 13.5 12l5.5 5.5-1.5 1.5L12 13.5 6.5 19 5 17.5 10.5 12 5 6.5z",
  unknown: "M11 16h2v2.5h-2zm1-11a4 4 0 0 1 2 7.5c-.7.4-1 .8-1 1.5h-2c0-1.6.7-2.5 1.9-3.2A2 2 0 1 0 10 9H8a4 4 0 0 1 4-4z",
  none: "M6 11h12v2H6z",
};

// Element with properties and children. Property names starting with "on" are listeners, "data-", "aria-" and
// "role" attributes; a string child becomes text.
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "class") node.className = value;
    else if (name in node && !name.includes("-")) node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

export function icon(name) {
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", ICONS[name] ?? ICONS.none);
  path.setAttribute("fill", "currentColor");
  path.setAttribute("fill-rule", "evenodd");
  svg.append(path);
  return svg;
}

// Label with its {names} filled in.
export function fill(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

// Microseconds since 1970 as "2026-11-03 08:12:33.123".
export function utc(micros) {
  return new Date(micros / 1000).toISOString().replace("T", " ").replace("Z", "");
}

// Milliseconds since the start of the run as "1:02:33.4".
export function clock(ms) {
  const tenths = Math.max(0, Math.floor(ms / 100));
  const pad = (n) => String(n).padStart(2, "0");
  const [s, m, hours] = [Math.floor(tenths / 10) % 60, Math.floor(tenths / 600) % 60, Math.floor(tenths / 36000)];
  return `${hours ? `${hours}:${pad(m)}` : m}:${pad(s)}.${tenths % 10}`;
}

export const clamp = (value, low, high) => Math.max(low, Math.min(high, value));

// The tones, the worst last.
export const RANK = { none: 0, ok: 1, unknown: 2, stopped: 3, failed: 4 };

// A tone becomes part of a class name, so it must be one of ours.
export const toneOf = (value) => (Object.hasOwn(RANK, value) ? value : "none");
