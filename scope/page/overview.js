// SPDX-License-Identifier: GPL-2.0-or-later
// The first screen: a bar of state, and one table of all mechanisms with a strip of their range.
import { clock, count, date, element, exact, get, length, lineColour, several, time } from "./format.js";
import { chosen, heldAt, isHeld, judged, on, query, shown, sum, tell, world, worst } from "./state.js";

const FLOOR = 100; // ns: where the strips begin

/** Set what is not so already: what is rewritten all the time is read aloud all the time.
 * @param {HTMLElement} place @param {string} words @param {string} [kind] */
function put(place, words, kind = "") {
  if (place.textContent !== words) place.textContent = words;
  if (place.className !== kind) place.className = kind;
}

/** What the lamp shows, and why. */
export function state() {
  const { status, server } = world;
  if (!server)
    return { lamp: "bad", words: "no server",
      why: "the server does not answer: what is shown is from before; trying again" };
  if (!status) return { lamp: "dim", words: "connecting", why: "" };
  if (status.reading !== null)
    return { lamp: "mid", words: `reading ${Math.round(100 * status.reading)} %`,
      why: "the recording is being read; measuring goes on after it" };
  if (!status.live) {
    const replay = status.replay;
    const words = !replay || replay.ended ? "recording" : replay.paused ? "replay, halted"
      : `replay ${replay.speed ? `${replay.speed}×` : ""}`.trim();
    return { lamp: "dim", words, why: `${status.recording}: nothing is measured now` };
  }
  if (status.taken)
    return { lamp: "bad", words: "taken",
      why: `another host took the generator at ${status.target}: “connect” takes it back` };
  if (status.left) return { lamp: "mid", words: "disconnected", why: `${status.target} goes on by itself` };
  if (!status.connected)
    return { lamp: "bad", words: "no link", why: `no link to ${status.target}: ${status.why || "trying"}` };
  return status.state?.running ? { lamp: "good", words: "running", why: `linked to ${status.target}` }
    : { lamp: "mid", words: "stopped", why: `linked to ${status.target}` };
}

/** Verdict of the limit. */
export function verdict() {
  if (chosen.limit === null) return { words: "none", kind: "dim" };
  if (world.judged !== chosen.limit) return { words: "…", kind: "dim" };
  const lines = shown().lines.filter((row) => row.triggers);
  if (!lines.length) return { words: "no answer yet", kind: "dim" };
  const n = sum("beyond");
  return n ? { words: `exceeded ${count(n)}×`, kind: "bad" } : { words: "held", kind: "good" };
}

export function bar() {
  const { lamp, words, why } = state(), { status } = world;
  const live = world.server && status?.live && status.connected;
  get("lamp").className = `lamp ${lamp}`;
  document.body.classList.toggle("stale", !world.server || Boolean(status?.live && !status.connected));
  put(get("state"), words);
  const hertz = status?.state ? `${+(status.state.millihertz / 1000).toPrecision(6)} Hz` : "not known";
  put(get("rate"), hertz);
  put(get("rate-name"), live && status.state?.running ? "rate" : "rate set");
  put(get("count"), count(run()?.triggers ?? 0));
  const most = worst();
  put(get("worst-value"), most ? judged(most.ns) : "–",
    chosen.limit !== null && most && most.ns > chosen.limit ? "bad" : "");
  put(get("worst-line"), most ? world.names[most.line] ?? "" : "");
  const found = verdict();
  put(get("limit-name"), chosen.limit === null ? "limit" : `limit ${exact(chosen.limit)}`);
  put(get("limit-value"), found.words, found.kind);
  for (const what of /** @type {const} */ (["missing", "late"])) {
    const n = sum(what);
    put(get(`${what}-value`), count(n), n ? (what === "late" ? "late" : "bad") : "");
  }
  put(get("floor-value"), status?.floor ? time(status.floor.p99) : "not measured", status?.floor ? "" : "mid");
  put(get("why"), [isHeld() ? `held at ${clock(heldAt() ?? 0)} UTC; the recording goes on` : "", why,
    status?.synced !== null && status ? `${several(status.synced ?? 0, "byte")} on disk in ${status.recording}` : "",
    status ? `host: ${status.memory_mib} MiB of memory` : ""].filter(Boolean).join(" · "));
  doubts();
}

