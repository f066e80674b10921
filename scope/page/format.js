// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers, times and colours for people.

const UNITS = /** @type {[string, number][]} */ ([["s", 1e9], ["ms", 1e6], ["us", 1e3]]);

/** By the rule of isolator_report/duration.py. @param {number|null|undefined} ns @param {number} [digits] */
export function time(ns, digits = 3) {
  if (ns === null || ns === undefined) return "–";
  if (ns < 0) return "missing";
  const fixed = (/** @type {number} */ n) => +n.toFixed(Math.max(digits - 3, 0));
  for (const [unit, size] of UNITS)
    if (ns >= size) return `${ns < 999.5 * size ? +(ns / size).toPrecision(digits) : fixed(ns / size)} ${unit}`;
  return `${fixed(ns)} ns`;
}

/** All digits: what a person set. @param {number} ns */
export const exact = (ns) => time(ns, 15);

/** With as many digits as tell it from what it is judged by. @param {number} ns @param {number} other */
export function apart(ns, other) {
  for (let digits = 3; digits < 15; digits++)
    if (ns === other || time(ns, digits) !== time(other, digits)) return time(ns, digits);
  return exact(ns);
}

const LONGEST = 1e11; // ns: no distribution tells longer ones apart

/** A time as a person types it, in ns; null: it is none, or longer than 100 s. @param {string} words */
export function nanoseconds(words) {
  const found = /^(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)$/.exec(words.trim());
  if (!found) return null;
  const size = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 }[found[2]] ?? 1;
  const ns = Math.round(Number(found[1]) * size);
  return ns <= LONGEST ? ns : null;
}

/** @param {number} n */
export const count = (n) => n.toLocaleString("en");

/** @param {number} n @param {string} word */
export const several = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

/** @param {number} ns since 1970 @param {number} [digits] of a second */
export function clock(ns, digits = 3) {
  return new Date(ns / 1e6).toISOString().slice(11, digits ? 20 + digits : 19);
}

/** @param {number} ns since 1970 */
export const date = (ns) => `${new Date(ns / 1e6).toISOString().slice(0, 19).replace("T", " ")} UTC`;

/** @param {number} ns a length of time */
export function length(ns) {
  const seconds = ns / 1e9;
  if (seconds < 120) return `${+seconds.toPrecision(3)} s`;
  if (seconds < 7200) return `${+(seconds / 60).toPrecision(3)} min`;
  return `${+(seconds / 3600).toPrecision(3)} h`;
}

// Computed once for each theme: asking the style for each column costs frames.
const style = getComputedStyle(document.documentElement);
let known = new Map();
export const repaint = () => { known = new Map(); };

/** One of the theme's. @param {string} name */
export function colour(name) {
  if (!known.has(name)) known.set(name, style.getPropertyValue(`--${name}`).trim());
  return known.get(name);
}

const PALETTE = 12;
/** Lines that share a chart can be told apart, also by the colour-blind. @param {number} line */
export const lineColour = (line) => colour(`line-${line % PALETTE}`);

/**
 * @param {string} tag @param {string} [text] @param {Record<string, string|number>} [attributes]
 * @returns {HTMLElement}
 */
export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/** @param {string} id @returns {any} */
export const get = (id) => document.getElementById(id);

/** The least value of a bucket. @param {number} index @param {number} bits */
export function lowest(index, bits) {
  const shift = Math.max(Math.floor(index / 2 ** bits) - 1, 0);
  return (index - shift * 2 ** bits) * 2 ** shift;
}

/** 1, 2 and 5 of each factor of 10 between two values. @param {number} low @param {number} high */
export function steps(low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
    for (const digit of [1, 2, 5]) found.push(+(digit * 10 ** power).toPrecision(3));
  return found.filter((one) => one >= low && one <= high);
}
