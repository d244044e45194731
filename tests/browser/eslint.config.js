// The browser's names that our scripts use; anything else is a mistake.
const js = require("@eslint/js");

const names = ["document", "window", "location", "navigator", "performance", "matchMedia",
  "addEventListener", "setTimeout", "clearTimeout", "setInterval", "EventSource", "URL",
  "URLSearchParams", "CustomEvent", "HTMLElement", "HTMLImageElement",
  "BroadcastChannel", "sessionStorage"];

module.exports = [
  js.configs.recommended,
  {
    languageOptions: {
      sourceType: "module",
      globals: Object.fromEntries(names.map((name) => [name, "readonly"])),
    },
    rules: {
      "eqeqeq": "error",
      "no-eval": "error",
      "no-implied-eval": "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
