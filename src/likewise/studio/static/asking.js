/**
 * The exchange behind the question page, without its looks: questions fetched ahead, answers put into the outbox,
 * undo. Says "show" when there is another question or state to show, and "progress" with the newest progress.
 */

/** @import {Batch, Context, Past, Progress, Question, Receipt, Word} from "./types.js" */
import { ApiError } from "./api.js";
import { retold } from "./history.js";
import { preload } from "./item.js";

const AHEAD = 3; // questions asked for at once: the one shown and those after it
const MOST = 10; // the most the server gives at once
const RENEW = 45_000; // ms; asking again renews the lease of a question that is looked at for long
const LOOK_AGAIN = 2_500; // ms; in case the news that questions are ready got lost
const LOOK_LATE = 20_000; // ms; the same when nothing is expected

/** @typedef {{question: Question, key: string, seq: number | null}} Step */

/** Seconds of looking: stands still while the page is hidden. */
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

/** Questions this tab holds, so that another tab of the same person does not show them too. */
class Claims {
  /** @type {Map<string, () => void>} */
  #held = new Map();
  /** @type {Set<string>} let go, while the browser still lists them: no other tab has them */
  #leaving = new Set();
  #prefix;

  /** @param {string} scope */
  constructor(scope) {
    this.#prefix = `likewise question ${scope} `;
  }

  /**
   * @param {string} id
   * @returns {Promise<boolean>} false: another tab has it
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

  /** How many questions other tabs hold. */
  async others() {
    if (!navigator.locks) return 0;
    const before = new Set([...this.#held.keys(), ...this.#leaving]); // some are gone by the time of the reply
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
  /** @type {Set<string>} answered or skipped here */
  #done = new Set();
  #busy = false;
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
    const ready = () => void (this.#queue.length < AHEAD - 1 && this.more()); // the news comes with every refit
    const seen = () => void (!document.hidden && this.more()); // leases may have run out meanwhile
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
    await this.#ctx.outbox.settled(1500); // an answer still on its way would be asked for again
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
      this.message = error instanceof ApiError && error.status === 0 ? null : String(error); // the page has words for that
      if (!this.current) this.#become("lost");
      this.#later();
    } finally {
      this.#busy = false;
    }
  }

  /**
   * @param {Word} word
   * @param {number} seconds
   */
  answer(word, seconds) {
    this.#say("api/answers", { answer: word, seconds });
  }

  /** @param {number} seconds */
  skip(seconds) {
    this.#say("api/skips", { seconds });
  }

  /**
   * @param {string} path
   * @param {{answer?: Word, seconds: number}} what
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
        this.#ctx.toast(`Not taken: ${String(error)}`, "bad");
      });
    this.#advance();
  }

  /** Take back the last answer or skip, and show its question again. */
  undo() {
    const last = this.#past.pop();
    const key = this.#ctx.api.key();
    const body = { key, of: last?.seq ?? null };
    const reply = this.#ctx.outbox.post("api/undo", body, last && last.seq === null ? { undoes: last.key } : {});
    if (last) this.#back(last.question);
    reply.then(
      (/** @type {{question: Question | null, undone: Past}} */ result) => {
        if (!last) this.#ctx.toast(`Taken back: ${retold(result.undone)}.`, "good"); // it was not on the screen before
        if (this.#over) return;
        if (!result.question) {
          if (!last || this.current !== last.question) return;
          this.#ctx.toast("Others have answered this question meanwhile.", "good");
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
      // Until the reply to the last answer is here nobody knows whether there is more.
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
      if (known) known.until = question.until;
      if (known || this.#done.has(question.id) || pending.has(question.id)) continue;
      if (!(await this.#claims.take(question.id)) || this.#over) continue;
      if ([this.current, ...this.#queue].some((one) => one?.id === question.id)) continue; // came in while we asked
      this.#queue.push(question);
      question.items.forEach(preload);
    }
    if (this.#over) return;
    this.message = message;
    if (this.current) {
      if (this.#queue.length === 0 && state === "ready") this.#later();
      return;
    }
    this.current = this.#queue.shift() ?? null;
    if (this.current) return this.#become("ready");
    // "Ready" without one for us: they are on their way, or in another tab.
    this.#become(state === "finished" && this.#ctx.outbox.waiting.length === 0 ? "finished" : "thinking");
    this.#later();
  }

  /**
   * Drop questions the server has withdrawn, because their answers follow from the newest ones. What is shown stays.
   * Only when its list must hold all of ours: nothing on its way, no other tab, no more than it gives.
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
    if (!progress) return;
    // The news for all say nothing of "mine".
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
 * One box and one set of claims for each project and person on this machine.
 * @param {{me: import("./types.js").Me}} ctx
 */
export function scopeOf({ me }) {
  return JSON.stringify([new URL(document.baseURI).pathname, me.project.id ?? me.project.title, me.person.id, me.person.name]);
}
