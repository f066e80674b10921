// SPDX-License-Identifier: GPL-2.0-or-later
// To the server: what it tells, what is asked of it, commands and their answers.
import { get } from "./format.js";
import { query, tell, world } from "./state.js";

let socket = /** @type {WebSocket|null} */ (null);
/** @type {Record<string, (words: any) => void>} */
const takers = {};

/** @param {string} type @param {(words: any) => void} act */
export function receive(type, act) { takers[type] = act; }

let failed = /** @type {(words: any) => void} */ (() => {});
/** What becomes of a question that could not be answered. @param {(words: any) => void} act */
export function fails(act) { failed = act; }

/** @param {object} words */
export function send(words) {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(words));
}

export function connect() {
  socket = new WebSocket(`${location.protocol === "https:" ? "wss" : "ws"}://${location.host}/ws`);
  socket.onmessage = (event) => {
    const words = JSON.parse(event.data);
    if (words.failed) { say(`${words.type}: ${words.failed}`, false); failed(words); return; }
    takers[words.type]?.(words);
  };
  socket.onopen = () => { world.server = true; tell("status"); };
  socket.onclose = () => {
    world.server = false;
    tell("status");
    setTimeout(connect, 1000);
  };
}

let last = "";
/** For all to read, also aloud; once. @param {string} text @param {boolean} [good] */
export function say(text, good = true) {
  const place = get("answer");
  place.className = good ? "good" : "bad";
  if (text !== last || place.textContent !== text) place.textContent = text;
  last = text;
}

/** @param {string} path @param {object} [more] of the request @returns {Promise<{ok: boolean, text: string}>} */
async function post(path, more = {}) {
  try {
    return await (await fetch(path, { method: "POST", ...more })).json();
  } catch {
    return { ok: false, text: "the server did not answer" };
  }
}

/**
 * What the server, or the generator, answers.
 * @param {string} name @param {object} [more] @param {boolean} [quiet]
 * @returns {Promise<{ok: boolean, text: string}>}
 */
export async function command(name, more = {}, quiet = false) {
  const answer = await post("/api/command", {
    headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name, ...more }),
  });
  if (!quiet || !answer.ok) say(`${name}: ${answer.text}`, answer.ok);
  return answer;
}

export async function snapshot() {
  const answer = await post(`/api/snapshot${query()}`);
  say(`snapshot: ${answer.text}`, answer.ok);
}
