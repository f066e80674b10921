// SPDX-License-Identifier: GPL-2.0-or-later
// Charts over time.  A column is drawn from its minimum to its maximum, never less than
// three pixels high and two wide: one late answer is seen however far one zooms out.
import { colour, lineColour, lowest, time } from "./format.js";

const MOST = 1, LEAST = 2, SUM = 3, COUNT = 4, LATE = 5, MISSING = 6;

// Columns of one level, as the server has told them: index -> line -> column.
export class Columns {
  constructor() { this.clear(0); }
  clear(level) {
    this.level = level;
    this.rows = new Map();
    this.newest = -1;
  }
  add({ level, rows }, ring) {
    if (level !== this.level) this.clear(level);
    for (const [index, lines] of rows) {
      this.rows.set(index, new Map(lines.map((one) => [one[0], one])));
      this.newest = Math.max(this.newest, index);
    }
    if (this.rows.size > 2 * ring)
      for (const index of this.rows.keys()) if (index <= this.newest - ring) this.rows.delete(index);
  }
}

function axis(values) {
  return { stroke: colour("dim"), grid: { stroke: colour("line"), width: 1 },
    ticks: { stroke: colour("line"), width: 1 }, font: "11px system-ui", values };
}

const clock = (_, splits) => splits.map((at) =>
  new Date(at * 1000).toISOString().slice(11, splits[1] - splits[0] < 1 ? 21 : 19));
// 1, 2 and 5 of each factor of 10; all named while there are few, else the 1s.
function steps(_, __, low, high) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power++)
    for (const digit of [1, 2, 5]) found.push(+(digit * 10 ** power).toPrecision(3));
  return found.filter((one) => one >= low && one <= high);
}

const logarithmic = (say) => ({
  splits: steps, filter: (_, splits) => splits,
  values: (_, splits) => splits.map((one) =>
    splits.length <= 7 || String(one).match(/^0?\.?0*1/) ? say(one) : ""),
});

