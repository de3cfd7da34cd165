// New items, for the owner: a form to add them, and those that fit into no group so far.

import { count, fill, h } from "./dom.js";
import { groupName, latest } from "./hints.js";
import { itemCard } from "./item.js";
import { swatch } from "./map_legend.js";
import { doubtWords } from "./map_pin.js";

/** @import {Context} from "./types.js" */

const ACCEPTED = { image: "image/png,image/jpeg,image/gif,image/webp,image/bmp", sound: "audio/wav,audio/flac,audio/ogg,audio/mpeg,.wav,.flac,.ogg,.mp3" };
const AT_ONCE = 1000; // rows per request

/**
 * @param {Context} ctx
 * @param {AbortSignal} signal
 */
export function additions(ctx, signal) {
  const { kind } = ctx.me.project;
  const found = h("div", null);
  const status = h("p", { class: "small", role: "status" });
  const bar = h("progress", { class: "upload-bar", "aria-label": "Files uploaded", hidden: true, value: "0", max: "1" });
  const add = h("button", { type: "submit", class: "primary" }, "Add");
  const field = kind === "image" || kind === "sound"
    ? h("input", { type: "file", id: "new-items", multiple: true, required: true, accept: ACCEPTED[kind] })
    : h("textarea", { id: "new-items", rows: "5", required: true, spellcheck: "false", dir: "auto" });
  const label = kind === "image" ? "Pictures to add" : kind === "sound" ? "Sounds to add"
    : kind === "text" ? "Texts to add, one per line" : "Rows to add: a line with the names of the columns, then one line per row, with commas between the cells";

  /** @param {Event} event */
  const send = async (event) => {
    event.preventDefault();
    add.disabled = true;
    try {
      const result = field instanceof HTMLInputElement
        ? await sendFiles(ctx, [...(field.files ?? [])], (done, total) => {
          bar.hidden = false;
          bar.max = total;
          bar.value = done;
          status.textContent = `${done} of ${count(total, "file")} uploaded`;
        })
        : await sendRows(ctx, kind === "text" ? field.value.split("\n").filter((line) => line.trim()).map((text) => ({ text })) : readTable(field.value));
      field.value = "";
      status.textContent = result;
      ctx.announce(result);
    } catch (error) {
      status.textContent = String(error);
    } finally {
      bar.hidden = true;
      add.disabled = false;
      void update();
    }
  };

  const update = latest(async () => {
    try {
      const shown = await ctx.api.get("api/additions");
      if (!signal.aborted) fill(found, ...describe(shown));
    } catch (error) {
      fill(found, h("p", { class: "note bad" }, String(error)));
    }
  });
  ctx.events.addEventListener("picture", update, { signal });
  ctx.events.addEventListener("items", update, { signal });
  void update();
  return h("section", { class: "people-part additions", "aria-label": "New items" }, h("h2", null, "New items"),
    h("p", { class: "muted" }, "New items join the groups that fit. Groups of other items stay as they are until an answer moves them."),
    h("form", { class: "row people-form", on: { submit: send } }, h("div", { class: "field" }, h("label", { for: "new-items" }, label), field), add),
    bar, status, found);
}

/**
 * @typedef {import("./types.js").Item[]} Items
 * @typedef {{item: import("./types.js").Item, group: {number: number, name: string | null, color: string}, doubt: number}} Placed
 * @param {{n_items: number, n_new: number, placed: Placed[], n_unplaced: number, unplaced: Items, n_gone: number, gone: Items, fitting: boolean}} shown
 */
function describe(shown) {
  return [...describeNew(shown), ...describePlaced(shown.placed), ...describeGone(shown)];
}

