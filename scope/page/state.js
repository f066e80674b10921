// SPDX-License-Identifier: GPL-2.0-or-later
// What is known of the measurement, and what a person chose to look at.
import { apart, time } from "./format.js";

/** A line in a run: its figures, in ns.
 * @typedef {{name: string, triggers: number, answered: number, late: number, missing: number, strays: number,
 *   unsure: number, count: number, min: number|null, max: number|null, mean: number|null,
 *   percentiles: (number|null)[], beyond: number|null}} Line
 */
/** A run; its times are ns since 1970.
 * @typedef {{number: number, title: string, why: string, at: number, began: number|null, ended: number,
 *   triggers: number, millihertz: number|null}} Run
 */
/** Of link, generator and recording.
 * @typedef {{live: boolean, connected: boolean, taken: boolean, left: boolean, target: string, why: string,
 *   recording: string, synced: number|null, written: number, memory_mib: number, reading: number|null,
 *   replay: {speed: number, paused: boolean, ended: boolean, place: number}|null,
 *   triggers: number, packets: number, lost_triggers: number, lost_packets: number,
 *   began: number|null, ended: number, doubts: string[], offered: string[],
 *   state: {millihertz: number, duty_ppm: number, packet: number, phase: number, seed: string, mask: string,
 *     patience_ns: number, burst: number, gap_ns: number, running: boolean, triggers: number}|null,
 *   floor: {rounds: number, resolution_ns: number, p50: number, p99: number, max: number, jitter_max: number}|null,
 *   runs: Run[], others: {number: number, title: string}[],
 *   marks: [number, string][], gaps: [number, number, string, number][],
 *   events: [number, string, string][]}} Status
 */
/** An answer of a trigger, in ns.
 * @typedef {{name: string, line: number, ns: number, step_ns: number, after: string|null, after_ns: number|null,
 *   late: boolean, against: boolean, usual: number|null, unusual: boolean}} Hop
 * @typedef {{trigger: number, wall: number, jitter: number, run: string, hops: Hop[], known: boolean,
 *   culprit: string|null, missing: string[]}} Chain
 * @typedef {{trigger: number, ns: number, line: number, name: string, wall: number, others: number}} Worst
 */
/** Columns of a level, each with its number and its lines.
 * @typedef {[number, number[][]][]} Rows
 * @typedef {{level: number, first: number, last: number, rows: Rows}} Window
 */
/** What it is compared with, by line.
 * @typedef {{title: string, lines: (Line|undefined)[], ever: number[][]}} Baseline */

/** As the server reports it. */
export const world = {
  base: 1, ring: 1, levels: 1, bits: 6,
  percents: /** @type {number[]} */ ([]),
  names: /** @type {string[]} */ ([]),
  lines: /** @type {Line[]} */ ([]),
  ever: /** @type {number[][]} */ ([]),
  gaps: /** @type {Status["gaps"]} */ ([]),
  status: /** @type {Status|null} */ (null),
  server: false, // it is there
  run: 0,
  judged: /** @type {number|null} */ (null), // the limit that the lines are judged by
  frozen: false, // the lines are of when time was halted
};

/** What a person chose. */
export const chosen = {
  view: "live",
  run: /** @type {number|null} */ (null),
  limit: /** @type {number|null} */ (null),
  armed: false, // hold at the first answer beyond the limit
  rt: false,
  larger: false, // of the distribution, how many take longer
  markers: /** @type {Record<string, number|null>} */ ({ A: null, B: null }), // ns
  hidden: new Set(), // lines whose chart is folded away
  sort: { by: "", down: true },
  baseline: /** @type {Baseline|null} */ (null),
};

/** Distributions when time was halted; null: it goes on.  The server holds the figures, and
 * so can judge them by another limit, or show another run. */
let held = /** @type {{at: number, ever: number[][]}|null} */ (null);

/** Figures as they are shown: now, or when time was halted. */
export const shown = () => held ? { lines: world.lines, ever: held.ever } : world;
/** Lines of which something came: a generator has more than are used. */
export const there = () => shown().lines.flatMap((row, line) => row.triggers || row.strays ? [line] : []);
export const isHeld = () => held !== null;

/** @param {boolean} halt @param {number} at ns */
export function setHeld(halt, at) {
  held = halt ? { at, ever: [] } : null;
  keepEver();
  tell("held");
}
/** Distributions of the run that is held. */
export function keepEver() {
  if (held) held.ever = world.ever.map((row) => row && [...row]);
}
export const heldAt = () => held?.at ?? null;

/** @type {Map<string, (() => void)[]>} */
const listeners = new Map();

/** @param {string} event @param {() => void} act */
export function on(event, act) {
  listeners.set(event, [...(listeners.get(event) ?? []), act]);
}

/** @param {string} event */
export function tell(event) {
  for (const act of listeners.get(event) ?? []) act();
}

/** A value that may be beside the limit: it does not read like it. @param {number|null} ns */
export const judged = (ns) => ns === null ? time(ns) : apart(ns, chosen.limit ?? ns);

/** The run and the limit that are shown, for what leaves the page. */
export function query() {
  const found = new URLSearchParams();
  if (chosen.run !== null) found.set("run", String(chosen.run));
  if (chosen.limit !== null) found.set("limit", String(chosen.limit));
  return found.size ? `?${found}` : "";
}

/** The largest answer of all lines, and whose. @returns {{ns: number, line: number}|null} */
export function worst() {
  let found = /** @type {{ns: number, line: number}|null} */ (null);
  shown().lines.forEach((row, line) => {
    if (row.max !== null && (!found || row.max > found.ns)) found = { ns: row.max, line };
  });
  return found;
}

/** A sum over all lines. @param {"beyond"|"late"|"missing"} what */
export const sum = (what) => shown().lines.reduce((total, row) => total + (row[what] ?? 0), 0);
