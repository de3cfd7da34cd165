/**
 * Requests that the server does not have yet.
 *
 * Each request is first stored on this machine (in IndexedDB, or in memory if that is unavailable), then sent, in order,
 * and sent again until the server has it. The key in its body makes a repeated request count once. Several tabs share
 * one outbox, and one of them sends at a time. A request that the server rejects for good is kept and shown, not dropped.
 */

import { ApiError } from "./api.js";

/**
 * @typedef {object} Entry
 * @property {number} order  set by the storage
 * @property {string} scope  project and person; another login must not send it
 * @property {string} path
 * @property {Record<string, any>} body
 * @property {string | null} undoes  the key of the entry whose seq becomes `body.of` once it is known
 * @property {string | null} refused  why the server rejects it
 */

/**
 * The storage of entries.
 * @typedef {object} Keeper
 * @property {(entry: Entry) => Promise<void>} add
 * @property {(entry: Entry) => Promise<void>} change
 * @property {(order: number) => Promise<void>} remove
 * @property {(scope: string) => Promise<Entry[]>} all  in order
 */

const RETRY = [500, 1000, 2000, 4000, 8000, 15000];

export class Outbox extends EventTarget {
  /** @type {import("./api.js").Api} */
  #api;
  #scope;
  /** @type {Promise<Keeper>} */
  #keeper;
  /** @type {BroadcastChannel | null} */
  #channel = null;
  /** @type {Map<string, {resolve: (result: any) => void, reject: (error: unknown) => void}>} */
  #promised = new Map();
  #running = false;
  #again = false;
  #failures = 0;
  #timer = 0;
  /** @type {Entry[]} */
  #entries = [];
  /** @type {Set<Entry>} being stored */
  #fresh = new Set();

  /**
   * @param {import("./api.js").Api} api
   * @param {string} scope
   * @param {Promise<Keeper>} [keeper]
   */
  constructor(api, scope, keeper = openKeeper()) {
    super();
    this.#api = api;
    this.#scope = scope;
    this.#keeper = keeper;
    /** @type {"" | "lost" | "login"} why sending has stopped */
    this.trouble = "";
    if ("BroadcastChannel" in window) {
      this.#channel = new BroadcastChannel(`likewise ${scope}`);
      this.#channel.onmessage = (event) => void this.#heard(event.data);
    }
    window.addEventListener("online", () => this.retry());
    window.addEventListener("beforeunload", (event) => {
      if (this.waiting.length > 0) event.preventDefault();
    });
    void this.#refresh().then(() => this.retry());
  }

  /** Entries that the server does not have yet, in order. */
  get waiting() {
    return this.#entries.filter((entry) => entry.refused === null);
  }

  /** Entries that the server rejected. */
  get refused() {
    return this.#entries.filter((entry) => entry.refused !== null);
  }

  /** Ids of the questions with an unsent answer or skip. */
  get questions() {
    return new Set(this.waiting.map((entry) => entry.body["question"]).filter(Boolean));
  }

