// The elements of the map page.

import { count, h } from "./dom.js";

const HELP = "Drag to move, wheel or pinch to zoom, click an item for details. By keyboard: arrows go from item to item, "
  + "Enter selects, + and − zoom, Shift with arrows moves the map, 0 shows all. Solid lines join items answered “same”, dashed lines items answered “different”.";

/** @typedef {ReturnType<typeof buildPage>} Page */

/**
 * Create the elements of the page.
 * @param {HTMLElement} root
 * @param {number} nItems
 * @param {{colourBy: (by: "group" | "doubt") => void, lines: (shown: boolean) => void, zoom: (factor: number) => void, whole: () => void}} acts
 */
export function buildPage(root, nItems, acts) {
  /** @param {"group" | "doubt"} by @param {string} label */
  const choice = (by, label) => h("label", { class: "check" },
    h("input", { type: "radio", name: "map-by", value: by, checked: by === "group", on: { change: () => acts.colourBy(by) } }), label);
  /** @param {string} label @param {string} sign @param {() => void} act */
  const tool = (label, sign, act) => h("button", { type: "button", class: "icon", "aria-label": label, title: label, on: { click: act } }, sign);
  /** @param {Event} event */
  const toggled = (event) => acts.lines(/** @type {HTMLInputElement} */ (event.target).checked);

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
    panel: h("section", { class: "card map-panel", hidden: true, "aria-label": "The selected item" }),
    table: h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Groups as a table" }),
    stage: h("div", { class: "map-stage" }),
  };
  page.stage.append(page.points, page.overlay, page.wait, page.tip,
    h("div", { class: "map-tools" },
      tool("Zoom in", "+", () => acts.zoom(1.6)), tool("Zoom out", "−", () => acts.zoom(1 / 1.6)), tool("Whole map", "⤢", acts.whole)));
  root.append(h("section", { class: "view wide map-view" },
    h("h1", { class: "sr" }, "Map"),
    h("div", { class: "map-bar row" },
      h("fieldset", { class: "choice row" }, h("legend", { class: "sr" }, "Colour by"), choice("group", "Groups"), choice("doubt", "Doubt")),
      h("label", { class: "check" }, h("input", { type: "checkbox", checked: true, on: { change: toggled } }), "Answers as lines"),
      page.status),
    h("div", { class: "map-body" }, page.stage, h("div", { class: "map-side" }, page.panel, page.ramp, page.list)),
    h("p", { id: "map-help", class: "small muted map-help" }, HELP),
    h("details", { class: "map-words" }, h("summary", null, "Groups as a table"), page.table)));
  return page;
}
