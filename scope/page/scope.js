// SPDX-License-Identifier: GPL-2.0-or-later
// The page: takes what the server tells, draws what is shown, sends what is asked for.
import { Columns, Histogram, TimeChart } from "./charts.js";
import { show as showChain } from "./chain.js";
import { count, element, lineColour, repaint, time } from "./format.js";
import { FADES, Persistence, RANGES } from "./persistence.js";

const get = (id) => document.getElementById(id);
const root = document.documentElement;
root.dataset.theme = localStorage.getItem("theme") ??
  (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");

const world = { base: 1, ring: 1, levels: 1, bits: 6, names: [], lines: [], ever: [], gaps: [], status: null };
const columns = { live: new Columns(), long: new Columns() };
columns.long.level = 7;
const charts = [], drawn = { frames: 0, points: 0 };
const overlay = new Persistence(get("overlay"), world);
const maxima = { chart: null }, histogram = new Histogram(get("histogram"), 300, world);
let socket = null, view = "live", paused = false, dirty = true, following = true, wanted = {}, shown = 0;

function send(words) { if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(words)); }

function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
  socket.onmessage = (event) => take(JSON.parse(event.data));
  socket.onclose = () => {
    get("status").textContent = "the server is gone; the recording is on its disk; trying again";
    setTimeout(connect, 1000);
  };
}

const take = (words) => ({ whole, tick, chain: (one) => { if (view === "chain") { shown = one.chain?.trigger ?? shown; showChain(get("hops"), one.chain); } } })[words.type]?.(words);

function whole(words) {
  Object.assign(world, { base: words.base, ring: words.ring, levels: words.levels, bits: words.bits, percents: words.percents, ever: [], lines: [] });
  for (const [which, one] of Object.entries(columns)) { one.clear(one.level); send({ [which]: one.level }); }
  overlay.clear();
  window_("live"); window_("long");
  named(words.names);
}

function named(names) {
  if (names.join() === world.names.join() && charts.length === names.length) return;
  world.names = names;
  get("charts").replaceChildren();
  charts.length = 0;
  get("worst").replaceChildren(element("option", "…", { value: "" }), ...names.map((name, line) => element("option", name, { value: line })));
  names.forEach((name, line) => {
    const box = element("div", "", { class: "chart", id: `chart-${line}`, role: "group", "aria-label": name });
    const numbers = element("div", "", { class: "numbers" }), holder = element("div");
    box.append(element("h2", name), numbers, holder);
    get("charts").append(box);
    charts.push({ box, numbers, chart: new TimeChart(holder, line, 150, columns.live, world) });
  });
  get("mechanisms").querySelectorAll("label").forEach((one) => one.remove());
  names.forEach((name, line) => {
    const label = element("label", ` ${name}`), box = element("input", "", { type: "checkbox", value: line });
    box.addEventListener("change", () => {
      let mask = 0n;
      get("mechanisms").querySelectorAll("input:checked").forEach((one) => { mask |= 1n << BigInt(one.value); });
      command("lines", [mask.toString()]);
    });
    label.prepend(box);
    get("mechanisms").append(label);
  });
  legend();
  maxima.chart?.plot.destroy();
  maxima.chart = new TimeChart(get("maxima"), null, 260, columns.long, world);
}

function legend() {
  get("legend").replaceChildren(...world.names.map((name, line) => {
    const chip = element("span", name, { class: "chip" });
    chip.style.setProperty("--chip", lineColour(line));
    return chip;
  }));
}

function tick(words) {
  if (words.names) named(words.names);
  for (const which of ["live", "long"]) if (words[which]) columns[which].add(words[which], world.ring);
  for (const [line, changes] of Object.entries(words.coarse ?? {})) {
    const ever = world.ever[line] ??= [];
    for (const [index, n] of changes) { ever[index] = (ever[index] ?? 0) + n; drawn.points += n; }
    overlay.add(line, changes);
  }
  if (words.lines) { world.lines = words.lines; numbers(); }
  if (words.status) told(words.status);
  if (words.live || words.long || words.coarse) dirty = true;
}

function numbers() {
  if (paused) return;
  world.lines.forEach((row, line) => {
    const box = charts[line];
    if (!box) return;
    box.box.hidden = !row.triggers && !row.strays;
    const parts = [["min", time(row.min)], ["mean", time(row.mean)],
      ...row.percentiles.map((ns, at) => [`p${world.percents[at]}`, time(ns)]), ["max", time(row.max)], ["count", count(row.count)]];
    box.numbers.replaceChildren(...parts.flatMap(([name, value]) => [`${name} `, element("b", value), " "]),
      element("span", `late ${count(row.late)} `, { class: row.late ? "late" : "" }),
      element("span", `missing ${count(row.missing)} `, { class: row.missing ? "bad" : "" }),
      row.strays ? `strays ${count(row.strays)}` : "");
  });
}

