// Hints given outside of questions: send one, show the result, and undo it.

import { h } from "./dom.js";

/** @import {Context, Item} from "./types.js" */

/**
 * @typedef {object} Group
 * @property {number} number
 * @property {string | null} name
 * @property {number} size
 * @property {string | null} color
 * @property {string[]} description  keywords of texts, or columns of a table
 * @property {string | null} suggestion  a name made of these, if it has no name
 * @property {Item[]} typical
 * @property {Item[]} doubtful
 */

const STAYS = 12000; // milliseconds; long enough to read the message and reach the button

/** @type {HTMLElement | null} */
let shown = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let timer;

/**
 * The name of a group, or its number.
 * @param {{number: number, name: string | null}} group
 */
export function groupName(group) {
  return group.name?.trim() || `Group ${group.number + 1}`;
}

/**
 * The name of an item in a sentence.
 * @param {Item} item
 */
export function itemName(item) {
  const name = item.title.trim() || item.id;
  return name.length > 60 ? `${name.slice(0, 57)}…` : name;
}

/**
 * Send a hint, show the result, and offer to undo it.
 * @param {Context} ctx
 * @param {string} path
 * @param {Record<string, unknown>} body the request without its key
 * @param {string} prefix shown before the message of the server
 * @param {(what: "kept" | "undone") => void} [after]
 * @returns {Promise<boolean>} whether it was saved
 */
export async function giveHint(ctx, path, body, prefix, after) {
  try {
    const receipt = await ctx.outbox.post(path, { key: ctx.api.key(), ...body });
    const seq = typeof receipt?.seq === "number" ? receipt.seq : null;
    notice(`${prefix} ${receipt?.message ?? ""}`.trim(), seq === null ? null : () => takeBack(ctx, seq, () => after?.("undone")));
    after?.("kept");
    return true;
  } catch (error) {
    ctx.toast(String(error), "bad");
    return false;
  }
}

/**
 * Undo one event.
 * @param {Context} ctx
 * @param {number} seq
 * @param {() => void} [after]
 * @returns {Promise<boolean>}
 */
export async function takeBack(ctx, seq, after) {
  try {
    await ctx.outbox.post("api/undo", { key: ctx.api.key(), of: seq });
    closeNotice();
    ctx.toast("Undone.", "good");
    after?.();
    return true;
  } catch (error) {
    ctx.toast(String(error), "bad");
    return false;
  }
}

/**
 * A message at the bottom of the page with an undo button.
 * @param {string} text
 * @param {(() => void) | null} undo
 */
function notice(text, undo) {
  closeNotice();
  const words = h("span", { role: "status" });
  const bar = h("div", { class: "hint-notice" }, words,
    undo && h("button", { type: "button", on: { click: undo } }, "Undo"),
    h("button", { type: "button", class: "quiet", on: { click: closeNotice } }, "Close"));
  document.body.appendChild(bar);
  words.textContent = text; // after insertion, so that screen readers announce it
  shown = bar;
  const start = () => {
    clearTimeout(timer);
    timer = setTimeout(closeNotice, STAYS);
  };
  const wait = () => clearTimeout(timer);
  bar.addEventListener("pointerenter", wait);
  bar.addEventListener("pointerleave", start);
  bar.addEventListener("focusin", wait);
  bar.addEventListener("focusout", start);
  start();
}

/** Remove the message, if there is one. */
export function closeNotice() {
  clearTimeout(timer);
  shown?.remove();
  shown = null;
}

/**
 * Run `work`, and once more if it was called again meanwhile: updates may arrive faster than they load.
 * @param {() => Promise<void>} work
 * @returns {() => Promise<void>}
 */
export function latest(work) {
  let again = false;
  /** @type {Promise<void> | null} */
  let running = null;
  const run = async () => {
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      running = null;
    }
  };
  return () => {
    if (running) again = true;
    else running = run();
    return running;
  };
}
