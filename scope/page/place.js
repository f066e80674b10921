// SPDX-License-Identifier: GPL-2.0-or-later
// What is looked at is in the address: a reload, or a colleague, sees the same.
import { axes } from "./axis.js";
import { chosen } from "./state.js";

let before = "";

/** @returns {string} */
function words() {
  const found = new URLSearchParams({ view: chosen.view });
  for (const [which, axis] of Object.entries(axes)) {
    if (!axis.fit) found.set(`${which}-span`, String(Math.round(axis.span)));
    if (axis.end !== null) found.set(`${which}-end`, String(Math.round(axis.end)));
  }
  if (chosen.limit !== null) found.set("limit", String(chosen.limit));
  if (chosen.run !== null) found.set("run", String(chosen.run));
  if (chosen.rt) found.set("rt", "1");
  if (chosen.larger) found.set("larger", "1");
  if (chosen.hidden.size) found.set("hidden", [...chosen.hidden].join("."));
  for (const [name, at] of Object.entries(chosen.markers)) if (at !== null) found.set(name, String(Math.round(at)));
  return found.toString();
}

export function keep() {
  const now = words();
  if (now === before) return;
  before = now;
  history.replaceState(null, "", `#${now}`);
}

/** @param {string|null} word */
const number = (word) => word !== null && /^\d{1,20}$/.test(word) ? Number(word) : null;

/** Of the address, what makes sense. @param {string[]} views */
export function restore(views) {
  const found = new URLSearchParams(location.hash.slice(1));
  const view = found.get("view") ?? "";
  if (views.includes(view)) chosen.view = view;
  for (const [which, axis] of Object.entries(axes)) {
    const span = number(found.get(`${which}-span`)), end = number(found.get(`${which}-end`));
    if (span) { axis.span = span; axis.fit = false; }
    if (end) { axis.end = end; axis.fit = false; }
  }
  chosen.limit = number(found.get("limit"));
  chosen.run = number(found.get("run"));
  chosen.rt = found.get("rt") === "1";
  chosen.larger = found.get("larger") === "1";
  for (const line of (found.get("hidden") ?? "").split(".")) if (number(line) !== null) chosen.hidden.add(Number(line));
  for (const name of Object.keys(chosen.markers)) chosen.markers[name] = number(found.get(name));
  setInterval(keep, 500);
}
