// SPDX-License-Identifier: GPL-2.0-or-later
// The views: which is open, their charts, when they are drawn.
import { axes, axis } from "./axis.js";
import * as chain from "./chain.js";
import { TimeChart } from "./charts.js";
import { Distribution } from "./distribution.js";
import { clock, element, get, length, lineColour, repaint } from "./format.js";
import { cursor, hands, reading, where, worstOf } from "./hands.js";
import * as minimap from "./minimap.js";
import { FADES, Persistence, RANGES } from "./persistence.js";
import { chosen, isHeld, on, setHeld, shown, tell, there, world } from "./state.js";

export const VIEWS = ["live", "overlay", "long", "chain", "worst"];
const SHORT = 150, TALL = 320, EACH = 30; // pixels, and ms between draws

/** @type {{box: HTMLElement, reading: HTMLElement, chart: TimeChart}[]} */
export const charts = [];
export const maxima = { chart: /** @type {TimeChart|null} */ (null) };
export const drawn = { frames: 0, points: 0 };
export const overlay = new Persistence(get("overlay"));
export const histogram = new Distribution(get("histogram"), 300);
let dirty = true, forced = true, last = 0, counted = 0;

// Half of what drawing costs is for charts that are scrolled away: those wait.
/** @type {Set<Element>} */
const near = new Set();
const watch = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries)
    if (isIntersecting) near.add(target); else near.delete(target);
  touch();
}, { rootMargin: "100px" });

/** Something is to be drawn; `all`: also what is drawn seldom. @param {boolean} [all] */
export function touch(all = false) { dirty = true; forced ||= all; }

function height() {
  const across = Math.max(Math.floor(get("charts").clientWidth / 390), 1);
  const room = innerHeight - get("charts").getBoundingClientRect().top - scrollY;
  const rows = Math.ceil(Math.max(there().filter((line) => !chosen.hidden.has(line)).length, 1) / across);
  return Math.round(Math.min(Math.max(room / rows - 48, SHORT), TALL));
}

/** Charts of all lines; again when there are others. */
export function build() {
  get("charts").replaceChildren();
  watch.disconnect(); near.clear();
  charts.forEach(({ chart }) => chart.plot.destroy());
  charts.length = 0;
  world.names.forEach((name, line) => {
    const box = element("div", "", { class: "chart", id: `chart-${line}`, role: "group", "aria-label": name,
      "data-title": name, "data-line": line });
    const head = element("h2"), label = element("span", name, { class: "chip" });
    label.style.setProperty("--chip", lineColour(line));
    const words = element("span", "", { class: "reading" }), holder = element("div");
    head.append(label, words); box.append(head, holder);
    get("charts").append(box);
    watch.observe(box);
    charts.push({ box, reading: words, chart: new TimeChart(holder, line, SHORT, axes.live, hands(chain.open)) });
  });
  maxima.chart?.plot.destroy();
  maxima.chart = new TimeChart(get("maxima"), null, 260, axes.long, hands(chain.open));
  legend();
  pick(chosen.view);
}

function legend() {
  get("legend").replaceChildren(...there().map((line) => {
    const chip = element("button", world.names[line], { class: "plain chip",
      "aria-pressed": String(!chosen.hidden.has(line)) });
    chip.style.setProperty("--chip", lineColour(line));
    chip.addEventListener("click", () => { if (!chosen.hidden.delete(line)) chosen.hidden.add(line); tell("hidden"); });
    return chip;
  }));
}

/** @param {string} name */
export function pick(name) {
  chosen.view = name;
  for (const tab of document.querySelectorAll("[role=tab]")) {
    const here = tab instanceof HTMLElement && tab.dataset.view === name;
    tab.setAttribute("aria-selected", String(here));
    tab.setAttribute("tabindex", here ? "0" : "-1");
  }
  for (const one of document.querySelectorAll("section[data-view]"))
    if (one instanceof HTMLElement) one.hidden = one.dataset.view !== name;
  get("timeline").hidden = name !== "live" && name !== "long";
  if (name === "chain") chain.again();
  tell("view");
  rebuild();
}

/** The distribution: how many answers lie where, or how many take longer. @param {boolean} they */
export function larger(they) {
  chosen.larger = they;
  const title = they ? "How many of the run's answers take longer" : "All answers of the run by time";
  get("histogram-title").textContent = title;
  get("histogram").dataset.title = title;
  get("larger").setAttribute("aria-pressed", String(they));
  touch(true);
}

/** Sizes or colours have changed. */
export function rebuild() {
  for (const { chart, box } of charts) {
    box.hidden = !seen(chart);
    if (chosen.view !== "live" || box.hidden) continue;
    chart.height = height();
    chart.build();
  }
  if (chosen.view === "long") { maxima.chart?.build(); histogram.plot?.destroy(); histogram.plot = null; }
  touch(true);
}

/** Has it anything to show, and is it not folded away? @param {TimeChart} chart */
function seen(chart) {
  const row = shown().lines[chart.line ?? 0];
  return Boolean(row && (row.triggers || row.strays)) && !chosen.hidden.has(chart.line);
}

