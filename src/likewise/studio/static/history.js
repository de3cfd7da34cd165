/** The history: answers and skips, newest first, each with an undo button. */

/** @import {Context, Item, Past, Unmount} from "./types.js" */
import { fill, h } from "./dom.js";
import { itemCard, LETTERS } from "./item.js";

/** @type {Record<string, string>} */
export const WORDS = {
  SAME: "Same", DIFFERENT: "Different", UNSURE: "Unsure", AB: "A and B", AC: "A and C", BC: "B and C", NEITHER: "No two",
  NEW: "A new group",
};

/** The origin of an answer that was not given to a question. @type {Record<string, string>} */
const SOURCES = { groups: "on the Groups page", import: "imported", study: "in the study", practice: "for practice" };

/**
 * An answer in words.
 * @param {Past} past
 */
export function describeAnswer({ answer, question }) {
  if (answer === null) return "";
  if (typeof answer === "string") return question?.kind === "members" && answer === "SAME" ? "All belong to the group" : (WORDS[answer] ?? answer);
  if ("name" in answer) return `Named “${answer.name}”`;
  if ("unlike" in answer) return `${answer.unlike.length} of ${(question?.items.length ?? 1) - 1} ${answer.unlike.length === 1 ? "does" : "do"} not belong to the group`;
  const shown = question?.groups ?? [];
  // Not "group 1": the groups of the page Groups have other numbers.
  return `In ${answer.groups.map((n) => shown[n - 1]?.name ?? (shown.length > 1 ? `the group shown as ${n} of ${shown.length}` : "the group shown")).join(" and ")}`;
}

/**
 * An event in words.
 * @param {Past} past
 */
export function describe(past) {
  if (past.kind === "skip") return "Skipped";
  if (past.kind === "name") return `Named “${past.name ?? ""}”`;
  if (past.kind === "answer") return describeAnswer(past);
  if (past.kind === "repair") return past.sentence ?? "Repair";
  if (past.kind === "confirm") return `Kept: ${describeAnswer(past)}`;
  if (past.kind === "broken") return "Broken";
  if (past.kind === "again") return `Asked again: ${describeAnswer(past)}`;
  return past.kind === "undo" ? "Undo" : past.kind;
}

/**
 * The items of a past question, each with a letter or number, and whether the answer puts it apart from the first.
 * Of a placement in a group, only the item and this group.
 * @param {Past} past
 * @returns {{item: Item, mark: string, apart: boolean}[]}
 */
export function pastItems({ answer, question }) {
  if (!question) return [];
  const { kind, items, groups } = question;
  if (kind === "repair") return items.map((item) => ({ item, mark: "", apart: false }));
  if (kind === "pair" || kind === "triplet" || groups.length === 0) return items.map((item, i) => ({ item, mark: LETTERS[i] ?? "", apart: false }));
  const first = items.slice(0, 1).map((item) => ({ item, mark: "", apart: false }));
  if (kind === "label" || kind === "groups") return items.map((item) => ({ item, mark: "", apart: false }));
  const chosen = answer !== null && typeof answer === "object" && "groups" in answer ? answer.groups : null;
  const unlike = answer !== null && typeof answer === "object" && "unlike" in answer ? answer.unlike : [];
  if (kind === "members") return [...first, ...items.slice(1).map((item, i) => ({ item, mark: String(i + 1), apart: unlike.includes(i + 1) }))];
  const shown = groups.flatMap((group, i) => (chosen ? (chosen.includes(i + 1) ? group.items : []) : group.items.slice(0, 1)).map((item) => ({ item, mark: String(i + 1), apart: answer === "NEW" })));
  return [...first, ...shown];
}

/**
 * An event in words, with its items.
 * @param {Past} past
 */
export function describeWithItems(past) {
  if (past.kind === "repair") return describe(past);
  const { kind = "", items = [] } = past.question ?? {};
  const about = kind === "placement" ? items.slice(0, 1) : kind === "members" ? items.slice(1) : items;
  return `${describe(past)}, ${about.map((item) => item.title).join(" and ")}`;
}

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Unmount}
 */