function doubts() {
  const found = world.status?.doubts ?? [], place = get("doubts");
  place.hidden = !found.length;
  put(place, found.length ? `Not a result: ${found.join("; ")}.` : "", "bad");
}

/** The run that is looked at. */
export const run = () => {
  const all = world.status?.runs ?? [];
  return all.find((one) => one.number === (chosen.run ?? world.run)) ?? all.at(-1);
};

export function runs() {
  const all = world.status?.runs ?? [], one = run();
  const others = world.status?.others ?? [];
  const key = JSON.stringify([...all, ...others].map((each) => [each.number, each.title]));
  if (get("run").dataset.key !== key) {
    get("run").dataset.key = key;
    const title = (/** @type {import("./state.js").Run} */ each) =>
      each.why && each.title === `run ${each.number}` ? `${each.title}: ${each.why}` : each.title;
    get("run").replaceChildren(element("option", "the last run", { value: "" }),
      ...all.map((each) => element("option", title(each), { value: each.number })));
    const compared = get("baseline").value;
    get("baseline").replaceChildren(element("option", "nothing", { value: "" }),
      ...all.map((each) => element("option", title(each), { value: each.number })),
      ...others.map((each) => element("option", each.title, { value: `other ${each.number}` })));
    get("baseline").value = compared;
    get("run").value = chosen.run ?? "";
  }
  put(get("run-words"), !one ? "" : one.began === null ? `${one.title}: no trigger yet`
    : `${date(one.began)}, ${length(one.ended - one.began)}`, "dim");
  for (const [id, path] of [["json", "document"], ["csv", "csv"], ["report", "report"]]) {
    const wanted = `/api/${path}${id === "csv" ? "" : query()}`;
    if (get(id).getAttribute("href") !== wanted) get(id).setAttribute("href", wanted);
  }
}

const COLUMNS = [
  { id: "name", title: "mechanism" }, { id: "min", title: "min", wide: true },
  { id: "p50", title: "p50", wide: true }, { id: "p99", title: "p99" },
  { id: "p99.9", title: "p99.9", wide: true }, { id: "max", title: "max" },
  { id: "late", title: "late", wide: true }, { id: "missing", title: "missing" },
  { id: "strays", title: "strays", wide: true }, { id: "beyond", title: "beyond" },
];

/** @typedef {import("./state.js").Line} Line */

/** What a cell says.  (To sort by it also the name, which is a word.)
 * @param {Line} row @param {string} id @returns {number|null} */
function value(row, id) {
  if (id.startsWith("p")) return row.percentiles[world.percents.indexOf(Number(id.slice(1)))] ?? null;
  return row[/** @type {"min"|"max"|"late"|"missing"|"strays"|"beyond"} */ (id)];
}

/** One end for all strips, so that they can be compared. */
function scale() {
  let most = 1e6;
  for (const row of [...shown().lines, ...(chosen.baseline?.lines ?? [])]) most = Math.max(most, row?.max ?? 0);
  const end = 10 ** Math.ceil(Math.log10(Math.max(most, chosen.limit ?? 0)));
  const part = (/** @type {number} */ ns) =>
    100 * Math.min(Math.max(Math.log10(Math.max(ns, FLOOR) / FLOOR) / Math.log10(end / FLOOR), 0), 1);
  return { end, part };
}

