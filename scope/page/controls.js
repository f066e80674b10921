// SPDX-License-Identifier: GPL-2.0-or-later
// The generator's controls.  What a person set stays until the generator has it, or refused it.
import { element, get, time } from "./format.js";
import { command, say } from "./link.js";
import { world } from "./state.js";

const PATIENCE = 5000; // ms for the generator to report what it took

/** @typedef {{from?: (state: State) => number|string, send?: (value: number) => number, with?: string[],
 *   least?: number, most?: number, unit?: string, whole?: boolean, empty?: boolean}} Field
 * @typedef {NonNullable<import("./state.js").Status["state"]>} State the generator's settings */

/** Of each field: the setting it belongs to, from the generator's unit, to it, and what it says.
 * Those without `from` are of one command and no setting. */
const FIELDS = /** @type {Record<string, Field>} */ ({
  frequency: { from: (s) => s.millihertz / 1000, send: (v) => Math.round(v * 1000),
    least: 0.001, most: 1e6, unit: "Hz" },
  duty: { from: (s) => s.duty_ppm / 1e4, send: (v) => Math.round(v * 1e4), least: 0.0001, most: 99.9999, unit: "%" },
  packet: { from: (s) => s.packet, send: (v) => Math.round(v), least: 1, most: 1000, unit: "records" },
  phase: { from: (s) => s.phase, with: ["phase", "seed"], send: (v) => v },
  seed: { from: (s) => s.seed, with: ["phase", "seed"], whole: true, unit: "" },
  burst: { from: (s) => s.burst, with: ["burst", "gap"], send: (v) => Math.round(v),
    least: 1, most: 1000, unit: "triggers" },
  gap: { from: (s) => s.gap_ns / 1000, with: ["burst", "gap"], send: (v) => Math.round(v * 1000),
    least: 0, most: 1e9, unit: "us" },
  patience: { from: (s) => s.patience_ns / 1e6, send: (v) => Math.round(v * 1e6),
    least: 0.001, most: 10000, unit: "ms" },
  rounds: { send: (v) => Math.round(v), least: 1, most: 1e5, unit: "rounds" },
  "for-triggers": { empty: true, whole: true },
  "for-seconds": { empty: true, send: (v) => v, least: 0.001, most: 1e7, unit: "s" },
});
const LARGEST = (1n << 64n) - 1n;

/** Set by a person and not yet the generator's: until when it is left alone. */
const kept = /** @type {Record<string, number>} */ ({});
const edited = new Set();
let mask = /** @type {bigint|null} */ (null); // that a person chose
let until = 0;
let sending = false;

/** @param {string} id @param {string} words */
function complain(id, words) {
  get(`${id}-error`).textContent = words;
  get(id).setAttribute("aria-invalid", String(Boolean(words)));
}

/** What is wrong with a field; empty: nothing. @param {string} id */
function wrong(id) {
  const field = FIELDS[id], words = get(id).value.trim();
  if (field.empty && !words) return "";
  if (field.whole)
    return /^\d{1,20}$/.test(words) && BigInt(words) <= LARGEST ? "" : `a whole number from 0 to ${LARGEST}`;
  if (field.least === undefined || field.most === undefined) return "";
  const value = Number(words);
  return words && value >= field.least && value <= field.most ? ""
    : `from ${field.least} to ${field.most.toLocaleString("en")} ${field.unit}`;
}

/** What is sent of a field. @param {string} id */
function sent(id) {
  const words = get(id).value.trim(), { send } = FIELDS[id];
  return send ? String(send(Number(words))) : words;
}

/** Says what is wrong with some fields. @param {string} name of the command @param {string[]} ids */
function right(name, ids) {
  for (const id of ids) complain(id, wrong(id));
  if (!ids.some(wrong)) return true;
  say(`${name}: see the fields`, false);
  get("generator-panel").open = true;
  return false;
}

async function settings() {
  if (!right("set", [...edited])) return;
  const done = new Set();
  for (const id of [...edited]) {
    const ids = FIELDS[id].with ?? [id];
    if (done.has(ids[0])) continue;
    done.add(ids[0]);
    const { ok, text } = await command(ids[0], { values: ids.map(sent) });
    if (!ok) { complain(id, inUnits(id, text)); return; }
    for (const one of ids) { edited.delete(one); kept[one] = performance.now() + PATIENCE; complain(one, ""); }
  }
  if (done.size) say(`set: ${[...done].join(", ")}`);
}

/** The generator's words are in its units. @param {string} id @param {string} text */
function inUnits(id, text) {
  const { least, most, unit } = FIELDS[id];
  return /\b(mHz|ppm|ns)\b/.test(text) && least !== undefined ? `refused: from ${least} to ${most} ${unit}` : text;
}

