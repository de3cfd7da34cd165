// The data of the map, loaded as bytes and only when they changed.

/** @import {Context} from "./types.js" */

/** A number that no group has. */
export const NO_GROUP = 65535;

/** The arrays of the map, one entry per row. */
export class MapData {
  /** @param {Context} ctx */
  constructor(ctx) {
    this.api = ctx.api;
    this.xy = new Float32Array(0);
    this.labels = new Uint16Array(0);
    this.doubt = new Uint8Array(0);
    /** @type {[number, number, number][]} two rows, and 1 together or 0 apart */
    this.links = [];
    this.method = "";
    this.final = false;
    /** @type {Map<string, string>} */
    this.etags = new Map();
  }

  get n() {
    return this.xy.length >> 1;
  }

  /**
   * The position of a row.
   * @param {number} row
   * @returns {[number, number]}
   */
  place(row) {
    return [this.xy[2 * row] ?? 0.5, this.xy[2 * row + 1] ?? 0.5];
  }

  /** @returns {Promise<boolean>} whether there are new positions */
  async points() {
    const got = await this.#bytes("api/map/points");
    if (got === null) return false;
    this.xy = new Float32Array(got.buffer, 0, (got.buffer.byteLength >> 3) << 1);
    const [method, final] = (got.headers.get("X-Layout") ?? "").split(";");
    this.method = method.trim();
    this.final = ["1", "true", "final", "yes"].includes((final ?? "").trim().toLowerCase());
    return true;
  }

  /** @returns {Promise<boolean>} whether there are new groups */
  async groups() {
    const got = await this.#bytes("api/map/labels");
    if (got !== null) this.labels = new Uint16Array(got.buffer, 0, got.buffer.byteLength >> 1);
    return got !== null;
  }

  /** @returns {Promise<boolean>} */
  async doubts() {
    const got = await this.#bytes("api/map/doubt");
    if (got !== null) this.doubt = new Uint8Array(got.buffer);
    return got !== null;
  }

  /** The answered pairs. */
  async pairs() {
    const got = await this.api.get("api/map/links");
    this.links = got.links;
  }

  /**
   * Pad arrays to the number of points: the grouping may be missing or cover fewer rows.
   */
  even() {
    if (this.labels.length < this.n) {
      const labels = new Uint16Array(this.n).fill(NO_GROUP);
      labels.set(this.labels);
      this.labels = labels;
    }
    if (this.doubt.length < this.n) {
      const doubt = new Uint8Array(this.n);
      doubt.set(this.doubt);
      this.doubt = doubt;
    }
  }

  /** @param {string} path */
  async #bytes(path) {
    const etag = this.etags.get(path);
    const got = await this.api.binary(path, etag ? { etag } : {});
    if (got.status === 304 || got.buffer.byteLength === 0) return null;
    const fresh = got.headers.get("ETag");
    if (fresh) this.etags.set(path, fresh);
    return got;
  }
}
