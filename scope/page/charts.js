// SPDX-License-Identifier: GPL-2.0-or-later
// Charts over time.  A column is drawn from its minimum to its maximum, never less than
// three pixels high and two wide: one late answer is seen however far one zooms out.
import { COUNT, LATE, LEAST, MISSING, MOST, SUM } from "./axis.js";
import { colour, lineColour, steps, time } from "./format.js";
import { chosen, world } from "./state.js";

const EMPTY = [[0], [null], [null]];

/** @param {object} [values] how they are said */
export function axisStyle(values) {
  return { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 }, font: "11px system-ui", values };
}

/** All of 1, 2, 5 have a line; all are named while there are few, else the 1s.
 * @param {(value: number) => string} say */
export const logarithmic = (say) => ({
  splits: (/** @type {uPlot} */ _, /** @type {number} */ __, /** @type {number} */ low,
    /** @type {number} */ high) => steps(low, high),
  filter: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits,
  values: (/** @type {uPlot} */ _, /** @type {number[]} */ splits) => splits.map((one) =>
    splits.length <= 7 || String(one).match(/^0?\.?0*1/) ? say(one) : ""),
});

/** UTC, as all times of the page. @param {number} seconds */
const utc = (seconds) => uPlot.tzDate(new Date(seconds * 1e3), "Etc/UTC");

/** As fine as the ticks are, and the date where it is another. @param {uPlot} _ @param {number[]} splits */
function clocks(_, splits) {
  const each = splits.length > 1 ? splits[1] - splits[0] : 1;
  return splits.map((at) => {
    const words = new Date(at * 1e3).toISOString();
    if (each >= 86400 || at % 86400 === 0) return words.slice(5, 10);
    return words.slice(11, each >= 60 ? 16 : each >= 1 ? 19 : each >= 0.1 ? 21 : 23);
  });
}

