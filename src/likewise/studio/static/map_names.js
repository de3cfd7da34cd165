// The names and keywords of the groups on the map, each at the most typical item of its group.

import { fill, h } from "./dom.js";
import { groupName } from "./hints.js";

/** @import {Group} from "./hints.js" */
/** @import {Transform} from "./map_camera.js" */

const MOST = 60; // labels
const GAP = 4; // pixels between two labels
const OFFSET = 9; // pixels above the item

/** The labels. Screen readers use the list beside the map instead. */
export class MapNames {
  constructor() {
    this.element = h("div", { class: "map-names", "aria-hidden": "true" });
    /** @type {{label: HTMLElement, row: number, width: number, height: number}[]} the largest group first */
    this.labels = [];
  }

  /**
   * @param {Group[]} groups
   */
  set(groups) {
    const largest = [...groups].filter((group) => group.typical.length > 0).sort((a, b) => b.size - a.size).slice(0, MOST);
    const labels = largest.map((group) => h("div", { class: "map-name" }, h("strong", { dir: "auto" }, groupName(group)),
      group.description.length > 0 && h("span", { dir: "auto" }, group.description.slice(0, 3).join(", "))));
    fill(this.element, ...labels);
    this.labels = labels.map((label, i) => ({ label, row: largest[i]?.typical[0]?.row ?? 0, width: label.offsetWidth, height: label.offsetHeight }));
  }

  /**
   * Place the labels; one that would cover a larger group's is left out.
   * @param {Transform} transform to CSS pixels
   * @param {Float32Array} xy
   * @param {(row: number) => boolean} shown
   */
  place(transform, xy, shown) {
    if (this.element.hidden) return;
    const { clientWidth: right, clientHeight: bottom } = this.element;
    /** @type {{x: number, y: number, width: number, height: number}[]} */
    const taken = [];
    for (const { label, row, width, height } of this.labels) {
      const x = (xy[2 * row] ?? 0) * transform.ax + transform.bx - width / 2;
      const y = (xy[2 * row + 1] ?? 0) * transform.ay + transform.by - height - OFFSET;
      const inside = x + width > 0 && x < right && y + height > 0 && y < bottom;
      const free = inside && shown(row) && 2 * row < xy.length
        && taken.every((one) => x > one.x + one.width + GAP || one.x > x + width + GAP || y > one.y + one.height + GAP || one.y > y + height + GAP);
      label.classList.toggle("away", !free);
      if (!free) continue;
      const left = Math.min(Math.max(2, x), Math.max(2, right - width - 2));
      const top = Math.min(Math.max(2, y), Math.max(2, bottom - height - 2));
      label.style.setProperty("transform", `translate(${left}px, ${top}px)`);
      taken.push({ x: left, y: top, width, height });
    }
  }
}
