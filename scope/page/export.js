// SPDX-License-Identifier: GPL-2.0-or-later
// A figure for a paper or a ticket: title, target, date and settings, the picture, a table.
import { axis } from "./axis.js";
import { headline, last } from "./chain.js";
import { clock, colour, count, date, element, exact, lineColour, time } from "./format.js";
import { say } from "./link.js";
import { run, verdict } from "./overview.js";
import { chosen, shown, world } from "./state.js";

const SCALE = 2, MARGIN = 24, LINE = 18, WIDE = 1100;
const TITLES = /** @type {Record<string, string>} */ ({ live: "Answers over time", overlay: "All answers",
  long: "Maxima over time, and all answers", chain: "Chain of one trigger", worst: "The worst triggers" });

/** Draws on a canvas, or into an SVG: both are told the same.
 * @typedef {object} Pen
 * @property {(wide: number, tall: number, paper: string) => void} begin
 * @property {(x: number, y: number, words: string, ink: string, size: number, anchor: string) => void} text
 * @property {(x: number, y: number, wide: number, tall: number, ink: string) => void} box
 * @property {(one: HTMLCanvasElement, x: number, y: number, wide: number, tall: number) => void} picture
 */

/** What a reader must know. @returns {string[]} */
export function head() {
  const { status } = world, one = run();
  if (!status) return [];
  const { state, floor } = status;
  const { each } = axis(), [from, to] = axis().window();
  const lines = [`${status.target || status.recording}, ${one?.title ?? "no run"}, ` +
    `${date(one?.began ?? 0)}, ${count(one?.triggers ?? 0)} triggers`];
  if (state) lines.push(`${state.millihertz / 1000} Hz, duty ${state.duty_ppm / 1e4} %, ` +
    `phase ${state.phase ? `random (seed ${state.seed})` : "fixed"}, patience ${time(state.patience_ns)}; ` +
    (floor ? `generator's floor: p99 ${time(floor.p99)}` : "generator's floor not measured"));
  if (chosen.view === "live" || chosen.view === "long")
    lines.push(`Shown: ${clock(from)} to ${clock(to)} UTC, in columns of ${time(each)}`);
  if (chosen.view === "chain" && last.chain) lines.push(headline(last.chain));
  if (chosen.limit !== null) lines.push(`Limit ${exact(chosen.limit)}: ${verdict().words}`);
  if (status.doubts.length) lines.push(`Not a result: ${status.doubts.join("; ")}`);
  return lines;
}

const COLUMNS = ["mechanism", "min", "p50", "p99", "p99.9", "max", "late", "missing"];
/** @returns {string[][]} */
function rows() {
  return shown().lines.filter((row, line) => row.triggers && !chosen.hidden.has(line))
    .map((row) => [row.name, time(row.min),
      ...[50, 99, 99.9].map((one) => time(row.percentiles[world.percents.indexOf(one)])),
      time(row.max), count(row.late), count(row.missing)]);
}

/** @returns {[string[], string[][]]} */
function table() {
  if (chosen.view !== "chain" || !last.chain) return [COLUMNS, rows()];
  const hop = (/** @type {any} */ one) => [one.name, time(one.ns), one.after ?? "–",
    time(Math.abs(one.after_ns ?? 0)), one.usual === null ? "not known" : time(one.usual)];
  return [["answer", "after the trigger", "comes after", "since that", "usually"], last.chain.hops.map(hop)];
}

