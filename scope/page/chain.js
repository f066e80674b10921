// SPDX-License-Identifier: GPL-2.0-or-later
// The chain of one trigger: who answered when, from what it comes after; and the worst triggers.
import { clock, count, date, element, get, lineColour, time } from "./format.js";
import { receive, send } from "./link.js";
import { chosen, isHeld, judged, on, tell, there, world } from "./state.js";

/** @typedef {import("./state.js").Chain} Chain
 * @typedef {{wall?: number, around?: number, line?: number, number?: number, worst?: number}} Question */

let wanted = /** @type {Question} */ ({}); // what was asked for
let following = true;
let trigger = 0; // that is shown
export const last = { chain: /** @type {Chain|null} */ (null) };

/** @param {Question} one @param {boolean} [follow] */
export function ask(one, follow = false) {
  following = follow;
  wanted = one;
  get("follow").setAttribute("aria-pressed", String(follow));
  send({ chain: { ...one, rt: chosen.rt } });
}

export const again = () => ask(wanted, following);
/** @param {number} by */
export const step = (by) => ask({ number: trigger + by });

/** Of what was clicked on: the worst trigger of a column.
 * @param {number} wall @param {number} around @param {number} line */
export function open(wall, around, line) {
  tell("open chain");
  ask({ wall: Math.round(wall), around: Math.round(around), line });
}

/** Which trigger, and what is unusual. @param {Chain} chain */
export function headline(chain) {
  const words = `Trigger ${count(chain.trigger)}, ${date(chain.wall)} (${clock(chain.wall, 3).slice(6)} s), ` +
    `sent ${time(chain.jitter)} late.`;
  if (!chain.known) return `${words} Too few triggers are known to say what is usual.`;
  return chain.culprit ? `${words} Unusual: ${chain.culprit}.` : `${words} Nothing unusual.`;
}

const HEAD = /** @type {[string, string][]} */ ([["answer", ""], ["after the trigger", "n"],
  ["comes after", ""], ["since that", "n"], ["usually", "n"], ["from that to its answer", "bars"]]);

/** @param {Chain|null} chain */
export function show(chain) {
  last.chain = chain;
  const holder = get("hops");
  holder.replaceChildren();
  if (!chain) {
    const words = "This trigger is not in the recording, or the recording has no index.";
    holder.append(element("p", words, { class: "dim" }));
    return;
  }
  trigger = chain.trigger;
  holder.append(element("p", headline(chain), { class: "headline" }));
  const table = element("table"), head = element("tr");
  const scroll = element("div", "", { class: "scroll", tabindex: 0, role: "region",
    "aria-label": "hops of the chain" });
  for (const [name, kind] of HEAD) head.append(element("th", name, { scope: "col", class: kind }));
  table.append(head);
  const end = Math.max(1, ...chain.hops.map((hop) => hop.ns));
  for (const hop of chain.hops) table.append(hopRow(hop, end, hop.name === chain.culprit));
  scroll.append(table);
  holder.append(scroll);
  for (const name of chain.missing) holder.append(element("p", `${name}: missing`, { class: "bad" }));
}

/** The bar reaches from the answer that it comes after to its own. @param {import("./state.js").Hop} hop
 * @param {number} end @param {boolean} culprit */
function hopRow(hop, end, culprit) {
  const row = element("tr", "", { class: culprit ? "culprit" : hop.unusual ? "unusual" : "" });
  const since = hop.after_ns === null ? "–" : hop.after_ns < 0 ? `${time(-hop.after_ns)} before` : time(hop.after_ns);
  row.append(element("th", hop.name + (hop.late ? " (late)" : ""), { scope: "row" }),
    element("td", judged(hop.ns), { class: "n" }),
    element("td", hop.after ?? "not in the table"), element("td", since, { class: "n" }),
    element("td", hop.usual === null ? "not known" : time(hop.usual), { class: "n" }));
  const cell = element("td", hop.against ? "against the published order" : "", { class: "bars" });
  const took = hop.after_ns === null ? hop.step_ns : Math.max(hop.after_ns, 0);
  const bar = element("span", "", { class: "bar", "data-from": hop.ns - took, "data-to": hop.ns });
  bar.style.marginLeft = `${100 * (hop.ns - took) / end}%`;
  bar.style.width = `max(2px, ${100 * took / end}%)`;
  bar.style.background = lineColour(hop.line);
  cell.prepend(bar); row.append(cell);
  return row;
}

/** @param {import("./state.js").Worst[]} rows */
function worst(rows) {
  const body = get("worst-body"), key = JSON.stringify(rows);
  if (body.dataset.key === key) return;
  body.dataset.key = key;
  body.replaceChildren(...rows.map((one) => {
    const row = element("tr"), name = element("td"), button = element("button", count(one.trigger), { class: "plain" });
    button.addEventListener("click", () => {
      tell("open chain");
      ask({ wall: one.wall - 1e6, around: 2e6, number: one.trigger });
    });
    name.append(button);
    const beyond = chosen.limit !== null && one.ns > chosen.limit;
    row.append(element("td", judged(one.ns), { class: `n${beyond ? " bad" : ""}` }), element("td", one.name),
      element("td", one.others ? `and ${one.others} more of the largest` : ""), name, element("td", date(one.wall)));
    return row;
  }));
  get("worst-none").hidden = rows.length > 0;
}

export function bind() {
  receive("chain", (words) => { if (chosen.view === "chain") show(words.chain); });
  receive("worst", (words) => worst(words.rows));
  get("follow").addEventListener("click", () => ask({}, true));
  get("previous").addEventListener("click", () => step(-1));
  get("next").addEventListener("click", () => step(1));
  get("number").addEventListener("change", () => ask({ number: Number(get("number").value) }));
  get("worst").addEventListener("change", () => {
    if (get("worst").value) ask({ worst: Number(get("worst").value) });
  });
  get("kernel").addEventListener("change", () => {
    chosen.rt = Boolean(get("kernel").value);
    again();
  });
  on("there", () => {
    const { value } = get("worst");
    get("worst").replaceChildren(element("option", "…", { value: "" }),
      ...there().map((line) => element("option", world.names[line], { value: line })));
    get("worst").value = value;
  });
  setInterval(() => {
    if (chosen.view === "chain" && following && !isHeld()) ask({}, true);
    if (chosen.view === "chain" || chosen.view === "worst") send({ worst: {} });
  }, 500);
}
