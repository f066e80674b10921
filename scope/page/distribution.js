// SPDX-License-Identifier: GPL-2.0-or-later
// How many answers lie where, or how many take longer: both axes logarithmic, all of the run.
import { axisStyle, logarithmic } from "./charts.js";
import { colour, count, lineColour, lowest, time } from "./format.js";
import { chosen, shown, world } from "./state.js";

/** @typedef {import("./state.js").Line} Line
 * @typedef {number[]|undefined} Counts of a line's buckets */

/** @param {number} share of 1 */
const among = (share) => share >= 1 ? "all" : `1 of ${count(Math.round(1 / share))}`;

export class Distribution {
  /** @param {HTMLElement} holder @param {number} height */
  constructor(holder, height) {
    this.holder = holder;
    this.height = height;
    this.draws = 0;
    this.names = "";
    this.plot = /** @type {uPlot|null} */ (null);
  }
  /** @returns {uPlot} */
  build() {
    this.plot?.destroy();
    this.names = this.key();
    const other = chosen.baseline, compared = other ? world.names.map((name, line) => ({
      label: `${name}, ${other.title}`, stroke: lineColour(line), width: 1, dash: [4, 3],
      spanGaps: false, points: { show: false }, show: !chosen.hidden.has(line) })) : [];
    return new uPlot({
      width: Math.max(this.holder.clientWidth, 200), height: this.height, legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false },
      scales: { x: { time: false, distr: 3 }, y: { distr: 3,
        range: (/** @type {uPlot} */ _, /** @type {number|null} */ low, /** @type {number|null} */ high) =>
          chosen.larger ? [Math.min(low ?? 0.1, 0.1) / 1.5, 1.3] : [0.7, Math.max(high ?? 1, 10) * 1.5] } },
      axes: [{ ...axisStyle(), ...logarithmic(time) },
        { ...axisStyle(), ...logarithmic(chosen.larger ? among : count), size: chosen.larger ? 96 : 58 }],
      series: [{}, ...world.names.map((name, line) => ({
        label: name, stroke: lineColour(line), width: 1.5, spanGaps: false,
        show: !chosen.hidden.has(line), points: { show: !chosen.larger, size: 3 } })), ...compared],
      hooks: { draw: [this.limit] },
    }, [[1], ...world.names.map(() => [null]), ...compared.map(() => [null])], this.holder);
  }
  key() { return `${world.names.join()}|${[...chosen.hidden].join()}|${chosen.baseline?.title}|${chosen.larger}`; }
  /** @param {uPlot} plot */
  limit(plot) {
    const { ctx, bbox } = plot;
    if (chosen.limit === null) return;
    const x = plot.valToPos(chosen.limit, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save(); ctx.strokeStyle = colour("bad"); ctx.setLineDash([6, 4]);
    ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    ctx.restore();
  }
  update() {
    if (!this.plot || this.names !== this.key()) this.plot = this.build();
    const { bits } = world, { ever, lines } = shown(), base = chosen.baseline?.ever ?? [];
    const found = new Set();
    for (const counts of [...ever, ...base])
      counts?.forEach((/** @type {number} */ n, /** @type {number} */ index) =>
        n && [index - 1, index, index + 1].forEach((one) => one > 0 && found.add(one)));
    const places = [...found].sort((a, b) => a - b);
    if (!places.length) return;
    const all = { title: "", ever, lines }, other = chosen.baseline ?? { title: "", ever: [], lines: [] };
    const curve = (/** @type {import("./state.js").Baseline} */ of, /** @type {number} */ line) => chosen.larger
      ? larger(of.ever[line], of.lines[line], places) : places.map((index) => of.ever[line]?.[index] || null);
    this.plot.setData([places.map((index) => Math.max(lowest(index, bits), 1)),
      ...world.names.map((_, line) => curve(all, line)),
      ...(chosen.baseline ? world.names.map((_, line) => curve(other, line)) : [])]);
    this.draws++;
  }
}

/** Which share of a line's triggers takes at least as long as each bucket; what is missing takes
 * longer than all, and a percentile is where 1 of 100 does. @param {Counts} counts
 * @param {Line|undefined} line @param {number[]} places ascending */
function larger(counts, line, places) {
  const came = Math.max(counts?.reduce((sum, n) => sum + n, 0) ?? 0, line?.count ?? 0);
  const all = came + (line?.missing ?? 0);
  let left = all - (counts?.[0] ?? 0);
  return places.map((index) => {
    const share = all ? left / all : 0;
    left -= counts?.[index] ?? 0;
    return share || null;
  });
}
