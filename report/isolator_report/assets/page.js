// SPDX-License-Identifier: GPL-2.0-or-later
// Keys of the page, a cursor in each histogram that reads its buckets out, figures that can leave it.
"use strict";

/** @type {Record<string, number|undefined>} buckets of a key */
const STEP = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };
const UNITS = /** @type {[string, number][]} */ ([["s", 1e9], ["ms", 1e6], ["us", 1e3]]);

/** Also for the scripts of single pages, which come after this. @param {string} id @returns {any} */
const get = (id) => document.getElementById(id);

/** @param {number} step of sections */
function jump(step) {
  const sections = [...document.querySelectorAll("section")];
  const here = sections.findLastIndex((one) => one.getBoundingClientRect().top < 40);
  const next = sections[Math.max(0, Math.min(sections.length - 1, here + step))];
  if (!next) return;
  next.scrollIntoView();
  next.focus({ preventScroll: true });
}

/** By the rule of duration.py. @param {number} ns */
function time(ns) {
  for (const [unit, size] of UNITS)
    if (ns >= size) return `${ns < 999.5 * size ? +(ns / size).toPrecision(3) : Math.round(ns / size)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

/** Reads the buckets of a histogram. @param {SVGSVGElement} chart */
function cursor(chart) {
  const [low, high, left, right, steps] =
    ["low", "high", "left", "right", "steps"].map((name) => Number(chart.dataset[name]));
  const curves = (/** @type {[string, [number, number][]][]} */ (JSON.parse(chart.dataset.bins ?? "[]")))
    .map(([name, bins]) => ({ name, bins: new Map(bins) }));
  const line = chart.querySelector(".cursor"), out = chart.parentElement?.querySelector(".readout");
  if (!line || !out) return;
  const places = [...new Set(curves.flatMap(({ bins }) => [...bins.keys()]))].sort((a, b) => a - b);
  let at = -1;
  const show = (/** @type {number} */ index) => {
    at = Math.max(0, Math.min(places.length - 1, index));
    const place = places[at];
    const x = left + (place + 0.5 - low) / (high - low) * (right - left);
    line.setAttribute("transform", `translate(${x} 0)`);
    line.setAttribute("visibility", "visible");
    const said = curves.map(({ name, bins }) => `${name}: ${(bins.get(place) || 0).toLocaleString("en")}`);
    out.textContent = `${time(10 ** (place / steps))} to ${time(10 ** ((place + 1) / steps))} · ` +
      said.join(" · ");
  };
  chart.addEventListener("keydown", (event) => {
    const step = STEP[event.key];
    if (step) show(at + step);
    else if (event.key === "Home") show(0);
    else if (event.key === "End") show(places.length - 1);
    else return;
    event.preventDefault();
  });
  chart.addEventListener("mousemove", (event) => {
    const box = chart.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * chart.viewBox.baseVal.width;
    const wanted = low + (x - left) / (right - left) * (high - low) - 0.5;
    let best = 0;
    places.forEach((place, i) => {
      if (Math.abs(place - wanted) < Math.abs(places[best] - wanted)) best = i;
    });
    if (places.length) show(best);
  });
}

const LINE = 15, LETTER = 6.2; // pixels of what stands above a figure that leaves the page

/** Lines of words, none wider than that. @param {string} text @param {number} width */
function lines(text, width) {
  const found = [""];
  for (const word of text.split(" ")) {
    const here = found.at(-1), longer = here ? `${here} ${word}` : word;
    if (longer.length * LETTER > width && here) found.push(word);
    else found[found.length - 1] = longer;
  }
  return found;
}

/** A figure that can leave the page: its title, of what it is, light colours, nothing outside.
 * @param {SVGSVGElement} chart */
function alone(chart) {
  const { width, height } = chart.viewBox.baseVal, label = chart.getAttribute("aria-label") ?? "";
  const made = /** @type {SVGSVGElement} */ (chart.cloneNode(false));
  for (const { name } of [...made.attributes]) made.removeAttribute(name);
  const about = lines(chart.closest("[data-about]")?.getAttribute("data-about") ?? document.title, width - 16);
  const head = 30 + LINE * about.length;
  made.setAttribute("viewBox", `0 0 ${width} ${height + head}`);
  made.setAttribute("width", String(width)); made.setAttribute("height", String(height + head));
  made.setAttribute("font-family", "system-ui,sans-serif");
  const add = (/** @type {string} */ tag, /** @type {Record<string, string|number>} */ attributes, words = "") => {
    const one = document.createElementNS(chart.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, String(value));
    if (words) one.textContent = words;
    made.append(one);
    return one;
  };
  add("title", {}, label);
  add("rect", { width: "100%", height: "100%", fill: "#fff" });
  add("text", { x: 8, y: 20, "font-size": 16, "font-weight": "bold" }, label);
  about.forEach((words, at) =>
    add("text", { x: 8, y: 37 + LINE * at, "font-size": 11, fill: "#444" }, words));
  const copy = /** @type {SVGSVGElement} */ (chart.cloneNode(true));
  copy.querySelectorAll("title,.cursor").forEach((one) => one.remove());
  add("g", { transform: `translate(0 ${head})` }).append(...copy.childNodes);
  return new XMLSerializer().serializeToString(made).replaceAll(/var\(--[\w-]+,(#\w+)\)/g, "$1");
}

/** @param {SVGSVGElement} chart */
function files(chart) {
  const row = document.createElement("div"), label = chart.getAttribute("aria-label") ?? "figure";
  row.className = "save";
  for (const kind of /** @type {const} */ (["svg", "png"])) {
    const button = document.createElement("button");
    button.textContent = kind.toUpperCase();
    button.setAttribute("aria-label", `${label}: save as ${kind.toUpperCase()}`);
    button.addEventListener("click", () => saveFigure(alone(chart), label.replaceAll(/[^\w]+/g, "-"), kind));
    row.append(button);
  }
  chart.parentElement?.append(row);
}

// A link into what is folded away opens it.
function unfold() {
  let id = "";
  try { id = decodeURIComponent(location.hash.slice(1)); } catch { /* no name of ours */ }
  document.getElementById(id)?.querySelector("details")?.setAttribute("open", "");
}

get("theme").addEventListener("click", turnTheme);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target instanceof Element && event.target.matches("input,select")) return;
  if (event.key === "d") turnTheme();
  else if (event.key === "j") jump(1);
  else if (event.key === "k") jump(-1);
});
/** @type {NodeListOf<SVGSVGElement>} */ (document.querySelectorAll("figure > svg")).forEach(files);
addEventListener("hashchange", unfold);
unfold();
/** @type {NodeListOf<SVGSVGElement>} */ (document.querySelectorAll("svg.chart")).forEach(cursor);
