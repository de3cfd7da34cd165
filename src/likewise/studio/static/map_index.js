// Nearest-point search: a grid over the map, filled by a counting sort in two passes.

/** Finds points by position. */
export class PointIndex {
  /** @param {Float32Array} xy pairs in [0, 1] x [0, 1] */
  constructor(xy) {
    const n = xy.length >> 1;
    const side = Math.min(1024, Math.max(1, Math.ceil(Math.sqrt(n / 4))));
    this.xy = xy;
    this.side = side;
    /** @type {Uint32Array} start of each cell in `rows` */
    this.starts = new Uint32Array(side * side + 1);
    /** @type {Uint32Array} the rows, cell by cell */
    this.rows = new Uint32Array(n);
    const cells = new Uint32Array(n);
    for (let i = 0; i < n; i++) {
      const cell = this.#cell(xy[2 * i + 1]) * side + this.#cell(xy[2 * i]);
      cells[i] = cell;
      this.starts[cell + 1]++;
    }
    for (let c = 0; c < side * side; c++) this.starts[c + 1] += this.starts[c];
    const next = this.starts.slice(0, side * side);
    for (let i = 0; i < n; i++) this.rows[next[cells[i]]++] = i;
  }

  /** @param {number} v */
  #cell(v) {
    const cell = Math.floor(v * this.side);
    return cell > 0 ? Math.min(cell, this.side - 1) : 0; // also handles NaN
  }

  /**
   * The row nearest to a position, or -1 if none is close enough. Distances are in pixels: `ax` and `ay` are the numbers
   * of pixels per unit of the map.
   * @param {number} x
   * @param {number} y
   * @param {number} ax
   * @param {number} ay
   * @param {number} reach in pixels
   * @param {((row: number, dx: number, dy: number) => boolean) | null} [wanted]
   */
  nearest(x, y, ax, ay, reach, wanted = null) {
    let best = -1;
    let bound = reach * reach;
    const home = { x: this.#cell(x), y: this.#cell(y) };
    const step = Math.min(ax, ay) / this.side; // pixels per shorter side of a cell
    // Search rings of cells outwards until no nearer point is possible.
    for (let ring = 0; ring <= this.side; ring++) {
      const least = (ring - 1) * step;
      if (ring > 1 && least * least > bound) break;
      const top = home.y - ring;
      const bottom = home.y + ring;
      for (let cy = Math.max(0, top); cy <= Math.min(this.side - 1, bottom); cy++) {
        const whole = cy === top || cy === bottom;
        const jump = whole || ring === 0 ? 1 : 2 * ring;
        for (let cx = home.x - ring; cx <= home.x + ring; cx += jump) {
          if (cx < 0 || cx >= this.side) continue;
          const cell = cy * this.side + cx;
          for (let k = this.starts[cell]; k < this.starts[cell + 1]; k++) {
            const row = this.rows[k];
            const dx = (this.xy[2 * row] - x) * ax;
            const dy = (this.xy[2 * row + 1] - y) * ay;
            const far = dx * dx + dy * dy;
            if (far < bound && (wanted === null || wanted(row, dx, dy))) {
              bound = far;
              best = row;
            }
          }
        }
      }
    }
    return best;
  }

  /**
   * The nearest row in one of the four directions, at least `gap` pixels away; -1 if there is none.
   * @param {number} row the starting point
   * @param {"left" | "right" | "up" | "down"} direction
   * @param {number} ax
   * @param {number} ay
   * @param {number} gap
   */
  step(row, direction, ax, ay, gap) {
    const across = direction === "left" || direction === "right";
    const sign = direction === "left" || direction === "up" ? -1 : 1;
    return this.nearest(this.xy[2 * row], this.xy[2 * row + 1], ax, ay, Infinity, (other, dx, dy) => {
      const along = (across ? dx : dy) * sign;
      return other !== row && along >= gap && along >= Math.abs(across ? dy : dx);
    });
  }
}
