// Observes one element and lets an input event through only while it still is that element.
// Listeners stand on the window in the capture phase, ahead of the page's own; verdicts leave through the binding,
// because a navigation takes this world with it.
const EVENTS = [
  "pointerdown", "mousedown", "pointerup", "mouseup", "click", "auxclick", "dblclick", "contextmenu", "touchstart",
  "touchend", "dragstart", "drop", "keydown", "keypress", "keyup", "beforeinput", "submit",
];
const KEYBOARD = new Set(["keydown", "keypress", "keyup", "beforeinput"]);
const PRESSING = ["pointerdown", "mousedown", "pointerup", "mouseup", "keydown"];
const nodes = new Map();
const send = globalThis[C.binding];
const report = (message) => send(JSON.stringify(message));
let counter = 0, armed = null, marked = null;

// Hit test that goes through open shadow roots, and through closed ones that an observed node is known to be in.
const hitTest = (x, y, roots = []) => {
  let e = document.elementFromPoint(x, y);
  for (;;) {
    const inner = e && (e.shadowRoot || roots.find((r) => r.host === e));
    const next = inner ? inner.elementFromPoint(x, y) : null;
    if (!next || next === e) return e;
    e = next;
  }
};
const rootsOf = (e) => {
  const out = [];
  for (let r = e.getRootNode(); r instanceof ShadowRoot; r = r.host.getRootNode()) out.push(r);
  return out;
};
const focused = (roots = []) => {
  let e = document.activeElement;
  for (;;) {
    const root = e && (e.shadowRoot || roots.find((r) => r.host === e));
    if (!root || !root.activeElement) return e;
    e = root.activeElement;
  }
};
const rectangle = (r) => [r.left, r.top, r.width, r.height];
const OPAQUE = new Set(["CANVAS", "IFRAME", "EMBED", "OBJECT", "VIDEO"]);

const describe = (hit, options) => {
  const e = P.actionable(hit), roots = rootsOf(e), place = P.place(e);
  const area = e.getBoundingClientRect(), x = options.x ?? area.left + area.width / 2, y = options.y ?? area.top + area.height / 2;
  const top = hitTest(x, y, roots), over = top && P.actionable(top) !== e && !e.contains(top) && !sameControl(top, e);
  const id = `n${++counter}`;
  nodes.set(id, { node: e, roots, formSelector: options.formSelector || "" });
  if (nodes.size > 64) nodes.delete(nodes.keys().next().value);
  const stored = P.single(place.box, options.formSelector);
  const fp = P.fingerprint(e, options.formSelector), drawn = {};
  for (const [name, selector] of Object.entries(options.drawn || {})) {
    const found = P.single(place.box, selector);
    if (found) drawn[name] = P.text(found);
  }
  const band = place.row || place.dialog || place.form;
  return {
    id, fp, scale: devicePixelRatio, label: P.label(e), role: P.role(e), x, y, rect: rectangle(area), band: band ? rectangle(band.getBoundingClientRect()) : null,
    scope: place.scope, scopeText: P.text(place.box).slice(0, 4000), rowText: place.row ? P.text(place.row) : "", rowKey: fp.row_key,
    form: stored ? { ...fp.form, ...fp.stored_form } : fp.form, drawn, heading: fp.heading, enabled: fp.enabled,
    opaque: OPAQUE.has(e.tagName) || (!P.label(e) && Boolean(e.querySelector("canvas,img") || e.type === "image")) ||
      (e.tagName.includes("-") && !e.shadowRoot && !P.text(e)),
    coveredBy: over ? P.norm(`${top.tagName.toLowerCase()} ${P.text(top).slice(0, 80)}`) : "",
    childFrame: e.tagName === "IFRAME" || e.tagName === "FRAME", view: P.viewport(), secrets: P.secretRects(),
  };
};
// A label stands for its control, in both directions.
const sameControl = (a, b) => {
  const label = P.up(a, "label");
  if (label && label.control === b) return true;
  return [...(a.labels || [])].some((l) => l === b || l.contains(b));
};

