// The vendor's own page script: clock, dialogs, posts, auto-refresh, and what arrives with the polling.
"use strict";
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
  const pad = (n) => String(n).padStart(2, "0");

  const tick = () => {
    const d = new Date(Date.now() + 8 * 3600e3);
    $("#clock").textContent =
      `${d.getUTCFullYear()}-${pad(d.getUTCMonth() + 1)}-${pad(d.getUTCDate())} ` +
      `${pad(d.getUTCHours())}:${pad(d.getUTCMinutes())}:${pad(d.getUTCSeconds())}`;
  };
  tick();
  setInterval(tick, 1000);

  const configElement = $("#page-config");
  if (!configElement) return;
  const config = JSON.parse(configElement.textContent);
  const texts = config.texts;
  const say = (key, values = {}) => texts[key].replace(/\{(\w+)\}/g, (_, name) => values[name] ?? "");
  // Two designs, two vocabularies of markup; the script knows both.
  const ui = config.new_design
    ? { bill: ".nx-item", form: ".nx-f", button: ".nx-b", act: (b) => ({ k0: "detail", k1: "process", k2: "refund", k3: "undo" })[b.value],
        text: { bill_id: ".nx-id", counterparty: ".nx-c", counterparty_id: ".nx-i", amount: ".nx-a", currency: ".nx-u", month: ".nx-m" } }
    : { bill: ".bill", form: ".bill-form", button: "button[data-action]", act: (b) => b.dataset.action,
        text: { bill_id: ".f-bill", counterparty: ".f-counterparty", counterparty_id: ".f-counterparty_id", amount: ".f-amount", currency: ".f-currency", month: ".f-month" } };

  const field = (form, name) => form.elements.namedItem(name);
  const formOf = (bill) => $$(ui.form).find((form) => field(form, "bill_id").value === bill);
  const shown = (box, name) => $(ui.text[name], box)?.textContent.trim() ?? "";
  const pointer = { x: -1, y: -1 };
  document.addEventListener("mousemove", (event) => { pointer.x = event.clientX; pointer.y = event.clientY; });

  // -- dialogs and messages ------------------------------------------------------------------------------
  let toastTimer = 0;
  const toast = (kind, text) => {
    const box = $("#toast");
    box.className = `toast ${kind}`;
    box.textContent = text;
    clearTimeout(toastTimer);
    toastTimer = setTimeout(() => { box.className = "toast"; box.textContent = ""; }, 4000);
  };

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  };

  let dialogs = 0;
  const dialog = (role, title, body, buttons) => {
    const id = `dialog-title-${dialogs += 1}`;
    const box = element("div", { class: "dialog", role, "aria-modal": "true", "aria-labelledby": id },
      element("h2", { id }, title), element("div", { class: "dialog-body" }, ...body));
    const overlay = element("div", { class: "overlay" }, box);
    const row = element("div", { class: "dialog-buttons" });
    for (const [label, kind, run] of buttons) {
      const button = element("button", { type: "button", class: kind }, label);
      button.addEventListener("click", () => run(() => overlay.remove(), button));
      row.append(button);
    }
    box.append(row);
    $("#layer").append(overlay);
    return { overlay, box };
  };

  const askRights = () => {
    if ($("[role=alertdialog]")) return;
    dialog("alertdialog", texts.permission_title, [texts.permission_text],
      [[texts.relogin, "primary", () => location.assign("/login")]]);
  };
  const toLogin = () => location.assign(`/login?expired=1&next=${encodeURIComponent(location.pathname)}`);

  // -- actions -------------------------------------------------------------------------------------------
  const post = async (form, action, label) => {
    const body = new URLSearchParams();
    for (const name of ["bill_id", "counterparty_id", "amount", "currency", "month", "csrf"]) body.set(name, field(form, name).value);
    body.set("action", action);
    const bill = body.get("bill_id");
    let response;
    try {
      const sent = Array.from({ length: config.repeats ?? 1 }, () => fetch(form.getAttribute("action"), { method: "POST", body }));
      response = (await Promise.all(sent))[0];
    } catch {
      toast("err", say("failed", { reason: texts.reason_gateway }));
      return;
    }
    if (response.status === 401) { toLogin(); return; }
    const answer = await response.json();
    if (answer.error === "permission_changed") { askRights(); return; }
    if (!answer.ok) { toast("err", say("failed", { reason: texts[`reason_${answer.error}`] ?? answer.error })); return; }
    toast("ok", say("done", { bill, action: label }));
    await refresh();
    if (config.page === "detail" && answer.status) showStatus(answer.status);
  };

  // The vendor believes its own answer more than its database: the page shows what the post returned.
  const showStatus = (status) => {
    const tag = $(".bill [data-field=status] .tag");
    const known = $(".bill")?.dataset.status;
    if (!tag || known === status) return;
    $(".bill").dataset.status = status;
    tag.className = `tag tag-${status}`;
    tag.textContent = texts[`status_${status}`];
  };

  const confirmAction = (form, button, action) => {
    const box = form.closest(ui.bill);
    const label = button.textContent.trim();
    const bill = shown(box, "bill_id").replace("#", "");
    const list = element("dl");
    const line = (name, value) => list.append(element("dt", {}, name), element("dd", {}, value));
    line(texts.counterparty, shown(box, "counterparty"));
    line(texts.amount, `${shown(box, "currency")} ${shown(box, "amount")}`);
    line(texts.month, shown(box, "month"));
    const { box: made } = dialog("dialog", texts.confirm_title,
      [element("p", {}, say("confirm_text", { bill, action: label })), list],
      [[texts.confirm, "primary", async (close, pressed) => { pressed.disabled = true; close(); await post(form, action, label); }],
       [texts.cancel, "", (close) => close()]]);
    $("button", made).focus();
  };

  document.addEventListener("click", (event) => {
    const button = event.target.closest(ui.button);
    const form = button?.closest(ui.form);
    if (!form) return;
    const action = ui.act(button);
    if (action === "detail") location.assign(`/bills/${encodeURIComponent(field(form, "bill_id").value)}`);
    else confirmAction(form, button, action);
  });

  // -- labels without a document: ?drawn=image puts a picture on each button, ?drawn=canvas one surface over all -----
  const drawn = new URLSearchParams(location.search).get("drawn");
  const surface = (width, height) => {
    const canvas = element("canvas", { width, height });
    const pen = canvas.getContext("2d");
    pen.font = "13px 'Noto Sans CJK SC', 'WenQuanYi Zen Hei', sans-serif";
    pen.textBaseline = "middle";
    pen.textAlign = "center";
    return [canvas, pen];
  };
  const drawInside = (button) => {
    const text = button.textContent.trim(), width = Math.max(48, Math.ceil(button.getBoundingClientRect().width));
    const [canvas, pen] = surface(width, 22);
    pen.fillStyle = "#20304a";
    pen.fillText(text, width / 2, 11);
    button.replaceChildren(canvas);
  };
  const drawOver = (box) => {
    const buttons = $$("button", box), widths = buttons.map((b) => Math.ceil(b.getBoundingClientRect().width) + 16);
    const [canvas, pen] = surface(widths.reduce((sum, width) => sum + width + 8, 0), 26);
    canvas.className = "drawn";
    let x = 0;
    const parts = buttons.map((button, i) => {
      const from = x, label = button.textContent.trim();
      pen.fillStyle = button.disabled ? "#f2f4f7" : "#eaf0f7";
      pen.fillRect(from, 0, widths[i], 26);
      pen.strokeStyle = "#8396b0";
      pen.strokeRect(from + 0.5, 0.5, widths[i] - 1, 25);
      pen.fillStyle = button.disabled ? "#a9b4c2" : "#20304a";
      pen.fillText(label, from + widths[i] / 2, 13);
      button.hidden = true;
      button.style.display = "none";
      x += widths[i] + 8;
      return [from, from + widths[i], button];
    });
    canvas.addEventListener("click", (event) => {
      event.stopPropagation();
      const hit = parts.find(([from, to]) => event.offsetX >= from && event.offsetX < to);
      if (hit) hit[2].click();
    });
    box.append(canvas);
  };
  const redrawLabels = () => {
    for (const box of $$(`${ui.form}, .dialog-buttons`)) {
      if ($("canvas", box)) continue;
      if (drawn === "canvas" && $("button", box)) drawOver(box);
      else if (drawn === "image") $$("button", box).forEach(drawInside);
    }
  };
  if (drawn === "image" || drawn === "canvas") {
    redrawLabels();
    new MutationObserver(redrawLabels).observe(document.body, { childList: true, subtree: true });
  }

  // -- refresh -------------------------------------------------------------------------------------------
  const load = async (url, into) => {
    const response = await fetch(url);
    if (!response.ok) return;
    const text = await response.text();
    if (into.dataset.drawn === text) return;
    into.innerHTML = text;
    into.dataset.drawn = text;
  };
  const refresh = () => config.page === "list"
    ? load(`/bills/rows${location.search}`, $("#rows"))
    : load(`/bills/${encodeURIComponent(config.bill)}/fragment`, $("#card"));

  const poll = async () => {
    try {
      const here = config.bill ?? (field($(ui.form) ?? document.createElement("form"), "bill_id")?.value ?? "");
      const response = await fetch(`/bills/changes?cursor=${config.cursor}&page=${config.page}&bill=${encodeURIComponent(here)}`);
      if (response.status === 403) { askRights(); return; }
      // The page of an expired session stays as it is until somebody uses it: that is how it looks alive.
      if (response.ok) {
        const news = await response.json();
        config.cursor = news.cursor;
        news.effects.forEach(schedule);
        if (news.version !== config.version) {
          config.version = news.version;
          if (config.page === "list" && !config.held) await refresh();
        }
      }
    } catch { /* the network comes back or it does not */ }
    setTimeout(poll, config.poll_ms);
  };

  // -- what happens to a page after it was loaded --------------------------------------------------------
  const rowKey = (row) => Number((shown(row, "amount") || "0").replaceAll(",", ""));
  const effects = {
    set({ bill, fields, texts: words }) {
      const form = formOf(bill);
      if (!form) return;
      for (const [name, value] of Object.entries(fields)) field(form, name).value = value;
      const box = form.closest(ui.bill);
      for (const [name, value] of Object.entries(words)) { const cell = $(ui.text[name], box); if (cell) cell.textContent = value; }
    },
    endpoint({ bill, action }) { formOf(bill)?.setAttribute("action", action); },
    // The list holds still until the pointer is over it; what it shows then was fetched before.
    async push() {
      config.held = true;
      const response = await fetch(`/bills/rows${location.search}`);
      const text = await response.text();
      $("#rows").addEventListener("mousemove", () => {
        $("#rows").innerHTML = text;
        $("#rows").dataset.drawn = text;
        config.held = false;
      }, { once: true });
    },
    async advance({ to }) { config.bill = to; await refresh(); },
    resort() {
      const rows = $$(ui.bill);
      rows.sort((a, b) => rowKey(b) - rowKey(a)).forEach((row) => row.parentNode.append(row));
    },
    swap({ bill }) {
      const form = formOf(bill);
      if (!form) return;
      const [a, b] = ["process", "refund"].map((act) => $$(ui.button, form).find((button) => ui.act(button) === act));
      if (!a || !b) return;
      const mark = document.createComment("");
      a.replaceWith(mark);
      b.replaceWith(a);
      mark.replaceWith(b);
    },
    disable({ bill }) { $$(ui.button, formOf(bill) ?? document.createElement("form")).forEach((button) => { button.disabled = true; }); },
    popup({ bill }) {
      const { overlay, box } = dialog("dialog", texts.notice_title, [texts.notice_text],
        [[texts.agree, "primary", async (close) => {
          const csrf = field($(ui.form), "csrf").value;
          close();
          await fetch("/notices/rate-2027/accept", { method: "POST", body: new URLSearchParams({ csrf }) });
        }], [texts.later, "", (close) => close()]]);
      const form = formOf(bill);
      const goal = form && $$(ui.button, form).find((button) => ui.act(button) === "process");
      const spot = goal?.getBoundingClientRect();
      const x = pointer.x >= 0 ? pointer.x : (spot ? spot.x + spot.width / 2 : 640);
      const y = pointer.y >= 0 ? pointer.y : (spot ? spot.y + spot.height / 2 : 400);
      const agree = $("button", box).getBoundingClientRect();
      const frame = box.getBoundingClientRect();
      overlay.style.background = "transparent";
      overlay.style.pointerEvents = "none";
      box.style.pointerEvents = "auto";
      box.classList.add("floating");
      box.style.left = `${x - (agree.x + agree.width / 2 - frame.x)}px`;
      box.style.top = `${y - (agree.y + agree.height / 2 - frame.y)}px`;
    },
    banner() { $("#banner-slot").replaceChildren(element("div", { class: "late-banner" }, texts.banner_text)); },
    cover({ bill }) {
      const goal = formOf(bill);
      const spot = ($(".actions", goal ?? document) ?? goal)?.getBoundingClientRect();
      if (!spot) return;
      const box = element("div", { class: "cover", role: "status" }, texts.toast_notice);
      Object.assign(box.style, { left: `${spot.x + scrollX}px`, top: `${spot.y + scrollY}px`, width: `${spot.width}px`, height: `${spot.height}px` });
      box.addEventListener("click", () => box.remove());
      $("#layer").append(box);
    },
    spinner() { $("#spin").className = "spinner"; },
    ad() {
      const box = element("div", { class: "ad a" }, texts.ad_text);
      $("#ad-slot")?.replaceChildren(box);
      setInterval(() => { box.className = box.classList.contains("a") ? "ad b" : "ad a"; }, 700);
    },
    dark() { document.body.classList.add("dark"); },
    focus() { $("#filter input")?.focus(); },
    font() { document.body.classList.add("webfont"); },
    hover({ bill }) { formOf(bill)?.closest(ui.bill)?.classList.add("hot"); },
    redraw() {
      const into = $("#rows") ?? $("#card");
      into.innerHTML = into.innerHTML;
    },
    ago({ bill }) {
      const cell = $("[data-field=updated_at], .f-updated_at", formOf(bill)?.closest(ui.bill) ?? document.createElement("p"));
      let n = 3;
      const show = () => { if (cell) cell.textContent = say("ago", { n: n += 1 }); };
      show();
      setInterval(show, 350);
    },
    badge() {
      const box = element("span", { class: "badge" }, "1");
      $(".side a.on")?.append(box);
      setInterval(() => { box.textContent = String(Number(box.textContent) + 1); }, 400);
    },
    turn({ to }) { location.assign(`/bills/${encodeURIComponent(to)}`); },
    twice() { config.repeats = 2; },
    // Nothing to see: a sheet of glass over the whole page that takes the next press for a consent.
    glass() {
      const sheet = element("div", { class: "glass" });
      sheet.addEventListener("click", async () => {
        sheet.remove();
        await fetch("/notices/rate-2027/accept", { method: "POST", body: new URLSearchParams({ csrf: field($(ui.form), "csrf").value }) });
      });
      $("#layer").append(sheet);
    },
  };
  const moments = { pointer: "mousemove", press: "pointerdown" };
  const strike = (effect) => {
    const run = () => effects[effect.op](effect);
    if (effect.trigger) document.addEventListener(moments[effect.trigger], run, { once: true, capture: true });
    else run();
  };
  const schedule = (effect) => setTimeout(() => strike(effect), effect.delay_ms);

  if ($("#rows")) $("#rows").dataset.drawn = "";
  config.effects.forEach(schedule);
  setTimeout(poll, config.poll_ms);
})();
