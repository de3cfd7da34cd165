/** Requests to the server: JSON in, JSON out, and errors with readable messages. */

import { freshKey } from "./dom.js";

/** A failed request. `status` 0: the server was not reached. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} code
   * @param {string} message
   * @param {string} [wayOn]
   */
  constructor(status, code, message, wayOn = "") {
    super(message);
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.wayOn = wayOn;
  }

  /** Whether the same request may succeed later. */
  get passing() {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }

  toString() {
    return [this.message, this.wayOn].filter(Boolean).join(" ");
  }
}

const PATIENCE = 30_000; // ms; a request that takes longer counts as lost and is sent again

export class Api extends EventTarget {
  /** @param {string} [base] base address of all paths */
  constructor(base = document.baseURI) {
    super();
    this.base = base;
    this.reached = true;
  }

  /** A key for a request that must count only once. */
  key() {
    return freshKey();
  }

  /**
   * @param {string} path relative, such as "api/items/3/thumb"
   * @param {Record<string, string | number | boolean | null | undefined>} [query]
   */
  url(path, query = {}) {
    const address = new URL(path, this.base);
    for (const [name, value] of Object.entries(query)) {
      if (value !== null && value !== undefined) address.searchParams.set(name, String(value));
    }
    return address.href;
  }

  /**
   * @param {string} path
   * @param {Record<string, string | number | boolean | null | undefined>} [query]
   * @returns {Promise<any>}
   */
  async get(path, query) {
    const response = await this.#send(this.url(path, query), { method: "GET" });
    return this.#json(response);
  }

  /**
   * @param {string} path
   * @param {object} [body]
   * @returns {Promise<any>}
   */
  async post(path, body = {}) {
    const response = await this.#send(this.url(path), {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Likewise": "1" },
      body: JSON.stringify(body),
    });
    return this.#json(response);
  }

  /**
   * Send a file, without the limit of time of other requests.
   * @param {string} path
   * @param {File} file
   * @returns {Promise<any>}
   */
  async upload(path, file) {
    const response = await this.#send(this.url(path, { name: file.name }), {
      method: "POST",
      headers: { "Content-Type": "application/octet-stream", "X-Likewise": "1" },
      body: file,
      signal: null,
    });
    return this.#json(response);
  }

  /**
   * Bytes, such as the points of the map. With the ETag of the last ones, status 304 says they have not changed.
   * @param {string} path
   * @param {{etag?: string | null, query?: Record<string, string | number>}} [options]
   * @returns {Promise<{status: number, buffer: ArrayBuffer, headers: Headers}>}
   */
  async binary(path, options = {}) {
    /** @type {Record<string, string>} */
    const headers = options.etag ? { "If-None-Match": options.etag } : {};
    const response = await this.#send(this.url(path, options.query), { method: "GET", headers, cache: "no-store" });
    if (response.status !== 304 && !response.ok) throw await problem(response);
    return { status: response.status, buffer: await response.arrayBuffer(), headers: response.headers };
  }

  /**
   * @param {string} address
   * @param {RequestInit} options
   */
  async #send(address, options) {
    /** @type {Response} */
    let response;
    try {
      response = await fetch(address, { credentials: "same-origin", redirect: "error", signal: AbortSignal.timeout(PATIENCE), ...options });
    } catch {
      this.#tell(false);
      throw new ApiError(0, "lost", "The server does not respond.", "Is it still running? The page keeps trying.");
    }
    this.#tell(true);
    if (response.status === 401) this.dispatchEvent(new CustomEvent("login", { detail: String(await problem(response.clone())) }));
    return response;
  }

  /** @param {Response} response */
  async #json(response) {
    if (!response.ok) throw await problem(response);
    if (response.status === 204) return null;
    try {
      return await response.json();
    } catch {
      throw new ApiError(response.status >= 400 ? response.status : 502, "garbled", "The server's reply could not be read.", "Try again.");
    }
  }

  /** @param {boolean} reached */
  #tell(reached) {
    if (reached === this.reached) return;
    this.reached = reached;
    this.dispatchEvent(new CustomEvent(reached ? "found" : "lost"));
  }
}

/**
 * @param {Response} response
 * @returns {Promise<ApiError>}
 */
async function problem(response) {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, String(error.code), String(error.message), String(error.way_on ?? ""));
  } catch {
    return new ApiError(response.status, "unknown", `The server refused the request (${response.status}).`);
  }
}
