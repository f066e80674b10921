// SPDX-License-Identifier: GPL-2.0-or-later
// How many answers lie where: both axes logarithmic, all that ever came in the run.
import { axisStyle, logarithmic } from "./charts.js";
import { colour, count, lineColour, lowest, time } from "./format.js";
import { chosen, shown, world } from "./state.js";

export class Distribution {
  /** @param {HTMLElement} holder @param {number} height */
  constructor(holder, height) {
    this.holder = holder;
    this.height = height;
    this.draws = 0;
    this.names = "";
    /** @type {any} */
    this.plot = null;
  }
  build() {
    this.plot?.destroy();
    this.names = this.key();
    const compared = chosen.baseline ? world.names.map((name, line) => ({
      label: `${name}, ${chosen.baseline.title}`, stroke: lineColour(line), width: 1, dash: [4, 3],
      spanGaps: false, points: { show: false }, show: !chosen.hidden.has(line) })) : [];
    this.plot = new uPlot({
      width: Math.max(this.holder.clientWidth, 200), height: this.height, legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false },
      scales: { x: { time: false, distr: 3 }, y: { distr: 3,
        range: (/** @type {any} */ _, /** @type {any} */ __, /** @type {number} */ high) =>
          [0.7, Math.max(high ?? 1, 10) * 1.5] } },
      axes: [{ ...axisStyle(), ...logarithmic(time) },
        { ...axisStyle(), ...logarithmic(count), size: 58 }],
      series: [{}, ...world.names.map((name, line) => ({
        label: name, stroke: lineColour(line), width: 1.5, spanGaps: false,
        show: !chosen.hidden.has(line), points: { show: true, size: 3 } })), ...compared],
      hooks: { draw: [() => this.limit()] },
    }, [[1], ...world.names.map(() => [null]), ...compared.map(() => [null])], this.holder);
  }
  key() { return `${world.names.join()}|${[...chosen.hidden].join()}|${chosen.baseline?.title}`; }
  limit() {
    const { ctx, bbox } = this.plot;
    if (chosen.limit === null) return;
    const x = this.plot.valToPos(chosen.limit, "x", true);
    if (x < bbox.left || x > bbox.left + bbox.width) return;
    ctx.save(); ctx.strokeStyle = colour("bad"); ctx.setLineDash([6, 4]);
    ctx.beginPath(); ctx.moveTo(x, bbox.top); ctx.lineTo(x, bbox.top + bbox.height); ctx.stroke();
    ctx.restore();
  }
  update() {
    if (!this.plot || this.names !== this.key()) this.build();
    const { bits } = world, { ever } = shown(), base = chosen.baseline?.ever ?? [];
    const all = new Set();
    for (const counts of [...ever, ...base])
      counts?.forEach((/** @type {number} */ n, /** @type {number} */ index) =>
        n && [index - 1, index, index + 1].forEach((one) => one > 0 && all.add(one)));
    const places = [...all].sort((a, b) => a - b);
    if (!places.length) return;
    const curve = (/** @type {number[]|undefined} */ counts) => places.map((index) => counts?.[index] || null);
    this.plot.setData([places.map((index) => Math.max(lowest(index, bits), 1)),
      ...world.names.map((_, line) => curve(ever[line])),
      ...(chosen.baseline ? world.names.map((_, line) => curve(base[line])) : [])]);
    this.draws++;
  }
}
