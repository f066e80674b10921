// SPDX-License-Identifier: GPL-2.0-or-later
// Rules for the scripts of pages; tools/lint js says where the packages are.
import { createRequire } from "node:module";

const require = createRequire(`${process.env.PAGE_LINT}/package.json`);
const js = require("@eslint/js"), globals = require("globals");

const common = {
  "max-lines": ["error", 500], "max-len": ["error", { code: 120, ignoreRegExpLiterals: true }], "max-lines-per-function": ["error", 60], "no-var": "error", "prefer-const": "error",
  eqeqeq: "error", "no-eval": "error", "no-implied-eval": "error", "no-new-func": "error", "no-shadow": "error",
  "no-restricted-properties": ["error", { property: "innerHTML", message: "use textContent" }, { property: "outerHTML", message: "use textContent" },
    { object: "URL", property: "createObjectURL", message: "use common.js" }],
  "no-restricted-globals": ["error", { name: "localStorage", message: "use common.js" }],
};

const COMMON = Object.fromEntries(["isDark", "saveFigure", "saveFile", "turnTheme"].map((one) => [one, "readonly"]));

export default [
  { files: ["scope/page/*.js"], languageOptions: { sourceType: "module", globals: { ...globals.browser, ...COMMON, uPlot: "readonly" } },
    rules: { ...js.configs.recommended.rules, ...common } },
  // What a script defines at its top is there for those that come after it.
  { files: ["report/isolator_report/assets/*.js"], languageOptions: { sourceType: "script", globals: globals.browser },
    rules: { ...js.configs.recommended.rules, ...common, "no-unused-vars": ["error", { vars: "local" }] } },
  { files: ["report/isolator_report/assets/common.js"], rules: { "no-restricted-globals": "off", "no-restricted-properties": "off" } },
  { files: ["report/isolator_report/assets/page.js"], languageOptions: { globals: COMMON } },
  // They come after page.js, in the same page.
  { files: ["lab/isolab/matrix/*.js"], languageOptions: { sourceType: "script", globals: { ...globals.browser, get: "readonly" } },
    rules: { ...js.configs.recommended.rules, ...common } },
];
