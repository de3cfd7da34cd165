/**
 * A study, as participants see it: introduction, practice with the right answers shown, tasks with breaks between
 * them, a questionnaire, thanks. The server determines the stage; nothing is stored here, so a reload, another machine
 * or a lost connection change nothing.
 *
 * The section has `data-stage`, the server's name of the stage.
 */

/** @import {Context, Question, Unmount, Word} from "./types.js" */
import { fill, h, openDialog } from "./dom.js";
import { itemCard, LETTERS } from "./item.js";
import { mount as mountQuestion } from "./question.js";
import { breakPage, donePage, introPage, troublePage } from "./study_pages.js";
import { surveyPage } from "./study_survey.js";
import { useStyle } from "./styles.js";

/** @typedef {{number: number, of: number, kind: "pair" | "triplet", n: number, done: number, data_set: string}} Task  `data_set` is empty if there is only one */
/**
 * @typedef {object} Stage  the response of GET api/study
 * @property {"intro" | "practice" | "break" | "task" | "survey" | "done"} stage
 * @property {Task | null} task
 * @property {boolean} reference
 * @property {Word[]} answers
 */

/** Actions not offered: answers are final and items fixed. The server refuses them as well. */
const NOT_OFFERED = new Set(["undo", "skip", "note", "broken", "pair.unsure", "triplet.unsure"]);

/** @type {Record<string, string>} */
const LABELS = { SAME: "Same", DIFFERENT: "Different", AB: "A and B", AC: "A and C", BC: "B and C", NEITHER: "No two" };

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  let over = false;
  /** @type {Unmount} */
  let leave = () => {};

  const refresh = async () => {
    leave();
    leave = () => {};
    try {
      await ctx.outbox.settled(1500); // unsent answers would not be counted
      const stage = /** @type {Stage} */ (await ctx.api.get("api/study"));
      if (!over) show(stage);
    } catch (error) {
      if (!over) page("trouble", troublePage(String(error), () => void refresh()));
    }
  };

  /** @param {Stage} stage */
  const show = (stage) => {
    if (stage.task && (stage.stage === "practice" || stage.stage === "task")) leave = ask(root, ctx, stage, stage.task, () => void refresh());
    else if (stage.stage === "intro") page("intro", introPage(ctx, stage, goOn));
    else if (stage.stage === "break" && stage.task) page("break", breakPage(stage.task, goOn));
    else if (stage.stage === "survey") page("survey", surveyPage(fillIn));
    else page("done", donePage());
  };

  const goOn = async () => {
    try {
      await ctx.api.post("api/study/next", { key: ctx.api.key() });
    } catch (error) {
      ctx.toast(String(error), "bad"); // another tab may have gone on: the server knows the stage
    }
    await refresh();
  };

  /** @param {Record<string, string>} answers */
  const fillIn = async (answers) => {
    try {
      await ctx.outbox.post("api/study/survey", { key: ctx.api.key(), ...answers });
    } catch (error) {
      ctx.toast(String(error), "bad");
    }
    await refresh();
  };

  /**
   * @param {string} stage
   * @param {HTMLElement[]} content the first element is the heading
   */
  const page = (stage, content) => {
    fill(root, h("section", { class: "view study", "data-stage": stage }, ...content));
    content[0]?.focus({ preventScroll: true });
    window.scrollTo(0, 0);
  };

  await useStyle("study.css");
  await refresh();
  return () => {
    over = true;
    leave();
  };
}

/**
 * Ask the questions of the practice or a task, below a line that shows the progress.
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @param {Stage} stage
 * @param {Task} task
 * @param {() => void} onEnd
 * @returns {Unmount}
 */
function ask(root, ctx, stage, task, onEnd) {
  const words = h("span", { class: "number" });
  const bar = h("progress", { max: task.n, "aria-label": "Questions answered" });
  const room = h("div", { class: "root" });
  /** @type {{question: Question, word: Word}[]} practice questions whose right answer has not arrived yet */
  const open = [];
  let done = task.done;
  let ended = false;
  const draw = () => {
    const about = task.data_set ? `, ${task.data_set}` : "";
    const name = stage.stage === "practice" ? "Practice" : `Task ${task.number} of ${task.of}${about}`;
    words.textContent = `${name} · ${Math.min(done + 1, task.n)} of ${task.n}`;
    bar.value = done;
  };
  const finish = () => {
    if (ended || document.querySelector("dialog.feedback[open]")) return;
    ended = true;
    onEnd();
  };
  /** @param {Event} event */
  const heard = (event) => {
    const { result } = /** @type {CustomEvent<{result?: {right?: Word | null}}>} */ (event).detail;
    if (!result || !("right" in result)) return;
    const answered = open.shift();
    if (!answered || !result.right) return;
    const last = done >= task.n;
    feedback(answered.question, answered.word, result.right, last, () => { if (last) finish(); });
  };

  draw();
  fill(root, h("div", { class: "study-asking", "data-stage": stage.stage }, h("div", { class: "study-line", role: "group", "aria-label": "Progress" }, words, bar), room));
  ctx.outbox.addEventListener("sent", heard);
  const leave = mountQuestion(room, ctx, {
    without: NOT_OFFERED,
    progress: false,
    why: false,
    onAnswer: (question, word) => {
      done += 1;
      if (stage.stage === "practice" && typeof word === "string") open.push({ question, word });
      draw();
    },
    onFinished: finish,
  });
  return () => {
    ended = true;
    ctx.outbox.removeEventListener("sent", heard);
    leave();
  };
}

/**
 * Show the right answer to a practice question, with its items.
 * @param {Question} question
 * @param {Word} given
 * @param {Word} right
 * @param {boolean} last
 * @param {() => void} onClose
 */
function feedback(question, given, right, last, onClose) {
  const good = given === right;
  const next = h("button", { type: "button", class: "primary", on: { click: () => dialog.close() } }, last ? "Go on" : "Next question");
  const dialog = openDialog(good ? "Correct" : "Not quite", [
    h("div", { class: "study-items" }, ...question.items.map((item, i) => h("div", null, h("span", { class: "letter" }, LETTERS[i] ?? ""), itemCard(item)))),
    h("p", { class: `note ${good ? "good" : "bad"}` }, good ? `${LABELS[right] ?? right}: ${meaning(right)}`
      : `You answered “${LABELS[given] ?? given}”. The right answer is “${LABELS[right] ?? right}”: ${meaning(right)}`),
    h("div", { class: "row" }, next),
  ], { class: "feedback", onClose });
  next.focus();
}

/**
 * The meaning of an answer, as a sentence.
 * @param {Word} word
 */
function meaning(word) {
  if (word === "SAME") return "both belong to the same class.";
  if (word === "DIFFERENT") return "they belong to different classes.";
  if (word === "NEITHER") return "all three belong to one class, or each to a different one.";
  return "these two belong to the same class, and the third to another.";
}
