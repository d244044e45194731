// A page without a live stream says every 20 s that it is open, and at its end that it is not.
if (!document.querySelector("[data-live]")) {
  const tabs = new BroadcastChannel("presence");
  const here = () => navigator.sendBeacon("/presence/");
  here();
  setInterval(here, 20_000);
  // Another tab was closed, this one is still here.
  tabs.onmessage = () => setTimeout(here, 1000);
  addEventListener("pagehide", () => {
    navigator.sendBeacon("/presence/", new URLSearchParams({ leaving: "1" }));
    tabs.postMessage("");
  });
}
