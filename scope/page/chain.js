// SPDX-License-Identifier: GPL-2.0-or-later
// The chain of one trigger: who answered when, and which hop cost what.
import { count, element, lineColour, time } from "./format.js";

export function show(holder, chain) {
  holder.replaceChildren();
  if (!chain) {
    holder.append(element("p", "This trigger is not remembered: the newest 4096 are, and that of each maximum.", { class: "dim" }));
    return;
  }
  const words = `Trigger ${count(chain.trigger)}, ${new Date(chain.wall / 1e6).toISOString()}, sent ${time(chain.jitter)} late.`;
  holder.append(element("p", words + (chain.culprit ? ` The hop that cost most: ${chain.culprit}.` : "")));
  const table = element("table"), head = element("tr");
  for (const [name, kind] of [["answer", ""], ["after the trigger", "n"], ["since the one before", "n"], ["comes after", ""], ["since that", "n"], ["", ""]])
    head.append(element("th", name, kind ? { class: kind } : {}));
  table.append(head);
  const end = Math.max(1, ...chain.hops.map((hop) => hop.ns));
  for (const hop of chain.hops) {
    const row = element("tr", "", hop.name === chain.culprit ? { class: "culprit" } : {});
    row.append(element("td", hop.name + (hop.late ? " (late)" : "")), element("td", time(hop.ns), { class: "n" }),
      element("td", time(hop.step_ns), { class: "n" }), element("td", hop.after ?? "not in the table"),
      element("td", hop.after_ns === null ? "–" : hop.after_ns < 0 ? `${time(-hop.after_ns)} before` : time(hop.after_ns), { class: "n" }));
    const cell = element("td", hop.against ? "against the published order" : "", { class: "bars" });
    const bar = element("span", "", { class: "bar" });
    bar.style.marginLeft = `${100 * (hop.ns - hop.step_ns) / end}%`;
    bar.style.width = `max(2px, ${100 * hop.step_ns / end}%)`;
    bar.style.background = lineColour(hop.line);
    cell.prepend(bar); row.append(cell); table.append(row);
  }
  holder.append(table);
  for (const name of chain.missing) holder.append(element("p", `${name}: missing`, { class: "bad" }));
}
