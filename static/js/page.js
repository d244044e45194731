// Every page: times in the reader's zone and language; countries by name; initials where a picture fails.

const language = document.documentElement.lang;

const exact = new Intl.DateTimeFormat(language, { dateStyle: "full", timeStyle: "long" });
const short = new Intl.DateTimeFormat(language, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(language, { numeric: "auto" });
const countries = new Intl.DisplayNames(language, { type: "region" });
/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

/** <time datetime> shows the local time; with data-relative the distance from now. */
function showTimes() {
  for (const element of document.querySelectorAll("time[datetime]")) {
    const time = /** @type {HTMLTimeElement} */ (element);
    const at = new Date(time.dateTime);
    if (isNaN(+at)) continue;
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
  for (const country of document.querySelectorAll("abbr[data-country]:not([title])")) {
    country.setAttribute("title", countries.of(country.textContent || "") || "");
  }
}

/** Under a picture are the initials. @param {EventTarget | null} image */
function removeBroken(image) {
  if (image instanceof HTMLImageElement && image.complete && !image.naturalWidth) image.remove();
}
// The event does not bubble. Pictures that failed before this script ran are looked at once.
addEventListener("error", (event) => removeBroken(event.target), true);
[...document.images].forEach(removeBroken);
showTimes();
setInterval(showTimes, 1000);

// htmx changed the address: signing in leads back to the new one.
document.addEventListener("htmx:pushedIntoHistory", () => {
  const query = new URLSearchParams({ next: location.pathname + location.search });
  for (const link of document.querySelectorAll('a[href*="?next="]')) {
    /** @type {HTMLAnchorElement} */ (link).search = String(query);
  }
});
