// SPDX-License-Identifier: GPL-2.0-or-later
// The page of the interference matrix: a row for each source, a click shows what happened.
"use strict";

/** What happened in a configuration, and what came of the event.
 * @typedef {{outcome: string, returned: boolean, worked: boolean, kernel_entries: number, seconds: number,
 *   detail: string, entries_by_vector: Record<string, number>, misses: number|null,
 *   deferred: number|null, excluded: number|null, queued: number|null, refused: number|null,
 *   immediate: number|null, longest_wait_s: number|null, causes: Cause[], unaccounted: string[]}} Cell
 * @typedef {{counts: Record<string, number>, callback: string, kind: string, sender: string,
 *   stack: string[]}} Cause who asked something of the isolated CPU
 * @typedef {{row: string, name: string, about: string, class: string, user: boolean, append: string,
 *   runs: boolean, why_not: string|null, interrupts: Record<string, boolean>,
 *   cells: Record<string, Cell|undefined>}} Row a source of interruption
 */

/** @type {{columns: Record<string, object>, rows: Row[]}} */
const report = JSON.parse(get("matrix").textContent);
const columns = Object.keys(report.columns);
const SHORT = /** @type {Record<string, string|undefined>} */ ({
  sysvec_apic_timer_interrupt: "timer", sysvec_call_function: "call",
  sysvec_call_function_single: "call1", sysvec_reschedule_ipi: "resched",
  exc_page_fault: "fault", sysvec_irq_work: "irq_work", exc_nmi: "nmi",
  entry_SYSCALL_64: "syscall", el0_svc: "syscall", el0_da: "fault", el0_ia: "fault",
  arch_timer_handler_virt: "timer", generic_smp_call_function_single_interrupt: "call",
  ipi_handler: "resched", irq_work_run: "irq_work", el0_brk64: "breakpoint",
});
const MARKS = /** @type {Record<string, string|undefined>} */ ({ waited: " waited", refused: " refused" });
const KINDS = /** @type {const} */ (["deferred", "excluded", "queued", "refused", "immediate"]);

/** @param {string} tag @param {Record<string, string>} attributes @param {(Node|string)[]} children */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const short = (/** @type {string} */ vector) => SHORT[vector] || vector;

/** @param {Row} row @param {string} column @param {Cell|undefined} cell */
function cellClass(row, column, cell) {
  if (!cell || cell.outcome === "missing") return "c";
  let name = "n c ";
  if (!cell.returned) name += "many bad";
  else if (!cell.worked && cell.outcome !== "refused") name += "many bad";
  else if (!cell.kernel_entries) name += "none";
  else if (row.interrupts[column]) name += "many";
  else name += "few";
  return name;
}

/** @param {Cell|undefined} cell */
function cellText(cell) {
  if (!cell) return "";
  if (cell.outcome === "missing") return "missing";
  if (!cell.returned) return "hangs";
  if (!cell.worked && cell.outcome !== "refused") return "failed";
  return cell.kernel_entries.toLocaleString("en") + (MARKS[cell.outcome] ?? "");
}

/** @param {string} column @param {Cell} cell */
function details(column, cell) {
  const box = element("div");
  box.append(element("h3", {}, column));
  const said = cell.returned ? `came back after ${cell.seconds.toFixed(3)} s` : "did not come back";
  box.append(element("p", {}, `${said}; outcome: ${cell.outcome}; ${cell.detail}`));
  const vectors = Object.entries(cell.entries_by_vector)
    .map(([vector, n]) => `${n} ${short(vector)}`).join(", ");
  box.append(element("p", {}, `${cell.kernel_entries} kernel entries` + (vectors ? `: ${vectors}` : "")));
  if (cell.misses !== null) {
    const counts = KINDS.filter((c) => cell[c]).map((c) => `${cell[c]} ${c}`).join(", ") || "nothing was asked of it";
    const hold = cell.longest_wait_s === null ? "unknown" :
      `${(cell.longest_wait_s * 1000).toFixed(1)} ms`;
    box.append(element("p", {}, `${counts}; ${cell.misses} deadline misses; longest wait ${hold}`));
  }
  const lines = cell.causes.slice(0, 12).map((cause) => {
    const counts = Object.entries(cause.counts).map(([c, n]) => `${n} ${c}`).join(", ");
    const callback = cause.callback === "-" ? cause.kind : cause.callback;
    return `${counts}: ${callback} from ${cause.sender}\n    ` + cause.stack.slice(0, 6).join("\n    ");
  });
  if (lines.length) box.append(element("pre", {}, lines.join("\n")));
  for (const text of cell.unaccounted) box.append(element("p", { class: "bad" }, text));
  return box;
}

/** @param {HTMLElement} tr @param {Row} row */
function toggle(tr, row) {
  const after = tr.nextElementSibling, open = after?.className === "more";
  tr.querySelector("button")?.setAttribute("aria-expanded", String(!open));
  tr.classList.toggle("open", !open);
  if (open) {
    after.remove();
    return;
  }
  const grid = element("div", { class: "cells" });
  for (const column of columns) {
    const cell = row.cells[column];
    if (cell) grid.append(details(column, cell));
  }
  if (row.why_not !== null) grid.append(element("p", {}, `Not run: ${row.why_not}`));
  const about = row.about + (row.user ? " (by an unprivileged user)" : "") +
    (row.append ? ` (booted with ${row.append})` : "");
  tr.after(element("tr", { class: "more" },
    element("td", { colspan: String(3 + columns.length) }, element("p", {}, about), grid)));
}

/** @param {Row} row @param {string} text @param {string} policy @param {string} what */
function shown(row, text, policy, what) {
  if (policy && row.class !== policy) return false;
  if (what === "tuned" && !columns.some((c) => c.startsWith("tuned") && row.interrupts[c])) return false;
  if (what === "nothing" && columns.some((c) => c.startsWith("stock") && row.interrupts[c])) return false;
  if (what === "not" && row.runs) return false;
  if (what === "run" && !row.runs) return false;
  return !text || `${row.row} ${row.name} ${row.about}`.toLowerCase().includes(text.toLowerCase());
}

function draw() {
  const body = get("rows");
  body.replaceChildren();
  const [text, policy, what] = ["text", "class", "what"].map((id) => get(id).value);
  let count = 0;
  for (const row of report.rows) {
    if (!shown(row, text, policy, what)) continue;
    count++;
    const button = element("button", { class: "plain", title: row.about, "aria-expanded": "false" }, row.name);
    const tr = element("tr", {}, element("th", { scope: "row" }, button),
      element("td", { class: "dim" }, row.row), element("td", {}, row.class));
    for (const column of columns) {
      const cell = row.cells[column];
      tr.append(element("td", { class: row.runs ? cellClass(row, column, cell) : "" },
        row.runs ? cellText(cell) : ""));
    }
    if (!row.runs) tr.classList.add("dim");
    button.addEventListener("click", () => toggle(tr, row));
    body.append(tr);
  }
  get("count").textContent = `${count} rows`;
}

for (const name of [...new Set(report.rows.map((/** @type {Row} */ row) => row.class))].sort())
  get("class").append(element("option", { value: name }, name));
for (const column of columns) get("head").append(element("th", { scope: "col", class: "n" }, column));
for (const id of ["text", "class", "what"]) get(id).addEventListener("input", draw);
get("form").addEventListener("submit", (/** @type {Event} */ event) => event.preventDefault());
draw();
