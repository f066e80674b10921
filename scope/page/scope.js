// SPDX-License-Identifier: GPL-2.0-or-later
// The page: brings link, state, controls, views and export together.
import { axes, axis, COUNT, MOST } from "./axis.js";
import * as chain from "./chain.js";
import * as controls from "./controls.js";
import * as figures from "./export.js";
import { apart, element, exact, get, lowest, nanoseconds, repaint } from "./format.js";
import { cursor } from "./hands.js";
import * as keys from "./keys.js";
import { command, connect, fails, receive, say, send, snapshot } from "./link.js";
import * as minimap from "./minimap.js";
import * as overview from "./overview.js";
import * as place from "./place.js";
import * as replay from "./replay.js";
import { chosen, isHeld, keepEver, on, tell, there, world, worst } from "./state.js";
import * as views from "./views.js";

// What a canvas has drawn does not follow the system's theme.
document.documentElement.dataset.theme ??= isDark() ? "dark" : "light";
const table = new overview.Overview();

receive("whole", (words) => {
  const { base, ring, levels, bits, percents, names } = words;
  Object.assign(world, { base, ring, levels, bits, percents, ever: [], lines: [], names: [] });
  for (const one of Object.values(axes)) one.level = -1;
  views.overlay.clear();
  send({ run: chosen.run, limit: chosen.limit, hold: isHeld() });
  named(names);
  for (const one of Object.values(axes)) one.settle();
});

/** @param {string[]} names */
function named(names) {
  if (names.join() === world.names.join() && views.charts.length === names.length) return;
  world.names = names;
  controls.mechanisms();
  views.build();
  tell("names");
}

receive("tick", (words) => {
  if (words.run !== undefined) { world.run = words.run; world.ever = []; views.overlay.clear(); }
  if (words.names) named(words.names);
  for (const [which, one] of Object.entries(axes))
    if (words[which]) { one.add(words[which]); look(one, words[which].rows); }
  for (const [line, changes] of Object.entries(words.coarse ?? {})) {
    const ever = world.ever[Number(line)] ??= [];
    for (const [index, n] of changes) { ever[index] = (ever[index] ?? 0) + n; views.drawn.points += n; }
    if (!isHeld()) views.overlay.add(Number(line), changes);
  }
  if (words.run !== undefined) keepEver();
  // What was on its way when time was halted, or went on, is of another time.
  if (words.lines && words.held === isHeld())
    Object.assign(world, { lines: words.lines, judged: words.limit, frozen: words.held });
  if (words.status) told(words.status);
  if ((words.live || words.long || words.coarse) && !isHeld()) views.touch();
  if (words.lines) figuresChanged();
});

/** Whose window it is. @param {string} which */
const asked = (which) => which === "live" || which === "long" ? axes[which] : undefined;

receive("window", (words) => {
  asked(words.of)?.answer(words);
  views.touch(true);
});

fails((words) => { if (words.type === "window") asked(words.of)?.failed(); });

receive("baseline", (words) => {
  const lines = /** @type {import("./state.js").Line[]} */ (words.lines);
  // Another recording may have other lines: a mechanism is compared with its own.
  const places = world.names.map((name) => lines.findIndex((one) => one.name === name));
  const ever = places.map((at) => {
    const counts = /** @type {number[]} */ ([]);
    for (const [index, n] of words.coarse[at] ?? []) counts[index] = n;
    return counts;
  });
  chosen.baseline = lines.length ? { title: words.title, lines: places.map((at) => lines[at]), ever } : null;
  figuresChanged();
  views.touch(true);
});

/** Hold at the first answer beyond the limit.
 * @param {import("./axis.js").TimeAxis} one @param {import("./state.js").Rows} rows */
function look(one, rows) {
  if (!chosen.armed || chosen.limit === null || one !== axes.live || isHeld()) return;
  for (const [index, lines] of rows)
    for (const column of lines)
      if (column[COUNT] && column[MOST] > chosen.limit && index * one.each >= armedAt) {
        arm(false);
        views.hold((index + 0.5) * one.each);
        const took = apart(column[MOST], chosen.limit);
        say(`held: ${world.names[column[0]]} took ${took}, more than ${exact(chosen.limit)}`, false);
        return;
      }
}

