// People and results, for the owner: who answers, how far they agree, login links, and files to download.

import { additions } from "./additions.js";
import { count, fill, h, openDialog } from "./dom.js";
import { latest } from "./hints.js";
import { participants } from "./study_people.js";
import { useStyle } from "./styles.js";

/** @import {Context, Unmount} from "./types.js" */

/**
 * @typedef {object} PersonRow
 * @property {number} id
 * @property {string} name
 * @property {"owner" | "annotator"} role
 * @property {boolean} active
 * @property {number} n_answers
 * @property {number} n_shared
 * @property {number | null} accuracy
 * @property {number | null} reliability
 * @property {number | null} seconds
 */

/** @typedef {{n_shared: number, observed: number | null, alpha: number | null}} Agreement */

const WHATS = [["labels", "Groups", "each item with its group"], ["answers", "Answers", "with annotator, time and duration"], ["hints", "Hints", "derived from the answers, for likewise in Python"]];
const FORMATS = [["csv", "CSV"], ["jsonl", "JSON Lines"], ["parquet", "Parquet"]];

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  await useStyle("groups.css");
  if (ctx.me.person.role !== "owner") {
    fill(root, h("section", { class: "view" }, h("h1", null, "People"), h("p", null, "Only the owner of the project can see this page.")));
    return () => {};
  }
  const stopped = new AbortController();
  const { signal } = stopped;
  const table = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "People" });
  const agreement = h("div", null);
  const about = h("section", { class: "people-part", "aria-label": "Data" });
  const progress = ctx.me.project.study ? participants(ctx, signal) : null;
  fill(root, h("section", { class: "view" }, h("h1", null, "People and results"),
    h("div", { class: "people-part" }, agreement, table, form(ctx, () => { void update(); void progress?.update(); }), explained(ctx)),
    progress && progress.section, about, !progress && additions(ctx, signal), results(ctx)));
  const update = latest(async () => {
    try {
      const got = await ctx.api.get("api/people");
      if (signal.aborted) return;
      const held = document.activeElement?.getAttribute("data-focus");
      fill(agreement, agreed(ctx, got.agreement, got.people));
      fill(table, peopleTable(ctx, got.people, update));
      if (held) /** @type {HTMLElement | null} */ (table.querySelector(`[data-focus="${CSS.escape(held)}"]`))?.focus();
    } catch (error) {
      fill(agreement, h("p", { class: "note bad" }, String(error)));
    }
  });
  ctx.events.addEventListener("picture", update, { signal });
  ctx.events.addEventListener("found", update, { signal });
  ctx.events.addEventListener("items", () => fill(about, ...data(ctx)), { signal });
  fill(about, ...data(ctx));
  void update();
  return () => stopped.abort();
}

/** @param {number | null} share */
function percent(share) {
  return share === null ? "–" : `${Math.round(100 * share)} %`;
}

/** @param {number | null} share */
function trust(share) {
  if (share === null) return "unknown";
  if (share >= 0.75) return "high";
  return share >= 0.4 ? "fair" : share >= 0.25 ? "low" : "counts only if others agree";
}

/**
 * @param {Context} ctx
 * @param {Agreement} agreement
 * @param {PersonRow[]} people
 */
function agreed(ctx, { n_shared, observed, alpha }, people) {
  const sum = people.reduce((all, person) => all + person.n_answers, 0);
  if (ctx.me.project.study) return h("p", { class: "muted" }, `${count(sum, "answer")}. Each participant of a study gets other questions, so agreement is unknown.`);
  if (n_shared === 0 || observed === null) {
    return h("p", { class: "muted" }, `${count(sum, "answer")} from ${count(people.length, "person", "people")}. No question has been answered by two people yet, so their agreement is unknown.`);
  }
  return h("p", null, `${count(sum, "answer")} from ${count(people.length, "person", "people")}. On ${count(n_shared, "question")} that several people answered, their agreement is `,
    h("strong", { class: "number" }, percent(observed)), alpha === null ? "." : ` (Krippendorff's alpha ${alpha.toFixed(2)}).`);
}

/** @param {Context} ctx */
function explained(ctx) {
  if (ctx.me.project.study) return null;
  return h("details", { class: "small" }, h("summary", null, "What do the columns mean?"),
    h("dl", { class: "words-list" },
      h("dt", null, "Shared"), h("dd", null, "Questions that at least one other person answered too. Agreement and reliability are estimated from these. With --overlap 2, two people are asked each question."),
      h("dt", null, "Agreement"), h("dd", null, "How often this person gives the answer that is most probable given all answers."),
      h("dt", null, "Reliability"), h("dd", null, "100 % if this person is always right, 0 % if no better than guessing. When people disagree, it determines the weight of their answers. Below 25 %, an answer counts only if another person gave the same."),
      h("dt", null, "Seconds"), h("dd", null, "The median time per answer."),
      h("dt", null, "Krippendorff's alpha"), h("dd", null, "Agreement beyond chance: 1 for full agreement, 0 for agreement as if by guessing.")));
}

/**
 * @param {Context} ctx
 * @param {PersonRow[]} people
 * @param {() => void} update
 */
