// The items selected for a repair. One selection for all pages: items chosen on the map can be repaired on the Groups page.

import { h } from "./dom.js";
import { itemName } from "./hints.js";

/** @import {Item} from "./types.js" */

/** The most items in one repair, as on the server. */
export const MOST = 5000;

/** The selected rows. A "change" event follows each change. */
export class Selection extends EventTarget {
  /** @type {Map<number, boolean>} whether each selected row is on the shelf */
  #rows = new Map();
  /** The row selected or deselected last: the start of a range. */
  last = -1;

  get size() {
    return this.#rows.size;
  }

  get rows() {
    return [...this.#rows.keys()];
  }

  /** Whether all selected items are on the shelf. */
  get shelved() {
    return this.size > 0 && [...this.#rows.values()].every(Boolean);
  }

  /** @param {number} row */
  has(row) {
    return this.#rows.has(row);
  }

  /**
   * Select or deselect items.
   * @param {Iterable<number>} rows
   * @param {boolean} selected
   * @param {(row: number) => boolean} [shelved]
   */
  set(rows, selected, shelved = () => false) {
    for (const row of rows) {
      if (selected) this.#rows.set(row, shelved(row));
      else this.#rows.delete(row);
      this.last = row;
    }
    this.dispatchEvent(new CustomEvent("change"));
  }

  /** Select nothing. */
  clear() {
    this.#rows.clear();
    this.last = -1;
    this.dispatchEvent(new CustomEvent("change"));
  }
}

export const selection = new Selection();

/** @param {HTMLElement} tile */
function rowOf(tile) {
  return Number(tile.dataset["row"]);
}

/** @param {HTMLElement} tile */
function isShelved(tile) {
  return tile.dataset["shelved"] === "true";
}

/**
 * Select or deselect an item; with `range`, also all tiles between it and the last one.
 * @param {HTMLElement} tile
 * @param {boolean} range
 */
export function pick(tile, range) {
  const selected = !selection.has(rowOf(tile));
  const tiles = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".tile[data-row]"))];
  const from = tiles.findIndex((one) => rowOf(one) === selection.last);
  const to = tiles.indexOf(tile);
  const chosen = range && from >= 0 ? tiles.slice(Math.min(from, to), Math.max(from, to) + 1) : [tile];
  const shelved = new Map(chosen.map((one) => [rowOf(one), isShelved(one)]));
  selection.set(shelved.keys(), range ? true : selected, (row) => shelved.get(row) ?? false);
  selection.last = rowOf(tile);
}

/**
 * Make a tile selectable: by a checkbox, by Ctrl or Shift and a click on the item, and by dragging.
 * @param {HTMLElement} tile
 * @param {Item} item
 * @param {{shelved?: boolean, focus?: string}} [options] `focus`: a name of the checkbox that survives redrawing
 * @returns {HTMLElement} the tile
 */
export function selectable(tile, item, options = {}) {
  tile.dataset["row"] = String(item.row);
  tile.dataset["shelved"] = String(options.shelved ?? false);
  tile.draggable = true;
  const box = h("input", { type: "checkbox", class: "pick", "aria-label": `Select ${itemName(item)}`, "data-focus": options.focus ?? null,
    on: { click: (/** @type {MouseEvent} */ event) => pick(tile, event.shiftKey) } });
  tile.prepend(h("label", { class: "pick-area" }, box));
  tile.addEventListener("click", (event) => {
    if (!(event.ctrlKey || event.metaKey || event.shiftKey) || /** @type {Element} */ (event.target).closest(".pick-area, .tile-acts")) return;
    event.preventDefault();
    event.stopPropagation(); // otherwise the item would be enlarged
    pick(tile, event.shiftKey);
  }, { capture: true });
  tile.addEventListener("dragstart", (event) => {
    if (!selection.has(item.row)) {
      selection.clear();
      pick(tile, false);
    }
    event.dataTransfer?.setData("text/plain", String(selection.size));
    if (event.dataTransfer) event.dataTransfer.effectAllowed = "move";
    document.body.classList.add("dragging-items");
  });
  tile.addEventListener("dragend", () => document.body.classList.remove("dragging-items"));
  show(tile, box);
  return tile;
}

/**
 * @param {HTMLElement} tile
 * @param {HTMLInputElement} box
 */
function show(tile, box) {
  box.checked = selection.has(rowOf(tile));
  tile.classList.toggle("picked", box.checked);
}

/** Show on all tiles whether they are selected. */
export function showSelection() {
  for (const tile of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll(".tile[data-row]"))) {
    const box = /** @type {HTMLInputElement | null} */ (tile.querySelector("input.pick"));
    if (box) show(tile, box);
  }
}

/**
 * Let selected items be dropped on an element.
 * @param {HTMLElement} element
 * @param {() => void} drop
 */
export function dropTarget(element, drop) {
  /** @param {boolean} over */
  const mark = (over) => element.classList.toggle("drop", over);
  element.addEventListener("dragover", (event) => {
    if (selection.size === 0) return;
    event.preventDefault();
    mark(true);
  });
  element.addEventListener("dragleave", (event) => {
    if (!element.contains(/** @type {Node | null} */ (event.relatedTarget))) mark(false);
  });
  element.addEventListener("drop", (event) => {
    mark(false);
    document.body.classList.remove("dragging-items");
    if (selection.size === 0) return;
    event.preventDefault();
    drop();
  });
}