let armedAt = 0;
/** @param {boolean} armed */
function arm(armed) {
  chosen.armed = armed;
  get("armed").checked = armed;
  armedAt = axes.live.latest;
}

/** @param {import("./state.js").Status} status */
function told(status) {
  const first = !world.status;
  world.status = status;
  if (first) { for (const one of Object.values(axes)) one.settle(); views.touch(true); }
  world.gaps = status.gaps;
  world.server = true;
  controls.report();
  replay.report();
  const events = status.events.toReversed().map(([at, event, words]) =>
    `${new Date(at / 1e6).toISOString()} ${event} ${words}`);
  const key = events.join("\n");
  if (get("events").dataset.key !== key) {
    get("events").dataset.key = key;
    get("events").replaceChildren(...events.map((/** @type {string} */ one) => element("div", one)));
  }
}

let lines = ""; // of which something came
function figuresChanged() {
  const now = JSON.stringify(there().map((line) => [line, world.names[line]]));
  if (now !== lines) { lines = now; tell("there"); }
  overview.bar();
  overview.runs();
  table.update();
}

function limit() {
  const words = get("limit").value.trim(), found = words ? nanoseconds(words) : null;
  const wrong = Boolean(words) && found === null;
  get("limit").setAttribute("aria-invalid", String(wrong));
  get("limit-error").textContent = wrong ? "a time such as 50 us, 1 ms or 0.2 s" : "";
  if (wrong || found === chosen.limit) return;
  chosen.limit = found;
  send({ limit: found });
  tell("limit");
}

/** @param {"A"|"B"} name */
function marker(name) {
  const [from, to] = axis().window();
  chosen.markers[name] = cursor.at !== null ? cursor.at * 1e9 : chosen.markers[name] !== null ? null : (from + to) / 2;
  tell("markers");
}

function note() {
  const at = cursor.at !== null ? cursor.at * 1e9 : axis().window()[1];
  get("note-text").value = "";
  get("note").showModal();
  get("note").addEventListener("close", () => {
    const text = get("note-text").value.trim();
    if (get("note").returnValue === "keep" && text) command("mark", { text, at: Math.round(at) });
  }, { once: true });
}

const zoom = (/** @type {number} */ step) => chosen.view === "overlay" ? views.range(step)
  : axis().zoom(4 ** step, cursor.at === null ? null : cursor.at * 1e9);
const sideways = (/** @type {number} */ step) => chosen.view === "chain" ? chain.step(step) : axis().pan(step / 4);
const whole = () => { const one = axis(); one.fit = true; one.end = null; one.moved(); };

/** What has no key, each by its button. */
const MORE = [["a new run", "new-run"], ["save the figure as PNG", "png"], ["save the figure as SVG", "svg"],
  ["copy the figures as Markdown", "markdown"], ["the report", "report"], ["the figures as JSON", "json"],
  ["the columns as CSV", "csv"], ["connect to the generator", "connect"], ["disconnect", "disconnect"],
  ["one step of a replay", "replay-step"]];

function bindKeys() {
  views.VIEWS.forEach((name, at) =>
    keys.key(String(at + 1), `view: ${get(`tab-${name}`).textContent}`, () => views.pick(name)));
  keys.key(" ", "hold, or go on", () => views.hold(), "space");
  keys.key("+", "zoom in; in persistence a shorter view", () => zoom(-1));
  keys.key("-", "zoom out; in persistence a longer view", () => zoom(1));
  keys.key("ArrowLeft", "earlier; in the chain the trigger before", () => sideways(-1), "←");
  keys.key("ArrowRight", "later; in the chain the next trigger", () => sideways(1), "→");
  keys.key("End", "the newest", () => axis().follow());
  keys.key("0", "all of the recording", whole);
  keys.key(",", "the cursor a column earlier", () => views.point(-1));
  keys.key(".", "the cursor a column later", () => views.point(1));
  keys.key("Enter", "the chain of the worst trigger at the cursor", views.enter);
  keys.key("a", "marker A where the cursor is", () => marker("A"));
  keys.key("b", "marker B where the cursor is", () => marker("B"));
  keys.key("n", "a note where the cursor is", note);
  keys.key("s", "start", controls.start);
  keys.key("x", "stop", () => { command("stop"); });
  keys.key("c", "calibrate", controls.calibrate);
  keys.key("p", "snapshot beside the recording", () => { snapshot(); });
  keys.key("f", "fading in persistence", () => views.fade(1));
  keys.key("w", "forget the glow in persistence", () => views.overlay.clear());
  keys.key("g", "in long term, how many answers take longer", () => views.larger(!chosen.larger));
  keys.key("l", "follow the last trigger in the chain", () => chain.ask({}, true));
  keys.key("r", "halt or play a replay", replay.pause);
  keys.key("d", "light or dark", views.theme);
  keys.key("?", "these commands", keys.open, "?, Ctrl+K");
  for (const [words, id] of MORE) keys.button(words, id);
  keys.bind();
}

