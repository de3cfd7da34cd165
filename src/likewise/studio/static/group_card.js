// The card of a group: its name, which can be edited in place, and members with buttons.

import { count, fill, h } from "./dom.js";
import { giveHint, groupName, itemName } from "./hints.js";
import { glyph, itemCard } from "./item.js";
import { swatch } from "./map_legend.js";
import { repair } from "./repair.js";
import { dropTarget, selectable } from "./selection.js";

/** @import {Context, Item} from "./types.js" */
/** @import {Group} from "./hints.js" */

const YES = "M5 12l5 5 9-11";
const SHOWN = 4; // members of each kind per card; the rest are one click away
const NO = "M6 6l12 12M18 6L6 18";

/**
 * The name of a group, editable in place: Enter saves, Escape cancels.
 * @param {Context} ctx
 * @param {Group} group
 * @param {"h1" | "h2"} level
 * @param {() => void} renamed called after renaming and after undoing it
 * @returns {HTMLElement}
 */
export function nameLine(ctx, group, level, renamed) {
  const line = h("div", { class: "group-name" });
  const show = (focus = false) => {
    const change = h("button", { type: "button", class: "quiet small", "aria-label": `Rename ${groupName(group)}`, "data-focus": `name ${group.number}`, on: { click: edit } }, "Rename");
    fill(line, swatch(group), h(level, { dir: "auto" }, groupName(group)), change);
    line.classList.remove("editing");
    if (focus) change.focus();
  };
  const edit = () => {
    const input = h("input", { type: "text", maxlength: "100", value: group.name ?? "", placeholder: groupName(group), "aria-label": `New name of ${groupName(group)}`, autocomplete: "off", enterkeyhint: "done" });
    const form = h("form", { class: "row", on: { submit: (/** @type {Event} */ event) => { event.preventDefault(); void save(input.value.trim()); } } },
      input, h("button", { type: "submit", class: "primary" }, "Save"), h("button", { type: "button", class: "quiet", on: { click: () => show(true) } }, "Cancel"));
    form.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      show(true);
    });
    fill(line, swatch(group), form);
    line.classList.add("editing");
    input.focus();
    input.select();
  };
  /** @param {string} name */
  const save = async (name) => {
    const before = group.name;
    show(true);
    if (!name || name === before) return;
    group.name = name; // shown at once, before the server confirms
    show(true);
    if (await giveHint(ctx, `api/groups/${group.number}/name`, { name }, "", renamed)) return;
    group.name = before;
    show();
  };
  show();
  return line;
}

/**
 * The words or columns that set a group apart, in one line; nothing for pictures and sounds.
 * @param {Group} group
 */
export function descriptionLine(group) {
  return group.description.length > 0 && h("p", { class: "small group-description", dir: "auto" }, group.description.join(", "));
}

/**
 * A suggested name, accepted with one click or key; nothing if the group has a name.
 * @param {Context} ctx
 * @param {Group} group
 * @param {() => void} renamed
 */
export function suggestionLine(ctx, group, renamed) {
  const name = group.suggestion;
  if (!name || group.name) return null;
  return h("p", { class: "suggestion" }, h("button", { type: "button", class: "small accept-name", "data-focus": `accept ${group.number}`, "aria-label": `Name ${groupName(group)} “${name}”`,
    on: { click: () => void giveHint(ctx, `api/groups/${group.number}/name`, { name }, "", renamed) } },
  h("span", { dir: "auto" }, `Name it “${name}”`), ctx.keys.label("repair.name") && h("kbd", { "aria-hidden": "true" }, ctx.keys.label("repair.name"))));
}

/**
 * A member of a group, with buttons (keys B and X when focused) for whether it belongs there.
 * @param {Context} ctx
 * @param {Group} group
 * @param {Item} item
 * @param {"typical" | "doubtful"} as
 * @returns {HTMLElement}
 */
