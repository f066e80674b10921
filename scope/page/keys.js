// SPDX-License-Identifier: GPL-2.0-or-later
// What each key does; in fields that take text they are text.
import { element, get } from "./format.js";

/** @type {Map<string, {act: () => void, words: string, name: string}>} */
const keys = new Map();

/** @param {string} pressed @param {string} words @param {() => void} act @param {string} [name] */
export function key(pressed, words, act, name = pressed) { keys.set(pressed, { act, words, name }); }

const typing = (/** @type {Element} */ one) => one.matches("select, textarea, [contenteditable]") ||
  (one.matches("input") && !one.matches("[type=checkbox], [type=radio], [type=button]"));

export function bind() {
  document.addEventListener("keydown", (event) => {
    const target = /** @type {Element} */ (event.target);
    if (event.ctrlKey || event.altKey || event.metaKey || document.querySelector("dialog[open]")) return;
    if (event.key === "Escape" && typing(target)) { /** @type {HTMLElement} */ (target).blur(); return; }
    if (typing(target)) return;
    // What they press, buttons and boxes take for themselves.
    if ((event.key === " " || event.key === "Enter") && target.matches("button, input, summary, a")) return;
    if (target.matches("[role=tab]") && event.key.startsWith("Arrow")) return;
    const found = keys.get(event.key === "=" ? "+" : event.key);
    if (found) { event.preventDefault(); found.act(); }
  });
  get("help").addEventListener("click", help);
}

export function help() {
  get("keys-body").replaceChildren(...[...keys.values()].filter(({ words }) => words).map(({ name, words }) => {
    const row = element("tr"), cell = element("td");
    cell.append(element("kbd", name));
    row.append(cell, element("td", words));
    return row;
  }));
  get("keys").showModal();
}
