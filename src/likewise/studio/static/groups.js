// The groups as a gallery: view, rename and correct them.

import { count, fill, h, openDialog } from "./dom.js";
import { descriptionLine, groupCard, memberTile, nameLine, suggestionLine } from "./group_card.js";
import { GroupSearch } from "./group_search.js";
import { closeNotice, groupName, latest } from "./hints.js";
import { itemCard, orderCards } from "./item.js";
import { swatch } from "./map_legend.js";
import { MovesLine } from "./moves.js";
import { repair, RepairBar } from "./repair.js";
import { dropTarget, selection } from "./selection.js";
import { Shelf } from "./shelf.js";
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
  await Promise.all([useStyle("groups.css"), useStyle("repair.css")]);
  const stopped = new AbortController();
  const { signal } = stopped;
  /** @type {Gallery | OneGroup | null} */
  let page = null;
  const bar = new RepairBar(ctx, () => page?.groups ?? [], signal);
  const open = () => {
    const found = /^#\/groups(?:\/(\d+))?$/.exec(location.hash);
    if (!found || signal.aborted) return;
    page = found[1] === undefined ? new Gallery(root, ctx, bar.element) : new OneGroup(root, ctx, Number(found[1]), bar.element);
    void page.update();
  };
  open();
  window.addEventListener("hashchange", open, { signal });
  ctx.events.addEventListener("picture", () => page?.update(), { signal });
  ctx.events.addEventListener("descriptions", () => page?.update(), { signal });
  ctx.events.addEventListener("found", () => page?.update(), { signal });
  ctx.events.addEventListener("theme", () => page?.update(), { signal });
  const end = ctx.keys.use({ "repair.name": () => acceptName() });
  return () => {
    stopped.abort();
    end();
    document.body.classList.remove("repairing");
    closeNotice();
  };
}

/** Accept the suggested name of the group in focus, or of the first that has one. */
function acceptName() {
  const card = document.activeElement?.closest(".group-card");
  const button = /** @type {HTMLElement | null} */ ((card ?? document).querySelector(".accept-name"));
  button?.click();
}

/** All groups. */
class Gallery {
  /**
   * @param {HTMLElement} root
   * @param {Context} ctx
   * @param {HTMLElement} repairs the bar of repairs
   */
  constructor(root, ctx, repairs) {
    this.ctx = ctx;
    /** @type {Group[]} */
    this.groups = [];
    /** @type {Set<number>} groups selected for merging */
    this.chosen = new Set();
    this.note = h("p", { class: "muted" }, "Loading…");
    this.cards = h("div", { class: "group-cards" });
    this.bar = h("div", { class: "merge-bar card", hidden: true, role: "region", "aria-label": "Merge groups" });
    this.fewer = h("p", { class: "note", hidden: true });
    this.moves = new MovesLine(ctx);
    this.shelf = new Shelf(ctx);
    this.search = new GroupSearch(ctx, () => this.groups, () => this.#filter());
    this.fresh = h("div", { class: "card new-group" }, h("p", null, "Drop items here to split them off as a new group."));
    dropTarget(this.fresh, () => void repair(ctx, "split"));
    fill(root, h("section", { class: "view wide" }, h("h1", null, "Groups"), this.note, this.fewer, this.moves.element, this.search.bar, this.search.tiles,
      this.cards, this.fresh, this.shelf.element, h("div", { class: "bars" }, this.bar, repairs)));
    this.update = latest(() => this.#fetch());
  }

  /**
   * Say why there are fewer groups than were set.
   * @param {number | null} wanted
   */
  #compare(wanted) {
    const n = this.groups.length;
    this.fewer.hidden = wanted === null || n === 0 || n >= wanted;
    this.fewer.textContent = `The number of groups is set to ${wanted}, but so far the items and answers form only ${n}. More answers may find another; you can also split one off.`;
  }

  async #fetch() {
    try {
      const got = await this.ctx.api.get("api/groups");
      this.groups = got.groups;
      if (this.cards.isConnected) orderCards(this.groups.map((group) => group.typical)); // another page may be open by now
      this.#compare(got.wanted);
    } catch (error) {
      this.note.textContent = String(error);
      return;
    }
    // Nothing moves while a person is typing; the next picture is shown instead.
    if (this.cards.querySelector(".editing")) return;
    const known = new Set(this.groups.map((group) => group.number));
    for (const number of this.chosen) if (!known.has(number)) this.chosen.delete(number);
    this.note.textContent = this.groups.length
      ? "Rename a group, or correct it: each correction is saved, and the groups are updated. Below an item, choose ✓ if it belongs here and ✕ if it does not; with the item in focus, press B or X. To repair many items at once, select them, or drag them to a group."
      : "There are no groups yet. They appear with the first answers.";
    const held = focusName();
    fill(this.cards, ...this.groups.map((group) => groupCard(this.ctx, group, {
      chosen: this.chosen.has(group.number),
      choose: (chosen) => this.#choose(group.number, chosen),
      renamed: () => this.update(),
    })));
    giveFocus(this.cards, held);
    this.#bar();
    this.#filter();
    try {
      await Promise.all([this.moves.update(), this.groups.length ? this.shelf.update() : null]);
    } catch (error) {
      this.ctx.toast(String(error), "bad");
    }
  }

