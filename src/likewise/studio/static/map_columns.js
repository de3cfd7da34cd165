// The map coloured by a column: its values as numbers or levels, their colours, and what these mean.

import { doubtColors, groupColor, hex, mix, NONE, readable, rgb } from "./colors.js";
import { fill, h } from "./dom.js";

/** @import {Context, Column} from "./types.js" */
/** @import {Rgb} from "./colors.js" */

/** A column of the items. */
export class MapColumn {
  /**
   * @param {Column} column
   * @param {Uint8Array} values 255 is neither a number nor a level
   */
  constructor(column, values) {
    this.column = column;
    this.values = values;
  }

  /**
   * @param {Context} ctx
   * @param {Column} column
   */
  static async load(ctx, column) {
    const got = await ctx.api.binary("api/map/column", { query: { name: column.name } });
    return new MapColumn(column, new Uint8Array(got.buffer));
  }

  /**
   * The colour of each value.
   * @param {Rgb} background
   * @returns {Rgb[]}
   */
  colors(background) {
    const none = mix(background, rgb(NONE), 0.5);
    if (this.column.low !== null) return [...doubtColors(background).slice(0, 255), none];
    return Array.from({ length: 256 }, (_, i) => (i < this.column.levels.length ? readable(rgb(groupColor(i)), background) : none));
  }

  /**
   * The levels with their colours; for numbers, the ends of the scale.
   * @param {HTMLElement} root
   * @param {Rgb} background
   */
  legend(root, background) {
    const { low, high, levels, decimals, name } = this.column;
    const colors = this.colors(background);
    if (low !== null && high !== null) {
      fill(root, h("p", { class: "small", dir: "auto" }, `${name}: from ${low.toFixed(decimals)} (pale) to ${high.toFixed(decimals)} (strong)`));
      return;
    }
    fill(root, h("p", { class: "small", dir: "auto" }, name), h("ul", { class: "map-legend", "aria-label": name }, ...[...levels, "other or none"].map((level, i) => {
      const square = h("span", { class: "swatch", "aria-hidden": "true" });
      square.style.setProperty("background-color", hex(colors[i < levels.length ? i : 255] ?? [0, 0, 0]));
      return h("li", { class: "row small", dir: "auto" }, square, level);
    })));
  }
}
