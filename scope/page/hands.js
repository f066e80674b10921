// SPDX-License-Identifier: GPL-2.0-or-later
// What pointer and wheel do in charts over time, and what the cursor reads.
import { COUNT, LATE, LEAST, MISSING, MOST, SUM } from "./axis.js";
import { clock, count, time } from "./format.js";
import { tell } from "./state.js";

const MOVED = 4; // pixels: less is a click

export const cursor = { at: /** @type {number|null} */ (null) }; // s

/** The figures of a column, for people. @param {number[][]|null} own */
export function reading(own) {
  if (!own) return "nothing came";
  const answers = own.reduce((sum, one) => sum + one[COUNT], 0);
  const said = [];
  if (answers) {
    const least = Math.min(...own.filter((one) => one[COUNT]).map((one) => one[LEAST]));
    const most = Math.max(...own.map((one) => one[MOST]));
    const mean = own.reduce((sum, one) => sum + one[SUM], 0) / answers;
    said.push(least === most ? time(most) : `${time(least)} to ${time(most)}, mean ${time(mean)}`,
      `${count(answers)} answer${answers === 1 ? "" : "s"}`);
  }
  for (const [place, name] of /** @type {[number, string][]} */ ([[LATE, "late"], [MISSING, "missing"]])) {
    const n = own.reduce((sum, one) => sum + one[place], 0);
    if (n) said.push(`${count(n)} ${name}`);
  }
  return said.join(" · ");
}

/** The worst line of a column. @param {number[][]} own */
export const worstOf = (own) => own.reduce((a, b) => b[MOST] > a[MOST] ? b : a);

/** @param {(wall: number, around: number, line: number) => void} open a trigger's chain */
export function hands(open) {
  return {
    /** @param {import("./charts.js").TimeChart} chart */
    cursor(chart) {
      const { left } = chart.plot.cursor;
      if (left < 0) {
        if (cursor.at !== null && chart.hovered) { cursor.at = null; tell("cursor"); }
        return;
      }
      const at = chart.plot.posToVal(left, "x");
      if (cursor.at !== at) { cursor.at = at; tell("cursor"); }
    },
    /** @param {import("./charts.js").TimeChart} chart */
    bind(chart) {
      const { over } = chart.plot;
      over.style.touchAction = "pan-y";
      wheel(chart, over);
      drag(chart, over, open);
      over.addEventListener("pointerenter", () => { chart.hovered = true; });
      over.addEventListener("pointerleave", () => {
        chart.hovered = false; cursor.at = null; tell("cursor");
      });
    },
  };
}

/** Without a key it scrolls the page, which is full of charts.
 * @param {import("./charts.js").TimeChart} chart @param {HTMLElement} over */
function wheel(chart, over) {
  over.addEventListener("wheel", (event) => {
    const { axis, plot } = chart, zooms = event.ctrlKey || event.metaKey || event.altKey;
    const aside = event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (!zooms && !aside) return;
    event.preventDefault();
    if (zooms) axis.zoom(1.2 ** Math.sign(event.deltaY), plot.posToVal(event.offsetX, "x") * 1e9);
    else axis.pan((event.deltaX || event.deltaY) / over.clientWidth);
  }, { passive: false });
}

/** @param {import("./charts.js").TimeChart} chart @param {HTMLElement} over
 * @param {(wall: number, around: number, line: number) => void} open */
function drag(chart, over, open) {
  /** @type {{x: number, end: number, moved: boolean}|null} */
  let from = null;
  over.addEventListener("pointerdown", (event) => {
    if (event.button) return;
    from = { x: event.clientX, end: chart.axis.window()[1], moved: false };
    over.setPointerCapture(event.pointerId);
  });
  over.addEventListener("pointermove", (event) => {
    if (!from) return;
    const by = event.clientX - from.x;
    if (!from.moved && Math.abs(by) < MOVED) return;
    from.moved = true;
    chart.axis.fit = false;
    chart.axis.look(from.end - by / over.clientWidth * chart.axis.span);
  });
  over.addEventListener("pointercancel", () => { from = null; });
  over.addEventListener("pointerup", (event) => {
    const clicked = from && !from.moved;
    from = null;
    if (!clicked) return;
    const near = nearest(chart, chart.plot.posToVal(event.offsetX, "x"));
    if (near) open(near.index * chart.axis.each, chart.axis.each, chart.line ?? worstOf(near.own)[0]);
  });
}

/** The worst column within some pixels of a place: a spike is two pixels wide.
 * @param {import("./charts.js").TimeChart} chart @param {number} seconds */
function nearest(chart, seconds) {
  const [from, to] = chart.window, reach = (to - from) / chart.plot.over.clientWidth * MOVED;
  const first = Math.floor((seconds - reach) * 1e9 / chart.axis.each);
  const last = Math.floor((seconds + reach) * 1e9 / chart.axis.each);
  let best = null;
  for (let index = first; index <= last; index++) {
    const row = chart.axis.rows.get(index), own = row ? chart.own(row) : [];
    if (!own.length) continue;
    const most = worstOf(own)[MOST];
    if (!best || most > best.most) best = { index, own, most };
  }
  return best;
}

/** Where the cursor is. @param {import("./axis.js").TimeAxis} axis */
export function where(axis) {
  if (cursor.at === null) return "";
  const begin = Math.floor(cursor.at * 1e9 / axis.each) * axis.each;
  return clock(begin, axis.each < 1e9 ? 3 : 0);
}
