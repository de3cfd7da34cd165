// Answers that cannot all be true and answers that look wrong: who gave them, and how to correct them.

import { count, fill, h, openDialog } from "./dom.js";
import { closeNotice, giveHint, itemName, latest, takeBack } from "./hints.js";
import { describe, pastItems } from "./history.js";
import { figures, itemCard } from "./item.js";
import { useStyle } from "./styles.js";

/** @import {Context, Unmount, Item, Past, Word} from "./types.js" */

/**
 * @typedef {object} Conflict
 * @property {Item[]} items answered “different”
 * @property {Item[]} chain joins the items; empty if people disagree about a triplet
 * @property {Past[]} answers
 */

/**
 * @typedef {object} SuspectAnswer
 * @property {Item[]} items
 * @property {Past[]} answers several if several people gave it
 * @property {number} chance probability that it is wrong
 * @property {number} n_against number of other answers that contradict it
 * @property {number} n_near number of neighbouring items that contradict it
 */

const AT_ONCE = 10; // cards shown at first, and more with each click

/** @type {[Word, string][]} */
const PAIR_WORDS = [["SAME", "Same"], ["DIFFERENT", "Different"], ["UNSURE", "Unsure"]];
/** @type {[Word, string][]} */
const TRIPLET_WORDS = [["AB", "A and B"], ["AC", "A and C"], ["BC", "B and C"], ["NEITHER", "No two"], ["UNSURE", "Unsure"]];

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  await Promise.all([useStyle("groups.css"), useStyle("question.css")]);
  const stopped = new AbortController();
  const { signal } = stopped;
  const note = h("p", { class: "muted" }, "Loading…");
  const list = new CardList("contradiction");
  const suspectNote = h("p", { class: "muted" });
  const suspectList = new CardList("answer");
  const suspectTitle = h("h2", { id: "suspect-title", tabindex: "-1" }, "Suspect answers");
  const suspectPart = h("section", { class: "conflict-part", "aria-labelledby": "suspect-title", hidden: true }, suspectTitle, suspectNote, suspectList.element);
  // One wrong answer can be part of many contradictions, so suspect answers come first.
  fill(root, h("section", { class: "view" }, h("h1", null, "Conflicts"), suspectPart,
    h("section", { class: "conflict-part", "aria-labelledby": "conflict-title" }, h("h2", { id: "conflict-title" }, "Contradictions"), note, list.element)));
  const update = latest(async () => {
    try {
      const [got, gotSuspects] = await Promise.all([ctx.api.get("api/conflicts"), ctx.api.get("api/odd-answers")]);
      if (signal.aborted) return;
      /** @type {Conflict[]} */
      const conflicts = got.conflicts;
      const hidden = got.hidden ?? 0;
      /** @type {SuspectAnswer[]} */
      const suspects = gotSuspects.suspects;
      const nSuspects = suspects.length + gotSuspects.hidden;
      note.textContent = sentence(conflicts.length, hidden, nSuspects > 0);
      suspectPart.hidden = nSuspects === 0;
      suspectNote.textContent = suspectSentence(suspects.length, gotSuspects.hidden);
      const held = document.activeElement?.getAttribute("data-focus");
      const wasSuspect = suspectList.element.contains(document.activeElement);
      list.set(conflicts.map((conflict, i) => () => card(ctx, conflict, i, update)));
      suspectList.set(suspects.map((one, i) => () => suspectCard(ctx, one, i, update)));
      const again = held ? /** @type {HTMLElement | null} */ (root.querySelector(`[data-focus="${CSS.escape(held)}"]`)) : null;
      (again ?? (wasSuspect ? suspectTitle : null))?.focus();
    } catch (error) {
      note.textContent = String(error);
    }
  });
  ctx.events.addEventListener("picture", update, { signal });
  ctx.events.addEventListener("found", update, { signal });
  void update();
  return () => {
    stopped.abort();
    closeNotice();
  };
}

