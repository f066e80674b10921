// SPDX-License-Identifier: GPL-2.0-or-later
// A figure for a paper or a ticket: title, target, date and settings, the picture, a table.
import { axis } from "./axis.js";
import { headline, last } from "./chain.js";
import { clock, colour, count, date, exact, lineColour, time } from "./format.js";
import { say } from "./link.js";
import { run, verdict } from "./overview.js";
import { chosen, shown, there, world } from "./state.js";

const MARGIN = 24, LINE = 18, WIDE = 1100;
const TITLES = /** @type {Record<string, string>} */ ({ live: "Answers over time", overlay: "All answers",
  long: "Maxima over time, and all answers", chain: "Chain of one trigger", worst: "The worst triggers" });

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
  const hop = (/** @type {import("./state.js").Hop} */ one) => [one.name, time(one.ns), one.after ?? "–",
    time(Math.abs(one.after_ns ?? 0)), one.usual === null ? "not known" : time(one.usual)];
  return [["answer", "after the trigger", "comes after", "since that", "usually"], last.chain.hops.map(hop)];
}

const name = () => `scope-${chosen.view}-${new Date().toISOString().slice(0, 19).replaceAll(":", "")}`;

/** The pictures that are on the screen, with their names. */
function pictures() {
  return [...document.querySelectorAll(`section[data-view=${chosen.view}] canvas`)]
    .map((one) => /** @type {HTMLCanvasElement} */ (one))
    .filter((one) => one.offsetParent && one.clientHeight > 20)
    .map((canvas) => ({ canvas, title: canvas.closest("[data-title]")?.getAttribute("data-title") ?? "",
      line: Number(canvas.closest("[data-line]")?.getAttribute("data-line") ?? -1) }));
}

/** @typedef {{canvas: HTMLCanvasElement, title: string, line: number, x: number, y: number, wide: number,
 *   tall: number}} Placed a picture, and where */

/** Where all of it goes. */
function layout() {
  const parts = pictures(), lines = head(), [columns, body] = table();
  const across = parts.length > 3 ? 2 : 1, wide = (WIDE - 2 * MARGIN - (across - 1) * 12) / across;
  let y = MARGIN + 22 + lines.length * LINE + 10;
  const placed = /** @type {Placed[]} */ ([]);
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
  const curves = there().filter((line) => !chosen.hidden.has(line));
  return { placed, lines, hops, waterfall, columns, body, legend, curves, below: y,
    height: y + (body.length + 1) * LINE + MARGIN };
}

const escape = (/** @type {string} */ words) =>
  words.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

/** @param {number} x @param {number} y @param {string} words @param {string} ink @param {number} size
 * @param {"start"|"end"} [anchor] */
const text = (x, y, words, ink, size, anchor = "start") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" ` +
  `fill="${ink}" font-size="${size}" text-anchor="${anchor}">${escape(words)}</text>`;

/** @param {number} x @param {number} y @param {number} wide @param {number} tall @param {string} ink */
const box = (x, y, wide, tall, ink) =>
  `<rect x="${x}" y="${y}" width="${wide}" height="${tall}" fill="${ink}"/>`;

/** The bars of a chain, as the page has them. @param {ReturnType<typeof layout>} all @returns {string[]} */
function bars(all) {
  const names = 130, end = Math.max(1, ...all.hops.map((hop) => hop.ns));
  const wide = WIDE - 2 * MARGIN - names;
  return all.hops.flatMap((hop, at) => {
    const took = hop.after_ns === null ? hop.step_ns : Math.max(hop.after_ns, 0), y = all.waterfall + at * LINE;
    return [text(MARGIN, y + 12, hop.name, colour("fg"), 12),
      box(MARGIN + names + wide * (hop.ns - took) / end, y + 2, Math.max(wide * took / end, 2), 12,
        lineColour(hop.line))];
  });
}

/** All of it: text as text, pictures as they are on the screen. */
function compose() {
  const all = layout(), ink = colour("fg"), dim = colour("dim"), tall = Math.ceil(all.height);
  const title = `isolator-scope: ${TITLES[chosen.view]}`, each = (WIDE - 2 * MARGIN) / all.columns.length;
  return [`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDE} ${tall}" width="${WIDE}" height="${tall}"`,
    ` font-family="system-ui,sans-serif"><title>${escape(title)}</title>`,
    `<rect width="100%" height="100%" fill="${colour("bg")}"/>`, text(MARGIN, MARGIN + 14, title, ink, 18),
    ...all.lines.map((one, at) => text(MARGIN, MARGIN + 22 + (at + 1) * LINE, one, dim, 13)),
    ...all.placed.map((one) => text(one.x, one.y - 5, one.title, one.line >= 0 ? lineColour(one.line) : ink, 13) +
      `<image href="${one.canvas.toDataURL("image/png")}" x="${one.x}" y="${one.y}" width="${one.wide}" ` +
      `height="${one.tall}"/>`),
    ...(all.legend ? all.curves : []).map((line, at) => {
      const x = MARGIN + at * (WIDE - 2 * MARGIN) / all.curves.length;
      return box(x, all.legend, 10, 10, lineColour(line)) + text(x + 13, all.legend + 9, world.names[line], ink, 11);
    }),
    ...bars(all),
    ...[all.columns, ...all.body].flatMap((row, line) => row.map((cell, at) =>
      text(MARGIN + at * each + (at ? each - 10 : 0), all.below + (line + 1) * LINE, cell, line ? ink : dim, 12,
        at ? "end" : "start"))), "</svg>\n"].join("");
}

/** @param {"svg"|"png"} kind */
export const save = (kind) => saveFigure(compose(), name(), kind);

/** For a ticket. */
export async function markdown() {
  const [columns, body] = table();
  const row = (/** @type {string[]} */ cells) => `| ${cells.join(" | ")} |`;
  const words = [...head(), "", row(columns), row(columns.map((_, at) => at ? "---:" : "---")), ...body.map(row), ""]
    .join("\n");
  try {
    await navigator.clipboard.writeText(words);
    say("copied as Markdown");
  } catch {
    saveFile(new Blob([words], { type: "text/markdown" }), `${name()}.md`);
  }
}
