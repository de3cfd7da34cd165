// Beside the map: the groups with colours and sizes, also as a table for people who cannot see the map.

import { computed, groupColor, hex, readable, rgb } from "./colors.js";
import { colour, count, fill, h } from "./dom.js";
import { groupName, itemName } from "./hints.js";

/** @import {Group} from "./hints.js" */

/**
 * The colour of a group, adapted to the current background.
 * @param {Pick<Group, "number" | "color">} group
 * @param {import("./colors.js").Rgb} background
 */
export function shownColor(group, background) {
  return readable(rgb(group.color ?? groupColor(group.number)), background);
}

/**
 * A small square in the colour of a group.
 * @param {Pick<Group, "number" | "color">} group
 */
export function swatch(group) {
  const square = h("span", { class: "swatch", "aria-hidden": "true" });
  square.style.setProperty("background-color", hex(shownColor(group, computed(colour("--surface")))));
  return square;
}

/**
 * The groups as buttons; pressing one shows only this group, pressing it again shows all.
 * @param {HTMLElement} root
 * @param {Group[]} groups
 * @param {number | null} alone
 * @param {(number: number | null) => void} choose
 */
export function legend(root, groups, alone, choose) {
  const focused = root.contains(document.activeElement) ? document.activeElement?.getAttribute("data-group") : null;
  fill(root, ...groups.map((group) => {
    const pressed = alone === group.number;
    return h("li", null,
      h("button", {
        type: "button", class: "quiet", "aria-pressed": pressed, "data-group": group.number,
        title: pressed ? "Show all groups" : "Show only this group",
        on: { click: () => choose(pressed ? null : group.number) },
      }, swatch(group), h("span", { class: "legend-name" }, groupName(group)),
      h("span", { class: "legend-size number" }, group.size.toLocaleString("en"))));
  }));
  if (focused !== null) /** @type {HTMLElement | null} */ (root.querySelector(`[data-group="${focused}"]`))?.focus();
}

/**
 * The map as a table.
 * @param {HTMLElement} root
 * @param {Group[]} groups
 */
export function groupTable(root, groups) {
  const all = groups.reduce((sum, group) => sum + group.size, 0) || 1;
  fill(root, h("table", null,
    h("caption", { class: "sr" }, `${count(groups.length, "group")} on the map`),
    h("thead", null, h("tr", null, ...["Group", "Items", "Share", "Typical", "Most doubtful"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", null, ...groups.map((group) => h("tr", null,
      h("th", { scope: "row" }, h("a", { href: `#/groups/${group.number}` }, groupName(group))),
      h("td", { class: "number" }, group.size.toLocaleString("en")),
      h("td", { class: "number" }, `${Math.round((100 * group.size) / all)} %`),
      h("td", null, group.typical.slice(0, 3).map(itemName).join(", ")),
      h("td", null, group.doubtful.slice(0, 3).map(itemName).join(", "))))) ));
}
