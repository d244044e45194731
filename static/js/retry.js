// The page of a rate limit: counts down, then says that the way is free.

const timer = /** @type {HTMLElement | null} */ (document.querySelector("[data-retry-after]"));
const link = document.querySelector("[data-retry-link]");

if (timer) {
  const ready = performance.now() + Number(timer.dataset.retryAfter) * 1000;

  const show = () => {
    const seconds = Math.max(0, Math.ceil((ready - performance.now()) / 1000));
    if (seconds === 0) {
      timer.textContent = timer.dataset.ready ?? "";
      link?.removeAttribute("aria-disabled");
      return;
    }
    const minutes = Math.floor(seconds / 60);
    timer.textContent = `${minutes}:${String(seconds % 60).padStart(2, "0")}`;
    setTimeout(show, 250);
  };

  link?.setAttribute("aria-disabled", "true");
  show();
}
