// The groups as a gallery: view, rename and correct them.

import { count, fill, h, openDialog } from "./dom.js";
import { descriptionLine, groupCard, memberTile, nameLine } from "./group_card.js";
import { closeNotice, giveHint, groupName, latest } from "./hints.js";
import { itemCard } from "./item.js";
import { swatch } from "./map_legend.js";
import { useStyle } from "./styles.js";

/** @import {Context, Unmount, Item} from "./types.js" */
/** @import {Group} from "./hints.js" */

const PAGE = 60; // members fetched at a time

/**
 * @param {HTMLElement} root
 * @param {Context} ctx
 * @returns {Promise<Unmount>}
 */
export async function mount(root, ctx) {
  await useStyle("groups.css");
  const stopped = new AbortController();
  const { signal } = stopped;
  /** @type {{update: () => Promise<void>} | null} */
  let page = null;
  const open = () => {
    const found = /^#\/groups(?:\/(\d+))?$/.exec(location.hash);
    if (!found || signal.aborted) return;
    page = found[1] === undefined ? new Gallery(root, ctx) : new OneGroup(root, ctx, Number(found[1]));
    void page.update();
  };
  open();
  window.addEventListener("hashchange", open, { signal });
  ctx.events.addEventListener("picture", () => page?.update(), { signal });
  ctx.events.addEventListener("descriptions", () => page?.update(), { signal });
  ctx.events.addEventListener("found", () => page?.update(), { signal });
  ctx.events.addEventListener("theme", () => page?.update(), { signal });
  return () => {
    stopped.abort();
    closeNotice();
  };
}

/** All groups. */
class Gallery {
  /**
   * @param {HTMLElement} root
   * @param {Context} ctx
   */
  constructor(root, ctx) {
    this.ctx = ctx;
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Set<number>} groups selected for merging */
    this.chosen = new Set();
    this.note = h("p", { class: "muted" }, "Loading…");
    this.cards = h("div", { class: "group-cards" });
    this.bar = h("div", { class: "merge-bar card", hidden: true, role: "region", "aria-label": "Merge two groups" });
    fill(root, h("section", { class: "view wide" }, h("h1", null, "Groups"), this.note, this.cards, this.bar));
    this.update = latest(() => this.#fetch());
  }

  async #fetch() {
    try {
      const got = await this.ctx.api.get("api/groups");
      this.groups = got.groups;
    } catch (error) {
      this.note.textContent = String(error);
      return;
    }
    // Nothing moves while a person is typing; the next picture is shown instead.
    if (this.cards.querySelector(".editing")) return;
    const known = new Set(this.groups.map((group) => group.number));
    for (const number of this.chosen) if (!known.has(number)) this.chosen.delete(number);
    this.note.textContent = this.groups.length
      ? "Rename a group, or correct it: each correction becomes a hint, and the groups are updated. Below an item, choose ✓ if it belongs here and ✕ if it does not; with the item in focus, press B or X."
      : "There are no groups yet. They appear with the first answers.";
    const held = focusName();
    fill(this.cards, ...this.groups.map((group) => groupCard(this.ctx, group, {
      chosen: this.chosen.has(group.number),
      choose: (chosen) => this.#choose(group.number, chosen),
      renamed: () => this.update(),
    })));
    giveFocus(this.cards, held);
    this.#bar();
  }

  /**
   * @param {number} number
   * @param {boolean} chosen
   */
  #choose(number, chosen) {
    if (chosen) this.chosen.add(number);
    else this.chosen.delete(number);
    if (this.chosen.size > 2) this.chosen.delete(/** @type {number} */ (this.chosen.values().next().value));
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (this.cards.querySelectorAll('input[data-focus^="merge "]'))) {
      box.checked = this.chosen.has(Number(box.dataset["focus"]?.slice(6)));
    }
    this.#bar();
  }

  #bar() {
    const [a, b] = this.#pair();
    this.bar.hidden = !a;
    if (!a) return;
    fill(this.bar,
      h("p", null, b ? `“${groupName(a)}” and “${groupName(b)}”: are they one group?` : `Choose the group to merge with “${groupName(a)}”.`),
      h("div", { class: "row" },
        b && h("button", { type: "button", class: "primary", on: { click: () => this.#confirm(a, b) } }, "Merge these two"),
        h("button", { type: "button", class: "quiet", on: { click: () => this.#clear() } }, "Cancel")));
    this.ctx.announce(b ? "Two groups are selected. A button at the end of the page merges them." : "One group is selected. Select another.");
  }

  /** @returns {(Group | undefined)[]} */
  #pair() {
    return [...this.chosen].map((number) => this.groups.find((group) => group.number === number));
  }

  #clear() {
    this.chosen.clear();
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (this.cards.querySelectorAll('input[type="checkbox"]'))) box.checked = false;
    this.bar.hidden = true;
  }

  /**
   * @param {Group} a
   * @param {Group} b
   */
  #confirm(a, b) {
    /** @param {Group} group */
    const side = (group) => h("section", { class: "merge-side" },
      h("h3", null, swatch(group), " ", groupName(group)), h("p", { class: "small muted number" }, count(group.size, "item")),
      h("div", { class: "gallery" }, ...group.typical.slice(0, 6).map((item) => itemCard(item, { onOpen: null }))));
    const dialog = openDialog("Are these two one group?", [
      h("div", { class: "merge-sides" }, side(a), side(b)),
      h("p", { class: "small muted" }, "This is saved as a hint: the most typical items of both belong together. You can undo it."),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", on: { click: () => {
          dialog.close();
          this.#clear();
          void giveHint(this.ctx, "api/groups/merge", { a: a.number, b: b.number }, "Saved as a hint:");
        } } }, "Yes, one group"),
        h("button", { type: "button", on: { click: () => dialog.close() } }, "No")),
    ], { class: "wide" });
  }
}