/** @param {Blob} blob @param {string} name */
function save(blob, name) {
  const link = /** @type {HTMLAnchorElement} */ (element("a", "", { href: URL.createObjectURL(blob), download: name }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

const name = (/** @type {string} */ ending) =>
  `scope-${chosen.view}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}.${ending}`;

/** The pictures that are on the screen, with their names. */
function pictures() {
  return [...document.querySelectorAll(`section[data-view=${chosen.view}] canvas`)]
    .map((one) => /** @type {HTMLCanvasElement} */ (one))
    .filter((one) => one.offsetParent && one.clientHeight > 20)
    .map((canvas) => ({ canvas, title: canvas.closest("[data-title]")?.getAttribute("data-title") ?? "",
      line: Number(canvas.closest("[data-line]")?.getAttribute("data-line") ?? -1) }));
}

/** Where all of it goes. */
function layout() {
  const parts = pictures(), lines = head(), [columns, body] = table();
  const across = parts.length > 3 ? 2 : 1, wide = (WIDE - 2 * MARGIN - (across - 1) * 12) / across;
  let y = MARGIN + 22 + lines.length * LINE + 10;
  const placed = [];
  for (let at = 0; at < parts.length; at += across) {
    const tall = parts.slice(at, at + across).map((one) => wide * one.canvas.height / one.canvas.width);
    parts.slice(at, at + across).forEach((one, part) =>
      placed.push({ ...one, x: MARGIN + part * (wide + 12), y: y + LINE, wide, tall: tall[part] }));
    y += Math.max(...tall) + LINE + 8;
  }
  const hops = chosen.view === "chain" && last.chain ? last.chain.hops : [], waterfall = y;
  y += hops.length ? hops.length * LINE + 12 : 0;
  const legend = parts.some((one) => one.line < 0) && chosen.view === "long" ? y : 0;
  if (legend) y += LINE + 4;
  return { placed, lines, hops, waterfall, columns, body, legend, below: y,
    height: y + (body.length + 1) * LINE + MARGIN };
}

/** The bars of a chain, as the page has them. @param {Pen} pen @param {any} all */
function bars(pen, all) {
  const names = 130, end = Math.max(1, ...all.hops.map((/** @type {any} */ hop) => hop.ns));
  const wide = WIDE - 2 * MARGIN - names;
  all.hops.forEach((/** @type {any} */ hop, /** @type {number} */ at) => {
    const took = hop.after_ns === null ? hop.step_ns : Math.max(hop.after_ns, 0), y = all.waterfall + at * LINE;
    pen.text(MARGIN, y + 12, hop.name, colour("fg"), 12, "start");
    const begin = MARGIN + names + wide * (hop.ns - took) / end;
    pen.box(begin, y + 2, Math.max(wide * took / end, 2), 12, lineColour(hop.line));
  });
}

/** All of it. @param {Pen} pen */
function compose(pen) {
  const all = layout(), ink = colour("fg"), dim = colour("dim");
  pen.begin(WIDE, all.height, colour("bg"));
  pen.text(MARGIN, MARGIN + 14, `isolator-scope: ${TITLES[chosen.view]}`, ink, 18, "start");
  all.lines.forEach((one, at) => pen.text(MARGIN, MARGIN + 22 + (at + 1) * LINE, one, dim, 13, "start"));
  for (const one of all.placed) {
    pen.text(one.x, one.y - 5, one.title, one.line >= 0 ? lineColour(one.line) : ink, 13, "start");
    pen.picture(one.canvas, one.x, one.y, one.wide, one.tall);
  }
  if (all.legend) world.names.forEach((each, line) => {
    const x = MARGIN + line * (WIDE - 2 * MARGIN) / world.names.length;
    pen.box(x, all.legend, 10, 10, lineColour(line)); pen.text(x + 13, all.legend + 9, each, ink, 11, "start");
  });
  bars(pen, all);
  const each = (WIDE - 2 * MARGIN) / all.columns.length;
  [all.columns, ...all.body].forEach((row, line) => row.forEach((cell, at) =>
    pen.text(MARGIN + at * each + (at ? each - 10 : 0), all.below + (line + 1) * LINE, cell, line ? ink : dim, 12,
      at ? "end" : "start")));
}

export function png() {
  const canvas = document.createElement("canvas");
  const ctx = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  compose({
    begin: (wide, tall, paper) => {
      canvas.width = wide * SCALE; canvas.height = tall * SCALE;
      ctx.scale(SCALE, SCALE); ctx.fillStyle = paper; ctx.fillRect(0, 0, wide, tall);
    },
    text: (x, y, words, ink, size, anchor) => {
      ctx.fillStyle = ink; ctx.font = `${size}px system-ui, sans-serif`;
      ctx.textAlign = anchor === "end" ? "right" : "left"; ctx.fillText(words, x, y);
    },
    box: (x, y, wide, tall, ink) => { ctx.fillStyle = ink; ctx.fillRect(x, y, wide, tall); },
    picture: (one, x, y, wide, tall) => ctx.drawImage(one, x, y, wide, tall),
  });
  canvas.toBlob((blob) => { if (blob) save(blob, name("png")); });
}

const escape = (/** @type {string} */ words) =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** Text as text, pictures as they are on the screen. */
export function svg() {
  const parts = /** @type {string[]} */ ([]);
  compose({
    begin: (wide, tall, paper) => parts.push(
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${Math.ceil(tall)}" width="${wide}"`,
      ` font-family="system-ui,sans-serif"><title>${escape(TITLES[chosen.view])}</title>`,
      `<rect width="100%" height="100%" fill="${paper}"/>`),
    text: (x, y, words, ink, size, anchor) => parts.push(`<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" fill="${ink}"`,
      ` font-size="${size}" text-anchor="${anchor}">${escape(words)}</text>`),
    box: (x, y, wide, tall, ink) => parts.push(
      `<rect x="${x}" y="${y}" width="${wide}" height="${tall}" fill="${ink}"/>`),
    picture: (one, x, y, wide, tall) => parts.push(
      `<image href="${one.toDataURL("image/png")}" x="${x}" y="${y}" width="${wide}" height="${tall}"/>`),
  });
  save(new Blob([...parts, "</svg>\n"], { type: "image/svg+xml" }), name("svg"));
}

/** For a ticket. */
export async function markdown() {
  const [columns, body] = table();
  const row = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  const text = [...head(), "", row(columns), row(columns.map((_, at) => at ? "---:" : "---")), ...body.map(row), ""]
    .join("\n");
  try {
    await navigator.clipboard.writeText(text);
    say("copied as Markdown");
  } catch {
    save(new Blob([text], { type: "text/markdown" }), name("md"));
  }
}