/** Cards, of which the first are shown, and a button for more. */
class CardList {
  /** @param {string} word what a card shows, for the button */
  constructor(word) {
    this.word = word;
    this.cards = h("div", { class: "conflicts" });
    this.more = h("button", { type: "button", class: "show-more", hidden: true, on: { click: () => this.#extend() } });
    this.element = h("div", null, this.cards, this.more);
    this.shown = AT_ONCE;
    /** @type {(() => HTMLElement)[]} */
    this.all = [];
  }

  /** @param {(() => HTMLElement)[]} all a function for each card */
  set(all) {
    this.all = all;
    fill(this.cards, ...all.slice(0, this.shown).map((draw) => draw()));
    const left = all.length - this.shown;
    this.more.hidden = left <= 0;
    this.more.textContent = `Show ${Math.min(left, AT_ONCE)} more of ${count(all.length, this.word)}`;
  }

  #extend() {
    const first = this.shown;
    this.shown += AT_ONCE;
    this.set(this.all);
    const next = /** @type {HTMLElement} */ (this.cards.children[first]);
    next.tabIndex = -1;
    next.focus();
  }
}

/**
 * @param {number} shown
 * @param {number} hidden
 * @param {boolean} someSuspects
 */
function sentence(shown, hidden, someSuspects) {
  const others = hidden ? ` ${count(hidden, "contradiction")} with other people's answers can be seen only by the owner.` : "";
  if (shown === 0) return `${someSuspects ? "No answers contradict each other." : "All answers are consistent."}${others}`;
  return `${count(shown, "contradiction")}: answers that cannot all be true. Undo the answer that is wrong, or answer the question again.${others}`;
}

/**
 * @param {number} shown
 * @param {number} hidden
 */
function suspectSentence(shown, hidden) {
  const others = hidden ? `${count(hidden, "suspect answer")} of other people can be seen only by the owner.` : "";
  if (shown === 0) return others;
  return `These answers may be wrong, the most suspicious first. Keep an answer that is right, undo one that is wrong, or ask the question again. ${others}`;
}

/**
 * The reason why an answer is suspect.
 * @param {SuspectAnswer} suspect
 */
export function reasonSentence({ n_against, n_near }) {
  const reasons = [n_against > 0 && count(n_against, "other answer"), n_near > 0 && count(n_near, "similar item")].filter(Boolean);
  if (reasons.length === 0) return "It does not fit the items or the other answers.";
  return `${reasons.join(" and ")} ${n_against + n_near === 1 ? "contradicts" : "contradict"} it.`;
}

/**
 * @param {Context} ctx
 * @param {SuspectAnswer} suspect
 * @param {number} i
 * @param {() => void} update
 */
function suspectCard(ctx, suspect, i, update) {
  const { items, answers } = suspect;
  const [a, b] = items;
  const given = answers.map((answer) => answerEntry(answer, ...suspectActions(ctx, answer, update)));
  const kind = answers[0]?.question?.kind;
  const named = kind === "placement" ? items.slice(0, 1) : kind === "members" ? items.slice(1) : items;
  const title = named.length > 3 ? `${itemName(named[0])} and ${named.length - 1} others` : named.map((item) => itemName(item)).join(" – ");
  const relates = answers[0] && a && b && items.length === 2 ? relation(answers[0], a, b) : null;
  const chance = Math.min(99, Math.round(100 * suspect.chance));
  return h("article", { class: "card conflict suspect", "aria-label": `Suspect answer ${i + 1}: ${title}` },
    h("h3", { dir: "auto" }, title),
    h("p", null, h("strong", null, `probably wrong: ${chance} %`), ` · ${reasonSentence(suspect)}`),
    a && b && relates
      ? h("ol", { class: "chain" }, h("li", null, itemCard(a)), h("li", { class: `chain-step ${relates}` }, ...given), h("li", null, itemCard(b)))
      : [h("div", { class: "gallery" }, ...(answers[0] ? pastItems(answers[0]).map(({ item, mark, apart }) => h("div", { class: apart ? "past-item apart" : "past-item" },
        mark && h("span", { class: "letter small", "aria-hidden": "true" }, mark), apart && h("span", { class: "sr" }, "Apart: "), itemCard(item))) : items.map((item) => itemCard(item)))), h("ul", { class: "chain-rest" }, ...given.map((one) => h("li", null, one)))]);
}

/**
 * Buttons for a suspect answer.
 * @param {Context} ctx
 * @param {Past} answer
 * @param {() => void} update
 */
function suspectActions(ctx, answer, update) {
  if (!answer.can_undo) return [];
  const about = `${describe(answer)}, by ${answer.mine ? "you" : answer.person}`;
  const { seq } = answer;
  /**
   * @param {string} label
   * @param {string} name
   * @param {() => Promise<boolean>} act
   */
  const button = (label, name, act) => {
    const made = h("button", { type: "button", class: "small", "aria-label": `${name}: ${about}`, "data-focus": `${label} ${seq}` }, label);
    made.addEventListener("click", async () => {
      made.disabled = true;
      if (!(await act())) made.disabled = false;
    });
    return made;
  };
  return [
    button("Keep", "Keep this answer", () => giveHint(ctx, "api/odd-answers/keep", { of: seq }, "Kept.", update)),
    button("Undo", "Undo this suspect answer", () => takeBack(ctx, seq, update)),
    button("Ask again", "Ask again", () => giveHint(ctx, "api/odd-answers/ask-again", { of: seq }, "The question will be asked again.", update)),
  ];
}

/**
 * @param {Context} ctx
 * @param {Conflict} conflict
 * @param {number} i
 * @param {() => void} update
 */
function card(ctx, conflict, i, update) {
  const { items, chain, answers } = conflict;
  const left = new Set(answers);
  /** @param {Past[]} found */
  const take = (found) => {
    for (const answer of found) left.delete(answer);
    return found.map((answer) => answerEntry(answer, ...actions(ctx, answer, update)));
  };
  const [a, b] = items;
  const parts = [];
  if (a && b && chain.length > 0) {
    const path = chain[0]?.row === a.row || chain[0]?.row === b.row ? chain : [a, ...chain, b];
    const apart = answers.filter((answer) => relation(answer, a, b) === "apart");
    parts.push(
      h("h4", null, "Answered “different”"),
      h("ol", { class: "chain" }, h("li", null, itemCard(a)), h("li", { class: "chain-step apart" }, ...take(apart)), h("li", null, itemCard(b))),
      h("h4", null, path.length > 2 ? `But joined through ${count(path.length - 1, "step")}` : "But also answered “same”"),
      h("ol", { class: "chain" }, ...path.flatMap((item, k) => {
        const next = path[k + 1];
        const step = next && take(answers.filter((answer) => left.has(answer) && relation(answer, item, next) === "together"));
        return [h("li", null, itemCard(item)), step && h("li", { class: "chain-step together" }, ...step)];
      })));
  } else {
    parts.push(h("div", { class: "gallery" }, ...items.map((item) => itemCard(item))));
  }
  const rest = [...left];
  if (rest.length) {
    parts.push(h("h4", null, chain.length > 0 ? "Other answers involved" : "Answers"),
      h("ul", { class: "chain-rest" }, ...rest.map((answer) => h("li", null, answerEntry(answer, ...actions(ctx, answer, update))))));
  }
  const title = items.map((item) => itemName(item)).join(" – ");
  return h("article", { class: "card conflict", "aria-label": `Contradiction ${i + 1}: ${title}` }, h("h3", { dir: "auto" }, title), ...parts);
}

/**
 * The relation between two items that an answer implies.
 * @param {Past} answer
 * @param {Item} a
 * @param {Item} b
 * @returns {"together" | "apart" | null}
 */
function relation(answer, a, b) {
  const found = answer.relations.find(([i, j]) => (i === a.row && j === b.row) || (i === b.row && j === a.row));
  return found ? (found[2] ? "together" : "apart") : null;
}

/**
 * One answer: its label, who gave it and when, and buttons.
 * @param {Past} answer
 * @param {...(HTMLElement | false)} buttons
 */
function answerEntry(answer, ...buttons) {
  const when = new Date(answer.time);
  const triplet = answer.question?.kind === "triplet";
  return h("div", { class: "answer-entry" },
    h("strong", { dir: "auto" }, describe(answer)),
    triplet && h("span", { class: "small muted", dir: "auto" }, (answer.question?.items ?? []).map((item, k) => `${"ABC"[k]} ${itemName(item)}`).join(", ")),
    h("span", { class: "small muted" }, answer.mine ? "you" : answer.person, ", ",
      h("time", { datetime: answer.time, title: when.toLocaleString() }, when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })),
      answer.source === "groups" && ", on the Groups page"),
    buttons.length > 0 && h("div", { class: "row" }, ...buttons));
}