export function memberTile(ctx, group, item, as) {
  /** @param {"belongs" | "not-here"} what */
  const say = async (what) => {
    if (tile.classList.contains("answered")) return;
    const word = what === "belongs" ? "belongs here" : "not here";
    /** @param {boolean} marked */
    const mark = (marked) => {
      tile.classList.toggle("answered", marked);
      verdict.textContent = marked ? word : "";
      for (const button of acts.querySelectorAll("button")) button.hidden = marked;
    };
    mark(true);
    const path = `api/groups/${group.number}/${what}`;
    if (!(await giveHint(ctx, path, { row: item.row }, "Saved as a hint:", (now) => mark(now === "kept")))) mark(false);
  };
  const verdict = h("span", { class: "small muted" });
  const acts = h("div", { class: "tile-acts" },
    as === "doubtful" && h("button", { type: "button", class: "quiet icon", title: "Belongs here (B)", "aria-label": `${itemName(item)} belongs here`,
      "data-focus": `yes ${as} ${item.row}`, on: { click: () => say("belongs") } }, glyph(YES)),
    h("button", { type: "button", class: "quiet icon", title: "Does not belong here (X)", "aria-label": `${itemName(item)} does not belong here`,
      "data-focus": `no ${as} ${item.row}`, on: { click: () => say("not-here") } }, glyph(NO)), verdict);
  const tile = selectable(h("li", { class: `tile of-${item.kind}` }, itemCard(item), acts), item, { focus: `pick ${as} ${item.row}` });
  tile.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    const key = event.key.toLowerCase();
    if (key !== "b" && key !== "x") return;
    event.preventDefault();
    void say(key === "b" ? "belongs" : "not-here");
  });
  return tile;
}

/**
 * A row of members.
 * @param {Context} ctx
 * @param {Group} group
 * @param {"typical" | "doubtful"} as
 */
export function members(ctx, group, as) {
  // In a small group the typical members are all there are; none is shown twice.
  const typical = new Set(group.typical.slice(0, SHOWN).map((item) => item.row));
  const items = group[as].filter((item) => as === "typical" || !typical.has(item.row)).slice(0, SHOWN);
  return h("div", { class: "group-part" },
    h("h3", { class: "small muted" }, as === "typical" ? "Typical" : "In doubt"),
    items.length
      ? h("ul", { class: `gallery tiles of-${items[0]?.kind}` }, ...items.map((item) => memberTile(ctx, group, item, as)))
      : h("p", { class: "small muted" }, as === "doubtful" ? "No others." : "None yet."));
}

/**
 * The card of a group.
 * @param {Context} ctx
 * @param {Group} group
 * @param {{chosen: boolean, choose: (chosen: boolean) => void, renamed: () => void}} acts
 * @returns {HTMLElement}
 */
export function groupCard(ctx, group, acts) {
  const card = h("article", { class: "card group-card", "data-number": group.number, "aria-label": groupName(group) },
    h("header", null,
      nameLine(ctx, group, "h2", acts.renamed),
      h("p", { class: "small muted number" }, count(group.size, "item")),
      descriptionLine(group),
      suggestionLine(ctx, group, acts.renamed)),
    members(ctx, group, "typical"),
    members(ctx, group, "doubtful"),
    h("footer", { class: "row spread" },
      h("label", { class: "check small" },
        h("input", { type: "checkbox", checked: acts.chosen, "data-focus": `merge ${group.number}`, "aria-label": `Merge with other groups: ${groupName(group)}`,
          on: { change: (/** @type {Event} */ event) => acts.choose(/** @type {HTMLInputElement} */ (event.target).checked) } }),
        "Merge with other groups"),
      h("a", { class: "small", href: `#/groups/${group.number}`, "data-focus": `open ${group.number}`, "aria-label": `Show all ${count(group.size, "item")} of ${groupName(group)}` }, "Show all")));
  dropTarget(card, () => void repair(ctx, "move", [group.number]));
  return card;
}