/** The boxes as they are. @returns {bigint} */
function ticked() {
  let found = 0n;
  for (const box of get("mechanisms").querySelectorAll("input:checked")) found |= 1n << BigInt(box.value);
  return found;
}

/** @param {HTMLInputElement} box */
async function tick(box) {
  if (!ticked()) {
    box.checked = true; // none would mean all to the generator
    say("mechanisms: at least one must answer", false);
    return;
  }
  mask = ticked();
  until = Infinity;
  if (sending) return;
  sending = true;
  for (let last = null; mask !== null && last !== mask;) {
    last = mask;
    const { ok } = await command("lines", { values: [mask.toString()] }, true);
    if (!ok) { mask = null; break; }
  }
  sending = false;
  until = performance.now() + PATIENCE;
}

/** One box for each mechanism. */
export function mechanisms() {
  get("mechanisms").querySelectorAll("label").forEach((/** @type {Element} */ one) => one.remove());
  world.names.forEach((name, line) => {
    const label = element("label", ` ${name}`);
    const box = /** @type {HTMLInputElement} */ (element("input", "", { type: "checkbox", value: line }));
    box.addEventListener("change", () => tick(box));
    label.prepend(box);
    get("mechanisms").append(label);
  });
}

/** What the generator reports, where nobody has set something else. */
export function report() {
  const { status } = world;
  if (!status) return;
  const { state } = status;
  const off = !status.live || !world.server;
  for (const id of ["fields", "mechanisms", "linking"]) get(id).disabled = off;
  get("start").disabled = get("stop").disabled = get("new-run").disabled = off || !status.connected;
  if (get("target").value === "" && document.activeElement !== get("target")) get("target").value = status.target;
  get("connect").hidden = status.connected;
  get("disconnect").hidden = !status.connected;
  if (!state) return;
  for (const [id, field] of Object.entries(FIELDS)) {
    if (!field.from) continue;
    const now = String(field.from(state));
    if (edited.has(id)) continue;
    if (kept[id] && Number(get(id).value) !== Number(now) && performance.now() < kept[id]) continue;
    delete kept[id];
    if (get(id).value !== now) get(id).value = now;
  }
  const there = BigInt(state.mask);
  if (mask !== null && (there === mask || performance.now() > until)) mask = null;
  if (mask === null)
    for (const box of get("mechanisms").querySelectorAll("input"))
      box.checked = Boolean(there >> BigInt(box.value) & 1n);
  draw();
}

/** Two periods of the trigger's signal. */
function draw() {
  const number = (/** @type {string} */ id) => Number(get(id).value);
  const period = 1e9 / number("frequency"), duty = number("duty") / 100;
  const burst = Math.max(number("burst"), 1), gap = number("gap") * 1000;
  if (!(period > 0 && period < Infinity)) return;
  const width = 300, low = 34, high = 8, each = burst > 1 ? gap : period;
  const points = [`M0 ${low}`];
  for (let part = 0; part < 2; part++)
    for (let n = 0; n < Math.min(burst, 40); n++) {
      const x = (part * period + n * gap) / period / 2 * width, on = Math.max(each * duty / period / 2 * width, 0.7);
      points.push(`H${x.toFixed(1)}V${high}H${(x + on).toFixed(1)}V${low}`);
    }
  points.push(`H${width}`);
  get("signal-path").setAttribute("d", points.join(""));
  const random = number("phase") ? " on average, at random from half to one and a half of it" : "";
  const words = `each ${time(period)}${random}, high for ${time(each * duty)}` +
    (burst > 1 ? `, ${burst} triggers ${time(gap)} apart` : "");
  get("signal-words").textContent = words;
  get("signal").setAttribute("aria-label", `the trigger's signal: ${words}`);
}

/** For how long: N triggers, or T seconds; both empty: until it is stopped. */
export function start() {
  if (!right("start", ["for-triggers", "for-seconds"])) return;
  const triggers = get("for-triggers").value.trim(), seconds = get("for-seconds").value.trim();
  command("start", { values: [triggers || "0"], ...(seconds ? { seconds: Number(seconds) } : {}) });
}

export function calibrate() {
  if (right("calibrate", ["rounds"])) command("calibrate", { values: [sent("rounds")] });
}

export function bind() {
  get("controls").addEventListener("submit", (/** @type {Event} */ event) => { event.preventDefault(); settings(); });
  for (const id of Object.keys(FIELDS))
    get(id).addEventListener("input", () => { if (FIELDS[id].from) edited.add(id); complain(id, wrong(id)); draw(); });
  get("new-run").addEventListener("click", () => command("run", { title: get("run-name").value }));
  get("connect").addEventListener("click", () => command("connect", { target: get("target").value }));
  get("disconnect").addEventListener("click", () => command("disconnect"));
}
