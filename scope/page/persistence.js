// SPDX-License-Identifier: GPL-2.0-or-later
// The persistence view: all answers of a line on top of each other, as an oscilloscope shows
// them.  Colour by density; what is new glows and fades; what came once never disappears.
import { colour, lineColour, lowest, steps, time } from "./format.js";
import { chosen, isHeld, shown, world } from "./state.js";

const LEFT = 96, RIGHT = 92, TOP = 8, BOTTOM = 26, FLOOR = 100;
/** @type {(string|number)[]} */
export const RANGES = ["log", "all", ...steps(1e3, 1e10)]; // the latter in ns
export const FADES = [1, 5, 20, 60, Infinity]; // s
const EACH = 100; // ms between draws: enough to see it fade
const SHADES = 64;

/** From dark blue over red and yellow to white, or dark to light on paper. @param {boolean} dark */
function ramp(dark) {
  const probe = document.createElement("canvas");
  probe.width = SHADES; probe.height = 1;
  const ctx = /** @type {CanvasRenderingContext2D} */ (probe.getContext("2d", { willReadFrequently: true }));
  for (let shade = 0; shade < SHADES; shade++) {
    const t = shade / (SHADES - 1);
    ctx.fillStyle = `hsl(${250 - 210 * t} 90% ${35 + (dark ? 45 : 15) * t}%)`;
    ctx.fillRect(shade, 0, 1, 1);
  }
  return ctx.getImageData(0, 0, SHADES, 1).data;
}

