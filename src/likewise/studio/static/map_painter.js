// Render the map: colours and positions of the items, and the overlay.

import { computed, doubtColors, mix, NONE, rgb } from "./colors.js";
import { colour } from "./dom.js";
import { Camera } from "./map_camera.js";
import { shownColor } from "./map_legend.js";
import { drawSelection } from "./map_lasso.js";
import { MapNames } from "./map_names.js";
import { drawOverlay } from "./map_overlay.js";
import { mixedOrder, orderBy, pixel, Raster } from "./map_raster.js";

/** @import {Rgb} from "./colors.js" */
/** @import {Group} from "./hints.js" */
/** @import {MapColumn} from "./map_columns.js" */
/** @import {MapData} from "./map_data.js" */
/** @import {Page} from "./map_page.js" */

const GLIDE = 450; // milliseconds of the animation to a new layout
const MOST_GLIDING = 50000; // points; more would stutter

/** Paints the map. */
export class Painter {
  /**
   * @param {Page} page
   * @param {MapData} data
   */
  constructor(page, data) {
    this.page = page;
    this.data = data;
    this.raster = new Raster(page.points);
    this.camera = new Camera(); // in CSS pixels
    /** @type {"group" | "doubt" | "column"} */
    this.by = "group";
    /** @type {MapColumn | null} */
    this.column = null;
    /** @type {Uint8Array | null} 1 for the rows that a search found; the others are faint */
    this.found = null;
    /** @type {number[]} */
    this.selected = [];
    /** @type {{x: number, y: number}[]} the line that is being drawn around items */
    this.line = [];
    this.names = new MapNames();
    /** @type {number | null} the only group shown */
    this.alone = null;
    this.lines = true;
    /** @type {Map<number, Group>} */
    this.groups = new Map();
    /** @type {{row: number, strong: boolean}[]} */
    this.rings = [];
    /** @type {Float32Array} */
    this.xy = data.xy; // current positions, between the old and the new layout during the animation
    this.order = new Uint32Array(0);
    this.ratio = 1;
    this.frame = 0;
    this.gliding = 0;
  }

  /** Stop the animation. */
  stop() {
    cancelAnimationFrame(this.frame);
    cancelAnimationFrame(this.gliding);
  }

  /** Fit the canvases to their size on the page. */
  resize() {
    const { clientWidth: width, clientHeight: height } = this.page.stage;
    if (width === 0 || height === 0) return;
    this.ratio = Math.min(3, window.devicePixelRatio || 1);
    const tools = /** @type {HTMLElement | null} */ (this.page.stage.querySelector(".map-tools"));
    this.camera.resize(width, height, tools ? width - tools.offsetLeft : 0);
    const { overlay } = this.page;
    overlay.width = Math.round(width * this.ratio);
    overlay.height = Math.round(height * this.ratio);
    this.raster.resize(overlay.width, overlay.height, this.ratio);
    this.#project(); // at once, because a resized canvas is empty
    this.paint();
  }

