/** The pages of a study that ask nothing: introduction, break, thanks, and one for trouble. */

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
const TOLD = {
  pair: "You see two items. Say whether they belong to the same class.",
  triplet: "You see three items. Say which two belong to the same class while the third belongs to another. "
    + "If there are no such two, because all three belong together or each is of another class, say “No two”.",
};

/**
 * @param {string} text
 * @returns {HTMLElement}
 */
export function heading(text) {
  return h("h1", { tabindex: "-1" }, text);
}

/**
 * A button that works once: a second press on a slow line must not skip the next page.
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
    h("p", null, "This study compares two ways to say what belongs together. You will do both of them, one after the other. "
      + "First come some questions for practice, which do not count and tell you the right answer."),
    h("div", { class: "study-kinds" }, kind(ctx, "pair", "Pairs"), kind(ctx, "triplet", "Triplets")),
    stage.reference && h("p", null, "The reference book shows one example of each class. Open it whenever you like: ",
      h("button", { type: "button", on: { click: () => ctx.showReference() } }, "Reference book", ctx.keys.label("reference") && h("kbd", { "aria-hidden": "true" }, ctx.keys.label("reference")))),
    h("p", null, "Answer as well as you can, and as quickly as you like: the time of each answer is kept. An answer cannot be taken back, and none can be left out; "
      + "where you are in doubt, choose what seems likelier. You may stop at any time and go on later where you left; pauses are best taken between the tasks."),
    ctx.me.person.role === "owner" && h("p", { class: "note" }, "You own this project. You may try the study; the report leaves your answers out."),
    h("div", { class: "row" }, once("Start", goOn)),
  ].filter(isElement);
}

/**
 * @param {Context} ctx
 * @param {"pair" | "triplet"} name
 * @param {string} title
 */
function kind(ctx, name, title) {
  return h("section", { class: "card" }, h("h2", null, title), h("p", null, TOLD[name]),
    h("dl", { class: "keylist" }, ...(KEYS[name] ?? []).map(({ action, label }) =>
      h("div", null, h("dt", null, label), h("dd", null, ctx.keys.label(action) ? h("kbd", null, ctx.keys.label(action)) : "its button")))));
}

/**
 * @param {Task} task the one that follows
 * @param {() => void} goOn
 * @returns {HTMLElement[]}
 */
export function breakPage(task, goOn) {
  const first = task.number === 1;
  return [
    heading(first ? "Practice is over" : `Task ${task.number - 1} of ${task.of} is done`),
    h("p", null, first ? "From now on answers count, and the right ones are no longer told." : "Take a rest if you like. The time between the tasks does not count."),
    h("section", { class: "card" },
      h("h2", null, `Task ${task.number} of ${task.of}: ${count(task.n, task.kind)}`),
      h("p", null, TOLD[task.kind] ?? "")),
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
    heading("The study cannot go on just now"),
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
