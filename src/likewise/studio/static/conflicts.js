// Answers that cannot all be true: what was said of whom, by whom, and a way to mend it.

import { count, fill, h, openDialog } from "./dom.js";
import { closeNotice, itemName, latest, takeBack } from "./hints.js";
import { figures, itemCard } from "./item.js";
import { useStyle } from "./styles.js";

/** @import {Context, Unmount, Item, Past, Word} from "./types.js" */

/**
 * @typedef {object} Conflict
 * @property {Item[]} items said to be apart
 * @property {Item[]} chain leads from the one to the other; empty if people said different things of a triplet
 * @property {Past[]} answers
 */

/** Which two of a triplet an answer puts together. @type {Record<string, [number, number]>} */
const TOGETHER = { AB: [0, 1], AC: [0, 2], BC: [1, 2] };
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
  const note = h("p", { class: "muted" }, "Looking…");
  const list = h("div", { class: "conflicts" });
  fill(root, h("section", { class: "view" }, h("h1", null, "Contradictions"), note, list));
  const update = latest(async () => {
    try {
      const got = await ctx.api.get("api/conflicts");
      if (signal.aborted) return;
      /** @type {Conflict[]} */
      const conflicts = got.conflicts;
      const hidden = got.hidden ?? 0;
      note.textContent = sentence(conflicts.length, hidden);
      const held = document.activeElement?.getAttribute("data-focus");
      fill(list, ...conflicts.map((conflict, i) => card(ctx, conflict, i, update)));
      if (held) /** @type {HTMLElement | null} */ (list.querySelector(`[data-focus="${CSS.escape(held)}"]`))?.focus();
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

/**
 * @param {number} shown
 * @param {number} hidden
 */
function sentence(shown, hidden) {
  const others = hidden ? ` ${count(hidden, "contradiction")} with other people's answers can be seen by the owner only.` : "";
  if (shown === 0) return `All answers fit together.${others}`;
  return `${count(shown, "contradiction")}: answers that cannot all be true. Take back the one that is wrong, or answer it again.${others}`;
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
    return found.map((answer) => said(ctx, answer, update));
  };
  const [a, b] = items;
  const parts = [];
  if (a && b && chain.length > 0) {
    const path = chain[0]?.row === a.row || chain[0]?.row === b.row ? chain : [a, ...chain, b];
    const apart = answers.filter((answer) => relation(answer, a, b) === "apart");
    parts.push(
      h("h3", null, "Said to be apart"),
      h("ol", { class: "chain" }, h("li", null, itemCard(a)), h("li", { class: "chain-step apart" }, ...take(apart)), h("li", null, itemCard(b))),
      h("h3", null, path.length > 2 ? `Yet joined through ${count(path.length - 1, "step")}` : "Yet said to belong together"),
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
    parts.push(h("h3", null, chain.length > 0 ? "Also part of it" : "What was said"),
      h("ul", { class: "chain-rest" }, ...rest.map((answer) => h("li", null, said(ctx, answer, update)))));
  }
  const title = items.map((item) => itemName(item)).join(" – ");
  return h("article", { class: "card conflict", "aria-label": `Contradiction ${i + 1}: ${title}` }, h("h2", { dir: "auto" }, title), ...parts);
}

/**
 * What an answer says of two items.
 * @param {Past} answer
 * @param {Item} a
 * @param {Item} b
 * @returns {"together" | "apart" | null}
 */
function relation(answer, a, b) {
  const rows = (answer.question?.items ?? []).map((item) => item.row);
  const [i, j] = [rows.indexOf(a.row), rows.indexOf(b.row)].sort();
  if (i === undefined || j === undefined || i < 0 || answer.answer === null) return null;
  if (answer.answer === "SAME") return "together";
  if (answer.answer === "DIFFERENT" || answer.answer === "NEITHER") return "apart";
  const pair = TOGETHER[answer.answer];
  if (!pair) return null;
  return pair[0] === i && pair[1] === j ? "together" : "apart";
}

/**
 * What an answer is called.
 * @param {Past} answer
 */
function word(answer) {
  const words = answer.question?.kind === "triplet" ? TRIPLET_WORDS : PAIR_WORDS;
  return words.find(([name]) => name === answer.answer)?.[1] ?? String(answer.answer);
}

/**
 * One answer: the word, who said it and when, and what can be done about it.
 * @param {Context} ctx
 * @param {Past} answer
 * @param {() => void} update
 */
function said(ctx, answer, update) {
  const when = new Date(answer.time);
  const about = `${word(answer)}, by ${answer.mine ? "you" : answer.person}`;
  const triplet = answer.question?.kind === "triplet";
  return h("div", { class: "said-answer" },
    h("strong", null, word(answer)),
    triplet && h("span", { class: "small muted", dir: "auto" }, (answer.question?.items ?? []).map((item, k) => `${"ABC"[k]} ${itemName(item)}`).join(", ")),
    h("span", { class: "small muted" }, answer.mine ? "you" : answer.person, ", ",
      h("time", { datetime: answer.time, title: when.toLocaleString() }, when.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })),
      answer.source === "groups" && ", in the groups"),
    answer.can_undo && h("button", { type: "button", class: "small", "aria-label": `Take this answer back: ${about}`, "data-focus": `back ${answer.seq}`,
      on: { click: () => takeBack(ctx, answer.seq, update) } }, "Take back"),
    answer.can_undo && answer.mine && answer.source === "question" && h("button", { type: "button", class: "small quiet", "aria-label": `Answer again: ${about}`,
      "data-focus": `again ${answer.seq}`, on: { click: () => answerAgain(ctx, answer, update) } }, "Answer again"));
}

/**
 * Ask the same question once more; the old answer is taken back when the new one is given.
 * @param {Context} ctx
 * @param {Past} answer
 * @param {() => void} update
 */
function answerAgain(ctx, answer, update) {
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
        ctx.toast("Your new answer counts.", "good");
      } else ctx.toast("The old answer was taken back. The question is gone, so the new one could not be kept.", "info");
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