  /**
   * Store, send, and resolve to the server's reply. Rejects only if the server refuses permanently.
   * @param {string} path
   * @param {Record<string, any>} body with a `key`
   * @param {{undoes?: string}} [options]
   * @returns {Promise<any>}
   */
  post(path, body, options = {}) {
    if (typeof body["key"] !== "string") throw new TypeError("a request in the outbox needs a key.");
    /** @type {Entry} */
    const entry = { order: 0, scope: this.#scope, path, body, undoes: options.undoes ?? null, refused: null };
    this.#entries.push(entry);
    const reply = new Promise((resolve, reject) => this.#promised.set(body["key"], { resolve, reject }));
    reply.catch(() => {}); // the badge shows a refusal even if nobody awaits this promise
    this.#changed();
    void this.#add(entry);
    return reply;
  }

  /** @param {Entry} entry */
  async #add(entry) {
    this.#fresh.add(entry);
    try {
      await (await this.#keeper).add(entry);
    } catch {
      this.#keeper = Promise.resolve(memoryKeeper()); // storage is full: what is stored is sent when the page is opened next
      await (await this.#keeper).add(entry);
    }
    await this.#refresh();
    this.#fresh.delete(entry);
    this.retry();
  }

  /** Send now. */
  retry() {
    clearTimeout(this.#timer);
    void this.#drain();
  }

  /**
   * Resolve once everything is sent, or after `patience` ms.
   * @param {number} patience
   * @returns {Promise<void>}
   */
  async settled(patience) {
    await this.#refresh();
    if (this.waiting.length === 0) return;
    await new Promise((resolve) => {
      const look = () => this.waiting.length === 0 && resolve(undefined);
      this.addEventListener("change", look);
      setTimeout(resolve, patience);
    });
  }

  /**
   * Retry a refused entry, or discard it.
   * @param {Entry} entry
   * @param {"again" | "forget"} what
   */
  async settle(entry, what) {
    const keeper = await this.#keeper;
    if (what === "forget") await keeper.remove(entry.order);
    else await keeper.change({ ...entry, refused: null });
    await this.#refresh();
    this.retry();
  }

  async #drain() {
    if (this.#running) {
      this.#again = true;
      return;
    }
    this.#running = true;
    try {
      do {
        this.#again = false;
        // One tab sends at a time. Without locks (plain http from another machine) the keys make repeats harmless.
        if (navigator.locks) await navigator.locks.request(`likewise send ${this.#scope}`, () => this.#pass());
        else await this.#pass();
      } while (this.#again && this.trouble === "");
    } finally {
      this.#running = false;
    }
  }

  async #pass() {
    const keeper = await this.#keeper;
    for (;;) {
      const entry = (await keeper.all(this.#scope)).find((one) => one.refused === null);
      if (!entry) break;
      try {
        const result = await this.#api.post(entry.path, entry.body);
        await this.#sent(keeper, entry, result);
      } catch (error) {
        if (!(error instanceof ApiError)) throw error;
        if (error.status === 401 || error.passing) {
          this.#stopped(error.status === 401 ? "login" : "lost");
          return;
        }
        await this.#refuse(keeper, entry, error);
      }
      this.#failures = 0;
      this.trouble = "";
    }
    this.trouble = "";
    await this.#refresh();
  }

  /**
   * @param {Keeper} keeper
   * @param {Entry} entry
   * @param {any} result
   */
  async #sent(keeper, entry, result) {
    for (const other of await keeper.all(this.#scope)) {
      if (other.undoes === entry.body["key"]) {
        await keeper.change({ ...other, undoes: null, body: { ...other.body, of: result.seq } });
      }
    }
    await keeper.remove(entry.order);
    this.#channel?.postMessage({ key: entry.body["key"], result });
    await this.#heard({ key: entry.body["key"], result });
  }

  /**
   * @param {Keeper} keeper
   * @param {Entry} entry
   * @param {ApiError} error
   */
  async #refuse(keeper, entry, error) {
    await keeper.change({ ...entry, refused: String(error) });
    for (const other of await keeper.all(this.#scope)) {
      if (other.undoes === entry.body["key"]) await keeper.remove(other.order); // nothing to undo
    }
    const plain = { status: error.status, code: error.code, message: error.message, wayOn: error.wayOn };
    this.#channel?.postMessage({ key: entry.body["key"], error: plain });
    await this.#heard({ key: entry.body["key"], error: plain });
  }

  /** @param {"lost" | "login"} why */
  #stopped(why) {
    this.trouble = why;
    const wait = /** @type {number} */ (RETRY[Math.min(this.#failures, RETRY.length - 1)]);
    this.#failures += 1;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.retry(), wait * (0.8 + 0.4 * Math.random()));
    void this.#refresh();
  }

  /**
   * This tab or another one has sent an entry.
   * @param {{key: string, result?: any, error?: {status: number, code: string, message: string, wayOn: string}}} news
   */
  async #heard(news) {
    await this.#refresh();
    const promised = this.#promised.get(news.key);
    this.#promised.delete(news.key);
    if (news.error) promised?.reject(new ApiError(news.error.status, news.error.code, news.error.message, news.error.wayOn));
    else promised?.resolve(news.result);
    this.dispatchEvent(new CustomEvent("sent", { detail: news }));
  }

  async #refresh() {
    const keeper = await this.#keeper;
    const kept = await keeper.all(this.#scope);
    const known = new Set(kept.map((entry) => entry.body["key"]));
    this.#entries = [...kept, ...[...this.#fresh].filter((entry) => !known.has(entry.body["key"]))];
    this.#changed();
  }

  #changed() {
    this.dispatchEvent(new CustomEvent("change"));
  }
}

/** @returns {Promise<Keeper>} */
export async function openKeeper() {
  try {
    return await databaseKeeper();
  } catch {
    return memoryKeeper(); // a private window, or disabled storage
  }
}

/** @returns {Keeper} */
export function memoryKeeper() {
  /** @type {Map<number, Entry>} */
  const entries = new Map();
  let last = 0;
  return {
    async add(entry) {
      entry.order = ++last;
      entries.set(entry.order, entry);
    },
    async change(entry) {
      if (entries.has(entry.order)) entries.set(entry.order, entry);
    },
    async remove(order) {
      entries.delete(order);
    },
    async all(scope) {
      return [...entries.values()].filter((entry) => entry.scope === scope);
    },
  };
}

/** @returns {Promise<Keeper>} */
async function databaseKeeper() {
  const opening = indexedDB.open("likewise outbox", 1);
  opening.onupgradeneeded = () => {
    opening.result.createObjectStore("entries", { keyPath: "order", autoIncrement: true }).createIndex("scope", "scope");
  };
  const database = await done(opening);
  /** @param {IDBTransactionMode} mode */
  const entries = (mode) => database.transaction("entries", mode, { durability: "strict" }).objectStore("entries");
  return {
    async add(entry) {
      const { order: _, ...rest } = entry;
      entry.order = Number(await done(entries("readwrite").add(rest)));
    },
    async change(entry) {
      await done(entries("readwrite").put(entry));
    },
    async remove(order) {
      await done(entries("readwrite").delete(order));
    },
    async all(scope) {
      return done(entries("readonly").index("scope").getAll(scope));
    },
  };
}

/**
 * @template T
 * @param {IDBRequest<T>} request
 * @returns {Promise<T>}
 */
function done(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