/** @param {number} now */
export function draw(now) {
  requestAnimationFrame(draw);
  if (chosen.view === "overlay") { overlay.update(now, forced); forced = false; }
  if (!dirty || now - last < EACH) return;
  last = now;
  dirty = false;
  drawn.frames++;
  if (chosen.view === "live") live();
  else if (chosen.view === "long") { maxima.chart?.update(); if (forced || counted++ % 10 === 0) histogram.update(); }
  if (chosen.view === "live" || chosen.view === "long") { minimap.draw(); labels(); }
  forced = false;
}

function live() {
  let changed = false;
  for (const { box, chart } of charts) {
    const hidden = !seen(chart);
    changed ||= hidden !== box.hidden;
    box.hidden = hidden;
  }
  if (changed) { rebuild(); }
  for (const { box, chart } of charts) if (!box.hidden && near.has(box)) chart.update();
}

/** Draws also what is scrolled away: a figure shows it, too.  (uPlot draws as soon as we wait.) */
export async function everything() {
  if (chosen.view !== "live") return;
  for (const { box, chart } of charts) if (!box.hidden) chart.update();
}

/** How long the window is, and what is under the cursor. */
function labels() {
  const one = axis(), until = one.end === null ? "" : `, until ${clock(one.end, 1)} UTC`;
  const words = `${length(one.span)} in columns of ${length(one.each)}${until}`;
  if (get("window").textContent !== words) get("window").textContent = words;
  get("newest").disabled = one.end === null;
  readings();
}

function readings() {
  const one = axis(), at = where(one);
  const own = chosen.view === "long" && maxima.chart ? ` · ${reading(maxima.chart.at(cursor.at ?? 0))}` : "";
  get("cursor").textContent = at ? `${at} UTC${own}` : "";
  for (const { chart, reading: place, box } of charts)
    if (!box.hidden) place.textContent = cursor.at === null ? "" : reading(chart.at(cursor.at));
  const { A, B } = chosen.markers;
  get("markers").textContent = A === null && B === null ? ""
    : A === null || B === null ? `marker ${A === null ? "B" : "A"} set`
    : `B − A: ${length(Math.abs(B - A))}${B < A ? ", B is first" : ""}`;
}

/** The cursor without a pointer: so many columns on, from the newest. @param {number} by */
export function point(by) {
  const one = axis(), [from, to] = one.window(), newest = Math.ceil(to / one.each) - 1;
  const chart = chosen.view === "long" ? maxima.chart : charts.find(({ box }) => !box.hidden)?.chart;
  if (!chart || (chosen.view !== "live" && chosen.view !== "long")) return;
  const index = cursor.at === null ? newest : Math.floor(cursor.at * 1e9 / one.each) + by;
  const at = (Math.min(Math.max(index, Math.ceil(from / one.each)), newest) + 0.5) * one.each / 1e9;
  chart.plot.setCursor({ left: chart.plot.valToPos(at, "x"), top: chart.plot.over.clientHeight / 2 });
}

/** The chain of the worst trigger in the cursor's column. */
export function enter() {
  if (cursor.at === null) return;
  const one = axis(), index = Math.floor(cursor.at * 1e9 / one.each);
  const own = [...one.rows.get(index)?.values() ?? []].filter(([line]) => !chosen.hidden.has(line));
  if (own.length) chain.open(index * one.each, one.each, worstOf(own)[0]);
}

/** Time stands still, or goes on; all else goes on in any case. */
export function hold(at = /** @type {number|null} */ (null)) {
  const go = isHeld() && at === null;
  const ends = Object.values(axes).map((one) => one.window()[1]);
  Object.values(axes).forEach((one, n) => {
    if (go) one.end = null;
    else if (at !== null) one.end = Math.min(at + one.span / 2, Math.max(one.latest, at));
    else one.end ??= ends[n];
    one.settle();
  });
  setHeld(!go, axes.live.end ?? 0);
  touch(true);
}

/** @param {number} step */
export function range(step) {
  overlay.range = Math.min(Math.max(overlay.range + step, 0), RANGES.length - 1);
  get("range").textContent = overlay.words();
  touch(true);
}

/** @param {number} step */
export function fade(step) {
  overlay.fade = (overlay.fade + step) % FADES.length;
  get("fading").textContent = FADES[overlay.fade] === Infinity ? "never" : `within ${FADES[overlay.fade]} s`;
}

export function theme() {
  turnTheme();
  repaint();
  legend();
  for (const { box, chart } of charts)
    /** @type {HTMLElement} */ (box.querySelector(".chip")).style.setProperty("--chip", lineColour(chart.line ?? 0));
  tell("theme");
  rebuild();
}

export function bind() {
  for (const event of ["moved", "markers", "hidden", "limit", "held"]) on(event, () => touch(true));
  on("hidden", () => { legend(); rebuild(); });
  on("there", legend);
  on("cursor", readings);
  on("open chain", () => pick("chain"));
  let wide = 0;
  new ResizeObserver(() => {
    const now = get("charts").parentElement.clientWidth;
    if (now !== wide) { wide = now; rebuild(); } // of its height what is in it decides
  }).observe(get("charts").parentElement);
  addEventListener("resize", rebuild);
}
