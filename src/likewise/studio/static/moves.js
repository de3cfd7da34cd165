// What the last refit moved: a line with the number of items, and a list of them with their old and new groups.

import { count, h, openDialog } from "./dom.js";
import { groupName } from "./hints.js";
import { itemCard } from "./item.js";
import { swatch } from "./map_legend.js";

/** @import {Context, Item} from "./types.js" */

/**
 * @typedef {{number: number, name: string | null, color: string}} Label
 * @typedef {{item: Item, before: Label | null, after: Label | null}} Move
 * @typedef {{seq: number, n: number, n_answers: number, n_repairs: number, items: Move[]}} Moves
 */

const PAGE = 60;

/** The line above the groups. */
export class MovesLine {
  /** @param {Context} ctx */
  constructor(ctx) {
    this.ctx = ctx;
    this.words = h("span", { role: "status" });
    this.element = h("p", { class: "moves row", hidden: true }, this.words,
      h("button", { type: "button", class: "small", "data-focus": "moves", on: { click: () => void this.#open() } }, "Show them"));
  }

  /** Show the last refit that moved items. */
  async update() {
    /** @type {Moves} */
    const got = await this.ctx.api.get("api/moves", { limit: 1 });
    this.element.hidden = got.n === 0;
    if (got.n > 0) this.words.textContent = sentence(got);
  }

  async #open() {
    const list = h("ol", { class: "moved" });
    const more = h("button", { type: "button", hidden: true, on: { click: () => void load() } }, "Show more");
    const load = async () => {
      more.disabled = true;
      try {
        /** @type {Moves} */
        const got = await this.ctx.api.get("api/moves", { offset: list.childElementCount, limit: PAGE });
        list.append(...got.items.map(entry));
        more.hidden = list.childElementCount >= got.n || got.items.length === 0;
      } catch (error) {
        this.ctx.toast(String(error), "bad");
      } finally {
        more.disabled = false;
      }
    };
    openDialog("Items that moved", [h("p", null, this.words.textContent ?? ""), list, h("div", { class: "row" }, more)], { class: "wide" });
    await load();
  }
}

/** @param {Moves} moves */
function sentence({ n, n_answers: answers, n_repairs: repairs }) {
  const causes = [answers && count(answers, "answer"), repairs && count(repairs, "repair")].filter(Boolean);
  return `${count(n, "item")} moved${causes.length ? ` after ${causes.join(" and ")}` : ""}.`;
}

/** @param {Move} move */
function entry({ item, before, after }) {
  const line = h("li", { class: "card" }, itemCard(item));
  line.append(h("p", { class: "small" }, ...group(before), h("span", { "aria-label": "to" }, " → "), ...group(after)));
  return line;
}

/** @param {Label | null} label */
function group(label) {
  return label ? [swatch(label), "\u00a0", h("span", { dir: "auto" }, groupName(label))] : ["no group"]; // the mark stays beside the name
}
