// @ts-check
// A board that moves: one event stream per page. Rows glide to their new places and flash.
//
// <section data-live="/live/…" data-seq="n" data-mode="rows|refresh"> holds <tbody data-rows> whose
// rows carry data-id and data-rank. In mode "refresh" (a later page, a search) the section is asked
// for again through htmx when something changed, because its rows are not part of the stream.

/** @typedef {{order?: [string, number][], rows?: Record<string, string>, size?: string, at?: string}} Update */

const GLIDE = { duration: 550, easing: "cubic-bezier(.2,.8,.2,1)" };
const calm = matchMedia("(prefers-reduced-motion: reduce)");
/** Ranks when the page was opened, for the movement column. @type {Map<string, number>} */
const opened = new Map();
/** @type {EventSource | undefined} */
let stream;
let retry = 0;
let lastId = "";

/** @param {string} selector */
const find = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector));
const section = () => find("[data-live]");
const body = () => /** @type {HTMLTableSectionElement | null} */ (find("tbody[data-rows]"));

/** @param {"live" | "lost" | "away"} state */
function show(state) {
  const status = find("[data-status]");
  if (!status || status.dataset.status === state) return;
  status.dataset.status = state;
  const text = status.querySelector("[data-text]");
  if (text) text.textContent = status.dataset[`${state}Text`] || "";
}

/** Say one thing to screen readers, at most every five seconds: the last one wins. */
let saying = 0;
/** @param {string} text */
function say(text) {
  const region = find("[data-say]");
  clearTimeout(saying);
  if (region) saying = setTimeout(() => { region.textContent = text; }, 5000);
}

/** @param {HTMLElement} row @param {number} rank */
function place(row, rank) {
  const id = row.dataset.id || "";
  if (!opened.has(id)) opened.set(id, rank);
  row.dataset.rank = String(rank);
  const number = row.querySelector("[data-place]");
  if (number && number.textContent !== String(rank)) number.textContent = String(rank);
  const cell = row.querySelector("[data-move]");
  const moved = (opened.get(id) || rank) - rank;
  if (!cell) return;
  cell.className = `move ${moved > 0 ? "move-up" : moved < 0 ? "move-down" : ""}`;
  cell.textContent = moved ? `${moved > 0 ? "▲" : "▼"} ${Math.abs(moved)}` : "";
}

/** @param {string} html @returns {HTMLElement} */
function parse(html) {
  const template = document.createElement("template");
  template.innerHTML = html;
  return /** @type {HTMLElement} */ (template.content.firstElementChild);
}

/** @param {Update} update */
function apply(update) {
  const table = body();
  if (!table) return;
  /** @type {Map<string, HTMLElement>} */
  const rows = new Map();
  /** @type {Map<string, number>} */
  const before = new Map();
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (table.querySelectorAll("[data-id]"))) {
    rows.set(row.dataset.id || "", row);
    before.set(row.dataset.id || "", row.getBoundingClientRect().top);
  }
  const leader = table.querySelector("[data-id]")?.getAttribute("data-id");
  const me = section()?.dataset.me;
  const focused = table.contains(document.activeElement) && document.activeElement?.closest("[data-id]");
  const fresh = new Set();
  for (const [id, html] of Object.entries(update.rows || {})) {
    const row = parse(html);
    const old = rows.get(id);
    row.classList.toggle("mine", id === me);
    old?.replaceWith(row);
    rows.set(id, row);
    place(row, Number(row.dataset.rank));
    fresh.add(id);
  }
  if (update.order) {
    const kept = new Set();
    let next = table.firstElementChild;
    for (const [id, rank] of update.order) {
      const row = rows.get(id);
      if (!row) continue;
      kept.add(row);
      place(row, rank);
      if (row === next) next = next.nextElementSibling;
      else table.insertBefore(row, next);
    }
    for (const row of [...table.children]) if (!kept.has(row)) row.remove();
    const first = update.order[0]?.[0];
    if (leader && first && first !== leader) {
      const name = rows.get(first)?.dataset.name || first;
      say((section()?.dataset.leads || "").replace("%s", name));
    }
  }
  // A row that was drawn anew or moved in the document has lost the focus.
  if (focused) rows.get(focused.getAttribute("data-id") || "")?.querySelector("a")?.focus({ preventScroll: true });
  if (update.size) for (const size of document.querySelectorAll("[data-size]")) size.textContent = update.size;
  if (update.at) for (const time of document.querySelectorAll("time[data-updated]")) time.setAttribute("datetime", update.at);
  for (const [id, row] of rows) {
    if (!row.isConnected) continue;
    if (fresh.has(id) && before.size) {
      row.classList.add("flash");
      row.addEventListener("animationend", () => row.classList.remove("flash"), { once: true });
    }
    if (calm.matches) continue;
    const from = before.get(id);
    const shift = from === undefined ? 0 : from - row.getBoundingClientRect().top;
    if (from === undefined) row.animate([{ opacity: 0 }, { opacity: 1 }], GLIDE);
    else if (shift) row.animate([{ transform: `translateY(${shift}px)` }, { transform: "none" }], GLIDE);
  }
}

/** @param {MessageEvent} message */
function update(message) {
  lastId = message.lastEventId || lastId;
  const data = /** @type {Update} */ (JSON.parse(message.data));
  if (section()?.dataset.mode === "rows") apply(data);
  else document.dispatchEvent(new CustomEvent("board:changed"));
}

/** @param {MessageEvent} message */
function presence(message) {
  const { watching, online } = JSON.parse(message.data);
  for (const count of document.querySelectorAll("[data-watching]")) count.textContent = watching;
  if (!online) return;
  for (const dot of document.querySelectorAll("[data-rows] [data-online]")) {
    dot.classList.toggle("dot-on", online.includes(dot.closest("[data-id]")?.getAttribute("data-id")));
  }
}

/** @param {MessageEvent} message */
function mine(message) {
  const { text } = JSON.parse(message.data);
  say(text);
  document.dispatchEvent(new CustomEvent("me:changed"));
}

function connect() {
  const live = section();
  if (!live) return;
  const url = new URL(live.dataset.live || "", location.href);
  url.searchParams.set("since", lastId || live.dataset.seq || "");
  stream = new EventSource(url);
  stream.onopen = () => { retry = 0; show("live"); };
  stream.onerror = () => {
    show("lost");
    // The browser tries again by itself, unless the server answered with an error.
    if (stream?.readyState !== EventSource.CLOSED) return;
    retry = Math.min(retry + 1, 5);
    setTimeout(connect, 1000 * 2 ** retry * (0.5 + Math.random() / 2));
  };
  stream.addEventListener("rows", update);
  stream.addEventListener("snapshot", update);
  stream.addEventListener("presence", presence);
  stream.addEventListener("me", mine);
  stream.addEventListener("redis", (message) => show(JSON.parse(message.data).away ? "away" : "live"));
  // All viewers hear of a new season at once; they need not all ask for it at once.
  stream.addEventListener("season", () => setTimeout(() => location.reload(), Math.random() * 3000));
}

function remember() {
  for (const row of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-rows] [data-id]"))) {
    place(row, Number(row.dataset.rank));
  }
}

/** After htmx drew another view of the board, its stream may be another one. */
let address = section()?.dataset.live;
document.addEventListener("htmx:afterSettle", () => {
  const now = section()?.dataset.live;
  remember();
  if (now === address) return;
  address = now;
  stream?.close();
  lastId = "";
  opened.clear();
  remember();
  connect();
});
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
remember();
connect();
