// SPDX-License-Identifier: GPL-2.0-or-later
// Keys of the page, and a cursor in each histogram that reads its buckets out.
"use strict";

const root = document.documentElement;

function turn() {
  const dark = root.dataset.theme ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
}

function jump(step) {
  const sections = [...document.querySelectorAll("section")];
  const here = sections.findLastIndex((one) => one.getBoundingClientRect().top < 40);
  const next = sections[Math.max(0, Math.min(sections.length - 1, here + step))];
  if (!next) return;
  next.scrollIntoView();
  next.focus({ preventScroll: true });
}

function time(ns) {
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]])
    if (ns >= size) return `${+(ns / size).toPrecision(3)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

function cursor(chart) {
  const [low, high, left, right, steps] =
    ["low", "high", "left", "right", "steps"].map((name) => Number(chart.dataset[name]));
  const curves = chart.dataset.bins.split(";").map((text) => {
    const [name, rest] = text.split("|");
    return [name, new Map(rest.split(",").filter(Boolean).map((one) => one.split(":").map(Number)))];
  });
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

document.querySelectorAll("svg.chart").forEach(cursor);
document.getElementById("theme").addEventListener("click", turn);
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.target.matches("input,select")) return;
  if (event.key === "d") turn();
  else if (event.key === "j") jump(1);
  else if (event.key === "k") jump(-1);
});
