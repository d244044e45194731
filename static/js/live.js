// One event stream per page: a board (board_section.html, player.html), the list of boards
// (home.html), or notices (unread.html).

const GLIDE = { duration: 550, easing: "cubic-bezier(.2,.8,.2,1)" };
const ROWS = "[data-rows] [data-id]";
const calm = matchMedia("(prefers-reduced-motion: reduce)");
/** Ranks when the page was opened. @type {Map<string, number>} */
const opened = new Map();
/** @type {EventSource | undefined} */
let stream;
let lastId = "";
let saying = 0;
let over = false;
const RELOAD_EVERY = 60_000; // at most, for each page
/** @type {Record<string, number>} */
const waiting = {};
/** When htmx was last let ask. @type {Record<string, number>} */
const asked = {};

/** @param {string} selector */
const find = (selector) => /** @type {HTMLElement | null} */ (document.querySelector(selector));
/** @param {string} selector */
const all = (selector) => /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(selector));
/** @param {string} selector @param {string} text */
const put = (selector, text) => all(selector).forEach((one) => { one.textContent = text; });
/** @param {number} number */
const text = (number) => number.toLocaleString(document.documentElement.lang);
const section = () => find("[data-live]");

/** @param {"live" | "over" | "lost" | "away"} state */
function show(state) {
  if (state === "live" && over) state = "over";
  const status = find("[data-status]");
  const word = status?.querySelector("[data-text]");
  if (!status || !word) return;
  status.dataset.status = state;
  word.textContent = status.dataset[`${state}Text`] || "";
}

/** Tell screen readers, at most every 5 s. @param {string} text */
function say(text) {
  clearTimeout(saying);
  saying = setTimeout(put, 5000, "[data-say]", text);
}

/** Let htmx ask again: soon, not all pages at once, and not too often. @param {string} name @param {number} pace */
function soon(name, pace) {
  const wait = Math.max(Math.random() * 200, (asked[name] || 0) + pace - performance.now());
  waiting[name] ||= setTimeout(() => {
    waiting[name] = 0;
    asked[name] = performance.now();
    document.dispatchEvent(new CustomEvent(name));
  }, wait);
}

/** Load the page again, not all viewers at once; never in a loop, whatever the stream sends. */
function reload() {
  const page = `reloaded ${location.pathname}${location.search}`;
  const left = Number(sessionStorage.getItem(page)) + RELOAD_EVERY - Date.now();
  const wait = Math.max(Math.random() * 3000, Math.min(left, RELOAD_EVERY));
  waiting.reload ||= setTimeout(() => {
    sessionStorage.setItem(page, String(Date.now()));
    location.reload();
  }, wait);
}

/** @param {HTMLElement} row @param {number} rank */
function place(row, rank) {
  const id = row.dataset.id || "";
  if (!opened.has(id)) opened.set(id, rank);
  row.dataset.rank = String(rank);
  const moved = (opened.get(id) || rank) - rank;
  const number = row.querySelector("[data-place]");
  const cell = row.querySelector("[data-move]");
  if (!number || !cell) return;
  number.textContent = text(rank);
  cell.className = `move ${moved > 0 ? "move-up" : moved < 0 ? "move-down" : ""}`;
  cell.textContent = moved ? `${moved > 0 ? "▲" : "▼"} ${text(Math.abs(moved))}` : "";
}

/** @typedef {{order: [string, number][], rows: Record<string, string>, size: string, at: string, state: string}} Update */