export function mount(root, ctx) {
  const list = h("ol", { class: "history", "aria-label": "Answers, newest first" });
  const more = h("button", { type: "button", hidden: true, on: { click: () => load() } }, "Show earlier");
  const empty = h("p", { class: "muted", hidden: true }, "There are no answers yet.");
  const owner = ctx.me.person.role === "owner";
  fill(root, h("section", { class: "view" }, h("h1", null, "History"),
    h("p", { class: "muted" }, owner ? "All answers, newest first." : "Your answers, newest first.",
      " Undone answers no longer count. A skipped question can be put back, and is then asked again."),
    list, empty, h("div", { class: "row" }, more)));
  /** @type {number | null} */
  let before = null;
  let over = false;

  /** @param {Past} past */
  const entry = (past) => {
    const line = h("li", { class: past.undone ? "card past undone" : "card past" });
    const when = new Date(past.time);
    const act = past.kind === "skip" ? "Put back" : "Undo";
    const back = past.can_undo && !past.undone && h("button", { type: "button", "aria-label": `${act}: ${describeWithItems(past)}` }, act);
    if (back) {
      back.addEventListener("click", () => {
        back.disabled = true;
        const revisit = past.kind === "skip" && past.mine && past.question_id;
        const sent = revisit
          ? ctx.outbox.post("api/revisit", { key: ctx.api.key(), question: past.question_id })
          : ctx.outbox.post("api/undo", { key: ctx.api.key(), of: past.seq });
        sent.then(
          (/** @type {{question: object | null}} */ result) => {
            const again = result.question ? "You will be asked again." : "Others have answered it in the meantime.";
            ctx.toast(revisit ? again : "Undone.", "good");
            const redone = entry({ ...past, undone: true });
            line.replaceWith(redone);
            redone.tabIndex = -1;
            redone.focus();
          },
          (error) => {
            back.disabled = false;
            ctx.toast(String(error), "bad");
          });
      });
    }
    fill(line,
      h("div", { class: "past-items" }, ...pastItems(past).map(({ item, mark, apart }) => h("div", { class: apart ? "past-item apart" : "past-item" },
        mark && h("span", { class: "letter small", "aria-hidden": "true" }, mark), apart && h("span", { class: "sr" }, "Apart: "), itemCard(item))),
        past.kind === "repair" && past.n_items > (past.question?.items.length ?? 0) && h("span", { class: "muted small" }, `and ${past.n_items - (past.question?.items.length ?? 0)} more`)),
      h("div", { class: "past-answer" },
        h("strong", { dir: "auto", class: `past-word ${(typeof past.answer === "string" ? past.answer : past.kind).toLowerCase()}` }, describe(past)),
        h("span", { class: "muted small" }, h("time", { datetime: past.time }, Number.isNaN(when.getTime()) ? past.time : when.toLocaleString()),
          past.seconds !== null && past.seconds !== undefined && ` · ${past.seconds.toFixed(1)} s`,
          !past.mine && h("span", { dir: "auto" }, ` · ${past.person}`),
          past.source && past.source !== "question" && ` · ${SOURCES[past.source] ?? past.source}`),
        past.note && h("span", { class: "past-note", dir: "auto" }, `“${past.note}”`),
        past.undone ? h("span", { class: "badge" }, "undone") : back));
    return line;
  };

  const load = async () => {
    more.disabled = true;
    try {
      /** @type {{events: Past[], more: boolean}} */
      const page = await ctx.api.get("api/history", { before, limit: 50 });
      if (over) return;
      const shown = page.events.filter((past) => ["answer", "skip", "name", "confirm", "again", "broken", "repair"].includes(past.kind));
      for (const past of shown) list.appendChild(entry(past));
      before = page.events.at(-1)?.seq ?? before;
      more.hidden = !page.more;
      empty.hidden = list.childElementCount > 0;
    } catch (error) {
      if (!over) ctx.toast(String(error), "bad");
      more.hidden = false;
    } finally {
      more.disabled = false;
    }
  };
  void ctx.outbox.settled(1500).then(load);
  return () => {
    over = true;
  };
}