export class Overview {
  constructor() {
    this.rows = /** @type {ReturnType<Overview["row"]>[]} */ ([]);
    this.names = "";
    on("limit", () => { this.names = ""; });
  }
  build() {
    const head = element("tr");
    for (const { id, title, wide } of COLUMNS) {
      if (id === "beyond" && chosen.limit === null) continue;
      const cell = element("th", "", { scope: "col", class: `${id === "name" ? "" : "n"}${wide ? " wide" : ""}` });
      const button = element("button", title, { class: "plain", "data-sort": id });
      button.addEventListener("click", () => this.sort(id));
      cell.append(button); head.append(cell);
    }
    const strip = element("th", "", { scope: "col", class: "strip" });
    strip.append(element("span", "range", {}), element("span", "", { id: "strip-scale", class: "dim" }));
    head.append(strip);
    get("overview-head").replaceChildren(head);
    this.rows = world.names.map((name, line) => this.row(name, line));
    this.names = this.key();
  }
  key() { return `${world.names.join()}|${chosen.limit === null}`; }
  /** @param {string} id */
  sort(id) {
    chosen.sort = { by: id, down: chosen.sort.by === id ? !chosen.sort.down : id !== "name" };
    tell("overview");
  }
  /** @param {string} name @param {number} line */
  row(name, line) {
    const row = element("tr"), cells = /** @type {Record<string, HTMLElement>} */ ({});
    for (const { id, wide } of COLUMNS) {
      if (id === "beyond" && chosen.limit === null) continue;
      const cell = id === "name" ? element("th", "", { scope: "row" })
        : element("td", "", { class: `n${wide ? " wide" : ""}` });
      cells[id] = cell; row.append(cell);
    }
    const button = element("button", name, { class: "plain chip", title: "show its chart, or fold it away" });
    button.style.setProperty("--chip", lineColour(line));
    button.addEventListener("click", () => {
      if (!chosen.hidden.delete(line)) chosen.hidden.add(line);
      tell("hidden");
    });
    cells.name.append(button);
    const strip = element("td", "", { class: "strip" }), track = element("div", "", { class: "track" });
    const parts = ["all", "base", "most", "middle", "limit"].map((part) => element("i", "", { class: part }));
    track.append(...parts);
    strip.append(track); row.append(strip);
    return { row, cells, button, track, parts, line };
  }
  update() {
    if (this.names !== this.key()) this.build();
    const { end, part } = scale(), { lines } = shown();
    const compared = chosen.baseline ? `; line below: ${chosen.baseline.title}` : "";
    put(get("strip-scale"), `${time(FLOOR)} to ${time(end)}, logarithmic; dark: p50 to p99${compared}`, "dim");
    const order = this.rows.filter(({ line }) => lines[line]?.triggers || lines[line]?.strays);
    const { by, down } = chosen.sort;
    if (by) order.sort((a, b) => {
      const [x, y] = [a, b].map(({ line }) => value(lines[line], by) ?? -1);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
    const body = get("overview-body");
    if (order.some((one, at) => body.children[at] !== one.row) || body.children.length !== order.length)
      body.replaceChildren(...order.map(({ row }) => row));
    for (const button of get("overview-head").querySelectorAll("button"))
      button.closest("th").setAttribute("aria-sort",
        button.dataset.sort !== by ? "none" : down ? "descending" : "ascending");
    for (const one of order) this.fill(one, lines[one.line], part);
  }
  /** @param {ReturnType<Overview["row"]>} one @param {Line} row
   * @param {(ns: number) => number} part */
  fill({ cells, button, track, parts, line }, row, part) {
    button.setAttribute("aria-pressed", String(!chosen.hidden.has(line)));
    for (const { id } of COLUMNS) {
      if (id === "name" || !cells[id]) continue;
      const found = value(row, id), counted = ["late", "missing", "strays", "beyond"].includes(id);
      const bad = counted ? (found ?? 0) > 0 && id !== "strays"
        : found === -1 || (chosen.limit !== null && (found ?? 0) > chosen.limit);
      const kind = bad ? id === "late" ? " late" : " bad" : "", wide = COLUMNS.find((two) => two.id === id)?.wide;
      put(cells[id], counted ? found === null ? "–" : count(found) : judged(found), `n${kind}${wide ? " wide" : ""}`);
    }
    track.style.setProperty("--chip", lineColour(line));
    const [all, base, most, middle, limit] = parts;
    const span = (/** @type {HTMLElement} */ bit, /** @type {number|null} */ from, /** @type {number|null} */ to) => {
      bit.hidden = from === null || to === null;
      if (bit.hidden) return;
      bit.style.left = `${part(from ?? 0)}%`; bit.style.width = `${Math.max(part(to ?? 0) - part(from ?? 0), 0.4)}%`;
    };
    const p50 = value(row, "p50") ?? 0, p99 = value(row, "p99") ?? 0;
    span(all, row.min, row.max);
    span(middle, p50 > 0 ? p50 : null, p99 > 0 ? p99 : p50 > 0 ? row.max : null);
    span(most, row.max, row.max);
    span(limit, chosen.limit, chosen.limit);
    const before = chosen.baseline?.lines.find((two) => two?.name === row.name);
    span(base, before?.min ?? null, before?.max ?? null);
  }
}
