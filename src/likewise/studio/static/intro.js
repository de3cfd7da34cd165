/** Three steps for people who are here for the first time, each with an answer to try. Shown once; also from Help. */

/** @import {Context} from "./types.js" */
import { scopeOf } from "./asking.js";
import { fill, h, openDialog, s } from "./dom.js";
import { useStyle } from "./styles.js";

const STORED = "likewise introduction";

/** @typedef {{title: string, text: string, drawings: [string, string], answers: [string, string][]}} Step  each answer with the reply to it */

/** @type {Step[]} */
const STEPS = [
  {
    title: "Compare two items",
    text: "You are asked whether items belong together. Look at what matters, not at the rest. Try it: are these the same kind of leaf?",
    drawings: ["small leaf", "large leaf"],
    answers: [["Different", "They differ in size only, so “Same” is the better answer here."], ["Unsure", "“Unsure” is fine if you cannot tell. Here, only the size differs: “Same”."],
      ["Same", "Right: only the size differs."]],
  },
  {
    title: "“Different” and “Unsure” help as well",
    text: "Each answer teaches the groups something. A guess does harm: if you cannot tell, say so. And these two?",
    drawings: ["large leaf", "needle"],
    answers: [["Different", "Right: another kind."], ["Unsure", "Always allowed. Here, the shapes differ: “Different”."], ["Same", "They are of different kinds, so “Different” is the better answer."]],
  },
  {
    title: "Nothing can go wrong",
    text: "Each answer is saved at once. Undo takes the last one back, Skip passes over a question, to which the history lets you return, and an item that cannot be judged can be reported as broken. Try: take this answer back.",
    drawings: ["needle", "needle"],
    answers: [["Undo", "The question is back. The history lists all your answers."]],
  },
];

/**
 * Open the introduction, unless this person has seen it here or has answered already.
 * @param {Context} ctx
 */
export async function introduce(ctx) {
  if (ctx.me.project.study || document.querySelector("dialog[open]")) return;
  const mine = `${STORED} ${scopeOf(ctx)}`;
  try {
    if (localStorage.getItem(STORED) || localStorage.getItem(mine)) return;
    const progress = await ctx.api.get("api/progress");
    localStorage.setItem(mine, "seen");
    if (progress.mine > 0 || document.querySelector("dialog[open]")) return;
  } catch {
    return; // it can be opened from Help
  }
  await openIntroduction(ctx);
}

/** @param {Context} ctx */
export async function openIntroduction(ctx) {
  await useStyle("setup.css");
  const body = h("div", { class: "intro" });
  const dialog = openDialog("How it works", [body], { class: "intro-dialog" });
  const { criterion, has_guide } = ctx.me.project;
  /** @param {number} at */
  const show = (at) => {
    const step = /** @type {Step} */ (STEPS[at]);
    const reply = h("p", { class: "intro-reply", role: "status" });
    const title = h("h3", { tabindex: "-1" }, step.title);
    const last = at === STEPS.length - 1;
    fill(body,
      h("p", { class: "muted small" }, `Step ${at + 1} of ${STEPS.length}`), title,
      h("p", null, step.text),
      h("div", { class: "intro-items" }, ...step.drawings.map((name) => h("div", { class: "intro-item" }, leaf(name)))),
      h("div", { class: "intro-answers", role: "group", "aria-label": "Sample answers" }, ...step.answers.map(([label, words]) => h("button", { type: "button", on: { click: () => { reply.textContent = words; } } }, label))),
      reply,
      h("p", { class: "intro-criterion", dir: "auto" }, last ? (criterion ? `In this project, together means: ${criterion}` : "") : ""),
      h("div", { class: "row spread" },
        at > 0 ? h("button", { type: "button", class: "quiet", on: { click: () => show(at - 1) } }, "Back") : h("button", { type: "button", class: "quiet", on: { click: () => dialog.close() } }, "Skip the introduction"),
        h("span", { class: "row" }, last && has_guide && h("a", { class: "button", href: "#/guide", on: { click: () => dialog.close() } }, "Read the guideline"),
          h("button", { type: "button", class: "primary", on: { click: () => (last ? dialog.close() : show(at + 1)) } }, last ? "Start" : "Next"))));
    title.focus();
  };
  show(0);
}

/**
 * A drawn leaf.
 * @param {string} name
 */
function leaf(name) {
  const size = name === "small leaf" ? 0.6 : 1;
  const shape = name === "needle"
    ? [s("path", { d: "M50 92L50 8", stroke: "currentcolor", "stroke-width": "3", fill: "none" }), s("path", { d: "M50 80L28 62M50 80L72 62M50 62L28 44M50 62L72 44M50 44L30 28M50 44L70 28", stroke: "currentcolor", "stroke-width": "4", fill: "none", "stroke-linecap": "round" })]
    : [s("path", { d: "M50 8C84 28 84 66 50 84C16 66 16 28 50 8Z", fill: "currentcolor" }), s("path", { d: "M50 96L50 26M50 62L34 50M50 62L66 50", stroke: "var(--surface)", "stroke-width": "3", fill: "none" }), s("path", { d: "M50 96L50 84", stroke: "currentcolor", "stroke-width": "4" })];
  return s("svg", { viewBox: "0 0 100 100", class: name === "needle" ? "needle" : "leaf", role: "img", "aria-label": name },
    s("g", { transform: `translate(${50 - 50 * size} ${50 - 50 * size}) scale(${size})` }, ...shape));
}
