// The names and keywords of the groups on the map, each beside the most typical item of its group.

import { fill, h } from "./dom.js";
import { groupName } from "./hints.js";

/** @import {Group} from "./hints.js" */
/** @import {Transform} from "./map_camera.js" */

const MOST = 60; // labels
const GAP = 4; // pixels between two labels
const OFFSET = 9; // pixels between a label and its item
const WATCHED = 1500; // items that labels avoid to cover; if there are more, every second, third and so on
const RADIUS = 4; // pixels, of a point
// Where a label may be, as shares of its width and height and as steps from the item, the preferred first.
const PLACES = [[-0.5, -1, 0, -1], [-0.5, 0, 0, 1], [0, -0.5, 1, 0], [-1, -0.5, -1, 0], [0, -1, 1, -1], [-1, -1, -1, -1], [0, 0, 1, 1], [-1, 0, -1, 1]]
  .flatMap(([x = 0, y = 0, right = 0, down = 0]) => [1, 3, 6].map((far) => ({ x, y, right: right * far * OFFSET, down: down * far * OFFSET, far })))
  .sort((a, b) => a.far - b.far);

/** @typedef {{x: number, y: number, width: number, height: number}} Box */

/**
 * @param {Box} one
 * @param {Box} other
 */
const overlap = (one, other) => one.x <= other.x + other.width + GAP && other.x <= one.x + one.width + GAP
  && one.y <= other.y + other.height + GAP && other.y <= one.y + one.height + GAP;

/**
 * Keywords or column means; "(others …)" is left out to save space.
 * @param {Group} group
 */
const describe = (group) => group.description.slice(0, 3).map((part) => part.replace(/ \(others [^()]*\)$/, "")).join(", ");

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
      group.description.length > 0 && h("span", { dir: "auto" }, describe(group))));
    fill(this.element, ...labels);
    this.labels = labels.map((label, i) => ({ label, row: largest[i]?.typical[0]?.row ?? 0, width: label.offsetWidth, height: label.offsetHeight }));
  }

  /**
   * Place the labels where they cover the fewest items; one that would cover a larger group's, or the buttons, is left out.
   * @param {Transform} transform to CSS pixels
   * @param {Float32Array} xy
   * @param {(row: number) => boolean} shown
   */
  place(transform, xy, shown) {
    if (this.element.hidden) return;
    const { clientWidth: right, clientHeight: bottom } = this.element;
    const points = watchPoints(transform, xy, right, bottom);
    const taken = [...this.element.parentElement?.querySelectorAll(".map-tools") ?? []].map((one) => findBox(/** @type {HTMLElement} */ (one)));
    for (const { label, row, width, height } of this.labels) {
      const x = (xy[2 * row] ?? 0) * transform.ax + transform.bx;
      const y = (xy[2 * row + 1] ?? 0) * transform.ay + transform.by;
      const isShown = x > 0 && x < right && y > 0 && y < bottom && shown(row) && 2 * row < xy.length;
      const best = isShown ? findPlace({ x, y, width, height }, { right, bottom }, taken, points) : null;
      label.classList.toggle("away", best === null);
      if (best === null) continue;
      label.style.setProperty("transform", `translate(${best.x}px, ${best.y}px)`);
      taken.push(best);
    }
  }
}

/** @param {HTMLElement} element positioned in the map @returns {Box} */
const findBox = (element) => ({ x: element.offsetLeft, y: element.offsetTop, width: element.offsetWidth, height: element.offsetHeight });

/**
 * Some items on the screen, in pixels: x and y in turn.
 * @param {Transform} transform
 * @param {Float32Array} xy
 * @param {number} right
 * @param {number} bottom
 */
function watchPoints(transform, xy, right, bottom) {
  const step = Math.max(1, Math.ceil(xy.length / 2 / WATCHED));
  /** @type {number[]} */
  const points = [];
  for (let row = 0; 2 * row < xy.length; row += step) {
    const x = (xy[2 * row] ?? 0) * transform.ax + transform.bx;
    const y = (xy[2 * row + 1] ?? 0) * transform.ay + transform.by;
    if (x > 0 && x < right && y > 0 && y < bottom) points.push(x, y);
  }
  return points;
}

/**
 * @param {Box} item where the item is, and the size of its label
 * @param {{right: number, bottom: number}} within
 * @param {Box[]} taken
 * @param {number[]} points
 * @returns {Box | null} the free place that covers the fewest items
 */
function findPlace(item, within, taken, points) {
  const { width, height } = item;
  /** @type {Box | null} */
  let best = null;
  let fewest = Infinity;
  for (const place of PLACES) {
    const left = item.x + place.x * width + place.right;
    const top = item.y + place.y * height + place.down;
    const box = { x: Math.min(Math.max(2, left), Math.max(2, within.right - width - 2)), y: Math.min(Math.max(2, top), Math.max(2, within.bottom - height - 2)), width, height };
    if (taken.some((one) => overlap(one, box))) continue;
    let covered = 0;
    for (let at = 0; at < points.length && covered < fewest; at += 2) {
      const x = points[at] ?? 0;
      const y = points[at + 1] ?? 0;
      if (x > box.x - RADIUS && x < box.x + width + RADIUS && y > box.y - RADIUS && y < box.y + height + RADIUS) covered++;
    }
    if (covered >= fewest) continue;
    [best, fewest] = [box, covered];
    if (covered === 0) break;
  }
  return best;
}
