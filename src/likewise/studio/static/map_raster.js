// The points of the map as pixels. Drawing circles on a canvas takes a minute for a million points; writing pixels takes a few dozen milliseconds.
// Two steps: `project` finds the pixel of each point in the current view, `paint` colours the pixels. When only groups change, `paint` is enough.

import { mix } from "./colors.js";

/**
 * @typedef {import("./map_camera.js").Transform} Transform
 * @typedef {import("./colors.js").Rgb} Rgb
 */

const LEVELS = 8; // levels of coverage of a pixel
const FAINT = 0.6; // share of the colour for a pixel with a single point, if points are pixels

/** Radius of points in CSS pixels, by the maximum number of points in view. */
const RADII = [
  { upTo: 150, radius: 6 },
  { upTo: 800, radius: 4.5 },
  { upTo: 3000, radius: 3.4 },
  { upTo: 12000, radius: 2.2 },
  { upTo: 40000, radius: 1.5 },
  { upTo: 150000, radius: 0.9 },
];

/**
 * A pixel in the format of ImageData, assuming a little-endian machine.
 * @param {Rgb} rgb
 */
export function pixel([r, g, b]) {
  return ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
}

/** Paints points into a canvas. */
export class Raster {
  /** @param {HTMLCanvasElement} canvas */
  constructor(canvas) {
    const context = canvas.getContext("2d", { alpha: false });
    if (context === null) throw new Error("This browser does not support canvas drawing.");
    this.canvas = canvas;
    this.context = context;
    this.n = 0;
    this.visible = 0;
    this.radius = 0; // in device pixels; 0 if a point is one pixel
    this.ratio = 1;
    this.xy = new Float32Array(0); // in drawing order
    /** @type {Uint32Array} */
    this.order = new Uint32Array(0);
    /** @type {Uint32Array} */
    this.pixels = new Uint32Array(0);
    this.counts = new Uint8Array(0);
    this.places = new Int32Array(0); // the pixel of each visible point
    this.rows = new Uint32Array(0); // the row of each visible point
    /** @type {ImageData | null} */
    this.image = null;
  }

  /**
   * @param {number} width in device pixels
   * @param {number} height
   * @param {number} ratio device pixels to a CSS pixel
   */
  resize(width, height, ratio) {
    this.ratio = ratio;
    if (this.image && this.image.width === width && this.image.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.image = this.context.createImageData(width, height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.counts = new Uint8Array(width * height);
  }

  /**
   * Set the positions of all points and the drawing order: later points are on top.
   * @param {Float32Array} xy
   * @param {Uint32Array} order a permutation of the rows
   */
  setPoints(xy, order) {
    const n = order.length;
    if (this.n !== n) {
      this.n = n;
      this.xy = new Float32Array(2 * n);
      this.places = new Int32Array(n);
      this.rows = new Uint32Array(n);
    }
    this.order = order;
    for (let k = 0; k < n; k++) {
      const i = order[k];
      this.xy[2 * k] = xy[2 * i];
      this.xy[2 * k + 1] = xy[2 * i + 1];
    }
  }

  /**
   * Find the pixels of all points in view.
   * @param {Transform} transform
   */
  project({ ax, ay, bx, by }) {
    const { xy, order, places, rows, counts, n } = this;
    const { width, height } = this.canvas;
    let m = 0;
    for (let k = 0; k < n; k++) {
      const x = xy[2 * k] * ax + bx;
      const y = xy[2 * k + 1] * ay + by;
      if (x >= 0 && y >= 0 && x < width && y < height) {
        places[m] = (y | 0) * width + (x | 0);
        rows[m] = order[k];
        m++;
      }
    }
    this.visible = m;
    const size = RADII.find((entry) => m <= entry.upTo);
    this.radius = size ? size.radius * this.ratio : 0;
    if (this.radius > 0) return;
    counts.fill(0);
    for (let k = 0; k < m; k++) {
      const p = places[k];
      if (counts[p] < 255) counts[p]++;
    }
    for (let p = 0; p < counts.length; p++) {
      if (counts[p] > 0) counts[p] = Math.min(LEVELS - 1, 31 - Math.clz32(counts[p])); // its logarithm
    }
  }

  /**
   * Colour all visible points.
   * @param {Uint16Array | Uint8Array} values index into `colors` of each row
   * @param {Rgb[]} colors the last one is for other values
   * @param {Rgb} background
   * @param {number | null} front the value drawn on top of all others, if any
   */
  paint(values, colors, background, front = null) {
    if (this.image === null) return;
    this.pixels.fill(pixel(background));
    const passes = front === null ? [null] : [null, front];
    for (const only of passes) {
      if (this.radius > 0) this.#discs(values, colors, background, only);
      else this.#dots(values, colors, background, only);
    }
    this.context.putImageData(this.image, 0, 0);
  }

  /**
   * @param {Uint16Array | Uint8Array} values
   * @param {Rgb[]} colors
   * @param {Rgb} background
   * @param {number | null} only
   */
  #dots(values, colors, background, only) {
    const { pixels, places, rows, counts, visible } = this;
    const last = colors.length - 1;
    const table = new Uint32Array(colors.length * LEVELS);
    colors.forEach((color, c) => {
      for (let level = 0; level < LEVELS; level++) {
        const share = FAINT + (1 - FAINT) * Math.min(1, level / 3);
        table[c * LEVELS + level] = pixel(mix(background, color, share));
      }
    });
    if (only === null) {
      for (let k = 0; k < visible; k++) {
        const p = places[k];
        const value = values[rows[k]];
        pixels[p] = table[(value < last ? value : last) * LEVELS + counts[p]];
      }
      return;
    }
    for (let k = 0; k < visible; k++) {
      if (values[rows[k]] === only) pixels[places[k]] = table[only * LEVELS + counts[places[k]]];
    }
  }

  /**
   * Discs with smooth edges and a thin rim in the background colour, which separates neighbours.
   * @param {Uint16Array | Uint8Array} values
   * @param {Rgb[]} colors
   * @param {Rgb} background
   * @param {number | null} only
   */
  #discs(values, colors, background, only) {
    const { places, rows, visible } = this;
    const data = /** @type {ImageData} */ (this.image).data;
    const { width, height } = this.canvas;
    const stamp = disc(this.radius, this.radius >= 2 ? 0.8 * this.ratio : 0);
    const last = colors.length - 1;
    for (let k = 0; k < visible; k++) {
      const value = values[rows[k]];
      if (only !== null && value !== only) continue;
      const color = colors[value < last ? value : last];
      const x = places[k] % width;
      const y = (places[k] - x) / width;
      for (let s = 0; s < stamp.size; s++) {
        const px = x + stamp.dx[s];
        const py = y + stamp.dy[s];
        if (px < 0 || py < 0 || px >= width || py >= height) continue;
        const at = 4 * (py * width + px);
        const rim = stamp.rim[s];
        const fill = stamp.fill[s];
        for (let c = 0; c < 3; c++) {
          const under = data[at + c] + (background[c] - data[at + c]) * rim;
          data[at + c] = under + (color[c] - under) * fill;
        }
      }
    }
  }
}