// One chart of one line, or of all (line null).
export class TimeChart {
  constructor(holder, line, height, columns, world) {
    Object.assign(this, { holder, line, height, columns, world, draws: 0 });
    this.build();
  }
  build() {
    this.plot?.destroy();
    const range = (_, low, high) => this.range ?? [low ?? 1, high ?? 10];
    this.plot = new uPlot({
      width: Math.max(this.holder.clientWidth, 200), height: this.height, legend: { show: false },
      cursor: { drag: { x: false, y: false } }, pxAlign: 1,
      scales: { x: { time: false, range: () => this.window ?? [0, 1] }, y: { distr: 3, range } },
      axes: [{ ...axis(clock), size: 24 }, { ...axis(), ...logarithmic(time), size: 58 }],
      series: [{}, { paths: () => null, points: { show: false } },
        { stroke: colour("fg"), width: 1, spanGaps: false, points: { show: false },
          show: this.line !== null }],
      hooks: { draw: [(plot) => this.bars(plot)] },
    }, [[0], [null], [null]], this.holder);
  }
  update() {
    const { columns, world } = this;
    const width = world.base * 4 ** columns.level / 1e9;
    const last = columns.newest, first = last - world.ring + 1;
    const x = [], most = [], mean = [];
    let low = Infinity, high = 0, before = null;
    this.seen = [];
    for (let index = Math.max(first, 0); index <= last; index++) {
      const row = columns.rows.get(index);
      if (!row) continue;
      const own = this.line === null ? [...row.values()] : row.has(this.line) ? [row.get(this.line)] : [];
      if (!own.length) continue;
      if (before !== null && index > before + 1) {
        x.push((before + 1) * width); most.push(null); mean.push(null);
      }
      before = index;
      let worst = null, sum = 0, count = 0;
      for (const one of own) {
        this.seen.push([index * width, one]);
        if (one[COUNT]) {
          worst = Math.max(worst ?? 0, one[MOST]);
          low = Math.min(low, Math.max(one[LEAST], 1));
          high = Math.max(high, one[MOST]);
          sum += one[SUM]; count += one[COUNT];
        }
      }
      x.push((index + 0.5) * width); most.push(worst); mean.push(count ? sum / count : null);
    }
    this.width = width;
    this.window = last < 0 ? [0, 1] : [first * width, (last + 1) * width];
    this.range = high ? [low * 0.7, Math.max(high * 1.5, low * 2)] : [1, 10];
    this.fresh = true;
    this.plot.setData(x.length ? [x, most, mean] : [[0], [null], [null]]);
  }
  bars(plot) {
    const { ctx } = plot, { left, top, width, height } = plot.bbox;
    const ratio = devicePixelRatio;
    const step = Math.ceil(2 * ratio), cap = Math.ceil(3 * ratio);
    const [from, to] = this.window ?? [0, 1];
    const zero = plot.valToPos(from, "x", true), each = (plot.valToPos(to, "x", true) - zero) / (to - from);
    const wide = Math.ceil(Math.max(2 * ratio, (this.width ?? 0) * each));
    ctx.save();
    ctx.beginPath(); ctx.rect(left, top, width, height); ctx.clip();
    for (const [since, until, what] of this.world.gaps) {
      const a = plot.valToPos(since / 1e9, "x", true), b = plot.valToPos(until / 1e9, "x", true);
      ctx.fillStyle = colour("gap");
      ctx.fillRect(a, top, Math.max(b - a, 2 * ratio), height);
      if (b - a > 40 * ratio) {
        ctx.fillStyle = colour("bad"); ctx.font = `${11 * ratio}px system-ui`;
        ctx.fillText(`gap: ${what}`, a + 4 * ratio, top + 14 * ratio);
      }
    }
    // Columns that share pixels become one, with the extremes of all of them.
    const bars = new Map(), late = new Set(), missing = new Set();
    for (const [at, one] of this.seen ?? []) {
      // Whole pixels, none behind the edge: nothing is blurred or cut away.
      const x = Math.min(Math.floor((zero + (at - from) * each) / step) * step, left + width - wide);
      if (one[COUNT]) {
        const key = one[0] * 65536 + x, bar = bars.get(key);
        if (!bar) bars.set(key, [one[0], x, one[MOST], one[LEAST]]);
        else { bar[2] = Math.max(bar[2], one[MOST]); bar[3] = Math.min(bar[3], one[LEAST]); }
      }
      if (one[LATE]) late.add(x);
      if (one[MISSING]) missing.add(x);
    }
    let line = null;
    const drawn = [...bars.values()];
    for (const pass of [this.line === null ? 0.35 : 0.6, 1]) {
      ctx.globalAlpha = pass;
      for (const bar of drawn) {
        if (bar[0] !== line) ctx.fillStyle = lineColour(line = bar[0]);
        const high = bar[4] ??= Math.floor(plot.valToPos(bar[2], "y", true));
        if (pass === 1) ctx.fillRect(bar[1], high, wide, cap);
        else ctx.fillRect(bar[1], high, wide, Math.max(plot.valToPos(Math.max(bar[3], 1), "y", true) - high, cap));
      }
    }
    ctx.fillStyle = colour("mid");
    for (const x of late) ctx.fillRect(x, top, wide, 4 * ratio);
    ctx.fillStyle = colour("bad");
    for (const x of missing) ctx.fillRect(x, top + 5 * ratio, wide, 6 * ratio);
    ctx.restore();
    if (this.fresh) { this.draws++; this.fresh = false; }
  }
}

// How many answers lie where: both axes logarithmic, all that ever came.
export class Histogram {
  constructor(holder, height, world) {
    Object.assign(this, { holder, height, world, draws: 0, shown: new Set() });
  }
  build() {
    this.plot?.destroy();
    this.names = this.world.names.join();
    this.plot = new uPlot({
      width: Math.max(this.holder.clientWidth, 200), height: this.height,
      cursor: { drag: { x: false, y: false } },
      scales: { x: { time: false, distr: 3 }, y: { distr: 3, range: (_, __, high) => [0.7, Math.max(high ?? 1, 10) * 1.5] } },
      axes: [{ ...axis(), ...logarithmic(time) }, { ...axis(), ...logarithmic(String), size: 58 }],
      series: [{ label: "answer", value: (_, ns) => time(ns) }, ...this.world.names.map((name, line) => ({
        label: name, stroke: lineColour(line), width: 1.5, spanGaps: false,
        points: { show: true, size: 3 } }))],
    }, [[1], ...this.world.names.map(() => [null])], this.holder);
  }
  update() {
    if (!this.plot || this.names !== this.world.names.join()) this.build();
    const { ever, bits } = this.world;
    const all = new Set();
    for (const counts of ever) counts?.forEach((n, index) => n && [index - 1, index, index + 1].forEach((one) => one > 0 && all.add(one)));
    const places = [...all].sort((a, b) => a - b);
    if (!places.length) return;
    this.plot.setData([places.map((index) => Math.max(lowest(index, bits), 1)),
      ...this.world.names.map((_, line) => places.map((index) => ever[line]?.[index] || null))]);
    this.draws++;
  }
}
