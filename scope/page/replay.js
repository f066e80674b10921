// SPDX-License-Identifier: GPL-2.0-or-later
// A replay: halt, steps, speed, place.
import { get } from "./format.js";
import { command } from "./link.js";
import { world } from "./state.js";

let moving = false; // a person has the slider

export function report() {
  const replay = world.status?.replay;
  get("replay").hidden = !replay;
  if (!replay) return;
  get("replay-pause").textContent = replay.ended ? "▶ again" : replay.paused ? "▶ play" : "❚❚ halt";
  get("replay-step").disabled = !replay.paused || replay.ended;
  if (!moving) get("replay-place").value = String(Math.round(1000 * replay.place));
  if (document.activeElement !== get("replay-speed")) {
    const speed = String(replay.speed);
    if (![...get("replay-speed").options].some((/** @type {HTMLOptionElement} */ one) => one.value === speed))
      get("replay-speed").add(new Option(`${+Number(speed).toPrecision(3)}×`, speed));
    get("replay-speed").value = speed;
  }
}

/** @param {object} more */
const set = (more) => command("replay", more, true);

export function pause() {
  const replay = world.status?.replay;
  if (replay) set(replay.ended ? { place: 0, paused: false } : { paused: !replay.paused });
}

export function bind() {
  get("replay-pause").addEventListener("click", pause);
  get("replay-step").addEventListener("click", () => set({ steps: 1 }));
  get("replay-speed").addEventListener("change", () => set({ speed: Number(get("replay-speed").value) }));
  get("replay-place").addEventListener("input", () => { moving = true; });
  get("replay-place").addEventListener("change", async () => {
    await set({ place: Number(get("replay-place").value) / 1000 });
    moving = false;
  });
}