function told(status) {
  const first = world.status === null;
  world.status = status;
  world.gaps = status.gaps;
  const { state, floor } = status;
  const where = status.live ? (status.connected ? `linked to ${status.target}` : `no link to ${status.target}: ${status.why || "trying"}`)
    : `a recording, ${status.recording}`;
  get("status").textContent = `${where} · ${count(status.triggers)} triggers · ${state?.running ? `running at ${state.millihertz / 1000} Hz` : "not running"}` +
    (floor ? ` · floor p50 ${time(floor.p50)}, p99 ${time(floor.p99)}, resolution ${time(floor.resolution_ns)}` : " · floor not measured: calibrate") +
    (status.synced !== null ? ` · ${count(status.synced)} bytes on disk` : "");
  get("status").className = status.live && !status.connected ? "bad" : "dim";
  get("doubts").hidden = !status.doubts.length;
  get("doubts").textContent = status.doubts.length ? `Not a result: ${status.doubts.join("; ")}.` : "";
  get("fields").disabled = get("mechanisms").disabled = !status.live;
  if (state) {
    const values = { frequency: state.millihertz / 1000, duty: state.duty_ppm / 1e4, packet: state.packet, phase: state.phase, seed: state.seed, patience: state.patience_ns / 1e6 };
    for (const [id, value] of Object.entries(values)) if (!get(id).dataset.edited || first) get(id).value = value;
    get("mechanisms").querySelectorAll("input").forEach((box) => { if (document.activeElement !== box) box.checked = Boolean(BigInt(state.mask) >> BigInt(box.value) & 1n); });
  }
  get("events").replaceChildren(...status.events.toReversed().map(([at, event, words]) => element("div", `${new Date(at / 1e6).toISOString()} ${event} ${words}`)));
}

async function command(name, values) {
  try {
    const answer = await fetch("/api/command", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name, values }) });
    const { ok, text } = await answer.json();
    get("answer").textContent = `${name}: ${text}`;
    get("answer").className = ok ? "good" : "bad";
    return ok;
  } catch {
    get("answer").textContent = `${name}: the server did not answer`;
    get("answer").className = "bad";
    return false;
  }
}

async function settings() {
  const number = (id, factor) => Math.round(Number(get(id).value) * factor).toString();
  const all = { frequency: [number("frequency", 1000)], duty: [number("duty", 1e4)], packet: [get("packet").value], phase: [get("phase").value, get("seed").value], patience: [number("patience", 1e6)] };
  for (const [name, values] of Object.entries(all)) {
    const ids = name === "phase" ? ["phase", "seed"] : [name];
    if (!ids.some((id) => get(id).dataset.edited)) continue;
    if (!await command(name, values)) return;
    ids.forEach((id) => delete get(id).dataset.edited);
  }
}

function window_(which) {
  const seconds = world.base / 1e9 * 4 ** columns[which].level;
  const all = seconds * world.ring, unit = all < 120 ? [1, "s"] : all < 7200 ? [60, "min"] : [3600, "h"];
  get(`${which}-window`).textContent = `${+(all / unit[0]).toPrecision(3)} ${unit[1]} in columns of ${+seconds.toPrecision(3)} s`;
}

function zoom(which, step) {
  const one = columns[which], level = Math.min(Math.max(one.level + step, 0), world.levels - 1);
  one.clear(level);
  send({ [which]: level });
  window_(which);
  dirty = true;
}

function range(step) {
  overlay.range = Math.min(Math.max(overlay.range + step, 0), RANGES.length - 1);
  const value = RANGES[overlay.range];
  get("range").textContent = value === "all" ? "all answers, linear" : value === "log" ? "all answers, logarithmic" : `0 to ${time(value)}`;
  dirty = true;
}

function fade(step) {
  overlay.fade = (overlay.fade + step) % FADES.length;
  get("fading").textContent = FADES[overlay.fade] === Infinity ? "never" : `within ${FADES[overlay.fade]} s`;
}

function pick(name) {
  view = name;
  document.querySelectorAll("[role=tab]").forEach((tab) => tab.setAttribute("aria-selected", tab.dataset.view === name));
  document.querySelectorAll("section[data-view]").forEach((one) => { one.hidden = one.dataset.view !== name; });
  rebuild();
}

function rebuild() {
  if (view === "live") charts.forEach(({ chart }) => chart.build());
  if (view === "long") { maxima.chart?.build(); histogram.plot = (histogram.plot?.destroy(), null); }
  dirty = true;
}

