// Reads the page for the guards; runs in an isolated world that the page's own scripts can't see or change.
// Nothing here changes the document. Values of secret fields never leave: they are read as "•".
// `C` is the configuration that the loader puts in front: {secretWords, secretFields, volatile, mask, account}.
const P = {};
const VOLATILE = new RegExp(
  [
    "\\d+\\s*(秒|分钟|分|小时|時間|天|日|초|분|시간|일)(钟)?\\s*(前|전)",
    "刚刚|たった今|방금",
    "\\b(just now|(\\d+|an?)\\s*(s|sec|second|m|min|minute|h|hr|hour|d|day)s?\\s*ago)\\b",
    // A moment is one thing with its date: "2026-11-19 23:50:23" may turn into "3 minutes ago" when a script has loaded.
    "\\b(\\d{4}\\s*[-/.年]\\s*\\d{1,2}\\s*[-/.月]\\s*\\d{1,2}\\s*日?[\\sT]+)?\\d{1,2}:\\d{2}(:\\d{2})?(\\.\\d+)?\\b",
  ].join("|"),
  "gi",
);
const ACTIONABLE =
  "button,a[href],input,select,textarea,summary,label,[role=button],[role=link],[role=menuitem],[role=tab]," +
  "[role=checkbox],[role=radio],[role=switch],[role=option],[contenteditable],[onclick]";
const ROW = "tr,[role=row],[data-row-key],[data-key],li,[role=listitem]";
const DIALOG = "dialog,[role=dialog],[role=alertdialog]";
const SECTION = "section,article,main,fieldset,[role=region],[role=group]";
const HEADING = "h1,h2,h3,h4,legend,[role=heading]";
const KEPT_ATTRIBUTE =
  /^(data-|aria-label$|aria-disabled$|aria-checked$|aria-expanded$|aria-pressed$|name$|type$|href$|formaction$|id$|role$)/;
const STATE_ATTRIBUTE =
  /^(data-(state|headlessui-state|open|closed|active|focus.*|hover|pressed|selected|highlighted|disabled)|aria-(expanded|checked|pressed|selected|disabled|busy))$/;
const IMPLICIT_ROLE = {
  A: "link", BUTTON: "button", SELECT: "combobox", TEXTAREA: "textbox", SUMMARY: "button", OPTION: "option",
  INPUT: "textbox", IMG: "img", TD: "cell", TR: "row", LI: "listitem", DIALOG: "dialog", FORM: "form",
};
const INPUT_ROLE = {
  button: "button", submit: "button", reset: "button", image: "button", checkbox: "checkbox", radio: "radio",
  range: "slider", number: "spinbutton", search: "searchbox",
};

P.norm = (s) => (s || "").replace(/\s+/g, " ").trim();
P.still = (s) => P.norm(s).replace(VOLATILE, "~");
P.parent = (e) => e.parentElement || (e.getRootNode && e.getRootNode().host) || null;
P.up = (e, selector) => {
  for (; e; e = P.parent(e)) if (e.matches && e.matches(selector)) return e;
  return null;
};
P.actionable = (e) => P.up(e, ACTIONABLE) || e;
P.text = (e) => P.norm(e.innerText === undefined ? e.textContent : e.innerText);
P.visible = (e) => {
  const r = e.getBoundingClientRect();
  if (r.width < 1 || r.height < 1) return false;
  const s = getComputedStyle(e);
  return s.visibility !== "hidden" && s.display !== "none" && Number(s.opacity) > 0.05;
};
// Open shadow roots are read through; the roots of closed ones are not reachable from outside.
P.all = (root, selector, found = []) => {
  found.push(...root.querySelectorAll(selector));
  for (const e of root.querySelectorAll("*")) if (e.shadowRoot) P.all(e.shadowRoot, selector, found);
  return found;
};