/**
 * Buttons for an answer of a contradiction.
 * @param {Context} ctx
 * @param {Past} answer
 * @param {() => void} update
 */
function actions(ctx, answer, update) {
  const about = `${describe(answer)}, by ${answer.mine ? "you" : answer.person}`;
  return [
    answer.can_undo && h("button", { type: "button", class: "small", "aria-label": `Undo this answer: ${about}`, "data-focus": `back ${answer.seq}`,
      on: { click: () => takeBack(ctx, answer.seq, update) } }, "Undo"),
    answer.can_undo && answer.mine && answer.source === "question" && h("button", { type: "button", class: "small quiet", "aria-label": `Answer again: ${about}`,
      "data-focus": `again ${answer.seq}`, on: { click: () => answerAgain(ctx, answer, update) } }, "Answer again"),
  ];
}

/**
 * Ask the same question again; the old answer is undone when the new one is given.
 * @param {Context} ctx
 * @param {Past} answer
 * @param {() => void} update
 */
async function answerAgain(ctx, answer, update) {
  if (!["pair", "triplet"].includes(answer.question?.kind ?? "")) {
    try {
      const undone = await ctx.outbox.post("api/undo", { key: ctx.api.key(), of: answer.seq });
      if (undone.question) ctx.go("question");
      else ctx.toast("The answer was undone. The question is no longer open.", "info");
      update();
    } catch (error) {
      ctx.toast(String(error), "bad");
    }
    return;
  }
  const triplet = answer.question?.kind === "triplet";
  const begun = performance.now();
  /** @param {Word} now */
  const give = async (now) => {
    dialog.close();
    if (now === answer.answer) return;
    try {
      const seconds = (performance.now() - begun) / 1000;
      const undone = await ctx.outbox.post("api/undo", { key: ctx.api.key(), of: answer.seq });
      if (undone.question) {
        await ctx.outbox.post("api/answers", { key: ctx.api.key(), question: undone.question.id, answer: now, seconds });
        ctx.toast("Your new answer was saved.", "good");
      } else ctx.toast("The old answer was undone. The question is no longer open, so the new one could not be saved.", "info");
      update();
    } catch (error) {
      ctx.toast(String(error), "bad");
    }
  };
  const dialog = openDialog(triplet ? "Which two belong together?" : "Do these belong together?", [
    h("div", { class: "closer" }, ...figures(answer.question?.items ?? [], { marks: true })),
    h("div", { class: "row" }, ...(triplet ? TRIPLET_WORDS : PAIR_WORDS).map(([name, label]) =>
      h("button", { type: "button", "aria-pressed": name === answer.answer, on: { click: () => give(name) } }, label))),
  ], { class: "wide" });
}
