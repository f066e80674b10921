// SPDX-License-Identifier: GPL-2.0-or-later
// All of the recording in one strip; the window in it can be put anywhere.
import { axis } from "./axis.js";
import { colour, date, get } from "./format.js";
import { receive, send } from "./link.js";
import { chosen, on, world } from "./state.js";

const HEIGHT = 34, RENEW = 2000; // ms
let all = /** @type {{begin: number, each: number, cells: [number, number, number][]}|null} */ (null);
let key = "";

function span() {
  const begin = world.status?.began ?? 0, end = Math.max(axis().latest, begin + 1);
  return [begin, end];
}

export function draw() {
  const canvas = get("minimap"), ratio = devicePixelRatio, width = Math.max(canvas.clientWidth, 200);
  const [begin, end] = span(), [from, to] = axis().window();
  const now = [width, ratio, begin, Math.round(end / 1e8), from, to, all?.cells.length, all?.begin, chosen.limit,
    colour("scheme")].join();
  if (now === key) return;
  key = now;
  canvas.width = Math.round(width * ratio); canvas.height = Math.round(HEIGHT * ratio);
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.fillStyle = colour("panel"); ctx.fillRect(0, 0, width, HEIGHT);
  const place = (/** @type {number} */ ns) => (ns - begin) / (end - begin) * width;
  cells(ctx, place);
  const a = Math.max(place(from), 0), b = Math.max(Math.min(place(to), width), a + 3);
  ctx.fillStyle = colour("one"); ctx.globalAlpha = 0.18; ctx.fillRect(a, 0, b - a, HEIGHT);
  ctx.globalAlpha = 1; ctx.strokeStyle = colour("one"); ctx.strokeRect(a + 0.5, 0.5, b - a - 1, HEIGHT - 1);
  canvas.setAttribute("aria-valuetext", `${date(from)} to ${date(to)}`);
  canvas.setAttribute("aria-valuenow", String(Math.round(100 * (to - begin) / (end - begin))));
}

/** The maximum of all mechanisms in each piece, logarithmic.
 * @param {CanvasRenderingContext2D} ctx @param {(ns: number) => number} place */
function cells(ctx, place) {
  if (!all) return;
  let low = Infinity, high = 1;
  for (const [, most] of all.cells) if (most >= 0) { low = Math.min(low, most); high = Math.max(high, most); }
  const bottom = Math.log(Math.max(low, 1) * 0.5), top = Math.log(high * 1.1);
  for (const [index, most, missing] of all.cells) {
    const x = place(all.begin + index * all.each), wide = Math.max(place(all.begin + (index + 1) * all.each) - x, 1);
    if (most >= 0) {
      const tall = Math.max((Math.log(Math.max(most, 1)) - bottom) / (top - bottom) * (HEIGHT - 6), 2);
      ctx.fillStyle = chosen.limit !== null && most > chosen.limit ? colour("bad") : colour("dim");
      ctx.fillRect(x, HEIGHT - tall, Math.ceil(wide), tall);
    }
    if (missing) { ctx.fillStyle = colour("bad"); ctx.fillRect(x, 0, Math.ceil(wide), 3); }
  }
}

/** @param {PointerEvent} event */
function put(event) {
  const canvas = get("minimap"), [begin, end] = span(), one = axis();
  const at = begin + (event.clientX - canvas.getBoundingClientRect().left) / canvas.clientWidth * (end - begin);
  one.fit = false;
  one.look(at + one.span / 2);
}

export function bind() {
  const canvas = get("minimap");
  receive("map", (words) => { all = words; });
  canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    canvas.setPointerCapture(event.pointerId);
    put(event);
  });
  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => { if (event.buttons) put(event); });
  canvas.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const [begin] = span(), one = axis();
    const act = /** @type {Record<string, () => void>} */ ({
      ArrowLeft: () => one.pan(-0.25), ArrowRight: () => one.pan(0.25), PageUp: () => one.pan(-1),
      PageDown: () => one.pan(1), Home: () => one.look(begin + one.span), End: () => one.follow() })[event.key];
    if (act) { event.preventDefault(); event.stopPropagation(); act(); }
  });
  const renew = () => { if (world.server && (chosen.view === "live" || chosen.view === "long")) send({ map: {} }); };
  on("view", renew);
  setInterval(renew, RENEW);
}
