// SPDX-License-Identifier: GPL-2.0-or-later
// The persistence view: all answers of a line on top of each other, as an oscilloscope shows
// them.  Colour by density; what is new glows and fades; what came once never disappears.
import { colour, lineColour, lowest, time } from "./format.js";

const LEFT = 96, RIGHT = 92, TOP = 8, BOTTOM = 26;
const STEPS = [1, 2, 5];
export const RANGES = ["all", "log"]; // then 1 us, 2 us, 5 us, … 10 s, in ns
for (let power = 3; power <= 9; power++) for (const step of STEPS) RANGES.push(step * 10 ** power);
RANGES.push(10 ** 10);
export const FADES = [1, 5, 20, 60, Infinity]; // s

// From dark blue over red and yellow to white, or dark to light on paper.
function ramp(share) {
  const t = Math.min(Math.max(share, 0), 1);
  return `hsl(${250 - 210 * t} 90% ${35 + (colour("scheme") === "dark" ? 45 : 15) * t}%)`;
}

export class Persistence {
  constructor(canvas, world) {
    Object.assign(this, { canvas, world, glow: [], since: [], range: 0, fade: 1, draws: 0, last: 0 });
  }
  add(line, changes) {
    const glow = this.glow[line] ??= new Map(), since = this.since[line] ??= new Map();
    for (const [index, n] of changes) {
      glow.set(index, (glow.get(index) || 0) + n);
      since.set(index, (since.get(index) || 0) + n);
    }
    this.fresh = true;
  }
  clear() { this.glow = []; this.since = []; }
  end() {
    let most = 0;
    this.world.lines.forEach((row) => { most = Math.max(most, row.max ?? 0); });
    return Math.max(most * 1.05, 1000);
  }
  update(now) {
    const { canvas, world } = this, ratio = devicePixelRatio;
    const width = Math.max(canvas.clientWidth, 300);
    const shown = world.lines.map((row, line) => [row, line]).filter(([row]) => row.triggers);
    const lane = Math.max(34, Math.min(70, 560 / Math.max(shown.length, 1)));
    const height = TOP + BOTTOM + lane * Math.max(shown.length, 1);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    const ctx = canvas.getContext("2d");
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colour("bg"); ctx.fillRect(0, 0, width, height);
    const log = RANGES[this.range] === "log";
    const end = typeof RANGES[this.range] === "number" ? RANGES[this.range] : this.end();
    const span = width - LEFT - RIGHT;
    const place = (ns) => LEFT + span * (log ? Math.log10(Math.max(ns, 100) / 100) / Math.log10(end / 100) : ns / end);
    const old = FADES[this.fade] === Infinity ? 1 : Math.exp(-(now - this.last) / 1000 / FADES[this.fade]);
    this.last = now;
    this.axis(ctx, place, end, log, width, height);
    shown.forEach(([row, line], at) => this.lane(ctx, row, line, TOP + at * lane, lane, place, end, width, old));
    if (this.fresh) { this.draws++; this.fresh = false; }
  }
  axis(ctx, place, end, log, width, height) {
    ctx.font = "11px system-ui"; ctx.textAlign = "center"; ctx.strokeStyle = colour("line");
    const marks = [];
    if (log) for (let power = 2; 10 ** power <= end; power++) marks.push(10 ** power);
    else for (let part = 0; part <= 10; part++) marks.push(end * part / 10);
    for (const ns of marks) {
      const x = Math.round(place(ns)) + 0.5;
      ctx.beginPath(); ctx.moveTo(x, TOP); ctx.lineTo(x, height - BOTTOM); ctx.stroke();
      ctx.fillStyle = colour("dim"); ctx.fillText(time(+ns.toPrecision(3)), x, height - 9);
    }
  }
  lane(ctx, row, line, top, lane, place, end, width, old) {
    const glow = this.glow[line] ??= new Map(), ever = this.world.ever[line];
    const low = top + lane - 6, high = top + 6;
    ctx.fillStyle = colour("fg"); ctx.textAlign = "right"; ctx.fillText(row.name, LEFT - 8, top + lane / 2 + 4);
    ctx.fillStyle = lineColour(line); ctx.fillRect(LEFT - 5, high, 3, low - high);
    if (!row.count) {
      ctx.fillStyle = colour("bad"); ctx.textAlign = "left";
      ctx.fillText(`no answer yet, ${row.missing} missing`, LEFT + 6, top + lane / 2 + 4);
      return;
    }
    let most = 1, brightest = 1;
    ever?.forEach((n) => { most = Math.max(most, n); });
    for (const n of glow.values()) brightest = Math.max(brightest, n);
    const { bits } = this.world, dense = Math.log(1 + most);
    let beyond = 0;
    const bucket = (index, n) => {
      const from = lowest(index, bits), to = lowest(index + 1, bits);
      if (from > end) { beyond += n; return; }
      const x = place(from), wide = Math.max(2, place(Math.min(to, end)) - x);
      const bright = glow.get(index) || 0;
      ctx.fillStyle = ramp(Math.log(1 + n) / dense);
      ctx.globalAlpha = 0.45 + 0.55 * Math.min(1, Math.log(1 + bright) / Math.log(1 + brightest));
      ctx.fillRect(x, high, wide, low - high);
    };
    ever?.forEach((n, index) => { if (n) bucket(index, n); });
    ctx.globalAlpha = 1;
    for (const [index, n] of glow) { if (n * old < 0.01) glow.delete(index); else glow.set(index, n * old); }
    // The line is low until its earliest answer and high from its latest one on.
    const first = place(Math.min(row.min, end)), last = place(Math.min(row.max, end));
    ctx.strokeStyle = colour("fg"); ctx.lineWidth = 1.2; ctx.beginPath();
    ctx.moveTo(LEFT, low); ctx.lineTo(first, low);
    if (row.max <= end) { ctx.moveTo(last, high); ctx.lineTo(width - RIGHT, high); }
    ctx.stroke();
    ctx.fillStyle = colour("edge");
    if (row.min <= end) ctx.fillRect(first - 1, high - 4, 2, low - high + 8);
    if (row.max <= end) ctx.fillRect(last - 1, high - 4, 3, low - high + 8);
    else { // beyond the view: an arrow, never nothing
      const x = width - RIGHT;
      ctx.beginPath(); ctx.moveTo(x - 9, high); ctx.lineTo(x, (high + low) / 2); ctx.lineTo(x - 9, low); ctx.fill();
    }
    ctx.textAlign = "left"; ctx.fillStyle = colour("fg");
    ctx.fillText(time(row.min), width - RIGHT + 6, top + lane / 2 - 3);
    ctx.fillText(time(row.max) + (row.max > end ? ` ▸${beyond}` : ""), width - RIGHT + 6, top + lane / 2 + 11);
  }
}