function draw(now) {
  requestAnimationFrame(draw);
  const fading = view === "overlay" && !paused && overlay.glow.length;
  if (paused || (!dirty && !fading)) return;
  if (view === "live") charts.forEach(({ box, chart }) => { if (!box.hidden) chart.update(); });
  else if (view === "overlay") overlay.update(now);
  else if (view === "long") { maxima.chart?.update(); if (drawn.frames % 10 === 0) histogram.update(); }
  if (dirty) drawn.frames++;
  dirty = false;
}

function pause() {
  paused = !paused;
  get("pause").setAttribute("aria-pressed", paused);
  get("pause").textContent = paused ? "paused: it is still recorded" : "pause the view";
  dirty = true;
  numbers();
}

function theme() {
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
  repaint();
  legend();
  rebuild();
}

function png() {
  const canvases = [...document.querySelectorAll(`section[data-view=${view}] canvas`)].filter((one) => one.offsetParent);
  if (!canvases.length) { get("answer").textContent = "PNG: this view has no picture"; return; }
  const all = document.createElement("canvas"), width = Math.max(...canvases.map((one) => one.width));
  all.width = width; all.height = canvases.reduce((sum, one) => sum + one.height + 24, 0);
  const ctx = all.getContext("2d");
  ctx.fillStyle = getComputedStyle(document.body).backgroundColor; ctx.fillRect(0, 0, all.width, all.height);
  ctx.fillStyle = getComputedStyle(document.body).color; ctx.font = "16px system-ui";
  let y = 0;
  for (const one of canvases) {
    ctx.fillText(one.closest(".chart")?.getAttribute("aria-label") ?? "isolator-scope", 8, y + 17);
    ctx.drawImage(one, 0, y + 24); y += one.height + 24;
  }
  all.toBlob((blob) => {
    const link = element("a", "", { href: URL.createObjectURL(blob), download: `scope-${view}.png` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
}

async function snapshot() {
  const answer = await (await fetch("/api/snapshot", { method: "POST" })).json();
  get("answer").textContent = `snapshot: ${answer.text}`;
  get("answer").className = answer.ok ? "good" : "bad";
}

function ask(one, follow = false) {
  following = follow; wanted = one;
  get("follow").setAttribute("aria-pressed", follow);
  send({ chain: { ...one, rt: Boolean(get("kernel").value) } });
}

const keys = {
  1: () => pick("live"), 2: () => pick("overlay"), 3: () => pick("long"), 4: () => pick("chain"),
  " ": pause, d: theme, s: () => command("start", ["0"]), x: () => command("stop", []), c: () => command("calibrate", ["1000"]),
  p: snapshot, f: () => fade(1), w: () => overlay.clear(), l: () => ask({}, true),
  "+": () => view === "overlay" ? range(-1) : zoom(view === "long" ? "long" : "live", -1),
  "-": () => view === "overlay" ? range(1) : zoom(view === "long" ? "long" : "live", 1),
  ArrowLeft: () => view === "chain" && ask({ number: shown - 1 }), ArrowRight: () => view === "chain" && ask({ number: shown + 1 }),
};
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  if (event.key === " " && event.target.tagName === "BUTTON") return;
  const act = keys[event.key === "=" ? "+" : event.key];
  if (act) { event.preventDefault(); act(); }
});
for (const [id, key] of [["pause", " "], ["theme", "d"], ["start", "s"], ["stop", "x"], ["calibrate", "c"], ["snapshot", "p"], ["fade", "f"], ["wipe", "w"], ["follow", "l"]])
  get(id).addEventListener("click", keys[key]);
get("png").addEventListener("click", png);
get("range-less").addEventListener("click", () => range(-1));
get("range-more").addEventListener("click", () => range(1));
get("previous").addEventListener("click", () => ask({ number: shown - 1 }));
get("next").addEventListener("click", () => ask({ number: shown + 1 }));
get("number").addEventListener("change", (event) => ask({ number: Number(event.target.value) }));
get("worst").addEventListener("change", (event) => { if (event.target.value) ask({ worst: Number(event.target.value) }); });
get("kernel").addEventListener("change", () => ask(wanted, following));
get("controls").addEventListener("submit", (event) => { event.preventDefault(); settings(); });
get("controls").addEventListener("input", (event) => { event.target.dataset.edited = "yes"; });
document.querySelectorAll("[role=tab]").forEach((tab) => tab.addEventListener("click", () => pick(tab.dataset.view)));
document.querySelectorAll("[data-zoom]").forEach((one) => one.addEventListener("click", () => zoom(one.dataset.zoom.split(",")[0], Number(one.dataset.zoom.split(",")[1]))));
addEventListener("resize", rebuild);
setInterval(() => { if (view === "chain" && following && !paused) ask({}, true); }, 250);

// For those who look at how fast it draws.
globalThis.scope = { world, columns, charts, overlay, maxima, histogram, drawn };
range(0); fade(0);
connect();
requestAnimationFrame(draw);
