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
    /** @type {[number, number]|null} columns that were asked for */
    this.covered = null;
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
  /** Level and columns fit the window; asks for what is not there. */
  settle() {
    if (this.fit) this.span = Math.max(this.latest - (world.status?.began ?? 0), 1e9) * 1.02;
    const level = this.wanted();
    if (level !== this.level) this.renew(level);
    if (this.end === null) return;
    const [from, to] = this.window();
    const first = Math.max(Math.floor(from / this.each), 0), last = Math.floor(to / this.each);
    if (this.covered && this.covered[0] <= first && this.covered[1] >= Math.min(last, this.newest)) return;
    if (this.waiting || performance.now() < this.later) return;
    const spare = Math.ceil((last - first) / 2);
    const ask = { of: this.which, level, first: Math.max(first - spare, 0), last: last + spare };
    this.waiting = true;
    send({ window: ask });
  }
  /** @param {number} level */
  renew(level) {
    this.level = level;
    this.rows = new Map();
    this.newest = -1;
    this.covered = null;
    this.waiting = false;
    send({ [this.which]: level });
  }
  /** What came by itself. @param {{level: number, rows: any[]}} words */
  add({ level, rows }) {
    if (level !== this.level) return;
    for (const [index, lines] of rows) this.put(index, lines);
    this.trim();
  }
  /** What was asked for. @param {any} words */
  answer({ level, first, last, rows }) {
    this.waiting = false;
    if (level !== this.level) return;
    for (const [index, lines] of rows) this.put(index, lines);
    const known = this.covered;
    const joins = known && first <= known[1] + 1 && last >= known[0] - 1;
    this.cover(joins && known ? Math.min(first, known[0]) : first,
      joins && known ? Math.max(last, known[1]) : last);
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
    if (this.covered) this.cover(Math.max(this.covered[0], first), Math.min(this.covered[1], last));
  }
  /** All columns of these that exist are here. @param {number} first @param {number} last */
  cover(first, last) {
    /** @type {[number, number]} */
    const all = [first, last];
    this.covered = all;
  }
  /** Around a time, ns. @param {number} factor @param {number|null} [at] */
  zoom(factor, at = null) {
    const [from, to] = this.window();
    this.fit = false;
    const longest = world.base * 4 ** (world.levels - 1) * world.ring;
    const span = Math.min(Math.max(this.span * factor, NEAREST * 4), Math.max(longest, this.span));
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
