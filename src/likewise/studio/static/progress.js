/** The progress, in a line below the question, with details in a dialog. */

/** @import {Progress} from "./types.js" */
import { count, fill, h, openDialog, s } from "./dom.js";

/** @param {number} share */
function percent(share) {
  const value = 100 * share;
  return value > 0 && value < 1 ? "less than 1 %" : `${Math.round(value)} %`;
}

const FEWEST = 10; // minimum number of answers for showing the share of wrong ones
const MANY_WRONG = 0.25; // from this share on, answers should be reviewed

/**
 * Whether a report of the progress is from before another one.
 * @param {Progress} one
 * @param {Progress} other
 */
export function isOlder({ version }, { version: other }) {
  const at = version.findIndex((seq, place) => seq !== other[place]);
  return at >= 0 && (version[at] ?? 0) < (other[at] ?? 0);
}

/**
 * The effect of the last ten answers, or of all if there are fewer, as a sentence.
 * @param {Progress} progress
 */
export function changeSentence({ reason, changed, n_answers }) {
  const few = n_answers < 10 || reason === "early";
  if (changed === null || n_answers === 0) return few ? "After ten answers, you will see here what they change." : "";
  return `The ${few ? "answers so far" : "last ten answers"} moved ${changed === 0 ? "no item" : `${percent(changed)} of the items`} to another group.`;
}

/**
 * How well the groups predict answers, as a sentence. It is a share of answers, not of items.
 * @param {Progress} progress
 */
export function testSentence({ accuracy, interval }) {
  if (accuracy === null) return "";
  const range = interval ? ` (likely between ${percent(interval[0])} and ${percent(interval[1])})` : "";
  return `Test: groups computed without some of the answers predict ${percent(accuracy)} of these correctly${range}.`;
}

/**
 * The share of answers that look wrong, as one or two sentences; empty before ten answers.
 * @param {Progress} progress
 */
export function errorSentence({ error_rate, n_answers }) {
  if (!error_rate || n_answers < FEWEST) return "";
  const [mean, low, high] = error_rate;
  const whole = (/** @type {number} */ share) => Math.round(100 * share);
  const share = whole(mean) === 0 ? "Less than 1 %" : `About ${whole(mean)} %`;
  const warning = mean >= MANY_WRONG ? " The answers disagree with the data and with each other: review the suspect answers before you go on." : "";
  return `${share} of the answers are probably wrong (${whole(low)} to ${whole(high)} %).${warning}`;
}

/**
 * Whether to go on, in plain words. Other reasons, such as a used-up budget, keep the sentence of the server.
 * @param {Progress} progress
 */
export function adviceSentence({ advice, reason, worth_asking }) {
  switch (reason) {
    case "early":
      return "Go on: it is too early for a recommendation.";
    case "unsure":
      return "The last ten answers were all “Unsure”: more like them will change nothing.";
    case "changing":
      return "Go on: the next ten will probably move about as many items, or fewer.";
    case "untested":
      return "Go on: there are too few answers yet to test the groups.";
    case "inaccurate":
      return "Go on: the groups do not predict answers well enough yet.";
    case "uncertain":
      return "Go on a little: a few more answers will make the test conclusive.";
    case "settled":
      return worth_asking ? "More answers will change little unless they find something new." : "You can stop: more answers will change little.";
    default:
      return advice;
  }
}

/**
 * A small line chart of the change, from the first answers to the last.
 * @param {[number, number][]} curve
 */
export function spark(curve) {
  if (curve.length < 3) return null;
  const from = curve[0]?.[0] ?? 0;
  const to = curve.at(-1)?.[0] ?? 1;
  const top = Math.max(...curve.map(([, share]) => share), 0.01);
  const points = curve.map(([n, share]) => `${((100 * (n - from)) / Math.max(to - from, 1)).toFixed(1)},${(23 - (21 * share) / top).toFixed(1)}`);
  return s("svg", { viewBox: "0 0 100 24", class: "spark", role: "img", preserveAspectRatio: "none",
    "aria-label": `Change over ten answers, over time: from ${percent(curve[0]?.[1] ?? 0)} to ${percent(curve.at(-1)?.[1] ?? 0)}` },
    s("polyline", { points: points.join(" "), fill: "none", stroke: "currentcolor", "stroke-width": "1.5" }));
}

/**
 * The most important thing to know now, in a few words: what to do next.
 * @param {Progress} progress
 * @returns {{text: string, look: string} | null}
 */
export function nextStep({ error_rate, n_answers, worth_asking, reason }) {
  if (error_rate && n_answers >= FEWEST && error_rate[0] >= MANY_WRONG) return { text: "many suspect answers", look: "warn" };
  if (!worth_asking) return { text: reason === "settled" ? "you can stop" : "finished", look: "good" };
  return null;
}

/** @type {WeakMap<HTMLElement, {progress: Progress, html: string}>} what each line shows */
const shown = new WeakMap();

/**
 * One line, whose height never changes: the buttons above must stay where they are. What has the focus keeps it.
 * @param {HTMLElement} root
 * @param {Progress} progress
 */
export function drawProgress(root, progress) {
  const behind = progress.behind > 0 || progress.fitting;
  const step = nextStep(progress);
  const link = (/** @type {number} */ n, /** @type {string} */ noun) => n > 0 && h("span", null, " · ", h("a", { href: "#/conflicts", "data-focus": noun }, count(n, noun)));
  const fresh = [
    h("p", { class: "counts number" }, h("strong", null, count(progress.mine, "answer")),
      h("span", { class: "by" }, progress.n_answers > progress.mine ? ` by you, ${progress.n_answers.toLocaleString("en")} in total` : " so far"),
      progress.groups > 0 && ` · ${count(progress.groups, "group")}`,
      link(progress.conflicts, "contradiction"),
      link(progress.suspects, "suspect answer")),
    h("p", { class: "change refit", "data-behind": behind ? "true" : "false" }, changeSentence(progress) || "The groups are being computed."),
    step && h("span", { class: `badge ${step.look}` }, step.text),
    h("button", { type: "button", class: "quiet small", "data-action": "progress", "data-focus": "details", "aria-haspopup": "dialog",
      on: { click: () => openProgress(shown.get(root)?.progress ?? progress) } }, "Details"),
  ];
  const html = h("div", null, ...fresh).innerHTML;
  const same = shown.get(root)?.html === html;
  shown.set(root, { progress, html });
  if (same) return;
  const held = root.contains(document.activeElement) ? document.activeElement?.getAttribute("data-focus") : null;
  fill(root, ...fresh);
  if (held) /** @type {HTMLElement | null} */ (root.querySelector(`[data-focus="${held}"]`))?.focus();
}

/** @param {Progress} progress */
function openProgress(progress) {
  const behind = progress.behind > 0 || progress.fitting;
  openDialog("Progress", [
    h("p", null, changeSentence(progress)),
    spark(progress.curve),
    ...[testSentence(progress), errorSentence(progress), adviceSentence(progress)].filter(Boolean).map((sentence) => h("p", null, sentence)),
    h("p", { class: "muted" }, behind ? "The groups are being updated with the latest answers." : "The groups are up to date."),
  ]);
}