/** What is asked for. @param {string} value of the option: a run's number, that of another recording, or nothing */
const baseline = (value) => !value ? {}
  : { run: Number(value.replace("other ", "")), other: value.startsWith("other ") };

function bindButtons() {
  /** @type {Record<string, () => void>} */
  const acts = { hold: () => views.hold(), theme: views.theme, start: controls.start, stop: () => { command("stop"); },
    calibrate: controls.calibrate, snapshot, png: () => views.everything().then(() => figures.save("png")),
    svg: () => views.everything().then(() => figures.save("svg")),
    markdown: figures.markdown, fade: () => views.fade(1),
    wipe: () => views.overlay.clear(), larger: () => views.larger(!chosen.larger),
    "range-less": () => views.range(-1), "range-more": () => views.range(1),
    "zoom-in": () => zoom(-1), "zoom-out": () => zoom(1), back: () => axis().pan(-0.5), forth: () => axis().pan(0.5),
    newest: () => axis().follow(), whole };
  for (const [id, act] of Object.entries(acts)) get(id).addEventListener("click", act);
  get("worst-tile").addEventListener("click", () => {
    const most = worst();
    views.pick("chain");
    if (most) chain.ask({ worst: most.line });
  });
  get("limit").addEventListener("change", limit);
  get("armed").addEventListener("change", () => arm(get("armed").checked));
  get("run").addEventListener("change", () => {
    chosen.run = get("run").value ? Number(get("run").value) : null;
    send({ run: chosen.run });
  });
  get("baseline").addEventListener("change", () =>
    send({ baseline: baseline(get("baseline").value) }));
}

function bindTabs() {
  const tabs = [...document.querySelectorAll("[role=tab]")].map((one) => /** @type {HTMLElement} */ (one));
  for (const [at, tab] of tabs.entries()) {
    tab.addEventListener("click", () => views.pick(tab.dataset.view ?? "live"));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!step) return;
      event.preventDefault(); event.stopPropagation();
      const next = tabs[(at + step + tabs.length) % tabs.length];
      views.pick(next.dataset.view ?? "live");
      next.focus();
    });
  }
}

on("status", () => { overview.bar(); if (world.status) controls.report(); });
on("limit", () => { if (chosen.limit !== null) get("limit").value ||= exact(chosen.limit); figuresChanged(); });
on("held", () => {
  send({ hold: isHeld() });
  get("hold").setAttribute("aria-pressed", String(isHeld()));
  get("hold").textContent = isHeld() ? "▶ go on" : "❚❚ hold";
  figuresChanged();
});
on("overview", () => table.update());
on("hidden", () => table.update());
on("theme", () => { repaint(); table.build(); table.update(); });

place.restore(views.VIEWS);
if (chosen.limit !== null) {
  get("limit").value = exact(chosen.limit);
  if (nanoseconds(get("limit").value) === null) { chosen.limit = null; limit(); }
}
get("kernel").value = chosen.rt ? "rt" : "";
views.bind(); chain.bind(); minimap.bind(); controls.bind(); replay.bind();
bindKeys(); bindButtons(); bindTabs();
views.range(0); views.fade(0); views.larger(chosen.larger);
views.pick(chosen.view);
connect();
requestAnimationFrame(views.draw);

// For those who look at how fast it draws, and what it draws.
Object.assign(globalThis, { scope: { world, chosen, axes, columns: axes, ...views, lowest } });
