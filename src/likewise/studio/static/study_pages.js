/** The pages of a study without questions: introduction, break, thanks, and errors. */

/** @import {Context} from "./types.js" */
/** @import {Stage, Task} from "./study.js" */
import { count, h } from "./dom.js";

/** @type {Record<string, {action: string, label: string}[]>} */
const KEYS = {
  pair: [
    { action: "pair.same", label: "Same" },
    { action: "pair.different", label: "Different" },
  ],
  triplet: [
    { action: "triplet.ab", label: "A and B" },
    { action: "triplet.ac", label: "A and C" },
    { action: "triplet.bc", label: "B and C" },
    { action: "triplet.neither", label: "No two" },
  ],
};

/** @type {Record<string, string>} */
const INSTRUCTIONS = {
  pair: "You see two items. Decide whether they belong to the same class.",
  triplet: "You see three items. Decide which two belong to the same class while the third belongs to another. "
    + "If there are no such two, because all three belong to one class or each to a different one, choose “No two”.",
};

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
export function heading(text) {
  return h("h1", { tabindex: "-1" }, text);
}

/**
 * A button that works once: a second press on a slow connection must not skip the next page.
 * @param {string} label
 * @param {() => void} act
 */
function once(label, act) {
  const button = h("button", { type: "button", class: "primary" }, label);
  button.addEventListener("click", () => {
    button.disabled = true;
    act();
  });
  return button;
}

/**
 * @param {Context} ctx
 * @param {Stage} stage
 * @param {() => void} goOn
 * @returns {HTMLElement[]}
 */
export function introPage(ctx, stage, goOn) {
  return [
    heading("Thank you for taking part"),
    h("p", null, "This study compares two ways to decide what belongs together. You will do both, one after the other. "
      + "You start with some practice questions, which do not count and show you the right answer."),
    h("div", { class: "study-kinds" }, kind(ctx, "pair", "Pairs"), kind(ctx, "triplet", "Triplets")),
    stage.reference && h("p", null, "The reference book shows one example of each class. Open it whenever you like: ",
      h("button", { type: "button", on: { click: () => ctx.showReference() } }, "Reference book", ctx.keys.label("reference") && h("kbd", { "aria-hidden": "true" }, ctx.keys.label("reference")))),
    h("p", null, "Answer as well as you can, at your own pace: the time of each answer is recorded. An answer cannot be undone, and no question can be skipped; "
      + "if you are in doubt, choose the more likely answer. You may stop at any time and continue later where you left off; pauses are best taken between the tasks."),
    ctx.me.person.role === "owner" && h("p", { class: "note" }, "You are the owner of this project. You may try the study; the report leaves out your answers."),
    h("div", { class: "row" }, once("Start", goOn)),
  ].filter(isElement);
}

/**
 * @param {Context} ctx
 * @param {"pair" | "triplet"} name
 * @param {string} title
 */
function kind(ctx, name, title) {
  return h("section", { class: "card" }, h("h2", null, title), h("p", null, INSTRUCTIONS[name]),
    h("dl", { class: "keylist" }, ...(KEYS[name] ?? []).map(({ action, label }) =>
      h("div", null, h("dt", null, label), h("dd", null, ctx.keys.label(action) ? h("kbd", null, ctx.keys.label(action)) : "button only")))));
}

/**
 * @param {Task} task the next task
 * @param {() => void} goOn
 * @returns {HTMLElement[]}
 */
export function breakPage(task, goOn) {
  const first = task.number === 1;
  return [
    heading(first ? "Practice is over" : `Task ${task.number - 1} of ${task.of} is done`),
    h("p", null, first ? "From now on, answers count, and the right answers are no longer shown." : "Take a rest if you like. The time between the tasks does not count."),
    h("section", { class: "card" },
      h("h2", null, `Task ${task.number} of ${task.of}: ${count(task.n, task.kind)}${task.data_set ? ` about “${task.data_set}”` : ""}`),
      h("p", null, INSTRUCTIONS[task.kind] ?? "")),
    h("div", { class: "row" }, once(`Start task ${task.number}`, goOn)),
  ];
}

/** @returns {HTMLElement[]} */
export function donePage() {
  return [
    heading("Thank you!"),
    h("p", null, "All your answers are saved. You can close this page."),
  ];
}

/**
 * @param {string} why
 * @param {() => void} again
 * @returns {HTMLElement[]}
 */
export function troublePage(why, again) {
  return [
    heading("The study cannot continue right now"),
    h("p", { class: "note bad" }, why),
    h("div", { class: "row" }, once("Try again", again)),
  ];
}

/**
 * @param {HTMLElement | false | null} child
 * @returns {child is HTMLElement}
 */
function isElement(child) {
  return child instanceof HTMLElement;
}
