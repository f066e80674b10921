// SPDX-License-Identifier: GPL-2.0-or-later
// Keys of the page, a cursor in each histogram that reads its buckets out, figures as files.
"use strict";

const root = document.documentElement;
const UNITS = /** @type {[string, number][]} */ ([["s", 1e9], ["ms", 1e6], ["us", 1e3]]);

/** Also for the scripts of single pages, which come after this. @param {string} id @returns {any} */
const get = (id) => document.getElementById(id);

// A page that is a file may have no memory: then each opening begins as the system has it.
function remembered(theme) {
  try {
    if (theme) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

function turn() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remembered(root.dataset.theme);
}

function jump(step) {
  const sections = [...document.querySelectorAll("section")];
  const here = sections.findLastIndex((one) => one.getBoundingClientRect().top < 40);
  const next = sections[Math.max(0, Math.min(sections.length - 1, here + step))];
  if (!next) return;
  next.scrollIntoView();
  next.focus({ preventScroll: true });
}

// By the rule of duration.py.
function time(ns) {
  for (const [unit, size] of UNITS)
    if (ns >= size) return `${ns < 999.5 * size ? +(ns / size).toPrecision(3) : Math.round(ns / size)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

function cursor(chart) {
  const [low, high, left, right, steps] =
    ["low", "high", "left", "right", "steps"].map((name) => Number(chart.dataset[name]));
  const curves = JSON.parse(chart.dataset.bins).map(([name, bins]) => [name, new Map(bins)]);
  const line = chart.querySelector(".cursor");
  const out = chart.parentElement.querySelector(".readout");
  const places = [...new Set(curves.flatMap(([, bins]) => [...bins.keys()]))].sort((a, b) => a - b);
  let at = -1;
  function show(index) {
    at = Math.max(0, Math.min(places.length - 1, index));
    const place = places[at];
    const x = left + (place + 0.5 - low) / (high - low) * (right - left);
    line.setAttribute("transform", `translate(${x} 0)`);
    line.setAttribute("visibility", "visible");
    const said = curves.map(([name, bins]) => `${name}: ${(bins.get(place) || 0).toLocaleString("en")}`);
    out.textContent = `${time(10 ** (place / steps))} to ${time(10 ** ((place + 1) / steps))} · ` +
      said.join(" · ");
  }
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 }[event.key];
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

const LINE = 15, LETTER = 5.6; // pixels of what stands above a figure that leaves the page

// Lines of words, none wider than that.
function lines(text, width) {
  const found = [""];
  for (const word of text.split(" ")) {
    const longer = found.at(-1) ? `${found.at(-1)} ${word}` : word;
    if (longer.length * LETTER > width && found.at(-1)) found.push(word);
    else found[found.length - 1] = longer;
  }
  return found;
}

// A figure that can leave the page: its title, of what it is, light colours, nothing outside.
function alone(chart) {
  const { width, height } = chart.viewBox.baseVal, made = chart.cloneNode(false);
  const about = lines(chart.closest("[data-about]")?.dataset.about ?? document.title, width - 16);
  const head = 30 + LINE * about.length;
  for (const { name } of [...made.attributes]) made.removeAttribute(name);
  made.setAttribute("viewBox", `0 0 ${width} ${height + head}`);
  made.setAttribute("width", width); made.setAttribute("height", height + head);
  made.setAttribute("font-family", "system-ui,sans-serif");
  const add = (tag, attributes, words) => {
    const one = document.createElementNS(chart.namespaceURI, tag);
    for (const [name, value] of Object.entries(attributes)) one.setAttribute(name, value);
    if (words) one.textContent = words;
    made.append(one);
    return one;
  };
  add("title", {}, chart.getAttribute("aria-label"));
  add("rect", { width: "100%", height: "100%", fill: "#fff" });
  add("text", { x: 8, y: 20, "font-size": 16, "font-weight": "bold" }, chart.getAttribute("aria-label"));
  about.forEach((words, at) =>
    add("text", { x: 8, y: 37 + LINE * at, "font-size": 11, fill: "#444" }, words));
  const copy = chart.cloneNode(true);
  copy.querySelectorAll("title,.cursor").forEach((one) => one.remove());
  add("g", { transform: `translate(0 ${head})` }).append(...copy.childNodes);
  return new XMLSerializer().serializeToString(made).replaceAll(/var\(--[\w-]+,(#\w+)\)/g, "$1");
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function png(text, name) {
  const picture = new Image();
  picture.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    canvas.width = 2 * picture.width; canvas.height = 2 * picture.height;
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(picture.src);
    canvas.toBlob((blob) => save(blob, name));
  });
  picture.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
}

function files(chart) {
  const row = document.createElement("div"), label = chart.getAttribute("aria-label") ?? "figure";
  const name = label.replaceAll(/[^\w]+/g, "-");
  row.className = "save";
  /** @type {Record<string, (text: string) => void>} */
  const kinds = { svg: (text) => save(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`),
    png: (text) => png(text, `${name}.png`) };
  for (const [ending, act] of Object.entries(kinds)) {
    const button = document.createElement("button");
    button.textContent = ending.toUpperCase();
    button.setAttribute("aria-label", `${label}: save as ${ending.toUpperCase()}`);
    button.addEventListener("click", () => act(alone(chart)));
    row.append(button);
  }
  chart.parentElement.append(row);
}

// A link into what is folded away opens it.
function unfold() {
  let id = "";
  try { id = decodeURIComponent(location.hash.slice(1)); } catch { /* no name of ours */ }
  document.getElementById(id)?.querySelector("details")?.setAttribute("open", "");
}

const before = remembered();
if (before) root.dataset.theme = before;
get("theme").addEventListener("click", turn);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target instanceof Element && event.target.matches("input,select")) return;
  if (event.key === "d") turn();
  else if (event.key === "j") jump(1);
  else if (event.key === "k") jump(-1);
});
document.querySelectorAll("figure > svg").forEach(files);
addEventListener("hashchange", unfold);
unfold();
document.querySelectorAll("svg.chart").forEach(cursor);
