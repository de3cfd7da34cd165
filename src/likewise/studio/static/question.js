/**
 * The question page: one key saves the answer and shows the next question.
 *
 * `mount(root, ctx, options)`; a study uses it too, with `progress: false`, `why: false` and its own `onFinished`.
 * The section has `data-state` (starting, ready, thinking, finished, lost), `data-question` (the id of the one shown) and
 * `data-ready="true"` once the question is painted and keys count.
 */

/** @import {Context, Question, Reply, Unmount, Word} from "./types.js" */
import { Asking, Clock } from "./asking.js";
import { blurAfterClick, fill, h } from "./dom.js";
import { drawGroupQuestion } from "./group_question.js";
import { figures, glyph, LETTERS, zoom } from "./item.js";
import { ACTIONS } from "./keys.js";
import { drawProgress } from "./progress.js";
import { judgedItems, openBroken, openNote } from "./remarks.js";
import { openHelp, openSettings, preferences } from "./settings.js";

const GUARD = 120; // ms after painting in which a second key press is ignored

/** @type {Record<string, {action: string, word: Word, label: string, look: string}[]>} */
const CHOICES = {
  pair: [
    { action: "pair.different", word: "DIFFERENT", label: "Different", look: "no" },
    { action: "pair.unsure", word: "UNSURE", label: "Unsure", look: "" },
    { action: "pair.same", word: "SAME", label: "Same", look: "yes" },
  ],
  triplet: [
    { action: "triplet.ab", word: "AB", label: "A and B", look: "yes" },
    { action: "triplet.ac", word: "AC", label: "A and C", look: "yes" },
    { action: "triplet.bc", word: "BC", label: "B and C", look: "yes" },
    { action: "triplet.neither", word: "NEITHER", label: "No two", look: "no" },
    { action: "triplet.unsure", word: "UNSURE", label: "Unsure", look: "" },
  ],
  groups: [
    { action: "pair.different", word: "DIFFERENT", label: "Different", look: "no" },
    { action: "pair.unsure", word: "UNSURE", label: "Unsure", look: "" },
    { action: "pair.same", word: "SAME", label: "Same", look: "yes" },
  ],
};

/**
 * Buttons of questions about groups, whose actions depend on what was selected; see group_question.js.
 * @type {Record<string, {action: string, label: string, look: string}[]>}
 */
const BUTTONS = {
  placement: [
    { action: "placement.new", label: "A new group", look: "" },
    { action: "placement.unsure", label: "Unsure", look: "" },
  ],
  members: [
    { action: "members.unsure", label: "Unsure", look: "" },
    { action: "members.confirm", label: "All belong", look: "yes" },
  ],
  label: [
    { action: "label.unsure", label: "Unsure", look: "" },
    { action: "label.save", label: "Save the name", look: "yes" },
  ],
};

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @param {{progress?: boolean, why?: boolean, without?: ReadonlySet<string>, onFinished?: (message: string | null) => void, onAnswer?: (question: Question, answer: Reply | null) => void}} [options]
 *   `without`: actions not offered, such as "undo" or "pair.unsure"
 * @returns {Unmount}
 */