/** @param {Placed[]} placed */
function describePlaced(placed) {
  if (placed.length === 0) return [];
  return [
    h("h3", { class: "small muted" }, "Groups of new items, the most doubtful first"),
    h("ul", { class: "gallery", "aria-label": "Groups of new items" }, ...placed.map(({ item, group, doubt }) => h("li", null, itemCard(item),
      h("p", { class: "small" }, swatch(group), ` ${groupName(group)}, ${doubtWords(255 * doubt)}`)))),
  ];
}

/** @param {{n_gone: number, gone: Items}} shown */
function describeGone({ n_gone, gone }) {
  if (n_gone === 0) return [];
  const more = n_gone > gone.length ? ` These are the first ${gone.length}.` : "";
  return [
    h("p", null, `${count(n_gone, "item is", "items are")} gone from the data: not asked about until back, and answers stay.${more}`),
    h("ul", { class: "gallery", "aria-label": "Items that are gone" }, ...gone.map((item) => h("li", null, itemCard(item)))),
  ];
}

/** @param {{n_new: number, n_unplaced: number, unplaced: Items, fitting: boolean}} shown */
function describeNew({ n_new, n_unplaced, unplaced, fitting }) {
  if (n_new === 0) return [];
  if (fitting) return [h("p", null, `${count(n_new, "item")} joined last and will soon have a group.`)];
  if (n_unplaced === 0) return [h("p", null, `${count(n_new, "item")} joined last, and all fit into the groups.`)];
  const more = n_unplaced > unplaced.length ? ` These are the first ${unplaced.length}.` : "";
  return [
    h("p", null, `${count(n_new, "item")} joined last. ${count(n_unplaced, "item fits", "items fit")} nowhere so far: far from all older items, and without an answer.${more}`),
    h("ul", { class: "gallery", "aria-label": "Items that fit nowhere" }, ...unplaced.map((item) => h("li", null, itemCard(item)))),
  ];
}

/**
 * Upload files one by one, then add them together.
 * @param {Context} ctx
 * @param {File[]} files
 * @param {(done: number, total: number) => void} report
 * @returns {Promise<string>}
 */
async function sendFiles(ctx, files, report) {
  /** @type {string[]} */
  const uploads = [];
  /** @type {string[]} */
  const refused = [];
  report(0, files.length);
  for (const [at, file] of files.entries()) {
    try {
      uploads.push((await ctx.api.upload("api/uploads", file)).upload);
    } catch (error) {
      refused.push(String(error));
    }
    report(at + 1, files.length);
  }
  const words = [];
  if (uploads.length > 0) words.push((await ctx.api.post("api/items", { key: ctx.api.key(), uploads })).message);
  if (refused.length > 0) words.push(`${count(refused.length, "file")} refused. ${refused.slice(0, 3).join(" ")}`);
  return words.join(" ");
}

/**
 * @param {Context} ctx
 * @param {object[]} items
 * @returns {Promise<string>}
 */
async function sendRows(ctx, items) {
  if (items.length === 0) return "There is nothing to add.";
  let n = 0;
  for (let first = 0; first < items.length; first += AT_ONCE) {
    n += (await ctx.api.post("api/items", { key: ctx.api.key(), items: items.slice(first, first + AT_ONCE) })).n;
  }
  return `${count(n, "item")} added.`;
}

/**
 * Read comma-separated values; a cell in quotes may have commas, line breaks and doubled quotes.
 * @param {string} text
 */
export function readTable(text) {
  /** @type {string[][]} */
  const lines = [[]];
  for (const [, quoted, plain, end] of text.trim().matchAll(/(?:"((?:[^"]|"")*)"|([^,\r\n]*))(,|\r?\n|$)/g)) {
    lines.at(-1)?.push(quoted !== undefined ? quoted.replaceAll('""', '"') : (plain ?? "").trim());
    if (end === "") break;
    if (end !== ",") lines.push([]);
  }
  const [names = [], ...rows] = lines;
  return rows.filter((row) => row.some(Boolean)).map((row) => ({ cells: Object.fromEntries(names.map((name, at) => [name, row[at] ?? null])) }));
}