// A password field that a "show" button turned into a text field stays secret.
const everSecret = new WeakSet();
const SECRET_NAME = new RegExp(C.secretWords, "i");
P.secretName = (name) => SECRET_NAME.test(name) || C.secretFields.includes(name);
P.secret = (e) => {
  if (e.type === "password") everSecret.add(e);
  return (
    everSecret.has(e) ||
    /(password|one-time-code|cc-number|cc-csc)/.test(e.autocomplete || "") ||
    C.mask.some((selector) => e.matches(selector)) ||
    (e.tagName === "INPUT" && P.secretName(e.name || e.id || ""))
  );
};
for (const type of ["focusin", "beforeinput", "input"])
  addEventListener(type, (e) => { const t = e.composedPath()[0]; if (t && t.type === "password") everSecret.add(t); }, true);

P.value = (e) => {
  if (P.secret(e)) return e.value ? "•" : "";
  if (e.type === "checkbox" || e.type === "radio") return e.checked ? `on:${e.value}` : "";
  if (e.tagName === "SELECT") return [...e.selectedOptions].map((o) => o.value).join(",");
  return e.value;
};
const steady = (e) => !C.volatile.some((selector) => P.up(e, selector));
P.controls = (elements) => {
  const out = {};
  for (const e of elements) {
    if (!steady(e) || e.type === "submit" || e.type === "button") continue;
    const key = e.name || e.id || e.type || e.tagName;
    const value = P.value(e);
    if (e.type === "radio" && !value && out[key]) continue;
    out[key] = out[key] && e.type !== "radio" ? `${out[key]}|${value}` : value;
  }
  return out;
};
// Drawn text without the parts that change by themselves.
P.textSteady = (root) => {
  if (!C.volatile.some((selector) => root.querySelector(selector))) return P.text(root);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_ELEMENT | NodeFilter.SHOW_TEXT, (n) => {
    if (n.nodeType === 3) return NodeFilter.FILTER_ACCEPT;
    const out = /^(SCRIPT|STYLE|TEMPLATE|NOSCRIPT|OPTION)$/.test(n.tagName) || C.volatile.some((s) => n.matches(s));
    return out || !n.checkVisibility({ visibilityProperty: true }) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_SKIP;
  });
  const parts = [];
  while (walker.nextNode()) parts.push(walker.currentNode.data);
  return P.norm(parts.join(" "));
};
// The one element that a selector names: inside the container first, else on the page; several are none.
P.single = (box, selector) => {
  if (!selector) return null;
  for (const root of [box, document]) {
    const found = root.querySelectorAll(selector);
    if (found.length) return found.length === 1 ? found[0] : null;
  }
  return null;
};

P.role = (e) => {
  const own = e.getAttribute("role");
  if (own) return own;
  if (e.tagName === "INPUT") return INPUT_ROLE[e.type] || "textbox";
  return IMPLICIT_ROLE[e.tagName] || e.tagName.toLowerCase();
};
P.name = (e) => {
  const by = e.getAttribute("aria-labelledby");
  if (by) return P.norm(by.split(/\s+/).map((id) => e.getRootNode().getElementById(id)).map((n) => (n ? P.text(n) : "")).join(" "));
  const image = e.querySelector("img[alt],svg title");
  return P.norm(
    e.getAttribute("aria-label") ||
      (e.labels && e.labels.length ? [...e.labels].map(P.text).join(" ") : "") ||
      e.getAttribute("alt") ||
      (image ? image.getAttribute("alt") || image.textContent : "") ||
      e.getAttribute("placeholder") ||
      "",
  );
};
P.label = (e) => {
  if (e.tagName === "INPUT" && ["button", "submit", "reset"].includes(e.type)) return P.norm(e.value);
  return (["INPUT", "SELECT", "TEXTAREA"].includes(e.tagName) ? "" : P.text(e)) || P.name(e);
};

const keyOf = (row) =>
  [...row.attributes].filter((a) => (a.name === "id" || /^data-/.test(a.name)) && !STATE_ATTRIBUTE.test(a.name))
    .map((a) => a.value).sort().join(" ");
