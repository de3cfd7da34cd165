/** How far it has come, in a strip below the question. */

/** @import {Progress} from "./types.js" */
import { count, fill, h, s } from "./dom.js";

/** @param {number} share */
function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 1 ? "less than 1 %" : `${Math.round(value)} %`;
}

/**
 * What the last ten answers did, as a sentence.
 * @param {Progress} progress
 */
export function changeSentence(progress) {
  if (progress.changed === null) return "After ten answers you will see here what they change.";
  if (progress.changed === 0) return "The last ten answers moved no item to another group.";
  return `The last ten answers moved ${percent(progress.changed)} of the items to another group.`;
}

/**
 * A small line of how much changed, from the first answers to the last.
 * @param {[number, number][]} curve
 */
export function spark(curve) {
  if (curve.length < 3) return null;
  const from = curve[0]?.[0] ?? 0;
  const to = curve.at(-1)?.[0] ?? 1;
  const top = Math.max(...curve.map(([, share]) => share), 0.01);
  const points = curve.map(([n, share]) => `${((100 * (n - from)) / Math.max(to - from, 1)).toFixed(1)},${(23 - (21 * share) / top).toFixed(1)}`);
  return s("svg", { viewBox: "0 0 100 24", class: "spark", role: "img", preserveAspectRatio: "none",
    "aria-label": `What ten answers changed, over time: from ${percent(curve[0]?.[1] ?? 0)} to ${percent(curve.at(-1)?.[1] ?? 0)}` },
    s("polyline", { points: points.join(" "), fill: "none", stroke: "currentcolor", "stroke-width": "1.5" }));
}

/**
 * @param {HTMLElement} root
 * @param {Progress} progress
 */
export function drawProgress(root, progress) {
  const behind = progress.behind > 0 || progress.fitting;
  const told = progress.advice.includes("changed"); // the advice names the same number
  fill(root,
    h("p", { class: "counts number" }, h("strong", null, count(progress.mine, "answer")), progress.n_answers > progress.mine ? ` by you, ${progress.n_answers.toLocaleString("en")} in all` : " so far",
      progress.groups > 0 && ` · ${count(progress.groups, "group")}`,
      progress.conflicts > 0 && h("span", null, " · ", h("a", { href: "#/conflicts" }, count(progress.conflicts, "contradiction")))),
    (progress.changed !== null || !progress.advice) && h("div", { class: "change" }, spark(progress.curve), !told && h("span", null, changeSentence(progress))),
    progress.accuracy !== null && h("p", null, `About ${percent(progress.accuracy)} of the items are thought to be in the right group`,
      progress.interval ? ` (${percent(progress.interval[0])} to ${percent(progress.interval[1])}).` : "."),
    progress.advice && h("p", { class: progress.worth_asking ? "" : "note good" }, progress.advice),
    h("p", { class: "refit small", "data-behind": behind ? "true" : "false" },
      behind ? "The newest answers are being worked into the groups." : "The groups are up to date."));
}