function peopleTable(ctx, people, update) {
  /** @param {PersonRow} person */
  const row = (person) => {
    const me = person.id === ctx.me.person.id;
    return h("tr", { class: person.active ? "" : "locked" },
      h("th", { scope: "row", dir: "auto" }, person.name, me && h("span", { class: "muted" }, " (you)"), !person.active && h("span", { class: "muted" }, " (locked out)")),
      h("td", null, person.role),
      h("td", { class: "number" }, person.n_answers.toLocaleString("en")),
      ctx.me.project.study ? [] : [h("td", { class: "number" }, person.n_shared.toLocaleString("en")),
        h("td", { class: "number" }, percent(person.accuracy)),
        h("td", null, h("span", { class: "number" }, percent(person.reliability)), " ", h("span", { class: "small muted" }, trust(person.reliability)))],
      h("td", { class: "number" }, person.seconds === null ? "–" : person.seconds.toFixed(1)),
      h("td", null, h("div", { class: "row acts" },
        person.active && h("button", { type: "button", class: "small", "aria-label": `New link for ${person.name}`, "data-focus": `link ${person.id}`, on: { click: () => newLink(ctx, person) } }, "New link"),
        !me && h("button", { type: "button", class: "small quiet", "aria-label": `${person.active ? "Lock out" : "Let in again"} ${person.name}`, "data-focus": `active ${person.id}`,
          on: { click: () => setActive(ctx, person, update) } }, person.active ? "Lock out" : "Let in again"))));
  };
  const heads = ["Name", "Role", "Answers", ...(ctx.me.project.study ? [] : ["Shared", "Agreement", "Reliability"]), "Seconds", "Actions"];
  return h("table", { class: "people" }, h("caption", { class: "sr" }, "People who may log in"),
    h("thead", null, h("tr", null, ...heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", null, ...people.map(row)));
}

/**
 * @param {Context} ctx
 * @param {PersonRow} person
 */
async function newLink(ctx, person) {
  try {
    const { link } = await ctx.api.post(`api/people/${person.id}/link`, {});
    showLink(ctx, person.name, link);
  } catch (error) {
    ctx.toast(String(error), "bad");
  }
}

/**
 * @param {Context} ctx
 * @param {PersonRow} person
 * @param {() => void} update
 */
async function setActive(ctx, person, update) {
  try {
    await ctx.api.post(`api/people/${person.id}/active`, { active: !person.active });
    ctx.toast(person.active ? `${person.name} is locked out. Their answers are kept.` : `${person.name} may log in again.`, "good");
    update();
  } catch (error) {
    ctx.toast(String(error), "bad");
  }
}

/**
 * A login link, which is shown only once.
 * @param {Context} ctx
 * @param {string} name
 * @param {string} link
 */
function showLink(ctx, name, link) {
  const field = h("input", { type: "text", readonly: true, value: link, "aria-label": `Login link of ${name}`, spellcheck: "false" });
  const copy = h("button", { type: "button", class: "primary", on: { click: async () => {
    try {
      await navigator.clipboard.writeText(link);
      copy.textContent = "Copied";
      ctx.announce("The link was copied.");
    } catch {
      // No clipboard on plain http, except on localhost.
      field.select();
      ctx.toast("Press Ctrl+C to copy the link.", "info");
    }
  } } }, "Copy");
  openDialog(`Login link for ${name}`, [
    h("p", null, "Send it only to this person: whoever opens it first is logged in as them. It works once and is not shown again."),
    ["127.0.0.1", "localhost", "[::1]"].includes(location.hostname) && h("p", null, "It works only on this machine. For people on other machines, start the studio with --host, or behind a proxy with --public-url."),
    h("div", { class: "row link-row" }, field, copy),
  ]);
  field.select();
}

/**
 * @param {Context} ctx
 * @param {() => void} update
 */
function form(ctx, update) {
  const name = h("input", { type: "text", id: "new-name", required: true, maxlength: "100", autocomplete: "off" });
  const role = h("select", { id: "new-role" }, h("option", { value: "annotator" }, "annotator: answers questions"), h("option", { value: "owner" }, "owner: sees and does everything"));
  const add = h("button", { type: "submit", class: "primary" }, "Add and create link");
  return h("form", { class: "row people-form", on: { submit: async (/** @type {Event} */ event) => {
    event.preventDefault();
    add.disabled = true;
    try {
      const { person, link } = await ctx.api.post("api/people", { name: name.value.trim(), role: role.value });
      name.value = "";
      update();
      showLink(ctx, person.name, link);
    } catch (error) {
      ctx.toast(String(error), "bad");
    } finally {
      add.disabled = false;
    }
  } } },
  h("div", { class: "field" }, h("label", { for: "new-name" }, "Name of new person"), name),
  h("div", { class: "field" }, h("label", { for: "new-role" }, "Role"), role), add);
}

/**
 * What the items are, which features describe them, and notes on how they were read.
 * @param {Context} ctx
 */
function data(ctx) {
  const { kind, n_items, features, notes = [] } = ctx.me.project;
  return [h("h2", null, "Data"),
    h("p", { class: "project-features" }, count(n_items, kind === "image" ? "picture" : kind), features ? `, described by ${features}.` : "."),
    notes.length > 0 && h("ul", { class: "small muted" }, ...notes.map((note) => h("li", null, note)))];
}

/** @param {Context} ctx */
function results(ctx) {
  return h("section", { class: "people-part results", "aria-label": "Results" }, h("h2", null, "Results"),
    h("table", null, h("caption", { class: "sr" }, "Files to download"),
      h("tbody", null, ...WHATS.map(([what, label, about]) => h("tr", null,
        h("th", { scope: "row" }, label, h("span", { class: "small muted" }, ` ${about}`)),
        h("td", null, h("div", { class: "row" }, ...FORMATS.map(([format, short]) =>
          h("a", { class: "button small", href: ctx.api.url("api/export", { what, format }), download: true, "aria-label": `${label} as ${short}` }, short)))))))),
    h("p", null, h("a", { class: "button", href: ctx.api.url("api/report"), target: "_blank", rel: "noopener" }, "Open report"),
      h("span", { class: "small muted" }, " One page with the groups, the answers and how to load them in Python.")));
}
