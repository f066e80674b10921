// SPDX-License-Identifier: GPL-2.0-or-later
// What all pages do alike, those that are written and the scope's: light or dark, figures as files.
// A script and no module: a page that is a file has it within itself.
"use strict";

const SCALE = 2; // pixels of a PNG for one of its figure

/** The theme of last time; null: where the browser keeps nothing, or nothing yet.  A page that is
 * a file may have no memory. @param {string} [theme] that is kept */
function remembered(theme) {
  try {
    if (theme) localStorage.setItem("theme", theme);
    return localStorage.getItem("theme");
  } catch {
    return null;
  }
}

/** As the page is drawn now. */
function isDark() {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function turnTheme() {
  const theme = isDark() ? "light" : "dark";
  document.documentElement.dataset.theme = theme;
  remembered(theme);
}

/** @param {Blob} blob @param {string} name */
function saveFile(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A figure with all that a reader must know: as it is, or as pixels.
 * @param {string} text of an SVG that says its width and height @param {string} name without its ending
 * @param {"svg"|"png"} kind */
function saveFigure(text, name, kind) {
  // A name may have what no XML can hold: the picture would not open.
  const blob = new Blob([text.replaceAll(/[^\t\n\r\x20-\uFFFD]/g, "\uFFFD")], { type: "image/svg+xml" });
  if (kind === "svg") { saveFile(blob, `${name}.svg`); return; }
  const picture = new Image();
  picture.addEventListener("load", () => {
    const canvas = document.createElement("canvas");
    canvas.width = SCALE * picture.width; canvas.height = SCALE * picture.height;
    canvas.getContext("2d")?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(picture.src);
    canvas.toBlob((made) => { if (made) saveFile(made, `${name}.png`); });
  });
  picture.src = URL.createObjectURL(blob);
}

const before = remembered();
if (before) document.documentElement.dataset.theme = before;