const formFields = (form, row) => {
  const elements = [...form.elements].filter((e) => e.tagName !== "FIELDSET" && e.tagName !== "OUTPUT" && e.tagName !== "BUTTON");
  // One form around a whole table: other rows' fields are none of this row's business.
  return row && form.contains(row) && form.querySelectorAll(ROW).length > 1
    ? elements.filter((e) => row.contains(e) || !P.up(e, ROW))
    : elements;
};
P.place = (e) => {
  const row = P.up(e, ROW), dialog = P.up(e, DIALOG), form = e.form || P.up(e, "form"), section = P.up(e, SECTION);
  const scope = dialog ? "dialog" : row ? "row" : form ? "form" : section ? "section" : "page";
  return { row, dialog, form, section, scope, box: dialog || row || form || section || document.body };
};

const decorations = (e) => {
  const out = [];
  for (const pseudo of ["::before", "::after"]) {
    const content = getComputedStyle(e, pseudo).content;
    if (content !== "none" && content !== "normal") out.push(content);
  }
  for (const image of e.querySelectorAll("img")) out.push(image.currentSrc.slice(0, 200));
  return out;
};
P.address = () => {
  const url = new URL(location.href);
  for (const key of [...url.searchParams.keys()]) if (P.secretName(key)) url.searchParams.set(key, "•");
  url.username = url.password = "";
  return url.href;
};

// What the element is, in one flat object. Class and style are left out: they change under the pointer.
P.fingerprint = (hit, formSelector = "") => {
  if (!hit || hit.nodeType !== 1) return { tag: "nothing" };
  const e = P.actionable(hit), { row, dialog, form, section } = P.place(e);
  const heading = section && section.querySelector(HEADING);
  const box = form || dialog || row;
  const stored = P.single(P.place(e).box, formSelector);
  const own = ["INPUT", "SELECT", "TEXTAREA"].includes(e.tagName) && !box ? [e] : [];
  return {
    tag: e.tagName.toLowerCase(),
    role: P.role(e),
    label: P.still(P.label(e)),
    attributes: [...e.attributes].filter((a) => KEPT_ATTRIBUTE.test(a.name)).map((a) => `${a.name}=${a.value}`).sort().join("; "),
    enabled: !e.disabled && e.getAttribute("aria-disabled") !== "true",
    row_key: row ? keyOf(row) : "",
    row_text: row ? P.still(P.textSteady(row)) : "",
    dialog_text: dialog ? P.still(P.textSteady(dialog)).slice(0, 600) : "",
    heading: heading ? P.still(P.text(heading)) : "",
    form_action: form ? `${form.getAttribute("method") || "get"} ${form.getAttribute("action") || ""}` : "",
    form: P.controls(form ? formFields(form, row) : box ? box.querySelectorAll("input,select,textarea") : own),
    stored_form: stored ? P.controls(formFields(stored, null)) : {},
    decorations: decorations(e),
    url: P.address(),
  };
};
// What may not change while the input events of one action are delivered, the page's own reactions left out.
const plain = (value) => {
  const text = P.norm(String(value)), bare = text.replace(/,/g, "");
  return bare !== "" && Number.isFinite(Number(bare)) ? String(Number(bare)) : text;
};
P.core = (fp, guarded) => {
  const pick = (fields) =>
    Object.entries(fields || {}).filter(([k]) => !guarded.length || guarded.includes(k)).map(([k, v]) => `${k}=${plain(v)}`).sort();
  const attributes = (fp.attributes || "").split("; ").filter((a) => !STATE_ATTRIBUTE.test(a.split("=")[0])).join("; ");
  return {
    tag: fp.tag, role: fp.role, label: fp.label, attributes, row_key: fp.row_key, row_text: fp.row_text,
    dialog_text: fp.dialog_text, heading: fp.heading, form_action: fp.form_action, form: pick(fp.form), stored_form: pick(fp.stored_form),
  };
};