export class Persistence {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    this.canvas = canvas;
    /** @type {Map<number, number>[]} */
    this.glow = [];
    this.range = 0;
    this.fade = 1;
    this.draws = 0;
    this.last = 0;
    this.fresh = true;
    this.scheme = "";
    this.shades = new Uint8ClampedArray(0);
    this.strip = document.createElement("canvas");
  }
  /** @param {number} line @param {[number, number][]} changes */
  add(line, changes) {
    const glow = this.glow[line] ??= new Map();
    for (const [index, n] of changes) glow.set(index, (glow.get(index) || 0) + n);
    this.fresh = true;
  }
  clear() { this.glow = []; this.fresh = true; }
  /** Where the view ends, ns. */
  end() {
    const range = RANGES[this.range];
    if (typeof range === "number") return range;
    let most = 0;
    for (const row of shown().lines) most = Math.max(most, row.max ?? 0);
    return Math.max(most * 1.05, chosen.limit ?? 0, 1000);
  }
  words() {
    const range = RANGES[this.range];
    return range === "all" ? "all answers, linear" : range === "log" ? "all answers, logarithmic"
      : `0 to ${time(/** @type {number} */ (range))}`;
  }
  /** @param {number} width */
  scale(width) {
    const log = RANGES[this.range] === "log", end = this.end(), span = width - LEFT - RIGHT;
    return (/** @type {number} */ ns) => LEFT + span * (log
      ? Math.log10(Math.max(ns, FLOOR) / FLOOR) / Math.log10(end / FLOOR) : ns / end);
  }
  /** Only when there is something to draw, and no more than some times a second.
   * @param {number} now ms @param {boolean} force */
  update(now, force) {
    const fading = !isHeld() && this.glow.some((one) => one?.size) && FADES[this.fade] !== Infinity;
    if (!force && (now - this.last < EACH || !(this.fresh || fading))) return;
    const { canvas } = this, ratio = devicePixelRatio, width = Math.max(canvas.clientWidth, 300);
    const rows = shown().lines.map((row, line) => ({ row, line })).filter(({ row }) => row.triggers);
    const lane = Math.max(34, Math.min(70, 560 / Math.max(rows.length, 1)));
    const height = TOP + BOTTOM + lane * Math.max(rows.length, 1);
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio); canvas.height = Math.round(height * ratio);
      canvas.style.height = `${height}px`;
    }
    const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.fillStyle = colour("bg"); ctx.fillRect(0, 0, width, height);
    this.axis(ctx, width, height);
    rows.forEach(({ row, line }, at) => this.lane(ctx, row, line, TOP + at * lane, lane, width));
    this.limit(ctx, width, height);
    this.age(now);
    if (this.fresh) { this.draws++; this.fresh = false; }
  }
  /** What is new fades. @param {number} now */
  age(now) {
    const seconds = FADES[this.fade], old = seconds === Infinity || isHeld() ? 1
      : Math.exp(-(now - this.last) / 1000 / seconds);
    this.last = now;
    if (old === 1) return;
    for (const glow of this.glow)
      for (const [index, n] of glow ?? [])
        if (n * old < 0.01) glow.delete(index); else glow.set(index, n * old);
  }
  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  axis(ctx, width, height) {
    const end = this.end(), place = this.scale(width), log = RANGES[this.range] === "log";
    ctx.font = "11px system-ui"; ctx.textAlign = "center"; ctx.strokeStyle = colour("line");
    ctx.lineWidth = 1;
    let marks = steps(FLOOR, end).filter((one) => !log || /^10*$/.test(String(one)));
    if (!log) {
      const each = steps(end / 20, end).find((one) => end / one <= 12) ?? end;
      marks = Array.from({ length: Math.floor(end / each) + 1 }, (_, part) => part * each);
    }
    for (const ns of marks) {
      const x = Math.round(place(ns)) + 0.5;
      ctx.beginPath(); ctx.moveTo(x, TOP); ctx.lineTo(x, height - BOTTOM); ctx.stroke();
      ctx.fillStyle = colour("dim"); ctx.fillText(ns ? time(+ns.toPrecision(3)) : "0", x, height - 9);
    }
  }
  /** @param {CanvasRenderingContext2D} ctx @param {number} width @param {number} height */
  limit(ctx, width, height) {
    if (chosen.limit === null || chosen.limit > this.end()) return;
    const x = Math.round(this.scale(width)(chosen.limit)) + 0.5;
    ctx.strokeStyle = colour("bad"); ctx.setLineDash([6, 4]);
    ctx.beginPath(); ctx.moveTo(x, TOP); ctx.lineTo(x, height - BOTTOM); ctx.stroke();
    ctx.setLineDash([]);
  }
  /** Answers of a lane, a pixel for each column of it: density, and how new they are.
   * @param {number} line @param {number} width */
  columns(line, width) {
    const place = this.scale(width), end = this.end(), { bits } = world;
    const wide = Math.ceil(width - LEFT - RIGHT);
    const count = new Float64Array(wide), bright = new Float64Array(wide);
    const ever = shown().ever[line], glow = this.glow[line] ?? new Map();
    let beyond = 0;
    ever?.forEach((/** @type {number} */ n, /** @type {number} */ index) => {
      if (!n) return;
      const from = lowest(index, bits);
      if (from > end) { beyond += n; return; }
      const begin = Math.min(Math.floor(place(from) - LEFT), wide - 2);
      const last = Math.max(Math.ceil(place(Math.min(lowest(index + 1, bits), end)) - LEFT), begin + 2);
      const shine = glow.get(index) || 0;
      for (let x = begin; x < Math.min(last, wide); x++) {
        count[x] = Math.max(count[x], n);
        bright[x] = Math.max(bright[x], shine);
      }
    });
    return { count, bright, wide, beyond };
  }
  /** @param {CanvasRenderingContext2D} ctx @param {number} line @param {number} high
   * @param {number} tall @param {number} width */
  density(ctx, line, high, tall, width) {
    const { count, bright, wide, beyond } = this.columns(line, width);
    if (this.scheme !== colour("scheme")) {
      this.scheme = colour("scheme");
      this.shades = ramp(this.scheme === "dark");
    }
    const most = Math.log(1 + count.reduce((a, b) => Math.max(a, b), 1));
    const brightest = Math.log(1 + bright.reduce((a, b) => Math.max(a, b), 1));
    const image = new ImageData(wide, 1);
    for (let x = 0; x < wide; x++) {
      if (!count[x]) continue;
      const shade = Math.min(Math.floor(Math.log(1 + count[x]) / most * (SHADES - 1)), SHADES - 1);
      image.data.set(this.shades.subarray(4 * shade, 4 * shade + 3), 4 * x);
      image.data[4 * x + 3] = 255 * (0.45 + 0.55 * Math.min(1, Math.log(1 + bright[x]) / brightest));
    }
    this.strip.width = wide; this.strip.height = 1;
    this.strip.getContext("2d")?.putImageData(image, 0, 0);
    ctx.imageSmoothingEnabled = false;
    ctx.drawImage(this.strip, LEFT, high, wide, tall);
    return beyond;
  }
  /** @param {CanvasRenderingContext2D} ctx @param {import("./state.js").Line} row @param {number} line
   * @param {number} top @param {number} lane @param {number} width */
  lane(ctx, row, line, top, lane, width) {
    const low = top + lane - 6, high = top + 6, middle = top + lane / 2;
    ctx.font = "11px system-ui";
    ctx.fillStyle = colour("fg"); ctx.textAlign = "right"; ctx.fillText(row.name, LEFT - 8, middle + 4);
    ctx.fillStyle = lineColour(line); ctx.fillRect(LEFT - 5, high, 3, low - high);
    ctx.textAlign = "left";
    const { min, max } = row;
    if (min === null || max === null) {
      ctx.fillStyle = colour("bad");
      ctx.fillText(`no answer yet, ${row.missing} missing`, LEFT + 6, middle + 4);
      return;
    }
    const beyond = this.density(ctx, line, high, low - high, width);
    this.edges(ctx, min, max, low, high, width);
    ctx.fillStyle = colour("fg");
    ctx.fillText(time(min), width - RIGHT + 6, middle - 3);
    ctx.fillText(time(max) + (max > this.end() ? ` ▸${beyond}` : ""), width - RIGHT + 6, middle + 11);
  }
  /** The line is low until its earliest answer and high from its latest one on.
   * @param {CanvasRenderingContext2D} ctx @param {number} min ns @param {number} max ns
   * @param {number} low @param {number} high @param {number} width */
  edges(ctx, min, max, low, high, width) {
    const end = this.end(), place = this.scale(width);
    const first = place(Math.min(min, end)), last = place(Math.min(max, end));
    ctx.strokeStyle = colour("fg"); ctx.lineWidth = 1.2; ctx.beginPath();
    ctx.moveTo(LEFT, low); ctx.lineTo(first, low);
    if (max <= end) { ctx.moveTo(last, high); ctx.lineTo(width - RIGHT, high); }
    ctx.stroke();
    ctx.fillStyle = colour("edge");
    if (min <= end) ctx.fillRect(first - 1, high - 4, 2, low - high + 8);
    if (max <= end) { ctx.fillRect(last - 1, high - 4, 3, low - high + 8); return; }
    const x = width - RIGHT; // beyond the view: an arrow, never nothing
    ctx.beginPath(); ctx.moveTo(x - 9, high); ctx.lineTo(x, (high + low) / 2); ctx.lineTo(x - 9, low); ctx.fill();
  }
}
