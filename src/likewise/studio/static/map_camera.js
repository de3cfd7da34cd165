// The view of the map: its centre and zoom. Numbers only, independent of the page.

/**
 * @typedef {object} Transform From a map position to a pixel: `x * ax + bx`, `y * ay + by`.
 * @property {number} ax
 * @property {number} ay
 * @property {number} bx
 * @property {number} by
 */

const MARGIN = 0.94; // share of the canvas used, so that no point is on its edge
const STRETCH = 1.7; // maximum ratio of the axes: they have no unit, so a wide canvas may be filled
const MIN_ZOOM = 0.7;
const MAX_ZOOM = 4000; // beyond this, the precision of float32 positions becomes visible

/** A view of the map, whose positions are in [0, 1] x [0, 1]. */
export class Camera {
  constructor() {
    this.width = 1;
    this.height = 1;
    this.aside = 0; // pixels at the right end that buttons cover; the whole map is shown beside them
    this.zoom = 1;
    this.x = 0.5;
    this.y = 0.5;
  }

  /**
   * Set the size of the canvas, in the caller's pixel unit.
   * @param {number} width
   * @param {number} height
   * @param {number} [aside] of the width, covered by buttons
   */
  resize(width, height, aside = 0) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
    this.aside = Math.min(aside, this.width / 2);
  }

  /** @returns {Transform} */
  transform() {
    const { ax, ay } = this.#scales();
    return { ax, ay, bx: (this.width - this.aside) / 2 - this.x * ax, by: this.height / 2 - this.y * ay };
  }

  #scales() {
    const width = this.width - this.aside;
    const w = Math.min(width, this.height * STRETCH);
    const h = Math.min(this.height, width * STRETCH);
    return { ax: w * MARGIN * this.zoom, ay: h * MARGIN * this.zoom };
  }

  /** Show the whole map. */
  reset() {
    this.zoom = 1;
    this.x = 0.5;
    this.y = 0.5;
  }

  /** Whether the whole map is shown, as at the start. */
  get whole() {
    return this.zoom === 1 && this.x === 0.5 && this.y === 0.5;
  }

  /**
   * Move the view by a number of pixels.
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    const { ax, ay } = this.#scales();
    this.x = within(this.x - dx / ax, 0, 1);
    this.y = within(this.y - dy / ay, 0, 1);
  }

  /**
   * Zoom in (`factor` above 1) or out around a pixel, which stays fixed.
   * @param {number} factor
   * @param {number} [px]
   * @param {number} [py]
   */
  zoomBy(factor, px = (this.width - this.aside) / 2, py = this.height / 2) {
    const before = this.transform();
    const x = (px - before.bx) / before.ax;
    const y = (py - before.by) / before.ay;
    this.zoom = within(this.zoom * factor, MIN_ZOOM, MAX_ZOOM);
    const { ax, ay } = this.#scales();
    this.x = within(x - (px - (this.width - this.aside) / 2) / ax, 0, 1);
    this.y = within(y - (py - this.height / 2) / ay, 0, 1);
  }

  /**
   * Move a position into view if necessary.
   * @param {number} x
   * @param {number} y
   * @returns {boolean} whether the view moved
   */
  show(x, y) {
    const t = this.transform();
    const px = x * t.ax + t.bx;
    const py = y * t.ay + t.by;
    const edge = 24;
    if (px >= edge && px <= this.width - edge && py >= edge && py <= this.height - edge) return false;
    this.x = x;
    this.y = y;
    return true;
  }
}

/**
 * @param {number} value
 * @param {number} low
 * @param {number} high
 */
function within(value, low, high) {
  return Math.min(high, Math.max(low, value));
}
