/**
 * The logic of the question page, without its display: prefetches questions, puts answers into the outbox, undoes.
 * Dispatches "show" when there is another question or state to show, and "progress" with the latest progress.
 */

/** @import {Batch, Context, Item, Past, Progress, Question, Receipt, Reply} from "./types.js" */
import { ApiError } from "./api.js";
import { describeWithItems } from "./history.js";
import { preload, preloadSmall } from "./item.js";
import { isOlder } from "./progress.js";

const AHEAD = 3; // questions requested at once: the current one and those after it
const MOST = 10; // maximum number the server returns at once
const RENEW = 45_000; // ms; requesting again renews the lease of a question that takes long
const LOOK_AGAIN = 2_500; // ms; in case the event that questions are ready got lost
const LOOK_LATE = 20_000; // ms; the same when no questions are expected

/** @typedef {{question: Question, key: string, seq: number | null, broken?: boolean}} Step  an answer, a skip, or a broken item */

/** Seconds spent on a question; the clock stops while the page is hidden. */
export class Clock {
  #sum = 0;
  /** @type {number | null} */
  #since = null;

  start() {
    this.#sum = 0;
    this.#since = document.hidden ? null : performance.now();
  }

  /** @param {boolean} hidden */
  turn(hidden) {
    if (hidden && this.#since !== null) {
      this.#sum += performance.now() - this.#since;
      this.#since = null;
    } else if (!hidden && this.#since === null) this.#since = performance.now();
  }

  get seconds() {
    const now = this.#since === null ? 0 : performance.now() - this.#since;
    return Math.round(this.#sum + now) / 1000;
  }
}

/** Questions that this tab holds, so that another tab of the same person does not show them too. */
class Claims {
  /** @type {Map<string, () => void>} */
  #held = new Map();
  /** @type {Set<string>} released but still listed by the browser; no other tab has them */
  #leaving = new Set();
  #prefix;

  /** @param {string} scope */
  constructor(scope) {
    this.#prefix = `likewise question ${scope} `;
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>} false if another tab has it
   */
  take(id) {
    if (!navigator.locks || this.#held.has(id)) return Promise.resolve(true);
    return new Promise((resolve) => {
      void navigator.locks.request(this.#prefix + id, { ifAvailable: true }, (lock) => {
        resolve(lock !== null);
        return lock && new Promise((release) => this.#held.set(id, () => release(undefined)));
      }).then(() => this.#leaving.delete(id));
    });
  }

  /** @param {string} id */
  drop(id) {
    const release = this.#held.get(id);
    if (!release) return;
    this.#leaving.add(id);
    this.#held.delete(id);
    release();
  }

  dropAll() {
    for (const id of [...this.#held.keys()]) this.drop(id);
  }

  /** The number of questions that other tabs hold. */
  async others() {
    if (!navigator.locks) return 0;
    const before = new Set([...this.#held.keys(), ...this.#leaving]); // some may be released before the reply arrives
    const all = (await navigator.locks.query()).held ?? [];
    const ids = all.flatMap(({ name }) => (name?.startsWith(this.#prefix) ? [name.slice(this.#prefix.length)] : []));
    return ids.filter((id) => !before.has(id) && !this.#held.has(id)).length;
  }
}

export class Asking extends EventTarget {
  /** @type {Question | null} */
  current = null;
  /** @type {"starting" | "ready" | "thinking" | "finished" | "lost"} */
  state = "starting";
  /** @type {string | null} */
  message = null;
  /** @type {Progress | null} */
  progress = null;

  #ctx;
  #claims;
  /** @type {Question[]} */
  #queue = [];
  /** @type {Step[]} */
  #past = [];
  /** @type {Set<string>} answered or skipped in this tab */
  #done = new Set();
  #busy = false;
  #stale = false; // the request that is under way may have the old words of questions
  #over = false;
  #timer = 0;
  #renew = 0;
  /** @type {(() => void)[]} */
  #ends = [];

  /** @param {Context} ctx */
  constructor(ctx) {
    super();
    this.#ctx = ctx;
    this.#claims = new Claims(scopeOf(ctx));
  }

  async start() {
    const again = () => void this.more();
    const ready = () => void (this.#queue.length < AHEAD - 1 && this.more()); // the event comes with every refit
    const seen = () => void (!document.hidden && this.more()); // leases may have expired meanwhile
    const found = () => {
      this.#ctx.outbox.retry();
      again();
    };
    const progress = (/** @type {Event} */ event) => this.#progressed(/** @type {CustomEvent<Progress>} */ (event).detail);
    this.#listen(this.#ctx.events, "ready", ready);
    this.#listen(document, "visibilitychange", seen);
    this.#listen(this.#ctx.events, "found", found);
    this.#listen(this.#ctx.events, "progress", progress);
    this.#renew = window.setInterval(() => !document.hidden && this.current && again(), RENEW);
    this.#ctx.api.get("api/progress").then((found) => this.#progressed(found), () => {});
    await this.#ctx.outbox.settled(1500); // an answer still being sent would be asked again
    await this.more();
  }

  stop() {
    this.#over = true;
    clearInterval(this.#renew);
    clearTimeout(this.#timer);
    for (const end of this.#ends) end();
    this.#claims.dropAll();
  }

  /** Fetch questions. */
  async more() {
    if (this.#busy || this.#over) return;
    this.#busy = true;
    clearTimeout(this.#timer);
    try {
      const others = await this.#claims.others();
      /** @type {Batch} */
      const batch = await this.#ctx.api.post("api/questions", { n: Math.min(AHEAD + others, MOST) });
      await this.#take(batch.questions, batch.state, batch.message);
    } catch (error) {
      this.message = error instanceof ApiError && error.status === 0 ? null : String(error); // the page has its own text for that
      if (!this.current) this.#become("lost");
      this.#later();
    } finally {
      this.#busy = false;
    }
    if (this.#stale) {
      this.#stale = false;
      await this.more();
    }
  }

  /** Fetch questions in other words, also if a request is under way that may still have the old ones. */
  async reword() {
    this.#stale = this.#busy;
    await this.more();
  }

  /**
   * @param {Reply} answer
   * @param {number} seconds
   * @param {string} [note]
   */
  answer(answer, seconds, note = "") {
    this.#say("api/answers", { answer, seconds, ...(note ? { note } : {}) });
  }

  /**
   * Report that an item of the current question cannot be judged, and go on without it.
   * @param {Item} item
   * @param {string} note
   */
  reportBroken(item, note) {
    const question = this.current;
    if (!question) return;
    const key = this.#ctx.api.key();
    /** @type {Step} */
    const step = { question, key, seq: null, broken: true };
    this.#past.push(step);
    this.#done.add(question.id);
    for (const other of this.#queue) if (other.items.some((one) => one.row === item.row)) this.#claims.drop(other.id);
    this.#queue = this.#queue.filter((other) => other.items.every((one) => one.row !== item.row));
    this.#ctx.outbox.post("api/broken", { key, question: question.id, row: item.row, note: note || null }).then(
      (/** @type {{seq: number}} */ receipt) => {
        step.seq = receipt.seq;
        this.#claims.drop(question.id);
        void this.more();
      },
      (error) => {
        this.#past = this.#past.filter((one) => one !== step);
        this.#claims.drop(question.id);
        this.#done.delete(question.id);
        this.#ctx.toast(`Not saved: ${String(error)}`, "bad");
      });
    this.#advance();
  }

  /** @param {number} seconds */
  skip(seconds) {
    this.#say("api/skips", { seconds });
  }

  /**
   * @param {string} path
   * @param {{answer?: Reply, seconds: number, note?: string}} what
   */
  #say(path, what) {
    const question = this.current;
    if (!question) return;
    const key = this.#ctx.api.key();
    /** @type {Step} */
    const step = { question, key, seq: null };
    this.#past.push(step);
    this.#done.add(question.id);
    this.#ctx.outbox.post(path, { key, question: question.id, ...what }).then(
      (/** @type {Receipt} */ receipt) => {
        step.seq = receipt.seq;
        this.#claims.drop(question.id);
        this.#progressed(receipt.progress);
        if (!this.#over) void this.#prune(receipt.next).then(() => this.#take(receipt.next, receipt.state, receipt.message));
      },
      (error) => {
        this.#past = this.#past.filter((one) => one !== step);
        this.#claims.drop(question.id);
        this.#ctx.toast(`Not saved: ${String(error)}`, "bad");
      });
    this.#advance();
  }

  /** Undo the last answer or skip, and show its question again. */
  undo() {
    const last = this.#past.pop();
    const key = this.#ctx.api.key();
    const body = { key, of: last?.seq ?? null };
    const reply = this.#ctx.outbox.post("api/undo", body, last && last.seq === null ? { undoes: last.key } : {});
    if (last) this.#back(last.question);
    reply.then(
      (/** @type {{question: Question | null, undone: Past}} */ result) => {
        if (!last) this.#ctx.toast(`Undone: ${describeWithItems(result.undone)}.`, "good"); // it was not visible before
        if (this.#over) return;
        if (!result.question) {
          if (last?.broken) return; // the question stays on the page
          if (!last || this.current !== last.question) return;
          this.#ctx.toast("Others have answered this question in the meantime.", "good");
          this.#advance();
        } else if (!last) this.#back(result.question);
        else if (this.current === last.question) last.question.id = result.question.id;
      },
      (error) => this.#ctx.toast(String(error), "bad"));
    return last !== undefined;
  }

  /** @param {Question} question */
  #back(question) {
    this.#done.delete(question.id);
    this.#queue = this.#queue.filter((one) => one.id !== question.id);
    if (this.current && this.current.id !== question.id) this.#queue.unshift(this.current);
    this.current = question;
    void this.#claims.take(question.id);
    this.#become("ready");
  }

  #advance() {
    this.current = this.#queue.shift() ?? null;
    if (this.current) this.#become("ready");
    else {
      // Only the reply to the last answer tells whether there are more questions.
      this.#become(this.#ctx.outbox.trouble ? "lost" : "thinking");
      this.#later();
    }
  }

  /**
   * @param {Question[]} questions
   * @param {Batch["state"]} state
   * @param {string | null} message
   */
  async #take(questions, state, message) {
    const pending = this.#ctx.outbox.questions;
    for (const question of questions) {
      const known = [this.current, ...this.#queue].find((one) => one?.id === question.id);
      const isReworded = known && known.text !== question.text;
      if (known) Object.assign(known, { until: question.until, text: question.text });
      if (isReworded && known === this.current) this.dispatchEvent(new Event("show"));
      if (known || this.#done.has(question.id) || pending.has(question.id)) continue;
      if (!(await this.#claims.take(question.id)) || this.#over) continue;
      if ([this.current, ...this.#queue].some((one) => one?.id === question.id)) continue; // arrived meanwhile
      this.#queue.push(question);
      const large = question.groups.length === 0 ? question.items : question.kind === "placement" || question.kind === "label" ? question.items.slice(0, 1) : [];
      large.forEach(preload);
      for (const item of question.groups.length > 0 ? [...question.items, ...question.groups.flatMap((group) => group.items)] : []) preloadSmall(item);
    }
    if (this.#over) return;
    this.message = message;
    if (this.current) {
      if (this.#queue.length === 0 && state === "ready") this.#later();
      return;
    }
    this.current = this.#queue.shift() ?? null;
    if (this.current) return this.#become("ready");
    // "Ready" without a question for us: they are being sent, or shown in another tab.
    this.#become(state === "finished" && this.#ctx.outbox.waiting.length === 0 ? "finished" : "thinking");
    this.#later();
  }

  /**
   * Drop questions that the server has withdrawn, because the latest answers imply them. The current question stays.
   * Only if the server's list must contain all of ours: nothing being sent, no other tab, and within its limit.
   * @param {Question[]} held
   */
  async #prune(held) {
    const others = await this.#claims.others();
    if (others > 0 || this.#ctx.outbox.waiting.length > 0 || this.#queue.length + 1 > AHEAD) return;
    const ids = new Set(held.map((question) => question.id));
    for (const question of this.#queue) if (!ids.has(question.id)) this.#claims.drop(question.id);
    this.#queue = this.#queue.filter((question) => ids.has(question.id));
  }

  #later() {
    clearTimeout(this.#timer);
    if (!this.#over) this.#timer = window.setTimeout(() => void this.more(), this.state === "finished" ? LOOK_LATE : LOOK_AGAIN);
  }

  /** @param {Asking["state"]} state */
  #become(state) {
    this.state = state;
    this.dispatchEvent(new CustomEvent("show"));
  }

  /** @param {Progress | undefined} progress */
  #progressed(progress) {
    if (!progress || (this.progress && isOlder(progress, this.progress))) return; // a reply may be slower than a broadcast
    // Broadcast progress does not include "mine".
    this.progress = { ...progress, mine: progress.mine ?? this.progress?.mine ?? 0 };
    this.dispatchEvent(new CustomEvent("progress"));
  }

  /**
   * @param {EventTarget} target
   * @param {string} name
   * @param {(event: Event) => void} act
   */
  #listen(target, name, act) {
    target.addEventListener(name, act);
    this.#ends.push(() => target.removeEventListener(name, act));
  }
}

/**
 * Scope of the outbox and the claims: one per project and person on this machine.
 * @param {{me: import("./types.js").Me}} ctx
 */
export function scopeOf({ me }) {
  return JSON.stringify([new URL(document.baseURI).pathname, me.project.id ?? me.project.title, me.person.id, me.person.name]);
}