  /** Show the groups that the search and the filter leave. */
  #filter() {
    const shown = new Set(this.groups.filter((group) => this.search.shows(group)).map((group) => String(group.number)));
    for (const card of /** @type {NodeListOf<HTMLElement>} */ (this.cards.querySelectorAll("[data-number]"))) card.hidden = !shown.has(card.dataset["number"] ?? "");
  }

  /**
   * @param {number} number
   * @param {boolean} chosen
   */
  #choose(number, chosen) {
    if (chosen) this.chosen.add(number);
    else this.chosen.delete(number);
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (this.cards.querySelectorAll('input[data-focus^="merge "]'))) {
      box.checked = this.chosen.has(Number(box.dataset["focus"]?.slice(6)));
    }
    this.#bar();
  }

  #bar() {
    const groups = this.groups.filter((group) => this.chosen.has(group.number));
    const [a] = groups;
    this.bar.hidden = !a;
    if (!a) return;
    const several = groups.length > 1;
    const names = groups.map((group) => `“${groupName(group)}”`);
    fill(this.bar,
      h("p", null, several ? `${names.slice(0, -1).join(", ")} and ${names.at(-1)}: are they one group?` : `Choose the groups to merge with “${groupName(a)}”.`),
      h("div", { class: "row" },
        several && h("button", { type: "button", class: "primary", on: { click: () => this.#confirm(groups) } }, `Merge these ${groups.length === 2 ? "two" : groups.length}`),
        h("button", { type: "button", class: "quiet", on: { click: () => this.#clear() } }, "Cancel")));
    this.ctx.announce(several ? `${groups.length} groups are selected. A button at the end of the page merges them.` : "One group is selected. Select another.");
  }

  #clear() {
    this.chosen.clear();
    for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (this.cards.querySelectorAll('input[data-focus^="merge "]'))) box.checked = false;
    this.bar.hidden = true;
  }

  /** @param {Group[]} groups */
  #confirm(groups) {
    /** @param {Group} group */
    const side = (group) => h("section", { class: "merge-side" },
      h("h3", null, swatch(group), " ", groupName(group)), h("p", { class: "small muted number" }, count(group.size, "item")),
      h("div", { class: "gallery" }, ...group.typical.slice(0, 6).map((item) => itemCard(item, { onOpen: null }))));
    const dialog = openDialog(`Are these ${groups.length === 2 ? "two" : groups.length} one group?`, [
      h("div", { class: "merge-sides" }, ...groups.map(side)),
      h("p", { class: "small muted" }, "This is saved as one repair: an item of each of them belong together. You can undo it."),
      h("div", { class: "row" },
        h("button", { type: "button", class: "primary", on: { click: () => {
          dialog.close();
          this.#clear();
          void repair(this.ctx, "merge", groups.map((group) => group.number));
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
   * @param {HTMLElement} repairs the bar of repairs
   */
  constructor(root, ctx, number, repairs) {
    this.ctx = ctx;
    /** @type {Group[]} */
    this.groups = [];
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
      h("fieldset", { class: "choice row" }, h("legend", { class: "sr" }, "Order"), choice("doubtful", "Most doubtful first"), choice("typical", "Most typical first"),
        h("button", { type: "button", class: "small", on: { click: () => this.#selectAll() } }, "Select all shown")),
      this.changed, this.tiles, this.note, h("div", { class: "row" }, this.more), h("div", { class: "bars" }, repairs)));
    this.update = latest(() => this.#fetch());
  }

  async #fetch() {
    try {
      const got = await this.ctx.api.get("api/groups");
      this.groups = got.groups;
      if (this.head.isConnected) orderCards(this.groups.map((group) => group.typical));
      this.group = got.groups.find((/** @type {Group} */ group) => group.number === this.number) ?? null;
      if (!this.group) {
        this.note.textContent = "This group no longer exists: groups change with the answers.";
        return;
      }
      if (!this.head.querySelector(".editing")) {
        const held = focusName();
        fill(this.head, nameLine(this.ctx, this.group, "h1", () => this.update()), h("p", { class: "muted number" }, count(this.group.size, "item")), descriptionLine(this.group),
          suggestionLine(this.ctx, this.group, () => this.update()));
        giveFocus(this.head, held);
      }
      if (this.seq < 0) this.#restart();
      else if (got.seq !== this.seq) this.changed.hidden = false;
      this.seq = got.seq;
    } catch (error) {
      this.note.textContent = String(error);
    }
  }

  #selectAll() {
    const tiles = /** @type {NodeListOf<HTMLElement>} */ (this.tiles.querySelectorAll(".tile[data-row]"));
    selection.set([...tiles].map((tile) => Number(tile.dataset["row"])), true);
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