export function mount(root, ctx, options = {}) {
  const asking = new Asking(ctx);
  const clock = new Clock();
  let ready = false;
  let shown = ""; // id of the question on the screen
  let kind = ""; // kind of question that the buttons are for
  /** @type {import("./group_question.js").GroupQuestion | null} */
  let drawn = null; // the question about groups on the screen

  let note = ""; // stored with the next answer
  const criterion = h("p", { class: "criterion" });
  const heading = h("h1", { id: "question-text" });
  const why = h("div", { class: "ask-more" });
  const items = h("div", { class: "items" });
  const answers = h("div", { class: "answers", role: "group", "aria-labelledby": "question-text" });
  const more = h("div", { class: "more" });
  const strip = h("aside", { class: "progress", "aria-label": "Progress", hidden: options.progress === false });
  const still = h("div", { class: "still" });
  const page = h("section", { class: "view question", "data-state": "starting" },
    criterion, h("div", { class: "ask" }, heading, why), items, still, h("div", { class: "desk" }, answers, more), strip);
  fill(root, page);

  /** @param {Reply} given */
  const answer = (given) => {
    if (!ready || !asking.current) return;
    const question = asking.current;
    const seconds = clock.seconds;
    ready = false;
    asking.answer(given, seconds, note);
    options.onAnswer?.(question, given);
  };
  const skip = () => {
    if (!ready || !asking.current) return;
    const question = asking.current;
    const seconds = clock.seconds;
    ready = false;
    asking.skip(seconds);
    ctx.toast("Skipped. You can find it in the history.");
    options.onAnswer?.(question, null);
  };
  const undo = () => {
    if (asking.state === "ready" && !ready) return;
    ready = false;
    const at = asking.current;
    asking.undo();
    ctx.announce("Undone.");
    if (asking.current === at) ready = at !== null; // nothing to show yet: it comes with the reply
  };
  const closer = () => {
    if (asking.current) zoom(judgedItems(asking.current));
  };
  const showNote = () => {
    const noted = more.querySelector('[data-action="note"]');
    noted?.setAttribute("aria-pressed", String(note !== ""));
  };
  const writeNote = () => {
    if (!asking.current || asking.current.practice) return;
    const { id } = asking.current;
    openNote(note, (text) => {
      if (shown !== id) return;
      note = text;
      showNote();
    });
  };
  const reportBroken = () => {
    const question = asking.current;
    if (!question || !ready) return;
    openBroken(ctx, question, (item, text) => {
      if (shown !== question.id) return;
      ready = false;
      asking.reportBroken(item, text);
      ctx.toast(`${item.title} is no longer asked about.`);
    });
  };
  const drawCriterion = () => {
    const { criterion: words, has_guide, study } = ctx.me.project;
    criterion.hidden = !words && !has_guide;
    fill(criterion, words && h("span", { dir: "auto" }, words), has_guide && !study && h("a", { href: "#/guide" }, "Guideline"));
  };
  /** @param {number} i */
  const play = (i) => {
    const player = items.querySelectorAll("figure")[i]?.querySelector("audio");
    if (!player) return;
    if (player.paused) void player.play().catch(() => {});
    else player.pause();
  };

  /**
   * A button that shows its key.
   * @param {string} action
   * @param {string} label
   * @param {string} look
   * @param {() => void} act
   * @param {string} [icon]
   */
  const button = (action, label, look, act, icon) => {
    const key = ctx.keys.label(action);
    const made = h("button", { type: "button", class: look, "data-action": action, "aria-keyshortcuts": key ? ctx.keys.of(action).map(spoken).join(" ") : null },
      icon && glyph(icon), h("span", null, label), key && h("kbd", { "aria-hidden": "true" }, key));
    made.addEventListener("click", (event) => {
      blurAfterClick(event);
      act();
    });
    return made;
  };

  let endKeys = () => {};
  const drawButtons = () => {
    const offered = (/** @type {string} */ action) => !options.without?.has(action);
    const choices = (CHOICES[kind] ?? []).filter((choice) => offered(choice.action));
    const layer = /** @type {Record<string, () => void>} */ ({ undo, skip, zoom: closer, note: writeNote, broken: reportBroken });
    for (const choice of choices) layer[choice.action] = () => answer(choice.word);
    for (const action of kind in BUTTONS ? ACTIONS.filter((one) => one.group === kind) : []) layer[action.name] = () => drawn?.acts[action.name]?.();
    [0, 1, 2].forEach((i) => { layer[`play.${i + 1}`] = () => play(i); });
    endKeys();
    endKeys = ctx.keys.use(Object.fromEntries(Object.entries(layer).filter(([action]) => offered(action))));
    answers.className = `answers ${kind}`;
    fill(answers, ...choices.map((choice) => button(choice.action, choice.label, `answer ${choice.look}`, () => answer(choice.word))),
      ...(BUTTONS[kind] ?? []).map((one) => button(one.action, one.label, `answer ${one.look}`, () => drawn?.acts[one.action]?.())));
    fill(more,
      offered("undo") && button("undo", "Undo", "quiet", undo, "M9 14L4 9l5-5M4 9h10a6 6 0 0 1 0 12h-3"),
      offered("skip") && button("skip", "Skip", "quiet", skip, "M5 5l8 7-8 7zM19 5v14"),
      button("zoom", "Enlarge", "quiet", closer, "M11 4a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM16 16l5 5"),
      offered("note") && button("note", "Note", "quiet", writeNote, "M5 4h14v16H5zM9 9h6M9 13h6"),
      offered("broken") && button("broken", "Broken", "quiet", reportBroken, "M4 4h16v16H4zM4 14l5-3 3 4 4-7 4 4"),
      button("reference", "Reference", "quiet", () => ctx.showReference(), "M4 5a2 2 0 0 1 2-2h14v16H6a2 2 0 0 0-2 2zM20 19v2H6"),
      button("help", "Keys", "quiet", () => openHelp(ctx), "M3 6h18v12H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8"),
      button("settings", "Settings", "quiet", () => openSettings(ctx), "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4"));
    showNote();
  };

  /** Say on the button that confirms how many items were selected. */
  const showSelected = () => {
    const confirm = answers.querySelector('[data-action="members.confirm"] span');
    if (!confirm) return;
    const n = items.querySelectorAll('.tap[aria-pressed="true"]').length;
    confirm.textContent = n === 0 ? "All belong" : `${n} ${n === 1 ? "does" : "do"} not belong`;
  };

  /** @param {Question} question */
  const showQuestion = (question) => {
    if (shown === question.id && page.dataset["state"] === "ready") {
      fill(heading, question.text); // the owner may have changed it
      ready = true;
      return;
    }
    page.dataset["ready"] = "false";
    page.dataset["question"] = question.id;
    note = "";
    showNote();
    if (kind !== question.kind || answers.childElementCount === 0) {
      kind = question.kind;
      drawButtons();
    }
    heading.className = "";
    fill(heading, question.text);
    fill(why, question.practice && h("span", { class: "badge" }, "practice"),
      question.why && options.why !== false && h("details", { class: "why" }, h("summary", { on: { click: blurAfterClick } }, "Why this question?"), h("p", { dir: "auto" }, question.why)));
    items.className = `items ${kind} of-${question.items[0]?.kind ?? ""}`;
    const onSettled = () => shown === question.id && clock.start();
    drawn = drawGroupQuestion(question, { give: answer, changed: showSelected, onSettled, marks: preferences.marks });
    items.replaceChildren(...(drawn?.parts ?? figures(question.items, { marks: preferences.marks, onSettled })));
    showSelected();
    shown = question.id;
    ctx.announce([heading.textContent, ...judgedItems(question).map((item, i) => (drawn ? item.title : `${LETTERS[i]}: ${item.title}`))].join(". "));
    requestAnimationFrame(() => setTimeout(() => {
      if (shown !== question.id) return;
      clock.start();
      setTimeout(() => {
        if (shown !== question.id || asking.current?.id !== question.id) return;
        ready = true;
        page.dataset["ready"] = "true";
        drawn?.focus?.();
      }, GUARD);
    }));
  };

  const showStill = () => {
    shown = "";
    delete page.dataset["question"];
    page.dataset["ready"] = "false";
    heading.className = "sr";
    fill(why);
    fill(items);
    const text = STILL[asking.state];
    fill(heading, text?.title ?? "Questions");
    fill(still, h("div", { class: "empty" },
      asking.state !== "finished" && h("div", { class: "dots", "aria-hidden": "true" }, h("span"), h("span"), h("span")),
      h("p", { class: "large", "aria-hidden": "true" }, text?.title ?? ""),
      h("p", { class: "muted" }, asking.message ?? text?.text ?? ""),
      asking.state === "finished" && [
        h("div", { class: "row" },
          ctx.me.project.shows_groups && h("a", { class: "button primary", href: "#/groups" }, "See the groups"),
          ctx.me.person.role === "owner" && h("a", { class: "button", href: ctx.api.url("api/export", { what: "labels", format: "csv" }), download: true }, "Save the labels (CSV)"),
          h("a", { class: "button", href: "#/history" }, "Look at my answers")),
      ],
      asking.state === "lost" && [
        ctx.outbox.waiting.length > 0 && h("p", null, `${ctx.outbox.waiting.length} of your answers are kept on this machine and will be sent when the server is back.`),
        h("div", { class: "row" }, h("button", { type: "button", on: { click: () => { ctx.outbox.retry(); void asking.more(); } } }, "Try now")),
      ]));
    if (asking.state !== "starting") ctx.announce(`${text?.title ?? ""} ${asking.message ?? ""}`);
  };

  const show = () => {
    const before = page.dataset["state"];
    if (asking.state === "finished" && options.onFinished) options.onFinished(asking.message);
    if (asking.state === "ready" && asking.current) {
      showQuestion(asking.current);
      if (before !== "ready") fill(still);
    } else if (before !== asking.state || asking.state === "finished") showStill();
    page.dataset["state"] = asking.state;
  };
  const redraw = () => {
    drawButtons();
    if (!asking.current) return;
    shown = "";
    showQuestion(asking.current);
  };
  const hide = () => clock.turn(document.hidden);
  /** @param {KeyboardEvent} event */
  const closeWhy = (event) => {
    const open = why.querySelector("details[open]");
    if (event.key !== "Escape" || event.defaultPrevented || open === null || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    open.removeAttribute("open");
  };
  const useSettings = () => {
    drawCriterion();
    void asking.reword();
  };

  asking.addEventListener("show", show);
  asking.addEventListener("progress", () => asking.progress && drawProgress(strip, asking.progress));
  document.addEventListener("visibilitychange", hide);
  document.addEventListener("keydown", closeWhy);
  ctx.keys.addEventListener("change", redraw);
  ctx.events.addEventListener("preferences", redraw);
  ctx.events.addEventListener("settings", useSettings);
  drawCriterion();
  drawButtons();
  showStill();
  void asking.start();

  return () => {
    asking.stop();
    endKeys();
    document.removeEventListener("visibilitychange", hide);
    document.removeEventListener("keydown", closeWhy);
    ctx.keys.removeEventListener("change", redraw);
    ctx.events.removeEventListener("preferences", redraw);
    ctx.events.removeEventListener("settings", useSettings);
  };
}

/** @type {Record<string, {title: string, text: string}>} */
const STILL = {
  starting: { title: "One moment…", text: "" },
  thinking: { title: "Choosing the next question…", text: "It will appear here automatically." },
  finished: { title: "That is all for now.", text: "There are no more questions." },
  lost: { title: "The server does not respond.", text: "The page keeps trying." },
};

/** @param {string} key in the form used by `aria-keyshortcuts` */
function spoken(key) {
  return key === " " ? "Space" : key.length === 1 ? key.toUpperCase() : key;
}
