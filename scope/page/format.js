// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers for people, and the colours of the page.

export function time(ns) {
  if (ns === null || ns === undefined) return "–";
  if (ns < 0) return "missing";
  for (const [unit, size] of [["s", 1e9], ["ms", 1e6], ["us", 1e3]])
    if (ns >= size) return `${+(ns / size).toPrecision(4)} ${unit}`;
  return `${Math.round(ns)} ns`;
}

export const count = (n) => n.toLocaleString("en").replaceAll(",", " ");

// Computed once for light and once for dark: asking the style for each column costs frames.
const style = getComputedStyle(document.documentElement);
let known = new Map();
export const repaint = () => { known = new Map(); };

function remembered(name, make) {
  if (!known.has(name)) known.set(name, make());
  return known.get(name);
}

export const colour = (name) => remembered(name, () => style.getPropertyValue(`--${name}`).trim());

// Told apart by place, too: each line has a chart or a lane of its own.
export const lineColour = (line) =>
  remembered(line, () => `hsl(${(line * 137 + 210) % 360} 60% ${colour("lightness")})`);

export function element(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

export const lowest = (index, bits) => {
  const shift = Math.max(Math.floor(index / 2 ** bits) - 1, 0);
  return (index - shift * 2 ** bits) * 2 ** shift;
};