/** One group with all its members, page by page. */
class OneGroup {
  /**
   * @param {HTMLElement} root
   * @param {Context} ctx
   * @param {number} number
   */
  constructor(root, ctx, number) {
    this.ctx = ctx;
    this.number = number;
    /** @type {"typical" | "doubtful"} */
    this.order = "doubtful";
    /** @type {Group | null} */
    this.group = null;
    this.seq = -1;
    this.shown = 0;
    this.head = h("div", null, h("h1", null, `Group ${number + 1}`));
    this.changed = h("div", { class: "note row", hidden: true }, "The groups have changed.  ",
      h("button", { type: "button", on: { click: () => this.#restart() } }, "Update"));
    this.tiles = h("ul", { class: "gallery tiles" });
    this.more = h("button", { type: "button", hidden: true, on: { click: () => this.#page() } }, "Show more");
    this.note = h("p", { class: "muted small", role: "status" });
    /** @param {"typical" | "doubtful"} order @param {string} label */
    const choice = (order, label) => h("label", { class: "check" },
      h("input", { type: "radio", name: "order", checked: this.order === order, on: { change: () => { this.order = order; this.#restart(); } } }), label);
    fill(root, h("section", { class: "view" }, h("p", null, h("a", { href: "#/groups" }, "All groups")), this.head,
      h("fieldset", { class: "choice row" }, h("legend", { class: "sr" }, "Order"), choice("doubtful", "Most doubtful first"), choice("typical", "Most typical first")),
      this.changed, this.tiles, this.note, h("div", { class: "row" }, this.more)));
    this.update = latest(() => this.#fetch());
  }

  async #fetch() {
    try {
      const got = await this.ctx.api.get("api/groups");
      this.group = got.groups.find((/** @type {Group} */ group) => group.number === this.number) ?? null;
      if (!this.group) {
        this.note.textContent = "This group no longer exists: groups change with the answers.";
        return;
      }
      if (!this.head.querySelector(".editing")) {
        const held = focusName();
        fill(this.head, nameLine(this.ctx, this.group, "h1", () => this.update()), h("p", { class: "muted number" }, count(this.group.size, "item")), descriptionLine(this.group));
        giveFocus(this.head, held);
      }
      if (this.seq < 0) this.#restart();
      else if (got.seq !== this.seq) this.changed.hidden = false;
      this.seq = got.seq;
    } catch (error) {
      this.note.textContent = String(error);
    }
  }

  #restart() {
    this.shown = 0;
    this.changed.hidden = true;
    fill(this.tiles);
    void this.#page();
  }

  async #page() {
    const { group, order } = this;
    if (!group) return;
    this.more.disabled = true;
    try {
      const got = await this.ctx.api.get(`api/groups/${this.number}/items`, { offset: this.shown, limit: PAGE, order });
      if (order !== this.order) return;
      const first = this.shown;
      this.tiles.append(...got.items.map((/** @type {Item} */ item) => memberTile(this.ctx, group, item, "doubtful")));
      this.shown += got.items.length;
      const total = got.total ?? group.size;
      this.more.hidden = this.shown >= total || got.items.length === 0;
      this.note.textContent = `${count(this.shown, "item")} of ${total.toLocaleString("en")} shown.`;
      // After "Show more" by keyboard, the focus moves to the first new item.
      if (first > 0) /** @type {HTMLElement | null} */ (this.tiles.children[first]?.querySelector("button"))?.focus();
    } catch (error) {
      this.note.textContent = String(error);
    } finally {
      this.more.disabled = false;
    }
  }
}

/** The focused element, by a name that survives redrawing. */
function focusName() {
  return document.activeElement?.getAttribute("data-focus") ?? null;
}

/**
 * @param {HTMLElement} root
 * @param {string | null} name
 */
function giveFocus(root, name) {
  if (name === null) return;
  for (const element of root.querySelectorAll("[data-focus]")) {
    if (element.getAttribute("data-focus") === name) /** @type {HTMLElement} */ (element).focus();
  }
}