/** @param {Update} update */
function apply(update) {
  const table = find("tbody[data-rows]");
  if (!table) return;
  /** @type {Map<string, HTMLElement>} */
  const rows = new Map();
  /** @type {Map<HTMLElement, number>} */
  const before = new Map();
  for (const row of all(ROWS)) {
    rows.set(row.dataset.id || "", row);
    before.set(row, row.getBoundingClientRect().top);
  }
  const leader = find(ROWS)?.dataset.id;
  const focused = table.contains(document.activeElement) && document.activeElement?.closest("tr");
  for (const [id, html] of Object.entries(update.rows)) {
    const template = document.createElement("template");
    template.innerHTML = html;
    const row = /** @type {HTMLElement} */ (template.content.firstElementChild);
    const old = rows.get(id);
    const scores = [old, row].map((one) => one?.querySelector(".score")?.textContent);
    row.classList.toggle("mine", id === section()?.dataset.me);
    row.classList.toggle("flash", scores[0] !== scores[1]);
    row.addEventListener("animationend", () => row.classList.remove("flash"), { once: true });
    if (old) {
      before.set(row, before.get(old) || 0);
      old.replaceWith(row);
    }
    rows.set(id, row);
    place(row, Number(row.dataset.rank));
  }
  let next = table.firstElementChild;
  const kept = new Set();
  for (const [id, rank] of update.order) {
    const row = rows.get(id);
    if (!row) continue;
    kept.add(row);
    place(row, rank);
    if (row === next) next = next.nextElementSibling;
    else table.insertBefore(row, next);
  }
  for (const row of [...table.children]) if (!kept.has(row)) row.remove();
  const first = find(ROWS);
  if (leader && first && first.dataset.id !== leader) {
    say((section()?.dataset.leads || "").replace("%s", first.dataset.name || ""));
  }
  all("[data-some]").forEach((one) => { one.hidden = !first; });
  all("[data-none]").forEach((one) => { one.hidden = !!first; });
  // A redrawn row has lost the focus.
  if (focused) rows.get(focused.dataset.id || "")?.querySelector("a")?.focus({ preventScroll: true });
  put("[data-size]", update.size);
  if (calm.matches) return;
  for (const row of rows.values()) {
    if (!row.isConnected) continue;
    const from = before.get(row);
    const shift = from === undefined ? 0 : from - row.getBoundingClientRect().top;
    if (from === undefined) row.animate([{ opacity: 0 }, { opacity: 1 }], GLIDE);
    else if (shift) {
      const zIndex = shift > 0 ? 2 : 1; // who rises passes above
      row.animate([{ transform: `translateY(${shift}px)`, zIndex }, { transform: "none", zIndex }], GLIDE);
    }
  }
}

const refresh = () => soon("board:changed", Number(section()?.dataset.pace) || 500);

/** @type {Record<string, (data: any) => void>} */
const on = {
  rows(/** @type {Update} */ data) {
    over = data.state === "closed";
    if (over) show("over");
    for (const time of all("time[data-updated]")) time.setAttribute("datetime", data.at);
    if (section()?.dataset.mode === "rows") apply(data);
    else refresh();
    soon("scores:changed", 2000);
  },
  boards() { refresh(); },
  presence({ watching }) { put("[data-watching]", text(watching)); },
  me({ text }) {
    say(text);
    soon("me:changed", 1000);
  },
  notice({ unread }) { put("[data-notices]", unread || ""); },
  redis({ away }) { show(away ? "away" : "live"); },
  season(data) {
    on.rows(data);
    reload();
  },
};
on.snapshot = on.rows;

function connect() {
  const live = section();
  if (!live) return;
  over = live.dataset.state === "closed";
  const url = new URL(live.dataset.live || "", location.href);
  url.searchParams.set("since", lastId || live.dataset.seq || "");
  const source = stream = new EventSource(url);
  source.onopen = () => show("live");
  source.onerror = () => {
    show("lost");
    // The browser tries again, unless refused.
    if (source !== stream || source.readyState !== EventSource.CLOSED) return;
    setTimeout(connect, 1000 + 9000 * Math.random());
  };
  for (const [name, act] of Object.entries(on)) {
    source.addEventListener(name, (message) => {
      lastId = message.lastEventId || lastId;
      act(JSON.parse(message.data));
    });
  }
}

function remember() {
  for (const row of all(ROWS)) place(row, Number(row.dataset.rank));
}

// Another view may have another stream.
let address = section()?.dataset.live;
let view = section()?.dataset.view;
document.addEventListener("htmx:afterSettle", () => {
  const now = section()?.dataset.live;
  // A team is ranked among itself: that nobody moved.
  if (section()?.dataset.view !== view) {
    view = section()?.dataset.view;
    opened.clear();
  }
  if (now !== address) {
    address = now;
    stream?.close();
    lastId = "";
    opened.clear();
    connect();
  }
  remember();
});
addEventListener("pagehide", () => stream?.close());
addEventListener("pageshow", (event) => { if (event.persisted) connect(); });
remember();
connect();
