// Details of one item on the map: a card under the pointer, a panel with actions after a click.

import { fill, h } from "./dom.js";
import { groupName, itemName } from "./hints.js";
import { itemCard } from "./item.js";
import { swatch } from "./map_legend.js";

/** @import {Context, Item} from "./types.js" */
/** @import {Group} from "./hints.js" */

const KEPT = 300; // items

/** Items by row, loaded when first needed. */
export class ItemCache {
  /** @param {Context} ctx */
  constructor(ctx) {
    this.api = ctx.api;
    /** @type {Map<number, Promise<Item>>} */
    this.items = new Map();
  }

  /**
   * @param {number} row
   * @returns {Promise<Item>}
   */
  get(row) {
    const known = this.items.get(row);
    if (known) {
      this.items.delete(row); // move to the end: most recently used
      this.items.set(row, known);
      return known;
    }
    /** @type {Promise<Item>} */
    const coming = this.api.get(`api/items/${row}`);
    coming.catch(() => this.items.delete(row)); // so that it is tried again
    this.items.set(row, coming);
    if (this.items.size > KEPT) this.items.delete(/** @type {number} */ (this.items.keys().next().value));
    return coming;
  }
}

/**
 * The certainty of an item's group, in words.
 * @param {number} doubt 0 to 255
 */
export function doubtWords(doubt) {
  if (doubt < 64) return "very certain";
  if (doubt < 140) return "fairly certain";
  return doubt < 200 ? "doubtful" : "very doubtful";
}

/**
 * The card that follows the pointer.
 * @param {HTMLElement} root
 * @param {Item} item
 * @param {Group | null} group
 * @param {{x: number, y: number, width: number, height: number}} at position in the stage
 */
export function showTip(root, item, group, at) {
  fill(root, itemCard(item, { onOpen: null }), h("p", { class: "tip-group small" }, ...of(group)));
  root.hidden = false;
  // Beside the point, on the side with more space.
  const width = root.offsetWidth;
  const height = root.offsetHeight;
  const left = at.x + 16 + width > at.width ? at.x - 16 - width : at.x + 16;
  const top = Math.min(Math.max(4, at.y - height / 2), Math.max(4, at.height - height - 4));
  root.style.setProperty("left", `${Math.max(4, left)}px`);
  root.style.setProperty("top", `${top}px`);
}

/**
 * The panel of the selected item.
 * @param {HTMLElement} root
 * @param {Item} item
 * @param {Group | null} group
 * @param {number} doubt
 * @param {{close: () => void, alone: () => void, isAlone: boolean, open: () => void, notHere: () => void}} acts
 */
export function showPanel(root, item, group, doubt, acts) {
  fill(root,
    h("div", { class: "row spread" },
      h("h2", null, "This item"),
      h("button", { type: "button", class: "quiet", "data-focus": "close", on: { click: acts.close } }, "Close")),
    h("div", { class: "pin-item" }, itemCard(item)),
    h("p", { class: "small" }, ...of(group), group && `, ${doubtWords(doubt)}`),
    h("div", { class: "pin-acts" },
      group && h("button", { type: "button", "aria-pressed": acts.isAlone, "data-focus": "alone", on: { click: acts.alone } }, "Show only its group"),
      group && h("button", { type: "button", "data-focus": "open", on: { click: acts.open } }, "Open its group"),
      group && h("button", { type: "button", class: "danger", "data-focus": "not-here", "aria-label": `${itemName(item)} does not belong here`, on: { click: acts.notHere } },
        "Does not belong here")));
  root.hidden = false;
}

/** @param {Group | null} group */
function of(group) {
  return group ? [swatch(group), ` in ${groupName(group)}`] : ["in no group yet"];
}
