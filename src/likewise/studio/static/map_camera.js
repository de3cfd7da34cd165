// Where the map is looked at from: the middle of the view and how far it is zoomed in. Only numbers, no page.

/**
 * @typedef {object} Transform From a place on the map to a pixel: `x * ax + bx`, `y * ay + by`.
 * @property {number} ax
 * @property {number} ay
 * @property {number} bx
 * @property {number} by
 */

const MARGIN = 0.94; // of the canvas, so that no point sits on its edge
const STRETCH = 1.7; // the axes of a layout have no unit, so a wide canvas may be filled; but not without bound
const MIN_ZOOM = 0.7;
const MAX_ZOOM = 4000; // float32 places come apart visibly beyond this

/** A view of the map, whose places lie in [0, 1] x [0, 1]. */
export class Camera {
  constructor() {
    this.width = 1;
    this.height = 1;
    this.zoom = 1;
    this.x = 0.5;
    this.y = 0.5;
  }

  /**
   * Say how large the canvas is, in whatever pixels the caller counts.
   * @param {number} width
   * @param {number} height
   */
  resize(width, height) {
    this.width = Math.max(1, width);
    this.height = Math.max(1, height);
  }

  /** @returns {Transform} */
  transform() {
    const { ax, ay } = this.#scales();
    return { ax, ay, bx: this.width / 2 - this.x * ax, by: this.height / 2 - this.y * ay };
  }

  #scales() {
    const w = Math.min(this.width, this.height * STRETCH);
    const h = Math.min(this.height, this.width * STRETCH);
    return { ax: w * MARGIN * this.zoom, ay: h * MARGIN * this.zoom };
  }

  /** The whole map again. */
  reset() {
    this.zoom = 1;
    this.x = 0.5;
    this.y = 0.5;
  }

  /** Whether all of the map is in view as it was at first. */
  get whole() {
    return this.zoom === 1 && this.x === 0.5 && this.y === 0.5;
  }

  /**
   * Move what is shown by so many pixels.
   * @param {number} dx
   * @param {number} dy
   */
  pan(dx, dy) {
    const { ax, ay } = this.#scales();
    this.x = within(this.x - dx / ax, 0, 1);
    this.y = within(this.y - dy / ay, 0, 1);
  }

  /**
   * Zoom in (`factor` above 1) or out around a pixel, which stays where it is.
   * @param {number} factor
   * @param {number} [px]
   * @param {number} [py]
   */
  zoomBy(factor, px = this.width / 2, py = this.height / 2) {
    const before = this.transform();
    const x = (px - before.bx) / before.ax;
    const y = (py - before.by) / before.ay;
    this.zoom = within(this.zoom * factor, MIN_ZOOM, MAX_ZOOM);
    const { ax, ay } = this.#scales();
    this.x = within(x - (px - this.width / 2) / ax, 0, 1);
    this.y = within(y - (py - this.height / 2) / ay, 0, 1);
  }

  /**
   * Bring a place into view if it is not.
   * @param {number} x
   * @param {number} y
   * @returns {boolean} whether the view was moved
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
