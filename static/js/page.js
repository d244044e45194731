// @ts-check
// Every page: the colour switch without a reload, and times in the reader's zone and language.

/** The view `theme` sets the same cookie for browsers without script. */
const YEAR = 365 * 24 * 3600;
const language = document.documentElement.lang || undefined;

document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (!form.matches("[data-theme-switch]")) return;
  const pressed = /** @type {HTMLButtonElement | null} */ (event.submitter);
  if (!pressed) return;
  event.preventDefault();
  const theme = pressed.value;
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
  const age = theme === "system" ? 0 : YEAR;
  document.cookie = `theme=${theme}; path=/; max-age=${age}; samesite=lax`;
  for (const button of form.querySelectorAll("button")) {
    button.setAttribute("aria-pressed", String(button === pressed));
  }
});

const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
const short = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** <time datetime> shows the local time; with data-relative the distance from now, kept fresh. */
export function showTimes() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const time = /** @type {HTMLTimeElement} */ (element);
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    time.title = exact.format(at);
    let text = short.format(at);
    if ("relative" in time.dataset) {
      const seconds = Math.round((at.getTime() - Date.now()) / 1000);
      const size = Math.abs(seconds);
      const [unit, length] = UNITS.find(([, step]) => size >= step) || ["second", 1];
      text = relative.format(Math.trunc(seconds / length), unit);
    }
    if (time.textContent !== text) time.textContent = text;
  }
}
showTimes();
setInterval(showTimes, 1000);
document.addEventListener("htmx:afterSwap", showTimes);
