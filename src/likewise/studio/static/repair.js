// Repairs of the groups: the bar that offers them for the selected items, and the choice of a group.

import { count, fill, h, openDialog } from "./dom.js";
import { giveHint, groupName } from "./hints.js";
import { swatch } from "./map_legend.js";
import { MOST, pick, selection, showSelection } from "./selection.js";

/** @import {Context} from "./types.js" */
/** @import {Group} from "./hints.js" */

/** @typedef {"move" | "split" | "merge" | "shelve" | "unshelve"} Act */

/**
 * Send a repair of the selected items, or of groups.
 * @param {Context} ctx
 * @param {Act} act
 * @param {number[]} [groups]
 * @returns {Promise<boolean>} whether it was saved
 */
export async function repair(ctx, act, groups = []) {
  const rows = act === "merge" ? [] : selection.rows;
  if (rows.length > MOST) {
    ctx.toast(`${rows.length.toLocaleString("en")} items are selected, and a repair may have ${MOST.toLocaleString("en")}. Repair them in parts.`, "bad");
    return false;
  }
  return giveHint(ctx, "api/repairs", { act, rows, groups }, "Saved:", (what) => {
    if (what === "kept" && act !== "merge") selection.clear();
  });
}

/**
 * Choose a group: type a part of its name, press Enter.
 * @param {Group[]} groups
 * @param {string} title
 * @param {(group: Group) => void} choose
 */
export function chooseGroup(groups, title, choose) {
  const list = h("ul", { class: "group-choice" });
  const input = h("input", { type: "search", "aria-label": "Find a group", placeholder: "Find a group", autocomplete: "off", enterkeyhint: "done" });
  const none = h("p", { class: "muted", role: "status" });
  /** @param {Group} group */
  const chosen = (group) => {
    dialog.close();
    choose(group);
  };
  const draw = () => {
    const wanted = input.value.trim().toLowerCase();
    const found = groups.filter((group) => `${groupName(group)} ${group.description.join(" ")}`.toLowerCase().includes(wanted));
    none.textContent = found.length ? "" : "No group has this name or these words.";
    fill(list, ...found.map((group) => h("li", null, h("button", { type: "button", on: { click: () => chosen(group) } },
      swatch(group), h("span", { class: "choice-name", dir: "auto" }, h("strong", null, groupName(group)),
        group.description.length > 0 && h("span", { class: "small muted" }, group.description.join(", "))),
      h("span", { class: "small muted number" }, count(group.size, "item"))))));
    return found;
  };
  const form = h("form", { on: { submit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const [first] = draw();
    if (first) chosen(first);
  } } }, input);
  input.addEventListener("input", draw);
  const dialog = openDialog(title, [form, none, list]);
  draw();
  input.focus();
}

/** The bar of repairs; hidden while nothing is selected. */
export class RepairBar {
  /**
   * @param {Context} ctx
   * @param {() => Group[]} groups
   * @param {AbortSignal} signal ends it
   */
  constructor(ctx, groups, signal) {
    this.ctx = ctx;
    this.groups = groups;
    this.words = h("p", { role: "status" });
    this.acts = h("div", { class: "row" });
    this.element = h("div", { class: "merge-bar card repair-bar", hidden: true, role: "region", "aria-label": "Repair the selected items" }, this.words, this.acts);
    selection.addEventListener("change", () => this.update(), { signal });
    const end = ctx.keys.use({
      "repair.select": (event) => {
        const tile = /** @type {HTMLElement | null} */ (document.activeElement?.closest(".tile[data-row]") ?? null);
        if (tile) pick(tile, event?.shiftKey ?? false);
      },
      undo: () => /** @type {HTMLElement | null} */ (document.querySelector(".hint-notice button"))?.click(),
      "repair.move": () => this.#if(() => this.move()),
      "repair.split": () => this.#if(() => void repair(ctx, "split")),
      "repair.shelve": () => this.#if(() => void repair(ctx, selection.shelved ? "unshelve" : "shelve")),
    });
    signal.addEventListener("abort", end);
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && selection.size > 0 && !document.querySelector("dialog[open], .editing")) selection.clear();
    }, { signal });
    this.update();
  }

  /** @param {() => void} act */
  #if(act) {
    if (selection.size > 0) act();
    else this.ctx.announce("No items are selected.");
  }

  /** Let the person choose the group that the items belong to. */
  move() {
    chooseGroup(this.groups(), `Which group do ${count(selection.size, "item")} belong to?`, (group) => void repair(this.ctx, "move", [group.number]));
  }

  /** Show what is selected, here and on the tiles. */
  update() {
    showSelection();
    this.element.hidden = selection.size === 0;
    document.body.classList.toggle("repairing", selection.size > 0);
    if (selection.size === 0) return;
    this.words.textContent = `${count(selection.size, "item")} selected`;
    /** @param {string} label @param {string} key @param {() => void} act @param {string} [kind] */
    const button = (label, key, act, kind = "") => h("button", { type: "button", class: kind, "data-focus": `repair ${key}`, on: { click: act } }, label,
      this.ctx.keys.label(key) && h("kbd", { "aria-hidden": "true" }, this.ctx.keys.label(key)));
    const held = document.activeElement?.getAttribute("data-focus") ?? "";
    fill(this.acts,
      button("Belongs to…", "repair.move", () => this.move(), "primary"),
      button("Split off as a new group", "repair.split", () => void repair(this.ctx, "split")),
      selection.shelved
        ? button("Take off the shelf", "repair.shelve", () => void repair(this.ctx, "unshelve"))
        : button("None of these", "repair.shelve", () => void repair(this.ctx, "shelve")),
      h("button", { type: "button", class: "quiet", on: { click: () => selection.clear() } }, "Clear"));
    if (held.startsWith("repair ")) /** @type {HTMLElement | null} */ (this.acts.querySelector(`[data-focus="${held}"]`))?.focus();
  }
}