/** @type {Map<string, {size: number, dx: Int8Array, dy: Int8Array, rim: Float32Array, fill: Float32Array}>} */
const STAMPS = new Map();

/**
 * The pixels of a disc, and how much it covers each.
 * @param {number} radius
 * @param {number} rim
 */
function disc(radius, rim) {
  const name = `${radius} ${rim}`;
  const known = STAMPS.get(name);
  if (known) return known;
  const reach = Math.ceil(radius + rim);
  /** @type {[number, number, number, number][]} */
  const cells = [];
  for (let dy = -reach; dy <= reach; dy++) {
    for (let dx = -reach; dx <= reach; dx++) {
      const far = Math.hypot(dx, dy);
      const inner = Math.min(1, Math.max(0, radius - far + 0.5));
      const outer = Math.min(1, Math.max(0, radius + rim - far + 0.5));
      if (outer > 0) cells.push([dx, dy, rim > 0 ? outer : 0, inner]);
    }
  }
  const made = {
    size: cells.length,
    dx: Int8Array.from(cells, (cell) => cell[0]),
    dy: Int8Array.from(cells, (cell) => cell[1]),
    rim: Float32Array.from(cells, (cell) => cell[2]),
    fill: Float32Array.from(cells, (cell) => cell[3]),
  };
  STAMPS.set(name, made);
  return made;
}

/**
 * All rows in a shuffled but fixed order. The last point of a pixel wins, and files are often sorted.
 * @param {number} n
 */
export function mixedOrder(n) {
  const order = new Uint32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  let state = 0x9e3779b9;
  for (let i = n - 1; i > 0; i--) {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    const j = (state >>> 0) % (i + 1);
    const kept = order[i];
    order[i] = order[j];
    order[j] = kept;
  }
  return order;
}

/**
 * All rows by ascending value: a counting sort.
 * @param {Uint8Array} values
 */
export function orderBy(values) {
  const starts = new Uint32Array(257);
  for (let i = 0; i < values.length; i++) starts[values[i] + 1]++;
  for (let v = 0; v < 256; v++) starts[v + 1] += starts[v];
  const order = new Uint32Array(values.length);
  for (let i = 0; i < values.length; i++) order[starts[values[i]]++] = i;
  return order;
}
