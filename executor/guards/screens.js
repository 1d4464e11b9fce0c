// What the page shows as a whole: document state, skeleton, account, signs of trouble, confirmation screens, secrets.
const VERB = new RegExp(`^(${C.verbs})`, "i"), CANCEL = new RegExp(`^(${C.cancels})`, "i");
const squeeze = (s) => P.norm(s).replace(/([\u2e80-\u9fff]) (?=[\u2e80-\u9fff])/g, "$1");
const OWNERS = "dialog,[role=dialog],[role=alertdialog],[role=tooltip],tr,form,main,section";
const hash = (text) => {
  let a = 0xdeadbeef, b = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    a = Math.imul(a ^ c, 2654435761);
    b = Math.imul(b ^ c, 1597334677);
  }
  return `${(a ^ (b >>> 16)) >>> 0}.${(b ^ (a >>> 13)) >>> 0}`;
};

// Everything a person would call a change: text, control values, what is enabled; volatile text masked.
P.state = () => {
  const body = document.body;
  if (!body) return P.address();
  const parts = [P.address(), P.still(P.textSteady(body))];
  for (const e of document.querySelectorAll("*"))
    if (e.shadowRoot) for (const c of e.shadowRoot.children) if (c.tagName !== "STYLE") parts.push(P.still(P.text(c)));
  const controls = P.all(document, "input,select,textarea");
  parts.push(JSON.stringify(P.controls(controls)));
  parts.push(P.all(document, "button,input,select,textarea,[aria-disabled],[aria-checked],[aria-expanded],[aria-selected],details,dialog")
    .map((e) => (e.disabled ? 1 : 0) + (e.getAttribute("aria-checked") || "") + (e.getAttribute("aria-expanded") || "") +
      (e.getAttribute("aria-selected") || "") + (e.open ? "o" : "")).join(","));
  return parts.join("\n");
};
// The skeleton a vendor's redesign changes and new data does not: rows count once.
P.skeleton = () => {
  const seen = new Set();
  for (const e of P.all(document, "form,input,select,textarea,button,a[href],th,label,h1,h2,h3,nav,table,[role],[data-testid]")) {
    const path = [];
    for (let p = e; p && path.length < 6; p = P.parent(p)) path.push(p.tagName.toLowerCase());
    const worded = /^(TH|LABEL)$/.test(e.tagName) || (e.tagName === "BUTTON" && !P.up(e, "tbody,[role=row],li"));
    const wording = worded ? P.text(e).slice(0, 40) : "";
    const named = [...e.attributes].map((a) => a.name).filter((n) => /^data-/.test(n)).sort().join(" ");
    seen.add(`${path.join("<")}|${e.getAttribute("role") || ""}|${e.name || ""}|${e.type || ""}|${named}|${e.className && e.className.baseVal === undefined ? e.className : ""}|${wording}`);
  }
  return [...seen].sort().join("\n");
};

const buttons = () =>
  P.all(document, "button,a,input[type=button],input[type=submit],[role=button],[class*=btn]")
    .filter(P.visible).map((e) => [e, squeeze(P.label(e)).slice(0, 80)]);
// The container that owns the question: the nearest dialog, row, form or fixed box around both buttons.
const ownerOf = (verb, cancel) => {
  let c = verb;
  while (c && !c.contains(cancel) && !(c.shadowRoot && c.shadowRoot.contains(cancel))) c = P.parent(c);
  for (let e = c, i = 0; e && i < 6 && e !== document.body; e = P.parent(e), i++)
    if (e.matches(OWNERS) || getComputedStyle(e).position === "fixed") return e;
  return c && P.text(c).length < 14 && c.parentElement ? c.parentElement : c;
};
P.screens = () => {
  const out = [], all = buttons();
  const verbs = all.filter(([, t]) => VERB.test(t)), cancels = all.filter(([, t]) => CANCEL.test(t));
  for (const [v, verb] of verbs)
    for (const [n, cancel] of cancels) {
      if (v === n || v.contains(n) || n.contains(v)) continue;
      const a = v.getBoundingClientRect(), b = n.getBoundingClientRect();
      if (Math.hypot(a.left - b.left, a.top - b.top) > 320) continue;
      const owner = ownerOf(v, n);
      if (owner) out.push({ role: owner.getAttribute("role") || owner.tagName.toLowerCase(), text: squeeze(P.text(owner)).slice(0, 600), verb, cancel });
    }
  for (const e of P.all(document, "dialog[open],[role=dialog],[role=alertdialog]")) {
    const text = squeeze(P.text(e)).slice(0, 600);
    if (P.visible(e) && !out.some((o) => o.text === text)) out.push({ role: e.getAttribute("role") || "dialog", text, verb: "", cancel: "" });
  }
  return out.slice(0, 8);
};

P.signals = (screens) => {
  const out = [];
  const passwords = P.all(document, "input[type=password]").filter(P.visible);
  if (passwords.length) out.push("login_form");
  if (location.pathname === C.loginPath) out.push("login_path");
  for (const s of screens) if (C.permissionWords.some((w) => s.text.toLowerCase().includes(w.toLowerCase()))) out.push("permission_dialog");
  return [...new Set(out)];
};
const secretParts = () => [
  ...P.all(document, "input,textarea").filter((e) => P.secret(e)),
  ...(C.mask.length ? P.all(document, C.mask.join(",")) : []),
];
const secrets = () => secretParts().filter(P.visible);
P.secretRects = () => ({
  scale: devicePixelRatio,
  rects: [...new Set(secrets())].map((e) => rectangle(e.getBoundingClientRect())).filter(([x, y, w, h]) => x < innerWidth && y < innerHeight && x + w > 0 && y + h > 0),
});
// What secret fields and masked parts hold or held; asked only so that the same is taken out of a trace.
const held = new Map();
addEventListener("input", (e) => {
  const t = e.composedPath()[0];
  if (t && t.value && P.secret(t) && t.value.length >= (held.get(t) || "").length) held.set(t, t.value);
}, true);
P.secretTexts = () => {
  const out = new Set(held.values());
  for (const e of secretParts()) {
    out.add(e.value || "");
    const texts = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) out.add(texts.currentNode.data.trim());
  }
  out.delete("");
  return [...out].filter((text) => typeof text === "string");
};
P.toasts = () =>
  (C.toast ? P.all(document, C.toast) : []).filter(P.visible).map(P.text).filter(Boolean).join(" | ").slice(0, 400);
// Every answer that a capture may follow says where the secrets are: no question of its own is needed for that.
P.pulse = () => ({ state: hash(P.state()), toast: P.toasts(), loaded: document.readyState === "complete", secrets: P.secretRects() });
P.look = () => {
  const screens = P.screens();
  const shown = C.account ? document.querySelector(C.account) : null;
  return {
    url: P.address(), title: document.title, state: P.state(), skeleton: P.skeleton(), account: shown ? P.text(shown) : "",
    signals: P.signals(screens), screens, toast: P.toasts(), secrets: P.secretRects(),
  };
};
globalThis.__proofreel = P;
