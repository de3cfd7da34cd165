/** The reference book: examples of each group, opened by one key. */

/** @import {Context, Item} from "./types.js" */
import { fill, h, openDialog } from "./dom.js";
import { itemCard } from "./item.js";

/** @param {Context} ctx */
export function openReference(ctx) {
  if (document.querySelector("dialog[open]")) return;
  const body = h("div", { class: ctx.me.project.study ? "reference of-classes" : "reference", "aria-busy": "true" }, h("p", { class: "muted" }, "One moment…"));
  openDialog("Reference book", [body], { class: "wide" });
  ctx.api.get("api/reference").then(
    (/** @type {{groups: {name: string, items: Item[]}[], given: boolean}} */ found) => {
      body.setAttribute("aria-busy", "false");
      if (found.groups.length === 0) {
        fill(body, h("p", null, !ctx.me.project.shows_groups ? "The owner has not chosen examples." : "There are no examples yet. After the first answers each group shows its most typical items here."));
        return;
      }
      fill(body,
        h("p", { class: "muted" }, found.given ? (ctx.me.project.study ? "One example of each class." : "Examples that the owner chose.") : "The most typical items of each group so far. They change as answers come in."),
        ...found.groups.map((group) => h("section", null, h("h3", { dir: "auto" }, group.name), h("div", { class: "gallery" }, ...group.items.map((item) => itemCard(item))))));
    },
    (error) => fill(body, h("p", { class: "note bad" }, String(error))));
}