/** One chart of one line, or of all (line null). */
export class TimeChart {
  /**
   * @param {HTMLElement} holder @param {number|null} line @param {number} height
   * @param {import("./axis.js").TimeAxis} axis
   * @param {ReturnType<import("./hands.js").hands>} hands what pointer and cursor do
   */
  constructor(holder, line, height, axis, hands) {
    this.holder = holder; this.line = line; this.height = height; this.axis = axis;
    this.hands = hands;
    this.draws = 0;
    this.fresh = false;
    /** @type {[number, number[]][]} where a column begins, s, and its values */
    this.seen = [];
    this.width = 0;
    this.window = [0, 1];
    this.range = [1, 10];
    this.hovered = false;
    this.plot = this.made();
    this.begin();
  }
  build() {
    this.plot.destroy();
    this.plot = this.made();
    this.begin();
  }
  begin() { this.hands.bind(this); this.fill(); }
  made() {
    const sync = uPlot.sync("time");
    return new uPlot({
      width: Math.max(this.holder.clientWidth, 200), height: this.height, legend: { show: false },
      cursor: { drag: { x: false, y: false, setScale: false }, points: { show: false },
        sync: { key: sync.key, setSeries: false }, y: false },
      pxAlign: 1, tzDate: utc, ms: 1e-3,
      scales: { x: { time: true, range: () => this.window },
        y: { distr: 3, range: () => this.range } },
      axes: [{ ...axisStyle(clocks), size: 26, space: 60 }, { ...axisStyle(), ...logarithmic(time), size: 58 }],
      series: [{}, { paths: () => null, points: { show: false } },
        { stroke: colour("fg"), width: 1, spanGaps: false, points: { show: false },
          show: this.line !== null }],
      hooks: { draw: [() => this.paint()], setCursor: [() => this.hands.cursor(this)] },
    }, EMPTY, this.holder);
  }
  /** The values of a column that this chart shows. @param {Map<number, number[]>} row */
  own(row) {
    if (this.line === null)
      return [...row.values()].filter((one) => !chosen.hidden.has(one[0]));
    const one = row.get(this.line);
    return one ? [one] : [];
  }
  /** The figures of one moment, s; null: nothing came. @param {number} seconds */
  at(seconds) {
    const row = this.axis.rows.get(Math.floor(seconds * 1e9 / this.axis.each));
    const own = row ? this.own(row) : [];
    return own.length ? own : null;
  }
  update() {
    this.axis.settle();
    this.fresh = true;
    this.fill();
  }
  fill() {
    const { axis } = this, width = axis.each / 1e9;
    const [from, to] = axis.window();
    const x = [], most = [], mean = [];
    let low = Infinity, high = 0, before = -1;
    this.seen = [];
    const begin = Math.max(from, world.status?.began ?? 0), end = Math.min(to, (axis.newest + 1) * axis.each);
    for (let index = Math.floor(begin / axis.each); index * axis.each < end; index++) {
      const row = axis.rows.get(index), own = row ? this.own(row) : [];
      if (!own.length) continue;
      if (before >= 0 && index > before + 1) {
        x.push((before + 1) * width); most.push(null); mean.push(null);
      }
      before = index;
      let worst = /** @type {number|null} */ (null), sum = 0, count = 0;
      for (const one of own) {
        this.seen.push([index * width, one]);
        if (!one[COUNT]) continue;
        worst = Math.max(worst ?? 0, one[MOST]);
        low = Math.min(low, Math.max(one[LEAST], 1));
        high = Math.max(high, one[MOST]);
        sum += one[SUM]; count += one[COUNT];
      }
      x.push((index + 0.5) * width); most.push(worst); mean.push(count ? sum / count : null);
    }
    this.width = width;
    this.window = to > from ? [from / 1e9, to / 1e9] : [0, 1];
    if (high) this.range = [low * 0.7, Math.max(high * 1.5, low * 2)];
    this.plot.setData(x.length ? [x, most, mean] : EMPTY);
  }
  paint() {
    const { ctx } = this.plot, { left, top, width, height } = this.plot.bbox;
    ctx.save();
    ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
    this.unread(ctx);
    this.gaps(ctx);
    this.bars(ctx);
    this.lines(ctx);
    ctx.restore();
    if (this.fresh) { this.draws++; this.fresh = false; }
  }
  /** @param {CanvasRenderingContext2D} ctx what has been asked for: not blank, as it may have answers */
  unread(ctx) {
    const { plot, axis } = this, { top, height } = plot.bbox, ratio = devicePixelRatio;
    const place = (/** @type {number} */ index) => plot.valToPos(index * axis.each / 1e9, "x", true);
    for (const [first, last] of axis.lacks()) {
      const a = place(first), b = place(last + 1);
      ctx.fillStyle = colour("line"); ctx.fillRect(a, top, Math.max(b - a, ratio), height);
      ctx.fillStyle = colour("dim"); ctx.font = `${11 * ratio}px system-ui`;
      if (b - a > 90 * ratio) ctx.fillText("not read yet", Math.max(a, plot.bbox.left) + 4 * ratio, top + 28 * ratio);
    }
  }
  /** @param {CanvasRenderingContext2D} ctx stretches without records */
  gaps(ctx) {
    const { plot } = this, { top, height } = plot.bbox, ratio = devicePixelRatio;
    for (const [since, until, what] of world.gaps) {
      const a = plot.valToPos(since / 1e9, "x", true), b = plot.valToPos(until / 1e9, "x", true);
      ctx.fillStyle = colour("gap");
      ctx.fillRect(a, top, Math.max(b - a, 2 * ratio), height);
      if (b - a > 40 * ratio) {
        ctx.fillStyle = colour("bad"); ctx.font = `${11 * ratio}px system-ui`;
        ctx.fillText(`gap: ${what}`, a + 4 * ratio, top + 14 * ratio);
      }
    }
  }
  /**
   * From which whole pixel to which a column is.  Neighbours touch: where one ends the next
   * begins, so that a blank pixel is a time without an answer at every width.
   * @param {number} at s @returns {[number, number]}
   */
  pixels(at) {
    const { plot } = this, { left, width } = plot.bbox, [from, to] = this.window;
    const step = Math.ceil(2 * devicePixelRatio), each = width / (to - from);
    const place = (/** @type {number} */ when) => {
      const pixel = (when - from) * each + 1e-6; // of the last step a part may be left
      return left + (pixel >= width ? width : Math.floor(pixel / step) * step);
    };
    const begin = Math.min(place(at), left + width - step);
    return [begin, Math.max(place(at + this.width), begin + step)];
  }
  /** @param {CanvasRenderingContext2D} ctx */
  bars(ctx) {
    const { plot } = this, { top } = plot.bbox, ratio = devicePixelRatio, cap = Math.ceil(3 * ratio);
    // Columns that share pixels become one, with the extremes of all of them.
    const bars = new Map(), late = new Map(), missing = new Map();
    for (const [at, one] of this.seen) {
      const [x, end] = this.pixels(at);
      if (one[COUNT]) {
        const key = one[0] * 65536 + x, bar = bars.get(key);
        if (!bar) bars.set(key, { line: one[0], x, end, most: one[MOST], least: one[LEAST] });
        else {
          bar.end = Math.max(bar.end, end);
          bar.most = Math.max(bar.most, one[MOST]); bar.least = Math.min(bar.least, one[LEAST]);
        }
      }
      if (one[LATE]) late.set(x, end);
      if (one[MISSING]) missing.set(x, end);
    }
    const y = (/** @type {number} */ ns) => Math.floor(plot.valToPos(Math.max(ns, 1), "y", true));
    for (const solid of [false, true]) {
      ctx.globalAlpha = solid ? 1 : this.line === null ? 0.35 : 0.6;
      for (const bar of bars.values()) {
        ctx.fillStyle = lineColour(bar.line);
        const high = y(bar.most), wide = bar.end - bar.x;
        ctx.fillRect(bar.x, high, wide, solid ? cap : Math.max(y(bar.least) - high, cap));
      }
    }
    ctx.fillStyle = colour("mid");
    for (const [x, end] of late) ctx.fillRect(x, top, end - x, 4 * ratio);
    ctx.fillStyle = colour("bad");
    for (const [x, end] of missing) ctx.fillRect(x, top + 5 * ratio, end - x, 6 * ratio);
  }
  /** Limit, markers, notes and where runs begin. @param {CanvasRenderingContext2D} ctx */
  lines(ctx) {
    const { plot } = this, { left, top, width, height } = plot.bbox, ratio = devicePixelRatio;
    ctx.lineWidth = ratio; ctx.font = `${11 * ratio}px system-ui`; ctx.textAlign = "left";
    if (chosen.limit !== null && chosen.limit > this.range[0] && chosen.limit < this.range[1]) {
      const y = Math.round(plot.valToPos(chosen.limit, "y", true)) + 0.5;
      ctx.strokeStyle = colour("bad"); ctx.setLineDash([6 * ratio, 4 * ratio]);
      ctx.beginPath(); ctx.moveTo(left, y); ctx.lineTo(left + width, y); ctx.stroke();
    }
    const upright = (/** @type {number} */ ns, /** @type {string} */ name, /** @type {string} */ ink,
      /** @type {number[]} */ dash) => {
      if (ns / 1e9 < this.window[0] || ns / 1e9 > this.window[1]) return;
      const x = Math.round(plot.valToPos(ns / 1e9, "x", true)) + 0.5;
      ctx.strokeStyle = ctx.fillStyle = colour(ink); ctx.setLineDash(dash);
      ctx.beginPath(); ctx.moveTo(x, top); ctx.lineTo(x, top + height); ctx.stroke();
      ctx.fillText(name, x + 3 * ratio, top + height - 4 * ratio);
    };
    for (const run of world.status?.runs.slice(1) ?? [])
      upright(run.at, run.title === `run ${run.number}` && run.why ? run.why : run.title, "one", [2, 3]);
    for (const [at, text] of world.status?.marks ?? []) upright(at, text, "mid", [2, 3]);
    for (const [name, at] of Object.entries(chosen.markers))
      if (at !== null) upright(at, name, "edge", []);
    ctx.setLineDash([]);
  }
}
