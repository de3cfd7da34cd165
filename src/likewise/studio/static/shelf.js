// The shelf: items that belong to none of the groups. They can be selected and taken off it.

import { count, fill, h } from "./dom.js";
import { itemCard } from "./item.js";
import { repair } from "./repair.js";
import { dropTarget, selectable } from "./selection.js";

/** @import {Context, Item} from "./types.js" */

const PAGE = 24;

/** The card of the shelf, after those of the groups. */
export class Shelf {
  /** @param {Context} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.shown = PAGE;
    this.words = h("p", { class: "small muted" });
    this.tiles = h("ul", { class: "gallery tiles" });
    this.more = h("button", { type: "button", hidden: true, on: { click: () => { this.shown += PAGE; void this.update(); } } }, "Show more");
    this.element = h("article", { class: "card shelf", "aria-label": "None of these", hidden: true },
      h("header", null, h("h2", null, "None of these"), this.words), this.tiles, h("div", { class: "row" }, this.more));
    dropTarget(this.element, () => void repair(ctx, "shelve"));
  }

  /** Load the items. */
  async update() {
    /** @type {{items: Item[], total: number}} */
    const got = await this.ctx.api.get("api/shelf", { limit: Math.min(this.shown, 200) });
    this.element.hidden = false;
    this.words.textContent = got.total
      ? `${count(got.total, "item")} that belong to no group. They are not asked about.`
      : "Items that belong to no group. Select items and choose “None of these”, or drop them here.";
    const held = this.tiles.contains(document.activeElement) ? document.activeElement?.getAttribute("data-focus") : null;
    fill(this.tiles, ...got.items.map((item) => selectable(h("li", { class: `tile of-${item.kind}` }, itemCard(item)), item, { shelved: true, focus: `pick shelf ${item.row}` })));
    if (held) /** @type {HTMLElement | null} */ (this.tiles.querySelector(`[data-focus="${held}"]`))?.focus();
    this.more.hidden = got.items.length >= got.total || this.shown >= 200;
  }
}
