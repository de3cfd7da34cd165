// Hints that are given outside of questions: sending one, saying what became of it, and taking it back.

import { h } from "./dom.js";

/** @import {Context, Item} from "./types.js" */

/**
 * @typedef {object} Group
 * @property {number} number
 * @property {string | null} name
 * @property {number} size
 * @property {string | null} color
 * @property {Item[]} typical
 * @property {Item[]} doubtful
 */

const STAYS = 12000; // milliseconds; long enough to read it and to find the button

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
 * What an item is called in a sentence.
 * @param {Item} item
 */
export function itemName(item) {
  const name = item.title.trim() || item.id;
  return name.length > 60 ? `${name.slice(0, 57)}…` : name;
}

/**
 * Send a hint, say what it became, and offer to take it back.
 * @param {Context} ctx
 * @param {string} path
 * @param {Record<string, unknown>} body without its key
 * @param {string} said what is told when it is kept, before the sentence of the server
 * @param {(what: "kept" | "undone") => void} [after]
 * @returns {Promise<boolean>} whether it was kept
 */
export async function giveHint(ctx, path, body, said, after) {
  try {
    const receipt = await ctx.outbox.post(path, { key: ctx.api.key(), ...body });
    const seq = typeof receipt?.seq === "number" ? receipt.seq : null;
    notice(`${said} ${receipt?.message ?? ""}`.trim(), seq === null ? null : () => takeBack(ctx, seq, () => after?.("undone")));
    after?.("kept");
    return true;
  } catch (error) {
    ctx.toast(String(error), "bad");
    return false;
  }
}

/**
 * Take one event back.
 * @param {Context} ctx
 * @param {number} seq
 * @param {() => void} [after]
 * @returns {Promise<boolean>}
 */
export async function takeBack(ctx, seq, after) {
  try {
    await ctx.outbox.post("api/undo", { key: ctx.api.key(), of: seq });
    closeNotice();
    ctx.toast("Taken back.", "good");
    after?.();
    return true;
  } catch (error) {
    ctx.toast(String(error), "bad");
    return false;
  }
}

/**
 * A message at the foot of the page with an undo button.
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
  words.textContent = text; // after it is in the page, so that screen readers say it
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

/** Remove the message, if one is there. */
export function closeNotice() {
  clearTimeout(timer);
  shown?.remove();
  shown = null;
}

/**
 * Run `work`, and once more when it was asked for again meanwhile. For pictures that come faster than they load.
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