const eventTarget = (e, a) => {
  if (KEYBOARD.has(e.type)) return focused(a.roots);
  let t = e.composedPath()[0];
  const root = a.roots.find((r) => r.host === t);
  if (root && e.clientX !== undefined) t = hitTest(e.clientX, e.clientY, a.roots);
  if (t && t.nodeType === 1 && t !== a.node && t.labels && sameControl(t, a.node)) return a.node;
  return t;
};
const compare = (expected, found) => {
  const keys = Object.keys(expected).filter((k) => JSON.stringify(expected[k]) !== JSON.stringify(found[k]));
  const part = (side) => Object.fromEntries(keys.map((k) => [k, side[k]]));
  return keys.length ? { expected: part(expected), found: part(found) } : null;
};
const judge = (e, a) => {
  if (a.deny) return { expected: { frame: "the observed one" }, found: { frame: P.address() } };
  const now = P.fingerprint(eventTarget(e, a), a.formSelector);
  if (a.core) return compare(a.core, P.core(now, a.guarded));
  const changed = compare(a.fp, now);
  if (!changed) a.core = P.core(now, a.guarded);
  return changed;
};
const onEvent = (e) => {
  const a = armed;
  if (!a || !e.isTrusted) return;
  if (e.type !== "submit" && KEYBOARD.has(e.type) !== (a.kind === "key")) return;
  // The click that browsers add after a drag is about whatever holds both ends of it.
  if (a.kind === "drop" && e.type === "click") return;
  if (e.type !== "submit") {
    const changed = a.bad ? null : judge(e, a);
    report({ kind: "event", id: a.id, type: e.type });
    if (changed) { a.bad = true; report({ kind: "blocked", id: a.id, type: e.type, ...changed }); }
  }
  if (a.bad && a.enforce) { e.preventDefault(); e.stopImmediatePropagation(); }
};
// What the page's own handlers did to the pressed element while our event was dispatched is its reaction to us
// ("Saving…"), as long as it is the same node in the same row, form and dialog.
const afterPress = (e) => {
  const a = armed;
  if (!a || a.bad || a.deny || !a.core || !e.isTrusted || !a.node.isConnected) return;
  const now = P.core(P.fingerprint(a.node, a.formSelector), a.guarded);
  const changed = compare(a.core, now);
  if (changed && Object.keys(changed.found).every((k) => k === "label" || k === "attributes")) a.core = now;
};
const listen = EventTarget.prototype.addEventListener;
const onMark = (e) => { marked = e.composedPath()[0]; report({ kind: "mark" }); };
// The listeners were here before the page's first script, and stay ahead of its own. Only document.open() drops
// them; whether it did is asked with an event that nobody else knows, and only then are they added again.
const SELF = `${C.mark}-self`;
let heard = false;
const hook = () => {
  heard = false;
  dispatchEvent(new Event(SELF));
  if (heard) return;
  for (const type of EVENTS) listen.call(window, type, onEvent, { capture: true, passive: false });
  for (const type of PRESSING) listen.call(window, type, afterPress);
  listen.call(window, C.mark, onMark, true);
  listen.call(window, SELF, () => { heard = true; });
};
hook();
new MutationObserver((records) => {
  if (records.some((r) => [...r.addedNodes].includes(document.documentElement))) hook();
}).observe(document, { childList: true });

P.viewport = () => ({ scale: devicePixelRatio, left: scrollX, top: scrollY, width: innerWidth, height: innerHeight });
P.observeMarked = (options) => (marked && marked.isConnected ? describe(marked, options) : null);
// One element by plain CSS, if exactly one is drawn; null where another way has to look (other kinds of selectors,
// shadow roots, several elements). Drawn as Playwright means it: a box that is not empty and not hidden.
P.observeOnly = (selector, options) => {
  let all;
  try { all = [...document.querySelectorAll(selector)]; } catch { return null; }
  if (all.some((e) => getComputedStyle(e).display === "contents")) return null;
  const drawn = all.filter((e) => {
    const r = e.getBoundingClientRect();
    return r.width > 0 && r.height > 0 && e.checkVisibility({ visibilityProperty: true });
  });
  if (drawn.length !== 1 || [...document.querySelectorAll("*")].some((e) => e.shadowRoot)) return null;
  return describe(drawn[0], options);
};
P.observeNode = (node, options) => {
  const e = node.nodeType === 1 ? node : node.parentElement;
  return e ? describe(e, options) : null;
};
P.arm = ({ ref, id, fp, x, y, kind, enforce, guarded, take }) => {
  hook();
  const known = nodes.get(ref) || { node: null, roots: [], formSelector: "" };
  if (kind === "key" && take && known.node && known.node.isConnected) {
    known.node.focus({ preventScroll: true });
    if (take === "all" && known.node.select) known.node.select();
  }
  const hit = kind === "key" ? focused(known.roots) : hitTest(x, y, known.roots);
  const e = hit && sameControl(hit, known.node) ? known.node : hit && P.actionable(hit);
  const changed = compare(fp, P.fingerprint(e, known.formSelector));
  if (changed && enforce) { armed = null; return changed; }
  if (changed) report({ kind: "blocked", id, type: "", ...changed });
  armed = { id, fp, kind, enforce, guarded, node: e, roots: known.roots, formSelector: known.formSelector, bad: Boolean(changed) };
  return changed;
};
P.deny = (id, kind, enforce) => { hook(); armed = { id, deny: true, kind, enforce, roots: [], guarded: [] }; };
P.disarm = () => { armed = null; };
// One uninterrupted turn: compared and chosen before any script of the page can run.
P.choose = ({ ref, fp, option, enforce }) => {
  const { node, formSelector } = nodes.get(ref) || {};
  const changed = compare(fp, P.fingerprint(node && node.isConnected ? node : null, formSelector));
  if (changed && (enforce || !node)) return { changed };
  const fits = [...(node.options || [])].filter((o) => o.value === option || P.norm(o.text) === option);
  if (fits.length !== 1) return { changed, missing: true };
  node.value = fits[0].value;
  node.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
  node.dispatchEvent(new Event("change", { bubbles: true }));
  return { changed };
};
P.holds = (ref, text) => { const known = nodes.get(ref); return Boolean(known && known.node.value === text); };
