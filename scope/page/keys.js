// SPDX-License-Identifier: GPL-2.0-or-later
// What can be done: each by its key, all by a few letters of their words.  In fields that take text
// keys are text.
import { element, get } from "./format.js";

/** @typedef {{words: string, name: string, act: () => void, able: () => boolean}} Command */

/** @type {Map<string, () => void>} */
const keys = new Map();
/** @type {Command[]} */
const commands = [];

/** @param {string} pressed @param {string} words @param {() => void} act @param {string} [name] */
export function key(pressed, words, act, name = pressed) {
  keys.set(pressed, act);
  commands.push({ words, name, act, able: () => true });
}

/** What has no key, as long as its button is there. @param {string} words @param {string} id */
export function button(words, id) {
  const one = get(id);
  commands.push({ words, name: "", act: () => one.click(), able: () => !one.closest("[hidden]") && !one.disabled });
}

const typing = (/** @type {Element} */ one) => one.matches("select, textarea, [contenteditable]") ||
  (one.matches("input") && !one.matches("[type=checkbox], [type=radio], [type=button]"));

export function bind() {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (document.querySelector("dialog[open]")) return;
    if ((event.ctrlKey || event.metaKey) && event.key === "k") { event.preventDefault(); open(); return; }
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Escape" && typing(target)) { /** @type {HTMLElement} */ (target).blur(); return; }
    if (typing(target)) return;
    // What they press, buttons and boxes take for themselves.
    if ((event.key === " " || event.key === "Enter") && target.matches("button, input, summary, a")) return;
    if (target.matches("[role=tab]") && event.key.startsWith("Arrow")) return;
    const act = keys.get(event.key === "=" ? "+" : event.key);
    if (act) { event.preventDefault(); act(); }
  });
  get("help").addEventListener("click", open);
  get("find").addEventListener("input", list);
  get("commands").addEventListener("keydown", move);
}

/** Those that have each of the words typed. */
function matching() {
  const typed = get("find").value.toLowerCase().split(/\s+/);
  return commands.filter(({ words, able }) =>
    able() && typed.every((/** @type {string} */ one) => words.toLowerCase().includes(one)));
}

/** @param {Command} one */
function run(one) {
  get("commands").close();
  one.act();
}

function list() {
  const found = matching();
  get("commands-body").replaceChildren(...found.map((/** @type {Command} */ one) => {
    const row = element("tr"), pressed = element("td"), cell = element("td"), does = element("button", one.words);
    if (one.name) pressed.append(element("kbd", one.name));
    does.className = "plain";
    does.addEventListener("click", () => run(one));
    cell.append(does);
    row.append(pressed, cell);
    return row;
  }));
  get("commands-none").textContent = found.length ? "" : "nothing has these words";
}

/** Up and down among what was found; Enter in the field does the first. @param {KeyboardEvent} event */
function move(event) {
  const field = get("find"), rows = [...get("commands-body").querySelectorAll("button")];
  const at = rows.indexOf(/** @type {HTMLButtonElement} */ (document.activeElement));
  if (event.key === "Enter" && event.target === field) {
    event.preventDefault();
    rows[0]?.click();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  /** @type {HTMLElement} */ (rows[at + step] ?? (step < 0 ? field : rows[at]))?.focus();
}

export function open() {
  get("find").value = "";
  list();
  get("commands").showModal();
}
