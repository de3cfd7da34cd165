// Search on the Groups page: items that contain a text, and the groups that they are in.

import { count, fill, h } from "./dom.js";
import { groupName, latest } from "./hints.js";
import { itemCard } from "./item.js";
import { swatch } from "./map_legend.js";
import { selectable, selection } from "./selection.js";

/** @import {Context, Item} from "./types.js" */
/** @import {Group} from "./hints.js" */

/** @typedef {{items: {item: Item, group: number | null}[], rows: number[], more: boolean}} Found */

/** The search field, its filter and its results. */
export class GroupSearch {
  /**
   * @param {Context} ctx
   * @param {() => Group[]} groups
   * @param {() => void} filter called when other groups are to be shown
   */
  constructor(ctx, groups, filter) {
    this.ctx = ctx;
    this.groups = groups;
    /** @type {Found | null} */
    this.found = null;
    this.input = h("input", { type: "search", "aria-label": "Search items and groups", placeholder: "Search items and groups", autocomplete: "off", maxlength: "200" });
    this.unnamed = h("input", { type: "checkbox", on: { change: filter } });
    this.words = h("span", { role: "status", class: "small muted" });
    this.all = h("button", { type: "button", class: "small", hidden: true, on: { click: () => selection.set(this.found?.rows ?? [], true) } }, "Select them all");
    this.tiles = h("ul", { class: "gallery tiles found" });
    this.bar = h("form", { class: "row group-search", role: "search", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
      this.input, h("label", { class: "check" }, this.unnamed, "Only groups without a name"), this.words, this.all);
    this.search = latest(async () => {
      await this.#fetch();
      filter();
    });
    this.input.addEventListener("input", () => void this.search());
  }

  get text() {
    return this.input.value.trim().toLowerCase();
  }

  async #fetch() {
    const { text } = this;
    try {
      this.found = text ? await this.ctx.api.get("api/search", { q: text, limit: 24 }) : null;
    } catch (error) {
      this.found = null;
      this.words.textContent = String(error);
      return;
    }
    const { found } = this;
    const n = found?.rows.length ?? 0;
    this.words.textContent = found ? `${count(n, "item")}${found.more ? " or more" : ""} found${n > found.items.length ? `, ${found.items.length} shown` : ""}` : "";
    this.all.hidden = n < 2;
    fill(this.tiles, ...(found?.items ?? []).map(({ item, group }) => selectable(
      h("li", { class: `tile of-${item.kind}` }, itemCard(item), h("p", { class: "small tile-group", dir: "auto" }, ...this.#in(group))), item,
      { shelved: group === null, focus: `pick found ${item.row}` })));
  }

  /** @param {number | null} number */
  #in(number) {
    const group = this.groups().find((one) => one.number === number);
    return group ? [swatch(group), " ", groupName(group)] : ["no group"];
  }

  /**
   * Whether a group is to be shown.
   * @param {Group} group
   */
  shows(group) {
    if (this.unnamed.checked && group.name) return false;
    if (!this.text) return true;
    const words = `${groupName(group)} ${group.description.join(" ")}`.toLowerCase();
    return words.includes(this.text) || (this.found?.items ?? []).some((one) => one.group === group.number);
  }
}
