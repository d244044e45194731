// The page of a rate limit: counts down, then says that the way is free.

const timer = /** @type {HTMLElement | null} */ (document.querySelector("[data-retry-after]"));
const link = document.querySelector("[data-retry-link]");

if (timer) {
  const ready = performance.now() + Number(timer.dataset.retryAfter) * 1000;

  const show = () => {
    const seconds = Math.ceil((ready - performance.now()) / 1000);
    const wait = seconds > 0;
    link?.setAttribute("aria-disabled", String(wait));
    timer.textContent = wait ? `${Math.floor(seconds / 60)}:${`0${seconds % 60}`.slice(-2)}` : timer.dataset.ready || "";
    if (wait) setTimeout(show, 250);
  };
  show();
}
