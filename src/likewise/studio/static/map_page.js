// The elements of the map page.

import { count, h } from "./dom.js";
import { glyph } from "./item.js";

const HELP = "Drag to move, wheel or pinch to zoom, click an item for details. By keyboard: arrows go from item to item, "
  + "Enter shows details, + and − zoom, Shift with arrows moves the map, 0 shows all. To repair items, select them: turn on the lasso and draw around them or "
  + "tap them, or press S at an item. Solid lines join items answered “same”, dashed lines items answered “different”.";

/** @typedef {ReturnType<typeof buildPage>} Page */

/**
 * Create the elements of the page.
 * @param {HTMLElement} root
 * @param {number} nItems
 * @param {string[]} columns by which items can be coloured
 * @param {{colourBy: (by: "group" | "doubt" | "column", column?: string) => void, lines: (shown: boolean) => void, names: (shown: boolean) => void, zoom: (factor: number) => void,
 *   whole: () => void, lasso: (on: boolean) => void, search: (text: string) => void, selectFound: () => void}} acts
 */
export function buildPage(root, nItems, columns, acts) {
  /** @param {"group" | "doubt"} by @param {string} label */
  const choice = (by, label) => h("label", { class: "check" },
    h("input", { type: "radio", name: "map-by", value: by, checked: by === "group", on: { change: () => {
      byColumn.value = "";
      acts.colourBy(by);
    } } }), label);
  /** @param {string} label @param {string} sign @param {() => void} act */
  const tool = (label, sign, act) => h("button", { type: "button", class: "icon", "aria-label": label, title: label, on: { click: act } }, sign);
  /** @param {Event} event */
  const target = (event) => /** @type {HTMLInputElement} */ (event.target);
  const lasso = tool("Select items (lasso)", "", () => {
    const on = lasso.getAttribute("aria-pressed") !== "true";
    lasso.setAttribute("aria-pressed", String(on));
    acts.lasso(on);
  });
  lasso.append(glyph("M4 9c0-3 3.5-5 8-5s8 2 8 5-3.5 5-8 5c-2 0-4-.5-5.500-1.300M7 12.500a2 2 0 1 0 .5 3.800c1.500 0 1 2.700-1.500 3.700"));
  lasso.setAttribute("aria-pressed", "false");
  const byColumn = h("select", { "aria-label": "Colour by a column", on: { change: (/** @type {Event} */ event) => {
    const { value } = target(event);
    for (const radio of /** @type {NodeListOf<HTMLInputElement>} */ (root.querySelectorAll('input[name="map-by"]'))) radio.checked = !value && radio.value === "group";
    acts.colourBy(value ? "column" : "group", value);
  } } }, h("option", { value: "" }, "a column…"), ...columns.map((name) => h("option", { value: name }, name)));

  const page = {
    points: h("canvas", { class: "map-points", "aria-hidden": "true" }),
    overlay: h("canvas", {
      class: "map-overlay", tabindex: "0", role: "application", "aria-roledescription": "map",
      "aria-label": `Map of ${count(nItems, "item")}`, "aria-describedby": "map-help",
    }),
    tip: h("div", { class: "map-tip card", hidden: true, "aria-hidden": "true" }),
    wait: h("p", { class: "map-wait muted" }, "The map is being computed…"),
    status: h("p", { class: "muted small map-status" }),
    list: h("ul", { class: "map-legend", "aria-label": "Groups" }),
    ramp: h("div", { class: "map-ramp", hidden: true },
      h("canvas", { class: "map-ramp-bar", width: "256", height: "1", "aria-hidden": "true" }),
      h("div", { class: "row spread small muted" }, h("span", null, "certain"), h("span", null, "doubtful"))),
    column: h("div", { class: "map-column", hidden: true }),
    found: h("span", { class: "small muted", role: "status" }),
    selectFound: h("button", { type: "button", class: "small", hidden: true, on: { click: () => acts.selectFound() } }, "Select them"),
    side: h("div", { class: "map-side" }),
    bars: h("div", { class: "bars" }),
    panel: h("section", { class: "card map-panel", hidden: true, "aria-label": "The selected item" }),
    table: h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Groups as a table" }),
    stage: h("div", { class: "map-stage" }),
  };
  page.stage.append(page.points, page.overlay, page.wait, page.tip,
    h("div", { class: "map-tools" },
      tool("Zoom in", "+", () => acts.zoom(1.6)), tool("Zoom out", "−", () => acts.zoom(1 / 1.6)), tool("Whole map", "⤢", acts.whole), lasso));
  page.side.append(page.panel, page.ramp, page.column, page.list);
  root.append(h("section", { class: "view wide map-view" },
    h("h1", { class: "sr" }, "Map"),
    h("div", { class: "map-bar row" },
      h("fieldset", { class: "choice row" }, h("legend", { class: "sr" }, "Colour by"), choice("group", "Groups"), choice("doubt", "Doubt"), columns.length > 0 && byColumn),
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, on: { change: (/** @type {Event} */ event) => acts.lines(target(event).checked) } }), "Answers as lines"),
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, on: { change: (/** @type {Event} */ event) => acts.names(target(event).checked) } }), "Names"),
      h("form", { class: "row map-search", role: "search", on: { submit: (/** @type {Event} */ event) => event.preventDefault() } },
        h("input", { type: "search", "aria-label": "Search items", placeholder: "Search items", autocomplete: "off", maxlength: "200",
          on: { input: (/** @type {Event} */ event) => acts.search(target(event).value) } }), page.found, page.selectFound),
      page.status),
    h("div", { class: "map-body" }, page.stage, page.side),
    page.bars,
    h("p", { id: "map-help", class: "small muted map-help" }, HELP),
    h("details", { class: "map-words" }, h("summary", null, "Groups as a table"), page.table)));
  return page;
}
