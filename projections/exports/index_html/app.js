"use strict";
/* The bundle's page. Rules: nothing is fetched; nothing that was recorded is ever parsed as HTML (text nodes only);
   what is shown is hashed here again, and a screen is shown from the very bytes that were hashed. */
(function () {
  const MINOR_DIGITS = { JPY: 0, KRW: 0, VND: 0, CLP: 0, KWD: 3, BHD: 3, OMR: 3, TND: 3, JOD: 3 };
  const STOPS = new Set(["action.blocked", "action.failed", "action.outcome_unknown", "alert.raised", "approval.denied",
    "approval.lapsed", "compensation.failed", "readback.inconclusive", "readback.mismatched", "run.escalated",
    "takeover.requested", "task.claim_denied", "task.failed", "task.refused", "task.reopened"]);
  const GOOD = new Set(["approval.granted", "compensation.confirmed", "readback.confirmed", "task.succeeded"]);
  const MINOR = new Set(["observation.recorded", "action.attempted", "task.sealed", "task.claimed"]);
  const LANES = ["#0b5cad", "#8a4b08", "#5b2a86", "#0f766e", "#a11d5b", "#4d6b0a", "#37474f", "#b3541e"];
  const PICTURE = /^data\/(?:frames|redacted)\/([0-9a-f]{64})\.(?:png|webp)$/;
  const encoder = new TextEncoder();
  const state = { head: null, items: [], shown: [], current: -1, words: null, checks: {}, frames: new Map(), files: new Map() };
  const $ = (id) => document.getElementById(id);

  function make(tag, attributes, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined) node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child !== null && child !== undefined));
    return node;
  }
  const fill = (template, values) => template
    .replace(/\[([^\]]*)\]/g, (_, part) => ([...part.matchAll(/\{(\w+)\}/g)].every((m) => values[m[1]]) ? part : ""))
    .replace(/\{(\w+)\}/g, (_, name) => (values[name] === undefined || values[name] === null ? "–" : String(values[name])));
  const plain = (name) => String(name || "").replace(/_/g, " ");
  const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
  const unhex = (text) => Uint8Array.from(text.match(/../g) || [], (pair) => parseInt(pair, 16));
  const sha256 = async (bytes) => hex(await crypto.subtle.digest("SHA-256", bytes));
  const time = (us) => new Date(Math.floor(us / 1000)).toISOString().replace("T", " ").replace("Z", "");
  function money(minor, currency) {
    const digits = MINOR_DIGITS[currency] === undefined ? 2 : MINOR_DIGITS[currency];
    const text = String(Math.abs(minor)).padStart(digits + 1, "0");
    const whole = text.slice(0, text.length - digits), part = digits ? "." + text.slice(text.length - digits) : "";
    return (minor < 0 ? "−" : "") + whole + part + " " + (currency || "");
  }

  /* ---- what the data scripts call ---- */
  window.proofreelHead = function (head) {
    state.head = head;
    const next = (number) => (number > head.chunks ? start() : load("page/events-" + String(number).padStart(5, "0") + ".js", () => next(number + 1)));
    next(1);
  };
  window.proofreelEvents = function (_, items) {
    for (const [entry, body] of items) {
      const hidden = body === null ? state.head.withheld.events[entry.event_id] : undefined;
      state.items.push({ entry, body, hidden, event: body === null ? (hidden ? unmarked(hidden.shown) : null) : JSON.parse(body) });
    }
  };
  window.proofreelFrame = function (name, type, base64) {
    const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
    state.files.set(name, new Blob([bytes], { type }));
  };
  function unmarked(value) {
    if (Array.isArray(value)) return value.map(unmarked);
    if (value === null || typeof value !== "object") return value;
    const names = Object.keys(value);
    if (names.length === 1 && names[0] === "$withheld") return "▒▒▒";
    return Object.fromEntries(names.map((name) => [name, unmarked(value[name])]));
  }
  const told = (item) => Object.assign({}, item, { at: item.at_us === undefined ? "" : time(item.at_us).slice(0, 19) });
  function load(path, done) {
    document.body.append(make("script", { src: path, onload: done, onerror: done }));
  }

  /* ---- words ---- */
  function sentence(item) {
    const words = state.words, event = item.event;
    if (event === null) return words.withheld;
    const data = event.data, found = data.found || data.snapshot || data.restored || {};
    const values = Object.assign({}, data);
    if (typeof data.found === "object" || data.snapshot || data.restored) Object.assign(values, { status: found.status, bill: found.bill_id });
    if (data.intent) values.wanted = data.intent.action + " · " + data.intent.bill_id + " · " + data.intent.counterparty + " · " + money(data.intent.amount_minor, data.intent.currency) + " · " + data.intent.month;
    if (data.differences) values.differences = Object.entries(data.differences).map(([key, text]) => key + ": " + text).join("; ");
    for (const key of Object.keys(data)) if (Array.isArray(data[key])) values[key] = data[key].join(", ");
    if (event.name === "case.opened") values.kind = words.kinds[data.kind] || plain(data.kind);
    if (event.name === "case.concluded") {
      values.difference = data.standing ? money(data.amount_minor, data.currency) : words.gone;
      values.causes = data.causes.map((one) => (words.verdict[one.verdict] || one.verdict) + " " + (words.causes[one.cause] || plain(one.cause))).join(", ");
    }
    if (data.mode) values.mode = words.modes[data.mode] || data.mode;
    if (event.name === "guard.judged") {
      values.phase = words.phases[data.phase] || data.phase;
      values.objection = data.verdict === "pass" ? "" : data.verdict;
      const check = data.checks.find((one) => one.decisive && one.verdict === data.verdict && data.verdict !== "pass") || {};
      values.expected = check.expected; values.found = check.found;
      values.spoke = data.verdict === "pass" ? words.spoke.pass : data.enforced ? words.spoke.enforced : words.spoke.watching;
    }
    if (event.name === "action.proposed") values.writing = data.writes ? (data.irreversible ? words.writing.final : words.writing.write) : "";
    const template = words.event[event.name];
    return template === undefined ? event.name : fill(template, values);
  }
  const judgedBadly = (event) => event.name === "guard.judged" && event.data.verdict !== "pass";
  const stops = (item) => item.event !== null && (STOPS.has(item.event.name) || judgedBadly(item.event));
  const minor = (item) => item.event !== null && (MINOR.has(item.event.name) || (item.event.name === "guard.judged" && !judgedBadly(item.event)) || (item.event.name === "action.proposed" && !item.event.data.writes));

  /* ---- start ---- */
  function start() {
    const languages = Object.keys(window.proofreelWords);
    const wanted = (navigator.languages || [navigator.language]).map((tag) => tag.slice(0, 2)).find((tag) => languages.includes(tag)) || "en";
    const select = $("language");
    for (const code of languages) select.append(make("option", { value: code }, window.proofreelWords[code].language));
    select.value = wanted;
    select.addEventListener("change", () => speak(select.value));
    $("filter").addEventListener("change", list);
    $("search").addEventListener("input", list);
    document.addEventListener("keydown", key);
    window.addEventListener("hashchange", follow);
    prepare();
    speak(wanted);
    check();
  }
  function prepare() {
    const lanes = new Map(), proposals = new Map(), last = new Map();
    for (const item of state.items) {
      const stream = item.entry.stream;
      if (!lanes.has(stream)) lanes.set(stream, stream.startsWith("run:") ? "#9aa7b4" : LANES[lanes.size % LANES.length]);
      item.lane = lanes.get(stream);
      if (item.event === null) continue;
      if (item.event.name === "action.proposed") proposals.set(item.event.data.action_id, item.event.data);
      item.proposal = item.event.data.action_id ? proposals.get(item.event.data.action_id) : undefined;
      item.frames = item.event.frames.map((frame) => ({ role: frame.role, sha256: frame.sha256 }));
      for (const [name, role] of [["planned_on", "planned"], ["frame", "before"]]) {
        const sha = item.event.data[name];
        if (typeof sha === "string" && /^[0-9a-f]{64}$/.test(sha) && !item.frames.some((frame) => frame.sha256 === sha)) item.frames.push({ role, sha256: sha });
      }
      item.last = item.frames.length ? null : last.get(stream) || null;
      if (item.frames.length) last.set(stream, item.frames[item.frames.length - 1]);
    }
  }
  function speak(code) {
    const words = (state.words = window.proofreelWords[code]), head = state.head, scope = head.findings.scope;
    document.documentElement.lang = code;
    $("kicker").textContent = words.title;
    $("title").textContent = (words.scope[scope.kind] || scope.kind) + (scope.name ? " " + scope.name : "");
    document.title = words.title + ": " + $("title").textContent;
    const fact = (name, ...value) => make("div", {}, make("dt", {}, name), make("dd", {}, ...value));
    const log = fill(words.logText, { size: head.head.size, root: head.head.root.slice(0, 16) + "…" });
    $("facts").replaceChildren(fact(words.tenant, head.head.tenant), fact(words.bundle, make("code", {}, head.bundle)), fact(words.log, make("code", { title: head.head.root }, log)), fact("", words.times));
    $("caution").textContent = words.notProof;
    $("chain-title").textContent = words.chain;
    $("keys").textContent = words.keys;
    const filter = $("filter"), chosen = filter.value || "all";
    filter.replaceChildren(...["all", "key", "screens", "stopped"].map((name) => make("option", { value: name }, words[name])));
    filter.value = chosen;
    filter.setAttribute("aria-label", words.chain);
    $("search").placeholder = words.search;
    $("search").setAttribute("aria-label", words.search);
    conclusion();
    badges();
    list();
  }

  /* ---- list ---- */
  function list() {
    const filter = $("filter").value, text = $("search").value.trim().toLowerCase(), words = state.words;
    const kept = state.items[state.current];
    state.shown = [];
    const rows = [];
    state.items.forEach((item, index) => {
      const said = sentence(item);
      if (filter === "key" && minor(item)) return;
      if (filter === "screens" && !(item.frames || []).length) return;
      if (filter === "stopped" && !stops(item)) return;
      if (text && !(said + " " + item.entry.stream + " " + (item.body || (item.event ? JSON.stringify(item.event) : ""))).toLowerCase().includes(text)) return;
      state.shown.push(index);
      rows.push(make("li", {}, row(item, index, said)));
    });
    if (!rows.length) rows.push(make("li", { class: "hint" }, words.none));
    $("events").replaceChildren(...rows);
    if (kept) open(state.current, false); else follow();
  }
  function row(item, index, said) {
    const tone = stops(item) ? " stop" : item.event !== null && GOOD.has(item.event.name) ? " good" : "";
    const eye = (item.frames || []).length ? make("span", { class: "eye" }, " ▣") : null;
    const name = item.event === null ? "" : item.event.name;
    const node = make("button", { class: "event" + tone, type: "button", "data-index": index, onclick: () => open(index, true) },
      make("span", { class: "when" }, "#" + item.entry.position + " · " + time(item.entry.recorded_at_us).slice(5, 19)),
      make("span", { class: "meta" }, name, eye, " · " + item.entry.stream), make("span", { class: "text" }, said));
    node.style.setProperty("--lane", item.lane);
    return node;
  }
  function follow() {
    const match = /^#e(\d+)$/.exec(location.hash);
    const wanted = match ? state.items.findIndex((item) => item.entry.position === Number(match[1])) : -1;
    if (wanted >= 0) open(wanted, false);
    else if (state.shown.length && state.current < 0) open(state.shown[0], false);
  }
  function open(index, mark) {
    state.current = index;
    const item = state.items[index];
    if (mark) history.replaceState(null, "", "#e" + item.entry.position);
    for (const node of document.querySelectorAll(".event[aria-current]")) node.removeAttribute("aria-current");
    const node = document.querySelector('.event[data-index="' + index + '"]');
    if (node) { node.setAttribute("aria-current", "true"); node.scrollIntoView({ block: "nearest" }); }
    stage(item);
  }
  function key(press) {
    if (/^(INPUT|SELECT|TEXTAREA)$/.test(press.target.tagName) || press.ctrlKey || press.metaKey || press.altKey) return;
    const at = state.shown.indexOf(state.current), end = state.shown.length - 1;
    const bad = (step) => { let i = at + step; while (i >= 0 && i <= end && !stops(state.items[state.shown[i]])) i += step; return i; };
    const moves = { ArrowRight: () => at + 1, ArrowDown: () => at + 1, ArrowLeft: () => at - 1, ArrowUp: () => at - 1, Home: () => 0, End: () => end, "]": () => bad(1), "[": () => bad(-1) };
    if (!moves[press.key]) return;
    press.preventDefault();
    const next = moves[press.key]();
    if (next >= 0 && next <= end) open(state.shown[next], true);
  }

  /* ---- one event ---- */
  function stage(item) {
    const words = state.words, parts = [make("p", { class: "kicker" }, "#" + item.entry.position + (item.event ? " · " + item.event.name : "")), make("p", { class: "what" }, sentence(item))];
    if (item.hidden) parts.push(make("p", { class: "withheld" }, fill(words.withheldParts, told(item.hidden))));
    const frames = item.frames && item.frames.length ? item.frames : item.last ? [item.last] : [];
    const shots = make("div", { class: frames.length > 1 ? "shots two" : "shots" });
    for (const frame of frames) shots.append(shot(frame, item, frame === item.last));
    parts.push(frames.length ? shots : make("p", { class: "hint" }, words.noScreen));
    if (item.event && item.event.name === "guard.judged") parts.push(judgement(item.event.data));
    parts.push(make("h3", {}, words.details), details(item));
    if (item.event !== null) parts.push(make("details", {}, make("summary", {}, words.raw), make("pre", {}, JSON.stringify(item.event, null, 2))));
    $("stage").replaceChildren(...parts);
  }
  function shot(frame, item, earlier) {
    const words = state.words, badge = make("span", { class: "badge" }, words.checking);
    const caption = make("figcaption", {}, make("strong", {}, earlier ? words.lastScreen : words.role[frame.role] || frame.role), badge, make("code", { title: frame.sha256 }, frame.sha256.slice(0, 16) + "…"));
    const hidden = state.head.withheld.frames[frame.sha256], deleted = (state.head.withheld.deleted || {})[frame.sha256];
    if (deleted) {
      badge.textContent = words.deleted; badge.className = "badge warn";
      return make("figure", {}, caption, make("div", { class: "withheld" }, fill(words.deletedText, told(deleted))));
    }
    const image = make("img", { alt: words.role[frame.role] || frame.role }), canvas = make("div", { class: "shot" }, image);
    image.addEventListener("load", () => aim(canvas, image, frame, item));
    picture(hidden ? hidden.rendition : frame.sha256).then(({ url, status }) => {
      image.src = url;
      if (hidden && status !== "bad") { badge.textContent = words.partsWithheld; badge.className = "badge warn"; return; }
      badge.textContent = status === "ok" ? words.frameOk : status === "bad" ? words.frameBad : words.frameOpen;
      badge.className = "badge " + (status === "ok" ? "ok" : status === "bad" ? "bad" : "warn");
    });
    return make("figure", {}, caption, hidden ? make("div", { class: "withheld" }, fill(words.withheldParts, told(hidden))) : null, canvas);
  }
  function aim(canvas, image, frame, item) {
    const plan = item.proposal;
    if (!plan || !(frame.sha256 === plan.planned_on || ["planned", "before", "observed"].includes(frame.role))) return;
    const place = (name, box) => {
      const node = make("div", { class: name, title: state.words.planned });
      Object.assign(node.style, { left: (100 * box.x) / image.naturalWidth + "%", top: (100 * box.y) / image.naturalHeight + "%" });
      if (box.width) Object.assign(node.style, { width: (100 * box.width) / image.naturalWidth + "%", height: (100 * box.height) / image.naturalHeight + "%" });
      canvas.append(node);
    };
    if (plan.row) place("row", plan.row);
    if (plan.box) place("box", plan.box);
    if (plan.point) place("point", plan.point);
  }
  function judgement(data) {
    const rows = data.checks.map((check) => make("tr", {}, make("td", {}, check.guard), make("td", {}, make("span", { class: "badge " + (check.verdict === "pass" ? "ok" : check.decisive ? "bad" : "warn") }, check.verdict)),
      make("td", {}, check.expected || ""), make("td", {}, check.found || ""), make("td", { class: "mono" }, Object.entries(check.measures || {}).map(([name, value]) => name + " " + value).join(", "))));
    return make("table", {}, make("tbody", {}, ...rows));
  }
  function details(item) {
    const names = state.words.field, entry = item.entry, event = item.event || {};
    const cause = event.cause ? state.items.find((other) => other.entry.event_id === event.cause) : null;
    const rows = [["principal", event.principal], ["tenant", event.tenant], ["key", event.key], ["task", event.task], ["run", event.run],
      ["occurred", event.occurred_at_us && time(event.occurred_at_us)], ["recorded", time(entry.recorded_at_us)], ["position", entry.position], ["version", entry.version + " · " + entry.stream],
      ["id", entry.event_id], ["body", entry.body_sha256], ["entry", entry.entry]];
    const table = make("dl", { class: "table" });
    for (const [name, value] of rows) if (value) table.append(make("dt", {}, names[name]), make("dd", {}, make("code", {}, String(value))));
    if (cause) table.append(make("dt", {}, names.cause), make("dd", {}, link(cause.entry.position)));
    return table;
  }
  function link(position) {
    return make("button", { class: "link", type: "button", onclick: () => { const index = state.items.findIndex((item) => item.entry.position === position); if (index >= 0) { $("filter").value = "all"; $("search").value = ""; list(); open(index, true); } } }, "#" + position);
  }

  /* ---- conclusion ---- */
  function conclusion() {
    const words = state.words, value = state.head.findings.case, card = $("conclusion"), files = state.head.files.filter((path) => !PICTURE.test(path));
    const parts = [make("h2", {}, words.conclusion)];
    if (!value) parts.push(make("p", { class: "plain" }, words.noConclusion));
    else {
      const currency = value.currency || "", sums = make("dl", { class: "sums" });
      const sum = (name, content) => sums.append(make("div", {}, make("dt", {}, name), make("dd", {}, content)));
      if (value.bill) sum(words.bill, value.bill);
      if (value.kind) sum(words.kind, words.kinds[value.kind] || plain(value.kind));
      if (typeof value.amount_minor === "number") sum(words.amount, money(value.amount_minor, currency));
      if (typeof value.residual_minor === "number") sum(words.residual, money(value.residual_minor, currency));
      parts.push(make("p", { class: "plain" }, words.wordOf), sums, ...(Array.isArray(value.findings) ? value.findings.map((one) => finding(one, currency)) : []));
      parts.push(make("details", {}, make("summary", {}, words.more), make("pre", {}, JSON.stringify(value, null, 2))));
    }
    if (files.length) parts.push(make("p", { class: "plain" }, words.files + ": ", ...files.flatMap((path) => [make("a", { href: path.slice(5).split("/").map(encodeURIComponent).join("/"), download: "" }, path.slice(5).replace(/[0-9a-f]{64}/, (sha) => sha.slice(0, 8) + "…")), " "])));
    const gone = state.head.withheld, there = new Set(state.items.flatMap((item) => (item.frames || []).map((frame) => frame.sha256)));
    for (const [name, one] of Object.entries(gone.documents || {})) parts.push(make("p", { class: "withheld" }, name.slice(0, 16) + "… · ", fill(words.withheldText, told(one))));
    for (const [name, one] of Object.entries(gone.deleted || {})) if (!there.has(name)) parts.push(make("p", { class: "withheld" }, name.slice(0, 16) + "… · ", fill(words.deletedText, told(one))));
    card.replaceChildren(...parts);
  }
  function finding(one, currency) {
    const words = state.words, tone = one.verdict === "proven" ? "ok" : one.verdict === "supported" ? "warn" : "";
    const node = make("div", { class: "finding" }, make("p", {}, make("strong", {}, words.causes[one.cause] || plain(one.cause)), " ", make("span", { class: "badge " + tone }, words.verdict[one.verdict] || String(one.verdict || "")),
      typeof one.amount_minor === "number" ? " " + words.attributed + ": " + money(one.amount_minor, currency) : ""));
    if (one.summary) node.append(make("p", {}, one.summary));
    const who = (one.responsible || []).join(", ");
    node.append(make("p", { class: "plain" }, [one.party && words.party + ": " + (words.party_[one.party] || one.party), who && words.responsible + ": " + who, one.reason && words.reason + ": " + one.reason].filter(Boolean).join(" · ")));
    if ((one.decisive || []).length) node.append(make("strong", {}, words.decisive), make("ul", {}, ...one.decisive.map(evidence)));
    if ((one.counter_evidence || []).length) node.append(make("strong", {}, words.counter), make("ul", {}, ...one.counter_evidence.map((item) => make("li", {}, item.looked_for + " (" + item.where + "): ", make("em", {}, item.found ? words.found : words.notFound), ...(item.evidence || []).map((part) => make("span", {}, " ", part.sentence || "", part.position ? link(part.position) : ""))))));
    return node;
  }
  const evidence = (item) => make("li", {}, item.sentence || "", " ", item.position ? link(item.position) : "", item.line ? " · " + item.line : "");

  /* ---- hashing what is shown ---- */
  async function check() {
    const events = { n: 0, all: 0 }, chain = { n: 0, all: state.items.length }, last = new Map();
    for (const [index, item] of state.items.entries()) {
      let body = item.entry.body_sha256;
      if (item.body !== null) {
        events.all += 1;
        body = await sha256(encoder.encode(item.body));
        if (body === item.entry.body_sha256) events.n += 1;
      }
      const bytes = new Uint8Array(81), view = new DataView(bytes.buffer);
      bytes[0] = 2;
      bytes.set(last.get(item.entry.stream) || new Uint8Array(32), 1);
      bytes.set(unhex(body), 33);
      view.setBigUint64(65, BigInt(item.entry.position));
      view.setBigUint64(73, BigInt(item.entry.recorded_at_us));
      if ((await sha256(bytes)) === item.entry.entry) chain.n += 1;
      last.set(item.entry.stream, unhex(item.entry.entry));
      if (index % 500 === 499) { state.checks = { events, chain, busy: true }; badges(); }
    }
    state.checks = { events, chain };
    badges();
    await checkFrames();
  }
  async function checkFrames() {
    const names = state.head.files.map((path) => PICTURE.exec(path)).filter(Boolean).map((match) => match[1]);
    if (!names.length || !(state.head.embedded || state.files.size)) return;
    const frames = { n: 0, all: names.length };
    for (const name of names) if ((await picture(name)).status === "ok") frames.n += 1;
    state.checks.frames = frames;
    badges();
  }
  function picture(name) {
    if (!state.frames.has(name)) state.frames.set(name, fetchPicture(name));
    return state.frames.get(name);
  }
  async function fetchPicture(name) {
    const path = state.head.files.find((file) => (PICTURE.exec(file) || [])[1] === name);
    if (!path) return { url: "", status: "bad" };
    if (state.head.embedded && !state.files.has(name)) await new Promise((done) => load("page/frames/" + name + ".js", done));
    const blob = state.files.get(name);
    if (!blob) return { url: path.slice(5), status: state.head.embedded ? "bad" : "open" };
    const status = (await sha256(await blob.arrayBuffer())) === name ? "ok" : "bad";
    return { url: URL.createObjectURL(blob), status };
  }
  async function chosen(input) {
    for (const file of input.files) {
      const match = /^([0-9a-f]{64})\.(png|webp)$/.exec(file.name);
      if (match) state.files.set(match[1], new Blob([await file.arrayBuffer()], { type: "image/" + match[2] }));
    }
    state.frames.clear();
    await checkFrames();
    if (state.current >= 0) stage(state.items[state.current]);
  }
  function badges() {
    const words = state.words, nodes = [], { events, chain, frames } = state.checks;
    const add = (template, count) => {
      if (!count) return;
      const bad = count.n < count.all && !state.checks.busy;
      nodes.push(make("span", { class: "badge " + (bad ? "bad" : count.n === count.all ? "ok" : "") }, (bad ? "✗ " : "✓ ") + fill(template, count)));
    };
    add(words.checkEvents, events); add(words.checkChain, chain); add(words.checkFrames, frames);
    if (!events) nodes.push(make("span", { class: "badge" }, words.checking));
    if (state.head && !state.head.embedded) {
      const input = make("input", { type: "file", webkitdirectory: "", hidden: "", onchange: () => chosen(input) });
      nodes.push(make("button", { class: "button", type: "button", onclick: () => input.click() }, words.choose), input);
    }
    $("checks").replaceChildren(...nodes);
  }
})();
