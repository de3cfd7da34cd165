/** How far the participants of a study are, for its owner. */

/** @import {Context} from "./types.js" */
import { count, fill, h } from "./dom.js";
import { useStyle } from "./styles.js";

/**
 * @typedef {object} Participant
 * @property {number} id
 * @property {string} name
 * @property {boolean} active
 * @property {"intro" | "practice" | "break" | "task" | "survey" | "done"} stage
 * @property {number} done
 * @property {number} n
 * @property {number} seconds
 * @property {string | null} last
 */

const STAGES = { intro: "introduction", practice: "practice", break: "break", task: "answers questions", survey: "questionnaire", done: "finished" };

/**
 * A section with a line for each participant.
 * @param {Context} ctx
 * @param {AbortSignal} signal
 * @returns {{section: HTMLElement, update: () => Promise<void>}}
 */
export function participants(ctx, signal) {
  const room = h("div", null);
  const update = async () => {
    try {
      const got = /** @type {{participants: Participant[], n_finished: number}} */ (await ctx.api.get("api/study/participants"));
      if (!signal.aborted) fill(room, ...describe(got.participants, got.n_finished));
    } catch (error) {
      if (!signal.aborted) fill(room, h("p", { class: "note bad" }, String(error)));
    }
  };
  const again = h("button", { type: "button", class: "small", on: { click: () => void update() } }, "Update");
  void useStyle("study.css").then(update);
  const section = h("section", { class: "people-part participants", "aria-label": "Progress of the participants" },
    h("div", { class: "row" }, h("h2", null, "Progress of the participants"), again), room);
  return { section, update };
}

/**
 * @param {Participant[]} people
 * @param {number} finished
 * @returns {HTMLElement[]}
 */
function describe(people, finished) {
  if (people.length === 0) return [h("p", { class: "muted" }, "There are no participants yet. Add people above, and send each of them their link.")];
  const heads = ["Name", "Stage", "Questions", "Minutes", "Last seen"];
  return [
    h("p", null, `${finished} of ${count(people.length, "participant")} finished. The report counts those who answered all questions.`),
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Participants" },
      h("table", { class: "people" }, h("caption", { class: "sr" }, "Progress of the participants"),
        h("thead", null, h("tr", null, ...heads.map((head) => h("th", { scope: "col" }, head)))),
        h("tbody", null, ...people.map(row)))),
  ];
}

/** @param {Participant} person */
function row(person) {
  return h("tr", { class: person.active ? "" : "locked", "data-stage": person.stage },
    h("th", { scope: "row", dir: "auto" }, person.name, !person.active && h("span", { class: "muted" }, " (locked out)")),
    h("td", { class: "last-seen" }, person.last === null ? "not started" : STAGES[person.stage]),
    h("td", { class: "number" }, h("progress", { max: person.n, value: person.done, "aria-label": `Questions answered by ${person.name}` }), h("span", null, ` ${person.done} of ${person.n}`)),
    h("td", { class: "number" }, (person.seconds / 60).toFixed(1)),
    h("td", { class: "last-seen" }, person.last === null ? "–" : new Date(person.last).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" })));
}
