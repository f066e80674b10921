// SPDX-License-Identifier: GPL-2.0-or-later
// A stretch of time that is looked at: follows what is new, or stays where a person put it.
// The columns of its level come by themselves while it follows; all others are asked for.
import { send } from "./link.js";
import { chosen, tell, world } from "./state.js";

export const MOST = 1, LEAST = 2, SUM = 3, COUNT = 4, LATE = 5, MISSING = 6;
const NEAREST = 1e7; // ns
const PAUSE = 2000; // ms

export class TimeAxis {
  /** @param {string} which @param {number} span ns; 0: all of the run */
  constructor(which, span) {
    this.which = which;
    this.span = span;
    this.fit = span === 0; // as long as the run is
    this.end = /** @type {number|null} */ (null); // ns; null: it follows
    this.level = -1;
    this.newest = -1; // column
    /** @type {Map<number, Map<number, number[]>>} index, line, column */
    this.rows = new Map();
    /** @type {[number, number][]} stretches of columns, in their order, of which all that exist are here */
    this.known = [];
    this.streamed = -1; // the last column that came by itself
    this.waiting = false;
    this.later = 0; // when what was not answered is asked again
  }
  /** ns of a column. */
  get each() { return world.base * 4 ** Math.max(this.level, 0); }
  /** The latest time of which something is known, ns. */
  get latest() {
    const ended = world.status?.ended ?? 0;
    return Math.max(ended, this.newest < 0 ? 0 : this.newest * this.each);
  }
  /** From and to, ns. @returns {[number, number]} */
  window() {
    const end = this.end ?? Math.ceil((this.latest + 1) / this.each) * this.each;
    return [end - this.span, end];
  }
  /** The finest level whose columns of this span are still kept. */
  wanted() {
    let level = 0;
    while (level < world.levels - 1 && this.span / (world.base * 4 ** level) > world.ring) level++;
    return level;
  }
  get longest() { return world.base * 4 ** (world.levels - 1) * world.ring; }
  /** A span that can be looked at: four columns at least, at most all of the recording, or what a ring holds.
   * @param {number} span */
  bound(span) {
    const { began = null, reading = null } = world.status ?? {};
    const most = reading === null ? this.latest : Math.max(this.latest, Date.now() * 1e6);
    return Math.min(Math.max(span, NEAREST * 4), Math.max(this.longest, began === null ? 0 : (most - began) * 1.02));
  }
  /** Within the recording, or what may be there when all of it is read. */
  clamp() {
    const begin = world.status?.began ?? 0;
    if (this.fit) this.span = Math.max(this.latest - begin, 1e9) * 1.02;
    this.span = this.bound(this.span);
    const end = Math.max(this.latest, Date.now() * 1e6) + this.span;
    if (this.end !== null) this.end = Math.min(Math.max(this.end, begin + this.span * 0.1), end);
  }
  /** Level and columns fit the window; asks for what is not there. */
  settle() {
    if (world.status) this.clamp();
    const level = this.wanted();
    if (level !== this.level) this.renew(level);
    if (!world.status || this.waiting || performance.now() < this.later) return;
    const lack = this.lacks().at(-1); // the newest first
    if (!lack) return;
    // As much as is answered at once, and of that what lies beside it.
    const most = 4 * world.ring, [from, to] = this.window();
    const first = Math.max(lack[0], lack[1] - most + 1), room = most - (lack[1] - first + 1);
    const spare = Math.floor(Math.min((to - from) / this.each / 2, room / 2));
    this.waiting = true;
    send({ window: { of: this.which, level, first: Math.max(first - spare, 0), last: lack[1] + spare } });
  }
  /** The stretches of columns in the window that have not been read. @returns {[number, number][]} */
  lacks() {
    const [from, to] = this.window(), begin = world.status?.began ?? null;
    if (begin === null || (this.end === null && this.streamed < 0)) return []; // it comes by itself
    let at = Math.floor(Math.max(from, begin) / this.each);
    const last = Math.min(Math.ceil(to / this.each) - 1, Math.floor(this.latest / this.each));
    const found = /** @type {[number, number][]} */ ([]);
    for (const [a, b] of this.known) {
      if (b < at) continue;
      if (a > last) break;
      if (a > at) found.push([at, a - 1]);
      at = b + 1;
    }
    if (at <= last) found.push([at, last]);
    return found;
  }
  /** @param {number} level */
  renew(level) {
    this.level = level;
    this.rows = new Map();
    this.newest = -1;
    this.known = [];
    this.streamed = -1;
    this.waiting = false;
    send({ [this.which]: level });
  }
  /** What came by itself. @param {{level: number, rows: import("./state.js").Rows}} words */
  add({ level, rows }) {
    if (level !== this.level) return;
    for (const [index, lines] of rows) this.put(index, lines);
    const last = Math.max(this.streamed, rows.at(-1)?.[0] ?? -1);
    this.cover(this.streamed < 0 ? last - world.ring + 1 : this.streamed, last);
    this.streamed = last;
    this.trim();
  }
  /** What was asked for, as far as it was read. @param {import("./state.js").Window} words */
  answer({ level, first, last, rows }) {
    this.waiting = false;
    if (level !== this.level) return;
    for (const [index, lines] of rows) this.put(index, lines);
    this.cover(first, last);
    this.trim();
  }
  /** It was not answered: soon again. */
  failed() { this.waiting = false; this.later = performance.now() + PAUSE; }
  /** @param {number} index @param {number[][]} lines */
  put(index, lines) {
    this.rows.set(index, new Map(lines.map((one) => [one[0], one])));
    this.newest = Math.max(this.newest, index);
  }
  /** Memory is bounded: what is far from the window goes. */
  trim() {
    if (this.rows.size <= 6 * world.ring) return;
    const [from, to] = this.window();
    const first = Math.floor(from / this.each) - 2 * world.ring;
    const last = Math.floor(to / this.each) + 2 * world.ring;
    for (const index of this.rows.keys())
      if (index < first || (index > last && index < this.newest - world.ring)) this.rows.delete(index);
    const kept = Math.max(this.newest - world.ring, last + 1);
    this.known = this.known.flatMap(([a, b]) => /** @type {[number, number][]} */ (
      [[Math.max(a, first), Math.min(b, last)], [Math.max(a, kept), b]])).filter(([a, b]) => a <= b);
  }
  /** All columns of these that exist are here. @param {number} first @param {number} last */
  cover(first, last) {
    const apart = this.known.filter(([a, b]) => b < first - 1 || a > last + 1);
    const joined = this.known.filter(([a, b]) => b >= first - 1 && a <= last + 1).flat();
    this.known = [...apart, /** @type {[number, number]} */ ([Math.min(first, ...joined), Math.max(last, ...joined)])]
      .sort(([a], [b]) => a - b);
  }
  /** Around a time, ns. @param {number} factor @param {number|null} [at] */
  zoom(factor, at = null) {
    const [from, to] = this.window();
    this.fit = false;
    const span = this.bound(this.span * factor);
    if (this.end !== null) {
      const point = at ?? (from + to) / 2;
      this.end = point + (to - point) * (span / this.span);
    }
    this.span = span;
    this.moved();
  }
  /** By a share of the window; to the newest it follows again. @param {number} share */
  pan(share) {
    const [, to] = this.window();
    this.fit = false;
    this.look(to + share * this.span);
  }
  /** @param {number} end ns */
  look(end) {
    const begin = world.status?.began ?? 0;
    this.end = Math.min(Math.max(end, begin + this.span * 0.1), this.latest + this.span * 0.5);
    this.moved();
  }
  /** What is new again. */
  follow() { this.end = null; this.moved(); }
  moved() { this.settle(); tell("moved"); }
}

export const axes = { live: new TimeAxis("live", 6.4e9), long: new TimeAxis("long", 0) };

/** The one of the view. */
export const axis = () => chosen.view === "long" ? axes.long : axes.live;