  /** The camera has moved: redraw everything in the next frame. */
  moved() {
    if (this.frame) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.#project();
      this.paint();
    });
  }

  /** Move to a new layout, animated if wanted and possible. */
  layout() {
    cancelAnimationFrame(this.gliding);
    const from = this.xy;
    const to = this.data.xy;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (from.length !== to.length || this.data.n > MOST_GLIDING || calm) {
      this.place(to);
      return;
    }
    const now = new Float32Array(to.length);
    const start = performance.now();
    /** @param {number} time */
    const frame = (time) => {
      const t = Math.min(1, Math.max(0, (time - start) / GLIDE));
      if (t === 1) {
        this.place(to);
        return;
      }
      const share = t * t * (3 - 2 * t);
      for (let k = 0; k < to.length; k++) now[k] = from[k] + (to[k] - from[k]) * share;
      this.place(now);
      this.gliding = requestAnimationFrame(frame);
    };
    this.gliding = requestAnimationFrame(frame);
  }

  /**
   * Place the points: in random order, or with the most doubtful on top if doubt is shown.
   * @param {Float32Array} [xy]
   */
  place(xy = this.xy) {
    this.xy = xy;
    if (this.order.length !== this.data.n) this.order = mixedOrder(this.data.n);
    this.raster.setPoints(xy, this.by === "doubt" ? orderBy(this.data.doubt) : this.order);
    this.#project();
    this.paint();
  }

  #project() {
    const { ax, ay, bx, by } = this.camera.transform();
    const r = this.ratio;
    this.raster.project({ ax: ax * r, ay: ay * r, bx: bx * r, by: by * r });
  }

  /** Colour the points. Positions stay, so this is enough when groups change. */
  paint() {
    const background = computed(colour("--surface"));
    const faint = mix(background, rgb(NONE), 0.22);
    const { data, alone } = this;
    if (data.labels.length < data.n || data.doubt.length < data.n) return;
    const byColumn = this.by === "column" && this.column !== null && this.column.values.length >= data.n ? this.column : null;
    if (this.by === "group" && this.found === null) {
      this.raster.paint(data.labels, this.#palette(background, faint), background, alone);
    } else {
      const colors = byColumn ? byColumn.colors(background) : this.by === "doubt" ? doubtColors(background) : this.#palette(background, faint);
      if (this.by === "doubt") this.#ramp(colors);
      this.#paintShown(byColumn ? byColumn.values : this.by === "doubt" ? data.doubt : data.labels, colors, background, faint);
    }
    this.over();
  }

  /**
   * Paint values with faint points where an item is hidden.
   * @param {Uint8Array | Uint16Array} given
   * @param {Rgb[]} colors
   * @param {Rgb} background
   * @param {Rgb} faint
   */
  #paintShown(given, colors, background, faint) {
    if (this.alone === null && this.found === null) {
      this.raster.paint(given, colors, background);
      return;
    }
    const last = colors.length - 1;
    const values = Uint16Array.from(given.subarray(0, this.data.n), (value) => Math.min(value, last));
    for (let i = 0; i < values.length; i++) if (!this.shows(i)) values[i] = last + 1;
    this.raster.paint(values, [...colors, faint], background);
  }

  /**
   * Whether an item is not faint.
   * @param {number} row
   */
  shows(row) {
    return (this.alone === null || this.data.labels[row] === this.alone) && (this.found === null || this.found[row] === 1);
  }

  /** Lines and rings, above the points. */
  over() {
    drawOverlay(this.page.overlay, this.ratio, this.camera.transform(), this.xy, this.lines ? this.data.links : [], this.rings);
    drawSelection(this.page.overlay, this.ratio, this.camera.transform(), this.xy, this.selected, this.line);
    this.names.place(this.camera.transform(), this.xy, (row) => this.alone === null || this.data.labels[row] === this.alone);
  }

  /**
   * The colour of each group by its number; the last one is for items without a group.
   * @param {Rgb} background
   * @param {Rgb} faint
   * @returns {Rgb[]}
   */
  #palette(background, faint) {
    const most = Math.max(-1, ...this.groups.keys());
    const none = mix(background, rgb(NONE), 0.6);
    return Array.from({ length: most + 2 }, (_, number) => {
      if (this.alone !== null && number !== this.alone) return faint;
      const group = this.groups.get(number);
      return group ? shownColor(group, background) : none;
    });
  }

  /** @param {Rgb[]} colors */
  #ramp(colors) {
    const context = this.page.ramp.querySelector("canvas")?.getContext("2d");
    if (!context) return;
    const image = context.createImageData(256, 1);
    const pixels = new Uint32Array(image.data.buffer);
    for (let i = 0; i < 256; i++) pixels[i] = pixel(colors[i] ?? [0, 0, 0]);
    context.putImageData(image, 0, 0);
  }
}
